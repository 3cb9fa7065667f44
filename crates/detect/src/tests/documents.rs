//! docs/detector.md says what the code does.

use crate::Rejection;
use lienav_base::intake::Reason;

const TEXT: &str = include_str!("../../../../docs/detector.md");

#[test]
fn every_rejection_is_there() {
    for word in Rejection::ALL.iter().map(|rejection| rejection.word()) {
        assert!(TEXT.contains(&format!("\n| `{word}` |")), "docs/detector.md says nothing of '{word}'");
    }
}
