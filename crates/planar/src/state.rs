//! The state of a filter: pose, calibration, landmarks, and their joint covariance.

pub mod places;
pub mod points;
pub mod pose_clone;
mod tilt;
pub mod time_correlated;
pub mod untied;
pub mod waiting;

use crate::associated::Subject;
use crate::calibration::{Calibration, CalibrationEstimate};
use crate::chart::{Centre, Charts};
use crate::config::{CalibrationConfig, WorldFrame};
use crate::filter::Coordinates;
use crate::measurement::Mount;
use crate::motion::Increment;
use crate::sensor::Sensors;
use crate::state::pose_clone::PoseClone;
use crate::state::time_correlated::Offsets;
use crate::state::untied::Untied;
use crate::state::waiting::{AnchorPose, Waiting};
use lienav_base::stamp::Stamp;
use lienav_ekf::by_id::ById;
use lienav_ekf::covariance::{Covariance, POSE};
use lienav_ekf::validity::valid_covariance;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix1, Matrix2, Matrix2x3, Matrix3, Vector2};
use serde::{Deserialize, Serialize};

/// A landmark in the state.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StateLandmark {
    /// Its identity.
    pub id: u32,
    /// Its position, m: in the robot frame for robot coordinates, in the map otherwise.
    pub x: Vector2<f64>,
    /// The first estimate of `x`, where first-estimate linearization takes place; with observability-constrained
    /// linearization, that estimate as [`propagate`](super::propagate::propagate) has moved it.
    pub first: Vector2<f64>,
    /// The position of the robot in the map when it first saw the landmark, m; it moves with the map. Only charts that
    /// are centred there use it.
    pub anchor: Vector2<f64>,
    /// Whether its range was uncertain by more than a twentieth after the first measurement.
    pub is_vague: bool,
    /// When it was last used in an update.
    pub last_seen: Stamp,
    /// How many measurements went into it.
    #[serde(rename = "observations")]
    pub measurements: u32,
    /// When a scan last had a measurement that may be of it; only landmarks of a known map have that.
    pub wanted: Stamp,
    /// Whether it has been out of view since it was added, or was measured with a height. Its uncertainty then comes
    /// from the motion of the robot, or from roll and pitch, rather than from its range, and corrections use no chart.
    pub is_mapped: bool,
    /// Whether it is a point of an anchor pose, and no landmark.
    #[serde(default)]
    #[serde(rename = "is_viewpoint")]
    pub is_anchor_point: bool,
    /// Whether the part before has it, too: it stays in the filter while the part lasts. A filter that goes on from a
    /// file begins a part with nothing.
    #[serde(skip)]
    #[serde(rename = "is_begun")]
    pub is_inherited: bool,
    /// How many measurements in a row its gate has left out.
    #[serde(default)]
    #[serde(rename = "misfits")]
    pub outliers: u8,
    /// When the first of these was.
    #[serde(default = "StateLandmark::never")]
    #[serde(rename = "misfit_since")]
    pub outliers_since: Stamp,
}

impl StateLandmark {
    /// Before all times.
    fn never() -> Stamp {
        Stamp::MIN
    }

    /// Where its chart is centred, in the map, for a robot at `robot`.
    pub fn chart_origin(&self, charts: Charts, robot: &Vector2<f64>) -> Vector2<f64> {
        match charts.centre {
            Centre::FirstSight if self.is_vague => self.anchor,
            _ => *robot,
        }
    }

    /// Whether its measurements are linearized again where later scans place it: its range was vague when it was new,
    /// and it has not been out of view since.
    #[inline]
    pub fn is_relinearized(&self) -> bool {
        self.is_vague && !self.is_mapped
    }
}

/// Pose, calibration, landmarks and joint covariance. Errors are additive, (δp, δθ, δc, δx_1 … δx_N), except in
/// invariant coordinates, where they are (ξ, δc, e_1 … e_N), X_true = Exp(ξ)X̂, e_i = R(θ)δz_i.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// What the landmarks' coordinates are.
    pub coordinates: Coordinates,
    /// Whether landmarks are landmarks of a map that no measurement corrects. Their errors are then δp_i, those of
    /// their places in the map, in invariant coordinates, too; robot coordinates do not have frozen landmarks.
    pub is_frozen: bool,
    /// Pose of the base in the map.
    pub pose: Se2,
    /// The pose as it was predicted, before the last update: the first estimate of the newest pose.
    pub predicted: Se2,
    /// The estimated calibration of odometry and sensor.
    pub calibration: Calibration,
    /// The time-correlated errors of the measurements of the last landmarks.
    #[serde(default)]
    pub offsets: Offsets,
    /// The mounts and biases of the sensors, as calibrated.
    #[serde(skip)]
    pub mounts: Vec<Mount>,
    /// The landmarks, in no particular order.
    #[serde(rename = "features")]
    pub landmarks: Vec<StateLandmark>,
    /// The joint covariance of pose, calibration and landmarks, in this order.
    pub covariance: Covariance,
    /// Landmarks whose measurements do not tell yet where they are.
    #[serde(default)]
    pub waiting: Vec<Waiting>,
    /// Where the base was when they were read.
    #[serde(default)]
    #[serde(rename = "viewpoints")]
    pub anchor_poses: Vec<AnchorPose>,
    /// Where the base was, for motions that somebody wants to know.
    #[serde(default)]
    #[serde(rename = "marks")]
    pub pose_clones: Vec<PoseClone>,
    /// What is known of where the map lies in the world, while that is too little; `None` when the map is tied to it,
    /// or is in its frame.
    #[serde(default)]
    #[serde(rename = "tie")]
    pub georeference: Option<Untied>,
    #[serde(skip)]
    index: ById<usize>,
    /// The next identity that the filter gives. Restoring an earlier state does not reset it, so that no identity is
    /// given twice in the life of a map; [`State::reset`] begins another map.
    next_id: u32,
}

/// Why a saved state cannot be gone on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage(pub &'static str);

/// Identities that the filter gives to landmarks that come without one start here.
pub const FIRST_OWN_ID: u32 = 0x8000_0000;

impl State {
    /// A pose and no landmarks, with room for `capacity` of them.
    pub fn new(
        coordinates: Coordinates,
        (pose, covariance): (Se2, &Matrix3<f64>),
        config: &CalibrationConfig,
        sensors: &Sensors,
        capacity: usize,
    ) -> Self {
        let calibration = Calibration::new(config);
        let offsets = Offsets::new(sensors.slots(), calibration.active().len());
        let mut variances = calibration.variances(config);
        variances.resize(variances.len() + offsets.rows(), 1.0);
        let covariance = Covariance::new(&from_additive(coordinates, &pose, covariance), &variances, capacity);
        Self {
            coordinates,
            is_frozen: false,
            pose,
            predicted: pose,
            mounts: sensors.mounts(&calibration),
            calibration,
            offsets,
            landmarks: Vec::with_capacity(capacity),
            covariance,
            waiting: Vec::new(),
            anchor_poses: Vec::new(),
            pose_clones: Vec::new(),
            georeference: untied(config),
            index: ById::with_capacity_and_hasher(2 * capacity, Default::default()),
            next_id: FIRST_OWN_ID,
        }
    }

    /// Becomes a copy of another state, and keeps its allocations, and the next identity that it gives.
    pub fn copy_from(&mut self, other: &Self) {
        let Self {
            coordinates,
            is_frozen,
            pose,
            predicted,
            calibration,
            offsets,
            mounts,
            landmarks,
            covariance,
            waiting,
            anchor_poses,
            pose_clones,
            georeference,
            index,
            next_id: _,
        } = other;
        (self.coordinates, self.is_frozen, self.georeference) = (*coordinates, *is_frozen, *georeference);
        (self.pose, self.predicted) = (*pose, *predicted);
        self.calibration.copy_from(calibration);
        self.offsets.copy_from(offsets);
        self.mounts.clone_from(mounts);
        self.landmarks.clone_from(landmarks);
        self.covariance.copy_from(covariance);
        self.waiting.clone_from(waiting);
        self.anchor_poses.clone_from(anchor_poses);
        self.pose_clones.clone_from(pose_clones);
        self.index.clone_from(index);
    }

    /// Completes a state that was saved, whose mounts and index are not: those of `sensors`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn complete(&mut self, coordinates: Coordinates, prior: &Calibration, sensors: &Sensors) -> Result<(), Damage> {
        let is_finite = |v: &Vector2<f64>| v.iter().all(|x| x.is_finite());
        let are_finite = self.landmarks.iter().all(|f| is_finite(&f.x) && is_finite(&f.first) && is_finite(&f.anchor))
            && [self.pose, self.predicted].iter().all(|pose| is_finite(&pose.p) && pose.theta.is_finite());
        let is_whole = self.coordinates == coordinates
            && self.calibration.is_alike(prior)
            && self.covariance.features() == self.landmarks.len()
            && self.offsets.is_sound(self.calibration.active().len())
            && self.covariance.calibration() == self.calibration.active().len() + self.offsets.rows();
        if !is_whole {
            return Err(Damage("pose, features and covariance do not belong together"));
        }
        if !are_finite || !self.covariance.is_finite() {
            return Err(Damage("a number is not finite"));
        }
        self.mounts = sensors.mounts(&self.calibration);
        self.index = self.landmarks.iter().enumerate().map(|(i, landmark)| (landmark.id, i)).collect();
        if self.index.len() != self.landmarks.len() {
            return Err(Damage("two features share an identity"));
        }
        if !self.waiting.iter().all(|waiting| waiting.is_sound(sensors)) {
            return Err(Damage("a reading is of a sensor that there is not"));
        }
        Ok(())
    }

    /// Adds a correction of the calibration and of the time-correlated errors of measurements.
    #[inline]
    pub fn correct_calibration(&mut self, delta: &[f64]) {
        self.calibration.correct(delta);
        self.offsets.correct(&delta[self.calibration.active().len()..]);
        self.mounts.iter_mut().for_each(|mount| mount.calibrate(&self.calibration));
    }

    /// Sets the pose of the map in the world.
    #[inline]
    pub fn set_world(&mut self, world: &Se2) {
        self.calibration.set_world(world);
        self.mounts.iter_mut().for_each(|mount| mount.calibrate(&self.calibration));
    }

    /// The time-correlated error of positions in the world fades for this long, s, and a fresh one comes up.
    pub fn fade(&mut self, duration: f64) {
        let (std, time) = self.calibration.time_correlated();
        if std <= 0.0 || duration <= 0.0 {
            return;
        }
        let rho = (-duration / time).exp();
        for k in self.calibration.fade(rho) {
            self.covariance.scale_row(Covariance::calibration_row(k), rho);
            self.covariance.add_calibration_variance(k, std * std * (1.0 - rho * rho));
        }
        self.mounts.iter_mut().for_each(|mount| mount.calibrate(&self.calibration));
    }

    /// The subject of a match, by identity instead of index.
    pub fn identity(&self, subject: Subject<usize>) -> Subject<u32> {
        match subject {
            Subject::Landmark(i) => Subject::Landmark(self.landmarks[i].id),
            Subject::Pose => Subject::Pose,
        }
    }

    /// An identity for a landmark that came without one.
    pub fn new_identity(&mut self) -> u32 {
        let after = |id: u32| id.wrapping_add(1).max(FIRST_OWN_ID);
        while self.find(self.next_id).is_some() {
            self.next_id = after(self.next_id);
        }
        let id = self.next_id;
        self.next_id = after(id);
        id
    }

    /// The identity that would be given next, if no landmark has it.
    #[inline]
    pub fn next_identity(&self) -> u32 {
        self.next_id
    }

    /// Becomes a copy of another state with the next identity, too, and keeps its allocations.
    #[inline]
    pub fn become_like(&mut self, other: &Self) {
        self.copy_from(other);
        self.next_id = other.next_id;
    }

    /// Identities up to this one are not given from now on.
    #[inline]
    pub fn give_identities_after(&mut self, id: u32) {
        if id >= self.next_id {
            self.next_id = id.wrapping_add(1).max(FIRST_OWN_ID);
        }
    }

    /// The index of a landmark in [`State::landmarks`].
    #[inline]
    pub fn find(&self, id: u32) -> Option<usize> {
        self.index.get(&id).copied()
    }

    /// Appends a landmark with x = from_pose·(pose error) + e, Cov(e) = `own`.
    #[inline]
    pub fn append(&mut self, landmark: StateLandmark, from_pose: &Matrix2x3<f64>, own: &Matrix2<f64>) {
        self.covariance.append(from_pose, own);
        self.index.insert(landmark.id, self.landmarks.len());
        self.landmarks.push(landmark);
    }

    /// Whether some landmarks are points of anchor poses or marks.
    #[inline]
    pub fn has_points(&self) -> bool {
        !self.anchor_poses.is_empty() || !self.pose_clones.is_empty()
    }

    /// Whether the landmark with this identity is a point of an anchor pose or of a pose clone, and no landmark.
    #[inline]
    pub fn is_anchor_point(&self, id: u32) -> bool {
        self.has_points() && self.find(id).is_some_and(|i| self.landmarks[i].is_anchor_point)
    }

    /// How many landmarks are points of anchor poses.
    pub fn points(&self) -> usize {
        if !self.has_points() {
            return 0;
        }
        self.landmarks.iter().filter(|landmark| landmark.is_anchor_point).count()
    }

    /// Whether a landmark waits for its place.
    #[inline]
    pub fn is_waiting(&self, id: u32) -> bool {
        self.waiting.iter().any(|waiting| waiting.id == id)
    }

    /// Drops landmark `i`; the last one takes its place.
    pub fn swap_remove(&mut self, i: usize) {
        self.covariance.swap_remove(i);
        let gone = self.landmarks.swap_remove(i);
        self.index.remove(&gone.id);
        if let Some(moved) = self.landmarks.get(i) {
            self.index.insert(moved.id, i);
        }
    }

    /// Position of landmark `i` in the robot frame, z = R(θ)ᵀ(p_i − p) (Shen 2019, eq. (5.4)).
    pub fn in_robot(&self, i: usize) -> Vector2<f64> {
        match self.coordinates {
            Coordinates::World | Coordinates::Invariant => self.pose.transform_back(&self.landmarks[i].x),
            Coordinates::Robot => self.landmarks[i].x,
        }
    }

    /// Covariance of landmark `i` in the robot frame, of δz.
    pub fn relative_covariance(&self, i: usize) -> Matrix2<f64> {
        let own = self.covariance.landmark_block(i, i);
        let back = self.pose.rotation().transpose();
        match self.coordinates {
            Coordinates::Robot => own,
            Coordinates::Invariant if !self.is_frozen => back * own * back.transpose(),
            Coordinates::Invariant | Coordinates::World => {
                let arm = match self.coordinates {
                    Coordinates::Invariant => self.landmarks[i].x,
                    _ => self.landmarks[i].x - self.pose.p,
                };
                let by_pose = -back * lever(&arm);
                let cross: Matrix2<f64> = by_pose * self.covariance.cross_block(i).transpose() * back.transpose();
                let of_pose = by_pose * self.covariance.pose_block() * by_pose.transpose();
                of_pose + cross + cross.transpose() + back * own * back.transpose()
            }
        }
    }

    /// The trace of [`State::relative_covariance`], m².
    pub fn relative_spread(&self, i: usize) -> f64 {
        match self.coordinates {
            Coordinates::Invariant if self.is_frozen => self.relative_covariance(i).trace(),
            Coordinates::World => self.relative_covariance(i).trace(),
            Coordinates::Robot | Coordinates::Invariant => {
                let row = self.covariance.row_of(i);
                self.covariance.get(row, row) + self.covariance.get(row + 1, row + 1)
            }
        }
    }

    /// ∂(δp, δθ)/∂(error of the pose).
    pub fn pose_error(&self) -> Matrix3<f64> {
        match self.coordinates {
            Coordinates::World | Coordinates::Robot => Matrix3::identity(),
            Coordinates::Invariant => additive_from_left(&self.pose.p),
        }
    }

    /// Covariance of (p, θ) − (p̂, θ̂).
    pub fn pose_covariance(&self) -> Matrix3<f64> {
        let block = self.covariance.pose_block();
        match self.coordinates {
            Coordinates::World | Coordinates::Robot => block,
            Coordinates::Invariant => {
                let m = additive_from_left(&self.pose.p);
                m * block * m.transpose()
            }
        }
    }

    /// Whether the covariances of the pose and of each landmark, and the variances of all other rows, are valid. It
    /// does not look at what rows have in common beyond that.
    pub fn is_valid(&self) -> bool {
        let p = &self.covariance;
        valid_covariance(&self.pose_covariance()).is_some()
            && (POSE..p.row_of(0)).all(|row| valid_covariance(&Matrix1::new(p.get(row, row))).is_some())
            && (0..p.features()).all(|i| valid_covariance(&p.landmark_block(i, i)).is_some())
    }

    /// The estimate of each calibration parameter in the state.
    pub fn calibration_estimates(&self) -> impl Iterator<Item = CalibrationEstimate> + '_ {
        self.calibration.active().iter().enumerate().map(|(k, &parameter)| {
            let row = Covariance::calibration_row(k);
            let std = self.covariance.get(row, row).max(0.0).sqrt();
            CalibrationEstimate { parameter, value: self.calibration.get(parameter), std }
        })
    }

    /// The pose after one more motion, and its covariance. The covariance includes the errors of calibration and their
    /// correlation with the pose.
    pub fn carried(&self, increment: &Increment) -> (Se2, Matrix3<f64>) {
        let (pose, mut covariance) = increment.carry(&self.pose, &self.pose_covariance());
        if let Some(drift) = &increment.drift {
            let (transition, noise) = increment.pose_jacobians(&self.pose, &self.pose.p);
            let to_additive = match self.coordinates {
                Coordinates::World | Coordinates::Robot => transition,
                Coordinates::Invariant => transition * additive_from_left(&self.pose.p),
            };
            let effect = noise * drift.jacobian;
            for (k, column) in self.calibration.motion() {
                let spread = effect.column(column) * (to_additive * self.covariance.pose_calibration(k)).transpose();
                covariance += spread + spread.transpose();
                for (l, other) in self.calibration.motion() {
                    let shared = self.covariance.get(Covariance::calibration_row(k), Covariance::calibration_row(l));
                    covariance += effect.column(column) * effect.column(other).transpose() * shared;
                }
            }
        }
        (pose, covariance)
    }

    /// How many rows an update corrects: those of frozen landmarks it does not.
    #[inline]
    pub fn open_rows(&self) -> usize {
        if self.is_frozen { self.covariance.row_of(0) } else { self.covariance.dim() }
    }

    /// Sets the pose, and moves the map with it: the estimate of the landmarks relative to the robot stays, and the
    /// estimate of the pose is replaced.
    pub fn set_pose(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        match self.coordinates {
            Coordinates::Robot => self.covariance.replace_pose(covariance),
            Coordinates::Invariant => {
                let motion = pose * self.pose.inverse();
                self.covariance.change_landmarks(&motion.rotation(), |_| Matrix2x3::zeros());
                self.covariance.replace_pose(&from_additive(self.coordinates, &pose, covariance));
                for landmark in &mut self.landmarks {
                    landmark.x = motion.transform(&landmark.x);
                    landmark.anchor = motion.transform(&landmark.anchor);
                }
            }
            Coordinates::World => {
                // Through the robot's coordinates (Shen 2019, eq. (5.23)) and back.
                let z: Vec<Vector2<f64>> = (0..self.landmarks.len()).map(|i| self.in_robot(i)).collect();
                let back = self.pose.rotation().transpose();
                self.covariance.change_landmarks(&back, |i| {
                    let l = skew(&z[i]);
                    Matrix2x3::new(-back[(0, 0)], -back[(0, 1)], -l.x, -back[(1, 0)], -back[(1, 1)], -l.y)
                });
                self.covariance.replace_pose(covariance);
                let r = pose.rotation();
                self.covariance.change_landmarks(&r, |i| lever(&(r * z[i])));
                for (landmark, z) in self.landmarks.iter_mut().zip(&z) {
                    landmark.x = pose.transform(z);
                    landmark.first = landmark.x;
                }
            }
        }
        self.pose = pose;
        self.predicted = pose;
    }

    /// Removes all landmarks, sets the pose, and restores the prior of the calibration.
    pub fn reset(&mut self, pose: Se2, covariance: &Matrix3<f64>, config: &CalibrationConfig) {
        self.landmarks.clear();
        self.waiting.clear();
        self.anchor_poses.clear();
        self.pose_clones.clear();
        self.georeference = untied(config);
        self.index.clear();
        self.next_id = FIRST_OWN_ID;
        let tilt = self.calibration.tilt().copied();
        self.calibration = Calibration::new(config);
        self.calibration.set_tilt(tilt);
        self.mounts.iter_mut().for_each(|mount| mount.calibrate(&self.calibration));
        let mut variances = self.calibration.variances(config);
        variances.resize(variances.len() + self.offsets.rows(), 1.0);
        self.forget_offsets();
        self.covariance.reset(&from_additive(self.coordinates, &pose, covariance), &variances);
        self.pose = pose;
        self.predicted = pose;
    }
}

/// The map is tied to the world by the first measurements from there, where that is to be estimated.
fn untied(config: &CalibrationConfig) -> Option<Untied> {
    (config.world.frame == WorldFrame::Estimated).then(Untied::default)
}

/// [I, J l]: the displacement of a point at l by a translation and a rotation of its frame.
#[inline]
pub fn lever(l: &Vector2<f64>) -> Matrix2x3<f64> {
    let turned = skew(l);
    Matrix2x3::new(1.0, 0.0, turned.x, 0.0, 1.0, turned.y)
}

/// δp = ξ_p + Jp ξ_θ, δθ = ξ_θ.
#[inline]
pub fn additive_from_left(p: &Vector2<f64>) -> Matrix3<f64> {
    let turned = skew(p);
    Matrix3::new(1.0, 0.0, turned.x, 0.0, 1.0, turned.y, 0.0, 0.0, 1.0)
}

/// A covariance of (δp, δθ) in the error coordinates of the state.
fn from_additive(coordinates: Coordinates, pose: &Se2, covariance: &Matrix3<f64>) -> Matrix3<f64> {
    match coordinates {
        Coordinates::World | Coordinates::Robot => *covariance,
        Coordinates::Invariant => {
            let m = additive_from_left(&-pose.p);
            m * covariance * m.transpose()
        }
    }
}
