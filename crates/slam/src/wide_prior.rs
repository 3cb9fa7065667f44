//! A prior that is wide beside the range of the linearization: after a gap of the input, or at a start that nobody
//! knows.
//!
//! An update is linearized at one estimate. If the robot may be metres and radians from there, the readings bend away
//! from their tangents by more than their noise; the update then lands beside the landmarks that it was computed from,
//! with the covariance of one that had met them. Three cases:
//!
//! - The bend over one standard deviation of the prior is within the noise of the reading, or the readings agree with
//!   the estimate as it is: the update is linear enough. This is every ordinary cloud, and costs it one comparison for
//!   each reading.
//! - The readings say where the robot is among their landmarks: the estimate moves there first, and the update is
//!   linearized there. The rigid motions of a robot among the features are a linear space of errors, the same one
//!   wherever the robot is; the prior therefore stays as it is.
//! - They do not: one landmark leaves a circle. Whatever a linear update would claim is a tangent of it. These readings
//!   are held back until others tell.
//!
//! Features that the robot has come to know since move along with it.

use super::gate::mahalanobis_squared;
use super::linearize::{Match, Subject};
use super::measurement::Expected;
use super::relocate::displacement;
use super::sensor::{Reading, Sensors};
use super::state::State;
use super::step::Model;
use super::track_loss::TrackLoss;
use super::{Coordinates, Errors, Filter, Initialization};
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, skew};
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

/// So many readings are enough to find the robot: more cost time and tell nothing that the update would not tell.
const ENOUGH: usize = 32;

/// What the readings of features whose place relative to the robot is uncertain say of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Near the estimate: the update may be linearized there.
    Here,
    /// This motion of the base away from the estimate.
    Elsewhere(Se2),
    /// Not enough.
    Open,
}

/// Buffers of [`place`], which keep their allocations.
#[derive(Debug, Default)]
pub struct Wide {
    /// The candidates with a wide prior, by their index.
    pub candidates: Vec<usize>,
    readings: Vec<(Vector2<f64>, Reading)>,
}

impl Wide {
    /// Whether the candidate `index` has a wide prior.
    pub fn contains(&self, index: usize) -> bool {
        self.candidates.binary_search(&index).is_ok()
    }
}

/// Judges the readings of a cloud, before the gate. Without `track_loss`, and after a time without an answer, readings
/// that do not tell enough are used as they are.
pub fn place(
    state: &State,
    model: &Model,
    stamp: Stamp,
    candidates: &[Match],
    wide: &mut Wide,
    track_loss: Option<&mut TrackLoss>,
) -> Place {
    wide.candidates.clear();
    wide.readings.clear();
    let sensors = &model.sensors;
    for (index, candidate) in candidates.iter().enumerate() {
        let Subject::Feature(i) = candidate.subject else { continue };
        // A prior that is narrower than the noise has no room to bend.
        if candidate.prior <= 1.0 || wide.readings.len() == ENOUGH {
            continue;
        }
        let z = state.in_robot(i);
        let Some(expected) = sensors.expect(&state.mounts, &candidate.reading, &z, &z) else { continue };
        if bends(&z, &state.relative_covariance(i), &expected) {
            wide.candidates.push(index);
            wide.readings.push((z, candidate.reading));
        }
    }
    let place = if wide.readings.is_empty() { Place::Here } else { find(state, sensors, &wide.readings) };
    let Some(track_loss) = track_loss else { return if place == Place::Open { Place::Here } else { place } };
    if place != Place::Open {
        track_loss.found();
        return place;
    }
    if states_its_prior(&model.filter) && track_loss.holds(stamp) { Place::Open } else { Place::Here }
}

/// Features that are begun without the error of the pose seem uncertain although they were just seen.
fn states_its_prior(filter: &Filter) -> bool {
    !matches!(filter.errors, Errors::World { initialization: Initialization::Independent, .. })
}

/// Whether a landmark at `z` in the robot frame, with this covariance, is read off the tangent by more than the noise
/// of the reading. Seen from r away, a shift by σ across the line of sight and by τ along it leaves the tangent by
/// σ²/2r along it and by στ/r across.
fn bends(z: &Vector2<f64>, covariance: &Matrix2<f64>, expected: &Expected) -> bool {
    let range = z.norm();
    let along = z / range.max(f64::MIN_POSITIVE);
    let across = skew(&along);
    let (tau, sigma) =
        (along.dot(&(covariance * along)).max(0.0).sqrt(), across.dot(&(covariance * across)).max(0.0).sqrt());
    let bend = (along * (0.5 * sigma) + across * tau) * (sigma / range);
    exceeds_noise(&(expected.by_landmark * bend), expected)
}

/// Whether an error of the prediction is larger than the noise of the reading, on average over its numbers.
fn exceeds_noise(error: &Vector3<f64>, expected: &Expected) -> bool {
    mahalanobis_squared(error, &expected.noise, expected.dim).is_none_or(|d| d > expected.dim as f64)
}

fn find(state: &State, sensors: &Sensors, readings: &[(Vector2<f64>, Reading)]) -> Place {
    let Some(fit) = displacement((sensors, &state.mounts), readings) else { return Place::Open };
    let Some(covariance) = fit.information.try_inverse().filter(|_| fit.is_unique) else { return Place::Open };
    let shift = fit.motion.log();
    let mut is_elsewhere = false;
    for (z, reading) in readings {
        let seen = fit.motion.transform_back(z);
        let expect = |z: &Vector2<f64>| sensors.expect(&state.mounts, reading, z, z);
        let (Some(here), Some(there)) = (expect(z), expect(&seen)) else { continue };
        let by_motion = by_motion(&seen);
        if bends(&seen, &(by_motion * covariance * by_motion.transpose()), &there) {
            return Place::Open;
        }
        let linear = here.by_landmark * (self::by_motion(z) * shift);
        is_elsewhere |= exceeds_noise(&(here.residual - there.residual - linear), &here);
    }
    if is_elsewhere { Place::Elsewhere(fit.motion) } else { Place::Here }
}

/// ∂z/∂ν of a landmark at z for a base that moves by Exp(ν): −[I, J z].
fn by_motion(z: &Vector2<f64>) -> Matrix2x3<f64> {
    let lever = skew(z);
    Matrix2x3::new(-1.0, 0.0, -lever.x, 0.0, -1.0, -lever.y)
}

/// Moves the estimate of the robot by `motion` among the features. Those whose covariance, seen from the robot, does
/// not allow for that move along with it: `bound` is on their squared Mahalanobis distance.
pub fn displace(state: &mut State, motion: &Se2, bound: f64) {
    let moved = state.pose * *motion;
    let in_map = moved * state.pose.inverse();
    for i in 0..state.features.len() {
        let z = state.in_robot(i);
        let next = motion.transform_back(&z);
        let distance = squared_distance(&(next - z), &state.relative_covariance(i));
        let is_tied = distance.is_none_or(|distance| distance > bound);
        match (state.coordinates, is_tied) {
            (Coordinates::Robot, true) | (Coordinates::World | Coordinates::Invariant, false) => {}
            (Coordinates::Robot, false) => {
                state.features[i].x = next;
                state.covariance.change_feature(i, &motion.rotation().transpose(), 0.0);
            }
            (Coordinates::Invariant, true) => {
                let feature = &mut state.features[i];
                feature.x = in_map.transform(&feature.x);
                feature.anchor = in_map.transform(&feature.anchor);
                state.covariance.change_feature(i, &in_map.rotation(), 0.0);
            }
            (Coordinates::World, true) => {
                let feature = &mut state.features[i];
                feature.x = in_map.transform(&feature.x);
                feature.first = in_map.transform(&feature.first);
                state.covariance.change_feature(i, &in_map.rotation(), 1.0);
            }
        }
    }
    if state.coordinates == Coordinates::Robot {
        // What is uncertain there is where the robot stood: the error of its heading turns the way from there.
        let lever = skew(&(moved.p - state.pose.p));
        let transition = Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0);
        state.covariance.move_pose(&transition, &Matrix3::zeros());
    }
    state.pose = moved;
    state.predicted = moved;
}

fn squared_distance(shift: &Vector2<f64>, covariance: &Matrix2<f64>) -> Option<f64> {
    Some(shift.dot(&(covariance.try_inverse()? * shift)))
}
