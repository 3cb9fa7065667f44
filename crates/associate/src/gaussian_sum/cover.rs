//! Gaussians that cover what is no Gaussian: the circle of poses that one landmark leaves, a heading that is hardly
//! known, and the motion of wheels that slip.

use super::component::{Component, Landmarks};
use super::field_of_view::DIRECTIONS;
use super::measured::Measured;
use lienav_lie::{Se2, skew};
use lienav_planar::calibration::MOTION;
use nalgebra::{Matrix2, Matrix3, SVector, Vector3};
use std::f64::consts::TAU;

/// A component's heading is known to this standard deviation at least, rad: at 4 m, the arc over it leaves its tangent
/// by 0.06 m.
pub const HEADING_STD_RAD: f64 = 0.17;
/// The centres of neighbours are so many standard deviations apart: the sum of them is flat to one per cent.
const APART: f64 = 1.4;

/// All poses from which a landmark of the map is where the measurement has it.
pub fn circles(
    landmarks: &Landmarks,
    measured: &Measured,
    prior: &(SVector<f64, MOTION>, SVector<f64, MOTION>),
    most: usize,
) -> Vec<Component> {
    let count = landmarks.like(measured).count() * DIRECTIONS;
    if count == 0 || count > most {
        return Vec::new();
    }
    let step = TAU / DIRECTIONS as f64;
    let variance = (step / APART).powi(2);
    let log_weight = -(count as f64).ln();
    let at = |(k, landmark): (usize, &lienav_map::MapLandmark)| {
        let theta = step * k as f64;
        let rotation = lienav_lie::rotation(theta);
        let arm = rotation * measured.place;
        let pose = Se2 { p: landmark.position - arm, theta };
        let turn = -skew(&arm);
        let place: Matrix2<f64> = rotation * measured.covariance * rotation.transpose()
            + landmark.covariance
            + turn * turn.transpose() * variance;
        let mut covariance = Matrix3::zeros();
        covariance.fixed_view_mut::<2, 2>(0, 0).copy_from(&place);
        covariance.fixed_view_mut::<2, 1>(0, 2).copy_from(&(turn * variance));
        covariance.fixed_view_mut::<1, 2>(2, 0).copy_from(&(turn.transpose() * variance));
        covariance[(2, 2)] = variance;
        Component::new(pose, &covariance, prior, log_weight)
    };
    landmarks.like(measured).flat_map(|landmark| (0..DIRECTIONS).map(move |k| (k, landmark))).map(at).collect()
}

/// Adds a component, or where its heading is known worse than to `std`, several that are narrower and have its mean.
pub fn split(component: Component, std: f64, into: &mut Vec<Component>) {
    /// A cover reaches so many standard deviations far.
    const FAR: f64 = 2.5;
    let variance = component.covariance[(2, 2)];
    // A little more does not bend much more, and splits seldom.
    if variance < 2.0 * std * std {
        into.push(component);
        return;
    }
    let column = component.covariance.column(2).into_owned();
    let by_heading = column / variance;
    let narrower = component.covariance - column * by_heading.transpose() * (1.0 - std * std / variance);
    let narrower = 0.5 * (narrower + narrower.transpose());
    let (step, spread) = (APART * std, variance - std * std);
    let side = (FAR * spread.sqrt() / step).ceil().min(0.5 * TAU / step) as i32;
    let log = |k: i32| -0.5 * (f64::from(k) * step).powi(2) / spread;
    let total: f64 = (-side..=side).map(|k| log(k).exp()).sum();
    for k in -side..=side {
        let turn = f64::from(k) * step;
        let shift = by_heading * turn;
        into.push(Component {
            pose: Se2 { p: component.pose.p + shift.fixed_rows::<2>(0), theta: component.pose.theta + turn },
            calibration: component.calibration + shift.fixed_rows::<MOTION>(3),
            covariance: narrower,
            log_weight: component.log_weight + log(k) - total.ln(),
        });
    }
}

/// The covariance that a slip within `since` seconds adds to a pose which is `way` from where it was then, m.
pub fn slip(since: f64, way: f64) -> Matrix3<f64> {
    /// A slip grows the standard deviation of the heading with the root of the time, rad/√s, and that of the position
    /// by a constant, m, and by half of the way that the wrong heading has bent: the MR.CLAM robots turn 0.4 to 0.9 rad
    /// less than their odometry says in a minute.
    const SLIP_RAD: f64 = 0.1;
    const LEAST_SLIP_RAD: f64 = 0.3;
    const SLIP_M: f64 = 0.2;
    let turn = LEAST_SLIP_RAD.max(SLIP_RAD * since.sqrt()).min(0.5 * TAU);
    let place = SLIP_M + 0.5 * turn * way;
    Matrix3::from_diagonal(&Vector3::new(place * place, place * place, turn * turn))
}
