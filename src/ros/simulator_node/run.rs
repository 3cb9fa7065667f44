//! The run: every frame of the simulation, published when it is due.

use super::{Settings, messages};
use crate::ros::log::Log;
use crate::ros::pace::{CLOCK_HZ, ClockSource, Player};
use crate::ros::qos_overrides::publisher;
use crate::ros::stop::Stop;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_sim::{Frame, Simulation};
use r2r::geometry_msgs::msg::PoseStamped;
use r2r::nav_msgs::msg::{Odometry, Path};
use r2r::sensor_msgs::msg::{Imu, PointCloud2};
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Stamps begin here where the simulation gives the time: 0 means "no time yet" to ROS.
pub const SIMULATION_EPOCH: Stamp = Stamp::from_parts(1, 0);
/// A subscriber of `/tf_static` may not be there at all: it is waited for no longer than this.
const STATIC_WAIT: Duration = Duration::from_secs(2);
/// A subscriber that is seen from here may need this long until it sees us.
const SETTLING: Duration = Duration::from_millis(300);
/// What was sent last may still be on its way for this long.
const FLUSHING: Duration = Duration::from_millis(300);
/// Poses in `ground_truth/path`; beyond, the oldest go: a simulation of hours does not grow.
const PATH_LENGTH: usize = 5000;
/// How often `ground_truth/path` is published.
const PATH_PERIOD: Duration = Duration::from_millis(500);
/// Distance from one pose of `ground_truth/path` to the next, m.
const PATH_SPACING_M: f64 = 0.1;

/// A simulation and where it is published.
pub struct Run {
    simulation: Simulation,
    settings: Settings,
    log: Log,
    odometry: Publisher<Odometry>,
    features: Publisher<PointCloud2>,
    imu: Publisher<Imu>,
    tf: Publisher<TFMessage>,
    tf_static: Publisher<TFMessage>,
    true_pose: Publisher<PoseStamped>,
    true_path: Publisher<Path>,
    true_landmarks: Publisher<PointCloud2>,
    clock: Option<ClockSource>,
}

impl Run {
    /// Advertises the topics of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node, simulation: Simulation, settings: Settings, log: Log) -> r2r::Result<Self> {
        Ok(Self {
            odometry: publisher(node, "odom", qos::reliable())?,
            features: publisher(node, "features", qos::reliable())?,
            imu: publisher(node, "imu", qos::reliable())?,
            tf: publisher(node, "/tf", qos::reliable())?,
            tf_static: publisher(node, "/tf_static", qos::latched())?,
            true_pose: publisher(node, "ground_truth/pose", qos::reliable())?,
            true_path: publisher(node, "ground_truth/path", qos::latched())?,
            true_landmarks: publisher(node, "ground_truth/landmarks", qos::latched())?,
            clock: if settings.publish_clock { Some(ClockSource::of(node, CLOCK_HZ)?) } else { None },
            simulation,
            settings,
            log,
        })
    }

    /// Plays the run, then waits for `stop` unless the process shall end.
    pub fn play(mut self, stop: &Stop) {
        let outcome = self.play_frames(stop);
        if let Err(error) = outcome {
            self.log.error(&format!("publishing failed: {error}"));
        }
        if self.settings.exit_at_end {
            stop.sleep(FLUSHING);
        } else {
            while !stop.sleep(Duration::from_secs(3600)) {}
        }
    }

    fn play_frames(&mut self, stop: &Stop) -> r2r::Result<()> {
        let shown = self.simulation.scenario();
        let (name, seed, duration_s) = (shown.name.clone(), shown.seed, self.simulation.duration_s());
        self.log.info(&format!("scenario '{name}', seed {seed}, {duration_s:.1} s at rate {}", self.settings.rate));
        self.publish_mount()?;
        if !self.wait_for_subscribers(stop)? {
            return Ok(());
        }
        // Who comes late gets what was said before only with the next heartbeat of the middleware, after seconds.
        self.publish_mount()?;
        let epoch = if self.settings.publish_clock { SIMULATION_EPOCH } else { system_time() };
        // Later by the epoch; whole nanoseconds, so that intervals stay what they are.
        let shift = |stamp: Stamp| Stamp::from_nanos(stamp.nanos() + epoch.nanos());
        self.true_landmarks.publish(&messages::landmarks(
            epoch,
            self.simulation.landmarks(),
            &self.settings.map_frame,
        ))?;
        let clock = self.clock.take();
        let mut player = Player::from_now(epoch, self.settings.rate, clock.as_ref());
        let mut reckoned = Se2::identity();
        let mut before = Stamp::default();
        let mut truth = TruePath::new(&self.settings.map_frame);
        let mut frames = 0u64;
        while let Some(frame) = self.simulation.next() {
            if !player.wait_for(shift(frame.stamp), stop)? {
                return Ok(());
            }
            reckoned = reckon(reckoned, &frame, before);
            before = frame.stamp;
            self.publish_frame(&frame, reckoned, shift)?;
            truth.add(shift(frame.stamp), frame.truth);
            if truth.is_due() {
                self.true_path.publish(truth.message())?;
            }
            frames += 1;
        }
        self.true_path.publish(truth.message())?;
        self.log.info(&format!("the run is over: {frames} odometry messages"));
        Ok(())
    }

    /// False if `stop` was asked for meanwhile.
    fn wait_for_subscribers(&self, stop: &Stop) -> r2r::Result<bool> {
        let wanted = self.settings.wait_for_subscribers as usize;
        if wanted == 0 {
            return Ok(!stop.is_requested());
        }
        self.log.info(&format!("waiting for {wanted} subscribers of odom and of features"));
        let mut complete_since = None;
        loop {
            let odometry = self.odometry.get_inter_process_subscription_count()?;
            let features = self.features.get_inter_process_subscription_count()?;
            if odometry.min(features) >= wanted {
                // Whoever wants the place of the sensor wants it before its first cloud.
                let waited = complete_since.get_or_insert_with(Instant::now).elapsed();
                if self.tf_static.get_inter_process_subscription_count()? > 0 || waited > STATIC_WAIT {
                    return Ok(!stop.sleep(SETTLING));
                }
            }
            if stop.sleep(Duration::from_millis(20)) {
                return Ok(false);
            }
        }
    }

    /// Where the sensor sits holds at any time, and who waits for its clouds needs it before the first.
    fn publish_mount(&self) -> r2r::Result<()> {
        let Settings { base_frame, sensor_frame, publish_tf, .. } = &self.settings;
        if !publish_tf {
            return Ok(());
        }
        let sensor = &self.simulation.scenario().sensor;
        let mount = Se2::new(sensor.x_m, sensor.y_m, sensor.yaw_rad);
        let transforms = vec![tf::transform(Stamp::default(), base_frame, sensor_frame, mount)];
        self.tf_static.publish(&TFMessage { transforms })
    }

    fn publish_frame(&self, frame: &Frame, reckoned: Se2, shift: impl Fn(Stamp) -> Stamp) -> r2r::Result<()> {
        let Settings { map_frame, odom_frame, base_frame, sensor_frame, .. } = &self.settings;
        let stamp = shift(frame.stamp);
        let true_pose = PoseStamped { header: tf::header(stamp, map_frame), pose: tf::pose(frame.truth) };
        self.true_pose.publish(&true_pose)?;
        if let Some(measurement) = &frame.imu {
            self.imu.publish(&messages::imu(shift(measurement.stamp), measurement, base_frame))?;
        }
        self.odometry.publish(&messages::odometry(stamp, &frame.odometry, reckoned, odom_frame, base_frame))?;
        if self.settings.publish_tf {
            let transforms = vec![tf::transform(stamp, odom_frame, base_frame, reckoned)];
            self.tf.publish(&TFMessage { transforms })?;
        }
        if let Some(seen) = &frame.features {
            self.features.publish(&messages::features(shift(seen.stamp), seen, sensor_frame))?;
        }
        Ok(())
    }
}

/// Dead reckoning: the measured twist from the frame before to this one.
fn reckon(pose: Se2, frame: &Frame, before: Stamp) -> Se2 {
    let measured = &frame.odometry;
    let twist = nalgebra::Vector3::new(measured.velocity.x, measured.velocity.y, measured.yaw_rate);
    pose * Se2::exp(&(twist * frame.stamp.since(before)))
}

/// Now, by the clock of the system.
pub fn system_time() -> Stamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::from_nanos(i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX))
}

/// The way the robot has really gone.
struct TruePath {
    message: Path,
    last: Option<Se2>,
    due: Instant,
}

impl TruePath {
    fn new(map: &str) -> Self {
        let message = Path { header: tf::header(Stamp::default(), map), ..Default::default() };
        Self { message, last: None, due: Instant::now() }
    }

    fn add(&mut self, stamp: Stamp, pose: Se2) {
        if self.last.is_none_or(|last| (pose.p - last.p).norm() >= PATH_SPACING_M) {
            self.last = Some(pose);
            self.message.header = tf::header(stamp, &self.message.header.frame_id);
            if self.message.poses.len() >= PATH_LENGTH {
                self.message.poses.drain(..PATH_LENGTH / 10);
            }
            self.message.poses.push(PoseStamped { header: self.message.header.clone(), pose: tf::pose(pose) });
        }
    }

    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.due;
        if due {
            self.due = now + PATH_PERIOD;
        }
        due
    }

    fn message(&self) -> &Path {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_sim::Scenario;

    #[test]
    fn dead_reckoning_of_exact_odometry_is_the_truth() {
        let mut scenario = Scenario::default();
        let odometry = &mut scenario.odometry;
        (odometry.velocity_x_std, odometry.velocity_y_std, odometry.yaw_rate_std) = (0.0, 0.0, 0.0);
        let simulation = Simulation::new(&scenario).unwrap();
        let start = simulation.truth(Stamp::default());
        let (mut pose, mut before) = (Se2::identity(), Stamp::default());
        for frame in simulation.take(200) {
            pose = reckon(pose, &frame, before);
            before = frame.stamp;
            let expected = start.inverse() * frame.truth;
            assert!((pose.p - expected.p).norm() < 1e-9, "{} {:?} {:?}", frame.stamp, pose, expected);
        }
    }

    #[test]
    fn the_true_path_is_thinned() {
        let mut path = TruePath::new("map");
        (0..100).for_each(|k| path.add(Stamp::from_nanos(k), Se2::new(0.03 * k as f64, 0.0, 0.0)));
        assert_eq!(path.message().poses.len(), 25);
        assert_eq!(path.message().header.frame_id, "map");
        (100..20_000).for_each(|k| path.add(Stamp::from_nanos(k), Se2::new(k as f64, 0.0, 0.0)));
        assert!((4500..=5000).contains(&path.message().poses.len()));
    }
}
