//! What a filter did over time, beside its estimates: what it read, what it left out, how its map grew. It is kept for
//! a page that is looked at, and is thinned as it grows, so that a run of any length takes some megabytes.

use lienav_base::stamp::Stamp;
use lienav_slam::{CalibrationEstimate, Counts, DropReason, Landmark, SeenMeasurement, Slam};

/// The most measurements, landmarks and values that are kept of each.
const MAX_MEASUREMENTS: usize = 400_000;
const MOST_LANDMARKS: usize = 40_000;
const MOST_VALUES: usize = 20_000;
/// Maps are kept for so many instants at most: the eye follows no more.
const MOST_MAPS: usize = 240;

/// What a filter did over time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The measurements of each scan, or of every second, fourth … scan of a long run.
    pub measurements: Thinned<Vec<SeenMeasurement>>,
    /// What was left out since the step before, and why; nothing is thinned here, steps without are not listed.
    pub left_out: Vec<(Stamp, DropReason, u64)>,
    /// The map as it was.
    pub maps: Thinned<Vec<Landmark>>,
    /// What had been learned of the calibration.
    pub calibration: Thinned<Vec<CalibrationEstimate>>,
    /// All that had been left out before the last step.
    counted: Counts,
}

impl Timeline {
    /// Adds the step that `slam` has just made.
    pub(super) fn note(&mut self, stamp: Stamp, slam: &Slam) {
        self.measurements.push(stamp, MAX_MEASUREMENTS, usize::MAX, || slam.seen().collect());
        self.maps.push(stamp, MOST_LANDMARKS, MOST_MAPS, || slam.landmarks().collect());
        self.calibration.push(stamp, MOST_VALUES, usize::MAX, || slam.calibration().collect());
        self.note_left_out(stamp, slam.counts());
    }

    fn note_left_out(&mut self, stamp: Stamp, counts: &Counts) {
        if *counts == self.counted {
            return;
        }
        for reason in DropReason::ALL {
            let more = counts.get(reason).saturating_sub(self.counted.get(reason));
            if more > 0 {
                self.left_out.push((stamp, reason, more));
            }
        }
        self.counted = *counts;
    }

    /// Adds what was left out after the last step.
    pub(super) fn end(&mut self, stamp: Stamp, slam: &Slam) {
        self.note_left_out(stamp, slam.counts());
    }
}

/// Lists by time, of which every second, fourth, eighth … is kept when they become too many.
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    /// Those that are kept, in the order of time.
    pub kept: Vec<(Stamp, T)>,
    /// Every so many steps one is kept.
    pub every: usize,
    seen: usize,
    held: usize,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), every: 1, seen: 0, held: 0 }
    }
}

impl<T> Thinned<Vec<T>> {
    /// Takes the list of the next step, if it is its turn; holds no more than `most_items` in all lists together, or
    /// one list, and no more than `most_lists`.
    fn push(&mut self, stamp: Stamp, most_items: usize, most_lists: usize, make: impl FnOnce() -> Vec<T>) {
        let is_due = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if !is_due {
            return;
        }
        let list = make();
        // An empty list takes memory, too.
        self.held += list.len().max(1);
        self.kept.push((stamp, list));
        while (self.held > most_items || self.kept.len() > most_lists) && self.kept.len() > 1 {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
            self.held = self.kept.iter().map(|(_, list)| list.len().max(1)).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::method::Method;
    use super::super::synthetic;
    use super::*;
    use lienav_slam::{Config, Measurement, Role};

    #[test]
    fn a_long_run_keeps_lists_evenly_spaced_and_few() {
        let mut thinned = Thinned::default();
        for step in 0..10_000 {
            thinned.push(Stamp::from_nanos(step), 1000, usize::MAX, || vec![step; 3]);
        }
        assert!(thinned.kept.len() <= 333 && thinned.kept.len() > 100, "{}", thinned.kept.len());
        let every = thinned.every as i64;
        assert!(
            thinned.kept.iter().zip(0..).all(|((stamp, list), k)| list[0] == k * every && stamp.nanos() == k * every)
        );
        let mut thinned = Thinned::default();
        (0..1000).for_each(|step| thinned.push(Stamp::from_nanos(step), 10, 7, || vec![0; 100]));
        assert_eq!(thinned.kept.len(), 1);
    }

    #[test]
    fn a_run_says_what_was_read_and_when_what_was_left_out() {
        let mut recording = synthetic::recording(400, 3);
        let wild = recording.inputs.iter_mut().rev().find_map(|input| match input {
            lienav_io::recording::Input::Scan(scan) if scan.stamp < Stamp::from_secs(15.0) => Some(scan),
            _ => None,
        });
        let wild = wild.unwrap();
        wild.measurements[2] = Measurement::new(wild.measurements[2].id, [20.0, 0.0]);
        let when = wild.stamp;
        let mut method = Method::new(&Config::default()).unwrap();
        method.keep_timeline();
        recording.inputs.iter().for_each(|input| method.feed(input));
        let run = method.finish();
        let timeline = run.timeline.unwrap();
        let gated: u64 = timeline.left_out.iter().filter(|l| l.1 == DropReason::Gated).map(|l| l.2).sum();
        assert_eq!(run.dropped.get("gated"), Some(&gated));
        assert!(timeline.left_out.contains(&(when, DropReason::Gated, 1)), "{:?}", timeline.left_out);
        assert_eq!(timeline.measurements.kept.len(), run.estimates.len());
        let (_, seen) = timeline.measurements.kept.iter().find(|(stamp, _)| *stamp == when).unwrap();
        assert_eq!(seen.iter().filter(|checked| checked.role == Role::Gated).count(), 1);
        let last = run.estimates.last().unwrap();
        for checked in &timeline.measurements.kept.last().unwrap().1 {
            let place = last.pose.transform(&checked.place.unwrap());
            assert!((place - checked.in_map.unwrap()).norm() < 0.6, "{checked:?}");
        }
    }
}
