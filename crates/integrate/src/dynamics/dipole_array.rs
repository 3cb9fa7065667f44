//! Magnetic needles on a grid.

use crate::two_spheres::{Diagonal, SphereSystem};
use lienav_lie::Ts2;
use nalgebra::{SMatrix, SVector, Vector3};

/// `N` magnetic needles, pinned at their middles in the plane z = 0 and free to turn, each in the field of the others
/// (Ortolan 2011, 7.2.3; Lee, Leok, McClamroch 2009).
///
/// V = ½ Σ_{i≠j} kᵢⱼ (qᵢ·qⱼ − 3 (qᵢ·eᵢⱼ)(qⱼ·eᵢⱼ)), kᵢⱼ = μ₀v²/(4π|rᵢⱼ|³), with eᵢⱼ the direction of rᵢⱼ. This is half
/// a quadratic form of all the qᵢ, kept by coordinates: the needles lie in a plane, so z is apart.
#[derive(Clone, Debug)]
pub struct DipoleArray<const N: usize> {
    mass: Diagonal<N>,
    xx: SMatrix<f64, N, N>,
    xy: SMatrix<f64, N, N>,
    yy: SMatrix<f64, N, N>,
    zz: SMatrix<f64, N, N>,
}

/// A needle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needle {
    /// Mass, kg.
    pub mass: f64,
    /// Length l, m: its moment of inertia is ml²/12.
    pub length: f64,
    /// Magnetic moment v, A m².
    pub moment: f64,
}

/// μ₀/4π, N/A².
const MAGNETIC_CONSTANT: f64 = 1e-7;

impl<const N: usize> DipoleArray<N> {
    /// Equal needles at the given places (m), all different.
    pub fn new(needle: Needle, places: &[[f64; 2]; N]) -> Self {
        let strength = MAGNETIC_CONSTANT * needle.moment * needle.moment;
        let matrix = |form: fn(f64, f64) -> f64| {
            SMatrix::from_fn(|i, j| {
                let (x, y) = (places[i][0] - places[j][0], places[i][1] - places[j][1]);
                let r = x.hypot(y);
                if i == j { 0.0 } else { strength / r.powi(3) * form(x / r, y / r) }
            })
        };
        Self {
            mass: Diagonal([needle.mass * needle.length * needle.length / 12.0; N]),
            xx: matrix(|x, _| 1.0 - 3.0 * x * x),
            xy: matrix(|x, y| -3.0 * x * y),
            yy: matrix(|_, y| 1.0 - 3.0 * y * y),
            zz: matrix(|_, _| 1.0),
        }
    }
}

impl DipoleArray<16> {
    /// The array of Ortolan 2011, 7.2.3: 4 × 4, edges of 1.2 lengths, numbered row by row.
    pub fn square() -> Self {
        let needle = Needle { mass: 0.05, length: 0.02, moment: 0.1 };
        let edge = 1.2 * needle.length;
        Self::new(needle, &std::array::from_fn(|i| [(i % 4) as f64 * edge, (i / 4) as f64 * edge]))
    }

    /// The initial state there: all at rest along x, but the last one tilted and the first one pushed.
    pub fn initial_state() -> [Ts2; 16] {
        let mut state = [Ts2 { q: Vector3::x(), omega: Vector3::zeros() }; 16];
        state[15].q = Vector3::new(0.353508623948073, 0.353608626387662, -0.866021126843087).normalize();
        state[0].omega = Vector3::new(0.0, 0.5, 0.0);
        state
    }
}

impl<const N: usize> SphereSystem<N> for DipoleArray<N> {
    type Mass = Diagonal<N>;

    fn mass(&self) -> &Diagonal<N> {
        &self.mass
    }
    fn potential(&self, q: &[Vector3<f64>; N]) -> f64 {
        0.5 * q.iter().zip(&self.gradient(q)).map(|(q, g)| q.dot(g)).sum::<f64>()
    }
    fn gradient(&self, q: &[Vector3<f64>; N]) -> [Vector3<f64>; N] {
        let [x, y, z] = [0, 1, 2].map(|axis| SVector::<f64, N>::from_fn(|i, _| q[i][axis]));
        let (gx, gy, gz) = (self.xx * x + self.xy * y, self.xy * x + self.yy * y, self.zz * z);
        std::array::from_fn(|i| Vector3::new(gx[i], gy[i], gz[i]))
    }
}
