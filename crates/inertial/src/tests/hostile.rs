//! Bad input is left out and counted; it never panics and never poisons the state.

use super::common::{Normal, looks_along_x};
use super::simulator::{Scenario, pixels, simulate};
use crate::filter::Filter;
use crate::imu::{Biases, Imu, ImuNoise, ImuSample};
use crate::measurement::Measurement;
use crate::measurement::absolute::{AbsolutePose, AbsolutePosition};
use crate::measurement::bearing::Bearing;
use crate::measurement::pixel::{Pinhole, Pixel};
use crate::measurement::point::{Mount, Target};
use crate::measurement::position::LandmarkPosition;
use crate::measurement::range::Range;
use crate::measurement::stereo::StereoPixels;
use crate::measurement::velocity::BodyVelocity;
use crate::preintegration::integrator::{Integrator, OutOfOrder};
use crate::preintegration::samples::Interpolation;
use crate::state::State;
use crate::step::Step;
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix4, Matrix6, Vector2, Vector3, Vector4};

/// Numbers that no sensor measures.
fn absurd(normal: &mut Normal) -> f64 {
    let all = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -1.0, 1e300, -1e300, 1e-300, 1e9];
    let k = (normal.one().abs() * 7.0) as usize;
    all.get(k).copied().unwrap_or_else(|| normal.one())
}

fn garbage(normal: &mut Normal) -> Vec<Box<dyn Measurement>> {
    let mut x = || absurd(normal);
    let vector = Vector3::new(x(), x(), x());
    let target = if x() > 0.0 { Target::Landmark((x().abs() as u64) % 5) } else { Target::Known(vector) };
    let mount = Mount::Fixed(Se3::new(looks_along_x(), Vector3::zeros()));
    let camera = Pinhole { focal: Vector2::new(x(), 400.0), centre: Vector2::new(x(), 0.0) };
    let covariance = Matrix3::from_diagonal(&Vector3::new(x(), x(), x()));
    let pixels = Vector4::new(x(), x(), x(), x());
    vec![
        Box::new(Pixel { target, mount, camera, pixel: Vector2::new(x(), x()), sigma: x() }),
        Box::new(Bearing { target, mount, direction: vector, sigma: x() }),
        Box::new(Range { target, mount, range_m: x(), sigma_m: x() }),
        Box::new(LandmarkPosition { target, mount, position: Vector3::new(x(), x(), x()), covariance }),
        Box::new(StereoPixels {
            target,
            mount,
            camera,
            baseline_m: x(),
            pixels,
            covariance: Matrix4::identity() * x(),
        }),
        Box::new(BodyVelocity { mount: Se3::identity(), velocity: vector, covariance }),
        Box::new(AbsolutePosition { lever: vector, position: vector, covariance }),
        Box::new(AbsolutePose { mount: Se3::identity(), pose: Se3::identity(), covariance: Matrix6::identity() * x() }),
    ]
}

#[test]
fn garbage_among_measurements_does_not_poison_the_state() {
    let scenario = Scenario { duration_s: 4.0, points: 30, ..Scenario::new("hand") };
    let run = simulate(&scenario, 81);
    for (name, filter) in Filter::ALL {
        let mut normal = Normal::new(82);
        let mut state = State::new(run.start, &scenario.start_covariance(), 60, &filter);
        let mut step = Step::new(filter);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let mut frames = run.frames.iter().peekable();
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some(frame) = frames.next_if(|frame| frame.stamp <= sample.stamp) {
                step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
                let seen = pixels(&scenario, frame);
                // Landmarks of other identities than those of the garbage.
                let seen: Vec<Pixel> = seen
                    .into_iter()
                    .map(|pixel| match pixel.target {
                        Target::Landmark(id) => Pixel { target: Target::Landmark(id + 100), ..pixel },
                        Target::Known(_) => pixel,
                    })
                    .collect();
                let bad = garbage(&mut normal);
                let mut all: Vec<&dyn Measurement> = seen.iter().map(|one| one as &dyn Measurement).collect();
                all.extend(bad.iter().map(|one| one.as_ref()));
                let _ = step.correct(&mut state, &all);
                integrator.set_biases(state.nav.biases);
                let p = state.covariance.to_matrix();
                assert!(p.iter().all(|x| x.is_finite()), "{name} at {}", frame.stamp);
                assert!(state.nav.position.iter().all(|x| x.is_finite()), "{name}");
            }
        }
        if name == "default" {
            let truth = run.frames.last().unwrap().truth;
            let error = (truth.position - state.nav.position).norm();
            assert!(error < 1.0, "{name} {error}");
        }
    }
}

#[test]
fn samples_out_of_order_are_refused_and_gaps_bridged() {
    let mut integrator = Integrator::new(Biases::default(), ImuNoise::default(), Interpolation::Cubic);
    let sample = |ms: i64, x: f64| ImuSample {
        stamp: Stamp::from_nanos(ms * 1_000_000),
        value: Imu::new(Vector3::new(x, 0.0, 0.0), Vector3::new(0.0, 0.0, 9.8)),
    };
    assert_eq!(integrator.take(Stamp::from_nanos(0)).err(), Some(OutOfOrder::Frame));
    integrator.push(sample(0, 0.1)).unwrap();
    assert_eq!(integrator.push(sample(0, 0.1)).err(), Some(OutOfOrder::Sample));
    assert_eq!(integrator.push(sample(5, f64::NAN)).err(), Some(OutOfOrder::NotFinite));
    integrator.push(sample(5, 0.1)).unwrap();
    integrator.push(sample(10, 0.1)).unwrap();
    // A gap of half a second, with another rate at its end: a straight line, not a polynomial that swings.
    integrator.push(sample(510, 0.3)).unwrap();
    let taken = integrator.take(Stamp::from_nanos(510_000_000)).unwrap().increment;
    let expected = 0.1 * 0.01 + 0.2 * 0.5;
    let turned = taken.rotation[(2, 1)].asin();
    assert!((turned - expected).abs() < 1e-3, "{turned} {expected}");
    assert_eq!(integrator.take(Stamp::from_nanos(500_000_000)).err(), Some(OutOfOrder::Frame));
}
