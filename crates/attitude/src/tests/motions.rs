//! Whether the filter is as good as it says on simulated motions, and how good beside VQF.

use super::drones::Drone;
use super::sensors::Mems;
use super::swings::{Rod, Swing};
use super::trips::{Kind, Trip};
use super::vqf::Vqf;
use super::*;
use nalgebra::Matrix2;

/// Root mean squares and means over a trip, while the sensor is moved.
#[derive(Clone, Copy, Default)]
struct Score {
    /// rad.
    inclination: f64,
    /// rad, of VQF.
    beside: f64,
    /// Two is right.
    tilt_nees: f64,
    /// Of the heading less the one at the start; one is right.
    heading_nees: f64,
    /// Of the bias; three is right.
    gyro_nees: f64,
}

/// How a trip begins, and how long it is.
#[derive(Clone, Copy)]
struct Course {
    /// When the motion begins, s; negative: it is under way.
    begins: f64,
    seconds: u32,
    /// Samples a second.
    rate: u32,
    /// Standard deviation of the gyroscope's bias, rad/s.
    gyro_bias: f64,
}

impl Course {
    /// 40 s: from rest for even seeds, from the middle of the motion for odd ones, every other pair of seeds with a
    /// large bias of the gyroscope.
    fn short(seed: u64) -> Self {
        let begins = if seed.is_multiple_of(2) { 5.0 } else { -2.0 };
        Self { begins, seconds: 40, rate: 100, gyro_bias: if seed % 4 < 2 { 0.005 } else { 0.03 } }
    }

    /// As recordings for comparison are made: long, from rest, with the bias of a sensor that was calibrated.
    const RECORDED: Self = Self { begins: 10.0, seconds: 120, rate: 200, gyro_bias: 0.003 };

    /// A minute of swings, from rest and under way.
    const SWUNG: Self = Self { begins: 5.0, seconds: 65, rate: 100, gyro_bias: 0.01 };
    const SWUNG_UNDER_WAY: Self = Self { begins: -2.0, seconds: 60, ..Self::SWUNG };

    /// The same, switched on in the middle of the motion.
    const UNDER_WAY: Self = Self { begins: -2.0, seconds: 90, ..Self::RECORDED };
}

fn score(kind: Kind, seed: u64, course: Course) -> Score {
    let mut rng = ChaCha8Rng::seed_from_u64(100 * seed + kind as u64);
    let trip = Trip::new(kind, course.begins, f64::from(course.seconds), &mut rng);
    let sensor = Mems::new(course.gyro_bias, &mut rng);
    score_of(course, sensor, |stamp| trip.sample(stamp), |t| trip.orientation(t))
}

/// A swing of a consumer's sensor, whose stamps jitter with this standard deviation, s.
fn swing_score(kind: Swing, seed: u64, course: Course, jitter: f64) -> Score {
    let mut rng = ChaCha8Rng::seed_from_u64(90_000 + 100 * seed + kind as u64);
    let rod = Rod::new(kind, course.begins, f64::from(course.seconds), &mut rng);
    let sensor = Mems::consumer(&mut rng);
    let sample = |stamp: Stamp| {
        let off: f64 = StandardNormal.sample(&mut rng);
        ImuSample { stamp, ..rod.sample(stamp + jitter * off) }
    };
    score_of(course, sensor, sample, |t| rod.orientation(t))
}

fn score_of(
    course: Course,
    mut sensor: Mems,
    mut sample: impl FnMut(Stamp) -> ImuSample,
    orientation: impl Fn(f64) -> UnitQuaternion<f64>,
) -> Score {
    let mut attitude = Attitude::new(config()).unwrap();
    let mut vqf = Vqf::new(1.0 / f64::from(course.rate));
    let (mut sum, mut count, mut first_heading) = (Score::default(), 0.0, None);
    for (k, stamp) in stamps(course.rate, course.seconds).enumerate() {
        let sample = sensor.spoil(&sample(stamp));
        // A first sample in free fall is refused.
        let _ = attitude.imu(&sample);
        vqf.add(&sample.angular_velocity, &sample.specific_force);
        if stamp.secs() < course.begins || k % 10 != 0 {
            continue;
        }
        let Some(estimate) = attitude.estimate() else { continue };
        let truth = orientation(stamp.secs());
        // truth = turn about the vertical · tilt · estimate.
        let error = truth * estimate.orientation.inverse();
        let turned = 2.0 * error.k.atan2(error.w);
        let heading = UnitQuaternion::from_scaled_axis(Vector3::z() * turned);
        let tilt = (heading.inverse() * error).scaled_axis().xy();
        let covariance: Matrix2<f64> = estimate.orientation_covariance.fixed_view::<2, 2>(0, 0).into_owned();
        sum.tilt_nees += tilt.dot(&covariance.cholesky().unwrap().solve(&tilt));
        sum.inclination += tilt.norm_squared();
        sum.beside += (vqf.orientation().inverse() * Vector3::z()).angle(&(truth.inverse() * Vector3::z())).powi(2);
        // Before, up is still looked for, and a heading is that of a tilted world.
        if stamp.secs() > 3.0 {
            let turned = turned - *first_heading.get_or_insert(turned);
            let drift = UnitQuaternion::from_scaled_axis(Vector3::z() * turned);
            sum.heading_nees += drift.angle().powi(2) / estimate.orientation_covariance[(2, 2)].max(1e-12);
        }
        let bias = sensor.gyro_bias - estimate.gyro_bias;
        sum.gyro_nees += bias.dot(&estimate.gyro_bias_covariance.cholesky().unwrap().solve(&bias));
        count += 1.0;
    }
    Score {
        inclination: (sum.inclination / count).sqrt(),
        beside: (sum.beside / count).sqrt(),
        tilt_nees: sum.tilt_nees / count,
        heading_nees: sum.heading_nees / count,
        gyro_nees: sum.gyro_nees / count,
    }
}

/// The tables of docs/attitude.md: eight seeds of every kind of motion, none of which a value was chosen on.
#[test]
#[ignore = "tables, not a test"]
fn beside_vqf() {
    const SEEDS: u64 = 8;
    let rms = |all: &mut dyn Iterator<Item = f64>| (all.map(|x| x * x).sum::<f64>() / SEEDS as f64).sqrt().to_degrees();
    for (name, course) in [("from rest", Course::RECORDED), ("under way", Course::UNDER_WAY)] {
        println!("{name}: inclination, that of VQF, largest ratio, NEES of tilt (least, most), heading, bias");
        for kind in Kind::ALL {
            let scores: Vec<Score> = (5000..5000 + SEEDS).map(|seed| score(kind, seed, course)).collect();
            let mean = |of: fn(&Score) -> f64| scores.iter().map(of).sum::<f64>() / SEEDS as f64;
            let worst = scores.iter().map(|s| s.inclination / s.beside).fold(0.0, f64::max);
            let nees = scores.iter().map(|s| s.tilt_nees);
            println!(
                "| {kind:?} | {:.2}° | {:.2}° | {worst:.2} | {:.2} ({:.2}–{:.2}) | {:.2} | {:.2} |",
                rms(&mut scores.iter().map(|s| s.inclination)),
                rms(&mut scores.iter().map(|s| s.beside)),
                mean(|s| s.tilt_nees),
                nees.clone().fold(f64::INFINITY, f64::min),
                nees.fold(0.0, f64::max),
                mean(|s| s.heading_nees),
                mean(|s| s.gyro_nees),
            );
        }
    }
}

/// The table of swings in docs/attitude.md: 24 seeds of each kind.
#[test]
#[ignore = "tables, not a test"]
fn swings_beside_vqf() {
    const SEEDS: u64 = 24;
    let rms = |all: &mut dyn Iterator<Item = f64>| (all.map(|x| x * x).sum::<f64>() / SEEDS as f64).sqrt().to_degrees();
    for (name, course) in [("from rest", Course::SWUNG), ("under way", Course::SWUNG_UNDER_WAY)] {
        for jitter in [0.0, 0.005] {
            println!("{name}, stamps off by {jitter} s: inclination, that of VQF, ratio, NEES of tilt (least, most)");
            for kind in Swing::ALL {
                let scores: Vec<Score> = (1000..1000 + SEEDS).map(|s| swing_score(kind, s, course, jitter)).collect();
                let (ours, vqf) =
                    (rms(&mut scores.iter().map(|s| s.inclination)), rms(&mut scores.iter().map(|s| s.beside)));
                let nees = scores.iter().map(|s| s.tilt_nees);
                println!(
                    "| {kind:?} | {ours:.2}° | {vqf:.2}° | {:.2} | {:.2} ({:.2}–{:.2}) |",
                    ours / vqf,
                    nees.clone().sum::<f64>() / SEEDS as f64,
                    nees.clone().fold(f64::INFINITY, f64::min),
                    nees.fold(0.0, f64::max),
                );
            }
        }
    }
}

fn drone_score(seed: u64, begins: f64) -> Score {
    let mut rng = ChaCha8Rng::seed_from_u64(77_000 + seed);
    let drone = Drone::new(begins, &mut rng);
    let course = Course { begins, seconds: 120, rate: 100, gyro_bias: 0.01 };
    score_of(course, Mems::consumer(&mut rng), |stamp| drone.sample(stamp), |t| drone.orientation(t))
}

/// The rows of drones in docs/attitude.md: 24 seeds.
#[test]
#[ignore = "tables, not a test"]
fn drones_beside_vqf() {
    const SEEDS: u64 = 24;
    let rms = |all: &mut dyn Iterator<Item = f64>| (all.map(|x| x * x).sum::<f64>() / SEEDS as f64).sqrt().to_degrees();
    for (name, begins) in [("from rest", 5.0), ("in motion", -2.0)] {
        let scores: Vec<Score> = (1000..1000 + SEEDS).map(|seed| drone_score(seed, begins)).collect();
        let ours = rms(&mut scores.iter().map(|s| s.inclination));
        let vqf = rms(&mut scores.iter().map(|s| s.beside));
        let nees = scores.iter().map(|s| s.tilt_nees).sum::<f64>() / SEEDS as f64;
        println!("| drone, {name} | {ours:.2}° | {vqf:.2}° | {nees:.2} |");
    }
}

/// A drone that is switched on in flight: its accelerations last, and are gravity to what has no other clue.
#[test]
fn a_drone_in_flight_is_not_wrong_and_sure() {
    let scores = [0, 1, 2, 3, 4, 5].map(|seed| drone_score(seed, -2.0));
    let sum = |of: fn(&Score) -> f64| scores.iter().map(of).map(|x| x * x).sum::<f64>().sqrt();
    let ratio = sum(|s| s.inclination) / sum(|s| s.beside);
    let nees = scores.iter().map(|s| s.tilt_nees).sum::<f64>() / 6.0;
    println!("{ratio:.2} times the inclination of VQF, NEES {nees:.2}");
    assert!(ratio < 1.5 && nees < 4.0, "{ratio} {nees}");
}

/// A minute of swings, with stamps that jitter or not: nearer than VQF, and never wrong and sure.
#[test]
fn swings_that_do_not_end_are_not_taken_for_tilt() {
    for (course, jitter) in [(Course::SWUNG, 0.0), (Course::SWUNG_UNDER_WAY, 0.0), (Course::SWUNG, 0.005)] {
        for kind in Swing::ALL {
            let scores = [0, 1, 2, 3].map(|seed| swing_score(kind, seed, course, jitter));
            let sum = |of: fn(&Score) -> f64| scores.iter().map(of).map(|x| x * x).sum::<f64>().sqrt();
            let ratio = sum(|s| s.inclination) / sum(|s| s.beside);
            let nees = scores.iter().map(|s| s.tilt_nees).sum::<f64>() / 4.0;
            println!("{kind:?}, {jitter} s: {ratio:.2} times the inclination of VQF, NEES {nees:.2}");
            assert!(ratio < 1.3 && nees < 10.0, "{kind:?}: {ratio} {nees}");
        }
    }
}

/// Switched on in the middle of the motion, where a first sample points anywhere: over all kinds of motion but the one
/// with pauses, of which VQF takes a turn for a bias, it is as near as VQF, which averages force for three seconds.
#[test]
fn under_way_the_vertical_is_found_as_soon_as_by_vqf() {
    let course = Course { seconds: 30, rate: 100, ..Course::UNDER_WAY };
    let mut ratios = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Pauses) {
        let scores = [30, 31, 32, 33].map(|seed| score(kind, seed, course));
        let sum = |of: fn(&Score) -> f64| scores.iter().map(of).map(|x| x * x).sum::<f64>().sqrt();
        ratios.push(sum(|s| s.inclination) / sum(|s| s.beside));
        println!("{kind:?}: {:.2} times the inclination of VQF", ratios[ratios.len() - 1]);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    println!("all: {mean:.2}");
    assert!(mean < 1.1 && ratios.iter().all(|ratio| *ratio < 1.6), "{ratios:.2?}");
}

/// From rest, as recordings begin: in no kind of motion is the inclination farther off than that of VQF by more than a
/// tenth, over all of them by less than 0.8 times as much.
#[test]
fn from_rest_the_vertical_is_nearer_than_that_of_vqf() {
    let course = Course { seconds: 60, rate: 100, ..Course::RECORDED };
    let mut ratios = 0.0;
    for kind in Kind::ALL {
        let scores = [20, 21, 22].map(|seed| score(kind, seed, course));
        let sum = |of: fn(&Score) -> f64| scores.iter().map(of).map(|x| x * x).sum::<f64>().sqrt();
        let ratio = sum(|s| s.inclination) / sum(|s| s.beside);
        println!("{kind:?}: {ratio:.2} times the inclination of VQF");
        assert!(ratio < 1.1, "{kind:?}: {ratio}");
        ratios += ratio / Kind::ALL.len() as f64;
    }
    println!("all: {ratios:.2}");
    assert!(ratios < 0.8, "{ratios}");
}

/// Bands: errors within a trip are correlated, so a mean over four trips has a few degrees of freedom only; ten times
/// too small or three times too large a NEES is not chance.
#[test]
fn the_filter_is_as_good_as_it_says_in_many_motions() {
    let mut all = [0.0; 2];
    for kind in Kind::ALL {
        let scores = [0, 1, 2, 3].map(|seed| score(kind, seed, Course::short(seed)));
        let mean = |of: fn(&Score) -> f64| scores.iter().map(of).sum::<f64>() / 4.0;
        let (tilt, gyro) = (mean(|s| s.tilt_nees), mean(|s| s.gyro_nees));
        let warm = scores[0].inclination.max(scores[2].inclination).to_degrees();
        let cold = scores[1].inclination.max(scores[3].inclination).to_degrees();
        println!("{kind:?}: NEES {tilt:.2} tilt, {gyro:.2} gyroscope; {warm:.2}° from rest, {cold:.2}° in motion");
        if kind == Kind::Vehicle {
            // It does not stay about where it is.
            assert!(tilt < 6.0 && gyro < 9.0 && warm < 3.0, "{tilt} {gyro} {warm}");
            continue;
        }
        assert!((0.2..6.0).contains(&tilt) && gyro < 9.0, "{kind:?}: {tilt} {gyro}");
        // A first sample in hard motion shows anything but up.
        let hard = matches!(kind, Kind::FastTranslations | Kind::HardSwings | Kind::Circles);
        let most = if hard { 14.0 } else { 9.0 };
        assert!(warm < 2.5 && cold < most, "{kind:?}: {warm} {cold}");
        all[0] += tilt / 12.0;
        all[1] += gyro / 12.0;
    }
    println!("all: NEES {all:.2?}");
    assert!((0.4..2.8).contains(&all[0]) && (0.2..4.5).contains(&all[1]), "{all:?}");
}
