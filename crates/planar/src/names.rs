//! Which landmarks the measurements of a scan without identity were taken for, for who takes the scan in again.
//!
//! Where the filter goes back and takes the same scans in again, landmarks begin again, in another order, or at other
//! measurements. The numbers that it has given are out: in maps, on topics, in what a robot has planned. So a landmark
//! that a measurement begins has the number of the one for which the same measurement was taken before, and no number
//! is given to another one. What landmarks turn out to be that do not begin again is what most of their measurements
//! are of then.

use crate::associated::{Associated, Role, Subject};
use crate::checked::CheckedMeasurement;
use nalgebra::Vector3;

/// The measurements of a scan without identity that corrected or began a landmark, and its number.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<(Vector3<f64>, u32)>);

impl Names {
    /// Becomes that of a scan.
    pub fn take(&mut self, measurements: &[Associated]) {
        self.0.clear();
        self.0.extend(named(measurements));
    }

    /// Becomes a copy, and keeps its allocations.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Of a scan that nobody has taken in before.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What a measurement was taken for.
    pub fn of(&self, value: &Vector3<f64>) -> Option<u32> {
        self.0.iter().find(|(read, _)| read == value).map(|(_, id)| *id)
    }

    /// What a measurement that initializes a landmark was taken for, if it has no identity.
    pub fn of_newcomer(&self, measurement: &CheckedMeasurement) -> Option<u32> {
        if self.0.is_empty() || measurement.id().is_some() { None } else { self.of(measurement.value()) }
    }
}

/// Measurements without identity that corrected or began a landmark, with its number.
fn named(measurements: &[Associated]) -> impl Iterator<Item = (Vector3<f64>, u32)> + '_ {
    measurements.iter().filter_map(|associated| match (associated.subject, associated.role) {
        (Subject::Landmark(id), Role::First | Role::Again) if associated.measurement.id().is_none() => {
            Some((*associated.measurement.value(), id))
        }
        _ => None,
    })
}

/// What measurements are taken for when their scans are taken in again, and what they were taken for before.
#[derive(Debug, Default)]
pub struct Renamed {
    /// Landmarks of before, those of now, and how many measurements they share.
    shared: Vec<(u32, u32, usize)>,
}

impl Renamed {
    /// Takes in what the measurements of a scan are taken for, beside what they were taken for before.
    pub fn note(&mut self, before: &Names, measurements: &[Associated]) {
        for (value, now) in named(measurements) {
            let Some(then) = before.of(&value) else { continue };
            match self.shared.iter_mut().find(|(one, other, _)| (*one, *other) == (then, now)) {
                Some((_, _, count)) => *count += 1,
                None => self.shared.push((then, now, 1)),
            }
        }
    }

    /// The landmarks that are gone, and what each has turned out to be: what most of its measurements are of that were
    /// taken in again, if it is there. `merged` are those that were merged meanwhile, the one that is gone and the one
    /// that was kept; of them it is known.
    pub fn turned_out(&mut self, merged: &[(u32, u32)], is_there: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        for (_, now, _) in &mut self.shared {
            merged.iter().for_each(|(gone, kept)| *now = if now == gone { *kept } else { *now });
        }
        let is_gone = |id: &u32| !is_there(*id) && !merged.iter().any(|(gone, _)| gone == id);
        let mut gone: Vec<u32> = self.shared.iter().map(|(then, _, _)| *then).filter(is_gone).collect();
        gone.sort_unstable();
        gone.dedup();
        let most = |id: u32| {
            let shared = |now: u32| {
                let both = self.shared.iter().filter(|(one, other, _)| (*one, *other) == (id, now));
                both.map(|(_, _, count)| count).sum::<usize>()
            };
            let of_one = self.shared.iter().filter(|(then, _, _)| *then == id);
            // Of two that share as many, the one with the lower number.
            let now = of_one.map(|(_, now, _)| *now).max_by_key(|now| (shared(*now), u32::MAX - now))?;
            is_there(now).then_some((id, now))
        };
        gone.into_iter().filter_map(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;

    fn read(value: f64, id: u32, role: Role) -> Associated {
        let value = Vector3::new(value, 0.0, 0.0);
        let label = crate::input::Label::default();
        let measurement =
            CheckedMeasurement { sensor: 0, id: None, value, covariance: Matrix3::identity(), label, height_m: 0.0 };
        Associated::new(Subject::Landmark(id), measurement, role)
    }

    #[test]
    fn a_measurement_without_identity_is_known_by_its_numbers() {
        let mut named = read(3.0, 7, Role::Again);
        named.measurement.id = Some(7);
        let measurements = [read(1.0, 10, Role::First), read(2.0, 11, Role::Gated), named];
        let mut names = Names::default();
        names.take(&measurements);
        let of = |value: f64| names.of(&Vector3::new(value, 0.0, 0.0));
        assert_eq!([of(1.0), of(2.0), of(3.0)], [Some(10), None, None]);
    }

    #[test]
    fn a_landmark_that_is_gone_is_what_most_of_its_measurements_are_of() {
        let (mut before, mut renamed) = (Names::default(), Renamed::default());
        before.take(&[read(1.0, 10, Role::Again), read(2.0, 11, Role::Again), read(3.0, 12, Role::Again)]);
        for now in [20, 21, 21] {
            let measurements = [read(1.0, now, Role::Again), read(2.0, 11, Role::Again), read(3.0, 30, Role::First)];
            renamed.note(&before, &measurements);
        }
        // 11 is still there, and what 12 turned out to be is gone, too.
        assert_eq!(renamed.turned_out(&[], |id| [11, 20, 21].contains(&id)), [(10, 21)]);
        // 21 is 20, which is 40.
        assert_eq!(renamed.turned_out(&[(21, 20), (20, 40)], |id| [11, 40].contains(&id)), [(10, 40)]);
    }
}
