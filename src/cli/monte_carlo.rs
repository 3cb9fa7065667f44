//! `lienav monte-carlo`: many simulated runs through several filters.

use super::arguments::{at_least_one, refuse_twins};
use super::failure::{Failure, print, say_removed, warn};
use super::layers::assignment;
use super::output::Output;
use super::{progress, scenario, space, space_runs};
use clap::builder::PossibleValuesParser;
use lienav_eval::folder::remove_leftovers;
use lienav_eval::method::Method;
use lienav_eval::monte_carlo::{Experiment, ExperimentError, Outcome, Report, Shard, ShardError, make, to_text, write};
use lienav_eval::space::simulated::PREFIX;
use std::path::Path;

/// Simulate many runs of a scenario, run filters over them, and report errors and consistency
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A YAML file, or the name of a shipped scenario (see --list); in space, `space:NAME` or `space:FILE.yaml`
    #[arg(required_unless_present = "list")]
    scenario: Option<String>,
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one())]
    runs: u64,
    /// The seeds of the runs come from this
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Filters, separated by commas; the others are compared with the first. In space default, reduced, ekf, fe-ekf,
    /// oc-ekf, group and window
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_value = "default",
          value_parser = PossibleValuesParser::new(Method::names().chain(["group", "window"])), hide_possible_values = true)]
    filters: Vec<String>,
    /// One setting of the scenario
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
    /// One setting of every filter, over those of the scenario; `lienav parameters` lists them
    #[arg(long = "filter-set", value_name = "NAME=VALUE", value_parser = assignment)]
    filter_settings: Vec<(String, String)>,
    /// Leave the times of steps out, so that the report is the same every time, to the last byte
    #[arg(long)]
    no_times: bool,
    /// Make only the K-th of N parts of the runs, as a file in the folder --out; `lienav merge` adds the parts up.
    /// Called again, it goes on where it was stopped
    #[arg(long, value_name = "K/N", requires = "out", conflicts_with_all = ["json", "no_times", "list"])]
    shard: Option<Shard>,
    #[command(flatten)]
    output: Output,
    /// List the shipped scenarios
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  lienav monte-carlo thesis-circle-10hz-low-q1 --runs 50 --filters thesis-reduced,ekf,default
  lienav monte-carlo thesis-line-10hz-low-q4 --runs 20 --filters batch,default,invariant
  lienav monte-carlo my_scenario.yaml --runs 200 --seed 7 --set sensor.range_bias_m=0.1 --json --out results
  lienav monte-carlo thesis-line-10hz-low-q1 --filters thesis-reduced --filter-set choices.noise_at=predicted
  lienav monte-carlo esde --runs 400 --shard 3/8 --out parts     on each of eight machines, then
  lienav merge parts --no-times --out results
  lienav monte-carlo space:drone-mono-consumer --runs 20 --filters default,reduced,ekf,fe-ekf,oc-ekf
  lienav monte-carlo --list

Every filter gets the same runs. `lienav evaluate --help` names the filters; `batch` is the maximum-likelihood estimate
of each whole run, the least error that its data allow.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(name) = args.scenario.as_deref().filter(|_| !args.list) else { return scenario::list() };
    refuse_twins(args.filters.iter())?;
    if let Some(name) = name.strip_prefix(PREFIX) {
        return in_space(name, args);
    }
    if args.filters.iter().any(|filter| filter == "group") {
        return Err(Failure::WrongCall("--filters group: a filter in space, for space:NAME".to_owned()));
    }
    if args.filter_settings.iter().any(|(name, _)| name == "filter") {
        let problem = "--filter-set filter=… would call one filter by the name of another; give it to --filters";
        return Err(Failure::WrongCall(problem.to_owned()));
    }
    let experiment = Experiment {
        scenario: scenario::read(name, &args.settings)?,
        filters: args.filters.clone(),
        settings: args.filter_settings.clone(),
        sensors: Vec::new(),
        runs: usize::try_from(args.runs).map_err(Failure::failed)?,
        seed: args.seed,
    };
    args.output.make_folder()?;
    if let (Some(shard), Some(out)) = (args.shard, &args.output.out) {
        return args.output.on_threads(|| carry_out_shard(&experiment, shard, out))?;
    }
    let outcome = args.output.on_threads(|| carry_out(&experiment))??;
    tell(&outcome, args.no_times, &args.output)
}

/// The same of a scenario in space.
fn in_space(name: &str, args: &Args) -> Result<(), Failure> {
    let options = [("--filter-set", !args.filter_settings.is_empty()), ("--shard", args.shard.is_some())];
    if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::WrongCall(format!("{option}: not for scenarios in space; leave it out")));
    }
    space_runs::run(&space_runs::Asked {
        scenario: space::scenario(name, &args.settings)?,
        filters: &args.filters,
        runs: usize::try_from(args.runs).map_err(Failure::failed)?,
        seed: args.seed,
        no_times: args.no_times,
        output: &args.output,
    })
}

/// Prints the report of an experiment, and writes the folder where one is asked for.
pub(super) fn tell(outcome: &Outcome, no_times: bool, output: &Output) -> Result<(), Failure> {
    let report = Report::new(outcome);
    let report = if no_times { report.without_times() } else { report };
    if let Some(out) = &output.out {
        say_removed(&remove_leftovers(out));
        write(out, outcome, &report).map_err(Failure::failed)?;
    }
    if output.json {
        return print(&format!("{}\n", report.to_json().map_err(Failure::failed)?));
    }
    print(&to_text(&report))?;
    output.say_where()
}

/// Makes one part of the runs behind a progress bar.
fn carry_out_shard(experiment: &Experiment, shard: Shard, folder: &Path) -> Result<(), Failure> {
    let expected = shard.runs(experiment.runs).count();
    let bar = progress::bar(expected, &format!("shard {shard}"));
    bar.tick();
    let done = || {
        bar.inc(1);
        true
    };
    let made = make(experiment, shard, folder, done);
    bar.finish_and_clear();
    let made = made.map_err(|error| match error {
        ShardError::Experiment(error) => of_experiment(error),
        error => Failure::failed(error),
    })?;
    if made.damaged > 0 {
        warn(&format!("{}: {} damaged lines were made anew", made.path.display(), made.damaged));
    }
    let kept = if made.kept > 0 { format!(", {} of them from before", made.kept) } else { String::new() };
    print(&format!("shard {shard}: {} runs{kept}, in {}\n", made.runs, made.path.display()))
}

/// Runs an experiment behind a progress bar.
fn carry_out(experiment: &Experiment) -> Result<Outcome, Failure> {
    let bar = progress::bar(experiment.runs, "runs");
    // The first run ends late where runs are long: until then, the bar is to be seen all the same.
    bar.tick();
    let outcome = experiment.run(|| bar.inc(1));
    bar.finish_and_clear();
    outcome.map_err(of_experiment)
}

fn of_experiment(error: ExperimentError) -> Failure {
    match error {
        ExperimentError::Scenario(_)
        | ExperimentError::NoSteps(_)
        | ExperimentError::Config(_)
        | ExperimentError::Setting(_) => Failure::WrongCall(error.to_string()),
        _ => Failure::failed(error),
    }
}
