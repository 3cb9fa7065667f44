//! Worlds, trajectories and sensors with stated noise, all reproducible from a seed.
//!
//! A [`Scenario`] says what is simulated; [`Scenario::named`] has those of Shen 2019, ch. 5, and others. A
//! [`Simulation`] is an iterator over [`Frame`]s: what the sensors say at one instant, and the truth. The same scenario
//! gives the same bytes every time (on one machine: sines and logarithms may differ in their last bit between
//! mathematical libraries). World, odometry, feature sensor, misreads, gyroscope and initial error have a stream of
//! random numbers each, so a change of one leaves the others as they are.

mod added;
mod filter_config;
mod imu;
mod odometry;
mod random;
mod relations;
mod scenario;
mod sensors;
mod shipped;
mod simulation;
#[cfg(test)]
mod tests;
pub mod trajectory;
mod truth;
mod world;

pub use imu::ImuReading;
pub use scenario::{
    FeatureSensorConfig, ImuConfig, InitialErrorConfig, OdometryConfig, PathKind, SPECS, Scenario, ScenarioError,
    TrajectoryConfig, TruthModel, TwistReading, UnknownScenario, WorldConfig, WorldKind,
};
pub use simulation::{Frame, Simulation};
