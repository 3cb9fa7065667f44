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

    /// Quantiles with one and three degrees of freedom, from tables of ten digits.
    const TABLE: [(usize, f64, f64); 6] = [
        (1, 0.5, 0.4549364231),
        (1, 0.95, 3.8414588207),
        (1, 0.999, 10.8275661707),
        (3, 0.5, 2.3659738844),
        (3, 0.95, 7.8147279033),
        (3, 0.999, 16.2662361962),
    ];

    #[test]
    fn the_bound_is_the_quantile() {
        for (dof, probability, quantile) in TABLE {
            let bound = chi2_bound(dof, probability);
            assert!((bound / quantile - 1.0).abs() < 1e-9, "{dof} {probability}: {bound}");
        }
        for probability in [0.5_f64, 0.95, 0.999_999] {
            assert!((1.0 - (-0.5 * chi2_bound(2, probability)).exp() - probability).abs() < 1e-12, "{probability}");
        }
        assert!([1, 2, 3].iter().all(|dof| chi2_bound(*dof, 1.0) == f64::INFINITY));
    }
}
