//! The pipeline: stamped input in, in whatever order it arrives; steps out, in the order of their stamps.

mod again;
mod begin;
mod intake;
mod keep;
mod maps;

use crate::config::Config;
use crate::estimator::{Decision, Observer};
use crate::inbox::{Inbox, MOST_SENSORS, What};
use crate::input::Sensor;
use crate::interrupted::{Interrupted, UNKNOWN_S, given_by};
use crate::output::{Counts, DropReason, PoseEstimate, Quality, Step};
use crate::running::Running;
use crate::world::Map3d;
use lienav_base::clock::ClockGuard;
use lienav_base::settings::OutOfRange;
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6};
use std::f64::consts::PI;

/// A position that is known less well than this is lost, m.
const LOST_M: f64 = 10.0;
/// Without a landmark for so long, the pose is that of the inertial sensor, s.
const SILENCE_S: f64 = 1.0;

/// The whole pipeline in space. The node, the offline evaluation and the tests all run this and nothing else, so the same
/// input gives the same estimates to the last bit. See the [crate](crate) for an example.
pub struct Slam3d {
    config: Config,
    filter: Filter,
    sensors: Vec<Sensor>,
    /// Where the start pose of the settings is, on the body.
    base: Se3,
    inbox: Inbox,
    guard: ClockGuard,
    running: Option<Running>,
    /// A pose that was given before the start, and the newest sample then.
    given: Option<(Se3, Matrix6<f64>, Option<Stamp>)>,
    /// The known map.
    map: Option<Map3d>,
    /// What is known from before an interruption, until the pose is found again.
    interrupted: Option<Interrupted>,
    /// The first sample since the start was waited for.
    waits_since: Option<Stamp>,
    counts: Counts,
    time_jumps: u64,
    widened: u64,
    most_measurements: Option<usize>,
    enabled: bool,
}

impl Slam3d {
    /// A filter that waits for its first samples.
    ///
    /// # Errors
    /// A setting that is out of range.
    pub fn new(config: Config) -> Result<Self, OutOfRange> {
        let filter = config.validate()?;
        Ok(Self {
            config,
            filter,
            sensors: Vec::new(),
            base: Se3::identity(),
            inbox: Inbox::default(),
            guard: ClockGuard::default(),
            running: None,
            given: None,
            map: None,
            interrupted: None,
            waits_since: None,
            counts: Counts::default(),
            time_jumps: 0,
            widened: 0,
            most_measurements: None,
            enabled: true,
        })
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// States where a sensor of landmarks is and how it is read. Numbers go up to 15.
    ///
    /// # Errors
    /// [`DropReason::UnknownSensor`] for a greater number, [`DropReason::Absurd`] for a focal length, baseline or noise
    /// that is not positive and finite.
    pub fn set_sensor(&mut self, number: usize, sensor: Sensor) -> Result<(), DropReason> {
        if number >= MOST_SENSORS {
            return Err(DropReason::UnknownSensor);
        }
        let is_positive = |x: &f64| *x > 0.0 && x.is_finite();
        let place = sensor.mount.translation;
        let is_sane = sensor.focal.iter().chain(&sensor.pixels.own).all(is_positive)
            && sensor.centre.iter().chain(place.iter()).all(|x| x.is_finite())
            && sensor.pixels.common.iter().chain([&sensor.baseline_m]).all(|x| *x >= 0.0 && x.is_finite());
        if !is_sane {
            return Err(DropReason::Absurd);
        }
        while self.sensors.len() <= number {
            self.sensors.push(Sensor::default());
        }
        self.sensors[number] = sensor;
        if let Some(running) = &mut self.running {
            running.estimator.sensors.clone_from(&self.sensors);
        }
        Ok(())
    }

    /// States where the frame is on the body whose position and heading the settings give at the start: x_body =
    /// R x_base + t. Without it, that is the body itself.
    pub fn set_base(&mut self, base: Se3) {
        self.base = base;
    }

    /// Takes so many measurements of a frame from the next start on, up to 300, for comparisons of filters. By itself it
    /// takes 80, or 300 with a window.
    pub fn set_most_measurements(&mut self, most: usize) {
        self.most_measurements = Some(most);
    }

    /// The recording has ended: what waits for other cameras is due, as far as there are samples.
    pub fn finish(&mut self) {
        self.inbox.has_ended = true;
    }

    /// The next step that is due.
    pub fn poll(&mut self) -> Option<Step> {
        self.poll_observed(&mut ())
    }

    /// The same, seen by an observer.
    pub fn poll_observed(&mut self, observer: &mut dyn Observer) -> Option<Step> {
        self.start();
        loop {
            let Self { running, inbox, .. } = self;
            let running = running.as_mut()?;
            running.begin(inbox);
            if running.begins() {
                return None;
            }
            let window_s = self.config.timing.reorder_window_s;
            let due = inbox.pop_due(window_s);
            if due.as_ref().is_some_and(|item| matches!(item.what, What::Frame(_))) {
                self.leave_map();
            }
            let Self { running, inbox, counts, interrupted, .. } = self;
            let running = running.as_mut()?;
            let mut given = None;
            let outcome = match due {
                Some(item) => {
                    given = interrupted.as_ref().and_then(|_| given_by(&item.what));
                    let what = if given.is_some() { &What::Instant } else { &item.what };
                    let outcome = running.take(item.stamp, what, inbox, counts, observer);
                    if let What::Frame(seen) = item.what {
                        inbox.recycle(seen);
                    }
                    outcome
                }
                None => {
                    let until = inbox.newest.map(|newest| newest - window_s);
                    let outcome = until.map_or(Ok(()), |until| running.pass_silence(until, inbox, counts));
                    if outcome.is_ok() {
                        return None;
                    }
                    outcome.map(|()| None)
                }
            };
            if running.estimator.view.is_refuted() {
                // It waits for another start, with what comes.
                self.running = None;
                self.waits_since = self.inbox.newest;
                return None;
            }
            match outcome {
                Ok(Some(mut step)) => {
                    self.find_again(&mut step, given);
                    self.widened += u64::from(step.is_widened);
                    return Some(step);
                }
                Ok(None) => {}
                Err(_) => {
                    self.counts.add(DropReason::InvalidCovariance);
                    self.interrupt(UNKNOWN_S);
                    self.waits_since = self.inbox.newest;
                    return None;
                }
            }
        }
    }

    /// The pose at the newest sample of the inertial sensor; `None` before the start.
    pub fn pose(&self) -> Option<PoseEstimate> {
        self.running.as_ref()?.ahead()
    }

    /// How good the pose is.
    pub fn quality(&self) -> Quality {
        let (Some(running), Some(pose)) = (&self.running, self.pose()) else { return Quality::Starting };
        let position: Matrix3<f64> = pose.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let is_unknown = position.trace() >= LOST_M * LOST_M || pose.covariance[(5, 5)] >= PI * PI / 3.0;
        let is_recent = |stamp: Option<Stamp>| stamp.is_some_and(|at| pose.stamp.since(at) <= SILENCE_S);
        let is_wide = self.interrupted.is_some()
            || running.estimator.is_contradicted()
            || !is_recent(running.last_used)
            || is_recent(running.last_widened);
        match (is_unknown, is_wide) {
            (true, _) => Quality::Lost,
            (false, true) => Quality::Wide,
            (false, false) => Quality::Ok,
        }
    }

    /// What became of each measurement of the last frame that a step took in: those that [`Slam3d::push_frame`] kept, in
    /// their order.
    pub fn decisions(&self) -> &[Decision] {
        self.running.as_ref().map_or(&[], |running| running.estimator.decisions())
    }

    /// The state of the last step, for tools; `None` before the start.
    pub fn state(&self) -> Option<&State> {
        self.running.as_ref().map(|running| &running.estimator.state)
    }

    /// Switches the filter off (input is counted as `disabled`) or on again: it then starts anew, with the known map.
    pub fn set_enabled(&mut self, enabled: bool) {
        if enabled != self.enabled {
            self.reset();
            self.enabled = enabled;
        }
    }

    /// Whether the filter takes input.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// What was left out so far, by reason.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How often the filter started again because time was set, or because nothing had come for more than two seconds.
    pub fn time_jumps(&self) -> u64 {
        self.time_jumps
    }

    /// How often the covariance was widened, because most measurements were beyond the gate.
    pub fn widened(&self) -> u64 {
        self.widened
    }
}
