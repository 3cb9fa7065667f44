//! Innovations of a filter: whether they are as large as their covariance says, and white.
//!
//! A file has one of two headers:
//!
//! | columns | a row |
//! |---|---|
//! | `stamp_s,innovation,std` | one number of an innovation, and its standard deviation, both in the same unit |
//! | `stamp_s,nis,dof` | νᵀ S⁻¹ ν of an update, and how many numbers it has |
//!
//! What innovations show: noise parameters that are too small or too large, delays, and biases, which colour them. What
//! they do not: errors along directions that no measurement sees, such as the position and heading of a map as a whole.

use super::consistency::Consistency;
use crate::consistency::BAND_PROBABILITY;
use lienav_io::open;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::io;
use std::path::{Path, PathBuf};

/// No file of innovations is longer, bytes.
const LONGEST: u64 = 1 << 30;
/// No file has more rows.
const MOST_ROWS: usize = 10_000_000;
/// So many characters of another header are shown.
const SHOWN: usize = 120;
/// Autocorrelation is tested up to this lag.
pub const LAGS: usize = 10;

/// A file that has no innovations.
#[derive(Debug, thiserror::Error)]
pub enum InnovationError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not as described.
    #[error("{}: {problem}; expected the columns stamp_s,innovation,std or stamp_s,nis,dof", path.display())]
    Layout {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What innovations come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Innovations {
    /// Where they are from.
    pub source: String,
    /// How many rows there are.
    pub count: usize,
    /// Mean NIS for each number of an innovation; 1 is right.
    pub nis_per_dof: f64,
    /// With its interval, where innovations are given as numbers.
    pub consistency: Option<Consistency>,
    /// What the mean NIS for each number lies in with 95 %, if innovations are white and right.
    pub band: (f64, f64),
    /// Mean of the normalised innovations; 0 is right.
    pub mean: Option<f64>,
    /// Autocorrelation of the normalised innovations at lags from 1 on.
    pub autocorrelation: Vec<f64>,
    /// The probability of such an autocorrelation if they are white (Ljung and Box 1978).
    pub whiteness_p: Option<f64>,
    /// Rows that were left out: not finite, or without a variance.
    pub left_out: usize,
}

impl Innovations {
    /// Reads and judges a file.
    ///
    /// # Errors
    /// It cannot be read, or has other columns, or no row that can be used.
    pub fn read(path: &Path) -> Result<Self, InnovationError> {
        let file =
            open::bounded(path, LONGEST).map_err(|error| InnovationError::Io { path: path.to_owned(), error })?;
        let wrong = |problem: String| InnovationError::Layout { path: path.to_owned(), problem };
        let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(io::BufReader::new(file));
        let header = csv.headers().map_err(|error| wrong(error.to_string()))?.clone();
        let column = |name: &str| header.iter().position(|known| known == name);
        let (first, second, is_nis) = match (column("innovation"), column("std"), column("nis"), column("dof")) {
            (Some(innovation), Some(std), _, _) => (innovation, std, false),
            (_, _, Some(nis), Some(dof)) => (nis, dof, true),
            _ => {
                let found: String = header.iter().collect::<Vec<_>>().join(",").chars().take(SHOWN).collect();
                return Err(wrong(format!("its header is '{}'", found.escape_debug())));
            }
        };
        let (mut rows, mut left_out) = (Vec::new(), 0);
        for record in csv.records() {
            let record = record.map_err(|error| wrong(error.to_string()))?;
            let number = |at: usize| record.get(at).and_then(|cell| cell.parse::<f64>().ok()).unwrap_or(f64::NAN);
            match (number(first), number(second)) {
                (a, b) if a.is_finite() && b.is_finite() && b > 0.0 && (!is_nis || a >= 0.0) => rows.push((a, b)),
                _ => left_out += 1,
            }
            if rows.len() > MOST_ROWS {
                return Err(wrong(format!("it has more than {MOST_ROWS} rows; judge a part of it")));
            }
        }
        let source = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let found = if is_nis { Self::of_nis(source, &rows) } else { Self::of_numbers(source, &rows) };
        let found =
            found.ok_or_else(|| wrong("it has no row of finite numbers with a positive std or dof".to_owned()))?;
        Ok(Self { left_out, ..found })
    }

    /// Of innovations and standard deviations. `None` of nothing.
    pub fn of_numbers(source: String, rows: &[(f64, f64)]) -> Option<Self> {
        let white: Vec<f64> = rows.iter().map(|(innovation, std)| innovation / std).collect();
        let n = white.len() as f64;
        let mean = white.iter().sum::<f64>() / n;
        let consistency = Consistency::new(&white, 1, 0.0, 0)?;
        let square: f64 = white.iter().map(|w| (w - mean).powi(2)).sum();
        let lags = LAGS.min(white.len().saturating_sub(1));
        let of = |lag: usize| {
            let products = white.iter().zip(&white[lag..]).map(|(a, b)| (a - mean) * (b - mean));
            if square > 0.0 { products.sum::<f64>() / square } else { 0.0 }
        };
        let autocorrelation: Vec<f64> = (1..=lags).map(of).collect();
        let parts = autocorrelation.iter().enumerate().map(|(k, r)| r * r / (n - (k + 1) as f64));
        let statistic = n * (n + 2.0) * parts.sum::<f64>();
        let whiteness_p = ChiSquared::new(lags as f64).ok().map(|chi| 1.0 - chi.cdf(statistic));
        Some(Self {
            source,
            count: white.len(),
            nis_per_dof: consistency.nees_mean,
            band: band(n),
            consistency: Some(consistency),
            mean: Some(mean),
            autocorrelation,
            whiteness_p,
            left_out: 0,
        })
    }

    /// Of NIS and degrees of freedom. `None` of nothing.
    pub fn of_nis(source: String, rows: &[(f64, f64)]) -> Option<Self> {
        let dof: f64 = rows.iter().map(|(_, dof)| dof).sum();
        let nis: f64 = rows.iter().map(|(nis, _)| nis).sum();
        (dof > 0.0).then(|| Self {
            source,
            count: rows.len(),
            nis_per_dof: nis / dof,
            band: band(dof),
            consistency: None,
            mean: None,
            autocorrelation: Vec::new(),
            whiteness_p: None,
            left_out: 0,
        })
    }

    /// What can be said, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let (low, high) = self.band;
        let size = match self.nis_per_dof {
            nis if nis > high => "larger than their covariance says",
            nis if nis < low => "smaller than their covariance says",
            _ => "as large as their covariance says",
        };
        let mut said = vec![format!(
            "{}: NIS for each number is {:.4} (1 is right; 95 % within [{low:.4}, {high:.4}] if they are white): \
             innovations are {size}",
            self.source, self.nis_per_dof
        )];
        if let (Some(p), Some(first)) = (self.whiteness_p, self.autocorrelation.first()) {
            let word = if p < 1.0 - BAND_PROBABILITY { "they are not white" } else { "nothing speaks against white" };
            said.push(format!("autocorrelation at lag 1 is {first:.4}; p = {p:.3} over {LAGS} lags: {word}"));
        }
        if let (Some(mean), Some(consistency)) = (self.mean, self.consistency) {
            let limit = 1.96 * (consistency.nees_mean / consistency.effective_count).sqrt();
            if mean.abs() > limit {
                said.push(format!(
                    "their mean is {mean:.4} σ, more than the {limit:.4} of chance: something is biased"
                ));
            }
        }
        if self.left_out > 0 {
            said.push(format!("{} rows were left out: not finite, or without a positive std or dof", self.left_out));
        }
        said.push("what no measurement sees, such as the frame of the map, is not judged by innovations".to_owned());
        said
    }
}

/// The 95 % band of a mean of `n` squares of standard normal numbers.
fn band(n: f64) -> (f64, f64) {
    let spread = 1.96 * (2.0 / n).sqrt();
    // Wilson and Hilferty 1931, which is exact enough from ten on.
    let cube = |z: f64| (1.0 - 2.0 / (9.0 * n) + z * (2.0 / (9.0 * n)).sqrt()).max(0.0).powi(3);
    if n < 1e6 { (cube(-1.96), cube(1.96)) } else { (1.0 - spread, 1.0 + spread) }
}
