//! The pipeline: stamped input in, in whatever order it arrives; steps out, in the order of their stamps.

mod again;
mod aside;
mod dead_reckoning;
mod fields;
mod finder;
mod gaussian_sum;
mod given_pose;
mod history;
mod intake;
mod last_valid;
mod linearization;
mod lost;
mod map;
mod motions;
mod odometry_faults;
mod out_of_sequence;
mod outgrown;
mod outside;
mod part;
mod point;
mod process;
mod recovery;
mod refilter;
mod reinitialize;
mod reset;
mod saved;
mod search;
mod take_map;
mod trace;
mod undo_loop;

use crate::AssociationTally;
use crate::estimator::Estimator;
use crate::history::History;
use crate::noise_estimation::LearnedNoise;
use crate::slam::fields::{Instant, Intake, Motion, OfSubmaps, Search, Tally};
use crate::slam::last_valid::Validity;
use crate::slam::lost::Recovery;
use crate::trace::Trace;
use lienav_base::settings::check_change;
use lienav_base::stamp::Stamp;
use lienav_ekf::validity::valid_covariance;
use lienav_lie::Se2;
use lienav_planar::calibration::{CalibrationEstimate, CalibrationParameter, MOTION};
use lienav_planar::config::{Config, ConfigError, SPECS};
use lienav_planar::filter::{CompositionError, Filter};
use lienav_planar::input::{Imu, MAX_POINTS, Measurement, MeasurementKind, Odometry, TooManySensors};
use lienav_planar::motion::Increment;
use lienav_planar::output::{Counts, DropReason, Landmark, PoseEstimate};
use lienav_planar::sensor::Sensor;
use lienav_planar::without::Without;
use nalgebra::Vector3;
pub use outside::{ExternalMeasurement, ReadExternal};
pub use part::LocalMap;
pub use saved::{ResumeError, SavedState};
pub use search::RelocalizeError;
pub use take_map::TakeMapError;

const IN_PARTS: CompositionError = CompositionError(
    "parameter 'map.local_features' makes the map in parts, which nothing joins here: set it to 0, or use \
     lienav_submaps::Submaps or 'lienav evaluate', which join them",
);

const OTHER_MAP: &str = "while the map is made in submaps (map.local_features, map.when_full), map.mode does not change to \
     'localization' or from it while the node runs: save the map, and start the node with the other mode and that map";

/// The whole pipeline. The nodes, the offline evaluation and the tests all run this and nothing else, so the same
/// input gives the same estimates to the last bit.
///
/// ```
/// use lienav_slam::{Config, MeasurementKind, Measurement, Odometry, Slam, Stamp};
/// use nalgebra::Vector2;
///
/// let mut slam = Slam::new(Config::default())?;
/// for k in 0..=10 {
///     let stamp = Stamp::from_nanos(100_000_000 * k);
///     slam.odometry(&Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.0, covariance: None })?;
///     let range = 5.0 - stamp.secs();
///     let seen = Measurement::new(Some(7), [range, 0.0]);
///     slam.features(stamp, MeasurementKind::RangeBearing, &[seen])?;
///     while let Some(step) = slam.poll() {
///         println!("{} {:?}", step.estimate.stamp, step.estimate.pose);
///     }
/// }
/// assert!((slam.predicted().unwrap().pose.p.x - 1.0).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Slam {
    config: Config,
    pub(super) estimator: Estimator,
    intake: Intake,
    tally: Tally,
    at: Instant,
    odometry: Motion,
    search: Search,
    history: History,
    of_submaps: OfSubmaps,
    /// For a prior that is too wide to associate by.
    recovery: Recovery,
    /// Whether the covariance is valid.
    validity: Validity,
    /// Kept where a program asks for it.
    pub(super) trace: Option<Trace>,
}

impl Slam {
    /// Leaves mechanisms out, to measure what each is worth; to be called before any input.
    pub fn leave_out(&mut self, without: Without) {
        self.estimator.model.without = without;
    }

    /// The filter that [`Config::filter`] names, at its initial pose with an empty map.
    ///
    /// # Errors
    /// A setting out of range or an unknown filter.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let filter = config.validate()?;
        Self::with_filter(filter, config)
    }

    /// A filter that a program has composed, at its initial pose with an empty map; [`Config::filter`] is not read.
    ///
    /// # Errors
    /// A setting out of range, or choices without effect.
    pub fn with_filter(filter: Filter, config: Config) -> Result<Self, ConfigError> {
        if config.makes_submaps() {
            return Err(IN_PARTS.into());
        }
        Self::of_submaps(filter, config)
    }

    /// The same for a map in parts, `map.local_features`: the filter has the open part and begins in its frame. Its
    /// poses are those in the map where `lienav-submaps` joins them with the closed parts, and nowhere else.
    ///
    /// # Errors
    /// As [`Slam::with_filter`].
    pub fn of_submaps(filter: Filter, config: Config) -> Result<Self, ConfigError> {
        filter.check()?;
        config.check_ranges()?;
        Ok(Self {
            estimator: Estimator::new(&config, filter),
            intake: Intake::new(&config),
            config,
            tally: Tally::default(),
            at: Instant::default(),
            odometry: Motion::default(),
            search: Search::default(),
            history: History::default(),
            of_submaps: OfSubmaps::default(),
            recovery: Recovery::default(),
            validity: Validity::default(),
            trace: None,
        })
    }

    /// Adds a sensor. Its measurements are given to [`Slam::features`] with the kind that this gives back.
    ///
    /// # Errors
    /// There are 249 added sensors already.
    pub fn add_sensor(&mut self, sensor: Sensor) -> Result<MeasurementKind, TooManySensors> {
        let kind = MeasurementKind::added(self.estimator.added_sensors())?;
        self.estimator.add_sensor(sensor, &self.config);
        self.forget_sum();
        self.stay();
        Ok(kind)
    }

    /// Says where a sensor sits in the base frame, if that was not known when it was added. The kinds of the
    /// configuration sit all at one place, which replaces `sensor.x_m`, `sensor.y_m` and `sensor.yaw_rad`.
    ///
    /// # Errors
    /// [`DropReason::UnknownSensor`]: no such sensor was added. [`DropReason::NotFinite`]: the mount is not finite.
    pub fn place_sensor(&mut self, kind: MeasurementKind, mount: Se2) -> Result<(), DropReason> {
        if !(mount.p.iter().all(|x| x.is_finite()) && mount.theta.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        self.estimator.place_sensor(kind, mount, &self.config)?;
        self.stay_if_used(kind);
        self.odometry.waiting.clear();
        self.look_ahead();
        self.forget_sum();
        self.search_again();
        Ok(())
    }

    /// Where a sensor sits in the base frame, as configured, added or placed, without what is calibrated; `None` if
    /// there is none of this kind.
    pub fn mount(&self, kind: MeasurementKind) -> Option<Se2> {
        self.estimator.model.sensors.nominal(kind)
    }

    /// The filter in use.
    pub fn filter(&self) -> &Filter {
        self.estimator.filter()
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Changes settings that may change while running.
    ///
    /// # Errors
    /// The sentence to show the user: which setting needs a restart, or is out of range. Nothing is changed then.
    pub fn reconfigure(&mut self, config: Config) -> Result<(), String> {
        config.validate().map_err(|e| e.to_string())?;
        let goes_on = self.of_submaps.has_outgrown_one && config.map.local_features == 0;
        let config = if goes_on { Config { map: outgrown::in_submaps(&config.map), ..config } } else { config };
        check_change(&self.config, &config, SPECS)?;
        if config.makes_submaps() != self.config.makes_submaps() {
            return Err(OTHER_MAP.to_owned());
        }
        self.estimator.reconfigure(&config);
        self.odometry.waiting.clear();
        let concerns_search = config.map.mode != self.config.map.mode || config.sensor != self.config.sensor;
        self.config = config;
        self.forget_sum();
        self.stay();
        self.intake.inbox.keep_past(self.config.timing.rewind_s > 0.0);
        if concerns_search {
            self.search_again();
        }
        Ok(())
    }

    /// Takes in an odometry message. Call [`Slam::poll`] until it gives `None` after each input.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn odometry(&mut self, odometry: &Odometry) -> Result<(), DropReason> {
        let outcome = self.take_odometry(odometry);
        self.count(outcome)
    }

    /// Takes in a gyroscope's yaw rate, which replaces that of the odometry in the intervals it covers.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn imu(&mut self, imu: &Imu) -> Result<(), DropReason> {
        let outcome = self.take_imu(imu);
        self.count(outcome)
    }

    /// Takes in a scan of landmarks. It waits until odometry of its stamp or a later one is there.
    ///
    /// # Errors
    /// Why the scan was not used; already counted. Single measurements that are left out are counted in the step.
    pub fn features(
        &mut self,
        stamp: Stamp,
        kind: MeasurementKind,
        measurements: &[Measurement],
    ) -> Result<(), DropReason> {
        let outcome = self.take_landmarks(stamp, kind, measurements);
        self.count(outcome)
    }

    fn count(&mut self, outcome: Result<(), DropReason>) -> Result<(), DropReason> {
        if let Err(reason) = outcome {
            self.tally.counts.add(reason);
        }
        outcome
    }

    fn take_imu(&mut self, imu: &Imu) -> Result<(), DropReason> {
        self.check_enabled()?;
        let tilt = imu.tilt.filter(|_| self.config.motion.use_tilt);
        if !imu.yaw_rate.is_finite() || tilt.is_some_and(|tilt| !tilt.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        if imu.yaw_rate.abs() > self.config.motion.max_yaw_rate {
            return Err(DropReason::Absurd);
        }
        self.check_follower(imu.stamp)?;
        if self.at.time.is_some_and(|time| imu.stamp <= time) {
            return Err(DropReason::TooLate);
        }
        if self.intake.inbox.imu_full() {
            self.odometry.waiting.clear();
        }
        self.waiting_changes_from(imu.stamp);
        self.intake.inbox.push_imu(Imu { tilt, ..*imu });
        Ok(())
    }

    fn take_landmarks(
        &mut self,
        stamp: Stamp,
        kind: MeasurementKind,
        measurements: &[Measurement],
    ) -> Result<(), DropReason> {
        self.check_enabled()?;
        let is_of_world = matches!(kind, MeasurementKind::WorldPosition | MeasurementKind::WorldPose);
        let delay_s = if is_of_world { self.config.absolute.delay_s } else { self.config.sensor.delay_s };
        let stamp = stamp + -delay_s;
        if measurements.len() > MAX_POINTS {
            return Err(DropReason::TooManyPoints);
        }
        self.check_follower(stamp)?;
        let was_used = self.at.last_step == Some(stamp) && self.at.last_sensors.has(kind);
        if was_used || self.intake.inbox.has_scan(stamp, kind) {
            return Err(DropReason::DuplicateStamp);
        }
        if self.at.time.is_some_and(|time| stamp < time) {
            return self.take_late(stamp, kind, measurements);
        }
        if self.intake.inbox.scans_full() {
            return Err(DropReason::BufferFull);
        }
        if self.intake.inbox.push_scan(stamp, kind, measurements, self.window_s()) {
            self.tally.counts.add(DropReason::FromTheFuture);
        }
        Ok(())
    }

    fn check_enabled(&self) -> Result<(), DropReason> {
        if self.intake.enabled { Ok(()) } else { Err(DropReason::Disabled) }
    }

    /// Keeps pose and map; the next odometry starts the clock anew.
    fn forget_time(&mut self) {
        self.estimator.settle();
        self.stay();
        self.intake.inbox.clear();
        self.odometry.waiting.clear();
        self.intake.early.clear();
        self.intake.spikes.clear();
        self.trace = self.trace.take().map(|_| Trace::default());
        (self.at.time, self.at.last_step) = (None, None);
        (self.odometry.ahead, self.validity) = (Increment::none(), Validity::default());
        self.end_recovery();
        self.forget_sum();
        self.forget_search();
    }

    /// Tells the filter the current time, so that landmarks wait for missing odometry no longer than
    /// `timing.reorder_window_s`. Optional: without it, later input releases them.
    pub fn now(&mut self, stamp: Stamp) {
        self.intake.inbox.set_clock(stamp);
    }

    /// The input has ended: landmarks that still wait for odometry are released.
    pub fn finish(&mut self) {
        if let Some(held) = self.intake.early.take_held() {
            let outcome = self.use_odometry(&held);
            let _counted = self.count(outcome);
        }
        self.intake.inbox.end();
    }

    /// The segments that end at `stamp` or later are others than they were.
    fn waiting_changes_from(&mut self, stamp: Stamp) {
        self.odometry.waiting.truncate(self.intake.inbox.odometry_before(stamp).saturating_sub(1));
    }

    /// Brings the motion from the state to the newest odometry up to date.
    fn look_ahead(&mut self) {
        let (Some(time), Some(first)) = (self.at.time, self.intake.inbox.first_odometry()) else {
            self.odometry.ahead = Increment::none();
            return;
        };
        let (estimator, config) = (&self.estimator, &self.config.motion);
        let calibration: [f64; MOTION] =
            std::array::from_fn(|k| estimator.state.calibration.get(CalibrationParameter::ALL[k]));
        self.odometry.waiting.recalibrate(calibration);
        while let Some(segment) = self.intake.inbox.segment_after(self.odometry.waiting.len()) {
            self.odometry.waiting.push(estimator.increment(&segment, config));
        }
        let mut to_first = Increment::none();
        self.intake.inbox.walk(time, first, |s| to_first = estimator.increment(&s, config));
        self.odometry.ahead = self.odometry.waiting.after(to_first);
    }

    fn estimate(&self, stamp: Stamp, ahead: &Increment, twist: Vector3<f64>) -> PoseEstimate {
        let (pose, mut covariance) = self.estimator.carried(&self.estimator.pending().then(ahead));
        if let Some(uncertain) = &self.recovery.uncertain_place {
            covariance += uncertain.added_covariance();
        }
        PoseEstimate { stamp, pose, covariance, twist: self.estimator.state.calibration.twist(&twist) }
    }

    /// The pose at the newest odometry: the last step, carried on. `None` before the first odometry, while the robot is
    /// searched for, and where the covariance is invalid, until the next scan.
    pub fn predicted(&self) -> Option<PoseEstimate> {
        let stamp = self.intake.inbox.newest_odometry().max(self.at.time)?;
        let predicted = self
            .at
            .time
            .filter(|_| self.search.global.is_none())
            .map(|_| self.estimate(stamp, &self.odometry.ahead, self.odometry.newest_twist));
        predicted.filter(|predicted| valid_covariance(&predicted.covariance).is_some())
    }

    /// The landmarks of the map, with covariances in the map frame, as of the last step; of a known map, those that are
    /// in the filter at this time.
    pub fn landmarks(&self) -> impl Iterator<Item = Landmark> + '_ {
        let state = &self.estimator.state;
        let landmarks = state.landmarks.iter().enumerate();
        landmarks.filter(|(_, landmark)| self.estimator.is_landmark(landmark.id)).map(|(i, _)| state.landmark(i))
    }

    /// What association without identities did so far.
    pub fn association(&self) -> AssociationTally {
        self.estimator.tally()
    }

    /// How many hypotheses there are of where the robot is: more than one while measurements without identity may be of
    /// several landmarks of a frozen map. Estimates are the mean and the covariance of all.
    pub fn hypotheses(&self) -> usize {
        1 + self.estimator.other_hypotheses()
    }

    /// What was learned of the noise; `None` where it is not learned.
    pub fn learned_noise(&self) -> Option<LearnedNoise> {
        self.estimator.learned_noise()
    }

    /// What is known of each calibration parameter that is estimated, as of the last step; nothing where all are off.
    pub fn calibration(&self) -> impl Iterator<Item = CalibrationEstimate> + '_ {
        self.estimator.state.calibration_estimates().filter(|estimate| !estimate.parameter.is_tilt())
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> &lienav_planar::state::State {
        &self.estimator.state
    }

    /// What was left out so far, by reason.
    pub fn counts(&self) -> &Counts {
        &self.tally.counts
    }

    /// How often the robot was relocated because the gate had left out most measurements for longer than
    /// `gate.starvation_limit_s`.
    pub fn gate_openings(&self) -> u64 {
        self.estimator.relocations()
    }

    /// How many landmarks were not where the map had them, while others were, and began anew: moved things, wrong
    /// associations. In a known map, [`Slam::lost_landmarks`]. One that goes with the robot counts again and again.
    pub fn reinitialized_landmarks(&self) -> u64 {
        self.tally.reinitialized
    }

    /// How often time was set back.
    pub fn time_jumps(&self) -> u64 {
        self.tally.time_jumps
    }
}
