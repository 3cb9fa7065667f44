//! exp, log, Cayley and dexp of rotations through θ → 0 and θ → π, and the functions of the angle they are made of,
//! against their series in numbers of twice the precision: errors of a few ulp, relative to what can be small.

use super::angle::{dexp_coefficients, dexp_inv_coefficients};
use super::{LieGroup, Quat, Se3, So3, se3};
use nalgebra::{Matrix3, Vector3};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
use std::ops::{Add, Mul, Neg, Sub};

/// A number as an unevaluated sum of two: 106 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Double(f64, f64);

impl Double {
    fn of(x: f64) -> Self {
        Self(x, 0.0)
    }
    /// Of two numbers of which the first is the larger.
    fn sum(a: f64, b: f64) -> Self {
        let sum = a + b;
        Self(sum, b - (sum - a))
    }
    fn over(self, divisor: Self) -> Self {
        let first = Self::of(self.0 / divisor.0);
        let rest = self - first * divisor;
        let second = Self::of(rest.0 / divisor.0);
        let rest = rest - second * divisor;
        first + second + Self::of(rest.0 / divisor.0)
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let error = (self.0 - (sum - part)) + (other.0 - part);
        Self::sum(sum, error + self.1 + other.1)
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let error = self.0.mul_add(other.0, -product);
        Self::sum(product, error + (self.0 * other.1 + self.1 * other.0))
    }
}

type Vector = [Double; 3];

fn vector(x: &Vector3<f64>) -> Vector {
    [x.x, x.y, x.z].map(Double::of)
}

fn cross([a, b, c]: Vector, [x, y, z]: Vector) -> Vector {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

fn dot(a: Vector, b: Vector) -> Double {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Σ cₖ(ξ×)ᵏη with c₀ = 1 and cₖ = cₖ₋₁/(k + shift): of the exponential with shift 0, of dexp with 1.
fn series(shift: f64, xi: Vector, eta: Vector) -> Vector {
    let (mut sum, mut term) = (eta, eta);
    for k in 1..60 {
        term = cross(xi, term).map(|x| x.over(Double::of(f64::from(k) + shift)));
        sum = std::array::from_fn(|i| sum[i] + term[i]);
    }
    sum
}

/// Σ (−x)ᵏ(a + bk + ck²)/(2k + n)!.
fn alternating(x: Double, n: u32, [a, b, c]: [f64; 3]) -> Double {
    let mut factorial = (1..=n).fold(Double::of(1.0), |product, k| product * Double::of(f64::from(k)));
    let (mut sum, mut power) = (Double::default(), Double::of(1.0));
    for k in 0..40 {
        let at = f64::from(k);
        sum = sum + (power * Double::of(a + b * at + c * at * at)).over(factorial);
        power = -(power * x);
        let next = f64::from(n) + 2.0 * at;
        factorial = factorial * Double::of((next + 1.0) * (next + 2.0));
    }
    sum
}

/// Where what is computed is more than this many ulp of `size` off.
fn check(computed: f64, exact: Double, size: f64, ulp: f64, what: &str) {
    let error = ((computed - exact.0) - exact.1).abs();
    assert!(error <= ulp * f64::EPSILON * size, "{what}: {computed:e} is {:.1} ulp off", error / f64::EPSILON / size);
}

fn check_vector(computed: &Vector3<f64>, exact: Vector, size: f64, ulp: f64, what: &str) {
    for (computed, exact) in computed.iter().zip(exact) {
        check(*computed, exact, size, ulp, what);
    }
}

/// Both ends densely, and around each place where formulas change.
fn angles() -> impl Iterator<Item = f64> {
    let ends = (0..18).flat_map(|k| [10_f64.powi(-k), PI - 10_f64.powi(-k)]);
    let changes = [0.25, 1.0, PI.powi(2).sqrt(), FRAC_PI_4, FRAC_PI_2, 3.0 * FRAC_PI_4, 3.0, PI - 2.5e-4];
    let changes = changes.into_iter().flat_map(|x| [x - 1e-9, x, x + 1e-9]);
    ends.chain(changes).chain([1e-30, 1e-150, 0.1, 0.5, 1.7, 2.0, 2.9]).filter(|theta| *theta <= PI)
}

fn axes() -> impl Iterator<Item = Vector3<f64>> {
    let axes =
        [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (1.0, -2.0, 2.0), (0.3, 0.3, -0.9), (1e-5, 1.0, -1e-9)];
    axes.into_iter().map(|(x, y, z)| Vector3::new(x, y, z).normalize())
}

fn rotation_vectors() -> impl Iterator<Item = Vector3<f64>> {
    angles().flat_map(|theta| axes().map(move |axis| axis * theta))
}

const UNITS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The columns of exp ξ.
fn exact_exp(xi: &Vector3<f64>) -> [Vector; 3] {
    UNITS.map(|unit| series(0.0, vector(xi), unit.map(Double::of)))
}

/// exp ξ, each entry rounded.
fn rounded_exp(xi: &Vector3<f64>) -> So3 {
    let columns = exact_exp(xi);
    So3::from_matrix_unchecked(Matrix3::from_fn(|i, j| columns[j][i].0))
}

#[test]
fn exponentials_and_logarithms() {
    for xi in rotation_vectors() {
        let theta = xi.norm();
        let columns = exact_exp(&xi);
        let exp = So3::exp(&xi);
        for (j, column) in columns.iter().enumerate() {
            for (i, exact) in column.iter().enumerate() {
                let size = if i == j { 1.0 } else { theta.min(1.0) };
                check(exp.matrix()[(i, j)], *exact, size, 6.0, &format!("exp at {theta}"));
            }
        }
        let rounded = rounded_exp(&xi);
        // At half a turn to rounding both signs are right.
        let log = rounded.log();
        let log = if PI - theta < 1e-15 && log.dot(&xi) < 0.0 { -log } else { log };
        check_vector(&log, vector(&xi), theta, 6.0, &format!("log at {theta}"));

        let y = dot(vector(&xi), vector(&xi)) * Double::of(0.25);
        let (sinc, cos) = (alternating(y, 1, [1.0, 0.0, 0.0]), alternating(y, 0, [1.0, 0.0, 0.0]));
        let q = Quat::exp(&xi);
        check(q.w(), cos, 1.0, 2.0, "scalar part");
        let v = vector(&xi).map(|x| x * sinc * Double::of(0.5));
        check_vector(&q.v(), v, theta.min(1.0), 3.0, "vector part");
        check_vector(&q.log(), vector(&xi), theta, 4.0, &format!("log of a quaternion at {theta}"));
    }
}

/// Densely, and most so from where the angle is read as π − θ on: past 3 rad, where the axis is no longer that of R −
/// Rᵀ alone, and past where it is that of a column of R + Rᵀ.
#[test]
fn logarithms_up_to_the_half_turn() {
    let directions = (0..40).map(|k| {
        let t = f64::from(k);
        Vector3::new((1.3 * t).sin(), (0.7 * t).cos(), (2.1 * t).sin()).normalize()
    });
    for axis in directions.chain(axes()) {
        let lower = (0..100).map(|k| 0.023 * f64::from(k));
        let even = (0..100).map(|k| 2.3 + 0.0084 * f64::from(k));
        let towards = (0..100).map(|k| PI - 10_f64.powf(-0.85 - 0.12 * f64::from(k)));
        for theta in lower.chain(even).chain(towards) {
            let xi = axis * theta;
            check_vector(&rounded_exp(&xi).log(), vector(&xi), theta, 3.0, &format!("log at {theta}"));
        }
    }
}

/// What a matrix is off by may be all there is of R − Rᵀ. The logarithm magnifies it by θ/sin θ up to 3 rad, which is
/// 21, and no more beyond.
#[test]
fn logarithms_of_matrices_that_are_not_quite_orthogonal() {
    for worn in [1e-12, 1e-9, 1e-6] {
        for axis in axes() {
            for from_half_turn in (0..60).map(|k| 10_f64.powf(-0.2 * f64::from(k))) {
                let xi = axis * (PI - from_half_turn);
                let off = Matrix3::new(0.3, -0.7, 0.5, 0.9, -0.2, -0.6, 0.1, 0.8, -0.4) * worn;
                let log = So3::from_matrix_unchecked(rounded_exp(&xi).matrix() + off).log();
                let error = (log - xi).norm().min((log + xi).norm());
                let bound = if from_half_turn > 0.1416 { 30.0 } else { 3.0 } * worn;
                assert!(error < bound, "{error:e} of {worn:e} at {from_half_turn:e} from half a turn");
            }
        }
    }
}

#[test]
fn cayley_maps() {
    for xi in rotation_vectors() {
        let x = vector(&xi);
        let a = Double::of(4.0).over(Double::of(4.0) + dot(x, x));
        let cayley = So3::cayley(&xi);
        for (j, unit) in UNITS.into_iter().enumerate() {
            let (unit, first) = (unit.map(Double::of), cross(x, unit.map(Double::of)));
            let second = cross(x, first);
            for i in 0..3 {
                let exact = unit[i] + a * (first[i] + second[i] * Double::of(0.5));
                let size = if i == j { 1.0 } else { xi.norm().min(1.0) };
                check(cayley.matrix()[(i, j)], exact, size, 4.0, "cayley");
            }
        }
        check_vector(&cayley.cayley_inv(), x, xi.norm() * (1.0 + xi.norm_squared()), 4.0, "inverse of cayley");
    }
}

#[test]
fn differentials_and_translations() {
    let eta = Vector3::new(0.6, -0.7, 0.4);
    for xi in rotation_vectors() {
        let exact = series(1.0, vector(&xi), vector(&eta));
        check_vector(&So3::dexp(&xi, &eta), exact, 1.0, 4.0, "dexp");
        check_vector(&Se3::exp(&se3::join(&xi, &eta)).translation, exact, 1.0, 4.0, "translation");
        let rounded = Vector3::from(exact.map(|x| x.0));
        check_vector(&So3::dexp_inv(&xi, &rounded), vector(&eta), 1.0, 8.0, "inverse of dexp");
    }
}

/// Also beyond half a turn, where dexp is asked for too.
#[test]
fn functions_of_the_angle() {
    for theta in angles().chain([3.2, 4.0, 5.5]) {
        let x = Double::of(theta) * Double::of(theta);
        let (of, what) = (dexp_coefficients(theta * theta), format!("at {theta}"));
        check(of.g1, alternating(x, 2, [1.0, 0.0, 0.0]), of.g1, 4.0, &what);
        check(of.g2, alternating(x, 3, [1.0, 0.0, 0.0]), of.g2, 4.0, &what);
        check(of.dg1, alternating(x, 4, [-2.0, -2.0, 0.0]), of.dg1.abs(), 8.0, &what);
        check(of.dg2, alternating(x, 5, [-2.0, -2.0, 0.0]), of.dg2.abs(), 16.0, &what);
        let y = x * Double::of(0.25);
        let (s, e) = (alternating(y, 1, [1.0, 0.0, 0.0]), alternating(y, 3, [2.0, 2.0, 0.0]));
        let de = alternating(y, 5, [-4.0, -6.0, -2.0]);
        let inverse = dexp_inv_coefficients(theta * theta);
        check(inverse.g2, e.over(Double::of(4.0) * s), inverse.g2, 8.0, &what);
        let dg2 = (de * s + e * e * Double::of(0.5)).over(Double::of(8.0) * s * s);
        check(inverse.dg2, dg2, inverse.dg2.abs(), 16.0, &what);
    }
}
