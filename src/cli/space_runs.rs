//! `lienav monte-carlo` and `lienav observability` in space.

use super::failure::{Failure, print, say_removed};
use super::output::Output;
use super::{progress, space};
use lienav_eval::folder::{create, remove_leftovers, write_file, write_text};
use lienav_eval::space::monte_carlo::{Experiment, ExperimentError, Report, carry_out};
use lienav_eval::space::observability::{self, FilterReport};
use lienav_eval::space::run::{Options, RunError, run as run_filter};
use lienav_eval::space::truth::Truth;
use lienav_sim::space::scenario::SpaceScenario;

/// What is asked for.
pub(super) struct Asked<'a> {
    pub(super) scenario: SpaceScenario,
    pub(super) filters: &'a [String],
    pub(super) runs: usize,
    pub(super) seed: u64,
    pub(super) no_times: bool,
    pub(super) output: &'a Output,
}

/// Runs filters over many runs, and reports.
pub(super) fn run(asked: &Asked) -> Result<(), Failure> {
    let output = asked.output;
    output.make_folder()?;
    let experiment = Experiment {
        scenario: asked.scenario.clone(),
        filters: asked.filters.to_vec(),
        runs: asked.runs,
        seed: asked.seed,
        has_map: false,
    };
    let bar = progress::bar(experiment.runs, "runs");
    bar.tick();
    let report = output.on_threads(|| carry_out(&experiment, || bar.inc(1)))?;
    bar.finish_and_clear();
    let report = report.map_err(|error| match error {
        ExperimentError::Scenario(_) => Failure::WrongCall(error.to_string()),
        ExperimentError::Run(RunError::NoFilter(_)) => Failure::WrongCall(error.to_string()),
        ExperimentError::Run(_) => Failure::failed(error),
    })?;
    tell(&if asked.no_times { report.without_times() } else { report }, output)
}

fn tell(report: &Report, output: &Output) -> Result<(), Failure> {
    let json = report.to_json().map_err(Failure::failed)?;
    if let Some(out) = &output.out {
        say_removed(&remove_leftovers(out));
        create(out).map_err(Failure::failed)?;
        write_file(out, "report.json", |file| writeln!(file, "{json}")).map_err(Failure::failed)?;
        write_text(out, "report.txt", &report.to_text()).map_err(Failure::failed)?;
    }
    if output.json {
        return print(&format!("{json}\n"));
    }
    print(&report.to_text())?;
    output.say_where()
}

/// What filters take for observable along a run.
pub(super) fn observe(source: &str, filters: &[String], frames: usize, json: bool) -> Result<(), Failure> {
    let recording = space::read(source)?;
    let truth = Truth::of(&recording);
    let one = |name: &String| {
        let options = Options { window: frames, ..Options::default() };
        let run = run_filter(&recording, &truth, name, &options).map_err(|error| match error {
            RunError::NoFilter(_) => Failure::WrongCall(error.to_string()),
            _ => Failure::failed(error),
        })?;
        Ok(FilterReport::new(name, run.windows))
    };
    let filters = filters.iter().map(one).collect::<Result<Vec<_>, Failure>>()?;
    let report = observability::Report { source: recording.name.clone(), frames, filters };
    if report.filters.iter().all(|filter| filter.windows.is_empty()) {
        let problem = format!("{source}: no landmarks are followed for {frames} frames; give fewer --frames");
        return Err(Failure::Failed(problem));
    }
    if json {
        return print(&format!("{}\n", report.to_json().map_err(Failure::failed)?));
    }
    print(&report.to_text())
}
