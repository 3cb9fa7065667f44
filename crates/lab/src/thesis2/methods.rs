//! The methods that are compared.

use lienav_integrate::exponential::{
    Classical, EnergyPreservingExponential, Iteration, Method, NewtonMidpoint, SemilinearPoisson, Splitting,
    SymplecticExponential,
};

/// A method on systems of one type.
pub(super) struct Candidate<P> {
    /// As in the tables; the last is not in the text.
    pub(super) name: &'static str,
    /// The order it should show.
    pub(super) order: f64,
    /// Sets it up for a system and a step size.
    pub(super) make: Make<P>,
}

/// Sets a method up.
pub(super) type Make<P> = for<'a> fn(&'a P, f64, Iteration) -> Box<dyn Method + 'a>;

pub(super) const MIDPOINT: &str = "midpoint, fixed point";
pub(super) const NEWTON: &str = "midpoint, quasi-Newton";
pub(super) const EXPONENTIAL_MIDPOINT: &str = "exponential midpoint";
pub(super) const DISCRETE_GRADIENT: &str = "discrete gradient";
pub(super) const ENERGY_PRESERVING: &str = "energy-preserving exponential";
pub(super) const DISEX: &str = "DISEX";
pub(super) const LINEAR_SOLVED: &str = "midpoint, linear part solved";

/// All methods, in the order of the tables.
pub(super) fn all<P: SemilinearPoisson>() -> Vec<Candidate<P>> {
    vec![
        Candidate {
            name: MIDPOINT,
            order: 2.0,
            make: |p, h, it| Box::new(Classical::midpoint(p, h, Splitting::None, it)),
        },
        Candidate { name: NEWTON, order: 2.0, make: |p, h, it| Box::new(NewtonMidpoint::new(p, h, it)) },
        Candidate {
            name: EXPONENTIAL_MIDPOINT,
            order: 2.0,
            make: |p, h, it| Box::new(SymplecticExponential::midpoint(p, h, it)),
        },
        Candidate {
            name: DISCRETE_GRADIENT,
            order: 2.0,
            make: |p, h, it| Box::new(Classical::discrete_gradient(p, h, Splitting::None, it)),
        },
        Candidate {
            name: ENERGY_PRESERVING,
            order: 2.0,
            make: |p, h, it| Box::new(EnergyPreservingExponential::new(p, h, it)),
        },
        Candidate { name: DISEX, order: 5.0, make: |p, h, it| Box::new(SymplecticExponential::disex(p, h, it)) },
        Candidate {
            name: LINEAR_SOLVED,
            order: 2.0,
            make: |p, h, it| Box::new(Classical::midpoint(p, h, Splitting::Linear, it)),
        },
    ]
}

/// The methods of these names, in the same order.
pub(super) fn named<P: SemilinearPoisson>(names: &[&str]) -> Vec<Candidate<P>> {
    all().into_iter().filter(|candidate| names.contains(&candidate.name)).collect()
}

/// The largest difference of two states.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    crate::measure::largest(a.iter().zip(b).map(|(a, b)| a - b))
}
