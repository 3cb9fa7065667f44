//! The Python module: installed as a user installs it, and its tests, in a virtual environment of pinned packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checks::{environment, target};
use crate::steps::{Log, quiet};
use crate::{lint, tools, wheels};

/// What the tests need beside the module.
const REQUIREMENTS: &str = include_str!("../../python/requirements.txt");

/// Installs the module, and runs its tests. False where one fails, which is on the terminal then.
pub fn test(root: &Path) -> Result<bool> {
    tools::python()?;
    let folder = target(root).join("python");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let log = Log::create(&folder.join("setup.log"))?;
    let venv = folder.join("venv");
    if !fs::read_to_string(folder.join("stamp")).is_ok_and(|text| text == recipe(&venv)) {
        quiet("virtual environment for Python", || make(root, &folder, &venv, &log))?;
    }
    let python = venv.join("bin/python");
    quiet("pip install ./python", || {
        let mut install = in_environment(root, &python)?;
        install.args(PIP).args(["--no-deps", "--no-build-isolation", "--force-reinstall", "./python"]);
        // As the other tests are built, whose dependencies are there.
        install.env("MATURIN_PEP517_ARGS", "--profile dev --features one-build").env("CARGO_TARGET_DIR", target(root));
        if lint::while_building() {
            lint::add_to(&mut install, root)?;
        }
        log.run(&mut install).context("the module could not be built")
    })?;
    let mut tests = in_environment(root, &python)?;
    tests.args(["-m", "pytest", "--numprocesses=auto", "--dist=worksteal", "python/tests"]).env("MPLBACKEND", "agg");
    tests.env("LIENAV_COMMAND", target(root).join("debug/lienav"));
    Ok(tests.status().context("pytest could not be started")?.success())
}

const PIP: [&str; 6] = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"];

/// All that the environment depends on. The place is part of it: scripts hold absolute paths.
fn recipe(venv: &Path) -> String {
    format!("{}\n{REQUIREMENTS}", venv.display())
}

/// The stamp is written last: an environment that was interrupted is made anew.
fn make(root: &Path, folder: &Path, venv: &Path, log: &Log) -> Result<()> {
    let stamp = folder.join("stamp");
    for path in [&stamp, &venv.to_path_buf()] {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                bail!("could not remove {}: {error}", path.display())
            }
            _ => {}
        }
    }
    log.run(Command::new("python3").args(["-m", "venv"]).arg(venv)).context("no virtual environment could be made")?;
    let list = root.join("python/requirements.txt");
    wheels::install(&venv.join("bin/python"), &[], &list, log)
        .context("pip could not install python/requirements.txt: is there Python 3.11 or newer?")?;
    fs::write(&stamp, recipe(venv))?;
    Ok(())
}

/// A program where cargo finds what the other tests have built.
fn in_environment(root: &Path, program: &Path) -> Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(root);
    // pip looks for maturin there.
    let folder = program.parent().map(Path::to_path_buf);
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = folder.into_iter().chain(std::env::split_paths(&rest));
    command.env("PATH", std::env::join_paths(all).context("PATH has a folder with a colon in its name")?);
    for (name, value) in environment(root, None)?.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_pinned() {
        let wanted: Vec<&str> = REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(wanted.len() > 20 && wanted.iter().all(|line| line.contains("==")), "{wanted:?}");
        for name in ["maturin", "numpy", "pytest", "matplotlib", "pandas", "nbclient", "distributed", "mypy"] {
            assert!(wanted.iter().any(|line| line.starts_with(&format!("{name}=="))), "{name}");
        }
    }
}
