//! Checks of arguments that several commands have.

use super::failure::Failure;
use std::collections::BTreeSet;

/// Names are those of columns and folders.
///
/// # Errors
/// The first name that comes a second time.
pub(super) fn refuse_twins<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Failure::WrongCall(format!("'{name}' is given twice; name each filter or pose once")));
        }
    }
    Ok(())
}

pub(super) fn at_least_one() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=1_000_000)
}
