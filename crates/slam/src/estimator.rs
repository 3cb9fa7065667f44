//! The filter itself: a state, moved by increments and corrected by scans of landmarks.

mod association;
mod hypotheses;
mod known;
mod learned_noise;
mod point;
mod record;
mod recovery;
mod slip;
mod step_each;

use crate::fixed_lag::FixedLag;
use crate::moved_or_gone::Watch;
use crate::noise_estimation::{NoiseFactors, scaled};
use crate::step::{Outcome, StepBuffers, step};
pub use association::ClosedLoop;
use hypotheses::Hypotheses;
use lienav_associate::active_landmarks::{leave, leave_all};
use lienav_associate::associate::{Evidence, Input};
use lienav_associate::association::loop_closure::MergeWorkspace;
use lienav_associate::association::memory::Memory;
use lienav_associate::track_loss::TrackLoss;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_map::LandmarkMap;
use lienav_planar::associated::Associated;
use lienav_planar::calibration::Calibration;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::{Config, MapMode, MotionConfig, SensorConfig, TwistPath};
use lienav_planar::filter::{Discretization, Filter};
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::linearize::Match;
use lienav_planar::linearized::LinearizedStep;
use lienav_planar::measurement::Component;
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::motion::Segment;
use lienav_planar::output::DropReason;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::sensor::Sensor;
use lienav_planar::state::{Damage, State};
use nalgebra::{Matrix3, Vector2};
pub use point::EstimatorPoint;
pub use recovery::Suspicion;
use serde::{Deserialize, Serialize};
pub use slip::Slip;
use std::borrow::Cow;

/// State and model of one filter.
pub struct Estimator {
    /// The estimate.
    pub state: State,
    pub model: Model,
    /// The filter as chosen; the one of the model may be in other coordinates while the map is frozen.
    filter: Filter,
    added: Vec<Sensor>,
    /// Where the sensor of the configuration sits, if that was learned after the start.
    mount: Option<Se2>,
    /// Where the antenna of what measures in the world sits, likewise.
    antenna: Option<Se2>,
    /// Motion since the last correction, not yet applied.
    pending: Increment,
    track_loss: TrackLoss,
    fixed_lag: FixedLag,
    rows: Rows,
    workspace: StepBuffers,
    /// What was learned of the noise, where it is.
    learned: Option<NoiseFactors>,
    /// Whether more is learned of it.
    learns_noise: bool,
    /// A buffer of [`leave`].
    order: Vec<(Stamp, u32)>,
    /// Who watches the known map.
    watch: Watch,
    /// A buffer of [`Watch::judge`].
    lost: Vec<u32>,
    /// Where else in the known map the robot may be.
    hypotheses: Hypotheses,
    /// What association remembers.
    memory: Memory,
    merging: MergeWorkspace,
    /// What the steps were linearized as, where somebody asks for it.
    linearized: Vec<LinearizedStep>,
}

/// What is saved of an estimator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedEstimator {
    state: State,
    pending: Increment,
    track_loss: TrackLoss,
    fixed_lag: FixedLag,
    #[serde(default)]
    memory: Memory,
    #[serde(default)]
    learned: Option<NoiseFactors>,
}

impl SavedEstimator {
    /// Counts as if the robot had been relocated so often.
    pub fn set_relocations(&mut self, relocations: u64) {
        self.track_loss.set_relocations(relocations);
    }

    /// The landmarks that count as landmarks, with their joint covariance in the map frame.
    pub fn landmark_map(&self) -> LandmarkMap {
        self.state.landmark_map(|id| self.memory.is_landmark(id) && !self.state.is_anchor_point(id))
    }

    /// How many landmarks there are.
    pub fn features(&self) -> usize {
        self.state.landmarks.len()
    }
}

impl Estimator {
    /// At the initial pose, with an empty map.
    pub fn new(config: &Config, filter: Filter) -> Self {
        let model = Model::new(in_mode(filter, config.filter_mode()), config, &[]);
        Self {
            filter,
            learned: config
                .learning
                .enabled
                .then(|| NoiseFactors::new(&config.learning, &config.sensor, model.sensors.count())),
            learns_noise: true,
            order: Vec::new(),
            watch: Watch::default(),
            lost: Vec::new(),
            state: initial_state(config, &model),
            added: Vec::new(),
            mount: None,
            antenna: None,
            pending: Increment::none(),
            track_loss: TrackLoss::new(config.gate.starvation_limit_s),
            fixed_lag: FixedLag::new(filter.fixed_lag()),
            rows: Rows::default(),
            workspace: StepBuffers::default(),
            hypotheses: Hypotheses::default(),
            memory: Memory::default(),
            merging: MergeWorkspace::default(),
            linearized: Vec::new(),
            model,
        }
    }

    /// The filter in use.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Adds a sensor behind those that were added before.
    pub fn add_sensor(&mut self, sensor: Sensor, config: &Config) {
        self.added.push(sensor);
        self.reconfigure(config);
    }

    /// Moves a sensor; those of the configuration sit all at one place. Measurements that wait are taken from there,
    /// too.
    pub fn place_sensor(&mut self, kind: MeasurementKind, mount: Se2, config: &Config) -> Result<(), DropReason> {
        match kind {
            MeasurementKind::Added(k) => {
                let sensor = self.added.get_mut(usize::from(k)).ok_or(DropReason::UnknownSensor)?;
                *sensor = sensor.clone().moved(mount);
            }
            MeasurementKind::WorldPosition | MeasurementKind::WorldPose => self.antenna = Some(mount),
            MeasurementKind::RelativePosition
            | MeasurementKind::RangeBearing
            | MeasurementKind::StereoBearings
            | MeasurementKind::Range
            | MeasurementKind::Bearing => {
                self.mount = Some(mount);
            }
        }
        self.reconfigure(config);
        Ok(())
    }

    /// The configured sensor, where it sits.
    pub fn sensor(&self, configured: &SensorConfig) -> SensorConfig {
        let (at, mut sensor) = (self.mount, configured.clone());
        if let Some(Se2 { p, theta }) = at {
            (sensor.x_m, sensor.y_m, sensor.yaw_rad) = (p.x, p.y, theta);
        }
        sensor
    }

    /// As which built-in kind roll and pitch level what this sensor reads, and where it sits; `None` where they do not.
    pub fn levelled_as(&self, kind: MeasurementKind) -> Option<(MeasurementKind, Se2)> {
        self.model.sensors.levelled_as(kind)
    }

    /// The sensors that were added.
    pub fn added(&self) -> &[Sensor] {
        &self.added
    }

    /// How many sensors were added.
    pub fn added_sensors(&self) -> usize {
        self.added.len()
    }

    /// What the numbers of each added sensor are.
    pub fn sensors(&self) -> Vec<Vec<Component>> {
        self.added.iter().map(|sensor| sensor.components().to_vec()).collect()
    }

    /// A copy of what the next step needs.
    pub fn save(&self) -> SavedEstimator {
        let Self { state, pending, track_loss, fixed_lag, memory, learned, .. } = self;
        SavedEstimator {
            state: state.clone(),
            pending: *pending,
            track_loss: track_loss.clone(),
            fixed_lag: fixed_lag.clone(),
            memory: memory.clone(),
            learned: learned.clone(),
        }
    }

    /// Completes what was saved with what is known without it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn complete(&self, saved: &mut SavedEstimator, config: &Config) -> Result<(), Damage> {
        let Model { filter, sensors, .. } = &self.model;
        let prior = Calibration::new(&config.calibration);
        let complete = |state: &mut State| state.complete(filter.coordinates(), &prior, sensors);
        complete(&mut saved.state)?;
        if !saved.memory.is_sound() {
            return Err(Damage("what is remembered of landmarks without identity is damaged"));
        }
        if saved.learned.as_ref().is_some_and(|learned| !learned.is_of(sensors.count())) {
            return Err(Damage("what was learned of the noise is damaged"));
        }
        saved.fixed_lag.complete(filter.fixed_lag(), sensors, complete)
    }

    /// Goes on from what [`Estimator::complete`] has completed.
    pub fn restore(&mut self, saved: SavedEstimator, config: &Config) {
        let SavedEstimator { state, pending, track_loss, fixed_lag, memory, learned } = saved;
        self.memory = memory;
        if let (Some(now), Some(saved)) = (&mut self.learned, learned) {
            now.go_on(saved);
            self.model.sensors.set_noise(|sensor| now.of_one(sensor));
        }
        (self.state, self.pending) = (state, pending);
        (self.track_loss, self.fixed_lag) = (track_loss, fixed_lag);
        self.track_loss.limit_s = config.gate.starvation_limit_s;
    }

    /// What the measurements of the last scan were associated with.
    pub fn measurements(&self) -> &[Associated] {
        &self.workspace.measurements
    }

    /// The measurements of the last update, the Cholesky factor of their joint innovation covariance, row by row, and
    /// how many numbers they have.
    pub fn last_update(&self) -> (&[Match], &[f64], usize) {
        self.workspace.last_innovation()
    }

    /// What the last scan was of, for who has it again after other scans.
    pub fn exchange_measurements(&mut self, checked_measurements: &mut Vec<Associated>) {
        std::mem::swap(&mut self.workspace.measurements, checked_measurements);
    }

    /// The last scan was of these, and corrected nothing.
    pub fn note_measurements(&mut self, checked_measurements: impl Iterator<Item = Associated>) {
        self.workspace.measurements.clear();
        self.workspace.measurements.extend(checked_measurements);
        self.memory.merged.clear();
    }

    /// Where a measurement alone puts its landmark, in the base frame, m.
    pub fn place(&self, checked: &CheckedMeasurement) -> Option<Vector2<f64>> {
        self.model.sensors.place(&self.state.mounts, checked).map(|(place, _)| place)
    }

    /// Applies settings that may change while running.
    pub fn reconfigure(&mut self, config: &Config) {
        let (before, known) = (self.model.map.mode, std::mem::take(&mut self.model.known));
        let without = self.model.without;
        let mut absolute = config.absolute.clone();
        if let Some(Se2 { p, theta }) = self.antenna {
            (absolute.x_m, absolute.y_m, absolute.yaw_rad) = (p.x, p.y, theta);
        }
        let config = &Config { sensor: self.sensor(&config.sensor), absolute, ..config.clone() };
        self.model = Model::new(in_mode(self.filter, config.filter_mode()), config, &self.added);
        (self.model.known, self.model.without) = (known, without);
        self.hypotheses.clear();
        if config.filter_mode() != before {
            self.change_mode(before);
        }
        let sensors = self.model.sensors.count();
        self.learned = self.learned.take().filter(|_| config.learning.enabled);
        match &mut self.learned {
            Some(learned) => learned.reconfigure(&config.learning, &config.sensor, sensors),
            None if config.learning.enabled => {
                self.learned = Some(NoiseFactors::new(&config.learning, &config.sensor, sensors));
            }
            None => {}
        }
        self.use_noise();
        self.state.mounts = self.model.sensors.mounts(&self.state.calibration);
        self.track_loss.limit_s = config.gate.starvation_limit_s;
        self.fixed_lag.clear();
    }

    /// Back to the initial pose and an empty map; what was known before stays known.
    pub fn reset(&mut self, config: &Config) {
        self.hypotheses.clear();
        let (pose, covariance) = start(config);
        self.state.reset(pose, &covariance, &config.calibration);
        self.pending = Increment::none();
        self.fixed_lag.clear();
        self.memory.clear();
        self.activate_whole();
    }

    /// As [`Estimator::reset`], at a pose with its covariance, and without what was learned of noise: that may be what
    /// is wrong. Identities that were given are not given again.
    pub fn reinitialize(&mut self, config: &Config, at: Option<(Se2, Matrix3<f64>)>) {
        let next = self.state.next_identity();
        self.reset(config);
        self.state.give_identities_after(next.wrapping_sub(1));
        self.track_loss.forget();
        if let Some(learned) = &mut self.learned {
            *learned = NoiseFactors::new(&config.learning, &config.sensor, self.model.sensors.count());
            self.use_noise();
        }
        if let Some((pose, covariance)) = at {
            self.set_pose(pose, &covariance);
        }
    }

    /// Moves robot and map together, so that the robot is at the given pose; a known map stays where it is.
    pub fn set_pose(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        self.settle();
        self.hypotheses.clear();
        self.fixed_lag.clear();
        if self.model.map.mode != MapMode::Mapping {
            leave_all(&mut self.state, &mut self.model);
        }
        self.state.set_pose(pose, covariance);
        self.activate_whole();
    }

    /// Forgets the scans of the fixed lag, and other hypotheses.
    pub fn forget_past(&mut self) {
        self.hypotheses.clear();
        self.fixed_lag.clear();
    }

    /// Whether scans of the fixed lag wait for being linearized again.
    pub fn is_unsettled(&self) -> bool {
        self.fixed_lag.is_waiting()
    }

    /// The same, and what association remembers.
    pub fn forget_scans(&mut self) {
        self.forget_past();
        self.memory.clear();
    }

    /// Restarts time at `stamp`: the landmarks of the map count as seen at that time.
    pub fn restart_clock(&mut self, stamp: Stamp) {
        self.hypotheses.clear();
        self.track_loss.forget();
        self.state.forget_offsets();
        self.fixed_lag.clear();
        for landmark in &mut self.state.landmarks {
            landmark.last_seen = stamp;
        }
    }

    /// The increment of a segment of odometry, with the current calibration.
    pub fn increment(&self, s: &Segment, config: &MotionConfig) -> Increment {
        let discretization = match config.path {
            TwistPath::Arc => self.model.filter.discretization(),
            TwistPath::Chord => Discretization::Euler,
        };
        let increment = s.increment(config, discretization, &self.state.calibration);
        match &self.learned {
            Some(learned) => {
                Increment { covariance: scaled(&increment.covariance, &learned.of_odometry()), ..increment }
            }
            None => increment,
        }
    }

    /// Adds an increment. Rigid increments are composed and applied at the next correction; this is the same to first
    /// order in the noise and makes an odometry message cheap. Increments of Euler's method are applied at once.
    pub fn advance(&mut self, increment: &Increment) {
        match self.model.filter.discretization() {
            Discretization::Exponential => self.pending = self.pending.then(increment),
            Discretization::Euler => self.propagate(increment),
        }
    }

    /// The motion that is not in the state yet.
    pub fn pending(&self) -> &Increment {
        &self.pending
    }

    /// Applies what [`Estimator::advance`] has collected.
    pub fn settle(&mut self) {
        let pending = std::mem::replace(&mut self.pending, Increment::none());
        if pending != Increment::none() {
            self.propagate(&pending);
        }
    }

    /// The state after that motion, which stays where it is.
    pub fn settled(&self) -> Cow<'_, State> {
        if self.pending == Increment::none() {
            return Cow::Borrowed(&self.state);
        }
        let mut state = self.state.clone();
        propagate(&mut state, &self.pending, &self.model.filter, &mut Rows::default());
        Cow::Owned(state)
    }

    /// Moves all hypotheses.
    fn propagate(&mut self, increment: &Increment) {
        propagate(&mut self.state, increment, &self.model.filter, &mut self.rows);
        self.hypotheses.propagate(&self.state, increment, &self.model, &mut self.rows);
    }

    /// Processes a scan; and the scans of the fixed lag again, where that is due.
    pub fn correct(&mut self, stamp: Stamp, kind: MeasurementKind, raw_measurements: &[Measurement]) -> Outcome {
        if raw_measurements.is_empty() && self.learns_nothing_from_silence() {
            self.workspace.measurements.clear();
            self.memory.merged.clear();
            return Outcome { moved: self.pending.motion, ..Outcome::default() };
        }
        let motion = std::mem::replace(&mut self.pending, Increment::none());
        self.fixed_lag.begin(&self.state, &motion, stamp);
        let outcome = if self.follows_hypotheses(raw_measurements) {
            self.step_each(&motion, stamp, kind, raw_measurements)
        } else {
            let evidence = Evidence::Observed { kind, measurements: raw_measurements, memory: &self.memory };
            let input = Input { motion: &motion, stamp, evidence };
            let Self { state, model, track_loss, workspace, .. } = self;
            let learned = self.learned.as_mut().filter(|_| self.learns_noise);
            step(state, model, &input, Some(track_loss), learned, workspace)
        };
        let Self { state, model, track_loss, fixed_lag, workspace, order, watch, lost, learned, hypotheses, .. } = self;
        if let Some(learned) = learned {
            model.sensors.set_noise(|sensor| learned.of_one(sensor));
        }
        if outcome.is_displaced {
            fixed_lag.clear();
        }
        fixed_lag.end(state, &workspace.measurements, &outcome.moved);
        if fixed_lag.is_due() {
            fixed_lag.relinearize(state, model);
        }
        let is_sure = hypotheses.others.is_empty() && !track_loss.is_suspected();
        if model.map.mode != MapMode::Mapping && is_sure {
            watch.judge((state, &mut model.known), (&workspace.measurements, &outcome), stamp, lost);
            for id in lost.iter() {
                if let Some(i) = state.find(*id) {
                    state.swap_remove(i);
                }
            }
            if !lost.is_empty() {
                fixed_lag.clear();
            }
        }
        let since = fixed_lag.oldest().unwrap_or(stamp).min(stamp);
        leave(state, model, since, order);
        hypotheses.others.iter_mut().for_each(|other| leave(&mut other.state, model, since, order));
        self.memory.merged.clear();
        // A measurement of the pose misses no landmark.
        let is_of_landmarks = !self.model.sensors.reads_pose(kind);
        let is_nameless = raw_measurements.iter().any(|raw| raw.id.is_none());
        if is_of_landmarks && (is_nameless || !self.memory.is_idle()) {
            self.remember(stamp, &outcome, raw_measurements.is_empty());
        }
        self.record(stamp);
        outcome
    }

    /// Whether a scan without measurements changes nothing. Then the motion up to it waits for one with measurements,
    /// as between two messages of odometry: a step of the whole covariance is saved. Not where what is missed tells
    /// something, of the map or of landmarks without identity, and not where somebody wants the state at each step.
    fn learns_nothing_from_silence(&self) -> bool {
        let Model { map, motions_over_s, .. } = &self.model;
        map.mode == MapMode::Mapping
            && map.local_features == 0
            && map.forget_after_s <= 0.0
            && motions_over_s.is_empty()
            && self.memory.is_idle()
            && self.rows.record.is_none()
    }

    /// The landmarks that count as landmarks, with their joint covariance in the map frame.
    pub fn landmark_map(&self) -> LandmarkMap {
        self.state.landmark_map(|id| self.is_landmark(id))
    }

    /// How often the robot was relocated because the gate had left out most measurements.
    pub fn relocations(&self) -> u64 {
        self.track_loss.relocations()
    }
}

/// The filter that runs in this mode of the map.
fn in_mode(filter: Filter, mode: MapMode) -> Filter {
    if mode == MapMode::Localization { filter.in_map() } else { filter }
}

/// Where the filter begins: a map in parts has the first one in its own frame.
fn start(config: &Config) -> (Se2, Matrix3<f64>) {
    match config.makes_submaps() {
        false => (config.initial.pose(), config.initial.covariance()),
        true => (Se2::identity(), Matrix3::zeros()),
    }
}

fn initial_state(config: &Config, model: &Model) -> State {
    let capacity = config.map.max_features.min(64);
    let (pose, covariance) = start(config);
    let start = (pose, &covariance);
    let mut state = State::new(model.filter.coordinates(), start, &config.calibration, &model.sensors, capacity);
    if config.filter_mode() == MapMode::Localization {
        state.freeze();
    }
    state
}
