//! Natural cubic splines through knots at equal distances in time.

/// A coordinate with continuous second derivative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spline {
    interval_s: f64,
    knots: Vec<f64>,
    /// Second derivatives at the knots.
    bends: Vec<f64>,
}

impl Spline {
    /// Through these knots, the first one at t = 0; with fewer than two, a constant.
    pub fn new(interval_s: f64, knots: Vec<f64>) -> Self {
        let n = knots.len();
        let mut bends = vec![0.0; n];
        // The equations m_{k−1} + 4 m_k + m_{k+1} = 6 (y_{k−1} − 2 y_k + y_{k+1})/h², with zeros at the ends.
        let mut factors = vec![0.0; n];
        for k in 1..n.saturating_sub(1) {
            let right = 6.0 * (knots[k - 1] - 2.0 * knots[k] + knots[k + 1]) / (interval_s * interval_s);
            let pivot = 4.0 - factors[k - 1];
            factors[k] = 1.0 / pivot;
            bends[k] = (right - bends[k - 1]) / pivot;
        }
        for k in (1..n.saturating_sub(1)).rev() {
            bends[k] -= factors[k] * bends[k + 1];
        }
        Self { interval_s, knots, bends }
    }

    /// Value, first and second derivative; before and behind the knots, on the straight line.
    pub fn at(&self, t: f64) -> [f64; 3] {
        let n = self.knots.len();
        if n < 2 {
            return [self.knots.first().copied().unwrap_or(0.0), 0.0, 0.0];
        }
        let h = self.interval_s;
        let k = ((t / h).floor().max(0.0) as usize).min(n - 2);
        let s = t - k as f64 * h;
        let ([y0, y1], [m0, m1]) = ([self.knots[k], self.knots[k + 1]], [self.bends[k], self.bends[k + 1]]);
        let slope = (y1 - y0) / h - h * (2.0 * m0 + m1) / 6.0;
        let inside = s.clamp(0.0, h);
        let bend = m0 + (m1 - m0) * inside / h;
        let first = slope + m0 * inside + 0.5 * (m1 - m0) / h * inside * inside;
        let value = y0 + inside * (slope + inside * (0.5 * m0 + (m1 - m0) / (6.0 * h) * inside));
        // At a knot, s may be outside by its rounding.
        let is_inside = (0.0..=(n - 1) as f64 * h).contains(&t);
        if is_inside { [value, first, bend] } else { [value + first * (s - inside), first, 0.0] }
    }
}
