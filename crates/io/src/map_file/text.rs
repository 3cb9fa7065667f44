//! The map as YAML. A document that is YAML is searched to its end, so that all problems are told at once, each with
//! its line.

use crate::settings_file::{distance, one_line};
use crate::yaml;
use lienav_slam::{LandmarkMap, MapLandmark};
use nalgebra::{Matrix2, Vector2};
use serde_yaml_ng::{Mapping, Value as Yaml};
use std::collections::HashMap;
use std::fmt;

/// The version of the format that is written, and the only one there is.
pub const VERSION: u64 = 1;
/// No map has more landmarks.
pub const MAX_LANDMARKS: usize = 100_000;
/// Coordinates beyond this are absurd, m: those of a map of the world (UTM) are within.
pub const MAX_COORDINATE_M: f64 = 1e7;
/// Standard deviations beyond this are absurd, m.
pub const MAX_SIGMA_M: f64 = 1e5;
/// The identity that a sensor gives to what it does not know; no landmark has it.
pub const UNKNOWN_ID: u32 = u32::MAX;
/// Landmarks that come without an identity get one from here on: no sensor reports it.
pub const OWN_IDS: u32 = 0x8000_0000;

const KEYS: &[&str] = &["lienav_map", "frame", "sigma_m", "count", "state", "landmarks"];
const LANDMARK_KEYS: &[&str] = &["id", "class", "x_m", "y_m", "sigma_m", "covariance_m2"];
const STATE_KEYS: &[&str] = &["file", "bytes", "crc32"];

/// Something that is wrong with a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The state beside a map, as the map names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Its name, in the folder of the map.
    pub file: String,
    /// Its length, bytes.
    pub bytes: u64,
    /// Its checksum.
    pub crc32: u32,
}

/// What a map says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The frame that positions are in.
    pub frame: Option<String>,
    /// The landmarks; their joint covariance is elsewhere.
    pub map: LandmarkMap,
    /// Where that is.
    pub state: Option<Companion>,
    /// How many landmarks came without an identity.
    pub unnamed: usize,
}

/// Reads a map.
///
/// # Errors
/// Everything that is wrong with it, in the order of the lines.
pub fn parse(text: &str) -> Result<Parsed, Vec<Problem>> {
    let document: Yaml = yaml::from_str(text).map_err(|error| {
        let what = format!("not YAML: {}; correct the line, or take a copy of the map", one_line(&error));
        vec![Problem { line: error.line(), what }]
    })?;
    let Yaml::Mapping(document) = &document else {
        return Err(vec![Problem { line: None, what: foreign("it is no YAML mapping") }]);
    };
    let mut reader = Reader { lines: key_lines(text), problems: Vec::new() };
    let parsed = reader.document(document, text);
    if reader.problems.is_empty() {
        return Ok(parsed);
    }
    reader.problems.sort_by_key(|problem| problem.line.unwrap_or_default());
    Err(reader.problems)
}

fn foreign(why: &str) -> String {
    format!(
        "this is no map of lienav: {why}; a map begins with 'lienav_map: {VERSION}', and `lienav map convert` makes \
         one of CSV, GeoJSON and the files of other packages"
    )
}

/// The line of each key at the left margin.
fn key_lines(text: &str) -> HashMap<String, usize> {
    let key = |(k, line): (usize, &str)| {
        let key = line.split_once(':')?.0;
        KEYS.contains(&key).then(|| (key.to_owned(), k + 1))
    };
    text.lines().enumerate().filter_map(key).collect()
}

/// The line of each of `count` landmarks, where each begins on a line of its own.
fn landmark_lines(text: &str, count: usize) -> Option<Vec<usize>> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with("landmarks:")).skip(1);
    let is_item =
        |line: &str| line.trim_start().strip_prefix('-').is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut margin = None;
    let mut found = Vec::with_capacity(count);
    for (k, line) in &mut lines {
        let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
        let here = *margin.get_or_insert(indent(line));
        if is_blank {
            if found.is_empty() {
                margin = None;
            }
            continue;
        }
        match indent(line).cmp(&here) {
            std::cmp::Ordering::Equal if is_item(line) => found.push(k + 1),
            std::cmp::Ordering::Greater => {}
            _ => break,
        }
    }
    (found.len() == count).then_some(found)
}

/// Collects what is wrong.
#[derive(Default)]
pub(super) struct Reader {
    lines: HashMap<String, usize>,
    pub problems: Vec<Problem>,
}

/// A landmark whose identity may be open.
struct Entry {
    id: Option<u32>,
    landmark: MapLandmark,
}

impl Reader {
    fn document(&mut self, document: &Mapping, text: &str) -> Parsed {
        let Some(version) = document.get("lienav_map") else {
            self.problems.push(Problem { line: None, what: foreign("it has no key 'lienav_map'") });
            return Parsed::default();
        };
        if version.as_u64() != Some(VERSION) {
            let what = format!(
                "lienav_map is {}, and this lienav reads version {VERSION}; {}",
                shown(version),
                if version.as_u64().is_some_and(|version| version > VERSION) {
                    "read it with a newer lienav"
                } else {
                    "write 'lienav_map: 1'"
                }
            );
            self.say::<()>("lienav_map", what);
            return Parsed::default();
        }
        for what in unknown_keys(document, KEYS) {
            self.problems.push(Problem { line: None, what });
        }
        let frame = self.frame(document.get("frame"));
        let sigma = document.get("sigma_m").and_then(|value| match sigma(value) {
            Ok(sigma) => Some(sigma),
            Err(what) => self.say("sigma_m", what),
        });
        let state = document.get("state").and_then(|value| match companion(value) {
            Ok(state) => Some(state),
            Err(what) => self.say("state", what),
        });
        let entries = match document.get("landmarks") {
            Some(Yaml::Sequence(entries)) => entries.as_slice(),
            None => {
                let what = "there is no key 'landmarks': the file was cut off, or lists none; an empty map has \
                            'landmarks: []'";
                self.problems.push(Problem { line: None, what: what.to_owned() });
                &[]
            }
            Some(other) => {
                self.say::<()>("landmarks", format!("landmarks is {}; give a list, [] for none", shown(other)));
                &[]
            }
        };
        if entries.len() > MAX_LANDMARKS {
            let what = format!("there are {} landmarks; no more than {MAX_LANDMARKS} are allowed", entries.len());
            self.say::<()>("landmarks", what);
            return Parsed::default();
        }
        if let Some(count) = document.get("count")
            && count.as_u64() != Some(entries.len() as u64)
        {
            let what = format!(
                "count is {}, but there are {} landmarks: the file was cut off, or edited; if it is complete, remove \
                 this line",
                shown(count),
                entries.len()
            );
            self.say::<()>("count", what);
        }
        let (landmarks, unnamed) = self.landmarks(entries, sigma, landmark_lines(text, entries.len()));
        Parsed { frame, map: LandmarkMap { landmarks, joint: None, near: None }, state, unnamed }
    }

    /// Takes note of a problem with a key of the document.
    fn say<T>(&mut self, key: &str, what: String) -> Option<T> {
        self.problems.push(Problem { line: self.lines.get(key).copied(), what });
        None
    }

    fn frame(&mut self, value: Option<&Yaml>) -> Option<String> {
        match value {
            None => None,
            Some(Yaml::String(frame)) if !frame.is_empty() => Some(frame.clone()),
            Some(other) => self.say("frame", format!("frame is {}; give a name, or leave the line out", shown(other))),
        }
    }

    /// The landmarks of a list, and how many of them came without an identity.
    pub fn landmarks(
        &mut self,
        entries: &[Yaml],
        sigma: Option<f64>,
        lines: Option<Vec<usize>>,
    ) -> (Vec<MapLandmark>, usize) {
        let mut seen: HashMap<u32, usize> = HashMap::with_capacity(entries.len());
        let mut found = Vec::with_capacity(entries.len());
        for (k, entry) in entries.iter().enumerate() {
            let line = lines.as_ref().and_then(|lines| lines.get(k).copied());
            let place = |k: usize| match lines.as_ref().and_then(|lines| lines.get(k)) {
                Some(line) => format!("line {line}"),
                None => format!("landmark {}", k + 1),
            };
            let mut say = |what: String| {
                let what = if line.is_some() { what } else { format!("landmark {}: {what}", k + 1) };
                self.problems.push(Problem { line, what });
            };
            match self::landmark(entry, sigma) {
                Ok(entry) => {
                    if let Some(id) = entry.id
                        && let Some(other) = seen.insert(id, k)
                    {
                        say(format!("id {id} is also that of {}; give each landmark an id of its own", place(other)));
                    }
                    found.push(entry);
                }
                Err(problems) => problems.into_iter().for_each(say),
            }
        }
        let mut next = OWN_IDS;
        let mut unnamed = 0;
        let landmarks = found.into_iter().map(|Entry { id, landmark }| {
            let id = id.unwrap_or_else(|| {
                while seen.contains_key(&next) {
                    next += 1;
                }
                unnamed += 1;
                next += 1;
                next - 1
            });
            MapLandmark { id, ..landmark }
        });
        (landmarks.collect(), unnamed)
    }
}

/// One landmark, or everything that is wrong with it.
fn landmark(entry: &Yaml, default_sigma: Option<f64>) -> Result<Entry, Vec<String>> {
    let Yaml::Mapping(entry) = entry else {
        return Err(vec![format!(
            "a landmark is {}; give {{id: 7, x_m: 1.25, y_m: -3.5, sigma_m: 0.02}}",
            shown(entry)
        )]);
    };
    let mut problems: Vec<String> = unknown_keys(entry, LANDMARK_KEYS).collect();
    let mut note = |result: Result<f64, String>| result.map_err(|what| problems.push(what)).unwrap_or_default();
    let [x, y] = ["x_m", "y_m"].map(|key| {
        note(match entry.get(key) {
            None => Err(format!("{key} is missing; give it in metres")),
            Some(value) => within(key, value, -MAX_COORDINATE_M, MAX_COORDINATE_M),
        })
    });
    let [id, class] = [("id", UNKNOWN_ID - 1), ("class", u32::MAX)].map(|(key, most)| {
        let value = entry.get(key)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= most);
        if number.is_none() {
            problems.push(format!("{key} is {}; give a whole number from 0 to {most}", shown(value)));
        }
        number
    });
    let covariance = match (entry.get("sigma_m"), entry.get("covariance_m2")) {
        (Some(_), Some(_)) => Err("both sigma_m and covariance_m2 are given; leave one of them out".to_owned()),
        (Some(value), None) => sigma(value).map(round),
        (None, Some(value)) => self::covariance(value),
        (None, None) => default_sigma.map(round).ok_or_else(|| {
            "sigma_m is missing; give the standard deviation of either coordinate in metres here, or above the list \
             for all landmarks"
                .to_owned()
        }),
    };
    let covariance = covariance.map_err(|what| problems.push(what)).unwrap_or_default();
    if !problems.is_empty() {
        return Err(problems);
    }
    let landmark = MapLandmark { id: 0, class: class.unwrap_or(0), position: Vector2::new(x, y), covariance };
    Ok(Entry { id, landmark })
}

fn round(sigma: f64) -> Matrix2<f64> {
    Matrix2::identity() * (sigma * sigma)
}

fn within(key: &str, value: &Yaml, least: f64, most: f64) -> Result<f64, String> {
    let number = value.as_f64().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{key} is {}; allowed: {least} … {most}", shown(value)))
}

fn sigma(value: &Yaml) -> Result<f64, String> {
    within("sigma_m", value, 0.0, MAX_SIGMA_M)
}

fn covariance(value: &Yaml) -> Result<Matrix2<f64>, String> {
    let numbers: Option<Vec<f64>> = value
        .as_sequence()
        .and_then(|items| items.iter().map(|item| item.as_f64().filter(|x| x.is_finite())).collect());
    let Some([xx, xy, yy]) = numbers.as_deref() else {
        return Err(format!("covariance_m2 is {}; give [xx, xy, yy] in square metres", shown(value)));
    };
    let most = MAX_SIGMA_M * MAX_SIGMA_M;
    if !(0.0..=most).contains(xx) || !(0.0..=most).contains(yy) {
        return Err(format!("covariance_m2 has the variances {xx} and {yy}; allowed: 0 … {most}"));
    }
    if xy * xy > xx * yy * (1.0 + 1e-9) {
        return Err(format!(
            "covariance_m2 is {}, which is not positive semidefinite: xy² exceeds xx·yy",
            shown(value)
        ));
    }
    Ok(Matrix2::new(*xx, *xy, *xy, *yy))
}

fn companion(value: &Yaml) -> Result<Companion, String> {
    let remedy = "it is written by programs; remove it to use the landmarks alone";
    let entry = value.as_mapping().ok_or_else(|| format!("state is {}; {remedy}", shown(value)))?;
    if let Some(what) = unknown_keys(entry, STATE_KEYS).next() {
        return Err(format!("state: {what}; {remedy}"));
    }
    let file = entry.get("file").and_then(Yaml::as_str).filter(|name| is_bare_name(name));
    let file = file.ok_or_else(|| format!("state has no 'file', or one that is not in the same folder; {remedy}"))?;
    let bytes = entry.get("bytes").and_then(Yaml::as_u64).ok_or_else(|| format!("state has no 'bytes'; {remedy}"))?;
    let crc32 = entry.get("crc32").and_then(Yaml::as_str).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let crc32 = crc32.ok_or_else(|| format!("state has no 'crc32' of eight hexadecimal digits; {remedy}"))?;
    Ok(Companion { file: file.to_owned(), bytes, crc32 })
}

fn is_bare_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && name != ".."
}

/// A sentence about each key that is none of `known`.
fn unknown_keys<'a>(mapping: &'a Mapping, known: &'static [&'static str]) -> impl Iterator<Item = String> + 'a {
    mapping.keys().filter_map(|key| match key.as_str() {
        Some(key) if known.contains(&key) => None,
        Some(key) => {
            let nearest = known.iter().min_by_key(|word| distance(word, key)).filter(|word| distance(word, key) <= 3);
            let advice = match nearest {
                Some(word) => format!("did you mean '{word}'?"),
                None => format!("there are: {}", known.join(", ")),
            };
            Some(format!("there is no key '{key}'; {advice}"))
        }
        None => Some(format!(
            "there is no key {}; a comma separates entries: write decimals with a point, and names as words",
            shown(key)
        )),
    })
}

/// A value in a sentence, not too long.
fn shown(value: &Yaml) -> String {
    const MOST: usize = 40;
    let text = match value {
        Yaml::Null => "empty".to_owned(),
        Yaml::String(text) => format!("'{text}'"),
        other => serde_json::to_string(other).unwrap_or_else(|_| match other {
            Yaml::Mapping(_) => "a mapping".to_owned(),
            _ => "something else".to_owned(),
        }),
    };
    let text = if matches!(value, Yaml::Number(number) if number.as_f64().is_some_and(|x| !x.is_finite())) {
        "not a finite number".to_owned()
    } else {
        text
    };
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST).chain(['…']).collect() }
}

/// A map as text; [`parse`] gives the same landmarks back, bit for bit.
pub fn to_text(map: &LandmarkMap, frame: Option<&str>, state: Option<&Companion>) -> String {
    let mut text = format!(
        "# A map of landmarks. Positions and standard deviations (sigma_m) in m, covariances [xx, xy, yy] in m².\n\
         lienav_map: {VERSION}\n"
    );
    if let Some(frame) = frame {
        // JSON's quotes are YAML's.
        text.push_str(&format!("frame: {}\n", serde_json::Value::from(frame)));
    }
    if let Some(Companion { file, bytes, crc32 }) = state {
        let file = serde_json::Value::from(file.as_str());
        text.push_str(&format!("state: {{file: {file}, bytes: {bytes}, crc32: \"{crc32:08x}\"}}\n"));
    }
    text.push_str(&format!("count: {}\n", map.landmarks.len()));
    text.push_str(if map.landmarks.is_empty() { "landmarks: []\n" } else { "landmarks:\n" });
    for MapLandmark { id, class, position, covariance: c } in &map.landmarks {
        let class = if *class == 0 { String::new() } else { format!(", class: {class}") };
        let sigma = c.m11.max(0.0).sqrt();
        let uncertainty = if round(sigma) == *c {
            format!("sigma_m: {}", number(sigma))
        } else {
            format!("covariance_m2: [{}, {}, {}]", number(c.m11), number(c.m21), number(c.m22))
        };
        let [x, y] = [position.x, position.y].map(number);
        text.push_str(&format!("- {{id: {id}{class}, x_m: {x}, y_m: {y}, {uncertainty}}}\n"));
    }
    text
}

/// The shortest text that is read as this number again, also by YAML 1.1: always with a point.
pub fn number(x: f64) -> String {
    let shown = format!("{x:?}");
    match shown.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => shown,
    }
}
