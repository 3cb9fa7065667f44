//! What a recording needs of a filter beside its settings.

use lienav_slam::{MeasurementKind, Sensor, Slam, TooManySensors};

/// What a filter needs beside its settings to take the input of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Equipment {
    /// Sensors beside those of the settings, in the order of their numbers.
    pub sensors: Vec<Sensor>,
    /// The topics of odometry, the best first.
    pub odometry: Vec<String>,
    /// A source of odometry whose last message is older than this, by the stamps, is silent, s.
    pub timeout_s: f64,
}

impl Default for Equipment {
    fn default() -> Self {
        Self { sensors: Vec::new(), odometry: Vec::new(), timeout_s: 0.2 }
    }
}

impl From<&[Sensor]> for Equipment {
    fn from(sensors: &[Sensor]) -> Self {
        Self { sensors: sensors.to_vec(), ..Self::default() }
    }
}

impl Equipment {
    /// Gives a filter the sensors that it does not have yet.
    ///
    /// # Errors
    /// There are too many.
    pub fn equip(&self, slam: &mut Slam) -> Result<(), TooManySensors> {
        for (k, sensor) in self.sensors.iter().enumerate() {
            if slam.mount(MeasurementKind::added(k)?).is_none() {
                slam.add_sensor(sensor.clone())?;
            }
        }
        Ok(())
    }
}
