//! Alignment, association, motions and the rest, each against what it should find.

use super::{Simulated, simulated};
use crate::judge::agreement::Agreement;
use crate::judge::alignment::{Method, Similarity};
use crate::judge::associate::Pairs;
use crate::judge::consistency::{Consistency, Verdict};
use crate::judge::innovations::Innovations;
use crate::judge::options::Options;
use crate::judge::relative::{over_distance, over_time};
use crate::judge::report::to_json;
use crate::judge::run::{JudgeError, Subject, judge};
use crate::judge::sample::{correlation_steps, quantile};
use crate::judge::space::Space;
use crate::judge::steps::TruthNoise;
use crate::judge::whiten::{square, whiten};
use crate::judge::{folder, text};
use lienav_base::stamp::Stamp;
use lienav_io::trajectory::{Axes, Meaning, Order, Trajectory, data::upper};
use nalgebra::{Isometry3, Matrix6, UnitQuaternion, Vector3, Vector6};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn pose(x: [f64; 6]) -> Isometry3<f64> {
    Isometry3::from_parts(Vector3::new(x[0], x[1], x[2]).into(), UnitQuaternion::from_euler_angles(x[3], x[4], x[5]))
}

fn perturbed(pose: &Isometry3<f64>, error: &Vector6<f64>) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_scaled_axis(error.fixed_rows::<3>(3).into_owned());
    Isometry3::from_parts((pose.translation.vector + error.fixed_rows::<3>(0)).into(), turn * pose.rotation)
}

fn pairs(estimates: Vec<Isometry3<f64>>, truths: Vec<Isometry3<f64>>) -> Pairs {
    let which: Vec<usize> = (0..estimates.len()).collect();
    let stamps = which.iter().map(|&k| Stamp::from_secs(k as f64)).collect();
    Pairs { which, stamps, estimates, truths, without_truth: 0 }
}

/// As many random cases as a property is tried on.
const CASES: usize = 40;

/// Numbers up to a magnitude.
fn uniform<const N: usize>(random: &mut ChaCha8Rng, most: f64) -> [f64; N] {
    std::array::from_fn(|_| random.random_range(-most..most))
}

#[test]
fn a_known_motion_comes_back() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for case in 0..CASES {
        let (motion, scale) = (uniform::<6>(&mut random, 1.5), random.random_range(0.3..3.0));
        let estimates: Vec<_> = (0..6 + case % 14).map(|_| pose(uniform(&mut random, 3.0))).collect();
        for (method, free) in [
            (Method::Sim3, [true; 6]),
            (Method::Se3, [true; 6]),
            (Method::Yaw, [true, true, true, false, false, true]),
            (Method::Se2, [true, true, false, false, false, true]),
        ] {
            let part: [f64; 6] = std::array::from_fn(|k| if free[k] { motion[k] } else { 0.0 });
            let truth = pose(part);
            let scale = if method == Method::Sim3 { scale } else { 1.0 };
            let known = Similarity { rotation: truth.rotation, translation: truth.translation.vector, scale };
            let truths: Vec<_> = estimates.iter().map(|one| known.apply(one)).collect();
            let found = method.fit(&pairs(estimates.clone(), truths.clone())).unwrap();
            for (estimate, truth) in estimates.iter().zip(&truths) {
                let error = Space::Space.error(truth, &found.apply(estimate));
                assert!(error.norm() < 1e-7, "case {case}, {method:?}: {error}");
            }
        }
    }
}

#[test]
fn an_alignment_carries_a_covariance_as_finite_differences_say() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    for case in 0..CASES {
        let (estimate, g, h) = (pose(uniform(&mut random, 1.5)), pose(uniform(&mut random, 1.5)), 1e-6);
        let scale = random.random_range(0.3..3.0);
        let known = Similarity { rotation: g.rotation, translation: g.translation.vector, scale };
        let a = Matrix6::from_columns(&std::array::from_fn::<_, 6, _>(|k| {
            let unit = Vector6::from_fn(|i, _| if i == k { h } else { 0.0 });
            let at = |error: &Vector6<f64>| {
                Space::Space.error(&known.apply(&perturbed(&estimate, error)), &known.apply(&estimate))
            };
            (at(&unit) - at(&-unit)) / (2.0 * h)
        }));
        let stated = Matrix6::from_fn(|i, j| if i == j { 1.0 + i as f64 } else { 0.1 });
        assert!((known.carry(&stated) - a * stated * a.transpose()).amax() < 1e-7, "case {case}");
    }
}

#[test]
fn whitened_errors_have_the_squares_of_the_inverse() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    for case in 0..CASES {
        let (root, error) = (uniform::<32>(&mut random, 1.0), uniform::<6>(&mut random, 1.0));
        let root = Matrix6::from_fn(|i, j| root[(6 * i + j) % 32] + if i == j { 2.0 } else { 0.0 });
        let (covariance, error) = (root * root.transpose(), Vector6::from(error));
        let white = whiten(&error, &covariance, &[0, 1, 2, 3, 4, 5]).unwrap();
        let expected = error.dot(&(covariance.try_inverse().unwrap() * error));
        assert!((square(&white) - expected).abs() < 1e-8 * (1.0 + expected), "case {case}");
    }
}

#[test]
fn no_numbers_make_it_panic() {
    const WILD: [f64; 8] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 0.0, -0.0];
    let mut random = ChaCha8Rng::seed_from_u64(14);
    for case in 0..CASES {
        let mut any = || {
            let at = random.random_range(0..2 * WILD.len());
            WILD.get(at).copied().unwrap_or_else(|| f64::from_bits(random.random()))
        };
        let any: Vec<[f64; 2]> = (0..1 + (case * 7) % 29).map(|_| [any(), any()]).collect();
        let with_tame =
            |[a, b]: [f64; 2]| (a, b, random.random_range(0..3_000_000_000_i64), random.random_range(-1e3..1e3));
        let (numbers, align): (Vec<_>, _) = (any.into_iter().map(with_tame).collect(), case % 5);
        let wild = |a: f64, b: f64| {
            Isometry3::from_parts(Vector3::new(a, b, a).into(), UnitQuaternion::from_euler_angles(0.0, 0.1, b % 3.0))
        };
        let stamps: Vec<Stamp> = numbers.iter().map(|n| Stamp::from_nanos(n.2)).collect();
        let poses: Vec<_> = numbers.iter().map(|n| wild(n.0, n.1)).collect();
        let tame: Vec<_> = numbers.iter().map(|n| wild(n.3, n.3 * 0.5)).collect();
        let covariances = numbers.iter().map(|n| std::array::from_fn(|k| if k % 2 == 0 { n.0 } else { n.1 })).collect();
        let estimate = Trajectory::new("e", stamps.clone(), poses, covariances);
        let truth = Trajectory::new("t", stamps, tame, Vec::new());
        let options = Options { align: Method::named(Method::NAMES[align]).unwrap(), ..Options::default() };
        for (a, b) in [(&estimate, &truth), (&truth, &estimate), (&estimate, &estimate)] {
            if let Ok(judged) = judge(a, b, &options) {
                let reports = [judged.report];
                let _ = (to_json(&reports).unwrap(), text::to_text(&reports));
            }
            let _ = Agreement::new(a, b, &options).map(|found| found.sentences());
        }
    }
}

/// A pose at 1 Hz on a line, turned about every axis, that stands still for a while.
fn line(count: usize) -> Trajectory {
    let stamps = (0..count).map(|k| Stamp::from_secs(k as f64)).collect();
    let poses = (0..count).map(|k| pose([(k as f64).min(50.0), 0.0, 1.0, 0.1, 0.2, 0.3])).collect();
    Trajectory::new("line", stamps, poses, Vec::new())
}

#[test]
fn motions_end_at_the_nearest_pose_and_not_at_the_end_of_the_run() {
    let track = line(100);
    assert_eq!(over_time(&track.stamps, 10.0), (0..90).map(|k| (k, k + 10)).collect::<Vec<_>>());
    assert!(over_time(&track.stamps, 0.5).is_empty() && over_time(&track.stamps, f64::NAN).is_empty());
    assert!(over_time(&[], 1.0).is_empty());
    let path: Vec<f64> = (0..100).map(|k| f64::from(k).min(50.0)).collect();
    // A robot that stands still ends its motion when it has come there.
    assert_eq!(over_distance(&path, 10.0)[39..42], [(39, 49), (40, 50), (41, 50)]);
    assert!(over_distance(&path, 0.0).is_empty());
}

fn normals(seed: u64, count: usize) -> Vec<f64> {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| StandardNormal.sample(&mut random)).collect()
}

#[test]
fn a_constant_error_counts_as_one_and_a_white_one_as_all() {
    assert_eq!(correlation_steps(&[0.7; 1000], 1), 1000.0);
    let white = correlation_steps(&normals(1, 2000), 1);
    assert!(white < 1.5, "{white}");
    let constant = Consistency::new(&[0.7; 1000], 1, 0.1, 0).unwrap();
    assert_eq!((constant.verdict, constant.effective_count), (Verdict::Undecided, 1.0));
    assert!(Consistency::new(&[], 3, 0.1, 0).is_none());
    assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), Some(2.0));
    assert_eq!(quantile(&mut [], 0.5), None);
}

#[test]
fn a_long_run_that_is_wrong_by_a_hundredth_is_consistent() {
    let white: Vec<f64> = normals(2, 600_000).into_iter().map(|w| 1.02 * w).collect();
    let found = Consistency::new(&white, 6, 0.1, 0).unwrap();
    assert!(found.interval_low > 6.0 && found.verdict == Verdict::Consistent, "{found:?}");
}

#[test]
fn the_noise_of_the_truth_is_added_and_taken_off() {
    let Simulated { truth, estimate } = simulated(5, 2000, 0.0, 1.0);
    let exact = judge(&estimate, &truth, &Options::default()).unwrap().report;
    let noise = TruthNoise { std_m: 0.2, std_rad: 0.05 };
    let less = judge(&estimate, &truth, &Options { noise, ..Options::default() }).unwrap().report;
    assert!(less.nees_mean.unwrap() < 0.5 * exact.nees_mean.unwrap());
    let expected = (exact.position_rmse_m.powi(2) - 3.0 * 0.04).max(0.0).sqrt();
    assert!((less.position_rmse_less_truth_m.unwrap() - expected).abs() < 1e-12);
    assert_eq!(exact.position_rmse_less_truth_m, None);
}

/// Odometry adds independent errors in its own axes: the covariance grows as it says, and so do motions.
#[test]
fn motions_of_odometry_are_consistent_if_errors_add_up() {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(8);
    let std = Vector6::new(0.01, 0.01, 0.01, 0.001, 0.001, 0.002);
    let motion = pose([0.1, 0.0, 0.0, 0.0, 0.01, 0.02]);
    let (mut true_pose, mut estimated, mut covariance) = (pose([0.0; 6]), pose([0.0; 6]), Matrix6::<f64>::zeros());
    let (mut truths, mut estimates, mut covariances, mut stamps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for k in 0..4000 {
        stamps.push(Stamp::from_nanos(k * 100_000_000));
        truths.push(true_pose);
        estimates.push(estimated);
        covariances.push(upper(&covariance));
        let noise = Vector6::from_fn(|i, _| {
            let normal: f64 = StandardNormal.sample(&mut random);
            std[i] * normal
        });
        let slipped = Isometry3::from_parts(
            noise.fixed_rows::<3>(0).into_owned().into(),
            UnitQuaternion::from_scaled_axis(noise.fixed_rows::<3>(3).into_owned()),
        );
        let before = estimated.translation.vector;
        true_pose *= motion * slipped;
        estimated *= motion;
        // δp grows by the turn of what came after it, and by new noise in axes of the body.
        let mut a = Matrix6::identity();
        a.fixed_view_mut::<3, 3>(0, 3).copy_from(&-(estimated.translation.vector - before).cross_matrix());
        let new = Meaning { order: Order::PositionFirst, axes: Axes::Body }
            .to_fixed(&Matrix6::from_diagonal(&std.component_mul(&std)), &estimated);
        covariance = a * covariance * a.transpose() + new;
    }
    let truth = Trajectory::new("truth", stamps.clone(), truths, Vec::new());
    let estimate = Trajectory::new("odometry", stamps, estimates, covariances);
    let report = judge(&estimate, &truth, &Options::default()).unwrap().report;
    for motion in report.motions.iter().filter(|motion| motion.over_s < 20.0) {
        let added = motion.if_added.unwrap();
        assert!((4.8..7.2).contains(&added.nees_mean), "{motion:?}");
        assert!(added.interval_low < 6.0 && 6.0 < added.interval_high, "{motion:?}");
        assert!(motion.at_least.unwrap().nees_mean < 6.0 && motion.added_fraction > 0.9, "{motion:?}");
    }
    assert_eq!(report.motions.len(), 3);
}

#[test]
fn a_convention_that_contradicts_the_errors_is_named_with_both_numbers() {
    let Simulated { truth, mut estimate } = simulated(12, 3000, 3.0, 1.0);
    let right = judge(&estimate, &truth, &Options::default()).unwrap().report;
    let names_one = |warnings: &[String]| warnings.iter().any(|warning| warning.contains("contradicts its convention"));
    assert!(!names_one(&right.warnings), "{:?}", right.warnings);
    estimate.meaning = Some(Meaning { order: Order::OrientationFirst, axes: Axes::Fixed });
    let wrong = judge(&estimate, &truth, &Options::default()).unwrap().report;
    assert!(names_one(&wrong.warnings), "{:?}", wrong.warnings);
    let said = wrong.warnings.join(" ");
    assert!(said.contains("--covariance ros") && said.contains("--covariance-order position"), "{said}");
    assert!(wrong.nees_mean.unwrap() > 10.0 * right.nees_mean.unwrap());
}

#[test]
fn frames_that_differ_and_clocks_that_differ_are_named() {
    let Simulated { truth, mut estimate } = simulated(2, 500, 0.0, 1.0);
    let turn = pose([5.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    estimate.poses.iter_mut().for_each(|one| *one = turn * *one);
    let report = judge(&estimate, &truth, &Options::default()).unwrap().report;
    assert!(report.warnings.iter().any(|warning| warning.contains("--align yaw")), "{:?}", report.warnings);
    let options = Options { align: Method::Yaw, ..Options::default() };
    assert!(judge(&estimate, &truth, &options).unwrap().report.position_median_m < 0.5);
    let options = Options { offset_s: 1e6, ..Options::default() };
    let error = judge(&estimate, &truth, &options).unwrap_err();
    assert!(matches!(error, JudgeError::NoPairs { .. }) && error.to_string().contains("--time-offset"));
    let late = Trajectory::new("late", vec![Stamp::from_secs(1e5)], vec![turn], Vec::new());
    assert!(judge(&late, &truth, &Options::default()).is_err());
}

#[test]
fn two_estimates_show_what_any_correlation_forbids_and_no_more() {
    let a = simulated(7, 3000, 2.0, 1.0);
    let other = |factor: f64| {
        // Errors of another seed about the same truth.
        let b = simulated(8, 3000, 2.0, factor);
        let poses = b
            .estimate
            .poses
            .iter()
            .zip(&b.truth.poses)
            .zip(&a.truth.poses)
            .map(|((estimate, own), truth)| perturbed(truth, &-Space::Space.error(own, estimate)));
        Trajectory {
            name: "b".into(),
            ..Trajectory::new("b", a.truth.stamps.clone(), poses.collect(), b.estimate.covariances)
        }
    };
    let of = |b: &Trajectory| Agreement::new(&a.estimate, b, &Options::default()).unwrap();
    let fair = of(&other(1.0));
    assert_eq!(fair.if_independent.unwrap().verdict, Verdict::Consistent);
    assert!(fair.sentences().join(" ").contains("two independent, consistent"), "{:?}", fair.sentences());
    let wrong = of(&other(16.0));
    assert_eq!(wrong.at_least.unwrap().verdict, Verdict::Overconfident);
    assert!(wrong.sentences().join(" ").contains("whatever their errors have in common"), "{:?}", wrong.sentences());
    assert!(of(&a.estimate).sentences().join(" ").contains("share errors"));
    assert!(of(&a.truth).sentences().join(" ").contains("states no covariance"));
}

#[test]
fn innovations_of_a_right_filter_are_white_and_of_their_size() {
    let rows = |scale: f64| normals(3, 2000).into_iter().map(|w| (scale * w, 1.0)).collect::<Vec<_>>();
    let right = Innovations::of_numbers("i".into(), &rows(1.0)).unwrap();
    assert!((right.nis_per_dof - 1.0).abs() < 0.15 && right.whiteness_p.unwrap() > 0.01, "{right:?}");
    let large = Innovations::of_numbers("i".into(), &rows(2.0)).unwrap();
    assert!(large.sentences()[0].contains("larger"), "{:?}", large.sentences());
    assert_eq!(Innovations::of_numbers("i".into(), &[]), None);
    assert_eq!(Innovations::of_nis("i".into(), &[(4.0, 2.0), (2.0, 4.0)]).unwrap().nis_per_dof, 1.0);
}

#[test]
fn a_planar_estimate_is_judged_in_the_plane_and_its_folder_is_whole() {
    let stamps: Vec<Stamp> = (0..50).map(|k| Stamp::from_secs(f64::from(k))).collect();
    let truths = (0..50).map(|k| pose([f64::from(k), 0.0, 0.3, 0.0, 0.0, 3.1])).collect();
    let estimates = (0..50).map(|k| pose([f64::from(k), 0.2, 0.0, 0.0, 0.0, -3.1])).collect();
    let flat = Matrix6::from_diagonal(&Vector6::new(0.04, 0.04, 0.0, 0.0, 0.0, 0.01));
    let estimate = Trajectory::new("e", stamps.clone(), estimates, vec![upper(&flat); 50]);
    let truth = Trajectory::new("t", stamps, truths, Vec::new());
    let judged = judge(&estimate, &truth, &Options::default()).unwrap();
    let yaw = std::f64::consts::TAU - 6.2;
    assert_eq!(judged.report.space, Space::Planar);
    assert!((judged.report.position_rmse_m - 0.2).abs() < 1e-12);
    assert!((judged.report.orientation_rmse_deg - yaw.to_degrees()).abs() < 1e-9);
    assert!((judged.report.nees_mean.unwrap() - (1.0 + yaw * yaw / 0.01)).abs() < 1e-9);
    let root = tempfile::tempdir().unwrap();
    let subject = Subject { estimate: &estimate, judged: &judged, noise: TruthNoise::default() };
    folder::write(&root.path().join("one"), &[subject]).unwrap();
    folder::write(&root.path().join("two"), &[subject, subject]).unwrap();
    let text = std::fs::read_to_string(root.path().join("one/errors.csv")).unwrap();
    assert_eq!(text.lines().count(), 51);
    assert!(text.lines().nth(1).unwrap().starts_with("0.000000000,0,0.2,0,0,0,"), "{text}");
    assert!(root.path().join("two/e/estimate.tum").exists());
}
