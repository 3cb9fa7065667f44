//! Many runs of one scenario through several filters, and what they come to.
//!
//! Run k of an [`Experiment`] draws world, path noise and sensor noise from a seed of its own, and every filter gets
//! the same input: differences between filters are paired. Runs share the processor's cores; they are added up in
//! their order, so the numbers are the same, to the last bit, for any number of threads. Only times are not; a report
//! without them is the same bytes.
//!
//! Runs may also be made on several machines: [`make`] writes a [`Shard`] of them to a file, [`merge`] adds the shards
//! up to what one machine gives, to the last bit.

mod bootstrap;
mod error;
mod experiment;
mod folder;
mod metrics;
mod record;
mod report;
mod shard;
#[cfg(test)]
mod shard_tests;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod trial;

pub use bootstrap::{Interval, interval};
pub use error::ExperimentError;
pub use experiment::{Experiment, Outcome, run_seeds};
pub use folder::write;
pub use metrics::{METRICS, Metric};
pub use record::RunRecord;
pub use report::{Difference, FilterReport, Report, Value, difference};
pub use shard::{Made, MergeError, Shard, ShardError, make, merge, merge_records};
pub use tally::{FilterOutcome, RunSummary, StepSummary};
pub use text::number;
pub use text::{table, to_text};
