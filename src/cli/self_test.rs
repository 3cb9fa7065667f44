//! `lienav self-test`: whether this executable works on this machine, in seconds and without any file of the user.

use super::failure::{Failure, print};
use lienav_eval::errors::Errors;
use lienav_eval::judge::{self, judge};
use lienav_eval::plot::Subject;
use lienav_eval::run::{Run, run_study};
use lienav_eval::space::errors::Errors as SpaceErrors;
use lienav_eval::space::{run as space_run, settings::Settings, simulated as in_space, truth::Truth as SpaceTruth};
use lienav_eval::study::Study;
use lienav_eval::{folder, simulated};
use lienav_io::bag::{Existing, Topics};
use lienav_io::recording::open_with;
use lienav_io::to_bag::to_bag;
use lienav_io::trajectory;
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_sim::space::scenario::SpaceScenario;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Instant;

/// Simulate, write and read a bag, run filters, judge them, and print one table; exit code 1 where a number is wrong
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  lienav self-test
  docker run --rm lienav                       the image's default command

It writes into the folder for temporary files alone, and removes what it wrote.";

/// The world and all noise come from this: the numbers are the same on every machine, up to rounding.
const SEED: u64 = 1;

/// Position RMSE, m. The run of half a lap gives 0.058 (default) and 0.076 (ekf). Twice the larger one is for a processor
/// that rounds otherwise; with the default noise in place of the noise that the bag states, ekf is 0.57 m off.
const RMSE_M: RangeInclusive<f64> = 0.0..=0.15;

/// Mean NEES of the pose, of which 3 is right: these give 3.6. With the default noise, ekf has 71.
const NEES: RangeInclusive<f64> = 0.5..=18.0;

/// The difference between the errors of the evaluator and of the referee, m. They read the same trajectory, one from
/// memory and one from a file with 9 decimals.
const DIFFERENCE_M: RangeInclusive<f64> = 0.0..=1e-6;

/// Position RMSE of the drone's first seconds, m: it gives 0.049, and five times that is for other rounding.
const SPACE_RMSE_M: RangeInclusive<f64> = 0.0..=0.25;

/// How long the drone flies, s: a longer flight takes longer and finds nothing more.
const SPACE_DURATION_S: f64 = 4.0;

/// One line of the table: a number and where it has to lie.
#[derive(serde::Serialize)]
struct Check {
    what: String,
    value: f64,
    least: f64,
    most: f64,
    holds: bool,
}

impl Check {
    /// An absent number lies nowhere.
    fn new(what: impl Into<String>, value: Option<f64>, bounds: &RangeInclusive<f64>) -> Self {
        let value = value.unwrap_or(f64::NAN);
        Self { what: what.into(), value, least: *bounds.start(), most: *bounds.end(), holds: bounds.contains(&value) }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let start = Instant::now();
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::Failed(format!(
            "{}: {error}; set TMPDIR to a folder that can be written",
            std::env::temp_dir().display()
        ))
    })?;
    let mut checks = on_the_plane(folder.path())?;
    checks.push(above_the_plane()?);
    let seconds = start.elapsed().as_secs_f64();
    let wrong: Vec<&str> = checks.iter().filter(|check| !check.holds).map(|check| check.what.as_str()).collect();
    if args.json {
        let json = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"), "passes": wrong.is_empty(), "seconds": seconds, "checks": checks,
        });
        print(&format!("{}\n", serde_json::to_string_pretty(&json).map_err(Failure::failed)?))?;
    } else {
        print(&to_text(&checks, seconds))?;
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!("self-test: out of bounds: {}; this executable does not work here", wrong.join(", "))))
}

/// A planar run as a bag, read again, through two filters, with the report's page and the referee.
fn on_the_plane(folder: &Path) -> Result<Vec<Check>, Failure> {
    let mut scenario = Scenario::named("range-bearing").map_err(Failure::failed)?;
    scenario = lienav_io::settings_file::with(&scenario, "trajectory.laps", "0.5").map_err(Failure::failed)?;
    scenario.seed = SEED;
    let made = simulated::recording(&scenario).map_err(Failure::failed)?;
    let (bag, results) = (folder.join("bag"), folder.join("results"));
    let messages = to_bag(&made, &bag, Existing::Refuse, &mut |_, _| {}).map_err(Failure::failed)?.messages;
    let read = open_with(&bag.to_string_lossy(), &Topics::default()).map_err(Failure::failed)?;
    let lost = made.inputs.len().abs_diff(read.inputs.len()) as f64;
    let mut checks = vec![
        Check::new("bag: messages", Some(messages as f64), &(1.0..=1e6)),
        Check::new("bag: inputs lost in it", Some(lost), &(0.0..=0.0)),
    ];

    let truth = Truth::of(&read, MAX_TRUTH_GAP_S);
    // The bag states the noise that it was made with.
    let stated = read.config.clone().unwrap_or_default();
    let filters = ["default", "ekf"].map(|filter| Study { filter: filter.to_owned(), ..Study::from(stated.clone()) });
    let runs = filters.iter().map(|study| run_study(&read, study, |_| {})).collect::<Result<Vec<Run>, _>>();
    let runs = runs.map_err(Failure::failed)?;
    let errors: Vec<Errors> = runs.iter().map(|run| Errors::new(run, &truth)).collect();
    let subjects: Vec<Subject> =
        runs.iter().zip(&errors).map(|(run, errors)| Subject { run, truth: &truth, errors }).collect();
    folder::write(&results, &subjects).map_err(Failure::failed)?;
    for (run, errors) in runs.iter().zip(&errors) {
        let (count, sum) = errors.nees().fold((0.0, 0.0), |(count, sum), nees| (count + 1.0, sum + nees));
        let nees = (count > 0.0).then(|| sum / count);
        checks.push(Check::new(format!("{}: position RMSE [m]", run.filter), errors.position_rmse(), &RMSE_M));
        checks.push(Check::new(format!("{}: mean NEES (3 is right)", run.filter), nees, &NEES));
    }
    let page = std::fs::metadata(results.join("report.html")).map(|page| page.len() as f64).ok();
    checks.push(Check::new("report: bytes of its page", page, &(1e4..=1e8)));

    let open = |name: &str| {
        let path = results.join("default").join(name);
        trajectory::open(&path.to_string_lossy(), &trajectory::Options::default(), &mut |_| {}).map_err(Failure::failed)
    };
    let judged = judge(&open("estimate.tum")?, &open("truth.tum")?, &judge::Options::default());
    let judged = judged.map_err(Failure::failed)?.report.position_rmse_m;
    let difference = errors.first().and_then(Errors::position_rmse).map(|rmse| (rmse - judged).abs());
    checks.push(Check::new("judge: differs from the report by [m]", difference, &DIFFERENCE_M));
    Ok(checks)
}

/// A drone with a stereo camera and an inertial sensor.
fn above_the_plane() -> Result<Check, Failure> {
    let scenario = SpaceScenario::named("drone-stereo-industrial").map_err(Failure::failed)?;
    let scenario = SpaceScenario { duration_s: SPACE_DURATION_S, ..scenario };
    let recording = in_space::recording(&scenario, SEED).map_err(Failure::failed)?;
    let truth = SpaceTruth::of(&recording);
    let run = space_run::run(&recording, &truth, "default", &space_run::Options::default()).map_err(Failure::failed)?;
    let errors = SpaceErrors::new(&run, &truth, Settings::of(&recording).truth_sigma);
    Ok(Check::new("in space: position RMSE [m]", errors.position_rmse(), &SPACE_RMSE_M))
}

/// The table, and what it comes to.
fn to_text(checks: &[Check], seconds: f64) -> String {
    let mut text = format!("{:<40}{:>14}{:>22}\n", "", "found", "allowed");
    for check in checks {
        let allowed = format!("{} to {}", check.least, check.most);
        let verdict = if check.holds { "ok" } else { "WRONG" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<40}{:>14}{allowed:>22}  {verdict}", check.what, short(check.value));
    }
    let held = checks.iter().filter(|check| check.holds).count();
    let _ = writeln!(text, "\n{held} of {} hold, {seconds:.1} s, lienav {}", checks.len(), env!("CARGO_PKG_VERSION"));
    text
}

/// Counts as they are, all else with four digits.
fn short(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => format!("{value}"),
        value if value.abs() < 1e-3 => format!("{value:.1e}"),
        value => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_number_and_one_out_of_bounds_are_wrong() {
        let holds = |value| Check::new("a number", value, &(0.0..=1.0)).holds;
        assert_eq!(
            [holds(Some(0.5)), holds(Some(1.5)), holds(Some(f64::NAN)), holds(None)],
            [true, false, false, false]
        );
    }

    #[test]
    fn the_table_says_what_is_wrong() {
        let checks = [Check::new("a", Some(2.0), &(0.0..=1.0)), Check::new("b", Some(3e-10), &(0.0..=1.0))];
        let text = to_text(&checks, 1.0);
        assert!(text.contains("2                0 to 1  WRONG") && text.contains("3.0e-10"), "{text}");
        assert!(text.contains("1 of 2 hold"), "{text}");
    }
}
