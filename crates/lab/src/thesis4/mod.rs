//! `lienav reproduce thesis-4`: free rigid bodies of Shen 2019, section 4.5, and of four and five dimensions.

mod dimensions;
mod reduced;

use super::figures::{absolute, marked, of_errors, over_time, thin};
use super::measure::{drift, largest, order_observed};
use super::polar_so_n::motions::{Kind, Start, advance, counts, errors, long_run};
use super::{Experiment, Extent, MethodResult, Part, Reproduction};
use lienav_integrate::dynamics::FreeBody;
use lienav_integrate::polar::{PolarHamiltonian, PolarVariational};
use lienav_integrate::tableau::{GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3};
use lienav_integrate::{IntegrationError, Tableau};
use lienav_lie::{So3, hat};
use nalgebra::{Matrix3, Vector3};
use reduced::{ERRORS, reduced_step_ns};

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "thesis-4",
    "Shen 2019, chapter 4: free rigid bodies on SO(3), SO(4) and SO(5) by polar decomposition, figures 4.1-4.3",
    PARTS,
);

const PARTS: &[Part] = &[
    (|extent, _| reduced(extent), 0.25),
    (|extent, _| with_attitude(extent), 0.25),
    (|extent, _| dimensions::four(extent), 0.25),
    (|extent, _| dimensions::five(extent), 0.25),
];

const BODY: &str = "Free rigid body of section 4.5: J = diag(1, 2, 3), μ(0) = (0.5, −0.5, 0.5)";

fn body() -> FreeBody {
    FreeBody { moments: Vector3::new(1.0, 2.0, 3.0) }
}

fn initial_momentum() -> Matrix3<f64> {
    hat(&Vector3::new(0.5, -0.5, 0.5))
}

/// Momenta after each of `steps` steps of the reduced method (4.27), and the mean number of iterations.
fn momenta<const S: usize>(
    tableau: &Tableau<S>,
    h: f64,
    steps: usize,
) -> Result<(Vec<Matrix3<f64>>, f64), IntegrationError> {
    let (body, mut momentum) = (body(), initial_momentum());
    // The weights of the four tableaux do not vanish.
    let Some(mut method) = PolarVariational::new(tableau, &momentum) else { return Ok((Vec::new(), f64::NAN)) };
    let (mut all, mut iterations) = (Vec::with_capacity(steps), 0);
    for k in 0..steps {
        iterations += method.step_reduced(&body, &mut momentum, k as f64 * h, h)?;
        all.push(momentum);
    }
    Ok((all, iterations as f64 / steps as f64))
}

const END: f64 = 100.0;

/// Steps to the end, at least, of a method of order 4: the text's h = 0.2.
const FEWEST: usize = 500;

fn energy_error(momentum: &Matrix3<f64>) -> f64 {
    let energy = |mu: &Matrix3<f64>| PolarHamiltonian::energy(&body(), &Matrix3::identity(), mu);
    energy(momentum) - energy(&initial_momentum())
}

/// Greatest error over [0, 100] against the reference, whose steps are those of `momenta` cut in equal parts.
fn trajectory_errors<'a>(momenta: &'a [Matrix3<f64>], reference: &'a [Matrix3<f64>]) -> impl Iterator<Item = f64> + 'a {
    let every = reference.len() / momenta.len();
    let at_ends = reference.iter().skip(every - 1).step_by(every);
    // The skew matrix holds each component twice.
    momenta.iter().zip(at_ends).map(|(a, b)| (a - b).norm() / 2f64.sqrt())
}

/// Figures 4.1–4.3.
fn reduced(extent: Extent) -> Result<Experiment, IntegrationError> {
    let doublings = if extent == Extent::Full { 6 } else { 4 };
    // A multiple of all numbers of steps.
    let finest = (8 * FEWEST) << (doublings - 1);
    let (reference, _) = momenta(&GAUSS6, END / finest as f64, finest)?;
    let steps = if extent == Extent::Full { 100_000 } else { 500 };
    let mut experiment = Experiment {
        name: "free-rigid-body".into(),
        about: format!(
            "{BODY}, reduced Lie–Poisson method (4.27). Orders of the greatest error over [0, 100] of the trajectory \
             (order_observed) and of the energy; energy over {steps} steps of h = 0.2; the constraint is |μ|. The text, \
             of Gauss 4: energy in a band, trajectory error linear in time, both of about fourth order."
        ),
        ..Experiment::default()
    };
    let (mut trajectory, mut energies) = (Vec::new(), Vec::new());
    let reduced = [
        reduced_method(&IMPLICIT_MIDPOINT, doublings, &reference, steps),
        reduced_method(&KUTTA3, doublings, &reference, steps),
        reduced_method(&GAUSS4, doublings, &reference, steps),
        reduced_method(&GAUSS6, doublings, &reference, steps),
    ];
    for Reduced { order, values, trajectory: of_trajectory, energy, failed } in reduced {
        experiment.note(&values.name, "long run", failed);
        let line = |points| (order, marked(&values.name, points));
        trajectory.push(line(of_trajectory));
        energies.push(line(energy));
        experiment.methods.push(values);
    }
    let (gauss4, _) = momenta(&GAUSS4, 0.2, 500)?;
    let times = (1..).map(|k| f64::from(k) * 0.2);
    let energy: Vec<_> = times.clone().zip(gauss4.iter().map(energy_error)).collect();
    let error: Vec<_> = times.zip(trajectory_errors(&gauss4, &reference)).collect();
    let name = "VPD 4, h = 0.2";
    experiment.figures = vec![
        over_time(
            "figure-4.1",
            "Figure 4.1: energy error",
            ("t", "|h − h(0)|"),
            true,
            vec![absolute(name, &thin(&energy))],
        ),
        over_time(
            "figure-4.2",
            "Figure 4.2: trajectory error",
            ("t", "|μ − μ_ref|"),
            false,
            vec![absolute(name, &thin(&error))],
        ),
        of_errors(
            "figure-4.3-trajectory",
            "Figure 4.3: greatest trajectory error",
            ("h", "greatest |μ − μ_ref|"),
            trajectory,
        ),
        of_errors("figure-4.3-energy", "Figure 4.3: greatest energy error", ("h", "greatest |h − h(0)|"), energies),
    ];
    Ok(experiment)
}

struct Reduced {
    order: usize,
    values: MethodResult,
    trajectory: Vec<(f64, f64)>,
    energy: Vec<(f64, f64)>,
    /// Why the long run ended before its time, if it did; then `values` has no numbers of it.
    failed: Option<IntegrationError>,
}

fn reduced_method<const S: usize>(
    tableau: &Tableau<S>,
    doublings: u32,
    reference: &[Matrix3<f64>],
    steps: usize,
) -> Reduced {
    let (mut trajectory, mut energy) = (Vec::new(), Vec::new());
    for count in counts(FEWEST, doublings, tableau.order) {
        let h = END / count as f64;
        // A step that is too large to converge is left out.
        let Ok((momenta, _)) = momenta(tableau, h, count) else { continue };
        trajectory.push((h, largest(trajectory_errors(&momenta, reference))));
        energy.push((h, largest(momenta.iter().map(energy_error))));
    }
    let h = 0.2;
    let orders = [
        ("order_expected", tableau.order as f64),
        ("order_observed", order_observed(&trajectory)),
        ("energy_order_observed", order_observed(&energy)),
    ];
    let (long, failed) = match momenta(tableau, h, steps) {
        Ok((momenta, iterations)) => (long_values(tableau, h, &momenta, iterations), None),
        Err(error) => (Vec::new(), Some(error)),
    };
    // The midpoint rule keeps the energy of a free body, so that its error has no order.
    let values = orders.into_iter().chain(long).filter(|(_, value)| value.is_finite()).collect();
    let values = MethodResult { name: format!("VPD {}", tableau.order), values };
    Reduced { order: tableau.order, values, trajectory, energy, failed }
}

fn long_values<const S: usize>(
    tableau: &Tableau<S>,
    h: f64,
    momenta: &[Matrix3<f64>],
    iterations: f64,
) -> Vec<(&'static str, f64)> {
    let errors: Vec<_> = (1..).map(|k| f64::from(k) * h).zip(momenta.iter().map(energy_error)).collect();
    let trend = drift(&errors);
    let length = |mu: &Matrix3<f64>| mu.norm() / 2f64.sqrt();
    vec![
        ("energy_error_max", largest(errors.iter().map(|point| point.1))),
        ("energy_drift_per_time", trend.map_or(f64::NAN, |fit| fit.slope)),
        ("energy_drift_standard_error", trend.map_or(f64::NAN, |fit| fit.standard_error)),
        ("constraint_error_max", largest(momenta.iter().map(|mu| length(mu) - length(&initial_momentum())))),
        ("iterations_mean", iterations),
        ("step_ns", reduced_step_ns(tableau, &body(), &initial_momentum(), h)),
    ]
}

/// The same body with its attitude: both sides of the polar method, and VRKMK.
fn with_attitude(extent: Extent) -> Result<Experiment, IntegrationError> {
    let momentum = Vector3::new(0.5, -0.5, 0.5);
    let angular_velocity = momentum.component_div(&body().moments);
    let start = Start { body: body(), attitude: So3::identity(), angular_velocity };
    let end = 10.0;
    let steps = if extent == Extent::Full { 100_000 } else { 500 };
    let mut experiment = Experiment {
        name: "free-rigid-body-attitude".into(),
        about: format!(
            "{BODY}, R(0) = I, with its attitude: VPD on the Hamiltonian side (4.26) and on the Lagrangian (4.24), and \
             VRKMK. Orders of the error of attitude and body momentum at t = 10; energy, orthogonality (the constraint) \
             and spatial momentum over {steps} steps of h = 0.2."
        ),
        ..Experiment::default()
    };
    let reference = start.method(&GAUSS6, Kind::Vpd).map(|method| advance(&method, 0.005, 2000)).transpose()?;
    let doublings = if extent == Extent::Full { 8 } else { 6 };
    let mut lines = Vec::new();
    for kind in [Kind::Vpd, Kind::VpdLagrangian, Kind::Vrkmk] {
        for method in start.of_all_orders(kind) {
            let errors = reference
                .as_deref()
                .map_or(Vec::new(), |reference| errors(&method, end, &counts(24, doublings, method.order), reference));
            let mut values = vec![("order_expected", method.order as f64), ("order_observed", order_observed(&errors))];
            let long = long_run(&body(), &method, 0.2, steps);
            values.extend(long.values);
            experiment.note(&method.name, "long run", long.failed);
            experiment.methods.push(MethodResult { name: method.name.clone(), values });
            if kind != Kind::VpdLagrangian {
                lines.push((method.order, marked(&method.name, errors)));
            }
        }
    }
    let title = "Free rigid body with its attitude: error at t = 10";
    experiment.figures = vec![of_errors("free-rigid-body-attitude", title, ERRORS, lines)];
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(method: &MethodResult, key: &str) -> f64 {
        method.values.iter().find(|(k, _)| *k == key).unwrap().1
    }

    #[test]
    fn every_method_has_its_order_and_keeps_what_it_should() {
        let report = REPRODUCTION.run(Extent::Quick, &|_| (), |_, _| Ok::<_, IntegrationError>(())).unwrap();
        assert_eq!(report.experiments.len(), 4);
        for experiment in &report.experiments {
            for method in &experiment.methods {
                let name = format!("{}, {}", experiment.name, method.name);
                let difference = value(method, "order_observed") - value(method, "order_expected");
                assert!(difference.abs() < 0.15, "{name}: order off by {difference}");
                assert!(value(method, "constraint_error_max") < 1e-12, "{name}");
                assert!(value(method, "energy_error_max") < 3e-3, "{name}");
            }
        }
        // "The trajectory error grows linearly in time": the second half ends with about twice the first half's.
        let figure = &report.experiments[0].figures[1].lines[0].points;
        let until = |time: f64| figure.iter().filter(|p| p.0 <= time).map(|p| p.1).fold(0.0, f64::max);
        assert!((1.5..2.5).contains(&(until(100.0) / until(50.0))));
    }
}
