//! Force and gravity, rates and the turning of gravity.

use super::Finding;
use lienav_attitude::ImuSample;
use lienav_base::stamp::Stamp;
use nalgebra::Vector3;

/// Gravity, m/s².
const GRAVITY: f64 = 9.80665;
/// A force at rest may be off by so much: a cheap accelerometer's bias, m/s².
const BIAS: f64 = 0.5;
/// Samples are averaged over so long, s.
const WINDOW_S: f64 = 0.2;
/// At rest the force spreads by no more than this part of itself,
const REST_SPREAD: f64 = 0.02;
/// and rates are no greater, rad/s.
const REST_RATE: f64 = 0.1;
/// Fewer windows at rest say nothing: two seconds.
const LEAST_RESTS: f64 = 10.0;
/// The mean force of a body that moves is near gravity, too; fewer windows say nothing of it: five seconds.
const LEAST_WINDOWS: f64 = 25.0;
/// Mean forces in this range, m/s², are in g, whatever the motion.
const IN_G: std::ops::Range<f64> = 0.7..2.0;
/// Gyroscopes measure no more than this (2,000 degrees per second), rad/s.
const GREATEST_RATE: f64 = 35.0;
/// So many windows turn faster than that before it is no outlier.
const LEAST_FAST: f64 = 3.0;
/// Gravity must turn by so much in all (root of the sum of squares), as the rates have it, rad.
const LEAST_TURN: f64 = 0.5;
/// So much of the turning of gravity must be that of the rates, but for a factor.
const LEAST_CORRELATION: f64 = 0.5;

/// Whatever else moves the force, its direction turns by no less than this part of what the rates have,
const LEAST_PART: f64 = 0.1;
/// unless they are a bias, of a root mean square across the force of less than this, rad/s,
const GREATEST_BIAS: f64 = 2.0;
/// or the sensor goes round in circles, whose force turns with it and differs from gravity by more than this part.
const CIRCLES: f64 = 0.1;

/// Compares what inertial samples state twice. Only what holds all the time is found: no sample is judged.
#[derive(Clone, Debug, Default)]
pub struct InertialCheck {
    window: Window,
    previous: Option<Mean>,
    /// Windows at rest, and the sum of their force.
    rests: f64,
    rest_force: f64,
    /// All windows, and the sum of the root mean squares of their force.
    windows: f64,
    all_force: f64,
    /// Windows that turn faster than any gyroscope measures, and the greatest of their rates.
    fast: f64,
    fastest: f64,
    /// Sums over pairs of windows of how gravity turns, d, and how it turns by the rates, p: d·p, p·p, d·d.
    turning: [f64; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: Option<Stamp>,
    last: Stamp,
    count: f64,
    force: Vector3<f64>,
    square: f64,
    rate: Vector3<f64>,
    greatest_rate: f64,
}

#[derive(Clone, Copy, Debug)]
struct Mean {
    middle_s: f64,
    start: Stamp,
    force: Vector3<f64>,
    rate: Vector3<f64>,
}

impl InertialCheck {
    /// Takes a sample.
    pub fn add(&mut self, sample: &ImuSample) {
        let ImuSample { stamp, angular_velocity: rate, specific_force: force } = sample;
        if !force.iter().chain(rate).all(|x| x.is_finite()) {
            return;
        }
        let start = *self.window.start.get_or_insert(*stamp);
        let elapsed = stamp.since(start);
        if !(0.0..WINDOW_S).contains(&elapsed) {
            let is_next = (WINDOW_S..2.0 * WINDOW_S).contains(&elapsed);
            let ended = std::mem::replace(&mut self.window, Window { start: Some(*stamp), ..Window::default() });
            self.end(&ended, is_next);
        }
        let window = &mut self.window;
        window.last = *stamp;
        window.count += 1.0;
        window.force += force;
        window.square += force.norm_squared();
        window.rate += rate;
        window.greatest_rate = window.greatest_rate.max(rate.norm());
    }

    fn end(&mut self, window: &Window, is_next: bool) {
        let Some(start) = window.start.filter(|_| window.count >= 3.0) else {
            self.previous = None;
            return;
        };
        let (force, rate) = (window.force / window.count, window.rate / window.count);
        let spread = (window.square / window.count - force.norm_squared()).max(0.0).sqrt();
        self.windows += 1.0;
        self.all_force += (window.square / window.count).sqrt();
        if rate.norm() > GREATEST_RATE {
            self.fast += 1.0;
            self.fastest = self.fastest.max(rate.norm());
        }
        if spread < REST_SPREAD * force.norm() && window.greatest_rate < REST_RATE {
            self.rests += 1.0;
            self.rest_force += force.norm();
        }
        let middle_s = 0.5 * window.last.since(start);
        let mean = Mean { middle_s, start, force, rate };
        if let Some(before) = self.previous.filter(|_| before_is_whole(&mean)) {
            let apart_s = start.since(before.start) + middle_s - before.middle_s;
            let (from, to) = (before.force.normalize(), force.normalize());
            // A direction that stands still turns against the sensor.
            let by_rates = -apart_s * (0.5 * (before.rate + rate)).cross(&(0.5 * (from + to)));
            let turned = to - from;
            let sums = [turned.dot(&by_rates), by_rates.norm_squared(), turned.norm_squared()];
            if sums.iter().all(|x| x.is_finite()) {
                self.turning.iter_mut().zip(sums).for_each(|(sum, x)| *sum += x);
            }
        }
        self.previous = is_next.then_some(mean);
    }

    /// What was found so far of the messages of `topic`.
    pub fn findings(&self, topic: &str) -> Vec<Finding> {
        let force = self.against_gravity(topic).or_else(|| self.in_g(topic));
        let rates = self.against_turning(topic).or_else(|| self.too_fast(topic)).or_else(|| self.too_still(topic));
        force.into_iter().chain(rates).collect()
    }

    fn against_gravity(&self, topic: &str) -> Option<Finding> {
        let force = self.rest_force / self.rests;
        if self.rests < LEAST_RESTS || (force - GRAVITY).abs() <= BIAS {
            return None;
        }
        let cause = match force {
            f if f < 0.3 => "gravity seems to be taken off; the force with gravity is needed (REP 145)",
            f if (0.9..1.1).contains(&f) => "the unit seems to be g; multiply by 9.80665",
            f if (900.0..1100.0).contains(&f) => "the unit seems to be mg or cm/s²",
            _ => "calibrate the accelerometer, or look for a wrong unit or scale",
        };
        let sentence =
            format!("at rest the force of {topic} is {force:.2} m/s², and gravity is {GRAVITY:.2} m/s²: {cause}");
        Some(Finding::new(topic, "force_against_gravity", sentence))
    }

    /// Forces in g of a body that never rests.
    fn in_g(&self, topic: &str) -> Option<Finding> {
        let force = self.all_force / self.windows;
        if self.windows < LEAST_WINDOWS || !IN_G.contains(&force) {
            return None;
        }
        let sentence = format!(
            "the force of {topic} is {force:.2} m/s² on average, and gravity is {GRAVITY:.2} m/s²: the unit seems to be \
             g; multiply by {GRAVITY}"
        );
        Some(Finding::new(topic, "force_against_gravity", sentence))
    }

    /// Rates that no gyroscope measures, where gravity does not tell their unit.
    fn too_fast(&self, topic: &str) -> Option<Finding> {
        (self.fast >= LEAST_FAST).then(|| {
            let sentence = format!(
                "the rates of {topic} reach {:.0} rad/s, and gyroscopes measure up to {GREATEST_RATE:.0} rad/s: they seem \
                 to be in degrees per second; rad/s are needed",
                self.fastest
            );
            Finding::new(topic, "rates_against_gravity", sentence)
        })
    }

    /// Rates of which the direction of gravity shows nothing.
    fn too_still(&self, topic: &str) -> Option<Finding> {
        let [_, by_rates, by_force] = self.turning.map(f64::sqrt);
        let (rate, force) = (by_rates / self.windows.sqrt() / WINDOW_S, self.all_force / self.windows);
        let is_gravity = [1.0, GRAVITY].into_iter().any(|unit| (force / unit - 1.0).abs() < CIRCLES);
        let is_still = by_force < LEAST_PART * by_rates && rate > GREATEST_BIAS;
        (self.windows >= LEAST_WINDOWS && is_still && is_gravity).then(|| {
            let sentence = format!(
                "rates and forces of {topic} disagree: while the rates turn by {by_rates:.2} rad, the direction of the \
                 force turns by {by_force:.2} rad: the rates seem to be in degrees per second; rad/s are needed"
            );
            Finding::new(topic, "rates_against_gravity", sentence)
        })
    }

    fn against_turning(&self, topic: &str) -> Option<Finding> {
        let [both, by_rates, by_force] = self.turning;
        let factor = both / by_rates;
        let correlation = both * both / (by_rates * by_force);
        let is_plain = by_rates.sqrt() > LEAST_TURN && by_force > 0.0 && correlation > LEAST_CORRELATION;
        if !is_plain || (0.5..2.0).contains(&factor) {
            return None;
        }
        let cause = match 1.0 / factor {
            f if f < 0.0 => "the signs of rates and forces do not belong together; look for an axis that is reversed",
            f if (30.0..90.0).contains(&f) => "the rates seem to be in degrees per second; rad/s are needed",
            _ => "look for a wrong unit or scale of the rates",
        };
        let sentence = format!(
            "rates and forces of {topic} disagree: while the rates turn by {:.2} rad, the direction of gravity turns \
             by {:.2} rad (a factor of {:.1}): {cause}",
            by_rates.sqrt(),
            factor * by_rates.sqrt(),
            1.0 / factor
        );
        Some(Finding::new(topic, "rates_against_gravity", sentence))
    }
}

fn before_is_whole(mean: &Mean) -> bool {
    mean.force.norm() > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::UnitQuaternion;

    /// Five seconds at rest, then fifteen of rocking.
    fn found(unit: f64, rate_unit: f64) -> Vec<Finding> {
        let mut check = InertialCheck::default();
        let attitude = |t: f64| {
            let t = (t - 5.0).max(0.0);
            UnitQuaternion::from_euler_angles(0.4 * t.sin(), 0.3 * (1.0 - (1.3 * t).cos()), 0.2 * t)
        };
        for i in 0..4000 {
            let t = 0.005 * f64::from(i);
            let (q, next) = (attitude(t), attitude(t + 0.005));
            let rate = (q.inverse() * next).scaled_axis() / 0.005;
            let force = q.inverse() * Vector3::new(0.0, 0.0, GRAVITY);
            let noise = 0.01 * Vector3::new((7.0 * t).sin(), (11.0 * t).cos(), (13.0 * t).sin());
            let (angular_velocity, specific_force) = (rate_unit * rate, unit * (force + noise));
            check.add(&ImuSample { stamp: Stamp::from_secs(t), angular_velocity, specific_force });
        }
        check.findings("/imu")
    }

    /// Seconds at rest, shaken by `shaking` m/s², with a biased gyroscope.
    fn at_rest(seconds: u32, shaking: f64, rate: Vector3<f64>) -> Vec<Finding> {
        let mut check = InertialCheck::default();
        for i in 0..100 * seconds {
            let t = 0.01 * f64::from(i);
            let shaken = shaking * Vector3::new((5.0 * t).sin(), (4.0 * t).cos(), (9.0 * t).sin());
            let noise = 0.02 * Vector3::new((70.0 * t).sin(), (110.0 * t).cos(), (130.0 * t).sin());
            let specific_force = Vector3::new(0.0, 0.0, GRAVITY) + shaken;
            check.add(&ImuSample { stamp: Stamp::from_secs(t), angular_velocity: rate + noise, specific_force });
        }
        check.findings("/imu")
    }

    /// A bias of 0.08 rad/s is that of a drone's gyroscope; 4.6 rad/s are what it is in degrees.
    #[test]
    fn a_bias_in_degrees_is_named_within_ten_seconds_and_a_bias_is_not() {
        let bias = Vector3::new(0.06, 0.05, 0.02);
        for shaking in [0.0, 1.0] {
            let named = at_rest(10, shaking, bias * 1_f64.to_degrees());
            assert!(named.len() == 1 && named[0].sentence.contains("degrees per second"), "{shaking}: {named:?}");
            assert!(at_rest(10, shaking, bias).is_empty() && at_rest(300, shaking, bias).is_empty(), "{shaking}");
        }
    }

    /// At arm's length, round and round: the force is always along the arm.
    #[test]
    fn circles_are_no_wrong_unit() {
        let mut check = InertialCheck::default();
        for i in 0..2000 {
            let specific_force = Vector3::new(25.0, 0.0, GRAVITY);
            let angular_velocity = Vector3::new(0.0, 0.0, 6.0);
            check.add(&ImuSample { stamp: Stamp::from_secs(0.01 * f64::from(i)), angular_velocity, specific_force });
        }
        let found = check.findings("/imu");
        assert!(found.iter().all(|finding| !finding.sentence.contains("degrees")), "{found:?}");
    }

    /// Ten seconds in the hand, without any rest: turned about the vertical, or also tilted.
    fn in_the_hand(unit: f64, rate_unit: f64, tilt: f64) -> Vec<String> {
        let mut check = InertialCheck::default();
        let attitude = |t: f64| {
            let (roll, pitch) = (tilt * (3.0 * t).sin(), 0.7 * tilt * (2.2 * t).cos());
            UnitQuaternion::from_euler_angles(roll, pitch, 1.2 * (1.1 * t).sin())
        };
        for i in 0..1000 {
            let t = 0.01 * f64::from(i);
            let (q, next) = (attitude(t), attitude(t + 0.01));
            let rate = (q.inverse() * next).scaled_axis() / 0.01;
            let moved = Vector3::new((5.0 * t).sin(), (4.0 * t).cos(), 0.7 * (6.0 * t).sin());
            let force = q.inverse() * (Vector3::new(0.0, 0.0, GRAVITY) + moved);
            let (angular_velocity, specific_force) = (rate_unit * rate, unit * force);
            check.add(&ImuSample { stamp: Stamp::from_secs(t), angular_velocity, specific_force });
        }
        check.findings("/imu").into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn wrong_units_are_named_within_ten_seconds_also_without_rest() {
        let degrees = 1_f64.to_degrees();
        for tilt in [0.0, 0.3] {
            assert_eq!(in_the_hand(1.0, 1.0, tilt), [""; 0]);
            let in_g = in_the_hand(1.0 / GRAVITY, 1.0, tilt);
            assert!(in_g.len() == 1 && in_g[0].contains("seems to be g"), "{in_g:?}");
            let rates = in_the_hand(1.0, degrees, tilt);
            assert!(rates.len() == 1 && rates[0].contains("degrees per second"), "{tilt}: {rates:?}");
            assert_eq!(in_the_hand(1.0 / GRAVITY, degrees, tilt).len(), 2);
        }
    }

    #[test]
    fn force_and_rates_that_do_not_fit_gravity_are_named_with_both_numbers() {
        assert_eq!(found(1.0, 1.0), []);
        assert_eq!(found(1.04, 1.1), []);
        let in_g = found(1.0 / GRAVITY, 1.0);
        assert!(in_g.len() == 1 && in_g[0].sentence.contains("is 1.00 m/s², and gravity is 9.81 m/s²"), "{in_g:?}");
        assert!(in_g[0].sentence.contains("multiply by 9.80665"), "{in_g:?}");
        let degrees = found(1.0, 1_f64.to_degrees());
        assert!(degrees.len() == 1 && degrees[0].sentence.contains("degrees per second"), "{degrees:?}");
        assert!(degrees[0].sentence.contains("a factor of 57."), "{degrees:?}");
        let mirrored = found(1.0, -1.0);
        assert!(mirrored.len() == 1 && mirrored[0].sentence.contains("reversed"), "{mirrored:?}");
    }
}
