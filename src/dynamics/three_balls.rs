//! Three balls on massless rods, falling around a point mass.

use crate::integrate::{FloatingBody, FloatingBodyState, Inertia, InertiaError, Load};
use crate::lie::So3;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// The planar body of Shen 2019, section 3.6: three uniform balls of unit mass, each in the potential −1/r of the origin.
/// A uniform ball outside of the origin is pulled as its centre is, so V(x, R) = −Σ 1/|x + Rρᵢ|.
///
/// The text gives the radius of the balls, 0.1, but not the lengths of the rods (they are in a figure that is
/// lost). Here the balls are the corners of an isosceles triangle of base 1 and height 1, which has three different
/// moments of inertia and a diagonal J_d, as the text says its body has.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreeBalls {
    inertia: Inertia,
    // From the centre of mass, in the body frame.
    centres: [Vector3<f64>; 3],
}

/// Mass of a ball.
const BALL_MASS: f64 = 1.0;
/// Radius of a ball.
const BALL_RADIUS: f64 = 0.1;

impl ThreeBalls {
    /// With the balls at these points of the body frame; what is turned about is their centre of mass.
    ///
    /// # Errors
    /// None for finite points.
    pub fn new(centres: [Vector3<f64>; 3]) -> Result<Self, InertiaError> {
        let mean = (centres[0] + centres[1] + centres[2]) / 3.0;
        let centres = centres.map(|centre| centre - mean);
        let of_ball = Matrix3::from_diagonal_element(0.4 * BALL_MASS * BALL_RADIUS * BALL_RADIUS);
        let about_mean = |centre: &Vector3<f64>| {
            (Matrix3::from_diagonal_element(centre.norm_squared()) - centre * centre.transpose()) * BALL_MASS + of_ball
        };
        Ok(Self { inertia: Inertia::new(centres.iter().map(about_mean).sum())?, centres })
    }

    /// The isosceles triangle.
    ///
    /// # Errors
    /// None in practice.
    pub fn isosceles() -> Result<Self, InertiaError> {
        Self::new([Vector3::new(-0.5, 0.0, 0.0), Vector3::new(0.5, 0.0, 0.0), Vector3::new(0.0, 1.0, 0.0)])
    }

    /// x = (8, 0, 0), q = 1, p = (0, 1, 0), w = 2Π = (1, 2, 3): a little less than the speed of a circle.
    pub fn initial_state() -> FloatingBodyState {
        FloatingBodyState {
            position: Vector3::new(8.0, 0.0, 0.0),
            attitude: UnitQuaternion::identity(),
            momentum: Vector3::new(0.0, 1.0, 0.0),
            body_angular_momentum: Vector3::new(0.5, 1.0, 1.5),
        }
    }
}

impl FloatingBody for ThreeBalls {
    fn mass(&self) -> f64 {
        3.0 * BALL_MASS
    }

    fn inertia(&self) -> &Inertia {
        &self.inertia
    }

    fn potential(&self, position: &Vector3<f64>, attitude: &So3) -> f64 {
        self.centres.iter().map(|centre| -BALL_MASS / (position + *attitude * *centre).norm()).sum()
    }

    #[inline]
    fn load(&self, position: &Vector3<f64>, attitude: &So3) -> Load {
        let mut force_world = Vector3::zeros();
        let mut torque_world = Vector3::zeros();
        for centre in &self.centres {
            let arm = *attitude * *centre;
            let ball = position + arm;
            let square = ball.norm_squared();
            let pull = ball * (-BALL_MASS / (square * square.sqrt()));
            force_world += pull;
            torque_world += arm.cross(&pull);
        }
        Load { force_world, torque_body: attitude.rotate_back(&torque_world) }
    }
}
