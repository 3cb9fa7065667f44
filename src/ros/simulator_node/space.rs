//! A run in space, published when it is due: `imu`, `features`, `camera_info`, `initialpose`, `/tf_static` (base → imu
//! and cameras), and the truth.

use super::Settings;
use crate::ros::log::Log;
use crate::ros::pace::{CLOCK_HZ, ClockSource, Player};
use crate::ros::qos_overrides::publisher;
use crate::ros::slam3d_node::{pose_of, transform};
use crate::ros::stop::Stop;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use lienav_sim::space::camera::{Camera, Pixels};
use lienav_sim::space::inertial::InertialSample;
use lienav_sim::space::run::{Frame, SpaceRun, simulate};
use lienav_sim::space::scenario::SpaceScenario;
use nalgebra::{Matrix6, Vector3};
use r2r::geometry_msgs::msg::{self, PoseStamped, PoseWithCovariance, PoseWithCovarianceStamped};
use r2r::nav_msgs::msg::Path;
use r2r::sensor_msgs::msg::{CameraInfo, Imu, PointCloud2, PointField};
use r2r::tf2_msgs::msg::TFMessage;
use r2r::{Node, Publisher};
use std::time::Duration;

/// What the names of scenarios in space begin with.
pub const PREFIX: &str = "space:";
/// The frame of the inertial sensor, which is that of the simulated body.
const IMU_FRAME: &str = "imu_link";
/// The start is published with so many samples before it, so that a node has seen where the sensors are.
const START_AFTER: usize = 20;
/// A pose of the true path with so many samples.
const PATH_EVERY: usize = 20;
/// Poses in `ground_truth/path`; beyond, the oldest are removed.
const PATH_LENGTH: usize = 5000;

/// The scenario of a name behind [`PREFIX`], with its seed behind a colon.
///
/// # Errors
/// A sentence: there is no such scenario, or it cannot be simulated.
pub fn run_of(name: &str) -> Result<(SpaceScenario, SpaceRun), String> {
    let (name, seed) = match name.split_once(':') {
        Some((name, seed)) => (name, seed.parse().map_err(|_| format!("'{seed}' is no seed: give a whole number"))?),
        None => (name, 1),
    };
    let scenario = SpaceScenario::named(name).map_err(|error| error.to_string())?;
    let run = simulate(&scenario, seed).map_err(|error| error.to_string())?;
    Ok((scenario, run))
}

/// A run and where it is published.
pub struct Publishing {
    scenario: SpaceScenario,
    run: SpaceRun,
    settings: Settings,
    log: Log,
    imu: Publisher<Imu>,
    features: Publisher<PointCloud2>,
    camera_info: Publisher<CameraInfo>,
    start: Publisher<PoseWithCovarianceStamped>,
    tf_static: Publisher<TFMessage>,
    true_pose: Publisher<PoseStamped>,
    true_path: Publisher<Path>,
    true_landmarks: Publisher<PointCloud2>,
    clock: Option<ClockSource>,
}

impl Publishing {
    /// Advertises the topics of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(
        node: &mut Node,
        (scenario, run): (SpaceScenario, SpaceRun),
        settings: Settings,
        log: Log,
    ) -> r2r::Result<Self> {
        Ok(Self {
            imu: publisher(node, "imu", qos::reliable())?,
            features: publisher(node, "features", qos::reliable())?,
            camera_info: publisher(node, "camera_info", qos::latched())?,
            start: publisher(node, "initialpose", qos::reliable())?,
            tf_static: publisher(node, "/tf_static", qos::latched())?,
            true_pose: publisher(node, "ground_truth/pose", qos::reliable())?,
            true_path: publisher(node, "ground_truth/path", qos::latched())?,
            true_landmarks: publisher(node, "ground_truth/landmarks", qos::latched())?,
            clock: if settings.publish_clock { Some(ClockSource::of(node, CLOCK_HZ)?) } else { None },
            scenario,
            run,
            settings,
            log,
        })
    }

    /// Plays the run, then waits for `stop` unless the process shall end.
    pub fn play(mut self, stop: &Stop) {
        if let Err(error) = self.play_all(stop) {
            self.log.error(&format!("publishing failed: {error}"));
        }
        if self.settings.exit_at_end {
            stop.sleep(Duration::from_millis(300));
        } else {
            while !stop.sleep(Duration::from_secs(3600)) {}
        }
    }

    fn play_all(&mut self, stop: &Stop) -> r2r::Result<()> {
        let (name, rate) = (&self.scenario.name, self.settings.rate);
        self.log.info(&format!("scenario '{name}' in space, {:.1} s at rate {rate}", self.scenario.duration_s));
        self.publish_robot()?;
        if !self.wait_for_subscribers(stop)? {
            return Ok(());
        }
        // Subscribers that come late get what was published before with the next heartbeat of the middleware.
        self.publish_robot()?;
        let epoch = if self.settings.publish_clock { super::run::SIMULATION_EPOCH } else { super::run::system_time() };
        let shift = |stamp: Stamp| Stamp::from_nanos(stamp.nanos() + epoch.nanos());
        self.true_landmarks.publish(&self.landmarks(epoch))?;
        let clock = self.clock.take();
        let mut player = Player::from_now(epoch, rate, clock.as_ref());
        let mut path = Path { header: tf::header(epoch, &self.settings.map_frame), ..Path::default() };
        let mut frames = self.run.frames.iter().peekable();
        for (k, sample) in self.run.samples.iter().enumerate() {
            while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
                if !player.wait_for(shift(frame.stamp), stop)? {
                    return Ok(());
                }
                self.publish_frame(frame, shift(frame.stamp))?;
            }
            if !player.wait_for(shift(sample.stamp), stop)? {
                return Ok(());
            }
            self.imu.publish(&imu(sample, shift(sample.stamp)))?;
            if k == START_AFTER {
                self.start.publish(&self.start_message(shift(self.run.start.stamp)))?;
            }
            if k % PATH_EVERY == 0 {
                self.publish_truth(sample.stamp, shift(sample.stamp), &mut path)?;
            }
        }
        let (samples, frames) = (self.run.samples.len(), self.run.frames.len());
        self.log.info(&format!("the run is over: {samples} samples, {frames} frames"));
        Ok(())
    }

    /// False if `stop` was asked for meanwhile.
    fn wait_for_subscribers(&self, stop: &Stop) -> r2r::Result<bool> {
        let wanted = self.settings.wait_for_subscribers as usize;
        loop {
            let imu = self.imu.get_inter_process_subscription_count()?;
            let features = self.features.get_inter_process_subscription_count()?;
            if imu.min(features) >= wanted {
                return Ok(!stop.sleep(Duration::from_millis(300)));
            }
            if stop.sleep(Duration::from_millis(20)) {
                return Ok(false);
            }
        }
    }

    /// Where the sensors are, and how the cameras make their images.
    fn publish_robot(&self) -> r2r::Result<()> {
        let base = &self.settings.base_frame;
        let at = |frame: &str, pose: &Se3| transform(Stamp::default(), base, frame, pose);
        let mut transforms = vec![at(IMU_FRAME, &Se3::identity())];
        transforms.extend(self.run.cameras.iter().enumerate().map(|(k, camera)| at(&camera_frame(k), &camera.on_body)));
        self.tf_static.publish(&TFMessage { transforms })?;
        self.publish_info(Stamp::default())
    }

    /// As drivers do, with each frame: subscribers that come late do not get what was published before.
    fn publish_info(&self, stamp: Stamp) -> r2r::Result<()> {
        match self.run.cameras.first() {
            Some(camera) => self.camera_info.publish(&self.info(camera, stamp)),
            None => Ok(()),
        }
    }

    fn info(&self, camera: &Camera, stamp: Stamp) -> CameraInfo {
        let (f, c) = (camera.focal, &camera.centre);
        CameraInfo {
            header: tf::header(stamp, &camera_frame(0)),
            height: self.scenario.camera.height_px as u32,
            width: self.scenario.camera.width_px as u32,
            distortion_model: "plumb_bob".to_owned(),
            d: vec![0.0; 5],
            k: vec![f, 0.0, c.x, 0.0, f, c.y, 0.0, 0.0, 1.0],
            r: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p: vec![f, 0.0, c.x, 0.0, 0.0, f, c.y, 0.0, 0.0, 0.0, 1.0, 0.0],
            ..CameraInfo::default()
        }
    }

    /// One message for each camera that saw anything; an empty one where none did.
    fn publish_frame(&self, frame: &Frame, stamp: Stamp) -> r2r::Result<()> {
        self.publish_info(stamp)?;
        let mut is_published = false;
        for (k, camera) in self.run.cameras.iter().enumerate() {
            let seen: Vec<(u32, Pixels)> = frame
                .seen
                .iter()
                .filter(|seen| seen.camera == k)
                .map(|seen| (u32::try_from(seen.id).unwrap_or(u32::MAX), seen.at))
                .collect();
            let is_last = k + 1 == self.run.cameras.len();
            if !seen.is_empty() || (is_last && !is_published) {
                self.features.publish(&features(&seen, camera.baseline_m > 0.0, stamp, &camera_frame(k)))?;
                is_published = true;
            }
        }
        Ok(())
    }

    fn publish_truth(&self, at: Stamp, stamp: Stamp, path: &mut Path) -> r2r::Result<()> {
        let k = self.run.truth.partition_point(|(stamp, ..)| *stamp < at);
        let Some((_, truth, _)) = self.run.truth.get(k) else { return Ok(()) };
        let header = tf::header(stamp, &self.settings.map_frame);
        let pose = PoseStamped { header: header.clone(), pose: pose_of(&truth.pose) };
        self.true_pose.publish(&pose)?;
        path.header = header;
        if path.poses.len() >= PATH_LENGTH {
            path.poses.drain(..PATH_LENGTH / 10);
        }
        path.poses.push(pose);
        self.true_path.publish(path)
    }

    /// The estimate of the start, with its covariance.
    fn start_message(&self, stamp: Stamp) -> PoseWithCovarianceStamped {
        let start = &self.run.start;
        let [turn, _, place, ..] = start.std;
        let covariance = Matrix6::from_fn(|i, j| match (i == j, i < 3) {
            (false, _) => 0.0,
            (true, true) => place * place,
            (true, false) => turn * turn,
        });
        let pose = PoseWithCovariance { pose: pose_of(&start.pose), covariance: covariance.iter().copied().collect() };
        PoseWithCovarianceStamped { header: tf::header(stamp, &self.settings.map_frame), pose }
    }

    /// All landmarks there are, at their true places.
    fn landmarks(&self, stamp: Stamp) -> PointCloud2 {
        let all: Vec<(u32, [f64; 3])> =
            self.run.landmarks.iter().map(|(id, place)| (*id as u32, (*place).into())).collect();
        points(tf::header(stamp, &self.settings.map_frame), &["x", "y", "z"], &all)
    }
}

fn camera_frame(k: usize) -> String {
    format!("camera_{k}_optical")
}

fn imu(sample: &InertialSample, stamp: Stamp) -> Imu {
    let vector = |v: &Vector3<f64>| msg::Vector3 { x: v.x, y: v.y, z: v.z };
    let mut message = Imu { header: tf::header(stamp, IMU_FRAME), ..Imu::default() };
    if let Some(first) = message.orientation_covariance.first_mut() {
        *first = -1.0;
    }
    (message.angular_velocity, message.linear_acceleration) = (vector(&sample.rate), vector(&sample.force));
    message
}

fn features(seen: &[(u32, Pixels)], is_pair: bool, stamp: Stamp, frame: &str) -> PointCloud2 {
    let header = tf::header(stamp, frame);
    if is_pair {
        let pair = |(id, at): &(u32, Pixels)| match at {
            Pixels::Pair(z) => (*id, [z.x, z.y, z.z, z.w]),
            Pixels::One(z) => (*id, [z.x, z.y, f64::NAN, f64::NAN]),
        };
        let all: Vec<(u32, [f64; 4])> = seen.iter().map(pair).collect();
        return points(header, &["u_left", "v_left", "u_right", "v_right"], &all);
    }
    let one = |(id, at): &(u32, Pixels)| match at {
        Pixels::Pair(z) => (*id, [z.x, z.y]),
        Pixels::One(z) => (*id, [z.x, z.y]),
    };
    let all: Vec<(u32, [f64; 2])> = seen.iter().map(one).collect();
    points(header, &["u", "v"], &all)
}

/// Values of FLOAT64, so that a filter gets them bit by bit, and an `id`.
fn points<const N: usize>(
    header: r2r::std_msgs::msg::Header,
    names: &[&str; N],
    all: &[(u32, [f64; N])],
) -> PointCloud2 {
    let field = |name: &str, offset: usize, datatype: u8| PointField {
        name: name.to_owned(),
        offset: offset as u32,
        datatype,
        count: 1,
    };
    let mut fields: Vec<PointField> =
        names.iter().enumerate().map(|(k, name)| field(name, 8 * k, PointField::FLOAT64 as u8)).collect();
    fields.push(field("id", 8 * N, PointField::UINT32 as u8));
    let point_step = 8 * N + 4;
    let mut data = Vec::with_capacity(point_step * all.len());
    for (id, values) in all {
        data.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        data.extend(id.to_le_bytes());
    }
    PointCloud2 {
        header,
        height: 1,
        width: all.len() as u32,
        fields,
        is_bigendian: false,
        point_step: point_step as u32,
        row_step: (point_step * all.len()) as u32,
        data,
        is_dense: true,
    }
}
