//! Where a map hangs together by odometry alone.
//!
//! A robot that leaves what it knows, and reads nothing that it knew on its way to what is new, has a map of two sides.
//! If its wheels have slipped between, every landmark of one side is off by the same motion from those of the other,
//! and nothing tells until it comes back. Where a landmark of the first side is read again, there is no cut any more.

use crate::bounds::BOUNDS;
use nalgebra::Vector2;

/// Between two scans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The first scan of the second side.
    pub scan: u64,
    /// The robot half way between the scans, in the map, m.
    pub place: Vector2<f64>,
    /// And how far it was from there at both, m.
    pub reach_m: f64,
}

/// Cuts, in the order of their scans.
#[derive(Clone, Debug, Default)]
pub struct Cuts {
    all: Vec<Cut>,
    /// Where the robot was at the last scan.
    last: Option<Vector2<f64>>,
}

impl Cuts {
    /// Becomes what others are, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        self.all.clone_from(&other.all);
        self.last = other.last;
    }

    /// A scan was read from `place`; all its landmarks are new, or not.
    pub fn note(&mut self, scan: u64, place: &Vector2<f64>, is_new: bool) {
        if let Some(last) = self.last.replace(*place)
            && is_new
        {
            if self.all.len() >= BOUNDS.cuts {
                self.all.remove(0);
            }
            self.all.push(Cut { scan, place: 0.5 * (last + place), reach_m: 0.5 * (place - last).norm() });
        }
    }

    /// The robot is elsewhere than its motion says: what is between the last scan and the next one is no way.
    pub fn leap(&mut self) {
        self.last = None;
    }

    /// A landmark was read in both of these scans.
    pub fn bridge(&mut self, first: u64, last: u64) {
        self.all.retain(|cut| cut.scan <= first || cut.scan > last);
    }

    /// That on whose way the robot has come the farthest; of several, the last.
    pub fn widest(&self) -> Option<Cut> {
        self.all.iter().copied().max_by(|a, b| a.reach_m.total_cmp(&b.reach_m))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landmark_of_both_sides_is_a_bridge() {
        let mut cuts = Cuts::default();
        cuts.note(1, &Vector2::zeros(), true);
        assert_eq!(cuts.widest(), None, "nothing is before it");
        cuts.note(2, &Vector2::new(1.0, 0.0), false);
        cuts.note(3, &Vector2::new(3.0, 0.0), true);
        cuts.note(4, &Vector2::new(3.5, 0.0), true);
        let cut = Cut { scan: 3, place: Vector2::new(2.0, 0.0), reach_m: 1.0 };
        assert_eq!(cuts.widest(), Some(cut));
        cuts.bridge(3, 9);
        assert_eq!(cuts.widest(), Some(cut), "it was read after the first one only");
        cuts.bridge(2, 3);
        assert_eq!(cuts.widest(), None);
    }

    #[test]
    fn where_the_robot_was_put_elsewhere_is_no_cut() {
        let mut cuts = Cuts::default();
        cuts.note(1, &Vector2::zeros(), true);
        cuts.leap();
        cuts.note(2, &Vector2::new(50.0, 0.0), true);
        assert_eq!(cuts.widest(), None);
        cuts.note(3, &Vector2::new(51.0, 0.0), true);
        assert_eq!(cuts.widest().map(|cut| cut.scan), Some(3));
    }

    #[test]
    fn the_oldest_make_room() {
        let mut cuts = Cuts::default();
        (0..20).for_each(|k| cuts.note(k, &Vector2::new(-(k as f64) * 0.1, 0.0), true));
        assert_eq!(cuts.all.len(), BOUNDS.cuts);
        assert_eq!(cuts.widest().map(|cut| cut.scan), Some(19));
    }
}
