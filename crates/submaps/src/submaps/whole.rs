//! The map of all submaps: as it is shown, and as it is saved.

use super::landmark::Seen;
use super::{Goes, Submaps, Worker};
use lienav_lie::Se2;
use lienav_slam::identity::Identification;
use lienav_slam::{Landmark, MapLandmark, Slam};
use nalgebra::{Matrix2, Matrix2x3, Vector2};

impl Submaps {
    /// The landmarks of the solution in force, with their covariances in the map frame.
    pub fn landmarks(&self) -> Vec<Landmark> {
        let Some(solution) = &self.solution else { return Vec::new() };
        let covariances = solution.covariances.clone().unwrap_or_else(|| solution.landmark_covariances());
        let places = solution.landmarks.iter().zip(covariances).enumerate();
        places.filter_map(|(number, (position, covariance))| self.landmark(number, *position, covariance?)).collect()
    }

    /// The landmark with this number, unless it is another one by now.
    fn landmark(&self, number: usize, position: Vector2<f64>, covariance: Matrix2<f64>) -> Option<Landmark> {
        let Seen { id, last_seen, measurements, .. } = self.seen[number];
        let is_there = self.numbers.get(&id) == Some(&number);
        is_there.then_some(Landmark { id, position, covariance, last_seen, measurements })
    }

    /// All landmarks as they are known now, to be shown: those of the solution in force as it has them, and those that
    /// came since where the submaps after it have them. Of these the covariance is that of the robot's pose, carried to
    /// them, and in the open submap with that of the landmark as seen from the robot: about right. Costs what the
    /// number of landmarks says where the submaps are solved by [`Worker::Thread`]; in place, covariances are computed
    /// anew.
    pub fn known(&self, slam: &Slam) -> Vec<Landmark> {
        let mut known = self.landmarks();
        let solved = self.solution.as_ref().map_or(0, |solution| solution.landmarks.len());
        let (Some(estimate), Some(local)) = (&self.estimate, slam.local()) else { return known };
        let robot = estimate.pose;
        let carried = |position: &Vector2<f64>| {
            let arm = position - robot.p;
            let lever = Matrix2x3::new(1.0, 0.0, -arm.y, 0.0, 1.0, arm.x);
            lever * estimate.covariance * lever.transpose()
        };
        let closed = self.problem.landmarks.iter().enumerate().skip(solved);
        known.extend(closed.filter_map(|(number, place)| self.landmark(number, *place, carried(place))));
        let from_part = robot * local.pose().inverse();
        let is_new = |i: &usize| local.is_landmark(*i) && !self.numbers.contains_key(&local.id(*i));
        let turn = robot.rotation();
        known.extend((0..local.len()).filter(is_new).map(|i| {
            let position = from_part.transform(&local.place(i));
            let seen = turn * local.of_landmarks(i, i) * turn.transpose();
            let (last_seen, measurements) = (local.last_seen(i), local.measurements(i));
            Landmark { id: local.id(i), position, covariance: carried(&position) + seen, last_seen, measurements }
        }));
        known
    }

    /// These landmarks as those of a map.
    pub(super) fn with_classes(&self, landmarks: &[Landmark]) -> Vec<MapLandmark> {
        let class_of = |id: u32| self.numbers.get(&id).map_or(0, |number| self.seen[*number].class);
        landmarks.iter().map(|landmark| MapLandmark { class: class_of(landmark.id), ..landmark.into() }).collect()
    }

    /// How many landmarks there are, in closed submaps and in the open one.
    pub fn count(&self, slam: &Slam) -> usize {
        let Some(local) = slam.local() else { return self.seen.len() };
        let is_new = |i: &usize| local.is_landmark(*i) && !self.numbers.contains_key(&local.id(*i));
        self.seen.len() + (0..local.len()).filter(is_new).count()
    }

    /// All submaps as they are now, the open one with them, for a map that is made of them elsewhere: in the thread
    /// that saves it. The filter and its submaps go on as if nothing had been asked.
    pub fn snapshot(&self, slam: &Slam) -> Snapshot {
        let mut copy = Self {
            worker: Worker::InPlace,
            start: self.start.clone(),
            problem: self.problem.clone(),
            numbers: self.numbers.clone(),
            seen: self.seen.clone(),
            recognised: self.recognised.clone(),
            inherited: self.inherited.clone(),
            coupling: self.coupling.clone(),
            recent: self.recent.clone(),
            merged: Vec::new(),
            near: self.near.clone(),
            index: self.index.clone(),
            solution: self.solution.clone(),
            solving: None,
            asking: None,
            solved: None,
            answer: None,
            old: None,
            workspace: self.workspace.clone(),
            identification: Identification::default(),
            status: self.status.clone(),
            ..*self
        };
        if let Some(local) = slam.local().filter(|local| !local.is_empty() || local.pose() != Se2::identity()) {
            // Where it cannot be closed, the map is that of the submaps before.
            copy.close(&local, Goes::Nowhere);
        }
        (copy.solving, copy.asking) = (None, None);
        Snapshot(Box::new(copy))
    }
}

/// All submaps at one instant, [`Submaps::snapshot`].
pub struct Snapshot(pub(super) Box<Submaps>);
