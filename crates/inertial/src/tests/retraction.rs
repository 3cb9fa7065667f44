//! Corrections and differences of states.

use super::common::{Normal, places};
use crate::chart::{Centre, Chart};
use crate::filter::Filter;
use nalgebra::{DMatrix, Matrix3, Vector3};

#[test]
fn chart_derivatives_are_those_of_finite_differences() {
    let mut normal = Normal::new(1);
    normal.has_clone = true;
    for chart in [Chart::Cartesian, Chart::LogRange, Chart::InverseRange] {
        for _ in 0..50 {
            let (z, dz) = (normal.vector(3.0), normal.vector(0.3));
            let (_, derivative) = chart.retract(&z, &dz);
            let h = 1e-6;
            let numeric = Matrix3::from_columns(&[0, 1, 2].map(|k| {
                let step = Vector3::from_fn(|i, _| if i == k { h } else { 0.0 });
                (chart.retract(&z, &(dz + step)).0 - chart.retract(&z, &(dz - step)).0) / (2.0 * h)
            }));
            assert!((numeric - derivative).norm() < 1e-7 * derivative.norm(), "{chart:?} {numeric} {derivative}");
            let next = chart.retract(&z, &dz).0;
            // A correction has no part that turns about z.
            let back = chart.correction(&z, &next).unwrap();
            assert!((chart.retract(&z, &back).0 - next).norm() < 1e-12 * next.norm());
        }
        assert!(chart == Chart::Cartesian || chart.correction(&Vector3::x(), &(Vector3::x() * 11.0)).is_none());
    }
}

/// Every filter, and the default with each chart.
pub fn all_filters() -> Vec<(String, Filter)> {
    let mut all: Vec<_> = Filter::ALL.iter().map(|(name, filter)| ((*name).to_owned(), *filter)).collect();
    for chart in [Chart::LogRange, Chart::InverseRange] {
        for centre in [Centre::Sensor, Centre::FirstSight] {
            all.push((format!("{chart:?} {centre:?}"), Filter { chart, centre, ..Filter::DEFAULT }));
        }
    }
    all
}

#[test]
fn boxminus_undoes_boxplus() {
    let mut normal = Normal::new(2);
    normal.has_clone = true;
    for (name, filter) in all_filters() {
        for _ in 0..20 {
            let state = normal.state(4, &filter);
            let delta: Vec<f64> = (0..state.covariance.dim()).map(|_| 0.1 * normal.one()).collect();
            let mut moved = state.clone();
            moved.boxplus(&delta, &filter, &mut Vec::new());
            let back = state.boxminus(&moved.nav, &places(&moved), &filter).unwrap();
            let error = back.iter().zip(&delta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{name}: {error:e}");
        }
    }
}

/// The error that is left after a correction is the transported one: the covariance of the landmarks is carried over to
/// the new estimate. In the pose's errors the transport is left out, so that corrections of landmarks alone are looked
/// at.
#[test]
fn the_covariance_goes_with_the_chart() {
    let mut normal = Normal::new(3);
    normal.has_clone = true;
    for (name, filter) in all_filters() {
        let state = normal.state(2, &filter);
        let n = state.covariance.dim();
        let delta: Vec<f64> = (0..n).map(|k| if k < 15 { 0.0 } else { 0.2 * normal.one() }).collect();
        let mut moved = state.clone();
        moved.boxplus(&delta, &filter, &mut Vec::new());
        let h = 1e-6;
        let mut transport = DMatrix::<f64>::zeros(n, n);
        for k in 0..n {
            let [plus, minus] = [h, -h].map(|by| {
                let mut other = delta.clone();
                other[k] += by;
                let mut truth = state.clone();
                truth.boxplus(&other, &filter, &mut Vec::new());
                nalgebra::DVector::from(moved.boxminus(&truth.nav, &places(&truth), &filter).unwrap())
            });
            transport.set_column(k, &((plus - minus) / (2.0 * h)));
        }
        let of_landmarks = transport.view((15, 15), (6, 6)).into_owned();
        let before = state.covariance.to_matrix().view((15, 15), (6, 6)).into_owned();
        let after = moved.covariance.to_matrix().view((15, 15), (6, 6)).into_owned();
        let expected = &of_landmarks * before * of_landmarks.transpose();
        assert!((&after - &expected).norm() < 1e-6 * expected.norm(), "{name} {after} {expected}");
    }
}

#[test]
fn pose_covariances_are_the_same_in_all_coordinates() {
    let mut normal = Normal::new(4);
    normal.has_clone = true;
    let nav = normal.nav();
    let root = crate::covariance::NavMatrix::from_fn(|_, _| 0.1 * normal.one());
    let covariance = root * root.transpose();
    for (name, filter) in all_filters() {
        let state = crate::state::State::new(nav, &covariance, 0, &filter);
        let error = (state.nav_covariance(&filter) - covariance).norm() / covariance.norm();
        assert!(error < 1e-13, "{name} {error:e}");
        assert_eq!(state.pose_covariance(&filter)[(0, 3)].to_bits(), state.nav_covariance(&filter)[(6, 0)].to_bits());
    }
}
