//! `lienav simulate`: a simulated run as a bag.

use super::convert::{Existing, write};
use super::failure::{Failure, print};
use super::{scenario, space};
use lienav_eval::simulated;
use lienav_eval::space::bag::to_bag;
use lienav_eval::space::simulated::{PREFIX, name_and_seed, recording as recording_in_space};
use lienav_sim::ScenarioError;
use std::path::{Path, PathBuf};

/// Simulate a run with its sensors and write it as a bag
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A YAML file, or the name of a shipped scenario (see --list); space:NAME of one in space
    #[arg(long, value_name = "NAME|FILE", default_value = "thesis-circle-10hz-low-q1")]
    scenario: String,
    /// The same in one word, as a source of evaluate
    #[arg(value_name = "SCENARIO", conflicts_with = "scenario")]
    given: Option<String>,
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
  lienav simulate space:drone-stereo-industrial --seed 7 --out flight
  lienav evaluate flight
  lienav simulate --list";

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let Some(out) = args.out.as_deref().filter(|_| !args.list) else { return scenario::list() };
    let given = args.given.as_ref().unwrap_or(&args.scenario);
    if let Some(name) = given.strip_prefix(PREFIX) {
        return run_in_space(name, args, out);
    }
    let mut scenario = scenario::read(given, &args.settings)?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    let wrong = |error: ScenarioError| Failure::WrongCall(error.to_string());
    let recording = simulated::recording(&scenario).map_err(wrong)?;
    write(&recording, out, args.existing)
}

/// The same in space: NAME, NAME:SEED or a YAML file.
fn run_in_space(name: &str, args: &Args, out: &Path) -> Result<(), Failure> {
    let wrong = |error: String| Failure::WrongCall(error);
    let (name, own) = name_and_seed(name).map_err(wrong)?;
    let scenario = space::scenario(name, &args.settings)?;
    let seed = args.seed.or(own).unwrap_or(scenario.seed);
    let recording = recording_in_space(&scenario, seed).map_err(|error| wrong(error.to_string()))?;
    let messages = to_bag(&recording, out, args.existing.choice()).map_err(Failure::failed)?;
    print(&format!("{}: {messages} messages of {}\n", out.display(), recording.name))
}
