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
    #[serde(default)]
    trial: Trial,
}

/// Whether it was at rest at the start, where one camera and its inertial sensor said so: neither shows a slow motion
/// at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Trial {
    /// It was, or it is not asked.
    #[default]
    Over,
    /// It is not known yet.
    Open,
    /// It was not: landmarks moved while the inertial sensor was calm all the time.
    Refuted,
}

impl StillView {
    /// Of a body that is at rest at the start, until it is shown that it was not.
    pub fn on_trial() -> Self {
        Self { trial: Trial::Open, ..Self::default() }
    }

    /// Whether the body was not at rest at the start.
    pub fn is_refuted(&self) -> bool {
        self.trial == Trial::Refuted
    }

    /// Takes in the landmarks of a frame, with their sensors, and whether the inertial sensor is calm, where it says
    /// so. Says whether the body is at rest by what is seen; `None` where that shows nothing.
    pub fn take<'a>(
        &mut self,
        stamp: Stamp,
        seen: impl Iterator<Item = (u64, usize, &'a Measured)> + Clone,
        is_calm: Option<bool>,
    ) -> Option<bool> {
        self.apart.clear();
        for place in seen.clone().filter_map(Place::of) {
            if let Ok(k) = self.before.binary_search_by_key(&place.key(), Place::key) {
                let before = &self.before[k];
                self.apart.push(place.apart(before));
            }
        }
        let age_s = stamp.since(self.since);
        let is_shown = self.apart.len() >= LEAST;
        let has_moved = is_shown && beyond(&mut self.apart, 2) > MOVED;
        if !is_shown || (has_moved && age_s >= APART_S) {
            self.before.clear();
            self.before.extend(seen.filter_map(Place::of));
            self.before.sort_unstable_by_key(Place::key);
            self.since = stamp;
        }
        let is_clear = self.apart.len() >= 2 * LEAST;
        let is_still = is_shown.then_some(!has_moved && age_s >= CALM_S);
        self.trial = match (self.trial, is_calm) {
            (Trial::Open, Some(true)) if has_moved && age_s >= APART_S && is_clear => Trial::Refuted,
            (Trial::Open, Some(true)) if is_still == Some(true) => Trial::Over,
            (Trial::Open, Some(false)) => Trial::Over,
            (trial, _) => trial,
        };
        is_still
    }
}

/// Beyond this, as a mean square over that of the noise, a landmark of two numbers that stands is once in a hundred
/// times. The flow of a picture is strong at near landmarks only: a quarter of all beyond it is a motion.
const DRIFTS: f64 = 4.6;

/// Whether landmarks moved in these views of a short time, by straight lines through the views of each; `None` where
/// too few were seen for [`APART_S`] or more. Noise is what the views scatter by, where that is more than is stated.
pub fn have_moved(seen: impl Iterator<Item = (Stamp, u64, usize, Measured)>) -> Option<bool> {
    let mut places: Vec<(Stamp, Place)> =
        seen.filter_map(|(stamp, id, sensor, one)| Some((stamp, Place::of((id, sensor, &one))?))).collect();
    places.sort_by_key(|(stamp, place)| (place.key(), *stamp));
    let mut all: Vec<f64> = places.chunk_by(|a, b| a.1.key() == b.1.key()).filter_map(drift).collect();
    (all.len() >= LEAST).then(|| beyond(&mut all, 4) > DRIFTS)
}

/// The mean square of the slope of a line through these views of a landmark, over that of the noise.
fn drift(views: &[(Stamp, Place)]) -> Option<f64> {
    let [(first, place), .., (last, _)] = views else { return None };
    if last.since(*first) < APART_S {
        return None;
    }
    let n = views.len() as f64;
    let time = |stamp: &Stamp| stamp.since(*first);
    let middle = views.iter().map(|(stamp, _)| time(stamp)).sum::<f64>() / n;
    let mean = views.iter().map(|(_, place)| place.at).sum::<Vector4<f64>>() / n;
    let spread = views.iter().map(|(stamp, _)| (time(stamp) - middle).powi(2)).sum::<f64>();
    let slope = views.iter().map(|(stamp, place)| place.at * (time(stamp) - middle)).sum::<Vector4<f64>>() / spread;
    let off = |(stamp, place): &(Stamp, Place)| (place.at - mean - slope * (time(stamp) - middle)).norm_squared();
    let numbers = place.numbers as f64;
    let freedom = (n - 2.0) * numbers;
    let scatter = if freedom > 0.0 { views.iter().map(off).sum::<f64>() / freedom } else { 1.0 };
    Some(slope.norm_squared() * spread / numbers / scatter.max(1.0))
}

/// What half or a quarter of these are beyond, or at it.
fn beyond(all: &mut [f64], part: usize) -> f64 {
    let at = all.len() - all.len().div_ceil(part);
    *all.select_nth_unstable_by(at, f64::total_cmp).1
}

impl Place {
    /// The mean square of the change between two views, over its variance by their noise.
    fn apart(&self, before: &Self) -> f64 {
        (self.at - before.at).norm_squared() / (2 * self.numbers) as f64
    }

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
