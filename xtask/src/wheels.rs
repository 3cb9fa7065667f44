//! Installs packages of Python into a virtual environment: by uv, which takes a quarter of pip's time, or by pip where
//! uv cannot be had or fails.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::steps::Log;

/// uv itself, by version and hashes.
const UV: &str = include_str!("../uv.txt");
const PIP: [&str; 5] = ["-m", "pip", "install", "--no-input", "--disable-pip-version-check"];

/// What uv takes over of pip's configuration, by the names of pip and of uv.
const SETTINGS: [(&str, &str); 3] =
    [("index-url", "UV_DEFAULT_INDEX"), ("extra-index-url", "UV_INDEX"), ("find-links", "UV_FIND_LINKS")];

/// Installs what `list` has, by the rules of `options`, which uv and pip share.
///
/// Errors: pip fails too.
pub fn install(python: &Path, options: &[&str], list: &Path, log: &Log) -> Result<()> {
    if by_uv(python, options, list, log).is_ok() {
        return Ok(());
    }
    let mut pip = Command::new(python);
    log.run(pip.args(PIP).args(["--no-compile", "--progress-bar=off"]).args(options).arg("--requirement").arg(list))
}

fn by_uv(python: &Path, options: &[&str], list: &Path, log: &Log) -> Result<()> {
    let itself = python.with_file_name("uv.txt");
    fs::write(&itself, UV)?;
    let mut pip = Command::new(python);
    pip.args(PIP).args(["--progress-bar=off", "--only-binary=:all:", "--require-hashes", "--requirement"]);
    log.run(pip.arg(itself))?;
    let mut uv = Command::new(python);
    // Copies: what is installed is changed after that, and links would change what uv keeps for others.
    uv.args(["-m", "uv", "pip", "install", "--no-progress", "--link-mode=copy", "--python"]).arg(python);
    uv.args(options).arg("--requirement").arg(list).env("UV_HTTP_TIMEOUT", "60");
    let configured = Command::new(python).args(["-m", "pip", "config", "list"]).output()?;
    uv.envs(settings(&String::from_utf8_lossy(&configured.stdout)));
    log.run(&mut uv)
}

/// Variables for uv, by what `pip config list` says.
fn settings(configured: &str) -> Vec<(&'static str, String)> {
    let setting = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let (_, uv) = SETTINGS.into_iter().find(|(pip, _)| name.rsplit('.').next() == Some(pip))?;
        Some((uv, value.trim_matches('\'').to_owned()))
    };
    configured.lines().filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uv_itself_is_pinned_by_version_and_hash() {
        assert!(UV.contains("\nuv==") && UV.matches("--hash=sha256:").count() > 10, "{UV}");
    }

    #[test]
    fn uv_has_what_pip_is_configured_with() {
        let configured = "global.cert='/c.crt'\n:env:.find-links='/wheels'\nglobal.index-url='https://index/simple'";
        let expected = [("UV_FIND_LINKS", "/wheels"), ("UV_DEFAULT_INDEX", "https://index/simple")];
        assert_eq!(settings(configured), expected.map(|(name, value)| (name, value.to_owned())));
        assert!(settings("").is_empty());
    }
}
