//! `lienav compare`: two folders of results side by side.

use super::failure::{Failure, print};
use lienav_eval::compare::{compare, to_text};
use std::path::PathBuf;

/// Hold two folders of results side by side: what changed, and whether it is more than chance
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Results of `evaluate --out` or `monte-carlo --out`
    a: PathBuf,
    /// Results of the same recording, or the same runs
    b: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  lienav evaluate my_bag --out before && lienav evaluate my_bag --set gate.probability=0.99 --out after
  lienav compare before after

Errors are compared in pairs: estimates of the same stamps, runs of the same seeds. The interval of B / A holds the true
ratio with 95 %: below 1, B is less; above, it is greater. A run is cut into 40 stretches that are resampled, for
successive estimates share most of their error; of Monte Carlo, runs are resampled. Where both folders have one filter,
these are compared, whatever their names.";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rows = compare(&args.a, &args.b).map_err(Failure::failed)?;
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&rows).map_err(Failure::failed)?));
    }
    print(&format!("A: {}\nB: {}\n\n{}", args.a.display(), args.b.display(), to_text(&rows)))
}
