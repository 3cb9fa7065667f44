//! Maps as others write them: CSV, GeoJSON, and the files of packages for tags.
//!
//! | format | what it is | what it does not hold |
//! |---|---|---|
//! | [`Format::Csv`] | a table whose first row names its columns | joint covariance |
//! | [`Format::GeoJson`] | points in metres of the map frame; read also: a field layout of WPILib | joint covariance |
//! | [`Format::AprilTag`] | `tag_bundles` of apriltag_ros (ROS 1): a bundle is a map | uncertainty, classes |
//! | [`Format::TagSlam`] | `bodies` of TagSLAM: the tags of static bodies | correlation, classes |
//! | [`Format::Fiducials`] | the map of fiducial_slam, one line for each marker | correlation, classes |
//!
//! The columns of a table are `id`, `class`, `x_m`, `y_m` and either `sigma_m` or `xx_m2`, `xy_m2`, `yy_m2`; points
//! have the same as properties, with `covariance_m2` as in a map of lienav. Classes in words, such as the colours of
//! cones in tracks of eufs_sim, get numbers in the order in which they come.
//!
//! A pose in space is projected onto the plane z = 0 of its map: x and y stay, height and orientation are left out.

mod csv;
mod found;
mod geojson;
mod tags;

use super::text::{Problem, Reader};
use lienav_slam::LandmarkMap;
use serde_yaml_ng::Value as Yaml;
use std::path::Path;

/// How a map is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table of landmarks.
    Csv,
    /// Points.
    GeoJson,
    /// Tag bundles.
    AprilTag,
    /// Bodies with tags.
    TagSlam,
    /// Markers, one a line.
    Fiducials,
}

/// What a file does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Standard deviation of either coordinate of landmarks that state none, m.
    pub sigma_m: Option<f64>,
    /// Which tag bundle is the map, where there are several.
    pub bundle: Option<String>,
    /// The size of a tag, m, in files that have to state it.
    pub tag_size_m: Option<f64>,
}

/// What was read or written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted<T> {
    /// The map, or its text.
    pub content: T,
    /// What was left out, as sentences.
    pub notes: Vec<String>,
}

impl Format {
    /// All formats, and their names.
    pub const TABLE: [(&'static str, Self); 5] = [
        ("csv", Self::Csv),
        ("geojson", Self::GeoJson),
        ("apriltag", Self::AprilTag),
        ("tagslam", Self::TagSlam),
        ("fiducials", Self::Fiducials),
    ];

    /// The format that the name of a file tells, or what is in it.
    pub fn guess(path: &Path, text: Option<&str>) -> Option<Self> {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        match extension.as_deref().and_then(|extension| extension.to_str()) {
            Some("csv" | "tsv") => return Some(Self::Csv),
            Some("geojson" | "json") => return Some(Self::GeoJson),
            _ => {}
        }
        let has_key = |key: &str| text.is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with(key)));
        if has_key("tag_bundles:") || has_key("standalone_tags:") {
            return Some(Self::AprilTag);
        }
        if has_key("bodies:") || has_key("static_objects:") {
            return Some(Self::TagSlam);
        }
        let first = text?.lines().find(|line| !line.trim().is_empty())?;
        let numbers = first.split_whitespace().take_while(|word| word.parse::<f64>().is_ok()).count();
        (numbers >= 9).then_some(Self::Fiducials)
    }
}

/// Reads a map.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(text: &str, format: Format, options: &Options) -> Result<Converted<LandmarkMap>, Vec<Problem>> {
    let mut found = match format {
        Format::Csv => csv::read(text),
        Format::GeoJson => geojson::read(text),
        Format::AprilTag => tags::read_bundle(text, options.bundle.as_deref()),
        Format::TagSlam => tags::read_bodies(text),
        Format::Fiducials => tags::read_fiducials(text),
    }?;
    let entries: Vec<Yaml> = found.entries.into_iter().map(Yaml::Mapping).collect();
    let lines = (found.lines.len() == entries.len()).then_some(found.lines);
    let mut reader = Reader::default();
    let (landmarks, unnamed) = reader.landmarks(&entries, options.sigma_m, lines);
    if !reader.problems.is_empty() {
        for problem in &mut reader.problems {
            problem.what =
                problem.what.replace("here, or above the list for all landmarks", "there, or with --sigma-m for all");
        }
        return Err(reader.problems);
    }
    if unnamed > 0 {
        found.notes.push(format!("{unnamed} landmarks have no id: they got numbers from {} on", super::OWN_IDS));
    }
    Ok(Converted { content: LandmarkMap { landmarks, joint: None, near: None }, notes: found.notes })
}

/// Writes a map.
pub fn to_text(map: &LandmarkMap, format: Format, options: &Options) -> Converted<String> {
    let mut notes = Vec::new();
    if map.joint.is_some() {
        notes
            .push("the joint covariance is left out: landmarks are written as if independent of each other".to_owned());
    }
    let is_tags = matches!(format, Format::AprilTag | Format::TagSlam | Format::Fiducials);
    if is_tags && map.landmarks.iter().any(|landmark| landmark.class != 0) {
        notes.push("classes are left out: the format has none".to_owned());
    }
    if is_tags {
        notes.push("heights and orientations are unknown, and written as 0".to_owned());
    }
    let content = match format {
        Format::Csv => csv::write(map),
        Format::GeoJson => geojson::write(map),
        Format::AprilTag => {
            notes.push("uncertainties are left out: the format has none".to_owned());
            tags::write_bundle(map, options.tag_size_m)
        }
        Format::TagSlam => {
            note_correlation(map, &mut notes);
            tags::write_bodies(map, options.tag_size_m)
        }
        Format::Fiducials => {
            notes.push("of each covariance, the mean of the two variances is written".to_owned());
            tags::write_fiducials(map)
        }
    };
    Converted { content, notes }
}

fn note_correlation(map: &LandmarkMap, notes: &mut Vec<String>) {
    if map.landmarks.iter().any(|landmark| landmark.covariance.m12 != 0.0) {
        notes.push("correlations of x and y are left out: the format has none".to_owned());
    }
}

#[cfg(test)]
mod tests;
