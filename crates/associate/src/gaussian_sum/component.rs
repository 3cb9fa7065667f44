//! A Gaussian over the pose and the calibration of the motion, and what a measurement makes of it.

use super::field_of_view::FieldOfView;
use super::measured::{Measured, difference};
use crate::thresholds::LIKELY;
use lienav_lie::{Se2, skew};
use lienav_map::{LandmarkMap, MapLandmark, SpatialHash};
use lienav_planar::calibration::MOTION;
use lienav_planar::motion::Increment;
use nalgebra::{Matrix2, Matrix3, SMatrix, SVector, Vector2};
use std::f64::consts::TAU;

/// Pose (x, y, θ), then the calibration of the motion.
const STATES: usize = 3 + MOTION;
/// A measurement may be of a landmark within this squared distance: 99.97 % of them are.
const GATE: f64 = 16.0;

/// The landmarks of the map, by place.
pub struct Landmarks {
    all: Vec<MapLandmark>,
    places: SpatialHash,
    largest_variance: f64,
}

impl Landmarks {
    /// Of a map that was checked.
    pub fn new(map: &LandmarkMap) -> Self {
        let places: Vec<Vector2<f64>> = map.landmarks.iter().map(|landmark| landmark.position).collect();
        let variances = map.landmarks.iter().map(|landmark| landmark.covariance.trace());
        let largest_variance = variances.fold(0.0, f64::max);
        Self { all: map.landmarks.clone(), places: SpatialHash::new(&places), largest_variance }
    }

    /// Those that a measurement may be of, wherever the robot is.
    pub fn like<'a>(&'a self, measured: &'a Measured) -> impl Iterator<Item = &'a MapLandmark> {
        self.all.iter().filter(|landmark| may_be(landmark, measured))
    }

    /// How many are in view from a pose.
    pub fn in_view(&self, pose: &Se2, view: &FieldOfView) -> usize {
        let mut count = 0;
        self.places.within(&pose.p, view.reach(), |k, _| {
            count += usize::from(view.has(&pose.transform_back(&self.all[k as usize].position)));
        });
        count
    }
}

/// Whether identity and class allow it.
fn may_be(landmark: &MapLandmark, measured: &Measured) -> bool {
    let has_class = landmark.class == 0 || measured.class == 0 || landmark.class == measured.class;
    has_class && measured.id.is_none_or(|id| id == landmark.id)
}

/// See the module. Errors are additive, of (x, y, θ) in the map frame and of the calibration.
#[derive(Clone, Debug)]
pub struct Component {
    pub pose: Se2,
    pub calibration: SVector<f64, MOTION>,
    pub covariance: SMatrix<f64, STATES, STATES>,
    pub log_weight: f64,
}

impl Component {
    /// At a pose, with the calibration that is known before the run: values and variances.
    pub fn new(
        pose: Se2,
        covariance: &Matrix3<f64>,
        (values, variances): &(SVector<f64, MOTION>, SVector<f64, MOTION>),
        log_weight: f64,
    ) -> Self {
        let mut whole = SMatrix::<f64, STATES, STATES>::zeros();
        whole.fixed_view_mut::<3, 3>(0, 0).copy_from(covariance);
        whole.fixed_view_mut::<MOTION, MOTION>(3, 3).set_diagonal(variances);
        Self { pose, calibration: *values, covariance: whole, log_weight }
    }

    /// The covariance of (x, y, θ).
    pub fn pose_covariance(&self) -> Matrix3<f64> {
        self.covariance.fixed_view::<3, 3>(0, 0).into_owned()
    }

    /// Moves it; `reference` is the calibration that the motion was computed with.
    pub fn propagate(&mut self, increment: &Increment, reference: &SVector<f64, MOTION>) {
        let mut motion = increment.motion;
        if let Some(drift) = &increment.drift {
            let change = drift.jacobian * (self.calibration - reference);
            motion = Se2 { p: motion.p + change.xy(), theta: motion.theta + change.z };
        }
        let moved = Increment { motion, ..*increment };
        let (of_pose, of_noise) = moved.pose_jacobians(&self.pose, &self.pose.p);
        let mut transition = SMatrix::<f64, STATES, STATES>::identity();
        transition.fixed_view_mut::<3, 3>(0, 0).copy_from(&of_pose);
        if let Some(drift) = &increment.drift {
            transition.fixed_view_mut::<3, MOTION>(0, 3).copy_from(&(of_noise * drift.jacobian));
        }
        self.covariance = transition * self.covariance * transition.transpose();
        let noise = of_noise * increment.covariance * of_noise.transpose();
        let mut block = self.covariance.fixed_view_mut::<3, 3>(0, 0);
        block += noise;
        self.pose = self.pose * motion;
    }

    /// Adds what this measurement makes of it: one component for each landmark that the measurement may be of, and one
    /// that leaves it out. `share` of the measurement is new, and `scale` has the density of measurements of no
    /// landmark, m⁻², and the probability that a measurement is of each landmark in view. Returns whether a landmark
    /// explains the measurement.
    pub fn branch(
        &self,
        landmarks: &Landmarks,
        measured: &Measured,
        share: f64,
        (of_none, of_each): (f64, f64),
        into: &mut Vec<Self>,
    ) -> bool {
        /// A landmark that a measurement is of with less than this probability makes no branch.
        const BRANCH: f64 = 1e-3;
        /// Nothing is looked for farther than this from where it should be, m: a component is no wider.
        const REACH_M: f64 = 4.0;
        let back = self.pose.rotation().transpose();
        let image = self.pose.transform(&measured.place);
        let lever = skew(&measured.place);
        let pose = self.pose_covariance();
        let spread = pose.m11 + pose.m22 + pose.m33 * lever.norm_squared();
        let spread = spread + measured.covariance.trace() + landmarks.largest_variance;
        let reach = (GATE * spread).sqrt().min(REACH_M);
        let first = into.len();
        let mut likelihoods: Vec<f64> = vec![of_none];
        into.push(self.clone());
        landmarks.places.within(&image, reach, |k, _| {
            let landmark = &landmarks.all[k as usize];
            if !may_be(landmark, measured) {
                return;
            }
            let expected = self.pose.transform_back(&landmark.position);
            let mut jacobian = SMatrix::<f64, 2, STATES>::zeros();
            jacobian.fixed_view_mut::<2, 2>(0, 0).copy_from(&-back);
            jacobian.fixed_view_mut::<2, 1>(0, 2).copy_from(&-skew(&expected));
            let of_state = self.covariance * jacobian.transpose();
            let prior = jacobian * of_state + back * landmark.covariance * back.transpose();
            let residual = measured.place - expected;
            let innovation = prior + measured.covariance;
            let Some(likelihood) = normal(&residual, &innovation) else { return };
            let Some(inverse) = (prior + measured.covariance / share).try_inverse() else { return };
            let gain = of_state * inverse;
            let correction = gain * residual;
            let mut child = self.clone();
            child.pose.p += correction.fixed_rows::<2>(0);
            child.pose.theta += correction[2];
            child.calibration += correction.fixed_rows::<MOTION>(3);
            let covariance = self.covariance - gain * of_state.transpose();
            child.covariance = 0.5 * (covariance + covariance.transpose());
            likelihoods.push(of_each * likelihood);
            into.push(child);
        });
        let total: f64 = likelihoods.iter().sum();
        let tempered: f64 = likelihoods.iter().map(|likelihood| likelihood.powf(share)).sum();
        let log_total = share * total.ln();
        let mut kept = first;
        for (k, likelihood) in likelihoods.iter().enumerate() {
            let part = likelihood.powf(share) / tempered;
            if part > BRANCH {
                into.swap(first + k, kept);
                into[kept].log_weight = self.log_weight + log_total + part.ln();
                kept += 1;
            }
        }
        into.truncate(kept);
        of_none < LIKELY * total
    }

    /// Becomes the mean and the covariance of both, if the other one is within the squared distance `near`.
    pub fn absorb(&mut self, other: &Self, near: f64) -> bool {
        let apart = difference(&other.pose, &self.pose);
        let pose = self.pose_covariance();
        // Cheap, and most pairs are far apart.
        if (0..3).any(|k| apart[k] * apart[k] > near * pose[(k, k)]) {
            return false;
        }
        let Some(inverse) = pose.try_inverse() else { return false };
        if apart.dot(&(inverse * apart)) > near {
            return false;
        }
        let share = 1.0 / (1.0 + (self.log_weight - other.log_weight).exp());
        let mut shift = SVector::<f64, STATES>::zeros();
        shift.fixed_rows_mut::<3>(0).copy_from(&apart);
        shift.fixed_rows_mut::<MOTION>(3).copy_from(&(other.calibration - self.calibration));
        self.covariance = (1.0 - share) * self.covariance
            + share * other.covariance
            + share * (1.0 - share) * shift * shift.transpose();
        self.pose.p += share * apart.xy();
        self.pose.theta += share * apart.z;
        self.calibration += share * shift.fixed_rows::<MOTION>(3);
        self.log_weight += (other.log_weight - self.log_weight).exp().ln_1p();
        true
    }
}

/// The density of a residual within its gate, m⁻².
fn normal(residual: &Vector2<f64>, covariance: &Matrix2<f64>) -> Option<f64> {
    let inverse = covariance.try_inverse()?;
    let squared = residual.dot(&(inverse * residual));
    (squared < GATE).then(|| (-0.5 * squared).exp() / (TAU * covariance.determinant().sqrt()))
}
