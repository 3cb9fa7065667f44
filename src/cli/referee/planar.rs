//! Recordings in the plane: velocities, landmarks with identity, and our filters over them.

use super::super::failure::Failure;
use super::super::source::open as open_recording;
use super::files::{self, Numbers};
use lienav_base::stamp::Stamp;
use lienav_eval::run::run_study;
use lienav_eval::simulated;
use lienav_eval::study::Study;
use lienav_io::bag::Topics;
use lienav_io::recording::{Input, Recording};
use lienav_sim::Scenario;
use lienav_slam::{Calibration, Config, Measurement, MeasurementKind, MotionConfig, NoiseUnit, Odometry, TwistHold};
use nalgebra::{Matrix2, Matrix3, Vector3};
use serde_json::json;
use std::path::Path;

/// A quick run ends here, s.
const QUICK_S: f64 = 60.0;

/// A recording in the plane.
pub(super) struct PlanarInput {
    recording: Recording,
    config: Config,
}

/// A twist over an interval, with the covariance of its mean over it.
struct Interval {
    begin: Stamp,
    end: Stamp,
    twist: Vector3<f64>,
    covariance: Matrix3<f64>,
}

impl PlanarInput {
    /// Reads a recording, or simulates the scenario of this name.
    pub(super) fn open(source: &str, simulated_with: Option<u64>, is_quick: bool) -> Result<Self, Failure> {
        let mut recording = match simulated_with {
            Some(seed) => {
                let scenario = Scenario::named(source).map_err(Failure::failed)?;
                // Landmarks stay: a graph of factors has no way to forget them.
                simulated::recording(&Scenario { seed, forget_after_s: 0.0, ..scenario }).map_err(Failure::failed)?
            }
            None => open_recording(source, &Topics::default())?,
        };
        if let (true, Some(first)) = (is_quick, recording.inputs.first().map(Input::stamp)) {
            recording.inputs.retain(|input| input.stamp().since(first) <= QUICK_S);
        }
        let config = recording.config.clone().unwrap_or_default();
        Ok(Self { recording, config })
    }

    /// Writes what every estimator is given: twists over intervals, measurements, the start, and the noise of all, as
    /// the recording states them. Errors of odometry and sensor that the recording states by their expected value are
    /// taken off.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let intervals = self.intervals();
        let first = self.recording.inputs.first().map(Input::stamp);
        let start = intervals.first().map(|one| one.begin + -self.config.motion.delay_s).or(first).unwrap_or_default();
        let mut odometry = Numbers::new("begin_s,end_s,vx_mps,vy_mps,yaw_rate_radps,q11,q12,q13,q22,q23,q33");
        for Interval { begin, end, twist, covariance: q } in intervals {
            let numbers = [twist.x, twist.y, twist.z, q.m11, q.m12, q.m13, q.m22, q.m23, q.m33];
            odometry.row(&[begin, end], &numbers);
        }
        odometry.write(folder, "odometry.csv")?;
        let mut scans = Numbers::new("stamp_s,landmark,a,b,r11,r12,r22");
        let mut is_position = false;
        for scan in self.scans() {
            is_position |= scan.kind == MeasurementKind::RelativePosition;
            if scan.measurements.is_empty() {
                scans.row(&[scan.stamp], &[-1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
            }
            for measurement in &scan.measurements {
                let (Some(id), r) = (measurement.id, self.noise(scan.kind, measurement)) else { continue };
                let value = measurement.value.fixed::<2>();
                scans.row(&[scan.stamp], &[f64::from(id), value.x, value.y, r.m11, r.m12, r.m22]);
            }
        }
        scans.write(folder, "scans.csv")?;
        let mut truth = Numbers::new("stamp_s,x_m,y_m,yaw_rad");
        for (stamp, pose) in &self.recording.truth {
            truth.row(&[*stamp], &[pose.p.x, pose.p.y, pose.theta]);
        }
        truth.write(folder, "truth.csv")?;
        let (initial, sensor) = (&self.config.initial, &self.config.sensor);
        files::setting(
            folder,
            &json!({
                "measures": if is_position { "position" } else { "range_bearing" },
                "sensor_on_base": [sensor.x_m, sensor.y_m, sensor.yaw_rad],
                "start": [initial.x_m, initial.y_m, initial.yaw_rad],
                "start_stamp_s": start.secs(),
                "start_std": [initial.position_std_m, initial.position_std_m, initial.yaw_std_rad],
                "gate_probability": self.config.gate.probability,
                "robust_scale": self.config.gate.robust_scale,
            }),
        )
    }

    /// Runs a filter or the batch estimate.
    pub(super) fn run(&self, name: &str) -> Result<String, Failure> {
        let study = Study { filter: name.to_owned(), ..Study::from(self.config.clone()) };
        let run = run_study(&self.recording, &study, |_| ()).map_err(Failure::failed)?;
        Ok(files::planar(run.estimates.iter().map(|one| (one.stamp, one.pose, Some(one.covariance)))))
    }

    fn scans(&self) -> impl Iterator<Item = &lienav_slam::Scan> {
        self.recording.inputs.iter().filter_map(|input| match input {
            Input::Scan(scan) => Some(scan),
            _ => None,
        })
    }

    fn intervals(&self) -> Vec<Interval> {
        let calibration = Calibration::new(&self.config.calibration);
        let motion = &self.config.motion;
        let odometry: Vec<&Odometry> = self.recording.inputs.iter().filter_map(Input::odometry).collect();
        let last = self.scans().map(|scan| scan.stamp).max();
        let mut intervals: Vec<Interval> = Vec::with_capacity(odometry.len());
        for (k, one) in odometry.iter().enumerate() {
            let (begin, end) = match motion.hold {
                TwistHold::After => (Some(one.stamp), odometry.get(k + 1).map(|next| next.stamp).or(last)),
                TwistHold::Before => {
                    (k.checked_sub(1).and_then(|k| odometry.get(k)).map(|before| before.stamp), Some(one.stamp))
                }
            };
            let (Some(begin), Some(end)) = (begin, end) else { continue };
            let duration = end.since(begin);
            if duration > 0.0 {
                let (begin, end) = (begin + motion.delay_s, end + motion.delay_s);
                let twist = calibration.twist(&one.twist());
                intervals.push(Interval { begin, end, twist, covariance: covariance(one, duration, motion) });
            }
        }
        intervals
    }

    /// The covariance of a measurement, as stated for it or for the sensor. A filter that weighs by a robust loss has
    /// its own standard deviations; here they are those of the settings.
    fn noise(&self, kind: MeasurementKind, measurement: &Measurement) -> Matrix2<f64> {
        let sensor = &self.config.sensor;
        let std = match kind {
            MeasurementKind::RelativePosition => [sensor.position_std_m; 2],
            _ => [sensor.range_std_m, sensor.bearing_std_rad],
        };
        let own = Matrix2::from_diagonal(&std.map(|std| std * std).into());
        measurement.covariance.map_or(own, |stated| stated.fixed::<2>())
    }
}

/// The covariance of the mean twist over an interval. What a scale error of unknown size adds is not white, and is left
/// out: estimators without calibration have no place for it.
fn covariance(odometry: &Odometry, duration: f64, motion: &MotionConfig) -> Matrix3<f64> {
    if let Some(stated) = odometry.covariance.filter(|_| motion.use_message_covariance) {
        return stated;
    }
    let std = Vector3::new(motion.velocity_x_std, motion.velocity_y_std, motion.yaw_rate_std);
    let moving = Vector3::new(
        motion.velocity_ratio_std * odometry.velocity.x,
        0.0,
        motion.yaw_rate_ratio_std * odometry.yaw_rate,
    );
    let variance = Matrix3::from_diagonal(&(std.component_mul(&std) + moving.component_mul(&moving)));
    match motion.noise {
        NoiseUnit::PerSample => variance,
        NoiseUnit::SpectralDensity => variance / duration,
    }
}
