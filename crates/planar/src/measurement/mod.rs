//! Measurements: what a measurement says about a landmark, or about the pose itself.
//!
//! A measurement is one type. [`LandmarkMeasurement`] is a function of where a landmark is in the sensor frame, y =
//! h(z) + b + n; [`PoseMeasurement`] a function of where the sensor is in the map. Both state their dimension D in
//! their type, and the filter, the batch estimate and the simulator take them as a [`Sensor`](crate::sensor::Sensor): a
//! measurement on its mount. [`Position`], [`RangeBearing`], [`Range`], [`Bearing`], [`StereoBearings`] and
//! [`Triangulated`] are written against the same interface that a program outside of this crate has.

mod erased;
mod position;
mod range_bearing;
mod single;
mod stereo;
#[cfg(test)]
mod tests;
pub mod value;
mod world;

pub(crate) use erased::{Erased, OfLandmark, OfPose};
pub use erased::{Expected, Mount};
pub use position::Position;
pub use range_bearing::RangeBearing;
pub use single::{Bearing, Range};
pub use stereo::{StereoBearings, Triangulated};
pub use value::{Noise, Value};
pub(crate) use world::OfWorld;

use crate::input::MeasurementKind;
use crate::output::DropReason;
use lienav_lie::Se2;
use nalgebra::{Matrix2, SMatrix, SVector, Vector2};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Below this distance from the sensor, a direction is undefined, m.
pub const TOO_NEAR_M: f64 = 1e-6;

/// What a component of a measurement is: whether it wraps around, and which bias of the sensor it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// A coordinate or anything else that is compared by subtraction.
    Linear,
    /// A distance from the sensor, m; has the sensor's range bias.
    Range,
    /// A direction from the sensor, rad; compared modulo 2π, has the sensor's bearing bias.
    Bearing,
    /// An angle without bias, rad; compared modulo 2π.
    Angle,
}

impl Component {
    /// Whether it is compared modulo 2π.
    pub const fn wraps(self) -> bool {
        matches!(self, Self::Bearing | Self::Angle)
    }
}

/// A measurement of D numbers of one landmark at z, in the sensor frame, m: y = h(z) + b + n, n ~ N(0, R).
///
/// Implementing [`components`](Self::components), [`noise`](Self::noise), [`predict`](Self::predict) and
/// [`jacobian`](Self::jacobian) is enough to correct landmarks that are in the map. A measurement that says where a
/// new landmark is implements [`place`](Self::place), too.
pub trait LandmarkMeasurement<const D: usize>: fmt::Debug + Send + Sync {
    /// What the D numbers are.
    fn components(&self) -> [Component; D];

    /// R for a measurement that states no covariance.
    fn noise(&self) -> SMatrix<f64, D, D>;

    /// R for a measurement that states no covariance, from what it reads: errors may grow with the distance.
    fn noise_of(&self, read: &SVector<f64, D>) -> SMatrix<f64, D, D> {
        let _ = read;
        self.noise()
    }

    /// h(z): what a perfect sensor reads of a landmark at `z`.
    fn predict(&self, z: &Vector2<f64>) -> SVector<f64, D>;

    /// ∂h/∂z at `z`; `None` where it does not exist, as at the sensor itself.
    fn jacobian(&self, z: &Vector2<f64>) -> Option<SMatrix<f64, D, 2>>;

    /// Checks the finite numbers of a measurement, and returns what is compared with [`predict`](Self::predict): most
    /// measurements return the numbers themselves.
    ///
    /// # Errors
    /// Why the numbers cannot be used.
    fn read(&self, observed: &SVector<f64, D>) -> Result<SVector<f64, D>, DropReason> {
        Ok(*observed)
    }

    /// R of a measurement: `stated` is the measurement's own covariance or [`noise`](Self::noise), `read` what
    /// [`read`](Self::read) gave, `z` where the estimate places the landmark. `None` where R does not exist.
    fn noise_at(
        &self,
        stated: &SMatrix<f64, D, D>,
        read: &SVector<f64, D>,
        z: &Vector2<f64>,
    ) -> Option<SMatrix<f64, D, D>> {
        let _ = (read, z);
        Some(*stated)
    }

    /// The position of a new landmark, m, from a measurement without bias, and its covariance, both in the sensor
    /// frame. `None` if a measurement does not determine the position, as for any measurement of one number.
    fn place(&self, read: &SVector<f64, D>, stated: &SMatrix<f64, D, D>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
        let _ = (read, stated);
        None
    }

    /// Where the landmark of a measurement without bias may be, if a single measurement does not determine it: normal
    /// distributions, as means, m, and covariances in the sensor frame. Each is so narrow that the measurement is
    /// nearly linear in it. Delayed initialization (`delayed_initialization.rs`) starts a least-squares estimate at
    /// some of the means.
    fn hypotheses(&self, read: &SVector<f64, D>, stated: &SMatrix<f64, D, D>) -> Vec<(Vector2<f64>, Matrix2<f64>)> {
        let _ = (read, stated);
        Vec::new()
    }

    /// The probability that a measurement is one as the noise says, and not one of a disturbed sensor, from its
    /// residual and the covariance of that. A measurement that is hardly so counts hardly.
    fn trust(&self, residual: &SVector<f64, D>, covariance: &SMatrix<f64, D, D>) -> f64 {
        let _ = (residual, covariance);
        1.0
    }

    /// The built-in kind whose numbers these are, if roll and pitch of an inertial sensor level them as those:
    /// [`MeasurementKind::RelativePosition`] or [`MeasurementKind::RangeBearing`].
    fn levelled_as(&self) -> Option<MeasurementKind> {
        None
    }

    /// Whether the sensor sees a landmark at `z`; the simulator uses this.
    fn sees(&self, z: &Vector2<f64>) -> bool {
        let _ = z;
        true
    }
}

/// A measurement of D numbers of the pose of the sensor in the map: y = h(T, id) + n, n ~ N(0, R), where T is the pose
/// of the base times the mount. The `id` of the measurement may choose among things that the measurement knows: a
/// surveyed landmark, a beacon.
pub trait PoseMeasurement<const D: usize>: fmt::Debug + Send + Sync {
    /// What the D numbers are.
    fn components(&self) -> [Component; D];

    /// R for a measurement that states no covariance.
    fn noise(&self) -> SMatrix<f64, D, D>;

    /// h(T): what a perfect sensor at `sensor`, in the map, reads; `None` if the measurement does not know `id`.
    fn predict(&self, sensor: &Se2, id: Option<u32>) -> Option<SVector<f64, D>>;

    /// ∂h/∂(x, y, θ) of the sensor's pose in the map; `None` where it does not exist.
    fn jacobian(&self, sensor: &Se2, id: Option<u32>) -> Option<SMatrix<f64, D, 3>>;

    /// Checks the finite numbers of a measurement.
    ///
    /// # Errors
    /// Why they cannot be used.
    fn read(&self, observed: &SVector<f64, D>, id: Option<u32>) -> Result<SVector<f64, D>, DropReason> {
        let _ = id;
        Ok(*observed)
    }

    /// The identities that a simulated sensor at `sensor` reads: one measurement for each.
    fn measurements(&self, sensor: &Se2) -> Vec<Option<u32>> {
        let _ = sensor;
        vec![None]
    }
}
