//! A run as one least-squares problem.

use super::motion::{Motion, MotionModel, whitening};
use super::normal::{Normal, Row, WIDTH, columns};
use super::order::Order;
use super::sight::Sight;
use super::{Calibration, Loss, Settings};
use crate::filter::{Config, NoiseAt, Role, Sensor, StereoModel, Trace};
use crate::lie::{Se2, wrap_angle};
use nalgebra::{DVector, Matrix3, SMatrix, Vector2, Vector3};
use std::collections::HashMap;

/// Everything that is known.
pub struct Problem {
    sensor: Sensor,
    model: MotionModel,
    loss: Loss,
    /// Standard deviations.
    calibration_prior: Option<Calibration>,
    prior: Prior,
    /// One from each pose to the next.
    motions: Vec<Motion>,
    sights: Vec<Sight>,
    /// Where the unknowns are.
    pub order: Order,
    /// The identity of each feature.
    pub identities: Vec<u32>,
    /// The pose of the first cloud: 0, or 1 where the robot had moved by then.
    pub first_step: usize,
}

/// What is estimated.
#[derive(Clone, Debug)]
pub struct Unknowns {
    /// The start, where the robot moved before the first cloud, and the pose of each cloud.
    pub poses: Vec<Se2>,
    /// Features in the map, m.
    pub landmarks: Vec<Vector2<f64>>,
    /// Zero where it is not estimated.
    pub calibration: Calibration,
}

/// What is known of the first pose.
enum Prior {
    Known,
    Normal { pose: Se2, whitening: Matrix3<f64> },
}

impl Problem {
    /// The problem of a traced run, and the filter's estimates as a first guess. `None` of a run without clouds.
    pub fn new(trace: &Trace, config: &Config, settings: &Settings) -> Option<(Self, Unknowns)> {
        let model = MotionModel { config: config.motion.clone(), discretization: settings.discretization };
        let moved_first = !trace.steps.first()?.segments.is_empty();
        let mut poses = if moved_first { vec![config.initial.pose()] } else { Vec::new() };
        let (mut landmarks, mut identities, mut sights, mut motions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut landmark_of = HashMap::new();
        for step in &trace.steps {
            if !poses.is_empty() {
                motions.push(Motion::new(&step.segments, &model));
            }
            for sighting in &step.sightings {
                if sighting.role == Role::First {
                    landmark_of.insert(sighting.feature, landmarks.len());
                    landmarks.push(sighting.position);
                    identities.push(sighting.feature);
                }
                let Some(&landmark) = landmark_of.get(&sighting.feature) else { continue };
                if sighting.role == Role::Gated && settings.loss == Loss::Squares {
                    continue;
                }
                // The filter's latest word on a feature is its best.
                landmarks[landmark] = sighting.position;
                sights.push(Sight { pose: poses.len(), landmark, reading: sighting.reading, kind: step.kind });
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
        let known = matches!(prior, Prior::Known);
        let order = Order::new(poses.len(), landmarks.len(), &sights, known, settings.calibration.is_some());
        let problem = Self {
            sensor: Sensor::new(&config.sensor, NoiseAt::Predicted, StereoModel::Bearings),
            model,
            loss: settings.loss,
            calibration_prior: settings.calibration,
            prior,
            motions,
            sights,
            order,
            identities,
            first_step: usize::from(moved_first),
        };
        Some((problem, Unknowns { poses, landmarks, calibration: Calibration::default() }))
    }

    /// Numbers that are measured less numbers that are estimated: what χ² of the solution should be about.
    pub fn degrees_of_freedom(&self) -> usize {
        let priors = if matches!(self.prior, Prior::Known) { 0 } else { 3 } + 4 * usize::from(self.calibrated());
        (3 * self.motions.len() + 2 * self.sights.len() + priors).saturating_sub(self.order.columns)
    }

    fn calibrated(&self) -> bool {
        self.calibration_prior.is_some()
    }

    /// What is minimised: χ², where the loss is that of squares.
    pub fn cost(&self, at: &Unknowns) -> f64 {
        let calibration = self.calibrated().then_some(&at.calibration);
        let motions = self.motions.iter().zip(at.poses.windows(2));
        let motions = motions.map(|(m, pair)| m.residual(&pair[0], &pair[1], calibration, &self.model).norm_squared());
        let sights = self.sights.iter().filter_map(|sight| {
            let (pose, landmark) = (&at.poses[sight.pose], &at.landmarks[sight.landmark]);
            sight.cost(&self.sensor, pose, landmark, calibration, self.loss)
        });
        let priors = self.prior_row(at).map_or(0.0, |row| row.residual.norm_squared())
            + self.calibration_row(at).map_or(0.0, |row| row.residual.norm_squared());
        motions.sum::<f64>() + sights.sum::<f64>() + priors
    }

    /// The normal equations around a guess. Their pattern is always the same.
    pub fn normal(&self, at: &Unknowns) -> Normal {
        let mut normal = Normal::new(self.order.columns);
        let calibration = self.calibrated().then_some(&at.calibration);
        for (k, motion) in self.motions.iter().enumerate() {
            let row = motion.linearize(&at.poses[k], &at.poses[k + 1], calibration, &self.model);
            let (a, b) = (self.order.poses[k], self.order.poses[k + 1]);
            normal.add(&row, &columns(a, b, 3, self.order.calibration));
        }
        for sight in &self.sights {
            let (pose, landmark) = (&at.poses[sight.pose], &at.landmarks[sight.landmark]);
            let nothing = Row { residual: Vector2::zeros(), jacobian: SMatrix::zeros() };
            let row = sight.linearize(&self.sensor, pose, landmark, calibration, self.loss).unwrap_or(nothing);
            let (pose, landmark) = (self.order.poses[sight.pose], self.order.landmarks[sight.landmark]);
            normal.add(&row, &columns(pose, Some(landmark), 2, self.order.calibration));
        }
        if let Some(row) = self.prior_row(at) {
            normal.add(&row, &columns(self.order.poses[0], None, 0, None));
        }
        if let Some(row) = self.calibration_row(at) {
            normal.add(&row, &columns(None, None, 0, self.order.calibration));
        }
        normal
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

    fn calibration_row(&self, at: &Unknowns) -> Option<Row<4>> {
        let precision = self.calibration_prior?.to_vector().map(f64::recip);
        let mut jacobian = SMatrix::<f64, 4, WIDTH>::zeros();
        jacobian.fixed_view_mut::<4, 4>(0, 6).set_diagonal(&precision);
        Some(Row { residual: at.calibration.to_vector().component_mul(&precision), jacobian })
    }

    /// X ← X Exp(ξ), p ← p + δ, c ← c + δ.
    pub fn retract(&self, at: &Unknowns, step: &DVector<f64>) -> Unknowns {
        let mut next = at.clone();
        for (pose, column) in next.poses.iter_mut().zip(&self.order.poses) {
            if let Some(column) = *column {
                *pose = *pose * Se2::exp(&step.fixed_rows::<3>(column).into_owned());
            }
        }
        for (landmark, &column) in next.landmarks.iter_mut().zip(&self.order.landmarks) {
            *landmark += step.fixed_rows::<2>(column);
        }
        if let Some(column) = self.order.calibration {
            next.calibration = Calibration::from_vector(&(at.calibration.to_vector() + step.fixed_rows::<4>(column)));
        }
        next
    }
}

/// ∂(x, y, θ)/∂ξ of X Exp(ξ): blockdiag(R(θ), 1).
pub fn map_from_body(pose: &Se2) -> Matrix3<f64> {
    let (s, c) = pose.theta.sin_cos();
    Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
}
