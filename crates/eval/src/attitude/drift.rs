//! How far a gyroscope alone drifts: its rates integrated from the first true orientation, less the bias of the first
//! seconds.

use lienav_integrate::attitude::{Method, Samples};
use lienav_io::inertial::InertialRecording;
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// When drift is looked at, s.
pub const HORIZONS_S: [f64; 3] = [10.0, 30.0, 180.0];

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The bias that was taken off, rad/s.
    pub bias: Vector3<f64>,
    /// Angle of the error at each of [`HORIZONS_S`] on the clock of the recording, which starts with its first sample,
    /// rad; `None` beyond the end.
    pub at: [Option<f64>; 3],
    /// The same this long after the first truth, from where rates are integrated.
    pub since_truth: [Option<f64>; 3],
}

/// Integrates the rates of a recording. The bias is the constant that carries the first true orientation into that of
/// `bias_window_s` later; at rest, the mean rate. `None` without truth and samples over that time.
pub fn drift(recording: &InertialRecording, method: Method, bias_window_s: f64) -> Option<Drift> {
    let first = recording.truth.first()?;
    let start = nearest(recording, first.stamp)?;
    let at = |seconds: f64| {
        let truth = recording.truth.iter().find(|t| t.stamp.since(first.stamp) >= seconds - 1e-3)?;
        Some((nearest(recording, truth.stamp)?, truth.orientation))
    };
    let (end, orientation) = at(bias_window_s)?;
    let mut bias = Vector3::zeros();
    // The error at the end is −∫R dt δb to first order; three steps of Newton are plenty.
    for _ in 0..4 {
        let mut turned = Matrix3::zeros();
        let found = integrate(recording, method, start, end, first.orientation, &bias, |step, q| {
            turned += q.to_rotation_matrix().matrix() * step;
        });
        bias += turned.try_inverse()? * (found * orientation.inverse()).scaled_axis();
    }
    let error_at = |seconds: f64| {
        let (end, truth) = at(seconds)?;
        let found = integrate(recording, method, start, end, first.orientation, &bias, |_, _| ());
        Some(found.angle_to(&truth))
    };
    let begun = first.stamp.since(recording.samples.first()?.stamp);
    let on_clock = |seconds: f64| (seconds > begun).then(|| error_at(seconds - begun)).flatten();
    Some(Drift { bias, at: HORIZONS_S.map(on_clock), since_truth: HORIZONS_S.map(error_at) })
}

/// The sample nearest to a stamp; `None` where there is none within 10 ms.
fn nearest(recording: &InertialRecording, stamp: lienav_base::stamp::Stamp) -> Option<usize> {
    let after = recording.samples.partition_point(|sample| sample.stamp < stamp);
    let distance = |i: usize| recording.samples.get(i).map_or(f64::INFINITY, |s| s.stamp.since(stamp).abs());
    let best = match after.checked_sub(1) {
        Some(before) if distance(before) < distance(after) => before,
        _ => after,
    };
    (distance(best) < 0.01).then_some(best)
}

fn integrate(
    recording: &InertialRecording,
    method: Method,
    start: usize,
    end: usize,
    from: UnitQuaternion<f64>,
    bias: &Vector3<f64>,
    mut visit: impl FnMut(f64, &UnitQuaternion<f64>),
) -> UnitQuaternion<f64> {
    let mut samples = Samples::default();
    let mut q = from;
    let mut last = None;
    // The samples before the start give the polynomial its degree.
    for (i, sample) in recording.samples.iter().enumerate().take(end + 1).skip(start.saturating_sub(3)) {
        let step = last.map_or(0.0, |last| sample.stamp.since(last));
        let rates = samples.push(step, sample.angular_velocity).without(bias);
        last = Some(sample.stamp);
        if i > start {
            q *= method.rotation(step, &rates);
            visit(step, &q);
        }
    }
    q
}
