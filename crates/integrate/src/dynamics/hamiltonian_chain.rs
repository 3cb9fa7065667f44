//! The chain of pendulums by Hamilton's equations on T*(S²)ᴺ (Celledoni et al. 2021, end of section 5.2).

use super::pendulum_chain::PendulumChain;
use crate::VectorField;
use lienav_lie::Ts2;
use lienav_lie::se3::join;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3, Vector6};

/// A [`PendulumChain`] whose states are directions qᵢ and conjugate momenta πᵢ = (R(q)ω)ᵢ ⊥ qᵢ; of a state's [`Ts2`],
/// `omega` is the momentum. SE(3) acts on (q, π) as it does on (q, ω).
///
/// q̇ᵢ = ∂H/∂πᵢ × qᵢ, π̇ᵢ = ∂H/∂qᵢ × qᵢ + ∂H/∂πᵢ × πᵢ, so that f = (∂H/∂π₁, ∂H/∂q₁, …) in 𝔰𝔢(3)ᴺ: the generator of
/// (u, v) is (u × q, u × π + v × q). The text's f has the two in the other order.
#[derive(Clone, Debug, PartialEq)]
pub struct HamiltonianChain(pub PendulumChain);

impl HamiltonianChain {
    /// The momenta of angular velocities.
    pub fn momenta(&self, state: &[Ts2]) -> Vec<Ts2> {
        let omega = DVector::from_iterator(3 * state.len(), state.iter().flat_map(|rod| rod.omega.iter().copied()));
        let momenta = self.inertia(state) * omega;
        with(state, &momenta)
    }

    /// The angular velocities of momenta. `None` of numbers that are not finite.
    pub fn velocities(&self, state: &[Ts2]) -> Option<Vec<Ts2>> {
        let momenta = DVector::from_iterator(3 * state.len(), state.iter().flat_map(|rod| rod.omega.iter().copied()));
        self.inertia(state).cholesky().map(|inertia| with(state, &inertia.solve(&momenta)))
    }

    /// Mᵢⱼ = (Σ_{k ≥ max(i, j)} mₖ) LᵢLⱼ.
    fn mass(&self, i: usize, j: usize) -> f64 {
        let links = self.0.links();
        let below: f64 = links[i.max(j)..].iter().map(|link| link.mass).sum();
        below * links[i].length * links[j].length
    }

    /// R(q): Mᵢᵢ I, and Mᵢⱼ q̂ᵢᵀq̂ⱼ.
    fn inertia(&self, state: &[Ts2]) -> DMatrix<f64> {
        let count = state.len();
        let mut inertia = DMatrix::zeros(3 * count, 3 * count);
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            let (a, b) = (state[i].q, state[j].q);
            // âᵀb̂ = (a·b)I − b aᵀ.
            let block = if i == j { Matrix3::identity() } else { Matrix3::identity() * a.dot(&b) - b * a.transpose() };
            inertia.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&(block * self.mass(i, j)));
        }
        inertia
    }

    /// (∂H/∂πᵢ, ∂H/∂qᵢ); not a number where R(q) cannot be inverted.
    fn derivatives(&self, state: &[Ts2]) -> Vec<(Vector3<f64>, Vector3<f64>)> {
        let bad = || state.iter().map(|rod| Ts2 { omega: rod.omega * f64::NAN, ..*rod }).collect();
        let moving = self.velocities(state).unwrap_or_else(bad);
        // The weight of all masses below hangs on rod i.
        let weight = |i: usize| Vector3::z() * (self.mass(i, i) * self.0.gravity() / self.0.links()[i].length);
        let by_position = |i: usize| {
            let others = (0..moving.len()).filter(|j| *j != i);
            others.fold(weight(i), |sum, j| {
                sum - moving[i].omega.cross(&moving[j].q.cross(&moving[j].omega)) * self.mass(i, j)
            })
        };
        (0..moving.len()).map(|i| (moving[i].omega, by_position(i))).collect()
    }
}

/// The same directions with other vectors.
fn with(state: &[Ts2], vectors: &DVector<f64>) -> Vec<Ts2> {
    let of = |i: usize| vectors.fixed_rows::<3>(3 * i).into_owned();
    state.iter().enumerate().map(|(i, rod)| Ts2 { q: rod.q, omega: of(i) }).collect()
}

impl VectorField<Vec<Ts2>> for HamiltonianChain {
    fn generator(&self, _: f64, state: &Vec<Ts2>) -> Vec<Vector6<f64>> {
        self.derivatives(state).iter().map(|(by_momentum, by_position)| join(by_momentum, by_position)).collect()
    }
}

impl<const N: usize> VectorField<[Ts2; N]> for HamiltonianChain {
    fn generator(&self, _: f64, state: &[Ts2; N]) -> [Vector6<f64>; N] {
        let derivatives = self.derivatives(state);
        std::array::from_fn(|i| join(&derivatives[i].0, &derivatives[i].1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pendulum_chain::Link;
    use super::*;
    use crate::rkmk::RKMK4;
    use crate::{AlgebraOf, LieGroupMethod};
    use lienav_lie::HomogeneousSpace;

    fn chain() -> (PendulumChain, Vec<Ts2>) {
        let link = |i: usize| Link { mass: 1.0 + 0.3 * i as f64, length: 1.5 - 0.2 * i as f64 };
        let rod = |i: usize| {
            let a = i as f64;
            let q = Vector3::new((1.0 + a).sin(), (2.0 * a).cos(), 0.3 - 0.2 * a).normalize();
            Ts2 { q, omega: q.cross(&Vector3::new(0.5, (3.0 * a).cos(), -1.0 + 0.4 * a)) }
        };
        (PendulumChain::new((0..3).map(link).collect(), 9.81).unwrap(), (0..3).map(rod).collect())
    }

    fn run<F: VectorField<Vec<Ts2>>>(field: &F, start: &[Ts2], steps: u32) -> Vec<Ts2> {
        let h = 0.4 / f64::from(steps);
        (0..steps).fold(start.to_vec(), |y, k| RKMK4.step(field, &y, f64::from(k) * h, h).unwrap())
    }

    /// The order in which the text prints f.
    struct AsPrinted(HamiltonianChain);

    impl VectorField<Vec<Ts2>> for AsPrinted {
        fn generator(&self, _: f64, state: &Vec<Ts2>) -> AlgebraOf<Vec<Ts2>> {
            self.0.derivatives(state).iter().map(|(by_momentum, by_position)| join(by_position, by_momentum)).collect()
        }
    }

    #[test]
    fn hamilton_and_lagrange_give_one_motion_and_the_printed_order_another() {
        let (lagrangian, start) = chain();
        let hamiltonian = HamiltonianChain(lagrangian.clone());
        let momenta = hamiltonian.momenta(&start);
        assert!(momenta.iter().all(|rod| rod.q.dot(&rod.omega).abs() < 1e-14));
        assert!(hamiltonian.velocities(&momenta).unwrap().distance(&start) < 1e-13);
        let expected = run(&lagrangian, &start, 400);
        let end = |steps| hamiltonian.velocities(&run(&hamiltonian, &momenta, steps)).unwrap();
        let error = |steps| end(steps).distance(&expected);
        assert!(((error(25) / error(50)).log2() - 4.0).abs() < 0.3, "{} {}", error(25), error(50));
        assert!(error(200) < 1e-6);
        assert!((lagrangian.energy(&end(400)) - lagrangian.energy(&start)).abs() < 1e-8);
        assert!(end(400).iter().all(|rod| rod.constraint_error() < 1e-12));
        let printed = hamiltonian.velocities(&run(&AsPrinted(hamiltonian.clone()), &momenta, 400)).unwrap();
        assert!((lagrangian.energy(&printed) - lagrangian.energy(&start)).abs() > 0.1);
    }
}
