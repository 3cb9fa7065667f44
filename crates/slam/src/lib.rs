//! The Kalman filters: state, charts, motion, sensors, update. No ROS, no files, no clock.
//!
//! [`Slam`] is the whole pipeline: stamped [`Odometry`], [`Imu`] and [`Features`] go in, in whatever order they arrive, and
//! [`Step`]s come out in the order of their stamps. A filter is a [`Variant`]: coordinates of the features ×
//! linearization point × discretization × initialization × where the sensor covariance is taken.

mod associate;
mod augment;
mod calibration;
mod chart;
mod choices;
mod config;
mod covariance;
mod estimator;
mod gate;
mod inbox;
mod input;
mod kernel;
mod lookahead;
mod measure;
mod motion;
mod output;
mod propagate;
mod relocate;
mod retract;
mod sensor;
mod slam;
mod specs;
mod starvation;
mod state;
#[cfg(test)]
mod tests;
mod tilt;
mod trace;
mod update;
mod variant;
mod window;

pub use calibration::{Calibration, MOTION, SENSOR};
pub use inbox::Segment;
pub use motion::{Increment, increment, v_matrix_derivative};
pub use sensor::{Reading, Sensor};
pub use trace::{Role, Trace};

pub use calibration::{CalibrationEstimate, CalibrationParameter};
pub use chart::{Centre, Chart, Charts};
pub use choices::ChoicesConfig;
pub use config::{
    CalibrationConfig, Config, ConfigError, GateConfig, InitialConfig, MapConfig, MotionConfig, NoiseReading, Prior,
    SensorConfig, TimingConfig, TwistHold, TwistPath, WhenFull,
};
pub use input::{FeatureKind, Features, Imu, Observation, Odometry};
pub use lienav_base::clock::TimeJump;
pub use output::{Counts, DropReason, Landmark, PoseEstimate, Step};
pub use slam::Slam;
pub use specs::SPECS;
pub use tilt::Tilt;
pub use variant::{
    Coordinates, Discretization, Initialization, Linearization, NoiseAt, Retraction, StereoModel, UnknownFilter,
    Variant,
};
