//! What measures the pose from outside: a satellite receiver, with errors that last, and with outages.

use super::random::{Purpose, generator, normal};
use super::scenario::OutsideConfig;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{FeatureKind, Features, Noise, Observation};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rand_chacha::ChaCha8Rng;

/// A receiver with its noise, and with the error that it has at this time.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    config: OutsideConfig,
    noise: ChaCha8Rng,
    /// The lasting error, and when it was so.
    error: Option<(Stamp, Vector2<f64>)>,
}

impl Outside {
    pub(super) fn new(config: &OutsideConfig, seed: u64) -> Self {
        Self { config: config.clone(), noise: generator(seed, Purpose::Outside), error: None }
    }

    /// What is read by a base at `robot` in the map; nothing during the outage.
    pub(super) fn observe(&mut self, stamp: Stamp, robot: &Se2) -> Option<Features> {
        let config = &self.config;
        let draw = Vector3::from_fn(|_, _| normal(&mut self.noise));
        let fresh = Vector2::from_fn(|_, _| normal(&mut self.noise));
        // A first-order Gauss–Markov process, which begins as it goes on.
        let error = match self.error {
            None => fresh * config.error_std_m,
            Some((last, error)) => {
                let rho = (-stamp.since(last) / config.error_time_s).exp();
                error * rho + fresh * (config.error_std_m * (1.0 - rho * rho).sqrt())
            }
        };
        self.error = Some((stamp, error));
        let now = stamp.secs();
        if (config.outage_start_s..config.outage_start_s + config.outage_s).contains(&now) {
            return None;
        }
        let world = Se2::new(config.world_x_m, config.world_y_m, config.world_yaw_rad);
        let antenna = world * *robot * Se2::new(config.x_m, config.y_m, 0.0);
        let p = antenna.p + error + draw.xy() * config.std_m;
        let (square, kind) = (config.std_m * config.std_m, self.config.kind());
        let observation = if kind == FeatureKind::WorldPose {
            let yaw = wrap_angle(antenna.theta + draw.z * config.yaw_std_rad);
            let variances = Vector3::new(square, square, config.yaw_std_rad * config.yaw_std_rad);
            let covariance = Some(Noise::from(Matrix3::from_diagonal(&variances)));
            Observation { covariance, ..Observation::new(None, [p.x, p.y, yaw]) }
        } else {
            let covariance = Some(Noise::from(Matrix2::identity() * square));
            Observation { covariance, ..Observation::new(None, p) }
        };
        Some(Features { stamp: stamp + config.delay_s, kind, observations: vec![observation] })
    }
}

impl OutsideConfig {
    /// Positions, or poses where there is a heading.
    pub(super) fn kind(&self) -> FeatureKind {
        if self.yaw_std_rad > 0.0 { FeatureKind::WorldPose } else { FeatureKind::WorldPosition }
    }
}
