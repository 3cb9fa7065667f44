//! What an integrator needs of the things it adds up: velocities, momenta, elements of Lie algebras.

use nalgebra::{DMatrix, DVector, SMatrix};

/// A finite-dimensional real vector space with a norm. Its elements may know their size only at run time, so zero is
/// made after the likeness of another element.
pub trait VectorSpace: Clone {
    /// The zero of the same shape.
    fn zero_like(&self) -> Self;
    /// self ← self + s·x; both of one shape.
    fn add_scaled(&mut self, s: f64, x: &Self);
    /// self ← s·self.
    fn scale_by(&mut self, s: f64);
    /// The Euclidean (Frobenius) inner product of the coordinates; both of one shape.
    fn dot(&self, other: &Self) -> f64;

    /// The Euclidean (Frobenius) norm of the coordinates.
    fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    /// s·self.
    fn scaled(&self, s: f64) -> Self {
        let mut scaled = self.clone();
        scaled.scale_by(s);
        scaled
    }
    /// self + s·x.
    fn plus_scaled(&self, s: f64, x: &Self) -> Self {
        let mut sum = self.clone();
        sum.add_scaled(s, x);
        sum
    }
}

impl VectorSpace for f64 {
    fn zero_like(&self) -> Self {
        0.0
    }
    fn add_scaled(&mut self, s: f64, x: &Self) {
        *self += s * x;
    }
    fn scale_by(&mut self, s: f64) {
        *self *= s;
    }
    fn dot(&self, other: &Self) -> f64 {
        self * other
    }
    fn norm(&self) -> f64 {
        self.abs()
    }
}

impl<const R: usize, const C: usize> VectorSpace for SMatrix<f64, R, C> {
    fn zero_like(&self) -> Self {
        Self::zeros()
    }
    fn add_scaled(&mut self, s: f64, x: &Self) {
        *self += x * s;
    }
    fn scale_by(&mut self, s: f64) {
        *self *= s;
    }
    fn dot(&self, other: &Self) -> f64 {
        self.dot(other)
    }
}

impl VectorSpace for DVector<f64> {
    fn zero_like(&self) -> Self {
        Self::zeros(self.len())
    }
    fn add_scaled(&mut self, s: f64, x: &Self) {
        self.axpy(s, x, 1.0);
    }
    fn scale_by(&mut self, s: f64) {
        *self *= s;
    }
    fn dot(&self, other: &Self) -> f64 {
        self.dot(other)
    }
}

impl VectorSpace for DMatrix<f64> {
    fn zero_like(&self) -> Self {
        Self::zeros(self.nrows(), self.ncols())
    }
    fn add_scaled(&mut self, s: f64, x: &Self) {
        self.zip_apply(x, |a, b| *a += s * b);
    }
    fn scale_by(&mut self, s: f64) {
        *self *= s;
    }
    fn dot(&self, other: &Self) -> f64 {
        self.dot(other)
    }
}

/// Writes the operations of a product of copies.
macro_rules! copy_by_copy {
    () => {
        fn add_scaled(&mut self, s: f64, x: &Self) {
            for (a, b) in self.iter_mut().zip(x) {
                a.add_scaled(s, b);
            }
        }
        fn scale_by(&mut self, s: f64) {
            self.iter_mut().for_each(|a| a.scale_by(s));
        }
        fn dot(&self, other: &Self) -> f64 {
            self.iter().zip(other).map(|(a, b)| a.dot(b)).sum()
        }
    };
}

/// The product of any number of copies, as of the bodies of a chain.
impl<V: VectorSpace> VectorSpace for Vec<V> {
    fn zero_like(&self) -> Self {
        self.iter().map(V::zero_like).collect()
    }
    copy_by_copy!();
}

/// The same with the number known to the compiler.
impl<V: VectorSpace, const N: usize> VectorSpace for [V; N] {
    fn zero_like(&self) -> Self {
        std::array::from_fn(|i| self[i].zero_like())
    }
    copy_by_copy!();
}

/// The product of two spaces, as of velocities and momenta.
impl<A: VectorSpace, B: VectorSpace> VectorSpace for (A, B) {
    fn zero_like(&self) -> Self {
        (self.0.zero_like(), self.1.zero_like())
    }
    fn add_scaled(&mut self, s: f64, x: &Self) {
        self.0.add_scaled(s, &x.0);
        self.1.add_scaled(s, &x.1);
    }
    fn scale_by(&mut self, s: f64) {
        self.0.scale_by(s);
        self.1.scale_by(s);
    }
    fn dot(&self, other: &Self) -> f64 {
        self.0.dot(&other.0) + self.1.dot(&other.1)
    }
}
