//! Formulas of the window, one by one.

use super::information::Information;
use super::parallax::baseline_sigma;
use super::project::Projection;
use super::triangulate::{far, triangulate};
use crate::clone::{PoseClone, clone_pose, find_clone};
use crate::covariance::NAV;
use crate::filter::Filter;
use crate::measurement::View;
use crate::propagate::propagate;
use crate::sight::{Sight, axes};
use crate::state::State;
use crate::tests::common::{Normal, looks_along_x};
use crate::update::Workspace;
use crate::update::dense::update_dense;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{DMatrix, DVector, Vector2, Vector3};

const SIGMA: f64 = 1.0 / 400.0;
const CLONES: usize = 6;

/// A state with clones on a way of its own, and a point in view of all.
struct Scene {
    state: State,
    clones: Vec<PoseClone>,
    point: Vector3<f64>,
    camera: Se3,
}

impl Scene {
    fn new(seed: u64, filter: &Filter) -> Self {
        let mut normal = Normal::new(seed);
        let mut state = normal.state(2, filter);
        let sideways = state.nav.rotation * Vector3::new(0.0, 4.0, 1.0);
        for id in 0..CLONES as u64 {
            state.nav.velocity = sideways + normal.vector(0.3);
            let increment = normal.increment(state.nav.biases);
            propagate(&mut state, &increment, filter);
            clone_pose(&mut state, 200 + id, filter);
        }
        // Of now again: the first clones have errors relative to it.
        let increment = normal.increment(state.nav.biases);
        propagate(&mut state, &increment, filter);
        let clones: Vec<_> = (0..CLONES as u64).map(|id| find_clone(&state, 200 + id).unwrap()).collect();
        let middle = &clones[CLONES / 2];
        let point = middle.position + middle.rotation * (Vector3::x() * 5.0 + normal.vector(0.3));
        let camera = Se3::new(looks_along_x() * So3::exp(&normal.vector(0.05)), normal.vector(0.05));
        Self { state, clones, point, camera }
    }

    fn sight(&self, clone: &PoseClone, error: Vector2<f64>, filter: &Filter) -> Sight {
        let exact = View { camera: self.camera, normalized: Vector2::zeros(), sigma: Vector2::repeat(1.0) };
        let sight = Sight::of_clone(clone, exact, filter);
        let (residual, _) = sight.see(&self.point).unwrap();
        let view = View { normalized: error - residual, sigma: Vector2::repeat(SIGMA), ..exact };
        Sight { view, ..sight }
    }

    fn sights(&self, normal: &mut Normal, noise: f64, filter: &Filter) -> Vec<Sight> {
        let draw = |normal: &mut Normal| Vector2::new(normal.one(), normal.one()) * noise;
        self.clones.iter().map(|clone| self.sight(clone, draw(normal), filter)).collect()
    }
}

/// What is expected minus what the camera of a clone sees, whitened, after an error of the state and of the point.
fn residual(
    scene: &Scene,
    state: &State,
    id: u64,
    shift: &Vector3<f64>,
    sight: &Sight,
    filter: &Filter,
) -> Vector2<f64> {
    let moved = Sight::of_clone(&find_clone(state, id).unwrap(), sight.view, filter);
    // The error of a landmark is relative to the body of now, in the group's coordinates: see `state::errors`.
    let turn = state.nav.rotation * scene.state.nav.rotation.inverse();
    let shift = axes(&scene.state, filter) * shift;
    let relative = turn * (scene.point - scene.state.nav.position) + turn * shift;
    moved.see(&(state.nav.position + relative)).unwrap().0
}

#[test]
fn rows_are_derivatives_of_the_pixels() {
    for (name, filter) in [("group", Filter::GROUP), ("reduced", Filter::REDUCED)] {
        let scene = Scene::new(3, &filter);
        let sights = scene.sights(&mut Normal::new(4), SIGMA, &filter);
        let slots: Vec<usize> = (0..CLONES).collect();
        let mut projection = Projection::default();
        let by_place: Vec<_> =
            sights.iter().map(|sight| sight.derivative(&scene.point).unwrap() * axes(&scene.state, &filter)).collect();
        assert!(projection.fill(&sights, &slots, &scene.point, &axes(&scene.state, &filter)));
        let h = 1e-6;
        for (k, sight) in sights.iter().enumerate() {
            let id = 200 + k as u64;
            for row in 0..scene.state.covariance.dim() {
                let [plus, minus] = [h, -h].map(|by| {
                    let mut delta = vec![0.0; scene.state.covariance.dim()];
                    delta[row] = by;
                    let mut moved = scene.state.clone();
                    moved.boxplus(&delta, &filter, &mut Vec::new());
                    residual(&scene, &moved, id, &Vector3::zeros(), sight, &filter)
                });
                let numeric = (minus - plus) / (2.0 * h);
                let column = (0..6).find(|c| scene.clones[k].rows[c / 3] + c % 3 == row);
                let expected = column.map_or(Vector2::zeros(), |c| projection.h[k].column(c).into_owned());
                assert!((numeric - expected).norm() < 1e-5 / SIGMA * 1e-2, "{name} {k} {row} {numeric} {expected}");
            }
            for c in 0..3 {
                let shift = Vector3::from_fn(|i, _| if i == c { h } else { 0.0 });
                let [plus, minus] =
                    [shift, -shift].map(|shift| residual(&scene, &scene.state, id, &shift, sight, &filter));
                let numeric = (minus - plus) / (2.0 * h);
                assert!((numeric - by_place[k].column(c)).norm() < 1e-5, "{name} {k} {c}");
            }
        }
    }
}

/// The update by a track is that of a filter that has the landmark in its state and knows nothing of it before.
#[test]
fn a_track_is_an_update_with_a_landmark_of_unknown_place() {
    for (name, filter) in [("group", Filter::GROUP), ("reduced", Filter::REDUCED), ("ekf", Filter::EKF)] {
        let mut scene = Scene::new(5, &filter);
        let sights = scene.sights(&mut Normal::new(6), SIGMA, &filter);
        let slots: Vec<usize> = (0..CLONES).collect();
        let place = triangulate(&sights).unwrap().place;
        let mut projection = Projection::default();
        let axes = axes(&scene.state, &filter);
        // Before the columns are made orthonormal.
        let by_place: Vec<_> = sights.iter().map(|sight| sight.derivative(&place).unwrap() * axes).collect();
        assert!(projection.fill(&sights, &slots, &place, &axes));

        // The information of all with the landmark: prior of the state, none of the landmark.
        let (n, rows) = (scene.state.covariance.dim(), 2 * CLONES);
        let (mut all, mut r) = (DMatrix::<f64>::zeros(rows, n + 3), DVector::<f64>::zeros(rows));
        for k in 0..CLONES {
            for a in 0..2 {
                (0..6).for_each(|c| all[(2 * k + a, scene.clones[k].rows[c / 3] + c % 3)] = projection.h[k][(a, c)]);
                (0..3).for_each(|c| all[(2 * k + a, n + c)] = by_place[k][(a, c)]);
                r[2 * k + a] = projection.residual[k][a];
            }
        }
        // P may be singular: P⁺ = P − P Hᵀ (H P Hᵀ + I + F D Fᵀ)⁻¹ H P, D → ∞, whose inverse is V⁻¹ − V⁻¹F(FᵀV⁻¹F)⁻¹FᵀV⁻¹.
        let p = scene.state.covariance.to_matrix();
        let (h, f) = (all.columns(0, n).into_owned(), all.columns(n, 3).into_owned());
        let v = &h * &p * h.transpose() + DMatrix::identity(rows, rows);
        let inverse = v.try_inverse().unwrap();
        let middle = (f.transpose() * &inverse * &f).try_inverse().unwrap();
        let inverse = &inverse - &inverse * &f * middle * f.transpose() * &inverse;
        let gain = &p * h.transpose() * &inverse;
        let (expected, delta) = (&p - &gain * &h * &p, &gain * &r);
        let distance = (r.transpose() * &inverse * &r)[0];

        let n6 = 6 * CLONES;
        let row = |k: usize| scene.clones[k / 6].rows[k % 6 / 3] + k % 3;
        let prior: Vec<f64> = (0..n6 * n6).map(|k| p[(row(k / n6), row(k % n6))]).collect();
        let own = projection.distance(&prior, CLONES).unwrap();
        assert!((own - distance).abs() < 1e-8 * distance, "{name} {own} {distance}");

        let mut information = Information::new(CLONES);
        information.begin(CLONES);
        projection.add_to(&mut information);
        assert_eq!(information.solve(&scene.clones), rows - 3, "{name}");
        let mut moved = scene.state.clone();
        let mut work = Workspace::default();
        let nis = update_dense(&mut moved, &information.rows(), &filter, &mut work).unwrap();
        assert!((nis - distance).abs() < 1e-7 * distance, "{name} {nis} {distance}");
        let error = (moved.covariance.to_matrix() - &expected).amax();
        assert!(error < 1e-10 * expected.amax(), "{name} {error:e}");
        scene.state.boxplus(delta.as_slice(), &filter, &mut Vec::new());
        assert!((scene.state.nav.position - moved.nav.position).norm() < 1e-9, "{name}");
        assert!((scene.state.nav.velocity - moved.nav.velocity).norm() < 1e-9, "{name}");
        // In relative errors, what does not move with the clones has no column at all.
        let is_relative = name != "ekf";
        assert!(!is_relative || information.rows().columns.iter().all(|(column, _)| *column >= NAV), "{name}");
    }
}

/// The range's uncertainty is that of many draws, and a point that nothing shows the range of has none.
#[test]
fn a_point_is_found_with_the_certainty_that_it_has() {
    let filter = Filter::GROUP;
    let scene = Scene::new(7, &filter);
    let mut normal = Normal::new(8);
    let exact = triangulate(&scene.sights(&mut normal, 0.0, &filter)).unwrap();
    assert!((exact.place - scene.point).norm() < 1e-8, "{exact:?}");
    let inverse = |place: &Vector3<f64>| {
        let camera = scene.clones[CLONES - 1].rotation * scene.camera.rotation;
        1.0 / camera.rotate_back(&(place - exact.sensor)).z
    };
    let draws: Vec<f64> =
        (0..2000).map(|_| inverse(&triangulate(&scene.sights(&mut normal, SIGMA, &filter)).unwrap().place)).collect();
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    let sigma = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64).sqrt();
    let stated = exact.sigma * inverse(&exact.place);
    assert!((sigma / stated - 1.0).abs() < 0.1, "{sigma} {stated}");

    let here = scene.sight(&scene.clones[0], Vector2::zeros(), &filter);
    let still = triangulate(&[here; 5]);
    assert!(still.is_none_or(|found| found.sigma > 10.0), "{still:?}");
    // Pixels that show a point behind the camera.
    let mut crossed = scene.sights(&mut normal, 0.0, &filter);
    crossed.reverse();
    for (a, b) in scene.sights(&mut normal, 0.0, &filter).iter().zip(&mut crossed) {
        b.view = a.view;
    }
    assert!(triangulate(&crossed).is_none());
}

/// One pixel of ten that is far off moves the point little.
#[test]
fn a_wild_pixel_does_not_move_the_point() {
    let filter = Filter::GROUP;
    let scene = Scene::new(9, &filter);
    let mut sights = scene.sights(&mut Normal::new(10), SIGMA, &filter);
    let before = triangulate(&sights).unwrap();
    sights[1].view.normalized += Vector2::new(0.2, -0.1);
    let after = triangulate(&sights).unwrap();
    let moved = (after.place - before.place).norm() / (before.sigma * 5.0);
    assert!(moved < 4.0, "{moved}");
    // Without the weights it moves by more than ten standard deviations.
}

/// The joint covariance of the clones' errors, row by row.
fn prior_of(scene: &Scene) -> Vec<f64> {
    let row = |k: usize| scene.clones[k / 6].rows[k % 6 / 3] + k % 3;
    let n = 6 * CLONES;
    (0..n * n).map(|k| scene.state.covariance.get(row(k / n), row(k % n))).collect()
}

/// The variance of the longest baseline is that of moved states: its derivative by each error, against the joint
/// covariance.
#[test]
fn a_baseline_is_known_as_well_as_clones_are_to_each_other() {
    for (name, filter) in [("group", Filter::GROUP), ("reduced", Filter::REDUCED)] {
        let mut scene = Scene::new(11, &filter);
        // Without a lever, the camera is where the clone is.
        scene.camera.translation = Vector3::zeros();
        let sights = scene.sights(&mut Normal::new(12), 0.0, &filter);
        let places: Vec<usize> = (0..CLONES).collect();
        let stated = baseline_sigma(&sights, &places, &prior_of(&scene), &axes(&scene.state, &filter)).unwrap();
        let (_, ray) = sights[CLONES - 1].ray();
        let aside = |k: usize| {
            let baseline = scene.clones[k].position - scene.clones[CLONES - 1].position;
            baseline - ray * ray.dot(&baseline)
        };
        let longest = (0..CLONES).max_by(|a, b| aside(*a).norm().total_cmp(&aside(*b).norm())).unwrap();
        let along = aside(longest) / aside(longest).norm();
        // What the newest clone sees of the other, in the axes that it had before the errors.
        let seen = |state: &State| {
            let clone = |k: usize| find_clone(state, 200 + k as u64).unwrap();
            let (other, newest) = (clone(longest), clone(CLONES - 1));
            let own = newest.rotation.rotate_back(&(other.position - newest.position));
            along.dot(&(scene.clones[CLONES - 1].rotation * own))
        };
        let (n, h) = (scene.state.covariance.dim(), 1e-6);
        let gradient = DVector::from_fn(n, |row, _| {
            let [plus, minus] = [h, -h].map(|by| {
                let mut delta = vec![0.0; n];
                delta[row] = by;
                let mut moved = scene.state.clone();
                moved.boxplus(&delta, &filter, &mut Vec::new());
                seen(&moved)
            });
            (plus - minus) / (2.0 * h)
        });
        let covariance = DMatrix::from_fn(n, n, |i, j| scene.state.covariance.get(i, j));
        let sigma = (gradient.transpose() * covariance * &gradient)[(0, 0)].sqrt() / aside(longest).norm();
        assert!((stated / sigma - 1.0).abs() < 1e-5, "{name}: {stated} {sigma}");
    }
}

/// Views from one place: there is no baseline, and the point that is too far away for a range has its direction from all
/// of them; its rows have the turns of the clones alone.
#[test]
fn a_point_too_far_away_for_a_range_shows_turns_alone() {
    let filter = Filter::GROUP;
    let scene = Scene::new(13, &filter);
    let mut normal = Normal::new(14);
    let here: Vec<Sight> = (0..5)
        .map(|_| scene.sight(&scene.clones[0], Vector2::new(normal.one(), normal.one()) * SIGMA, &filter))
        .collect();
    assert_eq!(baseline_sigma(&here, &[0; 5], &prior_of(&scene), &axes(&scene.state, &filter)), None);
    let place = far(&here).unwrap();
    let (centre, _) = here[0].ray();
    let apart = (place - centre).normalize().cross(&(scene.point - centre).normalize()).norm();
    assert!(apart < 3.0 * SIGMA, "{apart}");

    let sights = scene.sights(&mut normal, 0.0, &filter);
    let mut projection = Projection::default();
    let places: Vec<usize> = (0..CLONES).collect();
    let place = far(&sights).unwrap();
    assert!(projection.fill(&sights, &places, &place, &axes(&scene.state, &filter)));
    for h in &projection.h[..CLONES] {
        assert!(h.fixed_columns::<3>(0).norm() < 1e-3 * h.fixed_columns::<3>(3).norm(), "{h}");
    }
}
