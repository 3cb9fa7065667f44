//! Plays stamped data at a multiple of its own speed, and tells the time on `/clock` on the way.

use super::clock::to_time;
use super::playback::Control;
use super::qos;
use super::stop::Stop;
use lienav_base::stamp::Stamp;
use r2r::rosgraph_msgs::msg::Clock;
use r2r::{Node, Publisher};
use std::time::{Duration, Instant};

/// How often `/clock` is published, by the wall, unless the user says otherwise.
pub const CLOCK_HZ: f64 = 100.0;

/// Which instant of the wall belongs to which of the data.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    begun: Instant,
    origin: Stamp,
    rate: f64,
}

impl Pace {
    /// `origin` is now, and from here the data run `rate` times as fast as the wall.
    pub fn from_now(origin: Stamp, rate: f64) -> Self {
        Self { begun: Instant::now(), origin, rate }
    }

    /// The instant of the wall at which data of `stamp` are due.
    pub fn due(&self, stamp: Stamp) -> Instant {
        // A year is later than any end; it keeps nonsense stamps from overflowing.
        let ahead = (stamp.since(self.origin) / self.rate).clamp(0.0, 3.2e7);
        self.begun + Duration::from_secs_f64(ahead)
    }

    /// The stamp of data that are due at `instant`.
    pub fn stamp_at(&self, instant: Instant) -> Stamp {
        self.origin + instant.saturating_duration_since(self.begun).as_secs_f64() * self.rate
    }
}

/// The publisher of `/clock`.
pub struct ClockSource {
    publisher: Publisher<Clock>,
    period: Duration,
}

impl ClockSource {
    /// Tells the time `rate_hz` times a second of the wall.
    ///
    /// # Errors
    /// ROS refuses the publisher.
    pub fn of(node: &mut Node, rate_hz: f64) -> r2r::Result<Self> {
        let publisher = node.create_publisher("/clock", qos::reliable())?;
        Ok(Self { publisher, period: Duration::from_secs_f64(1.0 / rate_hz.clamp(1e-3, 1e4)) })
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waited {
    /// The data are due.
    Due,
    /// The user wants to go on at this stamp.
    Jump(Stamp),
    /// The end was asked for.
    Stopped,
}

/// A wish of the user is seen after this long, at most.
const ATTENTION: Duration = Duration::from_millis(50);

/// Waits for data to fall due, publishing `/clock` meanwhile if there is one.
pub struct Player<'a> {
    pace: Pace,
    clock: Option<&'a ClockSource>,
    told: Option<Stamp>,
}

impl<'a> Player<'a> {
    /// Begins now, with data of `origin`.
    pub fn from_now(origin: Stamp, rate: f64, clock: Option<&'a ClockSource>) -> Self {
        Self { pace: Pace::from_now(origin, rate), clock, told: None }
    }

    /// Waits until data of `stamp` are due; at once where they are late. False if `stop` was asked for.
    ///
    /// # Errors
    /// ROS does not publish `/clock`.
    pub fn wait_for(&mut self, stamp: Stamp, stop: &Stop) -> r2r::Result<bool> {
        let due = self.pace.due(stamp);
        loop {
            let now = Instant::now();
            self.tell(self.pace.stamp_at(now).min(stamp))?;
            if now >= due {
                return Ok(!stop.is_requested());
            }
            let until = self.clock.map_or(due, |clock| due.min(now + clock.period));
            if stop.sleep_until(until) {
                return Ok(false);
            }
        }
    }

    /// The same with a user who may pause, jump, and change the speed.
    ///
    /// # Errors
    /// ROS does not publish `/clock`.
    pub fn wait_with(&mut self, control: &Control, rate: f64, stamp: Stamp, stop: &Stop) -> r2r::Result<Waited> {
        loop {
            let now = Instant::now();
            let reached = self.pace.stamp_at(now).min(stamp);
            let jump = control.take_jump();
            if jump != 0.0 {
                return Ok(Waited::Jump(reached + jump));
            }
            if control.is_paused() {
                if stop.sleep(ATTENTION) {
                    return Ok(Waited::Stopped);
                }
                self.pace = Pace::from_now(reached, self.pace.rate);
                continue;
            }
            if self.pace.rate != rate * control.speed() {
                self.pace = Pace::from_now(reached, rate * control.speed());
            }
            self.tell(reached)?;
            let due = self.pace.due(stamp);
            if now >= due {
                return Ok(if stop.is_requested() { Waited::Stopped } else { Waited::Due });
            }
            let until = self.clock.map_or(due, |clock| due.min(now + clock.period)).min(now + ATTENTION);
            if stop.sleep_until(until) {
                return Ok(Waited::Stopped);
            }
        }
    }

    /// Publishes the time, unless it was told a moment ago. The clock never goes back, nor ahead of the data.
    fn tell(&mut self, stamp: Stamp) -> r2r::Result<()> {
        let Some(clock) = self.clock else { return Ok(()) };
        let soon = self.told.is_some_and(|told| stamp.since(told) < 0.5 * clock.period.as_secs_f64() * self.pace.rate);
        if soon {
            return Ok(());
        }
        self.told = Some(stamp);
        clock.publisher.publish(&Clock { clock: to_time(stamp) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_at_twice_the_speed_are_due_in_half_the_time() {
        let pace = Pace::from_now(Stamp::from_secs(10.0), 2.0);
        let due = pace.due(Stamp::from_secs(14.0));
        assert_eq!(due - pace.begun, Duration::from_secs(2));
        assert_eq!(pace.stamp_at(due), Stamp::from_secs(14.0));
        assert_eq!(pace.due(Stamp::from_secs(3.0)), pace.begun, "data before the start are due at once");
    }
}
