//! When the least squares of all submaps are solved for, and what their solution is for.

use super::solved::{Old, Solved};
use super::{Goes, Submaps};
use crate::problem::{FULLY, NEARLY, Placed, Problem, Solution, SolveError};
use crate::work::{Job, Worker};
use lienav_slam::Slam;
use std::sync::Arc;

/// Scans from the beginning of a solution until it is in force, and one more for each ten submaps.
const SOLVE_SCANS: u64 = 10;

/// A submap that others were made one with has so many times the landmarks of a submap, at most.
const MERGED: usize = 2;

impl Submaps {
    /// Begins a solution of all submaps that are closed.
    pub(super) fn solve(&mut self) {
        self.started_at = self.scans;
        let due = self.scans + SOLVE_SCANS + self.problem.submaps.len() as u64 / 10;
        let most = MERGED * self.local_features;
        // The solution before the one in force has to be gone before there is a third.
        let old = self.old.take();
        // A robot shows its map, and computes the covariances for that where they delay nothing.
        let is_shown = self.worker == Worker::Thread;
        let before = self.solution.clone();
        // To copy all of it takes time, which the work has.
        let problem = before.as_ref().map_or_else(|| self.problem.clone(), |before| self.problem.behind(before));
        #[cfg(test)]
        if let Some(before) = &before {
            assert!(problem.clone().following(before).is_same(&self.problem));
        }
        let work = move || {
            drop(old);
            let problem = match &before {
                Some(before) => problem.following(before),
                None => problem,
            };
            let mut problem = problem.reduced(most);
            let mut solution = match &before {
                Some(before) => problem.solve_after(before)?,
                None => problem.solve()?,
            };
            solution.covariances = is_shown.then(|| solution.landmark_covariances());
            problem.take_places(&solution);
            Ok(Solved { solution, problem })
        };
        self.solving = Some((due, Job::new(self.worker, work)));
    }

    pub(super) fn take_solution(&mut self, solution: Solution) {
        let mut problem = self.problem.clone();
        problem.submaps.clone_from(&solution.submaps);
        problem.take_places(&solution);
        self.put_solution(solution, problem);
    }

    /// Takes a solution in force. `problem` has its submaps, where it has everything.
    pub(super) fn put_solution(&mut self, solution: Solution, problem: Problem) {
        let since = self.closed_after(solution.closed).to_vec();
        let known = solution.landmarks.len();
        let Problem { submaps, bases, landmarks, .. } = problem;
        let submaps = std::mem::replace(&mut self.problem.submaps, submaps);
        let bases = std::mem::replace(&mut self.problem.bases, bases);
        let landmarks = std::mem::replace(&mut self.problem.landmarks, landmarks);
        self.problem.landmarks.truncate(known);
        self.problem.landmarks.extend_from_slice(&landmarks[known..]);
        for placed in since {
            let base = self.problem.bases.len() - 1;
            if placed.is_outside {
                // Of the pose at which the submap after it begins.
                self.problem.push(Placed { exit: base, ..placed });
                continue;
            }
            let from = self.problem.bases[base];
            self.problem.bases.push(from * placed.submap.exit);
            for (number, place) in placed.landmarks.iter().zip(&placed.submap.places) {
                if *number >= known {
                    self.problem.landmarks[*number] = from.transform(place);
                }
            }
            self.problem.push(Placed { base: Some(base), exit: base + 1, ..placed });
        }
        self.status.solutions += 1;
        self.is_moved = false;
        (self.status.solved_submaps, self.status.iterations) = (solution.closed, solution.iterations);
        self.status.kept = self.problem.submaps.len();
        (self.status.cost, self.status.factor_entries) = (solution.cost, solution.entries());
        self.status.age_scans = self.scans - self.started_at;
        let solution = self.solution.replace(Arc::new(solution));
        self.old = Some(Old { _solution: solution, _problem: (submaps, bases, landmarks) });
        // What is near is asked for again at the next step.
        self.near.covers.1 = 0.0;
    }

    /// The end of the input: closes the open submap, and solves all to the end. Does nothing where there is no submap.
    pub fn finish(&mut self, slam: &mut Slam) {
        self.merged.clear();
        self.count_left_out(slam);
        if let Some(local) = slam.local()
            && !local.is_empty()
            && self.close(&local, Goes::Nowhere)
        {
            self.begin_with_nothing(slam);
        }
        (self.solving, self.asking, self.solved, self.answer) = (None, None, None, None);
        self.old = None;
        if let Err(error) = self.solve_fully() {
            (self.status.failed, self.status.failure) = (self.status.failed + 1, Some(error));
        }
    }

    /// Solves all closed submaps to the end.
    pub(super) fn solve_fully(&mut self) -> Result<(), SolveError> {
        if self.problem.submaps.is_empty() {
            return Ok(());
        }
        self.problem.tolerance = FULLY;
        let solved = self.problem.solve();
        self.problem.tolerance = NEARLY;
        solved.map(|solution| self.take_solution(solution))
    }
}
