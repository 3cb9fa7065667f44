//! A filter's map, submap by submap.

mod close;
mod known;
mod landmark;
mod moved;
mod names;
mod outside;
mod position;
mod saved;
mod solve;
mod solved;
mod time_correlated;
mod whole;
mod world;

use super::ask::near;
use super::common::Coupling;
use super::join::{BENT, Workspace};
use super::near::Near;
use super::outside::Outside;
use super::problem::{NEARLY, Placed, Problem, Solution, SolveError, Start};
use super::work::{Job, Worker};
use landmark::{Inherited, Seen};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::by_id::ById;
use lienav_slam::identity::Identification;
use lienav_slam::{CompositionError, LocalMap, PoseEstimate, Slam, Step, TimeJump};
use position::Position;
pub use saved::{ResumeSubmapsError, SavedSubmaps, WholeMap};
use solved::{Old, Solved};
use std::collections::VecDeque;
use std::sync::Arc;
pub use whole::Snapshot;

/// Scans from the question what is near to the answer.
const NEAR_SCANS: u64 = 3;
/// Landmarks are asked for again at the earliest after so many scans.
const ASK_SCANS: u64 = 5;

/// A submap leaves the landmarks to the next one that were read in the last scans, so many.
const RECENT_SCANS: usize = 10;
/// And candidates that were read in so many: others would gather in the filter for as long as the robot drives.
const CANDIDATE_SCANS: usize = 30;

/// A submap has at least so many scans.
const BENT_SCANS: u64 = 8;

/// What the heading of the open submap does to its end to second order, m: a submap that is longer is closed.
const LONG_M: f64 = 0.01;

const OTHER_FILTER: CompositionError = CompositionError(
    "parameter 'map.local_features' makes the map in parts, which this filter cannot do: set parameter 'filter' to \
     'default' or another invariant filter, or map.local_features to 0",
);

/// What is known of the submaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Closed submaps.
    pub submaps: usize,
    /// What they are after those of the same landmarks were made one.
    pub kept: usize,
    /// Landmarks in closed submaps.
    pub landmarks: usize,
    /// Solutions that were taken in force.
    pub solutions: u64,
    /// Submaps in the last one.
    pub solved_submaps: usize,
    /// Scans since it was begun.
    pub age_scans: u64,
    /// How often its normal equations were factored.
    pub iterations: usize,
    /// Half of its χ²: of what the submaps say of the same landmarks.
    pub cost: f64,
    /// Numbers in the factor of its normal equations.
    pub factor_entries: usize,
    /// Solutions that failed; the last good one stayed in force.
    pub failed: u64,
    /// Why the last one failed.
    pub failure: Option<SolveError>,
    /// Landmarks that are elsewhere than an earlier submap has them, and count as others since.
    pub moved: u64,
    /// Landmarks that the map had no room for.
    pub without_room: u64,
}

/// What a submap that is closed leaves to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    /// The landmarks that were seen in the last scans: the robot goes on among them.
    On,
    /// Nothing.
    Nowhere,
}

/// The map of a filter in submaps: what the filter itself holds is the open submap, begun at its base.
/// [`Submaps::join`] gives the pose in the map at each step, and closes a submap that is large enough.
pub struct Submaps {
    local_features: usize,
    max_features: usize,
    worker: Worker,
    start: Start,
    problem: Problem,
    /// The number of each landmark in the map, by its identity.
    numbers: ById<usize>,
    /// By its number.
    seen: Vec<Seen>,
    /// Landmarks of the open submap without identity that are known: the filter's identity, and the number.
    recognised: Vec<(u32, usize)>,
    /// Of the last step: the filter's identity, and that in the map.
    merged: Vec<(u32, u32)>,
    near: Near,
    /// Rows of `near`, by identity.
    index: ById<usize>,
    /// Landmarks that the open submap was begun with, and that it has not reinitialized since.
    inherited: Vec<Inherited>,
    /// What the closed submaps and the open one have in common through these.
    coupling: Coupling,
    /// What measurements from outside have said of the base of the open submap.
    outside: Outside,
    /// Since when they are all elsewhere than the robot is.
    elsewhere_since: Option<Stamp>,
    /// Measurements from outside that were left out, and that the filter has not counted yet.
    left_out: u64,
    /// Those that said nothing, likewise.
    undetermined: u64,
    /// The first position of the open submap, before it is known where the world lies.
    first_position: Option<Position>,
    /// When the last measurement from outside was taken in.
    heard_at: Option<Stamp>,
    /// When the last scans were.
    recent: VecDeque<Stamp>,
    solution: Option<Arc<Solution>>,
    solving: Option<(u64, Job<Result<Solved, SolveError>>)>,
    asking: Option<(u64, Job<Option<Near>>)>,
    /// What was begun and is there.
    solved: Option<Result<Solved, SolveError>>,
    answer: Option<Near>,
    /// What was in force before: to give its memory back takes time, which the next work has.
    old: Option<Old>,
    asked_at: u64,
    scans: u64,
    started_at: u64,
    /// When the open submap was begun.
    opened_at: u64,
    time_jumps: u64,
    /// The farthest landmark of the open submap that was seen lately, m.
    view_m: f64,
    workspace: Workspace,
    identification: Identification,
    /// The last landmark of `near` that was compared with others at its place.
    swept: usize,
    status: Status,
    /// Whether landmarks of the open submap may be closed ones, and it is not known which. How they differ is linear
    /// near the base: the search goes on from a new one.
    is_loop_open: bool,
    estimate: Option<PoseEstimate>,
    /// Whether the map was moved since it was last solved for: what is near cannot be asked for until it is.
    is_moved: bool,
}

impl Submaps {
    /// For a filter that has not begun yet. `None` where no submaps are made ([`lienav_slam::Config::makes_submaps`]):
    /// the map is one.
    ///
    /// # Errors
    /// The filter, `map.mode` or a calibration that cannot be made in submaps, as a sentence.
    pub fn new(slam: &Slam, worker: Worker) -> Result<Option<Self>, CompositionError> {
        let config = slam.config().clone();
        if !config.makes_submaps() {
            return Ok(None);
        }
        if slam.local().is_none() {
            return Err(OTHER_FILTER);
        }
        let start = Start::new(config.initial.pose(), &config.initial.covariance());
        let mut submaps = Self {
            local_features: config.map.local_features,
            max_features: config.map.max_features,
            worker,
            near: Near::start(&start),
            problem: empty(&start),
            start,
            numbers: ById::default(),
            seen: Vec::new(),
            recognised: Vec::new(),
            merged: Vec::new(),
            index: ById::default(),
            inherited: Vec::new(),
            coupling: Coupling::default(),
            outside: Outside::none(Se2::identity()),
            elsewhere_since: None,
            left_out: 0,
            undetermined: 0,
            first_position: None,
            heard_at: None,
            recent: VecDeque::new(),
            solution: None,
            solving: None,
            asking: None,
            solved: None,
            answer: None,
            old: None,
            asked_at: 0,
            scans: 0,
            started_at: 0,
            opened_at: 0,
            time_jumps: 0,
            view_m: 0.0,
            workspace: Workspace::default(),
            identification: Identification::default(),
            swept: 0,
            status: Status::default(),
            is_loop_open: false,
            estimate: None,
            is_moved: false,
        };
        submaps.forget(slam);
        Ok(Some(submaps))
    }

    /// Forgets all submaps. The first submap begins where the configuration has the start.
    pub fn forget(&mut self, slam: &Slam) {
        let config = slam.config();
        (self.local_features, self.max_features) = (config.map.local_features.max(1), config.map.max_features);
        self.start = Start::new(config.initial.pose(), &config.initial.covariance());
        (self.problem, self.near) = (empty(&self.start), Near::start(&self.start));
        (self.solution, self.solving, self.asking, self.estimate) = (None, None, None, None);
        (self.solved, self.answer, self.old) = (None, None, None);
        self.numbers.clear();
        self.seen.clear();
        self.recognised.clear();
        self.index.clear();
        self.inherited.clear();
        self.coupling = Coupling::default();
        (self.outside, self.elsewhere_since) = (Outside::none(self.start.pose()), None);
        (self.first_position, self.heard_at) = (None, None);
        self.recent.clear();
        (self.status, self.time_jumps, self.is_moved) = (Status::default(), slam.time_jumps(), false);
    }

    /// What is known of the submaps.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Has what is due before the next step: a new solution, or what it says of what is near. This is where work is
    /// done that is done in place, and where a filter waits for a thread that is late. [`Submaps::join`] takes it in
    /// force.
    pub fn collect(&mut self) {
        let next = self.scans + 1;
        if let Some((_, job)) = self.solving.take_if(|(due, _)| *due <= next) {
            self.solved = Some(job.take().unwrap_or(Err(SolveError::NotConverged)));
        }
        if let Some((_, job)) = self.asking.take_if(|(due, _)| *due <= next) {
            self.answer = job.take().flatten();
        }
    }

    /// Takes in force what is there.
    fn take(&mut self) {
        match self.solved.take() {
            Some(Ok(Solved { solution, problem })) => self.put_solution(solution, problem),
            Some(Err(error)) => (self.status.failed, self.status.failure) = (self.status.failed + 1, Some(error)),
            None => {}
        }
        let solved = self.solution.as_ref().map_or(0, |solution| solution.closed);
        if self.solving.is_none() && solved < self.problem.closed {
            self.solve();
        }
        if let Some(near) = self.answer.take() {
            self.take_near(near);
        }
    }

    /// The submaps behind the first so many.
    fn closed_after(&self, closed: usize) -> &[Placed] {
        let count = self.problem.closed - closed;
        &self.problem.submaps[self.problem.submaps.len() - count..]
    }

    /// The step of the filter, with the pose in the map. Closes the open submap if it is large enough.
    pub fn join(&mut self, slam: &mut Slam, step: Step) -> Step {
        self.merged.clear();
        self.count_left_out(slam);
        self.collect();
        self.take();
        self.scans += 1;
        self.status.age_scans += 1;
        if slam.time_jumps() != self.time_jumps {
            self.time_jumps = slam.time_jumps();
            if slam.config().timing.on_jump_back == TimeJump::Reset {
                self.start_again(slam);
            }
        }
        if let Some((pose, covariance)) = slam.take_found() {
            self.begin_where_found(pose, &covariance);
        }
        let Some(local) = slam.local() else { return step };
        self.check_inherited(&local);
        self.recognise(&local, step.estimate.stamp);
        // A candidate that is a landmark of the closed submaps is one.
        for (id, _) in &self.merged {
            slam.confirm(*id);
        }
        let Some(local) = slam.local() else { return step };
        let mut joined = self.near.join(&local, &self.index, &self.coupling, &mut self.workspace);
        let step = match slam.outside().is_empty() {
            true => step,
            false => {
                let step = self.hear(slam, &joined, step);
                joined = self.near.join(&local, &self.index, &self.coupling, &mut self.workspace);
                step
            }
        };
        let estimate = PoseEstimate { pose: joined.pose, covariance: joined.covariance, ..step.estimate };
        self.estimate = Some(estimate);
        if slam.is_between() {
            // The filter was not corrected: its submap is as it was at the step before.
            return Step {
                estimate: slam.carried_between(&estimate, step.estimate.stamp),
                landmarks: self.seen.len(),
                ..step
            };
        }
        let in_view = step.accepted + step.added;
        if self.recent.len() == CANDIDATE_SCANS {
            self.recent.pop_front();
        }
        self.recent.push_back(step.estimate.stamp);
        self.look_around(&local, step.estimate.stamp);
        let landmarks = (0..local.len()).filter(|i| local.is_landmark(*i)).count();
        // One that is begun with many has as many new ones as one that is not.
        let is_full =
            landmarks >= self.local_features.max(2 * in_view).max(self.inherited.len() + self.local_features / 2);
        // What a submap says is final: where ranges are vague, it waits until the last scans were linearized again.
        let is_full = is_full && !local.is_unsettled();
        let is_settled = self.scans >= self.opened_at + BENT_SCANS;
        // A loop that has closed is closed in the least squares, too, and does not wait until the submap is full.
        let is_bent = is_settled && joined.shared >= 2 && joined.bend(self.view_m) > BENT;
        let seeks = is_settled && self.is_loop_open;
        let is_due = is_settled && (is_long(&local) || self.has_found_world());
        if (is_full || is_bent || seeks || is_due) && self.close(&local, Goes::On) {
            self.opened_at = self.scans;
            self.begin_with_the_last(slam);
        }
        Step { estimate, landmarks: self.seen.len(), ..step }
    }

    /// The filter counts what was left out.
    fn count_left_out(&mut self, slam: &mut Slam) {
        slam.count_gated(std::mem::take(&mut self.left_out));
        slam.count_undetermined(std::mem::take(&mut self.undetermined));
    }

    /// The pose at the newest odometry; before the first scan, the start carried on to it.
    pub fn predicted(&self, slam: &Slam) -> Option<PoseEstimate> {
        let ahead = slam.predicted()?;
        let inherited = || PoseEstimate { pose: self.near.base, covariance: self.near.base_covariance(), ..ahead };
        slam.carried_ahead(&self.estimate.unwrap_or_else(inherited))
    }

    /// How far the robot sees, and whether it sees landmarks that the closed submaps know and were not asked for.
    fn look_around(&mut self, local: &LocalMap<'_>, stamp: Stamp) {
        let mut missing = false;
        let robot = local.pose();
        for i in (0..local.len()).filter(|i| local.last_seen(*i) == stamp) {
            self.view_m = self.view_m.max((local.place(i) - robot.p).norm());
            let id = local.id(i);
            missing |= self.numbers.contains_key(&id) && !self.index.contains_key(&id);
        }
        let (centre, radius) = self.near.covers;
        let place = self.near.base.transform(&robot.p);
        let is_leaving = (place - centre).norm() > radius - 1.2 * self.view_m;
        if (missing || is_leaving) && self.asking.is_none() && self.scans >= self.asked_at + ASK_SCANS {
            self.ask(local);
        }
    }

    /// A landmark that the filter has dropped, or reinitialized, is known from other measurements than the closed
    /// submaps have.
    fn check_inherited(&mut self, local: &LocalMap<'_>) {
        let before = self.inherited.len();
        self.inherited.retain(|inherited| {
            local.find(inherited.id).is_some_and(|i| local.measurements(i) >= inherited.measurements)
        });
        if self.inherited.len() < before {
            self.coupling = self.current_coupling();
        }
    }

    /// Whether the last join was of the covariances that [`Near::spread`] has.
    #[cfg(test)]
    pub(crate) fn check_join(&self, slam: &Slam) -> usize {
        let Some(local) = slam.local() else { return 0 };
        let shared: Vec<_> = (0..local.len())
            .filter(|i| local.is_landmark(*i))
            .filter_map(|i| Some(self.near.shared(&local, i, *self.index.get(&local.id(i))?)))
            .collect();
        if !shared.is_empty() {
            super::differences::check(&self.near, &local, &self.coupling, &shared);
        }
        shared.len()
    }

    fn current_coupling(&self) -> Coupling {
        Coupling::new(&self.near, self.inherited.iter().map(|inherited| (inherited.id, inherited.number)))
    }

    /// Asks the solution what is near.
    fn ask(&mut self, local: &LocalMap<'_>) {
        let open = (0..local.len()).filter_map(|i| self.numbers.get(&local.id(i)).copied()).collect();
        self.ask_at(local.pose(), open);
    }

    fn ask_at(&mut self, robot: Se2, open: Vec<usize>) {
        if self.is_moved || self.is_world_unsolved() {
            return;
        }
        let (start, solution) = (self.start.clone(), self.solution.clone());
        let first = solution.as_ref().map_or(0, |solution| solution.closed);
        let chain: Vec<Placed> = self.closed_after(first).to_vec();
        let place = self.near.base.transform(&robot.p);
        self.asked_at = self.scans;
        let old = self.old.take();
        let work = move || {
            drop(old);
            near(&start, solution.as_deref(), &chain, (&robot, &place), &open.into_iter().collect())
        };
        self.asking = Some((self.scans + NEAR_SCANS, Job::new(self.worker, work)));
    }

    fn take_near(&mut self, near: Near) {
        let mut near = near;
        let origin = self.problem.bases[0];
        for placed in self.closed_after(near.closed) {
            if placed.is_outside {
                near = near.informed_by(placed, &origin);
                continue;
            }
            let Some(after) = near.behind(&placed.submap, &placed.landmarks, |_, place| place.norm() < f64::INFINITY)
            else {
                return;
            };
            near = after;
        }
        near.tell_again(&self.outside);
        self.put_near(near);
    }

    fn put_near(&mut self, near: Near) {
        self.near = near;
        self.index.clear();
        for (a, number) in self.near.landmarks.iter().enumerate() {
            // A landmark that has moved has another number by now.
            let id = self.seen[*number].id;
            if self.numbers.get(&id) == Some(number) {
                self.index.insert(id, a);
            }
        }
        for (id, number) in &self.recognised {
            if let Some(a) = self.near.landmarks.iter().position(|known| known == number)
                && self.numbers.get(id) == Some(number)
            {
                self.index.insert(*id, a);
            }
        }
        self.coupling = self.current_coupling();
    }
}

/// Whether the way from the base is so long, with a heading so uncertain, that landmarks behind the robot are no linear
/// function of it any more.
fn is_long(local: &LocalMap<'_>) -> bool {
    0.5 * local.of_pose()[(2, 2)] * local.pose().p.norm() > LONG_M
}

fn empty(start: &Start) -> Problem {
    let bases = vec![start.pose()];
    Problem { start: start.clone(), submaps: Vec::new(), bases, landmarks: Vec::new(), closed: 0, tolerance: NEARLY }
}
