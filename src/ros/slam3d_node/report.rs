//! What `slam3d_node` says about itself on `/diagnostics`, once a second: a pure function of two reports.
//!
//! | level | when, since the last report |
//! |---|---|
//! | ERROR | samples of imu, features or detections came and none of them could be used |
//! | ERROR | the pose is lost |
//! | WARN | the filter is switched off |
//! | WARN | no imu, features or detections yet, or none for more than a second |
//! | WARN | the filter waits for its start |
//! | WARN | input was dropped, but for measurements beyond the gate |
//! | WARN | time was set back |
//! | WARN | the map shows that tags are not as large as stated, or that their corners begin elsewhere |
//! | WARN | tags are on something that moves, and tags.moving does not have them |
//! | WARN | the covariance was widened, because most measurements were beyond the gate |
//! | OK | otherwise |
//!
//! A warning about what was dropped ends with the remedy for the reason that happened most ([`remedy`]).

use crate::ros::diagnostics::{Dropped, Findings, Level, Percentiles, Received, Values, listed};
use lienav_io::bag::UNREADABLE;
use lienav_io::convert::{Refusal, quaternion_of};
use lienav_io::intake::TAG_WORDS;
use lienav_io::space::robot::filter::Filter;
use lienav_lie::{LieGroup, Se3};
use lienav_space::{DropReason, PoseEstimate, Quality};
use nalgebra::{Matrix6, Vector3};
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use std::time::Duration;

/// A point of features without identity.
pub const NO_IDENTITY: &str = "no_identity";

/// The state of the node at one instant. Counts are since its start.
#[derive(Clone, Debug)]
pub struct Report {
    /// Whether it takes input.
    pub enabled: bool,
    /// Whether it takes tags.
    pub sees_tags: bool,
    /// Whether it takes an inertial sensor.
    pub uses_imu: bool,
    /// By which factor tags are larger than stated, where their map shows it.
    pub size_factor: Option<f64>,
    /// Which corner of tags comes first, where their map shows that it is not the one that is stated.
    pub first_corner: Option<usize>,
    /// Tags that were found to be on something that moves.
    pub found_moving: Vec<u64>,
    /// Cameras whose places are estimated: number, place on the body, that which is stated, covariance.
    pub mounts: Vec<(usize, Se3, Se3, Matrix6<f64>)>,
    /// Of `imu`.
    pub imu: Received,
    /// Of `features`, or of all topics of tags.
    pub features: Received,
    /// Of `odom`.
    pub odometry: Received,
    /// Time since the last message of `imu` and of `features`; `None` before the first.
    pub silence: [Option<Duration>; 2],
    /// What was left out, by reason.
    pub dropped: Dropped,
    /// How often time was set back.
    pub time_jumps: u64,
    /// How often the covariance was widened.
    pub widened: u64,
    /// How good the pose is.
    pub quality: Quality,
    /// A sentence about input that no start can be made of.
    pub start_problem: Option<String>,
    /// The newest estimate.
    pub estimate: Option<PoseEstimate>,
    /// Landmarks of the state.
    pub landmarks: usize,
    /// From the arrival of a frame to the end of its publication, µs, since the last report.
    pub step_us: Percentiles,
    /// From the arrival of a sample of imu to the end of its publication, µs, since the last report.
    pub sample_us: Percentiles,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            enabled: false,
            sees_tags: false,
            uses_imu: true,
            size_factor: None,
            first_corner: None,
            found_moving: Vec::new(),
            mounts: Vec::new(),
            imu: Received::default(),
            features: Received::default(),
            odometry: Received::default(),
            silence: [None; 2],
            dropped: Dropped::default(),
            time_jumps: 0,
            widened: 0,
            quality: Quality::Starting,
            start_problem: None,
            estimate: None,
            landmarks: 0,
            step_us: Percentiles::default(),
            sample_us: Percentiles::default(),
        }
    }
}

/// What can be done about a reason, in a few words; docs/slam3d.md has more.
pub fn remedy(word: &str) -> &'static str {
    match word {
        "not_finite" | "absurd" => "look at the driver: numbers are in rad/s, m/s², px and m, and finite",
        "bad_covariance" => "send a covariance that is positive definite",
        "duplicate_stamp" => "let each message have a stamp of its own, and one publisher each topic",
        "too_late" => "raise timing.reorder_window_s, or make the detector faster",
        "from_the_future" | "unconfirmed_jump" | "second_clock" => {
            "synchronize the clocks of the sensors, and set use_sim_time alike in all nodes"
        }
        "buffer_full" => "look whether imu has fallen silent",
        "not_started" => "none: frames from before the start are not used",
        "duplicate_feature" => "let the detector send each identity once",
        "too_many_points" => "send fewer than 80 landmarks a frame",
        "map_full" => "raise map.max_landmarks, or set map.tracks_end for tracks that do not come back",
        "singular" | "invalid_covariance" => "look at the noise parameters; the filter starts again",
        "disabled" => "switch it on with ~/set_enabled",
        "unknown_sensor" => "use at most 16 frames for features",
        "unknown_landmark" => "set map.mode to mapping to take in landmarks that the map does not have",
        "bad_layout" => "send x, y, z or u, v or u_left, v_left, u_right, v_right or range, and id",
        "no_identity" => "send an id of each point: landmarks in space are not associated without",
        "unknown_frame" => "let frame_id be that of the parameters, and of imu always the same",
        "no_transform" => "publish the frame on /tf_static, or set base_frame to the frame of imu",
        "bad_transform" | "bad_orientation" => "send quaternions of length 1 and finite translations",
        "no_camera_info" => "remap camera_info to the topic beside the detector's image",
        "bad_stamp" => "send less than 1000000000 nanoseconds",
        "no_angular_velocity" | "no_linear_acceleration" => "use a topic with rates and forces",
        "unreadable" => "look at the publisher: the bytes are no message of the topic's type",
        "bad_corners" => "look at the detector: corners are finite and follow one another around the tag",
        "repeated_tag" => "hang each tag once; two families with the same numbers need two nodes",
        "ambiguous_tag" => "none: a tag face on has two poses; move, hang tags aslant, or let two be in view",
        "unexplained_tag" => "check tags.size_m, tags.sizes and camera_info: no pose explains the corners",
        "hamming" => "none: such detections are often wrong; raise tags.max_hamming to use them",
        "mirrored_tag" => {
            "corners are listed clockwise in the image: set tags.clockwise, and tags.first_corner (OpenCV: left_upper)"
        }
        "camera_resolution" => {
            "let camera_info be that of the detector's image: a corner lies outside of its width and height"
        }
        "ignored_tag" => "none: the map ignores this tag",
        "unnumbered_tag" => "let the detector send identities from 0 on",
        _ => "see docs/slam3d.md",
    }
}

/// What the node has counted, with what the filter has: every reason there is, whether it happened or not.
fn all_dropped(node: &Dropped, slam: &Filter) -> Dropped {
    let of_filter = DropReason::ALL.iter().map(|&reason| (reason.word(), slam.counts().get(reason)));
    let own = [NO_IDENTITY, UNREADABLE].into_iter().chain(TAG_WORDS);
    let of_node = Refusal::WORDS.into_iter().chain(own).map(|word| (word, 0));
    node.with(of_filter.chain(of_node))
}

/// So many tags are named at most.
const MOST_NAMED: usize = 10;

/// Reasons that do not make a warning by themselves.
fn is_ordinary(word: &str) -> bool {
    [DropReason::Gated, DropReason::Disabled, DropReason::NotStarted, DropReason::AmbiguousTag]
        .iter()
        .any(|reason| reason.word() == word)
}

impl Report {
    fn what_is_seen(&self) -> &'static str {
        if self.sees_tags { "detections" } else { "features" }
    }

    /// What the filter knows, with what the node has counted.
    pub fn with_filter(self, slam: &Filter) -> Self {
        Self {
            enabled: slam.enabled(),
            dropped: all_dropped(&self.dropped, slam),
            time_jumps: slam.time_jumps(),
            widened: slam.widened(),
            quality: slam.quality(),
            start_problem: slam.start_problem(),
            estimate: slam.pose(),
            landmarks: slam.landmarks(),
            size_factor: slam.size_factor(),
            first_corner: slam.first_corner(),
            found_moving: slam.found_moving(),
            mounts: slam.mounts(),
            ..self
        }
    }
}

/// Level and sentence for the time between two reports, by the table of this module.
pub fn judge(before: &Report, now: &Report) -> (Level, String) {
    let mut findings = Findings::default();
    let mut dropped = now.dropped.since(&before.dropped);
    dropped.retain(|(word, _)| !is_ordinary(word));
    let worst = dropped.iter().max_by_key(|(_, count)| *count).map(|(word, _)| remedy(word));
    let sentence = || format!("{}: {}", listed(&dropped), worst.unwrap_or_default());
    let mut is_said = false;
    let seen = now.what_is_seen();
    for (topic, received) in [("imu", now.imu.since(before.imu)), (seen, now.features.since(before.features))] {
        if let (true, (came @ 1.., 0)) = (now.enabled, received) {
            findings.error(format!("none of {came} messages of {topic} could be used: {}", sentence()));
            is_said = true;
        }
    }
    if !dropped.is_empty() && !is_said {
        findings.warn(format!("dropped: {}", sentence()));
    }
    if !now.enabled {
        findings.warn("switched off");
    }
    if now.uses_imu {
        findings.silence("imu", now.silence[0]);
    }
    findings.silence(seen, now.silence[1]);
    match now.quality {
        Quality::Lost => findings.error("the pose is lost: its covariance is as wide as the place"),
        Quality::Starting if now.enabled => {
            let usual = if now.sees_tags {
                "the filter waits for its start: no tag, or no known tag, was seen; look at map.file, or send initialpose"
            } else {
                "the filter waits for its start: let the robot stand for a second, or send initialpose"
            };
            findings.warn(now.start_problem.clone().unwrap_or_else(|| usual.to_owned()));
        }
        _ => {}
    }
    if let Some(factor) = now.size_factor {
        findings.warn(format!(
            "tags are {factor:.3} times as large as tags.size_m, tags.sizes or the map state: so far apart are they there"
        ));
    }
    if let Some(corner) = now.first_corner {
        findings.warn(format!(
            "the map shows tags turned by {}°: their detector begins {corner} corners after the one that \
             tags.first_corner states",
            90 * corner
        ));
    }
    if !now.found_moving.is_empty() {
        let ids: Vec<String> = now.found_moving.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        findings.warn(format!("tags {} move, and are not used: list them in tags.moving", ids.join(", ")));
    }
    if now.time_jumps > before.time_jumps {
        findings.warn("time was set, or nothing came for more than 2 s: the filter started again");
    }
    if now.widened > before.widened {
        findings.warn("most measurements were beyond the gate, and the covariance was widened: check the noise");
    }
    findings.verdict(|| "running".to_owned())
}

/// Standard deviations of position, m, and of the rotation about the vertical and across it, rad.
pub fn deviations(estimate: &PoseEstimate) -> [f64; 3] {
    let variances = estimate.covariance.diagonal();
    let root = |x: f64| x.max(0.0).sqrt();
    let half = |first: usize| -> Vector3<f64> { variances.fixed_rows::<3>(first).into_owned() };
    let (position, turn) = (half(0), half(3));
    [root(position.sum()), root(turn.z), root(turn.x + turn.y)]
}

/// The message for the time between two reports. `name` is that of the node.
pub fn status(name: &str, before: &Report, now: &Report) -> DiagnosticStatus {
    let mut values = Values::default();
    values.say("enabled", now.enabled);
    values.say("quality", now.quality.word());
    if now.uses_imu {
        values.received("imu", now.imu);
    }
    values.received(now.what_is_seen(), now.features);
    values.received("odom", now.odometry);
    values.say("landmarks", now.landmarks);
    if let Some(estimate) = &now.estimate {
        say_deviations(&mut values, estimate);
    }
    if let Some(estimate) = now.estimate.as_ref().filter(|_| now.uses_imu) {
        let (gyro, force) = (&estimate.biases.gyro, &estimate.biases.accelerometer);
        values.say("gyro_bias_rad_s", format_args!("{:.5} {:.5} {:.5}", gyro.x, gyro.y, gyro.z));
        values.say("accelerometer_bias_m_s2", format_args!("{:.4} {:.4} {:.4}", force.x, force.y, force.z));
    }
    for (number, pose, stated, covariance) in &now.mounts {
        say_mount(&mut values, *number, pose, stated, covariance);
    }
    values.say("time_jumps", now.time_jumps);
    values.say("widened", now.widened);
    values.percentiles("step_us", now.step_us);
    values.percentiles("sample_us", now.sample_us);
    values.dropped(&now.dropped);
    values.status(format!("{name}: slam3d"), judge(before, now))
}

/// How well the pose is known.
pub fn say_deviations(values: &mut Values, estimate: &PoseEstimate) {
    let [position, yaw, tilt] = deviations(estimate);
    values.say("position_std_m", format_args!("{position:.4}"));
    values.say("yaw_std_rad", format_args!("{yaw:.5}"));
    values.say("tilt_std_rad", format_args!("{tilt:.5}"));
}

/// Where a camera is by the estimate, in the words of a static transform, and how far that is from what is stated, with
/// standard deviations.
fn say_mount(values: &mut Values, number: usize, pose: &Se3, stated: &Se3, covariance: &Matrix6<f64>) {
    let (p, q) = (&pose.translation, quaternion_of(&pose.rotation));
    let place = format_args!("{:.4} {:.4} {:.4} {:.5} {:.5} {:.5} {:.5}", p.x, p.y, p.z, q.i, q.j, q.k, q.w);
    values.say(&format!("camera_{number}"), place);
    let sigma = |first: usize| covariance.fixed_view::<3, 3>(first, first).trace().max(0.0).sqrt();
    let (shift, turn) = ((p - stated.translation).norm(), (pose.rotation * stated.rotation.inverse()).log().norm());
    let off = format_args!("{shift:.4} ± {:.4} m, {turn:.4} ± {:.4} rad", sigma(3), sigma(0));
    values.say(&format!("camera_{number}_off"), off);
}

/// `~/pose_quality`: the word, and the numbers behind it.
pub fn pose_quality(name: &str, quality: Quality, estimate: Option<&PoseEstimate>) -> DiagnosticStatus {
    let mut values = Values::default();
    if let Some(estimate) = estimate {
        say_deviations(&mut values, estimate);
    }
    let level = match quality {
        Quality::Ok => Level::Ok,
        Quality::Wide => Level::Warn,
        Quality::Lost | Quality::Starting => Level::Error,
    };
    values.status(format!("{name}: pose quality"), (level, quality.word().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Report {
        let recent = Some(Duration::ZERO);
        Report { enabled: true, silence: [recent; 2], quality: Quality::Ok, ..Report::default() }
    }

    #[test]
    fn each_line_of_the_table_makes_its_level() {
        let level = |change: &dyn Fn(&mut Report)| {
            let mut now = running();
            now.imu = Received { received: 200, used: 200 };
            now.features = Received { received: 20, used: 20 };
            change(&mut now);
            judge(&running(), &now)
        };
        assert_eq!(level(&|_| ()), (Level::Ok, "running".to_owned()));
        assert_eq!(level(&|r| r.imu.used = 0).0, Level::Error);
        assert_eq!(level(&|r| r.features.used = 0).0, Level::Error);
        assert_eq!(level(&|r| r.quality = Quality::Lost).0, Level::Error);
        assert_eq!(level(&|r| r.quality = Quality::Starting).0, Level::Warn);
        assert_eq!(level(&|r| r.quality = Quality::Wide).0, Level::Ok);
        assert_eq!(level(&|r| r.enabled = false).0, Level::Warn);
        assert_eq!(level(&|r| r.silence[0] = None).0, Level::Warn);
        assert_eq!(level(&|r| r.silence[1] = Some(Duration::from_secs(2))).0, Level::Warn);
        assert_eq!(level(&|r| r.time_jumps = 1).0, Level::Warn);
        assert_eq!(level(&|r| r.widened = 1).0, Level::Warn);
        let (at, said) = level(&|r| r.size_factor = Some(1.25));
        assert!(at == Level::Warn && said.contains("1.250 times as large as tags.size_m"), "{said}");
        let (at, said) = level(&|r| r.first_corner = Some(2));
        assert!(at == Level::Warn && said.contains("180°") && said.contains("tags.first_corner"), "{said}");
        let (at, said) = level(&|r| r.found_moving = vec![7, 9]);
        assert!(at == Level::Warn && said.contains("tags 7, 9 move"), "{said}");
        assert_eq!(level(&|r| r.dropped.add("gated")).0, Level::Ok);
        let late = "dropped: too_late 1: raise timing.reorder_window_s, or make the detector faster".to_owned();
        assert_eq!(level(&|r| r.dropped.add("too_late")), (Level::Warn, late));
    }

    #[test]
    fn every_reason_of_the_filter_has_a_remedy() {
        let general = remedy("nothing like it");
        let words = DropReason::ALL.iter().map(|reason| reason.word()).filter(|word| *word != "gated");
        for word in words.chain([NO_IDENTITY, UNREADABLE]).chain(TAG_WORDS) {
            assert_ne!(remedy(word), general, "{word}");
        }
    }
}
