//! The parameters of the inputs of `slam_node`, declared: those of sensors and sources have names that the user gives.

use crate::ros::parameters::{Overrides, ParameterError, Parameters, is_placed};
use lienav_base::settings::Described;
use lienav_io::intake::{FeaturesMessage, Named, checked_names};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// Checks that this build has the type of these messages. `parameter` names them.
///
/// # Errors
/// What has to be built.
pub fn check_built(message: FeaturesMessage, parameter: &str) -> Result<(), ParameterError> {
    let (word, package, is_built) = match message {
        FeaturesMessage::PointCloud | FeaturesMessage::PoseArray => return Ok(()),
        FeaturesMessage::Detections => ("detections", "vision_msgs", cfg!(feature = "vision_msgs")),
        FeaturesMessage::AprilTags => ("apriltags", "apriltag_msgs", cfg!(feature = "apriltag_msgs")),
    };
    if is_built {
        return Ok(());
    }
    Err(ParameterError::Unusable(format!(
        "parameter '{parameter}' is '{word}', whose type this build does not have: build lienav with the cargo \
         feature {package}, where the ROS package {package} is installed"
    )))
}

/// Declares the parameters of each name in the list that the parameter `list` is, and reads them.
///
/// # Errors
/// A name that cannot be used, too many of them, or a parameter that cannot be used.
pub fn named<T: Described + Default + Serialize + DeserializeOwned>(
    parameters: &mut Parameters,
    overrides: &Overrides,
    list: (&'static str, &[String], usize),
) -> Result<Vec<Named<T>>, ParameterError> {
    let taken: BTreeSet<&str> = parameters.names().filter_map(|known| known.split('.').next()).collect();
    let names = checked_names(list, |name| taken.contains(name)).map_err(ParameterError::Unusable)?;
    let mut groups = Vec::new();
    for name in names {
        parameters.declare_group::<T>(name, T::SPECS, overrides)?;
        let settings = parameters.read_group(name, T::SPECS)?;
        groups.push(Named { name: name.to_owned(), settings, is_placed: is_placed(name, overrides) });
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::intake::{SensorSettings, TagSettings};
    use r2r::ParameterValue;

    fn declared(names: &[&str], overrides: &Overrides) -> Result<Vec<Named<SensorSettings>>, ParameterError> {
        let mut parameters = Parameters::default();
        parameters.declare(&TagSettings::default(), TagSettings::SPECS, overrides)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        named(&mut parameters, overrides, ("sensors", &names, 3))
    }

    #[test]
    fn each_name_has_parameters_of_its_own() {
        let mut overrides = Overrides::new();
        overrides.insert("rear.range_std_m".into(), ParameterValue::Double(0.3));
        overrides.insert("rear.yaw_rad".into(), ParameterValue::Integer(3));
        let found = declared(&["front", "", "rear"], &overrides).unwrap();
        let shown: Vec<_> =
            found.iter().map(|n| (n.name.as_str(), n.settings.range_std_m, n.settings.yaw_rad, n.is_placed)).collect();
        assert_eq!(shown, [("front", 0.05, 0.0, false), ("rear", 0.3, 3.0, true)]);
        overrides.insert("rear.kind".into(), ParameterValue::String("smell".into()));
        let error = declared(&["rear"], &overrides).unwrap_err().to_string();
        assert!(error.contains("'rear.kind' is \"smell\""), "{error}");
    }

    #[test]
    fn names_that_cannot_be_used_are_refused() {
        let refused = |names: &[&str]| declared(names, &Overrides::new()).unwrap_err().to_string();
        assert!(refused(&["left lidar"]).contains("'left lidar'"));
        assert!(refused(&["0"]).contains("a letter first"));
        assert!(refused(&["size_m"]).contains("choose another one"));
        assert!(refused(&["front", "front"]).contains("'front', which other parameters have"));
        assert!(refused(&["a", "b", "c", "d"]).contains("has 4 names; at most 3"));
    }
}
