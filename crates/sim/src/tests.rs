//! Whole runs: counts, rates, reproducibility.

use super::{Frame, ImuConfig, Scenario, Simulation};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Vector2, Vector3};

fn run(scenario: &Scenario) -> Vec<Frame> {
    Simulation::new(scenario).unwrap().collect()
}

fn named(name: &str) -> Scenario {
    Scenario::named(name).unwrap()
}

fn mean_in_view(scenario: &Scenario, seeds: u64) -> f64 {
    let (mut seen, mut scans) = (0, 0);
    for seed in 0..seeds {
        for features in run(&Scenario { seed, ..scenario.clone() }).into_iter().filter_map(|frame| frame.features) {
            seen += features.measurements.len();
            scans += 1;
        }
    }
    seen as f64 / scans as f64
}

/// The common view of two cameras 0.5 m apart, 120° each, up to 5 m, has 24.94 m².
#[test]
fn as_many_features_are_in_view_as_the_density_says() {
    for (name, documented) in [
        ("thesis-line-10hz-low-q1", 22.4),
        ("thesis-line-10hz-high-q1", 44.9),
        ("thesis-circle-10hz-low-q1", 22.4),
        ("thesis-circle-10hz-high-q1", 44.9),
        ("thesis-general-10hz-low-q1", 24.9),
        ("thesis-general-10hz-high-q1", 49.9),
    ] {
        let found = mean_in_view(&named(name), 5);
        assert!((found / documented - 1.0).abs() < 0.06, "{name}: {found}");
    }
}

#[test]
fn features_behind_a_robot_that_sees_all_round_are_seen() {
    let behind = |frame: &Frame| {
        let scan = frame.features.iter().flat_map(|scan| &scan.measurements);
        scan.filter(|o| o.value[1].abs() > 3.0).count()
    };
    assert!(run(&named("features-behind")).iter().map(behind).sum::<usize>() > 100);
}

#[test]
fn in_the_close_pass_something_is_within_half_a_metre_most_of_the_time() {
    let scenario = named("close-pass");
    let simulation = Simulation::new(&scenario).unwrap();
    let landmarks = simulation.landmarks().to_vec();
    let near = |frame: &Frame| landmarks.iter().any(|(_, p)| (p - frame.truth.p).norm() < 0.5);
    let frames: Vec<_> = simulation.collect();
    assert!(frames.iter().filter(|frame| near(frame)).count() * 2 > frames.len());
}

#[test]
fn odometry_and_features_keep_their_own_rates() {
    let frames = run(&named("robot"));
    assert_eq!(frames.len(), 8001);
    let scans: Vec<_> = frames.iter().filter(|frame| frame.features.is_some()).collect();
    assert_eq!(scans.len(), 801);
    assert!(scans.iter().all(|frame| frame.features.as_ref().map(|scan| scan.stamp) == Some(frame.stamp)));
    assert!(frames.windows(2).all(|pair| pair[1].stamp.nanos() - pair[0].stamp.nanos() == 5_000_000));
}

#[test]
fn rates_that_do_not_divide_give_stamps_between_the_frames() {
    let mut scenario = named("range-bearing");
    scenario.odometry.rate_hz = 30.0;
    scenario.sensor.rate_hz = 7.0;
    scenario.sensor.range_std_m = 0.0;
    scenario.sensor.bearing_std_rad = 0.0;
    scenario.imu.rate_hz = 29.0;
    let mut simulation = Simulation::new(&scenario).unwrap();
    let (landmarks, mut scans, mut checked_measurements, mut before) =
        (simulation.landmarks().to_vec(), 0, 0, Stamp::MIN);
    while let Some(frame) = simulation.next() {
        checked_measurements += usize::from(frame.imu.is_some());
        if let Some(scan) = frame.features {
            assert!(before < scan.stamp && scan.stamp <= frame.stamp);
            scans += 1;
            let truth = simulation.truth(scan.stamp);
            for o in scan.measurements {
                let p = truth.transform(&(o.value[0] * Vector2::new(o.value[1].cos(), o.value[1].sin())));
                assert!((p - landmarks[o.id.unwrap() as usize].1).norm() < 1e-9);
            }
        }
        before = frame.stamp;
    }
    assert_eq!((scans, checked_measurements), (7 * 40 + 1, 29 * 40 + 1));
}

#[test]
fn odometry_without_noise_carries_the_truth_along() {
    let mut scenario = named("thesis-general-10hz-low-q1");
    (scenario.odometry.velocity_x_std, scenario.odometry.velocity_y_std) = (0.0, 0.0);
    scenario.odometry.yaw_rate_std = 0.0;
    let frames = run(&scenario);
    let mut pose = frames[0].truth;
    for pair in frames.windows(2) {
        let odometry = &pair[1].odometry;
        let twist = Vector3::new(odometry.velocity.x, odometry.velocity.y, odometry.yaw_rate);
        pose = pose * Se2::exp(&(twist * pair[1].stamp.since(pair[0].stamp)));
        assert!((pose.p - pair[1].truth.p).norm() < 1e-9);
    }
}

#[test]
fn the_named_runs_are_as_long_as_documented() {
    for (name, frames) in [
        ("thesis-line-10hz-low-q1", 601),
        ("thesis-circle-20hz-low-q1", 801),
        ("thesis-general-10hz-low-q1", 601),
        ("esde", 401),
        ("static", 1001),
        ("long", 20_001),
    ] {
        let simulation = Simulation::new(&named(name)).unwrap();
        assert_eq!(simulation.len(), frames, "{name}");
    }
    assert_eq!(run(&named("esde")).len(), 401);
}

#[test]
fn a_robot_at_rest_says_so() {
    for frame in run(&named("static")) {
        assert_eq!(frame.truth, Se2::identity());
        assert_eq!((frame.odometry.velocity.norm(), frame.odometry.yaw_rate), (0.0, 0.0));
    }
}

#[test]
fn the_start_is_known_unless_the_scenario_says_otherwise() {
    let known = Simulation::new(&Scenario::default()).unwrap();
    assert_eq!(known.initial_pose(), known.truth(Stamp::default()));
    let mut uncertain = named("heading-uncertainty");
    uncertain.world.density_per_m2 = 0.0;
    let mut squares = 0.0;
    for seed in 0..400 {
        let simulation = Simulation::new(&Scenario { seed, ..uncertain.clone() }).unwrap();
        squares += (simulation.initial_pose().theta / 0.5).powi(2);
    }
    // χ² with 400 degrees of freedom: 400 ± 28.
    assert!((squares - 400.0).abs() < 85.0, "{squares}");
}

#[test]
fn a_change_of_one_sensor_leaves_world_and_the_other_noise_as_they_were() {
    let mut changed = Scenario::default();
    changed.sensor.bearing_std_rad = 0.02;
    changed.imu.rate_hz = 10.0;
    changed.initial.yaw_std_rad = 0.3;
    let (a, b) = (Simulation::new(&Scenario::default()).unwrap(), Simulation::new(&changed).unwrap());
    assert_eq!(a.landmarks(), b.landmarks());
    assert!(a.zip(b).all(|(a, b)| a.odometry == b.odometry && a.features != b.features));
    let mut changed = Scenario::default();
    changed.odometry.yaw_rate_std = 0.5;
    let (a, b) = (run(&Scenario::default()), run(&changed));
    assert!(a.iter().zip(&b).all(|(a, b)| a.features == b.features && a.odometry != b.odometry));
}

/// All numbers of a run, as text with every digit, or to the micrometre: there, a mathematical library whose sines
/// differ in the last bit gives the same text.
fn serialised(scenario: &Scenario, every_digit: bool) -> String {
    let simulation = Simulation::new(scenario).unwrap();
    let mut numbers: Vec<f64> = simulation.landmarks().iter().flat_map(|(_, p)| [p.x, p.y]).collect();
    for frame in simulation {
        numbers.extend([frame.stamp.secs(), frame.truth.p.x, frame.truth.p.y, frame.truth.theta]);
        numbers.extend([frame.odometry.velocity.x, frame.odometry.velocity.y, frame.odometry.yaw_rate]);
        numbers.extend(frame.imu.iter().flat_map(|imu| [imu.yaw_rate, imu.acceleration.x, imu.acceleration.y]));
        let scan = frame.features.iter().flat_map(|scan| &scan.measurements);
        numbers.extend(scan.flat_map(|o| [f64::from(o.id.unwrap_or(u32::MAX)), o.value[0], o.value[1]]));
    }
    let text = |x: f64| if every_digit { format!("{x:e}\n") } else { format!("{}\n", (x * 1e6).round() as i64) };
    numbers.into_iter().map(text).collect()
}

/// FNV-1a, 64 bit.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_gives_the_same_run_byte_for_byte() {
    let mut scenario = named("thesis-line-10hz-low-q1");
    scenario.trajectory.length_m = 3.0;
    scenario.imu = ImuConfig { rate_hz: 5.0, gyro_std_rad_s: 0.01, ..Default::default() };
    assert_eq!(serialised(&scenario, true), serialised(&scenario, true));
    assert_eq!(
        hash(&serialised(&scenario, false)),
        0x1249_851f_458b_b481,
        "the generator, a stream or the order of draws has changed"
    );
    let other = Scenario { seed: 2, ..scenario.clone() };
    assert_ne!(serialised(&scenario, true), serialised(&other, true));
}

#[test]
fn the_documentation_has_every_scenario() {
    let text = include_str!("../../../docs/scenarios.md");
    for name in Scenario::names().iter().filter(|name| !name.starts_with("thesis-")) {
        assert!(text.contains(&format!("| `{name}` |")), "docs/scenarios.md does not describe '{name}'");
    }
    let text = include_str!("../../../docs/lab/simulation.md");
    let trajectory = Scenario::default().trajectory;
    for p in trajectory.waypoints() {
        assert!(
            text.contains(&format!("({}, {})", p.x, p.y)),
            "docs/lab/simulation.md lacks the waypoint ({}, {})",
            p.x,
            p.y
        );
    }
}
