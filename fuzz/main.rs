//! `cargo run --release --example fuzz -- TARGET|all [--runs N] [--seed S]`, or `-- TARGET FILE` for one input.

#[path = "src/lib.rs"]
#[allow(dead_code, unused_imports)] // each driver uses its part
mod targets;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use targets::{EVENTS, TARGETS, Target, USED, keep, run};

const USAGE: &str = "fuzz TARGET|all [--runs N] [--seed S], or fuzz TARGET FILE";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str, default: u64| {
        let at = words.iter().position(|word| word == name);
        at.map_or(Some(default), |at| words.get(at + 1)?.parse().ok())
    };
    let (Some(runs), Some(seed)) = (option("--runs", 10_000), option("--seed", 1)) else { return refuse() };
    let Some(name) = words.first() else { return refuse() };
    let targets: Vec<&Target> = TARGETS.iter().filter(|target| name == "all" || target.name == name).collect();
    if targets.is_empty() {
        return refuse();
    }
    if let Some(file) = words.get(1).filter(|word| !word.starts_with("--")) {
        let Ok(input) = std::fs::read(file) else { return refuse() };
        targets.iter().for_each(|target| (target.run)(&input));
        return ExitCode::SUCCESS;
    }
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        let start = Instant::now();
        match run(target, seed, runs) {
            Ok(()) => println!("{:10} {runs} inputs of seed {seed} in {:.1?}", target.name, start.elapsed()),
            Err(finding) => {
                let path = Path::new("fuzz/findings").join(format!("{}-{seed}-{}", target.name, finding.index));
                let kept = keep(&path, &finding.input);
                println!("{:10} PANIC on input {}; kept as {} ({kept:?})", target.name, finding.index, path.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    let events = EVENTS.load(Ordering::Relaxed);
    if events > 0 {
        let used = USED.load(Ordering::Relaxed);
        println!("the filter was given {events} messages, and used {used} observations");
    }
    code
}

fn refuse() -> ExitCode {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    eprintln!("{USAGE}\ntargets: {}", names.join(", "));
    ExitCode::from(2)
}
