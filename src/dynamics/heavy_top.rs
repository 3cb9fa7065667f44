//! The heavy top in its three formulations (Celledoni et al. 2021, section 3.4).
//!
//! Attitude Q from body to world, angular velocity Ω and momentum Π = 𝕀Ω in the body frame, π = QΠ in the world frame.
//! Without weight it is the free rigid body.

use crate::integrate::VectorField;
use crate::integrate::cotangent::CotangentHamiltonian;
use crate::lie::se3::{join, split};
use crate::lie::{Coadjoint, Se3, So3, Translation, hat};
use nalgebra::{Matrix3, Vector3, Vector6};

/// A rigid body with a fixed point in a field of gravity, H = ½Π·𝕀⁻¹Π + s·Γ with Γ = QᵀΓ₀.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeavyTop {
    /// The diagonal of 𝕀 about the fixed point, kg m².
    pub moments: Vector3<f64>,
    /// s: mass times the vector from the fixed point to the centre of mass, in the body frame, kg m.
    pub first_moment: Vector3<f64>,
    /// Γ₀ in the world frame, m/s²; where H is the energy, the acceleration of gravity turned upward.
    pub gravity: Vector3<f64>,
}

/// (Q, π) on T*SO(3), trivialized from the right: (20)–(22).
pub type Canonical = (So3, Translation<Vector3<f64>>);

/// (Π, Γ) on 𝔰𝔢(3)*: (23), (24).
pub type LiePoisson = Coadjoint<Se3>;

/// SO(3) × ℝ³ with (Q, q), on whose cotangent bundle H is quadratic, section 3.4.3; the momenta are (π, p), p = −s.
pub type Extended = (So3, Translation<Vector3<f64>>);

impl HeavyTop {
    /// The top of section 3.4.4, 𝕀 = diag(0.234375, 0.46875, 0.234375), ℓ = 2, M = 15, 𝒳 = (0, 1, 0) and
    /// Γ₀ = (0, 0, −9.81), signs as printed. The text's Mgℓ with this Γ₀ is read as Mℓ, for Γ₀ has g in it.
    pub fn of_celledoni() -> Self {
        Self {
            moments: Vector3::new(0.234_375, 0.468_75, 0.234_375),
            first_moment: Vector3::new(0.0, 30.0, 0.0),
            gravity: Vector3::new(0.0, 0.0, -9.81),
        }
    }

    /// Π(0) = 𝕀(0, 150, −4.61538) of the same section, with Q(0) = I.
    pub fn initial_momentum(&self) -> Vector3<f64> {
        self.moments.component_mul(&Vector3::new(0.0, 150.0, -4.61538))
    }

    /// A body with these moments and no weight.
    pub fn free(moments: Vector3<f64>) -> Self {
        Self { moments, first_moment: Vector3::zeros(), gravity: Vector3::zeros() }
    }

    /// H of Π and Γ.
    pub fn energy_of(&self, body_momentum: &Vector3<f64>, gravity_body: &Vector3<f64>) -> f64 {
        0.5 * body_momentum.dot(&self.body_angular_velocity(body_momentum)) + self.first_moment.dot(gravity_body)
    }

    /// 𝕀⁻¹Π.
    pub fn body_angular_velocity(&self, body_momentum: &Vector3<f64>) -> Vector3<f64> {
        body_momentum.component_div(&self.moments)
    }

    /// ω = Q𝕀⁻¹Qᵀπ.
    fn spatial_angular_velocity(&self, attitude: &So3, spatial_momentum: &Vector3<f64>) -> Vector3<f64> {
        *attitude * self.body_angular_velocity(&attitude.rotate_back(spatial_momentum))
    }

    /// Γ₀ × Qs, (21).
    fn spatial_torque(&self, attitude: &So3) -> Vector3<f64> {
        self.gravity.cross(&(*attitude * self.first_moment))
    }

    /// The momentum p = −s of the extended formulation, that stays.
    pub fn extended_momentum(&self) -> Vector3<f64> {
        -self.first_moment
    }
}

/// Q̇ = ω^Q, π̇ = Γ₀ × Qs, by SO(3) × ℝ³ acting factor by factor.
impl VectorField<Canonical> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, (attitude, momentum): &Canonical) -> (Vector3<f64>, Vector3<f64>) {
        (self.spatial_angular_velocity(attitude, &momentum.0), self.spatial_torque(attitude))
    }
}

/// μ̇ = ad*_{∂H/∂μ}μ, so f = −(Ω, s): Π̇ = Π × Ω + Γ × s, Γ̇ = Γ × Ω, and |Γ| and Π·Γ are kept to rounding.
impl VectorField<LiePoisson> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, point: &LiePoisson) -> Vector6<f64> {
        let (body_momentum, _) = split(&point.0);
        -join(&self.body_angular_velocity(&body_momentum), &self.first_moment)
    }
}

/// Euler's equations of the body without weight on 𝔰𝔬(3)*: Π̇ = Π × Ω.
impl VectorField<Coadjoint<So3>> for HeavyTop {
    #[inline]
    fn generator(&self, _: f64, body_momentum: &Coadjoint<So3>) -> Vector3<f64> {
        -self.body_angular_velocity(&body_momentum.0)
    }
}

/// The same motion in the vector space around SO(3) × ℝ³, as integrators see it that know of no group: the nine entries
/// of Q and π.
impl VectorField<(Translation<Matrix3<f64>>, Translation<Vector3<f64>>)> for HeavyTop {
    fn generator(
        &self,
        _: f64,
        (attitude, momentum): &(Translation<Matrix3<f64>>, Translation<Vector3<f64>>),
    ) -> (Matrix3<f64>, Vector3<f64>) {
        let q = attitude.0;
        let omega = q * self.body_angular_velocity(&(q.tr_mul(&momentum.0)));
        (hat(&omega) * q, self.gravity.cross(&(q * self.first_moment)))
    }
}

impl CotangentHamiltonian<So3> for HeavyTop {
    fn energy(&self, attitude: &So3, momentum: &Vector3<f64>) -> f64 {
        self.energy_of(&attitude.rotate_back(momentum), &attitude.rotate_back(&self.gravity))
    }
    #[inline]
    fn velocity(&self, attitude: &So3, momentum: &Vector3<f64>) -> Vector3<f64> {
        self.spatial_angular_velocity(attitude, momentum)
    }
    /// The torque, less what the kinetic energy changes by when the body is turned and π is not.
    #[inline]
    fn force(&self, attitude: &So3, momentum: &Vector3<f64>) -> Vector3<f64> {
        self.spatial_torque(attitude) - self.spatial_angular_velocity(attitude, momentum).cross(momentum)
    }
}

/// H = ½Π·𝕀⁻¹Π + ½|p − Γ|² − ½|Γ|² on T*(SO(3) × ℝ³), (29)–(32).
impl CotangentHamiltonian<Extended> for HeavyTop {
    fn energy(&self, (attitude, _): &Extended, (momentum, p): &(Vector3<f64>, Vector3<f64>)) -> f64 {
        let (body_momentum, gamma) = (attitude.rotate_back(momentum), attitude.rotate_back(&self.gravity));
        0.5 * (body_momentum.dot(&self.body_angular_velocity(&body_momentum)) + (p - gamma).norm_squared()
            - gamma.norm_squared())
    }
    fn velocity(
        &self,
        (attitude, _): &Extended,
        (momentum, p): &(Vector3<f64>, Vector3<f64>),
    ) -> (Vector3<f64>, Vector3<f64>) {
        (self.spatial_angular_velocity(attitude, momentum), p - attitude.rotate_back(&self.gravity))
    }
    fn force(
        &self,
        (attitude, _): &Extended,
        (momentum, p): &(Vector3<f64>, Vector3<f64>),
    ) -> (Vector3<f64>, Vector3<f64>) {
        let kinetic = self.spatial_angular_velocity(attitude, momentum).cross(momentum);
        (-self.gravity.cross(&(*attitude * *p)) - kinetic, Vector3::zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integrate::adaptive::{StepControl, integrate};
    use crate::integrate::commutator_free::{CF3, CF4, CF32A, CF32B, CF43, CROUCH_GROSSMAN3};
    use crate::integrate::cotangent::SymplecticLieGroup;
    use crate::integrate::rkmk::*;
    use crate::integrate::{EmbeddedMethod, LieGroupMethod};
    use crate::lie::{HomogeneousSpace, LieGroup};

    /// Slower than that of the text, and without symmetry.
    fn top() -> HeavyTop {
        HeavyTop {
            moments: Vector3::new(0.8, 1.3, 2.1),
            first_moment: Vector3::new(0.2, 1.0, -0.3),
            gravity: Vector3::new(0.0, 1.0, -3.0),
        }
    }

    fn start() -> Canonical {
        (So3::exp(&Vector3::new(0.3, -0.2, 0.5)), Translation(Vector3::new(1.0, 2.0, -1.5)))
    }

    fn reduced((attitude, momentum): &Canonical) -> LiePoisson {
        Coadjoint(join(&attitude.rotate_back(&momentum.0), &attitude.rotate_back(&top().gravity)))
    }

    fn run<M: HomogeneousSpace>(method: &dyn LieGroupMethod<M, HeavyTop>, start: &M, steps: u32) -> M
    where
        HeavyTop: VectorField<M>,
    {
        let h = 1.0 / f64::from(steps);
        (0..steps).fold(start.clone(), |y, k| method.step(&top(), &y, f64::from(k) * h, h).unwrap())
    }

    fn methods<M: HomogeneousSpace + 'static>() -> Vec<Box<dyn LieGroupMethod<M, HeavyTop>>>
    where
        HeavyTop: VectorField<M>,
    {
        vec![
            Box::new(LIE_EULER),
            Box::new(LIE_EULER_HEUN),
            Box::new(RKMK3),
            Box::new(RKMK3_KUTTA),
            Box::new(RKMK4),
            Box::new(RKMK4_SERIES),
            Box::new(Rkmk4TwoCommutators),
            Box::new(RKMK32),
            Box::new(RKMK43),
            Box::new(RKMK54),
            Box::new(CROUCH_GROSSMAN3),
            Box::new(CF3),
            Box::new(CF32B),
            Box::new(CF4),
        ]
    }

    fn check_orders<M: HomogeneousSpace + 'static>(start: &M)
    where
        HeavyTop: VectorField<M>,
    {
        let reference = run(&RKMK54, start, 1000);
        for method in methods() {
            let steps = if method.order() == 1 { 400 } else { 60 };
            let [coarse, fine] = [steps, 2 * steps].map(|steps| run(&*method, start, steps).distance(&reference));
            let slope = (coarse / fine).log2();
            assert!((slope - method.order() as f64).abs() < 0.15, "{}: {slope}", method.name());
        }
    }

    #[test]
    fn every_explicit_method_has_its_order_on_both_formulations() {
        check_orders(&start());
        check_orders(&reduced(&start()));
    }

    #[test]
    fn both_formulations_are_one_motion_and_energy_stays() {
        let end = run(&RKMK54, &start(), 1000);
        assert!(run(&RKMK54, &reduced(&start()), 1000).distance(&reduced(&end)) < 1e-11);
        let energy =
            |(attitude, momentum): &Canonical| CotangentHamiltonian::<So3>::energy(&top(), attitude, &momentum.0);
        assert!((energy(&end) - energy(&start())).abs() < 1e-11);
        let flat = (Translation(*start().0.matrix()), start().1);
        let classical = run(&RKMK54, &flat, 1000);
        assert!((classical.0.0 - end.0.matrix()).norm() < 1e-11);
    }

    #[test]
    fn the_coadjoint_orbit_is_kept_to_rounding() {
        let start = reduced(&start());
        for method in methods() {
            let ((m0, n0), (m, n)) = (split(&start.0), split(&run(&*method, &start, 20).0));
            assert!((n.norm() - n0.norm()).abs() < 1e-14 && (m.dot(&n) - m0.dot(&n0)).abs() < 1e-13);
        }
    }

    #[test]
    fn auxiliary_methods_are_of_the_order_they_say() {
        let methods: [Box<dyn EmbeddedMethod<Canonical, HeavyTop>>; 6] =
            [Box::new(RKMK32), Box::new(RKMK43), Box::new(RKMK54), Box::new(CF32A), Box::new(CF32B), Box::new(CF43)];
        for method in methods {
            let error = |h: f64| method.step_with_error(&top(), &start(), 0.0, h).unwrap().1;
            let slope = (error(0.04) / error(0.02)).log2();
            assert!((slope - (method.auxiliary_order() + 1) as f64).abs() < 0.2, "{}: {slope}", method.name());
        }
    }

    #[test]
    fn step_control_meets_tolerances_or_says_that_it_cannot() {
        let reference = run(&RKMK54, &start(), 1000);
        let mut errors = Vec::new();
        for tolerance in [1e-5, 1e-8] {
            let mut last = 0.0;
            let control = StepControl::new(tolerance);
            let (end, counts) = integrate(&CF43, &top(), &start(), (0.0, 1.0), 0.5, &control, |t, h, _| {
                assert!(t > last && (t - h - last).abs() < 1e-12);
                last = t;
            })
            .unwrap();
            assert!(last == 1.0 && counts.accepted > 3 && counts.rejected > 0);
            errors.push(end.distance(&reference));
        }
        assert!(errors[0] < 1e-3 && errors[1] < 1e-6 && errors[1] > 1e-12, "{errors:?}");
        let control = StepControl::new(0.0);
        assert!(integrate(&RKMK54, &top(), &start(), (0.0, 1.0), 0.5, &control, |_, _, _| ()).is_err());
    }

    fn symplectic(theta: f64, start: &(So3, Vector3<f64>), h: f64) -> (So3, Vector3<f64>) {
        SymplecticLieGroup { theta }.step(&top(), start, 0.0, h).unwrap().0
    }

    #[test]
    fn velocities_and_forces_are_derivatives_of_the_energy() {
        let (g, mu) = ((start().0, Translation(Vector3::zeros())), (start().1.0, Vector3::new(0.4, -0.7, 1.1)));
        let energy = |delta: &Vector3<f64>, change: &Vector3<f64>, p: &Vector3<f64>| {
            let turned = (So3::exp(delta) * g.0, g.1);
            let extended = CotangentHamiltonian::<Extended>::energy(&top(), &turned, &(mu.0 + change, mu.1 + p));
            (CotangentHamiltonian::<So3>::energy(&top(), &turned.0, &(mu.0 + change)), extended)
        };
        let (velocity, extended_velocity) =
            (CotangentHamiltonian::<So3>::velocity(&top(), &g.0, &mu.0), top().velocity(&g, &mu));
        let (force, extended_force) = (CotangentHamiltonian::<So3>::force(&top(), &g.0, &mu.0), top().force(&g, &mu));
        for k in 0..3 {
            let e = Vector3::ith(k, 1e-5);
            let zero = Vector3::zeros();
            let slope = |at: &dyn Fn(f64) -> (f64, f64)| {
                let (ahead, behind) = (at(1.0), at(-1.0));
                ((ahead.0 - behind.0) / 2e-5, (ahead.1 - behind.1) / 2e-5)
            };
            let by_turn = slope(&|s| energy(&(e * s), &zero, &zero));
            assert!((by_turn.0 + force[k]).abs() < 1e-8 && (by_turn.1 + extended_force.0[k]).abs() < 1e-8);
            let by_momentum = slope(&|s| energy(&zero, &(e * s), &zero));
            assert!((by_momentum.0 - velocity[k]).abs() < 1e-8);
            assert!((by_momentum.1 - extended_velocity.0[k]).abs() < 1e-8);
            assert!((slope(&|s| energy(&zero, &zero, &(e * s))).1 - extended_velocity.1[k]).abs() < 1e-8);
        }
    }

    #[test]
    fn the_cotangent_methods_preserve_the_symplectic_form() {
        let start = (start().0, start().1.0);
        // Tangents in coordinates (δ, dμ): exp(δ)g and μ + dμ; the form (13).
        let omega = |mu: &Vector3<f64>, a: &Vector6<f64>, b: &Vector6<f64>| {
            let ((x1, n1), (x2, n2)) = (split(a), split(b));
            n2.dot(&x1) - n1.dot(&x2) - mu.dot(&x1.cross(&x2))
        };
        for theta in [0.0, 0.3, 0.5, 1.0] {
            let end = symplectic(theta, &start, 0.2);
            let tangent = |direction: &Vector6<f64>| {
                let at = |s: f64| {
                    let (delta, change) = split(&(direction * s));
                    let (g, mu) = symplectic(theta, &(So3::exp(&delta) * start.0, start.1 + change), 0.2);
                    join(&(g * end.0.inverse()).log(), &mu)
                };
                (at(1e-5) - at(-1e-5)) / 2e-5
            };
            for i in 0..6 {
                for j in 0..i {
                    let (a, b) = (Vector6::ith(i, 1.0), Vector6::ith(j, 1.0));
                    let (before, after) = (omega(&start.1, &a, &b), omega(&end.1, &tangent(&a), &tangent(&b)));
                    assert!((before - after).abs() < 1e-7, "θ = {theta}: {before} {after}");
                }
            }
        }
    }

    #[test]
    fn the_cotangent_methods_have_their_orders_and_the_extended_formulation_is_the_same_motion() {
        let begin = (start().0, start().1.0);
        let reference = run(&RKMK54, &start(), 1000);
        for (theta, order) in [(0.0, 1.0), (0.5, 2.0), (1.0, 1.0)] {
            let errors = [100, 200].map(|steps: u32| {
                let end = (0..steps).fold(begin, |y, _| symplectic(theta, &y, 1.0 / f64::from(steps)));
                end.0.distance(&reference.0).hypot((end.1 - reference.1.0).norm())
            });
            let slope = (errors[0] / errors[1]).log2();
            assert!((slope - order).abs() < 0.15, "θ = {theta}: {slope}");
        }
        let mut extended = ((begin.0, Translation(Vector3::zeros())), (begin.1, top().extended_momentum()));
        let mut plain = begin;
        for _ in 0..20 {
            extended = SymplecticLieGroup::MIDPOINT.step::<Extended>(&top(), &extended, 0.0, 0.05).unwrap().0;
            plain = symplectic(0.5, &plain, 0.05);
        }
        assert!((extended.1.0 - plain.1).norm() < 1e-12 && extended.0.0.distance(&plain.0) < 1e-12);
        assert_eq!(extended.1.1, top().extended_momentum());
    }

    #[test]
    fn the_top_of_the_text_is_solved_at_its_step() {
        let top = HeavyTop::of_celledoni();
        let mut y = (So3::identity(), top.initial_momentum());
        let energy = |y: &(So3, Vector3<f64>)| CotangentHamiltonian::<So3>::energy(&top, &y.0, &y.1);
        let before = energy(&y);
        for _ in 0..100 {
            let (next, evaluations) = SymplecticLieGroup::MIDPOINT.step(&top, &y, 0.0, 0.01).unwrap();
            assert!(evaluations < 40, "{evaluations}");
            y = next;
        }
        assert!(((energy(&y) - before) / before).abs() < 0.01 && y.0.orthogonality_error() < 1e-13);
    }
}
