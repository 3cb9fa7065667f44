//! A robot that rocks, drives and sees AprilTags: how far off its pose is, and whether the filter knows.
//!
//!     cargo run --release -p lienav-io --example rocking_tags [-- SEEDS [tilt_std_rad [learning]]]
//!     cargo run --release -p lienav-io --example rocking_tags -- SEEDS mistakes
//!
//! The robot drives an ellipse of 5 m by 3 m for 90 s at about 0.5 m/s in a room of 10 m by 8 m. It leans about the
//! origin of its base, on the floor, by R_z(ψ) R_y(θ) R_x(φ). A camera 0.6 m above the floor sees tags of 0.16 m on the
//! walls, another at 0.5 m sees them on a ceiling of 2.6 m, at 10 Hz with 0.3 px of noise of each corner. Corners go
//! through the conversion that the nodes use, `april_tags`. Printed are the root mean square of the error of the
//! position, its 95th percentile, and the mean NEES of the pose (3 is right), the first 10 s left out, of as many seeds
//! as stated. A `tilt_std_rad` of 0 says that the robot is always level; `learning` sets `learning.enabled`.
//!
//! `mistakes`: images that are stamped 50 ms late, and a camera that is turned by 2° on a robot that never leans, taken
//! as stated, with the parameter set right, and with calibration; what calibration found is printed beside.

use lienav_base::stamp::Stamp;
use lienav_io::convert::{Extrinsics, Pinhole, TagCamera, TagSizes, april_tags, header};
use lienav_io::messages::{AprilTagDetection, AprilTagDetectionArray, ImagePoint};
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Config, Imu, LandmarkMap, MapLandmark, MapMode, Odometry, Prior, Slam, Tilt};
use nalgebra::{Isometry3, Matrix2, Matrix3, Point3, Translation3, UnitQuaternion, Vector2, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

const DURATION_S: f64 = 90.0;
const SETTLED_S: f64 = 10.0;
const SPEED: f64 = 0.5;
/// Of each sample of odometry, at 50 Hz: m/s and rad/s.
const ODOMETRY_STD: [f64; 3] = [0.02, 0.01, 0.02];
const IMU_STD_RAD: f64 = 0.003;
const PIXEL_STD: f64 = 0.3;

const TAGS: TagCamera = TagCamera {
    size_m: 0.16,
    focal_px: 600.0,
    pixel_std: 0.5,
    scale_std: 0.01,
    max_range_m: 10.0,
    max_view_angle_rad: 1.3,
};

/// How the robot leans.
#[derive(Clone, Copy)]
enum Lean {
    /// It does not.
    Level,
    /// Roll and pitch swing by this many degrees, once in 2 s and in 2.7 s.
    Rocks(f64),
    /// The same, slowly: once in 10 s and in 13 s.
    Sways(f64),
    /// By a load at one end: so many degrees of pitch, and half of it of roll, for good.
    Loaded(f64),
    /// By so many degrees of pitch while it brakes and speeds up again, half a second each in every 5 s.
    Brakes(f64),
}

impl Lean {
    fn at(self, t: f64) -> Tilt {
        let (roll, pitch) = match self {
            Self::Level => (0.0, 0.0),
            Self::Rocks(a) => (a * (TAU * t / 2.0).sin(), a * (TAU * t / 2.7).cos()),
            Self::Sways(a) => (a * (TAU * t / 10.0).sin(), a * (TAU * t / 13.0).cos()),
            Self::Loaded(a) => (0.5 * a, a),
            Self::Brakes(a) => match t % 5.0 {
                s if s < 1.0 => (0.0, a * (TAU * s).sin()),
                _ => (0.0, 0.0),
            },
        };
        Tilt { roll: roll.to_radians(), pitch: pitch.to_radians() }
    }
}

/// Where the tags are.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Walls,
    Ceiling,
}

impl Place {
    /// Of the camera on the base.
    fn camera(self) -> Isometry3<f64> {
        match self {
            // Looking ahead: z of the image forward, x right.
            Self::Walls => Isometry3::from_parts(
                Translation3::new(0.2, 0.0, 0.6),
                UnitQuaternion::from_euler_angles(-FRAC_PI_2, 0.0, -FRAC_PI_2),
            ),
            // Looking up.
            Self::Ceiling => Isometry3::from_parts(
                Translation3::new(0.1, 0.0, 0.5),
                UnitQuaternion::from_euler_angles(0.0, 0.0, -FRAC_PI_2),
            ),
        }
    }

    /// In the room: z of the tag into it.
    fn tags(self) -> Vec<Isometry3<f64>> {
        let mut all = Vec::new();
        match self {
            Self::Walls => {
                for k in 0..24 {
                    let s = f64::from(k) * 1.5;
                    let height = [0.6, 1.4, 1.0, 1.8][k as usize % 4];
                    let (x, y, inwards) = match s {
                        s if s < 10.0 => (s - 5.0, -4.0, FRAC_PI_2),
                        s if s < 18.0 => (5.0, s - 14.0, PI),
                        s if s < 28.0 => (23.0 - s, 4.0, -FRAC_PI_2),
                        s => (-5.0, 32.0 - s, 0.0),
                    };
                    // z of the tag along `inwards`, y down.
                    let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, inwards)
                        * UnitQuaternion::from_euler_angles(-FRAC_PI_2, 0.0, -FRAC_PI_2);
                    all.push(Isometry3::from_parts(Translation3::new(x, y, height), turn));
                }
            }
            Self::Ceiling => {
                for i in 0..8 {
                    for j in 0..6 {
                        let p = Translation3::new(-4.2 + 1.2 * f64::from(i), -3.0 + 1.2 * f64::from(j), 2.6);
                        all.push(Isometry3::from_parts(p, UnitQuaternion::from_euler_angles(PI, 0.0, 0.3)));
                    }
                }
            }
        }
        all
    }
}

/// The pose on the ellipse at time t, and the twist.
fn truth(t: f64) -> (Se2, Vector3<f64>) {
    let (a, b) = (2.5, 1.5);
    // Along the parameter of the ellipse, not along its arc: the speed varies between 0.375 and 0.625 m/s.
    let at = |u: f64| Se2::new(a * u.sin(), -b * u.cos(), (b * u.sin()).atan2(a * u.cos()));
    let u = SPEED * t / 2.0;
    let speed = |u: f64| (a * u.cos()).hypot(b * u.sin()) * SPEED / 2.0;
    let (h, pose) = (1e-5, at(u));
    let rate = wrap_angle(at(u + h).theta - at(u - h).theta) / (2.0 * h) * SPEED / 2.0;
    (pose, Vector3::new(speed(u), 0.0, rate))
}

struct Random(ChaCha8Rng);

impl Random {
    fn normal(&mut self, std: f64) -> f64 {
        let x: f64 = StandardNormal.sample(&mut self.0);
        std * x
    }
}

fn pinhole() -> Pinhole {
    Pinhole { focal: Vector2::new(600.0, 600.0), centre: Vector2::new(320.0, 240.0) }
}

/// The tags in the image of a camera at `in_room`.
fn image(in_room: &Isometry3<f64>, tags: &[Isometry3<f64>], random: &mut Random) -> Vec<AprilTagDetection> {
    let camera = pinhole();
    let to_camera = in_room.inverse();
    let half = 0.5 * TAGS.size_m;
    let mut seen = Vec::new();
    for (id, tag) in tags.iter().enumerate() {
        let in_camera = to_camera * tag;
        let mut corners = [(); 4].map(|()| ImagePoint::default());
        let mut is_seen = (in_camera.rotation * Vector3::z()).dot(&in_camera.translation.vector) < 0.0;
        for (corner, (x, y)) in corners.iter_mut().zip([(-half, half), (half, half), (half, -half), (-half, -half)]) {
            let p = (in_camera * Point3::new(x, y, 0.0)).coords;
            let (u, v) = (600.0 * p.x / p.z + camera.centre.x, 600.0 * p.y / p.z + camera.centre.y);
            is_seen &= p.z > 0.2 && (0.0..640.0).contains(&u) && (0.0..480.0).contains(&v);
            (corner.x, corner.y) = (u + random.normal(PIXEL_STD), v + random.normal(PIXEL_STD));
        }
        if is_seen && in_camera.translation.vector.norm() < 7.0 {
            seen.push(AprilTagDetection { id: id as i32, corners, ..AprilTagDetection::default() });
        }
    }
    seen
}

#[derive(Clone, Copy)]
struct Trial {
    place: Place,
    lean: Lean,
    known_map: bool,
    has_imu: bool,
    tilt_std_rad: Option<f64>,
    learning: bool,
    mistake: Mistake,
    remedy: Remedy,
}

/// What is not as the filter is given.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// Images are stamped so much too late, s.
    Late(f64),
    /// The camera is turned to the left by so much, rad.
    Turned(f64),
}

/// What the user does about it.
#[derive(Clone, Copy, PartialEq)]
enum Remedy {
    None,
    /// The parameter is set.
    Stated,
    /// The parameter is estimated.
    Calibrated,
}

impl Trial {
    fn configure(&self, config: &mut Config) {
        let found = Prior { value: 0.0, sigma: 0.1, walk: 0.0 };
        match (self.mistake, self.remedy) {
            (Mistake::Late(by), Remedy::Stated) => config.sensor.delay_s = by,
            (Mistake::Late(_), Remedy::Calibrated) => config.calibration.motion_delay = found,
            (Mistake::Turned(_), Remedy::Calibrated) => config.calibration.sensor_yaw = found,
            _ => {}
        }
    }

    /// Where the camera is, and where it is said to be.
    fn cameras(&self) -> (Isometry3<f64>, Isometry3<f64>) {
        let stated = self.place.camera();
        let Mistake::Turned(by) = self.mistake else { return (stated, stated) };
        // On its place, about the vertical.
        let turned = Isometry3::from_parts(
            stated.translation,
            UnitQuaternion::from_euler_angles(0.0, 0.0, by) * stated.rotation,
        );
        (turned, if self.remedy == Remedy::Stated { turned } else { stated })
    }
}

/// Errors of the position, m, and NEES of the pose, of each step.
type Steps = Vec<(f64, f64)>;
/// What was calibrated, with its standard deviation.
type Calibrated = Option<(f64, f64)>;

fn run(trial: Trial, seed: u64) -> (Steps, Calibrated) {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
    let mut config = Config::default();
    config.motion.use_tilt = trial.has_imu;
    config.learning.enabled = trial.learning;
    if let Some(std) = trial.tilt_std_rad {
        config.motion.tilt_std_rad = std;
        config.motion.levelled_tilt_std_rad = 0.5 * std;
    }
    (config.sensor.min_range_m, config.sensor.max_range_m) = (0.0, 100.0);
    config.map.mode = if trial.known_map { MapMode::Localization } else { MapMode::Mapping };
    let (start, _) = truth(0.0);
    (config.initial.x_m, config.initial.y_m, config.initial.yaw_rad) = (start.p.x, start.p.y, start.theta);
    trial.configure(&mut config);
    let tags = trial.place.tags();
    let (camera, stated_camera) = trial.cameras();
    let late_s = if let Mistake::Late(by) = trial.mistake { by } else { 0.0 };
    let mut slam = Slam::new(config).expect("a configuration");
    let extrinsics = Extrinsics::of(&stated_camera);
    slam.place_sensor(lienav_slam::MeasurementKind::RelativePosition, extrinsics.mount).expect("a sensor");
    if trial.known_map {
        let std_m = 0.003;
        let landmarks = tags.iter().enumerate().map(|(id, tag)| MapLandmark {
            id: id as u32,
            class: 0,
            position: tag.translation.vector.xy() + Vector2::new(random.normal(std_m), random.normal(std_m)),
            covariance: Matrix2::identity() * std_m * std_m,
        });
        slam.set_map(LandmarkMap { landmarks: landmarks.collect(), joint: None, near: None }).expect("a map");
    }
    let mut found = Vec::new();
    for k in 0..(50.0 * DURATION_S) as i64 {
        let t = k as f64 * 0.02;
        let stamp = Stamp::from_nanos(k * 20_000_000);
        let tilt = trial.lean.at(t);
        // Held for the interval before: the twist in its middle.
        let (_, twist) = truth(t - 0.01);
        let [vx, vy, w] = ODOMETRY_STD.map(|std| random.normal(std));
        let odometry = Odometry {
            stamp,
            velocity: Vector2::new(twist.x + vx, twist.y + vy),
            yaw_rate: twist.z + w,
            covariance: Some(Matrix3::from_diagonal(&Vector3::from(ODOMETRY_STD.map(|s| s * s)))),
        };
        if trial.has_imu {
            let (roll, pitch) = (tilt.roll + random.normal(IMU_STD_RAD), tilt.pitch + random.normal(IMU_STD_RAD));
            let imu = Imu { stamp, yaw_rate: odometry.yaw_rate, tilt: Some(Tilt { roll, pitch }) };
            slam.imu(&imu).expect("a sample");
        }
        slam.odometry(&odometry).expect("odometry");
        if k % 5 == 0 && k > 0 {
            let (pose, _) = truth(t - late_s);
            let leaning = UnitQuaternion::from_euler_angles(tilt.roll, tilt.pitch, pose.theta);
            let base = Isometry3::from_parts(Translation3::new(pose.p.x, pose.p.y, 0.0), leaning);
            let detections = image(&(base * camera), &tags, &mut random);
            let message = AprilTagDetectionArray { header: header(stamp, "camera"), detections };
            let features =
                april_tags(&message, &extrinsics, (&TAGS, &TagSizes::default(), &pinhole())).expect("a stamp");
            slam.features(features.stamp, features.kind, &features.measurements).expect("tags");
        }
        while let Some(step) = slam.poll() {
            let (pose, _) = truth(step.estimate.stamp.secs());
            let (off, turn) = (step.estimate.pose.p - pose.p, wrap_angle(step.estimate.pose.theta - pose.theta));
            let error = Vector3::new(off.x, off.y, turn);
            let nees = step.estimate.covariance.cholesky().map_or(f64::NAN, |factor| error.dot(&factor.solve(&error)));
            if step.estimate.stamp.secs() > SETTLED_S {
                found.push((off.norm(), nees));
            }
        }
    }
    let calibrated = slam.calibration().next().map(|one| (one.value, one.std));
    (found, calibrated)
}

/// Root mean square and 95th percentile of the errors, mm, and the mean NEES.
fn summary(mut all: Steps) -> String {
    let n = all.len().max(1) as f64;
    let rms = (all.iter().map(|(e, _)| e * e).sum::<f64>() / n).sqrt();
    let nees = all.iter().map(|(_, nees)| nees).sum::<f64>() / n;
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = all.get((0.95 * n) as usize).map_or(f64::NAN, |(e, _)| *e);
    format!("{:9.1} {:9.1} {nees:7.2}", 1e3 * rms, 1e3 * most)
}

fn mistakes(seeds: u64) {
    println!("{:46} {:>9} {:>9} {:>7}   calibrated", "", "rms, mm", "95 %, mm", "NEES");
    let remedies = [(Remedy::None, "as stated"), (Remedy::Stated, "parameter set"), (Remedy::Calibrated, "calibrated")];
    for (place, of) in [(Place::Walls, "walls"), (Place::Ceiling, "ceiling")] {
        for (known_map, with) in [(false, "mapping"), (true, "known map")] {
            for (mistake, what) in
                [(Mistake::Late(0.05), "50 ms late"), (Mistake::Turned(2f64.to_radians()), "2° turned")]
            {
                for (remedy, name) in remedies {
                    let (lean, has_imu, tilt_std_rad, learning) = (Lean::Level, false, None, true);
                    let trial = Trial { place, lean, known_map, has_imu, tilt_std_rad, learning, mistake, remedy };
                    let runs: Vec<_> = (0..seeds).map(|seed| run(trial, seed)).collect();
                    let found = runs.iter().filter_map(|(_, found)| *found);
                    let found: Vec<String> = found.map(|(x, sigma)| format!("{x:.4} ± {sigma:.4}")).collect();
                    let all = summary(runs.iter().flat_map(|(steps, _)| steps.iter().copied()).collect());
                    let title = format!("{of}, {with}, {what}: {name}");
                    println!("{title:46} {all}   {}", found.join(", "));
                }
            }
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let second = arguments.next();
    if second.as_deref() == Some("mistakes") {
        return mistakes(seeds);
    }
    let tilt_std_rad = second.and_then(|text| text.parse().ok());
    let learning = arguments.next().is_some_and(|word| word == "learning");
    println!("{:46} {:>9} {:>9} {:>7}", "", "rms, mm", "95 %, mm", "NEES");
    let leans = [
        ("level", Lean::Level),
        ("rocks by 0.5°", Lean::Rocks(0.5)),
        ("rocks by 2°", Lean::Rocks(2.0)),
        ("sways by 0.5°", Lean::Sways(0.5)),
        ("sways by 2°", Lean::Sways(2.0)),
        ("load: 1° for good", Lean::Loaded(1.0)),
        ("2° while braking", Lean::Brakes(2.0)),
    ];
    for (place, of) in [(Place::Walls, "walls"), (Place::Ceiling, "ceiling")] {
        for (known_map, with) in [(false, "mapping"), (true, "known map")] {
            for has_imu in [false, true] {
                for (name, lean) in leans {
                    let (mistake, remedy) = (Mistake::None, Remedy::None);
                    let trial = Trial { place, lean, known_map, has_imu, tilt_std_rad, learning, mistake, remedy };
                    let all = summary((0..seeds).flat_map(|seed| run(trial, seed).0).collect());
                    let imu = if has_imu { ", levelled by an IMU" } else { "" };
                    let title = format!("{of}, {with}{imu}: {name}");
                    println!("{title:46} {all}");
                }
            }
        }
    }
}
