//! Where the sensor measures landmarks, learned from what it has measured.

use nalgebra::Vector2;
use std::f64::consts::{PI, TAU};

/// Sectors of the bearing, and headings of a circle: 10° each.
pub const DIRECTIONS: usize = 36;

/// The farthest measurement in each sector.
#[derive(Clone, Debug)]
pub struct FieldOfView {
    farthest: [f64; DIRECTIONS],
}

impl Default for FieldOfView {
    fn default() -> Self {
        Self { farthest: [0.0; DIRECTIONS] }
    }
}

impl FieldOfView {
    /// A landmark was measured here, in the base frame.
    pub fn note(&mut self, place: &Vector2<f64>) {
        let farthest = &mut self.farthest[sector(place)];
        *farthest = farthest.max(place.norm());
    }

    /// Whether a landmark here is in view.
    pub fn has(&self, place: &Vector2<f64>) -> bool {
        place.norm() < self.farthest[sector(place)]
    }

    /// Nothing was measured farther away, m.
    pub fn reach(&self) -> f64 {
        self.farthest.iter().copied().fold(0.0, f64::max)
    }

    /// m².
    pub fn area(&self) -> f64 {
        /// The field of view is taken to be so large at least, m², before much was measured.
        const LEAST_AREA_M2: f64 = 5.0;
        let sectors: f64 = self.farthest.iter().map(|far| 0.5 * far * far * TAU / DIRECTIONS as f64).sum();
        sectors.max(LEAST_AREA_M2)
    }
}

fn sector(place: &Vector2<f64>) -> usize {
    let turn = (place.y.atan2(place.x) + PI) / TAU;
    ((turn * DIRECTIONS as f64) as usize).min(DIRECTIONS - 1)
}
