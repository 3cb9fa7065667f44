//! Many runs of one scenario through several filters, and what they come to.
//!
//! Run k of an [`Experiment`] draws world, path noise and sensor noise from a seed of its own, and every filter gets
//! the same input: differences between filters are paired. Runs share the processor's cores; they are added up in
//! their order, so the numbers are the same, to the last bit, for any number of threads. Only times are not; a report
//! without them is the same bytes.

mod bootstrap;
mod experiment;
mod folder;
mod metrics;
mod report;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod trial;

pub use bootstrap::{Interval, interval};
pub use experiment::{Experiment, ExperimentError, Outcome, run_seeds};
pub use folder::write;
pub use metrics::{METRICS, Metric};
pub use report::{Difference, FilterReport, Report, Value, difference};
pub use tally::{FilterOutcome, RunSummary, StepSummary};
pub use text::{table, to_text};
