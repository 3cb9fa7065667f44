//! The documentation is true: every command of a page or of a help text is run as a reader copies it, by a shell, in a
//! folder with what it speaks of. What is run in another form, elsewhere, or not at all is listed with its reason.
//!
//! - [`links`]: links between pages lead to a heading that exists, and source files name pages that exist;
//! - [`text`]: where commands stand in a text;
//! - [`lists`]: which commands are run otherwise, and why;
//! - [`place`]: the folder, with bags, maps and data sets under the names that the documents use.
//!
//! What is said to the nodes is run by `tests/ros`.

#![cfg(feature = "lab")]

mod links;
mod lists;
mod place;
#[path = "../../src/cli/documents/text.rs"]
mod text;

use lists::{ELSEWHERE, INSTEAD, NOT_RUN, PROGRAMS};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page or a help text, and its commands in their order.
struct Text {
    name: String,
    commands: Vec<String>,
}

/// All pages of the documentation, in order.
fn paths() -> Vec<PathBuf> {
    let folders = ["docs", "docs/lab"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let others = ["README.md", "CONTRIBUTING.md", "QUALITY_DECLARATION.md", "SECURITY.md", "python/README.md"]
        .map(|name| root().join(name));
    let entries = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.chain(others).filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    paths.sort();
    paths
}

fn pages() -> Vec<Text> {
    let read = |path: PathBuf| {
        let code = text::code_of(&fs::read_to_string(&path).unwrap());
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        Text { name, commands: text::commands(&code, PROGRAMS) }
    };
    paths().into_iter().map(read).collect()
}

/// The help text of a call and of all calls below it.
fn help(words: &[&str], texts: &mut Vec<Text>) {
    let output = Command::new(env!("CARGO_BIN_EXE_lienav")).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "lienav {} --help", words.join(" "));
    let said = String::from_utf8(output.stdout).unwrap();
    let examples: String =
        said.lines().filter(|line| line.starts_with("  lienav ")).fold(String::new(), |all, line| all + line + "\n");
    texts.push(Text {
        name: format!("lienav {} --help", words.join(" ")),
        commands: text::commands(&examples, PROGRAMS),
    });
    let below = said.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    for line in below.filter(|line| !line.starts_with("   ") && !line.starts_with("  help")) {
        let name = line.split_whitespace().next().unwrap();
        help(&[words, &[name]].concat(), texts);
    }
}

fn texts() -> Vec<Text> {
    let mut texts = pages();
    help(&[], &mut texts);
    texts
}

/// What becomes of a command.
enum Fate {
    Run(String),
    Elsewhere,
    Unknown,
    NotRun(&'static str),
}

fn fate(command: &str) -> Fate {
    let begins = |beginning: &str| command == beginning || command.starts_with(&format!("{beginning} "));
    if let Some((_, instead, _)) = INSTEAD.iter().find(|(written, ..)| *written == command) {
        return Fate::Run((*instead).to_owned());
    }
    if let Some((_, why)) = NOT_RUN.iter().find(|(beginning, _)| begins(beginning)) {
        return Fate::NotRun(why);
    }
    if ELSEWHERE.iter().any(|(beginning, ..)| begins(beginning)) {
        return Fate::Elsewhere;
    }
    if command.starts_with("lienav ") { Fate::Run(with_few_runs(command)) } else { Fate::Unknown }
}

/// A Monte Carlo of two runs, or of one where a run takes seconds: the command is otherwise the one that is written.
fn with_few_runs(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    let is_long = command.contains(" space:") || command.contains(" gnss ");
    if let Some(at) = words.iter().position(|word| *word == "--runs") {
        words[at + 1] = if is_long { "1" } else { "2" };
    }
    words.join(" ")
}

#[test]
fn what_is_listed_is_in_a_document_and_what_is_run_elsewhere_is_there() {
    let texts = texts();
    let all: BTreeSet<&str> = texts.iter().flat_map(|text| &text.commands).map(String::as_str).collect();
    assert!(all.len() > 100, "only {} commands were found", all.len());
    let stands = |beginning: &str| all.iter().any(|command| command.starts_with(beginning));
    let listed =
        INSTEAD.iter().map(|row| row.0).chain(NOT_RUN.iter().map(|row| row.0)).chain(ELSEWHERE.iter().map(|row| row.0));
    let stale: Vec<&str> = listed.filter(|beginning| !stands(beginning)).collect();
    assert!(stale.is_empty(), "no document has these any more, take them off tests/documents/lists.rs: {stale:#?}");
    for (beginning, file, words) in ELSEWHERE {
        let found = fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(found.contains(words), "'{beginning}' is said to be run by {file}, which does not say '{words}'");
    }
    let foreign = |command: &&str| matches!(fate(command), Fate::Unknown);
    let unknown: Vec<&str> = all.into_iter().filter(foreign).collect();
    assert!(unknown.is_empty(), "tests/documents/lists.rs does not say where these are run: {unknown:#?}");
}

#[test]
fn every_command_of_the_command_line_in_a_document_runs() {
    let shared = tempfile::tempdir().unwrap();
    let data = place::prepare(shared.path());
    let texts: Vec<Text> = texts().into_iter().filter(|text| !text.commands.is_empty()).collect();
    // The longest first, so that no worker is left alone with one at the end.
    let mut order: Vec<&Text> = texts.iter().collect();
    order.sort_by_key(|text| text.commands.len());
    let (queue, outcomes) = (Mutex::new(order), Mutex::new(Vec::new()));
    let seen = Mutex::new(BTreeSet::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                // The lock ends with the statement: in the head of a `while let` it would last as long as the body.
                let next = || queue.lock().unwrap().pop();
                while let Some(text) = next() {
                    let outcome = run_all(text, shared.path(), data, &seen);
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    let failures: Vec<String> = outcomes.iter().flat_map(|outcome| outcome.failures.clone()).collect();
    let (run, left): (usize, usize) = outcomes.iter().fold((0, 0), |sum, one| (sum.0 + one.run, sum.1 + one.left));
    println!("{run} commands were run, {left} were not");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(run > if data { 70 } else { 40 }, "only {run} commands were run");
}

/// Where there is Python, which CI has.
#[test]
fn the_figures_are_those_that_the_script_draws() {
    let draw = Command::new("python3").arg(root().join("docs/figures/draw.py")).arg("--check").output();
    match draw {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
        Err(error) => println!("not run: python3: {error}"),
    }
}

#[derive(Default)]
struct Outcome {
    run: usize,
    left: usize,
    failures: Vec<String>,
}

/// Runs the commands of a text in a folder of their own: one may take what another one before it has made.
fn run_all(text: &Text, shared: &Path, data: bool, seen: &Mutex<BTreeSet<String>>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    place::link(shared, folder.path());
    let mut outcome = Outcome::default();
    for command in &text.commands {
        match fate(command) {
            Fate::Elsewhere | Fate::Unknown => {}
            Fate::NotRun(why) => {
                println!("not run: {}: {command}: {why}", text.name);
                outcome.left += 1;
            }
            Fate::Run(command) if !data && place::wants_data(&command) => {
                println!("not run: {}: {command}: ../shared/data is not there", text.name);
                outcome.left += 1;
            }
            // What writes nothing does the same wherever it stands.
            Fate::Run(command) if !command.contains("--out") && !seen.lock().unwrap().insert(command.clone()) => {}
            Fate::Run(command) => {
                outcome.run += 1;
                place::make_room(&command, folder.path());
                let begin = Instant::now();
                let done = place::shell(&command, folder.path()).output().unwrap();
                println!("{:6.2} s  {}: {command}", begin.elapsed().as_secs_f64(), text.name);
                if !done.status.success() {
                    let said = [done.stdout, done.stderr].concat();
                    let said = String::from_utf8_lossy(&said);
                    outcome.failures.push(format!("{}: {command}: {}: {}", text.name, done.status, said.trim()));
                }
            }
        }
    }
    outcome
}
