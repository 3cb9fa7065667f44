//! What odometry and sensor get wrong in the same way all the time.

use nalgebra::Vector4;

/// True velocity = scale × velocity of the odometry; reading = what is expected + bias. The biases are those of range and bearing; of a
/// stereo pair, that of both bearings; relative positions have none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Scale of the velocity, less 1.
    pub velocity_scale: f64,
    /// Scale of the yaw rate, less 1.
    pub yaw_rate_scale: f64,
    /// Bias of a range, m.
    pub range_bias_m: f64,
    /// Bias of a bearing, rad.
    pub bearing_bias_rad: f64,
}

impl Calibration {
    /// How far off wheels and sensors usually are.
    pub const PRIOR_STD: Self =
        Self { velocity_scale: 0.1, yaw_rate_scale: 0.1, range_bias_m: 0.1, bearing_bias_rad: 0.05 };

    /// With standard deviations, as a sentence.
    pub(super) fn describe(&self, std: &Self) -> String {
        format!(
            "found a scale of the velocity of {:.4} ± {:.4}, of the yaw rate of {:.4} ± {:.4}, a bias of range of {:.4} ± {:.4} m, \
             of bearing of {:.4} ± {:.4} rad",
            1.0 + self.velocity_scale,
            std.velocity_scale,
            1.0 + self.yaw_rate_scale,
            std.yaw_rate_scale,
            self.range_bias_m,
            std.range_bias_m,
            self.bearing_bias_rad,
            std.bearing_bias_rad,
        )
    }

    pub(super) fn to_vector(self) -> Vector4<f64> {
        Vector4::new(self.velocity_scale, self.yaw_rate_scale, self.range_bias_m, self.bearing_bias_rad)
    }

    pub(super) fn from_vector(v: &Vector4<f64>) -> Self {
        Self { velocity_scale: v.x, yaw_rate_scale: v.y, range_bias_m: v.z, bearing_bias_rad: v.w }
    }
}
