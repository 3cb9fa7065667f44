//! Quantiles of the χ² distribution, for gates.

/// The quantile of χ² with `dof` degrees of freedom, 1 to 6, at this probability; infinite for 1.
pub fn chi2_bound(dof: usize, probability: f64) -> f64 {
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let beyond = 1.0 - probability;
    let (mut low, mut high) = (0.0, 1.0);
    while survival(dof, high) > beyond {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if survival(dof, middle) > beyond { low = middle } else { high = middle }
    }
}

/// The probability that χ² exceeds x. By two degrees of freedom more, it grows by (x/2)^(k/2) e^{−x/2}/Γ(k/2 + 1).
pub fn survival(dof: usize, x: f64) -> f64 {
    let half = 0.5 * x;
    let (mut tail, mut k, mut term) = if dof.is_multiple_of(2) {
        ((-half).exp(), 2, half * (-half).exp())
    } else {
        (libm::erfc(half.sqrt()), 1, (x * std::f64::consts::FRAC_2_PI).sqrt() * (-half).exp())
    };
    while k < dof {
        tail += term;
        k += 2;
        term *= x / k as f64;
    }
    tail
}

/// The bounds of all degrees of freedom that a measurement may have.
#[derive(Clone, Copy, Debug)]
pub struct Bounds([f64; 6]);

impl Bounds {
    /// At this probability.
    pub fn new(probability: f64) -> Self {
        Self([1, 2, 3, 4, 5, 6].map(|dof| chi2_bound(dof, probability)))
    }

    /// For so many numbers.
    pub fn of(&self, dof: usize) -> f64 {
        self.0[dof - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::chi2_bound;

    #[test]
    fn the_bounds_are_those_of_tables() {
        let table = [
            (1, [3.841, 6.635, 10.828]),
            (2, [5.991, 9.210, 13.816]),
            (3, [7.815, 11.345, 16.266]),
            (4, [9.488, 13.277, 18.467]),
            (5, [11.070, 15.086, 20.515]),
            (6, [12.592, 16.812, 22.458]),
        ];
        for (dof, bounds) in table {
            for (p, bound) in [0.95, 0.99, 0.999].into_iter().zip(bounds) {
                assert!((chi2_bound(dof, p) - bound).abs() < 1e-3, "{dof} {p} {}", chi2_bound(dof, p));
            }
        }
        assert_eq!(chi2_bound(3, 1.0), f64::INFINITY);
    }
}
