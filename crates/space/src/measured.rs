//! What came in, as measurements of the filter.

use crate::input::{Seen, Sensor, Value};
use lienav_inertial::measurement::absolute::AbsolutePose;
use lienav_inertial::measurement::bearing::Bearing;
use lienav_inertial::measurement::pixel::{Pinhole, Pixel};
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::measurement::position::LandmarkPosition;
use lienav_inertial::measurement::range::Range;
use lienav_inertial::measurement::rest::Rest;
use lienav_inertial::measurement::stereo::StereoPixels;
use lienav_inertial::measurement::velocity::BodyVelocity;
use lienav_inertial::measurement::{At, Initial, Linearized, Measurement, RangePrior, View};
use nalgebra::{Matrix3, Vector2, Vector3};

/// A measurement of any type that the pipeline knows, in a buffer of one type.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// A pixel.
    Pixel(Pixel),
    /// Pixels of a pair.
    Stereo(StereoPixels),
    /// A relative position.
    Position(LandmarkPosition),
    /// A range.
    Range(Range),
    /// A direction.
    Bearing(Bearing),
    /// A velocity of the body.
    Velocity(BodyVelocity),
    /// A pose in the map.
    Pose(AbsolutePose),
    /// Rest.
    Rest(Rest),
}

/// The body does not move. The mean rate is not used: the gyroscope's bias is known better from before.
pub const AT_REST: Rest =
    Rest { velocity_sigma: 0.01, mean_rate: Vector3::new(0.0, 0.0, 0.0), rate_sigma: f64::INFINITY };

/// Standard deviations where a message states none, m.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    /// Of a relative position, each coordinate.
    pub position_m: f64,
    /// Of a range.
    pub range_m: f64,
}

impl Measured {
    /// A measurement of a landmark by this sensor.
    pub fn of(seen: &Seen, sensor: &Sensor, stated: &Stated) -> Self {
        let (target, mount) = (Target::Landmark(seen.id), Mount::Fixed(sensor.mount));
        let Sensor { focal, centre, baseline_m, pixels: noise, .. } = *sensor;
        match seen.value {
            Value::Normalized(at) => {
                let camera = Pinhole { focal, centre: Vector2::zeros() };
                let pixel = at.component_mul(&focal);
                Self::Pixel(Pixel { target, mount, camera, pixel, sigma: noise.own[0] })
            }
            Value::Pixel(pixel) => {
                let camera = Pinhole { focal, centre };
                Self::Pixel(Pixel { target, mount, camera, pixel, sigma: noise.own[0] })
            }
            Value::Stereo(pixels) => {
                let camera = Pinhole { focal, centre };
                let covariance = noise.covariance();
                Self::Stereo(StereoPixels { target, mount, camera, baseline_m, pixels, covariance })
            }
            Value::Position(position, covariance) => {
                let usual = || Matrix3::from_diagonal_element(stated.position_m * stated.position_m);
                let covariance = covariance.unwrap_or_else(usual);
                Self::Position(LandmarkPosition { target, mount, position, covariance })
            }
            Value::Range(range_m, sigma) => {
                Self::Range(Range { target, mount, range_m, sigma_m: sigma.unwrap_or(stated.range_m) })
            }
            Value::Bearing(along, sigma) => {
                let sigma = sigma.unwrap_or(noise.own[0] / focal.x);
                Self::Bearing(Bearing { target, mount, direction: along.normalize(), sigma })
            }
        }
    }

    fn inner(&self) -> &dyn Measurement {
        match self {
            Self::Pixel(one) => one,
            Self::Stereo(one) => one,
            Self::Position(one) => one,
            Self::Range(one) => one,
            Self::Bearing(one) => one,
            Self::Velocity(one) => one,
            Self::Pose(one) => one,
            Self::Rest(one) => one,
        }
    }
}

impl Measurement for Measured {
    fn linearize(&self, at: &At) -> Option<Linearized> {
        self.inner().linearize(at)
    }
    fn view(&self) -> Option<View> {
        self.inner().view()
    }
    fn vague_view(&self) -> Option<View> {
        self.inner().vague_view()
    }
    fn landmark(&self) -> Option<u64> {
        self.inner().landmark()
    }
    fn initialize(&self, at: &At, prior: &RangePrior) -> Option<Initial> {
        self.inner().initialize(at, prior)
    }
}
