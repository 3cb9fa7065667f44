//! Poses in space between Rust and numpy: a (4, 4) matrix, or a pair of a position and a quaternion.

use crate::arrays::{Floats, array, numbers};
use crate::errors::wrong_call;
use lienav_base::stamp::Stamp;
use lienav_io::convert::quaternion_of;
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix3, Matrix6, Quaternion, UnitQuaternion, Vector3};
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A rotation may be so far from orthogonal, and a quaternion from length one.
const LARGEST_ERROR: f64 = 1e-3;

/// A pose: a (4, 4) matrix [R t; 0 1], or (position (3,) m, quaternion (4,) x, y, z, w).
pub fn pose(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Se3> {
    let refused = |problem: &str| {
        wrong_call(format!("{name} {problem}; expected a (4, 4) matrix, or (position m, quaternion x, y, z, w)"))
    };
    if let Ok(matrix) = given.extract::<Floats<'_>>()
        && matrix.shape() == [4, 4]
    {
        let m = numbers(name, &matrix, &[Some(4), Some(4)])?;
        let rotation = So3::from_matrix_unchecked(Matrix3::from_fn(|i, j| m[4 * i + j]));
        let has_last = m[12..15].iter().all(|x| *x == 0.0) && m[15] == 1.0;
        // The negation takes not-a-number along.
        if !(rotation.orthogonality_error() < LARGEST_ERROR && rotation.matrix().determinant() > 0.0 && has_last) {
            return Err(refused("is no rigid motion"));
        }
        return Ok(Se3::new(rotation, Vector3::new(m[3], m[7], m[11])));
    }
    let pair = given.extract::<(Floats<'_>, Floats<'_>)>().map_err(|_| refused("is no pose"))?;
    let place = numbers(&format!("the position of {name}"), &pair.0, &[Some(3)])?;
    let q = numbers(&format!("the quaternion of {name}"), &pair.1, &[Some(4)])?;
    from_quaternion(name, &place, &q)
}

/// A pose from a position, m, and a quaternion x, y, z, w.
pub fn from_quaternion(name: &str, place: &[f64], q: &[f64]) -> PyResult<Se3> {
    let (&[x, y, z], &[i, j, k, w]) = (place, q) else { return Err(wrong_call(format!("{name} is no pose"))) };
    let q = Quaternion::new(w, i, j, k);
    let error = (q.norm() - 1.0).abs();
    if error.is_nan() || error >= LARGEST_ERROR {
        return Err(wrong_call(format!("{name} has a quaternion of length {}; expected 1", q.norm())));
    }
    Ok(Se3::new(UnitQuaternion::new_normalize(q).to_rotation_matrix().into(), Vector3::new(x, y, z)))
}

/// A pose that may be left out: then it is the identity.
pub fn pose_or_identity(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Se3> {
    given.map_or_else(|| Ok(Se3::identity()), |given| pose(name, given))
}

/// [R t; 0 1], row by row.
pub fn matrix_rows(pose: &Se3) -> [f64; 16] {
    let (r, t) = (pose.rotation.matrix(), &pose.translation);
    std::array::from_fn(|k| match (k / 4, k % 4) {
        (3, 3) => 1.0,
        (3, _) => 0.0,
        (i, 3) => t[i],
        (i, j) => r[(i, j)],
    })
}

/// A covariance of (position, rotation), row by row.
pub fn matrix6_rows(matrix: &Matrix6<f64>) -> [f64; 36] {
    std::array::from_fn(|k| matrix[(k / 6, k % 6)])
}

/// The same from an array.
pub fn matrix6(name: &str, given: &Floats<'_>) -> PyResult<Matrix6<f64>> {
    Ok(Matrix6::from_row_slice(&numbers(name, given, &[Some(6), Some(6)])?))
}

/// x, y, z, w with w ≥ 0, from the body to the map.
pub fn quaternion(pose: &Se3) -> [f64; 4] {
    let q = quaternion_of(&pose.rotation);
    [q.i, q.j, q.k, q.w]
}

/// The fields that all estimates in space have.
pub fn estimate_fields(py: Python<'_>, fields: &Bound<'_, PyDict>, all: &[(Stamp, Se3, [f64; 36])]) -> PyResult<()> {
    let n = all.len();
    fields.set_item("stamp_ns", array(py, all.iter().map(|(stamp, ..)| stamp.nanos()).collect(), &[n])?)?;
    let places = all.iter().flat_map(|(_, pose, _)| <[f64; 3]>::from(pose.translation)).collect();
    fields.set_item("position", array(py, places, &[n, 3])?)?;
    let turns = all.iter().flat_map(|(_, pose, _)| quaternion(pose)).collect();
    fields.set_item("orientation", array(py, turns, &[n, 4])?)?;
    let covariances = all.iter().flat_map(|(.., covariance)| *covariance).collect();
    fields.set_item("covariance", array(py, covariances, &[n, 6, 6])?)
}
