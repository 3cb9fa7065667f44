//! Lints while tests are built: clippy is a compiler with more warnings, so that where all is built for the first time,
//! one pass does what a check and a build would do one after the other. Cargo calls this program in place of the
//! compiler (`RUSTC_WRAPPER`, which does not count in what is fresh); crates of others go to the compiler as they are.
//! Tests that run for less than their optimization would take are not optimized. No other crate takes code from them, as
//! it would from a library without optimization, so that a profile of cargo cannot say this.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// Whether builds lint: in CI only. Elsewhere a crate may have been built without, and would not be built again.
pub fn while_building() -> bool {
    env::var_os("CI").is_some()
}

/// Lets a cargo lint the crates in `root` that it builds; a warning is an error.
pub fn add_to(command: &mut Command, root: &Path) -> Result<()> {
    let this = env::current_exe().context("this program has no path")?;
    command.env("RUSTC_WRAPPER", this).env(ROOT, root);
    Ok(())
}

/// Compiles, if cargo has called this program in place of the compiler.
pub fn as_compiler() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let compiler = arguments.next().filter(|first| Path::new(first).file_stem() == Some(OsStr::new("rustc")))?;
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let (mut command, arguments) = match (package, env::var_os(ROOT)) {
        (Some(package), Some(root)) if is_own(&package, Path::new(&root)) => {
            (linting(&compiler), as_quick(arguments.collect()))
        }
        _ => (Command::new(&compiler), arguments.collect()),
    };
    let error = command.args(arguments).exec();
    eprintln!("error: {:?} could not be started: {error}", command.get_program());
    Some(ExitCode::FAILURE)
}

/// Where the project is, for the program that cargo calls.
const ROOT: &str = "LIENAV_LINT_ROOT";

fn linting(compiler: &OsString) -> Command {
    let mut command = Command::new("clippy-driver");
    command.arg(compiler).arg("-Dwarnings");
    command
}

/// Crates whose tests run for seconds without optimization.
const QUICK: [&str; 8] = [
    "lienav_associate",
    "lienav_bag",
    "lienav_ekf",
    "lienav_files",
    "lienav_io",
    "lienav_lie",
    "lienav_planar",
    "lienav_report",
];

/// The arguments, without optimization where they are for tests of one of [`QUICK`].
fn as_quick(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_named = |pair: &[OsString]| pair[0] == "--crate-name" && QUICK.iter().any(|name| pair[1] == *name);
    if !(arguments.iter().any(|word| word == "--test") && arguments.windows(2).any(is_named)) {
        return arguments;
    }
    let level = |word: OsString| if word == "opt-level=1" { "opt-level=0".into() } else { word };
    arguments.into_iter().map(level).collect()
}

/// Whether a package is the project's, not one that a test has made.
fn is_own(package: &Path, root: &Path) -> bool {
    package.strip_prefix(root).is_ok_and(|inside| !inside.starts_with("target"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_linted_and_what_it_uses_is_not() {
        let root = Path::new("/home/robot/lienav");
        let is_own = |package: &str| is_own(Path::new(package), root);
        assert!(is_own("/home/robot/lienav") && is_own("/home/robot/lienav/crates/lie"));
        assert!(!is_own("/home/robot/.cargo/registry/src/libm-0.2.15") && !is_own("/home/robot/lienav/target/tmp/own"));
    }

    #[test]
    fn tests_of_quick_crates_are_not_optimized_and_all_else_is() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let cases = [
            ("--crate-name lienav_io src/lib.rs --test -C opt-level=1", "-C opt-level=0"),
            ("--crate-name lienav_io src/lib.rs --crate-type lib -C opt-level=1", "-C opt-level=1"),
            ("--crate-name lienav_slam src/lib.rs --test -C opt-level=1", "-C opt-level=1"),
        ];
        for (given, end) in cases {
            assert!(as_quick(words(given)).ends_with(&words(end)), "{given}");
        }
    }

    #[test]
    fn a_lint_of_clippy_and_one_of_the_compiler_fail_a_build() {
        let folder = env::temp_dir().join(format!("lienav-lint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let compile = |text: &str| {
            let file = folder.join("lib.rs");
            std::fs::write(&file, text).unwrap();
            let mut command = linting(&"rustc".into());
            command.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"]).arg(&folder);
            let output = command.arg(&file).output().expect("clippy: rustup component add clippy");
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let cases = [
            ("pub fn f(x: u32) -> u32 { x }", ""),
            ("pub fn f(x: u32) -> u32 { return x; }", "clippy::needless-return"),
            ("pub fn f(x: u32) -> u32 { let y = 1; x }", "unused variable"),
        ];
        for (text, lint) in cases {
            let (passes, said) = compile(text);
            assert!(passes == lint.is_empty() && said.contains(lint), "{text}: {said}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
