//! Ranks for linearization points that are known, and for the filters themselves.

use super::*;
use crate::simulated;
use crate::study::Study;
use lienav_lie::skew;
use lienav_sim::Scenario;
use nalgebra::Vector2;

/// A step in coordinates of the map: the motion linearized at `from` and predicted to end at `to` (eq. (5.11)),
/// features read from `to` where `places` has them (below eq. (5.11)).
fn step(from: &Vector2<f64>, to: &Se2, places: &[Vector2<f64>]) -> LinearizedStep {
    let lever = skew(&(to.p - from));
    let back = to.rotation().transpose();
    let measurements = (0..).zip(places).map(|(id, place)| {
        let z = to.transform_back(place);
        let mut by_pose = Matrix3::zeros();
        by_pose.fixed_view_mut::<2, 2>(0, 0).copy_from(&-back);
        by_pose.fixed_view_mut::<2, 1>(0, 2).copy_from(&-skew(&z));
        let mut by_feature = Matrix3x2::zeros();
        by_feature.fixed_view_mut::<2, 2>(0, 0).copy_from(&back);
        let noise = Matrix3::identity() * 1e-2;
        LinearizedMeasurement { subject: Subject::Landmark(id), dim: 2, by_pose, by_landmark: by_feature, noise }
    });
    LinearizedStep {
        pose_transition: Matrix3::new(1.0, 0.0, lever.x, 0.0, 1.0, lever.y, 0.0, 0.0, 1.0),
        measurements: measurements.collect(),
        landmarks: (0..places.len() as u32).collect(),
        ..LinearizedStep::default()
    }
}

const PLACES: [[f64; 2]; 4] = [[2.0, 1.0], [4.0, -2.0], [7.0, 3.0], [5.0, 0.5]];

/// Steps along an arc. `off(k, j)` says by how much a point of step k is not the true one: that of the robot after the
/// update (j = 0), of the predicted robot (j = 1), of feature j − 2.
fn arc(off: impl Fn(usize, usize) -> Vector2<f64>) -> Vec<LinearizedStep> {
    let robot = |k: usize| Se2::exp(&nalgebra::Vector3::new(0.3, 0.0, 0.05).scale(k as f64));
    (0..8)
        .map(|k| {
            let from = robot(k.max(1) - 1).p + off(k.max(1) - 1, 0);
            let to = Se2 { p: robot(k).p + off(k, 1), ..robot(k) };
            let places: Vec<_> = (2..).zip(PLACES).map(|(j, p)| Vector2::from(p) + off(k, j)).collect();
            step(&from, &to, &places)
        })
        .collect()
}

/// A number that has nothing to do with another one.
fn any(k: usize, j: usize) -> Vector2<f64> {
    let phase = (7 * k + 13 * j) as f64;
    1e-2 * Vector2::new((phase * 1.7).sin(), (phase * 2.3).cos())
}

#[test]
fn the_true_points_leave_three_directions_those_of_the_group_and_the_ekf_leaves_two() {
    let truth = arc(|_, _| Vector2::zeros());
    let window = windows(&truth, 6)[0];
    assert_eq!((window.features, window.rank, window.nullity), (4, 8, 3));
    assert_eq!((window.heading_information, window.position_information), (0.0, 0.0));
    // Eq. (5.7): O N = 0.
    let matrix = observability_matrix(&truth[1..], &[0, 1, 2, 3]);
    let mut gauge = DMatrix::zeros(11, 3);
    let at = (0..11).filter(|row| *row != 2).collect::<Vec<_>>();
    let places = std::iter::once(Vector2::zeros()).chain(PLACES.map(Vector2::from));
    for (rows, p) in at.chunks(2).zip(places) {
        let turn = skew(&p);
        (gauge[(rows[0], 0)], gauge[(rows[1], 1)]) = (1.0, 1.0);
        (gauge[(rows[0], 2)], gauge[(rows[1], 2)]) = (turn.x, turn.y);
    }
    gauge[(2, 2)] = 1.0;
    assert!((matrix * gauge).amax() < 1e-11);

    let window = windows(&arc(any), 6)[0];
    assert_eq!((window.features, window.rank, window.nullity), (4, 9, 2));
    assert!(window.heading_information > 1e-3 && window.position_information == 0.0, "{window:?}");
}

/// First estimates (p* = predicted p, features where they were first) and their constrained shift keep the chain
/// property (5.1), how ever far from the truth they are.
#[test]
fn first_estimates_and_points_shifted_with_the_robots_keep_the_null_space() {
    let first = |k: usize, j: usize| match j {
        0 | 1 => any(k, 1),
        _ => any(0, j),
    };
    let shifted = |k: usize, j: usize| match j {
        0 => any(k, 0),
        1 => any(k, 1),
        _ => any(0, j) + (1..k).map(|l| any(l, 0) - any(l, 1)).sum::<Vector2<f64>>(),
    };
    for (name, steps) in [("first", arc(first)), ("shifted", arc(shifted))] {
        // The point of the motion from 0 is the true start in `arc`, so that the chain begins at step 1.
        let window = windows(&steps[1..], 6)[0];
        assert_eq!((window.nullity, window.heading_information), (3, 0.0), "{name}: {window:?}");
    }
}

#[test]
fn filters_have_the_null_space_that_their_coordinates_promise() {
    let mut scenario = Scenario::named("thesis-circle-10hz-low-q1").unwrap();
    scenario.trajectory.laps = 0.1;
    let recording = simulated::recording(&scenario).unwrap();
    let observed = |filter: &str| {
        let study = Study { filter: filter.into(), ..Study::from(recording.config.clone().unwrap()) };
        FilterReport::new(observe(&study, (&recording.inputs, &recording.equipment), 5).unwrap())
    };
    for (filter, nullity) in [
        ("thesis-ekf", 2),
        ("ekf", 2),
        ("thesis-fe-ekf", 3),
        ("fe-ekf", 3),
        ("thesis-oc-ekf", 3),
        ("oc-ekf", 3),
        ("thesis-reduced", 3),
        ("reduced", 3),
        ("invariant", 3),
        ("default", 3),
    ] {
        let report = observed(filter);
        assert_eq!(report.nullities.keys().collect::<Vec<_>>(), [&nullity], "{filter}");
        assert!(report.windows.len() >= 5 && report.features_mean > 3.0, "{filter}");
        assert_eq!(report.heading_information_median > 0.0, nullity == 2, "{filter}");
        assert_eq!(report.position_information_max, 0.0, "{filter}");
        // A feature that is begun as independent of the pose says where the robot is, whatever the Jacobians are.
        let invents = ["ekf", "thesis-ekf", "thesis-fe-ekf", "thesis-oc-ekf"].contains(&filter);
        assert_eq!(report.invented.heading_information > 0.0, invents, "{filter}: {:?}", report.invented);
    }
}

#[test]
fn a_known_map_is_refused_and_a_report_is_written() {
    let mut scenario = Scenario::default();
    scenario.trajectory.laps = 0.05;
    let recording = simulated::recording(&scenario).unwrap();
    let mut study = Study::from(recording.config.clone().unwrap());
    study.map.mode = lienav_slam::MapMode::Localization;
    let refused = observe(&study, (&recording.inputs, &recording.equipment), 5).map(|_| ()).unwrap_err();
    assert_eq!(refused, ObservabilityError::KnownMap);
    study.map.mode = lienav_slam::MapMode::Mapping;
    let filters = ["ekf", "reduced"].map(|filter| {
        let study = Study { filter: filter.into(), ..study.clone() };
        FilterReport::new(observe(&study, (&recording.inputs, &recording.equipment), 5).unwrap())
    });
    let report = Report { source: "circle".into(), scans: 5, filters: filters.into() };
    let text = to_text(&report);
    assert!(text.contains("reduced") && text.contains("nothing") && text.contains("rad"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &report).unwrap();
    for name in ["report.json", "report.txt", "windows.csv", "invented.csv", "heading.svg", "windows.svg"] {
        assert!(std::fs::metadata(folder.path().join(name)).is_ok_and(|file| file.len() > 0), "{name}");
    }
}
