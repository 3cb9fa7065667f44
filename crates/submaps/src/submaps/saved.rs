//! All submaps as they are saved, and gone on from: in another process, on another day.

use super::landmark::Seen;
use super::{Snapshot, SolveError, Submaps, Worker};
use crate::ask::near;
use crate::problem::{NEARLY, Placed, Problem, Start};
use crate::submap::{Gaussian, LEAST_STD, Submap};
use crate::symmetric::Symmetric;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::{Conditional, LandmarkMap, MapLandmark, NearCovariances, Slam, WorldFrame};
use nalgebra::{DMatrix, Matrix2, Matrix3, Vector2};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// So many landmarks of a map with a joint covariance become one submap.
const JOINT: usize = 1000;

/// All submaps of a map, closed, and where its landmarks are: what [`Submaps::resume`] goes on with. Plain data, for
/// serde; numbers come back bit for bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedSubmaps {
    start: Start,
    #[serde(rename = "parts")]
    submaps: Vec<SavedSubmap>,
    bases: Vec<Se2>,
    pub(super) landmarks: Vec<SavedLandmark>,
    closed: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedSubmap {
    /// X̂.
    exit: Se2,
    /// x and y of each landmark as estimated from the base, m.
    #[serde(with = "lienav_base::bits")]
    places: Vec<f64>,
    /// The lower triangle of P⁻¹, column by column.
    #[serde(with = "lienav_base::bits")]
    information: Vec<f64>,
    /// The number of each landmark.
    landmarks: Vec<usize>,
    /// The number of the pose that it begins at.
    begins: Option<usize>,
    /// The number of the pose at its end.
    ends: usize,
    /// Whether the submap behind it says what is known of the landmarks that both share, and this one the rest given
    /// these. Files of before do not say; then it may be so.
    #[serde(default = "of_any")]
    is_given: bool,
    /// Whether it is known from outside; files of before do not say.
    #[serde(default)]
    is_outside: Option<bool>,
    /// Whether it begins at the frame of the world.
    #[serde(default)]
    is_of_world: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedLandmark {
    pub position: Vector2<f64>,
    pub seen: Seen,
    /// Whether it is what its identity stands for: not one that has moved, or that was recognised as another one.
    pub is_current: bool,
}

/// Why saved submaps cannot be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeSubmapsError {
    /// What was saved does not belong together.
    #[error("the parts of the map are damaged: {0}; its landmarks can be used as a map, or an older copy")]
    Damaged(&'static str),
    /// They have no least squares estimate.
    #[error("the parts of the map cannot be joined: {0}; its landmarks can be used as a map, or an older copy")]
    Solve(#[from] SolveError),
    /// The map has more landmarks than the settings allow.
    #[error("the map has {landmarks} landmarks, and parameter 'map.max_features' is {most}: raise it")]
    TooManyLandmarks {
        /// In the map.
        landmarks: usize,
        /// Allowed.
        most: usize,
    },
}

/// A map that is saved.
#[derive(Clone, Debug)]
pub struct WholeMap {
    /// Its landmarks, with their covariances in the map frame.
    pub landmarks: Vec<MapLandmark>,
    /// Its submaps.
    pub submaps: SavedSubmaps,
}

impl Snapshot {
    /// The least squares estimate of all submaps.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve(self) -> Result<WholeMap, SolveError> {
        let Self(mut submaps) = self;
        submaps.solve_fully()?;
        let landmarks = submaps.with_classes(&submaps.landmarks());
        Ok(WholeMap { landmarks, submaps: submaps.save() })
    }
}

impl Submaps {
    /// All closed submaps.
    fn save(&self) -> SavedSubmaps {
        let landmark = |(number, (seen, position)): (usize, (&Seen, &Vector2<f64>))| SavedLandmark {
            position: *position,
            seen: *seen,
            is_current: self.numbers.get(&seen.id) == Some(&number),
        };
        SavedSubmaps {
            start: self.problem.start.clone(),
            submaps: self.problem.submaps.iter().map(SavedSubmap::of).collect(),
            bases: self.problem.bases.clone(),
            landmarks: self.seen.iter().zip(&self.problem.landmarks).enumerate().map(landmark).collect(),
            closed: self.problem.closed,
        }
    }

    /// Goes on with submaps that were saved: the robot is at the end of the last one, and the filter begins the next
    /// submap there. What the filter has learned of calibration and noise stays. Solves all submaps, which takes its
    /// time where there are thousands of landmarks.
    ///
    /// # Errors
    /// [`ResumeSubmapsError`]; nothing is changed then.
    pub fn resume(&mut self, slam: &mut Slam, saved: SavedSubmaps) -> Result<(), ResumeSubmapsError> {
        let (landmarks, most) = (saved.landmarks.len(), slam.config().map.max_features);
        if landmarks > most {
            return Err(ResumeSubmapsError::TooManyLandmarks { landmarks, most });
        }
        let saved = match slam.config().calibration.world.frame {
            WorldFrame::Estimated => saved,
            // The map is the world now, wherever it lay in it: what was said of that says nothing.
            WorldFrame::Map => saved.without_world(),
        };
        let problem = saved.problem()?;
        let mut solution = problem.solve()?;
        solution.covariances = (self.worker == Worker::Thread).then(|| solution.landmark_covariances());
        let place = solution.bases.last().map_or_else(Vector2::zeros, |base| base.p);
        let near = near(&problem.start, Some(&solution), &[], (&Se2::identity(), &place), &HashSet::new());
        let near = near.ok_or(ResumeSubmapsError::Damaged("where the robot is does not follow from them"))?;

        // A search goes on in the map that is there now.
        let is_searched_for = slam.search().is_some();
        slam.stop_search();
        slam.start_submap();
        saved.landmarks.iter().for_each(|landmark| slam.give_identities_after(landmark.seen.id));
        self.forget(slam);
        self.start = problem.start.clone();
        self.seen = saved.landmarks.iter().map(|landmark| landmark.seen).collect();
        let current = saved.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.is_current);
        self.numbers = current.map(|(number, landmark)| (landmark.seen.id, number)).collect();
        (self.status.submaps, self.status.landmarks) = (problem.closed, self.seen.len());
        self.problem = problem;
        (self.started_at, self.opened_at, self.asked_at) = (self.scans, self.scans, self.scans);
        self.take_solution(solution);
        self.put_near(near);
        if is_searched_for {
            // In a map without landmarks there is nothing to search in.
            let _ = self.relocalize(slam);
        }
        Ok(())
    }
}

impl Submaps {
    /// Goes on with a map that somebody has made, as of [`SavedSubmaps::of_map`]: the robot stays where it is, and what
    /// it has mapped is forgotten. Solves all submaps, as [`Submaps::resume`] does.
    ///
    /// # Errors
    /// [`ResumeSubmapsError`]; nothing is changed then.
    pub fn take_map(&mut self, slam: &mut Slam, map: &LandmarkMap) -> Result<(), ResumeSubmapsError> {
        let here = self.pose(slam);
        let (pose, covariance) =
            here.ok_or(ResumeSubmapsError::Damaged("the filter says nothing of where the robot is"))?;
        let saved = SavedSubmaps::of_map(map, (pose, &covariance), self.local_features)?;
        self.resume(slam, saved)
    }
}

impl SavedSubmaps {
    /// Of a map that somebody has made: a survey, or one of another filter. The robot is at `pose`, with the covariance
    /// of (x, y, θ), whose error is independent of those of the map. Submaps have as many landmarks as
    /// `map.local_features` says where these are independent, and up to a thousand where there is a joint covariance;
    /// where covariances of near landmarks are known, each is a submap given some before it.
    ///
    /// # Errors
    /// [`ResumeSubmapsError::Damaged`]: a covariance of the map that is none.
    pub fn of_map(
        map: &LandmarkMap,
        (pose, covariance): (Se2, &Matrix3<f64>),
        local_features: usize,
    ) -> Result<Self, ResumeSubmapsError> {
        let damaged = || ResumeSubmapsError::Damaged("a covariance is none");
        // An exit has to be estimated, and these submaps have it at the origin: their errors are to it.
        let tight = Matrix3::from_diagonal_element(1.0 / (LEAST_STD * LEAST_STD));
        let groups: Vec<(Vec<usize>, Option<Submap>)> = match &map.near {
            Some(near) if map.joint.is_none() => {
                (0..map.landmarks.len()).map(|k| given(map, near, k, tight[(0, 0)])).collect()
            }
            _ => {
                let size = if map.joint.is_some() { JOINT } else { local_features.max(1) };
                let first = (0..map.landmarks.len()).step_by(size);
                let numbers = first.map(|first| (first..map.landmarks.len().min(first + size)).collect::<Vec<_>>());
                numbers.map(|numbers| (numbers.clone(), submap_of(map, &numbers))).collect()
            }
        };
        let mut submaps = Vec::new();
        for (numbers, submap) in groups {
            let submap = submap.ok_or_else(damaged)?;
            submaps.push(Placed {
                submap: Arc::new(submap),
                landmarks: Arc::new(numbers),
                base: None,
                exit: 0,
                is_outside: false,
                is_of_world: false,
            });
        }
        submaps.push(Placed::of_outside(Submap::motion(pose, covariance).ok_or_else(damaged)?, 1));
        let landmark = |landmark: &MapLandmark| {
            let MapLandmark { id, class, position, .. } = *landmark;
            let is_named = id < lienav_slam::FIRST_OWN_ID;
            let seen = Seen { id, is_named, last_seen: Stamp::MIN, measurements: 0, class, first_submap: 0 };
            SavedLandmark { position, seen, is_current: true }
        };
        Ok(Self {
            start: Start::Normal(Se2::identity(), tight),
            closed: submaps.len(),
            submaps: submaps.iter().map(SavedSubmap::of).collect(),
            bases: vec![Se2::identity(), pose],
            landmarks: map.landmarks.iter().map(landmark).collect(),
        })
    }

    /// Without what is known of where the map lies in the world.
    fn without_world(mut self) -> Self {
        self.submaps.retain(|submap| !submap.is_of_world);
        self
    }

    /// How many submaps there are, with those that were made one.
    pub fn submaps(&self) -> usize {
        self.submaps.len()
    }

    /// How many landmarks there are.
    pub fn len(&self) -> usize {
        self.landmarks.iter().filter(|landmark| landmark.is_current).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The least squares problem, if what was saved belongs together.
    pub(super) fn problem(&self) -> Result<Problem, ResumeSubmapsError> {
        let damaged = |what| Err(ResumeSubmapsError::Damaged(what));
        let is_pose = |pose: &Se2| pose.p.iter().all(|x| x.is_finite()) && pose.theta.is_finite();
        let starts_somewhere = match &self.start {
            Start::Known(pose) => is_pose(pose),
            Start::Normal(pose, information) => is_pose(pose) && information.iter().all(|value| value.is_finite()),
        };
        if !starts_somewhere || self.bases.is_empty() || !self.bases.iter().all(is_pose) {
            return damaged("a pose is not finite, or there is none");
        }
        if !self.landmarks.iter().all(|landmark| landmark.position.iter().all(|x| x.is_finite())) {
            return damaged("a landmark is nowhere");
        }
        let mut ids = HashMap::new();
        let current = self.landmarks.iter().filter(|landmark| landmark.is_current);
        if !current.map(|landmark| ids.insert(landmark.seen.id, ())).all(|before| before.is_none()) {
            return damaged("two landmarks have one identity");
        }
        if self.closed < self.submaps.len() || self.closed > ABSURD_COUNT {
            return damaged("there are more parts than were closed");
        }
        let submaps: Option<Vec<Placed>> = self.submaps.iter().map(|submap| submap.placed(self)).collect();
        let Some(submaps) = submaps else { return damaged("a part is not of the map's poses and landmarks") };
        let mut of_world = submaps.iter().filter(|submap| submap.is_of_world).map(|submap| submap.base);
        let first = of_world.next();
        if of_world.any(|base| Some(base) != first) {
            return damaged("the world is at two poses");
        }
        if submaps.last().is_some_and(|submap| submap.exit + 1 != self.bases.len()) {
            return damaged("the robot is not at the end of the last part");
        }
        Ok(Problem {
            start: self.start.clone(),
            submaps,
            bases: self.bases.clone(),
            landmarks: self.landmarks.iter().map(|landmark| landmark.position).collect(),
            closed: self.closed,
            tolerance: NEARLY,
        })
    }
}

fn of_any() -> bool {
    true
}

/// No count reaches this.
const ABSURD_COUNT: usize = 1 << 40;

/// What a map says of one of its landmarks given others before it, as seen from its origin; no information is larger
/// than `most`.
fn given(map: &LandmarkMap, near: &NearCovariances, k: usize, most: f64) -> (Vec<usize>, Option<Submap>) {
    let given = Conditional::new(&map.landmarks, near, k, |other| other < k);
    let sources = given.as_ref().map_or(&[][..], Conditional::sources);
    let numbers: Vec<usize> = sources.iter().map(|(place, _)| *place).chain([k]).collect();
    // w = δp_k − Σ A_i δp_i.
    let mut factors = DMatrix::zeros(2, 3 + 2 * numbers.len());
    for (i, (_, factor)) in sources.iter().enumerate() {
        factors.fixed_view_mut::<2, 2>(0, 3 + 2 * i).copy_from(&-factor);
    }
    factors.fixed_view_mut::<2, 2>(0, 1 + 2 * numbers.len()).copy_from(&Matrix2::identity());
    let rest = given.as_ref().map_or(map.landmarks[k].covariance, |given| given.rest);
    let of_rest = (rest + Matrix2::identity() / most).try_inverse();
    let submap = of_rest.map(|of_rest| {
        let information = factors.transpose() * of_rest * &factors;
        let of = |number: &usize| &map.landmarks[*number];
        let (ids, places) =
            (numbers.iter().map(|i| of(i).id).collect(), numbers.iter().map(|i| of(i).position).collect());
        let gaussian = Gaussian { exit: Se2::identity(), ids, places, covariance: DMatrix::zeros(0, 0) };
        Submap::of_information(gaussian, Symmetric::new(&information))
    });
    (numbers, submap)
}

/// What a map says of some of its landmarks, as seen from its origin.
fn submap_of(map: &LandmarkMap, numbers: &[usize]) -> Option<Submap> {
    let landmarks = || numbers.iter().map(|number| &map.landmarks[*number]);
    let mut covariance = DMatrix::identity(3 + 2 * numbers.len(), 3 + 2 * numbers.len()) * (LEAST_STD * LEAST_STD);
    for (i, landmark) in landmarks().enumerate() {
        match &map.joint {
            None => {
                let mut own = covariance.fixed_view_mut::<2, 2>(3 + 2 * i, 3 + 2 * i);
                own += landmark.covariance;
            }
            Some(joint) => numbers.iter().enumerate().for_each(|(k, other)| {
                let mut both = covariance.fixed_view_mut::<2, 2>(3 + 2 * i, 3 + 2 * k);
                both += joint.fixed_view::<2, 2>(2 * numbers[i], 2 * other);
            }),
        }
    }
    let (ids, places) = (landmarks().map(|l| l.id).collect(), landmarks().map(|l| l.position).collect());
    Submap::new(Gaussian { exit: Se2::identity(), ids, places, covariance })?.without_motion()
}

impl SavedSubmap {
    fn of(placed: &Placed) -> Self {
        Self {
            exit: placed.submap.exit,
            places: placed.submap.places.iter().flat_map(|place| [place.x, place.y]).collect(),
            information: placed.submap.information().lower().to_vec(),
            landmarks: placed.landmarks.to_vec(),
            begins: placed.base,
            ends: placed.exit,
            is_given: placed.submap.is_given(),
            is_outside: Some(placed.is_outside),
            is_of_world: placed.is_of_world,
        }
    }

    /// `None` if it does not belong to the poses and landmarks of `map`.
    fn placed(&self, map: &SavedSubmaps) -> Option<Placed> {
        let is_within = |pose: usize| pose < map.bases.len();
        let are_known = is_within(self.ends)
            && self.begins.is_none_or(|base| is_within(base) && base != self.ends)
            && self.landmarks.iter().all(|number| *number < map.landmarks.len())
            && self.landmarks.iter().collect::<HashSet<_>>().len() == self.landmarks.len();
        let is_finite = self.exit.p.iter().chain(&self.places).chain(&self.information).all(|x| x.is_finite());
        let n = self.landmarks.len();
        if !(are_known && is_finite && self.exit.theta.is_finite() && self.places.len() == 2 * n) {
            return None;
        }
        let gaussian = Gaussian {
            exit: self.exit,
            ids: self.landmarks.iter().map(|number| map.landmarks[*number].seen.id).collect(),
            places: self.places.chunks_exact(2).map(|place| Vector2::new(place[0], place[1])).collect(),
            covariance: DMatrix::zeros(0, 0),
        };
        let information = Symmetric::of_lower(3 + 2 * n, self.information.clone())?;
        let submap = Arc::new(Submap::of_information(gaussian, information).with_given(self.is_given));
        let is_outside = self.is_outside.unwrap_or(n == 0 && self.begins == Some(0));
        let landmarks = Arc::new(self.landmarks.clone());
        let is_of_world = self.is_of_world && is_outside && self.begins.is_some();
        Some(Placed { submap, landmarks, base: self.begins, exit: self.ends, is_outside, is_of_world })
    }
}
