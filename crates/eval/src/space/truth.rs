//! The truth of a recording: levelled, and interpolated between its stamps.

use lienav_base::stamp::Stamp;
use lienav_io::space::data::SpaceRecording;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix6, Vector3};
use std::collections::BTreeMap;

/// True poses in a world with z up.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    poses: Vec<(Stamp, Se3)>,
    velocities: Vec<Option<Vector3<f64>>>,
    /// Takes the frame of the recording's truth to the world.
    pub level: So3,
    /// Nothing is interpolated between poses farther apart than this, s.
    gap_s: f64,
    /// Covariances of (δp, δθ), m and rad, where the recording states them.
    covariances: BTreeMap<Stamp, Matrix6<f64>>,
}

/// Poses may be so far apart where they come faster, s.
const LEAST_GAP_S: f64 = 0.06;
/// Nothing is interpolated over more, s.
const LARGEST_GAP_S: f64 = 0.5;
/// Velocities are differences over so much on both sides, s.
const ASIDE_S: f64 = 0.1;

impl Truth {
    /// Levels the truth by the gravity that the recording states, or that its inertial sensor measures on the true way.
    pub fn of(recording: &SpaceRecording) -> Self {
        let mut steps: Vec<f64> = recording.truth.windows(2).map(|pair| pair[1].stamp.since(pair[0].stamp)).collect();
        steps.sort_by(f64::total_cmp);
        let usual = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
        let mut truth = Self {
            poses: recording.truth.iter().map(|one| (one.stamp, one.pose)).collect(),
            velocities: recording.truth.iter().map(|one| one.velocity).collect(),
            level: So3::identity(),
            gap_s: (1.5 * usual).clamp(LEAST_GAP_S, LARGEST_GAP_S),
            covariances: recording.tags.truth_covariance.clone(),
        };
        let gravity = recording.gravity.or_else(|| measured_gravity(recording, &truth));
        truth.turn(gravity.map_or_else(So3::identity, |gravity| levelling(&gravity)));
        truth
    }

    fn turn(&mut self, level: So3) {
        self.level = level;
        for (_, pose) in &mut self.poses {
            *pose = Se3::new(level, Vector3::zeros()) * *pose;
        }
        for velocity in self.velocities.iter_mut().flatten() {
            *velocity = level * *velocity;
        }
    }

    /// Whether the recording has no true pose.
    pub fn is_empty(&self) -> bool {
        self.poses.is_empty()
    }

    /// The stamp of the first pose.
    pub fn first(&self) -> Option<Stamp> {
        self.poses.first().map(|(stamp, _)| *stamp)
    }

    /// The poses before and behind a stamp, and how far it is between them; `None` in gaps.
    fn around(&self, stamp: Stamp) -> Option<(usize, usize, f64)> {
        let k = self.poses.partition_point(|(at, _)| *at < stamp);
        let after = self.poses.get(k)?;
        if after.0 == stamp {
            return Some((k, k, 0.0));
        }
        let before = self.poses.get(k.checked_sub(1)?)?;
        let gap = after.0.since(before.0);
        (gap <= self.gap_s).then(|| (k - 1, k, stamp.since(before.0) / gap))
    }

    /// The pose at an instant; `None` in gaps.
    pub fn at(&self, stamp: Stamp) -> Option<Se3> {
        let (from, to, share) = self.around(stamp)?;
        let (from, to) = (&self.poses[from].1, &self.poses[to].1);
        let turn = (to.rotation * from.rotation.inverse()).log();
        let rotation = So3::exp(&(turn * share)) * from.rotation;
        Some(Se3::new(rotation, from.translation.lerp(&to.translation, share)))
    }

    /// The stated covariance of (δp, δθ) of the truth at one of its stamps.
    pub fn covariance_at(&self, stamp: Stamp) -> Option<&Matrix6<f64>> {
        self.covariances.get(&stamp)
    }

    /// The velocity at an instant, m/s: as the recording has it, or by differences; `None` in gaps.
    pub fn velocity_at(&self, stamp: Stamp) -> Option<Vector3<f64>> {
        let (from, to, share) = self.around(stamp)?;
        if let (Some(from), Some(to)) = (self.velocities[from], self.velocities[to]) {
            return Some(from.lerp(&to, share));
        }
        let (before, after) = (self.at(stamp - ASIDE_S)?, self.at(stamp + ASIDE_S)?);
        Some((after.translation - before.translation) / (2.0 * ASIDE_S))
    }
}

/// The rotation that takes the direction of gravity in some frame to the vertical.
pub fn levelling(gravity: &Vector3<f64>) -> So3 {
    let norm = gravity.norm();
    if !(1.0..100.0).contains(&norm) {
        return So3::identity();
    }
    let down = gravity / norm;
    let axis = down.cross(&-Vector3::z());
    let (sin, cos) = (axis.norm(), -down.z);
    match (sin > 0.0, cos > 0.0) {
        (true, _) => So3::exp(&(axis * (sin.atan2(cos) / sin))),
        (false, true) => So3::identity(),
        (false, false) => So3::exp(&(Vector3::x() * std::f64::consts::PI)),
    }
}

/// Gravity in the frame of the truth by v(t + T) − v(t) = g T + ∫R(a − b_a)dt over windows of a second: the mean.
/// `None` without an inertial sensor, or where no window has truth throughout.
fn measured_gravity(recording: &SpaceRecording, truth: &Truth) -> Option<Vector3<f64>> {
    const WINDOW_S: f64 = 1.0;
    let bias_at = |stamp: Stamp| {
        let k = recording.truth.partition_point(|one| one.stamp < stamp).min(recording.truth.len() - 1);
        recording.truth.get(k).and_then(|one| one.force_bias).unwrap_or_default()
    };
    if recording.truth.is_empty() {
        return None;
    }
    let (mut sum, mut count) = (Vector3::zeros(), 0.0);
    let mut window: Option<(Stamp, Vector3<f64>, Vector3<f64>)> = None;
    for pair in recording.inertial.windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        let h = to.stamp.since(from.stamp);
        let turned = [from, to]
            .map(|sample| truth.at(sample.stamp).map(|pose| pose.rotation * (sample.force - bias_at(sample.stamp))));
        let ([Some(first), Some(second)], true) = (turned, h < WINDOW_S) else {
            window = None;
            continue;
        };
        let added = (first + second) * (0.5 * h);
        window = match window {
            Some((begin, velocity, force)) if to.stamp.since(begin) >= WINDOW_S => {
                if let Some(end) = truth.velocity_at(to.stamp) {
                    sum += (end - velocity - force - added) / to.stamp.since(begin);
                    count += 1.0;
                }
                None
            }
            Some((begin, velocity, force)) => Some((begin, velocity, force + added)),
            None => truth.velocity_at(from.stamp).map(|velocity| (from.stamp, velocity, added)),
        };
    }
    (count > 0.0).then(|| sum / count)
}
