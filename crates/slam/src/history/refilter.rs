//! Where the filter was before the last scans, for refiltering them with the noise that was learned.

use crate::history::checkpoint::{Checkpoint, Point};
use lienav_associate::association::evidence_tally::{EvidenceTally, LandmarkEvidence};
/// Where the filter was.
#[derive(Default)]
pub struct Refilter {
    pub checkpoint: Option<Checkpoint>,
    /// What the filter has made of the scans since, of landmarks without identity.
    pub evidence_tally: Option<EvidenceTally>,
    /// Those that are not needed any more, for their memory.
    pub spare: Option<(Point, EvidenceTally)>,
    /// How often scans were refiltered.
    pub count: u64,
}

impl Refilter {
    /// Whether it is known what the filter has made of the scans.
    pub fn has_tally(&self) -> bool {
        self.checkpoint.is_some() && self.evidence_tally.is_some()
    }

    /// Takes in what a scan makes of the landmarks, and its normalized squared innovation with the degrees of freedom.
    pub fn note(&mut self, scan_evidence: &[LandmarkEvidence], nis: (f64, usize)) {
        if let Some(evidence_tally) = &mut self.evidence_tally {
            evidence_tally.note(scan_evidence, nis);
        }
    }
}
