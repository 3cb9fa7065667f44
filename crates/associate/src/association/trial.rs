//! Whether a loop that was closed turns out right.
//!
//! A loop that is closed wrongly brings the robot to a place that is mapped, but is not where it is: landmarks that
//! should be in view there are not read, and what is read contradicts what was known. Both are weighed scan by scan
//! against what a right one would bring, a sequential probability ratio test (Wald 1945). The logarithm of the odds
//! that the loop is right is what spoke for it when it was closed, and
//!
//! ```math
//! \Lambda = \sum_{\text{read}} \ln \frac{P_D}{P_{chance}} + \sum_{\text{missed}} \ln (1 - P_D)
//!     + \sum_{\text{new}} \ln P_{unread} - \tfrac12 \Bigl( D - \nu - \nu \ln \frac{D}{\nu} \Bigr)
//! ```
//!
//! over the landmarks that were last read before the loop, and are none of those that have closed it. Each counts when
//! it is read for the first time, and as long as it should be in view and is not; later measurements of it say nothing
//! new. It should be in view where all places within two standard deviations of its own are. The third sum is over
//! landmarks that were begun since where none was: the probability that they were never read before, from where the
//! sensor has looked there. The last term is there
//! where D > ν only: D is the sum of the normalized squared innovations since, in units of what they were on average
//! before the loop, beside their ν degrees of freedom. It is the logarithm of how much likelier they are with another
//! variance, the most likely one.

use crate::association::field_of_view::{FieldOfView, ViewCell, place};
use crate::association::identity::{NEAR_M2, PLACED_M2};
use crate::association::memory::Memory;
use crate::association::never_read::never_read;
use crate::thresholds::{CERTAIN, FIFTY_TO_ONE, LIKELY, TEN_TO_ONE, UNLIKELY};
use lienav_planar::associated::Ambiguity;
use lienav_planar::model::Model;
use lienav_planar::state::State;
use lienav_planar::state::places::difference;

/// After so many scans with measurements it is decided.
const SCANS: u32 = 60;

/// What it tells that landmark `i` was read where it is: ln P_D/P_chance, with the probability that any landmark is in
/// its gate, a squared distance of two numbers.
pub(super) fn read((state, memory): (&State, &Memory), gate: f64, i: usize) -> f64 {
    let by_chance = std::f64::consts::PI * gate * state.relative_covariance(i).determinant().max(0.0).sqrt();
    let log_ratio = memory.rates.detection(&state.in_robot(i)) / (by_chance * memory.rates.landmark_density());
    log_ratio.ln().clamp(0.0, TEN_TO_ONE.ln)
}

/// What the sum of squared innovations, in units of the usual one, tells against what was matched.
pub(super) fn excess(nis: f64, dof: f64) -> f64 {
    if nis > dof && dof > 0.0 { (0.5 * (nis - dof - dof * (nis / dof).ln())).min(TEN_TO_ONE.ln) } else { 0.0 }
}

/// What is known of a loop since it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be right or wrong.
    Open,
    /// It is right.
    Believed,
    /// It is wrong.
    Refuted,
}

/// A landmark that was last read before the loop.
#[derive(Clone, Copy, Debug)]
struct Watched {
    id: u32,
    /// What it has told.
    log_ratio: f64,
    is_read: bool,
}

/// The test of a loop.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What spoke for the loop when it was closed: the logarithm of its odds.
    total_log_ratio: f64,
    watched: Vec<Watched>,
    /// Landmarks that were begun since.
    newcomers: Vec<Watched>,
    /// The first scan of what the loop has brought together with what was before.
    since: u64,
    /// From where the sensor had looked before that.
    field_of_view: FieldOfView,
    views: Vec<ViewCell>,
    /// Mean squared innovation by degree of freedom before.
    usual: f64,
    /// The sum of the squared innovations since, in units of the usual one, and of their degrees of freedom.
    nis: f64,
    dof: f64,
    scans: u32,
}

impl Trial {
    /// Of a loop that was just closed: the landmarks of `state` that were last read before the scan `since`, without
    /// those that have closed it. `total_log_ratio` is the logarithm of the odds at which it was closed.
    pub fn new((state, memory): (&State, &Memory), since: u64, total_log_ratio: f64) -> Self {
        let is_old =
            |id: u32| memory.existence(id).is_some_and(|existence| existence.is_confirmed && existence.last < since);
        let old = state.landmarks.iter().filter(|landmark| is_old(landmark.id));
        let watched = old.map(|landmark| Watched { id: landmark.id, log_ratio: 0.0, is_read: false }).collect();
        Self {
            total_log_ratio,
            watched,
            newcomers: Vec::new(),
            since,
            field_of_view: memory.field_of_view.before(since),
            views: Vec::new(),
            usual: memory.rates.innovation(),
            nis: 0.0,
            dof: 0.0,
            scans: 0,
        }
    }

    /// Takes in what a scan says of it: the landmarks of `state` that were read in the last scan of `memory`, and the
    /// normalized squared innovation of all its measurements, with its degrees of freedom.
    pub fn note(
        &mut self,
        (state, memory): (&State, &Memory),
        model: &Model,
        ambiguous: &[Ambiguity],
        (nis, dof): (f64, usize),
    ) {
        self.scans += 1;
        self.nis += nis / self.usual;
        self.dof += dof as f64;
        self.note_newcomers(state, memory);
        let gate = model.gate.associated(2)[0];
        for watched in self.watched.iter_mut().filter(|watched| !watched.is_read) {
            let (Some(i), Some(existence)) = (state.find(watched.id), memory.existence(watched.id)) else { continue };
            let z = state.in_robot(i);
            if existence.last == memory.scan {
                watched.is_read = true;
                watched.log_ratio += read((state, memory), gate, i);
            } else if memory.rates.least_detection(&z, 2.0 * state.relative_spread(i).max(0.0).sqrt()) > LIKELY
                && memory.is_missed(state, i, &z)
                && !ambiguous.iter().any(|ambiguity| ambiguity.landmark == watched.id)
            {
                watched.log_ratio = (watched.log_ratio + (1.0 - memory.rates.detection(&z)).ln()).max(-FIFTY_TO_ONE.ln);
            }
        }
    }

    /// Takes in that landmarks were read in the last scan where none was before.
    fn note_newcomers(&mut self, state: &State, memory: &Memory) {
        self.newcomers.retain(|new| state.find(new.id).is_some());
        self.field_of_view.view_cells(state, self.since, &mut self.views);
        // Within this, another landmark is unlikely to be there by chance: it may be an old one.
        let beside = (UNLIKELY / memory.rates.landmark_density()).max(NEAR_M2);
        for (i, landmark) in state.landmarks.iter().enumerate() {
            let Some(existence) = memory.existence(landmark.id).filter(|existence| existence.first >= self.since)
            else {
                continue;
            };
            if existence.last != memory.scan {
                continue;
            }
            let x = place(state, i);
            let is_near = |other: usize| (place(state, other) - x).norm_squared() < beside;
            let is_old = |id: u32| memory.existence(id).is_none_or(|existence| existence.first < self.since);
            let is_known = state.landmarks.iter().enumerate().any(|(k, other)| is_near(k) && is_old(other.id));
            let exists = memory.existence_probability(landmark.id);
            // As far as it is known where it is beside what was seen from there.
            let is_placed = |view: &&ViewCell| {
                let pair = (i, view.anchor);
                difference(state, pair, pair).trace() < PLACED_M2
            };
            let views = self.views.iter().filter(is_placed);
            let log_ratio = if is_known { 0.0 } else { never_read(memory, views, &x, exists) };
            match self.newcomers.iter_mut().find(|new| new.id == landmark.id) {
                Some(new) => new.log_ratio = log_ratio,
                None => self.newcomers.push(Watched { id: landmark.id, log_ratio, is_read: true }),
            }
        }
    }

    /// Λ.
    pub fn evidence(&self) -> f64 {
        let log_ratio = self.watched.iter().chain(&self.newcomers).map(|watched| watched.log_ratio);
        log_ratio.sum::<f64>() - excess(self.nis, self.dof)
    }

    /// Whether it is as likely as a loop that nobody would undo.
    pub fn is_likely(&self) -> bool {
        self.total_log_ratio + self.evidence() >= super::identity::SURE.ln()
    }

    /// What is to be thought of it.
    pub fn verdict(&self) -> Verdict {
        let odds = self.total_log_ratio + self.evidence();
        if odds <= 0.0 || (self.scans >= SCANS && odds < FIFTY_TO_ONE.ln) {
            Verdict::Refuted
        } else if odds >= CERTAIN.ln || self.scans >= SCANS {
            Verdict::Believed
        } else {
            Verdict::Open
        }
    }
}
