//! What association remembers from scan to scan: landmarks without identity, each with the odds that it exists, and
//! the rates of the sensor.
//!
//! A measurement of no known landmark begins a candidate. Each scan in which it should be read changes the odds that it
//! is a landmark and not clutter: by P_D over the probability that clutter falls into its gate where it is read, by 1
//! − P_D where it is not (integrated probabilistic data association; Mušicki, Evans, Stanković 1994). Candidates are
//! in the filter like landmarks, but not in its output; they leave it if the odds fall, or if they are out of view.

use crate::association::cuts::Cuts;
use crate::association::existence::Existence;
use crate::association::field_of_view::{FieldOfView, place};
use crate::association::identity::NEAR_M2;
use crate::association::rates::Rates;
use crate::association::tally::Tally;
use crate::bounds::BOUNDS;
use crate::thresholds::{THOUSAND_TO_ONE, TWENTY_TO_ONE};
use lienav_base::stamp::Stamp;
use lienav_planar::associated::{Ambiguity, Associated, Role, Subject};
use lienav_planar::input::Label;
use lienav_planar::model::Model;
use lienav_planar::state::State;
use lienav_planar::without::Mechanism;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// A candidate that was not read in so many scans is dropped, if they had so many measurements: some sensors read one
/// landmark at a time.
const PATIENCE: (u64, u64) = (30, 240);
/// A landmark that was read in one of so many scans is near its last place, and in more if they had less measurements:
/// in one scan for each of these at most.
const RECENT: (usize, u64) = (10, 60);
/// A landmark is recent if it was read in one of so many scans, and in more if they had less measurements.
const RECENTLY_ADDED: (u64, u64) = (40, 320);

/// What association remembers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// The rates of detections and of clutter.
    pub rates: Rates,
    /// By their identity.
    #[serde(rename = "lives")]
    pub(super) existences: Vec<Existence>,
    /// How many scans there were.
    #[serde(rename = "cloud")]
    pub scan: u64,
    /// How many measurements were used.
    #[serde(rename = "readings")]
    measurements: u64,
    /// The stamps of the last scans, and how many measurements there had been then.
    stamps: Vec<(Stamp, u64)>,
    /// What association did so far.
    pub tally: Tally,
    /// The last landmark that was compared with others at its place.
    pub swept: usize,
    /// Recent and old landmarks that a loop has merged which was wrong.
    #[serde(default)]
    forbidden: Vec<(u32, u32)>,
    /// From where the sensor has looked.
    #[serde(default)]
    #[serde(rename = "looks")]
    pub field_of_view: FieldOfView,
    /// Where the map hangs together by odometry alone.
    #[serde(skip)]
    pub cuts: Cuts,
    #[serde(skip)]
    dropped: Vec<u32>,
    /// Landmarks that the last scan merged: the one that is gone, and the one that was kept.
    #[serde(skip)]
    pub merged: Vec<(u32, u32)>,
    /// Pairs at one place of which never both were read; the one with fewer measurements first.
    #[serde(skip)]
    #[serde(rename = "twins")]
    pub duplicates: Vec<(u32, u32)>,
}

/// Whether the place of landmark `i`, at `z` in the robot frame, is known so well that looks at it count.
pub fn is_placed(state: &State, i: usize, z: &Vector2<f64>) -> bool {
    /// Looks count where the place of a landmark relative to the robot is known so well beside its distance, and this,
    /// m.
    const PLACED: f64 = 0.1;
    const PLACED_M: f64 = 0.3;
    state.relative_spread(i).max(0.0).sqrt() <= PLACED * z.norm() + PLACED_M
}

impl Memory {
    /// Whether a memory that was saved can be gone on with.
    pub fn is_sound(&self) -> bool {
        let is_existence_sound = |existence: &Existence| {
            let Existence { odds, prior, duplicate, classes, diameter, .. } = existence;
            let numbers = [*odds, *prior, duplicate.1, diameter.0, diameter.1];
            numbers.into_iter().chain(classes.iter().map(|(_, count)| *count)).all(f64::is_finite)
        };
        let is_in_order = self.existences.windows(2).all(|pair| pair[0].id < pair[1].id);
        self.rates.is_sound()
            && is_in_order
            && self.existences.iter().all(is_existence_sound)
            && self.field_of_view.is_sound()
    }

    /// Becomes what another one is, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        let Self {
            rates,
            existences,
            scan,
            measurements,
            stamps,
            tally,
            swept,
            forbidden,
            field_of_view,
            cuts,
            dropped,
            merged,
            duplicates,
        } = other;
        self.rates.copy_from(rates);
        self.existences.clone_from(existences);
        (self.scan, self.measurements, self.tally, self.swept) = (*scan, *measurements, *tally, *swept);
        self.stamps.clone_from(stamps);
        self.forbidden.clone_from(forbidden);
        self.field_of_view.copy_from(field_of_view);
        self.cuts.copy_from(cuts);
        self.dropped.clone_from(dropped);
        self.merged.clone_from(merged);
        self.duplicates.clone_from(duplicates);
    }

    /// Landmarks that are not known yet, each with the only scan that has read it, in the order of their identities.
    #[cfg(test)]
    pub fn live(&mut self, ids: &[(u32, u64)]) {
        let prior = self.rates.prior_of_candidate();
        self.existences.extend(ids.iter().map(|(id, scan)| Existence::new(*id, *scan, prior, &Label::default())));
        self.scan = self.existences.iter().map(|existence| existence.last).max().unwrap_or(0);
    }

    /// Whether there was no measurement without identity so far.
    pub fn is_idle(&self) -> bool {
        self.scan == 0
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is known of a landmark without identity.
    pub fn existence(&self, id: u32) -> Option<&Existence> {
        self.place(id).ok().map(|k| &self.existences[k])
    }

    pub(super) fn place(&self, id: u32) -> Result<usize, usize> {
        self.existences.binary_search_by_key(&id, |existence| existence.id)
    }

    /// Whether a landmark counts as a landmark.
    pub fn is_landmark(&self, id: u32) -> bool {
        self.existence(id).is_none_or(|existence| existence.is_confirmed)
    }

    /// The probability that a landmark is a landmark.
    pub fn existence_probability(&self, id: u32) -> f64 {
        self.existence(id).map_or(1.0, Existence::existence_probability)
    }

    /// The class of a landmark without identity, as its measurements say; 0 where it is not known.
    pub fn class(&self, id: u32) -> u32 {
        self.existence(id).map_or(0, Existence::class)
    }

    /// Whether landmark `i`, at `z` in the robot frame, should be read where it is, and is not, nor another one at its
    /// place: that may be the same landmark.
    pub fn is_missed(&self, state: &State, i: usize, z: &Vector2<f64>) -> bool {
        let is_read = |id: u32| self.existence(id).is_some_and(|existence| existence.last == self.scan);
        let x = state.landmarks[i].x;
        let mut near = state.landmarks.iter().filter(|other| (other.x - x).norm_squared() < NEAR_M2);
        is_placed(state, i, z) && !near.any(|other| is_read(other.id))
    }

    /// These pairs of landmarks are not merged as a loop again.
    pub fn forbid(&mut self, pairs: &[(u32, u32)]) {
        self.forbidden.extend_from_slice(pairs);
        let excess = self.forbidden.len().saturating_sub(BOUNDS.forbidden);
        self.forbidden.drain(..excess);
        self.tally.taken_back += u64::from(!pairs.is_empty());
    }

    /// Whether two landmarks were merged by a loop that was undone.
    pub fn is_forbidden(&self, pair: (u32, u32)) -> bool {
        self.forbidden.contains(&pair)
    }

    /// Whether a landmark was last read before so many scans, and so many measurements.
    fn is_older(&self, existence: &Existence, (scans, measurements): (u64, u64)) -> bool {
        self.scan - existence.last > scans && self.measurements - existence.last_measurement > measurements
    }

    /// Whether a landmark was read not long ago.
    pub fn is_recent(&self, existence: &Existence) -> bool {
        !self.is_older(existence, RECENTLY_ADDED)
    }

    /// How many landmarks of the filter are no landmarks yet.
    pub fn candidates(&self) -> usize {
        self.existences.iter().filter(|existence| !existence.is_confirmed).count()
    }

    /// Landmarks last seen at this stamp or later are near their last place.
    pub fn recent(&self) -> Stamp {
        self.stamps.first().map_or(Stamp::MIN, |(stamp, _)| *stamp)
    }

    /// Landmarks last seen before this stamp are not recent any more.
    pub fn map_on(&mut self, stamp: Stamp) {
        self.stamps.clear();
        self.stamps.push((stamp, self.measurements));
    }

    /// The logarithm of what speaks for a measurement with this label being of a landmark at `z` in the robot frame,
    /// beside its residual and against being of none: ln P_D/(1 − P_D), and what the label tells.
    pub fn weight(&self, id: u32, z: &Vector2<f64>, label: &Label) -> f64 {
        let mut detection = self.rates.detection(z);
        let mut fits = 0.0;
        if let Some(existence) = self.existence(id) {
            detection *= existence.existence_probability();
            fits = existence.fits(label, &self.rates);
        }
        (detection / (1.0 - detection)).ln() + fits
    }

    /// Learns from a scan that was associated, and gives the landmarks that are to be dropped.
    pub fn learn(
        &mut self,
        state: &State,
        model: &Model,
        (measurements, ambiguous, is_empty): (&[Associated], &[Ambiguity], bool),
        stamp: Stamp,
    ) -> &[u32] {
        self.tally.scans += 1;
        let missed = self.missed(state);
        let looked = self.rates.has_looked(missed, is_empty);
        if is_empty {
            return self.learn_from_silence(state, looked);
        }
        self.scan += 1;
        let before = self.measurements;
        self.measurements += measurements.len() as u64;
        let is_old = |next: &(Stamp, u64)| self.measurements - next.1 >= RECENT.1;
        while self.stamps.len() >= RECENT.1 as usize
            || (self.stamps.len() >= RECENT.0 && self.stamps.get(1).is_some_and(is_old))
        {
            self.stamps.remove(0);
        }
        self.stamps.push((stamp, before));
        let added = measurements.iter().filter(|measurement| measurement.role == Role::First).count();
        let again = measurements.iter().filter(|measurement| measurement.role == Role::Again).count();
        // Before there is a map, that a measurement is of none says nothing.
        if self.scan > 1 {
            self.rates.scan(again, added);
        }
        let prior = self.rates.prior_of_candidate();
        // What has become of others tells of those that are still open.
        self.existences
            .iter_mut()
            .filter(|existence| !existence.is_confirmed)
            .for_each(|existence| existence.begin_with(prior));
        let mut anchor: Option<(bool, f64, u32)> = None;
        for Associated { subject, measurement, role, .. } in measurements {
            let Subject::Landmark(id) = *subject else { continue };
            let Some((z, noise)) = model.sensors.place(&state.mounts, measurement) else { continue };
            self.rates.measurement(&z, measurement.label());
            if measurement.id().is_some() {
                self.rates.reach(&z);
                continue;
            }
            match (self.place(id), role) {
                (Err(k), Role::First) => {
                    let mut existence = Existence::new(id, self.scan, prior, measurement.label());
                    existence.last_measurement = self.measurements;
                    self.existences.insert(k, existence);
                    self.field_of_view.make_room(self.existences.len());
                }
                (Ok(k), Role::Again) => {
                    let gate = model.gate.associated(2)[0];
                    let by_chance = std::f64::consts::TAU * gate * noise.determinant().max(0.0).sqrt();
                    let log_ratio = self.rates.detection(&z) / (by_chance * self.rates.extraneous_density());
                    let existence = &mut self.existences[k];
                    existence.odds =
                        (existence.odds + log_ratio.ln().clamp(0.0, TWENTY_TO_ONE.ln)).min(2.0 * THOUSAND_TO_ONE.ln);
                    (existence.last, existence.last_measurement) = (self.scan, self.measurements);
                    existence.label(measurement.label());
                    if existence.is_confirmed {
                        self.cuts.bridge(existence.first, self.scan);
                    }
                    if existence.odds >= THOUSAND_TO_ONE.ln && !existence.is_confirmed {
                        existence.is_confirmed = true;
                        self.rates.outcome(1.0);
                        self.tally.confirmed += 1;
                    }
                    if existence.is_confirmed {
                        self.rates.reach(&z);
                    }
                }
                _ => {}
            }
            if let Some(existence) = self.existence(id).filter(|_| matches!(role, Role::First | Role::Again)) {
                let nearest = (!existence.is_confirmed, z.norm(), id);
                anchor = anchor.filter(|known| *known <= nearest).or(Some(nearest));
            }
        }
        if let Some((anchor, i)) = anchor.and_then(|(.., id)| Some((id, state.find(id)?))) {
            let reach = (self.rates.farthest(), self.scan);
            self.field_of_view.add((anchor, place(state, i)), &state.pose, reach);
        }
        self.cuts.note(self.scan, &state.pose.p, again == 0);
        self.note_visible(state, ambiguous);
        self.duplicates.clear();
        if !model.without.has(Mechanism::Duplicates) {
            self.compare_neighbours(state, model, (measurements, ambiguous));
        }
        self.drop_hopeless(state)
    }

    /// Forgets candidates that are no landmarks, and what the filter does not have any more.
    fn drop_hopeless(&mut self, state: &State) -> &[u32] {
        self.dropped.clear();
        for existence in &self.existences {
            let is_gone = state.find(existence.id).is_none();
            let is_unlikely = existence.odds < existence.prior - TWENTY_TO_ONE.ln;
            let is_out = self.is_older(existence, PATIENCE) && existence.odds < 0.0;
            let is_hopeless = !existence.is_confirmed && (is_unlikely || is_out);
            if is_gone || is_hopeless {
                self.dropped.push(existence.id);
            }
        }
        for k in 0..self.dropped.len() {
            self.forget(self.dropped[k]);
        }
        &self.dropped
    }

    /// A scan without measurements, of a sensor that has looked with probability `looked`, speaks against candidates.
    /// What was expected teaches nothing but how often the sensor looks; how often it reads what is there comes from
    /// scans with measurements.
    fn learn_from_silence(&mut self, state: &State, looked: f64) -> &[u32] {
        self.duplicates.clear();
        self.rates.silence(looked);
        for i in 0..state.landmarks.len() {
            let z = state.in_robot(i);
            let detection = self.rates.detection_in_view(&z);
            if let Ok(k) = self.place(state.landmarks[i].id)
                && !self.existences[k].is_confirmed
                && is_placed(state, i, &z)
            {
                self.existences[k].odds += (1.0 - looked * detection).ln();
            }
        }
        self.drop_hopeless(state)
    }

    /// The probability that nothing in view is read by a sensor that looks.
    fn missed(&self, state: &State) -> f64 {
        let missed = |i: usize| {
            let z = state.in_robot(i);
            if !is_placed(state, i, &z) {
                return 1.0;
            }
            let exists = self.existence(state.landmarks[i].id).map_or(1.0, Existence::existence_probability);
            1.0 - exists * self.rates.detection_in_view(&z)
        };
        (0..state.landmarks.len()).filter(|i| !state.landmarks[*i].is_anchor_point).map(missed).product()
    }

    /// Which landmarks in view were read, and which were missed: not those that are `ambiguous`.
    fn note_visible(&mut self, state: &State, ambiguous: &[Ambiguity]) {
        let is_doubtful = |id: u32| ambiguous.iter().any(|ambiguity| ambiguity.landmark == id);
        for i in 0..state.landmarks.len() {
            let landmark = &state.landmarks[i];
            if landmark.is_anchor_point {
                continue;
            }
            let z = state.in_robot(i);
            if !is_placed(state, i, &z) {
                continue;
            }
            let place = self.place(landmark.id);
            let is_read = self.stamps.last().is_some_and(|(stamp, _)| landmark.last_seen == *stamp);
            if !is_read && is_doubtful(landmark.id) {
                continue;
            }
            let detection = self.rates.detection_within_reach(&z);
            match place {
                Ok(k) => {
                    let existence = &mut self.existences[k];
                    if existence.first == self.scan {
                        continue;
                    }
                    // A candidate counts by the probability that it is there: a sensor that reads each landmark
                    // rarely would drop all before it knew that.
                    let weight = existence.existence_probability();
                    if !is_read && !existence.is_confirmed {
                        existence.odds += (1.0 - detection).ln();
                    }
                    self.rates.note_visible(&z, is_read, weight);
                }
                Err(_) => self.rates.note_visible(&z, is_read, 1.0),
            }
        }
    }

    /// A landmark is no more. Of one that was never missed nobody knows what it was: it counts by its odds.
    fn forget(&mut self, id: u32) {
        let Ok(k) = self.place(id) else { return };
        let existence = self.existences.remove(k);
        self.field_of_view.forget(id);
        if !existence.is_confirmed {
            self.rates.outcome(existence.existence_probability());
            self.tally.dropped += 1;
        }
    }

    /// A landmark is known to exist from elsewhere.
    pub fn confirm(&mut self, id: u32) {
        if let Ok(k) = self.place(id) {
            let existence = &mut self.existences[k];
            (existence.is_confirmed, existence.odds) = (true, existence.odds.max(THOUSAND_TO_ONE.ln));
        }
    }

    /// The landmark `gone` is `kept`.
    pub fn merge(&mut self, kept: u32, gone: u32) {
        let Some(newer) = self.existence(gone).copied() else { return };
        if let Ok(k) = self.place(kept) {
            let existence = &mut self.existences[k];
            (existence.last, existence.last_measurement, existence.odds) =
                (newer.last, newer.last_measurement, existence.odds.max(newer.odds));
            existence.is_confirmed |= newer.is_confirmed;
            self.cuts.bridge(existence.first, existence.last);
        }
        if let Ok(k) = self.place(gone) {
            self.existences.remove(k);
            self.field_of_view.merge(kept, gone);
        }
        self.tally.merged += 1;
        self.merged.push((gone, kept));
    }
}
