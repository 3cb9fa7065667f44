//! Noise that is learned: factors for the variances of measurements and of odometry, from innovations.
//!
//! The variance of component j of a sensor, or of the odometry, is α_j times the stated one. An innovation r of a scan
//! has the covariance S = H P Hᵀ + R, in which A_j = ∂S/∂ln α_j is known: of a component of a sensor, its part of R; of
//! one of the odometry, H G l_j l_jᵀ Gᵀ Hᵀ, where the noise of the last motion is Q = Σ l_j l_jᵀ. If S is right, then
//! E(r rᵀ) = S, and for whatever A_j
//!
//! g_j = ½ (rᵀ S⁻¹ A_j S⁻¹ r − tr S⁻¹ A_j)
//!
//! is zero in the mean: g is the part of the score of the innovations that concerns the noise of this instant, and its
//! information is F_jk = ½ tr S⁻¹ A_j S⁻¹ A_k. That the prior P depends on earlier noise is left out; it changes the
//! weights of the innovations, and not the root. Scores and informations are summed with a memory that fades, onto a
//! prior for ln α_j: what the data do not tell stays there, and a robot that stands learns nothing of its odometry,
//! because no motion, no noise. A noise that changes at once is learned at once ([`Block`]).
//!
//! Where errors of the measurements of one landmark last for a while, the update knows a part of them
//! ([`Offsets`](lienav_planar::time_correlated_errors::Offsets)), or takes a measurement for less than it states
//! (`Sensors::repetition`). The score is that of the innovation without this knowledge, with R as it is stated, and
//! counts for as much less as a measurement repeats. Of errors that last, the estimate takes in a part, and innovations
//! show the rest: then no variance is learned to be smaller than stated. How far and how long errors last is the
//! business of [`TimeCorrelation`].

use lienav_base::stamp::Stamp;
use lienav_ekf::changed::Block;
use lienav_ekf::covariance::factor3;
use lienav_ekf::kernel::{invert, solve_positive};
use lienav_ekf::time_correlated::TimeCorrelatedNoise;
use lienav_planar::associated::Associated;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::config::{LearningConfig, SensorConfig};
use lienav_planar::linearize::Match;
use lienav_planar::state::State;
use lienav_planar::time_correlation::TimeCorrelation;
use lienav_planar::update::{Workspace, factor, noise_of_motion_by};
use nalgebra::{Matrix2, Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// The components of odometry: forward, leftward, turning.
const ODOMETRY: usize = 3;

/// A scan is used up to so many numbers: what is learned from it costs their cube.
const MOST_NUMBERS: usize = 48;

/// Standard deviations between two variances that are said to differ.
const SURELY: f64 = 3.0;

/// What was learned of the noise: factors for the standard deviations that are stated, and how long errors stay alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LearnedNoise {
    /// Of odometry: forward, leftward, turning.
    pub odometry: [f64; 3],
    /// Of each sensor that has been read, by the index of its kind, in the order of its numbers.
    pub sensors: Vec<LearnedSensor>,
}

/// What was learned of the noise of a sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LearnedSensor {
    /// The index of its kind: 0 relative position, 1 range and bearing, 2 stereo bearings, 3 range, 4 bearing, 5
    /// position in the world, 6 pose in the world, then the sensors that a program added.
    pub sensor: usize,
    /// Factors for the standard deviations of its numbers; 1 beyond.
    pub std: [f64; 3],
    /// How long the errors of measurements of one landmark stay alike, as far as they last, s; 0 for independent
    /// errors.
    pub correlation_s: [f64; 3],
    /// The share of their variance that lasts so long; the rest is independent from one measurement to the next.
    #[serde(rename = "lasting_share")]
    pub time_correlated_share: [f64; 3],
}

/// The factors of the variances, and what is known of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NoiseFactors {
    /// α: of odometry, then three for each sensor.
    factors: Vec<f64>,
    /// Λ, the information on ln α, row by row.
    information: Vec<f64>,
    /// How long errors of measurements stay alike.
    #[serde(rename = "lasting")]
    time_correlated: TimeCorrelation,
    /// Of the measurements that the gate left out, the score that they are given with the next update.
    #[serde(skip)]
    left_out: Vec<f64>,
    /// What the last scans told alone, for noise that changes.
    #[serde(default)]
    block: Block,
    #[serde(skip)]
    config: LearningConfig,
    /// The covariance of the time-correlated errors before the update, row by row, and their first row.
    #[serde(skip)]
    prior: (Vec<f64>, usize),
    #[serde(skip)]
    #[serde(rename = "room")]
    workspace: Buffers,
}

#[derive(Clone, Debug, Default)]
struct Buffers {
    /// S, then its factor.
    s: Vec<f64>,
    inverse: Vec<f64>,
    rests: Vec<f64>,
    weighted: Vec<f64>,
    /// S⁻¹ H G L, three columns.
    moved: Vec<[f64; 3]>,
    score: Vec<f64>,
    fisher: Vec<f64>,
    lower: Vec<f64>,
}

impl NoiseFactors {
    /// Of odometry and so many sensors, all as stated.
    pub fn new(config: &LearningConfig, sensor: &SensorConfig, sensors: usize) -> Self {
        let count = ODOMETRY + 3 * sensors;
        Self {
            factors: vec![1.0; count],
            information: vec![0.0; count * count],
            time_correlated: TimeCorrelation::new(sensor.correlation_s, sensors),
            left_out: vec![0.0; count],
            block: Block::default(),
            config: config.clone(),
            prior: Default::default(),
            workspace: Buffers::default(),
        }
    }

    /// Takes over settings, for so many sensors; what was learned stays.
    pub fn reconfigure(&mut self, config: &LearningConfig, sensor: &SensorConfig, sensors: usize) {
        let (before, n) = (self.factors.len(), ODOMETRY + 3 * sensors);
        self.config = config.clone();
        if before != n {
            let new = Self::new(config, sensor, sensors);
            let old = std::mem::replace(self, new);
            let both = before.min(n);
            self.factors[..both].copy_from_slice(&old.factors[..both]);
            for j in 0..both {
                self.information[j * n..j * n + both].copy_from_slice(&old.information[j * before..j * before + both]);
            }
            self.time_correlated.take_over(old.time_correlated);
        }
    }

    /// Becomes what another one is, in the memory that it has. Buffers stay its own.
    pub fn copy_from(&mut self, other: &Self) {
        self.factors.clone_from(&other.factors);
        self.information.clone_from(&other.information);
        self.time_correlated.copy_from(&other.time_correlated);
        self.left_out.clone_from(&other.left_out);
        self.block.copy_from(&other.block);
        self.config.clone_from(&other.config);
    }

    /// Whether there are factors for so many sensors.
    pub fn is_of(&self, sensors: usize) -> bool {
        let n = ODOMETRY + 3 * sensors;
        (self.factors.len(), self.information.len()) == (n, n * n)
            && self.factors.iter().all(|factor| factor.is_finite() && *factor > 0.0)
            && self.information.iter().all(|x| x.is_finite())
            && (0..n).all(|j| self.information[j * n + j] >= 0.0)
            && self.time_correlated.is_of(sensors)
            && self.block.is_of(n)
    }

    /// Goes on with what `saved` had learned.
    pub fn go_on(&mut self, saved: Self) {
        let left_out = vec![0.0; self.factors.len()];
        *self = Self { config: std::mem::take(&mut self.config), left_out, ..saved };
    }

    /// The factors of the variances of odometry: forward, leftward, turning.
    pub fn of_odometry(&self) -> Vector3<f64> {
        Vector3::from_fn(|k, _| self.factors.get(k).copied().unwrap_or(1.0))
    }

    /// The same of one sensor's numbers, and their time-correlated part.
    pub fn of_one(&self, sensor: usize) -> (Vector3<f64>, TimeCorrelatedNoise) {
        (self.of_sensor(sensor), self.time_correlated(sensor))
    }

    /// The factors of the variances of a sensor's numbers.
    pub fn of_sensor(&self, sensor: usize) -> Vector3<f64> {
        Vector3::from_fn(|k, _| self.factors.get(ODOMETRY + 3 * sensor + k).copied().unwrap_or(1.0))
    }

    /// What was learned.
    pub fn learned(&self) -> LearnedNoise {
        let std = |factors: Vector3<f64>| factors.map(f64::sqrt).into();
        let n = self.factors.len();
        let sensors = (0..(n - ODOMETRY) / 3).filter(|k| {
            let first = ODOMETRY + 3 * k;
            (first..first + 3).any(|j| self.information[j * n + j] > 0.0)
        });
        let of = |sensor| {
            let TimeCorrelatedNoise { time_s, share, .. } = self.time_correlated(sensor);
            LearnedSensor {
                sensor,
                std: std(self.of_sensor(sensor)),
                correlation_s: time_s,
                time_correlated_share: share,
            }
        };
        LearnedNoise { odometry: std(self.of_odometry()), sensors: sensors.map(of).collect() }
    }

    /// Measurements that the gate left out, of `dim` numbers each: they count as if they lay on its bound, at this
    /// squared distance. Without them, a variance that is too small would leave out what tells that it is.
    pub fn note_left_out(
        &mut self,
        gated: &[Associated],
        bound: impl Fn(usize) -> f64,
        dim: impl Fn(&CheckedMeasurement) -> usize,
    ) {
        for associated in gated {
            let dim = dim(&associated.measurement);
            let bound = bound(dim);
            let first = ODOMETRY + 3 * associated.measurement.index();
            if !bound.is_finite() || first + dim > self.left_out.len() {
                continue;
            }
            for score in &mut self.left_out[first..first + dim] {
                *score += 0.5 * (bound / dim as f64 - 1.0);
            }
        }
    }

    /// Whether a variance, or how long errors last, is another than `before`, by this factor, and by as many standard
    /// deviations of what is known of it as [`SURELY`] says.
    pub fn differs(&self, before: &Self, by: f64) -> bool {
        let n = self.factors.len();
        let mut factors = self.factors.iter().zip(&before.factors).enumerate();
        factors.any(|(j, (now, before))| {
            let change = (now / before).ln().abs();
            change > by.ln() && change * self.information[j * n + j].sqrt() > SURELY
        }) || self.time_correlated.differs(&before.time_correlated, by, SURELY)
    }

    /// How long and how far errors of a sensor's measurements of one landmark last.
    pub fn time_correlated(&self, sensor: usize) -> TimeCorrelatedNoise {
        self.time_correlated.of_sensor(sensor)
    }

    /// Takes note of what is known of time-correlated errors before an update.
    pub fn note_prior(&mut self, state: &State) {
        let range = state.offsets.range();
        self.prior.1 = range.start;
        self.prior.0.clear();
        for i in range.clone() {
            self.prior.0.extend(range.clone().map(|j| state.covariance.get(i, j)));
        }
    }

    /// Learns from the innovations of an update by `matches`; `work` is what it left, `rows` the effect G L of the last
    /// motion's noise with the covariance `motion` = L Lᵀ.
    pub fn learn(
        &mut self,
        state: &State,
        matches: &[Match],
        (motion, rows): (&Matrix3<f64>, &[[f64; 3]]),
        work: &Workspace,
        stamp: Stamp,
    ) {
        let n = self.factors.len();
        let whole = work.numbers();
        let (used, m) = leading(matches);
        if m == 0 {
            return;
        }
        let Buffers { s, inverse, rests, weighted, moved, score, fisher, lower } = &mut self.workspace;
        as_stated(&matches[..used], (work.factor_of_innovation(), whole), m, s);
        without_known_time_correlated(&matches[..used], &self.prior, m, s);
        self.time_correlated.learn(state, &matches[..used], (rows, s), rests, (stamp, self.config.memory));
        if factor(s, m).is_err() {
            return;
        }
        invert(s, m, inverse, lower);
        // Of measurements whose errors are alike, each tells less, of its own noise and of that of the motion.
        let of_motion = matches[..used].iter().map(Match::without_state_noise).sum::<f64>() / used as f64;
        let residuals =
            matches[..used].iter().flat_map(|m| (0..m.dim).map(|d| m.residual[d] + m.known_time_correlated[d]));
        weighted.clear();
        weighted.resize(m, 0.0);
        for (k, r) in residuals.enumerate() {
            for (sum, s) in weighted.iter_mut().zip(&inverse[k * m..(k + 1) * m]) {
                *sum += s * r;
            }
        }

        score.clear();
        score.resize(n, 0.0);
        fisher.clear();
        fisher.resize(n * n, 0.0);

        // Odometry: S⁻¹ H G L, then along the directions l_j.
        moved.clear();
        moved.resize(m, [0.0; 3]);
        let directions = directions(motion).filter(|_| !rows.is_empty());
        if let Some(v) = &directions {
            let mut row = 0;
            for matched in &matches[..used] {
                for d in 0..matched.dim {
                    let h = noise_of_motion_by(state, matched, rows, d);
                    for (to, s) in moved.iter_mut().zip(&inverse[row * m..(row + 1) * m]) {
                        (0..3).for_each(|k| to[k] += s * h[k]);
                    }
                    row += 1;
                }
            }
            let mut pull = Vector3::zeros();
            let mut information = Matrix3::zeros();
            row = 0;
            for matched in &matches[..used] {
                for d in 0..matched.dim {
                    let h = Vector3::from(noise_of_motion_by(state, matched, rows, d));
                    pull += h * weighted[row];
                    information += h * Vector3::from(moved[row]).transpose();
                    row += 1;
                }
            }
            let pull = v.transpose() * pull;
            let information = v.transpose() * information * v;
            for j in 0..ODOMETRY {
                score[j] = 0.5 * of_motion * (pull[j] * pull[j] - information[(j, j)]);
                for k in 0..ODOMETRY {
                    fisher[j * n + k] = 0.5 * of_motion * information[(j, k)] * information[(j, k)];
                }
            }
            for w in moved.iter_mut() {
                *w = (v.transpose() * Vector3::from(*w)).into();
            }
        }

        // Sensors.
        let mut row = 0;
        for matched in &matches[..used] {
            let first = ODOMETRY + 3 * matched.measurement.index();
            if first + 3 > n {
                return;
            }
            let (alone, stated) = (matched.without_state_noise(), matched.stated_noise());
            for d in 0..matched.dim {
                let (a, j) = (row + d, first + d);
                let noise = |e: usize| stated[(d, e)];
                let by_residual: f64 = (0..matched.dim).map(|e| noise(e) * weighted[row + e]).sum();
                let by_spread: f64 = (0..matched.dim).map(|e| noise(e) * inverse[a * m + row + e]).sum();
                score[j] += 0.5 * alone * (weighted[a] * by_residual - by_spread);
                let is_correlated = is_correlated(&stated);
                for k in 0..ODOMETRY {
                    let both = if is_correlated {
                        let by_noise: f64 = (0..matched.dim).map(|e| noise(e) * moved[row + e][k]).sum();
                        0.5 * of_motion * moved[a][k] * by_noise
                    } else {
                        0.5 * of_motion * noise(d) * moved[a][k] * moved[a][k]
                    };
                    fisher[j * n + k] += both;
                    fisher[k * n + j] += both;
                }
                let mut other_row = 0;
                for other in &matches[..used] {
                    let other_first = ODOMETRY + 3 * other.measurement.index();
                    let of_other = other.stated_noise();
                    if is_correlated || self::is_correlated(&of_other) {
                        let within = |i: usize, k: usize| i < matched.dim && k < other.dim;
                        let at = |i: usize, k: usize| inverse[(row + i) * m + other_row + k];
                        let block = Matrix3::from_fn(|i, k| if within(i, k) { at(i, k) } else { 0.0 });
                        for e in 0..other.dim {
                            fisher[j * n + other_first + e] +=
                                0.5 * alone * shared(&block, (&stated, d), (&of_other, e));
                        }
                        other_row += other.dim;
                        continue;
                    }
                    for e in 0..other.dim {
                        let s = inverse[a * m + other_row + e];
                        let other = of_other[(e, e)];
                        fisher[j * n + other_first + e] += 0.5 * alone * noise(d) * other * s * s;
                    }
                    other_row += other.dim;
                }
            }
            row += matched.dim;
        }
        self.take();
    }

    /// α ← α (1 + Λ⁻¹ g), Λ ← λΛ + F + (1 − λ)Λ₀.
    fn take(&mut self) {
        let config = &self.config;
        let n = self.factors.len();
        let keep = (-1.0 / config.memory).exp();
        let Buffers { score, fisher, lower, .. } = &mut self.workspace;
        for (score, left_out) in score.iter_mut().zip(&mut self.left_out) {
            *score += std::mem::take(left_out);
        }
        let prior = |j: usize| {
            let known_to = if j < ODOMETRY { config.odometry_factor } else { config.sensor_factor };
            // Of a variance, the square of the factor of a standard deviation.
            let std = 2.0 * known_to.max(1.0 + 1e-6).ln();
            1.0 / (std * std)
        };
        for (known, without_state_noise) in self.information.iter_mut().zip(&*fisher) {
            *known = keep * *known + without_state_noise;
        }
        self.block.take(score, fisher, &mut self.information);
        for (j, (score, factor)) in score.iter_mut().zip(&self.factors).enumerate() {
            *score -= (1.0 - keep) * prior(j) * factor.ln();
        }
        lower.clear();
        lower.extend_from_slice(&self.information);
        for j in 0..n {
            lower[j * n + j] += prior(j);
        }
        if !solve_positive(lower, n, score) {
            return;
        }
        let sensors = (n - ODOMETRY) / 3;
        let any_lasts = (0..sensors).any(|sensor| self.time_correlated.lasts(sensor));
        for (j, (alpha, step)) in self.factors.iter_mut().zip(&*score).enumerate() {
            let change = if *step >= 0.0 { 1.0 + step } else { 1.0 / (1.0 - step) };
            let changed = *alpha * change;
            let lasts = if j < ODOMETRY { any_lasts } else { self.time_correlated.lasts((j - ODOMETRY) / 3) };
            if changed.is_finite() {
                *alpha = changed.clamp(if lasts { 1.0 } else { 1e-6 }, 1e6);
            }
        }
    }
}

/// Whether numbers of a measurement are correlated.
fn is_correlated(r: &Matrix3<f64>) -> bool {
    r.m21 != 0.0 || r.m31 != 0.0 || r.m32 != 0.0
}

/// tr S⁻¹ A_d S⁻¹ A_e for number d of a measurement with covariance `r` and number e of one with covariance `q`;
/// `block` is that of S⁻¹ between the two. A_d = ½(E_d R + R E_d) is ∂R/∂ln α_d, E_d with a one at (d, d) and zeros
/// elsewhere: of numbers that are not correlated, R_dd E_d.
fn shared(block: &Matrix3<f64>, (r, d): (&Matrix3<f64>, usize), (q, e): (&Matrix3<f64>, usize)) -> f64 {
    let (left, right) = (r.row(d) * block, block * q.column(e));
    0.5 * (left[e] * right[d] + (left * q.column(e))[0] * block[(d, e)])
}

/// How many of the matches are used, and how many numbers they have.
fn leading(matches: &[Match]) -> (usize, usize) {
    let mut numbers = 0;
    for (k, matched) in matches.iter().enumerate() {
        if numbers + matched.dim > MOST_NUMBERS {
            return (k, numbers);
        }
        numbers += matched.dim;
    }
    (matches.len(), numbers)
}

/// The columns L⁻¹ l_j for j = forward, leftward, turning, where Q = Σ l_j l_jᵀ = L Lᵀ: turning takes all that is
/// correlated with it, then forward what is left, then leftward. `None` if Q is singular.
fn directions(q: &Matrix3<f64>) -> Option<Matrix3<f64>> {
    let l = factor3(q);
    if l.diagonal().iter().any(|pivot| *pivot <= 0.0) {
        return None;
    }
    let parts = parts(q);
    l.solve_lower_triangular(&parts)
}

/// l_j as columns forward, leftward, turning: Q = Σ l_j l_jᵀ.
fn parts(q: &Matrix3<f64>) -> Matrix3<f64> {
    // In the order turning, forward, leftward it is Cholesky's factor.
    let order = [2, 0, 1];
    let turned = Matrix3::from_fn(|i, j| q[(order[i], order[j])]);
    let l = factor3(&turned);
    let mut parts = Matrix3::zeros();
    for (i, row) in order.iter().enumerate() {
        for (j, column) in order.iter().enumerate() {
            parts[(*row, *column)] = l[(i, j)];
        }
    }
    parts
}

/// The covariance of a motion whose components have these factors for their variances.
pub fn scaled(q: &Matrix3<f64>, factors: &Vector3<f64>) -> Matrix3<f64> {
    let parts = parts(q);
    parts * Matrix3::from_diagonal(factors) * parts.transpose()
}

/// The covariance of the first m numbers of an innovation, lower triangle, with the covariance of the measurements as
/// it is stated; from the factor of the one that was used, in rows of `whole` numbers.
fn as_stated(matches: &[Match], (l, whole): (&[f64], usize), m: usize, s: &mut Vec<f64>) {
    s.clear();
    s.resize(m * m, 0.0);
    for i in 0..m {
        for j in 0..=i {
            let (a, b) = (&l[i * whole..=i * whole + j], &l[j * whole..=j * whole + j]);
            s[i * m + j] = a.iter().zip(b).map(|(a, b)| a * b).sum();
        }
    }
    let mut row = 0;
    for matched in matches {
        let more = 1.0 - 1.0 / matched.noise_scale;
        for d in 0..matched.dim {
            for e in 0..=d {
                s[(row + d) * m + row + e] -= more * matched.noise[(d, e)];
            }
        }
        row += matched.dim;
    }
}

/// The same where nothing is known of the time-correlated errors: S + L_a(I − P_aa)L_aᵀ for each measurement, S − L_a
/// P_ab L_bᵀ for each two of them.
fn without_known_time_correlated(matches: &[Match], (prior, first): &(Vec<f64>, usize), m: usize, s: &mut [f64]) {
    let rows = prior.len().isqrt();
    let mut at = 0;
    for a in matches {
        if let Some(row) = a.time_correlated {
            let mut other_at = 0;
            for b in matches {
                if let (Some(other), true) = (b.time_correlated, other_at <= at) {
                    let known = Matrix2::from_fn(|i, k| prior[(row + i - first) * rows + other + k - first]);
                    let unknown = if at == other_at { Matrix2::identity() - known } else { -known };
                    let change = a.by_time_correlated * unknown * b.by_time_correlated.transpose();
                    for d in 0..a.dim {
                        for e in (0..b.dim).filter(|e| other_at + e <= at + d) {
                            s[(at + d) * m + other_at + e] += change[(d, e)];
                        }
                    }
                }
                other_at += b.dim;
            }
        }
        at += a.dim;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(11),
            ..ProptestConfig::with_cases(200)
        })]

        #[test]
        fn the_information_of_correlated_numbers_is_the_trace(numbers in prop::array::uniform27(-1.0..1.0f64)) {
            let [b, r, q] = [0, 1, 2].map(|k| Matrix3::from_row_slice(&numbers[9 * k..9 * k + 9]));
            let (r, q) = (r * r.transpose(), q * q.transpose());
            let part = |r: &Matrix3<f64>, d: usize| {
                let mut one = Matrix3::zeros();
                one[(d, d)] = 1.0;
                0.5 * (one * r + r * one)
            };
            for (d, e) in (0..3).flat_map(|d| (0..3).map(move |e| (d, e))) {
                let trace = (b.transpose() * part(&r, d) * b * part(&q, e)).trace();
                prop_assert!((shared(&b, (&r, d), (&q, e)) - trace).abs() < 1e-12);
            }
        }
    }
}
