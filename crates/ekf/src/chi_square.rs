//! Quantiles of the χ² distribution, for gates.

/// The quantile of χ² with `dof` degrees of freedom at this probability; infinite for 1.
pub fn chi2_bound(dof: usize, probability: f64) -> f64 {
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    if dof == 2 {
        return -2.0 * (-probability).ln_1p();
    }
    let beyond = 1.0 - probability;
    let (mut low, mut high) = (0.0, 1.0);
    while survival(dof, high) > beyond {
        (low, high) = (high, 2.0 * high);
    }
    // Halved until nothing lies between.
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if survival(dof, middle) > beyond { low = middle } else { high = middle }
    }
}

/// The probability that χ² with one or three degrees of freedom exceeds x: erfc √(x/2), and √(2x/π) e^{−x/2} more for
/// three.
fn survival(dof: usize, x: f64) -> f64 {
    let tail = libm::erfc((0.5 * x).sqrt());
    if dof == 1 { tail } else { tail + (x * std::f64::consts::FRAC_2_PI).sqrt() * (-0.5 * x).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_bound_is_the_quantile() {
        for dof in [1, 2, 3] {
            let chi2 = ChiSquared::new(dof as f64).unwrap();
            for p in [0.5, 0.95, 0.99, 0.999, 0.999_999] {
                assert!((chi2.cdf(chi2_bound(dof, p)) - p).abs() < 1e-9, "{dof} {p}");
            }
            assert_eq!(chi2_bound(dof, 1.0), f64::INFINITY);
        }
    }
}
