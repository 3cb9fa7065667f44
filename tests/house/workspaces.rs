//! The Python module has a workspace of its own with the project's tables, so that cargo finds in both the same crates,
//! and compiles them once.

use std::fs;
use std::path::Path;

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
