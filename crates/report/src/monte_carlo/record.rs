//! A run as a line of text: what one machine hands to another. Numbers come back bit for bit.

use super::tally::{FilterRun, RunAssociations, RunSummary, StepSample};
use crate::associations::Associations;
use lienav_base::bits;
use lienav_base::stamp::Stamp;
use nalgebra::Matrix3;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of an experiment, through all of its filters: what [`super::Experiment::run_some`] makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which of the runs, from 0 on.
    pub run: usize,
    pub(super) filters: Vec<FilterRun>,
}

impl RunRecord {
    /// The seeds of the scenario that its filters have had: one and the same.
    pub(super) fn is_of_seed(&self, seed: u64) -> bool {
        self.filters.iter().all(|filter| filter.summary.seed == seed)
    }

    /// As one line with a check sum before it, without the end of the line.
    ///
    /// # Errors
    /// None in practice; serde's.
    pub fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|text| checked_line(&text))
    }

    /// The inverse of [`RunRecord::to_line`]; `None` where the line is damaged.
    pub fn from_line(line: &str) -> Option<Self> {
        serde_json::from_str(content_of(line)?).ok()
    }
}

/// A text with the CRC-32 of it before it.
pub(super) fn checked_line(text: &str) -> String {
    format!("{:08x} {text}", crc32fast::hash(text.as_bytes()))
}

/// The text of a line whose check sum is right.
pub(super) fn content_of(line: &str) -> Option<&str> {
    let (sum, text) = line.split_once(' ')?;
    let is_right = sum.len() == 8 && u32::from_str_radix(sum, 16).ok()? == crc32fast::hash(text.as_bytes());
    is_right.then_some(text)
}

/// [`FilterRun`] as it is written: lists of numbers by their bits, and a number that there is not as not-a-number.
#[derive(Serialize, Deserialize)]
struct Written {
    seed: u64,
    #[serde(with = "bits")]
    summary: Vec<f64>,
    stamps_ns: Vec<i64>,
    /// Four for each stamp.
    #[serde(with = "bits")]
    samples: Vec<f64>,
    dropped: BTreeMap<String, u64>,
    associations: Option<(Associations, Option<f64>)>,
    #[serde(with = "bits")]
    step_us_sum: Vec<f64>,
    step_count: usize,
}

/// Numbers of a [`RunSummary`] before its two covariances.
const SCALARS: usize = 16;
const NUMBERS: usize = SCALARS + 18;

fn of_option(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// NEES and its like are finite where they are.
fn to_option(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

fn numbers(summary: &RunSummary) -> Vec<f64> {
    let mut numbers = vec![
        summary.position_mean_m,
        summary.position_square_m2,
        summary.yaw_mean_rad,
        summary.yaw_square_rad2,
        summary.final_position_m,
        summary.final_yaw_rad,
        of_option(summary.nees_mean),
        of_option(summary.final_nees),
        of_option(summary.nees_slope_per_s),
        of_option(summary.group_nees_mean),
        of_option(summary.final_group_nees),
        of_option(summary.group_nees_slope_per_s),
        of_option(summary.nis_per_dof),
        of_option(summary.landmark_square_m2),
        of_option(summary.relative_landmark_square_m2),
        of_option(summary.landmark_nees_mean),
    ];
    numbers.extend(summary.first_covariance.iter().chain(summary.final_covariance.iter()));
    numbers
}

fn summary(seed: u64, numbers: &[f64; NUMBERS]) -> RunSummary {
    let matrix = |from: usize| Matrix3::from_column_slice(&numbers[from..from + 9]);
    RunSummary {
        seed,
        position_mean_m: numbers[0],
        position_square_m2: numbers[1],
        yaw_mean_rad: numbers[2],
        yaw_square_rad2: numbers[3],
        final_position_m: numbers[4],
        final_yaw_rad: numbers[5],
        nees_mean: to_option(numbers[6]),
        final_nees: to_option(numbers[7]),
        nees_slope_per_s: to_option(numbers[8]),
        group_nees_mean: to_option(numbers[9]),
        final_group_nees: to_option(numbers[10]),
        group_nees_slope_per_s: to_option(numbers[11]),
        nis_per_dof: to_option(numbers[12]),
        landmark_square_m2: to_option(numbers[13]),
        relative_landmark_square_m2: to_option(numbers[14]),
        landmark_nees_mean: to_option(numbers[15]),
        first_covariance: matrix(SCALARS),
        final_covariance: matrix(SCALARS + 9),
    }
}

impl Serialize for FilterRun {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sample = |s: &StepSample| [s.position_m, s.yaw_rad, of_option(s.nees), of_option(s.group_nees)];
        Written {
            seed: self.summary.seed,
            summary: numbers(&self.summary),
            stamps_ns: self.samples.iter().map(|sample| sample.stamp.nanos()).collect(),
            samples: self.samples.iter().flat_map(sample).collect(),
            dropped: self.dropped.clone(),
            associations: self.associations.map(|run| (run.found, to_option(run.step_us_p99))),
            step_us_sum: vec![self.step_us_sum],
            step_count: self.step_count,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FilterRun {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let wrong = |what| serde::de::Error::custom(what);
        let numbers = written.summary.as_slice().try_into().map_err(|_| wrong("a summary of another size"))?;
        let (samples, rest) = written.samples.as_chunks::<4>();
        let &[step_us_sum] = written.step_us_sum.as_slice() else { return Err(wrong("not one sum of times")) };
        if samples.len() != written.stamps_ns.len() || !rest.is_empty() {
            return Err(wrong("not four numbers for each stamp"));
        }
        let sample = |(&stamp, &[position_m, yaw_rad, nees, group_nees]): (&i64, &[f64; 4])| StepSample {
            stamp: Stamp::from_nanos(stamp),
            position_m,
            yaw_rad,
            nees: to_option(nees),
            group_nees: to_option(group_nees),
        };
        Ok(Self {
            summary: summary(written.seed, numbers),
            samples: written.stamps_ns.iter().zip(samples).map(sample).collect(),
            dropped: written.dropped,
            associations: written
                .associations
                .map(|(found, p99)| RunAssociations { found, step_us_p99: of_option(p99) }),
            step_us_sum,
            step_count: written.step_count,
        })
    }
}
