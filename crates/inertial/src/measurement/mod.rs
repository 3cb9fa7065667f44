//! Measurements: one type each, and the interface for one's own.
//!
//! A measurement says what it expects of a state, and how that changes with the left errors of the state
//! ([`crate::state::errors`]). Measurements of a point (a landmark of the state, or one whose place is known) say only
//! what they see of a point in the frame of their sensor: [`point`] does the rest for [`position`], [`pixel`],
//! [`bearing`], [`stereo`] and [`range`]. [`velocity`], [`absolute`], [`rest`] and [`planar`] are of the navigation
//! state alone.

pub mod absolute;
pub mod bearing;
pub mod pixel;
pub mod planar;
pub mod point;
pub mod position;
pub mod range;
pub mod rest;
pub mod stereo;
pub mod velocity;

use crate::covariance::NAV;
use crate::state::calibration::Calibration;
use crate::state::landmark::Landmark;
use crate::state::nav::Nav;
use lienav_lie::Se3;
use nalgebra::{Matrix3, SMatrix, SVector, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// A measurement has at most so many numbers.
pub const MOST: usize = 6;

/// A linearized measurement. Rows beyond `dim` are zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linearized {
    /// How many numbers it has.
    pub dim: usize,
    /// z − h.
    pub residual: SVector<f64, MOST>,
    /// ∂h by the left errors of the navigation state.
    pub by_nav: SMatrix<f64, MOST, NAV>,
    /// ∂h by (ε, τ, δt_d) of the [calibration](crate::state::calibration).
    pub by_calibration: SMatrix<f64, MOST, 7>,
    /// The landmark in question, by its place in the state.
    pub landmark: Option<usize>,
    /// ∂h by e_i.
    pub by_landmark: SMatrix<f64, MOST, 3>,
    /// Covariance of the noise.
    pub noise: SMatrix<f64, MOST, MOST>,
}

impl Linearized {
    /// Of the navigation state alone.
    pub fn of_nav<const D: usize>(
        residual: &SVector<f64, D>,
        by_nav: &SMatrix<f64, D, NAV>,
        noise: &SMatrix<f64, D, D>,
    ) -> Self {
        let mut linearized = Self {
            dim: D,
            residual: SVector::zeros(),
            by_nav: SMatrix::zeros(),
            by_calibration: SMatrix::zeros(),
            landmark: None,
            by_landmark: SMatrix::zeros(),
            noise: SMatrix::zeros(),
        };
        linearized.residual.fixed_rows_mut::<D>(0).copy_from(residual);
        linearized.by_nav.fixed_rows_mut::<D>(0).copy_from(by_nav);
        linearized.noise.fixed_view_mut::<D, D>(0, 0).copy_from(noise);
        linearized
    }
}

/// Where measurements are linearized.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The navigation state.
    pub nav: &'a Nav,
    /// The landmarks of the state.
    pub landmarks: &'a [Landmark],
    /// Whether landmarks are taken at their first estimates.
    pub at_first: bool,
    /// Extrinsics and clock of the calibrated sensor.
    pub calibration: &'a Calibration,
    /// Angular rate of the body, rad/s, in its axes.
    pub rate: &'a Vector3<f64>,
}

impl At<'_> {
    /// A landmark by its identity: its place in the state, and p_i, m, in the world.
    pub fn find(&self, id: u64) -> Option<(usize, Vector3<f64>)> {
        let i = self.landmarks.iter().position(|landmark| landmark.id == id && landmark.is_point())?;
        let landmark = &self.landmarks[i];
        Some((i, if self.at_first { landmark.first } else { landmark.position }))
    }
}

/// A landmark as a single measurement sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Initial {
    /// Its identity.
    pub id: u64,
    /// p_i, m, in the world.
    pub place: Vector3<f64>,
    /// Covariance of e_i, m², in the axes of the world; it is independent of the navigation state.
    pub covariance: Matrix3<f64>,
    /// The place of the sensor, m, in the world.
    pub sensor: Vector3<f64>,
}

/// How far a landmark is where a measurement does not say so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangePrior {
    /// Median, m.
    pub range_m: f64,
    /// Standard deviation of the logarithm; infinite where nothing is known.
    pub log_sigma: f64,
}

impl RangePrior {
    /// Nothing is known of ranges.
    pub const UNKNOWN: Self = Self { range_m: 1.0, log_sigma: f64::INFINITY };

    /// A measurement as a direction, if its landmark has to wait for others.
    pub fn waiting_view(&self, measurement: &dyn Measurement) -> Option<View> {
        if self.log_sigma.is_finite() { measurement.view() } else { measurement.vague_view() }
    }
}

impl Default for RangePrior {
    fn default() -> Self {
        Self { range_m: 3.0, log_sigma: 0.7 }
    }
}

/// A direction in which a sensor saw a landmark, as a pinhole camera without focal length has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Where that camera is on the body: x_body = R_s x_camera + t_s.
    pub camera: Se3,
    /// (x/z, y/z).
    pub normalized: Vector2<f64>,
    /// Standard deviation of each of the two.
    pub sigma: Vector2<f64>,
}

/// What a filter needs to know of a measurement.
pub trait Measurement {
    /// Residual and derivatives; `None` where they do not exist: an unknown landmark, one behind a camera.
    fn linearize(&self, at: &At) -> Option<Linearized>;

    /// The same as a direction without a range, if it is one: such landmarks are initialized when they have been seen
    /// from several places.
    fn view(&self) -> Option<View> {
        None
    }

    /// The same, also where the range is measured, but only roughly: without a prior of ranges, such landmarks wait, too.
    fn vague_view(&self) -> Option<View> {
        self.view()
    }

    /// The landmark that this measurement is of, if it is of one of the state.
    fn landmark(&self) -> Option<u64> {
        None
    }

    /// A new landmark from this measurement alone; `None` where it is too little for that.
    fn initialize(&self, _at: &At, _prior: &RangePrior) -> Option<Initial> {
        None
    }
}
