//! Variational Runge–Kutta–Munthe-Kaas methods on T*G (VRKMK): Bogfjellmo & Marthinsen 2016, the rivals in Shen, Tran
//! & Leok 2022, section 5.

use super::cotangent::CotangentHamiltonian;
use super::rigid_body::RigidBody;
use super::settling::Settling;
use super::{IntegrationError, Tableau};
use lienav_lie::{LieGroup, So3, VectorSpace};
use nalgebra::Vector3;

/// The discrete Lagrangian h Σ bᵢ ℓ(gᵢ, ξᵢ) with gᵢ = exp(σᵢ)g₀ and σ by the Runge–Kutta method (a, b) on
/// σ̇ = dexp_σ⁻¹ξ. With the multiplier λ of log(g₁g₀⁻¹) = h Σ bᵢkᵢ =: σ its equations are
///
/// - σᵢ = h Σⱼ aᵢⱼkⱼ, kᵢ = dexp_{σᵢ}⁻¹ξᵢ, ξᵢ = ∂H/∂p(gᵢ, pᵢ);
/// - dexp*_{σᵢ}pᵢ = λ − h Σⱼ (bⱼaⱼᵢ/bᵢ)lⱼ, lⱼ = dexp*_{σⱼ}νⱼ + ∇_σ⟨pⱼ, dexp_σ kⱼ⟩, νⱼ the force;
/// - λ = dexp*_{−σ}m, m = p₀ + h Σ bᵢ Ad*_{exp σᵢ}νᵢ, from the variation of g₀ with g₁ fixed;
/// - g₁ = exp(σ)g₀, p₁ = (dexp_σ⁻¹)*λ = Ad*_{exp(−σ)}m.
///
/// Symplectic. Momenta are spatial, as of [`CotangentHamiltonian`]; so is m, hence what is constant in space stays so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vrkmk<const S: usize> {
    a: [[f64; S]; S],
    b: [f64; S],
    early_end: Option<f64>,
}

impl<const S: usize> Vrkmk<S> {
    /// `None` where a weight of the tableau vanishes: there is no partner then.
    pub fn new(tableau: &Tableau<S>) -> Option<Self> {
        tableau.symplectic_partner().map(|_| Self { a: tableau.a, b: tableau.b, early_end: None })
    }

    /// The same with iterations that end as soon as no variable changes by `tolerance`, not at rounding: what they leave
    /// adds up over many steps.
    pub fn ending_early(self, tolerance: f64) -> Self {
        Self { early_end: Some(tolerance), ..self }
    }

    /// (g, p) at `time` + h from that at `time`, and how often the stages were evaluated.
    ///
    /// # Errors
    /// A step whose iteration does not converge, with the last change of its variables relative to their size as the
    /// residual, or whose numbers are not finite.
    pub fn step<G: LieGroup>(
        &self,
        system: &impl CotangentHamiltonian<G>,
        (g, p): &(G, G::Algebra),
        time: f64,
        h: f64,
    ) -> Result<((G, G::Algebra), usize), IntegrationError> {
        let velocity = system.velocity(g, p);
        let size = (p.norm() + h.abs() * velocity.norm()).max(f64::MIN_POSITIVE);
        let force = system.force(g, p);
        let mut stages: [_; S] =
            std::array::from_fn(|_| Stage { slope: velocity.clone(), push: force.clone(), force: force.clone() });
        let mut settling = Settling::new();
        loop {
            let (sigma, momentum) = self.end(&stages, p, h);
            let lambda = G::dexp_dual(&sigma.scaled(-1.0), &momentum);
            let next: [_; S] = std::array::from_fn(|i| self.stage(system, g, &lambda, &stages, i, h));
            let change: f64 = stages.iter().zip(&next).map(|(old, new)| old.distance(new)).sum();
            stages = next;
            let settled = settling.after(h.abs() / size * change, time, h)?;
            let ended = self.early_end.filter(|tolerance| change < *tolerance).map(|_| settling.iterations());
            if let Some(iterations) = settled.or(ended) {
                let (sigma, momentum) = self.end(&stages, p, h);
                let turn = G::exp(&sigma);
                return Ok(((turn.compose(g), turn.inverse().coadjoint_apply(&momentum)), iterations));
            }
        }
    }

    /// σ and m.
    fn end<V: VectorSpace>(&self, stages: &[Stage<V>; S], p: &V, h: f64) -> (V, V) {
        let (mut sigma, mut momentum) = (p.zero_like(), p.clone());
        for (stage, b) in stages.iter().zip(self.b) {
            sigma.add_scaled(h * b, &stage.slope);
            momentum.add_scaled(h * b, &stage.force);
        }
        (sigma, momentum)
    }

    /// Stage i from the last iterates of all.
    fn stage<G: LieGroup>(
        &self,
        system: &impl CotangentHamiltonian<G>,
        g: &G,
        lambda: &G::Algebra,
        stages: &[Stage<G::Algebra>; S],
        i: usize,
        h: f64,
    ) -> Stage<G::Algebra> {
        let (mut sigma, mut chart_momentum) = (lambda.zero_like(), lambda.clone());
        for (j, stage) in stages.iter().enumerate() {
            sigma.add_scaled(h * self.a[i][j], &stage.slope);
            chart_momentum.add_scaled(-h * self.b[j] * self.a[j][i] / self.b[i], &stage.push);
        }
        let turn = G::exp(&sigma);
        let place = turn.compose(g);
        let momentum = G::dexp_inv_dual(&sigma, &chart_momentum);
        let slope = G::dexp_inv(&sigma, &system.velocity(&place, &momentum));
        let force = system.force(&place, &momentum);
        let mut push = G::dexp_dual(&sigma, &force);
        push.add_scaled(1.0, &G::dexp_gradient(&sigma, &slope, &momentum));
        Stage { slope, push, force: turn.coadjoint_apply(&force) }
    }
}

/// kᵢ, lᵢ and Ad*_{exp σᵢ}νᵢ.
struct Stage<V> {
    slope: V,
    push: V,
    force: V,
}

impl<V: VectorSpace> Stage<V> {
    fn distance(&self, other: &Self) -> f64 {
        self.slope.plus_scaled(-1.0, &other.slope).norm()
            + self.push.plus_scaled(-1.0, &other.push).norm()
            + self.force.plus_scaled(-1.0, &other.force).norm()
    }
}

/// A rigid body seen from the world: attitude and spatial angular momentum p = RJΩ, as methods on the cotangent bundle
/// want it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spatial<B>(pub B);

impl<B: RigidBody> Spatial<B> {
    /// (R, RJΩ).
    pub fn state(&self, attitude: &So3, angular_velocity: &Vector3<f64>) -> (So3, Vector3<f64>) {
        (*attitude, *attitude * self.0.momentum(angular_velocity))
    }
}

/// ½pᵀRJ⁻¹Rᵀp + U(R) (Shen, Tran & Leok 2022, (28)).
impl<B: RigidBody> CotangentHamiltonian<So3> for Spatial<B> {
    fn energy(&self, g: &So3, mu: &Vector3<f64>) -> f64 {
        0.5 * mu.dot(&self.velocity(g, mu)) + self.0.potential(g)
    }
    #[inline]
    fn velocity(&self, g: &So3, mu: &Vector3<f64>) -> Vector3<f64> {
        *g * g.rotate_back(mu).component_div(&self.0.moments())
    }
    /// The kinetic part turns with the body at constant p: ν = Rτ + p × ξ, so that ṗ = ν + ξ × p = Rτ.
    #[inline]
    fn force(&self, g: &So3, mu: &Vector3<f64>) -> Vector3<f64> {
        *g * self.0.torque(g) + mu.cross(&self.velocity(g, mu))
    }
}

/// How far a map of (g, p) = (attitude, spatial momentum) is from keeping the symplectic form of T*SO(3), trivialized
/// from the right, ω = ν₂·ξ₁ − ν₁·ξ₂ − p·(ξ₁ × ξ₂) (Celledoni et al. 2021, (13)): the greatest difference over the
/// pairs of basis vectors, by finite differences.
#[cfg(test)]
pub(super) fn symplectic_defect(
    map: impl Fn(&(So3, Vector3<f64>)) -> (So3, Vector3<f64>),
    at: &(So3, Vector3<f64>),
) -> f64 {
    let h = 1e-5;
    let image = map(at);
    let moved = |i: usize, h: f64| {
        let mut shift = [Vector3::zeros(), Vector3::zeros()];
        shift[i / 3][i % 3] = h;
        map(&(So3::exp(&shift[0]) * at.0, at.1 + shift[1]))
    };
    let column = |i: usize| {
        let (ahead, behind) = (moved(i, h), moved(i, -h));
        let turn = |state: &(So3, Vector3<f64>)| (state.0 * image.0.inverse()).log();
        ((turn(&ahead) - turn(&behind)) / (2.0 * h), (ahead.1 - behind.1) / (2.0 * h))
    };
    let columns: [_; 6] = std::array::from_fn(column);
    let basis: [_; 6] = std::array::from_fn(|i| {
        let mut unit = (Vector3::zeros(), Vector3::zeros());
        *if i < 3 { &mut unit.0[i] } else { &mut unit.1[i - 3] } = 1.0;
        unit
    });
    type Tangent = (Vector3<f64>, Vector3<f64>);
    let form = |p: &Vector3<f64>, a: &Tangent, b: &Tangent| b.1.dot(&a.0) - a.1.dot(&b.0) - p.dot(&a.0.cross(&b.0));
    let pairs = (0..6).flat_map(|i| (0..i).map(move |j| (i, j)));
    let difference =
        |(i, j): (usize, usize)| (form(&image.1, &columns[i], &columns[j]) - form(&at.1, &basis[i], &basis[j])).abs();
    pairs.map(difference).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::{DipoleOnAStick, FreeBody};
    use crate::polar::{PolarState, PolarVariational};
    use crate::tableau::{GAUSS4, GAUSS6, HEUN3, IMPLICIT_MIDPOINT, KUTTA3};
    use lienav_lie::hat;

    type State = (So3, Vector3<f64>);

    fn dipole() -> (Spatial<DipoleOnAStick>, State) {
        let system = Spatial(DipoleOnAStick::default());
        let (attitude, omega) = (DipoleOnAStick::initial_attitude(), DipoleOnAStick::initial_angular_velocity());
        (system, system.state(&attitude, &omega))
    }

    fn run<const S: usize, B: RigidBody>(
        tableau: &Tableau<S>,
        system: &Spatial<B>,
        start: &State,
        h: f64,
        n: usize,
    ) -> State {
        let method = Vrkmk::new(tableau).unwrap();
        (0..n).fold(*start, |state, k| method.step(system, &state, k as f64 * h, h).unwrap().0)
    }

    fn distance(a: &State, b: &State) -> f64 {
        (a.0.matrix() - b.0.matrix()).norm() + (a.1 - b.1).norm()
    }

    /// The reference by another method: the polar one of order 6.
    #[test]
    fn orders_are_those_of_the_tableaux() {
        let (system, start) = dipole();
        let mut polar = PolarState { attitude: *start.0.matrix(), momentum: hat(&start.0.rotate_back(&start.1)) };
        let mut method = PolarVariational::new(&GAUSS6, &polar.attitude).unwrap();
        for k in 0..128 {
            method.step(&system.0, &mut polar, f64::from(k) / 256.0, 1.0 / 256.0).unwrap();
        }
        let turn = So3::from_matrix_unchecked(polar.attitude);
        let reference = (turn, turn * lienav_lie::vee(&polar.momentum));
        fn order<const S: usize>(
            tableau: &Tableau<S>,
            system: &Spatial<DipoleOnAStick>,
            start: &State,
            reference: &State,
            n: usize,
        ) -> f64 {
            let error = |n: usize| distance(&run(tableau, system, start, 0.5 / n as f64, n), reference);
            (error(n) / error(2 * n)).log2()
        }
        let orders = [
            (2.0, order(&IMPLICIT_MIDPOINT, &system, &start, &reference, 32)),
            (3.0, order(&KUTTA3, &system, &start, &reference, 128)),
            (4.0, order(&GAUSS4, &system, &start, &reference, 16)),
            (6.0, order(&GAUSS6, &system, &start, &reference, 8)),
        ];
        assert!(orders.iter().all(|(expected, observed)| (expected - observed).abs() < 0.15), "{orders:?}");
    }

    #[test]
    fn symplectic_also_where_not_symmetric() {
        let (system, _) = dipole();
        let at = system.state(&So3::exp(&Vector3::new(0.3, 0.8, -0.5)), &Vector3::new(0.7, -0.2, 1.1));
        assert!(symplectic_defect(|state| run(&KUTTA3, &system, state, 0.1, 1), &at) < 1e-8);
        assert!(symplectic_defect(|state| run(&GAUSS4, &system, state, 0.1, 1), &at) < 1e-8);
        // The measure itself: a step of no symplectic method.
        let euler = |(g, p): &State| (So3::exp(&(system.velocity(g, p) * 0.1)) * *g, p + *g * system.0.torque(g) * 0.1);
        assert!(symplectic_defect(euler, &at) > 1e-3);
    }

    #[test]
    fn a_free_body_keeps_its_momentum_in_space() {
        let system = Spatial(FreeBody { moments: Vector3::new(1.0, 2.0, 3.0) });
        let start = system.state(&So3::identity(), &Vector3::new(0.5, -0.25, 0.5 / 3.0));
        let end = run(&GAUSS4, &system, &start, 0.2, 200);
        assert!((end.1 - start.1).norm() < 1e-12);
        assert!((system.energy(&end.0, &end.1) - system.energy(&start.0, &start.1)).abs() < 1e-6);
    }

    #[test]
    fn errors() {
        let (system, start) = dipole();
        assert!(Vrkmk::new(&HEUN3).is_none(), "a weight of Heun's vanishes");
        assert!(Vrkmk::new(&GAUSS4).unwrap().step(&system, &start, 0.0, 50.0).is_err());
    }
}
