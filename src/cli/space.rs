//! `lienav evaluate` and `lienav info` of recordings in space.

use super::failure::{Failure, print, say_removed};
use super::progress;
use lienav_base::stamp::Stamp;
use lienav_eval::folder::remove_leftovers;
use lienav_eval::space::bag;
use lienav_eval::space::errors::Errors;
use lienav_eval::space::figures::Subject;
use lienav_eval::space::folder;
use lienav_eval::space::report::{Report, to_json, to_text};
use lienav_eval::space::robot::{self, Parameters};
use lienav_eval::space::run::{Options, RunError, SpaceRun, run};
use lienav_eval::space::settings::Settings;
use lienav_eval::space::simulated::{PREFIX, name_and_seed, recording};
use lienav_eval::space::tag_motion::Odometry;
use lienav_eval::space::truth::Truth;
use lienav_io::bag::Topics;
use lienav_io::files::read_text;
use lienav_io::recording::OpenError;
use lienav_io::settings_file::with;
use lienav_io::space::data::SpaceRecording;
use lienav_io::space::open;
use lienav_sim::space::scenario::SpaceScenario;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

/// Whether a source is a recording in space, a bag of one, or a scenario: `space:NAME[:SEED]`.
pub(super) fn is_in_space(source: &str) -> bool {
    lienav_io::space::is_in_space(source) || source.starts_with(PREFIX) || bag::is_bag(source)
}

/// What is asked for.
pub(super) struct Evaluation<'a> {
    pub(super) source: &'a str,
    /// Names of filters; `default` where there are none.
    pub(super) filters: Vec<String>,
    pub(super) options: Options,
    pub(super) json: bool,
    pub(super) out: Option<&'a Path>,
}

/// Which measurements of the motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OdometryArg {
    #[default]
    Chassis,
    Twist,
}

impl From<OdometryArg> for Odometry {
    fn from(arg: OdometryArg) -> Self {
        match arg {
            OdometryArg::Chassis => Self::Chassis,
            OdometryArg::Twist => Self::Twist,
        }
    }
}

/// A..B, both of them included.
pub(super) fn steps(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, ""));
    match (first.trim().parse(), last.trim_start_matches('=').trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("give FIRST..LAST, as in 1215..1715".to_owned()),
    }
}

/// Reads a recording, or simulates one.
pub(super) fn read(source: &str) -> Result<SpaceRecording, Failure> {
    if let Some(name) = source.strip_prefix(PREFIX) {
        return simulated(name);
    }
    let spinner = progress::spinner(format!("reading {source}"));
    let recording = if bag::is_bag(source) { bag::open(Path::new(source)) } else { open(source) };
    spinner.finish_and_clear();
    recording.map_err(|error| match error {
        OpenError::Source { .. } => Failure::WrongCall(error.to_string()),
        _ => Failure::failed(error),
    })
}

/// NAME[:SEED]: a run of a scenario.
fn simulated(name: &str) -> Result<SpaceRecording, Failure> {
    let wrong = |problem: String| Failure::WrongCall(problem);
    let (name, seed) = name_and_seed(name).map_err(wrong)?;
    let scenario = scenario(name, &[])?;
    recording(&scenario, seed.unwrap_or(scenario.seed)).map_err(|error| wrong(error.to_string()))
}

/// A scenario in space by name or YAML file, with settings over it.
pub(super) fn scenario(name: &str, settings: &[(String, String)]) -> Result<SpaceScenario, Failure> {
    let mut scenario = if [".yaml", ".yml"].iter().any(|ending| name.ends_with(ending)) {
        let text = read_text(Path::new(name)).map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
        SpaceScenario::from_yaml(&text).map_err(|error| Failure::Failed(format!("{name}: {error}")))?
    } else {
        SpaceScenario::named(name).map_err(|error| Failure::WrongCall(error.to_string()))?
    };
    for (name, value) in settings {
        scenario = with(&scenario, name, value).map_err(|error| Failure::WrongCall(format!("--set: {error}")))?;
    }
    scenario.validate().map_err(|error| Failure::WrongCall(error.to_string()))?;
    Ok(scenario)
}

/// Runs filters over a recording, one after the other, and reports.
pub(super) fn evaluate(asked: &Evaluation) -> Result<(), Failure> {
    let recording = read(asked.source)?;
    let truth = Truth::of(&recording);
    let names = if asked.filters.is_empty() { vec!["default".to_owned()] } else { asked.filters.clone() };
    let run_one = |name: &String| {
        let spinner = progress::spinner(name.clone());
        let run = run(&recording, &truth, name, &asked.options);
        spinner.finish_and_clear();
        run.map_err(|error| match error {
            RunError::NoFilter(_) | RunError::NoSteps(..) => Failure::WrongCall(error.to_string()),
            RunError::NoMap => Failure::Failed(format!("--map truth: {error}")),
            RunError::NoStart(_) | RunError::Units(_) | RunError::Mount(_) | RunError::Settings(_) => {
                Failure::failed(error)
            }
        })
    };
    let runs = names.iter().map(run_one).collect::<Result<Vec<SpaceRun>, Failure>>()?;
    let judge = Judge { truth: &truth, sigma: Settings::of(&recording).truth_sigma, dropped: &recording.dropped };
    judge.tell(&runs, asked.json, asked.out)
}

/// A bag of a robot in space.
pub(super) struct RobotEvaluation<'a> {
    pub(super) bag: &'a Path,
    pub(super) topics: &'a Topics,
    pub(super) parameters: Parameters,
    /// Names of filters; that of the parameters where there are none.
    pub(super) filters: Vec<String>,
    pub(super) json: bool,
    pub(super) out: Option<&'a Path>,
}

/// Runs filters over a bag as the node would, one after the other, and reports.
pub(super) fn evaluate_robot(asked: RobotEvaluation) -> Result<(), Failure> {
    let RobotEvaluation { bag, topics, parameters, mut filters, json, out } = asked;
    if filters.is_empty() {
        filters.push(parameters.config.filter.clone());
    }
    let run_one = |filter: &String| {
        let mut parameters = parameters.clone();
        parameters.config.filter.clone_from(filter);
        let spinner = progress::spinner(filter.clone());
        let replay = robot::run(bag, topics, parameters);
        spinner.finish_and_clear();
        replay.map_err(Failure::failed)
    };
    let mut replays = filters.iter().map(run_one).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = replays.first() else { return Ok(()) };
    let (truth, dropped) = (first.truth(), first.recording.dropped.clone());
    let runs: Vec<SpaceRun> = replays.drain(..).map(|replay| replay.run).collect();
    Judge { truth: &truth, sigma: (0.0, 0.0), dropped: &dropped }.tell(&runs, json, out)
}

/// What runs are judged by.
struct Judge<'a> {
    truth: &'a Truth,
    /// Standard deviations of its places, m, and rotations, rad, by axis.
    sigma: (f64, f64),
    /// What the recording left out.
    dropped: &'a BTreeMap<String, u64>,
}

impl Judge<'_> {
    fn tell(&self, runs: &[SpaceRun], json: bool, out: Option<&Path>) -> Result<(), Failure> {
        let errors: Vec<Errors> = runs.iter().map(|run| Errors::new(run, self.truth, self.sigma)).collect();
        let reports: Vec<Report> =
            runs.iter().zip(&errors).map(|(run, errors)| Report::new(run, errors, self.dropped)).collect();
        if let Some(out) = out {
            let subjects: Vec<Subject> =
                runs.iter().zip(&errors).map(|(run, errors)| Subject { run, errors }).collect();
            say_removed(&remove_leftovers(out));
            folder::write(out, &subjects, &reports).map_err(Failure::failed)?;
        }
        if json {
            return print(&format!("{}\n", to_json(&reports).map_err(Failure::failed)?));
        }
        print(&to_text(&reports))?;
        out.map_or(Ok(()), |out| print(&format!("\nwritten to {}\n", out.display())))
    }
}

/// What a recording in space holds.
#[derive(Serialize)]
struct Info {
    name: String,
    imu: Stream,
    odometry: Stream,
    frames: Stream,
    measurements: usize,
    identities: usize,
    truth: Stream,
    true_landmarks: usize,
    gravity_in_truth_frame_mps2: Option<[f64; 3]>,
    dropped: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

/// What there is of one kind of input.
#[derive(Serialize)]
struct Stream {
    messages: usize,
    first_stamp_s: Option<f64>,
    duration_s: f64,
    rate_hz: Option<f64>,
    longest_gap_s: f64,
}

impl Stream {
    fn of(stamps: impl Iterator<Item = Stamp>) -> Self {
        let (mut messages, mut bounds, mut longest_gap_s) = (0, None::<(Stamp, Stamp)>, 0.0_f64);
        for stamp in stamps {
            messages += 1;
            longest_gap_s = bounds.map_or(0.0, |(_, last)| longest_gap_s.max(stamp.since(last)));
            bounds = Some(bounds.map_or((stamp, stamp), |(first, _)| (first, stamp)));
        }
        let duration_s = bounds.map_or(0.0, |(first, last)| last.since(first));
        let rate_hz = (duration_s > 0.0).then(|| (messages - 1) as f64 / duration_s);
        Self { messages, first_stamp_s: bounds.map(|(first, _)| first.secs()), duration_s, rate_hz, longest_gap_s }
    }
}

/// Says what a recording holds.
pub(super) fn info(source: &str, json: bool) -> Result<(), Failure> {
    let recording = read(source)?;
    let tags = &recording.tags;
    let seen = || {
        let points = recording.frames.iter().flat_map(|frame| &frame.seen).map(|seen| seen.id);
        points.chain(tags.frames.iter().flat_map(|frame| &frame.seen).map(|seen| seen.id))
    };
    let frames = recording.frames.iter().map(|frame| frame.stamp);
    let twists = if recording.twists.is_empty() { &recording.chassis } else { &recording.twists };
    let info = Info {
        name: recording.name.clone(),
        imu: Stream::of(recording.inertial.iter().map(|sample| sample.stamp)),
        odometry: Stream::of(twists.iter().map(|twist| twist.stamp)),
        frames: Stream::of(frames.chain(tags.frames.iter().map(|frame| frame.stamp))),
        measurements: seen().count(),
        identities: seen().collect::<BTreeSet<u64>>().len(),
        truth: Stream::of(recording.truth.iter().map(|truth| truth.stamp)),
        true_landmarks: recording.landmarks.len() + tags.true_tags.len(),
        gravity_in_truth_frame_mps2: recording.gravity.map(Into::into),
        dropped: recording.dropped.clone(),
        warnings: recording.warnings.clone(),
    };
    if json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&info).map_err(Failure::failed)?));
    }
    let mut text = format!(
        "{}\n\n{:<14}{:>10}{:>14}{:>12}{:>16}\n",
        info.name, "", "messages", "duration [s]", "rate [Hz]", "longest gap [s]"
    );
    for (name, stream) in
        [("imu", &info.imu), ("odometry", &info.odometry), ("frames", &info.frames), ("truth", &info.truth)]
    {
        let rate = stream.rate_hz.map_or("–".to_owned(), |rate| format!("{rate:.2}"));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{name:<14}{:>10}{:>14.3}{rate:>12}{:>16.3}",
            stream.messages, stream.duration_s, stream.longest_gap_s
        );
    }
    let _ = writeln!(
        text,
        "\n{} measurements of {} landmarks; {} true landmarks",
        info.measurements, info.identities, info.true_landmarks
    );
    for (reason, count) in &info.dropped {
        let _ = writeln!(text, "left out: {count} × {reason}");
    }
    for warning in &info.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_two_numbers_in_order() {
        assert_eq!(steps("1215..1715"), Ok(1215..=1715));
        assert_eq!(steps("0..=9"), Ok(0..=9));
        for wrong in ["", "7", "..", "9..1", "-1..2", "a..b"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }
}
