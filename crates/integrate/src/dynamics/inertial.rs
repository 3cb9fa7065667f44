//! The attitude equation of inertial navigation, Q̇ = S(t) Q, Q = Rᵀ and S = −Ω^ for an attitude R from body to world
//! and an angular velocity Ω in the body frame (Luo and Sun 2020, (4) and (5)).

use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{Matrix3, Vector3};

/// S of an angular velocity in the body frame, rad/s.
pub fn coefficient(body_angular_velocity: &Vector3<f64>) -> Matrix3<f64> {
    -hat(body_angular_velocity)
}

/// The constant S of Luo and Sun 2020, (36).
pub fn luo_sun() -> Matrix3<f64> {
    Matrix3::new(0.0, 2.0, -0.1, -2.0, 0.0, 0.0, 0.1, 0.0, 0.0)
}

/// tr QᵀQ, the generalized energy (15) of Luo and Sun 2020: 3 for a rotation.
pub fn generalized_energy(q: &Matrix3<f64>) -> f64 {
    q.norm_squared()
}

/// ‖QᵀQ − I‖, Frobenius.
pub fn orthogonality_error(q: &Matrix3<f64>) -> f64 {
    (q.tr_mul(q) - Matrix3::identity()).norm()
}

/// (dQ ∧ S dQ)(X, Y) = 2 tr XᵀSY, the form of Luo and Sun 2020, (13), of two matrices for a skew S: dP ∧ dQ sums the
/// wedge products of entries (9).
pub fn pseudo_symplectic_form(s: &Matrix3<f64>, x: &Matrix3<f64>, y: &Matrix3<f64>) -> f64 {
    x.dot(&(s * y)) - y.dot(&(s * x))
}

/// Coning: an axis of the body runs around a cone, the motion that costs strapdown algorithms most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coning {
    /// Half the opening of the cone, rad.
    pub half_angle: f64,
    /// How fast the axis runs around it, rad/s.
    pub rate: f64,
}

impl Coning {
    /// R(t) = exp(α (cos νt, sin νt, 0)), from body to world.
    pub fn attitude(&self, t: f64) -> So3 {
        let (sin, cos) = (self.rate * t).sin_cos();
        So3::exp(&(Vector3::new(cos, sin, 0.0) * self.half_angle))
    }

    /// Ω(t) in the body frame, RᵀṘ = Ω^: ν sin α across the axis of the rotation in its plane, and −ν(1 − cos α) about
    /// the axis of the cone.
    pub fn body_angular_velocity(&self, t: f64) -> Vector3<f64> {
        let (sin, cos) = (self.rate * t).sin_cos();
        let (across, along) = (self.half_angle.sin(), self.half_angle.cos() - 1.0);
        Vector3::new(-sin * across, cos * across, along) * self.rate
    }
}

/// What a gyroscope measured, as a function of time: between samples a straight line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gyroscope {
    /// Time, s, strictly increasing, and angular velocity in the body frame, rad/s.
    samples: Vec<(f64, Vector3<f64>)>,
}

impl Gyroscope {
    /// From samples in any order; those that are not finite, or of a time that another has, are left out.
    pub fn new(mut samples: Vec<(f64, Vector3<f64>)>) -> Self {
        samples.retain(|(t, omega)| t.is_finite() && omega.iter().all(|x| x.is_finite()));
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        samples.dedup_by_key(|sample| sample.0);
        Self { samples }
    }

    /// Time, s, and angular velocity, rad/s, in the order of time.
    pub fn samples(&self) -> &[(f64, Vector3<f64>)] {
        &self.samples
    }

    /// Ω(t), before the first and after the last sample that sample, and zero if there are none.
    pub fn at(&self, t: f64) -> Vector3<f64> {
        let after = self.samples.partition_point(|sample| sample.0 <= t);
        let Some(&(t1, omega1)) = self.samples.get(after) else {
            return self.samples.last().map_or(Vector3::zeros(), |sample| sample.1);
        };
        let Some(&(t0, omega0)) = after.checked_sub(1).and_then(|before| self.samples.get(before)) else {
            return omega1;
        };
        omega0.lerp(&omega1, (t - t0) / (t1 - t0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear_rk::step;
    use crate::tableau::GAUSS6;

    #[test]
    fn coning_obeys_its_equation() {
        let coning = Coning { half_angle: 0.3, rate: 5.0 };
        for t in [0.0, 0.4, 1.7] {
            let difference = (*coning.attitude(t + 1e-6).matrix() - *coning.attitude(t - 1e-6).matrix()) / 2e-6;
            let omega = coning.body_angular_velocity(t);
            assert!((difference - *coning.attitude(t).matrix() * hat(&omega)).norm() < 1e-8);
        }
        let s = |t: f64| coefficient(&coning.body_angular_velocity(t));
        let h = 0.01;
        let q = (0..100)
            .fold(coning.attitude(0.0).matrix().transpose(), |q, k| step(&GAUSS6, s, f64::from(k) * h, h, &q).unwrap());
        assert!((q.transpose() - *coning.attitude(1.0).matrix()).norm() < 1e-12);
    }

    #[test]
    fn equation_36_has_the_rotation_of_its_vector_as_its_solution() {
        let omega = Vector3::new(0.0, 0.1, 2.0);
        assert_eq!(coefficient(&omega), luo_sun());
        let q = So3::exp(&(-omega * 0.7));
        assert!((generalized_energy(q.matrix()) - 3.0).abs() < 1e-14 && orthogonality_error(q.matrix()) < 1e-15);
    }

    /// (13): the exact flow keeps the form, whatever the two matrices; a stretched one does not.
    #[test]
    fn the_flow_of_equation_36_keeps_its_form() {
        let s = luo_sun();
        let (x, y) =
            (Matrix3::from_fn(|i, j| (1.0 + i as f64 - 0.7 * j as f64).sin()), Matrix3::from_fn(|i, j| (i * j) as f64));
        let flow = *So3::exp(&(-Vector3::new(0.0, 0.1, 2.0) * 0.7)).matrix();
        let form = |p: &Matrix3<f64>| pseudo_symplectic_form(&s, &(p * x), &(p * y));
        let before = form(&Matrix3::identity());
        assert!((before - 2.0 * (x.transpose() * s * y).trace()).abs() < 1e-13 && before.abs() > 1.0);
        assert!((form(&flow) - before).abs() < 1e-13);
        assert!((form(&(flow * 1.01)) - before).abs() > 1e-2);
    }

    #[test]
    fn a_recording_is_a_broken_line() {
        let sample = |t: f64, x: f64| (t, Vector3::new(x, -x, 0.0));
        let gyroscope =
            Gyroscope::new(vec![sample(2.0, 4.0), sample(1.0, 2.0), sample(1.0, 9.0), sample(f64::NAN, 1.0)]);
        assert_eq!(gyroscope.samples().len(), 2);
        assert_eq!(gyroscope.at(1.5), Vector3::new(3.0, -3.0, 0.0));
        assert_eq!((gyroscope.at(0.0).x, gyroscope.at(9.0).x), (2.0, 4.0));
        assert_eq!(Gyroscope::default().at(1.0), Vector3::zeros());
    }
}
