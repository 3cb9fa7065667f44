//! Settings as text: plain YAML or a ROS parameter file in, a ROS parameter file or a Markdown table out.

use lienav_base::settings::{Allowed, Described, Spec, assign, lookup};
use lienav_files::yaml;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_yaml_ng::Value as Yaml;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The key below which a ROS parameter file has the parameters of a node.
const PARAMETERS: &str = "ros__parameters";

/// What `slam_node` has itself in a group of the filter's settings.
const OF_SLAM_NODE: [&str; 2] = ["map.file", "map.autosave_s"];

/// The nodes of this package.
const NODES: [&str; 3] = ["slam_node", "attitude_node", "simulator_node"];

/// Settings that cannot be read: which one, and why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The text is not YAML, or not a mapping of names to values.
    #[error("not a YAML mapping of settings: {0}")]
    Yaml(String),
    /// There is no such setting.
    #[error("there is no setting '{name}'; {}", advice(*.nearest))]
    Unknown {
        /// Its dotted name.
        name: String,
        /// The setting whose name is most like it, if there is one.
        nearest: Option<&'static str>,
    },
    /// One setting is stated twice, nested and dotted.
    #[error("setting '{0}' is stated twice in one section, as a nested and as a dotted name; remove one of them")]
    Twice(String),
    /// A value of the wrong type.
    #[error("setting '{name}': {problem}")]
    Type {
        /// Its dotted name.
        name: String,
        /// What is wrong with the value.
        problem: String,
    },
    /// A number that is not finite, or no value at all.
    #[error("setting '{name}' is {value}; allowed: {allowed}")]
    NotFinite {
        /// Its dotted name.
        name: String,
        /// What was given: NaN, inf, -inf, null, or a list with one of them.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// A ROS parameter file with something outside of all nodes.
    #[error("'{0}' belongs to no node: put it below ros__parameters of a node, or of '/**' for all nodes")]
    OutsideOfNodes(String),
    /// A ROS parameter file for other nodes only.
    #[error(
        "nothing in the file is for '{node}': it has {sections}; call one of them '{node}', or '/**' for all nodes"
    )]
    OtherNodes {
        /// The node that was to be configured.
        node: String,
        /// The nodes that the file is for.
        sections: String,
    },
}

impl SettingsError {
    /// The same of a setting in a group.
    fn in_group(self, group: &str) -> Self {
        let within = |name: String| format!("{group}.{name}");
        match self {
            Self::Unknown { name, nearest } => Self::Unknown { name: within(name), nearest },
            Self::Type { name, problem } => Self::Type { name: within(name), problem },
            Self::NotFinite { name, value, allowed } => Self::NotFinite { name: within(name), value, allowed },
            other => other,
        }
    }
}

fn advice(nearest: Option<&'static str>) -> String {
    nearest.map_or("`lienav parameters` lists them".to_owned(), |name| format!("did you mean '{name}'?"))
}

/// Settings laid over others: `base` with what `yaml` says.
///
/// The text is either a mapping of names, nested or dotted, all of which must exist, or a ROS parameter file. Of
/// that, the sections for all nodes (`/**`) and for `node` in any namespace are read, in this order. Parameters
/// there that are of none of this struct's groups are somebody else's, unless they are one of its names but for a slip
/// of the pen. Ranges are not checked here.
///
/// # Errors
/// Not YAML, an unknown name, a value of the wrong type, a number that is not finite or `null` in place of a value; a
/// ROS parameter file in which nothing is for `node`, or something for no node.
pub fn overlay<T>(base: &T, yaml: &str, node: &str) -> Result<T, SettingsError>
where
    T: Serialize + DeserializeOwned + Described,
{
    let document = parse(yaml)?;
    let mut tree = to_tree(base)?;
    let sections = sections(&document)?;
    if sections.is_empty() {
        for (name, value) in leaves(&document)? {
            put::<T>(&mut tree, &name, &value)?;
        }
        return from_tree(&tree);
    }
    let for_all = sections.iter().filter(|section| section.is_for_all());
    let for_node = sections.iter().filter(|section| section.node() == node);
    let mine: Vec<&Section> = for_all.chain(for_node).collect();
    if mine.is_empty() {
        let names: Vec<String> = sections.iter().map(|section| format!("'{}'", section.name)).collect();
        return Err(SettingsError::OtherNodes { node: node.to_owned(), sections: names.join(", ") });
    }
    for section in mine {
        for (name, value) in leaves(section.parameters)? {
            if !is_foreign::<T>(&tree, &name) {
                put::<T>(&mut tree, &name, &value)?;
            }
        }
    }
    from_tree(&tree)
}

/// The settings of `T` that `yaml` states for `node`, over `base`; everything else in it is somebody else's.
///
/// # Errors
/// Not YAML, or a value of the wrong type.
pub fn overlay_known<T>(base: &T, yaml: &str, node: &str) -> Result<T, SettingsError>
where
    T: Serialize + DeserializeOwned + Described,
{
    let mut tree = to_tree(base)?;
    for (name, value) in stated(&parse(yaml)?, node)? {
        if lookup(&tree, &name).is_some() {
            put::<T>(&mut tree, &name, &value)?;
        }
    }
    from_tree(&tree)
}

/// The settings of `T` that `yaml` states for `node` in a group with this name, over `base`.
///
/// # Errors
/// Not YAML, an unknown name in the group, or a value of the wrong type.
pub fn overlay_group<T>(base: &T, yaml: &str, node: &str, group: &str) -> Result<T, SettingsError>
where
    T: Serialize + DeserializeOwned + Described,
{
    let mut tree = to_tree(base)?;
    for (name, value) in stated(&parse(yaml)?, node)? {
        if let Some(name) = name.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')) {
            put::<T>(&mut tree, name, &value).map_err(|error| error.in_group(group))?;
        }
    }
    from_tree(&tree)
}

/// The names of all settings that `yaml` states for `node`.
///
/// # Errors
/// Not YAML.
pub fn stated_names(yaml: &str, node: &str) -> Result<Vec<String>, SettingsError> {
    Ok(stated(&parse(yaml)?, node)?.into_iter().map(|(name, _)| name).collect())
}

/// Every value that is stated for all nodes, and then for `node`, by dotted name; of plain YAML, all of it.
fn stated(document: &Yaml, node: &str) -> Result<Vec<(String, Yaml)>, SettingsError> {
    let sections = sections(document)?;
    let for_all = sections.iter().filter(|section| section.is_for_all());
    let for_node = sections.iter().filter(|section| section.node() == node);
    let mut parameters: Vec<&Yaml> = for_all.chain(for_node).map(|section| section.parameters).collect();
    if sections.is_empty() {
        parameters.push(document);
    }
    parameters.into_iter().try_fold(Vec::new(), |mut all, parameters| {
        all.extend(leaves(parameters)?);
        Ok(all)
    })
}

/// The sections of a ROS parameter file that are for no node of this package: somebody else's, or a slip of the pen.
/// None where the text is no such file.
pub fn sections_of_others(yaml: &str) -> Vec<String> {
    let found = parse(yaml).and_then(|document| {
        let others = |section: &Section| !section.is_for_all() && !NODES.contains(&section.node());
        Ok(sections(&document)?.into_iter().filter(others).map(|section| section.name).collect())
    });
    found.unwrap_or_default()
}

/// One setting changed: `value` is read as YAML reads a scalar.
///
/// # Errors
/// An unknown name, a value of the wrong type, or a number that is not finite.
pub fn with<T>(base: &T, name: &str, value: &str) -> Result<T, SettingsError>
where
    T: Serialize + DeserializeOwned + Described,
{
    let value = yaml::from_str(value).unwrap_or_else(|_| Yaml::String(value.to_owned()));
    let mut tree = to_tree(base)?;
    put::<T>(&mut tree, name, &value)?;
    from_tree(&tree)
}

/// The settings as a ROS parameter file for every node, each with its description and range in a comment.
pub fn to_ros_yaml<T: Serialize>(settings: &T, specs: &[Spec]) -> String {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    let mut text = String::from("/**:\n  ros__parameters:\n");
    let mut group: Vec<&str> = Vec::new();
    for spec in specs {
        let mut path: Vec<&str> = spec.name.split('.').collect();
        let leaf = path.pop().unwrap_or_default();
        let common = path.iter().zip(&group).take_while(|(a, b)| a == b).count();
        for (depth, name) in path.iter().enumerate().skip(common) {
            line(&mut text, depth, &format!("{name}:"));
        }
        line(&mut text, path.len(), &format!("# {} Allowed: {}.", spec.description, spec.allowed.describe()));
        let value = lookup(&tree, spec.name).unwrap_or(Value::Null);
        line(&mut text, path.len(), &format!("{leaf}: {}", scalar(&value)));
        group = path;
    }
    text
}

/// The settings as a Markdown table: name, default, range, whether it may change while running, meaning.
pub fn to_markdown<T: Serialize>(settings: &T, specs: &[Spec]) -> String {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    let mut text = String::from("| parameter | default | allowed | while running | meaning |\n|---|---|---|---|---|\n");
    for spec in specs {
        let value = lookup(&tree, spec.name).unwrap_or(Value::Null);
        let allowed = spec.allowed.describe().replace('|', "\\|");
        let runtime = if spec.runtime { "yes" } else { "no" };
        let row = format!("| `{}` | {} | {allowed} | {runtime} | {} |\n", spec.name, scalar(&value), spec.description);
        text.push_str(&row);
    }
    text
}

fn line(text: &mut String, depth: usize, content: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:indent$}{content}", "", indent = 4 + 2 * depth);
}

/// A value as YAML 1.1 and 1.2 both read it, a float always with its point: a node takes `5` for an integer.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(word) if word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) => word.clone(),
        Value::Number(number) if number.is_f64() => {
            let shown = number.to_string();
            match shown.split_once('e') {
                Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
                _ => shown,
            }
        }
        other => other.to_string(),
    }
}

/// The parameters for a node, or for all.
struct Section<'a> {
    /// The node's name with its namespace, or a pattern.
    name: String,
    parameters: &'a Yaml,
}

impl Section<'_> {
    fn node(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    fn is_for_all(&self) -> bool {
        matches!(self.node(), "**" | "*")
    }
}

/// The sections of a ROS parameter file, whose namespaces may be nested; none where the document is no such file.
///
/// # Errors
/// The document has sections, and something else besides.
fn sections(document: &Yaml) -> Result<Vec<Section<'_>>, SettingsError> {
    fn walk<'a>(prefix: &str, node: &'a Yaml, found: &mut Vec<Section<'a>>, outside: &mut Vec<String>) {
        let entries = node.as_mapping().into_iter().flatten();
        for (key, value) in entries.filter_map(|(key, value)| Some((key.as_str()?, value))) {
            if key == PARAMETERS {
                found.push(Section { name: prefix.to_owned(), parameters: value });
                continue;
            }
            let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}/{key}") };
            let (sections, others) = (found.len(), outside.len());
            walk(&name, value, found, outside);
            if found.len() == sections {
                outside.truncate(others);
                outside.push(name);
            }
        }
    }
    let (mut found, mut outside) = (Vec::new(), Vec::new());
    walk("", document, &mut found, &mut outside);
    match outside.into_iter().next() {
        Some(name) if !found.is_empty() => Err(SettingsError::OutsideOfNodes(name)),
        _ => Ok(found),
    }
}

/// Every value that is no mapping, by dotted name.
///
/// # Errors
/// The document is not a mapping, or has a key that is no name.
fn leaves(document: &Yaml) -> Result<Vec<(String, Yaml)>, SettingsError> {
    fn walk(prefix: &str, node: &Yaml, found: &mut Vec<(String, Yaml)>) -> Result<(), SettingsError> {
        let Yaml::Mapping(entries) = node else {
            found.push((prefix.to_owned(), node.clone()));
            return Ok(());
        };
        for (key, value) in entries {
            let key =
                key.as_str().ok_or_else(|| SettingsError::Yaml(format!("a key below '{prefix}' is not a text")))?;
            let name = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
            walk(&name, value, found)?;
        }
        Ok(())
    }
    let mut found = Vec::new();
    match document {
        Yaml::Null => Ok(found),
        Yaml::Mapping(_) => {
            walk("", document, &mut found)?;
            let mut seen = BTreeSet::new();
            match found.iter().find(|(name, _)| !seen.insert(name.as_str())) {
                Some((twice, _)) => Err(SettingsError::Twice(twice.clone())),
                None => Ok(found),
            }
        }
        _ => Err(SettingsError::Yaml("the document is a single value or a list".into())),
    }
}

/// Whether a parameter of a section belongs to none of the groups of these settings, and not for a slip of the pen.
fn is_foreign<T: Described>(tree: &Value, name: &str) -> bool {
    let knows_group = name.split('.').next().is_some_and(|group| tree.get(group).is_some());
    let is_anothers = OF_SLAM_NODE.contains(&name) || lienav_slam::SPECS.iter().any(|spec| spec.name == name);
    if is_anothers && lookup(tree, name).is_none() {
        return true;
    }
    !knows_group && nearest::<T>(name, (name.len() / 4).min(2)).is_none()
}

/// Puts a value in its place, if the settings can still be read with it.
fn put<T: DeserializeOwned + Described>(tree: &mut Value, name: &str, value: &Yaml) -> Result<(), SettingsError> {
    let old = lookup(tree, name);
    if old.as_ref().is_some_and(Value::is_object) && value.is_null() {
        // An empty group in YAML: `motion:` and nothing below it.
        return Ok(());
    }
    let Some(old) = old.filter(|old| !old.is_object()) else {
        return Err(SettingsError::Unknown { name: name.to_owned(), nearest: nearest::<T>(name, name.len() / 3) });
    };
    if let Some(value) = not_finite(value, old.is_string()) {
        let spec = T::SPECS.iter().find(|spec| spec.name == name);
        let allowed = match spec.map(|spec| spec.allowed) {
            Some(Allowed::Any) | None if !old.is_string() && !old.is_boolean() => "finite numbers".to_owned(),
            allowed => allowed.unwrap_or(Allowed::Any).describe(),
        };
        return Err(SettingsError::NotFinite { name: name.to_owned(), value, allowed });
    }
    let wrong_type =
        |error: &dyn std::fmt::Display| SettingsError::Type { name: name.to_owned(), problem: one_line(error) };
    let mut changed = tree.clone();
    assign(&mut changed, name, serde_json::to_value(value).map_err(|e| wrong_type(&e))?);
    serde_json::from_value::<T>(changed.clone()).map_err(|e| wrong_type(&e))?;
    *tree = changed;
    Ok(())
}

/// What of `value` is no finite number, as text. YAML has `.nan` and `.inf`; what others write for them is a word to
/// it, which a setting that is text may be.
fn not_finite(value: &Yaml, is_text: bool) -> Option<String> {
    match value {
        Yaml::Null => Some("null".into()),
        Yaml::Number(number) => number.as_f64().filter(|x| !x.is_finite()).map(|x| x.to_string()),
        Yaml::String(word) if !is_text => word.parse::<f64>().ok().filter(|x| !x.is_finite()).map(|_| word.clone()),
        Yaml::Sequence(items) => {
            items.iter().find_map(|item| not_finite(item, is_text)).map(|item| format!("a list with {item}"))
        }
        _ => None,
    }
}

/// The setting whose name takes the fewest slips of the pen to become `name`, where `most` are enough.
fn nearest<T: Described>(name: &str, most: usize) -> Option<&'static str> {
    let distances = T::SPECS.iter().map(|spec| (distance(spec.name, name), spec.name));
    distances.min_by_key(|(distance, _)| *distance).filter(|(distance, _)| *distance <= most).map(|(_, name)| name)
}

/// How many letters have to be put in, left out, exchanged or swapped with their neighbour to get from `a` to `b`
/// (optimal string alignment).
#[allow(clippy::indexing_slicing, reason = "i and j count from 1 to the lengths, and each row has one number more")]
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let exchanged = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = exchanged.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

fn parse(yaml: &str) -> Result<Yaml, SettingsError> {
    yaml::from_str(yaml).map_err(|e| SettingsError::Yaml(one_line(&e)))
}

fn to_tree<T: Serialize>(settings: &T) -> Result<Value, SettingsError> {
    serde_json::to_value(settings).map_err(|e| SettingsError::Yaml(one_line(&e)))
}

fn from_tree<T: DeserializeOwned>(tree: &Value) -> Result<T, SettingsError> {
    serde_json::from_value(tree.clone()).map_err(|e| SettingsError::Yaml(one_line(&e)))
}

/// What an error says, as one line.
pub fn one_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "settings_file_tests.rs"]
mod tests;
