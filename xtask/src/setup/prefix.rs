//! A prefix that a Rust program can be linked against and run from, without anything in its environment.
//!
//! The wheels are made for one Python process: their libraries look for vendored ones beside each package, want
//! CPython's symbols, and expect a loader path that the interpreter sets. r2r's own build script needs them too, when
//! no loader path of ours has been set yet. So the prefix holds copies, and each of them carries
//! - its absolute path as SONAME, which is what a program that is linked against it will ask for, and
//! - `$ORIGIN` as DT_RPATH, by which it finds the others, also those that it opens by name at run time.
//!
//! A program needs no RPATH of its own then, and neither does a build script.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::ros::Private;
use crate::steps::Log;

/// Makes the prefix from the virtual environment, which is left as it is: rclpy needs it so.
pub fn build(private: &Private, log: &Log) -> Result<()> {
    let venv = private.venv();
    let lib = private.prefix().join("lib");
    fs::create_dir_all(&lib)?;
    for shared in ["include", "share"] {
        symlink(venv.join(shared), private.prefix().join(shared))?;
    }
    for folder in entries(&venv.join("lib"))?.iter().filter(|path| path.is_dir()) {
        symlink(folder, lib.join(name_of(folder)))?; // the generators of interfaces, for workspaces of colcon
    }

    let mut sources = libraries(&venv.join("lib"))?;
    let vendored = |name: String| name.starts_with("ros_") && name.ends_with(".libs");
    for folder in entries(&private.site_packages()?)?.iter().filter(|path| vendored(name_of(path))) {
        sources.extend(libraries(folder)?);
    }
    let copies = copy(private, &sources, &lib)?;
    let patchelf = || Command::new(private.program("patchelf"));
    log.run(patchelf().args(["--force-rpath", "--set-rpath", "$ORIGIN"]).args(&copies))?;
    for copy in &copies {
        log.run(patchelf().arg("--set-soname").args([copy, copy]))?;
    }
    stand_in_for_python(&sources, &lib, log)?;
    // The wheels link rmw_fastrtps_cpp into rcl where a distribution has a library that chooses: r2r asks for that
    // one.
    fs::write(lib.join("librmw_implementation.so"), "INPUT ( -lrmw_fastrtps_cpp )\n")?;
    Ok(())
}

/// Copies each library under the name that others ask for, its SONAME; its other names become links. A library of
/// several names must be one file, or it would be loaded twice.
fn copy(private: &Private, sources: &[PathBuf], lib: &Path) -> Result<Vec<PathBuf>> {
    let mut copies = Vec::new();
    for source in sources.iter().filter(|path| !is_python_part(path)) {
        let output = Command::new(private.program("patchelf")).arg("--print-soname").arg(source).output();
        let soname = String::from_utf8(output.context("patchelf could not be started")?.stdout)?;
        let soname = if soname.trim().is_empty() { name_of(source) } else { soname.trim().to_owned() };
        let copy = lib.join(&soname);
        if !copy.exists() {
            fs::copy(source, &copy).with_context(|| format!("could not write {}", copy.display()))?;
            copies.push(copy);
        }
        let alias = lib.join(name_of(source));
        if !alias.exists() {
            symlink(&soname, alias)?;
        }
    }
    Ok(copies)
}

/// rcl is linked to the Python half of some message packages, which wants the interpreter's symbols. In a Rust process
/// nothing ever calls it: an empty library of that name serves.
fn stand_in_for_python(sources: &[PathBuf], lib: &Path, log: &Log) -> Result<()> {
    let empty = lib.join("empty.so");
    log.run(crate::tools::c_compiler_command().args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&empty))?;
    for source in sources.iter().filter(|path| is_python_part(path)) {
        symlink("empty.so", lib.join(name_of(source)))?;
    }
    Ok(())
}

fn is_python_part(library: &Path) -> bool {
    name_of(library).ends_with("__rosidl_generator_py.so")
}

fn libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = entries(folder)?;
    found.retain(|path| path.is_file() && name_of(path).starts_with("lib") && name_of(path).contains(".so"));
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut entries: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
