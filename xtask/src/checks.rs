//! Everything that CI checks, in the order that finds the cheap mistakes first and compiles least: all steps share one
//! profile, one environment and one target folder. All builds ask for the same features of foreign crates
//! ([`ONE_BUILD`]), so that what one has compiled, the next ones take. Crates are tested without ROS 2, the nodes and the
//! command line with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::ros::Ros;
use crate::{cargo, demo, formulas, lint, python, setup, steps, tools};

/// A step of cargo.
struct Check {
    name: &'static str,
    arguments: Vec<String>,
    needs_ros: bool,
    /// Clippy sees what the step builds.
    lints: bool,
}

/// A workspace beside the project's, which has to stay small enough for colcon.
struct Beside {
    name: &'static str,
    manifest: &'static str,
    target: &'static str,
    /// `cargo test` has something to run that the project's has not.
    has_tests: bool,
    has_benches: bool,
}

impl Beside {
    const fn of(name: &'static str, manifest: &'static str) -> Self {
        Self { name, manifest, target: "target", has_tests: true, has_benches: false }
    }
}

const XTASK: &str = "xtask";
const OTHERS: [Beside; 5] = [
    Beside { target: "target/xtask", ..Beside::of(XTASK, "xtask/Cargo.toml") }, // where the alias `cargo xtask` builds
    Beside { has_benches: true, ..Beside::of("inertial", "crates/inertial/Cargo.toml") },
    Beside::of("tags", "crates/tags/Cargo.toml"),
    Beside::of("space", "crates/space/Cargo.toml"),
    Beside { has_tests: false, ..Beside::of("python", "python/Cargo.toml") }, // tested from Python
];

/// The feature with which all builds share what is compiled: see `crates/base/one-build/Cargo.toml`.
pub const ONE_BUILD: &str = "lienav-base/one-build";

const DOCUMENTATION: &str = "documentation";
/// Libraries with a workspace and tests of their own, documented with all others.
const APART: [&str; 6] = ["-p", "lienav-inertial", "-p", "lienav-space", "-p", "lienav-tags"];
const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

/// The steps, those of the small workspaces first. With `lint`, tests are linted while they are built; what no test
/// builds, and programs without ROS 2 where there is one, is left to clippy.
fn checks(root: &Path, ros: Option<&Ros>, lint: bool) -> Result<Vec<Check>> {
    let mut checks = vec![Check::new("format", &["fmt", "--all", "--check"])];
    let lab = ["fmt", "--manifest-path", "crates/lab/Cargo.toml", "--check"];
    checks.push(Check::new("format of lab", &lab));
    for Beside { name, manifest, target, has_tests, has_benches } in OTHERS {
        let lint = lint && name != XTASK; // which runs already
        let mut at = vec!["--manifest-path", manifest, "--target-dir", target];
        if name != XTASK {
            at.extend(["--features", "one-build"]);
        }
        let step = |what: &str| -> &'static str { format!("{what} of {name}").leak() };
        checks.push(Check::new(step("format"), &["fmt", "--manifest-path", manifest, "--check"]));
        if !lint || has_benches {
            let targets = if lint { "--benches" } else { "--all-targets" };
            checks.push(Check::new(step("clippy"), &[&["clippy"], &at[..], &[targets], &DENY_WARNINGS].concat()));
        }
        if has_tests {
            checks.push(Check { lints: lint, ..Check::new(step("tests"), &[&["test"], &at[..]].concat()) });
        }
    }
    let packages = packages(root)?;
    let is_above = |name: &&String| *name == ROOT || ABOVE.contains(&name.as_str());
    let (all, crates) = (named(&packages), named(packages.iter().filter(|name| !is_above(name))));
    let without = ["--no-default-features", "--features", "lab,lienav-base/one-build"];
    let targets = if lint { &["--lib", "--bins", "--benches"][..] } else { &["--all-targets"] };
    let clippy = [&["clippy"], &all[..], &without, targets, &DENY_WARNINGS].concat();
    checks.push(Check::new("clippy without ROS", &clippy));
    // What stands beside the crates is tested once, with ROS 2 where there is any; so is what cargo finds only as a
    // dependency of the command line.
    let tested =
        if ros.is_some() { [&crates[..], &["--features", ONE_BUILD]].concat() } else { [&all[..], &without].concat() };
    let tests = [&["test", "--no-fail-fast"], &tested[..]].concat();
    checks.push(Check { lints: lint, ..Check::new("tests without ROS", &tests) });
    if let Some(ros) = ros {
        if !lint {
            let clippy = ["clippy", "-p", ROOT, "--all-targets", "--features", ONE_BUILD];
            checks.push(Check::new("clippy", &[&clippy, &DENY_WARNINGS[..]].concat()).with_ros());
        }
        let features = ros.features().join(",");
        let above = named(packages.iter().filter(is_above));
        let tests = [&["test"], &above[..], &["--features", &features, "--no-fail-fast"]].concat();
        checks.push(Check { lints: lint, ..Check::new(WITH_ROS, &tests).with_ros() });
        let features = ["--features", "lab,lienav-base/one-build"];
        let documentation = [&["doc", "--no-deps"], &all[..], &APART, &features].concat();
        checks.push(Check::new(DOCUMENTATION, &documentation).with_ros());
    }
    Ok(checks)
}

/// The tests that leave a command line, which those in Python compare with, and the nodes, which the demo starts.
const WITH_ROS: &str = "tests with ROS, rclpy and colcon";
/// The package of the nodes and the command line.
const ROOT: &str = "lienav";
/// Packages outside of the workspace on which none of it depends but the command line: cargo finds them only with it.
const ABOVE: [&str; 4] = ["lienav-eval", "lienav-lab", "lienav-report", "lienav-runs"];

fn named<'a>(packages: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    packages.into_iter().flat_map(|name| ["-p", name]).collect()
}

impl Check {
    fn new(name: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        Self { name, arguments, needs_ros: false, lints: false }
    }

    fn with_ros(self) -> Self {
        Self { needs_ros: true, ..self }
    }
}

/// The packages that are tested together: those of the project's workspace, and those outside of it that have no
/// dependencies for tests, the published experiments among them.
fn packages(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("crates");
    let entries = fs::read_dir(&folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut names = vec![ROOT.to_owned()];
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_apart = OTHERS.iter().any(|other| other.manifest == format!("crates/{name}/Cargo.toml"));
        if !is_apart && entry.path().join("Cargo.toml").is_file() {
            names.push(format!("lienav-{name}"));
        }
    }
    names.sort();
    if names.len() < 2 {
        bail!("{} has no packages", folder.display());
    }
    Ok(names)
}

/// Runs the checks until one fails. With `quick`, only those that need no ROS 2.
pub fn run(root: &Path, quick: bool) -> Result<ExitCode> {
    let ros = if quick { None } else { Some(setup::ready(root)?) };
    if !quick && tools::doctor(root) != ExitCode::SUCCESS {
        return Ok(ExitCode::FAILURE);
    }
    let mut times = Vec::new();
    for check in checks(root, ros.as_ref(), lint::while_building())? {
        let start = Instant::now();
        let mut command = environment(root, ros.as_ref().filter(|_| check.needs_ros))?;
        if check.lints {
            lint::add_to(&mut command, root)?;
        }
        command.args(&check.arguments);
        eprintln!("\n==> {}: cargo {}", check.name, check.arguments.join(" "));
        let status = command.status().context("cargo could not be started")?;
        if !status.success() {
            eprintln!("\nfailed: {}. To repeat it:\n{}", check.name, repetition(&check));
            return Ok(ExitCode::FAILURE);
        }
        if check.name == DOCUMENTATION {
            formulas::draw(&root.join("target/doc"))?;
        }
        times.push((check.name, start.elapsed()));
        if check.name == WITH_ROS {
            let start = Instant::now();
            eprintln!("\n==> tests in Python: python/tests");
            if !python::test(root)? {
                eprintln!("\nfailed: tests in Python. To repeat them:\n    cargo xtask python");
                return Ok(ExitCode::FAILURE);
            }
            times.push(("tests in Python", start.elapsed()));
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
    command.args(["doc", "--no-deps"]).args(named(&packages(root)?)).args(APART);
    command.args(["--no-default-features", "--features", "lab"]);
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
        // rest. Cut into fewer parts, a crate is compiled less often for what is in all of them.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "none");
        command.env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "4");
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

fn repetition(check: &Check) -> String {
    let variables = if check.name == DOCUMENTATION { "RUSTDOCFLAGS='-D warnings' " } else { "" };
    let through = if check.needs_ros { "cargo xtask run -- " } else { "" };
    format!("    {variables}{through}cargo {}", check.arguments.join(" "))
}
