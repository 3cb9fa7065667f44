//! The map from the algebra so(3) to the group along which a step turns a body.

use lienav_lie::{LieGroup, Quat, So3, hat};
use nalgebra::{Matrix3, Vector3};

/// The map τ that makes a rotation of an angle vector hξ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RotationMap {
    /// (I − x^/2)⁻¹(I + x^/2): rational, and the exponential to second order. With it the Störmer–Verlet method is the
    /// variational Lie–Verlet method.
    #[default]
    Cayley,
    /// The exponential.
    Exponential,
}

impl RotationMap {
    /// τ(x).
    #[inline]
    pub fn rotation(self, x: &Vector3<f64>) -> So3 {
        match self {
            Self::Cayley => So3::cayley(x),
            Self::Exponential => So3::exp(x),
        }
    }

    /// T with τ(x + δ) = τ(x) exp(Tδ + O(δ²)). For the Cayley map (I − x^/2)·4/(4 + |x|²), Ortolan 2011, (2.9) at −x.
    pub fn right_tangent(self, x: &Vector3<f64>) -> Matrix3<f64> {
        match self {
            Self::Cayley => (Matrix3::identity() - 0.5 * hat(x)) * (4.0 / (4.0 + x.norm_squared())),
            Self::Exponential => {
                Matrix3::from_columns(&[Vector3::x(), Vector3::y(), Vector3::z()].map(|e| So3::dexp_right(x, &e)))
            }
        }
    }

    /// τ(2u) as a unit quaternion: scalar and vector part.
    #[inline]
    pub(super) fn quaternion(self, u: &Vector3<f64>) -> (f64, Vector3<f64>) {
        let x = u * 2.0;
        let turn = match self {
            Self::Cayley => Quat::cayley(&x),
            Self::Exponential => Quat::exp(&x),
        };
        (turn.w(), turn.v())
    }

    /// (dτ⁻¹_{2u})*y; for the Cayley map y + u × y + (u·y)u.
    #[inline]
    pub(super) fn pulled_back(self, u: &Vector3<f64>, y: &Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::Cayley => y + (u.cross(y) + u * u.dot(y)),
            Self::Exponential => So3::dexp_inv_dual(&(u * 2.0), y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quaternion::rotation_less_one;
    use nalgebra::{Quaternion, UnitQuaternion};

    const MAPS: [RotationMap; 2] = [RotationMap::Cayley, RotationMap::Exponential];

    fn unit((c, v): (f64, Vector3<f64>)) -> UnitQuaternion<f64> {
        UnitQuaternion::new_unchecked(Quaternion::from_parts(c, v))
    }

    #[test]
    fn the_maps_are_those_of_nalgebra_and_of_the_book() {
        for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(1e-6, 2e-6, 0.0), Vector3::zeros()] {
            let exponential = UnitQuaternion::from_scaled_axis(u * 2.0);
            assert!(unit(RotationMap::Exponential.quaternion(&u)).angle_to(&exponential) < 1e-15);
            let half = u.cross_matrix();
            let cayley = (Matrix3::identity() - half).try_inverse().unwrap() * (Matrix3::identity() + half);
            let (c, v) = RotationMap::Cayley.quaternion(&u);
            assert!((rotation_less_one(c, &v) + Matrix3::identity() - cayley).norm() < 1e-15);
        }
    }

    /// ⟨(dτ⁻¹_x)*y, dτ_x δ⟩ = ⟨y, δ⟩ with dτ_x δ from finite differences.
    #[test]
    fn the_pulled_back_momentum_against_finite_differences() {
        let (y, step) = (Vector3::new(0.7, -0.4, 1.1), 1e-5);
        for map in MAPS {
            for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(0.01, 0.02, -0.02), Vector3::new(0.02, 0.02, -0.02)] {
                let back = unit(map.quaternion(&u)).inverse();
                for delta in [Vector3::x(), Vector3::y(), Vector3::z()] {
                    // The algebra's element is x = 2u.
                    let at = |s: f64| (unit(map.quaternion(&(u + delta * (0.5 * s)))) * back).scaled_axis();
                    let tangent = (at(step) - at(-step)) / (2.0 * step);
                    assert!((map.pulled_back(&u, &y).dot(&tangent) - y.dot(&delta)).abs() < 1e-9, "{map:?} {u}");
                }
            }
        }
    }

    #[test]
    fn momentum_turns_with_the_frame() {
        let y = Vector3::new(0.7, -0.4, 1.1);
        for map in MAPS {
            for u in [Vector3::new(0.3, -0.2, 0.5), Vector3::new(1e-3, 0.0, 2e-3)] {
                let turned = unit(map.quaternion(&u)) * map.pulled_back(&-u, &y);
                assert!((turned - map.pulled_back(&u, &y)).norm() < 1e-14, "{map:?}");
            }
        }
    }
}
