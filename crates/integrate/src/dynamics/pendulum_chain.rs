//! A chain of pendulums in space: point masses joined by massless rods and ideal joints, the first one to the origin
//! (Celledoni et al. 2021, section 5). Rod i has the direction qᵢ ∈ S², from mass i − 1 to mass i, and the angular
//! velocity ωᵢ ⊥ qᵢ; the third axis points up.

use crate::VectorField;
use lienav_lie::se3::join;
use lienav_lie::{Translation, Ts2};
use nalgebra::{Vector3, Vector6};
use thiserror::Error;

/// A chain of any number of pendulums. Its states are as many points of TS², in a `Vec` or, without allocation, in an
/// array; or the same numbers in the vector space around it, (qᵢ, ωᵢ) ∈ ℝ⁶, for methods that know of no group.
#[derive(Clone, Debug, PartialEq)]
pub struct PendulumChain {
    links: Vec<Link>,
    gravity: f64,
}

/// A rod and the mass at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// mᵢ, kg.
    pub mass: f64,
    /// Lᵢ, m.
    pub length: f64,
}

/// Why there is no such chain.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("link {index} has mass {mass} kg and length {length} m; both have to be positive and finite")]
pub struct LinkError {
    /// Which one, from the fixed end.
    pub index: usize,
    /// Its mass.
    pub mass: f64,
    /// Its length.
    pub length: f64,
}

impl PendulumChain {
    /// From links, the fixed end first, and the acceleration of gravity, m/s².
    ///
    /// # Errors
    /// A mass or a length that is not positive and finite.
    pub fn new(links: Vec<Link>, gravity: f64) -> Result<Self, LinkError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        match links.iter().position(|link| !(positive(link.mass) && positive(link.length))) {
            Some(index) => Err(LinkError { index, mass: links[index].mass, length: links[index].length }),
            None => Ok(Self { links, gravity }),
        }
    }

    /// `count` links of mass 1 and this length in gravity 9.81, as in section 5.3.
    ///
    /// # Errors
    /// A length that is not positive and finite.
    pub fn of_equal_links(count: usize, length: f64) -> Result<Self, LinkError> {
        Self::new(vec![Link { mass: 1.0, length }; count], 9.81)
    }

    /// The links, the fixed end first.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The acceleration of gravity, m/s².
    pub fn gravity(&self) -> f64 {
        self.gravity
    }

    /// The state of section 5.3 with every link alike, q = (√2/2, 0, √2/2), ω = (0, 1, 0).
    pub fn start_of_celledoni(&self) -> Vec<Ts2> {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        vec![Ts2 { q: Vector3::new(half, 0.0, half), omega: Vector3::y() }; self.links.len()]
    }

    /// T + U.
    pub fn energy(&self, state: &[Ts2]) -> f64 {
        let (mut position, mut velocity, mut energy) = (Vector3::zeros(), Vector3::zeros(), 0.0);
        for (link, rod) in self.links.iter().zip(state) {
            position += rod.q * link.length;
            velocity += rod.velocity() * link.length;
            energy += link.mass * (0.5 * velocity.norm_squared() + self.gravity * position.z);
        }
        energy
    }

    /// The angular momentum about the vertical, that stays.
    pub fn vertical_angular_momentum(&self, state: &[Ts2]) -> f64 {
        let (mut position, mut velocity, mut momentum) = (Vector3::zeros(), Vector3::zeros(), 0.0);
        for (link, rod) in self.links.iter().zip(state) {
            position += rod.q * link.length;
            velocity += rod.velocity() * link.length;
            momentum += link.mass * (position.x * velocity.y - position.y * velocity.x);
        }
        momentum
    }

    /// Writes (ωᵢ, ω̇ᵢ). The forces Tᵢ in the rods, tension positive, solve
    /// (1/mᵢ + 1/mᵢ₋₁) Tᵢ − (qᵢ·qᵢ₊₁/mᵢ) Tᵢ₊₁ − (qᵢ₋₁·qᵢ/mᵢ₋₁) Tᵢ₋₁ = Lᵢ|ωᵢ|², where 1/m₀ = 0 and rod 1 has −g qᵢ·e₃
    /// added: what keeps the rods' lengths, since mᵢẍᵢ = −mᵢg e₃ − Tᵢqᵢ + Tᵢ₊₁qᵢ₊₁. The system is tridiagonal and
    /// positive definite, so this takes a number of operations linear in that of links, where the text's R(q)ω̇ = g
    /// takes its cube; then ω̇ᵢ = qᵢ × (ẍᵢ − ẍᵢ₋₁)/Lᵢ. Scratch is the output itself.
    fn accelerate(&self, state: impl Fn(usize) -> Ts2, out: &mut [Vector6<f64>]) {
        let count = self.links.len().min(out.len());
        // Elimination downward: Tᵢ = out[i].x + out[i].y Tᵢ₊₁.
        let (mut above, mut inverse_mass_above) = (Vector3::zeros(), 0.0);
        for i in 0..count {
            let (Link { mass, length }, rod) = (self.links[i], state(i));
            let next = if i + 1 < count { state(i + 1).q } else { Vector3::zeros() };
            let coupling_above = rod.q.dot(&above) * inverse_mass_above;
            let mut right = length * rod.omega.norm_squared();
            let mut diagonal = 1.0 / mass + inverse_mass_above;
            if i == 0 {
                right -= self.gravity * rod.q.z;
            } else {
                right += coupling_above * out[i - 1].x;
                diagonal -= coupling_above * out[i - 1].y;
            }
            out[i].x = right / diagonal;
            out[i].y = rod.q.dot(&next) / mass / diagonal;
            (above, inverse_mass_above) = (rod.q, 1.0 / mass);
        }
        // And back: the tension of each rod, with those of its neighbours, gives the difference of accelerations.
        let (mut below, mut tension_below) = (Vector3::zeros(), 0.0);
        for i in (0..count).rev() {
            let tension = out[i].x + out[i].y * tension_below;
            out[i].x = tension;
            let q = state(i).q;
            // What is along q is not needed: it is what the rod's length demands.
            let force = below * tension_below;
            out[i].fixed_rows_mut::<3>(3).copy_from(&(q.cross(&force) / self.links[i].mass));
            (below, tension_below) = (q, tension);
        }
        let (mut above, mut pull) = (Vector3::zeros(), 0.0);
        for (i, out) in out.iter_mut().enumerate().take(count) {
            let (Link { mass, length }, rod) = (self.links[i], state(i));
            let mut angular = out.fixed_rows::<3>(3).into_owned();
            // Of the mass above, gravity and the forces of both its rods; that of this one is along q.
            angular +=
                if i == 0 { rod.q.cross(&Vector3::new(0.0, 0.0, -self.gravity)) } else { rod.q.cross(&above) * pull };
            let tension = out.x;
            *out = join(&rod.omega, &(angular / length));
            (above, pull) = (rod.q, tension / mass);
        }
    }

    /// (ωᵢ, q × ω̇) of accelerations (ωᵢ, ω̇ᵢ).
    fn twists(out: &mut [Vector6<f64>], state: &[Ts2]) {
        for (twist, rod) in out.iter_mut().zip(state) {
            let turned = rod.q.cross(&twist.fixed_rows::<3>(3));
            twist.fixed_rows_mut::<3>(3).copy_from(&turned);
        }
    }

    fn flat(out: &mut [Vector6<f64>], q: impl Fn(usize) -> Vector3<f64>) {
        for (i, rate) in out.iter_mut().enumerate() {
            let velocity = rate.fixed_rows::<3>(0).cross(&q(i));
            rate.fixed_rows_mut::<3>(0).copy_from(&velocity);
        }
    }
}

fn rod(flat: &Translation<Vector6<f64>>) -> Ts2 {
    Ts2 { q: flat.0.fixed_rows::<3>(0).into_owned(), omega: flat.0.fixed_rows::<3>(3).into_owned() }
}

/// f = (ω₁, q₁ × ω̇₁, …) in 𝔰𝔢(3)ᴺ (section 5.2).
impl VectorField<Vec<Ts2>> for PendulumChain {
    fn generator(&self, _: f64, state: &Vec<Ts2>) -> Vec<Vector6<f64>> {
        let mut out = vec![Vector6::zeros(); state.len()];
        self.accelerate(|i| state[i], &mut out);
        Self::twists(&mut out, state);
        out
    }
}

/// The same for a number of links known to the compiler. Links the chain has in excess hang on nothing.
impl<const N: usize> VectorField<[Ts2; N]> for PendulumChain {
    fn generator(&self, _: f64, state: &[Ts2; N]) -> [Vector6<f64>; N] {
        let mut out = [Vector6::zeros(); N];
        self.accelerate(|i| state[i], &mut out);
        Self::twists(&mut out, state);
        out
    }
}

/// q̇ᵢ = ωᵢ × qᵢ and ω̇ᵢ in ℝ⁶ᴺ.
impl VectorField<Vec<Translation<Vector6<f64>>>> for PendulumChain {
    fn generator(&self, _: f64, state: &Vec<Translation<Vector6<f64>>>) -> Vec<Vector6<f64>> {
        let mut out = vec![Vector6::zeros(); state.len()];
        self.accelerate(|i| rod(&state[i]), &mut out);
        Self::flat(&mut out, |i| state[i].0.fixed_rows::<3>(0).into_owned());
        out
    }
}

/// The numbers (qᵢ, ωᵢ) of a state.
pub fn flatten(state: &[Ts2]) -> Vec<Translation<Vector6<f64>>> {
    state.iter().map(|rod| Translation(join(&rod.q, &rod.omega))).collect()
}

/// The state of these numbers, on TS² or not.
pub fn unflatten(state: &[Translation<Vector6<f64>>]) -> Vec<Ts2> {
    state.iter().map(rod).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LieGroupMethod;
    use crate::commutator_free::{CF3, CF4, CROUCH_GROSSMAN3};
    use crate::rkmk::*;
    use lienav_lie::{HomogeneousSpace, hat};
    use nalgebra::{DMatrix, DVector};

    fn chain(count: usize) -> PendulumChain {
        let link = |i: usize| Link { mass: 1.0 + 0.3 * i as f64, length: 1.5 - 0.2 * i as f64 };
        PendulumChain::new((0..count).map(link).collect(), 9.81).unwrap()
    }

    fn state(count: usize) -> Vec<Ts2> {
        let rod = |i: usize| {
            let a = i as f64;
            let q = Vector3::new((1.0 + a).sin(), (2.0 * a).cos(), 0.3 - 0.2 * a).normalize();
            let omega = Vector3::new(0.5, (3.0 * a).cos(), -1.0 + 0.4 * a);
            Ts2 { q, omega: omega - q * q.dot(&omega) }
        };
        (0..count).map(rod).collect()
    }

    /// R(q)ω̇ = g by elimination, as section 5.2 prints it.
    fn accelerations_of_the_text(chain: &PendulumChain, state: &[Ts2]) -> DVector<f64> {
        let count = state.len();
        let below = |i: usize| chain.links[i..].iter().map(|link| link.mass).sum::<f64>();
        let inertia = |i: usize, j: usize| below(i.max(j)) * chain.links[i].length * chain.links[j].length;
        let (mut r, mut g) = (DMatrix::zeros(3 * count, 3 * count), DVector::zeros(3 * count));
        for i in 0..count {
            for j in 0..count {
                let block = if i == j {
                    nalgebra::Matrix3::identity() * inertia(i, i)
                } else {
                    hat(&state[i].q).transpose() * hat(&state[j].q) * inertia(i, j)
                };
                r.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&block);
            }
            let mut torque = -state[i].q.cross(&Vector3::z()) * (below(i) * chain.gravity * chain.links[i].length);
            for j in (0..count).filter(|&j| j != i) {
                torque += state[i].q.cross(&state[j].q) * (inertia(i, j) * state[j].omega.norm_squared());
            }
            g.fixed_rows_mut::<3>(3 * i).copy_from(&torque);
        }
        r.lu().solve(&g).unwrap()
    }

    #[test]
    fn tensions_give_the_accelerations_of_the_text() {
        for count in 1..=5 {
            let (chain, state) = (chain(count), state(count));
            let expected = accelerations_of_the_text(&chain, &state);
            let mut out = vec![Vector6::zeros(); count];
            chain.accelerate(|i| state[i], &mut out);
            for i in 0..count {
                let difference = out[i].fixed_rows::<3>(3) - expected.fixed_rows::<3>(3 * i);
                assert!(difference.norm() < 1e-11, "{count} links, {i}: {difference}");
                assert_eq!(out[i].fixed_rows::<3>(0).into_owned(), state[i].omega);
            }
        }
    }

    fn run<M: HomogeneousSpace>(
        chain: &PendulumChain,
        method: &dyn LieGroupMethod<M, PendulumChain>,
        start: &M,
        steps: u32,
    ) -> M
    where
        PendulumChain: VectorField<M>,
    {
        let h = 0.5 / f64::from(steps);
        (0..steps).fold(start.clone(), |y, k| method.step(chain, &y, f64::from(k) * h, h).unwrap())
    }

    #[test]
    fn energy_and_vertical_momentum_stay_and_so_do_the_constraints() {
        let (chain, start) = (chain(3), state(3));
        let end = run(&chain, &RKMK54, &start, 300);
        assert!((chain.energy(&end) - chain.energy(&start)).abs() < 1e-9);
        let momentum = |state: &[Ts2]| chain.vertical_angular_momentum(state);
        assert!((momentum(&end) - momentum(&start)).abs() < 1e-9);
        assert!(end.iter().all(|rod| rod.constraint_error() < 2e-14));
        let fixed: [Ts2; 3] = std::array::from_fn(|i| start[i]);
        assert!(run(&chain, &RKMK54, &fixed, 300).to_vec().distance(&end) < 1e-12);
        let flat = run(&chain, &RKMK54, &flatten(&start), 300);
        assert!(unflatten(&flat).distance(&end) < 1e-8);
    }

    #[test]
    fn methods_have_their_orders_on_two_pendulums() {
        let (chain, start) = (chain(2), state(2));
        let reference = run(&chain, &RKMK54, &start, 1000);
        let methods: [Box<dyn LieGroupMethod<Vec<Ts2>, PendulumChain>>; 9] = [
            Box::new(LIE_EULER),
            Box::new(LIE_EULER_HEUN),
            Box::new(RKMK3),
            Box::new(RKMK4),
            Box::new(RKMK4_SERIES),
            Box::new(Rkmk4TwoCommutators),
            Box::new(CROUCH_GROSSMAN3),
            Box::new(CF3),
            Box::new(CF4),
        ];
        for method in methods {
            let steps = if method.order() == 1 { 1000 } else { 60 };
            let errors = [steps, 2 * steps].map(|steps| run(&chain, &*method, &start, steps).distance(&reference));
            let slope = (errors[0] / errors[1]).log2();
            assert!((slope - method.order() as f64).abs() < 0.15, "{}: {slope}", method.name());
        }
    }

    #[test]
    fn impossible_links_are_refused() {
        let error = PendulumChain::of_equal_links(2, -1.0).unwrap_err();
        assert_eq!(error.to_string(), "link 0 has mass 1 kg and length -1 m; both have to be positive and finite");
        assert!(PendulumChain::new(vec![Link { mass: f64::NAN, length: 1.0 }], 9.81).is_err());
    }
}
