//! A run as one least-squares problem.

use super::layout::Layout;
use super::motion::{Motion, MotionModel, map_from_body, whitening};
use super::normal::{AT_CALIBRATION, Row, WIDTH, add, empty};
use super::sight::Sight;
use super::{Loss, Settings};
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{
    Calibration, CalibrationEstimate, CalibrationParameter, Config, LandmarkMap, MOTION, MapLandmark, Mount, Role,
    SENSOR, Sensor, Sensors, StereoModel, Subject, Trace,
};
use lienav_submaps::sparse::Element;
use nalgebra::{DVector, Matrix2, Matrix3, SMatrix, SVector, Vector2, Vector3};
use std::collections::{HashMap, HashSet};

/// Everything that is known.
pub struct Problem {
    sensors: Sensors,
    model: MotionModel,
    loss: Loss,
    /// Expectation and standard deviation of each parameter that is estimated.
    calibration: Vec<(CalibrationParameter, f64, f64)>,
    prior: Prior,
    /// What is known of features beforehand: which one, where, and the root of the information.
    known: Vec<(usize, Vector2<f64>, Matrix2<f64>)>,
    /// One from each pose to the next.
    motions: Vec<Motion>,
    sights: Vec<Sight>,
    /// Which unknowns there are.
    pub layout: Layout,
    /// The identity of each feature.
    pub identities: Vec<u32>,
    /// The pose of the first scan: 0, or 1 where the robot had moved by then.
    pub first_step: usize,
}

/// What is estimated.
#[derive(Clone, Debug)]
pub struct Unknowns {
    /// The start, where the robot moved before the first scan, and the pose of each scan.
    pub poses: Vec<Se2>,
    /// Features in the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// Of odometry and sensor.
    pub calibration: Calibration,
}

/// The standard deviation of what is not known, m or rad.
const NOTHING_KNOWN: f64 = 1e6;

/// What is known of the first pose.
enum Prior {
    Known,
    Normal { pose: Se2, whitening: Matrix3<f64> },
}

impl Problem {
    /// The problem of a traced run, and the filter's estimates as a first guess. Landmarks of `map` are known
    /// beforehand, as well as it says; their joint covariance is not used. `None` of a run without scans.
    pub fn new(
        trace: &Trace,
        (config, map): (&Config, &LandmarkMap),
        settings: &Settings,
        added: &[Sensor],
        guess: &[CalibrationEstimate],
    ) -> Option<(Self, Unknowns)> {
        let sensors = Sensors::with_antenna(&config.sensor, &config.absolute, StereoModel::Bearings, added);
        let mut priors = settings.priors(&config.calibration);
        let lasting = std::mem::take(&mut priors.world.error_std_m);
        let mut calibration = Calibration::new(&priors);
        let known_of = |parameter: &CalibrationParameter| guess.iter().find(|known| known.parameter == *parameter);
        let frame = |parameter: &CalibrationParameter| match parameter {
            CalibrationParameter::WorldX | CalibrationParameter::WorldY | CalibrationParameter::WorldYaw => {
                known_of(parameter).map_or(0.0, |known| known.value)
            }
            _ => 0.0,
        };
        calibration.correct(&calibration.active().iter().map(frame).collect::<Vec<_>>());
        let (mut now_s, mut last_fix_s) = (0.0, None);
        let settled = settled(trace);
        let mut existences: HashMap<u32, usize> = HashMap::new();
        let model = MotionModel { config: config.motion.clone(), discretization: settings.discretization };
        let moved_first = !trace.steps.first()?.segments.is_empty();
        let mut poses = if moved_first { vec![config.initial.pose()] } else { Vec::new() };
        let (mut landmarks, mut identities, mut sights, mut motions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut landmark_of = HashMap::new();
        let is_known: HashMap<u32, &MapLandmark> = map.landmarks.iter().map(|known| (known.id, known)).collect();
        let mut known = Vec::new();
        for step in &trace.steps {
            if !poses.is_empty() {
                motions.push(Motion::new(&step.segments, &model, &calibration));
            }
            now_s += step.segments.iter().map(|segment| segment.duration).sum::<f64>();
            for traced in &step.measurements {
                let of_world = sensors.is_of_world(&traced.measurement);
                let scale = if of_world && lasting > 0.0 {
                    let since = last_fix_s.replace(now_s).map_or(f64::INFINITY, |last: f64| now_s - last);
                    lasting_variance(lasting, config.calibration.world.error_time_s, since)
                } else {
                    0.0
                };
                let measurement = traced.measurement.with_variance(scale);
                let sight = |landmark| Sight { pose: poses.len(), landmark, measurement };
                let is_used = traced.role != Role::Gated || settings.loss != Loss::Squares;
                let Subject::Landmark((feature, position)) = traced.subject else {
                    sights.extend(is_used.then(|| sight(None)));
                    continue;
                };
                if traced.role == Role::First {
                    let existence = existences.entry(feature).and_modify(|existence| *existence += 1).or_insert(0);
                    if !settled.contains(&(feature, *existence)) {
                        // The run has not told where this landmark is.
                        landmark_of.remove(&feature);
                        continue;
                    }
                    landmark_of.insert(feature, landmarks.len());
                    landmarks.push(position);
                    identities.push(feature);
                }
                if let (Some(of_map), false) = (is_known.get(&feature), landmark_of.contains_key(&feature)) {
                    known.push((landmarks.len(), of_map.position, root_of_information(&of_map.covariance)?));
                    landmark_of.insert(feature, landmarks.len());
                    landmarks.push(of_map.position);
                    identities.push(feature);
                }
                let Some(&landmark) = landmark_of.get(&feature) else { continue };
                if is_used {
                    // The filter's latest word on a feature is its best.
                    landmarks[landmark] = position;
                    sights.push(sight(Some(landmark)));
                }
            }
            poses.push(step.pose);
        }
        let (start, covariance) = (config.initial.pose(), config.initial.covariance());
        let prior = if covariance == Matrix3::zeros() {
            poses[0] = start;
            Prior::Known
        } else {
            Prior::Normal { pose: start, whitening: whitening(&covariance) }
        };
        let start_is_known = matches!(prior, Prior::Known);
        let seen = (sights.as_slice(), known.iter().map(|(landmark, ..)| *landmark));
        let layout = Layout::new(poses.len(), landmarks.len(), seen, start_is_known, calibration.active());
        let duration = motions.iter().map(Motion::duration).sum::<f64>();
        let prior_of = |parameter: &CalibrationParameter| {
            let prior = priors.prior(*parameter);
            if prior == lienav_slam::Prior::default() {
                // Where the map lies in the world: nothing is known.
                return (*parameter, 0.0, NOTHING_KNOWN);
            }
            (*parameter, prior.value, prior.sigma.hypot(prior.walk * duration.sqrt()))
        };
        let problem = Self {
            sensors,
            model,
            loss: settings.loss,
            calibration: calibration.active().iter().map(prior_of).collect(),
            prior,
            known,
            motions,
            sights,
            layout,
            identities,
            first_step: usize::from(moved_first),
        };
        Some((problem, Unknowns { poses, landmarks, calibration }))
    }

    /// Numbers that are measured less numbers that are estimated: what χ² of the solution should be about.
    pub fn degrees_of_freedom(&self) -> usize {
        let priors =
            if matches!(self.prior, Prior::Known) { 0 } else { 3 } + self.calibration.len() + 2 * self.known.len();
        let numbers: usize = self.sights.iter().map(|sight| self.sensors.dim(&sight.measurement)).sum();
        (3 * self.motions.len() + numbers + priors).saturating_sub(self.layout.numbers())
    }

    /// The features that a pose sees, or nothing where it is the pose itself that is measured.
    fn landmark<'a>(&self, sight: &Sight, at: &'a Unknowns) -> Option<&'a Vector2<f64>> {
        sight.landmark.map(|landmark| &at.landmarks[landmark])
    }

    /// What is minimised: χ², where the loss is that of squares.
    pub fn cost(&self, at: &Unknowns) -> f64 {
        let mounts = self.sensors.mounts(&at.calibration);
        let motions = self.motions.iter().zip(at.poses.windows(2));
        let motions =
            motions.map(|(m, pair)| m.residual(&pair[0], &pair[1], &at.calibration, &self.model).norm_squared());
        let sights = self.sights.iter().filter_map(|sight| {
            let sensors = (&self.sensors, mounts.as_slice());
            sight.cost(sensors, &at.poses[sight.pose], self.landmark(sight, at), self.loss)
        });
        let priors = self.prior_row(at).map_or(0.0, |row| row.residual.norm_squared())
            + (0..self.known.len())
                .filter_map(|k| self.known_row(k, at))
                .map(|row| row.residual.norm_squared())
                .sum::<f64>()
            + self.calibration_row(at).residual.norm_squared();
        motions.sum::<f64>() + sights.sum::<f64>() + priors
    }

    /// An element of the normal equations around a guess, as the [`Layout`] has it. `mounts` are those of the guess.
    pub fn element(&self, k: usize, at: &Unknowns, mounts: &[Mount]) -> Element {
        let list = &self.layout.lists()[k];
        let mut element = empty(list, list.iter().map(|unknown| self.layout.height(*unknown)).sum());
        if k >= at.poses.len() {
            match self.known_row(k - at.poses.len(), at) {
                Some(row) => add(&mut element, &row, &self.layout.columns(k, None, list.first().copied())),
                None => add(&mut element, &self.calibration_row(at), &self.layout.columns(k, None, None)),
            }
            return element;
        }
        let own = self.layout.of_pose(k);
        if let Some(motion) = self.motions.get(k) {
            let row = motion.linearize(&at.poses[k], &at.poses[k + 1], &at.calibration, &self.model);
            add(&mut element, &row, &self.layout.columns(k, own, self.layout.of_pose(k + 1)));
        }
        for sight in &self.sights[self.layout.sights(k)] {
            let landmark = sight.landmark.map(|landmark| self.layout.of_landmark(landmark));
            let row = sight.linearize((&self.sensors, mounts), &at.poses[k], self.landmark(sight, at), self.loss);
            if let Some(row) = row {
                add(&mut element, &row, &self.layout.columns(k, own, landmark));
            }
        }
        if let Some(row) = self.prior_row(at).filter(|_| k == 0) {
            let mut columns = self.layout.columns(k, own, None);
            columns[AT_CALIBRATION..].fill(None);
            add(&mut element, &row, &columns);
        }
        element
    }

    /// Where the sensors are, as a guess has them calibrated.
    pub fn mounts(&self, at: &Unknowns) -> Vec<Mount> {
        self.sensors.mounts(&at.calibration)
    }

    /// (p − p₀, θ − θ₀), whitened.
    fn prior_row(&self, at: &Unknowns) -> Option<Row<3>> {
        let Prior::Normal { pose, whitening } = &self.prior else { return None };
        let first = &at.poses[0];
        let shift = first.p - pose.p;
        let residual = Vector3::new(shift.x, shift.y, wrap_angle(first.theta - pose.theta));
        let mut jacobian = SMatrix::<f64, 3, WIDTH>::zeros();
        jacobian.fixed_view_mut::<3, 3>(0, 0).copy_from(&map_from_body(first));
        Some(Row { residual: whitening * residual, jacobian: whitening * jacobian })
    }

    /// p − p₀ of a known landmark, whitened.
    fn known_row(&self, k: usize, at: &Unknowns) -> Option<Row<2>> {
        let (landmark, position, root) = self.known.get(k)?;
        let mut jacobian = SMatrix::<f64, 2, WIDTH>::zeros();
        jacobian.fixed_view_mut::<2, 2>(0, 3).copy_from(root);
        Some(Row { residual: root * (at.landmarks[*landmark] - position), jacobian })
    }

    /// Each parameter less its expectation, by its standard deviation.
    fn calibration_row(&self, at: &Unknowns) -> Row<{ MOTION + SENSOR }> {
        let mut row = Row { residual: SVector::zeros(), jacobian: SMatrix::zeros() };
        for &(parameter, expected, std) in &self.calibration {
            let k = parameter as usize;
            row.residual[k] = (at.calibration.get(parameter) - expected) / std;
            row.jacobian[(k, AT_CALIBRATION + k)] = 1.0 / std;
        }
        row
    }

    /// X ← X Exp(ξ), p ← p + δ, c ← c + δ; `steps` are those of each unknown, without rows where it is not estimated.
    pub fn retract(&self, at: &Unknowns, steps: &[DVector<f64>]) -> Unknowns {
        let mut next = at.clone();
        for (k, pose) in next.poses.iter_mut().enumerate() {
            if let Some(step) = self.layout.of_pose(k).map(|name| &steps[name]).filter(|step| step.len() == 3) {
                *pose = *pose * Se2::exp(&step.fixed_rows::<3>(0).into_owned());
            }
        }
        for (k, landmark) in next.landmarks.iter_mut().enumerate() {
            let step = &steps[self.layout.of_landmark(k)];
            if step.len() == 2 {
                *landmark += step.fixed_rows::<2>(0);
            }
        }
        let of_calibration = &steps[self.layout.of_calibration()];
        let of_parameter = |p: &CalibrationParameter| {
            self.layout.parameter(*p).and_then(|row| of_calibration.get(row)).copied().unwrap_or(0.0)
        };
        let correction: Vec<f64> = at.calibration.active().iter().map(of_parameter).collect();
        next.calibration.correct(&correction);
        next
    }
}

/// The landmarks that the filter has placed, by identity and by which life of it: one that is begun by several places
/// may not have been told from its image by the end.
fn settled(trace: &Trace) -> HashSet<(u32, usize)> {
    let mut existences: HashMap<u32, (usize, bool)> = HashMap::new();
    let mut settled = HashSet::new();
    for traced in trace.steps.iter().flat_map(|step| &step.measurements) {
        let Subject::Landmark((id, _)) = traced.subject else { continue };
        match traced.role {
            Role::First => {
                let existence = existences.entry(id).and_modify(|(existence, _)| *existence += 1).or_insert((0, false));
                existence.1 = traced.is_placed;
                if traced.is_placed {
                    settled.insert((id, existence.0));
                }
            }
            Role::Again => settled.extend(existences.get(&id).map(|(existence, _)| (id, *existence))),
            Role::Gated | Role::Held => {}
        }
    }
    settled
}

/// The variance with which measurements whose errors last tell as much as they do together, `since` seconds after the
/// last: σ² coth(Δt/2T), as of [`Sensors::repetition`].
fn lasting_variance(std_m: f64, time_s: f64, since_s: f64) -> f64 {
    std_m * std_m / (0.5 * since_s.max(1e-3) / time_s).tanh()
}

/// A map that claims to be exact is taken to be so to a micrometre, m².
const LEAST_VARIANCE: f64 = 1e-12;

/// W with WᵀW = Σ⁻¹; `None` where Σ is no covariance.
fn root_of_information(covariance: &Matrix2<f64>) -> Option<Matrix2<f64>> {
    let information = (covariance + Matrix2::identity() * LEAST_VARIANCE).try_inverse()?;
    Some(information.cholesky()?.l().transpose())
}
