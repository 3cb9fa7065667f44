//! What every setting of the filter means, and what values it may have.

use super::{ChoicesConfig, Filter};
use lienav_base::settings::{Allowed, Spec, spec};

/// Every setting of [`Config`](super::Config), in the order of its fields.
pub const SPECS: &[Spec] = {
    use Allowed::{Any, Range, Words};
    const STD: Allowed = Range(0.0, 100.0);
    const SENSOR_STD: Allowed = Range(1e-9, 100.0);
    const LENGTH: Allowed = Range(-100.0, 100.0);
    const ANGLE: Allowed = Range(-std::f64::consts::TAU, std::f64::consts::TAU);
    const SIGMA: &str = "Standard deviation of that; estimated where this or walk is not 0.";
    const WALK: &str = "How fast it wanders, per root of a second.";
    &[
        spec("filter", Words(Filter::NAMES), false, "Which filter runs."),
        spec(
            "choices.discretization",
            Words(ChoicesConfig::DISCRETIZATION),
            false,
            "How a velocity becomes a motion, instead of as the filter has it.",
        ),
        spec(
            "choices.initialization",
            Words(ChoicesConfig::INITIALIZATION),
            false,
            "Correlation of a new feature with the pose, in filters with map coordinates.",
        ),
        spec(
            "choices.noise_at",
            Words(ChoicesConfig::NOISE_AT),
            false,
            "Where the covariance of a triangulated position is evaluated.",
        ),
        spec(
            "choices.stereo",
            Words(ChoicesConfig::STEREO),
            false,
            "What of a stereo pair is taken for the measurement.",
        ),
        spec(
            "choices.iterations",
            Range(0.0, 20.0),
            false,
            "How often an update with charts is linearized; 0 is as the filter has it.",
        ),
        spec(
            "choices.centre",
            Words(ChoicesConfig::CENTRE),
            false,
            "Where the chart of a feature is centred, in filters with charts.",
        ),
        spec(
            "choices.window",
            Range(-1.0, 100.0),
            false,
            "How many of the last clouds are linearized again, in filters with charts; an odd number counts as the next even one, 0 is none, -1 as the filter has it.",
        ),
        spec(
            "motion.velocity_x_std",
            STD,
            true,
            "Noise of the forward velocity, m/s per sample (or m/sqrt(s), see motion.noise).",
        ),
        spec("motion.velocity_y_std", STD, true, "Noise of the leftward velocity: the slip of wheels; same unit."),
        spec("motion.yaw_rate_std", STD, true, "Noise of the yaw rate, rad/s per sample (or rad/sqrt(s))."),
        spec(
            "motion.velocity_ratio_std",
            STD,
            true,
            "Noise of the forward velocity for each m/s of it, added in squares.",
        ),
        spec("motion.yaw_rate_ratio_std", STD, true, "Noise of the yaw rate for each rad/s of it, added in squares."),
        spec(
            "motion.noise",
            Words(&["per_sample", "spectral_density"]),
            true,
            "Whether the noises above are of one sample or the root of a spectral density.",
        ),
        spec(
            "motion.use_message_covariance",
            Any,
            true,
            "Take the twist covariance of an odometry message where it has one.",
        ),
        spec(
            "motion.hold",
            Words(&["before", "after"]),
            false,
            "Whether a twist stands for the interval before its stamp (measured) or after it (commanded).",
        ),
        spec(
            "motion.path",
            Words(&["arc", "chord"]),
            true,
            "Whether the robot drove an arc with the twist, or straight and then turned (a forward Euler step).",
        ),
        spec(
            "motion.delay_s",
            Range(-1.0, 1.0),
            false,
            "Dead time between the stamp of an odometry message and the motion it speaks of, s.",
        ),
        spec(
            "motion.use_tilt",
            Any,
            true,
            "Where imu has an orientation, its roll and pitch project velocities and features onto the horizontal plane; \
             its axes have to be those of base_frame.",
        ),
        spec(
            "motion.max_step_s",
            Range(0.001, 60.0),
            true,
            "The longest interval one odometry message may stand for, s.",
        ),
        spec("motion.max_speed", Range(0.01, 1000.0), true, "Speeds beyond this are dropped as absurd, m/s."),
        spec("motion.max_yaw_rate", Range(0.01, 1000.0), true, "Yaw rates beyond this are dropped as absurd, rad/s."),
        spec(
            "sensor.kind",
            Words(&["relative_position", "range_bearing", "stereo_bearings"]),
            false,
            "How a feature is measured, where the cloud's fields leave it open.",
        ),
        spec("sensor.x_m", LENGTH, false, "Position of the sensor in the base frame, forward, m."),
        spec("sensor.y_m", LENGTH, false, "Position of the sensor in the base frame, left, m."),
        spec("sensor.yaw_rad", ANGLE, false, "Heading of the sensor in the base frame, rad."),
        spec("sensor.position_std_m", SENSOR_STD, true, "Noise of either coordinate of a relative position, m."),
        spec("sensor.range_std_m", SENSOR_STD, true, "Noise of a range, m."),
        spec(
            "sensor.bearing_std_rad",
            SENSOR_STD,
            true,
            "Noise of a bearing, also of each camera of a stereo pair, rad.",
        ),
        spec(
            "sensor.correlation_s",
            Range(0.0, 1000.0),
            true,
            "How long the errors of readings of one feature stay alike, s; 0 takes each for independent.",
        ),
        spec("sensor.baseline_m", Range(1e-3, 10.0), false, "Distance between the cameras of a stereo pair, m."),
        spec("sensor.min_range_m", Range(0.0, 1000.0), true, "Features nearer than this are left out, m."),
        spec("sensor.max_range_m", Range(0.0, 10_000.0), true, "Features farther than this are left out, m."),
        spec(
            "gate.probability",
            Range(0.5, 1.0),
            true,
            "Probability with which a true observation passes the gate; 1 switches it off.",
        ),
        spec(
            "gate.new_feature_probability",
            Range(0.5, 1.0),
            true,
            "An observation without identity outside this probability of every feature starts a new one.",
        ),
        spec(
            "gate.robust_scale",
            Range(0.0, 100.0),
            true,
            "Believed observations this many standard deviations out count half (Cauchy); 0 lets all count whole.",
        ),
        spec(
            "gate.starvation_limit_s",
            Range(0.0, 1e9),
            true,
            "When the gate has left most observations out for this long, the pose counts as lost, s; 0 for never.",
        ),
        spec("map.max_features", Range(1.0, 5000.0), false, "The most features the map holds."),
        spec(
            "map.when_full",
            Words(&["refuse", "drop_oldest"]),
            true,
            "What happens to a new feature when the map is full.",
        ),
        spec(
            "map.forget_after_s",
            Range(0.0, 1e9),
            true,
            "Features not seen for this long are dropped, s; 0 keeps them for ever.",
        ),
        spec(
            "timing.reorder_window_s",
            Range(0.0, 5.0),
            false,
            "Features may arrive this much later than odometry of a later stamp, s.",
        ),
        spec(
            "timing.max_ahead_s",
            Range(0.1, 3600.0),
            true,
            "A stamp ahead of the newest by more than this is dropped, s.",
        ),
        spec(
            "timing.jump_back_s",
            Range(0.1, 1e9),
            true,
            "A stamp behind the newest by more than this means that time was set back, s.",
        ),
        spec(
            "timing.on_jump_back",
            Words(&["reset", "rewind"]),
            true,
            "When time is set back: start again, or keep pose and map.",
        ),
        spec("initial.x_m", Range(-1e6, 1e6), false, "Where the robot starts, m."),
        spec("initial.y_m", Range(-1e6, 1e6), false, "Where the robot starts, m."),
        spec("initial.yaw_rad", ANGLE, false, "Heading at the start, rad."),
        spec("initial.position_std_m", STD, false, "Standard deviation of either coordinate of the start, m."),
        spec("initial.yaw_std_rad", STD, false, "Standard deviation of the heading at the start, rad."),
        spec(
            "calibration.scale_v.value",
            Range(-0.5, 0.5),
            false,
            "Error of scale of the velocity: the true one is 1 + this times the stated one; expected, or known.",
        ),
        spec("calibration.scale_v.sigma", Range(0.0, 0.5), false, SIGMA),
        spec("calibration.scale_v.walk", Range(0.0, 0.5), false, WALK),
        spec(
            "calibration.scale_w.value",
            Range(-0.5, 0.5),
            false,
            "Error of scale of the yaw rate, also of a gyroscope's; expected, or known.",
        ),
        spec("calibration.scale_w.sigma", Range(0.0, 0.5), false, SIGMA),
        spec("calibration.scale_w.walk", Range(0.0, 0.5), false, WALK),
        spec(
            "calibration.bias_w.value",
            Range(-1.0, 1.0),
            false,
            "Added to the yaw rate, also to a gyroscope's, rad/s; expected, or known.",
        ),
        spec("calibration.bias_w.sigma", Range(0.0, 1.0), false, SIGMA),
        spec("calibration.bias_w.walk", Range(0.0, 1.0), false, WALK),
        spec(
            "calibration.turn_slip.value",
            Range(-1.0, 1.0),
            false,
            "Speed lost in turns, m/s per rad/s; expected, or known.",
        ),
        spec("calibration.turn_slip.sigma", Range(0.0, 1.0), false, SIGMA),
        spec("calibration.turn_slip.walk", Range(0.0, 1.0), false, WALK),
        spec("calibration.sensor_x.value", Range(-10.0, 10.0), false, "Added to sensor.x_m, m; expected, or known."),
        spec("calibration.sensor_x.sigma", Range(0.0, 10.0), false, SIGMA),
        spec("calibration.sensor_x.walk", Range(0.0, 10.0), false, WALK),
        spec("calibration.sensor_y.value", Range(-10.0, 10.0), false, "Added to sensor.y_m, m; expected, or known."),
        spec("calibration.sensor_y.sigma", Range(0.0, 10.0), false, SIGMA),
        spec("calibration.sensor_y.walk", Range(0.0, 10.0), false, WALK),
        spec(
            "calibration.sensor_yaw.value",
            Range(-std::f64::consts::PI, std::f64::consts::PI),
            false,
            "Added to sensor.yaw_rad, rad; expected, or known.",
        ),
        spec("calibration.sensor_yaw.sigma", Range(0.0, std::f64::consts::PI), false, SIGMA),
        spec("calibration.sensor_yaw.walk", Range(0.0, std::f64::consts::PI), false, WALK),
        spec(
            "calibration.range_bias.value",
            Range(-10.0, 10.0),
            false,
            "By which ranges are read too long, m; expected, or known.",
        ),
        spec("calibration.range_bias.sigma", Range(0.0, 10.0), false, SIGMA),
        spec("calibration.range_bias.walk", Range(0.0, 10.0), false, WALK),
        spec(
            "calibration.bearing_bias.value",
            Range(-1.0, 1.0),
            false,
            "By which bearings are read too far to the left, rad; expected, or known.",
        ),
        spec("calibration.bearing_bias.sigma", Range(0.0, 1.0), false, SIGMA),
        spec("calibration.bearing_bias.walk", Range(0.0, 1.0), false, WALK),
    ]
};
