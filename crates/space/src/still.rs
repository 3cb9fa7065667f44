//! Whether what is seen stands still. An inertial sensor does not tell rest from an even motion, nor from a gentle one; a
//! picture does: of a body at rest, each landmark stays where it was, but for the noise.

use crate::measured::Measured;
use lienav_base::stamp::Stamp;
use nalgebra::Vector4;
use serde::{Deserialize, Serialize};

/// Nothing has moved for so long, s, before rest is believed.
const CALM_S: f64 = 1.0;
/// Seen so far apart, s, landmarks show a motion.
const APART_S: f64 = 0.25;
/// Fewer landmarks that were seen before show nothing.
const LEAST: usize = 3;
/// Half of the landmarks have moved by more than this, as variances of the noise of both views: that is twice as large.
const MOVED: f64 = 4.0;

/// Where a landmark was seen, as multiples of the noise.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    id: u64,
    sensor: usize,
    at: Vector4<f64>,
    numbers: usize,
}

/// What was seen some time ago.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StillView {
    before: Vec<Place>,
    since: Stamp,
    #[serde(skip)]
    apart: Vec<f64>,
}

impl StillView {
    /// Takes in the landmarks of a frame, with their sensors; says whether the body may be at rest by what is seen.
    pub fn take<'a>(&mut self, stamp: Stamp, seen: impl Iterator<Item = (u64, usize, &'a Measured)> + Clone) -> bool {
        self.apart.clear();
        for place in seen.clone().filter_map(Place::of) {
            if let Ok(k) = self.before.binary_search_by_key(&place.key(), Place::key) {
                let before = &self.before[k];
                self.apart.push((place.at - before.at).norm_squared() / (2 * place.numbers) as f64);
            }
        }
        let age_s = stamp.since(self.since);
        let is_shown = self.apart.len() >= LEAST;
        let has_moved = is_shown && self.median() > MOVED;
        if !is_shown || (has_moved && age_s >= APART_S) {
            self.before.clear();
            self.before.extend(seen.filter_map(Place::of));
            self.before.sort_unstable_by_key(Place::key);
            self.since = stamp;
        }
        !is_shown || (!has_moved && age_s >= CALM_S)
    }

    fn median(&mut self) -> f64 {
        let middle = self.apart.len() / 2;
        *self.apart.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

impl Place {
    fn key(&self) -> (u64, usize) {
        (self.id, self.sensor)
    }

    fn of((id, sensor, measured): (u64, usize, &Measured)) -> Option<Self> {
        let (at, numbers) = match measured {
            Measured::Pixel(one) => {
                let pixel = one.pixel / one.sigma;
                (Vector4::new(pixel.x, pixel.y, 0.0, 0.0), 2)
            }
            Measured::Stereo(one) => (one.pixels.component_div(&one.covariance.diagonal().map(f64::sqrt)), 4),
            Measured::Position(one) => {
                let scaled = one.position.component_div(&one.covariance.diagonal().map(f64::sqrt));
                (Vector4::new(scaled.x, scaled.y, scaled.z, 0.0), 3)
            }
            Measured::Bearing(one) => {
                let scaled = one.direction / one.sigma;
                (Vector4::new(scaled.x, scaled.y, scaled.z, 0.0), 2)
            }
            Measured::Range(one) => (Vector4::new(one.range_m / one.sigma_m, 0.0, 0.0, 0.0), 1),
            Measured::Velocity(_) | Measured::Pose(_) | Measured::Rest(_) => return None,
        };
        Some(Self { id, sensor, at, numbers })
    }
}
