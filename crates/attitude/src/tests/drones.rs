//! Simulated flights of a drone, from a seed: it leans into its accelerations, which last for seconds, and goes far.

use super::*;
use rand::RngExt;
use std::f64::consts::TAU;

/// A sum of sines: amplitudes, rates in rad/s, phases.
struct Wave([[f64; 3]; 8]);

impl Wave {
    /// Of this root mean square, with frequencies from `low` to `high`, Hz, even on a logarithmic scale.
    fn new(rms: f64, [low, high]: [f64; 2], rng: &mut ChaCha8Rng) -> Self {
        Self([(); 8].map(|()| {
            let frequency = low * (high / low).powf(rng.random::<f64>());
            [0.5 * rms, TAU * frequency, TAU * rng.random::<f64>()]
        }))
    }

    fn at(&self, t: f64) -> f64 {
        self.0.iter().map(|[amplitude, rate, phase]| amplitude * (rate * t + phase).sin()).sum()
    }

    /// Its integral from `from` to `t`.
    fn integral(&self, from: f64, t: f64) -> f64 {
        let one = |[amplitude, rate, phase]: &[f64; 3]| {
            amplitude / rate * ((rate * from + phase).cos() - (rate * t + phase).cos())
        };
        self.0.iter().map(one).sum()
    }
}

/// A drone.
pub struct Drone {
    begins: f64,
    velocity: [Wave; 3],
    heading: Wave,
    /// What wind and control make of roll and pitch, rad.
    shaking: [Wave; 2],
    mounted: UnitQuaternion<f64>,
}

impl Drone {
    /// Takes off at `begins` s; negative: it is in flight.
    pub fn new(begins: f64, rng: &mut ChaCha8Rng) -> Self {
        let mounted = Vector3::from_fn(|_, _| rng.random::<f64>() * 3.0 - 1.5);
        Self {
            begins,
            velocity: [0.7, 0.7, 0.25].map(|rms| Wave::new(rms, [0.02, 0.4], rng)),
            heading: Wave::new(0.8, [0.01, 0.1], rng),
            shaking: [0.02, 0.02].map(|rms| Wave::new(rms, [0.5, 4.0], rng)),
            mounted: UnitQuaternion::from_scaled_axis(mounted),
        }
    }

    /// Rises from 0 to 1 in two seconds, with a continuous second derivative.
    fn onset(&self, t: f64) -> f64 {
        let x = (0.5 * (t - self.begins)).clamp(0.0, 1.0);
        x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)
    }

    fn position(&self, t: f64) -> Vector3<f64> {
        Vector3::from_fn(|i, _| self.velocity[i].integral(self.begins, t)) * self.onset(t)
    }

    fn acceleration(&self, t: f64) -> Vector3<f64> {
        const H: f64 = 5e-3;
        (self.position(t + H) - self.position(t) * 2.0 + self.position(t - H)) / (H * H)
    }

    /// From the body to the world: thrust is along the body's z axis, 50 ms before it accelerates.
    pub fn orientation(&self, t: f64) -> UnitQuaternion<f64> {
        let thrust = self.acceleration(t - 0.05) + Vector3::z() * G;
        let lean = UnitQuaternion::rotation_between(&Vector3::z(), &thrust).unwrap();
        let own = Vector3::new(self.shaking[0].at(t), self.shaking[1].at(t), self.heading.at(t)) * self.onset(t);
        lean * UnitQuaternion::from_scaled_axis(own) * self.mounted
    }

    /// What a sensor without errors measures, by central differences.
    pub fn sample(&self, stamp: Stamp) -> ImuSample {
        const H: f64 = 1e-3;
        let t = stamp.secs();
        let (before, now, after) = (self.orientation(t - H), self.orientation(t), self.orientation(t + H));
        ImuSample {
            stamp,
            angular_velocity: (before.inverse() * after).scaled_axis() / (2.0 * H),
            specific_force: now.inverse() * (self.acceleration(t) + Vector3::z() * G),
        }
    }
}
