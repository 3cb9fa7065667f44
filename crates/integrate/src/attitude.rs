//! Attitude from angular rates: q' = q ω/2 in unit quaternions, ω the body's rate as samples of a gyroscope give it.
//!
//! A sample is the rate at its stamp. Between stamps, which need not be evenly spaced, the rate is the polynomial
//! through the samples at hand ([`Samples`]): the interval that ends with the newest one is bridged as in an
//! Adams–Moulton method, so nothing waits for a sample to come. A [`Method`] turns the rates at both ends and in the
//! middle of an interval into the rotation over it.

use lienav_lie::{LieGroup, Quat};
use nalgebra::{UnitQuaternion, Vector3};
use serde::{Deserialize, Serialize};

/// How the rotation over an interval is made of the rates in it. All are exact where the rate is constant, but for
/// [`Method::Cayley`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// exp(h ω̄), ω̄ the mean of the rates at both ends: order 2.
    Midpoint,
    /// cay(h ω̄): the implicit midpoint rule, which is Gauss' method of one stage on this linear equation; order 2.
    Cayley,
    /// Runge–Kutta–Munthe-Kaas with the classical tableau: order 4 (Celledoni et al. 2021, section 2.2). Its brackets
    /// are gathered, those of h⁶ and more left off.
    Rkmk4,
    /// Two exponentials, commutator-free: order 4 (Celledoni et al. 2021, section 2.2).
    CommutatorFree4,
    /// One exponential of Simpson's integral of the rate and the coning correction h²/12 ω₀ × ω₁: order 4.
    #[default]
    Magnus4,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Midpoint, Self::Cayley, Self::Rkmk4, Self::CommutatorFree4, Self::Magnus4];
    /// Their words in settings, in the same order.
    pub const NAMES: &[&str] = &["midpoint", "cayley", "rkmk4", "commutator_free4", "magnus4"];

    /// The word in settings.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The order in the step size, of rates that are known well enough.
    pub const fn order(self) -> u32 {
        match self {
            Self::Midpoint | Self::Cayley => 2,
            Self::Rkmk4 | Self::CommutatorFree4 | Self::Magnus4 => 4,
        }
    }

    /// The rotation δ over an interval of h seconds, in the body frame at its beginning: q(t + h) = q(t) δ.
    // Always in place: handed back through memory, written in halves and read whole, it would hold up the product that
    // follows.
    #[inline(always)]
    pub fn rotation(self, h: f64, rates: &Rates) -> UnitQuaternion<f64> {
        let Rates { start, middle, end } = rates;
        let rotation = match self {
            Self::Midpoint => Quat::exp(&((start + end) * (0.5 * h))),
            Self::Cayley => Quat::cayley(&((start + end) * (0.5 * h))),
            Self::Rkmk4 => {
                // The four stages of Θ' = dexp⁻¹_{−Θ} ω, Θ(0) = 0, multiplied out in first and second differences of
                // the rates, of h² and h³; a triple product along m is −|m|² times the first.
                let (a, m, e) = (start * h, middle * h, end * h);
                let first = m - a;
                let second = e - m - first;
                let (by_first, by_second) = (m.cross(&first), m.cross(&second));
                let brackets = by_second * 0.5
                    + by_first * (1.0 - m.norm_squared() * (1.0 / 96.0))
                    + m.cross(&by_second) * (1.0 / 12.0)
                    - first.cross(&by_first) * (1.0 / 24.0);
                Quat::exp(&(m + (second + brackets) * (1.0 / 6.0)))
            }
            Self::CommutatorFree4 => {
                // exp(h(3a + 4m − e)/12) exp(h(−a + 4m + 3e)/12), a, m, e the rates, by the exponents' mean and half
                // their difference.
                let mean = (start + middle * 4.0 + end) * (h * (1.0 / 12.0));
                Quat::exp_of_sum_and_difference(&mean, &((start - end) * (h * (1.0 / 6.0))))
            }
            Self::Magnus4 => {
                let mean = (start + middle * 4.0 + end) * (h * (1.0 / 6.0));
                Quat::exp(&(mean + start.cross(end) * (h * h * (1.0 / 12.0))))
            }
        };
        rotation.unit_quaternion()
    }
}

/// Angular rates over an interval, rad/s, each in the body frame of its own instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// At its beginning.
    pub start: Vector3<f64>,
    /// In its middle.
    pub middle: Vector3<f64>,
    /// At its end.
    pub end: Vector3<f64>,
}

impl Rates {
    /// The same, less a constant bias.
    #[inline]
    #[must_use]
    pub fn without(&self, bias: &Vector3<f64>) -> Self {
        Self { start: self.start - bias, middle: self.middle - bias, end: self.end - bias }
    }
}

/// The last samples of a gyroscope, four at most.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Samples {
    /// How many samples there are since the last [`Samples::restart`]; counts up to 4.
    count: u8,
    newest: Vector3<f64>,
    /// The two before it, the newer first.
    older: [Vector3<f64>; 2],
    /// The last two steps, the newer first, s.
    steps: [f64; 2],
}

impl Samples {
    /// Begins anew with one sample, as after a gap that no polynomial should bridge.
    pub fn restart(&mut self, rate: Vector3<f64>) {
        *self = Self { count: 1, newest: rate, ..Self::default() };
    }

    /// Whether there is a sample to go on from.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The newest sample, rad/s.
    pub fn newest(&self) -> &Vector3<f64> {
        &self.newest
    }

    /// Takes in the sample `step` > 0 seconds after the last one and gives the rates over this step: by the polynomial
    /// through four samples, or through as many as there are.
    #[inline]
    pub fn push(&mut self, step: f64, rate: Vector3<f64>) -> Rates {
        if self.count == 0 {
            self.restart(rate);
            return Rates { start: rate, middle: rate, end: rate };
        }
        let start = self.newest;
        let [second, third] = self.older;
        let middle = match self.count {
            1 => (start + rate) * 0.5,
            2 => {
                let [end, begin, before] = quadratic(step, self.steps[0]);
                rate * end + start * begin + second * before
            }
            _ => {
                let [end, begin, before, first] = cubic(step, self.steps);
                rate * end + start * begin + (second * before + third * first)
            }
        };
        self.count = (self.count + 1).min(4);
        self.newest = rate;
        self.older = [start, second];
        self.steps = [step, self.steps[0]];
        Rates { start, middle, end: rate }
    }
}

/// Lagrange's weights in the middle of the newest step, of the samples at 0, −h, −h − h₁, the newest first.
#[inline]
fn quadratic(h: f64, h1: f64) -> [f64; 3] {
    let span = h + h1;
    let reciprocal = 1.0 / (span * h1);
    // From the middle to the third sample.
    let reach = 0.5 * h + h1;
    [0.5 * reach * h1 * reciprocal, 0.5 * reach * span * reciprocal, -0.25 * h * h * reciprocal]
}

/// The same of four samples, −h − h₁ − h₂ the oldest: 5/16, 15/16, −5/16 and 1/16 where they are evenly spaced. They
/// depend on the stamps alone, so their one division is done while the rates are still on their way.
#[inline]
fn cubic(h: f64, [h1, h2]: [f64; 2]) -> [f64; 4] {
    let (h12, span2) = (h1 + h2, h + h1);
    let span3 = span2 + h2;
    let reach2 = 0.5 * h + h1;
    let reach3 = reach2 + h2;
    let (near, far) = (h1 * h2, span2 * span3);
    let reciprocal = 1.0 / (near * h12 * far);
    let half = 0.5 * reach2 * reach3 * reciprocal;
    let quarter = 0.25 * h * h * reciprocal;
    [half * near * h12, half * h2 * far, -quarter * reach3 * (h12 * span3), quarter * reach2 * (h1 * span2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commutator_free::CF4;
    use crate::rkmk::RKMK4;
    use crate::{LieGroupMethod, VectorField};
    use proptest::prelude::*;

    /// A body that spins about its own axis x, which turns about the vertical: q(t) = exp(a t e₃) exp(b t e₁).
    fn coning(t: f64) -> (UnitQuaternion<f64>, Vector3<f64>) {
        let (a, b) = (2.0, 3.0);
        let spin = UnitQuaternion::from_scaled_axis(Vector3::x() * (b * t));
        let turn = UnitQuaternion::from_scaled_axis(Vector3::z() * (a * t));
        (turn * spin, Vector3::x() * b + spin.inverse() * Vector3::z() * a)
    }

    /// Tumbling: q(t) = exp(f₁(t) e₁) exp(f₂(t) e₂) exp(f₃(t) e₃).
    fn tumbling(t: f64) -> (UnitQuaternion<f64>, Vector3<f64>) {
        let about = |axis: Vector3<f64>, angle: f64| UnitQuaternion::from_scaled_axis(axis * angle);
        let (angles, rates) =
            ([t.sin(), 1.3 * (2.0 * t).cos(), 2.0 * t - t * t], [t.cos(), -2.6 * (2.0 * t).sin(), 2.0 - 2.0 * t]);
        let (p, q, r) =
            (about(Vector3::x(), angles[0]), about(Vector3::y(), angles[1]), about(Vector3::z(), angles[2]));
        let omega = (q * r).inverse() * Vector3::x() * rates[0]
            + r.inverse() * Vector3::y() * rates[1]
            + Vector3::z() * rates[2];
        (p * q * r, omega)
    }

    type Motion = fn(f64) -> (UnitQuaternion<f64>, Vector3<f64>);

    /// The error at t = 2 of steps whose lengths vary by the fraction `jitter` of their mean.
    fn error(method: Method, motion: Motion, steps: u32, jitter: f64) -> f64 {
        let h = 2.0 / f64::from(steps);
        let instant = |k: i32| f64::from(k) * h + if k == 0 { 0.0 } else { jitter * h * f64::from(k).sin() };
        let mut samples = Samples::default();
        for k in -3..=0 {
            samples.push(instant(k) - instant(k - 1), motion(instant(k)).1);
        }
        let mut q = motion(0.0).0;
        for k in 1..=steps.cast_signed() {
            let step = instant(k) - instant(k - 1);
            q *= method.rotation(step, &samples.push(step, motion(instant(k)).1));
        }
        q.angle_to(&motion(instant(steps.cast_signed())).0)
    }

    #[test]
    fn methods_have_their_orders_on_even_and_uneven_stamps() {
        for method in Method::ALL {
            for motion in [coning as Motion, tumbling] {
                for jitter in [0.0, 0.3] {
                    let errors = [100, 200, 400].map(|steps| error(method, motion, steps, jitter));
                    let found = (errors[0] / errors[2]).log2() / 2.0;
                    // The bridge over the middle is better than it need be on some motions.
                    let expected = f64::from(method.order());
                    assert!(found > expected - 0.15, "{} {found} {errors:?}", method.name());
                    assert!(found < expected + 0.15 || method.order() == 4, "{} {found}", method.name());
                }
            }
        }
    }

    /// The inverse of the attitude, whose generator −ω does not depend on it, with the quadratic ω through the rates
    /// at 0, h/2 and h.
    struct Turning(Rates, f64);

    impl VectorField<Quat> for Turning {
        fn generator(&self, time: f64, _: &Quat) -> Vector3<f64> {
            let (Rates { start, middle, end }, x) = (&self.0, 2.0 * time / self.1 - 1.0);
            -(middle + (end - start) * (0.5 * x) + (start - middle * 2.0 + end) * (0.5 * x * x))
        }
    }

    /// How far `method` is from the general integrator of the same name, which knows nothing of brackets that cancel,
    /// over a step of h.
    fn apart(method: Method, general: &impl LieGroupMethod<Quat, Turning>, h: f64) -> f64 {
        let rates = [0.3, 0.3 + 0.5 * h, 0.3 + h].map(|t| tumbling(t).1);
        let rates = Rates { start: rates[0], middle: rates[1], end: rates[2] };
        let there = general.step(&Turning(rates, h), &Quat::identity(), 0.0, h).unwrap();
        method.rotation(h, &rates).angle_to(&there.inverse().unit_quaternion())
    }

    #[test]
    fn gathered_brackets_are_those_of_the_stages() {
        let apart = |h: f64| apart(Method::Rkmk4, &RKMK4, h);
        let slope = (apart(0.2) / apart(0.1)).log2();
        assert!((slope - 6.0).abs() < 0.3, "{slope}");
        assert!(apart(0.01) < 1e-12, "{:e}", apart(0.01));
        assert!(apart(0.001) < 1e-15, "{:e}", apart(0.001));
    }

    #[test]
    fn two_exponentials_at_once_are_those_of_the_commutator_free_method() {
        for h in [1e-3, 0.01, 0.1, 1.0] {
            assert!(apart(Method::CommutatorFree4, &CF4, h) < 1e-15, "{h}");
        }
    }

    #[test]
    fn a_constant_rate_is_integrated_exactly() {
        let omega = Vector3::new(3.0, -5.0, 8.0);
        let exact = UnitQuaternion::from_scaled_axis(omega * 0.1);
        let rates = Rates { start: omega, middle: omega, end: omega };
        for method in Method::ALL.into_iter().filter(|&m| m != Method::Cayley) {
            assert!(method.rotation(0.1, &rates).angle_to(&exact) < 1e-15, "{}", method.name());
        }
        // tan(θ/2) against θ/2.
        let angle = omega.norm() * 0.1;
        assert!((Method::Cayley.rotation(0.1, &rates).angle() - 2.0 * (0.5 * angle).atan()).abs() < 1e-15);
    }

    #[test]
    fn words_are_those_of_serde() {
        for method in Method::ALL {
            let word = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(method.name());
            assert_eq!(Method::deserialize(word), Ok(method));
        }
    }

    proptest! {
        /// Four samples at any distances carry a cubic.
        #[test]
        fn the_middle_of_a_cubic_is_met(
            c in prop::array::uniform4(-2.0..2.0f64), h in prop::array::uniform3(0.002..0.5f64),
        ) {
            let at = |t: f64| Vector3::new(1.0, -2.0, 0.5) * (c[0] + t * (c[1] + t * (c[2] + t * c[3])));
            let mut samples = Samples::default();
            samples.restart(at(0.0));
            samples.push(h[0], at(h[0]));
            samples.push(h[1], at(h[0] + h[1]));
            let start = h[0] + h[1];
            let rates = samples.push(h[2], at(start + h[2]));
            prop_assert!((rates.middle - at(start + 0.5 * h[2])).norm() < 1e-12);
            prop_assert!((rates.start - at(start)).norm() < 1e-12);
        }

        #[test]
        fn rotations_stay_of_unit_norm(w in prop::array::uniform9(-40.0..40.0f64), h in 1e-4..0.1f64) {
            let [start, middle, end] =
                [0, 3, 6].map(|i| Vector3::new(w[i], w[i + 1], w[i + 2]));
            for method in Method::ALL {
                let q = method.rotation(h, &Rates { start, middle, end });
                prop_assert!((q.norm() - 1.0).abs() < 1e-14);
            }
        }
    }
}
