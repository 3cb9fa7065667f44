//! The command line `lienav`: one file for each command.

mod arguments;
mod attitude;
mod compare;
mod convert;
#[cfg(test)]
mod documents;
mod evaluate;
#[cfg(feature = "lab")]
mod everything;
mod expect;
mod experiments;
mod failure;
mod honesty;
mod info;
mod judge;
#[cfg(feature = "lab")]
mod laboratory;
#[cfg(not(feature = "lab"))]
#[path = "no_laboratory.rs"]
mod laboratory;
mod layers;
#[cfg(any(feature = "ros", test))]
mod live_page;
mod map;
mod merge;
mod monte_carlo;
mod observability;
mod output;
mod parameters;
mod play;
mod progress;
mod record;
mod referee;
mod reproduce;
mod scenario;
mod self_test;
mod serve;
mod signals;
mod simulate;
mod source;
mod space;
mod space_runs;

use clap::Parser;
use clap::error::ErrorKind;
use failure::Failure;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "lienav", version, about, long_about = ABOUT, after_help = EXAMPLES)]
#[command(propagate_version = true, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Evaluate(Box<evaluate::Args>),
    Judge(Box<judge::Args>),
    Info(info::Args),
    Convert(convert::Args),
    Map(map::Args),
    Play(play::Args),
    Record(record::Args),
    Simulate(simulate::Args),
    MonteCarlo(monte_carlo::Args),
    Merge(merge::Args),
    Observability(observability::Args),
    Reproduce(reproduce::Args),
    Attitude(attitude::Args),
    Parameters(parameters::Args),
    Serve(serve::Args),
    Compare(compare::Args),
    SelfTest(self_test::Args),
}

impl Command {
    /// Whether it ends in good order when it is told to by a signal.
    fn ends_by_itself(&self) -> bool {
        match self {
            Self::Play(_) | Self::Record(_) => true,
            Self::Evaluate(args) => args.is_live(),
            _ => false,
        }
    }
}

const ABOUT: &str =
    "Landmark SLAM by symmetry-reduced Kalman filtering: convert, play, simulate and evaluate recordings.

A SOURCE is a rosbag2 bag (its folder, or an .mcap or .db3 file), `woods:FOLDER` (Lost in the Woods),
`mrclam:FOLDER:ROBOT` (MR.CLAM) or `victoria:FOLDER` (Victoria Park), as published, or `g2o:FILE[:TRUTH][:NOISE]`, a
graph of poses and landmarks (EDGE_SE2, EDGE_SE2_XY; EDGE2, ODOMETRY, LANDMARK; .gz, too) whose noise is read as
`information` (EDGE_SE2), `sqrt_information` (the others), `toro` where the order of its numbers leaves no other choice,
or as NOISE says, `covariance` too. In space, for `evaluate` and `info`: `euroc-tracks:FOLDER`, `starloc:FOLDER` and
`starry:FOLDER`, or a simulated run, `space:NAME[:SEED]`. A source is never written to.

Exit codes: 0 done, 1 failed, 2 wrong call, 3 an expectation of --expect does not hold; one line on standard error says
why. Results and bags are written as a whole or not at all; what was there before stays until then.";

const EXAMPLES: &str = "Examples:
  lienav evaluate woods:lost_in_the_woods --filter reduced --filter ekf --out results
  lienav convert mrclam:MRCLAM_Dataset6:1 d6r1
  lienav play d6r1 --clock --rate 4
  lienav record drive_1
  lienav simulate --seed 1 --out circle && lienav evaluate circle --json
  lienav monte-carlo esde --runs 100 --filters ekf,reduced,default
  lienav map convert survey.csv hall.yaml --sigma-m 0.02 && lienav map draw hall.yaml --out hall.svg
  lienav reproduce thesis-5 --out thesis-5";

/// Reads the command line, does what it says, and reports failure in one line on standard error.
///
/// Exit codes: 0 done (also where the reader of the output has gone), 1 failed, 2 wrong call, 3 an expectation does not
/// hold.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    log_to_stderr();
    if !cli.command.ends_by_itself() {
        signals::end_cleanly();
    }
    let result = match cli.command {
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Judge(args) => judge::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Map(args) => map::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::MonteCarlo(args) => monte_carlo::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Observability(args) => observability::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Attitude(args) => attitude::run(&args),
        Command::Parameters(args) => parameters::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::SelfTest(args) => self_test::run(&args),
    };
    match result {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Help and version are what was asked for; anything else is a wrong call.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Where the reader has gone, there is nobody to tell.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => Failure::WrongCall(in_one_line(&error.to_string())).report(),
    }
}

/// Of clap's paragraphs, what is wrong and the tip; the usage is left to `--help`.
fn in_one_line(message: &str) -> String {
    let paragraphs: Vec<String> =
        message.split("\n\n").map(|p| p.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let tips = paragraphs.iter().skip(1).filter(|p| p.starts_with("tip:")).map(String::as_str);
    let usage = paragraphs.iter().find_map(|p| p.strip_prefix("Usage: "));
    // The first word is the program, whatever its file is called.
    let words = usage.unwrap_or_default().split(' ').skip(1).take_while(|word| is_command(word));
    let command = std::iter::once("lienav").chain(words).collect::<Vec<_>>().join(" ");
    let what = paragraphs.first().map(|p| p.trim_start_matches("error: ")).unwrap_or_default();
    let parts: Vec<&str> = std::iter::once(what).chain(tips).collect();
    format!("{}; see `{command} --help`", parts.join("; "))
}

/// Whether a word of the usage names a command, such as `monte-carlo`, rather than an option or an argument.
fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// Warnings of the modules below go to standard error; RUST_LOG says which.
fn log_to_stderr() {
    use tracing_subscriber::{EnvFilter, fmt};
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let has_colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(has_colors).with_target(false).init();
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_call_is_explained_in_one_line_with_the_place_to_look() {
        let explain = |words: &[&str]| match Cli::try_parse_from(words) {
            Ok(_) => String::new(),
            Err(error) => in_one_line(&error.to_string()),
        };
        let line = explain(&["lienav", "evaluate", "bag", "--filtr", "ekf"]);
        assert!(line.contains("'--filtr'") && line.contains("tip:") && line.contains("'--filter'"), "{line}");
        assert!(line.ends_with("see `lienav evaluate --help`") && !line.contains('\n'), "{line}");
        let line = explain(&["lienav", "info"]);
        assert!(line.contains("<SOURCE>") && line.ends_with("see `lienav info --help`"), "{line}");
        let line = explain(&["lienav", "monte-carlo", "esde", "--rnus", "3"]);
        assert!(line.ends_with("see `lienav monte-carlo --help`"), "{line}");
        let line = explain(&["lienav", "simulate"]);
        assert!(line.ends_with("see `lienav simulate --help`"), "{line}");
        assert!(explain(&["lienav"]).contains("subcommand"));
        assert!(explain(&["lienav", "evaluate", "x", "--filter", "kalman"]).contains("thesis-fe-ekf"));
    }
}
