//! `config/scenarios/` has a file for each scenario that has a name, which says the same as the code.
//! `LIENAV_UPDATE_DOCS=1 cargo test --test config` writes them anew.

use super::read;
use lienav_base::settings::lookup;
use lienav_io::files::write_atomically;
use lienav_sim::{SPECS, Scenario};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a file says even where it is the default.
const ALWAYS: [&str; 6] =
    ["name", "trajectory.path", "world.layout", "odometry.rate_hz", "sensor.kind", "sensor.rate_hz"];

const HEAD: &str = "\
# What differs from the default, the circle of Shen 2019 at 10 Hz; docs/scenarios.md describes all scenarios and settings.
# Units: m, s, rad, Hz; standard deviations of odometry in m/s and rad/s a sample, or in m/sqrt(s) and rad/sqrt(s) where
# odometry.noise is spectral_density, as by default.
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/scenarios")
}

/// What the file of a scenario has to say: settings in the order of their table, each below its description.
fn text_of(scenario: &Scenario) -> String {
    let (own, default) = (serde_json::to_value(scenario).unwrap(), serde_json::to_value(Scenario::default()).unwrap());
    let (mut text, mut group) = (HEAD.to_owned(), "");
    for spec in SPECS {
        let value = lookup(&own, spec.name).unwrap();
        if lookup(&default, spec.name).unwrap() == value && !ALWAYS.contains(&spec.name) {
            continue;
        }
        let (of, leaf) = spec.name.split_once('.').unwrap_or(("", spec.name));
        let indent = if of.is_empty() { "" } else { "  " };
        if of != group && !of.is_empty() {
            text += &format!("{of}:\n");
        }
        group = of;
        text += &format!("{indent}# {}\n{indent}{leaf}: {}\n", spec.description, value.to_string().replace('"', ""));
    }
    text
}

#[test]
fn every_shipped_scenario_and_nothing_else_has_a_file_that_says_the_same() {
    for name in Scenario::names() {
        let (scenario, path) = (Scenario::named(&name).unwrap(), format!("config/scenarios/{name}.yaml"));
        let expected = text_of(&scenario);
        if std::env::var_os("LIENAV_UPDATE_DOCS").is_some() {
            fs::create_dir_all(folder()).unwrap();
            write_atomically(&folder().join(format!("{name}.yaml")), |out| out.write_all(expected.as_bytes())).unwrap();
        }
        let found = read(&path);
        assert_eq!(Scenario::from_yaml(&found), Ok(scenario), "{path}");
        assert!(found == expected, "{path} is out of date; LIENAV_UPDATE_DOCS=1 cargo test --test config mends it");
    }
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let expected: BTreeSet<String> = Scenario::names().iter().map(|name| format!("{name}.yaml")).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), expected);
}
