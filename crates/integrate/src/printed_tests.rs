//! Identities of the texts, and formulas that do not hold as they are printed (`docs/lab/errata.md`).

use crate::dynamics::StabilityBody;
use crate::dynamics::inertial::luo_sun;
use crate::lie_newmark::{trapezoidal_momentum, trapezoidal_tangent};
use crate::{RigidBody, TorqueGradient};
use lienav_lie::{LieGroup, So3, hat};
use nalgebra::{DMatrix, Matrix3, SMatrix, Vector3};

fn vector() -> Vector3<f64> {
    Vector3::new(0.5, -0.8, 0.6)
}

/// Ortolan 2011, (2.3)–(2.13): F = c₀ + c₁x^ + c₂x^², and c₃ of its trivialized tangent by (2.5).
#[test]
fn the_exponential_and_the_cayley_map_have_the_coefficients_of_the_text() {
    let x = vector();
    let (angle, hat_x) = (x.norm(), hat(&x));
    let square = hat_x * hat_x;
    let exp = Matrix3::identity() + hat_x * (angle.sin() / angle) + square * ((1.0 - angle.cos()) / angle.powi(2));
    assert!((exp - *So3::exp(&x).matrix()).norm() < 1e-15);
    let denominator = 4.0 + angle * angle;
    let cayley = Matrix3::identity() + hat_x * (4.0 / denominator) + square * (2.0 / denominator);
    assert!((cayley - *So3::cayley(&x).matrix()).norm() < 1e-15);
    // The proof's last line has the sign of the square wrong, and its inverse the factor.
    let printed = Matrix3::identity() + hat_x * (4.0 / denominator) - square * (2.0 / denominator);
    assert!((printed - cayley).norm() > 0.1);
    let inverse = (Matrix3::identity() - 0.5 * hat_x).try_inverse().unwrap();
    let series = |last: f64| Matrix3::identity() + hat_x * (2.0 / denominator) + square * (last / denominator);
    assert!((inverse - series(1.0)).norm() < 1e-15 && (inverse - series(4.0)).norm() > 0.1);
    // (2.5).
    let c1 = |a: f64| a.sin() / a;
    let c2 = |a: f64| (1.0 - a.cos()) / (a * a);
    let slope = (c2(angle + 1e-5) - c2(angle - 1e-5)) / 2e-5;
    let c3 = (slope + c2(angle).powi(2) * angle) / (c1(angle) * angle);
    assert!((c3 - (angle - angle.sin()) / angle.powi(3)).abs() < 1e-9);
    // Of its two forms in the footnote the second, with θ − sin θ.
    let tangent = Matrix3::identity() * c1(angle) + hat_x * c2(angle) + x * x.transpose() * c3;
    let by_square = |last: f64| Matrix3::identity() + hat_x * c2(angle) + square * last;
    assert!((tangent - by_square((angle - angle.sin()) / angle.powi(3))).norm() < 1e-8);
    assert!((tangent - by_square(angle * angle.sin() / angle.powi(3))).norm() > 0.1);
    // Right-trivialized: F(x + δ) = exp(dF δ) F(x).
    let d = Vector3::new(1e-6, 2e-6, -1e-6);
    let turn = (So3::exp(&(x + d)) * So3::exp(&(x - d)).inverse()).log() / 2.0;
    assert!((turn - tangent * d).norm() < 1e-14);
}

/// Ortolan 2011, A.1.1, A.2.1 and (7.9).
#[test]
fn identities_of_the_appendix() {
    let b = vector().normalize();
    let a = Vector3::new(0.3, 1.0, 0.2).cross(&b);
    assert!((b.cross(&a.cross(&b)) - a).norm() < 1e-15);
    let (f, q) = (a, b);
    assert!((q.cross(&f).cross(&q) - f).norm() < 1e-15);
    let m = DMatrix::from_fn(5, 5, |i, j| f64::from(u8::from(i == j)) * 3.0 + ((i * 3 + j * 2) as f64).sin());
    let part = |i, j, r, c| m.view((i, j), (r, c)).into_owned();
    let (p, q, r, s) = (part(0, 0, 2, 2), part(0, 2, 2, 3), part(2, 0, 3, 2), part(2, 2, 3, 3));
    let inverse = |m: &DMatrix<f64>| m.clone().try_inverse().unwrap();
    let (of_p, of_s) = (inverse(&(&p - &q * inverse(&s) * &r)), inverse(&(&s - &r * inverse(&p) * &q)));
    let mut block = DMatrix::zeros(5, 5);
    block.view_mut((0, 0), (2, 2)).copy_from(&of_p);
    block.view_mut((0, 2), (2, 3)).copy_from(&(-inverse(&p) * &q * &of_s));
    block.view_mut((2, 0), (3, 2)).copy_from(&(-inverse(&s) * &r * &of_p));
    block.view_mut((2, 2), (3, 3)).copy_from(&of_s);
    assert!((block - inverse(&m)).norm() < 1e-12);
}

/// Ortolan 2011, after (7.7).
#[test]
fn the_determinant_of_the_double_pendulum_needs_the_square_of_its_coupling() {
    let (m11, m12, m22) = (3.0, 1.4, 1.0);
    let (a, b) = (vector().normalize(), Vector3::new(0.9, 0.3, -0.2).normalize());
    let mut m = SMatrix::<f64, 6, 6>::identity();
    m.fixed_view_mut::<3, 3>(0, 0).copy_from(&(Matrix3::identity() * m11));
    m.fixed_view_mut::<3, 3>(3, 3).copy_from(&(Matrix3::identity() * m22));
    m.fixed_view_mut::<3, 3>(0, 3).copy_from(&(-m12 * hat(&a) * hat(&b)));
    m.fixed_view_mut::<3, 3>(3, 0).copy_from(&(-m12 * hat(&b) * hat(&a)));
    let of = |coupling: f64| m11 * m22 * (m11 * m22 - coupling * a.dot(&b).powi(2)) * (m11 * m22 - m12 * m12);
    assert!((m.determinant() - of(m12 * m12)).abs() < 1e-12 && (m.determinant() - of(m12)).abs() > 1e-2);
    // The upper left block of the inverse, by Schur's complement.
    let inverse = m.try_inverse().unwrap();
    let block = |last: Matrix3<f64>| {
        (Matrix3::identity() * m11 - hat(&a) * hat(&b) * last * (m12 * m12 / m22)).try_inverse().unwrap()
    };
    let upper = inverse.fixed_view::<3, 3>(0, 0).into_owned();
    assert!((upper - block(hat(&b) * hat(&a))).norm() < 1e-12 && (upper - block(hat(&a) * hat(&a))).norm() > 1e-2);
}

/// Ortolan 2011, 4.1.2: signs of the Jacobian of TLN.
#[test]
fn the_jacobian_of_the_trapezoidal_method_has_other_signs_than_printed() {
    let (moments, omega, h) = (Vector3::new(1.0, 2.0, 2.5), vector(), 0.3);
    let at = |omega: &Vector3<f64>| trapezoidal_momentum(&moments, omega, h);
    let differences = Matrix3::from_columns(
        &[Vector3::x(), Vector3::y(), Vector3::z()].map(|e| (at(&(omega + e * 1e-5)) - at(&(omega - e * 1e-5))) / 2e-5),
    );
    let j = Matrix3::from_diagonal(&moments);
    let momentum = hat(&moments.component_mul(&omega));
    assert!((differences - trapezoidal_tangent(&moments, &omega, h)).norm() < 1e-9);
    assert!((differences - (j + (hat(&omega) * j - momentum) * (0.5 * h))).norm() < 1e-9);
    assert!((differences - (j + (hat(&omega) * j + momentum) * (0.5 * h))).norm() > 0.1);
    // Its rank-one term of m_I: the gradient of 2(m − 1)/m · s has −2/m³ s sᵀ.
    let body = StabilityBody { attraction: 0.0, ..StabilityBody::default() };
    let r = So3::exp(&Vector3::new(0.4, -0.5, 0.7));
    let m = (6.0 - 2.0 * r.matrix().trace()).sqrt();
    let s = lienav_lie::vee(&(*r.matrix() - r.matrix().transpose()));
    let change = Matrix3::from_diagonal_element(r.matrix().trace()) - r.matrix().transpose();
    let with = |sign: f64| change * (2.0 / m - 2.0) + s * s.transpose() * (sign * 2.0 / m.powi(3));
    assert!((body.torque_gradient(&r) - with(-1.0)).norm() < 1e-12);
    assert!((body.torque_gradient(&r) - with(1.0)).norm() > 0.1);
    // (3.5): with m² in place of m the torque is that of no such potential.
    let printed = s * (2.0 - 2.0 * m) / (m * m);
    assert!((body.torque(&r) - printed).norm() > 0.05);
}

/// Luo and Sun 2020, theorem 2.1, properties 2.3 and 2.4, remark 2.2.
#[test]
fn a_skew_coefficient_keeps_determinant_and_energy_and_no_other_does() {
    let flow = |s: &Matrix3<f64>, t: f64| (s * t).exp();
    let q = Matrix3::from_fn(|i, j| (1.0 + i as f64 - 0.7 * j as f64).sin());
    let after = flow(&luo_sun(), 0.7) * q;
    assert!((after.determinant() - q.determinant()).abs() < 1e-14);
    assert!((after.transpose() * after - q.transpose() * q).norm() < 1e-13);
    // Property 2.4: of eᵢ + eⱼ the energy grows with sᵢⱼ + sⱼᵢ.
    let mut s = luo_sun();
    s[(0, 1)] += 0.2;
    let column = Matrix3::from_columns(&[Vector3::new(1.0, 1.0, 0.0), Vector3::zeros(), Vector3::zeros()]);
    let energy = |t: f64| (flow(&s, t) * column).norm_squared();
    assert!(((energy(1e-5) - energy(-1e-5)) / 2e-5 - 2.0 * (s[(0, 1)] + s[(1, 0)])).abs() < 1e-8);
}
