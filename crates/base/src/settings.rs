//! Everything that can be set, by dotted name: what it means, its unit, its range, and whether it may change while
//! running. The same table serves range checks, ROS parameter descriptors and the tables in the documents.
//!
//! A setting stands in one place: a line of [`settings!`](crate::settings!), from which the field of the struct, its
//! documentation, its default and its [`Spec`] are made. [`words!`](crate::words!) does the same for an enum that is a
//! word in a file.

#[doc(hidden)]
pub mod table;

mod declare;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use std::ops::RangeInclusive;

/// A struct of settings that has a table of them, as [`settings!`](crate::settings!) makes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no struct of settings",
    note = "a line without a default is a group: give it a default, or declare its type with `settings!`"
)]
pub trait Described {
    /// Every setting, in the order of the fields. The names are those of the serialised struct, dotted.
    const SPECS: &'static [Spec];
}

/// What is known about one setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Dotted name, as in a ROS parameter file: `sensor.range_std_m`.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub description: &'static str,
    /// Its unit as REP 103 has it, in ASCII: `m`, `rad/s`, `m/s^2`. Empty for a pure number and for what is no number.
    pub unit: &'static str,
    /// What values are allowed.
    pub allowed: Allowed,
    /// Whether it may change while running.
    pub runtime: bool,
}

/// The words of a line of [`settings!`](crate::settings!), each of which changes one thing of this default: no unit,
/// any value allowed, not to be changed while running.
impl Spec {
    /// A setting of which only name and meaning are known.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, unit: "", allowed: Allowed::Any, runtime: false }
    }

    /// A finite number in this closed interval.
    ///
    /// # Panics
    /// The interval is empty: in a table, an error of the compiler.
    pub const fn within(mut self, range: RangeInclusive<f64>) -> Self {
        assert!(*range.start() <= *range.end(), "the interval of a setting is empty");
        self.allowed = Allowed::Range(*range.start(), *range.end());
        self
    }

    /// One of these words.
    pub const fn one_of(mut self, words: &'static [&'static str]) -> Self {
        self.allowed = Allowed::Words(words);
        self
    }

    /// A list of names.
    pub const fn names(mut self) -> Self {
        self.allowed = Allowed::Names;
        self
    }

    /// The unit of the number.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// It may change while running.
    pub const fn runtime(mut self) -> Self {
        self.runtime = true;
        self
    }
}

/// The values a setting may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// Any value of its type.
    Any,
    /// A finite number in this closed interval.
    Range(f64, f64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A list of names, which may be empty.
    Names,
}

impl Allowed {
    /// In words, for error messages and tables.
    pub fn describe(&self) -> String {
        match self {
            Self::Any => "any".into(),
            Self::Range(low, high) => format!("{low} … {high}"),
            Self::Words(words) => words.join(" | "),
            Self::Names => "a list of names".into(),
        }
    }

    fn admits(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Range(low, high) => value.as_f64().is_some_and(|x| (*low..=*high).contains(&x)),
            Self::Words(words) => value.as_str().is_some_and(|w| words.contains(&w)),
            Self::Names => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
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
