//! Damaged and hostile input for every parser, the conversion and the whole filter.
//!
//! A [`Target`] is a plain function of bytes that panics where something is broken, with a few inputs to begin with.
//! Three drivers call it: `cargo test --test fuzz` for seconds, in CI; `cargo run --release --example fuzz -- all
//! --runs 100000` for as long as one likes, on stable Rust and reproducible from a seed; and cargo-fuzz, in the folder
//! `cargo-fuzz`, which is guided by coverage and needs a nightly compiler.

mod bytes;
mod files;
mod filter;
mod maps;
mod messages;
mod mutate;

pub use files::keep;
pub use filter::{EVENTS, USED};
pub use maps::RESUMED;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One thing that is fed with bytes.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Takes any bytes; panics where an invariant does not hold.
    pub run: fn(&[u8]),
    /// Inputs to begin with.
    pub corpus: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 12] = [
    Target { name: "mcap", run: files::mcap, corpus: files::mcap_corpus },
    Target { name: "sqlite", run: files::sqlite, corpus: files::sqlite_corpus },
    Target { name: "metadata", run: files::metadata, corpus: files::metadata_corpus },
    Target { name: "params", run: files::params, corpus: files::settings_corpus },
    Target { name: "settings", run: files::settings, corpus: files::settings_corpus },
    Target { name: "data_sets", run: files::data_sets, corpus: files::data_sets_corpus },
    Target { name: "map_file", run: maps::map_file, corpus: maps::map_file_corpus },
    Target { name: "map_state", run: maps::map_state, corpus: maps::map_state_corpus },
    Target { name: "cdr", run: messages::cdr, corpus: messages::corpus },
    Target { name: "cloud", run: messages::cloud, corpus: messages::clouds },
    Target { name: "conversion", run: messages::conversion, corpus: messages::corpus },
    Target { name: "filter", run: filter::filter, corpus: filter::corpus },
];

/// An input on which a target panicked.
#[derive(Debug)]
pub struct Finding {
    /// Which one of the run, from 0.
    pub index: u64,
    /// The input.
    pub input: Vec<u8>,
}

/// Runs a target on `runs` inputs: those of its corpus, and damaged ones made of them. The same seed makes the same
/// inputs.
///
/// # Errors
/// The first input on which it panicked; what it said is on standard error.
pub fn run(target: &Target, seed: u64, runs: u64) -> Result<(), Finding> {
    let corpus = (target.corpus)();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for index in 0..runs {
        let input = match corpus.get(index as usize) {
            Some(whole) => whole.clone(),
            None => mutate::damaged(&corpus, &mut random),
        };
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            return Err(Finding { index, input });
        }
    }
    Ok(())
}

/// Runs the target of this name on one input, for cargo-fuzz.
pub fn run_by_name(name: &str, data: &[u8]) {
    TARGETS.iter().filter(|target| target.name == name).for_each(|target| (target.run)(data));
}
