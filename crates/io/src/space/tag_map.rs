//! Maps of tags as files: `tags.yaml` as a folder of TagSLAM has it, and the layout of a field (WPILib, JSON).

use super::files::{self, Transform};
use super::tag_formats;
use super::tags::{OnBoard, StatedTag};
use crate::convert::quaternion_of;
use crate::open;
use crate::recording::OpenError;
use crate::yaml;
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{DMatrix, Matrix3, Vector3};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Tags whose places are known, and what else their file states.
#[derive(Clone, Debug, Default)]
pub struct TagMap {
    /// By identity.
    pub known: BTreeMap<u64, StatedTag>,
    /// Tags on a board with others.
    pub on_board: BTreeMap<u64, OnBoard>,
    /// Lengths of edges, m.
    pub sizes_m: BTreeMap<u64, f64>,
    /// That of all others, m, where it is stated.
    pub usual_size_m: Option<f64>,
    /// Tags that are not used.
    pub ignored: BTreeSet<u64>,
    /// The most wrong bits that a detection may have, where that is stated.
    pub max_hamming: Option<u32>,
    /// Tags whose pose or standard deviations are invalid; they are left out.
    pub refused: u64,
    /// Whether the file has more than [`TagMap::to_yaml`] writes.
    pub is_by_hand: bool,
    /// The joint covariance of the errors of known tags, where it is stated.
    pub joint: Option<TagsTogether>,
}

/// The joint covariance of some tags: of place, m, and rotation, rad, about the axes of the map, six numbers each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TagsTogether {
    /// In order.
    pub tags: Vec<u32>,
    /// The upper triangle, row by row.
    pub upper: Vec<f64>,
}

impl TagsTogether {
    /// No map has more tags together.
    const MOST: usize = 200;

    /// Of a whole matrix; `None` of more tags than files have.
    pub fn of(tags: &[u64], covariance: &DMatrix<f64>) -> Option<Self> {
        let ids: Vec<u32> = tags.iter().filter_map(|id| u32::try_from(*id).ok()).collect();
        let n = 6 * tags.len();
        let is_sound = ids.len() == tags.len() && (2..=Self::MOST).contains(&ids.len()) && covariance.nrows() == n;
        let upper = || (0..n).flat_map(|i| (i..n).map(move |j| covariance[(i, j)])).collect();
        is_sound.then(|| Self { tags: ids, upper: upper() })
    }

    /// Whether there are as many numbers as tags need, all finite, and each tag once.
    pub fn is_sound(&self) -> bool {
        let n = 6 * self.tags.len();
        let once: BTreeSet<u32> = self.tags.iter().copied().collect();
        self.tags.len() <= Self::MOST
            && once.len() == self.tags.len()
            && self.upper.len() == n * (n + 1) / 2
            && self.upper.iter().all(|x| x.is_finite())
    }

    /// The whole matrix.
    pub fn matrix(&self) -> DMatrix<f64> {
        let n = 6 * self.tags.len();
        // Before row i of the triangle stand rows of n, n − 1, … numbers.
        let place = |i: usize, j: usize| i * (2 * n + 1 - i) / 2 + j - i;
        DMatrix::from_fn(n, n, |i, j| self.upper.get(place(i.min(j), i.max(j))).copied().unwrap_or(0.0))
    }

    fn write(&self, text: &mut String) {
        let words = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>().join(", ");
        let tags = words(&mut self.tags.iter().map(ToString::to_string));
        let upper = words(&mut self.upper.iter().map(|x| format!("{x:.6e}")));
        let _ = writeln!(text, "joint_covariance:\n  tags: [{tags}]\n  upper: [{upper}]");
    }
}

/// A tag of a field is where the drawings have it, m and rad.
pub(super) const FIELD_SIGMA: (f64, f64) = (1e-4, 1e-4);

/// In the files of a field x is out of a tag's face, and corners are in (y, z): here these are the tag's z, x and y.
pub(super) fn axes_of_field() -> So3 {
    So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
}

impl TagMap {
    /// Reads a file, by the ending of its name: the layout of a field (`.json`), a survey by hand (`.csv`), the map of
    /// fiducial_slam or the priors of rtabmap (`.txt`), else `tags.yaml`, or bundles of apriltag_ros.
    ///
    /// # Errors
    /// The file is missing, too long, damaged or not as described: with its name and line.
    pub fn read(path: &Path) -> Result<Self, OpenError> {
        /// No map is longer.
        const LONGEST: u64 = 1 << 24;
        let text = open::read_text(path, LONGEST).map_err(|error| OpenError::io(path, error))?;
        let read = Self::of_text(&text, &path.to_string_lossy());
        read.map_err(|(line, problem)| OpenError::Text { path: path.to_owned(), line, problem })
    }

    /// The same from the text of a file with this name.
    ///
    /// # Errors
    /// Line and problem.
    pub fn of_text(text: &str, name: &str) -> Result<Self, (u64, String)> {
        let ending = Path::new(name).extension().map(|ending| ending.to_ascii_lowercase());
        let stated = match ending.as_deref().and_then(|ending| ending.to_str()) {
            Some("json") => return Self::of_field(text),
            Some("csv") => tag_formats::of_survey(text)?,
            // The lines of fiducial_slam have two numbers more.
            Some("txt") if text.contains('|') || text.split_whitespace().count() == 7 => tag_formats::of_priors(text)?,
            Some("txt") => tag_formats::of_fiducials(text)?,
            _ if tag_formats::has_bundles(text) => tag_formats::of_bundles(text)?,
            _ => return Self::of_yaml(text),
        };
        Ok(Self {
            known: stated.known.into_iter().collect(),
            on_board: stated.on_board.into_iter().collect(),
            sizes_m: stated.sizes_m.into_iter().collect(),
            refused: stated.refused,
            is_by_hand: true,
            ..Self::default()
        })
    }

    /// From the text of a `tags.yaml`.
    ///
    /// # Errors
    /// Line and problem.
    pub fn of_yaml(text: &str) -> Result<Self, (u64, String)> {
        let wrong = |error: yaml::YamlError| (error.line().unwrap_or(1) as u64, error.to_string());
        let file: TagsFile = yaml::from_str(text).map_err(wrong)?;
        Ok(file.map())
    }

    /// From the text of a field's layout: the axes of the field are those of the map.
    ///
    /// # Errors
    /// Line and problem.
    pub fn of_field(text: &str) -> Result<Self, (u64, String)> {
        let file: FieldFile = serde_json::from_str(text).map_err(|error| (error.line() as u64, error.to_string()))?;
        let mut map = Self { is_by_hand: true, ..Self::default() };
        for tag in &file.tags {
            let FieldRotation { quaternion: q } = &tag.pose.rotation;
            let t = &tag.pose.translation;
            let place = Vector3::new(t.x, t.y, t.z);
            let is_near = place.iter().all(|x| x.abs() < 1e6);
            let rotation = files::rotation(&[q.x, q.y, q.z, q.w]).filter(|_| is_near);
            let pose = rotation.map(|rotation| Se3::new(rotation * axes_of_field(), place));
            match pose.filter(|_| !map.known.contains_key(&u64::from(tag.id))) {
                Some(pose) => _ = map.known.insert(u64::from(tag.id), StatedTag { pose, sigma: FIELD_SIGMA }),
                None => map.refused += 1,
            }
        }
        Ok(map)
    }

    /// As the text of a `tags.yaml` that [`TagMap::read`] reads; boards and ignored tags are not written.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        if let Some(size_m) = self.usual_size_m {
            let _ = writeln!(text, "default_sizes_m: {{all: {size_m:?}}}");
        }
        if !self.sizes_m.is_empty() {
            text.push_str("sizes_m:\n");
            self.sizes_m.iter().for_each(|(id, size_m)| _ = writeln!(text, "  {id}: {size_m:?}"));
        }
        text.push_str(if self.known.is_empty() { "known_tags: {}\n" } else { "known_tags:\n" });
        for (id, tag) in &self.known {
            let q = quaternion_of(&tag.pose.rotation);
            let (t, (turn, place)) = (&tag.pose.translation, tag.sigma);
            let _ = writeln!(text, "  {id}:\n    t_m: [{:?}, {:?}, {:?}]", t.x, t.y, t.z);
            let _ = writeln!(text, "    q_xyzw: [{:?}, {:?}, {:?}, {:?}]", q.i, q.j, q.k, q.w);
            let _ = writeln!(text, "    t_sigma_m: [{place:?}, {place:?}, {place:?}]");
            let _ = writeln!(text, "    rot_sigma_rad: [{turn:?}, {turn:?}, {turn:?}]");
        }
        if let Some(joint) = &self.joint {
            joint.write(&mut text);
        }
        text
    }
}

/// Files of maps of tags in space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagFormat {
    /// `tags.yaml`, as a folder of TagSLAM has it.
    Tags,
    /// A bundle of apriltag_ros.
    Bundle,
    /// The map of fiducial_slam.
    Fiducials,
    /// The priors of rtabmap's markers.
    Priors,
    /// A survey by hand.
    Survey,
    /// The layout of a field.
    Field,
}

impl TagFormat {
    /// Their names.
    pub const TABLE: [(&'static str, Self); 6] = [
        ("tagslam", Self::Tags),
        ("apriltag", Self::Bundle),
        ("fiducials", Self::Fiducials),
        ("rtabmap", Self::Priors),
        ("csv", Self::Survey),
        ("field", Self::Field),
    ];

    /// By the ending of a file's name, where its name does not tell more.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Self::Field,
            Some("csv") => Self::Survey,
            Some("txt") => Self::Fiducials,
            _ => Self::Tags,
        }
    }
}

impl TagMap {
    /// As the text of a file; what is left out, a sentence each. `usual_m` is the edge of tags of which none is known.
    pub fn to_text(&self, format: TagFormat, usual_m: Option<f64>) -> (String, Vec<String>) {
        let known = || self.known.iter().map(|(id, tag)| (*id, tag));
        let size_m = |id: u64| self.sizes_m.get(&id).copied().or(self.usual_size_m).or(usual_m);
        let mut notes = Vec::new();
        if self.joint.is_some() && format != TagFormat::Tags {
            notes.push("the joint covariance of tags is left out".to_owned());
        }
        let text = match format {
            TagFormat::Tags => {
                let mut all = self.clone();
                all.usual_size_m = all.usual_size_m.or(usual_m);
                all.to_yaml()
            }
            TagFormat::Bundle => {
                let (text, left_out) = tag_formats::to_bundle(known(), size_m);
                notes.push("a bundle states no standard deviations".to_owned());
                if left_out > 0 {
                    notes.push(format!("{left_out} tags have no size, and are left out: state one for them"));
                }
                text
            }
            TagFormat::Fiducials => {
                notes.push("place and rotation have one variance: the larger one".to_owned());
                tag_formats::to_fiducials(known())
            }
            TagFormat::Priors => {
                notes.push("priors have no standard deviations".to_owned());
                tag_formats::to_priors(known())
            }
            TagFormat::Survey => tag_formats::to_survey(known(), size_m),
            TagFormat::Field => {
                notes.push("the layout of a field has no standard deviations and no sizes".to_owned());
                self.to_field()
            }
        };
        if !self.on_board.is_empty() && format != TagFormat::Survey {
            notes.push("boards are left out".to_owned());
        }
        (text, notes)
    }

    /// The layout of a field, whose length and width reach the farthest tags.
    fn to_field(&self) -> String {
        let tag = |(id, tag): (&u64, &StatedTag)| {
            let (t, q) = (&tag.pose.translation, quaternion_of(&(tag.pose.rotation * axes_of_field().inverse())));
            serde_json::json!({"ID": id, "pose": {
                "translation": {"x": t.x, "y": t.y, "z": t.z},
                "rotation": {"quaternion": {"W": q.w, "X": q.i, "Y": q.j, "Z": q.k}},
            }})
        };
        let reach =
            |of: fn(&Vector3<f64>) -> f64| self.known.values().map(|tag| of(&tag.pose.translation)).fold(0.0, f64::max);
        let tags: Vec<serde_json::Value> = self.known.iter().map(tag).collect();
        let field = serde_json::json!({"tags": tags, "field": {"length": reach(|t| t.x), "width": reach(|t| t.y)}});
        format!("{field:#}\n")
    }
}

/// The layout of a field.
#[derive(Deserialize)]
struct FieldFile {
    tags: Vec<FieldTag>,
}

#[derive(Deserialize)]
struct FieldTag {
    #[serde(rename = "ID")]
    id: u32,
    pose: FieldPose,
}

#[derive(Deserialize)]
struct FieldPose {
    translation: FieldVector,
    rotation: FieldRotation,
}

#[derive(Deserialize)]
struct FieldVector {
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Deserialize)]
struct FieldRotation {
    quaternion: FieldQuaternion,
}

#[derive(Deserialize)]
struct FieldQuaternion {
    #[serde(rename = "W")]
    w: f64,
    #[serde(rename = "X")]
    x: f64,
    #[serde(rename = "Y")]
    y: f64,
    #[serde(rename = "Z")]
    z: f64,
}

/// The file.
#[derive(Deserialize)]
pub(super) struct TagsFile {
    #[serde(default)]
    default_sizes_m: BTreeMap<String, f64>,
    #[serde(default)]
    pub(super) ignore_tags: Vec<u32>,
    #[serde(default)]
    known_tags: BTreeMap<u32, KnownEntry>,
    #[serde(default)]
    sizes_m: BTreeMap<u32, f64>,
    #[serde(default)]
    boards: BTreeMap<String, Board>,
    pub(super) max_hamming_distance: Option<u32>,
    override_tag_position_noise: Option<f64>,
    override_tag_rotation_noise: Option<f64>,
    #[serde(rename = "T_body_odom")]
    pub(super) body_from_odometry: Option<Transform>,
    #[serde(default)]
    tag_id_remap: Vec<RemapEntry>,
    joint_covariance: Option<TagsTogether>,
    pub(super) pixel_noise: Option<f64>,
}

#[derive(Deserialize)]
struct KnownEntry {
    size_m: Option<f64>,
    q_xyzw: [f64; 4],
    t_m: [f64; 3],
    t_sigma_m: [f64; 3],
    rot_sigma_rad: [f64; 3],
}

#[derive(Deserialize)]
struct Board {
    tag_start_id: u32,
    tag_size: f64,
    tag_rows: u32,
    tag_columns: u32,
    /// Between the edges of two tags, in units of an edge; without it, each tag is by itself.
    tag_spacing: Option<f64>,
    tag_position_noise: Option<f64>,
}

impl Board {
    fn count(&self) -> u32 {
        self.tag_rows.saturating_mul(self.tag_columns)
    }

    /// The tags behind the first, row by row: columns along the x axis of a tag, rows along its y axis.
    fn places(&self) -> impl Iterator<Item = (u32, OnBoard)> + '_ {
        /// Boards are read up to so many tags.
        const MOST: u32 = 1000;
        /// Where none is stated, m.
        const USUAL_SIGMA_M: f64 = 1e-3;
        let pitch = self.tag_spacing.map_or(0.0, |spacing| self.tag_size * (1.0 + spacing));
        let sigma_m = self.tag_position_noise.filter(|sigma| (0.0..1.0).contains(sigma)).unwrap_or(USUAL_SIGMA_M);
        let board = u64::from(self.tag_start_id);
        let is_sound = (1e-3..100.0).contains(&pitch);
        (0..self.count().min(MOST)).filter(move |_| is_sound).filter_map(move |k| {
            let id = self.tag_start_id.checked_add(k)?;
            let (row, column) = (k / self.tag_columns, k % self.tag_columns);
            let place = Vector3::new(pitch * f64::from(column), pitch * f64::from(row), 0.0);
            Some((id, OnBoard { board, pose: Se3::new(So3::identity(), place), sigma_m }))
        })
    }
}

#[derive(Deserialize)]
struct RemapEntry {
    id: u32,
    remaps: Vec<Remap>,
}

#[derive(Deserialize)]
struct Remap {
    remap_id: u32,
    start_time: f64,
    end_time: f64,
}

impl TagsFile {
    /// The tag that a detection is of.
    pub(super) fn identity(&self, id: u32, stamp: Stamp) -> u32 {
        let remaps = self.tag_id_remap.iter().filter(|entry| entry.id == id).flat_map(|entry| &entry.remaps);
        let at = stamp.secs();
        remaps.into_iter().find(|one| (one.start_time..=one.end_time).contains(&at)).map_or(id, |one| one.remap_id)
    }

    /// Length of a tag's edge, m.
    pub(super) fn size(&self, id: u32) -> Option<f64> {
        let is_of =
            |board: &&Board| (board.tag_start_id..board.tag_start_id.saturating_add(board.count())).contains(&id);
        let own = self.sizes_m.get(&id).copied();
        let of_board = || self.boards.values().find(is_of).map(|board| board.tag_size);
        let usual = || self.default_sizes_m.values().next().copied();
        own.or_else(of_board).or_else(usual).filter(|size| (1e-3..100.0).contains(size))
    }

    /// What it says of the map.
    pub(super) fn map(&self) -> TagMap {
        let mut map = TagMap {
            usual_size_m: self.default_sizes_m.values().next().copied().filter(is_size),
            sizes_m: self
                .sizes_m
                .iter()
                .filter(|(_, size)| is_size(size))
                .map(|(id, size)| (u64::from(*id), *size))
                .collect(),
            ignored: self.ignore_tags.iter().map(|id| u64::from(*id)).collect(),
            max_hamming: self.max_hamming_distance,
            joint: self.joint_covariance.clone().filter(TagsTogether::is_sound),
            is_by_hand: !(self.boards.is_empty() && self.tag_id_remap.is_empty() && self.ignore_tags.is_empty()),
            ..TagMap::default()
        };
        for (id, entry) in &self.known_tags {
            let place = Transform { q_xyzw: entry.q_xyzw, t_m: entry.t_m };
            let greatest = |sigma: &[f64; 3]| sigma.iter().copied().fold(0.0, f64::max);
            let turn = self.override_tag_rotation_noise.unwrap_or(0.0).max(greatest(&entry.rot_sigma_rad));
            let shift = self.override_tag_position_noise.unwrap_or(0.0).max(greatest(&entry.t_sigma_m));
            match place.pose().filter(|_| (1e-9..1e3).contains(&turn) && (1e-9..1e6).contains(&shift)) {
                Some(pose) => {
                    map.known.insert(u64::from(*id), StatedTag { pose, sigma: (turn, shift) });
                }
                None => map.refused += 1,
            }
            if let Some(size_m) = entry.size_m.filter(is_size) {
                map.sizes_m.entry(u64::from(*id)).or_insert(size_m);
            }
        }
        for board in self.boards.values() {
            let places = || board.places().map(|(id, place)| (u64::from(id), place));
            // A tag whose place is known says where it is by itself.
            if places().all(|(id, _)| !map.known.contains_key(&id)) {
                map.on_board.extend(places());
            }
            const MOST: u32 = 1000;
            let ids = (0..board.count().min(MOST)).filter_map(|k| board.tag_start_id.checked_add(k));
            if is_size(&board.tag_size) {
                ids.for_each(|id| _ = map.sizes_m.entry(u64::from(id)).or_insert(board.tag_size));
            }
        }
        map
    }
}

fn is_size(size_m: &f64) -> bool {
    (1e-3..100.0).contains(size_m)
}

#[cfg(test)]
#[path = "tag_map_tests.rs"]
mod tests;
