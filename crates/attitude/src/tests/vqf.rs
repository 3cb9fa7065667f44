//! VQF without magnetometer, online, with its defaults: Laidig and Seel, "VQF: Highly accurate IMU orientation
//! estimation with bias estimation and magnetic disturbance rejection", Information Fusion 91, 2023, written anew after
//! algorithms 1, 2 and 5 there. What the filter is compared with.

use nalgebra::{Matrix3, SVector, UnitQuaternion, Vector2, Vector3};
use std::f64::consts::SQRT_2;

const TAU_ACC: f64 = 3.0;
const BIAS_SIGMA_INIT: f64 = 0.5;
const BIAS_FORGETTING_S: f64 = 100.0;
const BIAS_CLIP: f64 = 2.0;
const BIAS_SIGMA_MOTION: f64 = 0.1;
const BIAS_VERTICAL_FORGETTING: f64 = 1e-4;
const BIAS_SIGMA_REST: f64 = 0.03;
const REST_MIN_S: f64 = 1.5;
const REST_TAU: f64 = 0.5;
const REST_GYR: f64 = 2.0;
const REST_ACC: f64 = 0.5;

/// A Butterworth low-pass filter of second order, which begins as a mean over its time constant.
struct LowPass<const N: usize> {
    tau: f64,
    step: f64,
    b: [f64; 2],
    a: [f64; 2],
    seen: f64,
    mean: SVector<f64, N>,
    state: [SVector<f64, N>; 2],
}

impl<const N: usize> LowPass<N> {
    fn new(tau: f64, step: f64) -> Self {
        let c = (SQRT_2 / (2.0 * tau) * step).tan();
        let d = c * c + SQRT_2 * c + 1.0;
        let b0 = c * c / d;
        let a = [2.0 * (c * c - 1.0) / d, (1.0 - SQRT_2 * c + c * c) / d];
        let zero = SVector::zeros();
        Self { tau, step, b: [b0, 2.0 * b0], a, seen: 0.0, mean: zero, state: [zero; 2] }
    }

    fn add(&mut self, x: &SVector<f64, N>) -> SVector<f64, N> {
        if self.seen * self.step < self.tau {
            self.seen += 1.0;
            self.mean += (x - self.mean) / self.seen;
            self.state = [self.mean * (1.0 - self.b[0]), self.mean * (self.b[0] - self.a[1])];
            return self.mean;
        }
        let y = x * self.b[0] + self.state[0];
        self.state = [x * self.b[1] - y * self.a[0] + self.state[1], x * self.b[0] - y * self.a[1]];
        y
    }
}

/// The filter.
pub struct Vqf {
    step: f64,
    gyr_quat: UnitQuaternion<f64>,
    acc_quat: UnitQuaternion<f64>,
    /// rad/s.
    bias: Vector3<f64>,
    /// In (0.01°/s)².
    bias_p: Matrix3<f64>,
    acc_low: LowPass<3>,
    rotation_low: LowPass<9>,
    bias_low: LowPass<2>,
    rest_gyr_low: LowPass<3>,
    rest_acc_low: LowPass<3>,
    rest_gyr: Vector3<f64>,
    rest_s: f64,
}

impl Vqf {
    /// Samples come every `step` s.
    pub fn new(step: f64) -> Self {
        Self {
            step,
            gyr_quat: UnitQuaternion::identity(),
            acc_quat: UnitQuaternion::identity(),
            bias: Vector3::zeros(),
            bias_p: Matrix3::from_diagonal_element((BIAS_SIGMA_INIT * 100.0).powi(2)),
            acc_low: LowPass::new(TAU_ACC, step),
            rotation_low: LowPass::new(TAU_ACC, step),
            bias_low: LowPass::new(TAU_ACC, step),
            rest_gyr_low: LowPass::new(REST_TAU, step),
            rest_acc_low: LowPass::new(REST_TAU, step),
            rest_gyr: Vector3::zeros(),
            rest_s: 0.0,
        }
    }

    /// From the body to the world.
    pub fn orientation(&self) -> UnitQuaternion<f64> {
        self.acc_quat * self.gyr_quat
    }

    /// Takes in a rate, rad/s, and a specific force, m/s².
    pub fn add(&mut self, gyr: &Vector3<f64>, acc: &Vector3<f64>) {
        let clip = BIAS_CLIP.to_radians();
        self.rest_gyr = self.rest_gyr_low.add(gyr);
        if (gyr - self.rest_gyr).norm() >= REST_GYR.to_radians() || self.rest_gyr.amax() > clip {
            self.rest_s = 0.0;
        }
        self.gyr_quat *= UnitQuaternion::from_scaled_axis((gyr - self.bias) * self.step);
        self.gyr_quat.renormalize();
        if (acc - self.rest_acc_low.add(acc)).norm() >= REST_ACC {
            self.rest_s = 0.0;
        } else {
            self.rest_s += self.step;
        }
        let up = (self.acc_quat * self.acc_low.add(&(self.gyr_quat * acc))).normalize();
        let level = UnitQuaternion::rotation_between(&up, &Vector3::z())
            .unwrap_or_else(|| UnitQuaternion::from_scaled_axis(Vector3::x() * std::f64::consts::PI));
        self.acc_quat = level * self.acc_quat;
        self.acc_quat.renormalize();
        self.learn_bias(&up);
    }

    fn learn_bias(&mut self, up: &Vector3<f64>) {
        let rotation = *self.orientation().to_rotation_matrix().matrix();
        let turned = self.bias_low.add(&(rotation * self.bias).xy());
        let low = self.rotation_low.add(&SVector::from_column_slice(rotation.as_slice()));
        let low = Matrix3::from_column_slice(low.as_slice());
        let forget = (0.1_f64 * 100.0).powi(2) * self.step / BIAS_FORGETTING_S;
        let weight = |sigma: f64| {
            let p = (sigma * 100.0).powi(2);
            p * p / forget + p
        };
        let (h, error, w) = if self.rest_s >= REST_MIN_S {
            (Matrix3::identity(), self.rest_gyr - self.bias, Vector3::repeat(weight(BIAS_SIGMA_REST)))
        } else {
            let shown = Vector2::new(-up.y, up.x) / self.step + turned;
            let w = weight(BIAS_SIGMA_MOTION);
            let error = Vector3::new(shown.x, shown.y, 0.0) - low * self.bias;
            (low, error, Vector3::new(w, w, w / BIAS_VERTICAL_FORGETTING))
        };
        for i in 0..3 {
            if self.bias_p[(i, i)] < (BIAS_SIGMA_INIT * 100.0).powi(2) {
                self.bias_p[(i, i)] += forget;
            }
        }
        let clip = BIAS_CLIP.to_radians();
        let error = error.map(|x| x.clamp(-clip, clip));
        let s = Matrix3::from_diagonal(&w) + h * self.bias_p * h.transpose();
        let Some(inverse) = s.try_inverse() else { return };
        let gain = self.bias_p * h.transpose() * inverse;
        self.bias = (self.bias + gain * error).map(|x| x.clamp(-clip, clip));
        self.bias_p -= gain * h * self.bias_p;
    }
}
