//! Travelling a path slower where a limit asks for it.

/// Points inside each interval at which the limit is asked for.
const SUBSAMPLES: usize = 16;

/// The path parameter s as a function of time: ṡ ≤ 1, continuous, with ṡ² linear in s between nodes, so that s(t),
/// ṡ(t) and s̈(t) have closed forms and agree with each other exactly.
#[derive(Clone, Debug)]
pub(super) struct Retiming {
    interval: f64,
    /// ṡ at each node.
    rates: Vec<f64>,
    /// When each node is reached, s.
    times: Vec<f64>,
}

impl Retiming {
    /// For the parameters 0 … `intervals` · `interval`, where `fraction(s)` in (0, 1] bounds ṡ. Each node takes the
    /// smallest fraction of the two intervals beside it, so that the bound holds between nodes as well.
    pub(super) fn new(interval: f64, intervals: usize, fraction: impl Fn(f64) -> f64) -> Self {
        let smallest: Vec<f64> = (0..intervals)
            .map(|i| {
                (0..=SUBSAMPLES)
                    .map(|j| fraction((i as f64 + j as f64 / SUBSAMPLES as f64) * interval))
                    .fold(1.0, f64::min)
            })
            .collect();
        let beside =
            |i: usize| smallest[i.saturating_sub(1)..(i + 1).min(intervals)].iter().copied().fold(1.0, f64::min);
        let rates: Vec<f64> = (0..=intervals).map(beside).collect();
        let mut times = vec![0.0];
        let mut now = 0.0;
        for pair in rates.windows(2) {
            now += 2.0 * interval / (pair[0] + pair[1]);
            times.push(now);
        }
        Self { interval, rates, times }
    }

    /// When the end is reached, s.
    pub(super) fn duration_s(&self) -> f64 {
        self.times[self.times.len() - 1]
    }

    /// (s, ṡ, s̈) at `t_s` seconds.
    pub(super) fn at(&self, t_s: f64) -> (f64, f64, f64) {
        let node = self.times.partition_point(|&t| t <= t_s).saturating_sub(1).min(self.rates.len() - 2);
        let (from, to) = (self.rates[node], self.rates[node + 1]);
        let change = (to * to - from * from) / (2.0 * self.interval);
        let elapsed = t_s - self.times[node];
        let s = node as f64 * self.interval + (from + 0.5 * change * elapsed) * elapsed;
        (s, from + change * elapsed, change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlimited_path_keeps_its_time() {
        let retiming = Retiming::new(0.25, 8, |_| 1.0);
        assert_eq!(retiming.duration_s(), 2.0);
        assert_eq!(retiming.at(1.3), (1.3, 1.0, 0.0));
    }

    #[test]
    fn parameter_and_rate_are_continuous_and_below_the_bound() {
        let bound = |s: f64| 0.2 + 0.8 * (s - 1.0).abs().min(1.0);
        let retiming = Retiming::new(0.05, 40, bound);
        for (i, &t) in retiming.times.iter().enumerate().skip(1) {
            let (before, after) = (retiming.at(t - 1e-9), retiming.at(t));
            assert!((before.0 - after.0).abs() < 1e-8 && (before.1 - after.1).abs() < 1e-7, "node {i}");
        }
        for i in 0..1000 {
            let (s, rate, _) = retiming.at(retiming.duration_s() * i as f64 / 1000.0);
            assert!(rate <= bound(s) + 1e-12 && rate > 0.0);
        }
        assert!((retiming.at(retiming.duration_s()).0 - 2.0).abs() < 1e-12);
    }
}
