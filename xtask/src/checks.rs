//! Everything that CI checks, in the order that finds the cheap mistakes first and compiles least: all steps share one
//! profile, one target folder and one environment, so that dependencies are checked once and built once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::ros::Ros;
use crate::{cargo, demo, formulas, python, setup, steps, tools};

struct Check {
    name: &'static str,
    arguments: &'static [&'static str],
    needs_ros: bool,
}

const DOCUMENTATION: &str = "documentation";
/// The tests that leave a command line, which those in Python compare with.
const WITHOUT_ROS: &str = "tests without ROS";
/// The tests that leave the nodes, which the demo starts.
const WITH_ROS: &str = "tests with ROS, rclpy and colcon";

/// A workspace of its own, so that the project's stays small enough for colcon.
const XTASK: &str = "xtask/Cargo.toml";
/// Where the alias `cargo xtask` builds.
const TARGET: &str = "target/xtask";

/// The same for the filter in space.
const INERTIAL: &str = "crates/inertial/Cargo.toml";
const INERTIAL_TARGET: &str = "target/inertial";
/// And for the pipeline around it.
const SPACE: &str = "crates/space/Cargo.toml";

/// The same for the published experiments and for the Python module, which build with what is built already.
const LAB: &str = "crates/lab/Cargo.toml";
const PYTHON: &str = "python/Cargo.toml";
const SHARED_TARGET: &str = "target";

const CHECKS: [Check; 20] = [
    Check { name: "format", arguments: &["fmt", "--all", "--check"], needs_ros: false },
    Check { name: "format of xtask", arguments: &["fmt", "--manifest-path", XTASK, "--check"], needs_ros: false },
    Check {
        name: "clippy of xtask",
        arguments: &[
            "clippy",
            "--manifest-path",
            XTASK,
            "--target-dir",
            TARGET,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check {
        name: "tests of xtask",
        arguments: &["test", "--manifest-path", XTASK, "--target-dir", TARGET],
        needs_ros: false,
    },
    Check { name: "format of inertial", arguments: &["fmt", "--manifest-path", INERTIAL, "--check"], needs_ros: false },
    Check {
        name: "clippy of inertial",
        arguments: &[
            "clippy",
            "--manifest-path",
            INERTIAL,
            "--target-dir",
            INERTIAL_TARGET,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check {
        name: "tests of inertial",
        arguments: &["test", "--manifest-path", INERTIAL, "--target-dir", INERTIAL_TARGET],
        needs_ros: false,
    },
    Check { name: "format of space", arguments: &["fmt", "--manifest-path", SPACE, "--check"], needs_ros: false },
    Check {
        name: "clippy of space",
        arguments: &[
            "clippy",
            "--manifest-path",
            SPACE,
            "--target-dir",
            INERTIAL_TARGET,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check {
        name: "tests of space",
        arguments: &["test", "--manifest-path", SPACE, "--target-dir", INERTIAL_TARGET],
        needs_ros: false,
    },
    Check { name: "format of lab", arguments: &["fmt", "--manifest-path", LAB, "--check"], needs_ros: false },
    Check {
        name: "clippy of lab",
        arguments: &[
            "clippy",
            "--manifest-path",
            LAB,
            "--target-dir",
            SHARED_TARGET,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check { name: "format of python", arguments: &["fmt", "--manifest-path", PYTHON, "--check"], needs_ros: false },
    Check {
        name: "clippy of python",
        arguments: &[
            "clippy",
            "--manifest-path",
            PYTHON,
            "--target-dir",
            SHARED_TARGET,
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check {
        name: "clippy without ROS",
        arguments: &[
            "clippy",
            "--workspace",
            "--no-default-features",
            "--features",
            "lab",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        needs_ros: false,
    },
    Check {
        name: WITHOUT_ROS,
        arguments: &["test", "--workspace", "--no-default-features", "--features", "lab", "--no-fail-fast"],
        needs_ros: false,
    },
    Check {
        name: "tests of lab",
        arguments: &["test", "--manifest-path", LAB, "--target-dir", SHARED_TARGET],
        needs_ros: false,
    },
    Check { name: "clippy", arguments: &["clippy", "--all-targets", "--", "-D", "warnings"], needs_ros: true },
    Check { name: WITH_ROS, arguments: &["test", "-p", "lienav", "--no-fail-fast"], needs_ros: true },
    Check { name: DOCUMENTATION, arguments: &["doc", "--workspace", "--no-deps"], needs_ros: true },
];

/// Runs the checks until one fails. With `quick`, only those that need no ROS 2.
pub fn run(root: &Path, quick: bool) -> Result<ExitCode> {
    let ros = if quick { None } else { Some(setup::ready(root)?) };
    let mut times = Vec::new();
    if !quick && tools::doctor(root) != ExitCode::SUCCESS {
        return Ok(ExitCode::FAILURE);
    }
    for check in CHECKS.iter().filter(|check| !(quick && check.needs_ros)) {
        let start = Instant::now();
        let mut command = environment(root, ros.as_ref())?;
        let arguments = arguments(check, ros.as_ref());
        command.args(&arguments);
        eprintln!("\n==> {}: cargo {}", check.name, arguments.join(" "));
        let status = command.status().context("cargo could not be started")?;
        if !status.success() {
            eprintln!("\nfailed: {}. To repeat it:\n{}", check.name, repetition(check, &arguments));
            return Ok(ExitCode::FAILURE);
        }
        if check.name == DOCUMENTATION {
            formulas::draw(&root.join("target/doc"))?;
        }
        times.push((check.name, start.elapsed()));
        if check.name == WITHOUT_ROS && !quick {
            let start = Instant::now();
            eprintln!("\n==> tests in Python: python/tests");
            if !python::test(root)? {
                eprintln!("\nfailed: tests in Python. To repeat them:\n    cargo xtask python");
                return Ok(ExitCode::FAILURE);
            }
            times.push(("tests in Python", start.elapsed()));
        }
        if check.name == WITH_ROS {
            let start = Instant::now();
            eprintln!("\n==> the demo, as the README has it: cargo xtask demo");
            demo::run(root, &root.join("target/demo"), 1)?;
            times.push(("demo", start.elapsed()));
        }
    }

    eprintln!();
    for (name, time) in &times {
        eprintln!("  ok  {name:<34} {:>9}", steps::seconds(*time));
    }
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    eprintln!("  ok  {:<34} {:>9}", "all", steps::seconds(total));
    Ok(ExitCode::SUCCESS)
}

/// Makes the documentation of all that needs no ROS 2, and draws its formulas.
pub fn document(root: &Path) -> Result<ExitCode> {
    let mut command = environment(root, None)?;
    command.args(["doc", "--workspace", "--no-deps", "--no-default-features", "--features", "lab"]);
    if !command.status().context("cargo could not be started")?.success() {
        return Ok(ExitCode::FAILURE);
    }
    let folder = root.join("target/doc");
    let drawn = formulas::draw(&folder)?;
    eprintln!("  ok  {drawn} formulas drawn; open {}", folder.join("lienav/index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Cargo in an environment where the processes of a run meet one another and nobody else.
pub fn environment(root: &Path, ros: Option<&Ros>) -> Result<Command> {
    let cargo = cargo();
    let mut command = match ros {
        Some(ros) => ros.command(cargo.get_program()),
        None => cargo,
    };
    let log = root.join("target/ros-log");
    fs::create_dir_all(&log).with_context(|| format!("could not make {}", log.display()))?;
    command.current_dir(root);
    command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST").env("ROS_LOG_DIR", log);
    command.env("ROS_DOMAIN_ID", own_domain().to_string());
    command.env("RUSTDOCFLAGS", "-D warnings");
    if std::env::var_os("CI").is_some() {
        // Nobody builds a second time or steps through a binary there, and both would cost more disk than all the
        // rest.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "none");
    }
    Ok(command)
}

/// Where cargo builds the project.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder))
}

/// A domain for this run; above 101 the ports of DDS would reach into those that Linux hands out.
pub fn own_domain() -> u32 {
    1 + std::process::id() % 101
}

/// The tests of the nodes are also those of the features whose packages are there.
fn arguments<'a>(check: &Check, ros: Option<&Ros>) -> Vec<&'a str> {
    let features = ros.filter(|_| check.name == WITH_ROS).map(Ros::features).unwrap_or_default();
    check.arguments.iter().copied().chain(features.into_iter().flat_map(|feature| ["--features", feature])).collect()
}

fn repetition(check: &Check, arguments: &[&str]) -> String {
    let variables = if check.name == DOCUMENTATION { "RUSTDOCFLAGS='-D warnings' " } else { "" };
    let through = if check.needs_ros { "cargo xtask run -- " } else { "" };
    format!("    {variables}{through}cargo {}", arguments.join(" "))
}
