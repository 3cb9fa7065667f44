//! How a filter takes the input of a recording, as a node does: with further sensors, and the odometry of one source.

use super::data::Input;
use super::equipment::Equipment;
use lienav_intake::intake::{STANDBY, Sources};
use lienav_slam::{DropReason, Slam};

/// Gives the input of a recording to a filter, and of several sources of odometry the one that counts.
#[derive(Clone, Debug)]
pub struct Feeder {
    sources: Sources,
    topics: Vec<String>,
    timeout_s: f64,
    time_jumps: u64,
    standby: u64,
    /// The first change of the source, as a sentence.
    switched: Option<String>,
}

impl Feeder {
    /// Before any input.
    pub fn new(equipment: &Equipment) -> Self {
        Self {
            sources: Sources::new(equipment.odometry.len()),
            topics: equipment.odometry.clone(),
            timeout_s: equipment.timeout_s,
            time_jumps: 0,
            standby: 0,
            switched: None,
        }
    }

    /// Gives an input to the filter. Odometry of a source that does not count is left out, which is no error.
    ///
    /// # Errors
    /// What the filter refuses, and counts itself.
    pub fn feed(&mut self, slam: &mut Slam, input: &Input) -> Result<(), DropReason> {
        let (source, odometry) = match input {
            Input::Odometry(odometry) => (0, odometry),
            Input::Fallback { source, odometry } => (usize::from(*source), odometry),
            Input::Received { source, odometry, received_s } => {
                slam.arrived(*received_s);
                (usize::from(*source), odometry)
            }
            Input::Imu(imu) => return slam.imu(imu),
            Input::Scan(scan) => return slam.features(scan.stamp, scan.kind, &scan.measurements),
        };
        if self.topics.len() < 2 {
            return slam.odometry(odometry);
        }
        let jump_back_s = slam.config().timing.jump_back_s;
        if !self.sources.counts(source, odometry.stamp, self.timeout_s, jump_back_s) {
            self.standby += 1;
            return Ok(());
        }
        slam.odometry(odometry)?;
        if let Some(switch) = self.sources.used(source, odometry.stamp) {
            let said = || switch.sentence(|k| self.topics.get(k).map_or("odom", String::as_str));
            self.switched.get_or_insert_with(said);
        }
        if slam.time_jumps() != self.time_jumps {
            self.time_jumps = slam.time_jumps();
            self.sources.restart();
        }
        Ok(())
    }

    /// How many messages of odometry were left out because a better source was used, under their word; nothing where
    /// none was.
    pub fn dropped(&self) -> Option<(&'static str, u64)> {
        (self.standby > 0).then_some((STANDBY, self.standby))
    }

    /// A sentence about changes of the source, if there were any.
    pub fn switches(&self) -> Option<String> {
        let first = self.switched.as_ref()?;
        match self.sources.switches() {
            1 => Some(first.clone()),
            count => Some(format!("{first}; the source of odometry changed {count} times")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use lienav_slam::{Config, Odometry};
    use nalgebra::Vector2;

    #[test]
    fn what_the_filter_refuses_does_not_keep_a_fallback_out() {
        let topics = ["odom", "visual/odom"].map(str::to_owned).to_vec();
        let mut feeder = Feeder::new(&Equipment { odometry: topics, ..Equipment::default() });
        let mut slam = Slam::new(Config::default()).unwrap();
        let odometry = |ms: i64, speed: f64| {
            let stamp = Stamp::from_nanos(1_000_000 * ms);
            Odometry { stamp, velocity: Vector2::new(speed, 0.0), yaw_rate: 0.0, covariance: None }
        };
        let fallback = |ms: i64| Input::Fallback { source: 1, odometry: odometry(ms, 1.0) };
        assert_eq!(feeder.feed(&mut slam, &Input::Odometry(odometry(0, 1.0))), Ok(()));
        assert_eq!(feeder.feed(&mut slam, &fallback(100)), Ok(()));
        assert_eq!((feeder.dropped(), feeder.switches()), (Some((STANDBY, 1)), None));
        let refused = feeder.feed(&mut slam, &Input::Odometry(odometry(250, f64::NAN)));
        assert_eq!(refused, Err(DropReason::NotFinite));
        assert_eq!(feeder.feed(&mut slam, &fallback(260)), Ok(()));
        assert_eq!(feeder.dropped(), Some((STANDBY, 1)));
        assert!(feeder.switches().unwrap().contains("odometry comes from visual/odom, since odom is silent"));
    }
}
