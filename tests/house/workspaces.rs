//! The Python module has a workspace of its own with the project's tables, so that cargo finds in both the same crates,
//! and compiles them once. What is not optimized for tests is below the nodes alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the members of a workspace inherit.
fn inherited(manifest: &str) -> &str {
    let begin = manifest.find("[workspace.package]").expect("a workspace");
    let lints = begin + manifest[begin..].find("[workspace.lints.rust]").expect("lints");
    let end = manifest[lints..].find("\n\n").map_or(manifest.len(), |length| lints + length);
    manifest[begin..end].trim_end()
}

#[test]
fn the_workspace_of_the_python_module_has_the_tables_of_the_project() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    assert_eq!(inherited(&read("python/Cargo.toml")), inherited(&read("Cargo.toml")));
    assert_eq!(fs::read_link(root.join("python/crates")).unwrap(), Path::new("../crates"));
}

/// The names in the table of `.cargo/config.toml` that are not optimized for tests, without those with C code: their
/// Rust is declarations, of which no crate takes functions.
fn not_optimized(configuration: &str) -> BTreeSet<&str> {
    let table = configuration.split("[profile.dev.package]\n").nth(1).expect("a table");
    let names = table.lines().filter_map(|line| line.strip_suffix(" = { opt-level = 0 }"));
    names.filter(|name| !["libsqlite3-sys", "lz4-sys", "zstd-sys"].contains(name)).collect()
}

#[test]
fn crates_that_compute_are_above_none_that_is_not_optimized() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let configuration = fs::read_to_string(root.join(".cargo/config.toml")).unwrap();
    let slow = not_optimized(&configuration);
    assert!(slow.contains("r2r") && slow.contains("lienav"), "{slow:?}");

    let mut cargo = Command::new(env!("CARGO"));
    let output = cargo
        .current_dir(root)
        .args(["metadata", "--offline", "--all-features", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    // What runs in the compiler is linked to nothing.
    let is_linked = |id: &str| !list(&packages[id]["targets"]).iter().any(|target| target["kind"][0] == "proc-macro");
    let mut below = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let linked = list(&node["deps"])
            .into_iter()
            .filter(|dependency| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "build"))
            .map(|dependency| text(&dependency["pkg"]))
            .filter(|id| is_linked(id));
        below.insert(text(&node["id"]), linked.collect::<Vec<_>>());
    }

    for id in below.keys().filter(|id| text(&packages[*id]["name"]).starts_with("lienav-")) {
        let (mut seen, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(next) = open.pop() {
            let name = text(&packages[next]["name"]);
            assert!(!slow.contains(name.as_str()), "{id} is above {name}, which is not optimized");
            if seen.insert(next) {
                open.extend(&below[next]);
            }
        }
    }
}
