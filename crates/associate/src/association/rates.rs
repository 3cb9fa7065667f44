//! Rates that are learned: how often a landmark in view is read, and how many measurements are of none.
//!
//! Both are counts with a prior that a few scans outweigh, and that fade, so that they follow a world that changes.

use crate::bounds::BOUNDS;
use lienav_planar::input::Label;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

/// Sectors of the bearing, 15° each, and octaves of the distance from 1/8 m to 256 m.
const SECTORS: usize = 24;
const OCTAVES: usize = 12;
/// Bins of a landmark's place in the robot frame.
pub const BINS: usize = SECTORS * OCTAVES;
/// Weight of what came before, with each scan: the field of view may change within some minutes.
pub const FADE: f64 = 0.9995;
/// Counts before the first scan: half of two looks.
const PRIOR: f64 = 1.0;

/// What scans were like so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rates {
    /// Expected, and read, by bearing and octave of the distance.
    #[serde(rename = "looks")]
    field_of_view: Vec<[f64; 2]>,
    /// Measurements by bearing.
    sectors: [f64; SECTORS],
    /// The greatest distance of measurements of landmarks by bearing, m; before one is believed, of all measurements.
    #[serde(default)]
    reach: [f64; SECTORS],
    /// Whether the reach is that of landmarks.
    #[serde(default)]
    is_reached: bool,
    /// The greatest distance of all measurements by bearing, m.
    #[serde(default)]
    seen: [f64; SECTORS],
    /// The sum of the squared distances of measurements, and how many.
    square: [f64; 2],
    /// Of the scans in which something should have been read: in how many the sensor looked, and how many there were.
    #[serde(default)]
    looked: [f64; 2],
    /// Sum of the normalized squared innovations, and of their degrees of freedom.
    #[serde(default)]
    innovation: [f64; 2],
    #[serde(rename = "clouds")]
    scans: f64,
    extraneous: f64,
    matched: f64,
    /// Candidates that became landmarks, and those that did not.
    outcomes: [f64; 2],
    /// How often each class was read.
    classes: [(u32, f64); BOUNDS.classes],
    /// Sum of diameters, of their squares, and how many.
    diameters: [f64; 3],
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            field_of_view: vec![[0.0; 2]; BINS],
            sectors: [0.0; SECTORS],
            reach: [0.0; SECTORS],
            is_reached: false,
            seen: [0.0; SECTORS],
            square: [0.0; 2],
            looked: [0.0; 2],
            innovation: [0.0; 2],
            scans: 0.0,
            extraneous: 0.0,
            matched: 0.0,
            outcomes: [0.0; 2],
            classes: [(0, 0.0); BOUNDS.classes],
            diameters: [0.0; 3],
        }
    }
}

/// Sine and cosine of where the sectors of a half end.
const ENDS: [[f64; 2]; SECTORS / 2 - 1] = {
    const S: [f64; 5] = [0.25881904510252074, 0.5, FRAC_1_SQRT_2, 0.8660254037844386, 0.9659258262890683];
    [
        [S[0], S[4]],
        [S[1], S[3]],
        [S[2], S[2]],
        [S[3], S[1]],
        [S[4], S[0]],
        [1.0, 0.0],
        [S[4], -S[0]],
        [S[3], -S[1]],
        [S[2], -S[2]],
        [S[1], -S[3]],
        [S[0], -S[4]],
    ]
};

/// That of ⌊(bearing/2π + ½) · 24⌋, without the bearing: landmarks are many, and arc tangents slow.
fn sector(z: &Vector2<f64>) -> usize {
    let y = z.y.abs();
    let passed = ENDS.iter().map(|[sine, cosine]| usize::from(cosine * y >= sine * z.x)).sum::<usize>();
    if z.y < 0.0 { SECTORS / 2 - 1 - passed } else { SECTORS / 2 + passed }
}

/// The bin of a place in the robot frame, m.
pub fn bin(z: &Vector2<f64>) -> usize {
    bin_of(sector(z), z.norm())
}

fn bin_of(sector: usize, distance: f64) -> usize {
    // From 1/8 m on, by the exponent of the number.
    let exponent = (distance.max(0.125).to_bits() >> 52) as usize;
    sector * OCTAVES + (exponent - (f64::MAX_EXP as usize - 1 - 3)).min(OCTAVES - 1)
}

impl Rates {
    /// Becomes what others are, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        let mut field_of_view = std::mem::take(&mut self.field_of_view);
        field_of_view.clone_from(&other.field_of_view);
        *self = Self { field_of_view, ..*other };
    }

    /// Whether it can be gone on with: as many bins as there are, and counts.
    pub fn is_sound(&self) -> bool {
        let Self { field_of_view, sectors, reach, square, looked, innovation, scans, extraneous, matched, .. } = self;
        let Self { seen, outcomes, classes, diameters, .. } = self;
        let counts =
            field_of_view.iter().flatten().chain(sectors).chain(square).chain(looked).chain(outcomes).chain(diameters);
        let counts = counts
            .chain(innovation)
            .chain(reach)
            .chain(seen)
            .chain([scans, extraneous, matched])
            .chain(classes.iter().map(|(_, count)| count));
        field_of_view.len() == BINS && counts.into_iter().all(|count| count.is_finite() && *count >= 0.0)
    }

    /// A scan with so many measurements of known landmarks and so many of others.
    pub fn scan(&mut self, matched: usize, extraneous: usize) {
        self.field_of_view.iter_mut().flatten().for_each(|x| *x *= FADE);
        self.sectors
            .iter_mut()
            .chain(&mut self.square)
            .chain(&mut self.looked)
            .chain(&mut self.innovation)
            .for_each(|x| *x *= FADE);
        self.scans = FADE * self.scans + 1.0;
        self.extraneous = FADE * self.extraneous + extraneous as f64;
        self.matched = FADE * self.matched + matched as f64;
    }

    /// The normalized squared innovation of the measurements of a scan, and its degrees of freedom.
    pub fn innovate(&mut self, nis: f64, dof: usize) {
        self.innovation[0] += nis;
        self.innovation[1] += dof as f64;
    }

    /// The mean normalized squared innovation by degree of freedom: 1, as the covariance has it, before there are many.
    pub fn innovation(&self) -> f64 {
        /// So many innovations that are as the covariance has them are the prior of how large they are.
        const PRIOR_INNOVATIONS: f64 = 20.0;
        (self.innovation[0] + PRIOR_INNOVATIONS) / (self.innovation[1] + PRIOR_INNOVATIONS)
    }

    /// A scan was taken in which nothing was to be read with probability `missed`, if the sensor looked. Returns the
    /// probability that it did: a detector that works now and then sends scans without measurements in between, which
    /// say nothing of what is in view.
    pub fn has_looked(&mut self, missed: f64, is_empty: bool) -> f64 {
        let prior = (self.looked[0] + PRIOR) / (self.looked[1] + 2.0 * PRIOR);
        let looked = if is_empty { prior * missed / (prior * missed + 1.0 - prior) } else { 1.0 };
        self.looked[0] += (1.0 - missed) * looked;
        self.looked[1] += 1.0 - missed;
        looked
    }

    /// A scan without measurements, in which the sensor has looked with this probability.
    pub fn silence(&mut self, looked: f64) {
        self.scans += looked;
    }

    /// A measurement of something at `z` in the robot frame.
    pub fn measurement(&mut self, z: &Vector2<f64>, label: &Label) {
        let sector = sector(z);
        self.sectors[sector] += 1.0;
        self.seen[sector] = self.seen[sector].max(z.norm());
        if !self.is_reached {
            self.reach[sector] = self.reach[sector].max(z.norm());
        }
        self.square[0] += z.norm_squared();
        self.square[1] += 1.0;
        if label.class != 0 {
            let known = self.classes.iter().position(|(class, count)| *class == label.class || *count == 0.0);
            if let Some((class, count)) = known.map(|k| &mut self.classes[k]) {
                (*class, *count) = (label.class, *count + 1.0);
            }
        }
        if label.diameter_m > 0.0 {
            let d = label.diameter_m;
            for (sum, x) in self.diameters.iter_mut().zip([d, d * d, 1.0]) {
                *sum += x;
            }
        }
    }

    /// A landmark that is believed was read at `z` in the robot frame. Only such measurements tell how far the sensor
    /// sees: one false measurement from far away would make everything missed that is left behind, for ever.
    pub fn reach(&mut self, z: &Vector2<f64>) {
        if !self.is_reached {
            (self.reach, self.is_reached) = ([0.0; SECTORS], true);
        }
        let reach = &mut self.reach[sector(z)];
        *reach = reach.max(z.norm());
    }

    /// A landmark at `z` in the robot frame was read, or not; `weight` is the probability that it is there.
    pub fn note_visible(&mut self, z: &Vector2<f64>, is_read: bool, weight: f64) {
        let note_visible = &mut self.field_of_view[bin(z)];
        note_visible[0] += weight;
        note_visible[1] += if is_read { weight } else { 0.0 };
    }

    /// What has become of a candidate: the probability that it is a landmark.
    pub fn outcome(&mut self, is_landmark: f64) {
        self.outcomes[0] += is_landmark;
        self.outcomes[1] += 1.0 - is_landmark;
    }

    /// The probability that a landmark at `z` in the robot frame is read.
    pub fn detection(&self, z: &Vector2<f64>) -> f64 {
        self.detection_at(sector(z), z.norm())
    }

    fn detection_at(&self, sector: usize, distance: f64) -> f64 {
        /// A detection is never surer than this, nor more unlikely than that: something may stand in the way.
        const SURE: (f64, f64) = (0.02, 0.95);
        let [expected, read] = self.field_of_view[bin_of(sector, distance)];
        ((read + PRIOR) / (expected + 2.0 * PRIOR)).clamp(SURE.0, SURE.1)
    }

    /// The same as far as a candidate can be missed: nobody knows that it is in view where nothing was read so far away
    /// in this direction, and no landmark in any. What has never been looked at counts as read in one of two looks, and
    /// a robot that goes away from a landmark has it in one place after the other of that kind: what it has passed by,
    /// and read once, would be gone before it comes back.
    pub fn detection_within_reach(&self, z: &Vector2<f64>) -> f64 {
        let (sector, distance) = (sector(z), z.norm());
        if distance > self.farthest().min(self.seen[sector]) { 0.0 } else { self.detection_at(sector, distance) }
    }

    /// The greatest distance of measurements of landmarks, m.
    pub fn farthest(&self) -> f64 {
        self.reach.iter().copied().fold(0.0, f64::max)
    }

    /// The same where none was read so far away in this direction: what is ahead of the robot becomes known when it
    /// comes into view, so that nobody was missed before it did.
    pub fn detection_in_view(&self, z: &Vector2<f64>) -> f64 {
        let (sector, distance) = (sector(z), z.norm());
        if distance > self.reach[sector] { 0.0 } else { self.detection_at(sector, distance) }
    }

    /// The least [`Self::detection_in_view`] within `by` of `z` in the robot frame: at `z`, and so far before, behind
    /// and beside it.
    pub fn least_detection(&self, z: &Vector2<f64>, by: f64) -> f64 {
        let around = [[0.0, 0.0], [by, 0.0], [-by, 0.0], [0.0, by], [0.0, -by]].map(|d| z + Vector2::from(d));
        let mut least: f64 = 1.0;
        for z in &around {
            least = least.min(self.detection_in_view(z));
            if least <= 0.0 {
                break;
            }
        }
        least
    }

    /// The area that is in view, m²: that of a disc in which measurements are evenly spread, in the sectors that have
    /// some.
    fn area(&self) -> f64 {
        /// A sector is in view if it has this part of all measurements.
        const IN_VIEW: f64 = 0.005;
        let [square, count] = self.square;
        let least = IN_VIEW * count;
        let sectors = self.sectors.iter().filter(|n| **n > least).count().max(1);
        let mean = if count > 0.0 { square / count } else { 1.0 };
        (TAU * mean * sectors as f64 / SECTORS as f64).max(PI * 1e-4)
    }

    /// How many measurements of no known landmark there are in a scan, by area, 1/m².
    pub fn extraneous_density(&self) -> f64 {
        /// So many scans with one measurement of no landmark are the prior of the extraneous ones.
        const PRIOR_SCANS: f64 = 10.0;
        (self.extraneous + 1.0) / (self.scans + PRIOR_SCANS) / self.area()
    }

    /// How many landmarks there are, by area, 1/m².
    pub fn landmark_density(&self) -> f64 {
        let odds = self.prior_of_candidate().exp();
        let real = odds / (1.0 + odds);
        (self.matched + real * self.extraneous + 1.0) / (self.scans + 1.0) / self.area()
    }

    /// How many measurements of known landmarks there are in a scan, on average.
    pub fn matched_per_scan(&self) -> f64 {
        self.matched / self.scans.max(1.0)
    }

    /// The part of all measurements that are clutter: of no known landmark, nor of a new one.
    pub fn clutter(&self) -> f64 {
        let false_ones = self.extraneous / (1.0 + self.prior_of_candidate().exp());
        false_ones / (self.extraneous + self.matched + 1.0)
    }

    /// The logarithm of the odds that a measurement of no known landmark is of a new one, and not clutter.
    pub fn prior_of_candidate(&self) -> f64 {
        ((self.outcomes[0] + 1.0) / (self.outcomes[1] + 1.0)).ln().clamp(-3.0, 3.0)
    }

    /// How common a class is.
    pub fn class(&self, class: u32) -> f64 {
        let whole: f64 = self.classes.iter().map(|(_, count)| count).sum();
        let own = self.classes.iter().find(|(other, _)| *other == class).map_or(0.0, |(_, count)| *count);
        (own + 1.0) / (whole + 2.0)
    }

    /// The mean of all diameters and their variance, m and m²; `None` before there are enough.
    pub fn diameters(&self) -> Option<(f64, f64)> {
        let [sum, squares, count] = self.diameters;
        let mean = sum / count;
        (count >= 8.0).then(|| (mean, (squares / count - mean * mean).max(1e-6)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_and_octaves_are_those_of_bearing_and_distance() {
        for k in 0..7200 {
            // Between the ends, which are 15° apart.
            let (bearing, distance) = ((f64::from(k) * 0.05 + 0.01 - 180.0).to_radians(), 0.02 + 0.07 * f64::from(k));
            let expected = ((bearing / TAU + 0.5) * 24.0) as usize;
            let z = Vector2::new(bearing.cos(), bearing.sin()) * distance;
            assert_eq!(sector(&z), expected, "{bearing}");
            let octave = ((distance.max(0.125).log2() + 3.0) as usize).min(OCTAVES - 1);
            assert_eq!(bin_of(3, distance), 3 * OCTAVES + octave, "{distance}");
        }
        let ahead = [[1.0, 0.0], [1.0, -0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        assert_eq!(ahead.map(|z| sector(&Vector2::from(z))), [12, 12, 23, 23, 18, 5]);
        assert_eq!([0.0, f64::INFINITY].map(|distance| bin_of(0, distance)), [0, OCTAVES - 1]);
    }

    #[test]
    fn nothing_is_missed_where_none_was_read_so_far_away() {
        let mut rates = Rates::default();
        let (near, far) = (Vector2::new(5.0, 0.1), Vector2::new(9.0, 0.1));
        assert_eq!(rates.detection_within_reach(&near), 0.0);
        rates.measurement(&Vector2::new(8.0, 0.1), &Label::default());
        assert_eq!([&near, &far].map(|z| rates.detection_within_reach(z)), [0.5, 0.0]);
        // Of what is behind, nothing is known in view, until something was read there.
        assert_eq!([rates.detection_in_view(&near), rates.detection_in_view(&-near)], [0.5, 0.0]);
        assert_eq!(rates.detection_within_reach(&-near), 0.0);
        rates.reach(&Vector2::new(8.0, 0.1));
        rates.measurement(&Vector2::new(-20.0, -0.1), &Label::default());
        assert_eq!([-near, -far].map(|z| rates.detection_within_reach(&z)), [0.5, 0.0]);
    }

    #[test]
    fn what_is_believed_tells_how_far_the_sensor_sees() {
        let mut rates = Rates::default();
        let [near, far] = [5.0, 50.0].map(|x| Vector2::new(x, 0.1));
        rates.measurement(&far, &Label::default());
        assert_eq!(rates.detection_within_reach(&far), 0.5);
        for measurement in [near, far] {
            rates.measurement(&measurement, &Label::default());
            rates.reach(&near);
            assert_eq!([&near, &far].map(|z| rates.detection_within_reach(z)), [0.5, 0.0]);
            assert_eq!(rates.detection_in_view(&far), 0.0);
        }
    }

    #[test]
    fn silence_is_a_look_of_a_steady_sensor_and_none_of_one_that_works_now_and_then() {
        let mut steady = Rates::default();
        (0..100).for_each(|_| assert_eq!(steady.has_looked(0.1, false), 1.0));
        assert!(steady.has_looked(0.3, true) > 0.9, "{:?}", steady.looked);
        let mut rare = Rates::default();
        for k in 0..500 {
            rare.has_looked(0.1, k % 5 != 0);
        }
        let [looked, all] = rare.looked;
        assert!((looked / all - 0.2).abs() < 0.05, "{looked} of {all}");
        assert!(rare.has_looked(0.1, true) < 0.05);
    }
}
