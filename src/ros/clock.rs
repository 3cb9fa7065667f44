//! What time it is: of the system, or of `/clock` where `use_sim_time` is set.

use lienav_base::stamp::Stamp;
use std::sync::{Arc, Mutex, PoisonError};

/// The ROS clock of a node. With `use_sim_time` it stands at 0 until the first `/clock` message.
#[derive(Clone)]
pub struct RosClock(Arc<Mutex<r2r::Clock>>);

impl RosClock {
    /// The clock of `node`; follows `/clock` if `use_sim_time`.
    ///
    /// # Errors
    /// ROS refuses the subscription of `/clock`.
    pub fn of(node: &mut r2r::Node, use_sim_time: bool) -> r2r::Result<Self> {
        if use_sim_time {
            node.get_time_source().enable_sim_time(node)?;
        }
        Ok(Self(node.get_ros_clock()))
    }

    /// Now. 0 if the clock cannot be read.
    pub fn now(&self) -> Stamp {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_now().unwrap_or_default();
        Stamp::from_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// As a message has it.
pub fn to_time(stamp: Stamp) -> r2r::builtin_interfaces::msg::Time {
    let (sec, nanosec) = stamp.parts();
    r2r::builtin_interfaces::msg::Time { sec, nanosec }
}
