//! Consistency of motions: the pose beside an earlier pose, with their joint covariance. What the start was believed to
//! be does not enter.

use super::consistency::{BAND_PROBABILITY, POSE_DOF, chi_squared_band, fraction_inside, nees};
use super::mean::mean;
use super::method::Method;
use super::run::RunError;
use super::study::Study;
use lienav_base::stamp::Stamp;
use lienav_io::recording::Recording;
use lienav_io::truth::Truth;
use lienav_lie::wrap_angle;
use lienav_slam::{LandmarkMap, Motion};
use nalgebra::Vector3;
use serde::Serialize;

pub use super::run::Motions;

/// The durations that reports have, s.
pub const OVER_S: [f64; 3] = [1.0, 10.0, 60.0];

/// How consistent the motions over one duration are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MotionConsistency {
    /// For how long they last at least, s.
    pub over_s: f64,
    /// How many there are; a fifth of them do not overlap.
    pub count: usize,
    /// Their mean normalised error squared, of (x, y, θ); 3 is right.
    pub nees_mean: f64,
    /// The part of them inside of the 95 % band of χ² with 3 degrees of freedom.
    pub in_band_fraction: f64,
}

/// Runs the filter once more, and keeps motions; the numbers of a run without them stay as they are, to the last bit.
/// None of a batch estimate, of a map in parts, and of a frozen map.
///
/// # Errors
/// As [`run_while`](super::run::run_while).
pub fn motions_of(
    recording: &Recording,
    study: &Study,
    map: Option<&LandmarkMap>,
    mut goes_on: impl FnMut(usize) -> bool,
) -> Result<Motions, RunError> {
    let mut method = Method::of_study(study, &recording.equipment)?;
    map.map_or(Ok(()), |map| method.set_map(map))?;
    let Method::Filter(mut session) = method else { return Ok(Motions::new()) };
    session.keep_motions(&OVER_S);
    for (index, input) in recording.inputs.iter().enumerate() {
        session.feed(input);
        if !goes_on(index + 1) {
            break;
        }
    }
    Ok(session.finish().motions)
}

/// Compares motions with those of the truth, duration by duration.
pub fn judge(motions: &[(Stamp, Motion)], truth: &Truth) -> Vec<MotionConsistency> {
    let of = |over_s: f64| {
        let all = motions.iter().filter(|(_, motion)| motion.over_s == over_s);
        let found: Vec<f64> = all.filter_map(|(stamp, motion)| error(*stamp, motion, truth)).collect();
        Some(MotionConsistency {
            over_s,
            count: found.len(),
            nees_mean: mean(found.iter().copied())?,
            in_band_fraction: fraction_inside(found, chi_squared_band(POSE_DOF, BAND_PROBABILITY))?,
        })
    };
    OVER_S.into_iter().filter_map(of).collect()
}

/// The normalised error squared of one motion.
fn error(stamp: Stamp, motion: &Motion, truth: &Truth) -> Option<f64> {
    let earlier = truth.at(stamp)?.inverse() * truth.at(motion.since)?;
    let shift = motion.earlier.p - earlier.p;
    nees(&Vector3::new(shift.x, shift.y, wrap_angle(motion.earlier.theta - earlier.theta)), &motion.covariance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Errors;
    use crate::run::run_study;
    use crate::simulated::recording;
    use lienav_io::truth::MAX_TRUTH_GAP_S;
    use lienav_sim::Scenario;

    fn of_seed(seed: u64) -> Recording {
        recording(&Scenario { seed, ..Scenario::named("range-bearing").unwrap() }).unwrap()
    }

    /// NEES of poses, and of motions over 1 and 10 s, over a few runs that begin `turned` from what the filter
    /// believes.
    fn nees_of(filter: &str, turned: f64) -> (f64, f64, f64) {
        let (mut poses, mut motions) = (Vec::new(), [Vec::new(), Vec::new()]);
        for seed in 1..=6 {
            let recording = of_seed(seed);
            let mut config = recording.config.clone().unwrap();
            config.initial.yaw_rad += turned;
            let study = Study { filter: filter.to_owned(), ..Study::from(config) };
            let truth = Truth::of(&recording, MAX_TRUTH_GAP_S);
            let mut run = run_study(&recording, &study, |_| ()).unwrap();
            let before = run.clone();
            run.motions = motions_of(&recording, &study, None, |_| true).unwrap();
            assert_eq!(run.estimates, before.estimates);
            poses.extend(Errors::new(&run, &truth).nees());
            let found = judge(&run.motions, &truth);
            for (all, found) in motions.iter_mut().zip(&found) {
                assert!(found.count > 5, "{found:?}");
                all.push(found.nees_mean);
            }
        }
        let mean_of = |values: &[f64]| mean(values.iter().copied()).unwrap();
        (mean_of(&poses), mean_of(&motions[0]), mean_of(&motions[1]))
    }

    /// In robot coordinates, what lies far behind is not consistent, however the robot is (`reduced`, 10 s: over 100).
    #[test]
    fn motions_are_consistent_whatever_the_start_was() {
        for filter in ["default", "ekf"] {
            let (poses, short, long) = nees_of(filter, 0.0);
            let (turned, same, still) = nees_of(filter, 0.3);
            println!(
                "{filter}: poses {poses:.2}, motions {short:.2}, {long:.2}; turned {turned:.2}, {same:.2}, {still:.2}"
            );
            for motion in [short, long, same, still] {
                assert!((2.0..4.2).contains(&motion), "{filter}: {motion}");
            }
            assert!(turned > 30.0, "{filter}: a start that is off by 0.3 rad is not consistent: {turned}");
        }
    }

    #[test]
    fn keeping_motions_changes_no_estimate() {
        let recording = of_seed(3);
        let study = Study::from(recording.config.clone().unwrap());
        let plain = run_study(&recording, &study, |_| ()).unwrap();
        let Method::Filter(mut session) = Method::of_study(&study, &Default::default()).unwrap() else {
            panic!("a filter")
        };
        session.keep_motions(&OVER_S);
        recording.inputs.iter().for_each(|input| session.feed(input));
        let kept = session.finish();
        assert_eq!((kept.estimates.len(), kept.landmarks.len()), (plain.estimates.len(), plain.landmarks.len()));
        for (a, b) in kept.estimates.iter().zip(&plain.estimates) {
            assert!((a.pose.p - b.pose.p).norm() < 1e-7 && (a.covariance - b.covariance).norm() < 1e-7, "{a:?} {b:?}");
        }
    }
}
