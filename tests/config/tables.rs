//! What every table of settings has to keep to, whoever writes the next line.

use lienav_attitude::BodyGroup;
use lienav_base::settings::{Allowed, Described, check, lookup};
use lienav_sim::Scenario;
use serde::Serialize;
use serde_json::Value;

/// Endings of names that state a unit. The longer ones come first.
const ENDINGS: [(&str, &str); 8] = [
    ("_rad_s", "rad/s"),
    ("_m_s2", "m/s^2"),
    ("_m_s", "m/s"),
    ("_rad", "rad"),
    ("_hz", "Hz"),
    ("_m2", "1/m^2"),
    ("_m", "m"),
    ("_s", "s"),
];

fn leaves(prefix: &str, node: &Value, found: &mut Vec<String>) {
    match node.as_object() {
        Some(group) => group.iter().for_each(|(key, value)| {
            leaves(&if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") }, value, found);
        }),
        None => found.push(prefix.to_owned()),
    }
}

fn keeps_to_the_rules<T: Serialize + Default + Described>() {
    let tree = serde_json::to_value(T::default()).unwrap();
    let mut serialised = Vec::new();
    leaves("", &tree, &mut serialised);
    let mut names: Vec<String> = T::SPECS.iter().map(|spec| spec.name.to_owned()).collect();
    names.sort_unstable();
    serialised.sort_unstable();
    assert_eq!(names, serialised, "every setting is described once");
    assert_eq!(check(&T::default(), T::SPECS), Ok(()));
    for spec in T::SPECS {
        let (name, default) = (spec.name, lookup(&tree, spec.name).unwrap());
        assert!(spec.description.ends_with('.') && !spec.description.contains("  "), "{name}: {}", spec.description);
        let ranged = matches!(spec.allowed, Allowed::Range(..));
        assert_eq!(ranged, default.is_number(), "{name}: a number, and nothing else, has a range");
        let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        if let Some((_, unit)) = ending {
            assert_eq!(spec.unit, *unit, "{name}: the unit that the name states");
        }
    }
}

#[test]
fn every_table_describes_every_setting_with_its_range_and_unit() {
    keeps_to_the_rules::<lienav_slam::Config>();
    keeps_to_the_rules::<lienav_attitude::Config>();
    keeps_to_the_rules::<BodyGroup>();
    keeps_to_the_rules::<lienav_space::Config>();
    keeps_to_the_rules::<Scenario>();
    #[cfg(feature = "ros")]
    {
        keeps_to_the_rules::<lienav::ros::slam_node::Settings>();
        keeps_to_the_rules::<lienav::ros::attitude_node::Settings>();
        keeps_to_the_rules::<lienav::ros::slam3d_node::Settings>();
        keeps_to_the_rules::<lienav::ros::simulator_node::Settings>();
    }
}
