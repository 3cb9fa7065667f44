//! How many landmarks there are at one place: as many as are read at once.

use crate::associated::{Ambiguity, Associated, Role, Subject};
use crate::association::existence::Crowd;
use crate::association::memory::{CONFIRMED, Memory};
use crate::model::Model;
use crate::state::places::difference;
use crate::state::{State, StateLandmark};

/// Two landmarks that were read in one scan are two.
const CONTRADICTED: f64 = 50.0;
/// One landmark in so many stands for a landmark that another one stands for, too.
const DOUBLE: f64 = 1.0 / 20.0;
/// So many landmarks at one place are compared.
const MOST: usize = 8;

impl Memory {
    /// Landmarks so near to each other that a measurement does not tell them apart, and of which never both are read,
    /// are one: each scan in which one is read and the other is not says so by 1 − P_D.
    pub(super) fn compare_neighbours(
        &mut self,
        state: &State,
        model: &Model,
        (checked_measurements, ambiguous): (&[Associated], &[Ambiguity]),
    ) {
        self.duplicates.clear();
        let gate = model.gate.associated(2)[1];
        for Associated { subject, measurement: checked, role, .. } in checked_measurements {
            let (Subject::Landmark(one), Role::Again) = (*subject, role) else { continue };
            let (Some(i), Ok(_)) = (state.find(one), self.place(one)) else { continue };
            let Some((_, noise)) = model.sensors.place(&state.mounts, checked) else { continue };
            let near = gate * noise.trace();
            for (k, landmark) in state.landmarks.iter().enumerate() {
                if k == i || (landmark.x - state.landmarks[i].x).norm_squared() > near {
                    continue;
                }
                if ambiguous.iter().any(|ambiguity| ambiguity.landmark == landmark.id)
                    || difference(state, (i, k), (i, k)).trace() > noise.trace()
                {
                    continue;
                }
                self.compare(state, i, k);
            }
        }
        // Of several for which there is one measurement, all but one were missed.
        for claims in ambiguous.chunk_by(|a, b| a.measurement == b.measurement) {
            let [Ambiguity { measurement: checked, landmark: one, .. }, others @ ..] = claims else { continue };
            let Some(i) = state.find(*one) else { continue };
            for Ambiguity { landmark: other, .. } in others {
                let is_either = |id: u32| id == *one || id == *other;
                let is_of_another =
                    |ambiguity: &Ambiguity| ambiguity.measurement != *checked && is_either(ambiguity.landmark);
                let is_read = |id: u32| self.existence(id).is_none_or(|existence| existence.last == self.scan);
                if ambiguous.iter().any(is_of_another) || is_read(*one) || is_read(*other) {
                    continue;
                }
                let Some(k) = state.find(*other) else { continue };
                self.compare(state, i, k);
            }
        }
    }

    /// One of two landmarks at one place was read.
    fn compare(&mut self, state: &State, i: usize, k: usize) {
        let (one, other) = (&state.landmarks[i], &state.landmarks[k]);
        let Ok(place) = self.place(other.id) else { return };
        let detection = self.rates.detection(&state.in_robot(k));
        let (scan, existence) = (self.scan, &mut self.existences[place]);
        if existence.duplicate.0 != one.id {
            existence.duplicate = (one.id, 0.0);
        }
        existence.duplicate.1 =
            if existence.last == scan { -CONTRADICTED } else { existence.duplicate.1 - (1.0 - detection).ln() };
        if existence.duplicate.1 > CONFIRMED {
            existence.duplicate.1 = 0.0;
            let is_weaker = other.measurements < one.measurements;
            self.duplicates.push(if is_weaker { (other.id, one.id) } else { (one.id, other.id) });
        }
    }

    /// Three or more landmarks at one place, of which never all are read at once, are one less: if each is read with
    /// probability P_D, m of k are read with C(k, m) P_D^m (1 − P_D)^(k−m), and so with odds of k − m to k (1 − P_D)
    /// where there is a landmark less. Another landmark stands there by chance as often as landmarks are dense, and one
    /// in 20 landmarks is one with another.
    pub(super) fn count_at_places(
        &mut self,
        state: &State,
        model: &Model,
        (checked_measurements, ambiguous): (&[Associated], &[Ambiguity]),
    ) {
        let gates = model.gate.associated(2);
        for Associated { subject, measurement: checked, role, .. } in checked_measurements {
            let (Subject::Landmark(id), Role::Again) = (*subject, role) else { continue };
            let Some((_, noise)) = model.sensors.place(&state.mounts, checked) else { continue };
            self.count_at_place(state, id, (gates, noise.trace()), ambiguous);
        }
        for ambiguity in ambiguous {
            self.count_at_place(state, ambiguity.landmark, (gates, ambiguity.noise), ambiguous);
        }
    }

    /// Weighs what this scan says of how many landmarks there are at the place of the landmark `id`, once.
    fn count_at_place(&mut self, state: &State, id: u32, (gates, noise): ([f64; 2], f64), ambiguous: &[Ambiguity]) {
        let scan = self.scan;
        let Ok(place) = self.place(id) else { return };
        // Whatever comes of it: in a flood, thousands of measurements may be of one landmark.
        if std::mem::replace(&mut self.existences[place].crowd.scan, scan) == scan {
            return;
        }
        let Some(first) = state.find(id) else { return };
        let mut members = [first; MOST];
        let Some(count) = self.gather(state, &mut members, gates[1] * noise, noise) else { return };
        let members = &members[..count];
        if count < 3 {
            return;
        }
        // How many other landmarks stand there by chance, beside those that are one with another.
        let by_chance = std::f64::consts::PI * gates[0] * noise * self.rates.landmark_density();
        let prior = (DOUBLE / by_chance.min(1.0)).ln().min(0.5 * CONFIRMED);
        let (mut read, mut odds) = (0, f64::INFINITY);
        for existence in members.iter().filter_map(|k| self.existence(state.landmarks[*k].id)) {
            read += usize::from(existence.last == scan);
            odds = odds.min(if existence.crowd.count == count { existence.crowd.odds } else { prior });
        }
        // One that may be of another place, too, tells less that something was missed if it is of this one.
        let mut is_elsewhere = false;
        for claims in ambiguous.chunk_by(|a, b| a.measurement == b.measurement) {
            let is_member =
                |ambiguity: &&Ambiguity| members.iter().any(|k| state.landmarks[*k].id == ambiguity.landmark);
            let inside = claims.iter().filter(is_member).count();
            read += usize::from(inside > 0);
            is_elsewhere |= inside > 0 && inside < claims.len();
        }
        let missed = 1.0 - self.rates.detection(&state.in_robot(first));
        odds = if read >= count && is_elsewhere {
            odds
        } else if read >= count {
            -CONTRADICTED
        } else {
            (odds + ((count - read) as f64 / (count as f64 * missed)).ln()).max(-CONTRADICTED)
        };
        let is_one_less = odds > CONFIRMED;
        for k in members {
            if let Ok(place) = self.place(state.landmarks[*k].id) {
                self.existences[place].crowd = Crowd { count, odds: if is_one_less { 0.0 } else { odds }, scan };
            }
        }
        if is_one_less {
            self.duplicates.extend(superfluous(state, members));
        }
    }

    /// Finds the landmarks that are at the place of the first of `members`, all of them within √`near` of each other
    /// and with a difference that is known to √`known`, m². `None` where there are more than can be compared.
    fn gather(&self, state: &State, members: &mut [usize; MOST], near: f64, known: f64) -> Option<usize> {
        let is_at = |a: usize, b: usize| {
            (state.landmarks[a].x - state.landmarks[b].x).norm_squared() <= near
                && difference(state, (a, b), (a, b)).trace() <= known
        };
        let first = members[0];
        let mut count = 1;
        for (k, landmark) in state.landmarks.iter().enumerate().filter(|(k, _)| *k != first) {
            if members[..count].iter().all(|member| is_at(*member, k)) && self.place(landmark.id).is_ok() {
                *members.get_mut(count)? = k;
                count += 1;
            }
        }
        Some(count)
    }
}

/// Of landmarks at one place the one with the fewest measurements, and the one that is nearest to it.
fn superfluous(state: &State, members: &[usize]) -> Option<(u32, u32)> {
    let landmark = |k: &usize| &state.landmarks[*k];
    let weaker = members.iter().map(landmark).min_by_key(|landmark| (landmark.measurements, landmark.id))?;
    let apart = |other: &&StateLandmark| (other.x - weaker.x).norm_squared();
    let others = members.iter().map(landmark).filter(|other| other.id != weaker.id);
    let nearest = others.min_by(|a, b| apart(a).total_cmp(&apart(b)).then(a.id.cmp(&b.id)))?;
    Some((weaker.id, nearest.id))
}
