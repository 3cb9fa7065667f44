//! Simulated estimators whose covariance is wrong by a known factor, and parts against another way to them.

mod parts;
mod plausibility;

use crate::judge::alignment::Similarity;
use crate::judge::associate::Pairs;
use crate::judge::consistency::{Consistency, Verdict};
use crate::judge::options::Options;
use crate::judge::run::judge;
use crate::judge::space::Space;
use crate::judge::steps::{Setting, Steps, TruthNoise};
use lienav_base::stamp::Stamp;
use lienav_io::trajectory::{Meaning, Trajectory, data::upper};
use nalgebra::{Cholesky, Isometry3, Matrix6, UnitQuaternion, Vector3, Vector6};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A simulated estimator: what is known of it.
struct Simulated {
    truth: Trajectory,
    estimate: Trajectory,
}

fn normal6(random: &mut ChaCha8Rng) -> Vector6<f64> {
    Vector6::from_fn(|_, _| StandardNormal.sample(random))
}

/// Errors of an estimator: their covariance, and for how many steps they last.
fn covariance(random: &mut ChaCha8Rng) -> Matrix6<f64> {
    let root = Matrix6::from_fn(|i, j| random.random_range(-0.5..0.5) + if i == j { 1.0 } else { 0.0 });
    let scale = Matrix6::from_diagonal(&Vector6::new(0.1, 0.2, 0.05, 0.01, 0.02, 0.03));
    scale * root * root.transpose() * scale
}

/// A drive of `steps` poses at 10 Hz; errors last `lasts` steps and have the claimed covariance divided by `factor`.
fn simulated(seed: u64, steps: usize, lasts: f64, factor: f64) -> Simulated {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let true_covariance = covariance(&mut random);
    let root = Cholesky::new(true_covariance).unwrap().l();
    let rho = if lasts > 0.0 { (-1.0 / lasts).exp() } else { 0.0 };
    let fresh = (1.0 - rho * rho).sqrt();
    let mut white = normal6(&mut random);
    let (mut stamps, mut truths, mut estimates) = (Vec::new(), Vec::new(), Vec::new());
    let mut pose = Isometry3::identity();
    let motion = Isometry3::new(Vector3::new(0.1, 0.0, 0.01), Vector3::new(0.002, -0.003, 0.01));
    for k in 0..steps {
        let error = root * white;
        let turn = UnitQuaternion::from_scaled_axis(error.fixed_rows::<3>(3).into_owned());
        let position = pose.translation.vector - error.fixed_rows::<3>(0);
        stamps.push(Stamp::from_nanos(k as i64 * 100_000_000));
        truths.push(pose);
        estimates.push(Isometry3::from_parts(position.into(), turn.inverse() * pose.rotation));
        white = white * rho + normal6(&mut random) * fresh;
        pose *= motion;
    }
    let claimed = upper(&(true_covariance / factor));
    let claimed = vec![claimed; steps];
    Simulated {
        truth: Trajectory::new("truth", stamps.clone(), truths, Vec::new()),
        estimate: Trajectory::new("estimate", stamps, estimates, claimed),
    }
}

/// The consistency of position, orientation and pose alone, as `judge` finds it.
fn consistency(truth: &Trajectory, estimate: &Trajectory) -> [Consistency; 3] {
    let pairs = Pairs::new(estimate, truth, 0.5, 0.0);
    let alignment = Similarity::default();
    let (space, noise, meaning) = (Space::Space, TruthNoise::default(), Meaning::ROS);
    let steps = Steps::new(&Setting { estimate, pairs: &pairs, alignment: &alignment, space, noise, meaning });
    std::array::from_fn(|k| Consistency::new(&steps.white[k], [3, 3, 6][k], 0.1, 0).unwrap())
}

/// Over estimators with all factors and correlations: how many intervals hold what is right, and how many verdicts are
/// right where the factor is beyond 1.3.
fn verdicts(count: u64, steps: usize) -> (f64, f64, usize) {
    let (mut covered, mut right, mut wrong_ones, mut judged) = (0, 0, 0, 0);
    let mut by_correlation = std::collections::BTreeMap::<u64, (usize, usize)>::new();
    for seed in 0..count {
        let lasts = [0.0, 2.0, 10.0, 40.0][seed as usize % 4];
        let factor = [1.0, 1.3, 1.0 / 1.3, 1.6, 0.5, 1.0, 4.0][seed as usize % 7];
        let Simulated { truth, estimate } = simulated(seed, steps, lasts, factor);
        let parts = consistency(&truth, &estimate);
        for part in parts {
            let expected = part.dof as f64 * factor;
            let is_covered = (part.interval_low..part.interval_high).contains(&expected);
            let entry = by_correlation.entry(lasts as u64).or_default();
            entry.1 += 1;
            entry.0 += usize::from(is_covered);
            covered += usize::from(is_covered);
            judged += 1;
        }
        if factor != 1.0 {
            let expected = if factor > 1.0 { Verdict::Overconfident } else { Verdict::Underconfident };
            wrong_ones += 1;
            right += usize::from(parts[2].verdict == expected);
        }
    }
    for (lasts, (covered, all)) in by_correlation {
        println!("errors last {lasts} steps: {:.2} % of {all} intervals", 100.0 * covered as f64 / all as f64);
    }
    (covered as f64 / judged as f64, right as f64 / wrong_ones as f64, wrong_ones)
}

#[test]
fn verdicts_of_simulated_estimators_are_right_and_intervals_cover() {
    let (covered, right, of) = verdicts(56, 6000);
    println!("{:.1} % covered, {:.1} % of {of} verdicts right", 100.0 * covered, 100.0 * right);
    assert!(covered > 0.90, "{covered}");
    assert!(right >= 0.97, "{right}");
}

/// Half a minute: `cargo test --release -p lienav-eval judge -- --ignored --nocapture`.
#[test]
#[ignore = "1,000 simulated estimators take half a minute"]
fn a_thousand_verdicts_are_right_and_intervals_cover_95_percent() {
    let (covered, right, of) = verdicts(1000, 12_000);
    println!("{:.2} % covered, {:.2} % of {of} verdicts right", 100.0 * covered, 100.0 * right);
    assert!((0.93..=0.97).contains(&covered), "{covered}");
    assert!(right >= 0.99, "{right}");
}

#[test]
fn the_whole_report_says_what_its_parts_say() {
    let Simulated { truth, estimate } = simulated(3, 3000, 5.0, 1.6);
    let report = judge(&estimate, &truth, &Options::default()).unwrap().report;
    let parts = consistency(&truth, &estimate);
    assert_eq!(report.consistency.position.unwrap().nees_mean, parts[0].nees_mean);
    assert_eq!(report.consistency.orientation.unwrap().nees_mean, parts[1].nees_mean);
    assert_eq!(report.nees_mean, Some(parts[2].nees_mean));
    assert_eq!(report.verdict, Some(Verdict::Overconfident));
    assert_eq!((report.steps, report.steps_without_truth), (3000, 0));
    assert!(report.warnings.iter().any(|warning| warning.contains("same at every pose")), "{:?}", report.warnings);
    assert_eq!(report.relative_by_time.len(), 3);
    assert_eq!(report.relative_by_distance.len(), 5);
    assert_eq!(report.stretches.iter().map(|stretch| stretch.count).sum::<usize>(), 3000);
}
