//! From where the sensor has looked.
//!
//! Where the sensor has looked and no landmark was begun, there is none, as surely as landmarks in view are read. That
//! a loop brings a new landmark to such a place speaks against the loop: the landmark was not there before. That is the
//! other half of [absent landmarks](super::loop_closure), which were there before and are not read after it.
//!
//! A look is remembered as seen from a landmark that was read in it, so that it moves with the map.

use crate::bounds::BOUNDS;
use lienav_lie::{Se2, wrap_angle};
use lienav_planar::state::State;
use nalgebra::{Rotation2, Vector2};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;
use std::ops::Range;

/// From where the sensor has looked, as seen from a landmark that it read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FieldOfViewCell {
    /// The identity of the landmark.
    anchor: u32,
    /// The robot less the landmark in the axes of the map, m.
    from: Vector2<f64>,
    /// The heading of the robot, rad.
    heading: f64,
    /// The last scan of it.
    last: u64,
}

/// Looks, by the landmark that each was seen from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FieldOfView(Vec<FieldOfViewCell>);

/// From where the sensor has looked, in the map as it is.
#[derive(Clone, Copy, Debug)]
pub struct ViewCell {
    /// The robot.
    pub pose: Se2,
    /// The last scan.
    pub last: u64,
    /// The landmark that it is seen from.
    pub anchor: usize,
}

impl FieldOfView {
    /// Whether it can be gone on with.
    pub fn is_sound(&self) -> bool {
        let is_finite = |note_visible: &FieldOfViewCell| {
            [note_visible.from.x, note_visible.from.y, note_visible.heading].into_iter().all(f64::is_finite)
        };
        self.0.iter().all(is_finite) && self.0.is_sorted_by_key(|note_visible| note_visible.anchor)
    }

    /// Becomes what others are, in the memory that it has, with as much room.
    pub fn copy_from(&mut self, other: &Self) {
        self.0.clear();
        // No more than that: two that become each other in turns would grow without end.
        self.0.reserve_exact(other.0.capacity());
        self.0.extend_from_slice(&other.0);
    }

    /// Makes room for those of so many landmarks, so that no later one allocates.
    pub fn make_room(&mut self, landmarks: usize) {
        self.0.reserve((BOUNDS.view_cells * landmarks).saturating_sub(self.0.len()));
    }

    /// The sensor, which sees so far, m, has looked from `pose` in this scan, and has read a landmark at `place` in
    /// the map.
    pub fn add(&mut self, (anchor, place): (u32, Vector2<f64>), pose: &Se2, (reach_m, scan): (f64, u64)) {
        /// Looks so near to each other, beside how far the sensor sees, and so much alike in direction, rad, are one.
        const ALIKE: (f64, f64) = (0.125, TAU / 24.0);
        let (from, heading, own) = (pose.p - place, pose.theta, self.of(anchor));
        let is_alike = |note_visible: &&mut FieldOfViewCell| {
            (note_visible.from - from).norm() < ALIKE.0 * reach_m
                && wrap_angle(note_visible.heading - heading).abs() < ALIKE.1
        };
        if let Some(note_visible) = self.0[own.clone()].iter_mut().find(is_alike) {
            note_visible.last = scan;
        } else if own.len() < BOUNDS.view_cells {
            self.0.insert(own.end, FieldOfViewCell { anchor, from, heading, last: scan });
        }
    }

    /// Those that were last taken before this scan.
    pub fn before(&self, scan: u64) -> Self {
        Self(self.0.iter().filter(|note_visible| note_visible.last < scan).copied().collect())
    }

    /// Those of a landmark.
    fn of(&self, anchor: u32) -> Range<usize> {
        let first = self.0.partition_point(|note_visible| note_visible.anchor < anchor);
        first..first + self.0[first..].partition_point(|note_visible| note_visible.anchor == anchor)
    }

    /// Those of these landmarks turn with them, by an angle in the map, rad.
    pub fn turn(&mut self, angle: f64, is_turned: impl Fn(u32) -> bool) {
        let rotation = Rotation2::new(angle);
        for note_visible in self.0.iter_mut().filter(|note_visible| is_turned(note_visible.anchor)) {
            (note_visible.from, note_visible.heading) =
                (rotation * note_visible.from, wrap_angle(note_visible.heading + angle));
        }
    }

    /// A landmark is no more.
    pub fn forget(&mut self, anchor: u32) {
        let own = self.of(anchor);
        self.0.drain(own);
    }

    /// The landmark `gone` is `kept`.
    pub fn merge(&mut self, kept: u32, gone: u32) {
        let own = self.of(gone);
        if own.is_empty() {
            return;
        }
        self.0[own].iter_mut().for_each(|note_visible| note_visible.anchor = kept);
        self.0.sort_unstable_by_key(|note_visible| {
            (note_visible.anchor, note_visible.last, note_visible.heading.to_bits())
        });
        let all = self.of(kept);
        self.0.drain(all.start + all.len().min(BOUNDS.view_cells)..all.end);
    }

    /// Where they were, in the map as it is; only those that were last taken before the scan `before`.
    pub fn view_cells(&self, state: &State, before: u64, into: &mut Vec<ViewCell>) {
        into.clear();
        into.reserve_exact(self.0.capacity());
        for of_anchor in self.0.chunk_by(|a, b| a.anchor == b.anchor) {
            let Some(i) = state.find(of_anchor[0].anchor) else { continue };
            let place = place(state, i);
            let old = of_anchor.iter().filter(|note_visible| note_visible.last < before);
            into.extend(old.map(|note_visible| ViewCell {
                pose: Se2 { p: place + note_visible.from, theta: note_visible.heading },
                last: note_visible.last,
                anchor: i,
            }));
        }
    }
}

/// A landmark in the map, m.
pub fn place(state: &State, i: usize) -> Vector2<f64> {
    state.pose.transform(&state.in_robot(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at a landmark from along a way, each in a scan of its own.
    fn passed_by(field_of_view: &mut FieldOfView, anchor: u32, ways: usize) {
        for k in 0..ways * 100 {
            let pose = Se2::new(0.2 * (k % 100) as f64, -3.0, 0.0);
            field_of_view.add((anchor, Vector2::new(10.0, 0.0)), &pose, (10.0, 1 + k as u64));
        }
    }

    #[test]
    fn looks_that_are_alike_are_one_and_those_of_a_landmark_are_bounded() {
        let mut field_of_view = FieldOfView::default();
        passed_by(&mut field_of_view, 7, 1);
        let count = field_of_view.0.len();
        assert!((10..=BOUNDS.view_cells).contains(&count), "{count}");
        passed_by(&mut field_of_view, 7, 2);
        assert_eq!(field_of_view.0.len(), count);
        // Seen from elsewhere, and in another direction.
        for k in 0..100 {
            let pose = Se2::new(10.0, -3.0, 0.5 * f64::from(k));
            field_of_view.add((7, Vector2::new(10.0, 0.0)), &pose, (10.0, 500));
        }
        assert_eq!(field_of_view.0.len(), BOUNDS.view_cells);
    }

    #[test]
    fn copies_of_copies_take_no_more_room() {
        let (mut one, mut other) = (FieldOfView::default(), FieldOfView::default());
        passed_by(&mut one, 7, 1);
        one.make_room(3);
        other.make_room(2);
        let most = one.0.capacity().max(other.0.capacity());
        for _ in 0..100 {
            other.copy_from(&one);
            one.copy_from(&other);
        }
        assert!(one.0.capacity() <= most && other.0.capacity() <= most);
    }

    #[test]
    fn looks_go_on_with_the_landmark_that_is_kept_and_go_with_the_last_one() {
        let mut field_of_view = FieldOfView::default();
        for anchor in [5, 3, 9] {
            passed_by(&mut field_of_view, anchor, 1);
        }
        assert!(field_of_view.is_sound());
        let all = field_of_view.0.len();
        field_of_view.merge(3, 9);
        assert!(
            field_of_view.is_sound()
                && field_of_view.0.len() < all
                && field_of_view.of(9).is_empty()
                && field_of_view.of(3).len() == BOUNDS.view_cells
        );
        field_of_view.forget(3);
        assert!(field_of_view.of(3).is_empty() && !field_of_view.of(5).is_empty());
        field_of_view.forget(3);
        assert_eq!(field_of_view.before(1).0.len(), 0);
    }
}
