//! Rules of the association, one by one, on states made by hand.

use super::beam::{Item, Pair};
use super::identity::Acquaintance;
use super::identity::Identification;
use super::joint::{self, JointWorkspace};
use super::loop_closure::{Landmarks, MergeWorkspace, force_loop, pair};
use super::memory::Memory;
use super::trial::Trial;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::Subject;
use lienav_planar::config::Config;
use lienav_planar::filter::Filter;
use lienav_planar::input::Label;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::model::Model;
use lienav_planar::output::Counts;
use lienav_planar::state::{State, StateLandmark};
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

const POSITION_STD: f64 = 0.05;

fn model() -> (Model, Config) {
    let mut config = Config::default();
    config.sensor.position_std_m = POSITION_STD;
    (Model::new(Filter::named("default").unwrap(), &config, &[]), config)
}

/// A robot at the origin and landmarks at these places, with these standard deviations, m, all independent.
fn state(robot_std: f64, landmarks: &[([f64; 2], f64)]) -> State {
    let (model, config) = model();
    let covariance = Matrix3::from_diagonal(&[robot_std * robot_std, robot_std * robot_std, 1e-6].into());
    let start = (Se2::identity(), &covariance);
    let mut state = State::new(model.filter.coordinates(), start, &config.calibration, &model.sensors, 8);
    for (id, (x, std)) in landmarks.iter().enumerate() {
        let x = Vector2::from(*x);
        let landmark = StateLandmark {
            id: id as u32,
            x,
            first: x,
            anchor: Vector2::zeros(),
            is_vague: false,
            last_seen: Stamp::default(),
            measurements: 5,
            wanted: Stamp::default(),
            is_mapped: false,
            is_anchor_point: false,
            is_inherited: false,
            outliers: 0,
            outliers_since: Stamp::MIN,
        };
        state.append(landmark, &Matrix2x3::zeros(), &(Matrix2::identity() * (std * std)));
    }
    state
}

/// Few measurements were of none, in sight of 10 m all around.
fn memory() -> Memory {
    let mut memory = Memory::default();
    for k in 0..240 {
        let bearing = f64::from(k) * std::f64::consts::TAU / 240.0;
        memory.rates.measurement(&(Vector2::new(bearing.cos(), bearing.sin()) * 10.0), &Label::default());
    }
    (0..3).for_each(|_| memory.rates.scan(1, 0));
    memory
}

/// Whether a measurement of a landmark at (4, 0) is used, if the landmark is known by `std` relative to the robot and
/// the reading is off by so much, m.
fn is_used_with(memory: &Memory, std: f64, off: f64) -> bool {
    let (model, _) = model();
    let state = state(0.0, &[([4.0, 0.0], std)]);
    let measurement = Measurement::new(None, [4.0 + off, 0.0]);
    let mut workspace = JointWorkspace::default();
    workspace.measurements.push(model.sensors.read(MeasurementKind::RelativePosition, &measurement).unwrap());
    let (mut candidates, mut newcomers, mut refused) = (Vec::new(), Vec::new(), Counts::default());
    joint::associate(&state, (&model, memory), &mut workspace, &mut candidates, &mut newcomers, &mut refused);
    candidates.iter().any(|candidate| candidate.subject == Subject::Landmark(0))
}

fn is_used(std: f64) -> bool {
    is_used_with(&memory(), std, 0.0)
}

/// It is likelier to be of this landmark than of none in all cases.
#[test]
fn a_recent_landmark_that_is_known_badly_needs_a_surer_measurement() {
    assert!(is_used(0.05) && is_used(0.3));
    assert!(!is_used(3.0));
}

/// Two false measurements beside each other are no landmark: a measurement of a candidate has to be surer, by 20 to
/// one, and so nearer.
#[test]
fn a_candidate_needs_a_surer_measurement_than_a_landmark() {
    let farthest = |memory: &Memory| {
        let used = (0..100).map(|k| 0.005 * f64::from(k)).take_while(|off| is_used_with(memory, POSITION_STD, *off));
        used.last().unwrap() / (2.0_f64.sqrt() * POSITION_STD)
    };
    let candidate = |landmarks: usize, clutter: usize| {
        let mut memory = memory();
        // Many measurements are of none.
        (0..100).for_each(|_| memory.rates.scan(1, 100));
        (0..landmarks).for_each(|_| memory.rates.outcome(1.0));
        (0..clutter).for_each(|_| memory.rates.outcome(0.0));
        memory.live(&[(0, 1)]);
        memory
    };
    let (mut likely, unlikely) = (candidate(50, 0), candidate(1, 3));
    assert!(likely.existence_probability(0) > 0.9);
    let odds = |far: f64, near: f64| (0.5 * (far * far - near * near)).exp();
    let of_candidate = farthest(&likely);
    likely.confirm(0);
    let of_landmark = farthest(&likely);
    assert!((15.0..50.0).contains(&odds(of_landmark, of_candidate)), "{of_landmark} σ and {of_candidate} σ");
    // Where few are landmarks, each measurement is needed, and has to be likelier of it than of none.
    let by_existence = odds(of_landmark, farthest(&unlikely));
    assert!(
        unlikely.existence_probability(0) < 0.45 && by_existence < 10.0,
        "{} {by_existence}",
        unlikely.existence_probability(0)
    );
}

/// Where most measurements are false, one of a landmark has to be surer, by 20 to one for each part of them.
#[test]
fn a_landmark_needs_a_surer_measurement_where_most_of_them_are_false() {
    let memory = |landmarks: usize, clutter: usize| {
        let mut memory = memory();
        (0..4000).for_each(|_| memory.rates.scan(40, 60));
        (0..landmarks).for_each(|_| memory.rates.outcome(1.0));
        (0..clutter).for_each(|_| memory.rates.outcome(0.0));
        memory
    };
    // Of new landmarks, and of nothing.
    let (new, cluttered) = (memory(200, 0), memory(0, 200));
    assert!(new.rates.clutter() < 0.05 && (0.55..0.6).contains(&cluttered.rates.clutter()));
    let farthest = |memory: &Memory| {
        let used = (0..2000).map(|k| 0.00025 * f64::from(k)).take_while(|off| is_used_with(memory, POSITION_STD, *off));
        used.last().unwrap() / (2.0_f64.sqrt() * POSITION_STD)
    };
    let (far, near) = (farthest(&new), farthest(&cluttered));
    let odds = (0.5 * (far * far - near * near)).exp();
    assert!((10.0..12.5).contains(&odds), "{far} σ and {near} σ: {odds}");
}

/// A room in which three recent landmarks are of three old ones, each with these odds beside the others of its item.
fn workspace(log_ratio: [f64; 3], shares: [f64; 3]) -> Identification {
    let mut workspace = Identification::default();
    for k in 0..3 {
        let covariance = Matrix3::from_diagonal(&[4.0, 4.0, 0.0].into());
        workspace.pairs.push(Pair::new(3 + k, (Vector3::zeros(), covariance), 2, 6.0).unwrap());
        workspace.ends.push((k, 3 + k));
        workspace.items.push(Item { first: k, last: k + 1, is_clear: false });
    }
    workspace.beam.best = vec![0, 1, 2];
    workspace.beam.log_ratio = log_ratio.to_vec();
    workspace.beam.shares = shares.to_vec();
    workspace.beam.evidence = log_ratio.iter().sum();
    workspace
}

/// Three recent landmarks, and three old ones at these places.
fn recent_and_old(old: [[f64; 2]; 3]) -> State {
    let recent = [[5.0, 0.0], [5.0, 4.0], [9.0, 2.0]];
    let landmarks: Vec<_> = recent.into_iter().chain(old).map(|x| (x, 0.05)).collect();
    state(0.0, &landmarks)
}

#[test]
fn a_loop_is_believed_by_the_places_that_it_joins() {
    let apart = recent_and_old([[5.0, 1.0], [5.0, 5.0], [9.0, 3.0]]);
    let memory = memory();
    let closes = |state: &State, mut workspace: Identification| {
        workspace.accept(&Landmarks(state, &memory, &[]), 3000.0, 3).is_some()
    };
    let (log_ratio, sure) = ([3.0, 3.0, 3.0], [1.0; 3]);
    assert!(closes(&apart, workspace(log_ratio, sure)));
    // Two of three at one place are no third place, and tell no more than one.
    assert!(!closes(&recent_and_old([[5.0, 1.0], [5.0, 5.0], [5.5, 5.0]]), workspace(log_ratio, sure)));
    // What is said by a pair that is not merged does not speak for those that are.
    assert!(!closes(&apart, workspace(log_ratio, [1.0, 1.0, 0.6])));
    // Nor are many places enough where they say too little.
    assert!(!closes(&apart, workspace([2.0, 2.0, 2.0], sure)));
}

#[test]
fn wide_pairs_pass_the_gate_of_new_landmarks_and_near_ones_that_of_measurements() {
    let (model, _) = model();
    let [gate, furthest] = model.gate.associated(2);
    let between = 0.5 * (gate + furthest);
    assert!(gate < between && between < furthest);
    // The recent one and the old one are known by `std` each: S = 2 std² I.
    let passes = |std: f64, square: f64| {
        let apart = (square * 2.0 * std * std).sqrt();
        let state = state(0.0, &[([5.0, 0.0], std), ([5.0 + apart, 0.0], std)]);
        pair(&state, &model, (0, 1), 0.01).is_some()
    };
    assert!(passes(1.0, between) && !passes(1.0, 1.01 * furthest));
    assert!(passes(0.1, 0.99 * gate) && !passes(0.1, between));
}

/// A robot 30 m ahead of the origin has turned by `turn` and does not know it. It reads three landmarks anew that it
/// knew before. Returns how far these are from their places once both are one, and the standard deviation with which
/// they were known.
fn moved_by_a_loop(turn: f64) -> (f64, f64) {
    let (model, config) = model();
    let known = [[40.0, 5.0], [40.0, -5.0], [35.0, 8.0]].map(Vector2::from);
    let covariance = Matrix3::from_diagonal(&[1e-4, 1e-4, 0.1].into());
    let start = (Se2::new(30.0, 0.0, 0.0), &covariance);
    let mut state = State::new(model.filter.coordinates(), start, &config.calibration, &model.sensors, 8);
    let landmark = state_of_one().landmarks[0];
    let std = 0.05;
    let own = Matrix2::identity() * (std * std);
    for (id, x) in known.iter().enumerate() {
        // What is known in the map is not where the robot turns it to: e = −[I, J x]ξ.
        let by_pose = Matrix2x3::new(-1.0, 0.0, x.y, 0.0, -1.0, -x.x);
        state.append(StateLandmark { id: id as u32, x: *x, ..landmark }, &by_pose, &own);
    }
    let back = Se2::new(30.0, 0.0, -turn) * Se2::new(-30.0, 0.0, 0.0);
    for (id, x) in known.iter().enumerate() {
        state.append(StateLandmark { id: 3 + id as u32, x: back.transform(x), ..landmark }, &Matrix2x3::zeros(), &own);
    }
    let (mut workspace, mut gone) = (MergeWorkspace::default(), Vec::new());
    let pairs = [(3, 0), (4, 1), (5, 2)];
    force_loop(&mut state, (&model, &mut Memory::default()), &mut workspace, &pairs, &mut gone);
    assert_eq!((gone.len(), state.landmarks.len()), (3, 3));
    assert!((state.pose.theta - turn).abs() < 0.02, "{}", state.pose.theta);
    let off = known.iter().enumerate().map(|(id, x)| (state.landmarks[state.find(id as u32).unwrap()].x - x).norm());
    (off.fold(0.0, f64::max), std)
}

fn state_of_one() -> State {
    state(0.0, &[([0.0, 0.0], 1.0)])
}

#[test]
fn a_loop_that_turns_the_robot_leaves_the_map_where_it_is_known() {
    for turn in [0.01, 0.1, 0.3, -0.6] {
        let (off, std) = moved_by_a_loop(turn);
        assert!(off < std, "{off} m at {turn} rad");
    }
}

/// A sensor that reads nearly all has looked from the origin once, and has read a landmark at (5, 0).
fn memory_of_a_cell() -> Memory {
    let mut memory = memory();
    let z = [[5.0, 0.0], [5.0, 4.0], [8.0, 3.0]].map(Vector2::from);
    (0..50).flat_map(|_| z).for_each(|z| {
        memory.rates.reach(&z);
        memory.rates.note_visible(&z, true, 1.0);
    });
    memory.field_of_view.add((0, Vector2::new(5.0, 0.0)), &Se2::identity(), (10.0, 1));
    memory
}

/// Two landmarks were read before at (5, 0) and (5, 4) from the origin; two that are read now are these, or those of a
/// place beside, with a third one at `third`.
fn likelihood_of_a_third(third: [f64; 2]) -> f64 {
    let mut memory = memory_of_a_cell();
    let old = [[5.0, 0.0], [5.0, 4.0]];
    let recent = [[25.0, 0.0], [25.0, 4.0], [20.0 + third[0], third[1]]];
    let all: Vec<_> = old.into_iter().chain(recent).map(|x| (x, 0.05)).collect();
    let mut state = state(0.0, &all);
    memory.live(&[(0, 1), (1, 1), (2, 60), (3, 60), (4, 60)]);
    state.pose = Se2::new(20.0, 0.0, 0.0);
    (2..5).for_each(|i| state.landmarks[i].last_seen = Stamp::from_secs(1.0));
    let mut views = Vec::new();
    memory.field_of_view.view_cells(&state, memory.scan, &mut views);
    Landmarks(&state, &memory, &views).absence(&[(2, 0), (3, 1)])
}

#[test]
fn a_landmark_that_is_new_where_the_sensor_has_looked_speaks_against_a_loop() {
    assert!(likelihood_of_a_third([7.9, 2.9]) < -0.6);
    // Nobody has seen so far.
    assert_eq!(likelihood_of_a_third([0.0, 14.0]), 0.0);
    // It may be the one beside it.
    assert_eq!(likelihood_of_a_third([5.5, 4.5]), 0.0);
}

#[test]
fn a_landmark_that_is_begun_where_the_sensor_has_looked_speaks_against_a_loop_that_was_closed() {
    let (model, _) = model();
    let evidence = |place: [f64; 2]| {
        let mut memory = memory_of_a_cell();
        memory.live(&[(0, 1), (1, 60)]);
        // As many landmarks as stand within a metre or two of each other.
        memory.rates.scan(200, 0);
        let state = state(0.0, &[([5.0, 0.0], 0.05), (place, 0.05)]);
        let mut trial = Trial::new((&state, &memory), 50, 4.0);
        trial.note((&state, &memory), &model, &[], (0.0, 0));
        trial.evidence()
    };
    assert!(evidence([7.9, 2.9]) < -0.6);
    // Where nobody has looked, and where it may be the old one.
    assert_eq!([[0.0, 14.0], [5.3, 0.3]].map(evidence), [0.0; 2]);
}

#[test]
fn what_has_become_of_others_tells_of_a_candidate_that_is_as_old() {
    let mut memory = memory();
    memory.live(&[(0, 1)]);
    let before = memory.existence_probability(0);
    (0..50).for_each(|_| memory.rates.outcome(1.0));
    let (model, _) = model();
    let state = state(0.0, &[([50.0, 0.0], 0.05)]);
    memory.learn(&state, &model, (&[], &[], false), Stamp::from_secs(1.0));
    assert!(before < 0.6 && memory.existence_probability(0) > 0.9, "{before} {}", memory.existence_probability(0));
}
