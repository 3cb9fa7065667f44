//! Runge–Kutta–Munthe-Kaas methods: y(t) = exp(σ(t))·y₀, with a Runge–Kutta method for σ in the Lie algebra
//! (Celledoni et al. 2021, section 2.2).

use super::IntegrationError;
use super::field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
use super::tableau::{
    BOGACKI_SHAMPINE32, DORMAND_PRINCE54, EULER, Embedded, HEUN2, HEUN3, KUTTA3, RK4, Tableau, ZONNEVELD43,
};
use crate::lie::{HomogeneousSpace, LieGroup, VectorSpace};

/// An explicit Runge–Kutta method for σ̇ = dexp_σ⁻¹(f(exp(σ)·y₀)), (6). Its order is that of the tableau; what the group
/// action keeps it keeps.
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
