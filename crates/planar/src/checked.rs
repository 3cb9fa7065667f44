//! A measurement that has passed the checks of its sensor.

use crate::input::Label;
use nalgebra::{ArrayStorage, Matrix3, Vector3};
use serde::{Deserialize, Serialize};

/// A measurement that has passed the checks of its sensor.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CheckedMeasurement {
    /// The sensor, by its index.
    pub(crate) sensor: u8,
    /// The landmark that it names.
    pub(crate) id: Option<u32>,
    /// The numbers that are compared with the prediction; zeros beyond the sensor's dimension.
    pub(crate) value: Vector3<f64>,
    /// Their covariance, or that of the numbers that they were computed from.
    pub(crate) covariance: Matrix3<f64>,
    /// Class and diameter, where the front end knows.
    #[serde(default)]
    pub(crate) label: Label,
    /// The height of the landmark above the base, m; 0 where it is not known.
    #[serde(default)]
    pub(crate) height_m: f64,
}

impl CheckedMeasurement {
    /// The numbers that were read, as its sensor takes them; zeros beyond its dimension.
    #[inline]
    pub fn value(&self) -> &Vector3<f64> {
        &self.value
    }

    /// Their covariance; zeros beyond its dimension.
    #[inline]
    pub fn noise(&self) -> &Matrix3<f64> {
        &self.covariance
    }

    /// With this added to the variance of each of its first two numbers.
    #[must_use]
    pub fn with_variance(mut self, variance: f64) -> Self {
        self.covariance[(0, 0)] += variance;
        self.covariance[(1, 1)] += variance;
        self
    }

    /// Of nothing.
    pub(crate) const BLANK: Self = Self {
        sensor: 0,
        id: None,
        value: Vector3::from_array_storage(ArrayStorage([[0.0; 3]])),
        covariance: Matrix3::from_array_storage(ArrayStorage([[0.0; 3]; 3])),
        label: Label { class: 0, diameter_m: 0.0, diameter_std_m: 0.0 },
        height_m: 0.0,
    };

    /// The landmark that it names.
    #[inline]
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Class and diameter of the landmark, where the front end knows them.
    #[inline]
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// The height of the landmark above the base, m; 0 where it is not known.
    #[inline]
    pub fn height_m(&self) -> f64 {
        self.height_m
    }

    /// The sensor, by its place among all.
    #[inline]
    pub fn index(&self) -> usize {
        usize::from(self.sensor)
    }
}
