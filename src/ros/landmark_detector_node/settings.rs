//! The parameters of `landmark_detector_node` beside those of the detector ([`lienav_detect::SPECS`]).

use lienav_base::settings;
use lienav_base::settings::{Described, Spec};
use lienav_io::convert::Frame;
use lienav_lie::Se2;
use std::f64::consts::TAU;

/// Every setting of [`Settings`], in the order of its fields.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Frame that frame_id of scan has to be; empty: that of the first scan. features has the frame of the scan.
        sensor_frame: String = String::new();
        /// Frame the odometry drifts in; frame_id of odom has to be this.
        odom_frame: String = "odom".into();
        /// Frame of the robot; child_frame_id of odom has to be this.
        base_frame: String = "base_link".into();
        /// Take the motion of the scanner out of its scans, and believe only what stands still for a while.
        ///
        /// Without it, the scanner has to stand still, and legs are taken for poles.
        use_odom: bool = true;
        /// Where the scanner sits on the robot.
        mount: MountConfig;
    }
}

settings! {
    /// Where the scanner sits on the robot; /tf_static says it where no part of it is given.
    pub struct MountConfig {
        /// Position of the scanner in the base frame, forward, m.
        x_m: f64 = 0.0, within -100.0..=100.0, unit "m";
        /// Position of the scanner in the base frame, left, m.
        y_m: f64 = 0.0, within -100.0..=100.0, unit "m";
        /// Heading of the scanner in the base frame, rad.
        yaw_rad: f64 = 0.0, within -TAU..=TAU, unit "rad";
    }
}

impl MountConfig {
    /// As a pose in the base frame.
    pub fn pose(&self) -> Se2 {
        Se2::new(self.x_m, self.y_m, self.yaw_rad)
    }
}

impl Settings {
    /// Frame of the scanner, as a message has to name it.
    pub fn sensor(&self) -> [Frame<'_>; 1] {
        [Frame::parameter("sensor_frame", &self.sensor_frame)]
    }

    /// Frame of the odometry, likewise.
    pub fn odom(&self) -> [Frame<'_>; 1] {
        [Frame::parameter("odom_frame", &self.odom_frame)]
    }

    /// Frame of the robot, likewise.
    pub fn base(&self) -> [Frame<'_>; 1] {
        [Frame::parameter("base_frame", &self.base_frame)]
    }
}
