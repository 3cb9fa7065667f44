//! What the node does with whatever arrives: convert, detect, follow, publish.

use super::Settings;
use super::motion::Motion;
use super::place::Place;
use crate::ros::clock::RosClock;
use crate::ros::diagnostics::{Diagnostics, Dropped, Findings, Percentiles, Received, Values, listed};
use crate::ros::lifecycle::{self, Action, Lifecycle, Managed};
use crate::ros::log::Log;
use crate::ros::qos_overrides::publisher;
use crate::ros::{qos, tf};
use lienav_base::intake::Reason;
use lienav_base::stamp::Stamp;
use lienav_detect::{Config, Detection, Detector, Rejection, Scan, Tracker};
use lienav_io::bag::UNREADABLE;
use lienav_io::bag::cdr::CdrError;
use lienav_io::cloud::encode_features;
use lienav_io::convert::{self, Refusal};
use lienav_io::messages::{self, LaserScan};
use lienav_lie::Se2;
use lienav_slam::{Label, Measurement, MeasurementKind, Odometry};
use nalgebra::Vector3;
use r2r::sensor_msgs::msg::PointCloud2;
use r2r::{Node, Publisher};
use std::time::Instant;

/// A scan that cannot be one.
const BAD_SCAN: &str = "bad_scan";
/// Odometry that no robot can have.
const ABSURD: &str = "absurd";
/// A scan that no odometry is near.
const NO_ODOM: &str = "no_odom";
/// A scan that is not newer than the one before.
const OLD_STAMP: &str = "old_stamp";
/// A stamp this far behind the newest means that time was set back, s.
const JUMP_BACK_S: f64 = 2.0;

/// The detector with all that surrounds it.
pub struct Worker {
    config: Config,
    detector: Detector,
    tracker: Tracker,
    motion: Motion,
    place: Place,
    settings: Settings,
    features: Publisher<PointCloud2>,
    diagnostics: Diagnostics,
    clock: RosClock,
    lifecycle: Lifecycle,
    log: Log,
    scans: Received,
    odometry: Received,
    landmarks: u64,
    dropped: Dropped,
    last_scan: Option<Instant>,
    newest: Option<Stamp>,
    step_us: Vec<f64>,
    before: (Received, Dropped),
}

impl Worker {
    /// Advertises the topics of `node`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(
        node: &mut Node,
        (detector, place): (Detector, Place),
        config: Config,
        settings: Settings,
        clock: RosClock,
        lifecycle: Lifecycle,
        log: Log,
    ) -> r2r::Result<Self> {
        Ok(Self {
            features: publisher(node, "features", qos::reliable())?,
            diagnostics: Diagnostics::of(node)?,
            tracker: Tracker::new(config.persistence.clone()),
            motion: Motion::default(),
            place,
            config,
            detector,
            settings,
            clock,
            lifecycle,
            log,
            scans: Received::default(),
            odometry: Received::default(),
            landmarks: 0,
            dropped: Dropped::default(),
            last_scan: None,
            newest: None,
            step_us: Vec::new(),
            before: (Received::default(), Dropped::default()),
        })
    }

    /// Takes in the motion of the robot.
    pub fn odometry(&mut self, message: &messages::Odometry) {
        self.odometry.received += 1;
        match convert::odometry(message, &self.settings.odom(), &self.settings.base()) {
            Ok((odometry, pose)) if is_plausible(&odometry) => {
                self.odometry.used += 1;
                self.motion.odometry(odometry, pose);
            }
            Ok(_) => self.drop("odom", ABSURD, "its twist is not finite, or beyond 100 m/s or rad/s"),
            Err(refusal) => self.drop("odom", refusal.word(), &refusal.to_string()),
        }
    }

    /// Finds landmarks in a scan.
    pub fn scan(&mut self, message: &LaserScan) {
        let begun = Instant::now();
        self.scans.received += 1;
        self.last_scan = Some(begun);
        let (stamp, mount) = match self.stamp_and_mount(message) {
            Ok(both) => both,
            Err(refusal) => return self.drop("scan", refusal.word(), &refusal.to_string()),
        };
        if self.newest.is_some_and(|newest| stamp <= newest && newest.since(stamp) < JUMP_BACK_S) {
            return self.drop("scan", OLD_STAMP, "its stamp is not above that of the scan before");
        }
        let moved = self.motion.scanner(stamp, &mount);
        if self.settings.use_odom && moved.is_none() {
            return self.drop("scan", NO_ODOM, "no odometry within 0.3 s of its stamp; look at odom and its clock");
        }
        self.newest = Some(stamp);
        let twist = moved.map_or_else(Vector3::zeros, |(_, twist)| twist);
        let found = match self.detector.detect(&scan_of(message, twist)) {
            Ok(found) => found,
            Err(error) => {
                let text = error.to_string();
                return self.drop("scan", BAD_SCAN, &text);
            }
        };
        let standing = match &moved {
            Some((pose, _)) => self.tracker.update(stamp, pose, found),
            None => found,
        };
        let published = self.features.publish(&cloud_of(message, standing));
        self.landmarks += standing.len() as u64;
        self.scans.used += 1;
        self.step_us.push(begun.elapsed().as_secs_f64() * 1e6);
        self.log.sent(published);
    }

    /// When a scan was taken, and where the scanner sits; without odometry, nobody has to know the latter.
    fn stamp_and_mount(&mut self, message: &LaserScan) -> Result<(Stamp, Se2), Refusal> {
        let frame = &message.header.frame_id;
        self.place.check(frame, &self.settings)?;
        let stamp = convert::stamp_of(&message.header.stamp)?;
        let mount = match self.settings.use_odom {
            true => self.place.of(frame, &self.settings.base_frame, &self.log)?,
            false => Se2::identity(),
        };
        Ok((stamp, mount))
    }

    /// Takes where sensors sit.
    pub fn static_transforms(&mut self, message: &messages::TfMessage) {
        for refusal in self.place.take(message) {
            self.drop("/tf_static", refusal.word(), &refusal.to_string());
        }
    }

    /// Counts what is no message.
    pub fn unreadable(&mut self, topic: &'static str, error: &CdrError) {
        match topic {
            "odom" => self.odometry.received += 1,
            "/tf_static" => (),
            _ => self.scans.received += 1,
        }
        self.drop(topic, UNREADABLE, &error.to_string());
    }

    fn drop(&mut self, topic: &str, word: &'static str, why: &str) {
        self.dropped.add(word);
        self.log.warn_of(word, || format!("{topic} dropped as {word}: {why}"));
    }

    /// Whether scans are to be looked at.
    pub fn is_active(&self) -> bool {
        self.lifecycle.is_active()
    }

    /// Answers about the state of the node.
    pub fn answer_about_lifecycle(&mut self, request: lifecycle::Request) {
        match request.answer(self) {
            Ok(Some(refused)) => self.log.warn(&refused),
            Ok(None) => (),
            Err(error) => self.log.sent(Err(error)),
        }
    }

    fn forget_scene(&mut self) {
        self.tracker = Tracker::new(self.config.persistence.clone());
        (self.motion, self.newest) = (Motion::default(), None);
    }

    /// What is due by the clock and not by input.
    pub fn look_after(&mut self) {
        let now = Instant::now();
        if !self.diagnostics.is_due(now) {
            return;
        }
        let mut findings = Findings::default();
        let dropped = self.dropped.since(&self.before.1);
        let (received, used) = self.scans.since(self.before.0);
        if received > 0 && used == 0 {
            findings.error(format!("none of {received} scans could be used: {}", listed(&dropped)));
        } else if !dropped.is_empty() {
            findings.warn(format!("dropped: {}", listed(&dropped)));
        }
        findings.silence("scan", self.last_scan.map(|at| now.saturating_duration_since(at)));
        let mut values = Values::default();
        values.received("scan", self.scans);
        values.received("odom", self.odometry);
        values.say("landmarks", self.landmarks);
        for rejection in Rejection::ALL {
            values.say(&format!("rejected.{}", rejection.word()), self.detector.rejected().get(*rejection));
        }
        values.percentiles("step_us", Percentiles::of(&mut self.step_us));
        values.dropped(&self.dropped);
        let landmarks = self.landmarks;
        let verdict = findings.verdict(|| format!("running, {landmarks} landmarks seen"));
        let status = values.status(format!("{}: detector", self.diagnostics.node()), verdict);
        self.before = (self.scans, self.dropped.clone());
        self.step_us.clear();
        let published = self.diagnostics.publish(&self.clock, vec![self.lifecycle.with_state(status)]);
        self.log.sent(published);
    }
}

impl Managed for Worker {
    fn lifecycle(&mut self) -> &mut Lifecycle {
        &mut self.lifecycle
    }

    fn carry_out(&mut self, action: Action) -> Result<(), String> {
        // What was followed before is of a time that is over; what was learned of the scanner is forgotten at a
        // cleanup.
        match action {
            Action::Activate => self.forget_scene(),
            Action::Cleanup => {
                self.forget_scene();
                self.detector = Detector::new(self.config.clone()).map_err(|error| error.to_string())?;
            }
            Action::Configure | Action::Deactivate | Action::Shutdown(_) => (),
        }
        self.log.info(action.done());
        Ok(())
    }

    fn now(&self) -> Stamp {
        self.clock.now()
    }
}

/// Whether a robot can move like this; what it cannot would never leave the pose that twists add up to.
fn is_plausible(odometry: &Odometry) -> bool {
    odometry.velocity.iter().chain([&odometry.yaw_rate]).all(|x| x.abs() <= 100.0)
}

fn scan_of(message: &LaserScan, twist: Vector3<f64>) -> Scan<'_> {
    Scan {
        angle_min_rad: f64::from(message.angle_min),
        angle_increment_rad: f64::from(message.angle_increment),
        time_increment_s: f64::from(message.time_increment),
        range_min_m: f64::from(message.range_min),
        range_max_m: f64::from(message.range_max),
        ranges: &message.ranges,
        intensities: &message.intensities,
        twist,
    }
}

fn cloud_of(message: &LaserScan, standing: &[Detection]) -> PointCloud2 {
    let measurement = |found: &Detection| Measurement {
        covariance: Some(found.covariance.into()),
        label: Label { class: found.class as u32, diameter_m: found.diameter_m, diameter_std_m: found.diameter_std_m },
        ..Measurement::new(None, [found.position.x, found.position.y])
    };
    let measurements: Vec<Measurement> = standing.iter().map(measurement).collect();
    let stamp = Stamp::from_parts(message.header.stamp.sec, message.header.stamp.nanosec);
    tf::cloud(
        tf::header(stamp, &message.header.frame_id),
        encode_features(MeasurementKind::RelativePosition, &measurements),
    )
}
