//! The twist of odometry without its noise, as far as that is to be known at once: it stays the same until odometry
//! states another one for sure, and then follows it until that stays the same.
//!
//! A dead time τ moves the robot by τ(u_before − u_now) where its twist changes
//! ([`Calibration::delayed`](crate::Calibration::delayed)), and is learned where it does. Where noise counted as a
//! change, another τ would be learned: with the noise n of the last message the robot is off by n times the duration of
//! that message, and least so with a τ of half of it, which takes the mean of two messages.

use lienav_base::stamp::Stamp;
use lienav_planar::input::Odometry;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

/// Messages are averaged over about this time, s.
const MEAN_OVER_S: f64 = 0.05;
/// The mean has changed beyond so many of its standard deviations.
const CHANGES_BEYOND: f64 = 8.0;
/// It goes on changing while it differs by more than so many from what it was a moment before.
const SAME_WITHIN: f64 = 8.0;
/// That moment, s.
const SAME_FOR_S: f64 = 0.3;
/// So many messages tell how large the noise of one is, before a change counts: what is driven until then is where it
/// begins.
const WARM_UP: u32 = 20;
/// And so many are remembered.
const MEMORY: u32 = 100;

/// Follows the twists that odometry states, (v_x, v_y, w), each number by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyTwist {
    numbers: [Number; 3],
    messages: u32,
    /// When the last message came.
    stamp: Option<Stamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Number {
    /// What counts.
    steady: f64,
    /// The last message.
    last: f64,
    mean: f64,
    /// Of the noise of one message: half the mean square of what one differs from the one before.
    variance: f64,
    /// Whether it is changing, and what it was and how long it has been about that, s.
    is_changing: bool,
    about: f64,
    about_for_s: f64,
}

impl SteadyTwist {
    /// The next message, or a later part of the same: the twists before and from now on, where that is another one.
    pub fn follow(&mut self, message: &Odometry) -> Option<[Vector3<f64>; 2]> {
        let last = self.stamp.replace(message.stamp);
        if last == Some(message.stamp) {
            return None;
        }
        let duration = last.map_or(0.0, |last| message.stamp.since(last).max(0.0));
        let stated = message.twist();
        let before = self.twist();
        self.messages = (self.messages + 1).min(MEMORY);
        for (number, stated) in self.numbers.iter_mut().zip(stated.iter()) {
            number.follow(*stated, duration, self.messages);
        }
        let now = self.twist();
        (self.messages > WARM_UP && now != before).then_some([before, now])
    }

    fn twist(&self) -> Vector3<f64> {
        Vector3::from(self.numbers.map(|number| number.steady))
    }
}

impl Number {
    /// The next of so many, `duration` after the one before.
    fn follow(&mut self, stated: f64, duration: f64, messages: u32) {
        if messages == 1 {
            *self = Self { steady: stated, last: stated, mean: stated, ..Self::default() };
        }
        let share = 1.0 - (-duration / MEAN_OVER_S).exp();
        self.mean += share * (stated - self.mean);
        let std = (self.variance * share / (2.0 - share)).sqrt();
        if messages <= WARM_UP {
            self.steady = self.mean;
        } else if self.is_changing {
            if (self.mean - self.about).abs() > SAME_WITHIN * std {
                (self.about, self.about_for_s) = (self.mean, 0.0);
            } else {
                self.about_for_s += duration;
            }
            self.steady = self.mean;
            self.is_changing = self.about_for_s < SAME_FOR_S;
        } else if (self.mean - self.steady).abs() > CHANGES_BEYOND * std {
            (self.is_changing, self.about, self.about_for_s) = (true, self.mean, 0.0);
            self.steady = self.mean;
        }
        // A real change says nothing about noise; but all variances begin at zero.
        let squared = 0.5 * (stated - self.last).powi(2);
        let most = CHANGES_BEYOND * CHANGES_BEYOND * self.variance;
        let bounded = if messages > WARM_UP && most > 0.0 { squared.min(most) } else { squared };
        self.variance += (bounded - self.variance) / f64::from(messages);
        self.last = stated;
    }
}
