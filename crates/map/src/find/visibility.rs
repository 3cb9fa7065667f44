//! What the sensor sees of what is there, and where it has looked.

use super::sighting::Displacement;
use lienav_lie::Se2;
use nalgebra::Vector2;
use std::collections::VecDeque;
use std::f64::consts::{PI, TAU};

/// Bins of the range and of the bearing.
const RANGES: usize = 16;
const SECTORS: usize = 12;
/// A bin begins with what all sectors say at its range, and they with what the configuration says; each is worth so
/// many trials.
const PRIOR_TRIALS: f64 = 4.0;
/// What a sensor that states no limit may reach at most, m: bins are shares of it.
const FAR_M: f64 = 32.0;
/// Views are this far apart, m and rad: from nearer together the same things are hidden.
const APART_M: f64 = 0.5;
const APART_RAD: f64 = 0.35;
/// The most views that are kept.
const VIEWS: usize = 16;

/// How probable it is that the sensor has a landmark at a place in the base frame: within the limits that were given,
/// learned from the landmarks of the constellation, which need no map for this. Where no limit was given, only places
/// that are as near as something seen in the same direction count as visible.
#[derive(Clone, Debug)]
pub struct Detection {
    probability: f64,
    max_range_m: Option<f64>,
    field_of_view_rad: Option<f64>,
    seen: [[f64; SECTORS]; RANGES],
    trials: [[f64; SECTORS]; RANGES],
    /// What they say.
    learned: [[f64; SECTORS]; RANGES],
    /// The farthest that was seen in each sector, m.
    farthest: [f64; SECTORS],
}

impl Detection {
    /// With what the configuration says.
    pub fn new(probability: f64, max_range_m: Option<f64>, field_of_view_rad: Option<f64>) -> Self {
        Self {
            probability,
            max_range_m,
            field_of_view_rad,
            seen: [[0.0; SECTORS]; RANGES],
            trials: [[0.0; SECTORS]; RANGES],
            learned: [[probability; SECTORS]; RANGES],
            farthest: [0.0; SECTORS],
        }
    }

    /// A landmark at this place was seen, or not.
    pub fn learn(&mut self, place: &Vector2<f64>, is_seen: bool) {
        let (range, sector) = self.bin(place);
        self.trials[range][sector] += 1.0;
        if is_seen {
            self.seen[range][sector] += 1.0;
            self.farthest[sector] = self.farthest[sector].max(place.norm());
        }
        let (seen, trials) = (&self.seen[range], &self.trials[range]);
        let expected = PRIOR_TRIALS * self.probability;
        let at_this_range = (seen.iter().sum::<f64>() + expected) / (trials.iter().sum::<f64>() + PRIOR_TRIALS);
        for sector in 0..SECTORS {
            self.learned[range][sector] =
                (seen[sector] + PRIOR_TRIALS * at_this_range) / (trials[sector] + PRIOR_TRIALS);
        }
    }

    /// The probability for a landmark at this place.
    pub fn at(&self, place: &Vector2<f64>) -> f64 {
        let (range, sector) = self.bin(place);
        let distance = place.norm();
        let within = match (self.max_range_m, self.field_of_view_rad) {
            (Some(limit), Some(field)) => distance < 0.95 * limit && is_within(place, field),
            (None, Some(field)) => is_within(place, field) && distance < self.reach(),
            (Some(limit), None) => distance < 0.95 * limit && self.farthest[sector] > 0.0,
            (None, None) => distance < self.farthest[sector],
        };
        if !within {
            return 0.0;
        }
        self.learned[range][sector]
    }

    /// Beyond this nothing is seen, m.
    pub fn reach(&self) -> f64 {
        let seen = self.farthest.iter().copied().fold(0.0, f64::max);
        self.max_range_m.map_or(seen, |limit| seen.min(limit))
    }

    fn bin(&self, place: &Vector2<f64>) -> (usize, usize) {
        let share = place.norm() / self.max_range_m.unwrap_or(FAR_M);
        let turn = (place.y.atan2(place.x) + PI) / TAU;
        (((share * RANGES as f64) as usize).min(RANGES - 1), ((turn * SECTORS as f64) as usize).min(SECTORS - 1))
    }
}

fn is_within(place: &Vector2<f64>, field_of_view_rad: f64) -> bool {
    place.y.atan2(place.x).abs() < 0.5 * field_of_view_rad - 0.05
}

/// Scans from nearly one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// From where, in the base frame of now.
    pub pose: Se2,
    /// How many scans.
    pub scans: u32,
    /// Beyond this measurements were left out, m.
    pub horizon_m: f64,
}

/// The last places that the sensor looked from.
#[derive(Clone, Debug, Default)]
pub struct Views(VecDeque<View>);

impl Views {
    /// The base moves.
    pub fn carry(&mut self, step: &Displacement) {
        let back = step.motion.inverse();
        self.0.iter_mut().for_each(|view| view.pose = back * view.pose);
    }

    /// A scan from here.
    pub fn add(&mut self, horizon_m: f64) {
        match self.0.back_mut() {
            Some(view) if view.pose.p.norm() < APART_M && view.pose.theta.abs() < APART_RAD => {
                view.scans += 1;
                view.horizon_m = view.horizon_m.min(horizon_m);
            }
            _ => self.0.push_back(View { pose: Se2::identity(), scans: 1, horizon_m }),
        }
    }

    /// The oldest, if there is one more than is kept.
    pub fn surplus(&self) -> Option<&View> {
        self.0.front().filter(|_| self.0.len() > VIEWS)
    }

    /// Forgets the oldest.
    pub fn drop_oldest(&mut self) {
        self.0.pop_front();
    }

    /// From the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &View> {
        self.0.iter()
    }
}
