//! The parameters of the inputs as a parameter file states them, for a bag beside which it stands.

use super::settings::{
    DetectionSettings, FallbackSettings, FeaturesMessage, InputSettings, MOST_FALLBACKS, MOST_SENSORS, Named,
    OdometrySettings, SensorSettings, TagSettings, checked_names,
};
use crate::geodesy::Datum;
use crate::settings_file::{SettingsError, overlay_group, overlay_known, stated_names};
use lienav_base::settings;
use lienav_base::settings::{Described, OutOfRange, Spec, check, lookup};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a parameter file states about the inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedInputs {
    /// The parameters of odometry and landmarks.
    pub settings: InputSettings,
    /// Which other inputs are used.
    pub uses: Uses,
    /// Whether a part of the mount of the sensor without a name is stated.
    pub is_placed: bool,
    /// Names in groups of the inputs that no parameter has, one sentence each.
    pub warnings: Vec<String>,
}

/// Which inputs are used beside odometry and landmarks; `None` where nothing is stated, and the input is used if it is
/// there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uses {
    /// The yaw rate of `imu`.
    pub use_imu: Option<bool>,
    /// Positions and poses from outside.
    pub gnss: Outside,
}

/// Which inputs from outside are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outside {
    /// `absolute_pose`.
    pub use_absolute_pose: Option<bool>,
    /// `fix`.
    pub use_fix: Option<bool>,
    /// `given` for the datum below; else that of the first fix.
    pub datum: Option<String>,
    /// Latitude of the datum, degrees.
    pub latitude_deg: f64,
    /// Longitude of the datum, degrees.
    pub longitude_deg: f64,
    /// Height of the datum, m.
    pub altitude_m: f64,
}

impl Outside {
    /// The datum, if it is given.
    pub fn given(&self) -> Option<Datum> {
        let is_given = self.datum.as_deref() == Some("given");
        is_given.then(|| Datum::new(self.latitude_deg, self.longitude_deg, self.altitude_m)).flatten()
    }
}

/// These have no description of their own here: slam_node's parameters have.
impl Described for Uses {
    const SPECS: &'static [Spec] = &[];
}

settings! {
    /// The parameters of the inputs that have names of their own.
    pub struct FileSettings {
        /// Type of the messages on features.
        features_message: FeaturesMessage = FeaturesMessage::PointCloud, one_of FeaturesMessage::WORDS;
        /// Names of further sensors.
        sensors: Vec<String> = Vec::new(), names;
        /// Where odometry comes from.
        odometry: OdometrySettings;
        /// Tags on /tf, and in images.
        tags: TagSettings;
        /// What detectors call things.
        detections: DetectionSettings;
    }
}

/// The groups of [`FileSettings`], in which an unknown name is a slip of the pen.
const GROUPS: [&str; 3] = ["odometry.", "tags.", "detections."];

/// Names that `slam_node` has beside those of the filter and of the inputs.
const OTHERS: [&str; 4] = ["gnss", "quality", "use_imu", "use_sim_time"];

/// Reads what parameter files state for `node`, each over those before it.
///
/// # Errors
/// The sentence to show: not YAML, or a value of the wrong type or out of range, or a name that cannot be used.
pub fn stated_inputs(texts: &[&str], node: &str) -> Result<StatedInputs, String> {
    let said = |error: SettingsError| error.to_string();
    let (mut file, mut uses, mut names) = (FileSettings::default(), Uses::default(), Vec::new());
    for text in texts {
        file = overlay_known(&file, text, node).map_err(said)?;
        uses = overlay_known(&uses, text, node).map_err(said)?;
        names.extend(stated_names(text, node).map_err(said)?);
    }
    check(&file, FileSettings::SPECS).map_err(|e| e.to_string())?;
    let tree = serde_json::to_value(&file).map_err(|e| e.to_string())?;
    let is_ours = |name: &&String| GROUPS.iter().any(|group| name.starts_with(group));
    let unknown = names.iter().filter(is_ours).filter(|name| lookup(&tree, name).is_none());
    let warnings = unknown.map(|name| format!("parameter '{name}' is unknown and has no effect")).collect();

    let FileSettings { features_message, sensors, odometry, tags, detections } = file;
    let list = ("odometry.fallbacks", odometry.fallbacks.as_slice(), MOST_FALLBACKS);
    let fallbacks: Vec<Named<FallbackSettings>> = groups((texts, node), &names, list, &[])?;
    let taken: Vec<&str> = fallbacks.iter().map(|fallback| fallback.name.as_str()).collect();
    let sensors: Vec<Named<SensorSettings>> =
        groups((texts, node), &names, ("sensors", &sensors, MOST_SENSORS), &taken)?;
    Ok(StatedInputs {
        settings: InputSettings { features_message, odometry, tags, detections, fallbacks, sensors },
        uses,
        is_placed: is_placed("sensor", &names),
        warnings,
    })
}

/// The groups of parameters that a list names.
fn groups<T: Described + Default + Serialize + DeserializeOwned>(
    (texts, node): (&[&str], &str),
    stated: &[String],
    list: (&str, &[String], usize),
    taken: &[&str],
) -> Result<Vec<Named<T>>, String> {
    let known = lienav_slam::SPECS.iter().chain(FileSettings::SPECS).filter_map(|spec| spec.name.split('.').next());
    let all: Vec<&str> = known.chain(OTHERS).chain(taken.iter().copied()).collect();
    let mut groups = Vec::new();
    for name in checked_names(list, |name| all.contains(&name))? {
        let mut settings = T::default();
        for text in texts {
            settings = overlay_group(&settings, text, node, name).map_err(|e| e.to_string())?;
        }
        check(&settings, T::SPECS).map_err(|OutOfRange { name: setting, value, allowed }| {
            format!("parameter '{name}.{setting}' is {value}; allowed: {allowed}")
        })?;
        groups.push(Named { name: name.to_owned(), settings, is_placed: is_placed(name, stated) });
    }
    Ok(groups)
}

/// Whether a part of the mount of the sensor in this group is stated.
fn is_placed(group: &str, stated: &[String]) -> bool {
    let of_group = |name: &String| name.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')).map(str::to_owned);
    stated.iter().filter_map(of_group).any(|part| ["x_m", "y_m", "yaw_rad"].contains(&part.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::OdometryMessage;

    const ROBOT: &str = "
/**:
  ros__parameters:
    gate.probability: 0.9
    use_imu: false
    sensor: {kind: range_bearing}
    sensors: [front, rear]
    odometry: {message: twist, fallbacks: [visual]}
    tags.frame_patterns: ['tag36h11:{id}']
slam_node:
  ros__parameters:
    rear: {x_m: -0.5, range_std_m: 1}
    visual.topic: zed/odom
";

    #[test]
    fn a_file_for_the_node_states_the_same_for_a_bag() {
        let stated = stated_inputs(&[ROBOT, "rear: {range_std_m: 0.3}"], "slam_node").unwrap();
        let InputSettings { odometry, tags, fallbacks, sensors, .. } = &stated.settings;
        assert_eq!((odometry.message, odometry.timeout_s), (OdometryMessage::Twist, 0.2));
        assert_eq!(tags.frame_patterns, ["tag36h11:{id}"]);
        assert_eq!((fallbacks[0].name.as_str(), fallbacks[0].settings.topic.as_str()), ("visual", "zed/odom"));
        let shown: Vec<_> = sensors.iter().map(|s| (s.name.as_str(), s.settings.range_std_m, s.is_placed)).collect();
        assert_eq!(shown, [("front", 0.05, false), ("rear", 0.3, true)]);
        assert_eq!((stated.uses.use_imu, stated.uses.gnss.use_fix, stated.is_placed), (Some(false), None, false));
        assert_eq!(stated_inputs(&["gate: {probability: 0.9}"], "slam_node").unwrap(), StatedInputs::default());
        assert!(stated_inputs(&["sensor.x_m: 0.1"], "slam_node").unwrap().is_placed);
    }

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        let refused = |text: &str| stated_inputs(&[text], "slam_node").unwrap_err();
        assert!(refused("sensors: [map]").contains("'sensors' has the name 'map'"));
        assert!(refused("{sensors: [a], odometry: {fallbacks: [a]}}").contains("choose another one"));
        assert!(refused("{sensors: [a], a: {kind: smell}}").contains("'a.kind'"));
        assert!(refused("{sensors: [a], a: {range_std_m: -1.0}}").contains("parameter 'a.range_std_m' is -1.0"));
        assert!(refused("{sensors: [a], a: {ranges_std_m: 1.0}}").contains("did you mean 'range_std_m'"));
        assert!(refused("odometry.message: laser").contains("'odometry.message'"));
        assert!(refused("tags.size_m: 0.0").contains("'tags.size_m'"));
        let warnings = stated_inputs(&["odometry.mesage: twist"], "slam_node").unwrap().warnings;
        assert_eq!(warnings, ["parameter 'odometry.mesage' is unknown and has no effect"]);
    }
}
