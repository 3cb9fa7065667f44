//! What time it is: of the system, or of `/clock` where `use_sim_time` is set.

use lienav_base::stamp::Stamp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The ROS clock of a node. While it follows `/clock`, it stands at 0 until the first message there.
#[derive(Clone)]
pub struct RosClock {
    clock: Arc<Mutex<r2r::Clock>>,
    /// Whether it is to follow `/clock`.
    is_simulated: Arc<AtomicBool>,
}

impl RosClock {
    /// The clock of `node`; follows `/clock` if `use_sim_time`.
    ///
    /// # Errors
    /// ROS refuses the subscription of `/clock`.
    pub fn of(node: &mut r2r::Node, use_sim_time: bool) -> r2r::Result<Self> {
        let is_simulated = Arc::new(AtomicBool::new(false));
        let clock = Self { clock: node.get_ros_clock(), is_simulated };
        clock.simulate(use_sim_time);
        clock.adjust(node)?;
        Ok(clock)
    }

    /// Follows `/clock`, or the system, from the next [`RosClock::adjust`] on.
    pub fn simulate(&self, use_sim_time: bool) {
        self.is_simulated.store(use_sim_time, Ordering::Relaxed);
    }

    /// Does what [`RosClock::simulate`] has asked for, in the thread that has the node: at once and at no cost where
    /// nothing has changed.
    ///
    /// # Errors
    /// ROS refuses the subscription of `/clock`.
    pub fn adjust(&self, node: &mut r2r::Node) -> r2r::Result<()> {
        let source = node.get_time_source();
        match self.is_simulated.load(Ordering::Relaxed) {
            true => source.enable_sim_time(node),
            false => {
                source.disable_sim_time();
                Ok(())
            }
        }
    }

    /// Now. 0 if the clock cannot be read.
    pub fn now(&self) -> Stamp {
        let now = self.clock.lock().unwrap_or_else(PoisonError::into_inner).get_now().unwrap_or_default();
        Stamp::from_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// As a message has it.
pub fn to_time(stamp: Stamp) -> r2r::builtin_interfaces::msg::Time {
    let (sec, nanosec) = stamp.parts();
    r2r::builtin_interfaces::msg::Time { sec, nanosec }
}
