//! Three balls on massless rods, falling around a point mass.

use crate::{FloatingBody, FloatingBodyState, Inertia, Load};
use lienav_lie::So3;
use nalgebra::{UnitQuaternion, Vector3};

/// The planar body of Shen 2019, section 3.6: three uniform balls of unit mass, each in the potential −1/r of the
/// origin. A uniform ball outside of the origin is pulled as its centre is, so V(x, R) = −Σ 1/|x + Rρᵢ|.
///
/// The text gives the radius of the balls, 0.1, but not the lengths of the rods (they are in a figure that is
/// lost). Here the balls are the corners of an isosceles triangle in the body's x–y plane, symmetric about y, so that
/// J and J_d are diagonal, as the text says of its J_d; base and height 1, the default, make the three moments
/// different.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// By base and height of the triangle, positive and finite.
    pub fn isosceles(base: f64, height: f64) -> Self {
        let own = 3.0 * 0.4 * BALL_RADIUS * BALL_RADIUS;
        let (about_x, about_y) = (height * height / 1.5, base * base / 2.0);
        let moments = Vector3::new(about_x + own, about_y + own, about_x + about_y + own) * BALL_MASS;
        Self {
            inertia: Inertia::principal_unchecked(moments),
            centres: [
                Vector3::new(-base / 2.0, -height / 3.0, 0.0),
                Vector3::new(base / 2.0, -height / 3.0, 0.0),
                Vector3::new(0.0, height / 1.5, 0.0),
            ],
        }
    }

    /// The centres of the balls in the world frame.
    pub fn balls(&self, state: &FloatingBodyState) -> [Vector3<f64>; 3] {
        self.centres.map(|centre| state.position + state.attitude * centre)
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

impl Default for ThreeBalls {
    fn default() -> Self {
        Self::isosceles(1.0, 1.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;

    #[test]
    fn the_inertia_is_that_of_the_balls_about_their_centre_of_mass() {
        let body = ThreeBalls::isosceles(0.7, 1.3);
        let own = Matrix3::from_diagonal_element(0.4 * BALL_RADIUS * BALL_RADIUS);
        let steiner = |c: &Vector3<f64>| Matrix3::from_diagonal_element(c.norm_squared()) - c * c.transpose() + own;
        let sum: Matrix3<f64> = body.centres.iter().map(steiner).sum();
        assert!((sum - body.inertia.matrix()).norm() < 1e-14);
        assert!(body.centres.iter().sum::<Vector3<f64>>().norm() < 1e-15);
        assert!(Inertia::new(*body.inertia.matrix()).is_ok());
    }

    #[test]
    fn the_load_is_the_slope_of_the_potential_and_turns_nothing_as_a_whole() {
        let body = ThreeBalls::default();
        let (x, q) = (Vector3::new(1.5, -0.7, 0.9), UnitQuaternion::from_euler_angles(0.3, 1.1, -0.4));
        let attitude = |q: UnitQuaternion<f64>| So3::from(q.to_rotation_matrix());
        let load = body.load(&x, &attitude(q));
        let step = 1e-5;
        for axis in [Vector3::x(), Vector3::y(), Vector3::z()] {
            let moved = |s: f64| body.potential(&(x + axis * s), &attitude(q));
            let turned = |s: f64| body.potential(&x, &attitude(q * UnitQuaternion::from_scaled_axis(axis * s)));
            assert!(((moved(-step) - moved(step)) / (2.0 * step) - load.force_world.dot(&axis)).abs() < 1e-9);
            assert!(((turned(-step) - turned(step)) / (2.0 * step) - load.torque_body.dot(&axis)).abs() < 1e-9);
        }
        // The potential is the same for all who turn about the origin.
        assert!((x.cross(&load.force_world) + q * load.torque_body).norm() < 1e-15);
    }
}
