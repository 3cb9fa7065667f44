//! Measurements of a point by a sensor on the body.
//!
//! With z = Rᵀ(p_i − p) the place of the point in the body, and x = R_sᵀ(z − t_s) that in the frame of the sensor,
//! δz = R̂ᵀ e_i whatever the error of the pose: the columns of R, v and p are zero. A point whose
//! place p_a in the world is known has e_a = −ξ_p + p_a^ ξ_R, and shows the pose.

use super::{At, Initial, Linearized, RangePrior, View};
use crate::covariance::NAV;
use crate::state::errors::{POSITION, ROTATION};
use lienav_lie::{Se3, hat};
use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The landmark of the state with this identity.
    Landmark(u64),
    /// A point at this place of the world, m.
    Known(Vector3<f64>),
}

/// Where the sensor is on the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mount {
    /// At this pose: x_body = R_s x_sensor + t_s.
    Fixed(Se3),
    /// As the calibration of the state has it.
    Calibrated,
}

/// What a sensor says of a point in its own frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<const D: usize> {
    /// z − h(x).
    pub residual: SVector<f64, D>,
    /// ∂h/∂x, D × 3.
    pub derivative: SMatrix<f64, D, 3>,
    /// Covariance of the noise.
    pub noise: SMatrix<f64, D, D>,
}

/// A measurement of a point, in the frame of the sensor.
pub trait OfPoint<const D: usize> {
    /// What is measured.
    fn target(&self) -> Target;
    /// Where the sensor is.
    fn mount(&self) -> Mount;
    /// What the sensor says of a point at x, m; `None` where it cannot see it.
    fn see(&self, x: &Vector3<f64>) -> Option<Seen<D>>;
    /// The same as a direction from the camera at this pose on the body, if it is one.
    fn direction(&self, _pose: &Se3) -> Option<View> {
        None
    }
    /// The same where the range is measured, but only roughly.
    fn vague_direction(&self, pose: &Se3) -> Option<View> {
        self.direction(pose)
    }
    /// The place of the point, m, and its covariance, m², from this measurement alone.
    fn locate(&self, prior: &RangePrior) -> Option<(Vector3<f64>, Matrix3<f64>)>;
}

/// Linearizes a measurement of a point.
pub fn linearize<const D: usize>(measurement: &impl OfPoint<D>, at: &At) -> Option<Linearized> {
    let (landmark, place) = match measurement.target() {
        Target::Landmark(id) => at.find(id).map(|(i, place)| (Some(i), place))?,
        Target::Known(place) => (None, place),
    };
    let sensor = pose(&measurement.mount(), at);
    let z = at.nav.seen(&place);
    let from_sensor = z - sensor.translation;
    let seen = measurement.see(&sensor.rotation.rotate_back(&from_sensor))?;
    let by_z = seen.derivative * sensor.rotation.matrix().transpose();
    let by_e = by_z * at.nav.rotation.matrix().transpose();
    let mut linearized = Linearized::of_nav(&seen.residual, &SMatrix::<f64, D, NAV>::zeros(), &seen.noise);
    if landmark.is_none() {
        linearized.by_nav.fixed_view_mut::<D, 3>(0, ROTATION).copy_from(&(by_e * hat(&place)));
        linearized.by_nav.fixed_view_mut::<D, 3>(0, POSITION).copy_from(&-by_e);
    } else {
        linearized.by_landmark.fixed_rows_mut::<D>(0).copy_from(&by_e);
    }
    if measurement.mount() == Mount::Calibrated {
        // R_s = Exp(ε) R̂_s and t_s = t̂_s + τ: δx = R̂_sᵀ((z − t̂_s)^ ε − τ); and after δt_d, z has moved on.
        let drift = -at.rate.cross(&z) - at.nav.rotation.rotate_back(&at.nav.velocity);
        let c = &mut linearized.by_calibration;
        c.fixed_view_mut::<D, 3>(0, 0).copy_from(&(by_z * hat(&from_sensor)));
        c.fixed_view_mut::<D, 3>(0, 3).copy_from(&-by_z);
        c.fixed_view_mut::<D, 1>(0, 6).copy_from(&(by_z * drift));
    }
    linearized.landmark = landmark;
    Some(linearized)
}

/// The landmark that a measurement of a point sees first.
pub fn initialize<const D: usize>(measurement: &impl OfPoint<D>, at: &At, prior: &RangePrior) -> Option<Initial> {
    let Target::Landmark(id) = measurement.target() else { return None };
    let (x, covariance) = measurement.locate(prior)?;
    let sensor = pose(&measurement.mount(), at);
    let turn = at.nav.rotation.matrix() * sensor.rotation.matrix();
    let centre = at.nav.position + at.nav.rotation * sensor.translation;
    Some(Initial { id, place: centre + turn * x, covariance: turn * covariance * turn.transpose(), sensor: centre })
}

/// A direction from a sensor at a known place on the body.
pub fn view<const D: usize>(measurement: &impl OfPoint<D>) -> Option<View> {
    match measurement.mount() {
        Mount::Fixed(pose) => measurement.direction(&pose),
        Mount::Calibrated => None,
    }
}

/// The same where the range is measured, but only roughly.
pub fn vague_view<const D: usize>(measurement: &impl OfPoint<D>) -> Option<View> {
    match measurement.mount() {
        Mount::Fixed(pose) => measurement.vague_direction(&pose),
        Mount::Calibrated => None,
    }
}

fn pose(mount: &Mount, at: &At) -> Se3 {
    match mount {
        Mount::Fixed(pose) => *pose,
        Mount::Calibrated => at.calibration.sensor,
    }
}

/// Implements [`Measurement`](super::Measurement) for a type that is [`OfPoint`].
macro_rules! measurement_of_point {
    ($name:ty) => {
        impl $crate::measurement::Measurement for $name {
            fn linearize(&self, at: &$crate::measurement::At) -> Option<$crate::measurement::Linearized> {
                $crate::measurement::point::linearize(self, at)
            }
            fn view(&self) -> Option<$crate::measurement::View> {
                $crate::measurement::point::view(self)
            }
            fn vague_view(&self) -> Option<$crate::measurement::View> {
                $crate::measurement::point::vague_view(self)
            }
            fn landmark(&self) -> Option<u64> {
                match self.target {
                    Target::Landmark(id) => Some(id),
                    Target::Known(_) => None,
                }
            }
            fn initialize(
                &self,
                at: &$crate::measurement::At,
                prior: &RangePrior,
            ) -> Option<$crate::measurement::Initial> {
                $crate::measurement::point::initialize(self, at, prior)
            }
        }
    };
}
pub(crate) use measurement_of_point;
