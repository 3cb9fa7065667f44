//! A recorded run that is saved to a file in the middle and goes on in another filter.

use super::faults::woods;
use lienav_io::map_file::MapFile;
use lienav_io::recording::Input;
use lienav_slam::{Config, Slam, Step};

fn feed(slam: &mut Slam, input: &Input) -> Vec<Step> {
    // What is refused is counted, and the counts are compared.
    let _counted = match input {
        Input::Odometry(odometry) | Input::Fallback { odometry, .. } | Input::Received { odometry, .. } => {
            slam.odometry(odometry)
        }
        Input::Imu(imu) => slam.imu(imu),
        Input::Scan(scan) => slam.features(scan.stamp, scan.kind, &scan.measurements),
    };
    std::iter::from_fn(|| slam.poll()).collect()
}

/// Estimates from the middle on, of a run that is not interrupted, and of one that is: equal, bit for bit.
fn assert_resumed_is_the_same(seconds: f64, filter: &str, change: impl Fn(&mut Config)) {
    let Some((recording, mut config)) = woods(seconds) else { return };
    config.filter = filter.to_owned();
    change(&mut config);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("woods.yaml");
    let mut whole = Slam::new(config.clone()).unwrap();
    let (before, after) = recording.inputs.split_at(recording.inputs.len() / 2);
    before.iter().for_each(|input| drop(feed(&mut whole, input)));

    MapFile::from(whole.save()).write(&path).unwrap();
    let read = MapFile::read(&path).unwrap();
    assert!(read.warnings.is_empty() && read.map == whole.map());
    let mut resumed = Slam::resume(config, read.filter.unwrap()).unwrap();

    let mut steps = 0;
    for input in after {
        let (one, other) = (feed(&mut whole, input), feed(&mut resumed, input));
        assert_eq!(one, other);
        assert_eq!(whole.predicted(), resumed.predicted());
        steps += one.len();
    }
    assert_eq!((whole.map(), whole.counts()), (resumed.map(), resumed.counts()));
    assert!(steps > 500, "{steps} steps after the interruption");
}

#[test]
fn lost_in_the_woods_goes_on_as_if_it_had_not_been_interrupted() {
    assert_resumed_is_the_same(300.0, "default", |_| ());
    assert_resumed_is_the_same(120.0, "ekf", |config| config.calibration.scale_v.sigma = 0.02);
}

#[test]
#[ignore = "twenty minutes of a recording, for each of five filters: needs a minute"]
fn all_of_lost_in_the_woods_goes_on_as_if_it_had_not_been_interrupted() {
    for filter in ["default", "invariant", "reduced", "ekf", "fe-ekf"] {
        assert_resumed_is_the_same(f64::INFINITY, filter, |_| ());
    }
}
