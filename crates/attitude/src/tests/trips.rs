//! Simulated motions of many kinds, from a seed: what an inertial sensor measures in a hand, on a swing, in a vehicle.

use super::*;
use rand::RngExt;
use std::f64::consts::TAU;

/// What moves the sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Turned in the hand, about the pose, at 1.5 rad/s.
    SlowTurns,
    /// The same at 5 rad/s.
    FastTurns,
    /// Moved to and fro by decimetres, without much of a turn.
    Translations,
    /// The same, at up to 2 m/s.
    FastTranslations,
    /// Both at once.
    Combined,
    /// Both, with pauses of three seconds every seven.
    Pauses,
    /// Slow turns of something that vibrates at 20 to 60 Hz.
    Vibration,
    /// Slow turns with short shocks.
    Tapping,
    /// On a rope of two metres, which carries it along: the specific force has no part across the rope.
    Pendulum,
    /// At the end of an arm that swings at about 1 Hz.
    Arm,
    /// Swung hard at arm's length, by more than a right angle to each side, without a pause.
    HardSwings,
    /// Swung round and round at arm's length, in an upright plane.
    Circles,
    /// A vehicle that speeds up, brakes and takes curves.
    Vehicle,
}

impl Kind {
    pub const ALL: [Self; 13] = [
        Self::SlowTurns,
        Self::FastTurns,
        Self::Translations,
        Self::FastTranslations,
        Self::Combined,
        Self::Pauses,
        Self::Vibration,
        Self::Tapping,
        Self::Pendulum,
        Self::Arm,
        Self::HardSwings,
        Self::Circles,
        Self::Vehicle,
    ];
}

/// A sum of sines, which is a Gaussian process but for its tails.
struct Wave(Vec<[f64; 3]>);

impl Wave {
    /// Of this root mean square, with frequencies from `low` to `high`, Hz.
    fn new(rms: f64, low: f64, high: f64, rng: &mut ChaCha8Rng) -> Self {
        const LINES: usize = 8;
        let amplitude = rms * (2.0 / LINES as f64).sqrt();
        let mut line = || [amplitude, TAU * (low + (high - low) * rng.random::<f64>()), TAU * rng.random::<f64>()];
        Self((0..LINES).map(|_| line()).collect())
    }

    fn at(&self, t: f64) -> f64 {
        self.0.iter().map(|[amplitude, rate, phase]| amplitude * (rate * t + phase).sin()).sum()
    }
}

/// The way of a sensor.
pub struct Trip {
    kind: Kind,
    /// When the motion begins, s.
    begins: f64,
    angles: [Wave; 3],
    position: [Wave; 3],
    /// Where the sensor is on what turns, m.
    lever: Vector3<f64>,
    shocks: Vec<(f64, Vector3<f64>)>,
    vibration: [Wave; 3],
    mounted: UnitQuaternion<f64>,
    amplitude: f64,
    phase: f64,
}

/// Rises from 0 to 1 over a second, with a continuous second derivative.
fn smooth(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
}

impl Trip {
    pub fn new(kind: Kind, begins: f64, seconds: f64, rng: &mut ChaCha8Rng) -> Self {
        // Root mean square of angles, rad, their highest frequency, Hz; of positions and theirs.
        let (turn, quick, reach, brisk) = match kind {
            Kind::SlowTurns | Kind::Vibration | Kind::Tapping => (1.0, 0.3, 0.03, 0.5),
            Kind::FastTurns => (1.0, 1.0, 0.05, 1.0),
            Kind::Translations => (0.1, 0.3, 0.15, 0.6),
            Kind::FastTranslations => (0.15, 0.6, 0.25, 1.2),
            Kind::Combined | Kind::Pauses => (0.9, 0.6, 0.15, 0.8),
            Kind::Pendulum => (0.1, 0.2, 0.01, 0.4),
            Kind::Arm | Kind::HardSwings | Kind::Circles => (0.2, 0.5, 0.02, 0.5),
            Kind::Vehicle => (0.03, 0.3, 4.0, 0.05),
        };
        let scale = 0.7 + 0.6 * rng.random::<f64>();
        let mut three = |rms: [f64; 3], low: f64, high: f64| rms.map(|rms| Wave::new(rms * scale, low, high, rng));
        let yaw = if kind == Kind::Vehicle { 1.0 } else { 1.2 * turn };
        let angles = three([yaw, 0.6 * turn, turn], 0.1 * quick, quick);
        let up = if kind == Kind::Vehicle { 0.02 } else { 1.0 };
        let position = three([reach, reach, reach * up], 0.2 * brisk, brisk);
        let shaken = if kind == Kind::Vibration { 6.0 } else { 0.0 };
        let vibration = three([shaken; 3], 20.0, 60.0);
        let mut some = |size: f64| Vector3::from_fn(|_, _| size * (2.0 * rng.random::<f64>() - 1.0));
        let (lever, mounted) = (some(0.15), UnitQuaternion::from_scaled_axis(some(1.5)));
        let mut shocks = Vec::new();
        if kind == Kind::Tapping {
            let mut t = begins + 1.0;
            while t < begins + seconds {
                let force = some(120.0);
                shocks.push((t, force));
                t += 0.3 + some(0.25).x;
            }
        }
        let [amplitude, phase] = [rng.random::<f64>(), rng.random::<f64>()];
        Self { kind, begins, angles, position, lever, shocks, vibration, mounted, amplitude, phase }
    }

    /// How much it moves: 0 at rest, 1 in full motion.
    fn onset(&self, t: f64) -> f64 {
        smooth(t - self.begins)
    }

    /// Time as the motion has it; it stands still in a pause.
    fn paced(&self, t: f64) -> f64 {
        if self.kind != Kind::Pauses {
            return t;
        }
        let (whole, part) = ((t / 7.0).floor(), (t / 7.0).fract() * 7.0);
        // Four seconds of motion, of which the first and the last are those of a start and a stop.
        whole * 4.0 + 4.0 * smooth(part / 4.0)
    }

    /// From the body to the world.
    pub fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        let (s, paced) = (self.onset(t), self.paced(t));
        let about = |axis: Vector3<f64>, angle: f64| UnitQuaternion::from_scaled_axis(axis * (s * angle));
        let [yaw, pitch, roll] = [0, 1, 2].map(|i| self.angles[i].at(paced));
        let turned = about(Vector3::z(), yaw) * about(Vector3::y(), pitch) * about(Vector3::x(), roll);
        about(Vector3::y(), self.swing(t)) * turned * self.mounted
    }

    /// The angle of a pendulum or an arm, rad.
    fn swing(&self, t: f64) -> f64 {
        match self.kind {
            // An undamped pendulum to the third order in its amplitude.
            Kind::Pendulum => {
                let a = 0.5 + 0.5 * self.amplitude;
                let rate = (G / 2.0).sqrt() * (1.0 - a * a / 16.0);
                let x = rate * t + TAU * self.phase;
                a * x.cos() + a * a * a / 192.0 * ((3.0 * x).cos() - x.cos())
            }
            Kind::Arm => (0.6 + 0.4 * self.amplitude) * (TAU * (0.8 + 0.4 * self.phase) * t).sin(),
            Kind::HardSwings => (1.2 + 0.4 * self.amplitude) * (TAU * (0.6 + 0.4 * self.phase) * t).sin(),
            // Whole turns before it begins, so that it begins hanging down.
            Kind::Circles => TAU * (0.5 + 0.4 * self.phase) * (t - self.begins.max(0.0)).max(0.0),
            _ => 0.0,
        }
    }

    fn position(&self, t: f64) -> Vector3<f64> {
        let (s, paced) = (self.onset(t), self.paced(t));
        let moved = Vector3::from_fn(|i, _| s * self.position[i].at(paced));
        let hangs = match self.kind {
            Kind::Pendulum => 2.0,
            Kind::Arm | Kind::HardSwings | Kind::Circles => 0.7,
            _ => 0.0,
        };
        let rope = UnitQuaternion::from_scaled_axis(Vector3::y() * (s * self.swing(t))) * Vector3::z() * -hangs;
        moved + rope + self.orientation(t) * self.lever
    }

    /// What a sensor without errors measures, by central differences.
    pub fn sample(&self, stamp: Stamp) -> ImuSample {
        const H: f64 = 1e-4;
        let t = stamp.secs();
        let (before, now, after) = (self.orientation(t - H), self.orientation(t), self.orientation(t + H));
        let mut force =
            (self.position(t + H) - self.position(t) * 2.0 + self.position(t - H)) / (H * H) + Vector3::z() * G;
        force += Vector3::from_fn(|i, _| self.onset(t) * self.vibration[i].at(t));
        // A shock and the rebound: 10 ms each, so that the velocity is as before.
        let near = self.shocks.partition_point(|(at, _)| *at < t - 0.02);
        for (at, shock) in self.shocks.iter().skip(near).take_while(|(at, _)| *at <= t) {
            force += shock * (TAU * (t - at) / 0.02).sin();
        }
        ImuSample {
            stamp,
            angular_velocity: (before.inverse() * after).scaled_axis() / (2.0 * H),
            specific_force: now.inverse() * force,
        }
    }
}
