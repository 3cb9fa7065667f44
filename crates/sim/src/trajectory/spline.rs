//! The general trajectory: a natural cubic spline through waypoints, the robot looking along its tangent.

use super::motion::Motion;
use super::retiming::Retiming;
use lienav_lie::{Se2, wrap_angle};
use nalgebra::Vector2;

/// Samples of each segment, for the count of turns, the top speed and the limits.
const SAMPLES: usize = 64;

/// A path slower than this somewhere, in m/s, has no heading one could follow there.
const SLOWEST_M_S: f64 = 1e-3;

/// Bounds that the robot keeps by travelling slower where it has to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// m/s; infinite for none.
    pub speed_m_s: f64,
    /// rad/s, either way; infinite for none.
    pub yaw_rate_rad_s: f64,
}

impl Limits {
    /// No bounds.
    pub const NONE: Self = Self { speed_m_s: f64::INFINITY, yaw_rate_rad_s: f64::INFINITY };
}

/// Waypoints that make no trajectory.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SplineError {
    /// Too few of them.
    #[error("a spline needs at least two waypoints, and there are {0}; add some")]
    TooFewWaypoints(usize),
    /// The path has a cusp, or two waypoints coincide.
    #[error("the spline comes to a stop {0:.2} s after its start, where it has no heading; move the waypoints apart")]
    StandsStill(f64),
}

/// A natural cubic spline p(s) through waypoints at equal intervals of the parameter s (seconds, where nothing limits
/// the speed): twice continuously differentiable, without curvature at both ends.
#[derive(Clone, Debug)]
pub struct Spline {
    knot_interval_s: f64,
    segments: Vec<Cubic>,
    /// Heading at each sample, counting turns.
    headings: Vec<f64>,
    top_speed: f64,
    retiming: Option<Retiming>,
}

/// p(u) = Σ cₖ uᵏ, u the parameter since the segment's first waypoint.
#[derive(Clone, Copy, Debug)]
struct Cubic([Vector2<f64>; 4]);

/// p and its derivatives with respect to the parameter.
struct Derivatives {
    p: Vector2<f64>,
    first: Vector2<f64>,
    second: Vector2<f64>,
}

impl Derivatives {
    /// Yaw rate of the tangent, dθ/ds = p′ × p″ / |p′|².
    fn yaw_rate(&self) -> f64 {
        self.first.perp(&self.second) / self.first.norm_squared()
    }
}

impl Spline {
    /// Through `waypoints` (m), one every `knot_interval_s` seconds, slowed down where `limits` ask for it (kept to
    /// within 0.1 %).
    ///
    /// # Errors
    /// Fewer than two waypoints, or a path that comes to a stop.
    pub fn new(waypoints: &[Vector2<f64>], knot_interval_s: f64, limits: &Limits) -> Result<Self, SplineError> {
        if waypoints.len() < 2 {
            return Err(SplineError::TooFewWaypoints(waypoints.len()));
        }
        let segments = natural_segments(waypoints, knot_interval_s);
        let mut spline = Self { knot_interval_s, segments, headings: Vec::new(), top_speed: 0.0, retiming: None };
        spline.follow_headings()?;
        if limits.speed_m_s.is_finite() || limits.yaw_rate_rad_s.is_finite() {
            let fraction = |s: f64| {
                let d = spline.derivatives(s);
                (limits.speed_m_s / d.first.norm()).min(limits.yaw_rate_rad_s / d.yaw_rate().abs()).min(1.0)
            };
            let retiming = Retiming::new(spline.sample_interval_s(), spline.segments.len() * SAMPLES, fraction);
            spline.retiming = Some(retiming);
        }
        Ok(spline)
    }

    /// How long it takes, s.
    pub fn duration_s(&self) -> f64 {
        match &self.retiming {
            Some(retiming) => retiming.duration_s(),
            None => self.segments.len() as f64 * self.knot_interval_s,
        }
    }

    /// A bound on the speed anywhere on the path, m/s.
    pub fn top_speed(&self) -> f64 {
        self.top_speed
    }

    /// The motion at `t_s` seconds.
    pub fn at(&self, t_s: f64) -> Motion {
        let (s, rate, rate_change) = match &self.retiming {
            Some(retiming) => retiming.at(t_s),
            None => (t_s, 1.0, 0.0),
        };
        let d = self.derivatives(s);
        let speed = d.first.norm();
        let forward = d.first / speed;
        let acceleration = d.second * (rate * rate) + d.first * rate_change;
        Motion {
            pose: Se2 { p: d.p, theta: self.heading(s, &d.first) },
            twist: nalgebra::Vector3::new(speed * rate, 0.0, d.yaw_rate() * rate),
            acceleration: Vector2::new(forward.dot(&acceleration), forward.perp(&acceleration)),
        }
    }

    fn sample_interval_s(&self) -> f64 {
        self.knot_interval_s / SAMPLES as f64
    }

    fn derivatives(&self, s: f64) -> Derivatives {
        let segment = ((s / self.knot_interval_s) as usize).min(self.segments.len() - 1);
        self.segments[segment].at(s - segment as f64 * self.knot_interval_s)
    }

    /// The angle of the tangent nearest to the heading of the last sample before `s`.
    fn heading(&self, s: f64, tangent: &Vector2<f64>) -> f64 {
        let sample = ((s / self.sample_interval_s()) as usize).min(self.headings.len() - 1);
        unwrapped(tangent, self.headings[sample])
    }

    /// Walks along the path once: counts the turns, finds the top speed, and refuses to stop.
    fn follow_headings(&mut self) -> Result<(), SplineError> {
        let mut heading = 0.0;
        for i in 0..=self.segments.len() * SAMPLES {
            let s = i as f64 * self.sample_interval_s();
            let tangent = self.derivatives(s).first;
            let speed = tangent.norm();
            if !(speed > SLOWEST_M_S && speed.is_finite()) {
                return Err(SplineError::StandsStill(s));
            }
            heading = unwrapped(&tangent, heading);
            self.headings.push(heading);
            self.top_speed = self.top_speed.max(speed);
        }
        // Between samples the speed can be a little higher than at them.
        self.top_speed *= 1.05;
        Ok(())
    }
}

impl Cubic {
    fn at(&self, u: f64) -> Derivatives {
        let [a, b, c, d] = self.0;
        Derivatives {
            p: a + (b + (c + d * u) * u) * u,
            first: b + (c * 2.0 + d * (3.0 * u)) * u,
            second: c * 2.0 + d * (6.0 * u),
        }
    }
}

/// The direction of `tangent` as the angle nearest to `near`.
fn unwrapped(tangent: &Vector2<f64>, near: f64) -> f64 {
    near + wrap_angle(tangent.y.atan2(tangent.x) - near)
}

/// The cubics of the natural spline with knots `h` apart. The second derivatives mᵢ at the knots solve
/// mᵢ₋₁ + 4 mᵢ + mᵢ₊₁ = 6 (pᵢ₋₁ − 2pᵢ + pᵢ₊₁)/h² with m = 0 at both ends (Thomas algorithm).
fn natural_segments(points: &[Vector2<f64>], h: f64) -> Vec<Cubic> {
    let last = points.len() - 1;
    let mut upper = vec![0.0; last + 1];
    let mut m = vec![Vector2::zeros(); last + 1];
    for i in 1..last {
        let right = (points[i - 1] - points[i] * 2.0 + points[i + 1]) * (6.0 / (h * h));
        let pivot = 4.0 - upper[i - 1];
        upper[i] = 1.0 / pivot;
        m[i] = (right - m[i - 1]) / pivot;
    }
    for i in (1..last).rev() {
        let next = m[i + 1];
        m[i] -= next * upper[i];
    }
    (0..last)
        .map(|i| {
            let slope = (points[i + 1] - points[i]) / h - (m[i] * 2.0 + m[i + 1]) * (h / 6.0);
            Cubic([points[i], slope, m[i] / 2.0, (m[i + 1] - m[i]) / (6.0 * h)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    fn shipped(limits: &Limits) -> Spline {
        let config = Scenario::named("thesis-general-10hz-low-q1").unwrap().trajectory;
        Spline::new(&config.waypoints(), config.knot_interval_s, limits).unwrap()
    }

    #[test]
    fn it_goes_through_its_waypoints_on_time() {
        let config = Scenario::named("thesis-general-10hz-low-q1").unwrap().trajectory;
        let spline = shipped(&Limits::NONE);
        for (i, waypoint) in config.waypoints().iter().enumerate() {
            assert!((spline.at(i as f64 * config.knot_interval_s).pose.p - waypoint).norm() < 1e-12);
        }
        assert_eq!(spline.duration_s(), 60.0);
    }

    #[test]
    fn it_is_twice_continuously_differentiable_and_straight_at_its_ends() {
        let spline = shipped(&Limits::NONE);
        let h = spline.knot_interval_s;
        for pair in spline.segments.windows(2) {
            let (end, start) = (pair[0].at(h), pair[1].at(0.0));
            assert!((end.p - start.p).norm() < 1e-12);
            assert!((end.first - start.first).norm() < 1e-12);
            assert!((end.second - start.second).norm() < 1e-12);
        }
        assert!(spline.segments[0].at(0.0).second.norm() < 1e-12);
        assert!(spline.segments[spline.segments.len() - 1].at(h).second.norm() < 1e-12);
    }

    #[test]
    fn it_has_corners_as_the_documentation_says() {
        let spline = shipped(&Limits::NONE);
        let motions: Vec<_> = (0..=6000).map(|i| spline.at(i as f64 * 0.01).twist).collect();
        let fold = |f: fn(f64, f64) -> f64, start, pick: fn(&nalgebra::Vector3<f64>) -> f64| {
            motions.iter().map(pick).fold(start, f)
        };
        assert!((fold(f64::min, f64::INFINITY, |v| v.x) - 0.86).abs() < 0.01);
        assert!((fold(f64::max, 0.0, |v| v.x) - 2.81).abs() < 0.01);
        assert!((fold(f64::max, 0.0, |v| v.z.abs()) - 1.56).abs() < 0.01);
    }

    #[test]
    fn limits_hold_and_leave_the_path_as_it_is() {
        let limits = Limits { speed_m_s: 1.5, yaw_rate_rad_s: 0.6 };
        let (free, limited) = (shipped(&Limits::NONE), shipped(&limits));
        assert!(limited.duration_s() > free.duration_s());
        assert!((limited.at(limited.duration_s()).pose.p - free.at(60.0).pose.p).norm() < 1e-9);
        let steps = 20_000;
        let mut reached = (0.0_f64, 0.0_f64);
        for i in 0..=steps {
            let twist = limited.at(limited.duration_s() * i as f64 / steps as f64).twist;
            reached = (reached.0.max(twist.x), reached.1.max(twist.z.abs()));
        }
        assert!(reached.0 <= 1.5 * 1.001 && reached.0 > 1.49, "{reached:?}");
        assert!(reached.1 <= 0.6 * 1.001 && reached.1 > 0.59, "{reached:?}");
    }

    #[test]
    fn the_heading_counts_turns() {
        // Two rounds of a square.
        let square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)];
        let points: Vec<_> = (0..9).map(|i| Vector2::new(square[i % 4].0, square[i % 4].1)).collect();
        let spline = Spline::new(&points, 2.0, &Limits::NONE).unwrap();
        let turned = spline.at(16.0).pose.theta - spline.at(0.0).pose.theta;
        assert!(turned > 3.0 * std::f64::consts::PI, "{turned}");
    }

    #[test]
    fn waypoints_that_make_no_path_are_refused() {
        let one = [Vector2::zeros()];
        assert_eq!(Spline::new(&one, 1.0, &Limits::NONE).unwrap_err(), SplineError::TooFewWaypoints(1));
        let same = [Vector2::zeros(); 3];
        assert_eq!(Spline::new(&same, 1.0, &Limits::NONE).unwrap_err(), SplineError::StandsStill(0.0));
    }
}
