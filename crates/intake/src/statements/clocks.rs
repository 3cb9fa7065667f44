//! Whether one clock stamps all topics.

use super::Finding;
use lienav_base::stamp::Stamp;

/// No sensor delays all of its messages by more, s: clocks that differ by more are two clocks.
const MOST_DELAY_S: f64 = 2.0;
/// Fewer messages say nothing.
const LEAST_MESSAGES: u64 = 5;

/// Compares stamps with those of a reference, the odometry, by the times at which the messages were received. Only
/// messages that are received one after the other are compared: where simulated time runs at another rate than the
/// clock of the receiver, that is no difference of clocks.
#[derive(Clone, Debug)]
pub struct ClockCheck {
    reference: String,
    /// Time from stamp to reception of the reference's last message, s.
    reference_delay_s: Option<f64>,
    topics: Vec<Topic>,
}

#[derive(Clone, Debug)]
struct Topic {
    name: String,
    messages: u64,
    first: Stamp,
    last: Stamp,
    /// Whether every stamp was the first one.
    is_constant: bool,
    /// The least and the greatest time from stamp to reception beyond that of the reference, s. The least is without
    /// what a sensor and a network delay: the difference of the clocks. `None` before the reference.
    delays_s: Option<[f64; 2]>,
}

impl ClockCheck {
    /// For the topic of the odometry.
    pub fn new(reference: &str) -> Self {
        Self { reference: reference.to_owned(), reference_delay_s: None, topics: Vec::new() }
    }

    /// Takes a message.
    pub fn add(&mut self, topic: &str, stamp: Stamp, received: Stamp) {
        let delay = received.since(stamp);
        if topic == self.reference {
            self.reference_delay_s = Some(delay);
        }
        let beyond = self.reference_delay_s.map(|reference| delay - reference);
        let Some(known) = self.topics.iter_mut().find(|known| known.name == topic) else {
            let (first, last, is_constant) = (stamp, stamp, true);
            let name = topic.to_owned();
            let delays_s = beyond.map(|beyond| [beyond; 2]);
            self.topics.push(Topic { name, messages: 1, first, last, is_constant, delays_s });
            return;
        };
        known.messages += 1;
        known.is_constant &= stamp == known.first;
        known.first = known.first.min(stamp);
        known.last = known.last.max(stamp);
        if let Some(beyond) = beyond {
            let [least, greatest] = known.delays_s.unwrap_or([beyond; 2]);
            known.delays_s = Some([least.min(beyond), greatest.max(beyond)]);
        }
    }

    /// Topics without stamps, and topics that another clock stamps than the odometry.
    pub fn findings(&self) -> Vec<Finding> {
        let known = || self.topics.iter().filter(|topic| topic.messages >= LEAST_MESSAGES);
        let reference = known().find(|topic| topic.name == self.reference && !topic.is_constant);
        let of = |topic: &Topic| match reference {
            _ if topic.is_constant => Some(unstamped(topic)),
            Some(reference) if reference.name != topic.name => two_clocks(topic, reference),
            _ => None,
        };
        known().filter_map(of).collect()
    }
}

fn unstamped(topic: &Topic) -> Finding {
    let Topic { name, messages, first, .. } = topic;
    let sentence = format!(
        "all {messages} messages of {name} are stamped {first}: a filter needs the time of each measurement; let the \
         driver fill in header.stamp"
    );
    Finding::new(name, "unstamped", sentence)
}

fn two_clocks(topic: &Topic, reference: &Topic) -> Option<Finding> {
    let [least, greatest] = topic.delays_s?;
    let by = -least;
    // A driver that hung and sends all at once is late for a while: two clocks differ in every message.
    if least <= MOST_DELAY_S && greatest >= -MOST_DELAY_S {
        return None;
    }
    let way = if by > 0.0 { "ahead of" } else { "behind" };
    // Clocks of satellites and of PTP run 37 s ahead of UTC since 2017, that of GPS 18 s.
    let cause = match by.abs() {
        s if (s - 37.0).abs() < 0.5 => "TAI (PTP) against UTC",
        s if (s - 18.0).abs() < 0.5 => "GPS time against UTC",
        s if s > 1e8 => "time since boot, or simulated time, against the time of day",
        _ => "clocks that are not synchronized",
    };
    let sentence = format!(
        "{} is stamped {:.1} s {way} {} (stamps from {} and from {}): {cause}? One clock must stamp both: synchronize \
         the clocks, or repair the stamps",
        topic.name,
        by.abs(),
        reference.name,
        topic.first,
        reference.first
    );
    Some(Finding::new(&topic.name, "two_clocks", sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stamp: impl Fn(f64) -> f64) -> Vec<Finding> {
        found_at(1.0, stamp)
    }

    /// Where the clock of the receiver runs `rate` times as fast as that of the messages.
    fn found_at(rate: f64, stamp: impl Fn(f64) -> f64) -> Vec<Finding> {
        let mut check = ClockCheck::new("/odom");
        for i in 0..400 {
            let time = 1.7e9 + 0.1 * f64::from(i);
            let received = Stamp::from_secs(1.7e9 + rate * 0.1 * f64::from(i) + 0.01);
            if i >= 300 {
                check.add("/features", Stamp::from_secs(stamp(time)), received);
            }
            check.add("/odom", Stamp::from_secs(time), received);
        }
        check.findings()
    }

    #[test]
    fn a_driver_that_hangs_and_catches_up_has_one_clock() {
        for slow in ["/odom", "/features"] {
            let mut check = ClockCheck::new("/odom");
            for i in 0..400 {
                let time = 1.7e9 + 0.1 * f64::from(i);
                for topic in ["/odom", "/features"] {
                    let late = if topic == slow && (200..240).contains(&i) { 5.0 } else { 0.01 };
                    check.add(topic, Stamp::from_secs(time), Stamp::from_secs(time + late));
                }
            }
            assert_eq!(check.findings(), [], "{slow}");
        }
    }

    #[test]
    fn two_clocks_are_named_with_their_difference_and_delays_are_none() {
        assert_eq!(found(|time| time - 0.8), [], "a slow detector");
        assert_eq!(found_at(2.0, |time| time), [], "a slow simulation");
        let tai = found(|time| time + 37.0);
        assert!(tai[0].sentence.starts_with("/features is stamped 37.0 s ahead of /odom"), "{tai:?}");
        assert!(tai[0].sentence.contains("TAI"), "{tai:?}");
        let boot = found(|time| time - 1.7e9 + 30.0);
        assert!(boot[0].sentence.contains("behind /odom") && boot[0].sentence.contains("since boot"), "{boot:?}");
        let none = found(|_| 0.0);
        assert_eq!((none.len(), none[0].word), (1, "unstamped"));
        assert!(none[0].sentence.starts_with("all 100 messages of /features are stamped 0.000000000"), "{none:?}");
    }
}
