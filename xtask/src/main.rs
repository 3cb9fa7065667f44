//! `cargo xtask …`: what a newcomer, the README and CI run.
//!
//! - [`tools`]: what has to be on the machine, and the one line that is said where it is not;
//! - [`ros`]: which ROS 2 is used, a sourced distribution or a private one, and its environment;
//! - [`setup`]: the private ROS 2, made of wheels once;
//! - [`steps`]: named, timed steps on a terminal, in a pipe and in a log;
//! - [`demo`]: simulator, filters and evaluator, each a process ([`processes`]);
//! - [`trials`]: the nodes under faults, and for hours;
//! - [`deny`]: licences, sources and advisories of what is compiled in;
//! - [`checks`]: everything CI checks, in the order that compiles least;
//! - [`lint`]: clippy in the same pass as the build of tests;
//! - [`archive`]: sources with all dependencies, for builds without a network;
//! - [`site`]: the documentation as one site;
//! - [`python`]: the Python module and its tests;
//! - [`formulas`]: the formulas in the documentation of the libraries.

#![forbid(unsafe_code)]

mod archive;
mod checks;
mod demo;
mod deny;
mod formulas;
mod lint;
mod processes;
mod python;
mod ros;
mod setup;
mod site;
mod steps;
mod tools;
mod trials;
mod wheels;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use ros::Ros;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo and tests of lienav")]
struct Call {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make a private ROS 2 Jazzy under .ros/, unless a distribution is sourced; with LIENAV_ROS=kilted in the
    /// environment, as for all tasks, a Kilted under .ros-kilted/
    Setup,
    /// Simulate a robot on a circle, run the filters, and report their errors; leaves a bag and plots
    Demo {
        /// Where the results go [default: out/demo in the project]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Seed of the world and of all noise
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Run everything CI checks: format, clippy, tests with and without ROS, colcon, documentation
    Test {
        /// Only what needs no ROS 2: format, clippy, unit and property tests
        #[arg(long)]
        quick: bool,
    },
    /// Install the Python module as a user does, and run its tests
    Python,
    /// Make the documentation of the libraries under target/doc/, formulas drawn
    Doc,
    /// Make the documentation as one site with search, under target/site/html/
    Docs {
        /// With the documentation of the libraries, under rust/
        #[arg(long)]
        libraries: bool,
    },
    /// Make a source archive with all dependencies, target/archive/lienav-VERSION.tar.gz, of what is committed
    Archive {
        /// Also build the command line from it, without a network (some minutes)
        #[arg(long)]
        check: bool,
    },
    /// Run the nodes under a list of faults, and print a table: what happened, how far off, how soon well again
    Faults {
        /// Longer faults, and those that take long
        #[arg(long)]
        long: bool,
        /// Those of slam3d_node
        #[arg(long)]
        space: bool,
        /// Faults at a time
        #[arg(long, default_value_t = 2)]
        jobs: u32,
        /// With the optimized nodes
        #[arg(long)]
        release: bool,
        /// A file for all that was found, as JSON
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// Only these faults
        #[arg(value_name = "FAULT")]
        only: Vec<String>,
    },
    /// Let the nodes run for long, and hold memory, descriptors and losses against bounds
    Soak {
        /// How long
        #[arg(long, default_value_t = 60.0)]
        minutes: f64,
        /// With the optimized nodes
        #[arg(long)]
        release: bool,
        /// A file for all that was found, as JSON
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Check licences, sources, duplicates and, where the database is reachable, advisories of all dependencies
    Deny,
    /// Run a command in the environment of the ROS 2 in use
    Run {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "CMD")]
        command: Vec<String>,
    },
    /// Print that environment for a shell: eval "$(cargo xtask env)"
    Env,
    /// Say what this machine has and what it lacks
    Doctor,
}

fn main() -> ExitCode {
    if let Some(code) = lint::as_compiler() {
        return code;
    }
    match perform(Call::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<ExitCode> {
    let root = project_root();
    match task {
        Task::Setup => {
            setup::ready(&root)?;
        }
        Task::Demo { out, seed } => demo::run(&root, &out.unwrap_or_else(|| root.join("out/demo")), seed)?,
        Task::Test { quick } => return checks::run(&root, quick),
        Task::Python => {
            let mut build = checks::environment(&root, None)?;
            build.args(["build", "--no-default-features", "--bin", "lienav"]);
            let passes = build.status().context("cargo could not be started")?.success() && python::test(&root)?;
            return Ok(if passes { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Task::Doc => return checks::document(&root),
        Task::Archive { check } => return archive::make(&root, check),
        Task::Docs { libraries } => return site::build(&root, libraries),
        Task::Faults { long, space, jobs, release, json, only } => {
            let mut arguments = vec!["--jobs".into(), jobs.to_string(), "--domains".into(), trials::domains(jobs)];
            arguments.extend(long.then(|| "--long".to_owned()));
            arguments.extend(as_json(json)?);
            if !only.is_empty() {
                arguments.push("--only".into());
                arguments.extend(only);
            }
            let what = if space { ("space_faults.py", "slam3d_node") } else { ("faults.py", "slam_node") };
            return trials::run(&root, what, release, &arguments);
        }
        Task::Soak { minutes, release, json } => {
            let mut arguments = vec!["--minutes".into(), minutes.to_string()];
            arguments.extend(as_json(json)?);
            return trials::run(&root, ("soak.py", "slam_node"), release, &arguments);
        }
        Task::Deny => return deny::run(&root),
        Task::Run { command } => return run(&setup::ready(&root)?, &command),
        Task::Env => print!("{}", setup::ready(&root)?.as_shell()),
        Task::Doctor => return Ok(tools::doctor(&root)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The option of a script, with a path that holds wherever it runs.
fn as_json(file: Option<PathBuf>) -> Result<Vec<String>> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let file = std::path::absolute(&file).with_context(|| format!("no path: {}", file.display()))?;
    Ok(vec!["--json".into(), file.to_string_lossy().into_owned()])
}

/// Runs the user's command as if it had been typed in an environment with ROS 2; its exit code is ours.
fn run(ros: &Ros, command: &[String]) -> Result<ExitCode> {
    let status = ros
        .command(&command[0])
        .args(&command[1..])
        .status()
        .with_context(|| format!("could not start {}: is it installed and on PATH?", command[0]))?;
    Ok(exit_code(status))
}

/// The exit code of a child, as a shell would give it: 128 + n where signal n ended it.
fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The folder of the package: xtask's own manifest lies one below it.
fn project_root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// The cargo that runs us, so that a toolchain chosen on the command line stays chosen.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
