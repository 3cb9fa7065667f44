//! `lienav simulate`: a simulated run as a bag.

use super::convert::{Existing, write};
use super::failure::Failure;
use super::scenario;
use lienav_eval::simulated;
use lienav_sim::ScenarioError;
use std::path::PathBuf;

/// Simulate a run with its sensors and write it as a bag
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A YAML file, or the name of a shipped scenario (see --list)
    #[arg(long, value_name = "NAME|FILE", default_value = "thesis-circle-10hz-low-q1")]
    scenario: String,
    /// All random numbers come from this; the scenario has one of its own
    #[arg(long)]
    seed: Option<u64>,
    /// One setting of the scenario
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = super::layers::assignment)]
    settings: Vec<(String, String)>,
    /// Where the bag goes: a folder that is made
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,
    #[command(flatten)]
    existing: Existing,
    /// List the shipped scenarios
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  lienav simulate --seed 7 --out circle
  lienav simulate --scenario thesis-line-20hz-high-q4 --set odometry.yaw_rate_std=0.2 --out line
  lienav simulate --list";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(out) = args.out.as_deref().filter(|_| !args.list) else { return scenario::list() };
    let mut scenario = scenario::read(&args.scenario, &args.settings)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let wrong = |error: ScenarioError| Failure::WrongCall(error.to_string());
    let recording = simulated::recording(&scenario).map_err(wrong)?;
    write(&recording, out, args.existing)
}
