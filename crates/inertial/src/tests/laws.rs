//! Laws of the filters: symmetry, information about what cannot be seen, replay.

use super::common::Normal;
use super::simulator::{Run, Scenario, pixels, simulate};
use crate::covariance::NavMatrix;
use crate::filter::Filter;
use crate::linearize::linearize;
use crate::measurement::Measurement;
use crate::measurement::point::{Mount, Target};
use crate::measurement::position::LandmarkPosition;
use crate::observability::{Observability, measurement_matrix};
use crate::preintegration::integrator::Integrator;
use crate::preintegration::samples::Interpolation;
use crate::propagate::transition_matrix;
use crate::state::State;
use crate::state::errors::Errors;
use crate::step::Step;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Vector3};

/// Runs a filter over the frames of a run; `each` sees the state after each.
fn filter_run(scenario: &Scenario, run: &Run, mut state: State, filter: Filter, mut each: impl FnMut(&State)) -> State {
    state.gravity = scenario.gravity;
    let mut step = Step::new(filter);
    let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
    let mut frames = run.frames.iter().peekable();
    for sample in &run.samples {
        integrator.push(*sample).unwrap();
        while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
            let measurements = pixels(scenario, frame);
            let measurements: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
            step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
            step.correct(&mut state, &measurements).unwrap();
            integrator.set_biases(state.nav.biases);
            each(&state);
        }
    }
    state
}

fn short(motion: &str) -> Scenario {
    Scenario { duration_s: 3.0, points: 24, ..Scenario::new(motion) }
}

/// A world that is turned about the vertical and shifted has the same states, turned and shifted.
#[test]
fn estimates_turn_and_shift_with_the_world() {
    let scenario = short("hand");
    let run = simulate(&scenario, 1);
    let (turn, shift) = (So3::exp(&Vector3::new(0.0, 0.0, 2.0)), Vector3::new(3.0, -5.0, 1.0));
    for (name, filter) in Filter::ALL {
        let covariance = scenario.start_covariance();
        let plain = filter_run(&scenario, &run, State::new(run.start, &covariance, 30, &filter), filter, |_| ());
        let mut start = run.start;
        start.rotation = turn * start.rotation;
        start.velocity = turn * start.velocity;
        start.position = turn * start.position + shift;
        // The covariance of the start is alike in all directions.
        let moved = filter_run(&scenario, &run, State::new(start, &covariance, 30, &filter), filter, |_| ());
        let nav = (&plain.nav, &moved.nav);
        let error = (turn * nav.0.rotation).distance_to(&nav.1.rotation)
            + (turn * nav.0.velocity - nav.1.velocity).norm()
            + (turn * nav.0.position + shift - nav.1.position).norm()
            + (nav.0.biases.gyro - nav.1.biases.gyro).norm();
        assert!(error < 1e-9, "{name}: {error:e}");
        for (a, b) in plain.landmarks.iter().zip(&moved.landmarks) {
            assert!((turn * a.position + shift - b.position).norm() < 1e-8, "{name}");
        }
        let mut all = NavMatrix::identity();
        for row in [0, 3, 6] {
            all.fixed_view_mut::<3, 3>(row, row).copy_from(turn.matrix());
        }
        let expected = all * plain.nav_covariance(&filter) * all.transpose();
        let error = (moved.nav_covariance(&filter) - expected).norm() / expected.norm();
        assert!(error < 1e-8, "{name}: {error:e}");
    }
}

trait Distance {
    fn distance_to(&self, other: &Self) -> f64;
}

impl Distance for So3 {
    fn distance_to(&self, other: &Self) -> f64 {
        (*self * other.inverse()).log().norm()
    }
}

/// Variances of the turn about the vertical and of the three shifts.
fn unseen_variances(state: &State, filter: &Filter) -> [f64; 4] {
    let p = state.nav_covariance(filter);
    [p[(2, 2)], p[(6, 6)], p[(7, 7)], p[(8, 8)]]
}

/// A robot stands still and measures the same landmarks again and again (Julier and Uhlmann 2001, in space).
#[test]
fn standing_still_landmarks_tell_nothing_of_heading_and_position() {
    for (name, filter) in Filter::ALL {
        let mut normal = Normal::new(3);
        let nav = normal.nav();
        let truth = nav;
        let sigma = nalgebra::SVector::<f64, 15>::from_fn(|i, _| [0.2, 0.1, 0.3, 0.01, 0.1][i / 3]);
        let mut state = State::new(nav, &NavMatrix::from_diagonal(&sigma.component_mul(&sigma)), 4, &filter);
        let places: Vec<_> =
            (0..3).map(|_| nav.position + nav.rotation * (Vector3::x() * 4.0 + normal.vector(1.0))).collect();
        let before = unseen_variances(&state, &filter);
        let mut step = Step::new(filter);
        for _ in 0..100_000 {
            let measurements: Vec<_> = (0_u64..)
                .zip(&places)
                .map(|(id, place)| LandmarkPosition {
                    target: Target::Landmark(id),
                    mount: Mount::Fixed(Se3::identity()),
                    position: truth.seen(place) + normal.vector(0.3),
                    covariance: Matrix3::from_diagonal_element(0.09),
                })
                .collect();
            let all = [0, 1, 2].map(|k| &measurements[k] as &dyn Measurement);
            step.correct(&mut state, &all).unwrap();
        }
        let after = unseen_variances(&state, &filter);
        let fall = before.iter().zip(after).map(|(a, b)| 1.0 - b / a).fold(f64::MIN, f64::max);
        println!("{name}: largest relative fall {fall:e}");
        if filter.errors == Errors::Additive {
            assert!(name != "ekf" || fall > 0.05, "{name} {fall}");
        } else {
            assert!(fall <= 1e-9, "{name} {fall:e}");
        }
    }
}

/// The same with the inertial sensor running: what it adds may be seen, what was there may not.
#[test]
fn at_rest_with_an_inertial_sensor_heading_and_position_are_not_learned() {
    let scenario = Scenario { points: 12, duration_s: 20.0, ..Scenario::new("rest") };
    let mut run = simulate(&scenario, 4);
    // A velocity or a place that is known in the axes of the world, whatever the heading, would tell the heading when
    // the body sees that it moves otherwise.
    (run.start.velocity, run.start.position) = (Vector3::zeros(), Vector3::zeros());
    for (name, filter) in [("default", Filter::DEFAULT), ("reduced", Filter::REDUCED), ("group", Filter::GROUP)] {
        let mut covariance = scenario.start_covariance();
        covariance[(2, 2)] = 0.04;
        let state = State::new(run.start, &covariance, 12, &filter);
        let before = unseen_variances(&state, &filter);
        let after = unseen_variances(&filter_run(&scenario, &run, state, filter, |_| ()), &filter);
        let fall = before.iter().zip(after).map(|(a, b)| 1.0 - b / a).fold(f64::MIN, f64::max);
        assert!(fall <= 1e-9, "{name} {fall:e} {before:?} {after:?}");
    }
}

#[test]
fn the_observability_matrix_lacks_four_directions() {
    let scenario = Scenario { points: 16, duration_s: 4.0, ..Scenario::new("hand") };
    let run = simulate(&scenario, 5);
    for (name, filter) in Filter::ALL {
        let mut state = State::new(run.start, &scenario.start_covariance(), 20, &filter);
        let mut normal = Normal::new(6);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let mut step = Step::new(filter);
        let mut seen: Option<Observability> = None;
        let mut frames = run.frames.iter().peekable();
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
                // All landmarks by position, so that none is initialized on the way.
                let measurements: Vec<_> = (0_u64..5)
                    .map(|id| LandmarkPosition {
                        target: Target::Landmark(id),
                        mount: Mount::Fixed(Se3::identity()),
                        position: frame.truth.seen(&run.points[id as usize]) + normal.vector(0.1),
                        covariance: Matrix3::from_diagonal_element(0.01),
                    })
                    .collect();
                let all: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
                let increment = integrator.take(frame.stamp).unwrap();
                if let Some(seen) = &mut seen {
                    seen.propagate(&transition_matrix(&state, &increment, &filter));
                }
                step.predict(&mut state, &increment);
                if let Some(seen) = &mut seen {
                    for one in &all {
                        let linearized = linearize(&state, *one, &filter).unwrap();
                        seen.measure(&measurement_matrix(&state, &linearized));
                    }
                }
                step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
                seen.get_or_insert_with(|| Observability::new(state.covariance.dim()));
            }
        }
        let seen = seen.unwrap();
        let values = seen.singular_values();
        println!("{name}: {:.1e}", nalgebra::DVector::from_column_slice(&values[values.len() - 6..]).transpose());
        let deficiency = seen.rank_deficiency(1e-10);
        assert!(if name == "ekf" { deficiency <= 3 } else { deficiency == 4 }, "{name} {deficiency}");
    }
}

#[test]
fn a_replay_gives_the_same_bits() {
    let scenario = short("drone");
    let run = simulate(&scenario, 7);
    for (name, filter) in Filter::ALL {
        let [first, second] = [(), ()].map(|()| {
            let state = State::new(run.start, &scenario.start_covariance(), 30, &filter);
            let mut bits = Vec::new();
            filter_run(&scenario, &run, state, filter, |state| {
                bits.extend(state.nav.position.iter().map(|x| x.to_bits()));
                bits.extend(state.covariance.to_matrix().iter().map(|x| x.to_bits()));
            });
            bits
        });
        assert!(first == second, "{name}");
    }
}

/// Over a few runs of each motion the default filter's errors are as large as it says.
#[test]
fn the_default_filter_is_consistent() {
    let mut sum = [0.0; 2];
    for (motion, seed) in [("hand", 11), ("hand", 12), ("drone", 13), ("drone", 14), ("hand", 15), ("drone", 16)] {
        let scenario = Scenario { duration_s: 10.0, ..Scenario::new(motion) };
        let run = simulate(&scenario, seed);
        let filter = Filter::DEFAULT;
        let state = State::new(run.start, &scenario.start_covariance(), 80, &filter);
        let mut frames = run.frames.iter();
        filter_run(&scenario, &run, state, filter, |state| {
            let truth = frames.next().unwrap().truth;
            let (position, turn) =
                (truth.position - state.nav.position, (truth.rotation * state.nav.rotation.inverse()).log());
            let error = nalgebra::Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
            let factor = state.pose_covariance(&filter).cholesky().unwrap();
            sum[0] += error.dot(&factor.solve(&error));
            sum[1] += 1.0;
        });
    }
    let nees = sum[0] / sum[1];
    println!("NEES {nees:.2}");
    assert!((3.5..9.0).contains(&nees), "{nees}");
}
