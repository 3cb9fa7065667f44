//! Runs with a window of pose clones: symmetry, what cannot be seen, replay, outliers, bounds.

use super::common::Normal;
use super::simulator::{Frame, Run, Scenario, pixels, simulate};
use crate::clone::find_clone;
use crate::covariance::NAV;
use crate::filter::Filter;
use crate::measurement::Measurement;
use crate::measurement::pixel::Pixel;
use crate::measurement::point::Target;
use crate::measurement::rest::Rest;
use crate::observability::unobservable;
use crate::preintegration::integrator::Integrator;
use crate::preintegration::samples::Interpolation;
use crate::propagate::transition_matrix;
use crate::state::State;
use crate::state::nav::Nav;
use crate::step::Step;
use crate::window::{MOST_FRAMES, WindowSettings};
use lienav_lie::{LieGroup, So3};
use nalgebra::{DMatrix, Vector2, Vector3, Vector6};

/// The pixels of a frame as a tracker of corners has them: each point gets another identity every ten frames.
fn tracked(scenario: &Scenario, frame: &Frame, number: usize) -> Vec<Pixel> {
    let mut all = pixels(scenario, frame);
    for pixel in &mut all {
        let Target::Landmark(id) = pixel.target else { continue };
        pixel.target = Target::Landmark(id + 1000 * ((number as u64 + 7 * id) / 10));
    }
    all
}

const AT_REST: Rest = Rest { velocity_sigma: 0.01, mean_rate: Vector3::new(0.0, 0.0, 0.0), rate_sigma: f64::INFINITY };

fn no_landmarks() -> WindowSettings {
    WindowSettings { landmarks: 0, ..WindowSettings::default() }
}

/// Runs a filter with a window; `see` makes the pixels of a frame, `each` sees step and state after each frame.
fn filter_run(
    (scenario, run): (&Scenario, &Run),
    (filter, settings): (Filter, WindowSettings),
    start: Nav,
    mut see: impl FnMut(&Frame, usize) -> Vec<Pixel>,
    mut each: impl FnMut(&Step, &State, usize),
) -> (Step, State) {
    let mut state = State::new(start, &scenario.start_covariance(), 80, &filter);
    state.gravity = scenario.gravity;
    let mut step = Step::new(filter).with_window(settings, 100);
    let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
    let mut frames = run.frames.iter().enumerate().peekable();
    for sample in &run.samples {
        integrator.push(*sample).unwrap();
        while let Some((number, frame)) = frames.next_if(|(_, frame)| frame.stamp <= sample.stamp) {
            let seen = see(frame, number);
            let mut all: Vec<&dyn Measurement> = seen.iter().map(|one| one as &dyn Measurement).collect();
            // A body that stands is found to.
            all.extend((frame.truth.velocity.norm() == 0.0).then_some(&AT_REST as &dyn Measurement));
            step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
            step.correct(&mut state, &all).unwrap();
            integrator.set_biases(state.nav.biases);
            each(&step, &state, number);
        }
    }
    (step, state)
}

fn short(motion: &str) -> Scenario {
    Scenario { duration_s: 4.0, points: 120, ..Scenario::new(motion) }
}

const FILTERS: [(&str, Filter); 3] =
    [("default", Filter::DEFAULT), ("group", Filter::GROUP), ("reduced", Filter::REDUCED)];

#[test]
fn estimates_turn_and_shift_with_the_world() {
    let scenario = short("hand");
    let run = simulate(&scenario, 1);
    let (turn, shift) = (So3::exp(&Vector3::new(0.0, 0.0, 2.0)), Vector3::new(3.0, -5.0, 1.0));
    for (name, filter) in FILTERS {
        let see = |frame: &Frame, number| tracked(&scenario, frame, number);
        let settings = WindowSettings::default();
        let (_, plain) = filter_run((&scenario, &run), (filter, settings), run.start, see, |_, _, _| ());
        let mut start = run.start;
        start.rotation = turn * start.rotation;
        start.velocity = turn * start.velocity;
        start.position = turn * start.position + shift;
        let (_, moved) = filter_run((&scenario, &run), (filter, settings), start, see, |_, _, _| ());
        let error = (turn * plain.nav.rotation * moved.nav.rotation.inverse()).log().norm()
            + (turn * plain.nav.velocity - moved.nav.velocity).norm()
            + (turn * plain.nav.position + shift - moved.nav.position).norm();
        // Updates by hundreds of rows: rounding adds up.
        assert!(error < 1e-7, "{name}: {error:e}");
    }
}

/// All that a run without noise knows comes from its start: the rows of all tracks by the errors of the start, along the
/// points where the filter linearizes. Four directions have to be missing, heading and position, and no other.
#[test]
fn four_directions_are_not_seen_along_a_run() {
    for (name, filter) in [("group", Filter::GROUP), ("reduced", Filter::REDUCED), ("ekf", Filter::EKF)] {
        let scenario = short("hand");
        let run = simulate(&scenario, 5);
        let mut state = State::new(run.start, &scenario.start_covariance(), 80, &filter);
        state.gravity = scenario.gravity;
        let mut step = Step::new(filter).with_window(no_landmarks(), 100);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let four = unobservable(&state, &filter);
        // What the errors of the state are by those of the start.
        let mut by_start = DMatrix::<f64>::identity(NAV, NAV);
        let mut information = DMatrix::<f64>::zeros(NAV, NAV);
        let (mut seen, mut rows) = (0.0_f64, 0);
        let mut frames = run.frames.iter().enumerate().peekable();
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some((number, frame)) = frames.next_if(|(_, frame)| frame.stamp <= sample.stamp) {
                let increment = integrator.take(frame.stamp).unwrap();
                by_start = transition_matrix(&state, &increment, &filter) * by_start;
                step.predict(&mut state, &increment);
                let measured = tracked(&scenario, frame, number);
                let all: Vec<&dyn Measurement> = measured.iter().map(|one| one as &dyn Measurement).collect();
                let before: Vec<(u64, [usize; 2])> = clones(&state);
                step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
                // The pose of now was cloned before the update: no error in relative errors, those of the pose in others.
                let mut with_new = by_start.clone().insert_rows(by_start.nrows(), 6, 0.0);
                if name == "ekf" {
                    let n = by_start.nrows();
                    with_new.rows_mut(n, 3).copy_from(&by_start.rows(6, 3));
                    with_new.rows_mut(n + 3, 3).copy_from(&by_start.rows(0, 3));
                }
                let rows_of = step.window.as_ref().unwrap().rows();
                for factors in rows_of.rows.chunks_exact(rows_of.columns.len().max(1)) {
                    let mut row = DMatrix::<f64>::zeros(1, NAV);
                    let factors = rows_of.columns.iter().zip(factors);
                    factors.for_each(|((c, _), factor)| row += with_new.row(*c) * *factor);
                    seen = seen.max((&row * &four).amax() / row.amax().max(1.0));
                    information += row.transpose() * &row;
                    rows += 1;
                }
                // Clones that are gone take their rows with them.
                let new = [(number as u64 + 1, [by_start.nrows(), by_start.nrows() + 3])];
                let all: Vec<_> = before.iter().chain(&new).copied().collect();
                let mut next = with_new.rows(0, NAV).into_owned().insert_rows(NAV, state.covariance.dim() - NAV, 0.0);
                for (id, rows) in clones(&state) {
                    let old = all.iter().find(|(own, _)| *own == id).unwrap().1;
                    for k in 0..2 {
                        next.rows_mut(rows[k], 3).copy_from(&with_new.rows(old[k], 3));
                    }
                }
                by_start = next;
            }
        }
        // Columns of length one.
        let scale: Vec<f64> = (0..NAV).map(|i| 1.0 / information[(i, i)].sqrt().max(1e-300)).collect();
        let scaled = DMatrix::from_fn(NAV, NAV, |i, j| information[(i, j)] * scale[i].min(1e9) * scale[j].min(1e9));
        let mut values: Vec<f64> = scaled.symmetric_eigenvalues().iter().map(|x| x.abs()).collect();
        values.sort_by(f64::total_cmp);
        println!("{name}: {rows} rows, seen {seen:e}, least {:?}", &values[..6]);
        assert!(rows > 500, "{name} {rows}");
        if name == "ekf" {
            assert!(values[3] > 1e-12, "{values:?}");
        } else {
            assert!(seen < 1e-9 && values[3] < 1e-13 && values[4] > 1e-10, "{name} {seen:e} {values:?}");
        }
    }
}

fn clones(state: &State) -> Vec<(u64, [usize; 2])> {
    let mut ids: Vec<u64> = state.landmarks.iter().filter(|part| !part.is_point()).map(|part| part.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| (id, find_clone(state, id).unwrap().rows)).collect()
}

/// Variances of the turn about the vertical and of the three shifts.
fn unseen_variances(state: &State, filter: &Filter) -> [f64; 4] {
    let p = state.nav_covariance(filter);
    [p[(2, 2)], p[(6, 6)], p[(7, 7)], p[(8, 8)]]
}

/// A robot that stands for a while, with biases that do not drift: nothing is learned of heading and position, and the
/// pose is where its covariance has it.
fn stand(duration_s: f64, tracks_end: bool) {
    let mut scenario = Scenario { points: 40, duration_s, frame_hz: 10, imu_hz: 100, ..Scenario::new("rest") };
    (scenario.noise.gyro_walk, scenario.noise.accelerometer_walk) = (0.0, 0.0);
    let mut run = simulate(&scenario, 4);
    (run.start.velocity, run.start.position) = (Vector3::zeros(), Vector3::zeros());
    for (name, filter) in FILTERS {
        let state = State::new(run.start, &scenario.start_covariance(), 1, &filter);
        let before = unseen_variances(&state, &filter);
        let (mut worst, mut least) = (0.0_f64, [f64::MAX; 4]);
        let see = |frame: &Frame, number: usize| {
            if tracks_end { tracked(&scenario, frame, number) } else { pixels(&scenario, frame) }
        };
        filter_run((&scenario, &run), (filter, WindowSettings::default()), run.start, see, |_, state, number| {
            let now = unseen_variances(state, &filter);
            (0..4).for_each(|k| least[k] = least[k].min(now[k] / before[k]));
            let truth = &run.frames[number].truth;
            let position = truth.position - state.nav.position;
            let turn = (truth.rotation * state.nav.rotation.inverse()).log();
            let error = Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
            let own = state.pose_covariance(&filter);
            worst = (0..6).map(|k| error[k].abs() / own[(k, k)].sqrt()).fold(worst, f64::max);
        });
        println!("{name}: least variance {least:?}, worst {worst:.2} σ");
        assert!(least.iter().all(|part| *part > 1.0 - 1e-9), "{name} {least:?}");
        assert!(worst < 3.0, "{name}: {worst} σ");
    }
}

#[test]
fn at_rest_for_ten_minutes_nothing_is_learned_of_heading_and_position() {
    stand(600.0, true);
}

#[test]
fn at_rest_tracks_that_stay_hold_the_pose() {
    stand(100.0, false);
}

#[test]
fn a_replay_gives_the_same_bits() {
    let scenario = short("drone");
    let run = simulate(&scenario, 7);
    let [first, second] = [(), ()].map(|()| {
        let mut bits = Vec::new();
        let see = |frame: &Frame, number| tracked(&scenario, frame, number);
        let settings = WindowSettings::default();
        filter_run((&scenario, &run), (Filter::DEFAULT, settings), run.start, see, |_, state, _| {
            bits.extend(state.nav.position.iter().map(|x| x.to_bits()));
            bits.extend(state.covariance.to_matrix().iter().map(|x| x.to_bits()));
        });
        bits
    });
    assert!(first == second);
}

/// Mean NEES of the pose and largest error of the position, m.
fn judge(
    scenario: &Scenario,
    seeds: std::ops::Range<u64>,
    see: impl Fn(&Frame, usize) -> Vec<Pixel> + Copy,
) -> (f64, f64) {
    let (mut sum, mut count, mut worst) = (0.0, 0.0, 0.0_f64);
    for seed in seeds {
        let run = simulate(scenario, seed);
        let filter = Filter::DEFAULT;
        filter_run((scenario, &run), (filter, WindowSettings::default()), run.start, see, |_, state, number| {
            let truth = &run.frames[number].truth;
            let position = truth.position - state.nav.position;
            let turn = (truth.rotation * state.nav.rotation.inverse()).log();
            let error = Vector6::new(position.x, position.y, position.z, turn.x, turn.y, turn.z);
            sum += error.dot(&state.pose_covariance(&filter).cholesky().unwrap().solve(&error));
            count += 1.0;
            worst = worst.max(position.norm());
        });
    }
    (sum / count, worst)
}

#[test]
fn the_window_is_consistent() {
    let scenario = Scenario { duration_s: 8.0, points: 120, ..Scenario::new("hand") };
    let (nees, worst) = judge(&scenario, 20..26, |frame, number| tracked(&scenario, frame, number));
    println!("NEES {nees:.2}, worst {worst:.3} m");
    assert!((3.0..9.5).contains(&nees) && worst < 0.2, "{nees} {worst}");
}

/// From their middle on, a fifth of all tracks are on another point.
#[test]
fn tracks_that_jump_to_another_point_do_no_harm() {
    let scenario = Scenario { duration_s: 8.0, points: 120, ..Scenario::new("hand") };
    let jumping = |frame: &Frame, number: usize| {
        let mut all = tracked(&scenario, frame, number);
        for pixel in &mut all {
            let Target::Landmark(track) = pixel.target else { continue };
            let age = (number as u64 + 7 * (track % 1000)) % 10;
            if track.is_multiple_of(5) && age >= 5 {
                pixel.pixel += Vector2::new(60.0, -45.0);
            }
        }
        all
    };
    let (clean, _) = judge(&scenario, 30..34, |frame, number| tracked(&scenario, frame, number));
    let (nees, worst) = judge(&scenario, 30..34, jumping);
    println!("NEES {nees:.2}, {clean:.2} without jumps, worst {worst:.3} m");
    assert!(nees < 1.5 * clean && worst < 0.25, "{nees} {clean} {worst}");
}

/// Pixels without meaning, thousands of tracks, two pixels of a point in one frame: the state stays small and finite.
#[test]
fn absurd_frames_leave_a_state_that_is_one() {
    let scenario = short("hand");
    let run = simulate(&scenario, 9);
    let mut normal = Normal::new(10);
    let see = |frame: &Frame, number: usize| {
        let mut all = tracked(&scenario, frame, number);
        let first = all[0];
        all.extend((0..2).map(|_| first));
        all.push(Pixel { pixel: Vector2::repeat(f64::NAN), target: Target::Landmark(900), ..first });
        all.push(Pixel { sigma: 0.0, target: Target::Landmark(901), ..first });
        for k in 0..1500 {
            let pixel = Vector2::new(normal.one(), normal.one()) * 200.0;
            all.push(Pixel { pixel, target: Target::Landmark(10_000 + k % (1 + number as u64 * 40)), ..first });
        }
        if number % 7 == 3 { Vec::new() } else { all }
    };
    let settings = WindowSettings { frames: 5, ..WindowSettings::default() };
    let most = 2 * settings.clones() + settings.landmarks;
    let (step, _) = filter_run((&scenario, &run), (Filter::DEFAULT, settings), run.start, see, |_, state, _| {
        assert!(state.nav.position.norm() < 10.0 && state.landmarks.len() <= most, "{}", state.landmarks.len());
        assert!(state.pose_covariance(&Filter::DEFAULT).cholesky().is_some());
    });
    assert!(step.window.unwrap().waiting() <= super::super::window::track::MOST_TRACKS);
    let longest = WindowSettings { frames: usize::MAX, ..settings };
    assert_eq!(Step::new(Filter::DEFAULT).with_window(longest, 1).window.unwrap().settings().frames, MOST_FRAMES);
}
