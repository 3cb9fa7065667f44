//! The settings a filter runs with, laid over each other: defaults, what the source says, a file, single settings.

use super::failure::{Failure, warn};
use lienav_eval::space::robot::Parameters;
use lienav_eval::study::Study;
use lienav_io::bag::params::{NODE, frames_from_yaml};
use lienav_io::convert::{Frames, check_frame_name};
use lienav_io::files::read_text;
use lienav_io::intake::stated_inputs;
use lienav_io::settings_file::{overlay, sections_of_others, with};
use lienav_slam::Config;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// Where settings come from besides the source.
#[derive(Default, clap::Args)]
pub(super) struct Layers {
    /// Settings from a YAML file or a ROS parameter file, over those of the source
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, over those of the file; `lienav parameters` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    settings: Vec<(String, String)>,
    /// The text of the file, which may be a pipe that can be read once.
    #[arg(skip)]
    text: OnceCell<String>,
}

impl Layers {
    /// A file alone.
    pub(super) fn of_file(config: Option<PathBuf>) -> Self {
        Self { config, ..Self::default() }
    }

    /// Whether any setting is given.
    pub(super) fn is_asked_for(&self) -> bool {
        self.config.is_some() || !self.settings.is_empty()
    }

    /// The file and its text, if one is given.
    ///
    /// # Errors
    /// The file cannot be read.
    fn file(&self) -> Result<Option<(&Path, &str)>, Failure> {
        let Some(path) = self.config.as_deref() else { return Ok(None) };
        if self.text.get().is_none() {
            let text = read_text(path).map_err(|error| in_file(path, &error))?;
            // It was empty.
            let _ = self.text.set(text);
        }
        Ok(self.text.get().map(|text| (path, text.as_str())))
    }

    /// The frames that the file states, which messages of a bag have to be in.
    ///
    /// # Errors
    /// The file cannot be read, or is not YAML.
    pub(super) fn frames(&self) -> Result<Frames, Failure> {
        self.file()?.map_or_else(|| Ok(Frames::default()), |(path, text)| frames_of(path, text, NODE))
    }

    /// The text of the file, which states which inputs a bag has.
    ///
    /// # Errors
    /// The file cannot be read, or states inputs that cannot be used.
    pub(super) fn inputs(&self) -> Result<Option<String>, Failure> {
        let Some((path, text)) = self.file()? else { return Ok(None) };
        stated_inputs(&[text], NODE).map_err(|error| in_file(path, &error))?;
        Ok(Some(text.to_owned()))
    }

    /// The parameters of a robot in space, of whose messages this is a bag.
    ///
    /// # Errors
    /// As [`over`](Self::over).
    pub(super) fn of_robot(&self, bag: &Path) -> Result<Parameters, Failure> {
        let file = self.file()?;
        let all = Parameters::of(bag, file.map(|(_, text)| text));
        let all =
            all.map_err(|error| file.map_or(Failure::Failed(error.clone()), |(path, _)| in_file(path, &error)))?;
        let set = |all: Parameters, (name, value): &(String, String)| all.with(name, value);
        self.settings.iter().try_fold(all, set).map_err(|error| Failure::WrongCall(format!("--set: {error}")))
    }

    /// What the source says of its sensors, or the defaults; over it the file, over it the single settings.
    ///
    /// # Errors
    /// The file cannot be read, or it or a single setting names what there is not or is out of range.
    pub(super) fn over(&self, source: Option<&Config>) -> Result<Study, Failure> {
        let mut study = Study::from(source.cloned().unwrap_or_default());
        if let Some((path, text)) = self.file()? {
            study = overlay(&study, text, NODE).map_err(|error| in_file(path, &error))?;
            warn_of_others(path, text);
            study.config().validate().map_err(|error| in_file(path, &error))?;
        }
        for (name, value) in &self.settings {
            study = with(&study, name, value).map_err(|e| Failure::WrongCall(format!("--set: {e}")))?;
        }
        study.config().validate().map_err(|e| Failure::WrongCall(e.to_string()))?;
        Ok(study)
    }
}

/// Something is wrong with a file.
fn in_file(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
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
    frames_of(path, &read_text(path).map_err(|error| in_file(path, &error))?, node)
}

/// The same of its text.
fn frames_of(path: &Path, text: &str, node: &str) -> Result<Frames, Failure> {
    let frames = frames_from_yaml(text, node).map_err(|error| in_file(path, &error))?;
    let Frames { odom_frame, base_frame, sensor_frame, imu_frame } = &frames;
    let stated = [
        ("odom_frame", odom_frame),
        ("base_frame", base_frame),
        ("sensor_frame", sensor_frame),
        ("imu_frame", imu_frame),
    ];
    for (parameter, name) in stated.into_iter().filter_map(|(parameter, name)| Some((parameter, name.as_deref()?))) {
        check_frame_name(name).map_err(|why| in_file(path, &format!("{parameter} is '{name}', which {why}")))?;
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
        let layers = Layers { config: Some(file.path().to_owned()), settings, ..Layers::default() };
        let config = layers.over(Some(&source)).unwrap();
        let found = (config.sensor.x_m, config.motion.velocity_x_std, config.motion.yaw_rate_std);
        assert_eq!(found, (0.5, 0.6, 0.7));
    }

    #[test]
    fn what_is_wrong_in_a_file_has_failed_and_what_is_wrong_on_the_line_is_a_wrong_call() {
        let layers =
            |name: &str, value: &str| Layers { settings: vec![(name.into(), value.into())], ..Layers::default() };
        for (name, value) in [("gate.probability", "7"), ("gate.p", "1"), ("filter", "kalman")] {
            assert!(matches!(layers(name, value).over(None), Err(Failure::WrongCall(_))), "{name}");
        }
        let missing = Layers { config: Some("/nowhere/params.yaml".into()), ..Layers::default() };
        let Err(Failure::Failed(text)) = missing.over(None) else { panic!("found a file that is not there") };
        assert!(text.starts_with("/nowhere/params.yaml: "), "{text}");
        assert!(assignment("gate.probability").is_err());
    }
}
