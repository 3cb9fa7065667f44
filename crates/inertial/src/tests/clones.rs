//! Pose clones, and landmarks that are initialized from several views.

use super::common::{Normal, places};
use super::simulator::{Scenario, pixels, simulate};
use crate::clone::{clone_pose, find_clone, remove_clone};
use crate::filter::Filter;
use crate::measurement::Measurement;
use crate::preintegration::integrator::Integrator;
use crate::preintegration::samples::Interpolation;
use crate::propagate::propagate;
use crate::state::State;
use crate::state::landmark::Landmark;
use crate::step::Step;
use lienav_lie::{So3, hat};
use nalgebra::Vector3;

/// δz = R̂_cᵀ(e_i − e_c + r̂^ a_c), whatever the error of the body of now.
#[test]
fn a_landmark_is_seen_from_a_clone_by_relative_errors() {
    let mut normal = Normal::new(31);
    normal.has_clone = true;
    let filter = Filter::GROUP;
    let state = normal.state(2, &filter);
    let seen = |state: &State| {
        let clone = find_clone(state, 100).unwrap();
        clone.rotation.rotate_back(&(state.landmarks[1].position - clone.position))
    };
    let clone = find_clone(&state, 100).unwrap();
    let (back, r) = (clone.rotation.matrix().transpose(), state.landmarks[1].position - clone.position);
    let h = 1e-6;
    for k in 0..state.covariance.dim() {
        let [plus, minus] = [h, -h].map(|by| {
            let mut delta = vec![0.0; state.covariance.dim()];
            delta[k] = by;
            let mut truth = state.clone();
            truth.boxplus(&delta, &filter, &mut Vec::new());
            seen(&truth)
        });
        let numeric = (plus - minus) / (2.0 * h);
        let column = |row: usize| k.checked_sub(row).filter(|c| *c < 3);
        let expected = if let Some(c) = column(state.covariance.row_of(1)) {
            back.column(c).into_owned()
        } else if let Some(c) = column(clone.rows[0]) {
            -back.column(c).into_owned()
        } else if let Some(c) = column(clone.rows[1]) {
            (back * hat(&r)).column(c).into_owned()
        } else {
            Vector3::zeros()
        };
        assert!((numeric - expected).norm() < 1e-8, "{k} {numeric} {expected}");
    }
}

/// A clone has no error relative to the body when it is made, and gets what the motion adds.
#[test]
fn clones_come_and_go() {
    let mut normal = Normal::new(32);
    let filter = Filter::DEFAULT;
    let mut state = normal.state(3, &filter);
    let before = state.covariance.to_matrix();
    clone_pose(&mut state, 7, &filter);
    let clone = find_clone(&state, 7).unwrap();
    assert_eq!(state.covariance.block::<6, 6>(clone.rows[0], clone.rows[0]).amax(), 0.0);
    assert_eq!(clone.position, state.nav.position);
    remove_clone(&mut state, 7);
    assert_eq!(find_clone(&state, 7), None);
    assert_eq!(state.covariance.to_matrix(), before);
    clone_pose(&mut state, 8, &filter);
    let increment = normal.increment(state.nav.biases);
    propagate(&mut state, &increment, &filter);
    let row = find_clone(&state, 8).unwrap().rows[1];
    let turned = state.covariance.block::<3, 3>(row, row);
    // a_c = −ν: the gyroscope's noise over the interval, and its bias.
    assert!(turned.trace() > 3.0 * 1e-6 * 0.1 && turned.symmetric_eigenvalues().min() > 0.0, "{turned}");
    let _ = So3::identity();
}

/// Errors of landmarks when they enter are as large as the filter says, those of directions that cannot be seen left
/// out by the coordinates.
#[test]
fn landmarks_enter_with_an_honest_covariance() {
    let (mut nees, mut count) = (0.0, 0.0);
    for seed in 0..12 {
        let scenario = Scenario { duration_s: 3.0, ..Scenario::new(["hand", "drone", "circle"][seed % 3]) };
        let run = simulate(&scenario, 40 + seed as u64);
        let filter = Filter::DEFAULT;
        let mut state = State::new(run.start, &scenario.start_covariance(), 80, &filter);
        let mut step = Step::new(filter);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Linear);
        let mut frames = run.frames.iter().peekable();
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
                let measurements = pixels(&scenario, frame);
                let all: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
                step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
                let before: Vec<u64> = points(&state).map(|landmark| landmark.id).collect();
                let corrected = step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
                let truth: Vec<Landmark> = places(&state)
                    .into_iter()
                    .map(|part| {
                        let position = if part.is_point() { run.points[part.id as usize] } else { part.position };
                        Landmark { position, ..part }
                    })
                    .collect();
                if corrected.initialized == 0 {
                    continue;
                }
                let error = state.boxminus(&frame.truth, &truth, &filter).unwrap();
                for (i, landmark) in state.landmarks.iter().enumerate().filter(|(_, part)| part.is_point()) {
                    if !before.contains(&landmark.id) {
                        let row = state.covariance.row_of(i);
                        let e = Vector3::from_column_slice(&error[row..row + 3]);
                        let own = state.covariance.block::<3, 3>(row, row);
                        nees += e.dot(&own.cholesky().unwrap().solve(&e));
                        count += 1.0;
                    }
                }
            }
        }
    }
    println!("{count} landmarks, NEES {:.2}", nees / count);
    assert!(count > 200.0 && (2.2..4.0).contains(&(nees / count)), "{count} {}", nees / count);
}

fn points(state: &State) -> impl Iterator<Item = &Landmark> {
    state.landmarks.iter().filter(|part| part.is_point())
}
