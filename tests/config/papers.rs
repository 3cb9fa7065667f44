//! `docs/lab/papers.md`, the table of all items of the texts, against what can be run: its commands and tests exist,
//! every reproduction has a row, nothing is missing, and what is different says why.

use super::read;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Item, command or test, status.
fn rows() -> Vec<[String; 3]> {
    let text = read("docs/lab/papers.md");
    let cells = |line: &str| -> Option<[String; 3]> {
        // A bar in a cell is escaped.
        let line = line.replace("\\|", "¦");
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        cells.try_into().ok()
    };
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| item |");
    text.lines().filter(is_row).map(|line| cells(line).unwrap_or_else(|| panic!("three cells: {line}"))).collect()
}

/// What stands between backticks.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of `lienav reproduce list`.
fn reproductions() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_lienav")).args(["reproduce", "list"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// The sources of all crates, with their paths from the root.
fn sources() -> Vec<(PathBuf, String)> {
    fn visit(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                visit(&entry, found);
            } else if entry.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&entry).unwrap();
                found.push((entry, text));
            }
        }
    }
    let mut found = Vec::new();
    visit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates"), &mut found);
    found
}

#[test]
fn every_command_and_test_of_the_papers_exists_and_every_reproduction_has_a_row() {
    let (rows, names, sources) = (rows(), reproductions(), sources());
    assert!(rows.len() > 180, "{}", rows.len());
    let is_in = |folder: &str, what: &str| {
        sources.iter().any(|(path, text)| path.to_string_lossy().contains(folder) && text.contains(what))
    };
    for [item, command, _] in &rows {
        assert!(code(command).count() > 0, "{item}: no command and no test");
        for code in code(command) {
            if let Some(words) = code.strip_prefix("lienav ") {
                let mut words = words.split(' ');
                match (words.next(), words.next()) {
                    (Some("reproduce"), Some(name)) => assert!(names.iter().any(|n| n == name), "{item}: {name}"),
                    // Other commands are those that `lienav --help` knows.
                    (Some(word), _) => {
                        let help = Command::new(env!("CARGO_BIN_EXE_lienav")).args([word, "--help"]).output().unwrap();
                        assert!(help.status.success(), "{item}: lienav {word}");
                    }
                    _ => panic!("{item}: {code}"),
                }
            } else if let Some((_, test)) = code.rsplit_once("::") {
                assert!(is_in("crates", &format!("fn {test}(")), "{item}: no test {code}");
            } else {
                let literal = format!("\"{}\"", code.trim_end_matches(['4', '5']));
                let is_experiment = is_in("crates/lab", &format!("\"{code}\"")) || is_in("crates/lab", &literal);
                // Names of the n-dimensional bodies are made of their dimension.
                assert!(is_experiment || code.starts_with("free-body-so"), "{item}: no experiment {code}");
            }
        }
    }
    for name in names.iter().filter(|name| !["all", "honesty", "referee"].contains(&name.as_str())) {
        let command = format!("lienav reproduce {name}");
        assert!(rows.iter().any(|row| code(&row[1]).any(|code| code == command)), "no row has `{command}`");
    }
}

#[test]
fn nothing_of_the_papers_is_missing_and_what_is_different_says_why() {
    for [item, _, status] in rows() {
        let word = status.split([' ', ',', ';', ':']).next().unwrap_or_default();
        assert!(["same", "different"].contains(&word), "{item}: {status}");
        assert!(!status.contains("missing"), "{item}");
        if word == "different" {
            assert!(status.contains(": ") || status.contains(['(', ',']), "{item}: no reason: {status}");
        }
    }
}

#[test]
fn the_errata_name_tests_that_exist() {
    let (text, sources) = (read("docs/lab/errata.md"), sources());
    let tests: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|code| code.contains("::")).collect();
    assert!(tests.len() > 10);
    for code in tests {
        let last = code.rsplit("::").next().unwrap_or_default();
        let exists = sources.iter().any(|(_, text)| {
            text.contains(&format!("fn {last}("))
                || text.contains(&format!("mod {last};"))
                || text.contains(&format!("mod {last} "))
        });
        assert!(exists, "docs/lab/errata.md: {code}");
    }
}
