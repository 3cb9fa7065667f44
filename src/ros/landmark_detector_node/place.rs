//! Where the scanner sits on the robot: as parameters say, else as `/tf_static` does. `slam_node` places the landmarks
//! by the same rules.

use super::Settings;
use crate::ros::log::Log;
use lienav_io::convert::{Extrinsics, Frame, MAX_TILT_RAD, Origin, Refusal, check_frame};
use lienav_io::messages::TfMessage;
use lienav_io::transforms::StaticTransforms;
use lienav_lie::Se2;
use std::f64::consts::PI;
use std::time::{Duration, Instant};

/// A robot that has said nothing on `/tf_static` for so long has nothing to say, as for `slam_node`.
const SILENT: Duration = Duration::from_secs(1);

/// What is known of the place of the scanner.
pub struct Place {
    /// As the parameters say, if they do.
    stated: Option<Se2>,
    tree: StaticTransforms,
    since: Instant,
    /// The frame of the first scan; a topic has scans of one scanner.
    frame: Option<String>,
    logged: Option<Se2>,
}

impl Place {
    /// `stated` is what the parameters say, if the user has set any of them.
    pub fn new(stated: Option<Se2>) -> Self {
        Self { stated, tree: StaticTransforms::default(), since: Instant::now(), frame: None, logged: None }
    }

    /// Takes static transforms. Gives what cannot be used of them.
    pub fn take(&mut self, message: &TfMessage) -> Vec<Refusal> {
        message.transforms.iter().filter_map(|transform| self.tree.insert(transform).err()).collect()
    }

    /// Checks the frame of a scan.
    ///
    /// # Errors
    /// It is not that of the parameter, or of the first scan.
    pub fn check(&mut self, frame: &str, settings: &Settings) -> Result<(), Refusal> {
        if !settings.sensor_frame.is_empty() {
            return check_frame("frame_id", frame, &settings.sensor());
        }
        if let Some(first) = &self.frame {
            return check_frame("frame_id", frame, &[Frame { name: first, origin: Origin::FirstMessage }]);
        }
        Ok(())
    }

    /// Where the scanner is in the base frame whose scans are in `frame`. A new place is logged.
    ///
    /// # Errors
    /// Nobody has said yet; or the scanner leans.
    pub fn of(&mut self, frame: &str, base: &str, log: &Log) -> Result<Se2, Refusal> {
        let (place, whence) = self.found(frame, base)?;
        self.frame.get_or_insert_with(|| frame.to_owned());
        if self.logged.replace(place) != Some(place) {
            let Se2 { p, theta } = place;
            let sentence = format!("the scanner sits at x {:.3} y {:.3} yaw {theta:.3}, {}", p.x, p.y, whence.words());
            if whence == Whence::Assumed { log.warn(&sentence) } else { log.info(&sentence) }
        }
        Ok(place)
    }

    fn found(&self, frame: &str, base: &str) -> Result<(Se2, Whence), Refusal> {
        if let Some(stated) = self.stated {
            return Ok((stated, Whence::Parameters));
        }
        if frame.trim_start_matches('/') == base.trim_start_matches('/') {
            return Ok((Se2::identity(), Whence::OwnFrame));
        }
        let Some(pose) = self.tree.between(base, frame) else {
            if self.tree.is_empty() && self.since.elapsed() > SILENT {
                return Ok((Se2::identity(), Whence::Assumed));
            }
            let (base, frame) = (base.to_owned(), frame.to_owned());
            return Err(Refusal::NoTransform { base, frame, otherwise: "set mount.x_m, mount.y_m and mount.yaw_rad" });
        };
        let tilt = (pose.rotation * nalgebra::Vector3::z()).z.clamp(-1.0, 1.0).acos();
        if tilt > MAX_TILT_RAD {
            let what = "scans are taken in the plane";
            return Err(Refusal::TiltedSensor { tilt_deg: 180.0 / PI * tilt, what });
        }
        Ok((Extrinsics::of(&pose).mount, Whence::Transforms))
    }
}

/// Who says where the scanner sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whence {
    Parameters,
    OwnFrame,
    Transforms,
    Assumed,
}

impl Whence {
    fn words(self) -> &'static str {
        match self {
            Self::Parameters => "as mount.x_m … say",
            Self::OwnFrame => "since its scans are in base_frame",
            Self::Transforms => "as /tf_static says",
            Self::Assumed => {
                "since nothing comes on /tf_static: say where it is there, or by mount.x_m, mount.y_m, mount.yaw_rad"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::messages::TransformStamped;

    fn transform(child: &str, x: f64, quaternion: [f64; 2]) -> TfMessage {
        let mut transform = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
        transform.header.frame_id = "base_link".into();
        transform.transform.translation.x = x;
        (transform.transform.rotation.x, transform.transform.rotation.w) = (quaternion[0], quaternion[1]);
        TfMessage { transforms: vec![transform] }
    }

    #[test]
    fn the_place_is_that_of_the_frame_of_the_scans() {
        let mut place = Place::new(None);
        assert_eq!(place.found("laser", "base_link").unwrap_err().word(), "no_transform");
        assert_eq!(place.found("base_link", "base_link"), Ok((Se2::identity(), Whence::OwnFrame)));
        assert!(place.take(&transform("laser", 0.3, [0.0, 1.0])).is_empty());
        assert_eq!(place.found("laser", "base_link"), Ok((Se2::new(0.3, 0.0, 0.0), Whence::Transforms)));
        assert_eq!(place.found("other", "base_link").unwrap_err().word(), "no_transform");
        place.take(&transform("ceiling", 0.3, [1.0, 0.0]));
        assert_eq!(place.found("ceiling", "base_link").unwrap_err().word(), "tilted_sensor");
        let stated = Place::new(Some(Se2::new(0.1, 0.2, 0.3)));
        assert_eq!(stated.found("laser", "base_link"), Ok((Se2::new(0.1, 0.2, 0.3), Whence::Parameters)));
    }

    #[test]
    fn a_robot_without_transforms_has_its_scanner_at_the_base_after_a_while() {
        let mut place = Place::new(None);
        place.since = Instant::now().checked_sub(2 * SILENT).unwrap();
        assert_eq!(place.found("laser", "base_link"), Ok((Se2::identity(), Whence::Assumed)));
    }
}
