//! The evidence of scans for a motion of the robot: the log-likelihood ratio Λ of landmarks that are measured, missed
//! and initialized.
//!
//! ```math
//! \Lambda = \sum_{\text{read}} \ln \frac{P_D}{P_{chance}} + \sum_{\text{missed}} \ln (1 - P_D)
//!     - \sum_{\text{new}} P_{exists} \ln 10 - \tfrac12 \Bigl( D - \nu - \nu \ln \frac{D}{\nu} \Bigr)
//! ```
//!
//! as of [`Trial`](crate::association::trial::Trial), over the landmarks that were known before, and those that were
//! initialized since. P_chance is that of the gate which a landmark had before it was read.

use crate::association::memory::{Memory, is_placed};
use crate::association::trial::{excess, read};
use crate::thresholds::{FIFTY_TO_ONE, TEN_TO_ONE};
use lienav_planar::associated::Ambiguity;
use lienav_planar::model::Model;
use lienav_planar::state::State;

/// The evidence of the last scan about one landmark.
#[derive(Clone, Copy, Debug)]
pub struct LandmarkEvidence {
    id: u32,
    /// The scan that began it.
    first: u64,
    existence_probability: f64,
    is_read: bool,
    /// Its log-likelihood ratio: a landmark that exists against none.
    log_ratio: f64,
    /// That of a measurement in the next scan.
    next: f64,
}

/// What the last scan makes of all landmarks without identity, in the order of their identities. `ambiguous` are
/// measurements that were left out, and landmarks that each of them may be of.
pub fn landmark_evidence(
    (state, memory): (&State, &Memory),
    model: &Model,
    ambiguous: &[Ambiguity],
    scan_evidence: &mut Vec<LandmarkEvidence>,
) {
    scan_evidence.clear();
    let gate = model.gate.associated(2)[0];
    let farthest = memory.rates.farthest();
    for (i, landmark) in state.landmarks.iter().enumerate() {
        let Some(existence) = memory.existence(landmark.id) else { continue };
        let z = state.in_robot(i);
        let is_read = existence.last == memory.scan;
        let next = read((state, memory), gate, i);
        let log_ratio = if is_read {
            next
        } else if z.norm() < farthest
            && is_placed(state, i, &z)
            && !ambiguous.iter().any(|ambiguity| ambiguity.landmark == landmark.id)
        {
            let spread = 2.0 * state.relative_spread(i).max(0.0).sqrt();
            (1.0 - memory.rates.least_detection(&z, spread)).ln()
        } else {
            0.0
        };
        scan_evidence.push(LandmarkEvidence {
            id: landmark.id,
            first: existence.first,
            existence_probability: existence.existence_probability(),
            is_read,
            log_ratio,
            next,
        });
    }
    scan_evidence.sort_unstable_by_key(|landmark_evidence| landmark_evidence.id);
}

/// A landmark that was known before.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: u32,
    log_ratio: f64,
    is_read: bool,
    /// What it tells if it is read: by where it was known to be before that, not by where the measurement has moved it.
    next: f64,
}

/// What scans make of the landmarks.
#[derive(Debug, Default)]
pub struct EvidenceTally {
    /// In the order of their identities.
    known: Vec<Known>,
    since: u64,
    new: f64,
    /// Mean squared innovation by degree of freedom before.
    usual: f64,
    /// The sum of the squared innovations since, in units of the usual one, and of their degrees of freedom.
    nis: f64,
    dof: f64,
}

impl EvidenceTally {
    /// Of the scans that come.
    pub fn new(state: &State, memory: &Memory, model: &Model) -> Self {
        let mut evidence_tally = Self::default();
        evidence_tally.begin(state, memory, model);
        evidence_tally
    }

    /// The evidence of one landmark with this log-likelihood ratio, for tests of hypotheses.
    #[doc(hidden)]
    pub fn telling(log_ratio: f64) -> Self {
        Self { known: vec![Known { id: 0, log_ratio, is_read: log_ratio > 0.0, next: log_ratio }], ..Self::default() }
    }

    /// Begins anew, in the memory that it has.
    pub fn begin(&mut self, state: &State, memory: &Memory, model: &Model) {
        let gate = model.gate.associated(2)[0];
        let mut known = std::mem::take(&mut self.known);
        let is_known = |id: u32| memory.existence(id).is_some_and(|existence| existence.is_confirmed);
        let of_known = state.landmarks.iter().enumerate().filter(|(_, landmark)| is_known(landmark.id));
        known.clear();
        known.extend(of_known.map(|(i, landmark)| {
            let next = read((state, memory), gate, i);
            Known { id: landmark.id, log_ratio: 0.0, is_read: false, next }
        }));
        known.sort_unstable_by_key(|known| known.id);
        let (since, usual) = (memory.scan + 1, memory.rates.innovation());
        *self = Self { known, since, usual, ..Self::default() };
    }

    /// Takes in what a scan makes of all landmarks, in the order of their identities, and the normalized squared
    /// innovation of all its measurements, with its degrees of freedom.
    pub fn note(&mut self, scan_evidence: &[LandmarkEvidence], (nis, dof): (f64, usize)) {
        self.nis += nis / self.usual;
        self.dof += dof as f64;
        self.new = 0.0;
        let mut known = self.known.iter_mut().peekable();
        for landmark_evidence in scan_evidence {
            if landmark_evidence.first >= self.since {
                self.new += TEN_TO_ONE.ln * landmark_evidence.existence_probability;
            }
            while known.next_if(|known| known.id < landmark_evidence.id).is_some() {}
            let Some(known) = known.next_if(|known| known.id == landmark_evidence.id).filter(|known| !known.is_read)
            else {
                continue;
            };
            known.is_read = landmark_evidence.is_read;
            let log_ratio = if landmark_evidence.is_read {
                landmark_evidence.log_ratio.min(known.next)
            } else {
                landmark_evidence.log_ratio
            };
            known.log_ratio = (known.log_ratio + log_ratio).max(-FIFTY_TO_ONE.ln);
            known.next = landmark_evidence.next;
        }
    }

    /// What landmarks that are missed and others that begin say, at most zero.
    pub fn against(&self) -> f64 {
        self.missed() - self.new
    }

    fn missed(&self) -> f64 {
        self.known.iter().map(|known| known.log_ratio.min(0.0)).sum()
    }

    /// Whether landmarks are missed and others begin, by odds of which this is the logarithm.
    pub fn is_suspicious(&self, by: f64) -> bool {
        self.missed() <= -by && self.new >= by
    }

    /// How many of the landmarks that were known before were read.
    pub fn reads(&self) -> usize {
        self.known.iter().filter(|known| known.is_read).count()
    }

    /// Λ.
    pub fn evidence(&self) -> f64 {
        self.known.iter().map(|known| known.log_ratio).sum::<f64>() - self.new - excess(self.nis, self.dof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence_tally(known: &[u32]) -> EvidenceTally {
        let known =
            known.iter().map(|id| Known { id: *id, log_ratio: 0.0, is_read: false, next: TEN_TO_ONE.ln }).collect();
        EvidenceTally { known, since: 10, new: 0.0, usual: 1.0, nis: 0.0, dof: 0.0 }
    }

    fn landmark_evidence(id: u32, log_ratio: f64) -> LandmarkEvidence {
        LandmarkEvidence {
            id,
            first: 1,
            existence_probability: 1.0,
            is_read: log_ratio > 0.0,
            log_ratio,
            next: TEN_TO_ONE.ln,
        }
    }

    #[test]
    fn what_is_read_speaks_once_and_what_is_missed_to_a_bound() {
        let mut evidence_tally = evidence_tally(&[3, 5, 8]);
        for _ in 0..10 {
            evidence_tally
                .note(&[landmark_evidence(3, 2.0), landmark_evidence(5, -0.7), landmark_evidence(8, 0.0)], (2.0, 2));
        }
        assert_eq!(
            (evidence_tally.evidence(), evidence_tally.reads(), evidence_tally.against()),
            (2.0 - FIFTY_TO_ONE.ln, 1, -FIFTY_TO_ONE.ln)
        );
        assert!(!evidence_tally.is_suspicious(2.0), "nothing has begun");
        // It is read after all, and misses no more.
        evidence_tally.note(&[landmark_evidence(5, 1.0)], (2.0, 2));
        evidence_tally.note(&[landmark_evidence(5, -0.7)], (2.0, 2));
        assert_eq!((evidence_tally.evidence(), evidence_tally.reads()), (2.0 - FIFTY_TO_ONE.ln + 1.0, 2));
    }

    /// A landmark that was anywhere before a loop has brought it to what is read says nothing for the loop.
    #[test]
    fn a_measurement_tells_by_where_the_landmark_was_known_to_be_before_it() {
        let mut evidence_tally = evidence_tally(&[3]);
        evidence_tally.note(&[LandmarkEvidence { next: 0.3, ..landmark_evidence(3, 0.0) }], (2.0, 2));
        evidence_tally.note(&[landmark_evidence(3, 2.0)], (2.0, 2));
        assert_eq!(evidence_tally.evidence(), 0.3);
    }

    #[test]
    fn what_has_begun_speaks_as_long_as_it_is_there() {
        let mut evidence_tally = evidence_tally(&[3]);
        let new = LandmarkEvidence { first: 10, existence_probability: 0.5, ..landmark_evidence(9, 1.0) };
        evidence_tally.note(&[landmark_evidence(3, -2.5), new], (2.0, 2));
        assert_eq!((evidence_tally.evidence(), evidence_tally.reads()), (-2.5 - 0.5 * TEN_TO_ONE.ln, 0));
        assert!(evidence_tally.is_suspicious(1.0) && !evidence_tally.is_suspicious(2.0));
        evidence_tally.note(&[landmark_evidence(3, 0.0)], (2.0, 2));
        assert_eq!(evidence_tally.against(), -2.5);
    }

    #[test]
    fn innovations_larger_than_usual_speak_against_it() {
        let mut evidence_tally = evidence_tally(&[]);
        evidence_tally.note(&[], (4.0, 4));
        assert_eq!(evidence_tally.evidence(), 0.0);
        evidence_tally.note(&[], (400.0, 4));
        assert_eq!(evidence_tally.evidence(), -TEN_TO_ONE.ln);
    }
}
