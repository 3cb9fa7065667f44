//! The page of judged estimates: numbers, errors and NEES over time, calibration.

use super::report::Report;
use super::run::Subject;
use super::steps::{Step, Steps};
use super::text::sentence;
use crate::consistency::{BAND_PROBABILITY, chi_squared_band};
use crate::page::{self, shown, significant};
use serde::Serialize;

/// The most steps of one estimate: beyond, the extremes are kept.
const MOST_ROWS: usize = 3000;

/// The page as HTML.
///
/// # Errors
/// None in practice; serde's, should the data ever hold what JSON cannot say.
pub fn html(subjects: &[Subject<'_>]) -> serde_json::Result<String> {
    Ok(page::judged(&serde_json::to_string(&Page::new(subjects))?))
}

/// All of a page.
#[derive(Serialize)]
struct Page<'a> {
    version: &'static str,
    source: &'a str,
    duration_s: f64,
    probability: f64,
    filters: Vec<Shown<'a>>,
}

/// One estimate.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    sentence: String,
    report: &'a Report,
    dof: usize,
    band: (f64, f64),
    rows: Rows,
}

/// Over time.
#[derive(Default, Serialize)]
struct Rows {
    t: Vec<f64>,
    position: Vec<f64>,
    orientation: Vec<f64>,
    /// Claimed σ of the distance and of the angle.
    position_std: Vec<Option<f64>>,
    orientation_std: Vec<Option<f64>>,
    nees: Vec<Option<f64>>,
}

impl<'a> Page<'a> {
    fn new(subjects: &[Subject<'a>]) -> Self {
        let stamps = || subjects.iter().flat_map(|subject| &subject.judged.pairs.stamps);
        let (first, last) = (stamps().min(), stamps().max());
        let start = first.copied().unwrap_or_default();
        let shown = |subject: &Subject<'a>| {
            let dof = subject.judged.space.all().len();
            Shown {
                name: &subject.judged.report.filter,
                sentence: sentence(&subject.judged.report),
                report: &subject.judged.report,
                dof,
                band: chi_squared_band(dof, BAND_PROBABILITY),
                rows: Rows::new(subject, start),
            }
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            source: subjects.first().map_or("", |subject| &subject.judged.report.source),
            duration_s: last.map_or(0.0, |last| significant(last.since(start), 9)),
            probability: BAND_PROBABILITY,
            filters: subjects.iter().map(shown).collect(),
        }
    }
}

impl Rows {
    fn new(subject: &Subject<'_>, start: lienav_base::stamp::Stamp) -> Self {
        let steps = &subject.judged.steps.all;
        let of = |value: fn(&Step) -> f64| steps.iter().map(value).collect::<Vec<f64>>();
        let columns = [
            of(|step| Steps::position_square(step).sqrt()),
            of(|step| Steps::orientation_square(step).sqrt().to_degrees()),
            of(|step| step.nees[2]),
        ];
        let setting = subject.setting();
        let (position, orientation) = setting.space.parts();
        let mut rows = Self::default();
        let rounded = |value: f64| significant(value, 4);
        for at in shown(steps.len(), &columns, MOST_ROWS) {
            let stated = setting.stated(at).map(|covariance| covariance.diagonal());
            let std = |part: &[usize]| {
                let variance = stated.map(|diagonal| part.iter().map(|&k| diagonal[k]).sum::<f64>());
                variance.filter(|variance| variance.is_finite() && *variance >= 0.0).map(f64::sqrt)
            };
            rows.t.push(significant(subject.judged.pairs.stamps[at].since(start), 9));
            rows.position.push(rounded(columns[0][at]));
            rows.orientation.push(rounded(columns[1][at]));
            rows.position_std.push(std(position).map(rounded));
            rows.orientation_std.push(std(orientation).map(|std| rounded(std.to_degrees())));
            rows.nees.push(Some(columns[2][at]).filter(|nees| nees.is_finite()).map(rounded));
        }
        rows
    }
}
