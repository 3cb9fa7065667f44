//! A filter over a recording.

use super::observability::{Watch, Window};
use super::session::{Counts, Estimate, Session, input};
use super::settings::Settings;
use super::start::{Start, start};
use super::tags::{self, TagRun, TagRunOptions};
use super::task::{Ran, map_of, points};
use super::truth::Truth;
use super::twists;
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_io::space::data::{Layout, SpaceRecording};
use lienav_space::config::WINDOW;
use lienav_space::estimator::MOST_MEASUREMENTS;
use lienav_space::start::sample as imu_sample;
use lienav_space::{DropReason, MapMode, Slam3d};
use nalgebra::Vector3;
use std::ops::RangeInclusive;
use std::time::Instant;

pub use super::task::{Options, RunError};

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

/// Runs the filter of this name over a recording.
///
/// # Errors
/// [`RunError`].
pub fn run(recording: &SpaceRecording, truth: &Truth, name: &str, options: &Options) -> Result<SpaceRun, RunError> {
    let with_window = (WINDOW, Filter::DEFAULT);
    let filter = Filter::ALL.iter().chain([&with_window]).find(|(own, _)| *own == name);
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
    let (session, landmarks, warnings) = match recording.layout {
        Layout::Starry if name == WINDOW => return Err(RunError::NoFilter(name.to_owned())),
        Layout::Starry => twists::run(recording, truth, filter, &settings, options)?,
        _ => with_inertial(recording, truth, (name, filter), &settings, options)?,
    };
    let lost = (session.counts.widened > 0).then(|| {
        let count = session.counts.widened;
        format!("most measurements were beyond the gate, and the covariance was widened {count} times: check the noise")
    });
    let doubtful = doubt(&session.counts);
    Ok(SpaceRun {
        filter: name.to_owned(),
        source: recording.name.clone(),
        landmarks,
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

/// Samples of an inertial sensor between frames: the pipeline that programs and nodes have.
fn with_inertial(
    recording: &SpaceRecording,
    truth: &Truth,
    (name, filter): (&str, Filter),
    settings: &Settings,
    options: &Options,
) -> Result<Ran, RunError> {
    check_units(recording)?;
    let begin = start(recording, truth, settings, &filter);
    let begin = begin.ok_or_else(|| RunError::NoStart(recording.name.clone()))?;
    check_mount(recording, &begin)?;
    let mut config = settings.config(name);
    if options.has_map {
        config.map.mode = MapMode::Localization;
    }
    // As many as the simulated runs with tracks have.
    let most = recording.tracks_end.then_some(MOST_MEASUREMENTS);
    if most.is_some() {
        config.map.max_landmarks = 2 * MOST_MEASUREMENTS;
    }
    let unusable = |problem: &dyn std::fmt::Display| RunError::Settings(problem.to_string());
    let mut slam = Slam3d::new(config).map_err(|error| unusable(&error))?;
    if let Some(most) = most {
        slam.set_most_measurements(most);
    }
    for (k, camera) in std::iter::once(&recording.camera).chain(&recording.further_cameras).enumerate() {
        slam.set_sensor(k, settings.sensor(camera)).map_err(|error| unusable(&error))?;
    }
    if options.has_map {
        slam.load_map(map_of(recording, truth, settings, options)).map_err(|error| unusable(&error))?;
    }
    let watch = (options.window > 0).then(|| Watch::new(filter, options.window));
    let mut session = Session { watch, ..Session::default() };
    let mut instants = Instants::new(recording, begin.stamp, settings.grid_hz);
    // The state of the start holds until the first instant.
    slam.begin(begin.state, instants.first().unwrap_or(begin.stamp));
    for sample in &recording.inertial {
        while let Some((stamp, frame)) = instants.next_until(sample.stamp) {
            // What is dropped is counted.
            let _ = match frame {
                Some(k) => slam.push_frame(&input(&recording.frames[k])),
                None => slam.push_instant(stamp),
            };
        }
        let _ = slam.push_imu(&imu_sample(sample.stamp, sample.rate, sample.force));
        take_steps(&mut slam, &mut session);
        if slam.counts().get(DropReason::InvalidCovariance) > 0 {
            session.fail(sample.stamp);
            break;
        }
    }
    slam.finish();
    take_steps(&mut slam, &mut session);
    session.count_dropped(slam.counts());
    let landmarks = slam.state().map(points).unwrap_or_default();
    Ok((session, landmarks, begin.warning.into_iter().collect()))
}

fn take_steps(slam: &mut Slam3d, session: &mut Session) {
    loop {
        let begin = Instant::now();
        let step = match &mut session.watch {
            Some(watch) => slam.poll_observed(watch),
            None => slam.poll(),
        };
        session.spent_s += begin.elapsed().as_secs_f64();
        let Some(step) = step else { return };
        session.take(&step);
    }
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

    /// The first instant.
    fn first(&self) -> Option<Stamp> {
        let frame = self.recording.frames.get(self.next).map(|frame| frame.stamp);
        frame.into_iter().chain(self.grid.map(|(at, _)| at)).min()
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
