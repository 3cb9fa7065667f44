//! The settings of detector and tracker, in groups; [`SPECS`] describes each.

use lienav_base::settings;
use lienav_base::settings::{Described, OutOfRange, Spec, check};
use std::ops::RangeInclusive;

/// Every setting of [`Config`], in the order of its fields.
pub const SPECS: &[Spec] = Config::SPECS;

const DIAMETER: RangeInclusive<f64> = 0.0..=2.0;
const LENGTH: RangeInclusive<f64> = 0.0..=10.0;

settings! {
    /// Everything that can be set. Serialised, its dotted names are those of [`SPECS`] and of the ROS parameters.
    pub struct Config {
        /// The scanner and its errors.
        scanner: ScannerConfig;
        /// Which cylinders are looked for.
        sizes: SizesConfig;
        /// Reflectors.
        reflector: ReflectorConfig;
        /// What a cylinder has to look like in one scan.
        shape: ShapeConfig;
        /// How long it has to stand still.
        persistence: PersistenceConfig;
    }
}

settings! {
    /// The scanner and its errors.
    pub struct ScannerConfig {
        /// Standard deviation of one range, m.
        range_std_m: f64 = 0.01, within 1e-4..=0.5, unit "m", runtime;
        /// Full width of the beam, rad: how blurred the edges of an object are.
        beam_divergence_rad: f64 = 0.0015, within 0.0..=0.1, unit "rad", runtime;
        /// Nothing farther away is reported, m.
        max_range_m: f64 = 15.0, within 0.5..=200.0, unit "m", runtime;
    }
}

settings! {
    /// Which cylinders are looked for, by their diameters where the plane of the scan cuts them. A largest diameter of
    /// 0 switches a class off. Classes must not overlap.
    pub struct SizesConfig {
        /// Least diameter of a pole, m.
        pole_min_m: f64 = 0.05, within DIAMETER, unit "m", runtime;
        /// Largest diameter of a pole, m.
        pole_max_m: f64 = 0.30, within DIAMETER, unit "m", runtime;
        /// Least diameter of a trunk, m.
        trunk_min_m: f64 = 0.0, within DIAMETER, unit "m", runtime;
        /// Largest diameter of a trunk, m.
        trunk_max_m: f64 = 0.0, within DIAMETER, unit "m", runtime;
        /// Least diameter of a cone at the height of the scanner, m.
        cone_min_m: f64 = 0.0, within DIAMETER, unit "m", runtime;
        /// Largest diameter of a cone at the height of the scanner, m.
        cone_max_m: f64 = 0.0, within DIAMETER, unit "m", runtime;
    }
}

settings! {
    /// Reflectors: cylinders in reflective tape, all of one diameter.
    pub struct ReflectorConfig {
        /// Their diameter, m; 0: none are looked for.
        diameter_m: f64 = 0.08, within DIAMETER, unit "m", runtime;
        /// A ray is bright from this intensity on, in units of the scanner; 0: found from each scan.
        threshold: f64 = 0.0, within 0.0..=1e9, runtime;
        /// Where the threshold is found from the scan: so many times the usual intensity at the range of the ray.
        contrast: f64 = 6.0, within 1.1..=1000.0, runtime;
    }
}

settings! {
    /// What a cylinder has to look like in one scan.
    pub struct ShapeConfig {
        /// Cylinders that are told by shape alone are hit by at least so many rays.
        min_rays: usize = 3, within 2.0..=100.0, runtime;
        /// Probability with which the ranges of a round cylinder pass the test for roundness.
        round_probability: f64 = 0.999, within 0.5..=0.999_999, runtime;
        /// Nothing else that is small stands nearer to a pole, m: the legs of a person do.
        isolation_m: f64 = 0.6, within LENGTH, unit "m", runtime;
    }
}

settings! {
    /// How long a cylinder has to stand still in the odometry frame before it is a landmark. Reflectors need not.
    pub struct PersistenceConfig {
        /// For so long, s; 0: every cylinder is reported at once.
        duration_s: f64 = 1.0, within 0.0..=60.0, unit "s", runtime;
        /// It has been seen in at least so many scans.
        min_hits: usize = 5, within 1.0..=1000.0, runtime;
        /// How far odometry may have drifted since a cylinder was last seen, standard deviation by axis, m.
        drift_std_m: f64 = 0.02, within 0.0..=1.0, unit "m", runtime;
        /// One not seen for longer is forgotten, s.
        memory_s: f64 = 5.0, within 0.1..=3600.0, unit "s", runtime;
    }
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A value out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A class whose least diameter is above its largest.
    #[error("parameter 'sizes.{class}_min_m' is {min}, above 'sizes.{class}_max_m', which is {max}: exchange them")]
    Inverted {
        /// `pole`, `trunk` or `cone`.
        class: &'static str,
        /// Least diameter, m.
        min: f64,
        /// Largest diameter, m.
        max: f64,
    },
    /// Two classes that a diameter cannot tell apart.
    #[error(
        "a diameter of {diameter} m is that of a {first} and of a {second}: separate 'sizes.{first}_…' from \
             'sizes.{second}_…', or switch one off with a largest diameter of 0"
    )]
    Overlap {
        /// A diameter that both have, m.
        diameter: f64,
        /// One class.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
}

impl SizesConfig {
    /// Name, least and largest diameter of the classes, m; those that are off have a largest of 0.
    pub(crate) fn classes(&self) -> [(&'static str, f64, f64); 3] {
        [
            ("pole", self.pole_min_m, self.pole_max_m),
            ("trunk", self.trunk_min_m, self.trunk_max_m),
            ("cone", self.cone_min_m, self.cone_max_m),
        ]
    }
}

impl Config {
    /// Checks every value against its range in [`SPECS`], and that a diameter belongs to one class at most.
    ///
    /// # Errors
    /// The first value that is out of range, or two sizes that contradict each other.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self, SPECS)?;
        let classes = self.sizes.classes();
        for (k, &(class, min, max)) in classes.iter().enumerate().filter(|(_, class)| class.2 > 0.0) {
            if min > max {
                return Err(ConfigError::Inverted { class, min, max });
            }
            for &(second, low, high) in classes[..k].iter().filter(|class| class.2 > 0.0) {
                if low < max && min < high {
                    return Err(ConfigError::Overlap { diameter: low.max(min), first: second, second: class });
                }
            }
        }
        Ok(())
    }
}
