//! A [`Finder`] that is fed with the input of a filter.

use lienav_lie::Se2;
use lienav_map::{Candidate, Displacement, Finder, FinderConfig, LandmarkMap, LandmarkMapError, Sighting, Verdict};
use lienav_planar::calibration::Calibration;
use lienav_planar::config::Config;
use lienav_planar::filter::Filter;
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::measurement::Mount;
use lienav_planar::motion::Increment;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::sensor::{Sensor, Sensors};
use lienav_planar::tilt_noise::TiltNoise;
use nalgebra::{Matrix2, Matrix3};

/// Finds a robot in a map from odometry and measurements as `lienav_slam::Slam` takes them.
#[derive(Debug)]
pub struct GlobalLocalization {
    finder: Finder,
    sensors: Sensors,
    mounts: Vec<Mount>,
    /// Motion since the last scan.
    motion: Increment,
    sightings: Vec<Sighting>,
    /// Of roll and pitch that no sensor tells.
    tilt_std_rad: f64,
}

impl GlobalLocalization {
    /// With the sensors of a filter: those of its configuration, and those that were added to it.
    ///
    /// # Errors
    /// Those of [`LandmarkMap::check`].
    pub fn new(
        map: &LandmarkMap,
        config: FinderConfig,
        filter: &Filter,
        slam: &Config,
        added: &[Sensor],
    ) -> Result<Self, LandmarkMapError> {
        let sensors = Sensors::new(&slam.sensor, filter.stereo, added);
        let mounts = sensors.mounts(&Calibration::new(&slam.calibration));
        let finder = Finder::new(map, config)?;
        let tilt_std_rad = TiltNoise::of(&slam.motion, slam.motion.use_tilt).std_rad;
        Ok(Self { finder, sensors, mounts, motion: Increment::none(), sightings: Vec::new(), tilt_std_rad })
    }

    /// The robot moves.
    pub fn advance(&mut self, step: &Increment) {
        self.motion = self.motion.then(step);
    }

    /// A scan, at the end of all motion so far. Gives what was left out, by reason; measurements that put a landmark
    /// nowhere, as those of the pose, do not count as such.
    pub fn observe(&mut self, kind: MeasurementKind, raw_measurements: &[Measurement]) -> Counts {
        let mut refused = Counts::default();
        self.sightings.clear();
        for raw in raw_measurements {
            match self.sensors.read(kind, raw) {
                Ok(checked) if self.sensors.is_of_pose(&checked) => {}
                Ok(checked) => match self.sensors.place(&self.mounts, &checked) {
                    Some((position, covariance)) => {
                        let Measurement { id, label, height_m, .. } = *raw;
                        let covariance = covariance + Matrix2::identity() * (self.tilt_std_rad * height_m).powi(2);
                        self.sightings.push(Sighting { position, covariance, id, class: label.class });
                    }
                    None => refused.add(DropReason::Singular),
                },
                Err(reason) => refused.add(reason),
            }
        }
        let Increment { motion, covariance, .. } = std::mem::replace(&mut self.motion, Increment::none());
        self.finder.observe(&Displacement { motion, covariance }, &self.sightings);
        refused
    }

    /// The landmark of the map that a measurement of the last scan is of, seen from the most probable pose; `None`
    /// if it is of no landmark, or may be of several.
    pub fn identify(&self, kind: MeasurementKind, raw: &Measurement) -> Option<u32> {
        let checked = self.sensors.read(kind, raw).ok().filter(|checked| !self.sensors.is_of_pose(checked))?;
        let (position, covariance) = self.sensors.place(&self.mounts, &checked)?;
        self.finder.landmark_of(&Sighting { position, covariance, id: None, class: raw.label.class })
    }

    /// Forgets all evidence: the robot may be anywhere.
    pub fn restart(&mut self) {
        self.motion = Increment::none();
        self.finder.restart();
    }

    /// What the evidence comes to so far, at the last scan.
    pub fn verdict(&self) -> Verdict {
        self.finder.verdict()
    }

    /// The poses that the robot may have, at the last scan.
    pub fn candidates(&self) -> &[Candidate] {
        self.finder.candidates()
    }

    /// The probability that the robot is at none of them.
    pub fn elsewhere(&self) -> f64 {
        self.finder.elsewhere()
    }

    /// Pose and covariance of (x, y, θ) at the end of all motion so far, if the robot was found.
    pub fn found(&self) -> Option<(Se2, Matrix3<f64>)> {
        let Verdict::Found(Candidate { pose, covariance, .. }) = self.verdict() else { return None };
        Some(self.motion.carry(&pose, &covariance))
    }
}
