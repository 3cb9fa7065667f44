//! What the pipeline consists of, by what it is for.

use crate::bound::Bound;
use crate::early::EarlyGate;
use crate::inbox::Inbox;
use crate::lookahead::LookAhead;
use crate::odometry_limits::SpikeGate;
use crate::slam::finder::SearchInParts;
use crate::steady::SteadyTwist;
use lienav_associate::gaussian_sum::GaussianSum;
use lienav_associate::global_localization::GlobalLocalization;
use lienav_base::clock::{CONFIRMATIONS, ClockGuard};
use lienav_base::stamp::Stamp;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::Config;
use lienav_planar::input::Odometry;
use lienav_planar::motion::Increment;
use lienav_planar::output::Counts;
use lienav_planar::sensor::SensorSet;
use nalgebra::Vector3;

/// What has come in and waits, and what judges it before.
pub struct Intake {
    pub inbox: Inbox,
    pub bound: Bound,
    /// Which odometry belongs to the clock in force.
    pub guard: ClockGuard,
    /// Odometry of a clock that is not confirmed: used when it is.
    pub held: Vec<Odometry>,
    /// Odometry with a stamp ahead of its time.
    pub early: EarlyGate,
    /// Odometry that no platform could have driven.
    pub spikes: SpikeGate,
    pub enabled: bool,
}

impl Intake {
    pub fn new(config: &Config) -> Self {
        let mut inbox = Inbox::new(config.motion.hold);
        inbox.keep_past(config.timing.rewind_s > 0.0);
        Self {
            inbox,
            bound: Bound::default(),
            guard: ClockGuard::default(),
            held: Vec::with_capacity(CONFIRMATIONS),
            early: EarlyGate::default(),
            spikes: SpikeGate::default(),
            enabled: true,
        }
    }
}

/// What is counted.
#[derive(Default)]
pub struct Tally {
    /// Inputs that were not used, by reason.
    pub counts: Counts,
    /// Landmarks that were not where the map had them.
    pub reinitialized: u64,
    pub time_jumps: u64,
}

/// Which instant the state holds for.
#[derive(Default)]
pub struct Instant {
    /// The instant; `None` before the first odometry.
    pub time: Option<Stamp>,
    /// Stamp of the last step.
    pub last_step: Option<Stamp>,
    /// Whose scans were in it.
    pub last_sensors: SensorSet,
}

/// The motion since the instant of the state, and how fast it is.
pub struct Motion {
    /// Motion from the first odometry that waits to the newest.
    pub waiting: LookAhead,
    /// Motion from the instant of the state to the newest odometry.
    pub ahead: Increment,
    /// Of the newest odometry.
    pub newest_twist: Vector3<f64>,
    /// Of the odometry the state was last moved with.
    pub twist: Vector3<f64>,
    /// The same as far as it is not noise.
    pub steady: SteadyTwist,
}

impl Default for Motion {
    fn default() -> Self {
        Self {
            waiting: LookAhead::default(),
            ahead: Increment::none(),
            newest_twist: Vector3::zeros(),
            twist: Vector3::zeros(),
            steady: SteadyTwist::default(),
        }
    }
}

/// What a map in submaps needs.
#[derive(Default)]
pub struct OfSubmaps {
    /// Measurements of the pose in the map that the last step has brought.
    pub outside: Vec<CheckedMeasurement>,
    /// Whether the map was made in one, and goes on in submaps since it was full.
    pub has_outgrown_one: bool,
}

/// Where else in a map the robot may be.
#[derive(Default)]
pub struct Search {
    /// While the filter does not know where in the known map the robot is.
    pub global: Option<Box<GlobalLocalization>>,
    /// All poses that a sensor which measures few landmarks at a time allows in a known map.
    pub gaussian_sum: Option<Box<GaussianSum>>,
    /// The map that is searched in where one is made in submaps, and what was found.
    pub in_submaps: SearchInParts,
    /// Since when most measurements without identity are of nothing in the known map.
    pub unmatched_since: Option<Stamp>,
}
