//! The files of packages for tags.

use super::super::{Problem, number};
use super::found::{Found, problem, scalar};
use crate::settings_file::one_line;
use crate::yaml;
use lienav_slam::LandmarkMap;
use nalgebra::{Matrix3, Rotation3, Vector3};
use serde_yaml_ng::{Mapping, Value as Yaml};

/// Tags in files that have to state a size get this one, m, if nobody says better.
const SIZE_M: f64 = 0.16;

fn document(text: &str) -> Result<Mapping, Vec<Problem>> {
    let document: Yaml =
        yaml::from_str(text).map_err(|error| problem(error.line(), format!("not YAML: {}", one_line(&error))))?;
    match document {
        Yaml::Mapping(document) => Ok(document),
        _ => Err(problem(None, "it is no YAML mapping")),
    }
}

fn list<'a>(of: &'a Mapping, key: &str) -> &'a [Yaml] {
    of.get(key).and_then(Yaml::as_sequence).map_or(&[], Vec::as_slice)
}

/// A landmark at (x, y, 0).
fn entry(id: Option<&Yaml>, x: Yaml, y: Yaml) -> Mapping {
    let mut entry = Mapping::new();
    entry.insert("x_m".into(), x);
    entry.insert("y_m".into(), y);
    if let Some(id) = id {
        // YAML takes 008 for a text, which other readers take for a number.
        let digits = id.as_str().filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
        entry.insert("id".into(), digits.map_or_else(|| id.clone(), scalar));
    }
    entry
}

const PROJECTED: &str = "heights and orientations are left out: positions are projected onto the plane z = 0";

/// `tag_bundles: [{name: N, layout: [{id, size, x, y, z, qw, qx, qy, qz}]}]`, coordinates in the frame of the bundle, 0
/// where they are left out.
pub(super) fn read_bundle(text: &str, name: Option<&str>) -> Result<Found, Vec<Problem>> {
    let document = document(text)?;
    let bundles: Vec<&Mapping> = list(&document, "tag_bundles").iter().filter_map(Yaml::as_mapping).collect();
    let name_of = |bundle: &Mapping| bundle.get("name").and_then(Yaml::as_str).unwrap_or("without a name").to_owned();
    let names = bundles.iter().map(|bundle| format!("'{}'", name_of(bundle))).collect::<Vec<_>>().join(", ");
    let bundle = match (name, &bundles[..]) {
        (None, [only]) => only,
        (None, []) => {
            return Err(problem(None, "there is no tag bundle: standalone tags have no position, and make no map"));
        }
        (None, _) => {
            let what =
                format!("there are several tag bundles, each in a frame of its own: choose one with --bundle: {names}");
            return Err(problem(None, what));
        }
        (Some(name), _) => bundles
            .iter()
            .find(|bundle| name_of(bundle) == name)
            .ok_or_else(|| problem(None, format!("there is no tag bundle '{name}'; there are: {names}")))?,
    };
    let mut found = Found { notes: vec![PROJECTED.to_owned()], ..Found::default() };
    for tag in list(bundle, "layout").iter().filter_map(Yaml::as_mapping) {
        let at = |key: &str| tag.get(key).cloned().unwrap_or_else(|| 0.into());
        found.entries.push(entry(tag.get("id"), at("x"), at("y")));
    }
    let alone = list(&document, "standalone_tags").len();
    if alone > 0 {
        found.notes.push(format!("{alone} standalone tags have no position, and are left out"));
    }
    Ok(found)
}

/// `"tags": [{"ID": 1, "pose": {"translation": {"x", "y", "z"}, "rotation": …}}]`, m: a field layout of WPILib.
pub(super) fn read_field(tags: &[serde_json::Value]) -> Result<Found, Vec<Problem>> {
    let mut found = Found { notes: vec![PROJECTED.to_owned()], ..Found::default() };
    for (k, tag) in (1..).zip(tags) {
        let id = tag.get("ID").or_else(|| tag.get("id"));
        let place = tag.get("pose").and_then(|pose| pose.get("translation"));
        let number = |key: &str| place.and_then(|place| place.get(key)).and_then(serde_json::Value::as_f64);
        let (Some(id), Some(x), Some(y)) = (id, number("x"), number("y")) else {
            let what = format!("tag {k} has no 'ID' and 'pose' with a 'translation' of numbers 'x' and 'y', m");
            return Err(problem(None, what));
        };
        let id = serde_yaml_ng::to_value(id).unwrap_or(Yaml::Null);
        found.entries.push(entry(Some(&id), x.into(), y.into()));
    }
    Ok(found)
}

/// Three numbers, 0 where they are left out.
fn vector(of: Option<&Yaml>) -> Result<Vector3<f64>, String> {
    let number = |key: &str| match of.and_then(|of| of.get(key)) {
        Some(value) => value.as_f64().filter(|x| x.is_finite()).ok_or_else(|| format!("'{key}' is no finite number")),
        None => Ok(0.0),
    };
    Ok(Vector3::new(number("x")?, number("y")?, number("z")?))
}

/// A pose with the standard deviations of its position.
struct Pose {
    rotation: Rotation3<f64>,
    position: Vector3<f64>,
    noise: Vector3<f64>,
}

impl Pose {
    /// `{position, rotation, position_noise}`, the rotation as a vector along its axis; older files say `center` and
    /// `rotvec`.
    fn of(pose: Option<&Yaml>) -> Result<Self, String> {
        let either = |one: &str, other: &str| vector(pose.and_then(|pose| pose.get(one).or_else(|| pose.get(other))));
        Ok(Self {
            rotation: Rotation3::from_scaled_axis(either("rotation", "rotvec")?),
            position: either("position", "center")?,
            noise: either("position_noise", "position_noise")?,
        })
    }
}

/// `bodies: [{NAME: {is_static, pose, tags: [{id, size, pose}]}}]`: the tags of static bodies.
pub(super) fn read_bodies(text: &str) -> Result<Found, Vec<Problem>> {
    let document = document(text)?;
    let mut found = Found { notes: vec![PROJECTED.to_owned()], ..Found::default() };
    let (mut without, mut moving) = (0, 0);
    let static_objects = list(&document, "static_objects").iter().map(|body| (body, true));
    let bodies = list(&document, "bodies").iter().map(|body| (body, false)).chain(static_objects);
    for ((name, body), is_static) in bodies
        .flat_map(|(named, is_static)| named.as_mapping().into_iter().flatten().map(move |entry| (entry, is_static)))
    {
        let Some(body) = body.as_mapping() else { continue };
        let tags = list(body, "tags");
        if !is_static && body.get("is_static").and_then(Yaml::as_bool) != Some(true) {
            moving += tags.len();
            continue;
        }
        let wrong = |what: String| problem(None, format!("body '{}': {what}", name.as_str().unwrap_or("?")));
        let of_body = Pose::of(body.get("pose")).map_err(wrong)?;
        for tag in tags.iter().filter_map(Yaml::as_mapping) {
            let older = tag.contains_key("center").then(|| Yaml::Mapping(tag.clone()));
            let Some(pose) = tag.get("pose").or(older.as_ref()) else {
                without += 1;
                continue;
            };
            let pose = Pose::of(Some(pose)).map_err(wrong)?;
            let position = of_body.position + of_body.rotation * pose.position;
            let mut landmark = entry(tag.get("id"), position.x.into(), position.y.into());
            let variances = |noise: &Vector3<f64>| Matrix3::from_diagonal(&noise.component_mul(noise));
            let turn = of_body.rotation.matrix();
            let c = turn * variances(&pose.noise) * turn.transpose() + variances(&of_body.noise);
            if c.m11 > 0.0 && c.m22 > 0.0 {
                landmark.insert("covariance_m2".into(), Yaml::Sequence([c.m11, c.m21, c.m22].map(Yaml::from).to_vec()));
            }
            found.entries.push(landmark);
        }
    }
    if found.entries.is_empty() {
        return Err(problem(None, "no static body has a tag with a pose"));
    }
    if without > 0 {
        found.notes.push(format!("{without} tags without a pose are left out"));
    }
    if moving > 0 {
        found.notes.push(format!("{moving} tags of bodies that move are left out"));
    }
    Ok(found)
}

/// A line for each marker: `id x y z roll pitch yaw variance observations links…`, m, degrees and m².
pub(super) fn read_fiducials(text: &str) -> Result<Found, Vec<Problem>> {
    let mut found = Found { notes: vec![PROJECTED.to_owned()], ..Found::default() };
    for (line, row) in (1..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [id, x, y, _, _, _, _, variance, _, ..] = words[..] else {
            let what = format!(
                "{} words; a marker has nine or more: id x y z roll pitch yaw variance observations",
                words.len()
            );
            return Err(problem(Some(line), what));
        };
        let mut landmark = entry(Some(&scalar(id)), scalar(x), scalar(y));
        let sigma = variance.parse::<f64>().ok().map(f64::sqrt).filter(|sigma| sigma.is_finite());
        let Some(sigma) = sigma else {
            return Err(problem(Some(line), format!("the variance is '{variance}'; give 0 or more, m²")));
        };
        landmark.insert("sigma_m".into(), sigma.into());
        found.entries.push(landmark);
        found.lines.push(line);
    }
    Ok(found)
}

pub(super) fn write_bundle(map: &LandmarkMap, size: Option<f64>) -> String {
    let size = number(size.unwrap_or(SIZE_M));
    let mut text = "tag_bundles:\n- name: map\n  layout:\n".to_owned();
    for landmark in &map.landmarks {
        let [x, y] = [landmark.position.x, landmark.position.y].map(number);
        text.push_str(&format!(
            "  - {{id: {}, size: {size}, x: {x}, y: {y}, z: 0.0, qw: 1.0, qx: 0.0, qy: 0.0, qz: 0.0}}\n",
            landmark.id
        ));
    }
    text
}

pub(super) fn write_bodies(map: &LandmarkMap, size: Option<f64>) -> String {
    let size = number(size.unwrap_or(SIZE_M));
    let (zero, small) = ("{x: 0.0, y: 0.0, z: 0.0}", "{x: 1.0e-6, y: 1.0e-6, z: 1.0e-6}");
    // A standard deviation of 0 is none to an optimizer.
    let noise = |variance: f64| number(variance.max(1e-12).sqrt());
    let mut text = format!(
        "bodies:\n- map:\n    is_static: true\n    type: simple\n    default_tag_size: {size}\n    pose:\n      position: \
         {zero}\n      rotation: {zero}\n      position_noise: {small}\n      rotation_noise: {small}\n    tags:\n"
    );
    for landmark in &map.landmarks {
        let (p, c) = (&landmark.position, &landmark.covariance);
        let [x, y, noise_x, noise_y] = [number(p.x), number(p.y), noise(c.m11), noise(c.m22)];
        text.push_str(&format!(
            "    - id: {}\n      size: {size}\n      pose:\n        position: {{x: {x}, y: {y}, z: 0.0}}\n        \
             rotation: {zero}\n        position_noise: {{x: {noise_x}, y: {noise_y}, z: 1.0}}\n        \
             rotation_noise: {{x: 1.0, y: 1.0, z: 1.0}}\n",
            landmark.id
        ));
    }
    text
}

pub(super) fn write_fiducials(map: &LandmarkMap) -> String {
    let mut text = String::new();
    for landmark in &map.landmarks {
        let (p, c) = (&landmark.position, &landmark.covariance);
        let variance = number(0.5 * (c.m11 + c.m22));
        text.push_str(&format!("{} {} {} 0.0 0.0 0.0 0.0 {variance} 1\n", landmark.id, number(p.x), number(p.y)));
    }
    text
}
