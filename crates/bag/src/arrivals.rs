//! When the messages of a bag arrived at its recorder, where that may matter.
//!
//! Odometry that was held up and comes all at once is no clock that was set ([`ClockGuard`]). A bag shows it by the time
//! at which each message was recorded, which is passed on from the first stamp on that does not continue the one before.
//! Bags made from data have no such times: in place of them, they repeat the stamps.
//!
//! [`ClockGuard`]: lienav_base::clock::ClockGuard

use crate::recording::Input;
use lienav_base::stamp::Stamp;
use std::ops::Range;

/// By how much a stamp that continues the one before may be later, s: back by the least `timing.jump_back_s`, ahead by
/// what is no pause to a [`ClockGuard`].
const CONTINUES_S: Range<f64> = -0.1..0.5;

/// What is known of the arrival of odometry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// The first time of the recorder.
    began: Option<Stamp>,
    /// The last stamp.
    last: Option<Stamp>,
    /// The newest stamp.
    newest: Option<Stamp>,
    /// Some message was recorded at another time than that of a stamp.
    are_known: bool,
    /// Some stamp did not continue the one before.
    matter: bool,
}

impl Arrivals {
    /// Notes that odometry was recorded at `log_time`, and adds that to the input where it may matter.
    pub fn note(&mut self, input: &mut Input, log_time: Stamp) {
        let (source, odometry) = match *input {
            Input::Odometry(odometry) => (0, odometry),
            Input::Fallback { source, odometry } => (source, odometry),
            _ => return,
        };
        let stamp = odometry.stamp;
        let newest = self.newest.map_or(stamp, |newest| newest.max(stamp));
        self.are_known |= log_time != stamp && log_time != newest;
        self.matter |= self.last.is_some_and(|last| !CONTINUES_S.contains(&stamp.since(last)));
        (self.last, self.newest) = (Some(stamp), Some(newest));
        let began = *self.began.get_or_insert(log_time);
        if self.are_known && self.matter {
            *input = Input::Received { source, odometry, received_s: log_time.since(began) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::Odometry;
    use nalgebra::Vector2;

    fn at(stamp_s: f64) -> Input {
        let velocity = Vector2::new(1.0, 0.0);
        Input::Odometry(Odometry { stamp: Stamp::from_secs(stamp_s), velocity, yaw_rate: 0.0, covariance: None })
    }

    /// When messages with these stamps arrived that were recorded at these times.
    fn received(messages: &[(f64, f64)]) -> Vec<Option<f64>> {
        let mut arrivals = Arrivals::default();
        let one = |&(stamp, log_time): &(f64, f64)| {
            let mut input = at(stamp);
            arrivals.note(&mut input, Stamp::from_secs(log_time));
            if let Input::Received { received_s, .. } = input { Some(received_s) } else { None }
        };
        messages.iter().map(one).collect()
    }

    #[test]
    fn arrivals_are_passed_on_from_the_first_stamp_that_does_not_continue() {
        let seen = received(&[(7.0, 10.0), (7.05, 10.0625), (4.0, 10.125), (4.05, 10.125), (7.1, 10.25)]);
        assert_eq!(seen, [None, None, Some(0.125), Some(0.125), Some(0.25)]);
    }

    #[test]
    fn a_bag_whose_times_are_its_stamps_has_none() {
        assert_eq!(received(&[(7.0, 7.0), (7.05, 7.05), (4.0, 7.05), (4.05, 7.05), (9.0, 9.0)]), [None; 5]);
        assert_eq!(received(&[(7.0, 7.0), (7.05, 7.05), (4.0, 4.0), (4.05, 4.05), (9.0, 9.0)]), [None; 5]);
    }
}
