//! The state beside a map: JSON, with long lists of numbers as the bits of each.

use super::data::MapFile;
use super::text::Companion;
use crate::files::{folder_of, remove_leftover_files, write_atomically};
use crate::open;
use crate::settings_file::one_line;
use lienav_files::bounds;
use lienav_slam::{LandmarkMap, SavedState};
use lienav_submaps::SavedSubmaps;
use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The version of the format that is written, and the only one there is.
const VERSION: u32 = 1;

/// What lies beside a map.
#[derive(Clone, Debug, Default)]
pub struct StateFile {
    /// The joint covariance of the landmarks, m².
    pub joint: Option<DMatrix<f64>>,
    /// The filter as it was.
    pub filter: Option<SavedState>,
    /// The parts of the map.
    pub parts: Option<SavedSubmaps>,
    /// What was left out, as sentences.
    pub warnings: Vec<String>,
}

/// The file as it is written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'a SavedState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<&'a SavedSubmaps>,
}

/// What every version of the filter can read.
#[derive(Serialize, Deserialize)]
struct Content {
    lienav_state: u32,
    /// The landmarks that it belongs to.
    landmarks_crc32: u32,
    /// The lower triangle, row by row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    joint: Option<Triangle>,
}

/// What only the version that wrote it can be expected to read.
#[derive(Deserialize)]
struct Filter {
    #[serde(default)]
    filter: Option<SavedState>,
}

/// The same of the parts of the map.
#[derive(Deserialize)]
struct InParts {
    #[serde(default)]
    parts: Option<SavedSubmaps>,
}

#[derive(Serialize, Deserialize)]
struct Triangle(#[serde(with = "lienav_base::bits")] Vec<f64>);

/// Of the landmarks, as bits.
fn fingerprint(map: &LandmarkMap) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for landmark in &map.landmarks {
        hasher.update(&landmark.id.to_le_bytes());
        hasher.update(&landmark.class.to_le_bytes());
        let (p, c) = (&landmark.position, &landmark.covariance);
        [p.x, p.y, c.m11, c.m21, c.m22].into_iter().for_each(|number| hasher.update(&number.to_le_bytes()));
    }
    hasher.finalize()
}

/// `hall.yaml` has its state in `hall.yaml.XXXXXXXX.state`.
fn name_of(path: &Path, crc32: u32) -> io::Result<OsString> {
    let mut name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.to_owned();
    name.push(format!(".{crc32:08x}.state"));
    Ok(name)
}

/// Writes what belongs beside a map, under a name that no map refers to yet. Nothing where the landmarks are
/// independent; without the filter and the parts where these would be too large.
pub(super) fn write(path: &Path, file: &MapFile) -> io::Result<Option<Companion>> {
    let joint = file.map.joint.as_ref().map(|joint| {
        let rows = (0..joint.nrows()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Triangle(rows.map(|at| joint[at]).collect())
    });
    if joint.is_none() && file.filter.is_none() && file.parts.is_none() {
        return Ok(None);
    }
    let content = Content { lienav_state: VERSION, landmarks_crc32: fingerprint(&file.map), joint };
    let bytes = serde_json::to_vec(&Written { content, filter: file.filter.as_ref(), parts: file.parts.as_ref() })?;
    let most = bounds::state(file.map.landmarks.len());
    if bytes.len() as u64 > most {
        if file.filter.is_some() || file.parts.is_some() {
            return write(path, &MapFile { filter: None, parts: None, ..file.clone() });
        }
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!(
                "the joint covariance of {} landmarks takes {}, and no more than {} are kept: lower map.max_features",
                file.map.landmarks.len(),
                bounds::Bytes(bytes.len() as u64),
                bounds::Bytes(most)
            ),
        ));
    }
    let crc32 = crc32fast::hash(&bytes);
    let name = name_of(path, crc32)?;
    let place = folder_of(path).join(&name);
    let companion = Companion { file: name.to_string_lossy().into_owned(), bytes: bytes.len() as u64, crc32 };
    write_atomically(&place, |out| out.write_all(&bytes))?;
    Ok(Some(companion))
}

/// Removes the states of earlier maps of this name, and what killed processes have left of them.
pub(super) fn remove_others(path: &Path, current: Option<&Companion>) {
    let Some(map) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { return };
    let is_state = |name: &str| {
        let digits = name.strip_prefix(&map).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".state"));
        digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    let folder = folder_of(path);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_state(&name) && current.is_none_or(|current| current.file != name) {
            let _ = fs::remove_file(entry.path());
        }
    }
    remove_leftover_files(folder, |name| name == map || is_state(name));
}

/// Reads what a map says is beside it.
///
/// # Errors
/// Why it does not belong to the map, or cannot be read.
pub(super) fn read(path: &Path, companion: &Companion, map: &LandmarkMap) -> Result<StateFile, String> {
    // It is beside the map, and not beside a link to that.
    let map_file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let place = folder_of(&map_file).join(&companion.file);
    let most = bounds::state(map.landmarks.len());
    if companion.bytes > most {
        let (found, most, count) = (bounds::Bytes(companion.bytes), bounds::Bytes(most), map.landmarks.len());
        return Err(format!("it is of {found}, and that of {count} landmarks takes no more than {most}"));
    }
    let file = open::regular(&place).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(companion.bytes + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 != companion.bytes || crc32fast::hash(&bytes) != companion.crc32 {
        return Err("it is damaged, or of another map: length or checksum differ".to_owned());
    }
    state_from_text(&bytes, map)
}

/// What a state says about the landmarks of `map`.
///
/// # Errors
/// Why it is no state, or not of these landmarks.
pub fn state_from_text(bytes: &[u8], map: &LandmarkMap) -> Result<StateFile, String> {
    let content: Content = serde_json::from_slice(bytes).map_err(|error| one_line(&error))?;
    if content.lienav_state != VERSION {
        return Err(format!("it has version {}, and this lienav reads version {VERSION}", content.lienav_state));
    }
    if content.landmarks_crc32 != fingerprint(map) {
        return Err("it is of other landmarks: the map was edited after it was saved".to_owned());
    }
    let joint = content.joint.map(|Triangle(numbers)| joint_of(&numbers, map)).transpose()?;
    let mut warnings = Vec::new();
    let mut unreadable = |what: &str, error: &serde_json::Error, instead: &str| {
        warnings.push(format!(
            "{what} cannot be read ({}): another version of lienav may have saved it; {instead}",
            one_line(error)
        ));
    };
    let filter = serde_json::from_slice(bytes).map_or_else(
        |error| {
            unreadable("the filter as it was", &error, "the landmarks are used with what is known of their covariance");
            None
        },
        |Filter { filter }| filter,
    );
    let parts = serde_json::from_slice(bytes).map_or_else(
        |error| {
            unreadable("the map in parts", &error, "the landmarks are used, as if independent of each other");
            None
        },
        |InParts { parts }| parts,
    );
    Ok(StateFile { joint, filter, parts, warnings })
}

/// A covariance whose diagonal is that of the landmarks.
fn joint_of(numbers: &[f64], map: &LandmarkMap) -> Result<DMatrix<f64>, String> {
    let rows = 2 * map.landmarks.len();
    if numbers.len() != rows * (rows + 1) / 2 {
        return Err(format!("its joint covariance is not of {} landmarks", map.landmarks.len()));
    }
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err("its joint covariance has a number that is not finite".to_owned());
    }
    let at = |i: usize, j: usize| numbers.get(i * (i + 1) / 2 + j).copied().unwrap_or(f64::NAN);
    let joint = DMatrix::from_fn(rows, rows, |i, j| at(i.max(j), i.min(j)));
    for (k, landmark) in map.landmarks.iter().enumerate() {
        let own = joint.fixed_view::<2, 2>(2 * k, 2 * k);
        if (own - landmark.covariance).amax() > 1e-6 * landmark.covariance.amax() {
            return Err(format!("its joint covariance differs from that of landmark {}", landmark.id));
        }
    }
    let exceeds = |i: usize, j: usize| at(i, j).powi(2) > at(i, i) * at(j, j) * (1.0 + 1e-6);
    match (0..rows).find(|&i| (0..i).any(|j| exceeds(i, j))) {
        Some(i) => {
            let id = map.landmarks.get(i / 2).map_or(0, |landmark| landmark.id);
            Err(format!("its joint covariance is not positive semidefinite at landmark {id}"))
        }
        None => Ok(joint),
    }
}
