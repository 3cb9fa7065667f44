//! Calibration while running: what odometry and sensor get wrong by a constant amount is part of the state.
//!
//! A calibration parameter is an addition to its nominal value, with an error of its own in the state, right behind
//! that of the pose. It acts on the motion exactly as the noise of the twist does, v = R(δ)((1 + s_v)v_m − l|w_m|), w =
//! (1 + s_w)w_m + b_w, on its instant by the dead time τ ([`Calibration::delayed`]), and on the measurements through
//! the pose of the sensor and their biases. Parameters that are switched off take no room in the state, and what they
//! cost is nothing.

use crate::config::{CalibrationConfig, Prior, WorldFrame};
use crate::tilt_noise::TiltInState;
use lienav_lie::{Se2, rotation, skew};
use nalgebra::{ArrayStorage, SMatrix, SVector, Vector2, Vector3};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// Parameters that change the motion.
pub const MOTION: usize = 6;
/// Parameters that change measurements.
pub const SENSOR: usize = 13;

/// ∂/∂(s_v, s_w, b_w, l, δ, τ) of a twist (v_x, v_y, w), or of a motion (t, a).
pub type MotionJacobian = SMatrix<f64, 3, MOTION>;
/// The most parameters that change a measurement of one kind.
pub const OF_ONE_KIND: usize = 8;

/// The derivative of a measurement of up to three numbers by calibration. Measurements of landmarks depend on the first
/// eight parameters of the sensor, (x, y, yaw of the sensor, range bias, bearing bias, range scale, roll, pitch),
/// measurements in the world on the others, (x, y, yaw of the map in the world, x, y of the time-correlated error
/// there), so that one half is enough to keep: there is one in every match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SensorJacobian {
    columns: SMatrix<f64, 3, OF_ONE_KIND>,
    /// The parameter of the first column, among those of the sensor.
    first: usize,
}

impl SensorJacobian {
    /// Of a measurement that calibration does not change.
    pub const ZERO: Self =
        Self { columns: SMatrix::from_array_storage(ArrayStorage([[0.0; 3]; OF_ONE_KIND])), first: 0 };

    /// By the parameters of the sensor itself.
    #[inline]
    pub fn of_sensor(columns: SMatrix<f64, 3, OF_ONE_KIND>) -> Self {
        Self { columns, first: 0 }
    }

    /// By the pose of the map in the world and the time-correlated error there.
    #[inline]
    pub fn of_world(columns: &SMatrix<f64, 3, { SENSOR - OF_ONE_KIND }>) -> Self {
        let mut all = SMatrix::<f64, 3, OF_ONE_KIND>::zeros();
        all.fixed_columns_mut::<{ SENSOR - OF_ONE_KIND }>(0).copy_from(columns);
        Self { columns: all, first: OF_ONE_KIND }
    }

    /// By one parameter, as [`Calibration::sensor`] counts them.
    #[inline]
    pub fn column(&self, parameter: usize) -> Vector3<f64> {
        match parameter.checked_sub(self.first) {
            Some(k) if k < OF_ONE_KIND => self.columns.column(k).into_owned(),
            _ => Vector3::zeros(),
        }
    }

    /// By all parameters of the sensor.
    #[inline]
    pub fn whole(&self) -> SMatrix<f64, 3, SENSOR> {
        SMatrix::from_fn(|row, parameter| self.column(parameter)[row])
    }
}

/// Roll and pitch, in their order in the state.
const TILT: [CalibrationParameter; 2] = [CalibrationParameter::Roll, CalibrationParameter::Pitch];

/// What can be calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationParameter {
    /// s_v: the true velocity is (1 + s_v) times the one that odometry states.
    ScaleV,
    /// s_w: the true yaw rate is (1 + s_w) times the one stated, plus [`CalibrationParameter::BiasW`].
    ScaleW,
    /// b_w, rad/s.
    BiasW,
    /// l, m: in turns the robot is slower by l|w|, forward or backward, as wheels that are dragged sideways are; it
    /// never turns back for it.
    TurnSlip,
    /// δ, rad: straight ahead, the robot drives this far left of where its base frame points, as one does whose wheels
    /// or whose truth are not aligned with the base.
    DriveYaw,
    /// τ, s: the robot moves this much later than odometry says, or measurements are stamped so much too late; added to
    /// `motion.delay_s`.
    MotionDelay,
    /// Of the sensor in the base frame, forward, added to `sensor.x_m`.
    SensorX,
    /// Of the sensor in the base frame, left, added to `sensor.y_m`.
    SensorY,
    /// Of the sensor in the base frame, rad, added to `sensor.yaw_rad`.
    SensorYaw,
    /// Range measurements are too long by this, m.
    RangeBias,
    /// Bearing measurements, also those of both cameras of a stereo pair, are too far left by this, rad.
    BearingBias,
    /// The true range is (1 + this) times the one that is read, less [`CalibrationParameter::RangeBias`].
    RangeScale,
    /// φ, rad: what is left of the roll of the base after levelling. It moves landmarks by their height above the base,
    /// and changes while the robot drives: see `tilt_noise.rs`.
    Roll,
    /// θ, rad: the same of the pitch.
    Pitch,
    /// x of the map's origin in the world, m.
    WorldX,
    /// y of the map's origin in the world, m.
    WorldY,
    /// The heading of the map's x axis in the world, rad.
    WorldYaw,
    /// The part of the error of positions in the world that lasts, x, m.
    ErrorX,
    /// The same, y, m.
    ErrorY,
}

impl CalibrationParameter {
    /// All of them: those of the motion, then those of the sensor.
    pub const ALL: [Self; MOTION + SENSOR] = [
        Self::ScaleV,
        Self::ScaleW,
        Self::BiasW,
        Self::TurnSlip,
        Self::DriveYaw,
        Self::MotionDelay,
        Self::SensorX,
        Self::SensorY,
        Self::SensorYaw,
        Self::RangeBias,
        Self::BearingBias,
        Self::RangeScale,
        Self::Roll,
        Self::Pitch,
        Self::WorldX,
        Self::WorldY,
        Self::WorldYaw,
        Self::ErrorX,
        Self::ErrorY,
    ];

    /// As one word, `snake_case`: the name of its group of settings in `calibration`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::ScaleV => "scale_v",
            Self::ScaleW => "scale_w",
            Self::BiasW => "bias_w",
            Self::TurnSlip => "turn_slip",
            Self::DriveYaw => "drive_yaw",
            Self::MotionDelay => "motion_delay",
            Self::SensorX => "sensor_x",
            Self::SensorY => "sensor_y",
            Self::SensorYaw => "sensor_yaw",
            Self::RangeBias => "range_bias",
            Self::BearingBias => "bearing_bias",
            Self::RangeScale => "range_scale",
            Self::Roll => "roll",
            Self::Pitch => "pitch",
            Self::WorldX => "world_x",
            Self::WorldY => "world_y",
            Self::WorldYaw => "world_yaw",
            Self::ErrorX => "error_x",
            Self::ErrorY => "error_y",
        }
    }

    /// Whether it is of positions in the world, and not of robot and sensor.
    #[inline]
    pub const fn is_of_world(self) -> bool {
        matches!(self, Self::WorldX | Self::WorldY | Self::WorldYaw | Self::ErrorX | Self::ErrorY)
    }

    /// Whether it is roll or pitch, which change while the robot drives.
    #[inline]
    pub const fn is_tilt(self) -> bool {
        matches!(self, Self::Roll | Self::Pitch)
    }

    /// Its unit; empty for a scale.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::ScaleV | Self::ScaleW | Self::RangeScale => "",
            Self::BiasW => "rad/s",
            Self::MotionDelay => "s",
            Self::TurnSlip | Self::SensorX | Self::SensorY | Self::RangeBias => "m",
            Self::WorldX | Self::WorldY | Self::ErrorX | Self::ErrorY => "m",
            Self::DriveYaw | Self::SensorYaw | Self::BearingBias | Self::WorldYaw | Self::Roll | Self::Pitch => "rad",
        }
    }
}

/// What is known of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationEstimate {
    /// Which one.
    pub parameter: CalibrationParameter,
    /// Its estimate, in its unit.
    pub value: f64,
    /// Standard deviation of the estimate.
    pub std: f64,
}

/// The estimates, and which of them are in the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    #[serde(deserialize_with = "of_each")]
    values: [f64; MOTION + SENSOR],
    /// In the order of [`CalibrationParameter::ALL`]; parameter k of the state is `active[k]`.
    active: Vec<CalibrationParameter>,
    /// How many of `active` are of the motion.
    motion: usize,
    /// Of each parameter, per root of a second.
    #[serde(deserialize_with = "of_each")]
    walks: [f64; MOTION + SENSOR],
    /// Standard deviation, m, and correlation time, s, of the time-correlated error of positions in the world.
    #[serde(default)]
    #[serde(rename = "lasting")]
    time_correlated: (f64, f64),
    /// Since when roll and pitch are in the state, and how large they are; `None` where they are not.
    #[serde(default)]
    tilt: Option<TiltInState>,
}

/// A number of each parameter. Filters that were saved before roll and pitch were parameters have none of those.
fn of_each<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[f64; MOTION + SENSOR], D::Error> {
    let mut numbers = Vec::<f64>::deserialize(deserializer)?;
    if numbers.len() + TILT.len() == MOTION + SENSOR {
        let first = CalibrationParameter::Roll as usize;
        numbers.splice(first..first, TILT.map(|_| 0.0));
    }
    let count = numbers.len();
    numbers.try_into().map_err(|_| D::Error::custom(format!("{count} numbers of calibration parameters")))
}

impl Calibration {
    /// Becomes what another one is, in the memory that it has.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        let mut active = std::mem::take(&mut self.active);
        active.clone_from(&other.active);
        *self = Self { active, ..*other };
    }

    /// At the priors' values; a parameter with a standard deviation or a walk is in the state.
    pub fn new(config: &CalibrationConfig) -> Self {
        let moving = |p: &CalibrationParameter| match p {
            CalibrationParameter::WorldX | CalibrationParameter::WorldY | CalibrationParameter::WorldYaw => {
                config.world.frame == WorldFrame::Estimated
            }
            _ => config.prior(*p).sigma > 0.0 || config.prior(*p).walk > 0.0,
        };
        let time_correlated = (config.world.error_std_m, config.world.error_time_s);
        let active: Vec<_> = CalibrationParameter::ALL.into_iter().filter(moving).collect();
        let motion = active.iter().filter(|p| (**p as usize) < MOTION).count();
        let of = |what: fn(&Prior) -> f64| CalibrationParameter::ALL.map(|p| what(&config.prior(p)));
        Self { values: of(|p| p.value), active, motion, walks: of(|p| p.walk), time_correlated, tilt: None }
    }

    /// Whether the same parameters are in the state, and wander as fast.
    pub fn is_alike(&self, other: &Self) -> bool {
        let lasts = |c: &Self| c.active.iter().copied().filter(|p| !p.is_tilt()).collect::<Vec<_>>();
        (lasts(self), self.motion, self.walks, self.time_correlated)
            == (lasts(other), other.motion, other.walks, other.time_correlated)
            && self.has_whole_tilt()
            && self.values.iter().all(|value| value.is_finite())
    }

    /// The parameters in the state, in its order.
    #[inline]
    pub fn active(&self) -> &[CalibrationParameter] {
        &self.active
    }

    /// What is known of them before the run, squared.
    #[inline]
    pub fn variances(&self, config: &CalibrationConfig) -> Vec<f64> {
        let of_tilt = self.tilt.map_or(0.0, |tilt| tilt.variance());
        let variance = |p: &CalibrationParameter| if p.is_tilt() { of_tilt } else { config.prior(*p).sigma.powi(2) };
        self.active.iter().map(variance).collect()
    }

    /// The estimate of a parameter, in the state or not.
    #[inline]
    pub fn get(&self, parameter: CalibrationParameter) -> f64 {
        self.values[parameter as usize]
    }

    /// By how much the parameters of the motion are other than in `before`, in the columns of a `MotionJacobian`.
    #[inline]
    pub fn motion_change(&self, before: &Self) -> SVector<f64, MOTION> {
        SVector::from_fn(|k, _| self.values[k] - before.values[k])
    }

    /// Parameters of the motion: place in the state, column of a `MotionJacobian`.
    #[inline]
    pub fn motion(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.active[..self.motion].iter().enumerate().map(|(k, p)| (k, *p as usize))
    }

    /// Parameters of the sensor: place in the state, column of a [`SensorJacobian`].
    #[inline]
    pub fn sensor(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (self.motion..).zip(&self.active[self.motion..]).map(|(k, p)| (k, *p as usize - MOTION))
    }

    /// Place in the state of each parameter, and how fast it wanders, per root of a second.
    #[inline]
    pub fn walks(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.active.iter().enumerate().map(|(k, p)| (k, self.walks[*p as usize]))
    }

    /// Place in the state of a parameter that is in it.
    #[inline]
    pub fn place(&self, parameter: CalibrationParameter) -> Option<usize> {
        self.active.iter().position(|active| *active == parameter)
    }

    /// The pose of the map in the world.
    #[inline]
    pub fn world(&self) -> Se2 {
        let [x, y, yaw] = [CalibrationParameter::WorldX, CalibrationParameter::WorldY, CalibrationParameter::WorldYaw]
            .map(|p| self.get(p));
        Se2::new(x, y, yaw)
    }

    /// Sets it.
    pub(crate) fn set_world(&mut self, world: &Se2) {
        self.values[CalibrationParameter::WorldX as usize] = world.p.x;
        self.values[CalibrationParameter::WorldY as usize] = world.p.y;
        self.values[CalibrationParameter::WorldYaw as usize] = world.theta;
    }

    /// Standard deviation, m, and correlation time, s, of the time-correlated error of positions in the world; 0 for
    /// none.
    #[inline]
    pub fn time_correlated(&self) -> (f64, f64) {
        self.time_correlated
    }

    /// The time-correlated error fades: multiplies its estimate by ρ, and gives the places of its two numbers in the
    /// state.
    pub(crate) fn fade(&mut self, rho: f64) -> impl Iterator<Item = usize> + use<> {
        let both = [CalibrationParameter::ErrorX, CalibrationParameter::ErrorY];
        both.iter().for_each(|p| self.values[*p as usize] *= rho);
        both.map(|p| self.place(p)).into_iter().flatten()
    }

    /// Roll and pitch in the state.
    #[inline]
    pub fn tilt(&self) -> Option<&TiltInState> {
        self.tilt.as_ref()
    }

    /// Puts roll and pitch behind all other parameters of the state, replaces what is known of how large they are, or
    /// takes them out.
    pub(crate) fn set_tilt(&mut self, tilt: Option<TiltInState>) {
        if self.tilt.is_some() != tilt.is_some() {
            self.active.retain(|p| !p.is_tilt());
            self.active.extend(tilt.iter().flat_map(|_| TILT));
        }
        self.tilt = tilt;
    }

    /// Multiplies the estimates of roll and pitch.
    pub(crate) fn scale_tilt(&mut self, factor: f64) {
        TILT.iter().for_each(|p| self.values[*p as usize] *= factor);
    }

    /// How far roll and pitch move a landmark per metre of its height above the base, in the axes of the base.
    #[inline]
    pub fn tilt_shift(&self) -> Vector2<f64> {
        Vector2::new(self.get(CalibrationParameter::Pitch), -self.get(CalibrationParameter::Roll))
    }

    /// Whether roll and pitch are in the state where, and as, they should be.
    fn has_whole_tilt(&self) -> bool {
        match &self.tilt {
            Some(tilt) => tilt.is_sound() && self.active.ends_with(&TILT),
            None => !self.active.iter().any(|p| p.is_tilt()),
        }
    }

    /// Adds a correction of one parameter.
    #[cfg(test)]
    #[inline]
    pub fn correct_one(&mut self, parameter: CalibrationParameter, delta: f64) {
        self.values[parameter as usize] += delta;
    }

    /// Adds a correction of the parameters in the state.
    #[inline]
    pub fn correct(&mut self, delta: &[f64]) {
        for (parameter, d) in self.active.iter().zip(delta) {
            self.values[*parameter as usize] += d;
        }
    }

    /// (v_x, v_y, w) as odometry should have stated it.
    pub fn twist(&self, stated: &Vector3<f64>) -> Vector3<f64> {
        let [scale_v, scale_w, bias_w, turn_slip, drive_yaw, ..] = self.values;
        let (x, y) = (stated.x * (1.0 + scale_v), stated.y * (1.0 + scale_v));
        let slip = turn_slip * stated.z.abs();
        let x = if slip < x.abs() { x - slip * x.signum() } else { 0.0 };
        let mut v = Vector2::new(x, y);
        if drive_yaw != 0.0 {
            v = rotation(drive_yaw) * v;
        }
        Vector3::new(v.x, v.y, stated.z * (1.0 + scale_w) + bias_w)
    }

    /// Its derivative; `None` where nothing is in the state.
    pub fn twist_jacobian(&self, stated: &Vector3<f64>) -> Option<MotionJacobian> {
        if self.active.iter().all(|p| p.is_tilt()) {
            return None;
        }
        let driven = self.twist(stated);
        let turn = rotation(self.get(CalibrationParameter::DriveYaw));
        let forward = (turn.transpose() * driven.xy()).x;
        let (x, slip) = if forward == 0.0 { (0.0, 0.0) } else { (stated.x, -stated.z.abs() * forward.signum()) };
        let by_scale = turn * Vector2::new(x, stated.y);
        let by_slip = turn * Vector2::new(slip, 0.0);
        let by_yaw = skew(&driven.xy());
        #[rustfmt::skip]
        let jacobian = MotionJacobian::new(
            by_scale.x, 0.0, 0.0, by_slip.x, by_yaw.x, 0.0,
            by_scale.y, 0.0, 0.0, by_slip.y, by_yaw.y, 0.0,
            0.0, stated.z, 1.0, 0.0, 0.0, 0.0,
        );
        Some(jacobian)
    }

    /// What a dead time τ does to the motion where odometry goes over from the twist `before` to `now`, with its
    /// derivative; `None` where there is none. The robot is where odometry places it τ before, X(t)Exp(−τu(t)), so that
    /// τ(u_before − u_now) is added to the motion where u changes: to first order in τ, and in the way driven
    /// meanwhile.
    pub fn delayed(&self, before: &Vector3<f64>, now: &Vector3<f64>) -> Option<(Vector3<f64>, MotionJacobian)> {
        let delay = self.get(CalibrationParameter::MotionDelay);
        let column = CalibrationParameter::MotionDelay as usize;
        if delay == 0.0 && !self.motion().any(|(_, active)| active == column) {
            return None;
        }
        let change = self.twist(before) - self.twist(now);
        let of = |stated| self.twist_jacobian(stated).unwrap_or_else(MotionJacobian::zeros);
        let mut jacobian = (of(before) - of(now)) * delay;
        jacobian.set_column(column, &change);
        Some((change * delay, jacobian))
    }
}

impl CalibrationConfig {
    /// The settings of one parameter.
    pub fn prior(&self, parameter: CalibrationParameter) -> Prior {
        match parameter {
            CalibrationParameter::ScaleV => self.scale_v,
            CalibrationParameter::ScaleW => self.scale_w,
            CalibrationParameter::BiasW => self.bias_w,
            CalibrationParameter::TurnSlip => self.turn_slip,
            CalibrationParameter::DriveYaw => self.drive_yaw,
            CalibrationParameter::MotionDelay => self.motion_delay,
            CalibrationParameter::SensorX => self.sensor_x,
            CalibrationParameter::SensorY => self.sensor_y,
            CalibrationParameter::SensorYaw => self.sensor_yaw,
            CalibrationParameter::RangeBias => self.range_bias,
            CalibrationParameter::BearingBias => self.bearing_bias,
            CalibrationParameter::RangeScale => self.range_scale,
            CalibrationParameter::Roll
            | CalibrationParameter::Pitch
            | CalibrationParameter::WorldX
            | CalibrationParameter::WorldY
            | CalibrationParameter::WorldYaw => Prior::default(),
            CalibrationParameter::ErrorX | CalibrationParameter::ErrorY => {
                Prior { sigma: self.world.error_std_m, ..Prior::default() }
            }
        }
    }

    /// The same, to be changed; `None` of a parameter that [`CalibrationConfig::world`] is about, and of
    /// roll and pitch.
    pub fn prior_mut(&mut self, parameter: CalibrationParameter) -> Option<&mut Prior> {
        Some(match parameter {
            CalibrationParameter::ScaleV => &mut self.scale_v,
            CalibrationParameter::ScaleW => &mut self.scale_w,
            CalibrationParameter::BiasW => &mut self.bias_w,
            CalibrationParameter::TurnSlip => &mut self.turn_slip,
            CalibrationParameter::DriveYaw => &mut self.drive_yaw,
            CalibrationParameter::MotionDelay => &mut self.motion_delay,
            CalibrationParameter::SensorX => &mut self.sensor_x,
            CalibrationParameter::SensorY => &mut self.sensor_y,
            CalibrationParameter::SensorYaw => &mut self.sensor_yaw,
            CalibrationParameter::RangeBias => &mut self.range_bias,
            CalibrationParameter::BearingBias => &mut self.bearing_bias,
            CalibrationParameter::RangeScale => &mut self.range_scale,
            CalibrationParameter::Roll
            | CalibrationParameter::Pitch
            | CalibrationParameter::WorldX
            | CalibrationParameter::WorldY
            | CalibrationParameter::WorldYaw
            | CalibrationParameter::ErrorX
            | CalibrationParameter::ErrorY => return None,
        })
    }
}
