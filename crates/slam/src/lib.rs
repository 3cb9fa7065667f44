//! # lienav-slam
//!
//! Where is a robot that drives on a plane, and where are the landmarks that it sees? This crate estimates both at
//! once: from odometry and measurements of landmarks it computes the pose, a map of landmarks, and their joint
//! covariance. It is for programs in Rust that need such a filter as a library, without ROS, and for the study of such
//! filters: the EKF, the first-estimate EKF, the symmetry-reduced and the invariant filter are values of one type,
//! [`Filter`]. The default is an invariant filter: at every estimate, the transition of its errors is the identity, and
//! measurements of landmarks do not depend on the error of the pose. It therefore gains no false information about
//! where the map is in the world, which is what makes the covariance of an EKF too small.
//!
//! A robot drives 1 m towards a post. Its wheels slip, so that odometry reports 1.1 m:
//!
//! ```
//! use lienav_slam::{Config, MeasurementKind, Measurement, Odometry, Slam, Stamp};
//! use nalgebra::Vector2;
//!
//! let mut config = Config::default();
//! (config.motion.velocity_x_std, config.sensor.range_std_m) = (0.2, 0.01);
//! let mut slam = Slam::new(config)?;
//! for k in 0..=10_i32 {
//!     let stamp = Stamp::from_secs(0.1 * f64::from(k));
//!     slam.odometry(&Odometry { stamp, velocity: Vector2::new(1.1, 0.0), yaw_rate: 0.0, covariance: None })?;
//!     let post = Measurement::new(Some(7), [5.0 - 0.1 * f64::from(k), 0.0]);
//!     slam.features(stamp, MeasurementKind::RangeBearing, &[post])?;
//!     while let Some(step) = slam.poll() {
//!         println!("{} {:?}", step.estimate.stamp, step.estimate.pose);
//!     }
//! }
//! let estimate = slam.predicted().ok_or("no odometry yet")?;
//! assert!((estimate.pose.p.x - 1.0).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Slam`] is the whole pipeline. Stamped [`Odometry`], [`Imu`] samples and scans of [`Measurement`]s go in, in
//! whatever order they arrive; one [`Step`] for each scan comes out of [`Slam::poll`], in the order of the stamps.
//! Input that cannot be used is counted under a [`DropReason`]. [`Slam::predicted`] is the pose at the newest
//! odometry, and [`Slam::landmarks`] the map.
//!
//! # A step
//!
//! 1. **Propagate**: move the state along the odometry to the stamp of the scan, and add the noise of the motion.
//! 2. **Associate**: find the landmark that each measurement is of, by its identity or else by its Mahalanobis
//!    distance.
//! 3. **Gate**: leave out measurements whose squared Mahalanobis distance exceeds the χ² bound for their dimension.
//! 4. **Update**: correct pose, calibration and map with all matches at once; an iterated filter linearizes again
//!    first.
//! 5. **Augment**: add the landmarks that were seen for the first time.
//! 6. **Prune**: drop the landmarks that were not seen for longer than [`MapConfig::forget_after_s`].
//!
//! If the gate leaves out most measurements for too long (track loss), the step relocates the robot in the map and
//! gates again. If the robot may be so far from its estimate that measurements are not linear (a gap of the input), the
//! step moves it to where the measurements have it before it gates, or leaves them out until they tell where that is.
//!
//! In a **known map** ([`Slam::set_map`], [`MapMode`]), the landmarks near the robot enter the state before the
//! measurements are associated, and leave it when others are nearer. A map that stays as it is is considered and not
//! estimated (Schmidt–Kalman): its errors count, and no measurement changes them. `docs/localization.md` has the
//! equations.
//!
//! With a **fixed lag**, the filter keeps the last scans while ranges of new landmarks are uncertain. It goes back
//! from time to time and takes these scans in again, each linearized at what is known now. It calls the same step for
//! this.
//!
//! # State, errors, equations
//!
//! ```math
//! \begin{array}{lll}
//! \text{state} & X = (p, \theta) \in SE(2),\; p_i \in \mathbb{R}^2
//!     & \text{pose of the base, landmarks in the map} \\
//! \text{landmark} & z_i = R(\theta)^T (p_i - p) & \text{in the robot frame; eq. (5.4)} \\
//! \text{motion} & p^+ = p + R(\theta)\, t,\; \theta^+ = \theta + a
//!     & t = V(a)\, v \Delta t,\; a = w \Delta t;\; \text{Euler: } t = v \Delta t;\; \text{eqs. (5.3), (5.9)} \\
//! \text{reading} & y_i = h(z_i) + b + n,\; n \sim N(0, R) & z_i \text{ as seen from the mount of the sensor}
//! \end{array}
//! ```
//!
//! Errors of three kinds, with their transition F and the Jacobian H of a measurement; eqs. (5.11), (5.15) and (5.20)
//! for the first two:
//!
//! ```math
//! \begin{array}{lll}
//! \text{world} & \delta p,\; \delta\theta,\; \delta p_i
//!     & F = \begin{pmatrix} I & J(p^+ - p) \\ 0 & 1 \end{pmatrix},\;
//!     \delta z_i = R(\theta)^T(-\delta p - J(p_i - p)\,\delta\theta + \delta p_i) \\
//! \text{robot} & \delta p,\; \delta\theta,\; \delta z_i
//!     & \delta z_i^+ = R(a)^T \delta z_i,\; H = (0 \mid H_O) \\
//! \text{invariant} & X_{true} = \mathrm{Exp}(\xi) \hat X,\; e_i = R(\theta)\, \delta z_i
//!     & F = I,\; H = (0 \mid H_O),\; H_O = \tfrac{\partial h}{\partial z} R(\theta)^T \\
//! & & \xi^+ = \xi + (R(\theta)\, \delta t - J p^+ \delta a,\; \delta a),\;
//!     e_i^+ = e_i - R(\theta)\, \delta t - J (p_i - p^+)\, \delta a
//! \end{array}
//! ```
//!
//! The update is eq. (5.24) in covariance form:
//!
//! ```math
//! S = H P H^T + R, \quad K = P H^T S^{-1}, \quad P^+ = P - K S K^T
//! ```
//!
//! J = [[0, −1], [1, 0]], V(a) = ∫₀¹ R(sa) ds, and (δt, δa) is the noise of the motion (t, a). The source is X. Shen,
//! "Geometric Integrators for Stiff Systems, Lie Groups and Control Systems", PhD thesis, UC San Diego, 2019, chapter
//! 5; `docs/filters.md` derives the rest. Units are SI: metres, radians, seconds. Axes are those of REP 103: x forward,
//! y left, angles counterclockwise.
//!
//! # A filter is a value
//!
//! A [`Filter`] consists of coordinates of the errors with the choices that belong to them ([`Errors`]: world, robot
//! or invariant), and of what is measured of a stereo pair ([`StereoModel`]).
//!
//! - World coordinates have a [`Linearization`], an [`Initialization`] of new landmarks, and a [`Discretization`].
//! - Robot coordinates have a [`Discretization`].
//! - Invariant errors have a [`Correction`]: the exponential of the group, or [`Charts`] with a number of iterations
//!   and a fixed lag.
//!
//! [`Filter::TABLE`] has sixteen of them with names, for [`Config::filter`]. [`Slam::with_filter`] takes any other,
//! and refuses a choice that has no effect.
//!
//! # A measurement is a type
//!
//! A [`LandmarkMeasurement`] of D numbers predicts what a sensor reads of a landmark at z, with its Jacobian; a
//! [`PoseMeasurement`] predicts what a sensor reads at a pose. D is 1, 2 or 3, and gates follow from it. [`Position`],
//! [`RangeBearing`], [`Range`], [`Bearing`], [`StereoBearings`] and [`Triangulated`] are in the crate; a program
//! implements either trait for its own. A [`Sensor`] is a measurement on its mount, and [`Slam::add_sensor`] adds it to
//! a filter:
//!
//! ```
//! use lienav_slam::{Config, Discretization, Errors, MeasurementKind, Filter, NoiseAt, StereoModel};
//! use lienav_slam::{RangeBearing, Se2, Sensor, Slam};
//!
//! let errors = Errors::Robot { discretization: Discretization::Exponential };
//! let reduced = Filter { errors, stereo: StereoModel::Triangulated(NoiseAt::Predicted) };
//! let mut slam = Slam::with_filter(reduced, Config::default())?;
//! let lidar = RangeBearing { range_std_m: 0.03, bearing_std_rad: 0.01, min_range_m: 0.1, max_range_m: 25.0, ..RangeBearing::default() };
//! let kind = slam.add_sensor(Sensor::of_landmarks(lidar, Se2::new(0.2, 0.0, 0.0)))?;
//! assert_eq!((kind, *slam.filter()), (MeasurementKind::Added(0), Filter::named("reduced")?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a program can rely on
//!
//! - The crate reads no clock and no files, and starts no threads. The same input gives the same output, bit for bit.
//! - A step allocates nothing once the map stands.
//! - Data do not cause a panic: bad values, covariances and stamps are refused with a [`DropReason`] and change
//!   nothing.
//! - No invalid covariance comes out: a filter whose covariance becomes invalid, whatever the cause, reinitializes and
//!   counts [`DropReason::InvalidCovariance`].
//!
//! # A map that outlives the run
//!
//! [`Slam::save`] gives a [`SavedState`], plain data for serde, and [`Slam::resume`] goes on where it was saved: with
//! the same input from there on, the estimates are those of the run that was not interrupted, bit for bit.
//! [`Slam::map`] is the map with the joint covariance of its landmarks in the map frame, and [`Slam::take_map`] begins
//! with the landmarks of a survey, or of a run of another filter. `lienav-io` has both as files.
//!
//! # Where to go on
//!
//! - [`GlobalLocalization`] finds a robot in a known [`LandmarkMap`], without a start and without identities:
//!   `docs/global-localization.md`.
//! - [`Config`] lists all settings with units and ranges; `docs/parameters.md` is the same table.
//! - `examples/01_range_bearing_slam.rs` is the program above with noise and a map of eight posts, `02_stereo.rs`
//!   compares three filters, `03_a_sensor_of_your_own.rs` adds two measurements, and `04_monte_carlo.rs` tests the
//!   covariance.
//! - `lienav-planar` has what a step is made of, `lienav-associate` the association, and `lienav-ekf` the parts without
//!   geometry: for a program that puts a filter together by itself.
//! - `lienav-lie` has the groups ([`Se2`] is from there) and `lienav-base` the stamps ([`Stamp`]) and the settings;
//!   `lienav-sim` makes input from a seed, `lienav-io` reads bags and data sets, and `lienav-eval` judges runs.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(test)]
extern crate self as lienav_slam;

mod bound;
mod early;
mod estimator;
mod fixed_lag;
mod history;
mod imu_yaw_rate;
mod inbox;
mod iterate;
mod kalman_filter;
mod lookahead;
mod moved_or_gone;
mod noise_estimation;
mod odometry_limits;
mod slam;
mod steady;
mod step;
#[cfg(test)]
mod tests;
mod trace;

#[doc(inline)]
pub use lienav_associate::{
    association::identity, association::tally::Tally as AssociationTally, global_localization::GlobalLocalization,
    thresholds,
};
#[doc(inline)]
pub use lienav_ekf::{
    by_id, kernel,
    validity::{EXACT_VARIANCE, valid_covariance},
};
#[doc(inline)]
pub use lienav_planar::{
    associated::{Role, Subject},
    belief::LandmarkStatus,
    calibration::{Calibration, CalibrationEstimate, CalibrationParameter, MOTION, SENSOR, SensorJacobian},
    chart::{Centre, Chart, Charts},
    checked::CheckedMeasurement,
    config::{
        AbsoluteConfig, Association, CalibrationConfig, Config, ConfigError, GateConfig, InitialConfig, LearningConfig,
        MapConfig, MapMode, MotionConfig, NoiseUnit, Prior, SPECS, SensorConfig, StartMode, TimingConfig, TwistHold,
        TwistPath, WhenFull, WorldConfig, WorldFrame,
    },
    filter::{
        CompositionError, Coordinates, Correction, Discretization, Errors, Filter, Initialization, Linearization,
        NoiseAt, StereoModel, UnknownFilter,
    },
    georeference::world_of_two,
    input::{Imu, Label, Measurement, MeasurementKind, Odometry, Scan, TooManySensors},
    linearized::{LinearizedMeasurement, LinearizedStep},
    measurement::{
        Bearing, Component, Expected, LandmarkMeasurement, Mount, Noise, PoseMeasurement, Position, Range,
        RangeBearing, StereoBearings, Triangulated, Value,
    },
    motion::{Increment, Segment, increment, v_matrix_derivative},
    output::{Counts, DropReason, Landmark, PoseEstimate, Step},
    pose_clones::Motion,
    sensor::{Sensor, Sensors},
    state::FIRST_OWN_ID,
    tilt::Tilt,
    without::{Mechanism, Without},
};

pub use lienav_base::clock::TimeJump;
pub use lienav_base::stamp::Stamp;
pub use lienav_lie::Se2;
pub use lienav_map::{
    Candidate, Conditional, Finder, FinderConfig, LandmarkMap, LandmarkMapError, MapLandmark, MergeError, Merged,
    NearCovariances, SharedLandmark, Sighting, Verdict,
};

pub use kalman_filter::{Block, Correction as KalmanCorrection, KalmanFilter, SavedKalmanFilter};
pub use noise_estimation::{LearnedNoise, LearnedSensor};
pub use slam::{
    ExternalMeasurement, LocalMap, ReadExternal, RelocalizeError, ResumeError, SavedState, Slam, TakeMapError,
};
pub use trace::{SeenMeasurement, Trace, TracedMeasurement, TracedStep};

/// Names of before, which programs may have.
#[doc(hidden)]
pub use {
    lienav_planar::checked::CheckedMeasurement as Reading,
    lienav_planar::config::NoiseUnit as NoiseReading,
    lienav_planar::input::{Measurement as Observation, MeasurementKind as FeatureKind, Scan as Features},
    lienav_planar::linearized::LinearizedMeasurement as LinearizedReading,
    slam::{ExternalMeasurement as OutsideReading, ReadExternal as ReadOutside},
    trace::{SeenMeasurement as SeenReading, TracedMeasurement as TracedReading},
};
