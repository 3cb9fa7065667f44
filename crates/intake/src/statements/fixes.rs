//! What fixes of a satellite receiver state of themselves.

use super::Finding;
use crate::messages::NavSatFix;

/// Counts fixes whose covariance says nothing though its type says that it is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixCheck {
    messages: u64,
    empty: u64,
}

impl FixCheck {
    /// Takes a message.
    pub fn add(&mut self, message: &NavSatFix) {
        let [east, north] = [message.position_covariance[0], message.position_covariance[4]];
        self.messages += 1;
        self.empty += u64::from(message.position_covariance_type != 0 && !(east > 0.0 && north > 0.0));
    }

    /// What was found so far of the messages of `topic`.
    pub fn findings(&self, topic: &str) -> Vec<Finding> {
        let Self { messages, empty } = self;
        if 2 * empty < *messages || *empty == 0 {
            return Vec::new();
        }
        let sentence = format!(
            "{empty} of {messages} fixes of {topic} state a variance of 0 or none, though position_covariance_type \
             says that it is known: absolute.position_std_m holds instead; repair the driver, or set that parameter"
        );
        vec![Finding::new(topic, "variance_zero", sentence)]
    }
}
