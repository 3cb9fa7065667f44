//! What measures the pose from outside: a satellite receiver, with errors that last, and with outages.

use super::random::{Purpose, generator, normal};
use super::scenario::OutsideConfig;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Measurement, MeasurementKind, Noise, Scan};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};
use rand_chacha::ChaCha8Rng;

/// A receiver with its noise, and with the error that it has at this time.
#[derive(Clone, Debug)]
pub(super) struct Outside {
    config: OutsideConfig,
    noise: ChaCha8Rng,
    /// The time-correlated error, and when it was so.
    error: Option<(Stamp, Vector2<f64>)>,
}

impl Outside {
    pub(super) fn new(config: &OutsideConfig, seed: u64) -> Self {
        Self { config: config.clone(), noise: generator(seed, Purpose::Outside), error: None }
    }

    /// What is read by a base at `robot` in the map; nothing during the outage.
    pub(super) fn observe(&mut self, stamp: Stamp, robot: &Se2) -> Option<Scan> {
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
        let measurement = if kind == MeasurementKind::WorldPose {
            let yaw = wrap_angle(antenna.theta + draw.z * config.yaw_std_rad);
            let variances = Vector3::new(square, square, config.yaw_std_rad * config.yaw_std_rad);
            let covariance = Some(Noise::from(Matrix3::from_diagonal(&variances)));
            Measurement { covariance, ..Measurement::new(None, [p.x, p.y, yaw]) }
        } else {
            let covariance = Some(Noise::from(Matrix2::identity() * square));
            Measurement { covariance, ..Measurement::new(None, p) }
        };
        Some(Scan { stamp: stamp + config.delay_s, kind, measurements: vec![measurement] })
    }
}

impl OutsideConfig {
    /// Positions, or poses where there is a heading.
    pub(super) fn kind(&self) -> MeasurementKind {
        if self.yaw_std_rad > 0.0 { MeasurementKind::WorldPose } else { MeasurementKind::WorldPosition }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// 4,000 measurements 2 s apart of a robot at rest: the variance is that of both parts, and the lasting one has the
    /// stated correlation from one to the next, e^{-2/20}.
    #[test]
    fn the_lasting_error_has_the_stated_variance_and_correlation() {
        let config = Scenario::named("gnss").unwrap().outside;
        let mut outside = Outside::new(&OutsideConfig { outage_s: 0.0, ..config.clone() }, 7);
        let at = |k: i32| Stamp::from_secs(2.0 * f64::from(k));
        let errors: Vec<Vector2<f64>> = (0..4000)
            .filter_map(|k| outside.observe(at(k), &Se2::identity()))
            .map(|seen| seen.measurements[0].value.xy() - Vector2::new(config.x_m, config.y_m))
            .collect();
        let count = errors.len() as f64;
        let variance = errors.iter().map(Vector2::norm_squared).sum::<f64>() / (2.0 * count);
        let shared = errors.windows(2).map(|pair| pair[0].dot(&pair[1])).sum::<f64>() / (2.0 * (count - 1.0));
        // About 400 independent ones of two coordinates: 5 %.
        assert!((variance / 0.26 - 1.0).abs() < 0.2, "{variance}");
        assert!((shared / (0.25 * (-0.1_f64).exp()) - 1.0).abs() < 0.2, "{shared}");
    }

    #[test]
    fn nothing_is_read_in_an_outage() {
        let mut outside = Outside::new(&Scenario::named("gnss-outage").unwrap().outside, 7);
        let seen = |outside: &mut Outside, at: f64| outside.observe(Stamp::from_secs(at), &Se2::identity()).is_some();
        assert!(seen(&mut outside, 99.0) && !seen(&mut outside, 100.0) && !seen(&mut outside, 159.0));
        assert!(seen(&mut outside, 160.0));
    }
}
