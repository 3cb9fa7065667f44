//! A Gaussian sum over the pose of a robot in a known map, from measurements without identity of a sensor that measures
//! a few landmarks at a time (Alspach and Sorenson 1972; with branches for the associations, Reid 1979).
//!
//! One such scan tells little, and no odometry is good enough to join many of them to a local map. The sum therefore
//! has all poses that the measurements allow, from the first one on: that is of some landmark, and a landmark that is
//! measured leaves a circle of poses, which Gaussians cover. Each measurement then branches a component into one for
//! each landmark that the measurement may be of, and multiplies its weight by the likelihood
//!
//! ```text
//! p(z | component) = ε κ + (1 − ε)/n Σ_k N(z; ẑ_k, S_k)
//! ```
//!
//! with n landmarks in the field of view, the density κ of a measurement anywhere in it, and the probability ε that a
//! measurement is of no landmark of the map. Beside all components there is the hypothesis that the robot is at none of
//! them, under which a measurement has the density κ; where it wins, the sum begins again.
//!
//! Read `component` for a Gaussian and its update, `cover` for how Gaussians cover what is not linear, and
//! `field_of_view` for n and κ.

mod component;
mod cover;
mod field_of_view;
mod measured;

use crate::bounds::BOUNDS;
use crate::thresholds::{AGREES, LIKELY, MILLION_TO_ONE, TELLING, THOUSAND_TO_ONE, UNLIKELY, VERY_LIKELY};
use component::{Component, Landmarks};
use field_of_view::{DIRECTIONS, FieldOfView};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_map::LandmarkMap;
use lienav_planar::calibration::{Calibration, CalibrationParameter, MOTION};
use lienav_planar::config::Config;
use lienav_planar::filter::Filter;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::measurement::Mount;
use lienav_planar::motion::Increment;
use lienav_planar::sensor::Sensor;
use lienav_planar::sensor::Sensors;
use measured::{Measured, difference};
use nalgebra::{Matrix3, SVector, Vector2, Vector3};
use std::f64::consts::TAU;

/// A pose is found if nearly all of the probability is near it, in so many scans in a row.
const SCANS: u32 = 4;
/// Near is within this of the most probable component, m and rad; the pose has to be known as well.
const NEAR_M: f64 = 0.6;
const NEAR_RAD: f64 = 0.4;

/// See the module.
pub struct GaussianSum {
    sensors: Sensors,
    mounts: Vec<Mount>,
    correlation_s: f64,
    landmarks: Landmarks,
    view: FieldOfView,
    components: Vec<Component>,
    spare: Vec<Component>,
    /// The logarithm of the probability that the robot is at none of the components.
    log_elsewhere: f64,
    /// Motion that is not in the components yet.
    motion: Increment,
    /// Calibration of the motion that was taken for granted in it.
    reference: SVector<f64, MOTION>,
    /// What is known of the calibration of the motion before the run: values and variances.
    prior: (SVector<f64, MOTION>, SVector<f64, MOTION>),
    last: Option<Stamp>,
    /// The angle, rad, and the way, m, since then.
    moved: f64,
    /// Whether no pose was found since a long way without measurements.
    is_blind: bool,
    /// Where the most probable component was then.
    last_pose: Option<Vector2<f64>>,
    measurements: f64,
    certain: u32,
}

impl GaussianSum {
    /// Of all poses in a map, with the sensors of a filter: those of its configuration, and those that were added to
    /// it.
    pub fn new(map: &LandmarkMap, filter: &Filter, config: &Config, added: &[Sensor]) -> Self {
        let sensors = Sensors::new(&config.sensor, filter.stereo, added);
        let calibration = Calibration::new(&config.calibration);
        let mounts = sensors.mounts(&calibration);
        let values = SVector::from_fn(|k, _| calibration.get(CalibrationParameter::ALL[k]));
        let variances = SVector::from_fn(|k, _| config.calibration.prior(CalibrationParameter::ALL[k]).sigma.powi(2));
        Self {
            sensors,
            mounts,
            correlation_s: config.sensor.correlation_s,
            landmarks: Landmarks::new(map),
            view: FieldOfView::default(),
            components: Vec::new(),
            spare: Vec::new(),
            log_elsewhere: 0.0,
            motion: Increment::none(),
            reference: values,
            prior: (values, variances),
            last: None,
            moved: 0.0,
            is_blind: false,
            last_pose: None,
            measurements: 1.0,
            certain: 0,
        }
    }

    /// The robot is here.
    pub fn begin(&mut self, pose: &Se2, covariance: &Matrix3<f64>) {
        self.components.clear();
        self.components.push(Component::new(*pose, covariance, &self.prior, (1.0 - elsewhere()).ln()));
        (self.log_elsewhere, self.motion, self.certain) = (elsewhere().ln(), Increment::none(), 0);
    }

    /// The robot may be anywhere; what was learned of the sensor stays.
    pub fn forget(&mut self) {
        self.components.clear();
        (self.log_elsewhere, self.motion, self.certain, self.last) = (0.0, Increment::none(), 0, None);
        (self.last_pose, self.is_blind) = (None, false);
    }

    /// Whether all poses in a map of so many landmarks have room, each with a branch for a neighbour.
    pub fn has_room(landmarks: usize) -> bool {
        landmarks * DIRECTIONS * 2 <= BOUNDS.components
    }

    /// Whether this is a sensor that measures few landmarks at a time.
    pub fn is_responsible(&self) -> bool {
        self.measurements < TELLING as f64
    }

    /// The robot moves, with this calibration.
    pub fn advance(&mut self, step: &Increment, calibration: &Calibration) {
        /// Components are moved at the latest after a motion that turns by this angle, rad, or is this long, m: a
        /// linear error is right to a few per cent.
        const FLUSH_RAD: f64 = 0.2;
        const FLUSH_M: f64 = 0.3;
        self.reference = SVector::from_fn(|k, _| calibration.get(CalibrationParameter::ALL[k]));
        self.motion = self.motion.then(step);
        self.moved += step.motion.p.norm() + step.motion.theta.abs();
        if self.motion.motion.theta.abs() > FLUSH_RAD || self.motion.motion.p.norm() > FLUSH_M {
            self.settle();
        }
    }

    /// Moves the components.
    fn settle(&mut self) {
        let motion = std::mem::replace(&mut self.motion, Increment::none());
        if motion == Increment::none() {
            return;
        }
        self.spare.clear();
        for mut component in self.components.drain(..) {
            component.propagate(&motion, &self.reference);
            cover::split(component, cover::HEADING_STD_RAD, &mut self.spare);
        }
        std::mem::swap(&mut self.components, &mut self.spare);
    }

    /// A scan, at the end of all motion so far.
    pub fn observe(&mut self, stamp: Stamp, kind: MeasurementKind, raw_measurements: &[Measurement]) {
        /// After so long without a measurement, s, a slip is a hypothesis although the measurement is explained without
        /// it.
        const LONG_S: f64 = 2.0;
        /// After so long without a measurement, s, in which the robot has driven so far (m and rad together), a slip is
        /// too probable for the pose to be published before the sum has found the robot again.
        const BLIND_S: f64 = 30.0;
        const BLIND_M: f64 = 1.0;
        /// The mean number of measurements is taken over so many scans.
        const MEAN_OVER: f64 = 50.0;
        self.settle();
        let places: Vec<Measured> = raw_measurements.iter().filter_map(|o| self.place(kind, o)).collect();
        if places.is_empty() {
            return;
        }
        self.measurements += (places.len() as f64 - self.measurements) / MEAN_OVER;
        let since = self.last.replace(stamp).map_or(f64::INFINITY, |last| stamp.since(last).max(1e-3));
        // Errors that last from one scan to the next tell less: see `Sensors::repetition`.
        let share = if self.correlation_s > 0.0 { (0.5 * since / self.correlation_s).tanh() } else { 1.0 };
        places.iter().for_each(|measured| self.view.note(&measured.place));
        let mut is_explained = true;
        let moved = std::mem::take(&mut self.moved);
        if since.is_finite() && since > BLIND_S && moved > BLIND_M {
            (self.is_blind, self.certain) = (true, 0);
        }
        for (k, measured) in places.iter().enumerate() {
            if self.components.is_empty() {
                self.components.extend(cover::circles(&self.landmarks, measured, &self.prior, BOUNDS.components));
                self.log_elsewhere = elsewhere().ln();
            } else {
                // A slip is since the last scan: from where the robot is without this one.
                let before = if k == 0 { self.before_slip() } else { None };
                let explained = self.correct(measured, share);
                is_explained &= explained > LIKELY;
                if let Some(before) = before.filter(|_| explained < VERY_LIKELY || since > LONG_S) {
                    self.components.extend(self.slipped(&before, measured, share, since));
                }
            }
            self.prune();
        }
        self.last_pose = self.components.first().map(|component| component.pose.p);
        self.judge(is_explained);
    }

    fn place(&self, kind: MeasurementKind, raw: &Measurement) -> Option<Measured> {
        let checked = self.sensors.read(kind, raw).ok().filter(|checked| !self.sensors.is_of_pose(checked))?;
        let (place, covariance) = self.sensors.place(&self.mounts, &checked)?;
        Some(Measured { place, covariance, id: raw.id, class: raw.label.class })
    }

    /// Branches all components, and returns the probability of those that the measurement is explained by.
    fn correct(&mut self, measured: &Measured, share: f64) -> f64 {
        let density = 1.0 / self.view.area();
        self.spare.clear();
        let mut explained = 0.0;
        for component in self.components.drain(..) {
            let scale = scale(&component.pose, &self.landmarks, &self.view, density);
            if component.branch(&self.landmarks, measured, share, scale, &mut self.spare) {
                explained += component.log_weight.exp();
            }
        }
        std::mem::swap(&mut self.components, &mut self.spare);
        self.log_elsewhere += share * density.ln();
        explained
    }

    /// The pose with its covariance, and the calibration of the motion, that a slip would begin at; `None` where there
    /// is no pose that is more probable than not.
    fn before_slip(&self) -> Option<(Se2, Matrix3<f64>, SVector<f64, MOTION>)> {
        let (_, pose, covariance) = self.cluster().filter(|(weight, ..)| *weight > LIKELY)?;
        Some((pose, covariance, self.components.first()?.calibration))
    }

    /// The poses that a measurement allows if the wheels have slipped since the last scan.
    fn slipped(
        &self,
        (pose, covariance, calibration): &(Se2, Matrix3<f64>, SVector<f64, MOTION>),
        measured: &Measured,
        share: f64,
        since: f64,
    ) -> Vec<Component> {
        /// Wheels slip, or are stopped by an obstacle, this often, 1/s: once a minute.
        const SLIPS: f64 = 1.0 / 60.0;
        let way = self.last_pose.map_or(0.0, |last| (pose.p - last).norm());
        let Some(inverse) = (covariance + cover::slip(since, way)).try_inverse() else { return Vec::new() };
        let log_scale = 0.5 * inverse.determinant().ln() - 1.5 * TAU.ln() + (TAU / DIRECTIONS as f64).ln();
        let density = 1.0 / self.view.area();
        let mut covers = cover::circles(&self.landmarks, measured, &self.prior, BOUNDS.components);
        covers.retain_mut(|component| {
            let apart = difference(&component.pose, pose);
            let squared = apart.dot(&(inverse * apart));
            let (_, of_each) = scale(&component.pose, &self.landmarks, &self.view, density);
            component.log_weight = log_scale - 0.5 * squared + of_each.ln();
            component.calibration = *calibration;
            squared < AGREES
        });
        let whole: f64 = covers.iter().map(|component| component.log_weight.exp()).sum();
        let log_prior = (1.0 - (-SLIPS * since).exp()).ln();
        covers.iter_mut().for_each(|component| component.log_weight += (share - 1.0) * whole.ln() + log_prior);
        covers
    }

    /// Normalizes, merges what has become one, and drops what is negligible or too much.
    fn prune(&mut self) {
        /// A component goes if its weight is less than this fraction of the greatest, as a logarithm: one in a million.
        const NEGLIGIBLE: f64 = -14.0;
        /// Components whose poses are nearer than this squared distance are one.
        const NEAR: f64 = 1.0;
        let logs = || self.components.iter().map(|component| component.log_weight);
        let heaviest = logs().fold(self.log_elsewhere, f64::max);
        let total = heaviest
            + (logs().map(|log| (log - heaviest).exp()).sum::<f64>() + (self.log_elsewhere - heaviest).exp()).ln();
        self.components.iter_mut().for_each(|component| component.log_weight -= total);
        self.log_elsewhere = (self.log_elsewhere - total).max(elsewhere().ln());
        self.components.sort_by(|one, other| other.log_weight.total_cmp(&one.log_weight));
        let best = self.components.first().map_or(0.0, |component| component.log_weight);
        self.spare.clear();
        for component in self.components.drain(..) {
            if component.log_weight < best + NEGLIGIBLE {
                break;
            }
            if !self.spare.iter_mut().any(|kept| kept.absorb(&component, NEAR)) && self.spare.len() < BOUNDS.components
            {
                self.spare.push(component);
            }
        }
        std::mem::swap(&mut self.components, &mut self.spare);
        self.components.sort_by(|one, other| other.log_weight.total_cmp(&one.log_weight));
        if self.log_elsewhere > LIKELY.ln() {
            self.forget();
        }
    }

    /// Counts the scans in a row after which all but a thousandth of the probability is near one pose that is known
    /// well enough, and which that pose explains.
    fn judge(&mut self, is_explained: bool) {
        let is_near = |(weight, _, covariance): (f64, Se2, Matrix3<f64>)| {
            1.0 - weight < 1.0 / THOUSAND_TO_ONE.ratio
                && covariance[(0, 0)] + covariance[(1, 1)] < NEAR_M * NEAR_M
                && covariance[(2, 2)] < NEAR_RAD * NEAR_RAD
        };
        let is_certain = is_explained && self.cluster().is_some_and(is_near);
        self.certain = if is_certain { self.certain.saturating_add(1) } else { 0 };
        self.is_blind &= self.certain < SCANS;
    }

    /// The probability of the components near the most probable one, with their mean and covariance of (x, y, θ).
    fn cluster(&self) -> Option<(f64, Se2, Matrix3<f64>)> {
        let best = self.components.first()?.pose;
        let (mut weight, mut mean, mut square) = (0.0, Vector3::zeros(), Matrix3::zeros());
        for component in &self.components {
            let apart = difference(&component.pose, &best);
            if apart.xy().norm() > NEAR_M || apart.z.abs() > NEAR_RAD {
                continue;
            }
            let share = component.log_weight.exp();
            weight += share;
            mean += share * apart;
            square += share * (component.pose_covariance() + apart * apart.transpose());
        }
        let whole: f64 = self.components.iter().map(|c| c.log_weight.exp()).sum::<f64>() + self.log_elsewhere.exp();
        mean /= weight;
        let pose = Se2 { p: best.p + mean.xy(), theta: best.theta + mean.z };
        Some((weight / whole, pose, square / weight - mean * mean.transpose()))
    }

    /// Pose and covariance of (x, y, θ) at the end of all motion so far, if the robot was found.
    pub fn found(&self) -> Option<(Se2, Matrix3<f64>)> {
        /// The covariance of a pose that is found, over that of the components: errors of measurements last longer than
        /// they are said to, and the filter that goes on from there begins with those of the last scan.
        const WIDER: f64 = 2.0;
        let (_, pose, covariance) = self.cluster().filter(|_| self.certain >= SCANS)?;
        Some(self.motion.carry(&pose, &(covariance * WIDER)))
    }

    /// The probability that a pose with this covariance is right, at the last scan; 0 after a long way without
    /// measurements, until the robot is found again.
    pub fn support(&self, pose: &Se2, covariance: &Matrix3<f64>) -> f64 {
        if self.is_blind {
            return 0.0;
        }
        let agrees = |component: &&Component| {
            let apart = difference(&component.pose, pose);
            let both = covariance + component.pose_covariance();
            both.try_inverse().is_some_and(|inverse| apart.dot(&(inverse * apart)) < AGREES)
        };
        let whole: f64 = self.components.iter().map(|c| c.log_weight.exp()).sum::<f64>() + self.log_elsewhere.exp();
        self.components.iter().filter(agrees).map(|c| c.log_weight.exp()).sum::<f64>() / whole
    }
}

/// The density of measurements of no landmark, and the probability that a measurement is of each landmark in view.
fn scale(pose: &Se2, landmarks: &Landmarks, view: &FieldOfView, density: f64) -> (f64, f64) {
    (UNLIKELY * density, (1.0 - UNLIKELY) / landmarks.in_view(pose, view).max(1) as f64)
}

/// The prior probability that the robot is not where the sum has it, in each scan: it was lifted or the map is another.
fn elsewhere() -> f64 {
    1.0 / MILLION_TO_ONE.ratio
}
