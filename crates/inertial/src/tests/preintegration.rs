//! Increments against finer integration, finite differences and draws.

use crate::imu::{Biases, Imu, ImuNoise, ImuSample};
use crate::preintegration::galilei::Increment;
use crate::preintegration::integrator::Integrator;
use crate::preintegration::samples::Interpolation;
use crate::preintegration::{Preintegrated, Preintegration, difference};
use lienav_base::stamp::Stamp;
use lienav_lie::{LieGroup, So3};
use nalgebra::{SMatrix, SVector, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A smooth motion of a hand: rates of 3 rad/s and forces of 5 m/s² about gravity, at 1 to 2 Hz.
fn smooth(t: f64) -> Imu {
    let rate = Vector3::new(2.0 * (6.0 * t).sin(), 1.5 * (7.5 * t + 0.3).cos(), 1.0 + (5.0 * t).sin());
    let force = Vector3::new(3.0 * (8.0 * t).cos(), 2.0 * (9.0 * t + 1.0).sin(), 9.8 + 4.0 * (6.5 * t).sin());
    Imu::new(rate, force)
}

fn integrate(rate_hz: u32, interpolation: Interpolation, of: impl Fn(f64) -> Imu) -> Preintegrated {
    let mut integrator = Integrator::new(Biases::default(), ImuNoise::default(), interpolation);
    // Two samples before the interval, as a filter has them but for its first frame.
    for k in -2..=i64::from(rate_hz) {
        let stamp = Stamp::from_nanos(k * 1_000_000_000 / i64::from(rate_hz));
        integrator.push(ImuSample { stamp, value: of(stamp.secs()) }).unwrap();
        if k == 0 {
            integrator.take(stamp).unwrap();
        }
    }
    integrator.take(Stamp::from_nanos(1_000_000_000)).unwrap()
}

/// Each sample held until the next, as preintegration is mostly done.
fn hold(rate_hz: u32, of: impl Fn(f64) -> Imu) -> Increment {
    let h = 1.0 / f64::from(rate_hz);
    let mut sum = Increment::default();
    for k in 0..rate_hz {
        let value = of(f64::from(k) * h);
        sum = sum.then(&Increment {
            rotation: *So3::exp(&(value.rate * h)).matrix(),
            velocity: value.force * h,
            position: value.force * (0.5 * h * h),
            duration_s: h,
        });
    }
    sum
}

fn truth() -> Increment {
    integrate(8000, Interpolation::Cubic, smooth).increment
}

#[test]
fn the_error_is_less_than_a_tenth_of_that_of_held_samples() {
    let truth = truth();
    let held = difference(&truth, &hold(200, smooth));
    for (interpolation, least) in [(Interpolation::Linear, 10.0), (Interpolation::Cubic, 1000.0)] {
        let error = difference(&truth, &integrate(200, interpolation, smooth).increment);
        for block in [0, 3, 6] {
            let (held, error) = (held.fixed_rows::<3>(block).norm(), error.fixed_rows::<3>(block).norm());
            println!("{interpolation:?} {block}: {error:.2e}, held {held:.2e}");
            assert!(error * least < held, "{interpolation:?} {block}: {error:e} {held:e}");
        }
    }
}

#[test]
fn the_order_of_convergence_is_four() {
    let truth = truth();
    let error = |rate| difference(&truth, &integrate(rate, Interpolation::Cubic, smooth).increment);
    for block in [0, 3, 6] {
        let errors = [100, 200, 400].map(|rate| error(rate).fixed_rows::<3>(block).norm());
        let order = (errors[0] / errors[2]).log2() / 2.0;
        println!("{block}: {errors:?}, order {order:.2}");
        assert!(order > 3.9, "{block}: {errors:?}");
    }
    // Straight lines between samples are of order two by themselves; steps of a function that is a straight line are
    // of order four, coning and sculling included.
    let line = |t: f64| Imu::new(Vector3::new(2.0 * t, 1.0 - t, 3.0 * t), Vector3::new(5.0 - 9.0 * t, 2.0 * t, 9.8));
    let fine = integrate(8000, Interpolation::Linear, line).increment;
    let errors =
        [20, 40, 80].map(|rate| difference(&fine, &integrate(rate, Interpolation::Linear, line).increment).norm());
    assert!((errors[0] / errors[2]).log2() / 2.0 > 3.9, "{errors:?}");
}

#[test]
fn bias_jacobians_are_those_of_finite_differences() {
    let run = |biases: Biases| {
        let mut sum = Preintegration::new(biases, ImuNoise::default());
        let (h, gauss) = (0.005, 0.005 * 3f64.sqrt() / 6.0);
        for k in 0..100 {
            let middle = (f64::from(k) + 0.5) * h;
            sum.add(h, &[smooth(middle - gauss), smooth(middle + gauss)]);
        }
        sum.finish()
    };
    let at = Biases { gyro: Vector3::new(0.1, -0.2, 0.05), accelerometer: Vector3::new(-0.3, 0.2, 0.1) };
    let middle = run(at);
    let step = 1e-5;
    for k in 0..6 {
        let [plus, minus] = [step, -step].map(|by| {
            let mut biases = at;
            if k < 3 {
                biases.gyro[k] += by
            } else {
                biases.accelerometer[k - 3] += by
            }
            let run = run(biases);
            let predicted = middle.at(&biases);
            assert!(difference(&predicted, &run.increment).norm() < 1e-9);
            difference(&run.increment, &middle.increment)
        });
        let numeric = (plus - minus) / (2.0 * step);
        let error = (numeric - middle.jacobian.column(k)).norm() / numeric.norm();
        assert!(error < 3e-6, "{k}: {error:e}\n{numeric}\n{}", middle.jacobian.column(k));
    }
}

/// The covariance of `draws` intervals of one second with white noise and random walks in every sample.
fn drawn(draws: u32, noise: &ImuNoise, rate_hz: u32) -> SMatrix<f64, 15, 15> {
    let h = 1.0 / f64::from(rate_hz);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = move || Vector3::from_fn(|_, _| -> f64 { StandardNormal.sample(&mut rng) });
    let mean = integrate(rate_hz, Interpolation::Linear, smooth).increment;
    let mut sum = SMatrix::zeros();
    for _ in 0..draws {
        let mut run = Preintegration::new(Biases::default(), *noise);
        let mut walk = [Vector3::zeros(); 2];
        for k in 0..rate_hz {
            let middle = (f64::from(k) + 0.5) * h;
            let offset = 3f64.sqrt() / 6.0 * h;
            walk[0] += normal() * (noise.gyro_walk * (0.5 * h).sqrt());
            walk[1] += normal() * (noise.accelerometer_walk * (0.5 * h).sqrt());
            let gyro = walk[0] + normal() * (noise.gyro / h.sqrt());
            let force = walk[1] + normal() * (noise.accelerometer / h.sqrt());
            let noisy = |t: f64| Imu::new(smooth(t).rate + gyro, smooth(t).force + force);
            run.add(h, &[noisy(middle - offset), noisy(middle + offset)]);
            walk[0] += normal() * (noise.gyro_walk * (0.5 * h).sqrt());
            walk[1] += normal() * (noise.accelerometer_walk * (0.5 * h).sqrt());
        }
        let zeta = difference(&mean, run.increment());
        let mut error = SVector::<f64, 15>::zeros();
        error.fixed_rows_mut::<9>(0).copy_from(&zeta);
        error.fixed_rows_mut::<3>(9).copy_from(&walk[0]);
        error.fixed_rows_mut::<3>(12).copy_from(&walk[1]);
        sum += error * error.transpose();
    }
    sum / f64::from(draws)
}

/// The largest difference of two covariances, each element in units of the standard deviations of its row and column.
fn correlation_error(a: &SMatrix<f64, 15, 15>, b: &SMatrix<f64, 15, 15>) -> f64 {
    SMatrix::<f64, 15, 15>::from_fn(|i, j| (a[(i, j)] - b[(i, j)]) / (b[(i, i)] * b[(j, j)]).sqrt()).amax()
}

#[test]
fn the_covariance_is_that_of_draws() {
    let loud = ImuNoise { gyro: 2e-3, accelerometer: 2e-2, gyro_walk: 3e-3, accelerometer_walk: 3e-2 };
    for noise in [ImuNoise::default(), loud] {
        let mut run = Integrator::new(Biases::default(), noise, Interpolation::Linear);
        for k in 0..=100 {
            let stamp = Stamp::from_nanos(k * 10_000_000);
            run.push(ImuSample { stamp, value: smooth(stamp.secs()) }).unwrap();
        }
        let predicted = run.take(Stamp::from_nanos(1_000_000_000)).unwrap().covariance;
        // Of 4,000 draws, a variance is known to 2.2 %.
        let error = correlation_error(&drawn(4_000, &noise, 100), &predicted);
        println!("largest difference {error:.4}");
        assert!(error < 0.09, "{error}");
        assert!(predicted.symmetric_eigenvalues().min() > -1e-18);
    }
}

#[test]
fn intervals_are_composed_wherever_frames_lie() {
    let mut integrator = Integrator::new(Biases::default(), ImuNoise::default(), Interpolation::Cubic);
    let mut sum = Increment::default();
    let mut frame = Stamp::from_nanos(0);
    for k in -2..=200 {
        let stamp = Stamp::from_nanos(k * 5_000_000);
        integrator.push(ImuSample { stamp, value: smooth(stamp.secs()) }).unwrap();
        while frame <= stamp {
            let taken = integrator.take(frame).unwrap().increment;
            sum = if frame == Stamp::from_nanos(0) { sum } else { sum.then(&taken) };
            frame = frame + 0.0333;
        }
    }
    sum = sum.then(&integrator.take(Stamp::from_nanos(1_000_000_000)).unwrap().increment);
    let whole = integrate(200, Interpolation::Cubic, smooth).increment;
    assert!(difference(&whole, &sum).norm() < 1e-7, "{:e}", difference(&whole, &sum).norm());
    assert!(integrator.take(Stamp::from_nanos(0)).is_err());
    let late = ImuSample { stamp: Stamp::from_nanos(0), value: smooth(0.0) };
    assert!(integrator.push(late).is_err());
}
