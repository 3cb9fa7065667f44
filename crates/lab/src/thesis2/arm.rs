//! A stiff system of robotics: how large steps may be on an elastic arm that sets a payload down.

use super::methods::{DISEX, MIDPOINT, Make, NEWTON, all, named};
use crate::measure::{largest, log_slope};
use crate::report::{Experiment, Extent, MethodResult};
use lienav_eval::plot::{Figure, Line};
use lienav_integrate::IntegrationError;
use lienav_integrate::dynamics::elastic_arm::{ArmError, ArmSystem, ElasticArm, Parameters};
use lienav_integrate::exponential::{Iteration, Method, SemilinearPoisson};
use nalgebra::Complex;
use std::time::Instant;

/// The tip is let go from here, m, above the pad.
const RELEASED_M: f64 = -0.1;

/// How exact the tip has to be for a step to count, m.
const TOLERANCE_M: f64 = 1e-4;

/// The tip is looked at so often, s: every step that is tried divides it.
const SAMPLED_S: f64 = 0.01;

const RUNGE_KUTTA: &str = "Runge–Kutta 4, explicit";

/// Keys by number of elements.
const STEP_KEYS: [(usize, &str); 3] =
    [(10, "step_max_s_10_elements"), (20, "step_max_s_20_elements"), (40, "step_max_s_40_elements")];

/// The largest step that keeps the tip, by method and number of elements; the gain over the explicit method; and how
/// much faster than real time that is.
pub(super) fn run(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (time_s, keys) = match extent {
        Extent::Full => (1.0, &STEP_KEYS[..]),
        Extent::Quick => (0.05, &STEP_KEYS[..1]),
    };
    let mut experiment = Experiment {
        name: "elastic-arm".into(),
        about: format!(
            "A metre of aluminium strip, clamped, with 200 g at its tip, bent to {RELEASED_M} m, let go and caught by a \
             stiffening pad, {time_s} s. Largest step ({SAMPLED_S} s by 1, 2, 3, 4, 6, 8, 12, …) that keeps the tip \
             within {TOLERANCE_M} m; midpoint by quasi-Newton is left out, as it takes the steps of the one with the \
             linear part solved."
        ),
        ..Experiment::default()
    };
    let arms: Vec<ElasticArm> = keys
        .iter()
        .map(|(elements, _)| ElasticArm::new(&Parameters { elements: *elements, ..Parameters::default() }))
        .collect::<Result<_, ArmError>>()
        .map_err(|_| IntegrationError::NotFinite { time: 0.0, step: 0.0 })?;
    let references: Vec<Vec<f64>> = arms.iter().map(|arm| reference(arm, time_s)).collect::<Result<_, _>>()?;
    let explicit: Make<ArmSystem> = |system, step, _| Box::new(RungeKutta::new(system, step));
    let mut methods: Vec<(&str, Make<ArmSystem>)> = vec![(RUNGE_KUTTA, explicit)];
    methods.extend(
        all::<ArmSystem>().into_iter().filter(|method| method.name != NEWTON).map(|method| (method.name, method.make)),
    );
    let mut explicit_step = f64::NAN;
    for (name, make) in methods {
        let mut values = Vec::new();
        let mut steps = Vec::new();
        for ((arm, reference), (elements, key)) in arms.iter().zip(&references).zip(keys) {
            let found = largest_step(arm, reference, make, time_s, matches!(name, RUNGE_KUTTA | MIDPOINT));
            values.push((*key, found.map_or(f64::NAN, |found| found.0)));
            let Some((step, seconds)) = found else { continue };
            steps.push((*elements as f64, step));
            if *elements == keys[keys.len() - 1].0 {
                if name == RUNGE_KUTTA {
                    explicit_step = step;
                }
                values.push(("step_gain", step / explicit_step));
                values.push(("times_real_time", time_s / seconds));
            }
        }
        values.push(("step_scaling_slope", log_slope(&steps).map_or(f64::NAN, |fit| fit.slope)));
        experiment.methods.push(MethodResult { name: name.into(), values });
        if experiment.figures.is_empty() {
            experiment.figures.push(Figure {
                file: "elastic-arm".into(),
                title: "Largest step on the elastic arm".into(),
                x_label: "elements".into(),
                y_label: "step [s]".into(),
                x_log: true,
                y_log: true,
                ..Figure::default()
            });
        }
        experiment.figures[0].lines.push(Line { name: name.into(), points: steps, marked: true, ..Line::default() });
    }
    Ok(experiment)
}

/// The tip every [`SAMPLED_S`].
fn reference(arm: &ElasticArm, time_s: f64) -> Result<Vec<f64>, IntegrationError> {
    let mut tips = Vec::new();
    for disex in named(&[DISEX]) {
        tips = follow(arm, (disex.make)(&arm.system, SAMPLED_S / 400.0, Iteration::default()).as_mut(), 400, time_s)?;
    }
    Ok(tips)
}

fn follow(arm: &ElasticArm, method: &mut dyn Method, steps: usize, time_s: f64) -> Result<Vec<f64>, IntegrationError> {
    let mut state = arm.bent(RELEASED_M);
    let samples = (time_s / SAMPLED_S).round() as usize;
    (0..samples).map(|_| method.run(steps, &mut state).map(|_| arm.tip(&state))).collect()
}

/// The largest step with which the tip stays within the tolerance, and how long the run takes, s.
fn largest_step(
    arm: &ElasticArm,
    reference: &[f64],
    make: Make<ArmSystem>,
    time_s: f64,
    is_bound_by_the_fastest_mode: bool,
) -> Option<(f64, f64)> {
    let fastest = largest(arm.system.linear.frequencies().iter().copied());
    // Nothing larger than 4/ω can work there; trying it would only take time.
    let least_count = if is_bound_by_the_fastest_mode { SAMPLED_S * fastest / 4.0 } else { 1.0 };
    let counts = [1, 2, 3].into_iter().chain((2..24).flat_map(|power| [1 << power, 3 << (power - 1)]));
    counts.filter(|count| f64::from(*count) >= least_count).take_while(|count| *count < 1 << 14).find_map(|count| {
        let step = SAMPLED_S / f64::from(count);
        let clock = Instant::now();
        let tips = follow(arm, make(&arm.system, step, Iteration::default()).as_mut(), count as usize, time_s).ok()?;
        let seconds = clock.elapsed().as_secs_f64();
        let error = largest(tips.iter().zip(reference).map(|(ours, exact)| ours - exact));
        (error <= TOLERANCE_M).then_some((step, seconds))
    })
}

/// The classical explicit method of order 4, what many simulators of robots step with.
struct RungeKutta<'a, P: SemilinearPoisson> {
    problem: &'a P,
    step: f64,
    generator: P::Operator,
    slopes: [Vec<f64>; 4],
    stage: Vec<f64>,
    forces: Vec<f64>,
    scratch: P::Scratch,
}

impl<'a, P: SemilinearPoisson> RungeKutta<'a, P> {
    fn new(problem: &'a P, step: f64) -> Self {
        let state = || vec![0.0; problem.dim()];
        Self {
            problem,
            step,
            generator: problem.function(&|omega| Complex::new(0.0, omega)),
            slopes: [state(), state(), state(), state()],
            stage: state(),
            forces: state(),
            scratch: problem.scratch(),
        }
    }
}

impl<P: SemilinearPoisson> Method for RungeKutta<'_, P> {
    fn step_size(&self) -> f64 {
        self.step
    }

    fn step(&mut self, time: f64, q: &mut [f64]) -> Result<usize, IntegrationError> {
        let Self { problem, step, generator, slopes, stage, forces, scratch } = self;
        stage.copy_from_slice(q);
        for (i, fraction) in [0.5, 0.5, 1.0, 0.0].into_iter().enumerate() {
            let slope = &mut slopes[i];
            problem.gradient(stage, forces);
            problem.apply_structure(forces, slope, scratch);
            problem.apply(generator, stage, forces, scratch);
            slope.iter_mut().zip(&*forces).for_each(|(slope, linear)| *slope += linear);
            for ((stage, q), slope) in stage.iter_mut().zip(&*q).zip(&*slope) {
                *stage = q + fraction * *step * slope;
            }
        }
        let [a, b, c, d] = slopes;
        for ((stage, q), (((a, b), c), d)) in stage.iter_mut().zip(&*q).zip(a.iter().zip(b).zip(c).zip(d)) {
            *stage = q + *step / 6.0 * (*a + 2.0 * (*b + *c) + *d);
        }
        if stage.iter().any(|x| !x.is_finite()) {
            return Err(IntegrationError::NotFinite { time, step: *step });
        }
        q.copy_from_slice(stage);
        Ok(4)
    }
}
