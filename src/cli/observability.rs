//! `lienav observability`: what filters take for observable.

use super::arguments::{at_least_one, refuse_twins};
use super::failure::{Failure, print, say_removed};
use super::layers::assignment;
use super::output::refuse_other;
use super::source::open;
use super::{progress, scenario, space, space_runs};
use clap::builder::PossibleValuesParser;
use lienav_eval::folder::remove_leftovers;
use lienav_eval::observability::{FilterReport, Report, observe, to_text, write};
use lienav_eval::simulated;
use lienav_eval::study::Study;
use lienav_io::bag::Topics;
use lienav_io::recording::Recording;
use lienav_io::settings_file::with;
use lienav_sim::{Scenario, Simulation};
use lienav_slam::Filter;
use std::path::PathBuf;

/// Find what filters take for observable: rank and null space of the local observability matrix along a run
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A SOURCE (see `lienav --help`), the name of a shipped scenario, or a YAML file with a scenario; in space
    /// `space:NAME[:SEED]` or a recording with an inertial sensor
    source: String,
    /// Filters, separated by commas
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_value = "ekf,fe-ekf,oc-ekf,reduced,default",
          value_parser = PossibleValuesParser::new(Filter::NAMES), hide_possible_values = true)]
    filters: Vec<String>,
    /// Scans (in space, frames) of a window, the measurements of which make one observability matrix
    #[arg(long = "clouds", visible_alias = "frames", value_name = "N", default_value_t = 10, value_parser = at_least_one())]
    scans: u64,
    /// One setting of the scenario
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
    /// One setting of every filter; `lienav parameters` lists them
    #[arg(long = "filter-set", value_name = "NAME=VALUE", value_parser = assignment)]
    filter_settings: Vec<(String, String)>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Also write report, numbers by window and by cloud (CSV) and plots (SVG) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  lienav observability thesis-circle-10hz-low-q1 --filters thesis-ekf,thesis-fe-ekf,thesis-reduced,default
  lienav observability thesis-line-10hz-low-q4 --set seed=7 --clouds 20 --out observability
  lienav observability woods:lost_in_the_woods --filters ekf,oc-ekf,reduced --json
  lienav observability space:drone-stereo-industrial --frames 40

Turning and moving robot and features together changes no reading of a feature: a filter whose Jacobians know that has a
null space of dimension 3. The EKF's has dimension 2, because updates move the points where it linearizes.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    refuse_other(args.out.as_deref())?;
    refuse_twins(args.filters.iter())?;
    if args.filter_settings.iter().any(|(name, _)| name == "filter") {
        let problem = "--filter-set filter=… would call one filter by the name of another; give it to --filters";
        return Err(Failure::WrongCall(problem.to_owned()));
    }
    let scans = usize::try_from(args.scans).map_err(Failure::failed)?;
    if space::is_in_space(&args.source) {
        let is_set = !args.settings.is_empty() || !args.filter_settings.is_empty();
        if is_set || args.out.is_some() {
            return Err(Failure::WrongCall("--set, --filter-set and --out: not for sources in space".to_owned()));
        }
        return space_runs::observe(&args.source, &args.filters, scans, args.json);
    }
    let input = Source::read(args)?;
    let spinner = progress::spinner("filtering".to_owned());
    let filters = args.filters.iter().map(|filter| {
        let mut study = input.study(filter);
        for (name, value) in &args.filter_settings {
            study = with(&study, name, value).map_err(|e| Failure::WrongCall(format!("--filter-set: {e}")))?;
        }
        let observed = observe(&study, (&input.recording.inputs, &input.recording.equipment), scans);
        observed.map(FilterReport::new).map_err(|error| Failure::WrongCall(error.to_string()))
    });
    let filters = filters.collect::<Result<Vec<_>, Failure>>();
    spinner.finish_and_clear();
    let report = Report { source: input.recording.name, scans, filters: filters? };
    if report.filters.iter().all(|filter| filter.windows.is_empty()) {
        return Err(Failure::Failed(format!(
            "{}: no feature lasts for {scans} scans; give fewer --clouds",
            report.source
        )));
    }
    if let Some(out) = &args.out {
        say_removed(&remove_leftovers(out));
        write(out, &report).map_err(Failure::failed)?;
    }
    if args.json {
        return print(&format!("{}\n", report.to_json().map_err(Failure::failed)?));
    }
    print(&to_text(&report))?;
    match &args.out {
        Some(out) => print(&format!("\nwritten to {}\n", out.display())),
        None => Ok(()),
    }
}

/// What filters are run on, and how they are set.
struct Source {
    recording: Recording,
    simulation: Option<Simulation>,
}

impl Source {
    /// A name is that of a scenario where there is one of this name; a YAML file, or a track of cones, is one.
    fn read(args: &Args) -> Result<Self, Failure> {
        let name = args.source.as_str();
        let is_scenario = Scenario::named(name).is_ok()
            || name.starts_with("cones:")
            || [".yaml", ".yml"].iter().any(|e| name.ends_with(e));
        if is_scenario {
            let scenario = scenario::read(name, &args.settings)?;
            let refused = |error: lienav_sim::ScenarioError| Failure::WrongCall(error.to_string());
            let simulation = Some(Simulation::new(&scenario).map_err(refused)?);
            return Ok(Self { recording: simulated::recording(&scenario).map_err(refused)?, simulation });
        }
        if let Some((setting, _)) = args.settings.first() {
            return Err(Failure::WrongCall(format!(
                "--set {setting}=… is of a scenario, and '{name}' is none; settings of filters are --filter-set"
            )));
        }
        Ok(Self { recording: open(name, &Topics::default())?, simulation: None })
    }

    /// The settings of a filter.
    fn study(&self, filter: &str) -> Study {
        let config = match &self.simulation {
            Some(simulation) => simulation.filter_config(filter),
            None => self.recording.config.clone().unwrap_or_default(),
        };
        Study { filter: filter.to_owned(), ..Study::from(config) }
    }
}
