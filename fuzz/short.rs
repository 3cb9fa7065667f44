//! The short form, for CI: seeded, some seconds.

#[path = "src/lib.rs"]
#[allow(dead_code, unused_imports)] // each driver uses its part
mod targets;

use std::sync::atomic::Ordering;
use targets::{EVENTS, RESUMED, TARGETS, USED, run};

#[test]
fn no_damage_breaks_anything() {
    for target in &TARGETS {
        // Those that write files are slower by far than those that do not.
        let runs = match target.name {
            "filter" | "cdr" | "cloud" | "conversion" => 1500,
            _ => 300,
        };
        if let Err(finding) = run(target, 1, runs) {
            panic!(
                "{}: panicked on input {} of seed 1; to repeat it: cargo run --example fuzz -- {} --seed 1 --runs {}",
                target.name,
                finding.index,
                target.name,
                finding.index + 1
            );
        }
    }
    let resumed = RESUMED.load(Ordering::Relaxed);
    assert!(resumed > 20, "a filter went on from {resumed} states");
    // Damage that is refused at the door tests nothing behind it.
    let (events, used) = (EVENTS.load(Ordering::Relaxed), USED.load(Ordering::Relaxed));
    assert!(events > 100_000 && used > 10_000, "the filter was given {events} messages and used {used} observations");
}
