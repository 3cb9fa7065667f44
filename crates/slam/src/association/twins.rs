//! How many landmarks there are at one place: more readings at once than landmarks there are not.

use super::cloud::Doubt;
use super::memory::{CONFIRMED, Memory};
use super::merge::difference;
use crate::fixed_lag::{Associated, Role};
use crate::linearize::Subject;
use crate::state::State;
use crate::step::Model;

/// Two landmarks that were read in one cloud are two.
const CONTRADICTED: f64 = 50.0;

impl Memory {
    /// Landmarks so near to each other that a reading does not tell them apart, and of which never both are read, are
    /// one: each cloud in which one is read and the other is not says so by 1 − P_D.
    pub(super) fn compare_neighbours(
        &mut self,
        state: &State,
        model: &Model,
        (readings, doubtful): (&[Associated], &[Doubt]),
    ) {
        self.twins.clear();
        let gate = model.gate.associated(2)[1];
        for Associated { subject, reading, role, .. } in readings {
            let (Subject::Feature(one), Role::Again) = (*subject, role) else { continue };
            let (Some(i), Ok(_)) = (state.find(one), self.place(one)) else { continue };
            let Some((_, noise)) = model.sensors.place(&state.mounts, reading) else { continue };
            let near = gate * noise.trace();
            for (k, feature) in state.features.iter().enumerate() {
                if k == i || (feature.x - state.features[i].x).norm_squared() > near {
                    continue;
                }
                if doubtful.iter().any(|doubt| doubt.feature == feature.id)
                    || difference(state, (i, k), (i, k)).trace() > noise.trace()
                {
                    continue;
                }
                self.compare(state, i, k);
            }
        }
        // Of several for which there is one reading, all but one were missed.
        for claims in doubtful.chunk_by(|a, b| a.reading == b.reading) {
            let [Doubt { reading, feature: one, .. }, others @ ..] = claims else { continue };
            let Some(i) = state.find(*one) else { continue };
            for Doubt { feature: other, .. } in others {
                let is_either = |id: u32| id == *one || id == *other;
                let is_of_another = |doubt: &Doubt| doubt.reading != *reading && is_either(doubt.feature);
                let is_read = |id: u32| self.life(id).is_none_or(|life| life.last == self.cloud);
                if doubtful.iter().any(is_of_another) || is_read(*one) || is_read(*other) {
                    continue;
                }
                let Some(k) = state.find(*other) else { continue };
                self.compare(state, i, k);
            }
        }
    }

    /// One of two features at one place was read.
    fn compare(&mut self, state: &State, i: usize, k: usize) {
        let (one, other) = (&state.features[i], &state.features[k]);
        let Ok(place) = self.place(other.id) else { return };
        let detection = self.rates.detection(&state.in_robot(k));
        let (cloud, life) = (self.cloud, &mut self.lives[place]);
        if life.twin.0 != one.id {
            life.twin = (one.id, 0.0);
        }
        life.twin.1 = if life.last == cloud { -CONTRADICTED } else { life.twin.1 - (1.0 - detection).ln() };
        if life.twin.1 > CONFIRMED {
            life.twin.1 = 0.0;
            let is_weaker = other.observations < one.observations;
            self.twins.push(if is_weaker { (other.id, one.id) } else { (one.id, other.id) });
        }
    }
}
