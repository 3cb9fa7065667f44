//! The pipeline: stamped input in, in whatever order it arrives; steps out, in the order of their stamps.

use crate::check::{check, check_pose, is_definite};
use crate::config::{Config, MapMode};
use crate::estimator::{Bounds, Decision, Estimator, MOST_MEASUREMENTS, Observer, USUAL_MEASUREMENTS};
use crate::inbox::{Inbox, MOST_SAMPLES, MOST_SENSORS, What};
use crate::input::{Frame, ImuSample, Odometry, Pose, Sensor};
use crate::measured::Stated;
use crate::output::{Counts, DropReason, Landmark, PoseEstimate, Quality, Step};
use crate::running::Running;
use crate::saved::{ResumeError, SavedRun, SavedState};
use crate::start::{self, Known};
use crate::world::{Map3d, MapError, own_covariance, place};
use lienav_base::clock::{ClockGuard, Limits, Verdict};
use lienav_base::settings::OutOfRange;
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Matrix6, Vector3};
use std::f64::consts::PI;

/// A stamp behind the newest by more than this is a jump back of time, s.
const JUMP_BACK_S: f64 = 2.0;
/// No body that carries the sensor turns or is pushed more, rad/s and m/s².
const MOST_IMU: (f64, f64) = (100.0, 1000.0);
/// Standard deviations of a start from a pose that is given, in motion: velocity, m/s; biases, rad/s and m/s².
const GIVEN: (f64, f64, f64) = (2.0, 0.02, 0.2);
/// Standard deviations of a start in a known map that states none: where a robot is put by hand, m and rad. Zero is what a
/// start is known to that defines the map; in the map of others it is a placeholder.
const IN_MAP: (f64, f64) = (1.0, 0.3);
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

    /// Takes in a sample of the inertial sensor. Call [`Slam3d::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        let outcome = self.take_imu(sample);
        self.count(outcome)
    }

    /// What is pushed next has arrived at `now_s`, by a clock that no message sets (monotonic), in s since anything. With
    /// it, messages that were held up and come all at once do not pass for a clock that was set back. Recordings need not
    /// state it.
    pub fn arrived(&mut self, now_s: f64) {
        self.guard.arrived(now_s);
    }

    fn take_imu(&mut self, sample: &ImuSample) -> Result<(), DropReason> {
        self.check_enabled()?;
        if !sample.value.is_finite() {
            return Err(DropReason::NotFinite);
        }
        if sample.value.rate.norm() > MOST_IMU.0 || sample.value.force.norm() > MOST_IMU.1 {
            return Err(DropReason::Absurd);
        }
        match self.guard.judge(sample.stamp, &self.limits()) {
            Verdict::InForce | Verdict::JumpedAhead => {}
            Verdict::JumpedBack => {
                self.time_jumps += 1;
                self.start_again();
            }
            Verdict::Unconfirmed { is_ahead, .. } | Verdict::Stray { is_ahead } => {
                return Err(if is_ahead { DropReason::FromTheFuture } else { DropReason::UnconfirmedJump });
            }
            Verdict::SecondClock => return Err(DropReason::SecondClock),
        }
        match self.inbox.newest {
            Some(newest) if sample.stamp == newest => return Err(DropReason::DuplicateStamp),
            Some(newest) if sample.stamp < newest => return Err(DropReason::TooLate),
            _ => {}
        }
        self.inbox.push_sample(*sample);
        if let Some(running) = &mut self.running {
            running.note(sample);
        }
        self.waits_since.get_or_insert(sample.stamp);
        Ok(())
    }

    /// Takes in a frame. It waits until samples of the inertial sensor reach its stamp.
    ///
    /// # Errors
    /// Why the frame was not used; already counted. Single measurements that are left out are counted, too.
    pub fn push_frame(&mut self, frame: &Frame) -> Result<(), DropReason> {
        let outcome = self.take_frame(frame);
        self.count(outcome)
    }

    fn take_frame(&mut self, frame: &Frame) -> Result<(), DropReason> {
        let mut kept = self.inbox.list();
        for seen in &frame.seen {
            match check(seen, &kept) {
                Ok(()) => kept.push(*seen),
                Err(reason) => self.counts.add(reason),
            }
        }
        self.queue(frame.stamp, What::Frame(kept))
    }

    /// Takes in a velocity of the body.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        let numbers = odometry.covariance.iter().flat_map(|c| c.iter()).chain(odometry.velocity.iter());
        let outcome = if !numbers.copied().all(f64::is_finite) {
            Err(DropReason::NotFinite)
        } else if odometry.velocity.norm() > 1e3 {
            Err(DropReason::Absurd)
        } else if odometry.covariance.is_some_and(|c| c.cholesky().is_none()) {
            Err(DropReason::BadCovariance)
        } else {
            self.queue(odometry.stamp, What::Odometry(*odometry))
        };
        self.count(outcome)
    }

    /// Takes in a pose that another source measures; it passes the gate as every measurement.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn push_pose(&mut self, pose: &Pose) -> Result<(), DropReason> {
        let outcome = check_pose(&pose.pose, &pose.covariance)
            .and_then(|()| if is_definite(&pose.covariance) { Ok(()) } else { Err(DropReason::BadCovariance) })
            .and_then(|()| self.queue(pose.stamp, What::Pose(*pose)));
        self.count(outcome)
    }

    /// Asks for a step at an instant.
    ///
    /// # Errors
    /// Why there will be none; already counted.
    pub fn push_instant(&mut self, stamp: Stamp) -> Result<(), DropReason> {
        let outcome = self.queue(stamp, What::Instant);
        self.count(outcome)
    }

    fn queue(&mut self, stamp: Stamp, what: What) -> Result<(), DropReason> {
        self.check_enabled()?;
        match self.guard.judge_follower(stamp, &self.limits()) {
            Verdict::SecondClock => return Err(DropReason::SecondClock),
            Verdict::Stray { is_ahead: true } if !self.inbox.continues(stamp) => {
                return Err(DropReason::FromTheFuture);
            }
            Verdict::Stray { is_ahead: false } => return Err(DropReason::TooLate),
            _ => {}
        }
        let was_used = self.running.as_ref().is_some_and(|running| running.has_taken(stamp, &what));
        if was_used || self.inbox.has(stamp, &what) {
            return Err(DropReason::DuplicateStamp);
        }
        if self.running.as_ref().is_some_and(|running| stamp < running.at() && !running.begins()) {
            return Err(DropReason::TooLate);
        }
        if self.inbox.is_full() {
            return Err(DropReason::BufferFull);
        }
        self.inbox.push(stamp, what);
        Ok(())
    }

    fn check_enabled(&self) -> Result<(), DropReason> {
        if self.enabled { Ok(()) } else { Err(DropReason::Disabled) }
    }

    fn count(&mut self, outcome: Result<(), DropReason>) -> Result<(), DropReason> {
        if let Err(reason) = outcome {
            self.counts.add(reason);
        }
        outcome
    }

    fn limits(&self) -> Limits {
        Limits { max_ahead_s: self.config.timing.max_ahead_s, jump_back_s: JUMP_BACK_S }
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
            let Self { running, inbox, counts, .. } = self;
            let running = running.as_mut()?;
            running.begin(inbox);
            if running.begins() {
                return None;
            }
            let window_s = self.config.timing.reorder_window_s;
            let outcome = match inbox.pop_due(window_s) {
                Some(item) => {
                    let outcome = running.take(item.stamp, &item.what, inbox, counts, observer);
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
            match outcome {
                Ok(Some(step)) => {
                    self.widened += u64::from(step.is_widened);
                    return Some(step);
                }
                Ok(None) => {}
                Err(_) => {
                    self.counts.add(DropReason::InvalidCovariance);
                    self.running = None;
                    self.waits_since = self.inbox.newest;
                    return None;
                }
            }
        }
    }

    /// Begins where that is possible: at rest, from a given pose, or in motion after a while.
    fn start(&mut self) {
        while self.running.is_none() {
            let (Some(first), Some(newest)) = (self.inbox.samples.front(), self.inbox.newest) else { return };
            let first = first.stamp;
            let is_full = self.inbox.samples.len() >= MOST_SAMPLES;
            if newest.since(first) < start::WINDOW_S && !is_full {
                return;
            }
            if let Some((state, at)) = self.state_at_start(first, newest) {
                self.begin(state, at);
                return;
            }
            // The window moves on.
            const STEP_S: f64 = 0.1;
            while self.inbox.samples.front().is_some_and(|sample| sample.stamp.since(first) < STEP_S) {
                self.inbox.samples.pop_front();
            }
        }
    }

    fn state_at_start(&self, first: Stamp, newest: Stamp) -> Option<(State, Stamp)> {
        let Self { config, filter, .. } = self;
        let (samples, noise, gravity) = (&self.inbox.samples, config.noise(), config.imu.gravity);
        let at_start = &config.start;
        let known = match &self.given {
            Some((pose, covariance, _)) => Known {
                pose: *pose,
                position_sigma: covariance.fixed_view::<3, 3>(0, 0).trace().max(0.0).sqrt(),
                heading_sigma: covariance[(5, 5)].max(0.0).sqrt(),
            },
            None => {
                let rotation = So3::exp(&(Vector3::z() * at_start.yaw_rad));
                let place = Vector3::new(at_start.x_m, at_start.y_m, at_start.z_m);
                let pose = Se3::new(rotation, place) * self.base.inverse();
                let or = |stated: f64, usual: f64| {
                    let is_stated = stated > 0.0 || config.map.mode != MapMode::Localization;
                    if is_stated { stated } else { usual }
                };
                let position_sigma = or(at_start.position_std_m, IN_MAP.0);
                Known { pose, position_sigma, heading_sigma: or(at_start.yaw_std_rad, IN_MAP.1) }
            }
        };
        let (rest, at_rest) = (start::first_samples(samples, first), first + start::REST_S);
        if start::is_at_rest(samples, first)
            && let Some(state) = start::at_rest(&rest, &known, gravity, &noise, filter)
        {
            return Some((state, at_rest));
        }
        if let Some((pose, covariance, at)) = &self.given {
            let at = at.map_or(first, |at| at.max(first));
            return Some((start::from_pose(pose, covariance, GIVEN, gravity, filter), at));
        }
        let waited = self.waits_since.map_or(0.0, |since| newest.since(since));
        let is_over = at_start.max_wait_s > 0.0 && waited > at_start.max_wait_s;
        if !is_over {
            return None;
        }
        start::in_motion(&rest, &known, gravity, &noise, filter).map(|state| (state, at_rest))
    }

    /// Begins with a state that a program has made, at a stamp. Frames from before are dropped as `not_started`.
    pub fn begin(&mut self, state: State, at: Stamp) {
        let mut running = self.new_run(state, at, &self.sensors);
        let estimator = &mut running.estimator;
        if let Some(known) = &self.map {
            known.append_to(&mut estimator.state, &self.filter);
        }
        if self.config.map.mode == MapMode::Localization {
            estimator.freeze_landmarks();
        }
        self.running = Some(running);
        let dropped = self.inbox.drop_before(at);
        self.counts.add_many(DropReason::NotStarted, dropped as u64);
        self.given = None;
    }

    /// Begins at a pose and velocity in the map with these standard deviations by axis: rotation, rad; velocity, m/s;
    /// position, m; biases, rad/s and m/s².
    ///
    /// # Errors
    /// Why it does not begin there: a number that is not finite, absurd, or a negative standard deviation; counted.
    pub fn begin_at(
        &mut self,
        stamp: Stamp,
        pose: &Se3,
        velocity: &Vector3<f64>,
        sigma: &[f64; 5],
    ) -> Result<(), DropReason> {
        let variance = |i: usize| if i < 3 { sigma[2] * sigma[2] } else { sigma[0] * sigma[0] };
        let covariance = Matrix6::from_fn(|i, j| if i == j { variance(i) } else { 0.0 });
        let outcome = check_pose(pose, &covariance).and_then(|()| match () {
            () if !velocity.iter().chain(sigma).all(|x| x.is_finite()) => Err(DropReason::NotFinite),
            () if velocity.norm() > 1e3 => Err(DropReason::Absurd),
            () if sigma.iter().any(|sigma| *sigma < 0.0) => Err(DropReason::BadCovariance),
            () => Ok(()),
        });
        self.count(outcome)?;
        let state = start::given(pose, velocity, sigma, self.config.imu.gravity, &self.filter);
        self.begin(state, stamp);
        Ok(())
    }

    fn new_run(&self, state: State, at: Stamp, sensors: &[Sensor]) -> Running {
        let Config { map, sensor, .. } = &self.config;
        let window = self.config.window();
        let usual = if window.is_some() { MOST_MEASUREMENTS } else { USUAL_MEASUREMENTS };
        let most_measurements = self.most_measurements.unwrap_or(usual);
        let bounds = Bounds { most_landmarks: map.max_landmarks, tracks_end: map.tracks_end, most_measurements };
        let mut estimator = Estimator::new(state, self.filter, self.config.ranges(), bounds);
        if let Some(settings) = window {
            estimator = estimator.with_window(settings);
        }
        estimator.sensors.extend_from_slice(sensors);
        estimator.stated = Stated { position_m: sensor.position_std_m, range_m: sensor.range_std_m };
        let (noise, interpolation) = (self.config.noise(), self.config.interpolation());
        Running::new(estimator, at, noise, interpolation, sensor.velocity_std)
    }

    /// Puts the body at a pose that is given from outside: before the start, or later, when the map moves with it as one.
    /// A known map stays where it is. Of the rotation, the heading counts, since the inertial sensor knows the rest.
    ///
    /// # Errors
    /// A pose that is not finite or absurd, or an invalid covariance; counted.
    pub fn set_pose(&mut self, pose: &Se3, covariance: &Matrix6<f64>) -> Result<(), DropReason> {
        self.count(check_pose(pose, covariance))?;
        let Some(running) = &mut self.running else {
            self.given = Some((*pose, *covariance, self.inbox.newest));
            return Ok(());
        };
        let state = &mut running.estimator.state;
        if self.config.map.mode == MapMode::Localization {
            (0..state.landmarks.len()).rev().for_each(|i| state.remove(i));
            place(state, pose, covariance, &self.filter);
            if let Some(known) = &self.map {
                known.append_to(state, &self.filter);
            }
        } else {
            place(state, pose, covariance, &self.filter);
        }
        running.restart_ahead(&self.inbox);
        Ok(())
    }

    /// Takes a map: its landmarks replace those of the state, now or at the start.
    ///
    /// # Errors
    /// [`MapError`]; nothing is changed then.
    pub fn load_map(&mut self, map: Map3d) -> Result<(), MapError> {
        map.check()?;
        let (landmarks, most) = (map.landmarks.len(), self.config.map.max_landmarks);
        if landmarks > most {
            return Err(MapError::TooMany(landmarks, most));
        }
        if let Some(running) = &mut self.running {
            let state = &mut running.estimator.state;
            (0..state.landmarks.len()).rev().for_each(|i| state.remove(i));
            map.append_to(state, &self.filter);
            if self.config.map.mode == MapMode::Localization {
                running.estimator.freeze_landmarks();
            }
        }
        self.map = Some(map);
        Ok(())
    }

    /// The landmarks with their joint covariance; before the start, those of the known map.
    pub fn map(&self) -> Map3d {
        match &self.running {
            Some(running) => Map3d::of(&running.estimator.state, &self.filter),
            None => self.map.clone().unwrap_or_default(),
        }
    }

    /// The landmarks of the state, each with its own covariance; none before the start.
    pub fn landmarks(&self) -> Vec<Landmark> {
        let Some(running) = &self.running else { return Vec::new() };
        let state = &running.estimator.state;
        let points = state.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.is_point());
        let landmark = |(i, one): (usize, &lienav_inertial::state::landmark::Landmark)| Landmark {
            id: one.id,
            position: one.position,
            covariance: own_covariance(state, i, &self.filter),
        };
        points.map(landmark).collect()
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
        let is_wide =
            running.estimator.is_contradicted() || !is_recent(running.last_used) || is_recent(running.last_widened);
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

    /// All that a filter needs to continue from here, as plain data.
    pub fn save(&self) -> SavedState {
        SavedState {
            config: self.config.clone(),
            sensors: self.sensors.clone(),
            base: self.base,
            inbox: self.inbox.clone(),
            guard: self.guard,
            running: self.running.as_ref().map(Running::save),
            given: self.given,
            map: self.map.clone(),
            waits_since: self.waits_since,
            counts: self.counts,
            time_jumps: self.time_jumps,
            widened: self.widened,
            enabled: self.enabled,
        }
    }

    /// Continues where another filter with these settings was saved: with the same input from there on, estimates are
    /// those of the run that was not interrupted, to the last bit.
    ///
    /// # Errors
    /// [`ResumeError`]: other settings, or a damaged state; nothing is changed then.
    pub fn restore(&mut self, saved: SavedState) -> Result<(), ResumeError> {
        saved.check(&self.config)?;
        let running = match saved.running {
            Some(run) => Some(self.run_of(run, &saved.sensors, &saved.inbox)?),
            None => None,
        };
        self.running = running;
        (self.sensors, self.base, self.inbox, self.guard) = (saved.sensors, saved.base, saved.inbox, saved.guard);
        (self.given, self.map, self.waits_since) = (saved.given, saved.map, saved.waits_since);
        (self.counts, self.time_jumps, self.widened) = (saved.counts, saved.time_jumps, saved.widened);
        self.enabled = saved.enabled;
        Ok(())
    }

    fn run_of(&self, run: SavedRun, sensors: &[Sensor], inbox: &Inbox) -> Result<Running, ResumeError> {
        let mut running = self.new_run(run.filter.state.clone(), run.at, sensors);
        let waiting = run.filter.clone();
        running
            .estimator
            .restore(waiting)
            .map_err(|_| ResumeError::Damaged("landmarks that wait have too many views"))?;
        running.restore(run, inbox);
        Ok(running)
    }

    /// The state of the last step, for tools; `None` before the start.
    pub fn state(&self) -> Option<&State> {
        self.running.as_ref().map(|running| &running.estimator.state)
    }

    /// Forgets everything but settings, sensors, the known map and counts; the next samples start anew.
    pub fn reset(&mut self) {
        self.guard.clear();
        self.start_again();
    }

    fn start_again(&mut self) {
        self.running = None;
        self.inbox.clear();
        (self.given, self.waits_since) = (None, None);
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

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        self.time_jumps
    }

    /// How often the covariance was widened, because most measurements were beyond the gate.
    pub fn widened(&self) -> u64 {
        self.widened
    }
}
