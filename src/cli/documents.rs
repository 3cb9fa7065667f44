//! Commands in documents and in help texts are commands: what a reader copies is understood. `tests/documents` runs it.

mod text;

use super::Cli;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::fs;
use std::path::{Path, PathBuf};
use text::{code_of, commands};

/// The pages of the documentation.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["docs", "docs/lab"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let entries = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let pages = entries.chain(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    pages.filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Each with its code.
fn documents() -> Vec<(String, String)> {
    let read = |path: &PathBuf| (path.display().to_string(), code_of(&fs::read_to_string(path).unwrap()));
    pages().iter().map(read).collect()
}

fn words_of(command: &str) -> Vec<String> {
    command.split_whitespace().map(|word| word.replace(['"', '\''], "")).collect()
}

/// Why a call is not understood; `None` where it is, and where it is a pattern of calls (with … or a word in brackets).
fn complaint(command: &str) -> Option<String> {
    if command.contains(['…', '[', '<', '$', '>', '(']) {
        return None;
    }
    let error = Cli::try_parse_from(words_of(command)).err()?;
    error.use_stderr().then(|| format!("{command}: {}", error.to_string().lines().next().unwrap_or_default()))
}

#[test]
fn every_call_of_lienav_in_a_document_is_understood() {
    let mut complaints = Vec::new();
    let mut count = 0;
    for (page, code) in documents() {
        for command in commands(&code, &["lienav "]) {
            count += 1;
            complaints.extend(complaint(&command).map(|problem| format!("{page}: {problem}")));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(count > 20, "only {count} calls were found");
}

/// In a sentence, a call may leave out what it is not about; what it names is there.
#[test]
fn what_a_sentence_says_of_a_call_is_understood() {
    let mut complaints = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let prose: Vec<&str> = text.lines().filter(|line| !line.starts_with("    ")).collect();
        for call in prose.join(" ").split('`').skip(1).step_by(2).filter(|code| code.starts_with("lienav ")) {
            count += 1;
            let is_pattern = call.contains(['…', '[', '<', '$', '>', '(']);
            let Some(error) = Cli::try_parse_from(words_of(call)).err().filter(|_| !is_pattern) else { continue };
            let is_wrong = [ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand];
            if is_wrong.contains(&error.kind()) {
                complaints.push(format!("{}: {call}: {error}", page.display()));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(count > 20, "only {count} calls were found");
}

#[test]
fn every_example_in_a_help_text_is_understood() {
    fn all(command: &clap::Command, texts: &mut Vec<String>) {
        texts.extend(command.get_after_help().map(ToString::to_string));
        command.get_subcommands().for_each(|below| all(below, texts));
    }
    let mut texts = Vec::new();
    all(&Cli::command(), &mut texts);
    let found: Vec<String> = texts.iter().flat_map(|text| commands(text, &["lienav "])).collect();
    let complaints: Vec<String> = found.iter().filter_map(|command| complaint(command)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(found.len() > 30, "only {} examples were found", found.len());
}

#[test]
fn launch_files_tasks_and_examples_that_documents_call_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let launch_files: String = fs::read_dir(root.join("launch"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
        .collect();
    let tasks = read("xtask/src/main.rs").to_lowercase();
    let mut complaints = Vec::new();
    for (page, code) in documents() {
        for command in commands(&code, &["ros2 launch lienav ", "cargo xtask ", "cargo run "]) {
            let words = words_of(&command);
            let mut miss = |what: &str| complaints.push(format!("{page}: {command}: {what} is not there"));
            match words[0].as_str() {
                "ros2" => {
                    if !root.join("launch").join(&words[3]).exists() {
                        miss(&words[3]);
                    }
                    for name in words[4..].iter().filter_map(|word| word.split_once(":=")).map(|(name, _)| name) {
                        if !launch_files.contains(&format!("'{name}'"))
                            && !launch_files.contains(&format!("\"{name}\""))
                        {
                            miss(name);
                        }
                    }
                }
                _ if words[1] == "xtask" => {
                    if !tasks.contains(&format!("    {}", words[2])) {
                        miss(&words[2]);
                    }
                }
                _ => {
                    let example = words.iter().skip_while(|word| *word != "--example").nth(1);
                    let listed = |name: &str| read("Cargo.toml").contains(&format!("[[example]]\nname = \"{name}\""));
                    let is_missing = |name: &&String| {
                        !name.contains('…') && !root.join(format!("examples/{name}.rs")).exists() && !listed(name)
                    };
                    if let Some(example) = example.filter(is_missing) {
                        miss(example);
                    }
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
