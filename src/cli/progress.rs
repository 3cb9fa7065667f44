//! Progress on standard error where that is a terminal, nothing elsewhere.

use super::failure::harmless;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar over `length` pieces of work.
pub(super) fn bar(length: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what.to_owned());
    let style = ProgressStyle::with_template("{msg:16} {wide_bar} {percent:>3} %  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A sign of life for work of unknown length.
pub(super) fn spinner(what: String) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(harmless(&what));
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}
