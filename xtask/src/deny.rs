//! Licences, sources, duplicates and advisories of all that is compiled in, by cargo-deny and `deny.toml`.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::tools;

const VERSION: &str = "0.20.2";

/// Runs cargo-deny: that on PATH, else one of our own, which is built once (some minutes). Advisories need their
/// database; where it cannot be had, that is said, and the rest decides.
pub fn run(root: &Path) -> Result<ExitCode> {
    let program = tools::own(root, "cargo-deny", VERSION, &[])?;
    let check = |what: &[&str]| -> Result<bool> {
        for manifest in [
            "Cargo.toml",
            "crates/inertial/Cargo.toml",
            "crates/space/Cargo.toml",
            "crates/tags/Cargo.toml",
            "crates/lab/Cargo.toml",
            "python/Cargo.toml",
            "xtask/Cargo.toml",
        ] {
            let mut command = Command::new(&program);
            command.current_dir(root).args(["--manifest-path", manifest, "--config", "deny.toml"]);
            command.args(["--workspace", "--all-features", "check"]);
            if manifest != "Cargo.toml" {
                // What the configuration allows to the other workspace, this one need not have.
                command.args(["--allow", "unmatched-skip", "--allow", "license-not-encountered"]);
            }
            command.args(what);
            eprintln!("==> cargo deny check {} of {manifest}", what.join(" "));
            if !command.status().context("cargo-deny could not be started")?.success() {
                return Ok(false);
            }
        }
        Ok(true)
    };
    if !check(&["licenses", "sources", "bans"])? {
        return Ok(ExitCode::FAILURE);
    }
    if has_database(&program, root) {
        return Ok(if check(&["advisories"])? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    eprintln!(
        "warning: advisories were not checked: their database cannot be fetched from here (`cargo deny fetch db`)"
    );
    Ok(ExitCode::SUCCESS)
}

fn has_database(program: &Path, root: &Path) -> bool {
    let fetch = Command::new(program).current_dir(root).args(["fetch", "db"]).stderr(Stdio::null()).status();
    fetch.is_ok_and(|status| status.success())
}
