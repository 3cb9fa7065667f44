//! Hypotheses about the noise: beliefs about the error of one estimate, weighted by their evidence.
//!
//! How fast the pivot of a swing, a hand or a vehicle accelerates for seconds, and how wrong a gyroscope is in hard
//! motion, is not known beforehand and changes. A filter with one value is wrong and sure wherever the value is too
//! small: it takes accelerations for tilt, or a tilt for motion. So each [`Hypothesis`] is a Kalman filter with noise
//! densities of its own, and the likelihoods of its innovations are its evidence (interacting multiple models, Blom and
//! Bar-Shalom 1988). With densities that change with a mean dwell time, to hypothesis i with its prior probability, all
//! interact through their moments alone: hypothesis i is mixed with the mean and covariance of all.

use super::DropReason;
use super::MotionConfig;
use super::belief::{Belief, Covariance, Error, InitialStd, NU, XI};
use super::correct::Measured;
use super::motion::Motion;
use super::state::State;
use super::transition::{Noise, Transition};
use lienav_lie::hat;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};

const COUNT: usize = 6;

/// Noise beside that of the configuration, and prior probabilities. Accelerations that last: none, of a hand, of
/// walking, of pushes of 1 to 3 s and vehicles. Rates that are wrong by 0.006 of themselves/√Hz: stamps that jitter by
/// 5 ms, ranges that saturate. Neighbours differ by a factor of three: the tilt's error goes with the square root.
const HYPOTHESES: [(Noise, f64); COUNT] = [
    (Noise { rate: 0.0, acceleration: 0.0 }, 0.1),
    (Noise { rate: 0.0, acceleration: 0.1 }, 0.2),
    (Noise { rate: 0.0, acceleration: 0.3 }, 0.3),
    (Noise { rate: 0.0, acceleration: 1.0 }, 0.398),
    (Noise { rate: 0.006, acceleration: 0.3 }, 0.001),
    (Noise { rate: 0.006, acceleration: 1.0 }, 0.001),
];

/// How long noise stays what it is on the average, s.
const DWELL_S: f64 = 30.0;

/// A belief under one assumption about the noise.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Hypothesis {
    noise: Noise,
    prior: f64,
    belief: Belief,
    motion: Motion,
    weight: f64,
}

/// All hypotheses, of one estimate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mixture {
    hypotheses: [Hypothesis; COUNT],
}

impl Mixture {
    /// One belief under all hypotheses.
    pub fn new(std: &InitialStd, motion: &MotionConfig) -> Self {
        let (belief, motion) = (Belief::new(std), Motion::of_reach(motion.initial_reach));
        let hypotheses = HYPOTHESES.map(|(noise, prior)| Hypothesis { noise, prior, belief, motion, weight: prior });
        Self { hypotheses }
    }

    /// Forgets what tells the hypotheses apart.
    pub fn collapse(&mut self, belief: &Belief, motion: Motion) {
        for hypothesis in &mut self.hypotheses {
            (hypothesis.belief, hypothesis.motion, hypothesis.weight) = (*belief, motion, hypothesis.prior);
        }
    }

    /// Adds what a start leaves of accelerations in the fit over its first `seconds`: to a velocity that is a random
    /// walk W of density q² (that of a hypothesis), [`Levelling`](super::start::Levelling) fits a line. The slope of the
    /// line, with the variance 6 q²/(5 T), is taken for gravity, T is the variance of W(T) in units of q², and their
    /// covariance is q².
    pub fn start_accelerated(&mut self, seconds: f64, gravity: f64) {
        for Hypothesis { noise, belief, .. } in &mut self.hypotheses {
            let density = noise.acceleration.powi(2);
            let tilt = 1.2 * density / (seconds * gravity * gravity);
            belief.loosen(XI, &Vector3::new(tilt, tilt, 0.0));
            belief.loosen(NU, &Vector3::repeat(density * seconds));
            // A gravity that is off by δg tilts by z × δg/g.
            belief.add(XI, NU, &(hat(&Vector3::z()) * (density / gravity)));
        }
    }

    /// Changes each belief.
    pub fn each(&mut self, mut change: impl FnMut(&mut Belief)) {
        self.hypotheses.iter_mut().for_each(|hypothesis| change(&mut hypothesis.belief));
    }

    /// Begins to learn the motion's size anew.
    pub fn forget_motion(&mut self, reach: f64) {
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.motion = Motion::of_reach(reach));
    }

    /// σ² of the motion by axis of the world, m².
    pub fn motion_variance(&self) -> Vector3<f64> {
        self.hypotheses.iter().map(|hypothesis| hypothesis.motion.variance() * hypothesis.weight).sum()
    }

    /// Propagates each belief with its noise.
    pub fn propagate(&mut self, transition: &Transition) {
        self.hypotheses.iter_mut().for_each(|hypothesis| transition.apply(&mut hypothesis.belief, &hypothesis.noise));
    }

    /// The position is zero but for the motion, whose size each hypothesis learns for itself. `state` has the
    /// covariance of all. The gyroscope's bias about `vertical`, a unit vector of the body, is left as it is.
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct_position(
        &mut self,
        duration: f64,
        state: &State,
        vertical: Option<&Vector3<f64>>,
        config: &MotionConfig,
    ) -> Result<(), DropReason> {
        self.mix(duration, &state.covariance);
        // Of a mean over the interval.
        let of_mean = 2.0 * config.correlation_s / duration;
        let mut evidence = [0.0; COUNT];
        let mut outcome = Ok(());
        for (hypothesis, evidence) in self.hypotheses.iter_mut().zip(&mut evidence) {
            let Hypothesis { belief, motion, .. } = hypothesis;
            let measured = Measured::position(state, belief);
            *evidence = measured.log_likelihood(&(motion.variance() * of_mean));
            motion.learn(duration, &measured.expected, &measured.covariance.diagonal(), config);
            let noise = motion.variance() * of_mean;
            outcome = outcome.and(measured.correct_but(belief, &noise, vertical));
        }
        // What the model leaves in the innovations is as correlated as positions are.
        self.weigh(&evidence.map(|evidence| evidence / of_mean));
        outcome
    }

    /// Zero-velocity update, with this variance by axis.
    ///
    /// # Errors
    /// No positive definite innovation covariance.
    pub fn correct_velocity(&mut self, state: &State, variance: f64) -> Result<(), DropReason> {
        self.hypotheses.iter_mut().try_for_each(|hypothesis| {
            hypothesis.motion.rest();
            Measured::velocity(state, &hypothesis.belief).correct(&mut hypothesis.belief, &Vector3::repeat(variance))
        })
    }

    /// The gyroscope's bias is `rate` with this variance. Left out where it does not pass the gate.
    ///
    /// # Errors
    /// Not credible, or no positive definite innovation covariance.
    pub fn correct_bias(
        &mut self,
        state: &State,
        rate: &Vector3<f64>,
        variance: f64,
        gate: f64,
    ) -> Result<(), DropReason> {
        let all = Belief { mean: Error::zeros(), covariance: state.covariance };
        let measured = Measured::gyro_bias(state, &all, rate);
        let s = measured.covariance + Matrix3::from_diagonal_element(variance);
        let factor = s.cholesky().ok_or(DropReason::Singular)?;
        if measured.expected.dot(&factor.solve(&measured.expected)) > gate {
            return Err(DropReason::NotAtRest);
        }
        self.hypotheses.iter_mut().try_for_each(|hypothesis| {
            let measured = Measured::gyro_bias(state, &hypothesis.belief, rate);
            measured.correct(&mut hypothesis.belief, &Vector3::repeat(variance))
        })
    }

    /// Moves the estimate to the mean of all hypotheses, and gives it their covariance.
    pub fn merge(&mut self, state: &mut State) {
        let mean: Error = self.hypotheses.iter().map(|h| h.belief.mean * h.weight).sum();
        let mut covariance = Covariance::zeros();
        for Hypothesis { belief, weight, .. } in &mut self.hypotheses {
            belief.mean -= mean;
            covariance += belief.covariance * *weight;
            covariance.ger(*weight, &belief.mean, &belief.mean, 1.0);
        }
        state.retract(&mean);
        state.covariance = covariance;
    }

    /// Noise may have changed in the last `duration` s. `all` is the covariance of all hypotheses, whose mean is zero.
    fn mix(&mut self, duration: f64, all: &Covariance) {
        let change = (duration / DWELL_S).min(1.0);
        for Hypothesis { prior, belief, weight, .. } in &mut self.hypotheses {
            let kept = (1.0 - change) * *weight;
            *weight = kept + change * *prior;
            let kept = kept / *weight;
            // Mean and covariance of the two parts.
            belief.covariance = belief.covariance * kept + all * (1.0 - kept);
            belief.covariance.ger(kept * (1.0 - kept), &belief.mean, &belief.mean, 1.0);
            belief.mean *= kept;
        }
    }

    /// Bayes' rule with logarithms of likelihoods.
    fn weigh(&mut self, evidence: &[f64; COUNT]) {
        let best = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !best.is_finite() {
            return;
        }
        for (hypothesis, evidence) in self.hypotheses.iter_mut().zip(evidence) {
            hypothesis.weight *= (evidence - best).exp();
        }
        let sum: f64 = self.hypotheses.iter().map(|hypothesis| hypothesis.weight).sum();
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.weight /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::UnitQuaternion;

    const STD: InitialStd = InitialStd {
        tilt: 0.1,
        yaw: 0.2,
        gyro_bias: 0.01,
        gyro_scale: 0.003,
        speed: 0.3,
        reach: 0.2,
        accelerometer_bias: 0.05,
        lever: 0.1,
    };

    /// Hypotheses that disagree, and the estimate with their covariance.
    fn disagreeing() -> (Mixture, State) {
        let mut mixture = Mixture::new(&STD, &MotionConfig::default());
        let mut state = State::new(UnitQuaternion::identity());
        let mut k = 0.0;
        mixture.each(|belief| {
            k += 1.0;
            belief.mean = Error::from_fn(|i, _| 1e-4 * (k * (1.0 + i as f64)).sin());
            belief.covariance *= k;
        });
        mixture.merge(&mut state);
        (mixture, state)
    }

    #[test]
    fn noise_that_may_have_changed_leaves_mean_and_covariance_of_all_as_they_are() {
        let (mut mixture, state) = disagreeing();
        let mut after = state.clone();
        mixture.mix(10.0, &state.covariance);
        mixture.merge(&mut after);
        assert!(after.orientation.angle_to(&state.orientation) < 1e-12);
        assert!((after.covariance - state.covariance).amax() < 1e-12);
    }

    #[test]
    fn evidence_moves_weight_and_useless_evidence_moves_none() {
        let (mut mixture, _) = disagreeing();
        let weights = |mixture: &Mixture| mixture.hypotheses.map(|hypothesis| hypothesis.weight);
        let before = weights(&mixture);
        mixture.weigh(&[f64::NAN; COUNT]);
        mixture.weigh(&[f64::NEG_INFINITY; COUNT]);
        assert_eq!(weights(&mixture), before);
        mixture.weigh(&[0.0, 0.0, 0.0, 0.0, 0.0, 20.0]);
        let after = weights(&mixture);
        assert!(after[COUNT - 1] > 0.999 && (after.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{after:?}");
    }
}
