//! Measurements of up to three numbers, and their covariances.

use crate::output::DropReason;
use nalgebra::{Matrix2, Matrix3, SMatrix, SVector, Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// The most numbers that one measurement has.
pub const MAX_DIM: usize = 3;

/// Variances beyond this say nothing, and their products overflow; in the unit of the quantity, squared.
pub const MAX_VARIANCE: f64 = 1e12;

/// One to three numbers that were read together.
///
/// ```
/// use lienav_planar::measurement::Value;
/// let range_bearing = Value::from([3.2, -0.4]);
/// assert_eq!((range_bearing.len(), range_bearing[1]), (2, -0.4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Bits", try_from = "Bits")]
pub struct Value {
    len: usize,
    numbers: [f64; MAX_DIM],
}

impl Value {
    /// The first D of the numbers, zeros behind them if there are fewer.
    pub fn fixed<const D: usize>(&self) -> SVector<f64, D> {
        SVector::from_fn(|k, _| self.numbers.get(k).copied().unwrap_or(0.0))
    }

    /// As (x, y): the first two numbers.
    #[inline]
    pub fn xy(&self) -> Vector2<f64> {
        self.fixed()
    }
}

impl Deref for Value {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.numbers[..self.len]
    }
}

impl DerefMut for Value {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.numbers[..self.len]
    }
}

impl From<[f64; 1]> for Value {
    fn from([x]: [f64; 1]) -> Self {
        Self { len: 1, numbers: [x, 0.0, 0.0] }
    }
}

impl From<[f64; 2]> for Value {
    fn from([x, y]: [f64; 2]) -> Self {
        Self { len: 2, numbers: [x, y, 0.0] }
    }
}

impl From<[f64; 3]> for Value {
    fn from(numbers: [f64; 3]) -> Self {
        Self { len: 3, numbers }
    }
}

impl From<Vector2<f64>> for Value {
    fn from(v: Vector2<f64>) -> Self {
        Self::from([v.x, v.y])
    }
}

impl From<Vector3<f64>> for Value {
    fn from(v: Vector3<f64>) -> Self {
        Self::from([v.x, v.y, v.z])
    }
}

/// The covariance of one to three numbers, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Bits", try_from = "Bits")]
pub struct Noise {
    dim: usize,
    matrix: Matrix3<f64>,
}

impl Noise {
    /// How many numbers it is of.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// As a matrix of the first D numbers.
    pub fn fixed<const D: usize>(&self) -> SMatrix<f64, D, D> {
        fixed(&self.matrix)
    }
}

impl From<f64> for Noise {
    fn from(variance: f64) -> Self {
        Self { dim: 1, matrix: padded(&SMatrix::<f64, 1, 1>::new(variance)) }
    }
}

impl From<Matrix2<f64>> for Noise {
    fn from(matrix: Matrix2<f64>) -> Self {
        Self { dim: 2, matrix: padded(&matrix) }
    }
}

impl From<Matrix3<f64>> for Noise {
    fn from(matrix: Matrix3<f64>) -> Self {
        Self { dim: 3, matrix }
    }
}

/// Numbers as they are saved: what waits for its check may be infinite or no number.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Bits(#[serde(with = "lienav_base::bits")] Vec<f64>);

impl From<Value> for Bits {
    fn from(value: Value) -> Self {
        Self(value.to_vec())
    }
}

impl TryFrom<Bits> for Value {
    type Error = &'static str;

    fn try_from(Bits(numbers): Bits) -> Result<Self, Self::Error> {
        match numbers[..] {
            [x] => Ok([x].into()),
            [x, y] => Ok([x, y].into()),
            [x, y, z] => Ok([x, y, z].into()),
            _ => Err("a reading has one to three numbers"),
        }
    }
}

impl From<Noise> for Bits {
    fn from(noise: Noise) -> Self {
        Self(noise.matrix.view((0, 0), (noise.dim, noise.dim)).iter().copied().collect())
    }
}

impl TryFrom<Bits> for Noise {
    type Error = &'static str;

    fn try_from(Bits(numbers): Bits) -> Result<Self, Self::Error> {
        match numbers.len() {
            1 => Ok(numbers[0].into()),
            4 => Ok(Matrix2::from_column_slice(&numbers).into()),
            9 => Ok(Matrix3::from_column_slice(&numbers).into()),
            _ => Err("a covariance is of one to three numbers"),
        }
    }
}

/// The upper left corner.
pub fn fixed<const R: usize, const C: usize, const P: usize>(padded: &SMatrix<f64, 3, P>) -> SMatrix<f64, R, C> {
    SMatrix::from_fn(|i, j| padded[(i, j)])
}

/// With zeros below, and to the right.
pub fn padded<const R: usize, const C: usize, const P: usize>(m: &SMatrix<f64, R, C>) -> SMatrix<f64, 3, P> {
    SMatrix::from_fn(|i, j| if i < R && j < C { m[(i, j)] } else { 0.0 })
}

/// A covariance of D numbers that is symmetric positive semidefinite, made exactly symmetric.
///
/// # Errors
/// Not finite, absurdly large, not symmetric to a millionth, or with a variance that is not positive or a negative
/// eigenvalue.
pub(crate) fn checked_covariance<const D: usize>(c: &SMatrix<f64, D, D>) -> Result<SMatrix<f64, D, D>, DropReason> {
    if !c.iter().all(|x| x.is_finite()) {
        return Err(DropReason::NotFinite);
    }
    let scale = c.amax();
    if scale > MAX_VARIANCE {
        return Err(DropReason::Absurd);
    }
    let mut symmetric = *c;
    for i in 0..D {
        if c[(i, i)] <= 0.0 {
            return Err(DropReason::BadCovariance);
        }
        for j in 0..i {
            let off = 0.5 * (c[(i, j)] + c[(j, i)]);
            let bound = c[(i, i)] * c[(j, j)];
            if (c[(i, j)] - c[(j, i)]).abs() > 1e-6 * scale || bound - off * off < -1e-12 * bound {
                return Err(DropReason::BadCovariance);
            }
            (symmetric[(i, j)], symmetric[(j, i)]) = (off, off);
        }
    }
    // Of two numbers the minors above are all there is; of three there is the determinant, too.
    if D == 3 {
        let m: Matrix3<f64> = padded(&symmetric);
        let bound = m[(0, 0)] * m[(1, 1)] * m[(2, 2)];
        if m.determinant() < -1e-12 * bound {
            return Err(DropReason::BadCovariance);
        }
    }
    Ok(symmetric)
}
