//! Whole runs, short ones.

use super::problem::Problem;
use super::{Session, Settings, Solution};
use crate::consistency::{chi_squared_band, nees};
use crate::run::{self, Run, true_map};
use crate::simulated;
use lienav_io::recording::Recording;
use lienav_lie::wrap_angle;
use lienav_sim::{PathKind, Scenario};
use lienav_slam::{CalibrationParameter, Config, Filter, MeasurementKind, Role, Subject, Trace};
use nalgebra::{DVector, Matrix2, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A circle of the thesis, cut short.
fn short(seconds: f64, seed: u64) -> Scenario {
    let mut scenario = Scenario { seed, ..Scenario::default() };
    scenario.trajectory.laps = seconds / scenario.trajectory.lap_s;
    scenario
}

fn config(recording: &Recording, filter: &str) -> Config {
    Config { filter: filter.into(), ..recording.config.clone().unwrap() }
}

fn solved(recording: &Recording, name: &str) -> (Run, Solution) {
    let mut session =
        Session::new(&config(recording, name).into(), Settings::named(name).unwrap(), &Default::default()).unwrap();
    recording.inputs.iter().for_each(|input| session.feed(input));
    let (run, solution) = session.solve();
    (run, solution.unwrap())
}

fn traced(recording: &Recording) -> Trace {
    let mut session = run::Session::new(Filter::default(), &config(recording, "default"), &Default::default()).unwrap();
    session.slam.keep_trace();
    recording.inputs.iter().for_each(|input| session.feed(input));
    session.end();
    session.slam.trace().unwrap().clone()
}

#[test]
fn with_little_noise_the_last_pose_is_that_of_the_filter_and_so_is_its_covariance() {
    let mut scenario = short(4.0, 3);
    scenario.odometry.velocity_x_std = 1e-3;
    scenario.odometry.velocity_y_std = 1e-3;
    scenario.odometry.yaw_rate_std = 1e-3;
    scenario.sensor.bearing_std_rad = 1e-4;
    let recording = simulated::recording(&scenario).unwrap();
    let filtered = run::run(&recording, &config(&recording, "default"), |_| ()).unwrap();
    let (run, solution) = solved(&recording, "batch");
    assert!(solution.converged && solution.iterations < 8, "{}", solution.iterations);
    let (ours, theirs) = (run.estimates.last().unwrap(), filtered.estimates.last().unwrap());
    let shift = ours.pose.p - theirs.pose.p;
    let difference = Vector3::new(shift.x, shift.y, ours.pose.theta - theirs.pose.theta);
    let in_sigmas = nees(&difference, &ours.covariance).unwrap().sqrt();
    assert!(in_sigmas < 0.02, "{in_sigmas}");
    assert!((ours.covariance - theirs.covariance).norm() < 0.01 * theirs.covariance.norm());
    assert_eq!(run.landmarks.len(), filtered.landmarks.len());
    for (ours, theirs) in run.landmarks.iter().zip(&filtered.landmarks) {
        assert!((ours.position - theirs.position).norm() < 1e-3 && ours.id == theirs.id);
        // Features seen once or twice are far from linear even so.
        assert!(
            ours.measurements < 5
                || (ours.covariance / theirs.covariance.norm() - theirs.covariance.normalize()).norm() < 0.05
        );
    }
}

#[test]
fn what_is_left_is_about_its_degrees_of_freedom_and_the_last_pose_is_consistent() {
    let mut total = 0.0;
    for seed in 0..12 {
        let recording = simulated::recording(&short(4.0, seed)).unwrap();
        let (run, solution) = solved(&recording, "batch");
        let (low, high) = chi_squared_band(solution.degrees_of_freedom, 0.9999);
        assert!(solution.converged && (low..high).contains(&solution.chi_squared), "{seed}: {low} {high} {solution:?}");
        let (last, truth) = (run.estimates.last().unwrap(), recording.truth.last().unwrap().1);
        let shift = last.pose.p - truth.p;
        let error = Vector3::new(shift.x, shift.y, wrap_angle(last.pose.theta - truth.theta));
        total += nees(&error, &last.covariance).unwrap();
    }
    let (low, high) = chi_squared_band(3 * 12, 0.999);
    assert!((low..high).contains(&total), "{total}");
}

#[test]
fn all_poses_are_at_least_as_certain_as_the_filters_and_the_first_is_known() {
    let recording = simulated::recording(&short(4.0, 1)).unwrap();
    let filtered = run::run(&recording, &config(&recording, "default"), |_| ()).unwrap();
    let (run, _) = solved(&recording, "batch");
    assert_eq!(run.estimates[0].covariance.norm(), 0.0);
    for (ours, theirs) in run.estimates.iter().zip(&filtered.estimates).skip(1) {
        assert_eq!(ours.stamp, theirs.stamp);
        assert!(ours.covariance.cholesky().is_some());
        assert!(ours.covariance.trace() < 1.1 * theirs.covariance.trace());
    }
}

/// With every part there is: an uncertain start, sights outside the gate, a calibration, landmarks that are known.
#[test]
fn the_gradient_is_that_of_the_cost() {
    let mut scenario = short(2.0, 5);
    scenario.sensor.kind = MeasurementKind::RangeBearing;
    scenario.sensor.misread_probability = 0.1;
    (scenario.initial.position_std_m, scenario.initial.yaw_std_rad) = (0.1, 0.1);
    let recording = simulated::recording(&scenario).unwrap();
    for name in Settings::NAMES {
        let settings = Settings::named(name).unwrap();
        let mut map = true_map(&recording, 0.05);
        map.landmarks.truncate(map.landmarks.len() / 2);
        map.landmarks.iter_mut().for_each(|known| known.covariance += Matrix2::new(0.003, 0.002, 0.002, 0.001));
        let mut trace = traced(&recording);
        for checked in trace.steps.iter_mut().flat_map(|step| &mut step.measurements) {
            let is_known = |id: u32| map.landmarks.iter().any(|known| known.id == id);
            if let (Role::First, Subject::Landmark((id, _))) = (checked.role, checked.subject)
                && is_known(id)
            {
                checked.role = Role::Again;
            }
        }
        let (problem, guess) =
            Problem::new(&trace, (&config(&recording, "default"), &map), &settings, &[], &[]).unwrap();
        let layout = &problem.layout;
        let mut random = ChaCha8Rng::seed_from_u64(2);
        let mut draw = |size: f64| -> Vec<DVector<f64>> {
            let of = |name| DVector::from_fn(layout.height(name), |_, _| size * random.random_range(-1.0..1.0));
            (0..=layout.of_calibration()).map(of).collect()
        };
        let at = problem.retract(&guess, &draw(0.01));
        let (mounts, h) = (problem.mounts(&at), 1e-6);
        for _ in 0..5 {
            let along = draw(1.0);
            let scaled = |h: f64| along.iter().map(|step| h * step).collect::<Vec<_>>();
            let cost = |h: f64| problem.cost(&problem.retract(&at, &scaled(h)));
            let numeric = (cost(h) - cost(-h)) / (2.0 * h);
            let of_element = |k: usize| {
                let element = problem.element(k, &at, &mounts);
                let along = element.unknowns.iter().flat_map(|name| along[*name].iter());
                along.zip(element.gradient.iter()).map(|(along, gradient)| along * gradient).sum::<f64>()
            };
            let analytic = 2.0 * (0..layout.lists().len()).map(of_element).sum::<f64>();
            assert!(analytic.abs() > 0.0);
            assert!((numeric - analytic).abs() < 1e-5 * numeric.abs().max(1e3), "{name}: {numeric} {analytic}");
        }
    }
}

#[test]
fn scales_and_biases_are_found() {
    let mut scenario = short(40.0, 7);
    scenario.sensor.kind = MeasurementKind::RangeBearing;
    scenario.world.density_per_m2 = 0.1;
    scenario.odometry.yaw_rate_std = 0.03;
    scenario.odometry.rate_hz = 5.0;
    scenario.sensor.rate_hz = 5.0;
    (scenario.odometry.velocity_scale, scenario.odometry.yaw_rate_scale) = (1.05, 0.93);
    (scenario.sensor.range_bias_m, scenario.sensor.bearing_bias_rad) = (0.06, 0.02);
    scenario.forget_after_s = 0.0;
    let recording = simulated::recording(&scenario).unwrap();
    let (_, solution) = solved(&recording, "batch-calibrated");
    assert!(solution.converged);
    // Odometry reads scale × truth.
    let expected = [
        (CalibrationParameter::ScaleV, 1.0 / 1.05 - 1.0),
        (CalibrationParameter::ScaleW, 1.0 / 0.93 - 1.0),
        (CalibrationParameter::RangeBias, 0.06),
        (CalibrationParameter::BearingBias, 0.02),
    ];
    for (found, (parameter, expected)) in solution.calibration.iter().zip(expected) {
        assert!((found.value - expected).abs() < 3.5 * found.std && found.std < 0.035, "{found:?} {expected}");
        assert_eq!(found.parameter, parameter);
    }
}

#[test]
fn ahead_of_it_the_map_may_be_in_parts() {
    let scenario = Scenario { seed: 2, ..Scenario::named("marked-orchard:40").unwrap() };
    let recording = simulated::recording(&scenario).unwrap();
    let solved = |parts: usize| {
        let mut config = config(&recording, "batch");
        (config.map.local_features, config.gate.probability) = (parts, 1.0);
        let mut session = Session::new(&config.into(), Settings::named("batch").unwrap(), &Default::default()).unwrap();
        recording.inputs.iter().for_each(|input| session.feed(input));
        session.solve()
    };
    let ((one, of_one), (parts, of_submaps)) = (solved(0), solved(10));
    assert!(parts.parts.is_some_and(|(status, _)| status.submaps > 3));
    let (of_one, of_submaps) = (of_one.unwrap(), of_submaps.unwrap());
    assert_eq!(of_one.degrees_of_freedom, of_submaps.degrees_of_freedom);
    assert!((of_one.chi_squared / of_submaps.chi_squared - 1.0).abs() < 1e-6);
    for (a, b) in one.estimates.iter().zip(&parts.estimates) {
        assert!((a.pose.p - b.pose.p).norm() < 1e-4 && (a.covariance - b.covariance).norm() < 1e-6);
    }
}

#[test]
fn misreads_count_little_under_cauchys_loss() {
    let mut scenario = short(10.0, 11);
    scenario.sensor.kind = MeasurementKind::RangeBearing;
    scenario.sensor.misread_probability = 0.05;
    let recording = simulated::recording(&scenario).unwrap();
    let (run, solution) = solved(&recording, "batch-cauchy");
    let last = recording.truth.last().unwrap().1;
    assert!(solution.converged && (run.estimates.last().unwrap().pose.p - last.p).norm() < 0.5);
}

#[test]
fn a_robot_that_stands_still_and_one_that_sees_nothing_have_solutions() {
    let mut scenario = Scenario { name: "still".into(), ..Scenario::named("static").unwrap() };
    scenario.trajectory.duration_s = 3.0;
    let still = simulated::recording(&scenario).unwrap();
    let (run, solution) = solved(&still, "batch");
    assert!(solution.converged);
    let claimed = run.estimates.last().unwrap().covariance;
    assert!((claimed - config(&still, "default").initial.covariance()).norm() < 1e-5, "{claimed}");
    let mut blind = short(1.0, 1);
    blind.trajectory.path = PathKind::Line;
    blind.world.density_per_m2 = 0.0;
    let (_, solution) = solved(&simulated::recording(&blind).unwrap(), "batch");
    assert!(solution.converged && solution.chi_squared < 1e-12);
}
