//! The parameters of `slam_node` beside those of the filter ([`lienav_slam::SPECS`]).

use super::quality::QualitySettings;
use lienav_base::settings::{Described, Spec};
use lienav_base::{settings, words};
use lienav_io::convert::Frame;
use lienav_io::geodesy::Datum;
use lienav_io::intake::{DetectionSettings, FeaturesMessage, OdometrySettings, TagSettings};

/// Every setting of [`Settings`], in the order of its fields.
pub const SPECS: &[Spec] = Settings::SPECS;

settings! {
    /// What can be set about the node itself.
    pub struct Settings {
        /// Frame of the map: that of the estimates.
        map_frame: String = "map".into();
        /// Frame of the odometry (REP 105); frame_id of odom has to be this.
        odom_frame: String = "odom".into();
        /// Frame of the robot; child_frame_id of odom is this, or a frame with a static transform to it.
        base_frame: String = "base_link".into();
        /// Frame of the feature sensor where sensor.x_m and so on are given: frame_id of features is this or
        /// base_frame.
        ///
        /// Where they are not given, any frame with a static transform to base_frame will do.
        sensor_frame: String = "feature_sensor".into();
        /// Frame of the gyroscope; frame_id of imu is this or base_frame.
        imu_frame: String = "imu_link".into();
        /// Publish the transform from map_frame to odom_frame.
        publish_tf: bool = true;
        /// The transform from map_frame to odom_frame is stamped ahead of the odometry by this, as AMCL does, s.
        transform_tolerance_s: f64 = 0.0, within 0.0..=10.0, unit "s", runtime;
        /// Transforms from map_frame to odom_frame a second, at most, Hz; 0 for one with each odometry message.
        tf_rate_hz: f64 = 0.0, within 0.0..=2000.0, unit "Hz", runtime;
        /// Odometry without corrections: none, on odometry/local, or there and as transform odom_frame to base_frame.
        local_odometry: LocalOdometry = LocalOdometry::Nothing, one_of LocalOdometry::WORDS;
        /// Use the yaw rate of imu instead of that of odom.
        use_imu: bool = false;
        /// The most messages that wait for the filter; beyond it, the oldest are dropped.
        queue_size: usize = 2000, within 10.0..=100_000.0;
        /// A cloud whose pose would be later than this after its arrival is skipped if a newer cloud waits, s.
        max_latency_s: f64 = 0.5, within 0.02..=60.0, unit "s", runtime;
        /// The most poses in path; beyond it, the oldest are removed. 0 for no path.
        path_length: usize = 5000, within 0.0..=100_000.0, runtime;
        /// Distance from one pose of path to the next, m.
        path_spacing_m: f64 = 0.05, within 0.0..=1000.0, unit "m", runtime;
        /// The highest rate of path, landmarks and markers, Hz.
        display_rate_hz: f64 = 5.0, within 0.1..=50.0, unit "Hz", runtime;
        /// Probability that a feature lies in its ellipse.
        marker_probability: f64 = 0.95, within 0.01..=0.9999, runtime;
        /// Type on features: PointCloud2 (cloud), PoseArray (pose_array); where built in, detections or apriltags.
        ///
        /// These are vision_msgs/Detection3DArray and apriltag_msgs/AprilTagDetectionArray, of the features with the
        /// names of these packages.
        features_message: FeaturesMessage = FeaturesMessage::PointCloud, one_of FeaturesMessage::WORDS;
        /// Names of further sensors.
        ///
        /// Each has parameters of its own, such as `<name>.topic` ([`SensorSettings`](lienav_io::intake::SensorSettings)).
        sensors: Vec<String> = Vec::new(), names;
        /// Where odometry comes from.
        odometry: OdometrySettings;
        /// Tags on /tf, and in images.
        tags: TagSettings;
        /// What detectors call things.
        detections: DetectionSettings;
        /// What measures the pose from outside.
        gnss: GnssSettings;
        /// Where the map is kept.
        map: MapSettings;
        /// What the user asks of the pose.
        quality: QualitySettings;
    }
}

settings! {
    /// What measures the pose from outside.
    pub struct GnssSettings {
        /// Use absolute_pose; the position alone where the variance of its heading is 0 or beyond 1 rad^2.
        use_absolute_pose: bool = false;
        /// Use fix, of a satellite receiver: east and north of a datum.
        use_fix: bool = false;
        /// The datum: the first fix, or the place given here.
        datum: DatumFrom = DatumFrom::FirstFix, one_of DatumFrom::WORDS;
        /// Latitude of the datum, degrees.
        latitude_deg: f64 = 0.0, within -89.9..=89.9, unit "degree";
        /// Longitude of the datum, degrees.
        longitude_deg: f64 = 0.0, within -360.0..=360.0, unit "degree";
        /// Height of the datum above the ellipsoid, m.
        altitude_m: f64 = 0.0, within -1000.0..=10_000.0, unit "m";
    }
}

words! {
    /// Where the world's frame has its origin, x east and y north.
    pub enum DatumFrom {
        /// At the first fix.
        FirstFix = "first_fix",
        /// At `gnss.latitude_deg`, `gnss.longitude_deg`, `gnss.altitude_m`.
        Given = "given",
    }
}

impl GnssSettings {
    /// The datum, where it is given.
    pub fn given(&self) -> Option<Datum> {
        match self.datum {
            DatumFrom::FirstFix => None,
            DatumFrom::Given => Datum::new(self.latitude_deg, self.longitude_deg, self.altitude_m),
        }
    }
}

settings! {
    /// Where the map is kept.
    pub struct MapSettings {
        /// File of the map: read at the start if it exists, and by ~/load_map, written by ~/save_map; empty for none.
        file: String = String::new(), runtime;
        /// While the map changes, it is saved so often, and at the end, s; 0 for never.
        autosave_s: f64 = 0.0, within 0.0..=86_400.0, unit "s", runtime;
    }
}

words! {
    /// What is published of odometry without corrections.
    pub enum LocalOdometry {
        /// Nothing.
        Nothing = "none",
        /// `odometry/local`.
        Topic = "topic",
        /// `odometry/local`, and the transform from odometry to robot, which nobody else may publish then.
        Tf = "tf",
    }
}

impl Settings {
    /// Frame of the map, as a message has to name it.
    pub fn map(&self) -> Frame<'_> {
        Frame::parameter("map_frame", &self.map_frame)
    }

    /// Frame of the odometry, as a message has to name it.
    pub fn odom(&self) -> Frame<'_> {
        Frame::parameter("odom_frame", &self.odom_frame)
    }

    /// Frame of the robot, as a message has to name it.
    pub fn base(&self) -> Frame<'_> {
        Frame::parameter("base_frame", &self.base_frame)
    }

    /// Frames a cloud of features may be in. The lever arm is what `sensor.x_m` and so on say in either.
    pub fn sensor(&self) -> [Frame<'_>; 2] {
        [Frame::parameter("sensor_frame", &self.sensor_frame), self.base()]
    }

    /// Frames a gyroscope may be in: all stand upright where the message has no orientation.
    pub fn imu(&self) -> [Frame<'_>; 2] {
        [Frame::parameter("imu_frame", &self.imu_frame), self.base()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::settings::check;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(check(&Settings::default(), SPECS), Ok(()));
    }
}
