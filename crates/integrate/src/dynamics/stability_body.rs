//! The body of Ortolan's long-time stability test.

use crate::{BodyState, RigidBody, TorqueGradient};
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, Vector3};

/// A body held near a shell of attitudes and weakly drawn to one beyond it:
/// U(R) = (m(R, I) − 1)² − α/m(R, R_m), where m(A, B) = √(2 tr(I − AᵀB)) is the chordal distance ‖A − B‖_F
/// (Ortolan 2011, (3.1), (3.2)). A symmetric method that is not conjugate to a symplectic one drifts in energy here.
#[derive(Clone, Copy, Debug)]
pub struct StabilityBody {
    /// The principal moments of inertia.
    pub moments: Vector3<f64>,
    /// α.
    pub attraction: f64,
    /// R_m.
    pub attractor: So3,
}

impl Default for StabilityBody {
    /// The parameters of Ortolan 2011, section 4.2.
    fn default() -> Self {
        let side = 2.5 / 2.0_f64.sqrt();
        Self {
            moments: Vector3::new(2.0, 2.0, 4.0),
            attraction: 0.3,
            attractor: So3::exp(&Vector3::new(side, 0.0, side)),
        }
    }
}

impl StabilityBody {
    /// The initial state of Ortolan 2011, section 4.2: close to the shell, turning slowly.
    pub fn initial_state() -> BodyState {
        BodyState {
            attitude: So3::exp(&Vector3::new(0.0, 0.7227, 0.0)),
            angular_velocity: Vector3::new(0.0, 0.0, 0.625),
        }
    }
}

impl RigidBody for StabilityBody {
    fn moments(&self) -> Vector3<f64> {
        self.moments
    }

    fn potential(&self, attitude: &So3) -> f64 {
        let (shell, pole) = (Distance::from_identity(attitude), Distance::between(&self.attractor, attitude));
        (shell.m - 1.0).powi(2) - self.attraction / pole.m
    }

    /// (3.5), whose first denominator has to read m, not m².
    #[inline]
    fn torque(&self, attitude: &So3) -> Vector3<f64> {
        let (shell, pole) = (Distance::from_identity(attitude), Distance::between(&self.attractor, attitude));
        shell.s * (2.0 / shell.m - 2.0) - pole.s * (self.attraction / pole.m.powi(3))
    }
}

impl TorqueGradient for StabilityBody {
    fn torque_gradient(&self, attitude: &So3) -> Matrix3<f64> {
        let (shell, pole) = (Distance::from_identity(attitude), Distance::between(&self.attractor, attitude));
        // ∂m = s/m, and ∂s = tr(A)I − Aᵀ with A = BᵀR.
        let change = |a: Matrix3<f64>| Matrix3::from_diagonal_element(a.trace()) - a.transpose();
        change(*attitude.matrix()) * (2.0 / shell.m - 2.0)
            - shell.s * shell.s.transpose() * (2.0 / shell.m.powi(3))
            - change(self.attractor.matrix().tr_mul(attitude.matrix())) * (self.attraction / pole.m.powi(3))
            + pole.s * pole.s.transpose() * (3.0 * self.attraction / pole.m.powi(5))
    }
}

/// m(B, R), and s with ∂(m²/2) = s: twice the axial vector of A = BᵀR, (A − Aᵀ)^∨.
struct Distance {
    m: f64,
    s: Vector3<f64>,
}

impl Distance {
    #[inline]
    fn from_identity(r: &So3) -> Self {
        let r = r.matrix();
        let s = Vector3::new(r.m32 - r.m23, r.m13 - r.m31, r.m21 - r.m12);
        Self { m: (6.0 - 2.0 * r.trace()).sqrt(), s }
    }

    #[inline]
    fn between(b: &So3, r: &So3) -> Self {
        let (b, r) = (b.matrix(), r.matrix());
        // Without the product: the trace is the sum of b·r over the rows, s that of r × b.
        let rows = |m: &Matrix3<f64>| [0, 1, 2].map(|i| Vector3::new(m[(i, 0)], m[(i, 1)], m[(i, 2)]));
        let (b, r) = (rows(b), rows(r));
        let trace = b[0].dot(&r[0]) + b[1].dot(&r[1]) + b[2].dot(&r[2]);
        let s = r[0].cross(&b[0]) + r[1].cross(&b[1]) + r[2].cross(&b[2]);
        Self { m: (6.0 - 2.0 * trace).sqrt(), s }
    }
}
