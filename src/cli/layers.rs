//! The settings a filter runs with, laid over each other: defaults, what the source says, a file, single settings.

use super::failure::{Failure, warn};
use lienav_eval::study::Study;
use lienav_io::bag::params::{NODE, frames_from_yaml};
use lienav_io::convert::{Frames, check_frame_name};
use lienav_io::files::read_text;
use lienav_io::settings_file::{overlay, sections_of_others, with};
use lienav_slam::Config;
use std::path::{Path, PathBuf};

/// Where settings come from besides the source.
#[derive(clap::Args)]
pub(super) struct Layers {
    /// Settings from a YAML file or a ROS parameter file, over those of the source
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, over those of the file; `lienav parameters` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
}

impl Layers {
    /// Whether any setting is given.
    pub(super) fn is_asked_for(&self) -> bool {
        self.config.is_some() || !self.settings.is_empty()
    }

    /// The frames that the file states, which messages of a bag have to be in.
    ///
    /// # Errors
    /// The file cannot be read, or is not YAML.
    pub(super) fn frames(&self) -> Result<Frames, Failure> {
        self.config.as_deref().map_or_else(|| Ok(Frames::default()), |path| frames_in(path, NODE))
    }

    /// What the source says of its sensors, or the defaults; over it the file, over it the single settings.
    ///
    /// # Errors
    /// The file cannot be read, or it or a single setting names what there is not or is out of range.
    pub(super) fn over(&self, source: Option<&Config>) -> Result<Study, Failure> {
        let mut study = Study::from(source.cloned().unwrap_or_default());
        if let Some(path) = &self.config {
            let named = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
            let text = read_text(path).map_err(|e| named(&e))?;
            study = overlay(&study, &text, NODE).map_err(|e| named(&e))?;
            warn_of_others(path, &text);
            study.config().validate().map_err(|e| named(&e))?;
        }
        for (name, value) in &self.settings {
            study = with(&study, name, value).map_err(|e| Failure::WrongCall(format!("--set: {e}")))?;
        }
        study.config().validate().map_err(|e| Failure::WrongCall(e.to_string()))?;
        Ok(study)
    }
}

/// Names what a parameter file has for nodes that are none of ours: it has no effect, and may be meant to have one.
pub(super) fn warn_of_others(path: &Path, text: &str) {
    let others = sections_of_others(text);
    if !others.is_empty() {
        warn(&format!("{}: ignored sections, which name no node of lienav: {}", path.display(), others.join(", ")));
    }
}

/// The frames that a parameter file states for `node`.
///
/// # Errors
/// The file cannot be read, or is not YAML.
pub(super) fn frames_in(path: &Path, node: &str) -> Result<Frames, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
    let text = read_text(path).map_err(|e| named(&e))?;
    let frames = frames_from_yaml(&text, node).map_err(|e| named(&e))?;
    let Frames { odom_frame, base_frame, sensor_frame, imu_frame } = &frames;
    let stated = [
        ("odom_frame", odom_frame),
        ("base_frame", base_frame),
        ("sensor_frame", sensor_frame),
        ("imu_frame", imu_frame),
    ];
    for (parameter, name) in stated.into_iter().filter_map(|(parameter, name)| Some((parameter, name.as_deref()?))) {
        check_frame_name(name).map_err(|why| named(&format!("{parameter} is '{name}', which {why}")))?;
    }
    Ok(frames)
}

/// NAME=VALUE, taken apart.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("give NAME=VALUE, as in gate.probability=0.99".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn single_settings_lie_over_the_file_and_the_file_over_the_source() {
        let mut source = Config::default();
        source.motion.velocity_x_std = 0.5;
        source.motion.yaw_rate_std = 0.5;
        source.sensor.x_m = 0.5;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "motion: {{velocity_x_std: 0.6, yaw_rate_std: 0.6}}").unwrap();
        let settings = vec![assignment("motion.yaw_rate_std=0.7").unwrap()];
        let layers = Layers { config: Some(file.path().to_owned()), settings };
        let config = layers.over(Some(&source)).unwrap();
        let found = (config.sensor.x_m, config.motion.velocity_x_std, config.motion.yaw_rate_std);
        assert_eq!(found, (0.5, 0.6, 0.7));
    }

    #[test]
    fn what_is_wrong_in_a_file_has_failed_and_what_is_wrong_on_the_line_is_a_wrong_call() {
        let layers = |name: &str, value: &str| Layers { config: None, settings: vec![(name.into(), value.into())] };
        for (name, value) in [("gate.probability", "7"), ("gate.p", "1"), ("filter", "kalman")] {
            assert!(matches!(layers(name, value).over(None), Err(Failure::WrongCall(_))), "{name}");
        }
        let missing = Layers { config: Some("/nowhere/params.yaml".into()), settings: Vec::new() };
        let Err(Failure::Failed(text)) = missing.over(None) else { panic!("found a file that is not there") };
        assert!(text.starts_with("/nowhere/params.yaml: "), "{text}");
        assert!(assignment("gate.probability").is_err());
    }
}
