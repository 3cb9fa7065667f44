//! What the methods of this module are shown on.

use super::galerkin::Lagrangian;
use super::poisson::{Part, PoissonSystem, SplitPoissonSystem};
use super::{Constraint, Hamiltonian};
use nalgebra::{DMatrix, DVector, Vector3};

fn pair(components: [f64; 2]) -> DVector<f64> {
    DVector::from_column_slice(&components)
}

/// H = ½|p|² + ½|q|², in any dimension.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oscillator;

impl Hamiltonian for Oscillator {
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64 {
        0.5 * (q.norm_squared() + p.norm_squared())
    }
    fn by_position(&self, q: &DVector<f64>, _: &DVector<f64>) -> DVector<f64> {
        q.clone()
    }
    fn by_momentum(&self, _: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        p.clone()
    }
}

/// H = ½p² − cos q.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pendulum;

impl Hamiltonian for Pendulum {
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64 {
        0.5 * p.norm_squared() - q.map(f64::cos).sum()
    }
    fn by_position(&self, q: &DVector<f64>, _: &DVector<f64>) -> DVector<f64> {
        q.map(f64::sin)
    }
    fn by_momentum(&self, _: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        p.clone()
    }
}

impl Lagrangian for Pendulum {
    fn value(&self, q: &DVector<f64>, v: &DVector<f64>) -> f64 {
        0.5 * v.norm_squared() + q.map(f64::cos).sum()
    }
    fn by_position(&self, q: &DVector<f64>, _: &DVector<f64>) -> DVector<f64> {
        -q.map(f64::sin)
    }
    fn by_velocity(&self, _: &DVector<f64>, v: &DVector<f64>) -> DVector<f64> {
        v.clone()
    }
    fn velocity(&self, _: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        p.clone()
    }
}

/// A planet in polar coordinates (r, φ), H = ½(p_r² + p_φ²/r²) − 1/r: not separable, and p_φ stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolarKepler;

impl Hamiltonian for PolarKepler {
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64 {
        0.5 * (p[0] * p[0] + (p[1] / q[0]).powi(2)) - 1.0 / q[0]
    }
    fn by_position(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        pair([-p[1] * p[1] / q[0].powi(3) + 1.0 / (q[0] * q[0]), 0.0])
    }
    fn by_momentum(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        pair([p[0], p[1] / (q[0] * q[0])])
    }
}

impl Lagrangian for PolarKepler {
    fn value(&self, q: &DVector<f64>, v: &DVector<f64>) -> f64 {
        0.5 * (v[0] * v[0] + (q[0] * v[1]).powi(2)) + 1.0 / q[0]
    }
    fn by_position(&self, q: &DVector<f64>, v: &DVector<f64>) -> DVector<f64> {
        pair([q[0] * v[1] * v[1] - 1.0 / (q[0] * q[0]), 0.0])
    }
    fn by_velocity(&self, q: &DVector<f64>, v: &DVector<f64>) -> DVector<f64> {
        pair([v[0], q[0] * q[0] * v[1]])
    }
    fn velocity(&self, q: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        pair([p[0], p[1] / (q[0] * q[0])])
    }
}

/// Point masses in space, each pair in −mᵢmⱼ/r (Shen 2019, (1.5)); positions x₁, y₁, z₁, x₂, ….
#[derive(Clone, Debug, PartialEq)]
pub struct ManyBodies {
    /// Positive.
    pub masses: Vec<f64>,
}

impl ManyBodies {
    fn body(x: &DVector<f64>, i: usize) -> Vector3<f64> {
        x.fixed_rows::<3>(3 * i).into_owned()
    }

    /// The linear momentum Σpᵢ.
    pub fn linear_momentum(&self, p: &DVector<f64>) -> Vector3<f64> {
        (0..self.masses.len()).map(|i| Self::body(p, i)).sum()
    }

    /// The angular momentum Σqᵢ × pᵢ.
    pub fn angular_momentum(&self, q: &DVector<f64>, p: &DVector<f64>) -> Vector3<f64> {
        (0..self.masses.len()).map(|i| Self::body(q, i).cross(&Self::body(p, i))).sum()
    }
}

impl Hamiltonian for ManyBodies {
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64 {
        let m = &self.masses;
        let kinetic: f64 = (0..m.len()).map(|i| 0.5 * Self::body(p, i).norm_squared() / m[i]).sum();
        let pairs = (0..m.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        kinetic - pairs.map(|(i, j)| m[i] * m[j] / (Self::body(q, i) - Self::body(q, j)).norm()).sum::<f64>()
    }
    fn by_position(&self, q: &DVector<f64>, _: &DVector<f64>) -> DVector<f64> {
        let m = &self.masses;
        let mut gradient = DVector::zeros(q.len());
        for (i, j) in (0..m.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let between = Self::body(q, i) - Self::body(q, j);
            let pull = between * (m[i] * m[j] / between.norm().powi(3));
            let mut add = |k: usize, pull: Vector3<f64>| {
                let mut of_body = gradient.fixed_rows_mut::<3>(3 * k);
                of_body += pull;
            };
            add(i, pull);
            add(j, -pull);
        }
        gradient
    }
    fn by_momentum(&self, _: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(p.len(), |k, _| p[k] / self.masses[k / 3])
    }
}

/// A chain of point masses 1 on rods of length 1 in the plane, hung at the origin, with gravity 1: a Hamiltonian
/// ½|p|² + Σyᵢ of Cartesian coordinates x₁, y₁, x₂, … and the constraints ½(|qᵢ − qᵢ₋₁|² − 1).
#[derive(Clone, Copy, Debug, Default)]
pub struct RodChain;

impl Hamiltonian for RodChain {
    fn energy(&self, q: &DVector<f64>, p: &DVector<f64>) -> f64 {
        0.5 * p.norm_squared() + q.iter().skip(1).step_by(2).sum::<f64>()
    }
    fn by_position(&self, q: &DVector<f64>, _: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(q.len(), |k, _| (k % 2) as f64)
    }
    fn by_momentum(&self, _: &DVector<f64>, p: &DVector<f64>) -> DVector<f64> {
        p.clone()
    }
}

impl Constraint for RodChain {
    fn value(&self, q: &DVector<f64>) -> DVector<f64> {
        DVector::from_fn(q.len() / 2, |i, _| 0.5 * (rod(q, i).norm_squared() - 1.0))
    }
    fn jacobian(&self, q: &DVector<f64>) -> DMatrix<f64> {
        let mut jacobian = DMatrix::zeros(q.len() / 2, q.len());
        for i in 0..q.len() / 2 {
            let rod = rod(q, i);
            for k in 0..2 {
                jacobian[(i, 2 * i + k)] = rod[k];
                if i > 0 {
                    jacobian[(i, 2 * i - 2 + k)] = -rod[k];
                }
            }
        }
        jacobian
    }
}

/// From the mass before to mass i of a [`RodChain`].
fn rod(q: &DVector<f64>, i: usize) -> DVector<f64> {
    let at = |i: usize| q.rows(2 * i, 2).into_owned();
    if i == 0 { at(0) } else { at(i) - at(i - 1) }
}

/// The model of Lotka and Volterra, x = (u, v): J = (0 uv; −uv 0), H = u − ln u + v − 2 ln v (section 1.1.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct LotkaVolterra;

impl PoissonSystem for LotkaVolterra {
    fn structure(&self, x: &DVector<f64>) -> DMatrix<f64> {
        let uv = x[0] * x[1];
        DMatrix::from_row_slice(2, 2, &[0.0, uv, -uv, 0.0])
    }
    fn energy(&self, x: &DVector<f64>) -> f64 {
        x[0] - x[0].ln() + x[1] - 2.0 * x[1].ln()
    }
    fn gradient(&self, x: &DVector<f64>) -> DVector<f64> {
        pair([1.0 - 1.0 / x[0], 1.0 - 2.0 / x[1]])
    }
}

/// H₁ of u alone, H₂ of v alone.
impl SplitPoissonSystem for LotkaVolterra {
    fn flow(&self, part: Part, x: &DVector<f64>, h: f64) -> DVector<f64> {
        match part {
            Part::First => pair([x[0], x[1] * (h * (1.0 - x[0])).exp()]),
            Part::Second => pair([x[0] * (h * (x[1] - 2.0)).exp(), x[1]]),
        }
    }
}

/// The generalized oscillator, x = (p, q): J = (0 −U; U 0), U = (1 + p² + q²)², H = ½p² − cos q (section 1.1.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneralizedOscillator;

impl PoissonSystem for GeneralizedOscillator {
    fn structure(&self, x: &DVector<f64>) -> DMatrix<f64> {
        let u = (1.0 + x.norm_squared()).powi(2);
        DMatrix::from_row_slice(2, 2, &[0.0, -u, u, 0.0])
    }
    fn energy(&self, x: &DVector<f64>) -> f64 {
        0.5 * x[0] * x[0] - x[1].cos()
    }
    fn gradient(&self, x: &DVector<f64>) -> DVector<f64> {
        pair([x[0], x[1].sin()])
    }
}

/// H₁ = ½p², H₂ = −cos q. Of ẏ = (a + y²)² c, ∫dy/(a + y²)² = y/(2a(a + y²)) + arctan(y/√a)/(2a^{3/2}) grows with ct;
/// Newton's method turns it around.
impl SplitPoissonSystem for GeneralizedOscillator {
    fn flow(&self, part: Part, x: &DVector<f64>, h: f64) -> DVector<f64> {
        let moved = |y: f64, other: f64, change: f64| {
            let a = 1.0 + other * other;
            let integral = |y: f64| 0.5 * (y / (a * (a + y * y)) + (y / a.sqrt()).atan() / a.powf(1.5));
            let target = integral(y) + change;
            // The fourth-order step ahead is close enough for Newton's method to double its digits at once.
            let slope = |y: f64| (a + y * y).powi(2) * change;
            let (k1, k2) = (slope(y), slope(y + 0.5 * slope(y)));
            let (k3, k4) = (slope(y + 0.5 * k2), slope(y + slope(y + 0.5 * k2)));
            let guess = y + (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0;
            (0..4).fold(guess, |y, _| y - (integral(y) - target) * (a + y * y).powi(2))
        };
        match part {
            Part::First => pair([x[0], moved(x[1], x[0], h * x[0])]),
            Part::Second => pair([moved(x[0], x[1], -h * x[1].sin()), x[1]]),
        }
    }
}

/// The model of Ablowitz and Ladik on a ring, x = (p₁ … pₙ, q₁ … qₙ): J = (0 D; −D 0), D = diag(1 + pₗ² + qₗ²),
/// H = Σ(pₗpₗ₊₁ + qₗqₗ₊₁) (section 1.1.4). D has the sign in which (1.13) and the text's examples agree; its other sign
/// turns time around.
#[derive(Clone, Copy, Debug, Default)]
pub struct AblowitzLadik;

impl AblowitzLadik {
    /// Σ ln(1 + pₗ² + qₗ²), which stays, too.
    pub fn norm(&self, x: &DVector<f64>) -> f64 {
        let n = x.len() / 2;
        (0..n).map(|l| (x[l] * x[l] + x[n + l] * x[n + l]).ln_1p()).sum()
    }
}

/// Σ of both neighbours on the ring of the n components from `first`.
fn neighbours(x: &DVector<f64>, first: usize, l: usize) -> f64 {
    let n = x.len() / 2;
    x[first + (l + 1) % n] + x[first + (l + n - 1) % n]
}

impl PoissonSystem for AblowitzLadik {
    fn structure(&self, x: &DVector<f64>) -> DMatrix<f64> {
        let n = x.len() / 2;
        let mut structure = DMatrix::zeros(2 * n, 2 * n);
        for l in 0..n {
            let u = 1.0 + x[l] * x[l] + x[n + l] * x[n + l];
            (structure[(l, n + l)], structure[(n + l, l)]) = (u, -u);
        }
        structure
    }
    fn energy(&self, x: &DVector<f64>) -> f64 {
        let n = x.len() / 2;
        (0..n).map(|l| x[l] * x[(l + 1) % n] + x[n + l] * x[n + (l + 1) % n]).sum()
    }
    fn gradient(&self, x: &DVector<f64>) -> DVector<f64> {
        let n = x.len() / 2;
        DVector::from_fn(2 * n, |k, _| neighbours(x, if k < n { 0 } else { n }, k % n))
    }
}

/// H₁ = Σpₗpₗ₊₁ moves q alone, H₂ = Σqₗqₗ₊₁ p alone: ẏ = (a + y²)c has y = √a tan(√a ct + arctan(y₀/√a)).
impl SplitPoissonSystem for AblowitzLadik {
    fn flow(&self, part: Part, x: &DVector<f64>, h: f64) -> DVector<f64> {
        let n = x.len() / 2;
        let (kept, moving, sign) = match part {
            Part::First => (0, n, -1.0),
            Part::Second => (n, 0, 1.0),
        };
        let mut end = x.clone();
        for l in 0..n {
            let root = (1.0 + x[kept + l] * x[kept + l]).sqrt();
            let angle = sign * h * neighbours(x, kept, l) * root + (x[moving + l] / root).atan();
            end[moving + l] = root * angle.tan();
        }
        end
    }
}
