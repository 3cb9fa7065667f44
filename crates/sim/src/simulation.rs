//! The run: at every odometry sample, what the sensors say and the truth.

use super::added::AddedSensor;
use super::imu::{ImuMeasurement, InertialSensor};
use super::odometry::Odometer;
use super::outside::Outside;
use super::random::{Purpose, generator, normal};
use super::relations::check_length;
use super::scenario::{FeatureSensorConfig, Scenario, ScenarioError};
use super::sensors::{FeatureSensor, Share};
use super::trajectory::Trajectory;
use super::truth::{Truth, tick};
use super::world;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{MeasurementKind, Odometry, Scan, Sensor, TooManySensors};
use nalgebra::{Vector2, Vector3};
use std::f64::consts::TAU;

/// What happens up to one odometry sample, since the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// When the odometry was sampled; the first frame is at 0.
    pub stamp: Stamp,
    /// True pose of the base in the map frame at `stamp`; the heading counts turns.
    pub truth: Se2,
    /// True body twist at `stamp`: m/s, m/s, rad/s.
    pub true_twist: Vector3<f64>,
    /// The motion since the frame before ([`lienav_slam::TwistHold::Before`]), with noise; in the first frame, the
    /// motion at 0.
    pub odometry: Odometry,
    /// The inertial reading that fell due since the frame before, with a stamp of its own.
    pub imu: Option<ImuMeasurement>,
    /// The features seen since the frame before. Their stamp is that of the frame where the rates divide; otherwise
    /// [`Simulation::truth`] has the true pose for it.
    pub features: Option<Scan>,
    /// The true feature of each measurement of `features`, whether it says so or not; `None` of clutter and misreads.
    pub identities: Vec<Option<u32>>,
    /// The measurements of sensors that were added ([`Simulation::add_sensor`]) since the frame before.
    pub added: Vec<Scan>,
}

/// A simulated run: an iterator over [`Frame`]s from t = 0 to the end of the trajectory.
///
/// ```
/// use lienav_sim::{Scenario, Simulation};
/// let scenario = Scenario::named("thesis-line-10hz-low-q1")?;
/// let simulation = Simulation::new(&scenario)?;
/// let config = simulation.filter_config("reduced");
/// let seen: usize = simulation.filter_map(|frame| frame.features).map(|scan| scan.measurements.len()).sum();
/// assert!(seen > 10_000);
/// assert_eq!(config.sensor.baseline_m, 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    scenario: Scenario,
    truth: Truth,
    duration_s: f64,
    landmarks: Vec<(u32, Vector2<f64>)>,
    initial: Se2,
    odometer: Odometer,
    feature_sensor: FeatureSensor,
    inertial_sensor: InertialSensor,
    added: Vec<(AddedSensor, Clock)>,
    /// The second and the third sensor.
    single: [(FeatureSensor, Clock); 2],
    outside: (Outside, Clock),
    frames: Clock,
    scans: Clock,
    measurements: Clock,
    last_frame: u64,
}

impl Simulation {
    /// A run of `scenario`, at its start.
    ///
    /// # Errors
    /// A value out of range, or waypoints through which no path leads.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        scenario.validate()?;
        let trajectory = Trajectory::new(&scenario.trajectory)?;
        let (duration_s, rate_hz) = (trajectory.duration_s(), scenario.odometry.rate_hz);
        check_length(duration_s, rate_hz)?;
        let landmarks = world::landmarks(scenario, &trajectory)?;
        // The last tick belongs to the run even where rounding puts it a hair behind the end.
        let last_frame = (duration_s * rate_hz + 1e-6) as u64;
        let truth = Truth::new(trajectory, scenario.truth, rate_hz, last_frame);
        Ok(Self {
            initial: initial_pose(scenario, truth.pose(Stamp::default())),
            odometer: Odometer::new(&scenario.odometry, &scenario.noise, scenario.seed),
            feature_sensor: FeatureSensor::new(
                &scenario.sensor,
                &scenario.noise,
                world::classes(&scenario.world),
                scenario.seed,
            )
            .of(main_share(scenario)),
            single: [MeasurementKind::Range, MeasurementKind::Bearing].map(|kind| single(scenario, kind)),
            outside: (Outside::new(&scenario.outside, scenario.seed), Clock::new(scenario.outside.rate_hz, 0.0)),
            inertial_sensor: InertialSensor::new(&scenario.imu, scenario.seed),
            added: Vec::new(),
            frames: Clock::new(rate_hz, 0.0),
            scans: Clock::new(scenario.sensor.rate_hz, scenario.sensor.first_s),
            measurements: Clock::new(scenario.imu.rate_hz, 0.0),
            scenario: scenario.clone(),
            truth,
            duration_s,
            landmarks,
            last_frame,
        })
    }

    /// Adds a sensor that reads at `rate_hz` from the start on: what it measures says what it reads, with its own
    /// noise. A filter to which the same sensors were added in the same order understands them.
    ///
    /// # Errors
    /// There are as many as a filter can have.
    pub fn add_sensor(&mut self, sensor: Sensor, rate_hz: f64) -> Result<MeasurementKind, TooManySensors> {
        let kind = MeasurementKind::added(self.added.len())?;
        let number = self.added.len() as u64;
        self.added.push((AddedSensor::new(sensor, kind, number, self.scenario.seed), Clock::new(rate_hz, 0.0)));
        Ok(kind)
    }

    /// What is simulated.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Every feature there is: id and position in the map frame, m; ids are 0, 1, 2, …
    pub fn landmarks(&self) -> &[(u32, Vector2<f64>)] {
        &self.landmarks
    }

    /// How long the run is, s.
    pub fn duration_s(&self) -> f64 {
        self.duration_s
    }

    /// The true pose of the base in the map frame at any instant of the run.
    pub fn truth(&self, stamp: Stamp) -> Se2 {
        self.truth.pose(stamp)
    }

    /// The pose the filter is told it starts at: the true one, plus the scenario's initial error.
    pub fn initial_pose(&self) -> Se2 {
        self.initial
    }
}

impl Iterator for Simulation {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if self.frames.next > self.last_frame {
            return None;
        }
        let (from, to) = (self.frames.before(), self.frames.now()?);
        self.frames.advance();
        let (features, identities) = self.features_until(to).unzip();
        Some(Frame {
            stamp: to,
            truth: self.truth.pose(to),
            true_twist: self.truth.twist(to),
            odometry: self.odometer.measure(to, &self.truth.mean_twist(self.scenario.odometry.twist, from, to)),
            imu: self.imu_until(to),
            features,
            identities: identities.unwrap_or_default(),
            added: self.added_until(to),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.last_frame + 1).saturating_sub(self.frames.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Simulation {}

impl Simulation {
    fn imu_until(&mut self, end: Stamp) -> Option<ImuMeasurement> {
        let stamp = self.measurements.now().filter(|due| *due <= end)?;
        let yaw_rate = self.truth.mean_yaw_rate(self.measurements.before(), stamp);
        self.measurements.advance();
        Some(self.inertial_sensor.measure(stamp, yaw_rate, &self.truth.acceleration(stamp)))
    }

    fn features_until(&mut self, end: Stamp) -> Option<(Scan, Vec<Option<u32>>)> {
        let stamp = self.scans.now().filter(|due| *due <= end)?;
        self.scans.advance();
        let taken = self.truth.pose(stamp - self.scenario.noise.cloud_delay_s);
        Some(self.feature_sensor.observe(stamp, &taken, &self.landmarks))
    }
}

impl Simulation {
    fn added_until(&mut self, end: Stamp) -> Vec<Scan> {
        let (truth, landmarks) = (&self.truth, &self.landmarks);
        let due = |(sensor, clock): &mut (AddedSensor, Clock)| {
            let stamp = clock.now().filter(|due| *due <= end)?;
            clock.advance();
            Some(sensor.observe(stamp, &truth.pose(stamp), landmarks))
        };
        let mut all: Vec<Scan> = self.added.iter_mut().filter_map(due).collect();
        for (sensor, clock) in &mut self.single {
            let Some(stamp) = clock.now().filter(|due| *due <= end) else { continue };
            clock.advance();
            let mut seen = sensor.observe(stamp, &truth.pose(stamp), landmarks).0;
            let variance = sensor.variance();
            seen.measurements.iter_mut().for_each(|measurement| measurement.covariance = Some(variance.into()));
            all.push(seen);
        }
        let (outside, clock) = &mut self.outside;
        if let Some(stamp) = clock.now().filter(|due| *due <= end) {
            clock.advance();
            all.extend(outside.observe(stamp, &truth.pose(stamp)));
        }
        all
    }
}

/// The second sensor, or the third.
fn single(scenario: &Scenario, kind: MeasurementKind) -> (FeatureSensor, Clock) {
    // Random numbers of their own.
    let (config, offset) = match kind {
        MeasurementKind::Range => (&scenario.ranges, 1 << 54),
        _ => (&scenario.bearings, 1 << 55),
    };
    let sensor = FeatureSensorConfig {
        kind,
        range_std_m: config.std,
        bearing_std_rad: config.std,
        max_range_m: config.max_range_m,
        min_range_m: 0.0,
        field_of_view_rad: TAU,
        ..FeatureSensorConfig::default()
    };
    let sensor =
        FeatureSensor::new(&sensor, &scenario.noise, Vec::new(), scenario.seed + offset).of(Share::Every(config.every));
    (sensor, Clock::new(config.rate_hz, 0.0))
}

/// What is left for the first sensor.
fn main_share(scenario: &Scenario) -> Share {
    let taken = [&scenario.ranges, &scenario.bearings].map(|other| if other.alone { other.every } else { 0 });
    if taken == [0, 0] { Share::All } else { Share::NotEvery(taken) }
}

/// The true start, displaced by a draw from the scenario's initial error.
fn initial_pose(scenario: &Scenario, true_pose: Se2) -> Se2 {
    let mut rng = generator(scenario.seed, Purpose::Initial);
    let [x, y, theta] = [(); 3].map(|()| normal(&mut rng));
    let error = &scenario.initial;
    Se2 {
        p: true_pose.p + error.position_std_m * Vector2::new(x, y),
        theta: true_pose.theta + error.yaw_std_rad * theta,
    }
}

/// Instants at a fixed rate; none at all for a rate of 0.
#[derive(Clone, Copy, Debug)]
struct Clock {
    rate_hz: f64,
    first_s: f64,
    next: u64,
}

impl Clock {
    fn new(rate_hz: f64, first_s: f64) -> Self {
        Self { rate_hz, first_s, next: 0 }
    }

    /// The instant that is due next.
    fn now(&self) -> Option<Stamp> {
        (self.rate_hz > 0.0).then(|| self.tick(self.next))
    }

    /// The instant before that; the first one itself at the start.
    fn before(&self) -> Stamp {
        self.tick(self.next.saturating_sub(1))
    }

    fn tick(&self, k: u64) -> Stamp {
        tick(k, self.rate_hz) + self.first_s
    }

    fn advance(&mut self) {
        self.next += 1;
    }
}
