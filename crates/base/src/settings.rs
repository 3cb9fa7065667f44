//! Everything that can be set, by dotted name: what it means, its unit, its range, and whether it may change while
//! running. The same table serves range checks, ROS parameter descriptors and the tables in the README.

use serde::Serialize;
use serde_json::Value;

/// What is known about one setting.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Dotted name, as in a ROS parameter file: `sensor.range_std_m`.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub description: &'static str,
    /// What values are allowed.
    pub allowed: Allowed,
    /// Whether it may change while running.
    pub runtime: bool,
}

/// A line of a table: name, what is allowed, whether it may change while running, what it means.
pub const fn spec(name: &'static str, allowed: Allowed, runtime: bool, description: &'static str) -> Spec {
    Spec { name, description, allowed, runtime }
}

/// The same of a setting that may not change while running.
pub const fn fixed(name: &'static str, allowed: Allowed, description: &'static str) -> Spec {
    spec(name, allowed, false, description)
}

/// The values a setting may take.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    /// Any value of its type.
    Any,
    /// A finite number in this closed interval.
    Range(f64, f64),
    /// One of these words.
    Words(&'static [&'static str]),
}

impl Allowed {
    /// In words, for error messages and tables.
    pub fn describe(&self) -> String {
        match self {
            Self::Any => "any".into(),
            Self::Range(low, high) => format!("{low} … {high}"),
            Self::Words(words) => words.join(" | "),
        }
    }

    fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Range(low, high) => value.as_f64().is_some_and(|x| (*low..=*high).contains(&x)),
            Self::Words(words) => value.as_str().is_some_and(|w| words.contains(&w)),
        }
    }
}

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("parameter '{name}' is {value}; allowed: {allowed}")]
pub struct OutOfRange {
    /// Dotted name.
    pub name: &'static str,
    /// The value found, as text.
    pub value: String,
    /// What would have been allowed.
    pub allowed: String,
}

/// The value at a dotted name of any serialisable settings struct.
pub fn lookup(tree: &Value, name: &str) -> Option<Value> {
    name.split('.').try_fold(tree, |node, key| node.get(key)).cloned()
}

/// Puts `value` at a dotted name. Returns false, and changes nothing, where the tree has no such name.
pub fn assign(tree: &mut Value, name: &str, value: Value) -> bool {
    let mut node = tree;
    for key in name.split('.') {
        match node.get_mut(key) {
            Some(next) => node = next,
            None => return false,
        }
    }
    *node = value;
    true
}

/// Whether settings may change from `old` to `new` while a node runs.
///
/// # Errors
/// The sentence to show the user: the first one that needs a restart.
pub fn check_change<T: Serialize>(old: &T, new: &T, specs: &[Spec]) -> Result<(), String> {
    let (Ok(old), Ok(new)) = (serde_json::to_value(old), serde_json::to_value(new)) else {
        return Err("the settings cannot be compared".into());
    };
    let fixed = |spec: &&Spec| !spec.runtime && lookup(&old, spec.name) != lookup(&new, spec.name);
    match specs.iter().find(fixed) {
        Some(spec) => Err(format!("parameter '{}' cannot change while running; restart with the new value", spec.name)),
        None => Ok(()),
    }
}

/// Checks every setting of `settings` that `specs` names.
///
/// # Errors
/// The first one that is out of range, with name, value and allowed values. A non-finite number is out of every range.
pub fn check<T: Serialize>(settings: &T, specs: &[Spec]) -> Result<(), OutOfRange> {
    let tree = serde_json::to_value(settings).unwrap_or_default();
    for spec in specs {
        let value = lookup(&tree, spec.name).unwrap_or(Value::Null);
        if !spec.allowed.admits(&value) {
            let shown = if value.is_null() { "not a number".to_owned() } else { value.to_string() };
            return Err(OutOfRange { name: spec.name, value: shown, allowed: spec.allowed.describe() });
        }
    }
    Ok(())
}
