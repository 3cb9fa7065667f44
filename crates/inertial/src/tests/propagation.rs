//! Transitions against finite differences, covariances against draws and the Riccati equation.

use super::common::{Normal, places, preintegrate, relative_difference};
use super::retraction::all_filters;
use crate::filter::Filter;
use crate::imu::{Biases, Imu, ImuNoise};
use crate::preintegration::{Preintegration, moved};
use crate::propagate::{propagate, transition_matrix};
use crate::state::errors::Errors;
use crate::state::nav::Nav;
use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{DMatrix, DVector, SVector, Vector3};

/// The transition of the true errors: a state is moved by δ, both go through the interval, and the difference is taken.
#[test]
fn transitions_are_those_of_finite_differences() {
    let mut normal = Normal::new(5);
    normal.has_clone = true;
    for (name, filter) in all_filters() {
        if name == "oc-ekf" || name == "fe-ekf" {
            continue;
        }
        let state = normal.state(3, &filter);
        let samples = normal.samples();
        let increment = preintegrate(&samples, state.nav.biases);
        let transition = transition_matrix(&state, &increment, &filter);
        let mut after = state.clone();
        propagate(&mut after, &increment, &filter);
        let (n, h) = (state.covariance.dim(), 1e-5);
        for k in 0..n {
            let [plus, minus] = [h, -h].map(|by| {
                let mut delta = vec![0.0; n];
                delta[k] = by;
                let mut truth = state.clone();
                truth.boxplus(&delta, &filter, &mut Vec::new());
                let own = preintegrate(&samples, truth.nav.biases);
                let nav = truth.nav.moved(&own.increment, truth.gravity);
                DVector::from(after.boxminus(&nav, &places(&truth), &filter).unwrap())
            });
            let numeric = (plus - minus) / (2.0 * h);
            let error = (&numeric - transition.column(k)).amax();
            assert!(error < 1e-6, "{name} column {k}: {error:e}\n{numeric}\n{}", transition.column(k));
        }
    }
}

/// Without errors of the biases, left errors of any size go through the transition: the group's law.
#[test]
fn left_errors_of_any_size_propagate_linearly() {
    let mut normal = Normal::new(6);
    normal.has_clone = true;
    let filter = Filter::GROUP;
    let state = normal.state(3, &filter);
    let increment = normal.increment(state.nav.biases);
    let transition = transition_matrix(&state, &increment, &filter);
    let mut after = state.clone();
    propagate(&mut after, &increment, &filter);
    let delta =
        DVector::from_fn(state.covariance.dim(), |k, _| if (9..15).contains(&k) { 0.0 } else { 0.7 * normal.one() });
    let mut truth = state.clone();
    truth.boxplus(delta.as_slice(), &filter, &mut Vec::new());
    let nav = truth.nav.moved(&increment.increment, truth.gravity);
    let error = DVector::from(after.boxminus(&nav, &places(&truth), &filter).unwrap());
    assert!((error - transition * delta).amax() < 1e-12);
}

/// F P Fᵀ + Q, with Q from finite differences of the increment's error.
#[test]
fn covariances_are_those_of_the_full_matrices() {
    let mut normal = Normal::new(7);
    normal.has_clone = true;
    for (name, filter) in all_filters() {
        let mut state = normal.state(4, &filter);
        state.predicted = state.nav;
        let increment = normal.increment(state.nav.biases);
        let transition = transition_matrix(&state, &increment, &filter);
        let mut after = state.clone();
        propagate(&mut after, &increment, &filter);
        let n = state.covariance.dim();
        let mut by_noise = DMatrix::<f64>::zeros(n, 15);
        let h = 1e-6;
        for k in 0..15 {
            let [plus, minus] = [h, -h].map(|by| {
                let mut zeta = SVector::<f64, 9>::zeros();
                let mut nav = state.nav;
                if k < 9 {
                    zeta[k] = by
                }
                nav = nav.moved(&moved(&increment.increment, &zeta), state.gravity);
                if (9..12).contains(&k) {
                    nav.biases.gyro[k - 9] += by
                }
                if k >= 12 {
                    nav.biases.accelerometer[k - 12] += by
                }
                DVector::from(after.boxminus(&nav, &places(&state), &filter).unwrap())
            });
            by_noise.set_column(k, &((plus - minus) / (2.0 * h)));
        }
        let noise = DMatrix::from_fn(15, 15, |i, j| increment.covariance[(i, j)]);
        let expected = &transition * state.covariance.to_matrix() * transition.transpose()
            + &by_noise * noise * by_noise.transpose();
        let error = relative_difference(&after.covariance.to_matrix(), &expected);
        assert!(error < 1e-7, "{name}: {error:e}");
    }
}

/// The continuous equations of the errors, Ṗ = A P + P Aᵀ + G Q Gᵀ, integrated in small steps.
#[test]
fn the_covariance_solves_the_riccati_equation() {
    let mut normal = Normal::new(8);
    let filter = Filter::GROUP;
    let mut state = normal.state(2, &filter);
    let noise = ImuNoise { gyro: 0.02, accelerometer: 0.1, gyro_walk: 0.05, accelerometer_walk: 0.2 };
    let value = |t: f64| Imu::new(Vector3::new(0.5 + t, -0.3, 0.8), Vector3::new(1.0, 2.0 - 3.0 * t, 9.0));
    let (mut p, n) = (state.covariance.to_matrix(), state.covariance.dim());
    let (mut nav, gravity, places) = (state.nav, state.gravity, places(&state));
    let densities = [noise.gyro, noise.accelerometer, noise.gyro_walk, noise.accelerometer_walk];
    let derivative = |p: &DMatrix<f64>, nav: &Nav| {
        let r = nav.rotation.matrix();
        let (mut a, mut g) = (DMatrix::<f64>::zeros(n, n), DMatrix::<f64>::zeros(n, 12));
        let fall = hat(&Vector3::new(0.0, 0.0, -gravity));
        let mut put = |row: usize, column: usize, block: nalgebra::Matrix3<f64>| {
            a.view_mut((row, column), (3, 3)).copy_from(&block)
        };
        let mut of_gyro = vec![(0, -*r), (3, -hat(&nav.velocity) * r), (6, -hat(&nav.position) * r)];
        put(3, 0, fall);
        put(6, 3, nalgebra::Matrix3::identity());
        put(3, 12, -*r);
        g.view_mut((3, 3), (3, 3)).copy_from(&-r);
        for (i, place) in places.iter().enumerate() {
            put(15 + 3 * i, 3, -nalgebra::Matrix3::identity());
            of_gyro.push((15 + 3 * i, -hat(&(place.position - nav.position)) * r));
        }
        for (row, block) in of_gyro {
            put(row, 9, block);
            g.view_mut((row, 0), (3, 3)).copy_from(&block);
        }
        g.view_mut((9, 6), (6, 6)).fill_with_identity();
        let q = DMatrix::from_fn(12, 12, |i, j| if i == j { densities[i / 3].powi(2) } else { 0.0 });
        &a * p + p * a.transpose() + &g * q * g.transpose()
    };
    let (steps, h) = (4000, 0.5 / 4000.0);
    for k in 0..steps {
        // The midpoint rule.
        let at = value((f64::from(k) + 0.5) * h).without(&nav.biases);
        let step = |nav: &Nav, h: f64| {
            let mut next = *nav;
            next.rotation = nav.rotation * So3::exp(&(at.rate * h));
            let force = nav.rotation * So3::exp(&(at.rate * (0.5 * h))) * at.force - Vector3::z() * gravity;
            next.velocity += force * h;
            next.position += nav.velocity * h + force * (0.5 * h * h);
            next
        };
        let middle = step(&nav, 0.5 * h);
        let half = &p + derivative(&p, &nav) * (0.5 * h);
        p += derivative(&half, &middle) * h;
        nav = step(&nav, h);
    }
    let mut increment = Preintegration::new(state.nav.biases, noise);
    for k in 0..100 {
        let (middle, offset) = ((f64::from(k) + 0.5) * 0.005, 0.005 * 3f64.sqrt() / 6.0);
        increment.add(0.005, &[value(middle - offset), value(middle + offset)]);
    }
    propagate(&mut state, &increment.finish(), &filter);
    assert!((state.nav.position - nav.position).norm() < 1e-6);
    let error = relative_difference(&state.covariance.to_matrix(), &p);
    assert!(error < 1e-3, "{error:e}");
}

/// The four directions that landmarks cannot see go over into themselves within an interval, in the coordinates of each
/// filter. (Where the plain filter on differences loses them is between intervals, when its estimate is corrected.)
#[test]
fn unobservable_directions_stay() {
    let mut normal = Normal::new(9);
    normal.has_clone = true;
    for (name, filter) in all_filters() {
        let mut state = normal.state(2, &filter);
        if filter.errors == Errors::Additive {
            state.landmarks.iter_mut().for_each(|landmark| landmark.first = landmark.position);
        }
        let increment = normal.increment(Biases::default());
        let before = crate::observability::unobservable(&state, &filter);
        let transition = transition_matrix(&state, &increment, &filter);
        propagate(&mut state, &increment, &filter);
        let after = crate::observability::unobservable(&state, &filter);
        let error = (transition * before - after).amax();
        assert!(error < 1e-12, "{name}: {error:e}");
    }
}
