//! The experiments with integrators, for `lienav reproduce`, in a build with the feature `lab`.

use super::experiments::Args;
use super::failure::{Failure, print};
use super::progress;
use lienav_integrate::IntegrationError;
use lienav_lab::{Extent, REPRODUCTIONS, recorded_gyroscope, to_text, write_part};

/// Runs all of them.
pub(super) fn run_all(args: &Args) -> Result<(), Failure> {
    super::everything::run(args)
}

impl From<IntegrationError> for Failure {
    fn from(error: IntegrationError) -> Self {
        Self::failed(error)
    }
}

/// The experiment that also takes a recorded gyroscope.
const WITH_RECORDING: &str = "inertial";

/// How finely the bar of an experiment with integrators moves.
const BAR_STEPS: u32 = 1000;

/// Runs the experiment that `args` names.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let reproduction = REPRODUCTIONS.iter().find(|reproduction| reproduction.name == args.experiment);
    let Some(reproduction) = reproduction else {
        return Err(Failure::WrongCall(format!(
            "no experiment is called '{}'; see `lienav reproduce list`",
            args.experiment
        )));
    };
    if args.recording.is_some() && reproduction.name != WITH_RECORDING {
        return Err(Failure::WrongCall(format!(
            "--recording does not apply to {}, only to {WITH_RECORDING}; leave it out",
            args.experiment
        )));
    }
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    args.output.make_folder()?;
    let bar = progress::bar(BAR_STEPS as usize, reproduction.name);
    bar.tick();
    let report = args.output.on_threads(|| {
        let progress = |done: f64| bar.set_position((done.clamp(0.0, 1.0) * f64::from(BAR_STEPS)) as u64);
        // What is finished is kept, whatever becomes of the rest.
        reproduction.run(extent, &progress, |report, new| match &args.output.out {
            Some(out) => write_part(out, report, new).map_err(Failure::failed),
            None => Ok(()),
        })
    });
    bar.finish_and_clear();
    let mut report = report??;
    if let Some(recording) = &args.recording {
        let recorded = args.output.on_threads(|| recorded_gyroscope(extent, recording))?;
        report.experiments.push(recorded.map_err(Failure::failed)?);
        if let Some(out) = &args.output.out {
            write_part(out, &report, 1).map_err(Failure::failed)?;
        }
    }
    if args.output.json {
        return print(&format!("{:#}\n", report.to_json()));
    }
    print(&to_text(&report))?;
    args.output.say_where()
}
