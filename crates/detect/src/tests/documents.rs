//! docs/detector.md says what the code does.

use crate::{Config, Rejection, SPECS};
use lienav_base::intake::Reason;

const TEXT: &str = include_str!("../../../../docs/detector.md");

#[test]
fn every_setting_is_there_with_its_default() {
    let defaults = serde_json::to_value(Config::default()).unwrap();
    for spec in SPECS {
        let row = TEXT.lines().find(|line| line.starts_with(&format!("| `{}` |", spec.name)));
        let row = row.unwrap_or_else(|| panic!("docs/detector.md lacks a row for '{}'", spec.name));
        let stated: f64 = row.split('|').nth(2).unwrap().trim().parse().unwrap();
        let pointer = format!("/{}", spec.name.replace('.', "/"));
        assert_eq!(defaults.pointer(&pointer).and_then(|value| value.as_f64()), Some(stated), "{row}");
    }
}

#[test]
fn every_rejection_is_there() {
    for word in Rejection::ALL.iter().map(|rejection| rejection.word()) {
        assert!(TEXT.contains(&format!("\n| `{word}` |")), "docs/detector.md says nothing of '{word}'");
    }
}
