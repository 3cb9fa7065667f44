//! What a run is measured against: the true trajectory, at any instant it covers, and the true landmarks.

use crate::identities::Identities;
use crate::recording::{PositionFixes, Recording};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// The longest gap between two true poses that is bridged unless the caller says otherwise, s.
pub const MAX_TRUTH_GAP_S: f64 = 0.5;

/// A trajectory and a map that are taken as true.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    poses: Vec<(Stamp, Se2)>,
    landmarks: BTreeMap<u32, Vector2<f64>>,
    max_gap_s: f64,
    fixes: Option<PositionFixes>,
    identities: Option<Identities>,
}

impl Truth {
    /// From poses (in any order; those that are not finite are left out, of two with one stamp the first is kept) and
    /// landmarks by identity. Between two poses farther apart in time than `max_gap_s`, nothing is known.
    pub fn new(poses: &[(Stamp, Se2)], landmarks: &[(u32, Vector2<f64>)], max_gap_s: f64) -> Self {
        let finite = |pose: &Se2| pose.p.iter().all(|x| x.is_finite()) && pose.theta.is_finite();
        let mut poses: Vec<_> = poses.iter().copied().filter(|(_, pose)| finite(pose)).collect();
        poses.sort_by_key(|(stamp, _)| *stamp);
        poses.dedup_by_key(|(stamp, _)| *stamp);
        Self { poses, landmarks: landmarks.iter().copied().collect(), max_gap_s, ..Self::default() }
    }

    /// All that a recording knows; `max_gap_s` as for [`Truth::new`].
    pub fn of(recording: &Recording, max_gap_s: f64) -> Self {
        Self {
            fixes: recording.fixes.clone(),
            identities: recording.identities.clone(),
            ..Self::new(&recording.truth, &recording.true_landmarks, max_gap_s)
        }
    }

    /// Positions of one point of the robot, which are no truth.
    pub fn fixes(&self) -> Option<&PositionFixes> {
        self.fixes.as_ref()
    }

    /// What measurements without identity are of.
    pub fn identities(&self) -> Option<&Identities> {
        self.identities.as_ref()
    }

    /// The true pose at `stamp`: position linear in time, heading along the shorter arc. `None` before the first pose,
    /// after the last, and within a gap that is too long to be bridged.
    pub fn at(&self, stamp: Stamp) -> Option<Se2> {
        let after = self.poses.partition_point(|(s, _)| *s < stamp);
        let (next_stamp, next) = *self.poses.get(after)?;
        if next_stamp == stamp {
            return Some(next);
        }
        let (last_stamp, last) = *self.poses.get(after.checked_sub(1)?)?;
        let gap_s = next_stamp.since(last_stamp);
        if gap_s > self.max_gap_s {
            return None;
        }
        let part = stamp.since(last_stamp) / gap_s;
        let turn = wrap_angle(next.theta - last.theta);
        Some(Se2 { p: last.p.lerp(&next.p, part), theta: last.theta + part * turn })
    }

    /// The poses, in the order of their stamps.
    pub fn poses(&self) -> &[(Stamp, Se2)] {
        &self.poses
    }

    /// The true position of a landmark, m.
    pub fn landmark(&self, id: u32) -> Option<Vector2<f64>> {
        self.landmarks.get(&id).copied()
    }

    /// All landmarks by identity; positions in m.
    pub fn landmarks(&self) -> &BTreeMap<u32, Vector2<f64>> {
        &self.landmarks
    }

    /// The pieces of the trajectory without a gap that is not bridged.
    pub fn pieces(&self) -> impl Iterator<Item = &[(Stamp, Se2)]> {
        self.poses.chunk_by(|(a, _), (b, _)| b.since(*a) <= self.max_gap_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn truth() -> Truth {
        let at = Stamp::from_secs;
        let poses = [
            (at(1.0), Se2::new(2.0, 4.0, -3.0)),
            (at(0.0), Se2::new(0.0, 0.0, 3.0)),
            (at(0.0), Se2::new(9.0, 9.0, 9.0)),
            (at(0.5), Se2::new(f64::NAN, 0.0, 0.0)),
            (at(4.0), Se2::new(5.0, 4.0, 0.0)),
        ];
        Truth::new(&poses, &[], 1.0)
    }

    #[test]
    fn between_two_poses_position_is_linear_and_heading_takes_the_shorter_arc() {
        let pose = truth().at(Stamp::from_secs(0.25)).unwrap();
        assert_eq!(pose.p, Vector2::new(0.5, 1.0));
        let across = 3.0 + 0.25 * (2.0 * PI - 6.0);
        assert!((pose.theta - across).abs() < 1e-12);
    }

    #[test]
    fn a_long_gap_and_both_ends_are_without_truth_but_their_poses_are_not() {
        let truth = truth();
        for outside in [-0.1, 1.1, 3.9, 4.1] {
            assert_eq!(truth.at(Stamp::from_secs(outside)), None, "{outside}");
        }
        assert_eq!(truth.at(Stamp::from_secs(4.0)), Some(Se2::new(5.0, 4.0, 0.0)));
        assert_eq!(truth.at(Stamp::from_secs(0.0)), Some(Se2::new(0.0, 0.0, 3.0)));
        assert_eq!(truth.pieces().map(<[_]>::len).collect::<Vec<_>>(), [2, 1]);
    }
}
