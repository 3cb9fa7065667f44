//! The Victoria Park data set (E. Nebot, J. Guivant, ACFR Sydney): a car among trees, association unknown, 4 km.
//!
//! A folder with `inputs.dat` (t, speed of the left rear wheel, steering angle), `measurements.dat` (t, range, bearing
//! from 0 to π with π/2 straight ahead, diameter of the trunk) and `gps.dat` (t, x, y of the antenna), in s, m and rad.

use super::format::Format;
use super::text::Table;
use lienav_bag::recording::{Input, PositionFixes, Recording};
use lienav_base::stamp::Stamp;
use lienav_files::OpenError;
use lienav_slam::{Config, Label, Measurement, MeasurementKind, Odometry, Scan};
use nalgebra::{Matrix2, Matrix3, Matrix3x2, Vector2, Vector3};
use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;
use std::path::Path;

/// From the rear axle to the front axle, m: L of the documented car.
const WHEELBASE_M: f64 = 2.83;
/// From the middle of the rear axle to the wheel with the encoder, to the left, m: H.
const ENCODER_LEFT_M: f64 = 0.76;
/// Laser and antenna, from the middle of the rear axle, m: L + a ahead and b to the left, with a = 0.95 and b = 0.5.
const LASER_M: Vector2<f64> = Vector2::new(3.78, 0.5);

/// Wheel slip: what the speed and the sideways speed are wrong by, as a part of the speed, root of a spectral density,
/// √s.
const SLIP: f64 = 0.05;
/// What the steering angle is wrong by, root of a spectral density, rad·√s: half a degree that stays for a second.
const STEERING: f64 = 0.0087;
/// In a bend, tyres slip, and the wheels do not stand as one in their middle would: what the yaw rate is wrong by, as a
/// part of it, root of a spectral density, √s. Errors of a bend stay alike while it lasts, so that this is what they
/// come to over the seconds between scans that are far apart.
const BEND: f64 = 0.2;
/// A car at rest may still creep: m/√s.
const CREEP: f64 = 1e-3;

/// Between two rays of the laser, rad.
const RAYS_RAD: f64 = 0.5 * std::f64::consts::PI / 180.0;
/// What a diameter is wrong by at a short range, m.
const BARK_M: f64 = 0.1;

/// No row of inputs stands for a longer time, s; they come every 25 ms.
const LONGEST_ROW_S: f64 = 1.0;

/// `victoria:FOLDER`.
pub const FORMAT: Format =
    Format { prefix: "victoria", arguments: "FOLDER", about: "Victoria Park", open: |folder| open(Path::new(folder)) };

/// Reads the folder. The base is the middle of the rear axle; rows of measurements with one stamp are one cloud of
/// measurements without identity; the run starts at the origin, heading along x. Positions of the antenna are
/// [`Recording::fixes`], in a frame of their own; there is no truth.
///
/// # Errors
/// A file is missing, or not as described: with its name and line.
pub fn open(folder: &Path) -> Result<Recording, OpenError> {
    let mut recording = Recording { name: "victoria_park".to_owned(), ..Recording::default() };
    let mut last: Option<Stamp> = None;
    for row in Table::read(folder, "inputs.dat")?.rows(&["t_s", "speed_mps", "steering_rad"]) {
        let row = row?;
        let (stamp, speed) = (row.stamp(0)?, row.number(1)?);
        let steering = row.number_within(2, -1.5..=1.5, "an angle of steering from -1.5 to 1.5 rad")?;
        let dt_s = last.map_or(LONGEST_ROW_S, |last| stamp.since(last).clamp(1e-3, LONGEST_ROW_S));
        last = Some(stamp);
        recording.inputs.push(Input::Odometry(odometry(stamp, speed, steering, dt_s)));
    }
    if recording.inputs.is_empty() {
        let problem = "no rows of speed and steering; expected rows of t_s,speed_mps,steering_rad";
        return Err(OpenError::bag(&folder.join("inputs.dat"), problem));
    }
    for (stamp, measurements) in read_measurements(folder)? {
        recording.inputs.push(Input::Scan(Scan { stamp, kind: MeasurementKind::RangeBearing, measurements }));
    }
    // Stable: of the same stamp, odometry stays before features.
    recording.inputs.sort_by_key(Input::stamp);
    recording.fixes = Some(read_fixes(folder)?);
    recording.config = Some(config());
    Ok(recording)
}

/// The motion of the middle of the rear axle. The wheel with the encoder is `H` to its left, so its speed is that of
/// the axle less H times the yaw rate: v = v_e / (1 − H/L tan α), w = v/L tan α.
fn odometry(stamp: Stamp, encoder: f64, steering: f64, dt_s: f64) -> Odometry {
    let slope = steering.tan();
    let by_encoder = 1.0 / (1.0 - ENCODER_LEFT_M / WHEELBASE_M * slope);
    let speed = encoder * by_encoder;
    // d tan α = (1 + tan² α) dα; v depends on α through the encoder's wheel.
    let by_steering = (1.0 + slope * slope) / WHEELBASE_M;
    let speed_by_steering = speed * by_encoder * ENCODER_LEFT_M * by_steering;
    let of_inputs = Matrix3x2::new(
        by_encoder,
        speed_by_steering,
        0.0,
        0.0,
        by_encoder * slope / WHEELBASE_M,
        speed_by_steering * slope / WHEELBASE_M + speed * by_steering,
    );
    let (slip, creep) = ((SLIP * encoder).powi(2) + CREEP * CREEP, CREEP * CREEP);
    let inputs = Matrix2::new(slip, 0.0, 0.0, STEERING * STEERING);
    let yaw_rate = speed * slope / WHEELBASE_M;
    let beyond_model = Matrix3::from_diagonal(&Vector3::new(0.0, slip, creep + (BEND * yaw_rate).powi(2)));
    let covariance = (of_inputs * inputs * of_inputs.transpose() + beyond_model) / dt_s;
    Odometry {
        stamp,
        velocity: Vector2::new(speed, 0.0),
        yaw_rate,
        covariance: Some(0.5 * (covariance + covariance.transpose())),
    }
}

fn read_measurements(folder: &Path) -> Result<BTreeMap<Stamp, Vec<Measurement>>, OpenError> {
    let mut clouds: BTreeMap<Stamp, Vec<Measurement>> = BTreeMap::new();
    let names = &["t_s", "range_m", "bearing_rad", "diameter_m"];
    for row in Table::read(folder, "measurements.dat")?.rows(names) {
        let row = row?;
        let value = Vector2::new(row.number(1)?, row.number(2)? - FRAC_PI_2);
        let label = Label { diameter_m: row.number(3)?.max(0.0), diameter_std_m: diameter_std(value.x), class: 0 };
        let measurement = Measurement { label, ..Measurement::new(None, value) };
        clouds.entry(row.stamp(0)?).or_default().push(measurement);
    }
    Ok(clouds)
}

/// Standard deviation of the diameter of a trunk at this range, m. Either edge lies somewhere between two rays; bark,
/// branches and other trunks that cover a part do the rest.
fn diameter_std(range_m: f64) -> f64 {
    (BARK_M * BARK_M + (RAYS_RAD * range_m).powi(2) / 6.0).sqrt()
}

fn read_fixes(folder: &Path) -> Result<PositionFixes, OpenError> {
    let mut fixes = PositionFixes { antenna: LASER_M, fixes: Vec::new() };
    for row in Table::read(folder, "gps.dat")?.rows(&["t_s", "x_m", "y_m"]) {
        let row = row?;
        fixes.fixes.push((row.stamp(0)?, Vector2::new(row.number(1)?, row.number(2)?)));
    }
    fixes.fixes.sort_by_key(|&(stamp, _)| stamp);
    Ok(fixes)
}

/// Where the laser sits, and its noise: that of a middle of a trunk as the detector of the set finds it, which is
/// several times that of a single ray.
fn config() -> Config {
    let mut config = Config::default();
    // The noise is what the detector of the set is known for.
    config.learning.enabled = false;
    config.sensor.kind = MeasurementKind::RangeBearing;
    (config.sensor.x_m, config.sensor.y_m) = (LASER_M.x, LASER_M.y);
    config.sensor.range_std_m = 0.3;
    config.sensor.bearing_std_rad = 0.02;
    config.map.max_features = 2000;
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_lie::Se2;

    /// A car on a circle: the encoder's wheel, the steered front wheel and the axle turn round one centre.
    #[test]
    fn the_wheel_of_the_encoder_and_the_front_wheel_go_round_the_same_centre() {
        for steering in [-0.5, -0.1, 0.0, 0.3] {
            let sample = odometry(Stamp::default(), 2.0, steering, 0.025);
            let xi = nalgebra::Vector3::new(sample.velocity.x, 0.0, sample.yaw_rate);
            let step = Se2::exp(&(1e-6 * xi));
            let moved = |p: Vector2<f64>| (step.transform(&p) - p) / 1e-6;
            assert!((moved(Vector2::new(0.0, ENCODER_LEFT_M)) - Vector2::new(2.0, 0.0)).norm() < 1e-5, "{steering}");
            let front = moved(Vector2::new(WHEELBASE_M, 0.0));
            assert!((front.y.atan2(front.x) - steering).abs() < 1e-6, "{steering}");
        }
    }

    #[test]
    fn the_noise_is_that_of_wheel_and_steering_to_first_order() {
        let (speed, steering, dt_s) = (3.0, 0.4, 0.025);
        let twist = |speed, steering| odometry(Stamp::default(), speed, steering, dt_s).twist();
        let h = 1e-6;
        let by_speed = (twist(speed + h, steering) - twist(speed - h, steering)) / (2.0 * h);
        let by_steering = (twist(speed, steering + h) - twist(speed, steering - h)) / (2.0 * h);
        let slip = (SLIP * speed).powi(2) + CREEP * CREEP;
        let mut expected =
            slip * by_speed * by_speed.transpose() + STEERING * STEERING * by_steering * by_steering.transpose();
        let bend = BEND * twist(speed, steering).z;
        expected += Matrix3::from_diagonal(&Vector3::new(0.0, slip, CREEP * CREEP + bend * bend));
        let found = odometry(Stamp::default(), speed, steering, dt_s).covariance.unwrap() * dt_s;
        assert!((found - expected).norm() < 1e-8, "{found} {expected}");
    }
}
