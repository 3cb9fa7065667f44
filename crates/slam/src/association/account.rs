//! What clouds make of the landmarks, to compare two ways in which the robot may have moved.
//!
//! ```math
//! \Lambda = \sum_{\text{read}} \ln \frac{P_D}{P_{chance}} + \sum_{\text{missed}} \ln (1 - P_D)
//!     - \sum_{\text{new}} P_{exists} \ln 10 - \tfrac12 \Bigl( D - \nu - \nu \ln \frac{D}{\nu} \Bigr)
//! ```
//!
//! as of [`Trial`](super::Trial), over the landmarks that were known before, and those that were begun since. P_chance is
//! that of the gate which a landmark had before it was read.

use crate::associated::Doubt;
use crate::association::memory::{Memory, is_placed};
use crate::association::trial::{MOST_MISSED, MOST_TOLD, excess, read};
use crate::model::Model;
use crate::state::State;

/// What the last cloud makes of one feature.
#[derive(Clone, Copy, Debug)]
pub struct Glance {
    id: u32,
    /// The cloud that began it.
    first: u64,
    existence: f64,
    is_read: bool,
    /// The logarithm of how much likelier this is of a landmark that is there.
    told: f64,
    /// That of a reading in the next cloud.
    next: f64,
}

/// What the last cloud makes of all features without identity, in the order of their identities. `doubtful` are
/// readings that were left out, and features that each of them may be of.
pub fn glance((state, memory): (&State, &Memory), model: &Model, doubtful: &[Doubt], glances: &mut Vec<Glance>) {
    glances.clear();
    let gate = model.gate.associated(2)[0];
    let farthest = memory.rates.farthest();
    for (i, landmark) in state.landmarks.iter().enumerate() {
        let Some(life) = memory.life(landmark.id) else { continue };
        let z = state.in_robot(i);
        let is_read = life.last == memory.scan;
        let next = read((state, memory), gate, i);
        let told = if is_read {
            next
        } else if z.norm() < farthest
            && is_placed(state, i, &z)
            && !doubtful.iter().any(|doubt| doubt.landmark == landmark.id)
        {
            let spread = 2.0 * state.relative_spread(i).max(0.0).sqrt();
            (1.0 - memory.rates.least_detection(&z, spread)).ln()
        } else {
            0.0
        };
        glances.push(Glance { id: landmark.id, first: life.first, existence: life.existence(), is_read, told, next });
    }
    glances.sort_unstable_by_key(|glance| glance.id);
}

/// A landmark that was known before.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: u32,
    told: f64,
    is_read: bool,
    /// What it tells if it is read: by where it was known to be before that, not by where the reading has moved it.
    next: f64,
}

/// What clouds make of the landmarks.
#[derive(Debug, Default)]
pub struct Account {
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

impl Account {
    /// Of the clouds that come.
    pub fn new(state: &State, memory: &Memory, model: &Model) -> Self {
        let mut account = Self::default();
        account.begin(state, memory, model);
        account
    }

    /// One in which a landmark has told so much.
    #[cfg(test)]
    pub fn telling(told: f64) -> Self {
        Self { known: vec![Known { id: 0, told, is_read: told > 0.0, next: told }], ..Self::default() }
    }

    /// Begins anew, in the memory that it has.
    pub fn begin(&mut self, state: &State, memory: &Memory, model: &Model) {
        let gate = model.gate.associated(2)[0];
        let mut known = std::mem::take(&mut self.known);
        let is_known = |id: u32| memory.life(id).is_some_and(|life| life.is_confirmed);
        let of_known = state.landmarks.iter().enumerate().filter(|(_, landmark)| is_known(landmark.id));
        known.clear();
        known.extend(of_known.map(|(i, landmark)| {
            let next = read((state, memory), gate, i);
            Known { id: landmark.id, told: 0.0, is_read: false, next }
        }));
        known.sort_unstable_by_key(|known| known.id);
        let (since, usual) = (memory.scan + 1, memory.rates.innovation());
        *self = Self { known, since, usual, ..Self::default() };
    }

    /// Takes in what a cloud makes of all features, in the order of their identities, and the normalized squared
    /// innovation of all its readings, with its degrees of freedom.
    pub fn note(&mut self, glances: &[Glance], (nis, dof): (f64, usize)) {
        self.nis += nis / self.usual;
        self.dof += dof as f64;
        self.new = 0.0;
        let mut known = self.known.iter_mut().peekable();
        for glance in glances {
            if glance.first >= self.since {
                self.new += MOST_TOLD * glance.existence;
            }
            while known.next_if(|known| known.id < glance.id).is_some() {}
            let Some(known) = known.next_if(|known| known.id == glance.id).filter(|known| !known.is_read) else {
                continue;
            };
            known.is_read = glance.is_read;
            let told = if glance.is_read { glance.told.min(known.next) } else { glance.told };
            known.told = (known.told + told).max(-MOST_MISSED);
            known.next = glance.next;
        }
    }

    /// What landmarks that are missed and others that begin say, at most zero.
    pub fn against(&self) -> f64 {
        self.missed() - self.new
    }

    fn missed(&self) -> f64 {
        self.known.iter().map(|known| known.told.min(0.0)).sum()
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
        self.known.iter().map(|known| known.told).sum::<f64>() - self.new - excess(self.nis, self.dof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(known: &[u32]) -> Account {
        let known = known.iter().map(|id| Known { id: *id, told: 0.0, is_read: false, next: MOST_TOLD }).collect();
        Account { known, since: 10, new: 0.0, usual: 1.0, nis: 0.0, dof: 0.0 }
    }

    fn glance(id: u32, told: f64) -> Glance {
        Glance { id, first: 1, existence: 1.0, is_read: told > 0.0, told, next: MOST_TOLD }
    }

    #[test]
    fn what_is_read_speaks_once_and_what_is_missed_to_a_bound() {
        let mut account = account(&[3, 5, 8]);
        for _ in 0..10 {
            account.note(&[glance(3, 2.0), glance(5, -0.7), glance(8, 0.0)], (2.0, 2));
        }
        assert_eq!((account.evidence(), account.reads(), account.against()), (2.0 - MOST_MISSED, 1, -MOST_MISSED));
        assert!(!account.is_suspicious(2.0), "nothing has begun");
        // It is read after all, and misses no more.
        account.note(&[glance(5, 1.0)], (2.0, 2));
        account.note(&[glance(5, -0.7)], (2.0, 2));
        assert_eq!((account.evidence(), account.reads()), (2.0 - MOST_MISSED + 1.0, 2));
    }

    /// A landmark that was anywhere before a loop has brought it to what is read says nothing for the loop.
    #[test]
    fn a_measurement_tells_by_where_the_landmark_was_known_to_be_before_it() {
        let mut account = account(&[3]);
        account.note(&[Glance { next: 0.3, ..glance(3, 0.0) }], (2.0, 2));
        account.note(&[glance(3, 2.0)], (2.0, 2));
        assert_eq!(account.evidence(), 0.3);
    }

    #[test]
    fn what_has_begun_speaks_as_long_as_it_is_there() {
        let mut account = account(&[3]);
        let new = Glance { first: 10, existence: 0.5, ..glance(9, 1.0) };
        account.note(&[glance(3, -2.5), new], (2.0, 2));
        assert_eq!((account.evidence(), account.reads()), (-2.5 - 0.5 * MOST_TOLD, 0));
        assert!(account.is_suspicious(1.0) && !account.is_suspicious(2.0));
        account.note(&[glance(3, 0.0)], (2.0, 2));
        assert_eq!(account.against(), -2.5);
    }

    #[test]
    fn innovations_larger_than_usual_speak_against_it() {
        let mut account = account(&[]);
        account.note(&[], (4.0, 4));
        assert_eq!(account.evidence(), 0.0);
        account.note(&[], (400.0, 4));
        assert_eq!(account.evidence(), -MOST_TOLD);
    }
}
