//! Known maps: landmarks that enter the state and leave it, frozen ones and those that are estimated further.

use super::hall::{self, Instant, Way, drive, feed, landmarks, map, nees, start};
use crate::{Config, Filter, LandmarkMap, MapMode, Se2, Slam};
use nalgebra::{Matrix3, Vector2};

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
struct Result {
    nees: f64,
    rmse_m: f64,
    /// Readings used, by all.
    used: f64,
}

fn slam_with(config: Config, map: LandmarkMap) -> Slam {
    let mut slam = Slam::new(config).unwrap();
    slam.set_map(map).unwrap();
    slam
}

fn run(slam: &mut Slam, instants: &[Instant], with_identities: bool) -> Result {
    let (mut nees_sum, mut squares, mut seen) = (0.0, 0.0, 0);
    for instant in instants {
        let estimate = feed(slam, instant, with_identities);
        nees_sum += nees(&estimate, &instant.truth);
        squares += (estimate.0.p - instant.truth.p).norm_squared();
        seen += instant.seen.len();
    }
    let steps = instants.len() as f64;
    let used = 1.0 - slam.counts().total() as f64 / seen as f64;
    Result { nees: nees_sum / steps, rmse_m: (squares / steps).sqrt(), used }
}

/// Runs with maps and starts drawn from their covariances, averaged.
#[derive(Clone, Copy, Debug)]
struct Study {
    filter: &'static str,
    mode: MapMode,
    way: Way,
    map_std: f64,
    active: usize,
    with_identities: bool,
    runs: u64,
    steps: usize,
}

const SIDE: usize = 40;

impl Study {
    fn run(&self) -> Result {
        let mut mean = Result::default();
        for seed in 0..self.runs {
            let truth = landmarks(SIDE, 100 + seed);
            let instants = drive(&truth, SIDE, self.way, self.steps, 200 + seed);
            let mut config = hall::config_from(start(self.way, SIDE), (0.1, 0.03), self.filter, self.mode, 300 + seed);
            config.map.active_features = self.active;
            let mut slam = slam_with(config, map(&truth, self.map_std, 400 + seed));
            let result = run(&mut slam, &instants, self.with_identities);
            mean.nees += result.nees / self.runs as f64;
            mean.rmse_m += result.rmse_m.powi(2) / self.runs as f64;
            mean.used += result.used / self.runs as f64;
        }
        mean.rmse_m = mean.rmse_m.sqrt();
        mean
    }
}

const STUDY: Study = Study {
    filter: "default",
    mode: MapMode::Localization,
    way: Way::Winding,
    map_std: 0.1,
    active: 64,
    with_identities: true,
    runs: 50,
    steps: 1200,
};

/// The table of docs/localization.md.
#[test]
#[ignore = "takes minutes; prints a table"]
fn table_of_consistency() {
    let ways = [
        ("winding", Way::Winding),
        ("circle 6 m", Way::Circle(6.0)),
        ("circle 30 m", Way::Circle(30.0)),
        ("staying", Way::Staying),
    ];
    for (name, way) in ways {
        for map_std in
            std::env::var("STDS").map_or(vec![0.01, 0.1, 0.3], |s| s.split(',').map(|x| x.parse().unwrap()).collect())
        {
            for active in [16, 64, 500] {
                for with_identities in [true, false] {
                    let study = Study { way, map_std, active, with_identities, ..STUDY };
                    let Result { nees, rmse_m, used } = study.run();
                    println!(
                        "{name:12} map {map_std:4} m active {active:3} ids {with_identities:5}: NEES {nees:6.2} RMSE {rmse_m:.4} m used {used:.3}"
                    );
                }
            }
        }
    }
}
