//! Two landmarks at one place that are never measured in one scan are one.

use crate::association::memory::Memory;
use crate::thresholds::THOUSAND_TO_ONE;
use lienav_planar::associated::{Ambiguity, Associated, Role, Subject};
use lienav_planar::model::Model;
use lienav_planar::state::State;
use lienav_planar::state::places::difference;

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
        /// Two landmarks that were read in one scan are two.
        const CONTRADICTED: f64 = 50.0;
        let (one, other) = (&state.landmarks[i], &state.landmarks[k]);
        let Ok(place) = self.place(other.id) else { return };
        let detection = self.rates.detection(&state.in_robot(k));
        let (scan, existence) = (self.scan, &mut self.existences[place]);
        if existence.duplicate.0 != one.id {
            existence.duplicate = (one.id, 0.0);
        }
        existence.duplicate.1 =
            if existence.last == scan { -CONTRADICTED } else { existence.duplicate.1 - (1.0 - detection).ln() };
        if existence.duplicate.1 > THOUSAND_TO_ONE.ln {
            existence.duplicate.1 = 0.0;
            let is_weaker = other.measurements < one.measurements;
            self.duplicates.push(if is_weaker { (other.id, one.id) } else { (one.id, other.id) });
        }
    }
}
