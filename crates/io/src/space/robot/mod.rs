//! A robot in space, for a node and for bags alike: its settings, and the pipeline that its messages go into.
//!
//! [`settings`] are those of `slam3d_node` beside the filter's, [`filter`] the two pipelines behind one face, and [`map`]
//! their maps as files.

pub mod filter;
pub mod map;
pub mod settings;

use crate::convert::check_frame_name;
use crate::intake::{SpaceIntake, TagIntake};
use filter::Filter;
use lienav_space::tags::{TagConfig, TagSlam3d};
use lienav_space::{Config, Slam3d};
use settings::Settings;

/// The pipeline of tags where topics of these are given, else that of landmarks.
///
/// # Errors
/// A sentence about the first setting that is wrong, or does not fit another one.
pub fn filter_of(settings: &Settings, config: Config, own: TagConfig) -> Result<Filter, String> {
    check_frames(settings)?;
    check_imu(&own)?;
    let robot = settings.tags(own.tags.use_imu)?;
    if settings.tags.is_used() {
        let mut slam = TagSlam3d::new(config, own).map_err(|error| error.to_string())?;
        slam.expect(settings.tags.topics().len(), settings.uses_odometry());
        slam.set_moving(settings.tags.moving()?);
        return Ok(Filter::Tags { slam, intake: TagIntake::new(robot), early: None });
    }
    let intake = SpaceIntake::new(settings.frames(&config));
    Ok(Filter::Landmarks { slam: Slam3d::new(config).map_err(|error| error.to_string())?, intake, early: None })
}

/// The body is then the frame of the inertial sensor, which has its own height and inclination.
fn check_imu(own: &TagConfig) -> Result<(), String> {
    match own.tags.use_imu && own.tags.level_floor {
        true => Err("parameters 'tags.use_imu' and 'tags.level_floor' exclude each other: gravity shows what is level"
            .to_owned()),
        false => Ok(()),
    }
}

/// Frames that are empty, or one where there have to be two, make a tree of transforms that is of no use.
fn check_frames(settings: &Settings) -> Result<(), String> {
    let Settings { map_frame, odom_frame, base_frame, .. } = settings;
    for (parameter, name) in [("map_frame", map_frame), ("odom_frame", odom_frame), ("base_frame", base_frame)] {
        if name.is_empty() && parameter != "odom_frame" {
            return Err(format!("parameter '{parameter}' is empty: name the frame"));
        }
        check_frame_name(name).map_err(|why| format!("parameter '{parameter}' is '{name}', which {why}"))?;
    }
    if map_frame == base_frame || map_frame == odom_frame || base_frame == odom_frame {
        return Err("parameters 'map_frame', 'odom_frame' and 'base_frame' have to differ".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_empty_or_the_same_are_refused() {
        assert_eq!(check_frames(&Settings::default()), Ok(()));
        let same = Settings { odom_frame: "map".into(), ..Settings::default() };
        assert!(check_frames(&same).unwrap_err().contains("have to differ"));
        let empty = Settings { base_frame: String::new(), ..Settings::default() };
        assert!(check_frames(&empty).unwrap_err().contains("'base_frame' is empty"));
    }
}
