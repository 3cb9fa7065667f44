//! A map in parts beside the dense filter and the batch estimate, over the size of the map.
//!
//! `cargo bench -p lienav-eval --bench scale -- marked-orchard:300 --runs 5 --parts 0,50 --batch`; instead of a
//! scenario, a source as of `lienav evaluate`.

use lienav_eval::errors::Errors;
use lienav_eval::run::{Run, Update, run};
use lienav_eval::simulated;
use lienav_io::bag::Topics;
use lienav_io::recording::{Input, Recording, open_with};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::Scenario;
use lienav_slam::{Config, WhenFull};

/// Waypoints of an orchard that are gone twice, at the end.
const AGAIN: usize = 10;

struct Row {
    position: f64,
    yaw: f64,
    landmarks: f64,
    last: f64,
    nees: f64,
    nees_last: f64,
    times_us: Vec<f64>,
    /// How many measurements each step had.
    measurements: Vec<usize>,
    beside_s: f64,
}

/// Measurements of a step with about eight landmarks in view.
const EIGHT: std::ops::RangeInclusive<usize> = 7..=9;

/// What the system says of the memory of this process.
fn memory(what: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with(what)).unwrap_or_default().to_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let value = |name: &str| arguments.iter().position(|word| word == name).and_then(|k| arguments.get(k + 1));
    let Some(scenario) = arguments.first().filter(|word| !word.starts_with("--")) else {
        println!(
            "usage: scale -- SCENARIO|SOURCE [--runs N] [--seed FIRST] [--parts 0,50] [--filter NAME] \
             [--batch [--alone]] [--laps N] [--repeats N] [--trace]"
        );
        return;
    };
    let runs: u64 = value("--runs").and_then(|text| text.parse().ok()).unwrap_or(1);
    let first: u64 = value("--seed").and_then(|text| text.parse().ok()).unwrap_or(1);
    let repeats: u64 = value("--repeats").and_then(|text| text.parse().ok()).unwrap_or(1);
    let laps: usize = value("--laps").and_then(|text| text.parse().ok()).unwrap_or(1);
    let filter = value("--filter").map_or("default", String::as_str);
    let mut methods: Vec<(String, usize)> = value("--parts")
        .map_or("50", String::as_str)
        .split(',')
        .filter_map(|text| text.parse().ok())
        .map(|parts| (filter.to_owned(), parts))
        .collect();
    if arguments.iter().any(|word| word == "--batch") {
        // Of the parts' own associations and first guess, where there are parts: one map would take too long.
        let parts = methods.iter().map(|(_, parts)| *parts).max().unwrap_or(0);
        if arguments.iter().any(|word| word == "--alone") {
            methods.clear();
        }
        methods.push(("batch".to_owned(), parts));
    }
    println!(
        "| {scenario} | poses | heading | landmarks | last pose | NEES | NEES, last tenth | mean step | of 7 to 9 \
         readings | p99 | worst | last tenth | beside |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut rows: Vec<Vec<Row>> = methods.iter().map(|_| Vec::new()).collect();
    for seed in first..first + runs {
        let recording = match Scenario::named(scenario) {
            Ok(scenario) => {
                let mut scenario = Scenario { seed, ..scenario };
                for way in [&mut scenario.trajectory.waypoints_x_m, &mut scenario.trajectory.waypoints_y_m] {
                    let once = way.len().saturating_sub(AGAIN);
                    *way = way.iter().copied().take(once).cycle().take(laps * once + AGAIN).collect();
                }
                simulated::recording(&scenario).expect("it can be simulated")
            }
            Err(_) => open_with(scenario, &Topics::default()).expect("it is neither a scenario nor a source"),
        };
        let scans = recording.inputs.iter().filter_map(|input| match input {
            Input::Scan(features) => Some(features.measurements.len()),
            _ => None,
        });
        let (scans, checked_measurements) =
            scans.fold((0, 0), |(scans, checked_measurements), of| (scans + 1, checked_measurements + of));
        let a_scan = checked_measurements as f64 / f64::from(scans.max(1));
        println!("<!-- with the recording, {}; {scans} clouds, {a_scan:.2} readings each -->", memory("VmRSS"));
        for (rows, (filter, parts)) in rows.iter_mut().zip(&methods) {
            let config = recording.config.clone().unwrap_or_default();
            let mut config = Config { filter: filter.clone(), ..config };
            config.map.local_features = *parts;
            if *parts > 0 {
                config.map.max_features = 100_000;
            } else {
                config.map.when_full = WhenFull::Refuse;
            }
            let run = run(&recording, &config, |_| ()).expect("the settings are valid");
            if let Some((status, _)) = &run.parts {
                println!("<!-- {status:?} -->");
            }
            let mut row = judged(&run, &recording);
            // A machine that does other things as well makes a step longer, never shorter.
            for _ in 1..repeats {
                let again = lienav_eval::run::run(&recording, &config, |_| ()).expect("the settings are valid");
                row.times_us.iter_mut().zip(&again.step_us).for_each(|(time, again)| *time = time.min(*again));
            }
            rows.push(row);
            print_row(&format!("{filter} {parts}, seed {seed}"), &rows[rows.len() - 1..]);
        }
    }
    println!("{}", memory("VmHWM"));
    for (rows, (filter, parts)) in rows.iter().zip(&methods) {
        print_row(&format!("{filter} {parts}"), rows);
    }
}

fn judged(run: &Run, recording: &Recording) -> Row {
    let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
    let errors = Errors::new(run, &truth);
    let nees: Vec<f64> = errors.nees().collect();
    if std::env::args().any(|word| word == "--trace") {
        for (k, step) in errors.steps.iter().enumerate().filter(|(k, _)| k % 10 == 0) {
            let std = step.std();
            println!(
                "{k} {:.1} {:.2} {:.2} | {:.3} {:.3} {:.4} | {:.3} {:.3} {:.4} | {:.0}",
                step.stamp.secs(),
                step.truth.p.x,
                step.truth.p.y,
                step.error.x,
                step.error.y,
                step.error.z,
                std.x,
                std.y,
                std.z,
                step.nees.unwrap_or(0.0)
            );
        }
    }
    let tail = &nees[nees.len() - nees.len() / 10..];
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    Row {
        position: errors.position_rmse().unwrap_or(f64::NAN),
        yaw: errors.yaw_rmse().unwrap_or(f64::NAN),
        landmarks: errors.landmark_rmse().unwrap_or(f64::NAN),
        last: errors.steps.last().map_or(f64::NAN, |step| step.error.xy().norm()),
        nees: mean(&nees),
        nees_last: mean(tail),
        times_us: run.step_us.clone(),
        measurements: run.estimates.iter().map(|estimate| estimate.update.map_or(0, measurements_of)).collect(),
        beside_s: run.parts.as_ref().map_or(0.0, |(_, beside)| *beside),
    }
}

fn measurements_of(update: Update) -> usize {
    update.accepted + update.added + update.rejected
}

fn print_row(name: &str, rows: &[Row]) {
    let mean = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    let square = |of: fn(&Row) -> f64| (rows.iter().map(|row| of(row).powi(2)).sum::<f64>() / rows.len() as f64).sqrt();
    let mut times: Vec<f64> = rows.iter().flat_map(|row| row.times_us.iter().copied()).collect();
    let average = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let eight: Vec<f64> = rows
        .iter()
        .flat_map(|row| {
            row.times_us
                .iter()
                .zip(&row.measurements)
                .filter(|(_, checked_measurements)| EIGHT.contains(checked_measurements))
        })
        .map(|(time, _)| *time)
        .collect();
    let eight = eight.iter().sum::<f64>() / eight.len().max(1) as f64;
    let tail: Vec<f64> = rows
        .iter()
        .flat_map(|row| row.times_us[row.times_us.len() - row.times_us.len() / 10..].iter().copied())
        .collect();
    let tail = tail.iter().sum::<f64>() / tail.len().max(1) as f64;
    times.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| times.get((share * times.len() as f64) as usize).or(times.last()).copied().unwrap_or(0.0);
    println!(
        "| {name} | {:.4} m | {:.5} | {:.4} m | {:.4} m | {:.2} | {:.2} | {average:.1} µs | \
         {eight:.1} µs | {:.0} µs | {:.0} µs | {tail:.1} µs | {:.2} s |",
        square(|row| row.position),
        square(|row| row.yaw),
        square(|row| row.landmarks),
        square(|row| row.last),
        mean(|row| row.nees),
        mean(|row| row.nees_last),
        at(0.99),
        at(1.0),
        mean(|row| row.beside_s),
    );
}
