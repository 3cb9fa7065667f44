//! Section 1.1.4: three systems whose structure depends on the state.

use crate::figures::{over_time, plane, thin};
use crate::measure::{drift, largest, order_observed};
use crate::{Experiment, Extent, Figure, Line, MethodResult};
use lienav_integrate::IntegrationError;
use lienav_integrate::canonical::poisson::{SplitPoissonSystem, runge_kutta, strang};
use lienav_integrate::canonical::structure::poisson_defect;
use lienav_integrate::canonical::systems::{AblowitzLadik, GeneralizedOscillator, LotkaVolterra};
use lienav_integrate::tableau::{EULER, GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, RK4};
use nalgebra::DVector;

/// A step of a size from a point at a time.
type Step = fn(&dyn SplitPoissonSystem, &DVector<f64>, f64, f64) -> Result<DVector<f64>, IntegrationError>;

const METHODS: [(&str, usize, Step); 5] = [
    ("Strang splitting", 2, |system, x, t, h| strang(system, x, t, h)),
    ("implicit midpoint", 2, |system, x, t, h| runge_kutta(&IMPLICIT_MIDPOINT, system, x, t, h)),
    ("Gauss 4", 4, |system, x, t, h| runge_kutta(&GAUSS4, system, x, t, h)),
    ("RK 4", 4, |system, x, t, h| runge_kutta(&RK4, system, x, t, h)),
    ("Euler", 1, |system, x, t, h| runge_kutta(&EULER, system, x, t, h)),
];

/// A function of the state that stays.
type Invariant = dyn Fn(&DVector<f64>) -> f64;

/// What is run: a system, its start, a step, and a second invariant if it has one.
struct Case<'a> {
    name: &'a str,
    about: &'a str,
    system: &'a dyn SplitPoissonSystem,
    start: DVector<f64>,
    h: f64,
    steps: usize,
    invariant: Option<&'a Invariant>,
}

impl Case<'_> {
    /// The experiment, and the first part of each path.
    fn experiment(&self) -> Result<(Experiment, Vec<Line>), IntegrationError> {
        let Self { system, start, h, steps, .. } = self;
        let mut experiment = Experiment {
            name: self.name.into(),
            about: format!(
                "{} Orders at t = 20 h against Gauss 6; energy over {steps} steps of h = {h}. structure_defect is the \
                 largest entry of φ'J(x)(φ')ᵀ − J(φ(x)) by differences, which leave about 1e-9: only flows of parts of \
                 H keep the structure.",
                self.about
            ),
            ..Experiment::default()
        };
        let end = 20.0 * h;
        let fine =
            |n: u32| (0..n).try_fold(start.clone(), |x, _| runge_kutta(&GAUSS6, *system, &x, 0.0, end / f64::from(n)));
        let exact = fine(400)?;
        let (mut energies, mut paths) = (Vec::new(), Vec::new());
        for (name, order, step) in METHODS {
            let error = |k: u32| {
                let n = 10_u32 << k;
                let at = (0..n).try_fold(start.clone(), |x, _| step(*system, &x, 0.0, end / f64::from(n)));
                (end / f64::from(n), at.map_or(f64::NAN, |at| (at - &exact).norm()))
            };
            let points: Vec<_> = (0..6).map(error).collect();
            let defect = poisson_defect(|x| step(*system, x, 0.0, *h), start, |x| system.structure(x));
            let (mut x, mut errors, mut path, mut change) =
                (start.clone(), Vec::new(), vec![(start[0], start[1])], 0.0_f64);
            let mut failed = None;
            for k in 1..=*steps {
                match step(*system, &x, (k - 1) as f64 * h, *h) {
                    Ok(next) => x = next,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
                errors.push((k as f64 * h, system.energy(&x) - system.energy(start)));
                change = self.invariant.map_or(0.0, |of| change.max((of(&x) - of(start)).abs()));
                // Euler's method leaves the picture.
                if k <= 400 && x.norm() < 10.0 {
                    path.push((x[0], x[1]));
                }
            }
            experiment.note(name, "long run", failed);
            let of_whole = |x: f64| if failed.is_none() { x } else { f64::NAN };
            let trend = drift(&errors);
            let mut values = vec![
                ("order_expected", order as f64),
                ("order_observed", order_observed(&points)),
                ("structure_defect", defect.unwrap_or(f64::NAN)),
                ("energy_error_max", of_whole(largest(errors.iter().map(|e| e.1)))),
                ("energy_drift_per_time", of_whole(trend.map_or(f64::NAN, |fit| fit.slope))),
                ("energy_drift_standard_error", of_whole(trend.map_or(f64::NAN, |fit| fit.standard_error))),
            ];
            if self.invariant.is_some() {
                values.push(("norm_error_max", of_whole(change)));
            }
            experiment.methods.push(MethodResult { name: name.into(), values });
            let shown = thin(&errors).into_iter().map(|e| (e.0, e.1.abs())).filter(|e| e.1 < 1e6).collect();
            energies.push(Line { name: name.into(), points: shown, ..Line::default() });
            paths.push(Line { name: name.into(), points: path, ..Line::default() });
        }
        let title = format!("{}: error of the energy, h = {h}", self.name);
        let file = format!("figure-{}-energy", self.name);
        experiment.figures.push(over_time(&file, &title, ("t", "|H − H(0)|"), true, energies));
        Ok((experiment, paths))
    }
}

fn steps_of(extent: Extent) -> usize {
    if extent == Extent::Full { 50_000 } else { 1_000 }
}

fn paths_of(name: &str, axes: (&str, &str), lines: Vec<Line>) -> Figure {
    plane(&format!("figure-{name}-paths"), &format!("{name}: paths of 400 steps"), axes, lines)
}

pub(super) fn lotka_volterra(extent: Extent) -> Result<Experiment, IntegrationError> {
    let about = "Shen 2019, section 1.1.4: u̇ = u(v − 2), v̇ = v(1 − u) from (2, 1.5).";
    let start = DVector::from_vec(vec![2.0, 1.5]);
    let (name, steps) = ("lotka-volterra", steps_of(extent));
    let case = Case { name, about, system: &LotkaVolterra, start, h: 0.1, steps, invariant: None };
    let (mut experiment, paths) = case.experiment()?;
    experiment.figures.push(paths_of(name, ("u", "v"), paths));
    Ok(experiment)
}

pub(super) fn oscillator(extent: Extent) -> Result<Experiment, IntegrationError> {
    let about = "Shen 2019, section 1.1.4: the generalized oscillator, J = (1 + p² + q²)²(0 −1; 1 0), H = ½p² − cos q, \
                 from (p, q) = (0.3, 0.5).";
    let start = DVector::from_vec(vec![0.3, 0.5]);
    let (name, steps) = ("generalized-oscillator", steps_of(extent));
    let case = Case { name, about, system: &GeneralizedOscillator, start, h: 0.1, steps, invariant: None };
    let (mut experiment, paths) = case.experiment()?;
    experiment.figures.push(paths_of(name, ("p", "q"), paths));
    Ok(experiment)
}

pub(super) fn ablowitz_ladik(extent: Extent) -> Result<Experiment, IntegrationError> {
    let about = "Shen 2019, section 1.1.4: the model of Ablowitz and Ladik on a ring of eleven, \
                 pₗ = 0.5 sin 1.3l, qₗ = 0.5 sin(1.3l + 14.3). The norm Σ ln(1 + pₗ² + qₗ²) is an invariant, too.";
    let start = DVector::from_iterator(22, (0..22).map(|k| 0.5 * (1.3 * f64::from(k)).sin()));
    let invariant: &Invariant = &|x: &DVector<f64>| AblowitzLadik.norm(x);
    let (name, steps) = ("ablowitz-ladik", steps_of(extent) / 5);
    let case = Case { name, about, system: &AblowitzLadik, start, h: 0.02, steps, invariant: Some(invariant) };
    Ok(case.experiment()?.0)
}
