//! A small simulator: smooth motions, an inertial sensor, and a camera that sees points by their identity.
#![allow(dead_code)]

use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::imu::{Biases, Imu, ImuNoise, ImuSample};
use lienav_inertial::measurement::pixel::{Pinhole, Pixel};
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::state::nav::Nav;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, SVector, Vector2, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};

/// A coordinate as a function of time: offset, slope, and sums of amplitude · sin(rate t + phase).
#[derive(Clone, Debug)]
pub struct Wave(pub f64, pub f64, pub Vec<[f64; 3]>);

impl Wave {
    /// Value, first and second derivative.
    fn at(&self, t: f64) -> [f64; 3] {
        let mut value = [self.0 + self.1 * t, self.1, 0.0];
        for [amplitude, rate, phase] in &self.2 {
            let (s, c) = (rate * t + phase).sin_cos();
            value[0] += amplitude * s;
            value[1] += amplitude * rate * c;
            value[2] -= amplitude * rate * rate * s;
        }
        value
    }
}

/// x, y, z, m, then yaw, pitch, roll, rad.
#[derive(Clone, Debug)]
pub struct Motion(pub [Wave; 6]);

impl Motion {
    /// Named motions in a room of 8 m by 8 m by 3 m, its centre at the origin.
    pub fn named(name: &str) -> Self {
        let w = |offset, slope, parts: &[[f64; 3]]| Wave(offset, slope, parts.to_vec());
        let half = std::f64::consts::FRAC_PI_2;
        match name {
            // Once around in 12.6 s, the camera ahead.
            "circle" => Self([
                w(0.0, 0.0, &[[2.0, 0.5, half]]),
                w(0.0, 0.0, &[[2.0, 0.5, 0.0]]),
                w(0.0, 0.0, &[[0.3, 0.7, 0.0]]),
                w(half, 0.5, &[]),
                w(0.0, 0.0, &[[0.1, 0.9, 0.0]]),
                w(0.0, 0.0, &[[0.15, 0.8, 1.0]]),
            ]),
            // In a hand: small, quick and in all directions.
            "hand" => Self([
                w(0.0, 0.0, &[[0.6, 0.9, 0.0], [0.15, 3.1, 1.0], [0.03, 7.0, 0.3]]),
                w(0.0, 0.0, &[[0.5, 1.1, 2.0], [0.12, 2.7, 0.0], [0.03, 8.0, 1.3]]),
                w(0.0, 0.0, &[[0.3, 1.3, 0.5], [0.08, 3.3, 2.0]]),
                w(0.0, 0.0, &[[0.9, 0.6, 0.0], [0.2, 2.3, 1.0]]),
                w(0.0, 0.0, &[[0.3, 0.9, 1.0], [0.1, 3.1, 0.0]]),
                w(0.0, 0.0, &[[0.3, 1.1, 2.0], [0.1, 2.9, 0.7]]),
            ]),
            // A figure of eight, leaning into the curves.
            "drone" => Self([
                w(0.0, 0.0, &[[2.2, 0.8, 0.0]]),
                w(0.0, 0.0, &[[1.2, 1.6, 0.0]]),
                w(0.0, 0.0, &[[0.4, 0.5, 0.0]]),
                w(0.0, 0.3, &[[0.8, 0.8, 0.0]]),
                w(0.0, 0.0, &[[0.2, 0.8, 0.5]]),
                w(0.0, 0.0, &[[0.25, 1.6, 0.0]]),
            ]),
            // Forward on a line, there and back, with little rotation.
            "line" => Self([
                w(0.0, 0.0, &[[2.5, 0.4, 0.0]]),
                w(0.0, 0.0, &[[0.1, 0.9, 0.0]]),
                w(0.0, 0.0, &[[0.05, 1.1, 0.0]]),
                w(0.0, 0.0, &[[0.1, 0.7, 0.0]]),
                w(0.0, 0.0, &[[0.03, 1.3, 0.0]]),
                w(0.0, 0.0, &[[0.03, 1.7, 0.0]]),
            ]),
            "rest" => Self(std::array::from_fn(|_| w(0.0, 0.0, &[]))),
            _ => panic!("no motion of this name: {name}"),
        }
    }

    /// The navigation state without biases, and what an ideal sensor measures.
    pub fn at(&self, t: f64, gravity: f64) -> (Nav, Imu) {
        let [x, y, z, yaw, pitch, roll] = std::array::from_fn(|k| self.0[k].at(t));
        let about = |axis: Vector3<f64>, angle: f64| So3::exp(&(axis * angle));
        let rotation = about(Vector3::z(), yaw[0]) * about(Vector3::y(), pitch[0]) * about(Vector3::x(), roll[0]);
        let ((sp, cp), (sr, cr)) = (pitch[0].sin_cos(), roll[0].sin_cos());
        let rate =
            Vector3::new(roll[1] - yaw[1] * sp, pitch[1] * cr + yaw[1] * sr * cp, -pitch[1] * sr + yaw[1] * cr * cp);
        let force = rotation.rotate_back(&Vector3::new(x[2], y[2], z[2] + gravity));
        let nav = Nav {
            rotation,
            velocity: Vector3::new(x[1], y[1], z[1]),
            position: Vector3::new(x[0], y[0], z[0]),
            biases: Biases::default(),
        };
        (nav, Imu::new(rate, force))
    }
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub motion: Motion,
    pub noise: ImuNoise,
    pub gravity: f64,
    pub duration_s: f64,
    pub imu_hz: u32,
    pub frame_hz: u32,
    pub points: usize,
    pub camera: Pinhole,
    pub width: Vector2<f64>,
    pub mount: Se3,
    /// Noise of each pixel, px.
    pub sigma: f64,
    /// Standard deviations at the start: rotation, velocity, position, biases; heading is known as well as tilt.
    pub start: [f64; 5],
}

impl Scenario {
    pub fn new(motion: &str) -> Self {
        Self {
            motion: Motion::named(motion),
            noise: ImuNoise { gyro: 1e-3, accelerometer: 1e-2, gyro_walk: 5e-5, accelerometer_walk: 5e-4 },
            gravity: 9.806_65,
            duration_s: 30.0,
            imu_hz: 200,
            frame_hz: 20,
            points: 70,
            camera: Pinhole { focal: Vector2::new(400.0, 400.0), centre: Vector2::new(376.0, 240.0) },
            width: Vector2::new(752.0, 480.0),
            mount: Se3::new(
                So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0)),
                Vector3::new(0.05, 0.02, 0.0),
            ),
            sigma: 1.0,
            start: [0.01, 0.05, 0.01, 0.01, 0.1],
        }
    }

    /// Covariance of the start, as `State::new` takes it.
    pub fn start_covariance(&self) -> NavMatrix {
        NavMatrix::from_diagonal(&SVector::from_fn(|i, _| self.start[i / 3].powi(2)))
    }
}

/// What one frame saw.
#[derive(Clone, Debug)]
pub struct Frame {
    pub stamp: Stamp,
    pub truth: Nav,
    /// Identity, place in the camera, m, and noisy pixel.
    pub seen: Vec<(u64, Vector3<f64>, Vector2<f64>)>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    pub samples: Vec<ImuSample>,
    pub frames: Vec<Frame>,
    pub points: Vec<Vector3<f64>>,
    /// An estimate of the start with errors as the scenario states them.
    pub start: Nav,
}

/// Standard normal numbers.
pub struct Normal(pub ChaCha8Rng);

impl Normal {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
    pub fn one(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }
    pub fn vector(&mut self, sigma: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| sigma * self.one())
    }
    pub fn uniform(&mut self, least: f64, most: f64) -> f64 {
        Uniform::new(least, most).unwrap().sample(&mut self.0)
    }
}

/// Points on the walls of the room.
fn points(count: usize, normal: &mut Normal) -> Vec<Vector3<f64>> {
    (0..count)
        .map(|k| {
            let (along, height, depth) =
                (normal.uniform(-4.0, 4.0), normal.uniform(-1.5, 1.5), normal.uniform(3.5, 4.5));
            match k % 4 {
                0 => Vector3::new(depth, along, height),
                1 => Vector3::new(-depth, along, height),
                2 => Vector3::new(along, depth, height),
                _ => Vector3::new(along, -depth, height),
            }
        })
        .collect()
}

/// Draws a run.
pub fn simulate(scenario: &Scenario, seed: u64) -> Run {
    let mut normal = Normal::new(seed);
    let points = points(scenario.points, &mut normal);
    let h = 1.0 / f64::from(scenario.imu_hz);
    let [_, _, _, gyro, force] = scenario.start;
    let mut biases = Biases { gyro: normal.vector(gyro), accelerometer: normal.vector(force) };
    let (mut samples, mut frames) = (Vec::new(), Vec::new());
    let per_frame = scenario.imu_hz / scenario.frame_hz;
    let steps = (scenario.duration_s * f64::from(scenario.imu_hz)) as u32;
    let mut start = Nav::default();
    for k in 0..=steps {
        let t = f64::from(k) * h;
        let stamp = Stamp::from_secs(t);
        let (mut truth, ideal) = scenario.motion.at(t, scenario.gravity);
        truth.biases = biases;
        let noise = &scenario.noise;
        let value = Imu::new(
            ideal.rate + biases.gyro + normal.vector(noise.gyro / h.sqrt()),
            ideal.force + biases.accelerometer + normal.vector(noise.accelerometer / h.sqrt()),
        );
        samples.push(ImuSample { stamp, value });
        if k == 0 {
            let [turn, velocity, position, ..] = scenario.start;
            start = Nav {
                rotation: So3::exp(&normal.vector(turn)) * truth.rotation,
                velocity: truth.velocity + normal.vector(velocity),
                position: truth.position + normal.vector(position),
                biases: Biases::default(),
            };
        }
        if k % per_frame == 0 {
            frames.push(Frame { stamp, truth, seen: see(scenario, &truth, &points, &mut normal) });
        }
        biases.gyro += normal.vector(noise.gyro_walk * h.sqrt());
        biases.accelerometer += normal.vector(noise.accelerometer_walk * h.sqrt());
    }
    Run { samples, frames, points, start }
}

/// All points in the picture.
fn see(
    scenario: &Scenario,
    truth: &Nav,
    points: &[Vector3<f64>],
    normal: &mut Normal,
) -> Vec<(u64, Vector3<f64>, Vector2<f64>)> {
    let mut seen = Vec::new();
    for (id, point) in points.iter().enumerate() {
        let x = scenario.mount.rotation.rotate_back(&(truth.seen(point) - scenario.mount.translation));
        let Some((pixel, _)) = scenario.camera.project(&x) else { continue };
        let noisy = pixel + Vector2::new(normal.one(), normal.one()) * scenario.sigma;
        let is_inside = noisy.iter().zip(scenario.width.iter()).all(|(p, w)| (0.0..*w).contains(p));
        if is_inside && x.z > 0.3 {
            seen.push((id as u64, x, noisy));
        }
    }
    seen
}

/// The pixels of a frame as measurements.
pub fn pixels(scenario: &Scenario, frame: &Frame) -> Vec<Pixel> {
    let pixel = |(id, _, pixel): &(u64, Vector3<f64>, Vector2<f64>)| Pixel {
        target: Target::Landmark(*id),
        mount: Mount::Fixed(scenario.mount),
        camera: scenario.camera,
        pixel: *pixel,
        sigma: scenario.sigma,
    };
    frame.seen.iter().map(pixel).collect()
}
