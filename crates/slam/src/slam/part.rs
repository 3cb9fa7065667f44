//! The map of what is near, reinitialized where the robot is: for a map in parts.

use crate::estimator::Estimator;
use crate::slam::{Slam, outgrown};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::filter::Coordinates;
use lienav_planar::output::PoseEstimate;
use lienav_planar::state::{FIRST_OWN_ID, State};
use nalgebra::{DMatrix, Matrix2, Matrix2x3, Matrix3, Vector2};

/// A candidate that was read so often may be compared with older landmarks.
const SEEN: u32 = 2;

/// What an invariant filter knows, in its own errors: ξ of the pose, X = Exp(ξ)X̂, and e_i = R(θ̂)(z_i − ẑ_i) of each
/// landmark, z_i the landmark as seen from the robot. To first order, a landmark in the frame of the filter is off by
/// \[I, J p_i\]ξ + e_i.
#[derive(Clone, Copy)]
pub struct LocalMap<'a> {
    state: &'a State,
    estimator: &'a Estimator,
}

impl LocalMap<'_> {
    /// X̂.
    pub fn pose(&self) -> Se2 {
        self.state.pose
    }

    /// Whether the last scans are linearized again when more have come, because a range in them is vague: what is
    /// known of its landmarks is not yet what it will be.
    pub fn is_unsettled(&self) -> bool {
        self.estimator.is_unsettled()
    }

    /// How many landmarks there are.
    pub fn len(&self) -> usize {
        self.state.landmarks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.state.landmarks.is_empty()
    }

    /// Which landmark has this identity.
    pub fn find(&self, id: u32) -> Option<usize> {
        self.state.find(id)
    }

    /// The identity of landmark `i`.
    pub fn id(&self, i: usize) -> u32 {
        self.state.landmarks[i].id
    }

    /// Whether the identity of landmark `i` came with its measurements, and was not given by the filter.
    pub fn has_given_identity(&self, i: usize) -> bool {
        self.id(i) < FIRST_OWN_ID
    }

    /// Whether landmark `i` counts as a landmark, and is not a candidate.
    pub fn is_landmark(&self, i: usize) -> bool {
        self.estimator.is_landmark(self.id(i))
    }

    /// The class of landmark `i`, if it has no identity; 0 where it is not known.
    pub fn class(&self, i: usize) -> u32 {
        self.estimator.class(self.id(i))
    }

    /// Whether landmark `i`, without identity, was read lately and more than once: it may be an older landmark.
    pub fn is_recent(&self, i: usize) -> bool {
        let memory = self.estimator.memory();
        let is_sure = |is_confirmed: bool| is_confirmed || self.measurements(i) >= SEEN;
        memory
            .existence(self.id(i))
            .is_some_and(|existence| memory.is_recent(existence) && is_sure(existence.is_confirmed))
    }

    /// The probability that landmark `i` is a landmark.
    pub fn existence_probability(&self, i: usize) -> f64 {
        self.estimator.memory().existence_probability(self.id(i))
    }

    /// The probability that a landmark without identity at `z` in the robot frame, m, is read, as was learned.
    pub fn detection(&self, z: &Vector2<f64>) -> f64 {
        self.estimator.memory().rates.detection(z)
    }

    /// How many landmarks without identity there are by area, 1/m², as was learned.
    pub fn landmark_density(&self) -> f64 {
        self.estimator.memory().rates.landmark_density()
    }

    /// The squared distances of two numbers within which a measurement without identity is of a landmark, and beyond
    /// which it is of none.
    pub fn gates(&self) -> [f64; 2] {
        self.estimator.model.gate.associated(2)
    }

    /// When landmark `i` was last used.
    pub fn last_seen(&self, i: usize) -> Stamp {
        self.state.landmarks[i].last_seen
    }

    /// How many measurements of landmark `i` were used.
    pub fn measurements(&self, i: usize) -> u32 {
        self.state.landmarks[i].measurements
    }

    /// The place of landmark `i` in the frame of the filter, m.
    pub fn place(&self, i: usize) -> Vector2<f64> {
        self.state.landmarks[i].x
    }

    /// Cov(ξ).
    pub fn of_pose(&self) -> Matrix3<f64> {
        self.state.covariance.pose_block()
    }

    /// Cov(e_i, ξ).
    pub fn with_pose(&self, i: usize) -> Matrix2x3<f64> {
        self.state.covariance.cross_block(i)
    }

    /// Cov(e_i, e_k).
    #[inline]
    pub fn of_landmarks(&self, i: usize, k: usize) -> Matrix2<f64> {
        self.state.covariance.landmark_block(i, k)
    }

    /// The covariance of ξ and of the e_i of these landmarks, in their order.
    pub fn covariance(&self, landmarks: &[usize]) -> DMatrix<f64> {
        let p = &self.state.covariance;
        let rows: Vec<usize> = (0..3).chain(landmarks.iter().flat_map(|i| [p.row_of(*i), p.row_of(*i) + 1])).collect();
        DMatrix::from_fn(rows.len(), rows.len(), |i, j| p.get(rows[i], rows[j]))
    }
}

impl Slam {
    /// Whether the map is full, or larger than one covariance is good for, and is to go on in submaps, as `map.when_full`
    /// says, and can: between two steps, while the robot is not searched for.
    pub fn is_outgrown(&self) -> bool {
        let state = &self.estimator.state;
        let is_full = || outgrown::is(&self.config.map, state.landmarks.len() - state.points());
        let is_idle = || self.search.global.is_none() && !self.is_recovering() && !self.is_between();
        self.may_outgrow_one() && is_full() && is_idle()
    }

    /// Whether the map is one, and may go on in submaps when it is full.
    pub fn may_outgrow_one(&self) -> bool {
        outgrown::may_be(&self.config.map) && self.local().is_some()
    }

    /// From now on, the map is made in submaps: what the filter has is the open one, which `lienav-submaps` closes. What
    /// was kept to go back to earlier scans is forgotten.
    pub fn continue_in_submaps(&mut self) {
        self.of_submaps.has_outgrown_one = true;
        self.config.map = outgrown::in_submaps(&self.config.map);
        self.estimator.reconfigure(&self.config);
        self.keep_motions(&[]);
        self.forget_sum();
        self.stay();
    }

    /// What the filter knows, in its own errors; `None` of a filter whose coordinates are not invariant, or whose
    /// landmarks are frozen.
    pub fn local(&self) -> Option<LocalMap<'_>> {
        let state = &self.estimator.state;
        let is_invariant = state.coordinates == Coordinates::Invariant && !state.is_frozen;
        is_invariant.then_some(LocalMap { state, estimator: &self.estimator })
    }

    /// Begins a map in the frame of the robot, as it stands: its pose is the identity from now on, exactly, and no
    /// landmark is known. Identities that the filter has given are not given again; input that waits goes on waiting,
    /// and what was learned of noise stays. Meant between two steps, as [`Slam::poll`] gives them.
    pub fn start_submap(&mut self) {
        self.estimator.start_submap();
        self.stay();
        self.look_ahead();
    }

    /// The same, but landmarks that `keeps` says of, by identity, stay: where they are as seen from the robot, with
    /// what is known of that and of how it depends on noise that lasts and on calibration. What is forgotten is the
    /// error of the pose, which is exact from now on, and the landmarks that do not stay.
    pub fn start_submap_with(&mut self, keeps: impl Fn(u32) -> bool) {
        self.estimator.start_submap_with(keeps);
        self.stay();
        self.look_ahead();
    }

    /// This landmark without identity is a landmark, however often it was read: the caller knows it from elsewhere.
    pub fn confirm(&mut self, id: u32) {
        self.estimator.confirm(id);
    }

    /// Landmarks that come without identity are given one after `id` from now on: closed parts have landmarks up to it.
    pub fn give_identities_after(&mut self, id: u32) {
        self.estimator.state.give_identities_after(id);
    }

    /// `at` carried along the motion that follows the last step, to the newest odometry: what [`Slam::predicted`] is of
    /// the pose that the filter has itself. Without the errors of calibration.
    pub fn carried_ahead(&self, at: &PoseEstimate) -> Option<PoseEstimate> {
        let ahead = self.predicted()?;
        let increment = self.estimator.pending().then(&self.odometry.ahead);
        let (pose, covariance) = increment.carry(&at.pose, &at.covariance);
        Some(PoseEstimate { pose, covariance, ..ahead })
    }
}

impl Estimator {
    /// Forgets the landmarks, and makes the pose the origin.
    pub(super) fn start_submap(&mut self) {
        self.settle();
        self.forget_scans();
        (0..self.state.landmarks.len()).rev().for_each(|i| self.state.swap_remove(i));
        self.state.covariance.replace_pose(&Matrix3::zeros());
        self.state.forget_offsets();
        (self.state.pose, self.state.predicted) = (Se2::identity(), Se2::identity());
    }

    /// Forgets the landmarks that do not stay, and makes the pose the origin.
    fn start_submap_with(&mut self, keeps: impl Fn(u32) -> bool) {
        self.settle();
        self.forget_past();
        for i in (0..self.state.landmarks.len()).rev() {
            let id = self.state.landmarks[i].id;
            let stays = keeps(id);
            self.state.landmarks[i].is_inherited = stays && self.is_landmark(id);
            if !stays && !self.state.landmarks[i].is_anchor_point {
                self.state.swap_remove(i);
            }
        }
        self.state.set_pose(Se2::identity(), &Matrix3::zeros());
    }
}
