//! The settings of the filter that sees tags, beside `start`, `timing` and `map` of [`Config`](crate::Config).

use lienav_base::settings;
use lienav_base::settings::{Described, Spec};
use lienav_tags::motion::ConstantVelocity;
use nalgebra::{DMatrix, DVector};

/// Every setting of [`TagConfig`], in the order of its fields.
pub const SPECS: &[Spec] = TagConfig::SPECS;

settings! {
    /// What can be set about a filter that sees tags.
    pub struct TagConfig {
        /// Tags in images, and the motion between them.
        tags: TagNoise;
    }
}

settings! {
    /// Tags in images, and the motion between them.
    pub struct TagNoise {
        /// Standard deviation of each coordinate of a corner, px.
        corner_std_px: f64 = 0.5, within 1e-3..=100.0, unit "px";
        /// Standard deviation of the stamps of images, s: moving images have that much more noise.
        stamp_std_s: f64 = 0.002, within 0.0..=0.1, unit "s";
        /// Standard deviation by axis of the rotation of each camera on the robot, rad, of which it is estimated; 0: it is
        /// known.
        camera_turn_std_rad: f64 = 0.0, within 0.0..=0.2, unit "rad";
        /// Standard deviation by axis of the place of each camera on the robot, m, of which it is estimated; 0: it is known.
        camera_place_std_m: f64 = 0.0, within 0.0..=1.0, unit "m";
        /// The most tags in the state.
        max_tags: usize = 120, within 1.0..=300.0;
        /// The robot stays on a level floor, at height 0 of the map.
        level_floor: bool = false;
        /// White noise of the yaw rate of odom, rad/s/sqrt(Hz).
        odometry_rate_noise: f64 = 0.01, within 0.0..=10.0, unit "rad/s/sqrt(Hz)";
        /// White noise of the velocity of odom, m/s/sqrt(Hz).
        odometry_velocity_noise: f64 = 0.02, within 0.0..=10.0, unit "m/s/sqrt(Hz)";
        /// By which part of its last change a value of odom is uncertain, which is held until the next.
        odometry_lag: f64 = 1.0, within 0.0..=10.0;
        /// Odom that is silent for longer is not held any more, s.
        odometry_hold_s: f64 = 0.5, within 0.01..=1e9, unit "s";
        /// Take imu: the body is its frame, and z of the map is up.
        use_imu: bool = false;
        /// White noise of the acceleration of a robot without odom, m/s^2/sqrt(Hz).
        acceleration_noise: f64 = 1.6, within 1e-3..=1e3, unit "m/s^2/sqrt(Hz)";
        /// White noise of the angular acceleration of a robot without odom, rad/s^2/sqrt(Hz).
        turn_noise: f64 = 1.6, within 1e-3..=1e3, unit "rad/s^2/sqrt(Hz)";
    }
}

impl TagNoise {
    /// Covariance of a camera's rotation and place on the robot, where they are estimated.
    pub fn mount_covariance(&self) -> Option<DMatrix<f64>> {
        /// What is stated to be known is known to this, so that the covariance is one, rad and m.
        const KNOWN: (f64, f64) = (1e-7, 1e-7);
        let (turn, place) = (self.camera_turn_std_rad, self.camera_place_std_m);
        let sigma = |k: usize| if k < 3 { turn.max(KNOWN.0) } else { place.max(KNOWN.1) };
        (turn > 0.0 || place > 0.0).then(|| DMatrix::from_diagonal(&DVector::from_fn(6, |k, _| sigma(k).powi(2))))
    }

    /// The motion where no odometry measures it.
    pub fn free_motion(&self) -> ConstantVelocity {
        ConstantVelocity { acceleration: self.acceleration_noise, turn: self.turn_noise, ..ConstantVelocity::default() }
    }
}
