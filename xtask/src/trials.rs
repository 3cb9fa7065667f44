//! What the nodes do under faults and over hours: the long forms of tests that CI runs in short. The scripts are
//! `tests/ros/faults.py`, `tests/ros/space_faults.py` and `tests/ros/soak.py`; they print what they found.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::checks::{environment, own_domain, target};
use crate::ros::Ros;
use crate::{exit_code, setup};

/// Runs a script of `tests/ros` with `node`, the simulator and `arguments`; its exit code is ours.
pub fn run(root: &Path, (script, node): (&str, &str), release: bool, arguments: &[String]) -> Result<ExitCode> {
    let ros = setup::ready(root)?;
    let mut build = environment(root, Some(&ros))?;
    build.args(["build", "--profile", if release { "release" } else { "test" }, "--bins"]);
    if !build.status().context("cargo could not be started")?.success() {
        bail!("the nodes could not be built");
    }
    let built = target(root).join(if release { "release" } else { "debug" });
    let mut trial = ros.command(python(&ros));
    trial.arg(root.join("tests/ros").join(script)).arg(built.join(node)).arg(built.join("simulator_node"));
    trial.args(arguments).env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    if env::var_os("ROS_DOMAIN_ID").is_none() {
        trial.env("ROS_DOMAIN_ID", own_domain().to_string());
    }
    let status = trial.status().with_context(|| format!("could not start {script}: is there a Python with rclpy?"))?;
    Ok(exit_code(status))
}

/// Domains for `jobs` faults at a time.
pub fn domains(jobs: u32) -> String {
    let first = env::var("ROS_DOMAIN_ID").ok().and_then(|domain| domain.parse().ok()).unwrap_or_else(own_domain);
    // The last one that is safe on Linux is 101, unless the user has chosen beyond.
    let domain = |k: u32| if first > 101 { first + k } else { 1 + (first - 1 + k) % 101 };
    (0..jobs).map(|k| domain(k).to_string()).collect::<Vec<_>>().join(",")
}

fn python(ros: &Ros) -> OsString {
    match ros {
        Ros::Private(private) => private.python().into(),
        Ros::Sourced { .. } => env::var_os("LIENAV_PYTHON").unwrap_or_else(|| "python3".into()),
    }
}
