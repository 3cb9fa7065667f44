//! What was found, as JSON and as a table.

use super::run::Observed;
use super::{Invented, Window};
use crate::monte_carlo::table;
use serde::Serialize;
use std::collections::BTreeMap;

/// What several filters take for observable on one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where the input came from.
    pub source: String,
    /// Scans of a window.
    #[serde(rename = "clouds")]
    pub scans: usize,
    /// By filter, in the order they were asked for.
    pub filters: Vec<FilterReport>,
}

/// What one filter takes for observable.
#[derive(Clone, Debug, Serialize)]
pub struct FilterReport {
    /// Its name.
    pub name: String,
    /// How many windows have a null space of each dimension; 3 is right.
    pub nullities: BTreeMap<usize, usize>,
    /// The mean number of features of a window.
    pub features_mean: f64,
    /// The median over the windows of what is said of the heading, rad⁻².
    pub heading_information_median: f64,
    /// The largest, rad⁻².
    pub heading_information_max: f64,
    /// The largest of what is said of the position, m⁻².
    pub position_information_max: f64,
    /// What was invented by the end of the run.
    pub invented: Invented,
    /// Window by window.
    pub windows: Vec<Window>,
    /// Scan by scan.
    pub steps: Vec<Invented>,
}

impl FilterReport {
    /// Of one filter.
    pub fn new(observed: Observed) -> Self {
        let Observed { filter, windows, invented } = observed;
        let mut nullities = BTreeMap::new();
        windows.iter().for_each(|window| *nullities.entry(window.nullity).or_default() += 1);
        let mut headings: Vec<f64> = windows.iter().map(|window| window.heading_information).collect();
        headings.sort_by(f64::total_cmp);
        let features = windows.iter().map(|window| window.features).sum::<usize>();
        Self {
            name: filter,
            nullities,
            features_mean: features as f64 / windows.len().max(1) as f64,
            heading_information_median: headings.get(headings.len() / 2).copied().unwrap_or(0.0),
            heading_information_max: headings.last().copied().unwrap_or(0.0),
            position_information_max: windows.iter().map(|window| window.position_information).fold(0.0, f64::max),
            invented: invented.last().copied().unwrap_or_default(),
            windows,
            steps: invented,
        }
    }
}

impl Report {
    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice; serde's, should a report ever hold what JSON cannot say.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }
}

/// A table of all filters, with what its numbers mean.
pub fn to_text(report: &Report) -> String {
    let head = [
        "filter",
        "null space: windows",
        "features",
        "heading in a window, median",
        "largest",
        "position, largest",
        "invented of the heading",
        "of the position",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for filter in &report.filters {
        let nullities: Vec<String> =
            filter.nullities.iter().map(|(dimension, count)| format!("{dimension}: {count}")).collect();
        let mut row = vec![filter.name.clone(), nullities.join(", "), format!("{:.1}", filter.features_mean)];
        row.extend([
            known_to(filter.heading_information_median, "rad"),
            known_to(filter.heading_information_max, "rad"),
            known_to(filter.position_information_max, "m"),
            known_to(filter.invented.heading_information, "rad"),
            known_to(filter.invented.position_information, "m"),
        ]);
        rows.push(row);
    }
    format!(
        "source: {}, windows of {} clouds\n\n{}\n\
         The null space of the local observability matrix has dimension 3 where readings say nothing of where robot \
         and\nfeatures are as a whole. What they say all the same, by the Jacobians that the filter used, is told as \
         the standard\ndeviation that it would leave: in windows of which the start is unknown, and from the start of \
         the run to its end.\n",
        report.source,
        report.scans,
        table(&rows)
    )
}

/// Information as the standard deviation that it leaves.
fn known_to(information: f64, unit: &str) -> String {
    if information > 0.0 { format!("± {:.2e} {unit}", information.sqrt().recip()) } else { "nothing".into() }
}
