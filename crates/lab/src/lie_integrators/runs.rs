//! What the experiments have in common: which methods, runs with constant steps, orders.

use crate::figures::{marked, of_errors, over_time};
use crate::measure::{order_observed, time_step};
use crate::{Figure, Line, MethodResult};
use lienav_integrate::commutator_free::{CF3, CF4, CF32B, CROUCH_GROSSMAN3};
use lienav_integrate::rkmk::{
    LIE_EULER, LIE_EULER_HEUN, RKMK3, RKMK3_KUTTA, RKMK4, RKMK4_SERIES, RKMK54, Rkmk4TwoCommutators,
};
use lienav_integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT};
use lienav_integrate::{ImplicitRkmk, IntegrationError, LieGroupMethod, VectorField};
use lienav_lie::HomogeneousSpace;
use std::time::Duration;

/// Methods for a field on a space, by the names they go by.
pub(super) type Methods<M, F> = Vec<Box<dyn LieGroupMethod<M, F>>>;

/// Every explicit method for constant steps.
pub(super) fn explicit<M: HomogeneousSpace, F: VectorField<M>>() -> Methods<M, F> {
    vec![
        Box::new(LIE_EULER),
        Box::new(LIE_EULER_HEUN),
        Box::new(RKMK3),
        Box::new(RKMK3_KUTTA),
        Box::new(RKMK4),
        Box::new(RKMK4_SERIES),
        Box::new(Rkmk4TwoCommutators),
        Box::new(RKMK54),
        Box::new(CROUCH_GROSSMAN3),
        Box::new(CF3),
        Box::new(CF32B),
        Box::new(CF4),
    ]
}

/// Those, and Gauss's in the algebra: implicit, symmetric, but not symplectic.
pub(super) fn all<M: HomogeneousSpace, F: VectorField<M>>() -> Methods<M, F> {
    let mut methods = explicit();
    methods.push(Box::new(ImplicitRkmk { tableau: IMPLICIT_MIDPOINT }));
    methods.push(Box::new(ImplicitRkmk { tableau: GAUSS4 }));
    methods.push(Box::new(ImplicitRkmk { tableau: GAUSS6 }));
    methods
}

/// From time 0 to `end` in `steps` equal steps; `observe` is given time and point after each.
pub(super) fn advance<M: HomogeneousSpace, F: VectorField<M>>(
    method: &dyn LieGroupMethod<M, F>,
    field: &F,
    start: &M,
    end: f64,
    steps: u32,
    mut observe: impl FnMut(f64, &M),
) -> Result<M, IntegrationError> {
    let h = end / f64::from(steps);
    let mut y = start.clone();
    for k in 0..steps {
        y = method.step(field, &y, f64::from(k) * h, h)?;
        observe(f64::from(k + 1) * h, &y);
    }
    Ok(y)
}

/// A test of convergence: errors at `end` with these numbers of steps.
pub(super) struct Convergence<'a, M, F> {
    pub field: &'a F,
    pub start: &'a M,
    pub end: f64,
    pub reference: &'a M,
    pub steps: &'a [u32],
}

impl<M: HomogeneousSpace, F: VectorField<M>> Convergence<'_, M, F> {
    /// Step sizes and errors. A step too large for the method gives an error that is no number, and is left out of
    /// orders and figures.
    pub fn errors(&self, method: &dyn LieGroupMethod<M, F>) -> Vec<(f64, f64)> {
        let error = |&steps: &u32| {
            let end = advance(method, self.field, self.start, self.end, steps, |_, _| ());
            (self.end / f64::from(steps), end.map_or(f64::NAN, |end| end.distance(self.reference)))
        };
        self.steps.iter().map(error).collect()
    }

    /// Orders, the error with the middle one of the steps, and cost of each method; lines for the figure.
    pub fn of(&self, methods: &Methods<M, F>) -> (Vec<MethodResult>, Vec<(usize, Line)>) {
        let one = |method: &dyn LieGroupMethod<M, F>| {
            let errors = self.errors(method);
            let (h, error) = errors[errors.len() / 2];
            let values = vec![
                ("order_observed", order_observed(&errors)),
                ("order_expected", method.order() as f64),
                ("error_at_step", error),
                ("step", h),
                ("step_ns", step_ns(method, self.field, self.start, h)),
            ];
            let line = (method.order(), marked(&method.name(), errors));
            (MethodResult { name: method.name(), values }, line)
        };
        methods.iter().map(|method| one(&**method)).unzip()
    }
}

/// The time of a step from `start`, ns.
pub(super) fn step_ns<M: HomogeneousSpace, F: VectorField<M>>(
    method: &dyn LieGroupMethod<M, F>,
    field: &F,
    start: &M,
    h: f64,
) -> f64 {
    let mut y = start.clone();
    let step = || {
        if let Ok(next) = method.step(field, std::hint::black_box(&y), 0.0, h) {
            y = next;
        }
    };
    time_step(Duration::from_millis(20), step).least_ns
}

/// A figure of errors over step sizes.
pub(super) fn convergence_figure(file: &str, title: &str, lines: Vec<(usize, Line)>) -> Figure {
    of_errors(file, title, ("h", "error at the end"), lines)
}

/// A figure over time.
pub(super) fn time_figure(file: &str, title: &str, y_label: &str, y_log: bool, lines: Vec<Line>) -> Figure {
    over_time(file, title, ("t", y_label), y_log, lines)
}

/// `first`·2ᵏ for k = 0 … `count` − 1.
pub(super) fn doublings(first: u32, count: u32) -> Vec<u32> {
    (0..count).map(|k| first << k).collect()
}
