//! Derivatives of every measurement against finite differences, and what they show of the unobservable directions.

use super::common::{Normal, looks_along_x};
use super::retraction::all_filters;
use crate::filter::Linearization;
use crate::linearize::{at, linearize};
use crate::measurement::absolute::{AbsolutePose, AbsolutePosition};
use crate::measurement::bearing::Bearing;
use crate::measurement::pixel::{Pinhole, Pixel};
use crate::measurement::planar::Planar;
use crate::measurement::point::{Mount, Target};
use crate::measurement::position::LandmarkPosition;
use crate::measurement::range::Range;
use crate::measurement::rest::Rest;
use crate::measurement::stereo::StereoPixels;
use crate::measurement::velocity::BodyVelocity;
use crate::measurement::{Measurement, RangePrior};
use crate::observability::{measurement_matrix as full, unobservable};
use crate::state::State;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Matrix4, Matrix6, Vector2, Vector3, Vector4};

const CAMERA: Pinhole = Pinhole { focal: Vector2::new(460.0, 450.0), centre: Vector2::new(370.0, 240.0) };

/// One of each of landmark 1 or of a known point.
pub fn of_points(normal: &mut Normal, mount: Mount, target: Target) -> Vec<(&'static str, Box<dyn Measurement>)> {
    let covariance = Matrix4::identity();
    let direction = (Vector3::z() + normal.vector(0.1)).normalize();
    vec![
        (
            "position",
            Box::new(LandmarkPosition { target, mount, position: normal.vector(1.0), covariance: Matrix3::identity() }),
        ),
        ("pixel", Box::new(Pixel { target, mount, camera: CAMERA, pixel: Vector2::new(300.0, 200.0), sigma: 1.0 })),
        ("bearing", Box::new(Bearing { target, mount, direction, sigma: 0.01 })),
        ("range", Box::new(Range { target, mount, range_m: 3.0, sigma_m: 0.1 })),
        (
            "stereo",
            Box::new(StereoPixels {
                target,
                mount,
                camera: CAMERA,
                baseline_m: 0.2,
                pixels: Vector4::new(300.0, 200.0, 280.0, 201.0),
                covariance,
            }),
        ),
    ]
}

pub fn of_nav(normal: &mut Normal, state: &State) -> Vec<(&'static str, Box<dyn Measurement>)> {
    let mount = Se3::new(So3::exp(&normal.vector(0.5)), normal.vector(0.3));
    let pose = Se3::new(So3::exp(&normal.vector(0.2)) * state.nav.rotation * mount.rotation, normal.vector(1.0));
    let one = Matrix3::identity();
    vec![
        ("velocity", Box::new(BodyVelocity { mount, velocity: normal.vector(1.0), covariance: one })),
        (
            "absolute position",
            Box::new(AbsolutePosition { lever: normal.vector(0.5), position: normal.vector(1.0), covariance: one }),
        ),
        ("absolute pose", Box::new(AbsolutePose { mount, pose, covariance: Matrix6::identity() })),
        ("rest", Box::new(Rest { velocity_sigma: 0.01, mean_rate: normal.vector(0.1), rate_sigma: 0.01 })),
        (
            "planar",
            Box::new(Planar {
                height_m: 0.1,
                height_sigma_m: 0.01,
                up: normal.vector(1.0).normalize(),
                tilt_sigma: 0.01,
            }),
        ),
    ]
}

/// A state moved by δ, the rate with its bias, and the body along its twist by the change of the time offset.
fn moved(state: &State, delta: &[f64], filter: &crate::filter::Filter, along: f64) -> State {
    let mut truth = state.clone();
    truth.boxplus(delta, filter, &mut Vec::new());
    truth.rate -= truth.nav.biases.gyro - state.nav.biases.gyro;
    truth.nav.rotation = truth.nav.rotation * So3::exp(&(truth.rate * along));
    truth.nav.position += truth.nav.velocity * along;
    truth
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut normal = Normal::new(11);
    normal.calibrates = true;
    let h = 1e-6;
    for (name, filter) in all_filters() {
        if filter.linearization != Linearization::Current {
            continue;
        }
        for _ in 0..5 {
            let state = normal.state(3, &filter);
            let fixed = Mount::Fixed(Se3::new(looks_along_x() * So3::exp(&normal.vector(0.1)), normal.vector(0.2)));
            let known = state.nav.position + state.nav.rotation * Vector3::new(3.0, 0.2, -0.1);
            let mut all = of_nav(&mut normal, &state);
            for (mount, target) in [
                (fixed, Target::Landmark(1)),
                (Mount::Calibrated, Target::Landmark(1)),
                (Mount::Calibrated, Target::Known(known)),
            ] {
                all.extend(of_points(&mut normal, mount, target));
            }
            for (kind, measurement) in &all {
                let linearized = linearize(&state, measurement.as_ref(), &filter).unwrap();
                let matrix = full(&state, &linearized);
                let is_calibrated = linearized.by_calibration.amax() > 0.0;
                for k in 0..state.covariance.dim() {
                    let [plus, minus] = [h, -h].map(|by| {
                        let mut delta = vec![0.0; state.covariance.dim()];
                        delta[k] = by;
                        let truth = moved(&state, &delta, &filter, if k == 21 && is_calibrated { by } else { 0.0 });
                        // Residuals fall where expectations rise.
                        -measurement.linearize(&at(&truth, &truth.nav, false)).unwrap().residual
                    });
                    let numeric = ((plus - minus) / (2.0 * h)).rows(0, linearized.dim).into_owned();
                    // Of a bearing, the residual is in the tangent plane of the expectation, which turns along; to
                    // first order in the residual that is no part of H.
                    let scale = matrix.norm() * if *kind == "bearing" { 0.3 } else { 1e-6 };
                    let error = (&numeric - matrix.column(k)).norm();
                    assert!(error < scale, "{name} {kind} {k}: {numeric} {}", matrix.column(k));
                }
            }
        }
    }
}

/// For a bearing the derivative is exact where the residual is zero.
#[test]
fn a_bearing_is_linearized_at_its_expectation() {
    let mut normal = Normal::new(12);
    let filter = crate::filter::Filter::GROUP;
    let state = normal.state(3, &filter);
    let mount = Mount::Fixed(Se3::new(looks_along_x(), normal.vector(0.2)));
    let Mount::Fixed(pose) = mount else { unreachable!() };
    let x = pose.rotation.rotate_back(&(state.nav.seen(&state.landmarks[1].position) - pose.translation));
    let bearing = Bearing { target: Target::Landmark(1), mount, direction: x.normalize(), sigma: 0.01 };
    let linearized = linearize(&state, &bearing, &filter).unwrap();
    assert!(linearized.residual.norm() < 1e-12);
    let matrix = full(&state, &linearized);
    for k in 0..state.covariance.dim() {
        let [plus, minus] = [1e-6, -1e-6].map(|by| {
            let mut delta = vec![0.0; state.covariance.dim()];
            delta[k] = by;
            let truth = moved(&state, &delta, &filter, 0.0);
            -bearing.linearize(&at(&truth, &truth.nav, false)).unwrap().residual
        });
        let numeric = ((plus - minus) / 2e-6).rows(0, 2).into_owned();
        assert!((&numeric - matrix.column(k)).norm() < 1e-6 * matrix.norm(), "{k}");
    }
}

/// Landmarks show none of the four directions, where a filter keeps them; in left errors, to the last bit. What is
/// absolute shows them.
#[test]
fn landmarks_show_no_heading_and_no_position() {
    let mut normal = Normal::new(13);
    for (name, filter) in all_filters() {
        let state = normal.state(3, &filter);
        let mount = Mount::Fixed(Se3::new(looks_along_x(), normal.vector(0.2)));
        let n = unobservable(&state, &filter);
        for (kind, measurement) in of_points(&mut normal, mount, Target::Landmark(1)) {
            let linearized = linearize(&state, measurement.as_ref(), &filter).unwrap();
            let shown = (full(&state, &linearized) * &n).amax();
            assert!(shown < 1e-9, "{name} {kind}: {shown:e}");
            if filter.errors != crate::state::errors::Errors::Additive {
                assert_eq!(linearized.by_nav.amax(), 0.0);
            }
        }
        for (kind, measurement) in of_nav(&mut normal, &state) {
            let linearized = linearize(&state, measurement.as_ref(), &filter).unwrap();
            let shown = (full(&state, &linearized) * &n).column_iter().map(|c| c.norm()).collect::<Vec<_>>();
            let expected = match kind {
                "absolute position" => vec![true; 4],
                "absolute pose" => vec![true; 4],
                "planar" => vec![false, false, false, true],
                _ => vec![false; 4],
            };
            let seen: Vec<bool> = shown.iter().map(|x| *x > 1e-9).collect();
            // Rates of filters that linearize elsewhere see the turn of the velocity.
            if filter.linearization == Linearization::Current {
                assert_eq!(seen, expected, "{name} {kind} {shown:?}");
            }
        }
    }
}

#[test]
fn a_landmark_is_where_its_first_measurement_saw_it() {
    let mut normal = Normal::new(14);
    let filter = crate::filter::Filter::DEFAULT;
    let state = normal.state(0, &filter);
    let mount = Mount::Fixed(Se3::new(looks_along_x(), normal.vector(0.2)));
    let prior = RangePrior { range_m: 4.0, log_sigma: 0.5 };
    for (kind, measurement) in of_points(&mut normal, mount, Target::Landmark(9)) {
        let initial = measurement.initialize(&at(&state, &state.nav, false), &prior);
        let Some(initial) = initial else {
            assert_eq!(kind, "range");
            continue;
        };
        let mut with = state.clone();
        crate::step::append(&mut with, &initial, crate::chart::Chart::Cartesian, &filter);
        let again = linearize(&with, measurement.as_ref(), &filter).unwrap();
        // A pixel row of the right camera differs by what was measured.
        assert!(again.residual.norm() < if kind == "stereo" { 1.0 } else { 1e-9 }, "{kind} {}", again.residual);
        // What a measurement says of the landmark has its noise.
        let h = again.by_landmark;
        let shown = h * initial.covariance * h.transpose();
        for a in 0..2 {
            let ratio = shown[(a, a)] / again.noise[(a, a)];
            assert!((ratio - 1.0).abs() < if kind == "stereo" { 0.6 } else { 1e-6 }, "{kind} {ratio}");
        }
    }
}

/// A landmark of a map is as uncertain as the map says, seen from the body as uncertain as the pose is; and what is
/// seen of it is what would be seen of a known point with that much noise.
#[test]
fn a_mapped_landmark_shows_the_pose() {
    let mut normal = Normal::new(16);
    for (name, filter) in all_filters() {
        if filter.linearization != Linearization::Current {
            continue;
        }
        let state = normal.state(0, &filter);
        let place = state.nav.position + state.nav.rotation * Vector3::new(3.0, 0.3, 0.2);
        let (mount, camera) = (Mount::Fixed(Se3::new(looks_along_x(), Vector3::zeros())), CAMERA);
        let known =
            Pixel { target: Target::Known(place), mount, camera, pixel: Vector2::new(300.0, 200.0), sigma: 1.0 };
        let mapped = Pixel { target: Target::Landmark(3), ..known };
        let mut with = state.clone();
        crate::step::append_mapped(&mut with, 3, place, &(Matrix3::identity() * 1e-12), &filter);
        let pair = [(state, known), (with, mapped)].map(|(mut state, pixel)| {
            let one = linearize(&state, &pixel, &filter).unwrap();
            let mut work = crate::update::Workspace::default();
            let distance = work.distance(&state, &one).unwrap();
            crate::update::update(&mut state, &mut vec![one], &filter, &mut work, |_, _| None).unwrap();
            (distance, state.nav.position)
        });
        assert!((pair[0].0 - pair[1].0).abs() < 1e-6 * pair[0].0, "{name} {pair:?}");
        assert!((pair[0].1 - pair[1].1).norm() < 1e-7, "{name} {pair:?}");
    }
}

#[test]
fn what_cannot_be_seen_is_no_measurement() {
    let mut normal = Normal::new(15);
    let filter = crate::filter::Filter::DEFAULT;
    let state = normal.state(1, &filter);
    let backwards = Mount::Fixed(Se3::new(So3::exp(&(Vector3::z() * 3.0)) * looks_along_x(), Vector3::zeros()));
    let pixel =
        Pixel { target: Target::Landmark(0), mount: backwards, camera: CAMERA, pixel: Vector2::zeros(), sigma: 1.0 };
    assert!(linearize(&state, &pixel, &filter).is_none());
    let unknown = Pixel { target: Target::Landmark(7), ..pixel };
    assert!(linearize(&state, &unknown, &filter).is_none());
    let at_antenna = Range {
        target: Target::Known(state.nav.position),
        mount: Mount::Fixed(Se3::identity()),
        range_m: 1.0,
        sigma_m: 0.1,
    };
    assert!(linearize(&state, &at_antenna, &filter).is_none());
}

/// A camera that is a little off and late is found, in a motion that shows it.
#[test]
fn extrinsics_and_clock_are_found() {
    use super::simulator::{Scenario, simulate};
    use crate::preintegration::integrator::Integrator;
    use crate::preintegration::samples::Interpolation;
    use crate::state::calibration::Calibration;
    let scenario =
        Scenario { duration_s: 20.0, points: 40, start: [0.002, 0.01, 0.001, 0.003, 0.03], ..Scenario::new("hand") };
    let filter = crate::filter::Filter::GROUP;
    let (mut nees, runs) = (0.0, 6);
    for seed in 0..runs {
        let run = simulate(&scenario, 60 + seed);
        let mut normal = Normal::new(70 + seed);
        let truth = Calibration { sensor: scenario.mount, ..Calibration::default() };
        let (turn, shift, late) = (0.01, 0.02, 0.002);
        let calibration = Calibration {
            sensor: Se3::new(
                So3::exp(&normal.vector(turn)) * scenario.mount.rotation,
                scenario.mount.translation + normal.vector(shift),
            ),
            time_offset_s: 0.0,
            extrinsics_sigma: Some((turn, shift)),
            time_offset_sigma_s: Some(late),
        };
        let offset = late * normal.one();
        let truth = Calibration { time_offset_s: offset, ..truth };
        let mut state = State::with_calibration(run.start, &scenario.start_covariance(), calibration, 40, &filter);
        let mut step = crate::step::Step::new(filter);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let mut frames = run.frames.iter().peekable();
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
                step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
                // What is stamped t was measured at t + t_d: here by the motion itself, of points that are known.
                let at = frame.stamp.secs() + offset - state.calibration.time_offset_s;
                let (body, _) = scenario.motion.at(at, scenario.gravity);
                let pixels: Vec<Pixel> = frame
                    .seen
                    .iter()
                    .filter_map(|(id, ..)| {
                        let place = run.points[*id as usize];
                        let x = scenario.mount.rotation.rotate_back(&(body.seen(&place) - scenario.mount.translation));
                        let (pixel, _) = scenario.camera.project(&x)?;
                        let pixel = pixel + Vector2::new(normal.one(), normal.one());
                        let target = Target::Known(place);
                        Some(Pixel { target, mount: Mount::Calibrated, camera: scenario.camera, pixel, sigma: 1.0 })
                    })
                    .collect();
                let all: Vec<&dyn Measurement> = pixels.iter().map(|one| one as &dyn Measurement).collect();
                step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
            }
        }
        let mut error = [0.0; 7];
        state.calibration.difference(&truth, &mut error);
        let e = nalgebra::SVector::<f64, 7>::from(error);
        let own = state.covariance.block::<7, 7>(15, 15);
        let known: Vec<f64> = (0..7).map(|k| own[(k, k)].sqrt()).collect();
        assert!(known[0] < 0.1 * turn && known[3] < 0.2 * shift && known[6] < 0.3 * late, "{known:?}");
        nees += e.dot(&own.cholesky().unwrap().solve(&e)) / runs as f64;
    }
    println!("NEES of the calibration {nees:.2} of 7");
    assert!((3.5..12.0).contains(&nees), "{nees}");
}
