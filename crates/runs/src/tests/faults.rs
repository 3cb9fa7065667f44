//! A run with faults at random, beside the same run without: what wrong stamps, gaps, scans of points that nothing is
//! known of, and spikes of the odometry cost.

use super::gap::{config, scene};
use crate::errors::Errors;
use crate::mean::mean;
use crate::run::{Run, run};
use crate::simulated;
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording, open};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_sim::{Scenario, Simulation};
use lienav_slam::{Config, Measurement, MeasurementKind, Scan};
use nalgebra::Vector2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::path::Path;

/// What may happen to the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// A copy of an odometry message or of a scan with a stamp that is wrong by seconds, or 0.
    Stamp,
    /// All input is lost for 1 s to 6 s.
    Gap,
    /// A scan of points without identity, anywhere.
    Points,
    /// Up to five odometry messages in a row with a velocity or a yaw rate just below the limit.
    Spikes,
}

/// The simulated robot knows all of its landmarks by then, s. What lies in a gap before it is never mapped.
const FIRST_LAP_S: f64 = 66.0;

const ALL: [Fault; 4] = [Fault::Stamp, Fault::Gap, Fault::Points, Fault::Spikes];

/// How often what happens, and from when on, s.
#[derive(Clone, Copy, Debug)]
struct Plan {
    among: &'static [Fault],
    from_s: f64,
    interval_s: f64,
}

/// The same input with a fault in each interval, at a random instant of it.
fn with_faults(recording: &Recording, plan: &Plan, seed: u64) -> Recording {
    let Plan { among, from_s, interval_s } = *plan;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut inputs = recording.inputs.clone();
    let Some(first) = inputs.first().map(Input::stamp) else { return recording.clone() };
    let last_s = inputs.last().map_or(0.0, |input| input.stamp().since(first));
    let mut number = 0;
    while from_s + f64::from(number + 1) * interval_s < last_s {
        let at = first + from_s + interval_s * (f64::from(number) + rng.random_range(0.3..0.9));
        let fault = among[rng.random_range(0..among.len())];
        inject(&mut inputs, fault, at, &mut rng);
        number += 1;
    }
    Recording { inputs, ..recording.clone() }
}

fn inject(inputs: &mut Vec<Input>, fault: Fault, at: Stamp, rng: &mut ChaCha8Rng) {
    let Some(place) = inputs.iter().position(|input| input.stamp() >= at) else { return };
    match fault {
        Fault::Stamp => {
            let offset = [-3.0, 0.3, 0.7, 1.5, 3.0, 5.0][rng.random_range(0..6)];
            let stamp = if rng.random_bool(0.2) { Stamp::default() } else { inputs[place].stamp() + offset };
            let copy = restamped(&inputs[place], stamp);
            inputs.insert(place, copy);
        }
        Fault::Gap => {
            let end = at + rng.random_range(1.0..6.0);
            inputs.retain(|input| input.stamp() < at || input.stamp() > end);
        }
        Fault::Points => {
            let mut point = || [rng.random_range(0.5..6.0), rng.random_range(-3.0..3.0)];
            let measurements: Vec<_> = (0..20).map(|_| Measurement::new(None, point())).collect();
            let stamp = inputs[place].stamp() - 0.003;
            inputs.insert(place, Input::Scan(Scan { stamp, kind: MeasurementKind::RangeBearing, measurements }));
        }
        Fault::Spikes => {
            let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let (is_fast, count) = (rng.random_bool(0.5), rng.random_range(1..=5));
            let odometry = inputs[place..].iter_mut().filter_map(|input| match input {
                Input::Odometry(odometry) => Some(odometry),
                _ => None,
            });
            for odometry in odometry.take(count) {
                if is_fast {
                    odometry.velocity = Vector2::new(49.0 * sign, 0.0);
                } else {
                    odometry.yaw_rate = 49.0 * sign;
                }
            }
        }
    }
}

pub(super) fn restamped(input: &Input, stamp: Stamp) -> Input {
    let mut copy = input.clone();
    match &mut copy {
        Input::Odometry(odometry) | Input::Fallback { odometry, .. } | Input::Received { odometry, .. } => {
            odometry.stamp = stamp;
        }
        Input::Imu(imu) => imu.stamp = stamp,
        Input::Scan(scan) => scan.stamp = stamp,
    }
    copy
}

/// Position RMSE, m, and mean NEES.
fn judge(run: &Run, recording: &Recording) -> (f64, f64) {
    let errors = Errors::new(run, &Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S));
    (errors.position_rmse().unwrap_or(f64::INFINITY), mean(errors.nees()).unwrap_or(f64::INFINITY))
}

/// The same, over all `recordings`, without faults and with them.
fn without_and_with(recordings: &[(Recording, Config)], plan: &Plan, draws: u64) -> [(f64, f64); 2] {
    let all = recordings.iter().enumerate().flat_map(|(k, each)| (0..draws).map(move |draw| (k as u64, draw, each)));
    let judged: Vec<_> = all
        .par_bridge()
        .map(|(k, draw, (recording, config))| {
            let clean = judge(&run(recording, config, |_| ()).unwrap(), recording);
            let faulty = with_faults(recording, plan, 100 * k + draw);
            (clean, judge(&run(&faulty, config, |_| ()).unwrap(), recording))
        })
        .collect();
    let (clean, faulty): (Vec<_>, Vec<_>) = judged.into_iter().unzip();
    [clean, faulty].map(|runs| {
        let rmse = mean(runs.iter().map(|(rmse, _): &(f64, f64)| rmse * rmse)).unwrap().sqrt();
        (rmse, mean(runs.iter().map(|(_, nees)| *nees)).unwrap())
    })
}

fn assert_cheap(recordings: &[(Recording, Config)], plan: &Plan, draws: u64) {
    let [(rmse, nees), (with_rmse, with_nees)] = without_and_with(recordings, plan, draws);
    let found = format!("{plan:?}: position RMSE {rmse:.4} m → {with_rmse:.4} m, mean NEES {nees:.2} → {with_nees:.2}");
    println!("{found}");
    assert!(with_rmse <= 1.2 * rmse && with_nees <= 1.3 * nees, "{found}");
}

fn simulated_runs(seeds: std::ops::Range<u64>) -> Vec<(Recording, Config)> {
    let of = |seed| {
        let scenario = scene(seed);
        let config = config(&Simulation::new(&scenario).unwrap(), "default");
        (simulated::recording(&scenario).unwrap(), config)
    };
    seeds.map(of).collect()
}

#[test]
fn faults_every_thirty_seconds_cost_little() {
    assert_cheap(&simulated_runs(1..7), &Plan { among: &ALL, from_s: FIRST_LAP_S, interval_s: 30.0 }, 3);
}

#[test]
fn wrong_stamps_cost_little() {
    assert_cheap(&simulated_runs(7..11), &Plan { among: &[Fault::Stamp], from_s: 0.0, interval_s: 10.0 }, 1);
}

#[test]
fn spikes_of_the_odometry_cost_little() {
    assert_cheap(&simulated_runs(11..15), &Plan { among: &[Fault::Spikes], from_s: 0.0, interval_s: 10.0 }, 1);
}

/// The first `seconds` of the recording `../shared/data/lost_in_the_woods` beside the project, if it is there.
pub(super) fn woods(seconds: f64) -> Option<(Recording, Config)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/lost_in_the_woods");
    if !folder.exists() {
        println!("not run: there is no recording at {}", folder.display());
        return None;
    }
    let mut recording = open(&format!("woods:{}", folder.display())).unwrap();
    let config = recording.config.take().unwrap();
    let first = recording.inputs[0].stamp();
    recording.inputs.retain(|input| input.stamp().since(first) < seconds);
    Some((recording, config))
}

#[test]
fn faults_in_the_woods_cost_little() {
    let Some(recording) = woods(200.0) else { return };
    assert_cheap(&[recording], &Plan { among: &ALL, from_s: 30.0, interval_s: 30.0 }, 1);
}

#[test]
#[ignore = "twenty minutes of a recording, twice: needs a minute"]
fn faults_in_all_of_the_woods_cost_little() {
    let Some(recording) = woods(f64::INFINITY) else { return };
    assert_cheap(&[recording], &Plan { among: &ALL, from_s: 0.0, interval_s: 30.0 }, 2);
}

/// A landmark at arm's length is beside a robot that is well known among others, however its measurements bend: nothing
/// is held back, and nothing is moved. In these two runs a pair of them once turned the map by 0.3 rad.
#[test]
fn landmarks_at_arms_length_move_nothing() {
    for seed in [904_814_498_406_768, 796_384_895_109_300] {
        let scenario = Scenario { seed, ..Scenario::named("range-bearing").unwrap() };
        let config = Simulation::new(&scenario).unwrap().filter_config("default");
        let recording = simulated::recording(&scenario).unwrap();
        let run = run(&recording, &config, |_| ()).unwrap();
        let (rmse, nees) = judge(&run, &recording);
        assert!(rmse < 0.5 && nees < 8.0, "seed {seed}: {rmse} m, NEES {nees}");
        assert_eq!(run.dropped.get("undetermined"), None);
    }
}

/// Loops over metres of drift, closed by two or three trees: the robot is placed by them and by what odometry said of
/// the way, and no tree is taken for another. Runs 1 and 3 once left 39 and 98 measurements out of trees that were
/// where they had been, because the robot was not.
#[test]
fn trees_that_close_a_loop_are_not_left_out_afterwards() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/city_trees");
    if !folder.exists() {
        println!("not run: there is no recording at {}", folder.display());
        return;
    }
    for k in [1, 3] {
        let file = |name: &str| folder.join(name).display().to_string();
        let source = format!("g2o:{}:{}", file(&format!("run_{k}.graph.gz")), file("truth.graph.gz"));
        let mut recording = open(&source).unwrap();
        let config = recording.config.take().unwrap();
        let run = run(&recording, &config, |_| ()).unwrap();
        let (rmse, nees) = judge(&run, &recording);
        let gated = run.dropped.get("gated").copied().unwrap_or(0);
        assert!(gated < 20 && nees < 6.0, "run {k}: {gated} left out, {rmse} m, NEES {nees}");
    }
}
