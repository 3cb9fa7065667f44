//! `lienav self-test`: what an image, a package and a newcomer call first.

use super::{json, lienav, output};

#[test]
fn it_passes_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let done = lienav(&["self-test"]).env("TMPDIR", folder.path()).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{said}");
    let (last, table) = (said.lines().last().unwrap(), said.lines().filter(|line| line.ends_with("  ok")).count());
    assert!(table >= 8 && last.starts_with(&format!("{table} of {table} hold")), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what it wrote is left");
}

#[test]
fn a_program_reads_the_same_as_json() {
    let report = json(&output(&["self-test", "--json"]));
    assert_eq!(report["passes"], true, "{report}");
    for check in report["checks"].as_array().unwrap() {
        let number = |key: &str| check[key].as_f64().unwrap();
        assert!((number("least")..=number("most")).contains(&number("value")), "{check}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
    let done = lienav(&["self-test"]).env("TMPDIR", "/nowhere").output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("/nowhere") && said.contains("TMPDIR"), "{said}");
}
