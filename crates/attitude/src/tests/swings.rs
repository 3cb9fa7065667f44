//! Simulated swings that do not end, from a seed: a sensor at the end of a rod, as in a hand that swings a stick.

use super::*;
use rand::RngExt;
use std::f64::consts::TAU;

/// What the rod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swing {
    /// It swings in one plane about a pivot that is fixed.
    Planar,
    /// The plane leans and turns slowly, amplitude and rate wander, the hand moves by centimetres.
    Fixed,
    /// The same in the hand of somebody who walks.
    Carried,
    /// The same, and the pivot is pushed for 1 to 3 s again and again.
    Pushed,
    /// A rod that is turned slowly and pushed so.
    SlowAndPushed,
}

impl Swing {
    pub const ALL: [Self; 5] = [Self::Planar, Self::Fixed, Self::Carried, Self::Pushed, Self::SlowAndPushed];
}

/// A sum of sines.
struct Wave(Vec<[f64; 3]>);

impl Wave {
    /// Of this root mean square, with frequencies from `low` to `high`, Hz.
    fn new(rms: f64, [low, high]: [f64; 2], rng: &mut ChaCha8Rng) -> Self {
        const LINES: usize = 6;
        let amplitude = rms * (2.0 / LINES as f64).sqrt();
        let mut line = || [amplitude, TAU * (low + (high - low) * rng.random::<f64>()), TAU * rng.random::<f64>()];
        Self((0..LINES).map(|_| line()).collect())
    }

    fn at(&self, t: f64) -> f64 {
        self.0.iter().map(|[amplitude, rate, phase]| amplitude * (rate * t + phase).sin()).sum()
    }
}

/// Rises from 0 to 1, with a continuous second derivative.
fn smooth(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
}

/// Its integral from 0.
fn smooth_integral(x: f64) -> f64 {
    let within = x.clamp(0.0, 1.0);
    within.powi(4) * (2.5 - 3.0 * within + within * within) + (x - 1.0).max(0.0)
}

/// A push: when it begins, how long it lasts, s, and by how much it changes the velocity, m/s.
type Push = (f64, f64, Vector3<f64>);

/// The rod.
pub struct Rod {
    kind: Swing,
    begins: f64,
    /// m, rad, Hz, rad.
    length: f64,
    amplitude: f64,
    frequency: f64,
    phase: f64,
    /// The middle of the swing from hanging down, the plane's azimuth and its lean, rad, and how it turns, rad/s.
    offset: f64,
    azimuth: f64,
    lean: f64,
    precession: f64,
    growth: Wave,
    delay: Wave,
    turn: Wave,
    twist: Wave,
    hand: [Wave; 3],
    mounted: UnitQuaternion<f64>,
    /// Of walking: m/s, steps/s.
    speed: f64,
    pace: f64,
    path: Wave,
    pushes: Vec<Push>,
}

impl Rod {
    /// Begins to swing at `begins` s; negative: the swing is under way.
    pub fn new(kind: Swing, begins: f64, seconds: f64, rng: &mut ChaCha8Rng) -> Self {
        // What is held in a hand, and what sensors of a range of 16 g read.
        const MOST: f64 = 12.0 * G;
        let between = |rng: &mut ChaCha8Rng, low: f64, high: f64| low + (high - low) * rng.random::<f64>();
        let (length, amplitude, frequency) = loop {
            let [length, frequency] = [between(rng, 0.3, 1.2), between(rng, 0.5, 2.0)];
            let amplitude = between(rng, 20.0, 90.0).to_radians();
            if (amplitude * TAU * frequency).powi(2) * length < MOST {
                break (length, amplitude, frequency);
            }
        };
        let slow = kind == Swing::SlowAndPushed;
        let loose = if kind == Swing::Planar { 0.0 } else { 1.0 };
        let mounted = Vector3::from_fn(|_, _| between(rng, -2.0, 2.0));
        Self {
            kind,
            begins,
            length,
            amplitude: amplitude * if slow { 0.4 } else { 1.0 },
            frequency: frequency * if slow { 0.2 } else { 1.0 },
            phase: between(rng, 0.0, TAU),
            offset: loose * between(rng, -0.6, 0.6),
            azimuth: between(rng, 0.0, TAU),
            lean: loose * between(rng, -0.5, 0.5),
            precession: loose * between(rng, -0.1, 0.1),
            growth: Wave::new(0.1 * loose, [0.02, 0.2], rng),
            delay: Wave::new(0.4 * loose, [0.02, 0.15], rng),
            turn: Wave::new(0.1 * loose, [0.05, 0.5], rng),
            twist: Wave::new(0.15 * loose, [0.1, 1.0], rng),
            hand: [0; 3].map(|_| Wave::new(0.015 * loose, [0.1, 1.0], rng)),
            mounted: UnitQuaternion::from_scaled_axis(mounted),
            speed: between(rng, 0.6, 1.8),
            pace: between(rng, 1.5, 2.2),
            path: Wave::new(0.7, [0.01, 0.08], rng),
            pushes: if slow || kind == Swing::Pushed { pushes(begins, seconds, rng) } else { Vec::new() },
        }
    }

    fn rod(&self, t: f64) -> UnitQuaternion<f64> {
        let onset = smooth((t - self.begins) / 1.5);
        let about = |axis: Vector3<f64>, angle: f64| UnitQuaternion::from_scaled_axis(axis * angle);
        let phase = TAU * self.frequency * t + self.phase + self.delay.at(t);
        let swing = self.offset + onset * self.amplitude * (1.0 + self.growth.at(t)) * phase.sin();
        let azimuth = self.azimuth + onset * (self.precession * (t - self.begins) + self.turn.at(t));
        about(Vector3::z(), azimuth)
            * about(Vector3::x(), self.lean)
            * about(Vector3::y(), swing)
            * about(Vector3::z(), onset * self.twist.at(t))
    }

    /// From the body to the world.
    pub fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        self.rod(t) * self.mounted
    }

    fn position(&self, t: f64) -> Vector3<f64> {
        let since = (t - self.begins) / 1.5;
        let onset = smooth(since);
        let hand = Vector3::from_fn(|i, _| onset * self.hand[i].at(t));
        let mut position = hand - self.rod(t) * Vector3::z() * self.length;
        if self.kind == Swing::Carried {
            let step = TAU * self.pace * t;
            position.x += self.speed * 1.5 * smooth_integral(since) + onset * 0.02 * step.sin();
            position.y += 2.0 * self.path.at(t) + onset * 0.025 * (0.5 * step).sin();
            position.z += onset * 0.025 * step.sin();
        }
        for (at, lasts, change) in &self.pushes {
            position += change * (smooth_integral((t - at) / lasts) * lasts);
        }
        position
    }

    /// What a sensor without errors measures, by central differences.
    pub fn sample(&self, stamp: Stamp) -> ImuSample {
        const H: f64 = 2e-4;
        let t = stamp.secs();
        let (before, now, after) = (self.orientation(t - H), self.orientation(t), self.orientation(t + H));
        let force = (self.position(t + H) - self.position(t) * 2.0 + self.position(t - H)) / (H * H) + Vector3::z() * G;
        ImuSample {
            stamp,
            angular_velocity: (before.inverse() * after).scaled_axis() / (2.0 * H),
            specific_force: now.inverse() * force,
        }
    }
}

/// Pushes of 0.5 to 2.5 m/s² in the mean, half of which bring the pivot to a halt, up to 4 m/s.
fn pushes(begins: f64, seconds: f64, rng: &mut ChaCha8Rng) -> Vec<Push> {
    let mut pushes = Vec::new();
    let (mut t, mut velocity) = (begins.max(0.0) + 3.0, Vector3::<f64>::zeros());
    while t < begins + seconds {
        let mut between = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
        let (lasts, size, heading) = (between(1.0, 3.0), between(0.5, 2.5), between(0.0, TAU));
        let mut change = Vector3::new(heading.cos(), heading.sin(), 0.0) * (size * lasts);
        let halt = between(0.0, 1.0) < 0.5 && velocity.norm() > 0.0;
        if halt || (velocity + change).norm() > 4.0 {
            change = -velocity;
        }
        pushes.push((t, lasts, change));
        velocity += change;
        t += lasts + between(0.5, 6.0);
    }
    pushes
}
