//! How right a filter was about what measurements without identity are of.
//!
//! Every landmark of the filter gets the true identity that most of its measurements have. Pairs of measurements are
//! judged as in the comparison of clusterings: a pair is found where both measurements went to one landmark of the map,
//! and it is true where both are of one landmark of the world.

use super::run::{Run, ScanMatches};
use lienav_base::stamp::Stamp;
use lienav_io::identities::{Identities, Known};
use lienav_slam::Role;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A landmark that was not read for this long and is read again has come back, s.
const RETURN_AFTER_S: f64 = 10.0;

/// What the associations of a run were worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Associations {
    /// Measurements of true landmarks, in the scans that were processed.
    #[serde(rename = "readings")]
    pub measurements: usize,
    /// Measurements of nothing that is in the world.
    pub clutter: usize,
    /// Measurements of true landmarks that corrected the estimate or began a landmark.
    pub used: usize,
    /// Measurements, clutter too, that corrected a landmark.
    pub matched: usize,
    /// How many of those are of something else than most measurements of this landmark.
    pub wrong: usize,
    /// Of the pairs of measurements that went to one landmark, the part that is of one true landmark.
    pub pair_precision: Option<f64>,
    /// Of the pairs of measurements of one true landmark, the part that went to one landmark; a measurement that was
    /// left out is in no pair that is found.
    pub pair_recall: Option<f64>,
    /// The same of the measurements that were used only.
    pub used_pair_recall: Option<f64>,
    /// True landmarks that were read.
    pub true_landmarks: usize,
    /// Landmarks of the final map.
    pub map_landmarks: usize,
    /// How many of these are of a true landmark that another one is of already.
    pub duplicates: usize,
    /// How many of these are of nothing that is in the world.
    pub false_landmarks: usize,
    /// How often a true landmark was read again that had not been read for 10 s.
    pub returns: usize,
    /// How often most of its measurements then went to what had been its landmark before.
    pub returns_found: usize,
}

/// The landmark that a measurement went to, and whether the measurement corrected it.
type Used = Option<(u32, bool)>;

/// The measurements of a scan: what each is of, and where it went.
type JudgedScan = (Stamp, Vec<(Option<u32>, Used)>);

/// A measurement without identity, what it is of, and what it was taken for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedMeasurement {
    /// Of the scan.
    pub stamp: Stamp,
    /// The true landmark; `None` of nothing that is in the world.
    pub truth: Option<u32>,
    /// The landmark that it corrected or began, by the number of the filter; one that was merged later is the one that
    /// was kept. `None` where it was left out.
    pub landmark: Option<u32>,
    /// What most measurements of that landmark are of.
    pub landmark_truth: Option<u32>,
    /// Whether it corrected the landmark, and did not begin it.
    pub is_again: bool,
}

impl JudgedMeasurement {
    /// Whether it corrected a landmark of something else, or is of nothing.
    pub fn is_wrong(&self) -> bool {
        self.is_again && (self.truth.is_none() || self.truth != self.landmark_truth)
    }
}

/// The judgement of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// In numbers.
    pub associations: Associations,
    /// What each landmark of the filter truly is.
    pub identity: BTreeMap<u32, Option<u32>>,
    /// Reading by reading, in the order of the scans.
    pub measurements: Vec<JudgedMeasurement>,
}

impl Associations {
    /// Judges the matches of a run. `None` where the run kept no matches, or nothing is known of them.
    pub fn judge(run: &Run, identities: &Identities) -> Option<Judgement> {
        // A landmark that was merged later is the one that was kept, from the beginning.
        let mut kept = BTreeMap::new();
        for (gone, one) in run.merged.iter().rev() {
            kept.insert(*gone, kept.get(one).copied().unwrap_or(*one));
        }
        let now = |used: Used| used.map(|(id, again)| (kept.get(&id).copied().unwrap_or(id), again));
        let judged = |scan| judged(scan, identities).into_iter().map(|(id, used)| (id, now(used))).collect();
        let scans: Vec<JudgedScan> = run.matches.iter().map(|scan| (scan.stamp, judged(scan))).collect();
        // A source without any identity tells nothing, as one without measurements.
        if scans.iter().flat_map(|(_, checked_measurements)| checked_measurements).all(|(id, _)| id.is_none()) {
            return None;
        }
        let all = || scans.iter().flat_map(|(_, checked_measurements)| checked_measurements.iter().copied());
        let mut of_landmark: BTreeMap<u32, BTreeMap<Option<u32>, u64>> = BTreeMap::new();
        let (mut of_true, mut used_of_true): (BTreeMap<u32, u64>, BTreeMap<u32, u64>) = Default::default();
        for (id, used) in all() {
            if let Some(id) = id {
                *of_true.entry(id).or_default() += 1;
            }
            if let Some((landmark, _)) = used {
                *of_landmark.entry(landmark).or_default().entry(id).or_default() += 1;
                if let Some(id) = id {
                    *used_of_true.entry(id).or_default() += 1;
                }
            }
        }
        let identity: BTreeMap<u32, Option<u32>> =
            of_landmark.iter().map(|(&landmark, counts)| (landmark, most_frequent(counts))).collect();
        let is_of = |landmark: u32, id: Option<u32>| identity.get(&landmark).is_some_and(|&own| own == id);
        let found: f64 = of_landmark.values().map(|counts| pairs(counts.values().sum())).sum();
        let truly_found: f64 =
            of_landmark.values().flatten().filter(|(id, _)| id.is_some()).map(|(_, &count)| pairs(count)).sum();
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let total = |counts: &BTreeMap<u32, u64>| counts.values().map(|&count| pairs(count)).sum::<f64>();
        let of_map: Vec<Option<u32>> =
            run.landmarks.iter().filter_map(|landmark| identity.get(&landmark.id).copied()).collect();
        let distinct: BTreeSet<u32> = of_map.iter().copied().flatten().collect();
        let (returns, returns_found) = returns(&scans, is_of);
        let of_scan = |(stamp, checked_measurements): &JudgedScan| {
            let judged = |&(truth, used): &(Option<u32>, Used)| JudgedMeasurement {
                stamp: *stamp,
                truth,
                landmark: used.map(|(landmark, _)| landmark),
                landmark_truth: used.and_then(|(landmark, _)| *identity.get(&landmark)?),
                is_again: used.is_some_and(|(_, again)| again),
            };
            checked_measurements.iter().map(judged).collect::<Vec<_>>()
        };
        let checked_measurements: Vec<JudgedMeasurement> = scans.iter().flat_map(of_scan).collect();
        let associations = Self {
            measurements: all().filter(|(id, _)| id.is_some()).count(),
            clutter: all().filter(|(id, _)| id.is_none()).count(),
            used: all().filter(|(id, used)| id.is_some() && used.is_some()).count(),
            matched: checked_measurements.iter().filter(|checked| checked.is_again).count(),
            wrong: checked_measurements.iter().filter(|checked| checked.is_wrong()).count(),
            pair_precision: ratio(truly_found, found),
            pair_recall: ratio(truly_found, total(&of_true)),
            used_pair_recall: ratio(truly_found, total(&used_of_true)),
            true_landmarks: of_true.len(),
            map_landmarks: run.landmarks.len(),
            duplicates: of_map.iter().flatten().count() - distinct.len(),
            false_landmarks: of_map.iter().filter(|id| id.is_none()).count(),
            returns,
            returns_found,
        };
        Some(Judgement { associations, identity, measurements: checked_measurements })
    }

    /// The part of the matches that is wrong.
    pub fn wrong_fraction(&self) -> Option<f64> {
        (self.matched > 0).then(|| self.wrong as f64 / self.matched as f64)
    }

    /// Landmarks of the final map by true landmarks that were read; 1 is right.
    pub fn landmarks_per_true(&self) -> Option<f64> {
        (self.true_landmarks > 0).then(|| self.map_landmarks as f64 / self.true_landmarks as f64)
    }

    /// Whether most true landmarks that came back were recognized; `None` where none came back.
    pub fn is_loop_closed(&self) -> Option<bool> {
        (self.returns > 0).then_some(2 * self.returns_found > self.returns)
    }
}

/// What each measurement of a scan is of, and where it went. Measurements are told apart by their numbers.
fn judged(scan: &ScanMatches, identities: &Identities) -> Vec<(Option<u32>, Used)> {
    let mut left: Vec<_> = scan.measurements.iter().collect();
    let mut judge = |(value, id): &Known| {
        let place = left.iter().position(|checked| checked.value == value.fixed::<3>());
        let used = place.map(|place| left.swap_remove(place)).filter(|checked| checked.role != Role::Gated);
        (*id, used.map(|checked| (checked.landmark, checked.role == Role::Again)))
    };
    identities.at(scan.stamp).map(&mut judge).collect()
}

/// Pairs among `count` things.
fn pairs(count: u64) -> f64 {
    count as f64 * (count as f64 - 1.0) / 2.0
}

/// Of several that are equally frequent, a true landmark, and of these the one with the least number.
fn most_frequent(counts: &BTreeMap<Option<u32>, u64>) -> Option<u32> {
    let rank = |(id, count): &(&Option<u32>, &u64)| (**count, id.map(|id| u32::MAX - id));
    counts.iter().max_by_key(rank).and_then(|(id, _)| *id)
}

/// How often true landmarks came back, and how often they were found again.
fn returns(scans: &[JudgedScan], is_of: impl Fn(u32, Option<u32>) -> bool) -> (usize, usize) {
    #[derive(Default)]
    struct Visits {
        last: Stamp,
        /// Landmarks that measurements before this visit went to.
        before: BTreeSet<u32>,
        during: BTreeSet<u32>,
        is_return: bool,
        used: usize,
        found: usize,
    }
    let mut visits: BTreeMap<u32, Visits> = BTreeMap::new();
    let (mut returns, mut returns_found) = (0, 0);
    let mut end = |visit: &Visits| {
        returns += usize::from(visit.is_return);
        returns_found += usize::from(visit.is_return && 2 * visit.found > visit.used);
    };
    for (stamp, checked_measurements) in scans {
        for &(id, used) in checked_measurements {
            let Some(id) = id else { continue };
            let visit = visits.entry(id).or_insert_with(|| Visits { last: *stamp, ..Visits::default() });
            if stamp.since(visit.last) >= RETURN_AFTER_S {
                end(visit);
                let during = std::mem::take(&mut visit.during);
                visit.before.extend(during);
                (visit.is_return, visit.used, visit.found) = (true, 0, 0);
            }
            visit.last = *stamp;
            if let Some((landmark, _)) = used {
                visit.used += 1;
                visit.found += usize::from(visit.before.contains(&landmark) && is_of(landmark, Some(id)));
                visit.during.insert(landmark);
            }
        }
    }
    visits.values().for_each(end);
    (returns, returns_found)
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::run::{self, MatchedMeasurement};
    use super::super::synthetic;
    use super::*;
    use lienav_io::recording::Input;
    use lienav_io::truth::Truth;
    use lienav_slam::{Config, Landmark, Measurement, MeasurementKind, Scan};
    use nalgebra::{Matrix2, Vector2, Vector3};

    /// A measurement by its true landmark, the landmark it went to, and its role there.
    type ByHand = (Option<u32>, Option<(u32, Role)>);

    /// A run of scans at 1 Hz.
    fn run(scans: &[&[ByHand]], map: &[u32]) -> (Run, Identities) {
        let (mut run, mut identities) = (Run::default(), Identities::default());
        for (second, checked_measurements) in scans.iter().enumerate() {
            let stamp = Stamp::from_secs(second as f64);
            let value = |k: usize| [second as f64, k as f64];
            let measurements = (0..checked_measurements.len()).map(|k| Measurement::new(None, value(k))).collect();
            let scan = Scan { stamp, kind: MeasurementKind::RangeBearing, measurements };
            identities.keep(&scan, checked_measurements.iter().map(|(id, _)| *id));
            let matched = |(k, (_, used)): (usize, &ByHand)| {
                let [x, y] = value(k);
                used.map(|(landmark, role)| MatchedMeasurement { value: Vector3::new(x, y, 0.0), landmark, role })
            };
            // In another order than they were read.
            let checked_measurements = checked_measurements.iter().enumerate().filter_map(matched).rev().collect();
            run.matches.push(ScanMatches { stamp, measurements: checked_measurements });
        }
        let landmark = |&id: &u32| Landmark {
            id,
            position: Vector2::zeros(),
            covariance: Matrix2::identity(),
            last_seen: Stamp::default(),
            measurements: 1,
        };
        run.landmarks = map.iter().map(landmark).collect();
        (run, identities)
    }

    const FIRST: fn(u32) -> Option<(u32, Role)> = |landmark| Some((landmark, Role::First));
    const AGAIN: fn(u32) -> Option<(u32, Role)> = |landmark| Some((landmark, Role::Again));

    #[test]
    fn a_source_without_identities_is_not_judged() {
        let scans: [&[ByHand]; 2] = [&[(None, FIRST(10))], &[(None, AGAIN(10))]];
        let (run, identities) = run(&scans, &[10]);
        assert!(Associations::judge(&run, &identities).is_none());
    }

    #[test]
    fn landmarks_that_are_merged_later_are_one_from_the_beginning() {
        let scans: [&[ByHand]; 3] = [&[(Some(1), FIRST(10))], &[(Some(1), FIRST(11))], &[(Some(1), FIRST(12))]];
        let (mut run, identities) = run(&scans, &[10]);
        let recall = |run: &Run| Associations::judge(run, &identities).unwrap().associations.pair_recall;
        assert_eq!(recall(&run), Some(0.0));
        // 12 is 11, which turns out to be 10.
        run.merged = vec![(12, 11), (11, 10)];
        assert_eq!(recall(&run), Some(1.0));
    }

    #[test]
    fn a_run_by_hand_has_the_numbers_computed_by_hand() {
        let (run, identities) = run(
            &[
                &[(Some(1), FIRST(10)), (Some(2), FIRST(20)), (None, FIRST(30))],
                &[(Some(1), AGAIN(10)), (Some(2), AGAIN(10)), (None, None)],
                &[(Some(1), FIRST(11)), (Some(2), Some((20, Role::Gated))), (None, AGAIN(20))],
            ],
            &[10, 11, 20, 30],
        );
        let found = Associations::judge(&run, &identities).unwrap().associations;
        assert_eq!((found.measurements, found.clutter, found.used), (6, 3, 5));
        // Of landmark 10 two measurements are of 1 and one of 2; of 20 one is of 2, and one of nothing.
        assert_eq!((found.matched, found.wrong), (3, 2));
        assert_eq!(found.pair_precision, Some(1.0 / 4.0));
        assert_eq!((found.pair_recall, found.used_pair_recall), (Some(1.0 / 6.0), Some(1.0 / 4.0)));
        assert_eq!((found.true_landmarks, found.map_landmarks), (2, 4));
        assert_eq!((found.duplicates, found.false_landmarks), (1, 1));
        assert_eq!((found.wrong_fraction(), found.landmarks_per_true()), (Some(2.0 / 3.0), Some(2.0)));
        assert_eq!(found.is_loop_closed(), None);
    }

    #[test]
    fn a_landmark_that_comes_back_is_found_by_what_it_was_before() {
        let away: &[ByHand] = &[];
        let mut scans = vec![away; 30];
        scans[0] = &[(Some(1), Some((10, Role::First))), (Some(2), Some((20, Role::First)))];
        scans[15] = &[(Some(1), Some((10, Role::Again))), (Some(2), Some((21, Role::First)))];
        scans[16] = &[(Some(1), Some((10, Role::Again))), (Some(2), Some((21, Role::Again)))];
        scans[28] = &[(Some(1), None), (Some(2), Some((21, Role::Again)))];
        let (run, identities) = run(&scans, &[10, 20, 21]);
        let found = Associations::judge(&run, &identities).unwrap().associations;
        assert_eq!((found.returns, found.returns_found, found.duplicates), (4, 2, 1));
        assert_eq!(found.is_loop_closed(), Some(false));
    }

    /// Six landmarks that are well apart, through the filter.
    #[test]
    fn what_the_filter_makes_of_withheld_identities_is_judged() {
        let mut recording = synthetic::recording(300, 4);
        let with_identities = run::run(&recording, &Config::default(), |_| ()).unwrap();
        assert!(with_identities.matches.is_empty());
        let mut identities = Identities::default();
        for input in &mut recording.inputs {
            if let Input::Scan(scan) = input {
                identities.hide(scan);
            }
        }
        recording.identities = Some(identities);
        let run = run::run(&recording, &Config::default(), |_| ()).unwrap();
        let errors = Errors::new(&run, &Truth::of(&recording, 0.5));
        let found = errors.associations.unwrap();
        assert_eq!((found.pair_precision, found.wrong, found.clutter), (Some(1.0), 0, 0));
        assert!(found.pair_recall.unwrap() > 0.95 && found.measurements == 6 * 151, "{found:?}");
        assert_eq!((found.duplicates, found.landmarks_per_true()), (0, Some(1.0)));
        // Landmarks are compared by what they are, not by the numbers that the filter gave them.
        assert!(errors.landmarks.len() == 6 && errors.landmark_rmse().unwrap() < 0.5);
    }

    #[test]
    fn nothing_that_is_known_gives_no_numbers() {
        let (run, _) = run(&[&[(Some(1), Some((10, Role::First)))]], &[10]);
        assert_eq!(Associations::judge(&run, &Identities::default()), None);
    }
}
