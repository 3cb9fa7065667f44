//! What is known of one landmark without identity, besides its place: whether it exists, its class and its diameter.

use crate::association::rates::Rates;
use crate::bounds::BOUNDS;
use crate::thresholds::{FIFTY_TO_ONE, TWENTY_TO_ONE};
use lienav_planar::input::Label;
use serde::{Deserialize, Serialize};

/// What is known of a landmark without identity, besides its place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Existence {
    /// The identity that the filter gave it.
    pub id: u32,
    /// The scan that began it.
    pub first: u64,
    /// The scan that last had a measurement of it.
    pub last: u64,
    /// How many measurements there had been then.
    #[serde(rename = "last_reading")]
    pub(super) last_measurement: u64,
    /// Logarithm of the odds that it is a landmark, and what they were when it began.
    pub(super) odds: f64,
    pub(super) prior: f64,
    /// Whether it counts as a landmark.
    pub is_confirmed: bool,
    /// Another landmark at its place, and the logarithm of the odds that they are one.
    #[serde(rename = "twin")]
    pub(super) duplicate: (u32, f64),
    pub(super) classes: [(u32, f64); BOUNDS.classes_of_one],
    /// Mean and variance of its diameter, m and m²; a variance of 0 where nothing is known.
    pub(super) diameter: (f64, f64),
}

impl Existence {
    pub(super) fn new(id: u32, scan: u64, odds: f64, label: &Label) -> Self {
        let mut existence = Self {
            id,
            first: scan,
            last: scan,
            last_measurement: 0,
            odds,
            prior: odds,
            is_confirmed: false,
            duplicate: (id, 0.0),
            classes: [(0, 0.0); BOUNDS.classes_of_one],
            diameter: (0.0, 0.0),
        };
        existence.label(label);
        existence
    }

    /// The odds before the first measurement were others.
    pub(super) fn begin_with(&mut self, prior: f64) {
        self.odds += prior - self.prior;
        self.prior = prior;
    }

    /// Takes over what a measurement says of class and diameter.
    pub(super) fn label(&mut self, label: &Label) {
        if label.class != 0 {
            let known = self.classes.iter().position(|(class, count)| *class == label.class || *count == 0.0);
            if let Some((class, count)) = known.map(|k| &mut self.classes[k]) {
                (*class, *count) = (label.class, *count + 1.0);
            }
        }
        if label.diameter_m > 0.0 && label.diameter_std_m > 0.0 {
            let variance = label.diameter_std_m * label.diameter_std_m;
            if self.diameter.1 > 0.0 {
                let gain = self.diameter.1 / (self.diameter.1 + variance);
                self.diameter.0 += gain * (label.diameter_m - self.diameter.0);
                self.diameter.1 *= 1.0 - gain;
            } else {
                self.diameter = (label.diameter_m, variance);
            }
        }
    }

    /// The probability that it is a landmark.
    pub(super) fn existence_probability(&self) -> f64 {
        if self.is_confirmed { 1.0 } else { 1.0 / (1.0 + (-self.odds).exp()) }
    }

    /// The class that most measurements say; 0 where none has said any, or they do not agree.
    pub(super) fn class(&self) -> u32 {
        /// This share of the measurements agree on the class of their landmark.
        const AGREED: f64 = 0.7;
        let counted: f64 = self.classes.iter().map(|(_, count)| count).sum();
        let most = self.classes.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.filter(|(_, count)| *count > AGREED * counted).map_or(0, |(class, _)| *class)
    }

    /// The logarithm of how much likelier a label is of this landmark than of any.
    pub(super) fn fits(&self, label: &Label, rates: &Rates) -> f64 {
        let mut log_ratio = 0.0;
        let counted: f64 = self.classes.iter().map(|(_, count)| count).sum();
        if label.class != 0 && counted > 0.0 {
            let common = rates.class(label.class);
            let own = self.classes.iter().find(|(class, _)| *class == label.class).map_or(0.0, |(_, count)| *count);
            log_ratio += ((own + common) / ((counted + 1.0) * common)).ln();
        }
        if label.diameter_m > 0.0
            && self.diameter.1 > 0.0
            && let Some((mean, spread)) = rates.diameters()
        {
            let ln_density = |d: f64, variance: f64| -0.5 * (d * d / variance + variance.ln());
            let own = self.diameter.1 + label.diameter_std_m * label.diameter_std_m;
            log_ratio += ln_density(label.diameter_m - self.diameter.0, own)
                - ln_density(label.diameter_m - mean, spread.max(own));
        }
        // Trunks are not round, and classes are mistaken.
        log_ratio.clamp(-FIFTY_TO_ONE.ln, TWENTY_TO_ONE.ln)
    }
}
