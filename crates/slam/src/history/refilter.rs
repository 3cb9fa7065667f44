//! Where the filter was before the last scans, for refiltering them with the noise that was learned.

use crate::association::evidence_tally::{EvidenceTally, LandmarkEvidence};
use crate::history::checkpoint::Point;
use crate::inbox::QueuedScan;
/// Where the filter was, and the scans that have come since, in the order of their places.
#[derive(Default)]
pub struct Refilter {
    pub point: Option<Point>,
    /// What the filter has made of the scans since, of landmarks without identity.
    pub evidence_tally: Option<EvidenceTally>,
    pub scans: Vec<QueuedScan>,
    /// Landmarks that have turned out to be one since: the one that is gone, and the one that was kept.
    pub merged: Vec<(u32, u32)>,
    /// How often it was looked again.
    pub count: u64,
}

impl Refilter {
    /// Whether it is known what the filter has made of the scans.
    pub fn has_tally(&self) -> bool {
        self.point.is_some() && self.evidence_tally.is_some()
    }

    /// The scan that has come last.
    pub fn last_scan(&mut self) -> Option<&mut QueuedScan> {
        self.scans.last_mut()
    }

    /// Takes in what a scan makes of the landmarks, and its normalized squared innovation with the degrees of freedom.
    pub fn note(&mut self, scan_evidence: &[LandmarkEvidence], nis: (f64, usize)) {
        if let Some(evidence_tally) = &mut self.evidence_tally {
            evidence_tally.note(scan_evidence, nis);
        }
    }
}
