//! Numbers between Rust and numpy.

use crate::errors::wrong_call;
use lienav_slam::{Noise, Value};
use nalgebra::{Matrix2, Matrix3, Vector3};
use numpy::{AllowTypeChange, Element, PyArray1, PyArrayLikeDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// An array of floats as Python gives it: of any numeric type, a list too.
pub type Floats<'py> = PyArrayLikeDyn<'py, f64, AllowTypeChange>;
/// An array of stamps or identities; floats are refused, which would lose nanoseconds.
pub type Integers<'py> = PyArrayLikeDyn<'py, i64>;

/// An array of this shape, from its numbers row by row.
pub fn array<'py, T: Element>(py: Python<'py>, numbers: Vec<T>, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, numbers).reshape(shape.to_vec())?.into_any())
}

/// The numbers row by row, of an array of this shape; a size of `None` is free.
pub fn numbers<T: Element + Copy>(
    name: &str,
    array: &numpy::PyReadonlyArrayDyn<'_, T>,
    shape: &[Option<usize>],
) -> PyResult<Vec<T>> {
    use numpy::PyUntypedArrayMethods;
    let found = array.shape();
    let fits = found.len() == shape.len() && found.iter().zip(shape).all(|(n, m)| m.is_none_or(|m| m == *n));
    if !fits {
        let word = |size: &Option<usize>| size.map_or("n".to_owned(), |size| size.to_string());
        let expected: Vec<String> = shape.iter().map(word).collect();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let problem = format!("{name} has the shape ({}); expected: ({})", found.join(", "), expected.join(", "));
        return Err(wrong_call(problem));
    }
    // A slice is in the order of the memory, which may be that of the columns.
    Ok(match array.as_slice() {
        Ok(slice) if array.is_c_contiguous() => slice.to_vec(),
        _ => array.as_array().iter().copied().collect(),
    })
}

/// Nothing measures faster than this in the mean, ns: odometry and frames at 5 kHz, an inertial sensor at 50 kHz.
pub const FASTEST_NS: (i64, i64) = (200_000, 20_000);

/// Stamps of a stream. Those of many messages that are closer than this in the mean, ns, are in another unit.
pub fn stamps(name: &str, array: &numpy::PyReadonlyArrayDyn<'_, i64>, fastest_ns: i64) -> PyResult<Vec<i64>> {
    /// Fewer may be anything.
    const MANY: i64 = 10;
    let stamps = numbers(name, array, &[None])?;
    let intervals = (stamps.len() as i64 - 1).max(1);
    let bounds = stamps.iter().min().zip(stamps.iter().max());
    let mean = bounds.map_or(i64::MAX, |(first, last)| last.saturating_sub(*first) / intervals);
    if intervals + 1 >= MANY && (1..fastest_ns).contains(&mean.max(1)) {
        return Err(wrong_call(format!(
            "{name} are {mean} ns apart in the mean: stamps are nanoseconds; lienav.to_ns makes these of seconds"
        )));
    }
    Ok(stamps)
}

/// A covariance row by row; not-a-number stands for one that there is not.
pub fn matrix3_rows(matrix: Option<&Matrix3<f64>>) -> [f64; 9] {
    matrix.map_or([f64::NAN; 9], |m| std::array::from_fn(|k| m[(k / 3, k % 3)]))
}

/// The same of a measurement of `dim` numbers, in the corner of a matrix of `width` rows.
pub fn noise_rows(noise: Option<&Noise>, width: usize) -> Vec<f64> {
    let (whole, dim) = (noise.map(|noise| noise.fixed::<3>()), noise.map_or(0, Noise::dim));
    let at = |i: usize, j: usize| whole.filter(|_| i < dim && j < dim).map_or(f64::NAN, |whole| whole[(i, j)]);
    (0..width * width).map(|k| at(k / width, k % width)).collect()
}

/// The same of two by two.
pub fn matrix2_rows(matrix: Option<&Matrix2<f64>>) -> [f64; 4] {
    matrix.map_or([f64::NAN; 4], |m| std::array::from_fn(|k| m[(k / 2, k % 2)]))
}

/// A covariance from nine numbers; `None` where they are not numbers.
pub fn matrix3(rows: &[f64]) -> Option<Matrix3<f64>> {
    let is_absent = rows.iter().all(|x| x.is_nan());
    (rows.len() == 9 && !is_absent).then(|| Matrix3::from_row_slice(rows))
}

/// One to three numbers of a measurement.
pub fn value(numbers: &[f64]) -> Value {
    match *numbers {
        [x] => [x].into(),
        [x, y] => [x, y].into(),
        _ => [0, 1, 2].map(|k| numbers.get(k).copied().unwrap_or(f64::NAN)).into(),
    }
}

/// Their covariance, the first `dim` rows and columns of a matrix of `width`; `None` where these are not numbers.
pub fn noise(rows: &[f64], width: usize, dim: usize) -> Option<Noise> {
    let at = |i: usize, j: usize| rows.get(i * width + j).copied().unwrap_or(f64::NAN);
    let is_absent = (0..dim * dim).all(|k| at(k / dim, k % dim).is_nan());
    (!is_absent).then(|| match dim {
        1 => Noise::from(at(0, 0)),
        2 => Noise::from(Matrix2::from_fn(at)),
        _ => Noise::from(Matrix3::from_fn(at)),
    })
}

/// A vector of three numbers.
pub fn vector3(name: &str, array: &Floats<'_>) -> PyResult<Vector3<f64>> {
    let numbers = numbers(name, array, &[Some(3)])?;
    Ok(Vector3::from_column_slice(&numbers))
}

/// An instance of a class of `lienav._data` with these fields; of `lienav._data3d` if its name ends so.
pub fn data<'py>(py: Python<'py>, class: &str, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let module = if class.ends_with("3d") { "lienav._data3d" } else { "lienav._data" };
    py.import(module)?.getattr(class)?.call(PyTuple::empty(py), Some(fields))
}
