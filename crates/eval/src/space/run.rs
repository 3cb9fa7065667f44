//! A filter over a recording.

use super::observability::{Watch, Window};
use super::session::{Counts, Estimate, Session};
use super::settings::Settings;
use super::start::{Start, start};
use super::tag_motion::Odometry;
use super::tags::{self, TagRun, TagRunOptions};
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Imu, ImuSample};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::twist::{Twist, held};
use lienav_inertial::rest::RestDetector;
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_io::space::data::{Layout, SpaceRecording};
use nalgebra::{SVector, Vector3};
use std::ops::RangeInclusive;

/// What is known of a run before it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the true landmarks are known to the filter.
    pub has_map: bool,
    /// Their standard deviation, m; `None` for what is usual for the layout.
    pub map_sigma: Option<f64>,
    /// Of a recording with steps, which of them, counted from 1.
    pub steps: Option<RangeInclusive<usize>>,
    /// Frames of the windows for which it is found out what the filter takes for observable; zero for none.
    pub window: usize,
    /// Of a recording of tags with two kinds of odometry, which of them.
    pub odometry: Odometry,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct SpaceRun {
    /// The filter.
    pub filter: String,
    /// Where the input came from.
    pub source: String,
    /// In order.
    pub estimates: Vec<Estimate>,
    /// How long each took, µs.
    pub step_us: Vec<f64>,
    /// What was counted.
    pub counts: Counts,
    /// Landmarks at the end, m, in the world.
    pub landmarks: Vec<(u64, Vector3<f64>)>,
    /// What the filter took for observable, where that was asked for.
    pub windows: Vec<Window>,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
}

/// A run that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// There is no filter of this name.
    #[error("there is no filter '{0}' in space; there are default, reduced, ekf, fe-ekf, oc-ekf and group")]
    NoFilter(String),
    /// A map was asked for that the recording does not have.
    #[error("the recording has no true landmarks to be a map")]
    NoMap,
    /// The run has nothing to begin with.
    #[error("{0}: nothing to start from: no frame lies between the samples")]
    NoStart(String),
    /// The inertial sensor is not in rad/s and m/s².
    #[error("{0}")]
    Units(String),
    /// The inertial sensor is not mounted as stated.
    #[error("{0}")]
    Mount(String),
    /// No steps are left.
    #[error("the recording has no steps {0} to {1}; it has {2}")]
    NoSteps(usize, usize, usize),
}

/// The published interval of Starry Night, counted from 1.
const STARRY_STEPS: RangeInclusive<usize> = 1215..=1715;

/// Runs the filter of this name over a recording.
///
/// # Errors
/// [`RunError`].
pub fn run(recording: &SpaceRecording, truth: &Truth, name: &str, options: &Options) -> Result<SpaceRun, RunError> {
    let filter = Filter::ALL.iter().find(|(own, _)| *own == name);
    let filter = filter.ok_or_else(|| RunError::NoFilter(name.to_owned()))?.1;
    if options.has_map && recording.landmarks.is_empty() && recording.tags.true_tags.is_empty() {
        return Err(RunError::NoMap);
    }
    if matches!(recording.layout, Layout::Tagslam | Layout::Frc) {
        if name != "default" {
            return Err(RunError::NoFilter(name.to_owned()));
        }
        return with_tags(recording, truth, options).ok_or_else(|| RunError::NoStart(recording.name.clone()));
    }
    let settings = Settings::of(recording);
    let (session, warnings) = match recording.layout {
        Layout::Starry => with_twists(recording, truth, filter, &settings, options)?,
        _ => with_inertial(recording, truth, filter, &settings, options)?,
    };
    let lost = (session.counts.widened > 0).then(|| {
        let count = session.counts.widened;
        format!("most measurements were beyond the gate, and the covariance was widened {count} times: check the noise")
    });
    let doubtful = doubt(&session.counts);
    let points = session.state.landmarks.iter().filter(|landmark| landmark.is_point());
    Ok(SpaceRun {
        filter: name.to_owned(),
        source: recording.name.clone(),
        landmarks: points.map(|landmark| (landmark.id, landmark.position)).collect(),
        estimates: session.estimates,
        step_us: session.step_us,
        windows: session.watch.map(|watch| watch.windows).unwrap_or_default(),
        warnings: recording
            .warnings
            .iter()
            .cloned()
            .chain(warnings)
            .chain(lost)
            .chain(doubtful)
            .chain(session.failure)
            .collect(),
        counts: session.counts,
    })
}

/// Tags with a pose, and odometry or none.
fn with_tags(recording: &SpaceRecording, truth: &Truth, options: &Options) -> Option<SpaceRun> {
    let map_sigma = options.has_map.then(|| options.map_sigma.unwrap_or(Settings::of(recording).map_sigma));
    let TagRun { estimates, step_us, counts, tags, warnings } =
        tags::run(recording, truth, &TagRunOptions { map_sigma, odometry: options.odometry })?;
    let (filter, source) = ("default".to_owned(), recording.name.clone());
    Some(SpaceRun { filter, source, estimates, step_us, counts, landmarks: tags, windows: Vec::new(), warnings })
}

/// Samples of an inertial sensor between frames.
fn with_inertial<'a>(
    recording: &'a SpaceRecording,
    truth: &Truth,
    filter: Filter,
    settings: &'a Settings,
    options: &Options,
) -> Result<(Session<'a>, Vec<String>), RunError> {
    check_units(recording)?;
    let begin = start(recording, truth, settings, &filter);
    let begin = begin.ok_or_else(|| RunError::NoStart(recording.name.clone()))?;
    check_mount(recording, &begin)?;
    let mut session = Session::new(begin.state, filter, &recording.camera, settings);
    session.further = &recording.further_cameras;
    session.watch = (options.window > 0).then(|| Watch::new(filter, options.window));
    if options.has_map {
        let sigma = options.map_sigma.unwrap_or(settings.map_sigma);
        session.set_map(&recording.landmarks, &truth.level, sigma);
    }
    let mut integrator = Integrator::new(session.state.nav.biases, settings.imu, settings.interpolation);
    let mut instants = Instants::new(recording, begin.stamp, settings.grid_hz);
    let (mut is_begun, mut rest) = (false, RestDetector::default());
    'samples: for sample in &recording.inertial {
        let sample = ImuSample { stamp: sample.stamp, value: Imu::new(sample.rate, sample.force) };
        rest.push(&sample);
        if integrator.push(sample).is_err() {
            session.drop_one("out_of_order");
            continue;
        }
        while let Some((stamp, frame)) = instants.next_until(sample.stamp) {
            let Ok(increment) = integrator.take(stamp) else {
                session.drop_one("before_samples");
                continue;
            };
            if is_begun {
                session.predict(&increment);
            }
            is_begun = true;
            if let Some(k) = frame {
                session.correct(&recording.frames[k], rest.is_at_rest());
            }
            integrator.set_biases(session.state.nav.biases);
            if !session.keep(stamp, frame.is_some()) {
                break 'samples;
            }
        }
    }
    Ok((session, begin.warning.into_iter().collect()))
}

/// The median force is gravity, or nearly so, and bodies that carry cameras do not turn faster than cameras can see.
fn check_units(recording: &SpaceRecording) -> Result<(), RunError> {
    const FORCE: RangeInclusive<f64> = 6.0..=16.0;
    const LARGEST_RATE: f64 = 10.0;
    let median = |of: fn(&lienav_io::space::data::InertialSample) -> f64| {
        let mut all: Vec<f64> = recording.inertial.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    let (force, rate) = (median(|sample| sample.force.norm()), median(|sample| sample.rate.norm()));
    if !FORCE.contains(&force) {
        let sentence = format!("the median specific force is {force:.2} m/s², where gravity is 9.81: is it in g?");
        return Err(RunError::Units(sentence));
    }
    if rate > LARGEST_RATE {
        return Err(RunError::Units(format!("the median angular rate is {rate:.1} rad/s: is it in degrees?")));
    }
    Ok(())
}

/// Whether the force of the first second points up where the start says that up is.
fn check_mount(recording: &SpaceRecording, begin: &Start) -> Result<(), RunError> {
    const WINDOW_S: f64 = 1.0;
    /// Half a turn less what a quick start and a rough estimate of the rotation may be.
    const FARTHEST_DEG: f64 = 120.0;
    let from = recording.inertial.partition_point(|sample| sample.stamp < begin.stamp);
    let first = recording.inertial[from..].iter().take_while(|sample| sample.stamp.since(begin.stamp) < WINDOW_S);
    let sum: Vector3<f64> = first.map(|sample| sample.force).sum();
    let up = begin.state.nav.rotation * sum;
    let angle = (up.z / up.norm()).acos().to_degrees();
    if angle > FARTHEST_DEG {
        return Err(RunError::Mount(format!(
            "the specific force at the start is {angle:.0}° off the vertical of the start: is the sensor upside down?"
        )));
    }
    Ok(())
}

/// A sentence about a run in which too many measurements were beyond the gate.
fn doubt(counts: &super::session::Counts) -> Option<String> {
    const MOST: f64 = 0.2;
    let share = counts.gated as f64 / (counts.gated + counts.used).max(1) as f64;
    let percent = (100.0 * share).round();
    (share > MOST).then(|| {
        format!(
            "{percent} % of the measurements were beyond the gate: the clock of the camera, the mounting or the noise is \
             not as stated, and the covariance is not to be trusted"
        )
    })
}

/// Frames from a start on, and a grid between them.
struct Instants<'a> {
    recording: &'a SpaceRecording,
    next: usize,
    grid: Option<(Stamp, f64)>,
}

impl<'a> Instants<'a> {
    fn new(recording: &'a SpaceRecording, begin: Stamp, grid_hz: f64) -> Self {
        let next = recording.frames.partition_point(|frame| frame.stamp < begin);
        Self { recording, next, grid: (grid_hz > 0.0).then(|| (begin + 1.0 / grid_hz, 1.0 / grid_hz)) }
    }

    /// The next instant that is not later than this stamp.
    fn next_until(&mut self, stamp: Stamp) -> Option<(Stamp, Option<usize>)> {
        let frame = self.recording.frames.get(self.next).map(|frame| frame.stamp).filter(|at| *at <= stamp);
        let grid = self.grid.filter(|(at, _)| *at <= stamp);
        match (frame, grid) {
            (Some(frame), grid) if grid.is_none_or(|(at, _)| frame <= at) => {
                self.next += 1;
                if let (Some((at, step)), true) = (self.grid, grid.is_some_and(|(at, _)| at == frame)) {
                    self.grid = Some((at + step, step));
                }
                Some((frame, Some(self.next - 1)))
            }
            (_, Some((at, step))) => {
                // Where samples are missing for long, the grid goes on behind them.
                const LONGEST_S: f64 = 10.0;
                let next = if stamp.since(at) > LONGEST_S { stamp } else { at + step };
                self.grid = Some((next, step));
                Some((at, None))
            }
            _ => None,
        }
    }
}

/// A twist that is held for so many usual steps was held for want of the next one.
const LONGEST_HELD: f64 = 3.0;
/// How fast rate and velocity may change meanwhile, rad/s² and m/s².
const CHANGE: (f64, f64) = (0.5, 0.5);

/// The median of the steps, s.
fn usual_step(twists: &[lienav_io::space::data::Twist]) -> f64 {
    let mut steps: Vec<f64> = twists.windows(2).map(|pair| pair[1].stamp.since(pair[0].stamp)).collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// Rates and velocities, each held until the next: no gravity, and no velocity in the state.
fn with_twists<'a>(
    recording: &'a SpaceRecording,
    truth: &Truth,
    filter: Filter,
    settings: &'a Settings,
    options: &Options,
) -> Result<(Session<'a>, Vec<String>), RunError> {
    /// Of a recording that states nothing, (rad/s)² and (m/s)².
    const USUAL: f64 = 0.01;
    let asked = options.steps.clone().unwrap_or(STARRY_STEPS);
    let (count, is_asked) = (recording.twists.len(), options.steps.is_some());
    let mut warnings = Vec::new();
    let (first, last) = if *asked.start() <= count {
        (asked.start().saturating_sub(1), (*asked.end()).min(count))
    } else if is_asked {
        return Err(RunError::NoSteps(*asked.start(), *asked.end(), count));
    } else {
        warnings.push(format!("the recording has {count} steps: all of them are run, not {asked:?}"));
        (0, count)
    };
    let twists = &recording.twists[first..last.max(first)];
    let Some(start) = twists.first() else { return Err(RunError::NoSteps(*asked.start(), *asked.end(), count)) };
    let pose = truth.at(start.stamp);
    if pose.is_none() {
        warnings.push("no truth at the start: it is at the origin".to_owned());
    }
    let pose = pose.unwrap_or_default();
    let nav = Nav { rotation: pose.rotation, position: pose.translation, ..Nav::default() };
    let sigma = settings.start_sigma;
    let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
    let mut state = State::new(nav, &covariance, 60, &filter);
    state.gravity = 0.0;
    let mut session = Session::new(state, filter, &recording.camera, settings);
    if options.has_map {
        let sigma = options.map_sigma.unwrap_or(settings.map_sigma);
        session.set_map(&recording.landmarks, &truth.level, sigma);
    }
    let usual = Vector3::repeat(USUAL);
    let (rate_variance, velocity_variance) =
        (recording.stated.rate.unwrap_or(usual), recording.stated.velocity.unwrap_or(usual));
    let end = twists.last().map_or(start.stamp, |twist| twist.stamp);
    let mut frames = recording.frames.iter().filter(|frame| (start.stamp..=end).contains(&frame.stamp)).peekable();
    let usual_s = usual_step(twists);
    // Each twist is held until the next; frames lie at its beginning or between.
    for (k, twist) in twists.iter().enumerate() {
        let until = twists.get(k + 1).map(|next| next.stamp);
        let (mut rate_variance, mut velocity_variance) = (rate_variance, velocity_variance);
        if let Some(until) = until.filter(|until| until.since(twist.stamp) > LONGEST_HELD * usual_s) {
            let late_s = until.since(twist.stamp) - usual_s;
            rate_variance.add_scalar_mut((CHANGE.0 * late_s).powi(2));
            velocity_variance.add_scalar_mut((CHANGE.1 * late_s).powi(2));
        }
        let held_twist = Twist { rate: twist.rate, velocity: twist.velocity, rate_variance, velocity_variance };
        let mut at = twist.stamp;
        let mut is_kept = false;
        while let Some(frame) = frames.next_if(|frame| until.is_none_or(|until| frame.stamp < until)) {
            if frame.stamp > at {
                if !is_kept && !session.keep(at, false) {
                    return Ok((session, warnings));
                }
                session.predict(&held(&held_twist, &session.state.nav.biases, frame.stamp.since(at)));
                at = frame.stamp;
            }
            session.correct(frame, false);
            if !session.keep(at, true) {
                return Ok((session, warnings));
            }
            is_kept = true;
        }
        if !is_kept && !session.keep(at, false) {
            break;
        }
        if let Some(until) = until {
            session.predict(&held(&held_twist, &session.state.nav.biases, until.since(at)));
        }
    }
    Ok((session, warnings))
}
