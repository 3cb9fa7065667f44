//! Commutator-free Lie group methods: products of exponentials of sums of generators (Celledoni et al. 2021,
//! section 2.2), with embedded pairs (section 4.2). They need no bracket and no dexp⁻¹.

use super::IntegrationError;
use super::field::{AlgebraOf, EmbeddedMethod, LieGroupMethod, VectorField};
use super::rkmk::combination;
use lienav_lie::{HomogeneousSpace, LieGroup, VectorSpace};

/// A method of `S` stages and `E` exponentials, written as the points it goes through: point 0 is the initial value,
/// point k + 1 is `flows[k]` applied to an earlier one. So an exponential that several stages share is computed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommutatorFree<const S: usize, const E: usize> {
    /// The name it is known by.
    pub name: &'static str,
    /// The order of convergence.
    pub order: usize,
    /// In the order in which they are computed.
    pub flows: [Flow<S>; E],
    /// Which point is stage i, increasing; stage 0 is point 0.
    pub stages: [usize; S],
    /// Which point is the result. What comes after it serves the auxiliary method only.
    pub result: usize,
    /// Which point is the result of the auxiliary method, and its order.
    pub auxiliary: Option<Auxiliary>,
}

/// exp(h Σₖ wₖfₖ)· applied to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow<const S: usize> {
    /// The point it starts from.
    pub from: usize,
    /// The wₖ.
    pub weights: [f64; S],
}

/// The other method of an embedded pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auxiliary {
    /// Which point is its result.
    pub result: usize,
    /// Its order, lower than that of the main method.
    pub order: usize,
}

/// A method and its [`Auxiliary`], for variable steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommutatorFreePair<const S: usize, const E: usize> {
    method: CommutatorFree<S, E>,
    auxiliary: Auxiliary,
}

const fn flow<const S: usize>(from: usize, weights: [f64; S]) -> Flow<S> {
    Flow { from, weights }
}

/// Crouch and Grossman's method of order 3: each exponential of one generator only.
pub const CROUCH_GROSSMAN3: CommutatorFree<3, 6> = CommutatorFree {
    name: "Crouch–Grossman 3",
    order: 3,
    flows: [
        flow(0, [0.75, 0.0, 0.0]),
        flow(0, [119.0 / 216.0, 0.0, 0.0]),
        flow(2, [0.0, 17.0 / 108.0, 0.0]),
        flow(0, [13.0 / 51.0, 0.0, 0.0]),
        flow(4, [0.0, -2.0 / 3.0, 0.0]),
        flow(5, [0.0, 0.0, 24.0 / 17.0]),
    ],
    stages: [0, 1, 3],
    result: 6,
    auxiliary: None,
};

const CF32A_METHOD: CommutatorFree<3, 4> = CommutatorFree {
    name: "CF 3(2) A",
    order: 3,
    flows: [
        flow(0, [1.0 / 3.0, 0.0, 0.0]),
        flow(0, [0.0, 2.0 / 3.0, 0.0]),
        flow(1, [-1.0 / 12.0, 0.0, 0.75]),
        flow(0, [0.0, 0.5, 0.5]),
    ],
    stages: [0, 1, 2],
    result: 3,
    auxiliary: Some(Auxiliary { result: 4, order: 2 }),
};

/// The first pair 3(2) of section 4.2.1; its main method is the commutator-free one of order 3 that starts its last
/// exponential from stage 2.
pub const CF32A: CommutatorFreePair<3, 4> = pair(CF32A_METHOD);

/// The main method of [`CF32A`].
pub const CF3: CommutatorFree<3, 4> = CommutatorFree { name: "CF 3", ..CF32A_METHOD };

/// The second pair 3(2) of section 4.2.1, that starts its last exponential from stage 3.
pub const CF32B: CommutatorFreePair<3, 4> = pair(CommutatorFree {
    name: "CF 3(2) B",
    order: 3,
    flows: [
        flow(0, [2.0 / 3.0, 0.0, 0.0]),
        flow(0, [5.0 / 12.0, 0.25, 0.0]),
        flow(2, [-1.0 / 6.0, -0.5, 1.0]),
        flow(0, [0.25, 0.0, 0.75]),
    ],
    stages: [0, 1, 2],
    result: 3,
    auxiliary: Some(Auxiliary { result: 4, order: 2 }),
});

const CF43_METHOD: CommutatorFree<5, 8> = CommutatorFree {
    name: "CF 4(3)",
    order: 4,
    flows: [
        flow(0, [0.5, 0.0, 0.0, 0.0, 0.0]),
        flow(0, [0.0, 0.5, 0.0, 0.0, 0.0]),
        flow(1, [-0.5, 0.0, 1.0, 0.0, 0.0]),
        flow(0, [0.25, 1.0 / 6.0, 1.0 / 6.0, -1.0 / 12.0, 0.0]),
        flow(4, [-1.0 / 12.0, 1.0 / 6.0, 1.0 / 6.0, 0.25, 0.0]),
        flow(0, [0.0, 0.75, 0.0, 0.0, 0.0]),
        flow(0, [1.0 / 3.0, 0.0, 0.0, 0.0, 0.0]),
        flow(7, [-1.0 / 9.0, 1.0 / 3.0, 0.0, 0.0, 4.0 / 9.0]),
    ],
    stages: [0, 1, 2, 3, 6],
    result: 5,
    auxiliary: Some(Auxiliary { result: 8, order: 3 }),
};

/// [`CF4`] with the auxiliary method (34).
pub const CF43: CommutatorFreePair<5, 8> = pair(CF43_METHOD);

/// The method of order 4 (9), on the classical Runge–Kutta method.
pub const CF4: CommutatorFree<5, 8> = CommutatorFree { name: "CF 4", ..CF43_METHOD };

/// Checked when compiled: only constants are made by this.
const fn pair<const S: usize, const E: usize>(method: CommutatorFree<S, E>) -> CommutatorFreePair<S, E> {
    match CommutatorFreePair::new(method) {
        Some(pair) => pair,
        None => panic!("no auxiliary method"),
    }
}

impl<const S: usize, const E: usize> CommutatorFreePair<S, E> {
    /// Of a method that has an auxiliary one.
    pub const fn new(method: CommutatorFree<S, E>) -> Option<Self> {
        match method.auxiliary {
            Some(auxiliary) => Some(Self { method, auxiliary }),
            None => None,
        }
    }
}

impl<const S: usize, const E: usize> CommutatorFree<S, E> {
    /// The points up to `last`; those after it are left at the initial value.
    #[inline]
    fn points<M: HomogeneousSpace>(
        &self,
        field: &impl VectorField<M>,
        y: &M,
        time: f64,
        h: f64,
        last: usize,
    ) -> Result<[M; E], IntegrationError> {
        let first = field.generator(time, y).scaled(h);
        let mut slopes: [AlgebraOf<M>; S] = std::array::from_fn(|_| first.clone());
        let mut points: [M; E] = std::array::from_fn(|_| y.clone());
        let mut fractions = [0.0; E];
        let mut stage = 1;
        for k in 0..last.min(E) {
            let Flow { from, weights } = &self.flows[k];
            let sigma = combination(&weights[..stage], &slopes[..stage], &first);
            if !sigma.norm().is_finite() {
                return Err(IntegrationError::NotFinite { time, step: h });
            }
            let (start, fraction) = from.checked_sub(1).map_or((y, 0.0), |from| (&points[from], fractions[from]));
            points[k] = start.moved_by(&M::Group::exp(&sigma));
            fractions[k] = fraction + weights.iter().sum::<f64>();
            if stage < S && self.stages[stage] == k + 1 {
                slopes[stage] = field.generator(time + fractions[k] * h, &points[k]).scaled(h);
                stage += 1;
            }
        }
        Ok(points)
    }
}

fn take<M, const E: usize>(points: [M; E], point: usize) -> Option<M> {
    point.checked_sub(1).and_then(|index| points.into_iter().nth(index))
}

impl<const S: usize, const E: usize, M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F>
    for CommutatorFree<S, E>
{
    fn name(&self) -> String {
        self.name.into()
    }
    fn order(&self) -> usize {
        self.order
    }
    #[inline]
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        let points = self.points(field, y, time, h, self.result)?;
        // A method whose result is its initial value does not move.
        Ok(take(points, self.result).unwrap_or_else(|| y.clone()))
    }
}

impl<const S: usize, const E: usize, M: HomogeneousSpace, F: VectorField<M>> LieGroupMethod<M, F>
    for CommutatorFreePair<S, E>
{
    fn name(&self) -> String {
        self.method.name.into()
    }
    fn order(&self) -> usize {
        self.method.order
    }
    fn step(&self, field: &F, y: &M, time: f64, h: f64) -> Result<M, IntegrationError> {
        self.method.step(field, y, time, h)
    }
}

/// The error is the distance of the two results (section 4.2).
impl<const S: usize, const E: usize, M: HomogeneousSpace, F: VectorField<M>> EmbeddedMethod<M, F>
    for CommutatorFreePair<S, E>
{
    fn auxiliary_order(&self) -> usize {
        self.auxiliary.order
    }
    fn step_with_error(&self, field: &F, y: &M, time: f64, h: f64) -> Result<(M, f64), IntegrationError> {
        let points = self.method.points(field, y, time, h, E)?;
        let auxiliary = self.auxiliary.result.checked_sub(1).and_then(|index| points.get(index)).unwrap_or(y).clone();
        let next = take(points, self.method.result).unwrap_or_else(|| y.clone());
        let error = next.distance(&auxiliary);
        Ok((next, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tableau;
    use lienav_lie::So3;
    use nalgebra::Vector3;

    /// What is left of a method where everything commutes: a Runge–Kutta method.
    fn collapsed<const S: usize, const E: usize>(method: &CommutatorFree<S, E>, result: usize) -> Tableau<S> {
        let weights = |mut point: usize| {
            let mut sum = [0.0; S];
            while let Some(flow) = point.checked_sub(1).map(|index| method.flows[index]) {
                sum.iter_mut().zip(flow.weights).for_each(|(sum, weight)| *sum += weight);
                point = flow.from;
            }
            sum
        };
        let a = method.stages.map(weights);
        Tableau {
            name: method.name,
            a,
            b: weights(result),
            c: a.map(|row| row.iter().sum()),
            order: method.order,
            embedded: None,
        }
    }

    fn check<const S: usize, const E: usize>(method: &CommutatorFree<S, E>) {
        let mut results = vec![(method.result, method.order)];
        results.extend(method.auxiliary.map(|auxiliary| (auxiliary.result, auxiliary.order)));
        for (result, order) in results {
            let tableau = collapsed(method, result);
            assert!(tableau.is_explicit());
            for p in 1..=order {
                assert!(tableau.order_defect(p) < 1e-15, "{}: {p}", method.name);
            }
            assert!(tableau.order_defect(order + 1) > 1e-3, "{}", method.name);
        }
    }

    #[test]
    fn where_everything_commutes_they_are_runge_kutta_methods_of_their_orders() {
        check(&CROUCH_GROSSMAN3);
        check(&CF3);
        check(&CF4);
        check(&CF32A.method);
        check(&CF32B.method);
        check(&CF43.method);
        let classical = crate::tableau::RK4.b;
        assert!(collapsed(&CF4, CF4.result).b.iter().zip(classical).all(|(b, c)| (b - c).abs() < 1e-15));
    }

    struct Turning;

    impl VectorField<So3> for Turning {
        fn generator(&self, time: f64, _: &So3) -> Vector3<f64> {
            Vector3::new(time.sin(), 1.0, (2.0 * time).cos())
        }
    }

    #[test]
    fn stages_are_at_their_times_and_overflow_is_an_error() {
        // The reference with a hundred times as many steps.
        let run = |steps: u32| {
            let h = 1.0 / f64::from(steps);
            (0..steps).fold(So3::identity(), |r, k| CF43.step(&Turning, &r, f64::from(k) * h, h).unwrap())
        };
        let (reference, coarse, fine) = (run(2_000), run(10), run(20));
        let slope = (coarse.distance(&reference) / fine.distance(&reference)).log2();
        assert!((slope - 4.0).abs() < 0.2, "{slope}");
        let error = CF4.step(&Turning, &So3::identity(), f64::INFINITY, 0.1).unwrap_err();
        assert!(matches!(error, IntegrationError::NotFinite { step: 0.1, .. }));
    }
}
