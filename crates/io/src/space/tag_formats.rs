//! Tags in the files of other programs: bundles of apriltag_ros, the map of fiducial_slam, the priors of rtabmap's markers,
//! and a survey by hand. In all of them x is to the right of who faces a tag, y up, and z out of its face, but for the
//! survey, which states where a face looks.

use super::files;
use super::tags::{OnBoard, StatedTag};
use crate::convert::quaternion_of;
use crate::yaml;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Vector3};
use serde::Deserialize;
use std::fmt::Write;

/// What such a file states.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// Tags whose places are stated, by identity.
    pub known: Vec<(u64, StatedTag)>,
    /// Tags on a board with others.
    pub on_board: Vec<(u64, OnBoard)>,
    /// Edges, m.
    pub sizes_m: Vec<(u64, f64)>,
    /// Tags whose numbers are invalid.
    pub refused: u64,
}

/// Line and problem.
type Wrong = (u64, String);

/// Where a face looks that is turned by nothing: x is out of it, y to the right of who faces it, z up. These are the tag's
/// z, x and y.
fn axes_of_face() -> So3 {
    So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
}

/// About the fixed axes x, y, z, one after the other.
fn of_angles(roll: f64, pitch: f64, yaw: f64) -> So3 {
    So3::exp(&(Vector3::z() * yaw)) * So3::exp(&(Vector3::y() * pitch)) * So3::exp(&(Vector3::x() * roll))
}

/// The inverse.
fn angles(rotation: &So3) -> [f64; 3] {
    let (roll, pitch, yaw) = quaternion_of(rotation).euler_angles();
    [roll, pitch, yaw]
}

fn is_near(numbers: &[f64]) -> bool {
    numbers.iter().all(|x| x.abs() < 1e6)
}

impl Stated {
    fn add(&mut self, id: u64, numbers: &[f64], rotation: impl FnOnce() -> So3, sigma: (f64, f64)) {
        let is_sigma = (1e-9..1e3).contains(&sigma.0) && (1e-9..1e6).contains(&sigma.1);
        let is_first = self.known.iter().all(|(other, _)| *other != id);
        match numbers {
            [x, y, z, ..] if is_near(numbers) && is_sigma && is_first => {
                let pose = Se3::new(rotation(), Vector3::new(*x, *y, *z));
                self.known.push((id, StatedTag { pose, sigma }));
            }
            _ => self.refused += 1,
        }
    }
}

#[derive(Deserialize)]
struct Bundles {
    #[serde(default)]
    standalone_tags: Vec<Standalone>,
    #[serde(default)]
    tag_bundles: Vec<Bundle>,
}

#[derive(Deserialize)]
struct Standalone {
    id: u32,
    size: f64,
}

#[derive(Deserialize)]
struct Bundle {
    layout: Vec<Placed>,
}

/// A tag in a bundle; what is left out is zero, and no rotation.
#[derive(Deserialize)]
struct Placed {
    id: u32,
    size: f64,
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    #[serde(default)]
    z: f64,
    #[serde(default = "one")]
    qw: f64,
    #[serde(default)]
    qx: f64,
    #[serde(default)]
    qy: f64,
    #[serde(default)]
    qz: f64,
}

fn one() -> f64 {
    1.0
}

/// Whether the text is one with sizes and bundles of apriltag_ros.
pub fn has_bundles(text: &str) -> bool {
    let of_line = |line: &str| line.starts_with("standalone_tags:") || line.starts_with("tag_bundles:");
    text.lines().any(of_line)
}

/// Sizes and bundles of apriltag_ros: a bundle is a board, whose frame is that of its first tag.
///
/// # Errors
/// Line and problem.
pub fn of_bundles(text: &str) -> Result<Stated, Wrong> {
    /// A bundle is measured with a rule, m.
    const SIGMA_M: f64 = 1e-3;
    let wrong = |error: yaml::YamlError| (error.line().unwrap_or(1) as u64, error.to_string());
    let file: Bundles = yaml::from_str(text).map_err(wrong)?;
    let mut stated = Stated::default();
    let is_size = |size: f64| (1e-3..100.0).contains(&size);
    for tag in &file.standalone_tags {
        match is_size(tag.size) {
            true => stated.sizes_m.push((u64::from(tag.id), tag.size)),
            false => stated.refused += 1,
        }
    }
    for bundle in &file.tag_bundles {
        let mut first: Option<(u64, Se3)> = None;
        for tag in &bundle.layout {
            let (place, id) = (Vector3::new(tag.x, tag.y, tag.z), u64::from(tag.id));
            let rotation = files::rotation(&[tag.qx, tag.qy, tag.qz, tag.qw]);
            let is_used = stated.on_board.iter().any(|(other, _)| *other == id);
            let Some(rotation) = rotation.filter(|_| is_near(place.as_slice()) && is_size(tag.size) && !is_used) else {
                stated.refused += 1;
                continue;
            };
            let in_bundle = Se3::new(rotation, place);
            let (board, origin) = *first.get_or_insert((id, in_bundle));
            stated.on_board.push((id, OnBoard { board, pose: origin.inverse() * in_bundle, sigma_m: SIGMA_M }));
            stated.sizes_m.push((id, tag.size));
        }
    }
    Ok(stated)
}

/// The map of fiducial_slam: `id x y z roll pitch yaw variance count links…` a line, in m and degrees. The variance counts
/// for place and rotation, as it does there.
///
/// # Errors
/// Line and problem.
pub fn of_fiducials(text: &str) -> Result<Stated, Wrong> {
    let mut stated = Stated::default();
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let id = words.next().and_then(|word| word.parse::<u32>().ok());
        let numbers: Vec<f64> = words.take(7).filter_map(|word| word.parse().ok()).collect();
        let (Some(id), [_, _, _, roll, pitch, yaw, variance]) = (id, numbers.as_slice()) else {
            return Err((k as u64 + 1, "expected id x y z roll pitch yaw variance count".to_owned()));
        };
        let rotation = || of_angles(roll.to_radians(), pitch.to_radians(), yaw.to_radians());
        let sigma = variance.max(0.0).sqrt().max(LEAST_SIGMA);
        stated.add(u64::from(id), &numbers, rotation, (sigma, sigma));
    }
    Ok(stated)
}

/// A stated variance of zero is a placeholder: no survey is better, m and rad.
const LEAST_SIGMA: f64 = 1e-3;

/// As that map, which needs no links to be read.
pub fn to_fiducials<'a>(known: impl Iterator<Item = (u64, &'a StatedTag)>) -> String {
    let mut text = String::new();
    for (id, tag) in known {
        let (t, [roll, pitch, yaw]) = (&tag.pose.translation, angles(&tag.pose.rotation).map(f64::to_degrees));
        let variance = tag.sigma.0.max(tag.sigma.1).powi(2);
        let _ = writeln!(text, "{id} {:?} {:?} {:?} {roll:?} {pitch:?} {yaw:?} {variance:?} 1", t.x, t.y, t.z);
    }
    text
}

/// The priors of rtabmap's markers, `id x y z roll pitch yaw|…` in m and rad, with its usual variances of 0.001.
///
/// # Errors
/// Line and problem.
pub fn of_priors(text: &str) -> Result<Stated, Wrong> {
    const VARIANCE: f64 = 1e-3;
    let mut stated = Stated::default();
    for (k, line) in text.lines().enumerate() {
        for one in line.split('|').map(|one| one.trim().trim_matches('"')).filter(|one| !one.is_empty()) {
            let mut words = one.split_whitespace();
            let id = words.next().and_then(|word| word.parse::<u32>().ok());
            let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
            let (Some(id), [_, _, _, roll, pitch, yaw]) = (id, numbers.as_slice()) else {
                return Err((k as u64 + 1, format!("expected id x y z roll pitch yaw, and not '{one:.60}'")));
            };
            let sigma = VARIANCE.sqrt();
            stated.add(u64::from(id), &numbers, || of_angles(*roll, *pitch, *yaw), (sigma, sigma));
        }
    }
    Ok(stated)
}

/// As such priors.
pub fn to_priors<'a>(known: impl Iterator<Item = (u64, &'a StatedTag)>) -> String {
    let one = |(id, tag): (u64, &StatedTag)| {
        let (t, [roll, pitch, yaw]) = (&tag.pose.translation, angles(&tag.pose.rotation));
        format!("{id} {:?} {:?} {:?} {roll:?} {pitch:?} {yaw:?}", t.x, t.y, t.z)
    };
    known.map(one).collect::<Vec<_>>().join("|") + "\n"
}

/// A survey by hand: a table with `id,x_m,y_m,z_m,yaw_deg`, where yaw is the heading in which an upright face looks.
/// Besides, `tilt_deg` (up), `roll_deg` (about what it looks along), `size_m`, `std_m` and `std_deg`.
///
/// # Errors
/// Line and problem.
pub fn of_survey(text: &str) -> Result<Stated, Wrong> {
    /// With a tape and by eye, m and degrees.
    const USUAL: (f64, f64) = (0.01, 2.0);
    let mut lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((_, head)) = lines.next() else { return Ok(Stated::default()) };
    let names: Vec<&str> = head.split(',').map(str::trim).collect();
    let place_of = |name: &str| names.iter().position(|other| *other == name);
    let needed = ["id", "x_m", "y_m", "z_m", "yaw_deg"];
    if let Some(missing) = needed.into_iter().find(|name| place_of(name).is_none()) {
        return Err((1, format!("there is no column {missing}; expected {}", needed.join(","))));
    }
    let mut stated = Stated::default();
    for (k, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |name: &str| place_of(name).and_then(|at| cells.get(at)).copied().filter(|cell| !cell.is_empty());
        let number = |name: &str, otherwise: Option<f64>| {
            let wrong = || (k as u64 + 1, format!("{name} is '{:.40}'; expected a number", cell(name).unwrap_or("")));
            cell(name).map_or(otherwise, |cell| cell.parse().ok()).ok_or_else(wrong)
        };
        let id = cell("id").and_then(|cell| cell.parse::<u32>().ok());
        let id = u64::from(id.ok_or_else(|| (k as u64 + 1, "id is not a number from 0 on".to_owned()))?);
        let place = [number("x_m", None)?, number("y_m", None)?, number("z_m", None)?];
        let turned = [number("roll_deg", Some(0.0))?, -number("tilt_deg", Some(0.0))?, number("yaw_deg", None)?];
        let sigma = (number("std_deg", Some(USUAL.1))?.to_radians(), number("std_m", Some(USUAL.0))?);
        let [roll, tilt, yaw] = turned.map(f64::to_radians);
        let numbers = [place, turned].concat();
        stated.add(id, &numbers, || of_angles(roll, tilt, yaw) * axes_of_face(), sigma);
        if cell("size_m").is_some() {
            match number("size_m", None)? {
                size_m if (1e-3..100.0).contains(&size_m) => stated.sizes_m.push((id, size_m)),
                _ => stated.refused += 1,
            }
        }
    }
    Ok(stated)
}

/// As such a survey, with the edges of tags where they are known, m.
pub fn to_survey<'a>(known: impl Iterator<Item = (u64, &'a StatedTag)>, size_m: impl Fn(u64) -> Option<f64>) -> String {
    let mut text = "id,x_m,y_m,z_m,yaw_deg,tilt_deg,roll_deg,size_m,std_m,std_deg\n".to_owned();
    for (id, tag) in known {
        let t = &tag.pose.translation;
        let face = tag.pose.rotation * axes_of_face().inverse();
        let [roll, tilt, yaw] = angles(&face).map(f64::to_degrees);
        let size = size_m(id).map(|size_m| format!("{size_m:?}")).unwrap_or_default();
        let (turn, place) = (tag.sigma.0.to_degrees(), tag.sigma.1);
        let tilt = -tilt;
        let _ =
            writeln!(text, "{id},{:?},{:?},{:?},{yaw:?},{tilt:?},{roll:?},{size},{place:?},{turn:?}", t.x, t.y, t.z);
    }
    text
}

/// As one bundle of apriltag_ros, in whose frame the map is; tags without an edge, m, are left out, and counted.
pub fn to_bundle<'a>(
    known: impl Iterator<Item = (u64, &'a StatedTag)>,
    size_m: impl Fn(u64) -> Option<f64>,
) -> (String, usize) {
    let mut text = "standalone_tags: []\ntag_bundles:\n- name: map\n  layout:\n".to_owned();
    let mut left_out = 0;
    for (id, tag) in known {
        let Some(size_m) = size_m(id) else {
            left_out += 1;
            continue;
        };
        let (t, q) = (&tag.pose.translation, quaternion_of(&tag.pose.rotation));
        let _ = write!(text, "  - {{id: {id}, size: {size_m:?}, x: {:?}, y: {:?}, z: {:?}, ", t.x, t.y, t.z);
        let _ = writeln!(text, "qw: {:?}, qx: {:?}, qy: {:?}, qz: {:?}}}", q.w, q.i, q.j, q.k);
    }
    (text, left_out)
}

#[cfg(test)]
#[path = "tag_formats_tests.rs"]
mod tests;
