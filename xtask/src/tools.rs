//! What has to be on the machine. Each check gives what it found, or one line that names what is missing and the
//! remedy.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use crate::ros::Ros;
use crate::setup;

/// A program that cargo installs: that on PATH, else one of our own of this version, which is built once in
/// `target/tools` (some minutes).
///
/// Errors: it is not on PATH and cannot be built.
pub fn own(root: &Path, name: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    let on_path = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if on_path.is_ok_and(|status| status.success()) {
        return Ok(name.into());
    }
    let folder = root.join("target/tools");
    let own = folder.join("bin").join(name);
    if !own.exists() {
        eprintln!("{name} is not on PATH: building {version} in {} (once, some minutes)", folder.display());
        let mut install = crate::cargo();
        install.args(["install", name, "--locked", "--version", version, "--root"]).arg(&folder).args(options);
        install.arg("--target-dir").arg(folder.join("build"));
        if !install.status().context("cargo could not be started")?.success() {
            bail!("{name} could not be built: install it, for example with `cargo install --locked {name}`");
        }
        // What was made on the way is larger than all the rest, and is not needed again.
        let _ = std::fs::remove_dir_all(folder.join("build"));
    }
    Ok(own)
}

/// The C compiler: `$CC` or `cc`.
pub fn c_compiler() -> Result<String> {
    compiler("C", &program_of("CC", "cc"))
}

/// A command that runs the C compiler.
pub fn c_compiler_command() -> Command {
    Command::new(program_of("CC", "cc"))
}

/// The C++ compiler: `$CXX` or `c++`.
pub fn cpp_compiler() -> Result<String> {
    compiler("C++", &program_of("CXX", "c++"))
}

/// The folder of the C compiler's own headers, such as `stddef.h`.
pub fn compiler_headers() -> Option<PathBuf> {
    let output = output(c_compiler_command().arg("-print-file-name=include")).ok()?;
    Some(PathBuf::from(output)).filter(|path| path.is_absolute())
}

/// The Python that virtual environments are made with, with its version.
///
/// Errors: none on PATH; older or newer than the wheels of ROS 2; without `venv`.
pub fn python() -> Result<String> {
    let report = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)";
    let found = output(Command::new("python3").args(["-c", report]))
        .map_err(|_| anyhow!("Python 3 is missing: install it, for example `apt install python3 python3-venv`"))?;
    let minor = found.split([' ', '.']).nth(1).and_then(|minor| minor.parse::<u32>().ok());
    if !matches!(minor, Some(10..=14)) {
        bail!("Python {found} is not one that ROS 2's wheels are built for: put a python3 of 3.10 to 3.14 on PATH");
    }
    output(Command::new("python3").args(["-c", "import venv, ensurepip"]))
        .map_err(|_| anyhow!("Python {found} has no venv: install it, for example `apt install python3-venv`"))?;
    Ok(found)
}

/// libclang, which bindgen loads to read ROS 2's headers. A private ROS 2 brings its own.
pub fn libclang() -> Result<String> {
    let is_libclang = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libclang") && name.contains(".so") && !name.starts_with("libclang-cpp")
    };
    let named = env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let usual = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let llvm = files_in(Path::new("/usr/lib"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm")))
        .map(|path| path.join("lib"));
    named
        .into_iter()
        .chain(usual.iter().map(PathBuf::from))
        .chain(llvm)
        .flat_map(|folder| files_in(&folder).collect::<Vec<_>>())
        .find(|path| is_libclang(path))
        .map(|path| path.display().to_string())
        .context("libclang is missing: install it, for example `apt install libclang-dev`, or set LIBCLANG_PATH")
}

/// Prints every check. Success means that `cargo xtask demo` has what it needs.
pub fn doctor(root: &Path) -> ExitCode {
    let mut findings =
        vec![("rust", output(crate::cargo().arg("--version"))), ("C", c_compiler()), ("C++", cpp_compiler())];
    match Ros::chosen(root) {
        Ok(ros @ Ros::Sourced { .. }) => {
            findings.push(("libclang", libclang()));
            findings.push(("ROS 2", Ok(ros.to_string())));
        }
        Ok(Ros::Private(private)) => {
            findings.push(("Python", python()));
            let state = if setup::is_made(&private) { "made" } else { "not made yet: `cargo xtask setup` does it" };
            findings.push(("ROS 2", Ok(format!("none sourced; {} ({state})", Ros::Private(private)))));
        }
        Err(error) => findings.push(("ROS 2", Err(error))),
    }

    let mut code = ExitCode::SUCCESS;
    for (subject, finding) in findings {
        match finding {
            Ok(found) => println!("ok       {subject:<9} {found}"),
            Err(error) => {
                println!("missing  {subject:<9} {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn compiler(language: &str, program: &str) -> Result<String> {
    let version = output(Command::new(program).arg("--version")).map_err(|_| {
        anyhow!(
            "a {language} compiler is missing (`{program}`): install one, for example `apt install build-essential`"
        )
    })?;
    Ok(version.lines().next().unwrap_or(program).to_owned())
}

fn program_of(variable: &str, otherwise: &str) -> String {
    env::var(variable).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| otherwise.to_owned())
}

/// What a command prints; an error where it cannot be started or fails.
fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{:?} failed ({})", command.get_program(), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}
