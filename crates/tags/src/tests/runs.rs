//! Tags: cameras, the two poses of a square, derivatives, what cannot be seen, and runs.

use super::common::{Normal, looks_along_x};
use crate::filter::{TagFilter, TagOptions};
use crate::joint::Joint;
use crate::landmark::{KnownTag, TagRows, append_known, append_seen, find, remove};
use crate::lens::{Distortion, Lens};
use crate::mounted::Term;
use crate::posterior::{Columns, maximize};
use crate::sight::{NUMBERS, Sight, moved};
use crate::square::solve;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::measurement::pixel::Pinhole;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{POSITION, ROTATION};
use lienav_inertial::state::nav::Nav;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{DMatrix, Matrix6, SVector, Vector2, Vector3, Vector6};
use std::collections::BTreeMap;

const LENSES: [Distortion; 3] = [
    Distortion::None,
    Distortion::PlumbBob([-0.16, 0.09, -2e-4, 3e-4, 0.01]),
    Distortion::Equidistant([-0.013, -0.0099, 0.012, -0.0045]),
];

fn lens(distortion: Distortion) -> Lens {
    Lens { pinhole: Pinhole { focal: Vector2::new(600.0, 610.0), centre: Vector2::new(640.0, 500.0) }, distortion }
}

/// A tag at this pose relative to the body, as a camera that looks along x sees it.
fn seen(id: u64, tag: &Se3, distortion: Distortion, noise_px: f64, normal: &mut Normal) -> Option<Sight> {
    square(id, (tag, Se3::identity()), distortion, noise_px, normal)
}

/// The same of a square somewhere on a tag.
fn square(
    id: u64,
    (tag, on_tag): (&Se3, Se3),
    distortion: Distortion,
    noise_px: f64,
    normal: &mut Normal,
) -> Option<Sight> {
    let on_body = Se3::new(looks_along_x(), Vector3::new(0.1, 0.02, -0.03));
    let (size_m, sigma) = (0.15, noise_px.max(0.1));
    let corners = [Vector2::zeros(); 4];
    let mut sight = Sight { id, lens: lens(distortion), on_body, mount: None, on_tag, size_m, corners, sigma };
    for k in 0..4 {
        let x = on_body.inverse().transform(&tag.transform(&sight.corner(k)));
        let noise = Vector2::new(normal.one(), normal.one()) * noise_px;
        sight.corners[k] = sight.lens.project(&x)?.0 + noise;
    }
    sight.is_valid().then_some(sight)
}

/// A tag before the body, turned to it by some angle.
fn before(normal: &mut Normal, range_m: f64) -> Se3 {
    let facing = looks_along_x() * So3::exp(&normal.vector(0.5));
    Se3::new(facing, Vector3::new(range_m, 0.0, 0.0) + normal.vector(0.3))
}

#[test]
fn lenses_have_the_derivatives_of_their_projection_and_an_inverse() {
    let mut normal = Normal::new(1);
    for distortion in LENSES {
        let lens = lens(distortion);
        for _ in 0..200 {
            let x = Vector3::new(0.0, 0.0, 2.0) + normal.vector(0.5);
            let Some((pixel, by_x)) = lens.project(&x) else { continue };
            let back = lens.normalized(&pixel).unwrap();
            assert!((back - x.xy() / x.z).norm() < 1e-8, "{distortion:?} {x}");
            for k in 0..3 {
                let mut h = Vector3::zeros();
                h[k] = 1e-6;
                let slope = (lens.project(&(x + h)).unwrap().0 - lens.project(&(x - h)).unwrap().0) / 2e-6;
                assert!((slope - by_x.column(k)).norm() < 1e-4, "{distortion:?} {k}");
            }
        }
        assert!(lens.project(&Vector3::new(0.1, 0.0, -1.0)).is_none());
        assert!(lens.project(&Vector3::new(f64::NAN, 0.0, 1.0)).is_none());
    }
    assert!(lens(LENSES[1]).normalized(&Vector2::new(1e9, -1e9)).is_none());
    assert!(lens(LENSES[2]).normalized(&Vector2::new(1e9, f64::NAN)).is_none());
}

/// The derivative of what is expected, by shifts and turns of the tag.
#[test]
fn corners_have_the_derivatives_of_their_expectation() {
    let mut normal = Normal::new(2);
    for distortion in LENSES {
        let tag = before(&mut normal, 2.0);
        let sight = seen(1, &tag, distortion, 0.0, &mut normal).unwrap();
        let off = moved(&tag, &Vector6::from_fn(|_, _| 0.02 * normal.one()));
        let (_, by_pose) = sight.see(&off).unwrap();
        for k in 0..6 {
            let step = |h: f64| Vector6::from_fn(|i, _| if i == k { h } else { 0.0 });
            let [plus, minus] = [1e-6, -1e-6].map(|h| sight.see(&moved(&off, &step(h))).unwrap().0);
            let slope = (minus - plus) / 2e-6;
            assert!((slope - by_pose.column(k)).norm() < 1e-3 * by_pose.column(k).norm().max(1.0), "{k}");
        }
    }
}

/// Without noise, one of the two poses of a square is that of the tag, whatever its attitude.
#[test]
fn one_of_the_two_poses_of_a_square_is_the_true_one() {
    let mut normal = Normal::new(3);
    let mut flipped = 0;
    for n in 0..400 {
        let tag = before(&mut normal, 1.0 + 0.01 * f64::from(n));
        let Some(sight) = seen(1, &tag, LENSES[n as usize % 3], 0.0, &mut normal) else { continue };
        let solutions = solve(&sight).unwrap();
        let off = |pose: &Se3| (pose.rotation * tag.rotation.inverse()).log().norm();
        let best = &solutions.best;
        assert!(off(&best.pose) < 1e-4 && best.cost < 1e-6, "{n} {} {}", off(&best.pose), best.cost);
        assert!((best.pose.translation - tag.translation).norm() < 1e-4);
        flipped += usize::from(solutions.other.is_some_and(|other| off(&other.pose) > 0.1 && other.cost < 100.0));
    }
    assert!(flipped > 100, "far tags have a second pose of nearly the same corners: {flipped}");
}

/// The squares of a board, which is one landmark: each shows the pose of the board, and where one alone has two poses, all
/// of them have one.
#[test]
fn squares_of_a_board_show_one_pose_of_the_board() {
    let mut normal = Normal::new(31);
    let (mut alone, mut together) = (0, 0);
    for n in 0..60 {
        let board = before(&mut normal, 4.0);
        let places = [[0.0, 0.0], [0.3, 0.0], [0.0, 0.3], [0.3, 0.3]];
        let places = places.map(|[x, y]| Se3::new(So3::identity(), Vector3::new(x, y, 0.0)));
        let exact: Vec<_> =
            places.iter().filter_map(|place| square(7, (&board, *place), LENSES[n % 3], 0.0, &mut normal)).collect();
        for sight in &exact {
            let solutions = solve(sight).unwrap();
            let of_board = [Some(solutions.best), solutions.other].into_iter().flatten();
            let off = |pose: &Se3| (board.inverse() * *pose).log().norm();
            assert!(of_board.map(|fit| off(&fit.pose)).fold(f64::INFINITY, f64::min) < 1e-4, "{n}");
        }
        let noisy: Vec<_> =
            places.iter().filter_map(|place| square(7, (&board, *place), LENSES[n % 3], 0.3, &mut normal)).collect();
        let initialize = |sights: &[Sight]| {
            let mut state = at_the_origin();
            TagFilter::new(BTreeMap::new(), TagOptions::default()).correct(&mut state, sights);
            // One of two poses has a rotation that is known to a radian.
            let is_clear = |found: &TagRows| state.covariance.get(found.rows[1], found.rows[1]) < 0.1;
            find(&state, 7).filter(is_clear).map(|found| found.pose)
        };
        alone += usize::from(initialize(&noisy[..1]).is_some());
        if let Some(pose) = initialize(&noisy) {
            together += 1;
            let off = (board.inverse() * pose).log().norm();
            assert!(off < 0.4, "{n}: {off}");
        }
    }
    assert!(together > alone + 10, "{alone} {together}");
}

/// A state at the origin.
fn at_the_origin() -> State {
    let mut state = State::new(Nav::default(), &(NavMatrix::identity() * 1e-8), 10, &Filter::GROUP);
    state.gravity = 0.0;
    state
}

/// A state with two tags, in a random place, with a random covariance.
fn with_tags(normal: &mut Normal) -> (State, [Se3; 2]) {
    let filter = Filter::GROUP;
    let mut state = normal.state(&filter);
    state.gravity = 0.0;
    let tags = [before(normal, 2.0), before(normal, 3.0)];
    for (id, tag) in tags.iter().enumerate() {
        let root = Matrix6::from_fn(|_, _| 0.02 * normal.one());
        append_seen(&mut state, id as u64, tag, &(root * root.transpose() + Matrix6::identity() * 1e-4), None);
    }
    // What the robot does between makes all of it correlated.
    let filter = TagFilter::new(BTreeMap::new(), TagOptions::default());
    filter.coast(&mut state, 0.1);
    let body = Se3::new(state.nav.rotation, state.nav.position).inverse();
    let seen = [0, 1].map(|id| body * find(&state, id).unwrap().pose);
    (state, seen)
}

/// y moves the pose of a tag as the correction of the whole state does, and the derivatives are those of that.
#[test]
fn six_numbers_do_to_a_tag_what_the_correction_of_the_state_does() {
    let mut normal = Normal::new(4);
    let filter = Filter::GROUP;
    for _ in 0..20 {
        let (state, tags) = with_tags(&mut normal);
        let world = Se3::new(state.nav.rotation, state.nav.position) * tags[1];
        for is_known in [false, true] {
            let joint = if is_known {
                Joint::of_known(&state, &world, None)
            } else {
                Joint::of_state(&state, &find(&state, 1).unwrap(), None).unwrap()
            };
            let weights = Vector6::from_fn(|i, _| normal.one() * 0.3 / joint.prior[(i, i)].sqrt());
            let y = joint.prior * weights;
            let n = state.covariance.dim();
            let delta: Vec<f64> = (0..n)
                .map(|i| (0..6).map(|k| state.covariance.get(i, joint.numbers.own.rows[k]) * weights[k]).sum())
                .collect();
            let mut after = state.clone();
            after.boxplus(&delta, &filter, &mut Vec::new());
            let place = if is_known { world } else { find(&after, 1).unwrap().pose };
            let expected = Se3::new(after.nav.rotation, after.nav.position).inverse() * place;
            let (pose, by_y) = joint.pose(&y);
            assert!((pose.translation - expected.translation).norm() < 1e-10);
            assert!((pose.rotation * expected.rotation.inverse()).log().norm() < 1e-10);
            assert!((joint.numbers_of(&pose) - y).norm() < 1e-6 * (1.0 + y.norm()), "{is_known}");
            for k in 0..6 {
                let step = |h: f64| joint.pose(&(y + Vector6::from_fn(|i, _| if i == k { h } else { 0.0 }))).0;
                let [plus, minus] = [step(1e-6), step(-1e-6)];
                let shift = (plus.translation - minus.translation) / 2e-6;
                let turn = (plus.rotation * minus.rotation.inverse()).log() / 2e-6;
                let slope = Vector6::new(shift.x, shift.y, shift.z, turn.x, turn.y, turn.z);
                // Of a tag in the state, the turn of the body enters to first order only.
                let bound = if is_known { 1e-6 } else { 0.02 };
                assert!((slope - by_y.column(k)).norm() < bound * by_y.column(k).norm().max(1.0), "{is_known} {k}");
            }
        }
    }
}

/// A state without tags whose body has two cameras with errors.
fn with_mounts(normal: &mut Normal) -> State {
    let mounts = [0, 1].map(|_| Se3::new(looks_along_x() * So3::exp(&normal.vector(0.3)), normal.vector(0.5)));
    let root = DMatrix::from_fn(12, 12, |_, _| 0.01 * normal.one());
    let covariance: DMatrix<f64> = &root * root.transpose() + DMatrix::identity(12, 12) * 1e-5;
    let mut state = normal.state(&Filter::GROUP);
    state.gravity = 0.0;
    append_seen(&mut state, 9, &before(normal, 3.0), &(Matrix6::identity() * 1e-4), None);
    let alone = state.covariance.to_matrix();
    state.add_mounts(&mounts[..1], &covariance.view((0, 0), (6, 6)).into_owned());
    state.add_mounts(&mounts[1..], &covariance.view((6, 6), (6, 6)).into_owned());
    let all = state.covariance.to_matrix();
    let head = state.covariance.head();
    let is_mount = |i: &usize| (head - 12..head).contains(i);
    let others: Vec<usize> = (0..all.nrows()).filter(|i| !is_mount(i)).collect();
    assert_eq!(all.select_rows(&others).select_columns(&others), alone);
    assert_eq!(state.mount_covariance().view((6, 6), (6, 6)), covariance.view((6, 6), (6, 6)));
    assert_eq!([state.mount_row(0), state.mount_row(1)], [head - 12, head - 6]);
    state
}

/// What errors of a mount do to the six numbers of a tag is what they do to the tag in the image.
#[test]
fn six_numbers_have_the_errors_of_a_mount() {
    let mut normal = Normal::new(41);
    for _ in 0..20 {
        let mut state = with_mounts(&mut normal);
        let seen = before(&mut normal, 2.0);
        append_seen(&mut state, 1, &seen, &(Matrix6::identity() * 1e-4), Some(1));
        let tag = find(&state, 1).unwrap();
        for is_known in [false, true] {
            let joint = if is_known {
                Joint::of_known(&state, &tag.pose, Some(1))
            } else {
                Joint::of_state(&state, &tag, Some(1)).unwrap()
            };
            let Term { rows, by } = joint.numbers.mount.unwrap();
            let (first, by) = (rows[0], by.unwrap());
            let in_camera = |state: &State, mount: &Se3, place: &Se3| {
                (Se3::new(state.nav.rotation, state.nav.position) * *mount).inverse() * *place
            };
            for k in 0..6 {
                let change = |h: f64| {
                    let mut delta = vec![0.0; state.covariance.dim()];
                    delta[first + k] = h;
                    let mut after = state.clone();
                    after.boxplus(&delta, &Filter::GROUP, &mut Vec::new());
                    let expected = in_camera(&after, &after.mounts[1], &tag.pose);
                    let numbers = state.mounts[1].inverse() * joint.pose(&(by.column(k) * h)).0;
                    (numbers.inverse() * expected).log().norm()
                };
                assert!(change(1e-4) < 1e-7, "{is_known} {k} {:e}", change(1e-4));
            }
        }
    }
}

/// How well a camera sees a new tag has nothing to do with how well its own place on the body is known; how well the body
/// knows the tag has.
#[test]
fn a_new_tag_is_as_uncertain_for_its_camera_as_its_corners() {
    let mut normal = Normal::new(42);
    let mut state = with_mounts(&mut normal);
    let seen = before(&mut normal, 2.0);
    let root = Matrix6::from_fn(|_, _| 0.02 * normal.one());
    let own = root * root.transpose() + Matrix6::identity() * 1e-4;
    append_seen(&mut state, 1, &seen, &own, Some(0));
    let tag = find(&state, 1).unwrap();
    // (δz, φ) in the axes of the body, of Exp(y) T̂.
    let seen_by = |mount: Option<usize>| {
        let joint = Joint::of_state(&state, &tag, mount).unwrap();
        let (_, by_y) = joint.pose(&Vector6::zeros());
        by_y * joint.prior * by_y.transpose()
    };
    assert!((seen_by(Some(0)) - own).amax() < 1e-10 * own.amax());
    assert!((seen_by(None) - own).symmetric_eigenvalues().min() > 0.0, "wider");
    // What the covariance with the other numbers is shows in a posterior: that of the whole state.
    let joint = Joint::of_state(&state, &tag, Some(1)).unwrap();
    let camera = Se3::new(looks_along_x(), Vector3::new(0.1, 0.02, -0.03));
    let view = state.mounts[1].inverse() * joint.pose(&Vector6::zeros()).0;
    let mut sight = self::seen(1, &(camera * view), Distortion::None, 0.0, &mut normal).unwrap();
    (sight.on_body, sight.mount) = (state.mounts[1], Some(1));
    let found = maximize(&sight, &joint, &Vector6::zeros()).unwrap();
    let mut after = state.clone();
    Columns::default().apply(&mut after, &joint, &found, &Filter::GROUP);
    let (pose, by_y) = joint.pose(&found.y);
    let h_y = sight.see(&pose).unwrap().1 * by_y;
    let p = state.covariance.to_matrix();
    let mut h = DMatrix::zeros(NUMBERS, p.nrows());
    for Term { rows, by } in [joint.numbers.own, joint.numbers.mount.unwrap()] {
        let h_rows = h_y * by.unwrap();
        (0..6).for_each(|k| h.column_mut(rows[k]).copy_from(&h_rows.column(k)));
    }
    let s = &h * &p * h.transpose() + DMatrix::identity(NUMBERS, NUMBERS);
    let expected = &p - &p * h.transpose() * s.try_inverse().unwrap() * &h * &p;
    let error = (after.covariance.to_matrix() - &expected).norm() / expected.norm();
    assert!(error < 1e-4, "{error:e}");
}

/// Corners have no column of heading and position: what is known of a turn about the vertical and of shifts is, after
/// motion and measurements, not more than before, and a world that is turned and shifted has the same run.
#[test]
fn nothing_is_learned_about_heading_and_position() {
    let mut normal = Normal::new(5);
    let (mut state, tags) = with_tags(&mut normal);
    let n = state.covariance.dim();
    let mut free = DMatrix::zeros(n, 4);
    free[(ROTATION + 2, 0)] = 1.0;
    (0..3).for_each(|k| free[(POSITION + k, 1 + k)] = 1.0);
    let known = |state: &State| {
        let inverse = state.covariance.to_matrix().cholesky().unwrap().inverse();
        (free.transpose() * inverse * &free).symmetric_eigenvalues()
    };
    let h = 1e-5;
    for k in 0..4 {
        // The finite form of the law: a state that is moved along a free direction sees the same.
        let delta: Vec<f64> = (0..n).map(|i| free[(i, k)] * h).collect();
        let mut moved = state.clone();
        moved.boxplus(&delta, &Filter::GROUP, &mut Vec::new());
        for id in 0..2 {
            let relative = |state: &State| {
                Se3::new(state.nav.rotation, state.nav.position).inverse() * find(state, id).unwrap().pose
            };
            let (a, b) = (relative(&state), relative(&moved));
            assert!((a.translation - b.translation).norm() < 1e-12, "{k}");
            assert!((a.rotation * b.rotation.inverse()).log().norm() < 1e-12, "{k}");
        }
    }
    let before = known(&state);
    let mut filter = TagFilter::new(BTreeMap::new(), TagOptions::default());
    for _ in 0..5 {
        let body = Se3::new(state.nav.rotation, state.nav.position).inverse();
        let sights: Vec<Sight> = (0..2)
            .filter_map(|id| seen(id, &(body * find(&state, id)?.pose), Distortion::None, 0.3, &mut normal))
            .collect();
        assert!(filter.correct(&mut state, &sights).used > 0);
    }
    let after = known(&state);
    assert!((&after - &before).amax() < 1e-6 * before.amax(), "corners: {before} {after}");
    let _ = tags;
    filter.coast(&mut state, 0.1);
    assert!(known(&state).max() <= before.max() * (1.0 + 1e-9));
}

/// A posterior is that of all numbers at once.
#[test]
fn a_posterior_is_an_update_of_the_whole_state() {
    let mut normal = Normal::new(6);
    let (state, tags) = with_tags(&mut normal);
    let sight = seen(0, &moved(&tags[0], &Vector6::repeat(1e-3)), Distortion::None, 0.0, &mut normal).unwrap();
    let joint = Joint::of_state(&state, &find(&state, 0).unwrap(), None).unwrap();
    let found = maximize(&sight, &joint, &Vector6::zeros()).unwrap();
    let mut after = state.clone();
    Columns::default().apply(&mut after, &joint, &found, &Filter::GROUP);
    let (pose, by_y) = joint.pose(&found.y);
    let h_y = sight.see(&pose).unwrap().1 * by_y;
    let p = state.covariance.to_matrix();
    let mut h = DMatrix::zeros(NUMBERS, p.nrows());
    (0..6).for_each(|k| h.column_mut(joint.numbers.own.rows[k]).copy_from(&h_y.column(k)));
    let s = &h * &p * h.transpose() + DMatrix::identity(NUMBERS, NUMBERS);
    let expected = &p - &p * h.transpose() * s.try_inverse().unwrap() * &h * &p;
    let error = (after.covariance.to_matrix() - &expected).norm() / expected.norm();
    assert!(error < 1e-4, "{error:e}");
    remove(&mut after, 0);
    assert_eq!(after.landmarks.len(), 2);
}

/// A tag of a map is where the map has it, whatever the pose of the body.
#[test]
fn a_tag_of_a_map_has_the_covariance_of_the_map_in_the_world() {
    let mut normal = Normal::new(7);
    let mut state = normal.state(&Filter::GROUP);
    let pose = Se3::new(So3::exp(&normal.vector(1.0)), normal.vector(4.0));
    append_known(&mut state, 3, &KnownTag { pose, sigma: (0.05, 0.1) });
    // ξ_i of the tag in the world: e_i + ξ_p − p̂_i^ ξ_R, and a_i + ξ_R.
    let row = state.covariance.row_of(0);
    let n = state.covariance.dim();
    let mut to_world = DMatrix::zeros(6, n);
    for k in 0..3 {
        to_world[(k, row + k)] = 1.0;
        to_world[(k, POSITION + k)] = 1.0;
        to_world[(3 + k, row + 3 + k)] = 1.0;
        to_world[(3 + k, ROTATION + k)] = 1.0;
    }
    let arm = -lienav_lie::hat(&pose.translation);
    to_world.view_mut((0, ROTATION), (3, 3)).copy_from(&arm);
    let covariance = &to_world * state.covariance.to_matrix() * to_world.transpose();
    let expected = DMatrix::from_fn(6, 6, |i, j| {
        if i != j {
            0.0
        } else if i < 3 {
            0.01
        } else {
            0.0025
        }
    });
    assert!((covariance - expected).amax() < 1e-12);
}

/// A camera that moves among tags, all unknown but for the start: no flip gets into the pose, and the covariance is true.
#[test]
fn runs_among_unknown_tags_are_consistent_and_take_no_wrong_pose() {
    let (mut sum, mut count) = (0.0, 0.0);
    for seed in 0..6 {
        let mut normal = Normal::new(100 + seed);
        let tags: Vec<Se3> = (0..12)
            .map(|_| {
                let mut tag = before(&mut normal, 3.0);
                tag.translation += normal.vector(0.8).component_mul(&Vector3::new(0.3, 1.0, 0.6));
                tag
            })
            .collect();
        let sigma = [0.01, 0.5, 0.01, 0.5, 0.0];
        let start = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| f64::powi(sigma[i / 3], 2)));
        let truth = |t: f64| {
            let p = Vector3::new((0.7 * t).sin() * 0.8, (0.5 * t).sin(), 0.3 * (0.9 * t).sin());
            Se3::new(So3::exp(&Vector3::new(0.1 * t.sin(), 0.1 * (1.3 * t).sin(), 0.2 * (0.6 * t).sin())), p)
        };
        let first = moved(&truth(0.0), &Vector6::from_fn(|_, _| 0.01 * normal.one()));
        let nav = Nav { rotation: first.rotation, position: first.translation, ..Nav::default() };
        let mut filter = TagFilter::new(BTreeMap::new(), TagOptions::default());
        let mut state = State::new(nav, &start, 40, &filter.filter);
        state.gravity = 0.0;
        for n in 0..150 {
            let t = 0.05 * f64::from(n);
            if n > 0 {
                filter.coast(&mut state, 0.05);
            }
            let body = truth(t);
            let sights: Vec<Sight> = tags
                .iter()
                .enumerate()
                .filter_map(|(id, tag)| seen(id as u64, &(body.inverse() * *tag), LENSES[1], 0.4, &mut normal))
                .collect();
            filter.correct(&mut state, &sights);
            let shift = body.translation - state.nav.position;
            let turn = (body.rotation * state.nav.rotation.inverse()).log();
            // Until the first tags are clear, the body coasts; then a wrong pose of a tag would move it by decimetres.
            let is_begun = n > 40;
            assert!(!is_begun || shift.norm() < 0.15 && turn.norm() < 0.1, "{seed} {n}: {shift} {turn}");
            let error = Vector6::new(shift.x, shift.y, shift.z, turn.x, turn.y, turn.z);
            if n % 10 == 0 {
                let covariance = state.pose_covariance(&filter.filter);
                sum += error.dot(&covariance.cholesky().unwrap().solve(&error));
                count += 1.0;
            }
        }
        for (id, tag) in tags.iter().enumerate() {
            if let Some(found) = find(&state, id as u64) {
                let off = (found.pose.rotation * tag.rotation.inverse()).log().norm();
                assert!(off < 0.2, "{seed} tag {id}: {off}");
            }
        }
        assert!(state.landmarks.len() >= 12, "{}", state.landmarks.len());
    }
    let nees = sum / count;
    assert!((3.0..9.0).contains(&nees), "{nees}");
}

#[test]
fn absurd_corners_are_no_tags_and_nothing_panics() {
    let mut normal = Normal::new(8);
    let tag = before(&mut normal, 2.0);
    let good = seen(1, &tag, Distortion::None, 0.0, &mut normal).unwrap();
    let mut filter = TagFilter::new(BTreeMap::new(), TagOptions::default());
    let mut state = normal.state(&filter.filter);
    for damage in 0..6 {
        let mut sight = good;
        match damage {
            0 => sight.corners[2].x = f64::NAN,
            1 => sight.corners.swap(0, 1),
            2 => sight.corners = [Vector2::zeros(); 4],
            3 => sight.corners[0] = Vector2::new(1e30, 1e30),
            4 => sight.size_m = 0.0,
            _ => sight.sigma = f64::INFINITY,
        }
        assert!(!sight.is_valid(), "{damage}");
        let _ = solve(&sight);
        let _ = filter.correct(&mut state, &[sight, sight, good]);
        assert!(state.nav.position.iter().all(|x| x.is_finite()), "{damage}");
    }
}
