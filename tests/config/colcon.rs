//! colcon-cargo reads what `cargo metadata` says by lines, of 64 KiB at most, and it is one line; where it is longer,
//! `colcon build` ends with "Expecting value: line 1 column 1 (char 0)".

use std::process::Command;

const LIMIT: usize = 64 << 10;
/// What has to fit: `/home/…/ros2_ws/src/lienav` with names that are somewhat long.
const LENGTH_OF_PATH: usize = 44;

/// A robot copies what is built for release.
#[test]
fn release_executables_are_stripped() {
    let manifest = super::read("Cargo.toml");
    let release = manifest.split("\n[profile.release]\n").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap();
    assert!(release.contains("strip = \"symbols\"") && !release.contains("debug ="), "{release}");
}

/// colcon would build each crate as a package of its own, with the arguments of this one.
#[test]
fn colcon_leaves_the_crates_out() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    for entry in crates.read_dir().unwrap() {
        let folder = entry.unwrap().path();
        let is_crate = folder.join("Cargo.toml").is_file();
        assert!(!is_crate || folder.join("COLCON_IGNORE").is_file(), "{} has no COLCON_IGNORE", folder.display());
    }
}

#[test]
fn colcon_can_read_the_metadata_of_the_workspace_under_a_long_path() {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo.current_dir(root).args(["metadata", "--no-deps", "--format-version", "1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (places, length) = (text.matches(root).count(), text.len());
    assert!(places > 50, "{places} places of {root}: {text}");
    let there = length - places * root.len() + places * LENGTH_OF_PATH;
    println!("{length} bytes here, {there} with a path of {LENGTH_OF_PATH}");
    assert!(
        there < LIMIT,
        "{there} bytes with a path of {LENGTH_OF_PATH}, and colcon reads {LIMIT}: a crate less, dependencies less, or a \
         package in a workspace of its own, as xtask"
    );
}
