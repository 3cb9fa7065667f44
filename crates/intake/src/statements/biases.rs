//! The biases that a filter has estimated, and those that its settings expect.

use super::Finding;
use lienav_attitude::{Config, Estimate};

/// A bias beyond so many of its stated standard deviations is not the one that was meant. The walk of a bias over hours
/// stays within.
const MANY: f64 = 10.0;

/// The biases of the messages of `topic` that contradict the settings, a sentence for each sensor.
pub fn biases(topic: &str, config: &Config, estimate: &Estimate) -> Vec<Finding> {
    let (gyro, accel) = (&config.gyroscope, &config.accelerometer);
    let checks = [
        ("accelerometer", "m/s²", estimate.accelerometer_bias, [accel.bias_x, accel.bias_y, accel.bias_z]),
        ("gyroscope", "rad/s", estimate.gyro_bias, [gyro.bias_x, gyro.bias_y, gyro.bias_z]),
    ];
    let stds = [accel.initial_bias_std, gyro.initial_bias_std];
    let found = checks.into_iter().zip(stds).filter_map(|((sensor, unit, bias, expected), std)| {
        let off = ["x", "y", "z"].into_iter().zip(bias.iter().zip(expected).map(|(bias, expected)| bias - expected));
        let (axis, off) = off.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let many = off.abs() / std;
        (many > MANY).then(|| {
            let sentence = format!(
                "the {sensor} of {topic} has a bias of {off:.2} {unit} along {axis}, {many:.0} times its standard \
                 deviation of {std} {unit} ({sensor}.initial_bias_std): look for a wrong unit, scale or axis, or raise \
                 that if the sensor is so bad"
            );
            Finding::new(topic, if sensor == "gyroscope" { "gyroscope_bias" } else { "accelerometer_bias" }, sentence)
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_attitude::{Attitude, ImuSample};
    use lienav_base::stamp::Stamp;
    use nalgebra::Vector3;

    fn found(force: Vector3<f64>) -> Vec<String> {
        let config = Config::default();
        let mut attitude = Attitude::new(config.clone()).unwrap();
        for i in 0..2000 {
            let stamp = Stamp::from_secs(0.005 * f64::from(i));
            let noise = 1e-3 * Vector3::new((7.0 * f64::from(i)).sin(), 0.0, (5.0 * f64::from(i)).cos());
            let _ = attitude.imu(&ImuSample { stamp, angular_velocity: noise, specific_force: force + noise });
        }
        let estimate = attitude.estimate().unwrap();
        biases("imu", &config, &estimate).into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn a_bias_beyond_what_is_stated_is_named_with_both_numbers() {
        assert_eq!(found(Vector3::new(0.1, 0.0, 9.81)), [""; 0]);
        let said = found(Vector3::new(0.0, 0.0, 7.0));
        assert!(said.len() == 1 && said[0].contains("bias of -0.") && said[0].contains("m/s² along z"), "{said:?}");
    }
}
