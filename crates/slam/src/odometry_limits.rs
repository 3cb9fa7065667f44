//! Odometry that no platform could have driven: spikes of a damaged message, an overflow, a glitch of an encoder.
//!
//! A velocity is plausible if the platform could have reached it from the one before, by its greatest acceleration and
//! what noise adds. What is not is held back. If the next message continues the velocities before, what was held back
//! were spikes. If implausible messages continue each other, the velocity has really changed, as where a driver was
//! restarted or commands are sent as odometry: after [`BELIEVED`] of them they are used, all of them.

use lienav_base::stamp::Stamp;
use lienav_planar::config::MotionConfig;
use lienav_planar::input::Odometry;
use lienav_planar::motion::noise_density;
use serde::{Deserialize, Serialize};

/// So many implausible messages in a row that continue each other are believed.
pub const BELIEVED: usize = 6;

/// The noise of a message is allowed to be this many standard deviations.
const NOISE_STDS: f64 = 6.0;

/// Two messages are taken to be at least this far apart, s.
const SHORTEST_S: f64 = 1e-3;

/// What a message is to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It continues them.
    Plausible,
    /// It does not: it is held back.
    Spike,
    /// It does not, but so many others continue each other: [`SpikeGate::take_held`] has those before it.
    Believed,
}

/// Judges each message by what came before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SpikeGate {
    /// The newest that was plausible.
    last: Option<Odometry>,
    /// Those that were held back since.
    held: Vec<Odometry>,
    /// The newest stamp.
    newest: Option<Stamp>,
}

impl SpikeGate {
    /// Forgets what came before.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Judges a message.
    pub fn judge(&mut self, odometry: &Odometry, config: &MotionConfig) -> Verdict {
        // While messages come, a velocity has the time from one to the next to change, also where they are held back.
        let duration = self.newest.map_or(0.0, |newest| odometry.stamp.since(newest).abs());
        self.newest = self.newest.max(Some(odometry.stamp));
        let Some(last) = &self.last else {
            self.last = Some(*odometry);
            return Verdict::Plausible;
        };
        if continues(odometry, last, duration, config) {
            if odometry.stamp > last.stamp {
                self.last = Some(*odometry);
            }
            self.held.clear();
            return Verdict::Plausible;
        }
        if self.held.last().is_some_and(|held| !continues(odometry, held, duration, config)) {
            self.held.clear();
        }
        if self.held.len() + 1 < BELIEVED {
            self.held.push(*odometry);
            return Verdict::Spike;
        }
        self.last = Some(*odometry);
        Verdict::Believed
    }

    /// The oldest message that was held back and is believed now.
    pub fn take_held(&mut self) -> Option<Odometry> {
        (!self.held.is_empty()).then(|| self.held.remove(0))
    }
}

/// Whether the platform can have come from the velocities of `before` to those of `odometry` in `duration` seconds.
fn continues(odometry: &Odometry, before: &Odometry, duration: f64, config: &MotionConfig) -> bool {
    let duration = duration.max(SHORTEST_S);
    let change = odometry.twist() - before.twist();
    let (faster, turning) = (change.xy().norm(), change.z.abs());
    let (reached, turned) = (config.max_acceleration * duration, config.max_yaw_acceleration * duration);
    if faster <= reached && turning <= turned {
        return true;
    }
    // What a message that may be a spike claims of its own noise is not asked.
    let variance = noise_density(before, duration, config) / duration;
    let noise = |k: usize| NOISE_STDS * (2.0 * variance[(k, k)]).max(0.0).sqrt();
    faster <= reached + noise(0).hypot(noise(1)) && turning <= turned + noise(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector2;

    fn message(k: i64, v: f64, w: f64) -> Odometry {
        let stamp = Stamp::from_nanos(20_000_000 * k);
        Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: w, covariance: None }
    }

    fn judge_all(all: &[(f64, f64)]) -> Vec<Verdict> {
        let mut gate = SpikeGate::default();
        let config = MotionConfig::default();
        all.iter().enumerate().map(|(k, (v, w))| gate.judge(&message(k as i64, *v, *w), &config)).collect()
    }

    #[test]
    fn bursts_of_up_to_five_are_left_out_and_the_rest_is_not() {
        for length in 1..BELIEVED {
            for spike in [(49.0, 0.2), (1.0, -49.0), (-49.0, 49.0)] {
                let mut all = vec![(1.0, 0.2); 30];
                all[10..10 + length].fill(spike);
                let found = judge_all(&all);
                let is_spike = |k: usize| (10..10 + length).contains(&k);
                assert!(found.iter().enumerate().all(|(k, v)| (*v == Verdict::Spike) == is_spike(k)), "{found:?}");
            }
        }
    }

    /// At 10 Hz a platform can change its velocity by much from message to message, and by more in half a second.
    #[test]
    fn the_time_that_a_burst_takes_is_no_time_to_accelerate_in() {
        let mut gate = SpikeGate::default();
        for k in 0..30 {
            let is_spike = (10..15).contains(&k);
            let message = message(5 * k, 1.0, if is_spike { 15.0 } else { 0.2 });
            assert_eq!(gate.judge(&message, &MotionConfig::default()) == Verdict::Spike, is_spike, "{k}");
        }
    }

    #[test]
    fn spikes_that_do_not_continue_each_other_are_never_believed() {
        let mut all = vec![(1.0, 0.2); 30];
        for (k, x) in all[5..25].iter_mut().enumerate() {
            *x = (if k % 2 == 0 { 49.0 } else { -30.0 }, 0.0);
        }
        assert_eq!(judge_all(&all).iter().filter(|v| **v == Verdict::Spike).count(), 20);
    }

    #[test]
    fn a_velocity_that_has_really_changed_is_believed_with_all_its_messages() {
        let mut gate = SpikeGate::default();
        let config = MotionConfig::default();
        (0..10).for_each(|k| assert_eq!(gate.judge(&message(k, 0.0, 0.0), &config), Verdict::Plausible));
        for k in 10..10 + BELIEVED as i64 - 1 {
            assert_eq!(gate.judge(&message(k, 10.0, 0.0), &config), Verdict::Spike);
        }
        assert_eq!(gate.judge(&message(16, 10.0, 0.0), &config), Verdict::Believed);
        let held: Vec<i64> = std::iter::from_fn(|| gate.take_held()).map(|o| o.stamp.nanos() / 20_000_000).collect();
        assert_eq!(held, [10, 11, 12, 13, 14]);
        assert_eq!(gate.judge(&message(17, 10.0, 0.0), &config), Verdict::Plausible);
    }

    #[test]
    fn a_robot_that_drives_hard_has_no_spikes() {
        let smooth = |k: usize| (5.0 * (0.08 * k as f64).sin(), 3.0 * (0.1 * k as f64).cos());
        assert!(judge_all(&(0..300).map(smooth).collect::<Vec<_>>()).iter().all(|v| *v == Verdict::Plausible));
    }
}
