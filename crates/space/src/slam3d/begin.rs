//! Where the filter begins: at rest, from a pose that is given, in motion, or after an interruption.

use crate::check::check_pose;
use crate::config::{Config, MapMode};
use crate::estimator::{Bounds, Estimator, MOST_MEASUREMENTS, USUAL_MEASUREMENTS};
use crate::inbox::MOST_SAMPLES;
use crate::input::Sensor;
use crate::measured::{Measured, Stated};
use crate::output::DropReason;
use crate::running::Running;
use crate::slam3d::Slam3d;
use crate::start::{self, AT_REST, AT_REST_AS_SEEN, IN_MOTION, Known};
use crate::still::{self, StillView};
use crate::world::{Map3d, place};
use lienav_base::stamp::Stamp;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector3};
use std::ops::RangeInclusive;

/// Standard deviations of a start from a pose that is given, in motion: velocity, m/s; biases, rad/s and m/s².
const GIVEN: (f64, f64, f64) = (2.0, 0.02, 0.2);
/// Standard deviations of a start in a known map that states none: where a robot is put by hand, m and rad. Zero is what a
/// start is known to that defines the map; in the map of others it is a placeholder.
const IN_MAP: (f64, f64) = (1.0, 0.3);

/// The velocity of a start in motion, by axis, m/s, where what is seen shows how fast the body is: that of cars in a
/// town.
const SPEED: f64 = 10.0;

/// What is seen before the start.
struct View {
    /// There is something.
    is_seen: bool,
    /// Landmarks move.
    has_moved: bool,
    /// There are directions of unknown landmarks, and nothing that would show how fast.
    is_by_directions: bool,
}

impl View {
    /// How fast a body may be that rests by its inertial sensor and by this, m/s by axis.
    fn rest_speed(&self) -> f64 {
        // The scale of directions would follow from it: that is left to the trial.
        if self.is_seen && !self.is_by_directions { AT_REST_AS_SEEN } else { AT_REST }
    }

    /// Beside a calm inertial sensor: nothing says how fast the body is, and it is not at rest.
    fn is_even_motion(&self) -> bool {
        self.has_moved && self.is_by_directions
    }
}

impl Slam3d {
    /// Begins where that is possible: at rest, from a given pose, or in motion after a while.
    pub(super) fn start(&mut self) {
        while self.running.is_none() {
            let (Some(first), Some(newest)) = (self.inbox.samples.front(), self.inbox.newest) else { return };
            let first = first.stamp;
            let is_full = self.inbox.samples.len() >= MOST_SAMPLES;
            if newest.since(first) < start::WINDOW_S && !is_full {
                return;
            }
            if let Some((state, at, view)) = self.state_at_start(first, newest) {
                let map = match &self.interrupted {
                    // It waits until the pose in it is found.
                    Some(_) if self.given.is_none() => None,
                    Some(_) => self.interrupted.take().map(|interrupted| interrupted.map),
                    None => self.map.clone(),
                };
                self.begin_in(map, state, at);
                if let Some(running) = &mut self.running {
                    running.estimator.view = view;
                }
                return;
            }
            // The window moves on.
            const STEP_S: f64 = 0.1;
            while self.inbox.samples.front().is_some_and(|sample| sample.stamp.since(first) < STEP_S) {
                self.inbox.samples.pop_front();
            }
            let dropped = self.inbox.drop_before(first);
            self.counts.add_many(DropReason::NotStarted, dropped as u64);
        }
    }

    fn state_at_start(&self, first: Stamp, newest: Stamp) -> Option<(State, Stamp, StillView)> {
        let Self { config, filter, given, .. } = self;
        let (samples, noise, gravity) = (&self.inbox.samples, config.noise(), config.imu.gravity);
        let interrupted = self.interrupted.as_ref().filter(|_| given.is_none());
        let known = self.known_at_start();
        let (rest, at_rest) = (start::first_samples(samples, first), first + start::REST_S);
        let (is_calm, view) = (start::is_at_rest(samples, first), self.view_at_start(first));
        let in_motion = |speed| start::in_motion(&rest, &known, speed, gravity, &noise, filter);
        let as_usual = |state: State, at: Stamp| (state, at, StillView::default());
        if is_calm
            && !view.has_moved
            && let Some(state) = start::at_rest(&rest, &known, view.rest_speed(), gravity, &noise, filter)
        {
            let state = match interrupted {
                Some(interrupted) => interrupted.at_rest(state),
                None => state,
            };
            // An undone start forgets the pose that was given.
            let is_on_trial = view.is_by_directions && given.is_none();
            let trial = if is_on_trial { StillView::on_trial() } else { StillView::default() };
            return Some((state, at_rest, trial));
        }
        if is_calm && view.is_even_motion() {
            return None;
        }
        if let Some(interrupted) = interrupted {
            return in_motion(IN_MOTION[1]).map(|state| as_usual(interrupted.in_motion(state), at_rest));
        }
        if let Some((pose, covariance, at)) = given {
            let at = at.map_or(first, |at| at.max(first));
            return Some(as_usual(start::from_pose(pose, covariance, GIVEN, gravity, filter), at));
        }
        let waited = self.waits_since.map_or(0.0, |since| newest.since(since));
        let is_over = config.start.max_wait_s > 0.0 && waited > config.start.max_wait_s;
        let speed = if view.is_by_directions { IN_MOTION[1] } else { SPEED };
        is_over.then(|| in_motion(speed)).flatten().map(|state| as_usual(state, at_rest))
    }

    /// What is known of the place of the start: a pose that is given, that of before an interruption, or the settings'.
    fn known_at_start(&self) -> Known {
        let (config, at_start) = (&self.config, &self.config.start);
        match (&self.given, &self.interrupted) {
            (Some((pose, covariance, _)), _) => Known {
                pose: *pose,
                position_sigma: covariance.fixed_view::<3, 3>(0, 0).trace().max(0.0).sqrt(),
                heading_sigma: covariance[(5, 5)].max(0.0).sqrt(),
            },
            (None, Some(interrupted)) => interrupted.known(),
            (None, None) => {
                let or = |stated: f64, usual: f64| {
                    let is_stated = stated > 0.0 || config.map.mode != MapMode::Localization;
                    if is_stated { stated } else { usual }
                };
                let position_sigma = or(at_start.position_std_m, IN_MAP.0);
                Known { pose: self.start_pose(), position_sigma, heading_sigma: or(at_start.yaw_std_rad, IN_MAP.1) }
            }
        }
    }

    /// What is seen in the time in which the inertial sensor looks for rest: it does not tell rest from an even motion.
    fn view_at_start(&self, first: Stamp) -> View {
        let stated = self.stated();
        let window = self.inbox.frames().filter(|(stamp, _)| (0.0..start::WINDOW_S).contains(&stamp.since(first)));
        let seen = window.flat_map(|(stamp, seen)| seen.iter().map(move |one| (stamp, one)));
        let measured = seen.clone().filter_map(|(stamp, one)| {
            let sensor = self.sensors.get(one.sensor)?;
            Some((stamp, one.id, one.sensor, Measured::of(one, sensor, &stated)))
        });
        let has_map = self.map.is_some() || self.interrupted.is_some();
        let has_scale = has_map || self.inbox.has_motion() || seen.clone().any(|(_, one)| one.value.has_scale());
        let is_seen = seen.count() > 0;
        let is_by_directions = is_seen && !has_scale;
        View { is_seen, has_moved: still::have_moved(measured).unwrap_or(false), is_by_directions }
    }

    /// What measurements are that state no noise of their own.
    fn stated(&self) -> Stated {
        let sensor = &self.config.sensor;
        Stated { position_m: sensor.position_std_m, range_m: sensor.range_std_m }
    }

    /// A sentence about samples that no start can be made of, while the filter waits for its start.
    pub fn start_problem(&self) -> Option<String> {
        /// The mean specific force of a body that carries cameras, m/s².
        const FORCE: RangeInclusive<f64> = 5.0..=20.0;
        /// As many samples as show that.
        const MANY: usize = 20;
        let samples = &self.inbox.samples;
        if self.running.is_some() || samples.len() < MANY {
            return None;
        }
        if let Some(first) = samples.front().map(|sample| sample.stamp)
            && self.view_at_start(first).is_even_motion()
            && start::is_at_rest(samples, first)
        {
            let what =
                "landmarks move while imu is calm: an even motion, of which directions alone do not show how fast";
            return Some(format!("{what}; stand still, or add odom, positions or ranges"));
        }
        let mean = samples.iter().map(|sample| sample.value.force).sum::<Vector3<f64>>() / samples.len() as f64;
        let force = mean.norm();
        (!FORCE.contains(&force))
            .then(|| format!("the mean specific force of imu is {force:.2} m/s², and gravity 9.81: is it in g?"))
    }

    /// Where the settings have the body at the start.
    pub(super) fn start_pose(&self) -> Se3 {
        let at_start = &self.config.start;
        let rotation = So3::exp(&(Vector3::z() * at_start.yaw_rad));
        let place = Vector3::new(at_start.x_m, at_start.y_m, at_start.z_m);
        Se3::new(rotation, place) * self.base.inverse()
    }

    /// Begins with a state that a program has made, at a stamp. Frames from before are dropped as `not_started`.
    pub fn begin(&mut self, state: State, at: Stamp) {
        self.interrupted = None;
        self.begin_in(self.map.clone(), state, at);
    }

    /// The same with the landmarks of a map. After an interruption, landmarks are initialized in any case.
    fn begin_in(&mut self, map: Option<Map3d>, state: State, at: Stamp) {
        let mut running = self.new_run(state, at, &self.sensors);
        let estimator = &mut running.estimator;
        if let Some(known) = map {
            known.append_to(&mut estimator.state, &self.filter);
        }
        if self.config.map.mode == MapMode::Localization && self.interrupted.is_none() {
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

    pub(super) fn new_run(&self, state: State, at: Stamp, sensors: &[Sensor]) -> Running {
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
        estimator.stated = self.stated();
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
        let interrupted = self.interrupted.take().map(|interrupted| interrupted.map);
        let is_known = self.config.map.mode == MapMode::Localization;
        let map = if is_known { self.map.as_ref() } else { interrupted.as_ref() };
        if is_known || map.is_some() {
            running.put_into(map, pose, covariance, is_known);
        } else {
            place(&mut running.estimator.state, pose, covariance, &self.filter);
        }
        running.restart_ahead(&self.inbox);
        Ok(())
    }
}
