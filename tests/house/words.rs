//! The words of the project: those that the field does not have become fewer, and no file gets more of them.
//!
//! `tests/house/words.txt` has, for each file, how often the words below stand in it. A file that is new, or is not in
//! that list, may have none. Where words were replaced, `LIENAV_UPDATE_WORDS=1 cargo test --test house words` writes
//! the list anew; it never lets a number grow.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What is not to be written, and what is instead. A phrase is a sequence of words; identifiers count as their words.
const WORDS: [(&str, &str); 46] = [
    ("a reading", "measurement"),
    ("an observation", "measurement"),
    ("astray", "residual"),
    ("begin anew", "reinitialize"),
    ("begins anew", "is reinitialized"),
    ("begun anew", "reinitialized"),
    ("cloud", "scan, detections; a PointCloud2 is a point cloud"),
    ("clouds", "scans, detections"),
    ("each reading", "measurement"),
    ("every reading", "measurement"),
    ("fork", "branch point"),
    ("forks", "branch points"),
    ("glance", "evidence"),
    ("glances", "evidence"),
    ("is felt", "is significant"),
    ("is no more", "was removed"),
    ("is none", "is invalid, is absent"),
    ("is to be had", "is available"),
    ("keeper", "map store"),
    ("lasting", "time-correlated"),
    ("misfit", "outlier"),
    ("misfits", "outliers"),
    ("no reading", "measurement"),
    ("nobody", "name the subject"),
    ("observation", "measurement"),
    ("observations", "measurements"),
    ("one reading", "measurement"),
    ("readings", "measurements"),
    ("rival", "hypothesis, branch"),
    ("rivals", "hypotheses, branches"),
    ("seat", "extrinsics"),
    ("seats", "extrinsics"),
    ("second look", "refilter"),
    ("take back", "undo a loop closure"),
    ("taken back", "undone"),
    ("takes back", "undoes"),
    ("that reading", "measurement"),
    ("the reading", "measurement"),
    ("this reading", "measurement"),
    ("told", "log-likelihood ratio, evidence"),
    ("twin", "duplicate"),
    ("twins", "duplicates"),
    ("viewpoint", "field-of-view cell, anchor pose"),
    ("viewpoints", "field-of-view cells, anchor poses"),
    ("way around a loop", "loop"),
    ("young", "recent"),
];
const LIST: &str = "tests/house/words.txt";

/// The words of a text in lower case, with the parts of identifiers as words of their own.
fn words(text: &str) -> Vec<(String, usize)> {
    let (mut words, mut word) = (Vec::new(), String::new());
    for (at, line) in text.lines().enumerate() {
        let mut before = ' ';
        for sign in line.chars().chain([' ']) {
            let is_next_part = sign.is_uppercase() && before.is_lowercase();
            if (!sign.is_alphabetic() || is_next_part) && !word.is_empty() {
                words.push((std::mem::take(&mut word), at + 1));
            }
            if sign.is_alphabetic() {
                word.extend(sign.to_lowercase());
            }
            before = sign;
        }
    }
    words
}

/// Where the words of the list stand in a text: the line of each, what it is, and what to write.
fn found(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let words = words(text);
    let is_at = |k: usize, phrase: &str| {
        phrase.split(' ').enumerate().all(|(i, part)| words.get(k + i).is_some_and(|(word, _)| word == part))
    };
    let lines: Vec<&str> = text.lines().collect();
    // `is_none` is a method of the language.
    let is_method = |k: usize, phrase: &str| phrase == "is none" && !lines[words[k].1 - 1].contains("is none");
    let is_point_cloud = |k: usize| k > 0 && words[k - 1].0 == "point";
    let here = |k: usize| {
        WORDS.iter().filter(move |(phrase, _)| is_at(k, phrase) && !is_point_cloud(k) && !is_method(k, phrase))
    };
    (0..words.len())
        .flat_map(|k| here(k).map(move |(phrase, instead)| (k, *phrase, *instead)))
        .map(|(k, p, i)| (words[k].1, p, i))
        .collect()
}

/// The files whose words count, and what is in them: those that git knows, and those that it would add.
fn texts() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut listed = Command::new("git");
    listed.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let Ok(output) = listed.output() else { return BTreeMap::new() };
    let files = String::from_utf8(output.stdout).unwrap();
    let counts = |file: &&str| {
        let is_text = [".rs", ".md", ".py"].iter().any(|ending| file.ends_with(ending));
        is_text && !["CHANGELOG.md", "tests/house/words.rs"].contains(file)
    };
    let text = |file: &str| Some((file.to_owned(), fs::read_to_string(root.join(file)).ok()?));
    files.lines().filter(counts).filter_map(text).collect()
}

#[test]
fn no_file_gets_more_words_that_the_field_does_not_have() {
    let texts = texts();
    if texts.is_empty() {
        eprintln!("no git checkout: the words of the project are not compared");
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    let list = fs::read_to_string(&path).unwrap_or_default();
    let entry =
        |line: &str| line.split_once(' ').map(|(count, file)| (file.to_owned(), count.parse::<usize>().unwrap()));
    let allowed: BTreeMap<String, usize> = list.lines().filter_map(entry).collect();
    let (mut wrong, mut lines) = (String::new(), String::new());
    for (file, text) in &texts {
        let (found, most) = (found(text), allowed.get(file).copied().unwrap_or(0));
        if found.len() > most {
            wrong += &format!("{file}: {} of these words, {most} allowed\n", found.len());
            for (line, phrase, instead) in found.iter().take(12) {
                wrong += &format!("  {file}:{line}: \"{phrase}\": {instead}\n");
            }
        }
        let kept = if list.is_empty() { found.len() } else { found.len().min(most) };
        if kept > 0 {
            lines += &format!("{kept} {file}\n");
        }
    }
    if std::env::var_os("LIENAV_UPDATE_WORDS").is_some() {
        fs::write(&path, lines).unwrap();
    }
    assert!(wrong.is_empty(), "words that the field does not have (tests/house/words.rs):\n{wrong}");
}

#[test]
fn identifiers_count_as_their_words_and_a_point_cloud_is_one() {
    let text = "fn last_cloud(young: &TwinOf) {}\n// A PointCloud2 is no scan; the reading is.\n";
    let lines: Vec<_> = found(text).into_iter().map(|(line, phrase, _)| (line, phrase)).collect();
    assert_eq!(lines, [(1, "cloud"), (1, "young"), (1, "twin"), (2, "the reading")]);
}
