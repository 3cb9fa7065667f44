//! Which recordings there are, where they are looked for, and what runs on each.

use super::super::failure::Failure;
use super::attitude::AttitudeInput;
use super::foreign::{ATTITUDE, INERTIAL, PLANAR, Program, STEREO};
use super::planar::PlanarInput;
use super::space::SpaceInput;
use lienav_eval::judge::space::Space;
use lienav_eval::judge::steps::TruthNoise;
use std::path::{Path, PathBuf};

/// What kind of estimate is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A pose in the plane.
    Planar,
    /// A pose in space.
    Space,
    /// An orientation.
    Attitude,
}

/// What others run on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Planar,
    Stereo,
    Inertial,
    Published,
    Attitude,
    None,
}

/// A recording of the table.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    others: Others,
    /// In front of the path, as `evaluate` takes it; empty where the recording is simulated.
    prefix: &'static str,
    /// Below a folder of --data.
    path: &'static str,
    /// Behind the path.
    suffix: Suffix,
}

/// What stands behind the path of a recording.
enum Suffix {
    None,
    Robot(u32),
    /// Another file beside it.
    File(&'static str),
}

const fn entry(name: &'static str, kind: Kind, others: Others, prefix: &'static str, path: &'static str) -> Entry {
    Entry { name, kind, others, prefix, path, suffix: Suffix::None }
}

const fn mrclam(name: &'static str, path: &'static str, robot: u32) -> Entry {
    Entry { suffix: Suffix::Robot(robot), ..entry(name, Kind::Planar, Others::Planar, "mrclam:", path) }
}

/// All of them. The first is simulated: its noise is exactly as it is stated.
pub(super) const ALL: [Entry; 18] = [
    entry("simulated", Kind::Planar, Others::Planar, "", "range-bearing"),
    entry("lost_in_the_woods", Kind::Planar, Others::Planar, "woods:", "lost_in_the_woods"),
    mrclam("mrclam_6_1", "mrclam/MRCLAM_Dataset6", 1),
    mrclam("mrclam_6_2", "mrclam/MRCLAM_Dataset6", 2),
    mrclam("mrclam_6_3", "mrclam/MRCLAM_Dataset6", 3),
    mrclam("mrclam_4_3", "mrclam/MRCLAM_Dataset4", 3),
    Entry {
        suffix: Suffix::File("truth.graph.gz"),
        ..entry("city_trees_0", Kind::Planar, Others::Planar, "g2o:", "city_trees/run_0.graph.gz")
    },
    entry("starry_night", Kind::Space, Others::Stereo, "starry:", "starry_night/dataset3"),
    entry("starry_night_fresh", Kind::Space, Others::Stereo, "starry:", "starry_night/dataset3_fresh_40noisy"),
    entry("starloc_eight_s2", Kind::Space, Others::Inertial, "starloc:", "starloc/eight_s2"),
    entry("starloc_loop_2d_s1", Kind::Space, Others::Inertial, "starloc:", "starloc/loop-2d-fast_s1"),
    entry("starloc_loop_3d_s5", Kind::Space, Others::Inertial, "starloc:", "starloc/loop-3d_s5"),
    entry("euroc_v101", Kind::Space, Others::None, "euroc-tracks:", "euroc_v101_30s"),
    entry("frc_053443", Kind::Space, Others::Published, "frc:", "frc/FRC_20241012_053443"),
    entry("frc_184342", Kind::Space, Others::Published, "frc:", "frc/FRC_20241012_184342"),
    entry("broad_01", Kind::Attitude, Others::Attitude, "broad:", "broad/01_undisturbed_slow_rotation_A.csv.gz"),
    entry("broad_06", Kind::Attitude, Others::Attitude, "broad:", "broad/06_undisturbed_fast_rotation_A.csv.gz"),
    entry("broad_21", Kind::Attitude, Others::Attitude, "broad:", "broad/21_undisturbed_fast_combined.csv.gz"),
];

impl Entry {
    /// The programs of others.
    pub(super) fn programs(&self) -> &'static [Program] {
        match self.others {
            Others::Planar => &PLANAR,
            Others::Stereo => &STEREO,
            Others::Inertial => &INERTIAL,
            Others::Attitude => &ATTITUDE,
            Others::Published | Others::None => &[],
        }
    }

    /// Of ours.
    fn ours(&self) -> &'static [&'static str] {
        match (self.kind, self.others) {
            (Kind::Planar, _) => &["default", "ekf", "batch"],
            (Kind::Space, Others::Published) => &["default", "wpilib"],
            (Kind::Space, _) => &["default", "ekf"],
            (Kind::Attitude, _) => &["default"],
        }
    }

    /// How many estimates are made.
    pub(super) fn steps(&self) -> usize {
        self.ours().len() + self.programs().len()
    }

    /// Which numbers count.
    pub(super) fn space(&self) -> Space {
        if self.kind == Kind::Planar { Space::Planar } else { Space::Space }
    }

    /// The source as `evaluate` takes it, where a folder has it: under its path, or under its last name.
    fn source_in(&self, folder: &Path) -> Option<String> {
        let last = Path::new(self.path).file_name().map(PathBuf::from).unwrap_or_default();
        let path = [folder.join(self.path), folder.join(last)].into_iter().find(|path| path.exists())?;
        let suffix = match self.suffix {
            Suffix::None => String::new(),
            Suffix::Robot(robot) => format!(":{robot}"),
            Suffix::File(name) => format!(":{}", path.with_file_name(name).display()),
        };
        Some(format!("{}{}{suffix}", self.prefix, path.display()))
    }
}

/// Those that folders have, with their sources, and the paths of those that are missing.
pub(super) fn find(folders: &[PathBuf]) -> (Vec<(&'static Entry, String)>, Vec<String>) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for entry in &ALL {
        let source = match entry.prefix {
            "" => Some(entry.path.to_owned()),
            _ => folders.iter().find_map(|folder| entry.source_in(folder)),
        };
        match source {
            Some(source) => found.push((entry, source)),
            None => missing.push(entry.path.to_owned()),
        }
    }
    missing.dedup();
    (found, missing)
}

/// A recording as it was read.
pub(super) enum Opened {
    Planar(Box<PlanarInput>),
    Space(Box<SpaceInput>, &'static [&'static str]),
    Attitude(Box<AttitudeInput>),
}

/// Reads a recording; of a quick run, its first part.
pub(super) fn open(entry: &Entry, source: &str, seed: u64, is_quick: bool) -> Result<Opened, Failure> {
    match entry.kind {
        Kind::Planar => {
            let simulated = entry.prefix.is_empty().then_some(seed);
            PlanarInput::open(source, simulated, is_quick).map(|input| Opened::Planar(Box::new(input)))
        }
        Kind::Space => SpaceInput::open(source).map(|input| Opened::Space(Box::new(input), entry.ours())),
        Kind::Attitude => AttitudeInput::open(source, is_quick).map(|input| Opened::Attitude(Box::new(input))),
    }
}

impl Opened {
    /// The names of our estimators, and of what the recording has of others.
    pub(super) fn ours(&self) -> &'static [&'static str] {
        match self {
            Self::Planar(_) => &["default", "ekf", "batch"],
            Self::Space(_, ours) => ours,
            Self::Attitude(_) => &["default"],
        }
    }

    /// Writes what every estimator is given, and the truth; says how good the truth is.
    pub(super) fn write_inputs(&self, folder: &Path) -> Result<TruthNoise, Failure> {
        match self {
            Self::Planar(input) => input.write(folder).map(|()| TruthNoise::default()),
            Self::Space(input, _) => input.write(folder),
            Self::Attitude(input) => input.write(folder).map(|()| TruthNoise::default()),
        }
    }

    /// The estimate of one of ours as a file.
    pub(super) fn run_ours(&self, name: &str) -> Result<String, Failure> {
        match self {
            Self::Planar(input) => input.run(name),
            Self::Space(input, _) => input.run(name),
            Self::Attitude(input) => input.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_recording_is_found_by_its_path_or_its_last_name_and_a_missing_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("MRCLAM_Dataset6")).unwrap();
        fs::create_dir_all(folder.path().join("starloc/eight_s2")).unwrap();
        let (found, missing) = find(&[folder.path().to_owned()]);
        let names: Vec<&str> = found.iter().map(|(entry, _)| entry.name).collect();
        assert_eq!(names, ["simulated", "mrclam_6_1", "mrclam_6_2", "mrclam_6_3", "starloc_eight_s2"]);
        assert!(found[1].1.starts_with("mrclam:") && found[1].1.ends_with("MRCLAM_Dataset6:1"), "{}", found[1].1);
        assert!(missing.contains(&"city_trees/run_0.graph.gz".to_owned()), "{missing:?}");
        assert_eq!(find(&[]).0.len(), 1);
    }

    #[test]
    fn names_are_those_of_folders_and_differ() {
        let mut names: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')));
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
