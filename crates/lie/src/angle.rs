//! The functions of an angle θ that the closed forms on so(3), se(2) and se(3) are made of, accurate to a few ulp from
//! θ = 0 on. Where a difference would cancel, its power series in θ² is summed up to a half turn; the terms alternate
//! and fall from the first on, so little cancels there.

/// Up to here (a half turn) the series are used.
const SERIES_BELOW: f64 = 10.0;
const PAIRS: usize = 7;

/// Up to here fewer terms do, as in a step of an integrator.
const SHORT_BELOW: f64 = 1.0;

/// And up to here (a quarter of a radian) fewer still, as between samples of a gyroscope.
const SHORTEST_BELOW: f64 = 1.0 / 16.0;

/// sin(h)/h and cos(h).
#[inline]
pub(super) fn sinc_cos(h: f64) -> (f64, f64) {
    let (s, c) = h.sin_cos();
    (if h == 0.0 { 1.0 } else { s / h }, c)
}

/// sin(θ/2)/θ and cos(θ/2), from x = θ². The series are as good as sine and cosine here, and quicker.
#[inline]
pub(super) fn half_angle(x: f64) -> (f64, f64) {
    if x < SHORTEST_BELOW {
        return (polynomial::<3>(&SIN_OF_HALF, x), polynomial::<3>(&COS_OF_HALF, x));
    }
    half_angle_of_larger(x)
}

/// Apart, so that small steps need no call.
fn half_angle_of_larger(x: f64) -> (f64, f64) {
    if x < SHORT_BELOW {
        return (polynomial::<4>(&SIN_OF_HALF, x), polynomial::<4>(&COS_OF_HALF, x));
    }
    if x < SERIES_BELOW {
        return (polynomial::<6>(&SIN_OF_HALF, x), polynomial::<6>(&COS_OF_HALF, x));
    }
    let (s, c) = sinc_cos(0.5 * x.sqrt());
    (0.5 * s, c)
}

/// sin(θ)/θ and (1 − cos θ)/θ², from x = θ².
#[inline]
pub(super) fn exp_coefficients(x: f64) -> (f64, f64) {
    if x < SHORT_BELOW {
        return (polynomial::<5>(&SIN, x), polynomial::<5>(&ONE_MINUS_COS, x));
    }
    let (s, c) = half_angle(x);
    (2.0 * s * c, 2.0 * s * s)
}

/// g₁ and g₂ with φ(ad_ξ) = 1 + g₁ ad_ξ + g₂ ad_ξ² on so(3), and g₁'(θ)/θ, g₂'(θ)/θ, of which φ(ad) on se(3) is made
/// (Celledoni et al. 2021, section 2.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct AdFunction {
    pub g1: f64,
    pub g2: f64,
    pub dg1: f64,
    pub dg2: f64,
}

/// Those of dexp, φ(z) = (eᶻ − 1)/z: g₁ = (1 − cos θ)/θ², g₂ = (θ − sin θ)/θ³; from x = θ².
#[inline]
pub(super) fn dexp_coefficients(x: f64) -> AdFunction {
    if x < SERIES_BELOW {
        return AdFunction {
            g1: polynomial::<PAIRS>(&ONE_MINUS_COS, x),
            g2: polynomial::<PAIRS>(&THETA_MINUS_SIN, x),
            dg1: polynomial::<PAIRS>(&DEXP_DG1, x),
            dg2: polynomial::<PAIRS>(&DEXP_DG2, x),
        };
    }
    let (sinc, g1) = exp_coefficients(x);
    let g2 = (1.0 - sinc) / x;
    AdFunction { g1, g2, dg1: (sinc - 2.0 * g1) / x, dg2: (g1 - 3.0 * g2) / x }
}

/// (θ − sin θ)/θ³, from x = θ².
#[inline]
pub(super) fn theta_minus_sin(x: f64) -> f64 {
    if x < SERIES_BELOW { polynomial::<PAIRS>(&THETA_MINUS_SIN, x) } else { (1.0 - exp_coefficients(x).0) / x }
}

/// Those of dexp⁻¹, φ(z) = z/(eᶻ − 1): g₁ = −1/2, g₂ = (1 − (θ/2) cot(θ/2))/θ²; from x = θ², θ < 2π.
#[inline]
pub(super) fn dexp_inv_coefficients(x: f64) -> AdFunction {
    // With h = θ/2, y = h², S = sin(h)/h: g₂ = E/(4S), E = (S − cos h)/y, dS/dy = −E/2.
    let y = 0.25 * x;
    let (s, c) = sinc_cos(y.sqrt());
    let (e, de) = if x < SERIES_BELOW {
        (polynomial::<6>(&E, y), polynomial::<6>(&E_PRIME, y))
    } else {
        let e = (s - c) / y;
        (e, (s - 3.0 * e) / (2.0 * y))
    };
    AdFunction { g1: -0.5, g2: e / (4.0 * s), dg1: 0.0, dg2: (de * s + 0.5 * e * e) / (8.0 * s * s) }
}

/// g₂ of dexp⁻¹ alone.
#[inline]
pub(super) fn dexp_inv_g2(x: f64) -> f64 {
    let y = 0.25 * x;
    // Of small steps neither root nor sine is needed.
    if x < SHORTEST_BELOW {
        return polynomial::<3>(&E, y) / (4.0 * polynomial::<3>(&SIN, y));
    }
    if x < SHORT_BELOW {
        return polynomial::<4>(&E, y) / (4.0 * polynomial::<4>(&SIN, y));
    }
    let (s, c) = sinc_cos(y.sqrt());
    let e = if x < SERIES_BELOW { polynomial::<6>(&E, y) } else { (s - c) / y };
    e / (4.0 * s)
}

/// The least cosine that [`angle_by_cos`] is for, that of 67.5°.
pub(super) const ANGLE_BY_COS_FROM: f64 = 0.3826834323650898;

/// Numerator and denominator of h/sin h, from w = cos h and w², h up to 67.5°. They are given apart since who asks
/// has more to divide by.
#[inline]
pub(super) fn angle_by_cos(w: f64, square: f64) -> [f64; 2] {
    let plus = |a: [f64; 2], x: f64, b: [f64; 2]| [a[0] + x * b[0], a[1] + x * b[1]];
    let [c0, c1, c2, c3, c4, c5] = ANGLE_BY_COS;
    // By powers of the square, so that the root that w may come from is not waited for.
    let (even, odd) = (plus(c0, square, plus(c2, square, c4)), plus(c1, square, plus(c3, square, c5)));
    plus(even, w, odd)
}

/// The quotient of two polynomials of degree 5 that meets acos(w)/√(1 − w²), a function without a singularity at w =
/// 1, at Chebyshev's nodes of sin(π/8) − 10⁻⁴ … 1, the coefficients of numerator and denominator side by side;
/// relative error 9·10⁻¹⁸. All are positive, so nothing cancels.
const ANGLE_BY_COS: [[f64; 2]; 6] = [
    [2.7064654037646076, 1.722989389591204],
    [5.0080327341113415, 4.285101765423982],
    [3.0180548658546122, 3.7878392828131675],
    [0.6660308232855426, 1.4241299061222739],
    [0.04232752799358358, 0.21219046171789147],
    [0.00015743101938775519, 0.008817980360556503],
];

/// θ/sin θ up to 45°, from t = sin²(θ/2): t is as exact as cos θ, however small the angle, and neither root nor
/// arcsine is needed.
#[inline]
pub(super) fn angle_by_sin(t: f64) -> f64 {
    polynomial::<6>(&ANGLE_BY_SIN, t)
}

/// The polynomial of degree 11 through asin(√t)/√(t(1 − t)) at Chebyshev's nodes of 0 … 0.1465 (45°), in pairs of an
/// even and an odd power; relative error 8·10⁻¹⁸. Its first coefficients are near those of the power series, 1, 2/3,
/// 8/15, 16/35 ….
#[rustfmt::skip]
const ANGLE_BY_SIN: [[f64; 2]; 6] = [
    [1.0, 0.6666666666666806],
    [0.5333333333288143, 0.45714285771600954],
    [0.4063491688895377, 0.36940980936884404],
    [0.34095739657260504, 0.31881448739437124],
    [0.29371150471714325, 0.32356684773598876],
    [0.10307152861299382, 0.6318106454210587],
];

/// Σ cₖ xᵏ of the first pairs of coefficients, those of even and odd powers side by side, as the processor can take
/// them.
#[inline]
fn polynomial<const PAIRS: usize>(coefficients: &[[f64; 2]], x: f64) -> f64 {
    let y = x * x;
    let lower = coefficients[..PAIRS - 1].iter().rev();
    let [even, odd] = lower.fold(coefficients[PAIRS - 1], |[even, odd], [a, b]| [a + y * even, b + y * odd]);
    even + x * odd
}

const fn factorial(n: usize) -> f64 {
    let (mut product, mut k) = (1.0, 2);
    while k <= n {
        product *= k as f64;
        k += 1;
    }
    product
}

/// cₖ = (−1)ᵏ(a + b k + c k²)/(2k + n)!, the shape of all series here.
const fn series(n: usize, abc: [f64; 3]) -> [[f64; 2]; PAIRS] {
    series_of(1.0, n, abc)
}

/// The same, of a fraction of x.
const fn series_of(fraction: f64, n: usize, [a, b, c]: [f64; 3]) -> [[f64; 2]; PAIRS] {
    let (mut coefficients, mut k, mut power) = ([[0.0; 2]; PAIRS], 0, 1.0);
    while k < 2 * PAIRS {
        let x = k as f64;
        coefficients[k / 2][k % 2] = power * (a + b * x + c * x * x) / factorial(2 * k + n);
        power *= -fraction;
        k += 1;
    }
    coefficients
}

const SIN: [[f64; 2]; PAIRS] = series(1, [1.0, 0.0, 0.0]);
const COS_OF_HALF: [[f64; 2]; PAIRS] = series_of(0.25, 0, [1.0, 0.0, 0.0]);
const SIN_OF_HALF: [[f64; 2]; PAIRS] = series_of(0.25, 1, [0.5, 0.0, 0.0]);
const ONE_MINUS_COS: [[f64; 2]; PAIRS] = series(2, [1.0, 0.0, 0.0]);
const THETA_MINUS_SIN: [[f64; 2]; PAIRS] = series(3, [1.0, 0.0, 0.0]);
const DEXP_DG1: [[f64; 2]; PAIRS] = series(4, [-2.0, -2.0, 0.0]);
const DEXP_DG2: [[f64; 2]; PAIRS] = series(5, [-2.0, -2.0, 0.0]);
const E: [[f64; 2]; PAIRS] = series(3, [2.0, 2.0, 0.0]);
const E_PRIME: [[f64; 2]; PAIRS] = series(5, [-4.0, -6.0, -2.0]);

#[cfg(test)]
mod tests {
    use super::*;

    /// Just below the change of formula nothing jumps: there both are good to a few ulp.
    #[test]
    fn series_and_closed_forms_meet() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15 * (1.0 + 1.0 / a.abs()), "{a} {b}");
        let (below, above) = (SERIES_BELOW * (1.0 - 1e-15), SERIES_BELOW);
        for of in [dexp_coefficients, dexp_inv_coefficients] {
            let (a, b) = (of(below), of(above));
            close(a.g1, b.g1);
            close(a.g2, b.g2);
            close(a.dg1, b.dg1);
            close(a.dg2, b.dg2);
        }
        for at in [SHORTEST_BELOW, SHORT_BELOW, SERIES_BELOW] {
            close(dexp_inv_g2(at * (1.0 - 1e-16)), dexp_inv_g2(at));
        }
        for of in [half_angle, exp_coefficients] {
            for at in [SHORTEST_BELOW, SHORT_BELOW, SERIES_BELOW] {
                let (a, b) = (of(at * (1.0 - 1e-16)), of(at));
                close(a.0, b.0);
                close(a.1, b.1);
            }
        }
    }

    #[test]
    fn the_angle_from_the_sine_of_its_half() {
        for k in 0..=4500 {
            let theta = 1.7453e-4 * f64::from(k) + 1e-9;
            let value = angle_by_sin((0.5 * theta).sin().powi(2));
            let exact = theta / theta.sin();
            assert!((value / exact - 1.0).abs() < 5e-16, "{theta}: {value} {exact}");
        }
    }

    #[test]
    fn the_angle_from_its_cosine() {
        for k in 0..=4500 {
            let h = 2.618e-4 * f64::from(k) + 1e-9;
            let w = h.cos();
            let [numerator, denominator] = angle_by_cos(w, w * w);
            let exact = h / h.sin();
            assert!((numerator / denominator / exact - 1.0).abs() < 8e-16, "{h}: {numerator} {denominator} {exact}");
        }
    }

    #[test]
    fn limits_at_zero() {
        let (d, i) = (dexp_coefficients(0.0), dexp_inv_coefficients(0.0));
        assert_eq!(exp_coefficients(0.0), (1.0, 0.5));
        assert_eq!([d.g1, d.g2, d.dg1, d.dg2], [0.5, 1.0 / 6.0, -1.0 / 12.0, -1.0 / 60.0]);
        assert_eq!([i.g1, i.g2, i.dg1], [-0.5, 1.0 / 12.0, 0.0]);
        assert!((i.dg2 - 1.0 / 360.0).abs() < 1e-18);
    }

    /// The derivatives, against differences of what they are derivatives of.
    #[test]
    fn derivatives_by_the_angle() {
        for theta in [0.1, 0.9, 2.0, 3.0, 3.3, 5.0] {
            for of in [dexp_coefficients, dexp_inv_coefficients] {
                let at = |t: f64| of(t * t);
                let (a, b, here) = (at(theta + 1e-5), at(theta - 1e-5), at(theta));
                assert!(((a.g1 - b.g1) / 2e-5 - here.dg1 * theta).abs() < 1e-9, "{theta}");
                assert!(((a.g2 - b.g2) / 2e-5 - here.dg2 * theta).abs() < 1e-9, "{theta}");
            }
        }
    }
}
