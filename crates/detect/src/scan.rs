//! What comes in: one scan, checked, and its usable rays in the order of their directions.

use nalgebra::Vector3;
use std::f64::consts::TAU;

/// One revolution or sweep of a planar scanner, as `sensor_msgs/LaserScan` has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan<'a> {
    /// Direction of the first ray, rad, in the sensor frame.
    pub angle_min_rad: f64,
    /// From one ray to the next, rad; negative for a scanner that turns right.
    pub angle_increment_rad: f64,
    /// From one ray to the next, s; the stamp of the scan is that of its first ray.
    pub time_increment_s: f64,
    /// Nearer ranges are no readings, m.
    pub range_min_m: f64,
    /// Farther ranges are no readings, m.
    pub range_max_m: f64,
    /// Ranges, m. What is not finite or not within the limits is a ray without an echo.
    pub ranges: &'a [f32],
    /// Intensities in any unit, one for each range; empty where the scanner has none.
    pub intensities: &'a [f32],
    /// Motion of the scanner during the scan in its own axes: (m/s, m/s, rad/s). Zero where it is not known.
    pub twist: Vector3<f64>,
}

/// Why a scan is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ScanError {
    /// A number of the header that cannot be.
    #[error("{name} of the scan is {value}; it has to be {wanted}")]
    Header {
        /// Field of the message.
        name: &'static str,
        /// What was found.
        value: f64,
        /// What is allowed.
        wanted: &'static str,
    },
    /// More rays than a full turn has.
    #[error("{rays} rays at {increment} rad are more than a full turn: correct angle_increment or the number of rays")]
    MoreThanATurn {
        /// How many rays.
        rays: usize,
        /// From one to the next, rad.
        increment: f64,
    },
    /// Not one intensity for each range.
    #[error("the scan has {ranges} ranges and {intensities} intensities; it has to have as many, or no intensities")]
    Lengths {
        /// How many ranges.
        ranges: usize,
        /// How many intensities.
        intensities: usize,
    },
}

impl Scan<'_> {
    fn check(&self) -> Result<(), ScanError> {
        let refuse = |name, value, wanted| Err(ScanError::Header { name, value, wanted });
        if !self.angle_min_rad.is_finite() || self.angle_min_rad.abs() > 100.0 {
            return refuse("angle_min", self.angle_min_rad, "finite, within ±100 rad");
        }
        if !self.angle_increment_rad.is_finite() || self.angle_increment_rad.abs() < 1e-7 {
            return refuse("angle_increment", self.angle_increment_rad, "finite and not 0");
        }
        if !(0.0..=10.0).contains(&self.time_increment_s) {
            return refuse("time_increment", self.time_increment_s, "0 … 10 s");
        }
        if !self.range_min_m.is_finite() {
            return refuse("range_min", self.range_min_m, "finite");
        }
        // Some drivers write +∞ for a scanner without a limit.
        if self.range_max_m.is_nan() || self.range_max_m <= self.range_min_m {
            return refuse("range_max", self.range_max_m, "above range_min");
        }
        if let Some(&value) = self.twist.iter().find(|value| !value.is_finite() || value.abs() > 1e3) {
            return refuse("twist", value, "finite, within ±1000");
        }
        let rays = self.ranges.len();
        if (rays.saturating_sub(1)) as f64 * self.angle_increment_rad.abs() > TAU * 1.001 {
            return Err(ScanError::MoreThanATurn { rays, increment: self.angle_increment_rad });
        }
        if !self.intensities.is_empty() && self.intensities.len() != rays {
            return Err(ScanError::Lengths { ranges: rays, intensities: self.intensities.len() });
        }
        Ok(())
    }
}

/// A ray that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ray {
    /// Direction when it left, rad, growing along the scan, counted on over the seam of a full turn.
    pub angle: f64,
    /// Range, m.
    pub range: f64,
    /// When it left, after the stamp, s.
    pub time: f64,
    /// Intensity; 0 where there is none.
    pub intensity: f64,
}

/// The rays that came back. A scanner that turns right is mirrored, so that angles always grow.
#[derive(Debug, Default)]
pub(crate) struct Rays {
    pub rays: Vec<Ray>,
    /// Size of the step from one ray to the next, rad.
    pub step: f64,
    /// From one ray to the next, s.
    pub time_step: f64,
    /// −1 for a mirrored scan, otherwise 1.
    pub sign: f64,
    /// Of the scanner, mirrored as the rays.
    pub twist: Vector3<f64>,
    /// Whether the first ray follows the last one.
    pub circular: bool,
    /// Directions of the first and the last ray of the scan, rad, whether they came back or not.
    pub span: [f64; 2],
}

impl Rays {
    pub fn load(&mut self, scan: &Scan) -> Result<(), ScanError> {
        self.rays.clear();
        scan.check()?;
        self.sign = scan.angle_increment_rad.signum();
        self.step = scan.angle_increment_rad.abs();
        self.time_step = scan.time_increment_s;
        self.twist = Vector3::new(scan.twist.x, self.sign * scan.twist.y, self.sign * scan.twist.z);
        self.circular = (scan.ranges.len() as f64 * self.step - TAU).abs() < 0.5 * self.step;
        let start = self.sign * scan.angle_min_rad;
        self.span = [start, start + scan.ranges.len().saturating_sub(1) as f64 * self.step];
        for (k, &range) in scan.ranges.iter().enumerate() {
            let range = f64::from(range);
            // A range of zero is "no echo" to many drivers, whatever range_min says.
            if range.is_finite() && range > 0.0 && range >= scan.range_min_m && range <= scan.range_max_m {
                let intensity =
                    scan.intensities.get(k).map_or(0.0, |&i| if i.is_finite() { f64::from(i) } else { 0.0 });
                let (angle, time) = (start + k as f64 * self.step, k as f64 * scan.time_increment_s);
                self.rays.push(Ray { angle, range, time, intensity });
            }
        }
        Ok(())
    }

    /// Lets the list of a full turn begin at ray `first`.
    pub fn begin_at(&mut self, first: usize) {
        self.rays.rotate_left(first);
        let passed = self.rays.len() - first;
        for ray in &mut self.rays[passed..] {
            ray.angle += TAU;
        }
    }

    /// The ray before the first of a segment, if it is its neighbour: at most one ray without an echo lies between.
    pub fn before(&self, first: usize) -> Option<Ray> {
        let ray = match first.checked_sub(1) {
            Some(k) => self.rays[k],
            None if self.circular => self.rays.last().map(|ray| Ray { angle: ray.angle - TAU, ..*ray })?,
            None => return None,
        };
        self.adjacent(&ray, &self.rays[first]).then_some(ray)
    }

    /// The ray after the last of a segment, likewise.
    pub fn after(&self, last: usize) -> Option<Ray> {
        let ray = match self.rays.get(last + 1) {
            Some(ray) => *ray,
            None if self.circular => self.rays.first().map(|ray| Ray { angle: ray.angle + TAU, ..*ray })?,
            None => return None,
        };
        self.adjacent(&self.rays[last], &ray).then_some(ray)
    }

    /// Whether the scan begins with this ray.
    pub fn at_start(&self, ray: &Ray) -> bool {
        ray.angle < self.span[0] + 0.5 * self.step
    }

    /// Whether the scan ends with this ray.
    pub fn at_end(&self, ray: &Ray) -> bool {
        ray.angle > self.span[1] - 0.5 * self.step
    }

    fn adjacent(&self, a: &Ray, b: &Ray) -> bool {
        b.angle - a.angle < 2.5 * self.step
    }
}
