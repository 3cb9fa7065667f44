//! dexp and its inverse as series in ad, cut off at any order: for algebras without a closed form, and for methods
//! that are to be run as they were printed.

use super::VectorSpace;
use std::f64::consts::TAU;

/// Σ_{k ≤ order} adᵏ(η)/(k+1)!, `ad` being η ↦ [ξ, η] (or ad*_ξ, for dexp on the dual).
pub fn dexp_series<V: VectorSpace>(order: usize, ad: impl Fn(&V) -> V, eta: &V) -> V {
    let mut factorial = 1.0;
    let coefficient = |k: usize| {
        factorial /= k as f64 + 1.0;
        factorial
    };
    sum(order, coefficient, ad, eta)
}

/// Σ_{k ≤ order} Bₖ adᵏ(η)/k! with the Bernoulli numbers B₁ = −1/2, B₂ = 1/6, B₄ = −1/30, … (Celledoni et al. 2021,
/// (8)). It converges where the eigenvalues of ad are below 2π.
pub fn dexp_inv_series<V: VectorSpace>(order: usize, ad: impl Fn(&V) -> V, eta: &V) -> V {
    sum(order, bernoulli_over_factorial, ad, eta)
}

/// The gradient by ξ of ⟨μ, Σ_{k ≤ order} ad_ξᵏ(η)/(k+1)!⟩. With aⱼ = ad_ξʲη and mᵢ = (ad*_ξ)ⁱμ the derivative in the
/// direction δ is Σ ⟨mᵢ, [δ, aⱼ]⟩/(i+j+2)!, so the gradient is −Σᵢ ad*_{Σⱼ aⱼ/(i+j+2)!} mᵢ.
pub fn dexp_gradient_series<V: VectorSpace>(
    order: usize,
    ad: impl Fn(&V, &V) -> V,
    coad: impl Fn(&V, &V) -> V,
    xi: &V,
    eta: &V,
    mu: &V,
) -> V {
    let powers: Vec<V> = std::iter::successors(Some(eta.clone()), |a| Some(ad(xi, a))).take(order).collect();
    let mut gradient = xi.zero_like();
    let (mut dual, mut first) = (mu.clone(), 0.5);
    for i in 0..order {
        // first = 1/(i+2)!, then 1/(i+j+2)!.
        let (mut inner, mut coefficient) = (xi.zero_like(), first);
        for (j, power) in powers[..order - i].iter().enumerate() {
            inner.add_scaled(coefficient, power);
            coefficient /= (i + j + 3) as f64;
        }
        gradient.add_scaled(-1.0, &coad(&inner, &dual));
        dual = coad(xi, &dual);
        first /= (i + 3) as f64;
    }
    gradient
}

/// η + Σ cₖ adᵏ(η), 1 ≤ k ≤ order; ends before where two terms in a row are lost in rounding.
fn sum<V: VectorSpace>(order: usize, mut coefficient: impl FnMut(usize) -> f64, ad: impl Fn(&V) -> V, eta: &V) -> V {
    let (mut sum, mut power) = (eta.clone(), eta.clone());
    let negligible = 0.01 * f64::EPSILON * eta.norm();
    let mut small_before = false;
    for k in 1..=order {
        power = ad(&power);
        let c = coefficient(k);
        if c == 0.0 {
            continue;
        }
        sum.add_scaled(c, &power);
        let small = c.abs() * power.norm() <= negligible;
        if small && small_before {
            break;
        }
        small_before = small;
    }
    sum
}

/// Bₖ/k!, from the numbers themselves and, beyond, B₂ⱼ/(2j)! = 2(−1)ʲ⁺¹ ζ(2j)/(2π)²ʲ.
fn bernoulli_over_factorial(k: usize) -> f64 {
    const EVEN: [(f64, f64); 11] = [
        (1.0, 6.0),
        (-1.0, 30.0),
        (1.0, 42.0),
        (-1.0, 30.0),
        (5.0, 66.0),
        (-691.0, 2730.0),
        (7.0, 6.0),
        (-3617.0, 510.0),
        (43867.0, 798.0),
        (-174_611.0, 330.0),
        (854_513.0, 138.0),
    ];
    match k {
        0 => 1.0,
        1 => -0.5,
        _ if k % 2 == 1 => 0.0,
        _ if k / 2 <= EVEN.len() => {
            let (numerator, denominator) = EVEN[k / 2 - 1];
            (2..=k).fold(numerator / denominator, |quotient, i| quotient / i as f64)
        }
        _ => {
            let power = -i32::try_from(k).unwrap_or(i32::MAX);
            let zeta: f64 = (1..=5).map(|n| f64::from(n).powi(power)).sum();
            let sign = if k % 4 == 2 { 1.0 } else { -1.0 };
            2.0 * sign * zeta * TAU.powi(power)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one variable the series are (eᶻ − 1)/z and z/(eᶻ − 1).
    #[test]
    fn they_are_the_functions_they_expand() {
        for z in [-3.0f64, -0.7, 1e-3, 0.5, 2.0, 4.0] {
            let (a, b) = (dexp_series(60, |x| z * x, &1.0), dexp_inv_series(160, |x| z * x, &1.0));
            assert!((a - z.exp_m1() / z).abs() < 1e-14 * a.abs().max(1.0), "{z} {a}");
            assert!((b - z / z.exp_m1()).abs() < 1e-14, "{z} {b} {}", z / z.exp_m1());
        }
    }

    #[test]
    fn cut_off_where_told() {
        assert_eq!(dexp_series(1, |x| 0.5 * x, &1.0), 1.25);
        assert!((dexp_inv_series(2, |x| 0.5 * x, &1.0) - (1.0 - 0.25 + 0.25 / 12.0)).abs() < 1e-16);
        assert_eq!(dexp_inv_series(0, |x: &f64| 0.5 * x, &1.0), 1.0);
    }
}
