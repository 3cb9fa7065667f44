//! Ranges alone, bearings alone, and places in the world.

use super::*;
use crate::{CalibrationParameter, DropReason, Noise, Prior, WorldFrame};
use nalgebra::{Matrix2, Matrix3, Vector3};

pub(super) const FILTERS: [&str; 5] = ["ekf", "fe-ekf", "reduced", "invariant", "default"];

/// A robot that drives as told, with what it is told being right but for noise.
pub(super) struct World {
    rng: ChaCha8Rng,
    pub truth: Se2,
    k: usize,
    std: f64,
}

impl World {
    pub fn new(seed: u64, std: f64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), truth: Se2::identity(), k: 0, std }
    }

    pub fn noise(&mut self, std: f64) -> f64 {
        let x: f64 = StandardNormal.sample(&mut self.rng);
        std * x
    }

    /// One step of odometry with this speed and yaw rate.
    pub fn drive(&mut self, slam: &mut Slam, v: f64, w: f64) -> Stamp {
        if self.k > 0 {
            let (dx, dy, dw) = (self.noise(self.std), self.noise(self.std), self.noise(self.std));
            self.truth = self.truth * Se2::exp(&Vector3::new((v + dx) * DT, dy * DT, (w + dw) * DT));
        }
        let stamp = stamp(self.k);
        self.k += 1;
        slam.odometry(&Odometry { stamp, velocity: Vector2::new(v, 0.0), yaw_rate: w, covariance: None }).unwrap();
        stamp
    }

    pub fn range(&mut self, p: &Vector2<f64>, std: f64) -> [f64; 1] {
        [(p - self.truth.p).norm() + self.noise(std)]
    }

    pub fn bearing(&mut self, p: &Vector2<f64>, std: f64) -> [f64; 1] {
        let z = self.truth.transform_back(p);
        [z.y.atan2(z.x) + self.noise(std)]
    }
}

pub(super) fn single(filter: &str) -> Config {
    let mut config = config(filter);
    config.motion.hold = crate::TwistHold::Before;
    let motion = &mut config.motion;
    (motion.velocity_x_std, motion.velocity_y_std, motion.yaw_rate_std) = (0.02, 0.02, 0.02);
    (config.sensor.range_std_m, config.sensor.bearing_std_rad) = (0.1, 0.01);
    (config.sensor.min_range_m, config.sensor.max_range_m) = (0.3, 60.0);
    config
}

/// A beacon that is passed on a straight line stays double; after a turn, it is where it is, and never in the mirror.
#[test]
fn a_beacon_and_its_image_stay_until_the_robot_turns() {
    for filter in FILTERS {
        for side in [1.0, -1.0] {
            let mut slam = Slam::new(single(filter)).unwrap();
            let (mut world, beacon) = (World::new(3, 0.02), Vector2::new(8.0, 6.0 * side));
            for k in 0..400 {
                let w = if k < 150 { 0.0 } else { 0.3 };
                let stamp = world.drive(&mut slam, 1.0, w);
                let value = world.range(&beacon, 0.1);
                slam.features(stamp, MeasurementKind::Range, &[Measurement::new(Some(7), value)]).unwrap();
                drain(&mut slam);
                if k == 149 {
                    assert_eq!(slam.landmarks().count(), 0, "{filter}: nothing has told the beacon from its image");
                    assert!(slam.state().is_waiting(7), "{filter}");
                }
            }
            let landmark = slam.landmarks().next().unwrap_or_else(|| panic!("{filter}: no landmark"));
            let error = landmark.position - beacon;
            let nees = error.dot(&(landmark.covariance.try_inverse().unwrap() * error));
            assert!(landmark.id == 7 && nees < 13.8, "{filter} {side}: {error} {}", landmark.covariance);
            assert_eq!(slam.state().landmarks.len(), 1, "{filter}: the places where it is not are gone");
        }
    }
}

/// NEES of pose and beacons over many runs, from the time when beacons are placed: three numbers of the pose.
#[test]
fn ranges_alone_and_bearings_alone_are_honest() {
    let places = [(9.0, 7.0), (-6.0, 8.0), (5.0, -9.0), (-8.0, -5.0)].map(|(x, y)| Vector2::new(x, y + 4.0));
    for kind in [MeasurementKind::Range, MeasurementKind::Bearing] {
        for filter in ["default", "invariant", "reduced"] {
            let (mut nees, mut error_m2, mut alone_m2, runs) = (0.0, 0.0, 0.0, 30);
            for seed in 0..runs {
                let mut slam = Slam::new(single(filter)).unwrap();
                let mut alone = Slam::new(single(filter)).unwrap();
                let mut world = World::new(100 + seed, 0.02);
                for _ in 0..500 {
                    let stamp = world.drive(&mut slam, 1.0, 0.25);
                    let stated = Odometry { stamp, velocity: Vector2::new(1.0, 0.0), yaw_rate: 0.25, covariance: None };
                    alone.odometry(&stated).unwrap();
                    let seen: Vec<_> = (0..4)
                        .map(|i| {
                            let value = match kind {
                                MeasurementKind::Range => world.range(&places[i], 0.1),
                                _ => world.bearing(&places[i], 0.01),
                            };
                            Measurement::new(Some(i as u32), value)
                        })
                        .collect();
                    slam.features(stamp, kind, &seen).unwrap();
                    drain(&mut slam);
                }
                assert_eq!(slam.landmarks().count(), 4, "{filter} {kind:?} {seed}");
                let estimate = slam.predicted().unwrap();
                let error = world.truth.p - estimate.pose.p;
                let whole =
                    Vector3::new(error.x, error.y, lienav_lie::wrap_angle(world.truth.theta - estimate.pose.theta));
                nees += whole.dot(&(estimate.covariance.try_inverse().unwrap() * whole)) / runs as f64;
                error_m2 += error.norm_squared() / runs as f64;
                alone_m2 += (alone.predicted().unwrap().pose.p - world.truth.p).norm_squared() / runs as f64;
            }
            // χ² of 90 degrees of freedom by 30: 3 ± 0.45.
            assert!((1.7..4.4).contains(&nees), "{filter} {kind:?}: NEES {nees}");
            assert!(error_m2 < 0.5 * alone_m2, "{filter} {kind:?}: {error_m2} m², by odometry alone {alone_m2} m²");
        }
    }
}

/// Bad numbers are refused with their reason and counted, and change nothing.
#[test]
fn bad_numbers_have_their_reasons() {
    let mut slam = Slam::new(single("default")).unwrap();
    let mut world = World::new(1, 0.0);
    let cases = [
        (MeasurementKind::Range, 0.0, DropReason::Absurd),
        (MeasurementKind::Range, -3.0, DropReason::Absurd),
        (MeasurementKind::Range, f64::INFINITY, DropReason::NotFinite),
        (MeasurementKind::Range, 61.0, DropReason::OutOfRange),
        (MeasurementKind::Bearing, 40.0, DropReason::Absurd),
        (MeasurementKind::Bearing, f64::NAN, DropReason::NotFinite),
    ];
    for (kind, value, reason) in cases {
        let before = slam.counts().get(reason);
        let stamp = world.drive(&mut slam, 0.0, 0.0);
        slam.features(stamp, kind, &[Measurement::new(Some(1), [value])]).unwrap();
        drain(&mut slam);
        assert_eq!(slam.counts().get(reason), before + 1, "{kind:?} {value}");
        assert!(slam.state().landmarks.is_empty());
    }
    let stamp = world.drive(&mut slam, 0.0, 0.0);
    slam.features(stamp, MeasurementKind::Range, &[Measurement::new(None, [5.0])]).unwrap();
    drain(&mut slam);
    assert_eq!(slam.counts().get(DropReason::UnknownLandmark), 1, "of which beacon a range is has to be known");
    let zero = Measurement { covariance: Some(Noise::from(Matrix2::zeros())), ..Measurement::new(None, [1.0, 2.0]) };
    let stamp = world.drive(&mut slam, 0.0, 0.0);
    slam.features(stamp, MeasurementKind::WorldPosition, &[zero]).unwrap();
    drain(&mut slam);
    assert_eq!(slam.counts().get(DropReason::BadCovariance), 1);
}

/// A bearing counts modulo 2π.
#[test]
fn turns_of_a_bearing_do_not_matter() {
    let run = |turns: f64| {
        let mut slam = Slam::new(single("default")).unwrap();
        let mut world = World::new(5, 0.02);
        for _ in 0..60 {
            let stamp = world.drive(&mut slam, 1.0, 0.2);
            let [bearing] = world.bearing(&Vector2::new(4.0, 5.0), 0.01);
            let value = [bearing + turns * std::f64::consts::TAU];
            slam.features(stamp, MeasurementKind::Bearing, &[Measurement::new(Some(1), value)]).unwrap();
            drain(&mut slam);
        }
        slam.predicted().unwrap()
    };
    let (plain, turned) = (run(0.0), run(1.0));
    assert!((plain.pose.p - turned.pose.p).norm() < 1e-9 && (plain.covariance - turned.covariance).amax() < 1e-9);
}

/// Nothing in ranges or bearings says where in the map the robot is: what is known of the start does not grow.
#[test]
fn the_place_of_the_whole_stays_unknown_without_the_world() {
    for kind in [MeasurementKind::Range, MeasurementKind::Bearing] {
        for filter in ["default", "invariant"] {
            let mut config = single(filter);
            (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.5, 0.2);
            let mut slam = Slam::new(config).unwrap();
            let mut world = World::new(8, 0.02);
            for _ in 0..400 {
                let stamp = world.drive(&mut slam, 1.0, 0.3);
                let place = Vector2::new(5.0, 6.0);
                let value =
                    if kind == MeasurementKind::Range { world.range(&place, 0.1) } else { world.bearing(&place, 0.01) };
                slam.features(stamp, kind, &[Measurement::new(Some(1), value)]).unwrap();
                drain(&mut slam);
            }
            let covariance = slam.predicted().unwrap().covariance;
            assert!(covariance.m33 >= 0.04, "{filter} {kind:?}: {covariance}");
            assert!(covariance.m11 + covariance.m22 >= 0.5, "{filter} {kind:?}: {covariance}");
        }
    }
}

/// A map at (500, −300), turned by 2 rad, is found by driving: the error is as the covariance says.
#[test]
fn positions_from_outside_tie_the_map_to_the_world_when_the_robot_has_driven() {
    let tie = Se2::new(500.0, -300.0, 2.0);
    for filter in FILTERS {
        let (mut nees, mut pose_nees, runs) = (0.0, 0.0, 40);
        for seed in 0..runs {
            let mut config = single(filter);
            (config.calibration.world.frame, config.absolute.x_m) = (WorldFrame::Estimated, 0.5);
            (config.calibration.world.error_std_m, config.calibration.world.error_time_s) = (0.5, 20.0);
            let mut slam = Slam::new(config).unwrap();
            let mut world = World::new(seed, 0.02);
            let mut error = Vector2::new(world.noise(0.5), world.noise(0.5));
            for k in 0..600 {
                let stamp = world.drive(&mut slam, 1.0, 0.1);
                let rho = (-DT / 20.0_f64).exp();
                let fresh = 0.5 * (1.0 - rho * rho).sqrt();
                error = error * rho + Vector2::new(world.noise(fresh), world.noise(fresh));
                if k % 10 == 0 {
                    let antenna = (tie * world.truth).transform(&Vector2::new(0.5, 0.0));
                    let value = antenna + error + Vector2::new(world.noise(0.1), world.noise(0.1));
                    let covariance = Some(Noise::from(Matrix2::identity() * 0.01));
                    let fix = Measurement { covariance, ..Measurement::new(None, value) };
                    slam.features(stamp, MeasurementKind::WorldPosition, &[fix]).unwrap();
                }
                drain(&mut slam);
                if k == 12 {
                    assert!(slam.state().georeference.is_some(), "{filter}: one metre does not tell a heading");
                }
            }
            assert!(slam.state().georeference.is_none(), "{filter} {seed}");
            let estimates: Vec<_> = slam.calibration().collect();
            let of = |p| estimates.iter().find(|e| e.parameter == p).map(|e| (e.value, e.std)).unwrap();
            let (value, std) = of(CalibrationParameter::WorldYaw);
            nees += ((value - 2.0) / std).powi(2) / runs as f64;
            let estimate = slam.predicted().unwrap();
            let off = world.truth.p - estimate.pose.p;
            let whole = Vector3::new(off.x, off.y, lienav_lie::wrap_angle(world.truth.theta - estimate.pose.theta));
            pose_nees += whole.dot(&(estimate.covariance.try_inverse().unwrap() * whole)) / runs as f64;
        }
        // χ² of 40 by 40: 1 ± 0.22; of 120 by 40: 3 ± 0.39.
        assert!((0.45..1.7).contains(&nees), "{filter}: NEES of the heading {nees}");
        assert!((1.9..4.3).contains(&pose_nees), "{filter}: NEES of the pose {pose_nees}");
    }
}

/// One pose from outside is enough.
#[test]
fn a_pose_from_outside_ties_the_map_at_once() {
    let tie = Se2::new(-20.0, 30.0, -1.0);
    let mut config = single("default");
    config.calibration.world.frame = WorldFrame::Estimated;
    let mut slam = Slam::new(config).unwrap();
    let mut world = World::new(2, 0.0);
    for _ in 0..30 {
        let stamp = world.drive(&mut slam, 1.0, 0.2);
        let at = tie * world.truth;
        let covariance = Some(Noise::from(Matrix3::from_diagonal(&Vector3::new(0.01, 0.01, 0.001))));
        let pose = Measurement { covariance, ..Measurement::new(None, [at.p.x, at.p.y, at.theta]) };
        slam.features(stamp, MeasurementKind::WorldPose, &[pose]).unwrap();
        drain(&mut slam);
        assert!(slam.state().georeference.is_none());
    }
    let world = slam.state().calibration.world();
    assert!((world.p - tie.p).norm() < 1e-6 && (world.theta - tie.theta).abs() < 1e-9, "{world:?}");
}

/// What is saved in the middle goes on to the last bit: while places are open, and while the map is not tied.
#[test]
fn a_run_with_open_places_can_be_saved() {
    let mut config = single("default");
    config.calibration.world.frame = WorldFrame::Estimated;
    config.calibration.range_scale = Prior { sigma: 0.02, ..Prior::default() };
    let mut slam = Slam::new(config.clone()).unwrap();
    let mut world = World::new(4, 0.02);
    let mut resumed: Option<Slam> = None;
    for k in 0..200 {
        let v = Vector2::new(1.0, 0.0);
        let stamp = world.drive(&mut slam, 1.0, 0.3);
        let seen = [Measurement::new(Some(1), world.range(&Vector2::new(6.0, 5.0), 0.1))];
        let fix = [Measurement::new(None, world.truth.p)];
        if let Some(other) = &mut resumed {
            other.odometry(&Odometry { stamp, velocity: v, yaw_rate: 0.3, covariance: None }).unwrap();
        }
        for slam in std::iter::once(&mut slam).chain(&mut resumed) {
            slam.features(stamp, MeasurementKind::Range, &seen).unwrap();
            slam.features(stamp, MeasurementKind::WorldPosition, &fix).unwrap();
            drain(slam);
        }
        if k == 3 {
            assert!(!slam.state().anchor_poses.is_empty() && slam.state().georeference.is_some());
            let text = serde_json::to_string(&slam.save()).unwrap();
            let saved: crate::SavedState = serde_json::from_str(&text).unwrap();
            resumed = Some(Slam::resume(config.clone(), saved).unwrap());
        }
    }
    let (one, other) = (slam.predicted().unwrap(), resumed.unwrap().predicted().unwrap());
    assert_eq!((one.pose, one.covariance), (other.pose, other.covariance));
}
