//! Figure 4.2: errors against step sizes; and the time of a step.

use super::adapters::BodyField;
use super::contestants::{Contestant, Family, contestants};
use super::stepper::TestBody;
use crate::figures::{marked, of_errors};
use crate::measure::{order_observed, time_step};
use crate::report::{Experiment, Extent, MethodResult};
use lienav_integrate::dynamics::StabilityBody;
use lienav_integrate::tableau::GAUSS6;
use lienav_integrate::{BodyState, ImplicitRkmk, IntegrationError, LieGroupMethod};
use lienav_lie::Translation;
use std::hint::black_box;
use std::time::Duration;

/// When the errors are taken.
const SPAN: f64 = 5.0;

pub(super) fn experiment<B: TestBody>(
    name: &str,
    about: &str,
    (body, start): (B, BodyState),
    extent: Extent,
) -> Result<Experiment, IntegrationError> {
    // Where a method of order 1 is nearly symmetric, its error is of order 2 down to small steps.
    let finest = |order| match extent {
        Extent::Full if order == 1 => 12,
        Extent::Full => 9,
        Extent::Quick => 6,
    };
    let truth = reference(&body, &start)?;
    let (mut methods, mut lines) = (Vec::new(), Vec::new());
    for contestant in contestants::<B>() {
        // Where a step of the larger ones cannot be made the point is left out.
        let errors: Vec<_> = (0..=finest(contestant.order))
            .map(|k| 0.5_f64.powi(k))
            .filter_map(|h| Some((h, run(&contestant, &body, &start, h).ok()?)))
            .map(|(h, end)| (h, distance(&end, &truth)))
            .collect();
        let [attitude, velocity] = [0, 1].map(|i| errors.iter().map(|(h, e)| (*h, e[i])).collect::<Vec<_>>());
        let at = |h: f64| errors.iter().find(|e| e.0 == h).map_or(f64::NAN, |e| e.1[0]);
        methods.push(MethodResult {
            name: contestant.name.to_owned(),
            values: vec![
                ("order_expected", f64::from(contestant.order)),
                ("order_observed", order_observed(&attitude)),
                ("order_observed_velocity", order_observed(&velocity)),
                ("attitude_error_at_h_0.125", at(0.125)),
            ],
        });
        lines.push((contestant.family(), contestant.order as usize, contestant.name, [attitude, velocity]));
    }
    let figure = |family: Family, part: usize| {
        let of_family = lines.iter().filter(|(of, ..)| *of == family);
        let lines = of_family.map(|(_, order, name, points)| (*order, marked(name, points[part].clone()))).collect();
        let (letter, what, label) = PARTS[part];
        let file = format!("figure-4.2-{letter}-{name}{}", family.suffix());
        of_errors(
            &file,
            &format!("Figure 4.2 ({letter}), {name}: global error of the {what} at T = 5"),
            ("h", label),
            lines,
        )
    };
    let figures = Family::ALL.into_iter().flat_map(|family| [figure(family, 0), figure(family, 1)]).collect();
    Ok(Experiment { name: name.to_owned(), about: about.to_owned(), methods, figures, ..Experiment::default() })
}

/// What the two parts of figure 4.2 show: letter, quantity, label.
const PARTS: [(&str, &str, &str); 2] =
    [("a", "attitude", "‖R − R_ref‖, Frobenius"), ("b", "angular velocity", "|Ω − Ω_ref|")];

pub(super) fn run<B>(
    contestant: &Contestant<B>,
    body: &B,
    start: &BodyState,
    h: f64,
) -> Result<BodyState, IntegrationError> {
    let mut stepper = (contestant.start)(body, start, h)?;
    let steps = (SPAN / h).round() as usize;
    (0..steps).try_fold(*start, |_, k| stepper(k as f64 * h))
}

/// ‖R − R'‖ (Frobenius) and |Ω − Ω'|.
fn distance(a: &BodyState, b: &BodyState) -> [f64; 2] {
    [(a.attitude.matrix() - b.attitude.matrix()).norm(), (a.angular_velocity - b.angular_velocity).norm()]
}

/// By Gauss 6 in the algebra.
fn reference<B: TestBody>(body: &B, start: &BodyState) -> Result<BodyState, IntegrationError> {
    let field = BodyField(body.clone());
    let (method, h) = (ImplicitRkmk { tableau: GAUSS6 }, 0.5_f64.powi(9));
    let steps = (SPAN / h).round() as usize;
    let start = (start.attitude, Translation(start.angular_velocity));
    let (attitude, Translation(angular_velocity)) =
        (0..steps).try_fold(start, |point, k| method.step(&field, &point, k as f64 * h, h))?;
    Ok(BodyState { attitude, angular_velocity })
}

/// The time of a step along the run of the stability test, reinitialized where it cannot go on.
pub(super) fn step_ns(contestant: &Contestant<StabilityBody>, budget: Duration) -> Result<f64, IntegrationError> {
    let h = 0.125;
    let start = || (contestant.start)(&StabilityBody::default(), &StabilityBody::initial_state(), h);
    start()?(0.0)?;
    let mut stepper = start()?;
    let time = time_step(budget, || {
        if black_box(stepper(0.0)).is_err()
            && let Ok(fresh) = start()
        {
            stepper = fresh;
        }
    });
    Ok(time.least_ns)
}
