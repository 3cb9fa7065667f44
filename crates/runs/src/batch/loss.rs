//! What a squared residual counts.

/// Standardised residual at which Cauchy's loss begins to discount: 95 % efficient for normal errors (Holland and
/// Welsch 1977).
const CAUCHY_SCALE: f64 = 2.385;

/// What a measurement counts whose residual is s = ‖r‖²_R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// ρ = s: maximum likelihood of normal noise.
    Squares,
    /// ρ = c² ln(1 + s/c²): a misread counts little more the farther off it is.
    Cauchy,
}

impl Loss {
    /// ρ(s).
    pub(super) fn of(self, s: f64) -> f64 {
        match self {
            Self::Squares => s,
            Self::Cauchy => CAUCHY_SCALE.powi(2) * (s / CAUCHY_SCALE.powi(2)).ln_1p(),
        }
    }

    /// ρ'(s), the weight of the measurement in the normal equations.
    pub(super) fn weight(self, s: f64) -> f64 {
        match self {
            Self::Squares => 1.0,
            Self::Cauchy => 1.0 / (1.0 + s / CAUCHY_SCALE.powi(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_is_the_derivative_and_small_residuals_are_squares() {
        for loss in [Loss::Squares, Loss::Cauchy] {
            for s in [0.0, 0.3, 2.0, 40.0] {
                let numeric = (loss.of(s + 1e-6) - loss.of(s - 1e-6)) / 2e-6;
                assert!((numeric - loss.weight(s)).abs() < 1e-8, "{loss:?} {s}");
            }
            assert!((loss.of(1e-6) / 1e-6 - 1.0).abs() < 1e-6);
        }
        assert!(Loss::Cauchy.of(1e4) < 50.0);
    }
}
