//! Rates and velocities in place of an inertial sensor, each held until the next.

use super::session::{Session, input};
use super::settings::{MOST_LANDMARKS, Settings};
use super::task::{Options, Ran, RunError, STARRY_STEPS, map_of, points};
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::Biases;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::preintegration::twist::{Twist, held};
use lienav_inertial::state::State;
use lienav_inertial::state::nav::Nav;
use lienav_io::space::data::{Frame, SpaceRecording};
use lienav_space::Counts as Dropped;
use lienav_space::estimator::{Bounds, Estimator, USUAL_MEASUREMENTS};
use nalgebra::{SVector, Vector3};
use std::time::Instant;

/// A run in progress.
struct Twisted {
    session: Session,
    estimator: Estimator,
    dropped: Dropped,
}

impl Twisted {
    fn new(state: State, filter: Filter, recording: &SpaceRecording, settings: &Settings) -> Self {
        let bounds = Bounds {
            most_landmarks: MOST_LANDMARKS,
            tracks_end: settings.tracks_end,
            most_measurements: USUAL_MEASUREMENTS,
        };
        let estimator = Estimator::new(state, filter, settings.ranges, bounds);
        let mut estimator = estimator.with_lost_sigma(settings.lost_sigma);
        estimator.sensors.push(settings.sensor(&recording.camera));
        Self { session: Session::default(), estimator, dropped: Dropped::default() }
    }

    fn biases(&self) -> Biases {
        self.estimator.state.nav.biases
    }

    fn predict(&mut self, increment: &Preintegrated) {
        let begin = Instant::now();
        self.estimator.predict(increment, &mut ());
        self.session.spent_s += begin.elapsed().as_secs_f64();
    }

    fn correct(&mut self, frame: &Frame) {
        let seen = input(frame).seen;
        let begin = Instant::now();
        let (corrected, is_widened) = self.estimator.correct(frame.stamp, &seen, None, &mut self.dropped, &mut ());
        self.session.spent_s += begin.elapsed().as_secs_f64();
        let counts = &mut self.session.counts;
        counts.used += corrected.used;
        counts.gated += corrected.gated;
        counts.initialized += corrected.initialized;
        counts.removed += corrected.removed;
        counts.widened += usize::from(is_widened);
    }

    /// False where the state is no longer one.
    fn keep(&mut self, stamp: Stamp, has_frame: bool) -> bool {
        let estimate = self.estimator.estimate(stamp);
        match &estimate {
            Some(estimate) => self.session.keep(estimate, has_frame),
            None => self.session.fail(stamp),
        }
        estimate.is_some()
    }

    fn finish(mut self, warnings: Vec<String>) -> Ran {
        self.session.count_dropped(&self.dropped);
        let landmarks = points(&self.estimator.state);
        (self.session, landmarks, warnings)
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
pub fn run(
    recording: &SpaceRecording,
    truth: &Truth,
    filter: Filter,
    settings: &Settings,
    options: &Options,
) -> Result<Ran, RunError> {
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
    if options.has_map {
        map_of(recording, truth, settings, options).append_to(&mut state, &filter);
    }
    let mut session = Twisted::new(state, filter, recording, settings);
    if options.has_map {
        session.estimator.freeze_landmarks();
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
                    return Ok(session.finish(warnings));
                }
                session.predict(&held(&held_twist, &session.biases(), frame.stamp.since(at)));
                at = frame.stamp;
            }
            session.correct(frame);
            if !session.keep(at, true) {
                return Ok(session.finish(warnings));
            }
            is_kept = true;
        }
        if !is_kept && !session.keep(at, false) {
            break;
        }
        if let Some(until) = until {
            session.predict(&held(&held_twist, &session.biases(), until.since(at)));
        }
    }
    Ok(session.finish(warnings))
}
