//! Runge–Kutta–Munthe-Kaas methods: y(t) = exp(σ(t))·y₀, with a Runge–Kutta method for σ in the Lie algebra
//! (Celledoni et al. 2021, section 2.2).

use super::IntegrationError;
use super::field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
use super::tableau::{
    BOGACKI_SHAMPINE32, DORMAND_PRINCE54, EULER, Embedded, HEUN2, HEUN3, KUTTA3, RK4, Tableau, ZONNEVELD43,
};
use lienav_lie::{HomogeneousSpace, LieGroup, VectorSpace};

/// An explicit Runge–Kutta method for σ̇ = dexp_σ⁻¹(f(exp(σ)·y₀)), (6). Its order is that of the tableau; what the
/// group action keeps it keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rkmk<const S: usize> {
    /// The coefficients. What they say of later stages is not used.
    pub tableau: Tableau<S>,
    /// How dexp⁻¹ is computed.
    pub dexp_inv: DexpInv,
}

/// A method with another one on the same stages to estimate its error by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RkmkPair<const S: usize> {
    /// What makes the step.
    pub method: Rkmk<S>,
    /// What it is compared with.
    pub auxiliary: Embedded<S>,
}

/// How dexp⁻¹ is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DexpInv {
    /// As the group has it, in closed form where there is one.
    #[default]
    Exact,
    /// By the series (8) up to this power of ad; for a method of order p, p − 2 are enough.
    Series(usize),
}

/// Bₖ/k! of the Bernoulli numbers B₀ … B₈; those of odd k > 1 vanish.
const BERNOULLI: [f64; 9] = [1.0, -0.5, 1.0 / 12.0, 0.0, -1.0 / 720.0, 0.0, 1.0 / 30_240.0, 0.0, -1.0 / 1_209_600.0];

/// Lie–Euler, y₁ = exp(h f(y₀))·y₀.
pub const LIE_EULER: Rkmk<1> = Rkmk::new(EULER);
/// Lie–Euler–Heun, order 2.
pub const LIE_EULER_HEUN: Rkmk<2> = Rkmk::new(HEUN2);
/// Order 3, on Heun's method.
pub const RKMK3: Rkmk<3> = Rkmk::new(HEUN3);
/// Order 3, on Kutta's method.
pub const RKMK3_KUTTA: Rkmk<3> = Rkmk::new(KUTTA3);
/// Order 4, on the classical method.
pub const RKMK4: Rkmk<4> = Rkmk::new(RK4);
/// The same with the series (8) cut off after the second power.
pub const RKMK4_SERIES: Rkmk<4> = Rkmk { tableau: RK4, dexp_inv: DexpInv::Series(2) };
/// The pair 3(2) of Bogacki and Shampine.
pub const RKMK32: RkmkPair<4> = pair(BOGACKI_SHAMPINE32);
/// Zonneveld's pair 4(3).
pub const RKMK43: RkmkPair<5> = pair(ZONNEVELD43);
/// The pair 5(4) of Dormand and Prince.
pub const RKMK54: RkmkPair<7> = pair(DORMAND_PRINCE54);

/// Checked when compiled: only constants are made by this.
const fn pair<const S: usize>(tableau: Tableau<S>) -> RkmkPair<S> {
    match RkmkPair::new(Rkmk::new(tableau)) {
        Some(pair) => pair,
        None => panic!("no embedded weights"),
    }
}

impl<const S: usize> RkmkPair<S> {
    /// Of a method whose tableau has embedded weights.
    pub const fn new(method: Rkmk<S>) -> Option<Self> {
        match method.tableau.embedded {
            Some(auxiliary) => Some(Self { method, auxiliary }),
            None => None,
        }
    }
}

impl<const S: usize> Rkmk<S> {
    /// With the exact dexp⁻¹.
    pub const fn new(tableau: Tableau<S>) -> Self {
        Self { tableau, dexp_inv: DexpInv::Exact }
    }

    /// The slopes of σ, h times.
    #[inline]
    fn slopes<M: HomogeneousSpace>(&self, field: &impl VectorField<M>, y: &M, time: f64, h: f64) -> [AlgebraOf<M>; S] {
        // dexp_0⁻¹ is the identity, and so is exp(0)·.
        let first = field.generator(time, y).scaled(h);
        let mut slopes: [AlgebraOf<M>; S] = std::array::from_fn(|_| first.clone());
        for i in 1..S {
            let sigma = combination(&self.tableau.a[i][..i], &slopes[..i], &first);
            let stage = y.moved_by(&M::Group::exp(&sigma));
            let generator = field.generator(time + self.tableau.c[i] * h, &stage).scaled(h);
            slopes[i] = self.dexp_inv.apply::<M::Group>(&sigma, &generator);
        }
        slopes
    }
}

impl DexpInv {
    #[inline]
    fn apply<G: LieGroup>(self, sigma: &G::Algebra, eta: &G::Algebra) -> G::Algebra {
        let Self::Series(powers) = self else { return G::dexp_inv(sigma, eta) };
        let (mut sum, mut power) = (eta.clone(), eta.clone());
        for bernoulli in BERNOULLI.into_iter().take(powers + 1).skip(1) {
            power = G::ad(sigma, &power);
            sum.add_scaled(bernoulli, &power);
        }
        sum
    }
}

/// Σ wₖ xₖ, of the shape of `like`.
#[inline]
pub(super) fn combination<V: VectorSpace>(weights: &[f64], of: &[V], like: &V) -> V {
    let mut sum = like.zero_like();
    for (weight, x) in weights.iter().zip(of) {
        if *weight != 0.0 {
            sum.add_scaled(*weight, x);
        }
    }
    sum
}

/// exp(σ)·y, unless σ is not finite.
#[inline]
fn moved<M: HomogeneousSpace>(y: &M, sigma: &AlgebraOf<M>, time: f64, step: f64) -> Result<M, IntegrationError> {
    if sigma.norm().is_finite() {
        Ok(y.moved_by(&M::Group::exp(sigma)))
    } else {
        Err(IntegrationError::NotFinite { time, step })
    }
}

impl<const S: usize, M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F> for Rkmk<S> {
    fn name(&self) -> String {
        match self.dexp_inv {
            DexpInv::Exact => format!("RKMK {}", self.tableau.name),
            DexpInv::Series(powers) => format!("RKMK {}, series to ad^{powers}", self.tableau.name),
        }
    }
    fn order(&self) -> usize {
        match self.dexp_inv {
            DexpInv::Exact => self.tableau.order,
            // An even power is followed by one that vanishes.
            DexpInv::Series(powers) => self.tableau.order.min(powers + 2 + usize::from(powers > 0 && powers % 2 == 0)),
        }
    }
    #[inline]
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        let slopes = self.slopes(field, y, time, h);
        moved(y, &combination(&self.tableau.b, &slopes, &slopes[0]), time, h)
    }
}

impl<const S: usize, M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F> for RkmkPair<S> {
    fn name(&self) -> String {
        LieGroupMethod::<M, F>::name(&self.method)
    }
    fn order(&self) -> usize {
        LieGroupMethod::<M, F>::order(&self.method)
    }
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        self.method.step(field, y, time, h)
    }
}

/// The error is ‖σ₁ − σ̃₁‖ (section 4.1).
impl<const S: usize, M: HomogeneousSpace, F: VectorField<M>> EmbeddedMethod<M, F> for RkmkPair<S> {
    fn auxiliary_order(&self) -> usize {
        self.auxiliary.order
    }
    fn step_with_error(&self, field: &F, y: &M, time: f64, h: f64) -> Result<(M, f64), IntegrationError> {
        let slopes = self.method.slopes(field, y, time, h);
        let weights = &self.method.tableau.b;
        let difference: [f64; S] = std::array::from_fn(|i| weights[i] - self.auxiliary.b[i]);
        let next = moved(y, &combination(weights, &slopes, &slopes[0]), time, h)?;
        Ok((next, combination(&difference, &slopes, &slopes[0]).norm()))
    }
}

/// The method of order 4 with two commutators in all, of Casas and Owren (Celledoni et al. 2021, section 2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rkmk4TwoCommutators;

impl<M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F> for Rkmk4TwoCommutators {
    fn name(&self) -> String {
        "RKMK RK 4, two commutators".into()
    }
    fn order(&self) -> usize {
        4
    }
    #[inline]
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        let slope =
            |c: f64, sigma: &AlgebraOf<M>| field.generator(time + c * h, &y.moved_by(&M::Group::exp(sigma))).scaled(h);
        let f1 = field.generator(time, y).scaled(h);
        let f2 = slope(0.5, &f1.scaled(0.5));
        let f3 = slope(0.5, &f2.scaled(0.5).plus_scaled(-0.125, &M::Group::ad(&f1, &f2)));
        let f4 = slope(1.0, &f3);
        let mut sigma = combination(&RK4.b, &[f1.clone(), f2, f3, f4.clone()], &f1);
        sigma.add_scaled(-1.0 / 12.0, &M::Group::ad(&f1, &f4));
        moved(y, &sigma, time, h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_lie::{So3, Translation};
    use nalgebra::Vector3;

    /// Turns about an axis that depends on time and attitude.
    struct Turning;

    impl VectorField<So3> for Turning {
        fn generator(&self, time: f64, attitude: &So3) -> Vector3<f64> {
            *attitude * Vector3::new(time.sin(), 1.0, -0.5) + Vector3::new(0.0, 0.3, time)
        }
    }

    impl VectorField<Translation<Vector3<f64>>> for Turning {
        fn generator(&self, time: f64, x: &Translation<Vector3<f64>>) -> Vector3<f64> {
            x.0.cross(&Vector3::new(time, 1.0, 0.0))
        }
    }

    fn run(method: &dyn LieGroupMethod<So3, Turning>, steps: u32) -> So3 {
        let h = 1.0 / f64::from(steps);
        (0..steps).fold(So3::identity(), |r, k| method.step(&Turning, &r, f64::from(k) * h, h).unwrap())
    }

    #[test]
    fn in_a_vector_space_it_is_the_runge_kutta_method() {
        let (x, h) = (Translation(Vector3::new(1.0, -2.0, 0.5)), 0.3);
        let f = |time: f64, x: &Vector3<f64>| Turning.generator(time, &Translation(*x));
        let k1 = f(1.0, &x.0);
        let k2 = f(1.15, &(x.0 + k1 * 0.15));
        let k3 = f(1.15, &(x.0 + k2 * 0.15));
        let k4 = f(1.3, &(x.0 + k3 * 0.3));
        let expected = x.0 + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0);
        assert!((RKMK4.step(&Turning, &x, 1.0, h).unwrap().0 - expected).norm() < 1e-15);
        assert!((Rkmk4TwoCommutators.step(&Turning, &x, 1.0, h).unwrap().0 - expected).norm() < 1e-15);
    }

    #[test]
    fn orders_with_a_field_that_changes_with_time() {
        let reference = run(&RKMK54, 500);
        let gauss = crate::ImplicitRkmk { tableau: crate::tableau::GAUSS4 };
        let series = Rkmk { tableau: DORMAND_PRINCE54, dexp_inv: DexpInv::Series(3) };
        let methods: [&dyn LieGroupMethod<So3, Turning>; 7] =
            [&LIE_EULER_HEUN, &RKMK3, &RKMK4, &RKMK4_SERIES, &Rkmk4TwoCommutators, &gauss, &series];
        for method in methods {
            let errors = [20, 40].map(|steps| run(method, steps).distance(&reference));
            let slope = (errors[0] / errors[1]).log2();
            assert!((slope - method.order() as f64).abs() < 0.2, "{}: {slope}", method.name());
        }
    }

    #[test]
    fn a_series_too_short_costs_order() {
        let reference = run(&RKMK54, 500);
        let short = Rkmk { tableau: RK4, dexp_inv: DexpInv::Series(0) };
        let slope = (run(&short, 40).distance(&reference) / run(&short, 80).distance(&reference)).log2();
        assert_eq!(LieGroupMethod::<So3, Turning>::order(&short), 2);
        assert!((slope - 2.0).abs() < 0.2, "{slope}");
        assert_eq!(LieGroupMethod::<So3, Turning>::order(&RKMK4_SERIES), 4);
    }

    #[test]
    fn every_term_of_the_series_is_right() {
        let (sigma, eta) = (Vector3::new(0.3, -0.2, 0.4), Vector3::new(1.0, 0.5, -0.7));
        let exact = So3::dexp_inv(&sigma, &eta);
        assert!((DexpInv::Series(8).apply::<So3>(&sigma, &eta) - exact).norm() < 1e-9);
        let error = |powers: usize, scale: f64| {
            let sigma = sigma * scale;
            (DexpInv::Series(powers).apply::<So3>(&sigma, &eta) - So3::dexp_inv(&sigma, &eta)).norm()
        };
        for (powers, next) in [(0, 1.0), (1, 2.0), (2, 4.0), (4, 6.0), (6, 8.0)] {
            let slope = (error(powers, 4.0) / error(powers, 2.0)).log2();
            assert!((slope - next).abs() < 0.25, "{powers}: {slope}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_an_error() {
        let error = RKMK54.step(&Turning, &So3::identity(), f64::NAN, 0.1).unwrap_err();
        assert!(matches!(error, IntegrationError::NotFinite { step: 0.1, .. }));
    }
}
