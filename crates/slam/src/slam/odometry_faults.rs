//! Odometry fault hypotheses (wheel slip) for landmarks without identity.
//!
//! A wheel slips, and the robot turns by ten times the standard deviation of its odometry. Identities show that at
//! once. Without identities, the measurements lie where the map has no landmark: the filter initializes new landmarks,
//! misses known ones in view, and later matches confirm the wrong pose. So the filter keeps a checkpoint every few
//! scans, and the input since. Where landmarks are missed and others are initialized, it processes the same scans under
//! the hypothesis that the robot slipped at a checkpoint, and compares the evidence of both ([`EvidenceTally`]): known
//! landmarks that are measured, missed, or initialized. A hypothesis replaces the filter if its odds are high and no
//! other hypothesis with another pose has nearly the same odds.
//!
//! The robot may have slipped long before, where odometry alone connects two sides of the map ([`Cut`]). The filter can
//! apply that slip without the scans since ([`Slip`]); it is one more hypothesis.
//!
//! The cost is bounded: a copy of the state for every [`EVERY`] scans, and while landmarks are missed and others begin,
//! as many more steps as there are hypotheses; [`KEPT`] × [`EVERY`] scans are made again where a hypothesis begins, and
//! where it turns out to be right. It is not saved with the filter.

use crate::estimator::Slip;
use crate::history::MAX_LANDMARKS;
use crate::history::odometry_faults::{Branch, BranchPoint, SUSPICIOUS, SlipHypothesis};
use crate::slam::Slam;
use lienav_associate::association::cuts::Cut;
use lienav_associate::association::evidence_tally::EvidenceTally;
use lienav_base::stamp::Stamp;
use lienav_planar::config::{Config, MapMode};
use lienav_planar::output::{Processed, Step};
use lienav_planar::without::Mechanism;

/// Where the filter was is kept after so many scans with measurements.
const EVERY: usize = 4;
/// So many of these times are kept.
const KEPT: usize = 16;
/// How far a robot that slips has turned otherwise, and with which standard deviation, rad. If the filter were told of
/// one slip as wide as all of them, landmarks would be on circles where it knows tangents.
const TURNS: [(f64, f64); 3] = [(0.0, 0.3), (0.4, 0.2), (-0.4, 0.2)];

/// How the robot may have slipped: where it was, and at a cut of its map.
fn slips(cut: Option<Cut>) -> impl Iterator<Item = Slip> {
    let places = std::iter::once(None).chain(cut.map(Some));
    places.flat_map(|at| TURNS.map(|(turn, std)| Slip { turn, std, at }))
}

impl Slam {
    /// Whether motions may be doubted: as loops are tried.
    fn doubts(&self) -> bool {
        let Config { map, timing, .. } = &self.config;
        !self.estimator.model.without.has(Mechanism::Slips)
            && map.mode == MapMode::Mapping
            && map.local_features == 0
            && timing.rewind_s == 0.0
            && self.search.global.is_none()
            && self.estimator.state.landmarks.len() <= MAX_LANDMARKS
            && !self.estimator.is_recorded()
    }

    /// Keeps a branch point where the last one is some scans ago, before the state moves from `time`.
    pub(super) fn keep_for_odometry_faults(&mut self, time: Stamp) {
        if self.estimator.memory().is_idle() {
            return;
        }
        if !self.doubts() {
            return self.end_odometry_faults();
        }
        let faults = &self.history.odometry_faults;
        if !faults.branch_points.is_empty() && faults.since < EVERY {
            return;
        }
        if faults.branch_points.len() >= KEPT {
            self.forget_first_branch_point();
        }
        self.intake.inbox.keep_past(true);
        let spare = self.history.odometry_faults.spare.pop();
        let mut branch = self.branch_at(time, spare);
        self.estimator.begin(&mut branch.evidence_tally);
        let scan = self.history.log.next();
        let branch_point = BranchPoint { branch, scan, weighed: 0.0, hypotheses: Vec::new() };
        self.history.odometry_faults.branch_points.push_back(branch_point);
        self.history.odometry_faults.since = 0;
    }

    /// Where the filter is, in the memory of a way that nobody goes any more. What is in the account is to be begun.
    fn branch_at(&self, time: Stamp, spare: Option<Branch>) -> Branch {
        match spare {
            Some(Branch { point, evidence_tally }) => Branch { point: self.point_in(time, point), evidence_tally },
            None => Branch { point: self.point(time), evidence_tally: EvidenceTally::default() },
        }
    }

    /// Motions before the second branch point are not tested any more.
    pub(super) fn forget_first_branch_point(&mut self) {
        self.history.odometry_faults.forget_first();
        self.forget_unneeded();
    }

    /// The robot has moved as odometry says.
    pub(super) fn end_odometry_faults(&mut self) {
        if !self.history.odometry_faults.branch_points.is_empty() {
            while self.history.odometry_faults.forget_first() {}
            self.forget_unneeded();
        }
    }

    /// What the last scan makes of the landmarks, for who weighs it.
    pub(super) fn note_scan_evidence(&mut self, step: &Processed) {
        self.history.odometry_faults.has_scan_evidence = false;
        let Ok(Some(step)) = step else { return };
        let has_read = step.accepted + step.added + step.rejected > 0 && !self.estimator.has_read_the_pose();
        let is_weighed = !self.history.odometry_faults.branch_points.is_empty() || self.history.refilter.has_tally();
        if has_read && is_weighed && !self.estimator.memory().is_idle() {
            self.history.odometry_faults.has_scan_evidence = true;
            self.estimator.landmark_evidence(&mut self.history.odometry_faults.scan_evidence);
            self.history.refilter.note(&self.history.odometry_faults.scan_evidence, (step.nis, step.dof));
        }
    }

    /// Takes in what the last scan says of the motions before it. Gives what became of that scan, where the robot turns
    /// out to have slipped.
    pub(super) fn test_odometry_faults(&mut self, step: Option<&Step>) -> Option<Processed> {
        let step = step?;
        if self.history.odometry_faults.branch_points.is_empty() {
            return None;
        }
        if !self.history.odometry_faults.has_scan_evidence {
            return None;
        }
        self.history.odometry_faults.since += 1;
        for branch_point in &mut self.history.odometry_faults.branch_points {
            branch_point.branch.evidence_tally.note(&self.history.odometry_faults.scan_evidence, (step.nis, step.dof));
        }
        self.follow_hypotheses();
        let believed = |branch_point: &BranchPoint| {
            branch_point
                .hypotheses
                .iter()
                .filter(|hypothesis| hypothesis.is_believed(&branch_point.branch.evidence_tally))
                .map(SlipHypothesis::order)
                .max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let likeliest = self
            .history
            .odometry_faults
            .branch_points
            .iter()
            .enumerate()
            .filter_map(|(k, branch_point)| Some((k, believed(branch_point)?)));
        if let Some((k, (_, slip))) = likeliest.max_by(|a, b| a.1.0.total_cmp(&b.1.0))
            && self.history.odometry_faults.is_undisputed(k, slip)
        {
            return self.take_slip(k, slip);
        }
        if let Some(k) = self.history.odometry_faults.next_branch_point() {
            self.start_hypotheses(k);
        }
        None
    }

    /// Takes the last scan in as if the robot had slipped, where that is followed.
    fn follow_hypotheses(&mut self) {
        /// A branch is a duplicate if after so many scans it knows the heading as well as the filter, by this factor of
        /// the variance, and makes the same of the scans, by this logarithm.
        const SETTLED: (usize, f64, f64) = (8, 2.0, 1.0);
        if self.history.odometry_faults.branch_points.iter().all(|branch_point| branch_point.hypotheses.is_empty()) {
            return;
        }
        let log = std::mem::take(&mut self.history.log);
        let Some(scan) = log.last() else { return };
        let (mut branch_points, mut spare) = (
            std::mem::take(&mut self.history.odometry_faults.branch_points),
            std::mem::take(&mut self.history.odometry_faults.spare),
        );
        let known = SETTLED.1 * self.estimator.state.pose_covariance()[(2, 2)];
        self.aside(|slam| {
            for BranchPoint { branch: own, hypotheses, .. } in &mut branch_points {
                let is_suspicious_of_odometry = own.evidence_tally.is_suspicious(SUSPICIOUS);
                let given_up = hypotheses.extract_if(
                    ..,
                    |SlipHypothesis { branch: Branch { point, evidence_tally }, scans, .. }| {
                        let mut is_same = false;
                        slam.on(point, |slam| {
                            let _ = slam.take_in_for(scan, evidence_tally, true);
                            is_same = slam.estimator.state.pose_covariance()[(2, 2)] < known
                                && (evidence_tally.against() - own.evidence_tally.against()).abs() < SETTLED.2;
                        });
                        *scans += 1;
                        !is_suspicious_of_odometry || (is_same && *scans > SETTLED.0)
                    },
                );
                spare.extend(given_up.map(|hypothesis| hypothesis.branch));
            }
        });
        self.history.log = log;
        (self.history.odometry_faults.branch_points, self.history.odometry_faults.spare) = (branch_points, spare);
    }

    /// Follows what the filter would be if the robot had slipped at the time of this branch point, for each of
    /// [`TURNS`].
    fn start_hypotheses(&mut self, k: usize) {
        let (mut branch_points, mut spare) = (
            std::mem::take(&mut self.history.odometry_faults.branch_points),
            std::mem::take(&mut self.history.odometry_faults.spare),
        );
        let log = std::mem::take(&mut self.history.log);
        let BranchPoint { branch, scan: first, weighed, hypotheses } = &mut branch_points[k];
        *weighed = branch.evidence_tally.against();
        self.aside(|slam| {
            let without = slam.estimator.model.without;
            let cut = branch.point.estimator.cut().filter(|_| !without.has(Mechanism::Cuts));
            for slip in slips(cut) {
                let time = branch.point.time;
                let mut other = None;
                slam.on(&mut branch.point, |slam| {
                    let other = other.insert(slam.branch_at(time, spare.pop()));
                    slam.slip(slip, &mut other.evidence_tally);
                    for scan in log.since(*first) {
                        let _ = slam.take_in_for(scan, &mut other.evidence_tally, true);
                    }
                });
                // The filter has gone on from where the branch point was, of which the other is a copy.
                if let Some(mut other) = other {
                    std::mem::swap(&mut other.point, &mut branch.point);
                    hypotheses.push(SlipHypothesis { branch: other, scans: 0, slip });
                }
            }
        });
        self.history.log = log;
        (self.history.odometry_faults.branch_points, self.history.odometry_faults.spare) = (branch_points, spare);
    }

    /// The robot slips, and an account begins.
    fn slip(&mut self, slip: Slip, evidence_tally: &mut EvidenceTally) {
        self.estimator.slip(slip);
        self.estimator.begin(evidence_tally);
    }

    /// Goes on as if the robot had slipped at the time of this branch point.
    fn take_slip(&mut self, k: usize, slip: Slip) -> Option<Processed> {
        let BranchPoint { branch: Branch { point, mut evidence_tally }, scan: from, .. } =
            self.history.odometry_faults.branch_points.drain(..).nth(k)?;
        let mut again = self.go_back_for_good(point);
        self.slip(slip, &mut evidence_tally);
        let mut last = None;
        let split = self.history.log.merged_since(from);
        for scan in self.history.log.take(from) {
            last = Some(self.take_in_for(&scan, &mut evidence_tally, true));
            self.note_again(&mut again, &scan);
            self.intake.inbox.recycle(scan);
        }
        self.end_again(again, split);
        self.estimator.note_slip();
        self.believe_loop();
        self.end_refilter();
        self.forget_unneeded();
        self.commit();
        self.look_ahead();
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::checkpoint::Point;
    use crate::history::odometry_faults::OdometryFaults;
    use crate::{Measurement, MeasurementKind, Odometry};
    use lienav_lie::Se2;
    use nalgebra::{Matrix3, Vector2};
    use std::collections::VecDeque;

    /// A robot that is known to a centimetre at so many metres ahead.
    fn at(ahead_m: f64) -> Point {
        let mut config = Config::default();
        (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.01, 0.01);
        let mut slam = Slam::new(config).unwrap();
        for k in 0..3 {
            let stamp = Stamp::from_secs(f64::from(k));
            slam.odometry(&Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }).unwrap();
        }
        let known = Matrix3::from_diagonal_element(1e-4);
        slam.set_pose(Se2::new(ahead_m, 0.0, 0.0), &known).unwrap();
        slam.features(Stamp::from_secs(1.0), MeasurementKind::RangeBearing, &[Measurement::new(None, [3.0, 0.0])])
            .unwrap();
        let _ = slam.poll();
        slam.point(slam.at.time.unwrap())
    }

    fn hypothesis(turn: f64, ahead_m: f64, log_ratio: f64) -> SlipHypothesis {
        let branch = Branch { point: at(ahead_m), evidence_tally: EvidenceTally::telling(log_ratio) };
        SlipHypothesis { branch, scans: 0, slip: Slip { turn, std: 0.2, at: None } }
    }

    #[test]
    fn where_two_rivals_have_the_robot_at_two_places_the_likelier_one_has_to_be_sure() {
        let is_undisputed = |other: SlipHypothesis| {
            let one = hypothesis(0.4, 0.0, 20.0);
            let slip = one.slip;
            let branch = Branch { point: at(0.0), evidence_tally: EvidenceTally::telling(0.0) };
            let branch_point = BranchPoint { branch, scan: 0, weighed: 0.0, hypotheses: vec![one, other] };
            OdometryFaults { branch_points: VecDeque::from([branch_point]), ..OdometryFaults::default() }
                .is_undisputed(0, slip)
        };
        assert!(!is_undisputed(hypothesis(-0.4, 1.0, 18.0)), "as likely, a metre away");
        assert!(is_undisputed(hypothesis(-0.4, 1.0, 16.0)), "far less likely");
        assert!(is_undisputed(hypothesis(-0.4, 0.01, 18.0)), "at the same place");
    }
}
