//! What the numbers of a covariance mean.
//!
//! Inside, a covariance is that of (δp, δθ): δp = p − p̂ in the frame of the header, and R = Exp(δθ) R̂, a rotation about
//! the fixed axes of that frame. This is `geometry_msgs/PoseWithCovariance`. Every other meaning is a linear map of these
//! six numbers to first order, δ = A ξ, and a covariance becomes A Σ Aᵀ:
//!
//! ```math
//! \begin{array}{lll}
//! \text{GTSAM} & T = \hat T\,\mathrm{Exp}(\omega, v) & \delta p = \hat R v,\quad \delta\theta = \hat R \omega \\
//! \text{OpenVINS} & R_{GI} = (I - [\phi]_\times) \hat R_{GI},\; p = \hat p + \rho
//!     & \delta p = \rho,\quad \delta\theta = \hat R \phi \\
//! \text{left} & T = \mathrm{Exp}(\rho, \phi)\,\hat T & \delta p = \rho + \phi \times \hat p,\quad \delta\theta = \phi
//! \end{array}
//! ```
//!
//! Each A has the determinant ±1, so that two meanings of the same numbers give densities of the same height: the one
//! with the smaller normalised errors is the more likely one.

use nalgebra::{Isometry3, Matrix3, Matrix6};
use std::fmt;

/// Which three of the six numbers come first, where the numbers have no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Position, then orientation.
    PositionFirst,
    /// Orientation, then position.
    OrientationFirst,
}

/// About which axes, and on which side of the pose, the error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// Both in the fixed axes of the header's frame.
    Fixed,
    /// Position in the fixed axes, orientation in those of the body.
    BodyOrientation,
    /// Both in the axes of the body: the error is on the right side of the pose.
    Body,
    /// The error is on the left side of the pose: an orientation error turns the position about the origin, too.
    Left,
}

impl Axes {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fixed, Self::BodyOrientation, Self::Body, Self::Left];
}

/// The meaning of a covariance of six numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// Which come first.
    pub order: Order,
    /// About which axes they are.
    pub axes: Axes,
}

impl Meaning {
    /// That of `geometry_msgs/PoseWithCovariance`.
    pub const ROS: Self = Self { order: Order::PositionFirst, axes: Axes::Fixed };

    /// The covariance of (δp, δθ) for numbers that mean this, of an estimated pose.
    pub fn to_fixed(self, stated: &Matrix6<f64>, pose: &Isometry3<f64>) -> Matrix6<f64> {
        let [mut pp, mut pr, mut rr] = match self.order {
            Order::PositionFirst => [block(stated, 0, 0), block(stated, 0, 3), block(stated, 3, 3)],
            Order::OrientationFirst => [block(stated, 3, 3), block(stated, 3, 0), block(stated, 0, 0)],
        };
        let rotation = || *pose.rotation.to_rotation_matrix().matrix();
        match self.axes {
            Axes::Fixed => {}
            Axes::BodyOrientation => {
                let r = rotation();
                (pr, rr) = (pr * r.transpose(), r * rr * r.transpose());
            }
            Axes::Body => {
                let r = rotation();
                (pp, pr, rr) = (r * pp * r.transpose(), r * pr * r.transpose(), r * rr * r.transpose());
            }
            Axes::Left => {
                let turned = -pose.translation.vector.cross_matrix();
                pp += turned * pr.transpose() + pr * turned.transpose() + turned * rr * turned.transpose();
                pr += turned * rr;
            }
        }
        join(&pp, &pr, &rr)
    }
}

fn block(of: &Matrix6<f64>, row: usize, column: usize) -> Matrix3<f64> {
    of.fixed_view::<3, 3>(row, column).into_owned()
}

fn join(pp: &Matrix3<f64>, pr: &Matrix3<f64>, rr: &Matrix3<f64>) -> Matrix6<f64> {
    let mut whole = Matrix6::zeros();
    whole.fixed_view_mut::<3, 3>(0, 0).copy_from(pp);
    whole.fixed_view_mut::<3, 3>(0, 3).copy_from(pr);
    whole.fixed_view_mut::<3, 3>(3, 0).copy_from(&pr.transpose());
    whole.fixed_view_mut::<3, 3>(3, 3).copy_from(rr);
    whole
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.order {
            Order::PositionFirst => "position before orientation",
            Order::OrientationFirst => "orientation before position",
        })?;
        f.write_str(match self.axes {
            Axes::Fixed => ", fixed axes",
            Axes::BodyOrientation => ", orientation in axes of the body",
            Axes::Body => ", both in axes of the body",
            Axes::Left => ", error on the left side of the pose",
        })
    }
}

/// A convention that a tool follows, as the command line names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convention {
    /// `geometry_msgs/PoseWithCovariance`: position first, fixed axes.
    #[default]
    Ros,
    /// `Pose3` of GTSAM: orientation first, both in axes of the body.
    Gtsam,
    /// OpenVINS: orientation in axes of the body; its messages have the position first, its arrays the orientation.
    OpenVins,
    /// An error on the left side of the pose, T = Exp(ρ, φ) T̂, position first: left-invariant errors, manif, Sophus.
    Left,
}

impl Convention {
    /// All, by name.
    pub const NAMES: [&'static str; 4] = ["ros", "gtsam", "openvins", "left"];

    /// The convention of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Ros, Self::Gtsam, Self::OpenVins, Self::Left];
        all.into_iter().find(|known| known.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ros => "ros",
            Self::Gtsam => "gtsam",
            Self::OpenVins => "openvins",
            Self::Left => "left",
        }
    }

    /// What it means in a message, whose 36 numbers have no names.
    pub fn of_message(self) -> Meaning {
        match self {
            Self::OpenVins => Meaning { order: Order::PositionFirst, axes: Axes::BodyOrientation },
            other => other.of_array(),
        }
    }

    /// What it means in an array or in numbered columns.
    pub fn of_array(self) -> Meaning {
        match self {
            Self::Ros => Meaning::ROS,
            Self::Gtsam => Meaning { order: Order::OrientationFirst, axes: Axes::Body },
            Self::OpenVins => Meaning { order: Order::OrientationFirst, axes: Axes::BodyOrientation },
            Self::Left => Meaning { order: Order::PositionFirst, axes: Axes::Left },
        }
    }

    /// What it means in columns whose names say which number is which.
    pub fn of_names(self) -> Meaning {
        Meaning { order: Order::PositionFirst, ..self.of_array() }
    }
}
