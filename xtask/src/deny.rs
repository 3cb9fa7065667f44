//! Licences, sources, duplicates and advisories of all that is compiled in, by cargo-deny and `deny.toml`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;

const VERSION: &str = "0.20.2";

/// Runs cargo-deny: that on PATH, else one of our own, which is built once (some minutes). Advisories need their
/// database; where it cannot be had, that is said, and the rest decides.
pub fn run(root: &Path) -> Result<ExitCode> {
    let program = program(root)?;
    let check = |what: &[&str]| -> Result<bool> {
        let mut command = Command::new(&program);
        command.current_dir(root).args(["--workspace", "--all-features", "check"]).args(what);
        eprintln!("==> cargo deny check {}", what.join(" "));
        Ok(command.status().context("cargo-deny could not be started")?.success())
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

fn program(root: &Path) -> Result<PathBuf> {
    let on_path = Command::new("cargo-deny").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if on_path.is_ok_and(|status| status.success()) {
        return Ok("cargo-deny".into());
    }
    let folder = root.join("target/tools");
    let own = folder.join("bin/cargo-deny");
    if !own.exists() {
        eprintln!("cargo-deny is not on PATH: building {VERSION} in {} (once, some minutes)", folder.display());
        let mut install = cargo();
        install.args(["install", "cargo-deny", "--locked", "--version", VERSION, "--root"]).arg(&folder);
        install.arg("--target-dir").arg(folder.join("build"));
        if !install.status().context("cargo could not be started")?.success() {
            bail!("cargo-deny could not be built: install it, for example with `cargo install --locked cargo-deny`");
        }
    }
    Ok(own)
}
