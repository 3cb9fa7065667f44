//! Where a run begins: where known tags show the body, at a pose that is given, or where the map does.

use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{GYRO_BIAS, POSITION, VELOCITY};
use lienav_inertial::state::nav::Nav;
use lienav_lie::Se3;
use lienav_tags::landmark::KnownTag;
use lienav_tags::locate::{locate, locate_together};
use lienav_tags::sight::Sight;
use nalgebra::{Matrix6, Vector3};
use std::collections::BTreeMap;

/// A run begins where corners of known tags show the position to this, m by axis.
const START_M: f64 = 0.15;

/// Near a start that tags show, and before they are taken in: half a radian, and some metres.
pub const NEAR: [f64; 2] = [0.5, 3.0];

/// Where only the better of two poses is known: the other one is about a radian and as many metres away as the tag.
pub const EITHER: [f64; 2] = [1.0, 3.0];

/// A start by itself takes a pose for the right one at these odds, as twice their logarithm: a million to one, since each
/// of hundreds of images is a new trial.
pub const SURE: f64 = 27.6;

/// A state whose rotation is known less well than this, rad, is put where known tags show it: an update could not be
/// linear.
pub const TURNED: f64 = 0.4;

/// How many tags of a frame are known.
pub fn known_in(known: &BTreeMap<u64, KnownTag>, sights: &[Sight]) -> usize {
    sights.iter().filter(|sight| known.contains_key(&sight.id)).count()
}

/// Where the body is by the known tags of a frame, if that is clear.
pub fn located(known: &BTreeMap<u64, KnownTag>, sights: &[Sight], odds: f64, is_planar: bool) -> Option<Se3> {
    let (pose, off_m) = locate(known, sights, odds, |pose| floor(pose, is_planar))?;
    (off_m < START_M).then_some(pose)
}

/// The same by all of them together, at the odds of [`SURE`].
pub fn shown(known: &BTreeMap<u64, KnownTag>, sights: &[Sight], is_planar: bool) -> Option<Se3> {
    let (pose, off_m) = locate_together(known, sights, SURE, |pose| floor(pose, is_planar))?;
    (off_m < START_M).then_some(pose)
}

/// The better of the poses that they have, where it is not clear.
pub fn likely(known: &BTreeMap<u64, KnownTag>, sights: &[Sight], is_planar: bool) -> Option<Se3> {
    locate_together(known, sights, 0.0, |pose| floor(pose, is_planar)).map(|(pose, _)| pose)
}

fn floor(pose: &Se3, is_planar: bool) -> f64 {
    if is_planar { off_the_floor(pose) } else { 0.0 }
}

/// How far a pose is from one on a level floor, as χ² with a centimetre and a hundredth of a radian.
fn off_the_floor(pose: &Se3) -> f64 {
    const FLAT: (f64, f64) = (0.01, 0.01);
    let up = pose.rotation * Vector3::z();
    (pose.translation.z / FLAT.0).powi(2) + (up.xy().norm_squared() + (1.0 - up.z).powi(2)) / FLAT.1.powi(2)
}

/// Variances by axis of position and rotation.
pub fn by_axis([turn, place]: [f64; 2]) -> Matrix6<f64> {
    Matrix6::from_fn(|i, j| match (i == j, i < 3) {
        (false, _) => 0.0,
        (true, true) => f64::powi(place, 2),
        (true, false) => f64::powi(turn, 2),
    })
}

/// The state at a pose with its covariance, position and rotation about the axes of the map, and standard deviations of
/// velocity and rate by axis, which are zero.
pub fn state_at(pose: &Se3, covariance: &Matrix6<f64>, motion: (f64, f64), most_tags: usize, filter: &Filter) -> State {
    let nav = Nav { rotation: pose.rotation, position: pose.translation, ..Nav::default() };
    let mut all = NavMatrix::zeros();
    let row = |i: usize| if i < 3 { POSITION + i } else { i - 3 };
    for i in 0..6 {
        for j in 0..6 {
            all[(row(i), row(j))] = covariance[(i, j)];
        }
    }
    for axis in 0..3 {
        all[(VELOCITY + axis, VELOCITY + axis)] = motion.0.powi(2);
        all[(GYRO_BIAS + axis, GYRO_BIAS + axis)] = motion.1.powi(2);
    }
    let mut state = State::new(nav, &all, 2 * most_tags, filter);
    state.gravity = 0.0;
    state
}
