//! A run that is saved, and gone on with: in another process, on another day.

use crate::early::EarlyGate;
use crate::estimator::{SavedEstimator, Suspicion};
use crate::inbox::Inbox;
use crate::lookahead::LookAhead;
use crate::odometry_limits::SpikeGate;
use crate::slam::Slam;
use crate::steady::SteadyTwist;
use lienav_base::clock::ClockGuard;
use lienav_base::settings::lookup;
use lienav_base::stamp::Stamp;
use lienav_planar::config::{Config, ConfigError, MapMode};
use lienav_planar::filter::Filter;
use lienav_planar::input::Odometry;
use lienav_planar::measurement::Component;
use lienav_planar::motion::Increment;
use lienav_planar::output::Counts;
use lienav_planar::sensor::SensorSet;
use lienav_planar::state::Damage;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Everything that a [`Slam`] needs to go on where it was: pose, calibration, map, their joint covariance, the scans
/// of the fixed lag, and the messages that wait. Plain data, for serde; numbers come back bit for bit.
///
/// ```
/// use lienav_slam::{Config, SavedState, Slam};
///
/// let slam = Slam::new(Config::default())?;
/// let text = serde_json::to_string(&slam.save())?;
/// let saved: SavedState = serde_json::from_str(&text)?;
/// let resumed = Slam::resume(Config::default(), saved)?;
/// assert_eq!(resumed.landmarks().count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedState {
    config: Config,
    filter: Filter,
    /// The added sensors: what their numbers are.
    sensors: Vec<Vec<Component>>,
    pub(super) estimator: SavedEstimator,
    inbox: Inbox,
    counts: Counts,
    time: Option<Stamp>,
    last_step: Option<Stamp>,
    #[serde(default)]
    last_sensors: SensorSet,
    guard: ClockGuard,
    held: Vec<Odometry>,
    early: EarlyGate,
    spikes: SpikeGate,
    waiting: LookAhead,
    ahead: Increment,
    newest_twist: Vector3<f64>,
    twist: Vector3<f64>,
    #[serde(default)]
    steady: SteadyTwist,
    #[serde(default)]
    uncertain_place: Option<Suspicion>,
    time_jumps: u64,
    enabled: bool,
}

/// Why a saved state cannot be gone on from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResumeError {
    /// The settings for the new run are out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It is another filter's.
    #[error(
        "the state was saved by the filter '{saved}', and this one is '{now}': set parameter 'filter' to go on with \
         it; its landmarks can be used as a map"
    )]
    OtherFilter {
        /// The filter that was saved, by its name.
        saved: String,
        /// The filter that was to go on.
        now: String,
    },
    /// A setting on which the meaning of the state depends differs.
    #[error(
        "the state was saved with parameter '{name}' at {saved}, and it is {now} now: set it back to go on with the \
         state; its landmarks can be used as a map"
    )]
    OtherSetting {
        /// The parameter.
        name: String,
        /// Its value then.
        saved: String,
        /// Its value now.
        now: String,
    },
    /// The sensors that the program has added are others.
    #[error(
        "the state was saved with other added sensors: add the same ones in the same order; its landmarks can be used \
         as a map"
    )]
    OtherSensors,
    /// The map has more landmarks than the settings allow.
    #[error(
        "the state has {landmarks} features, and parameter 'map.max_features' is {most}: raise it to go on with the \
         state"
    )]
    TooManyFeatures {
        /// In the state.
        landmarks: usize,
        /// Allowed.
        most: usize,
    },
    /// It was saved in a known map, or is to go on in one.
    #[error(
        "a state goes on while parameter 'map.mode' is 'mapping'; it was saved at '{}', and is to go on at '{}': \
         its landmarks can be used as a map",
        MapMode::WORDS[*saved as usize],
        MapMode::WORDS[*now as usize]
    )]
    KnownMap {
        /// The mode then.
        saved: MapMode,
        /// The mode now.
        now: MapMode,
    },
    /// It is the last part of a map in parts, and is to go on as a whole map.
    #[error(
        "the state was saved with a map in parts: set parameter 'map.local_features' to {0} to go on with it; its \
         landmarks can be used as a map"
    )]
    InParts(usize),
    /// What was saved does not belong together.
    #[error("the state is damaged: {0}; use its landmarks as a map, or an older copy")]
    Damaged(&'static str),
}

impl From<Damage> for ResumeError {
    fn from(Damage(what): Damage) -> Self {
        Self::Damaged(what)
    }
}

/// The settings on which the meaning of a state depends, or the groups of them. Others may differ: they are in force
/// from the resumption on.
const SETTINGS_OF_THE_STATE: [&str; 8] = [
    "motion.hold",
    "motion.delay_s",
    "sensor.x_m",
    "sensor.y_m",
    "sensor.yaw_rad",
    "sensor.delay_s",
    "sensor.baseline_m",
    "calibration.",
];

/// No count reaches this.
const ABSURD_COUNT: u64 = 1 << 62;

impl SavedState {
    /// The same for a process that goes on with it as one of its own: what the process has counted, and whether its
    /// filter is switched on, are those of `slam`.
    pub fn joining(mut self, slam: &Slam) -> Self {
        (self.counts, self.time_jumps, self.enabled) = (slam.tally.counts, slam.tally.time_jumps, slam.intake.enabled);
        self.estimator.set_relocations(slam.gate_openings());
        self
    }

    /// The settings that it was saved with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The instant that it holds for; `None` if it was saved before the first odometry.
    pub fn stamp(&self) -> Option<Stamp> {
        self.time
    }

    /// How many landmarks it has.
    pub fn features(&self) -> usize {
        self.estimator.features()
    }
}

impl Slam {
    /// A copy of all that a run needs to go on, between two steps.
    pub fn save(&self) -> SavedState {
        SavedState {
            config: self.config.clone(),
            filter: *self.filter(),
            sensors: self.estimator.sensors(),
            estimator: self.estimator.save(),
            inbox: self.intake.inbox.clone(),
            counts: self.tally.counts,
            time: self.at.time,
            last_step: self.at.last_step,
            last_sensors: self.at.last_sensors,
            guard: self.intake.guard,
            held: self.intake.held.clone(),
            early: self.intake.early.clone(),
            spikes: self.intake.spikes.clone(),
            waiting: self.odometry.waiting.clone(),
            ahead: self.odometry.ahead,
            newest_twist: self.odometry.newest_twist,
            twist: self.odometry.twist,
            steady: self.odometry.steady,
            uncertain_place: self.recovery.uncertain_place,
            time_jumps: self.tally.time_jumps,
            enabled: self.intake.enabled,
        }
    }

    /// A filter that goes on where another was saved: with the same input from there on and the same settings, its
    /// estimates are those of the run that was not interrupted, bit for bit.
    ///
    /// # Errors
    /// [`ResumeError`], as of [`Slam::restore`].
    pub fn resume(config: Config, saved: SavedState) -> Result<Self, ResumeError> {
        let mut slam = Self::new(config)?;
        slam.restore(saved)?;
        Ok(slam)
    }

    /// Goes on where `saved` was saved; all that this filter has estimated, counted or waits for is forgotten. Sensors
    /// that a program adds have to be there. A [`Slam::trace`] is reinitialized.
    ///
    /// # Errors
    /// [`ResumeError`]: the state is of another filter, of other sensors, or damaged. Nothing is changed then.
    pub fn restore(&mut self, mut saved: SavedState) -> Result<(), ResumeError> {
        self.check_origin(&saved)?;
        let landmarks = saved.features();
        if landmarks > self.config.map.max_features {
            return Err(ResumeError::TooManyFeatures { landmarks, most: self.config.map.max_features });
        }
        let is_absurd = |count: u64| count > ABSURD_COUNT;
        if is_absurd(saved.time_jumps) || is_absurd(saved.counts.largest()) || !saved.inbox.is_sorted() {
            return Err(ResumeError::Damaged("a count is absurd, or messages are not in their order"));
        }
        self.estimator.complete(&mut saved.estimator, &self.config)?;
        self.estimator.restore(saved.estimator, &self.config);
        self.stay();
        self.end_recovery();
        self.intake.inbox = saved.inbox;
        self.intake.inbox.keep_past(self.config.timing.rewind_s > 0.0);
        (self.tally.counts, self.tally.time_jumps, self.intake.enabled) =
            (saved.counts, saved.time_jumps, saved.enabled);
        (self.at.time, self.at.last_step, self.at.last_sensors) = (saved.time, saved.last_step, saved.last_sensors);
        (self.intake.guard, self.intake.held, self.intake.early, self.intake.spikes) =
            (saved.guard, saved.held, saved.early, saved.spikes);
        (self.odometry.waiting, self.odometry.ahead) = (saved.waiting, saved.ahead);
        (self.odometry.newest_twist, self.odometry.twist, self.odometry.steady) =
            (saved.newest_twist, saved.twist, saved.steady);
        self.recovery.uncertain_place = saved.uncertain_place.filter(Suspicion::is_valid);
        self.trace = self.trace.take().map(|_| Default::default());
        if saved.config != self.config {
            self.estimator.reconfigure(&self.config);
            self.odometry.waiting.clear();
            self.look_ahead();
        }
        Ok(())
    }

    /// Whether a state means the same to this filter.
    fn check_origin(&self, saved: &SavedState) -> Result<(), ResumeError> {
        if saved.filter != *self.filter() {
            let name = |filter: &Filter| {
                let known = Filter::TABLE.iter().find(|(_, known)| known == filter);
                known.map_or_else(|| format!("{filter:?}"), |(name, _)| (*name).to_owned())
            };
            return Err(ResumeError::OtherFilter { saved: name(&saved.filter), now: name(self.filter()) });
        }
        let (then, now) = (saved.config.filter_mode(), self.config.filter_mode());
        if (then, now) != (MapMode::Mapping, MapMode::Mapping) {
            return Err(ResumeError::KnownMap { saved: then, now });
        }
        let (then, now) = (saved.config.map.local_features, self.config.map.local_features);
        if then > 0 && now == 0 {
            return Err(ResumeError::InParts(then));
        }
        if saved.sensors != self.estimator.sensors() {
            return Err(ResumeError::OtherSensors);
        }
        let tree = |config: &Config| serde_json::to_value(config).unwrap_or_default();
        let (then, now) = (tree(&saved.config), tree(&self.config));
        let of_state = |name: &&str| SETTINGS_OF_THE_STATE.iter().any(|setting| name.starts_with(setting));
        for name in crate::SPECS.iter().map(|spec| spec.name).filter(of_state) {
            let (saved, now) = (lookup(&then, name), lookup(&now, name));
            if saved != now {
                let shown = |value: Option<serde_json::Value>| value.unwrap_or_default().to_string();
                return Err(ResumeError::OtherSetting { name: name.to_owned(), saved: shown(saved), now: shown(now) });
            }
        }
        Ok(())
    }

    /// Keeps pose and map, those of [`Slam::predicted`]; the next odometry says what time it is, as after a start.
    /// Scans that wait are forgotten.
    pub fn restart_clock(&mut self) {
        if let (Some(time), Some(newest)) = (self.at.time, self.intake.inbox.newest_odometry()) {
            self.advance(time, newest.max(time));
        }
        self.forget_clocks();
        self.forget_time();
    }
}
