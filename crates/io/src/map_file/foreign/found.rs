//! What a text of another form comes to, before it is a map.

use crate::map_file::Problem;
use serde_yaml_ng::{Mapping, Value as Yaml};

/// Landmarks as the text of a map has them.
#[derive(Default)]
pub(super) struct Found {
    pub entries: Vec<Mapping>,
    /// Of each, where they are known.
    pub lines: Vec<usize>,
    pub notes: Vec<String>,
}

pub(super) fn problem(line: Option<usize>, what: impl Into<String>) -> Vec<Problem> {
    vec![Problem { line, what: what.into() }]
}

/// Whatever a text is to YAML: a number if it is one.
pub(super) fn scalar(text: &str) -> Yaml {
    let whole = text.parse::<u64>().ok().map(Yaml::from);
    let whole = whole.or_else(|| text.parse::<i64>().ok().map(Yaml::from));
    whole.or_else(|| text.parse::<f64>().ok().map(Yaml::from)).unwrap_or_else(|| Yaml::String(text.to_owned()))
}
