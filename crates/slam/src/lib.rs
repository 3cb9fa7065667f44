//! The Kalman filters: state, charts, motion, sensors, update. No ROS, no files, no clock.
//!
//! [`Slam`] is the whole pipeline: stamped [`Odometry`], [`Imu`] and [`Features`] go in, in whatever order they arrive, and
//! [`Step`]s come out in the order of their stamps. A filter is a [`Filter`]: coordinates of the features ×
//! linearization point × discretization × initialization × where the sensor covariance is taken.

mod associate;
mod augment;
mod calibration;
mod chart;
mod config;
mod covariance;
mod estimator;
mod filter;
mod fixed_lag;
mod gate;
mod inbox;
mod input;
mod kernel;
mod linearize;
mod lookahead;
mod measurement;
mod motion;
mod output;
mod propagate;
mod prune;
mod relocate;
mod retract;
mod sensor;
mod slam;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod tilt;
mod trace;
mod track_loss;
mod update;

pub use lienav_base::stamp::Stamp;
pub use lienav_lie::Se2;

pub use calibration::{Calibration, MOTION, SENSOR};
pub use fixed_lag::Role;
pub use inbox::Segment;
pub use linearize::Subject;
pub use measurement::{
    Component, LandmarkMeasurement, Noise, PoseMeasurement, Position, RangeBearing, StereoBearings, Triangulated, Value,
};
pub use measurement::{Expected, Mount};
pub use motion::{Increment, increment, v_matrix_derivative};
pub use sensor::{Reading, Sensor, Sensors};
pub use trace::{Trace, TracedReading, TracedStep};

pub use calibration::{CalibrationEstimate, CalibrationParameter};
pub use chart::{Centre, Chart, Charts};
pub use config::{
    CalibrationConfig, Config, ConfigError, GateConfig, InitialConfig, MapConfig, MotionConfig, NoiseReading, Prior,
    SPECS, SensorConfig, TimingConfig, TwistHold, TwistPath, WhenFull,
};
pub use filter::{
    CompositionError, Coordinates, Correction, Discretization, Errors, Filter, Initialization, Linearization, NoiseAt,
    StereoModel, UnknownFilter,
};
pub use input::{FeatureKind, Features, Imu, Observation, Odometry};
pub use lienav_base::clock::TimeJump;
pub use output::{Counts, DropReason, Landmark, PoseEstimate, Step};
pub use slam::{Slam, TooManySensors};
pub use tilt::Tilt;
