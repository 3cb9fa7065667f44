//! Odometry fault hypotheses: where the filter was, and what it would have been had the robot slipped.

use crate::estimator::Slip;
use crate::history::checkpoint::Point;
use lienav_associate::association::evidence_tally::{EvidenceTally, LandmarkEvidence};
use lienav_associate::thresholds::{CERTAIN, TEN_TO_ONE, THOUSAND_TO_ONE, TWENTY_TO_ONE};
use lienav_planar::associated::Associated;
use std::collections::VecDeque;

/// Landmarks that are missed and others that begin are weighed from here on, as logarithms of odds. One of each says
/// 2.3 at most, and a hypothesis that reads the one for the other would not be believed.
pub const SUSPICIOUS: f64 = TWENTY_TO_ONE.ln;

/// Where a filter is, and what it makes of scans.
pub struct Branch {
    pub point: Point,
    pub evidence_tally: EvidenceTally,
}

/// Where the filter was, and what it has made of the scans since.
pub struct BranchPoint {
    pub branch: Branch,
    /// How many scans were processed before.
    pub scan: u64,
    /// What it had made of them when the last hypotheses began.
    pub weighed: f64,
    pub hypotheses: Vec<SlipHypothesis>,
}

/// The filter, if the robot had slipped at the time of a branch point.
pub struct SlipHypothesis {
    /// After the last scan, since the branch point.
    pub branch: Branch,
    pub scans: usize,
    pub slip: Slip,
}

impl SlipHypothesis {
    /// What hypotheses are compared by, and how it has slipped.
    pub fn order(&self) -> (f64, Slip) {
        (self.branch.evidence_tally.evidence(), self.slip)
    }

    /// By how much likelier the scans are than if the robot had not slipped: the logarithm.
    pub fn log_ratio(&self, own: &EvidenceTally) -> f64 {
        self.branch.evidence_tally.evidence() - own.evidence()
    }

    /// Whether that is enough, beside how rarely a robot slips.
    pub fn is_believed(&self, own: &EvidenceTally) -> bool {
        let odds = self.log_ratio(own) - THOUSAND_TO_ONE.ln;
        // Where no more of what was known is read, it is vague where the robot is, and what it should see cannot be
        // missed.
        odds >= if self.branch.evidence_tally.reads() > own.reads() { TWENTY_TO_ONE.ln } else { CERTAIN.ln }
    }
}

/// Motions that may not have been what odometry says.
#[derive(Default)]
pub struct OdometryFaults {
    pub branch_points: VecDeque<BranchPoint>,
    /// Scans with measurements since the last one.
    pub since: usize,
    /// Those that are not followed any more, for their memory.
    pub spare: Vec<Branch>,
    /// A buffer of what a scan makes of the landmarks, and whether the last one makes something of them.
    pub scan_evidence: Vec<LandmarkEvidence>,
    pub has_scan_evidence: bool,
    /// And of what the last scan was of, while others are taken in.
    pub measurements: Vec<Associated>,
}

impl OdometryFaults {
    /// Gives the first branch point up, and keeps its memory. Says whether there was one.
    pub fn forget_first(&mut self) -> bool {
        let Some(BranchPoint { branch, hypotheses, .. }) = self.branch_points.pop_front() else { return false };
        self.spare.push(branch);
        self.spare.extend(hypotheses.into_iter().map(|hypothesis| hypothesis.branch));
        true
    }

    /// Whether no other hypothesis that has the robot elsewhere is nearly as likely as this one: that it has slipped is
    /// sure then, and where it is, is not.
    pub fn is_undisputed(&self, branch_point: usize, slip: Slip) -> bool {
        let all = || {
            self.branch_points.iter().flat_map(|branch_point| {
                branch_point.hypotheses.iter().map(move |hypothesis| (&branch_point.branch.evidence_tally, hypothesis))
            })
        };
        let BranchPoint { branch, hypotheses, .. } = &self.branch_points[branch_point];
        let Some(one) = hypotheses.iter().find(|hypothesis| hypothesis.slip == slip) else { return false };
        let least = one.log_ratio(&branch.evidence_tally) - TWENTY_TO_ONE.ln;
        let disputes = |(own, other): (&EvidenceTally, &SlipHypothesis)| {
            other.log_ratio(own) > least && one.branch.point.estimator.is_elsewhere(&other.branch.point.estimator)
        };
        !all().any(disputes)
    }

    /// The branch point for which hypotheses should begin: that against which most speaks since it had some.
    pub fn next_branch_point(&self) -> Option<usize> {
        /// Hypotheses begin while no more than so many are followed: with those that begin nine, or twelve where the
        /// map has a cut.
        const MAX_HYPOTHESES: usize = 6;
        if self.branch_points.iter().map(|branch_point| branch_point.hypotheses.len()).sum::<usize>() > MAX_HYPOTHESES {
            return None;
        }
        let grown = |branch_point: &BranchPoint| branch_point.weighed - branch_point.branch.evidence_tally.against();
        let is_due = |branch_point: &BranchPoint| {
            branch_point.hypotheses.is_empty()
                && branch_point.branch.evidence_tally.is_suspicious(SUSPICIOUS)
                && grown(branch_point) >= SUSPICIOUS + TEN_TO_ONE.ln
        };
        let due = self.branch_points.iter().enumerate().filter(|(_, branch_point)| is_due(branch_point));
        due.max_by(|a, b| grown(a.1).total_cmp(&grown(b.1)).then(a.0.cmp(&b.0))).map(|(k, _)| k)
    }
}
