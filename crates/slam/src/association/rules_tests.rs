//! Rules of the association, one by one, on states made by hand.

use super::beam::{Item, Pair};
use super::cloud::{self, CloudRoom};
use super::identity::Identification;
use super::memory::Memory;
use super::merge::{Features, pair};
use crate::input::Label;
use crate::linearize::Subject;
use crate::state::{Feature, State};
use crate::step::Model;
use crate::{Config, Counts, FeatureKind, Filter, Observation};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

const POSITION_STD: f64 = 0.05;

fn model() -> (Model, Config) {
    let mut config = Config::default();
    config.sensor.position_std_m = POSITION_STD;
    (Model::new(Filter::named("default").unwrap(), &config, &[]), config)
}

/// A robot at the origin and features at these places, with these standard deviations, m, all independent.
fn state(robot_std: f64, features: &[([f64; 2], f64)]) -> State {
    let (model, config) = model();
    let covariance = Matrix3::from_diagonal(&[robot_std * robot_std, robot_std * robot_std, 1e-6].into());
    let start = (Se2::identity(), &covariance);
    let mut state = State::new(model.filter.coordinates(), start, &config.calibration, &model.sensors, 8);
    for (id, (x, std)) in features.iter().enumerate() {
        let x = Vector2::from(*x);
        let feature = Feature {
            id: id as u32,
            x,
            first: x,
            anchor: Vector2::zeros(),
            is_vague: false,
            last_seen: Stamp::default(),
            observations: 5,
            wanted: Stamp::default(),
            is_mapped: false,
            is_viewpoint: false,
            is_begun: false,
            misfits: 0,
            misfit_since: Stamp::MIN,
        };
        state.append(feature, &Matrix2x3::zeros(), &(Matrix2::identity() * (std * std)));
    }
    state
}

/// Few readings were of none, in sight of 10 m all around.
fn memory() -> Memory {
    let mut memory = Memory::default();
    for k in 0..240 {
        let bearing = f64::from(k) * std::f64::consts::TAU / 240.0;
        memory.rates.reading(&(Vector2::new(bearing.cos(), bearing.sin()) * 10.0), &Label::default());
    }
    (0..3).for_each(|_| memory.rates.cloud(1, 0));
    memory
}

/// Whether a reading at (4, 0) of a landmark there is used, if the landmark is known by `std` relative to the robot.
fn is_used(std: f64) -> bool {
    let (model, _) = model();
    let state = state(0.0, &[([4.0, 0.0], std)]);
    let observation = Observation::new(None, [4.0, 0.0]);
    let mut room = CloudRoom::default();
    room.readings.push(model.sensors.read(FeatureKind::RelativePosition, &observation).unwrap());
    let (mut candidates, mut newcomers, mut refused) = (Vec::new(), Vec::new(), Counts::default());
    let memory = memory();
    cloud::associate(&state, (&model, &memory), &mut room, &mut candidates, &mut newcomers, &mut refused);
    candidates.iter().any(|candidate| candidate.subject == Subject::Feature(0))
}

/// It is likelier to be of this landmark than of none in all cases.
#[test]
fn a_recent_landmark_that_is_known_badly_needs_a_surer_reading() {
    assert!(is_used(0.05) && is_used(0.3));
    assert!(!is_used(3.0));
}

/// A room in which three young features are of three old ones, each with these odds beside the others of its item.
fn room(told: [f64; 3], shares: [f64; 3]) -> Identification {
    let mut room = Identification::default();
    for k in 0..3 {
        let covariance = Matrix3::from_diagonal(&[4.0, 4.0, 0.0].into());
        room.pairs.push(Pair::new(3 + k, (Vector3::zeros(), covariance), 2, 6.0).unwrap());
        room.ends.push((k, 3 + k));
        room.items.push(Item { first: k, last: k + 1, is_clear: false });
    }
    room.beam.best = vec![0, 1, 2];
    room.beam.told = told.to_vec();
    room.beam.shares = shares.to_vec();
    room.beam.evidence = told.iter().sum();
    room
}

/// Three young features, and three old ones at these places.
fn young_and_old(old: [[f64; 2]; 3]) -> State {
    let young = [[5.0, 0.0], [5.0, 4.0], [9.0, 2.0]];
    let features: Vec<_> = young.into_iter().chain(old).map(|x| (x, 0.05)).collect();
    state(0.0, &features)
}

#[test]
fn a_loop_is_believed_by_the_places_that_it_joins() {
    let apart = young_and_old([[5.0, 1.0], [5.0, 5.0], [9.0, 3.0]]);
    let memory = memory();
    let closes = |state: &State, mut room: Identification| room.accept(&Features(state, &memory), 3000.0, 3).is_some();
    let (told, sure) = ([3.0, 3.0, 3.0], [1.0; 3]);
    assert!(closes(&apart, room(told, sure)));
    // Two of three at one place are no third place, and tell no more than one.
    assert!(!closes(&young_and_old([[5.0, 1.0], [5.0, 5.0], [5.5, 5.0]]), room(told, sure)));
    // What is said by a pair that is not merged does not speak for those that are.
    assert!(!closes(&apart, room(told, [1.0, 1.0, 0.6])));
    // Nor are many places enough where they say too little.
    assert!(!closes(&apart, room([2.0, 2.0, 2.0], sure)));
}

#[test]
fn wide_pairs_pass_the_gate_of_new_landmarks_and_near_ones_that_of_readings() {
    let (model, _) = model();
    let [gate, furthest] = model.gate.associated(2);
    let between = 0.5 * (gate + furthest);
    assert!(gate < between && between < furthest);
    // The young one and the old one are known by `std` each: S = 2 std² I.
    let passes = |std: f64, square: f64| {
        let apart = (square * 2.0 * std * std).sqrt();
        let state = state(0.0, &[([5.0, 0.0], std), ([5.0 + apart, 0.0], std)]);
        pair(&state, &model, (0, 1), 0.01).is_some()
    };
    assert!(passes(1.0, between) && !passes(1.0, 1.01 * furthest));
    assert!(passes(0.1, 0.99 * gate) && !passes(0.1, between));
}
