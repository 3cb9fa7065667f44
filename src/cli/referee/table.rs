//! The table: a row for each estimator on each recording, as text, CSV and LaTeX, and where ours lose.

use super::recordings::{Entry, Kind};
use lienav_eval::judge::Report;
use lienav_eval::judge::consistency::Verdict;
use serde::Serialize;
use std::fmt::Write as _;

/// An estimate, judged or left out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) recording: String,
    pub(super) kind: Kind,
    pub(super) estimator: String,
    /// Whether it is one of lienav.
    pub(super) is_ours: bool,
    /// Whether each estimate is from the measurements before it alone.
    pub(super) is_online: bool,
    pub(super) poses: usize,
    pub(super) position_rmse_m: Option<f64>,
    pub(super) aligned_position_rmse_m: Option<f64>,
    pub(super) orientation_rmse_deg: Option<f64>,
    pub(super) nees_position_mean: Option<f64>,
    pub(super) nees_orientation_mean: Option<f64>,
    pub(super) nees_mean: Option<f64>,
    /// What the last NEES that there is should be.
    pub(super) dof: Option<usize>,
    pub(super) verdict: Option<Verdict>,
    /// By so much standard deviations would have to be multiplied.
    pub(super) sigma_factor: Option<f64>,
    /// Why there is no estimate.
    pub(super) left_out: Option<String>,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Table {
    pub(super) version: &'static str,
    pub(super) seed: u64,
    pub(super) is_quick: bool,
    /// Recordings that no folder has.
    pub(super) missing: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// Larger numbers are shown by their power of ten.
const MOST_SHOWN: f64 = 1e5;

/// The filters of lienav.
const OURS: [&str; 3] = ["default", "ekf", "batch"];

impl Row {
    /// Of a judged estimate.
    pub(super) fn new(entry: &Entry, name: &str, report: &Report) -> Self {
        let is_attitude = entry.kind == Kind::Attitude;
        let of = &report.consistency;
        let judged = if is_attitude { of.orientation } else { of.pose };
        let position = |value: f64| (!is_attitude).then_some(value);
        Self {
            poses: report.steps,
            position_rmse_m: position(report.position_rmse_m),
            aligned_position_rmse_m: position(report.aligned_position_rmse_m),
            orientation_rmse_deg: Some(report.orientation_rmse_deg),
            nees_position_mean: report.nees_position_mean.filter(|_| !is_attitude),
            nees_orientation_mean: report.nees_orientation_mean,
            nees_mean: report.nees_mean.filter(|_| !is_attitude),
            dof: judged.map(|judged| judged.dof),
            verdict: judged.map(|judged| judged.verdict),
            sigma_factor: judged.map(|judged| judged.sigma_factor),
            left_out: None,
            ..Self::left_out(entry, name, String::new())
        }
    }

    /// Of an estimate that there is not.
    pub(super) fn left_out(entry: &Entry, name: &str, why: String) -> Self {
        Self {
            recording: entry.name.to_owned(),
            kind: entry.kind,
            estimator: name.to_owned(),
            is_ours: OURS.contains(&name),
            is_online: !name.ends_with("batch"),
            poses: 0,
            position_rmse_m: None,
            aligned_position_rmse_m: None,
            orientation_rmse_deg: None,
            nees_position_mean: None,
            nees_orientation_mean: None,
            nees_mean: None,
            dof: None,
            verdict: None,
            sigma_factor: None,
            left_out: Some(why),
        }
    }

    /// The error that is compared: of the position, or of the orientation where that is all there is.
    fn error(&self) -> Option<f64> {
        if self.kind == Kind::Attitude { self.orientation_rmse_deg } else { self.position_rmse_m }
    }

    /// The cells of a line behind the names.
    pub(super) fn cells(&self) -> [String; 7] {
        let number = |value: Option<f64>, digits: usize| match value {
            Some(x) if x >= MOST_SHOWN => format!("{x:.0e}"),
            Some(x) => format!("{x:.digits$}"),
            None => "–".to_owned(),
        };
        [
            number(self.position_rmse_m, 3),
            number(self.aligned_position_rmse_m, 3),
            number(self.orientation_rmse_deg, 2),
            number(self.nees_position_mean, 1),
            number(self.nees_orientation_mean, 1),
            number(self.nees_mean, 1),
            match (&self.left_out, self.verdict) {
                (Some(why), _) => format!("left out: {why}"),
                (None, Some(verdict)) => verdict.word().to_owned(),
                (None, None) => "no covariance".to_owned(),
            },
        ]
    }
}

/// What the columns behind the names hold.
pub(super) const COLUMNS: [&str; 7] =
    ["position [m]", "aligned [m]", "orientation [°]", "NEES position", "orientation", "pose", "the covariance is"];

impl Table {
    /// The rows of each recording, in order.
    pub(super) fn by_recording(&self) -> impl Iterator<Item = &[Row]> {
        self.rows.chunk_by(|a, b| a.recording == b.recording)
    }

    /// Where an estimator of others has a smaller error than our default of the same kind, or a covariance nearer to its
    /// errors: a sentence for each.
    pub(super) fn losses(&self) -> Vec<String> {
        let mut said = Vec::new();
        for rows in self.by_recording() {
            for (is_online, ours) in [(true, "default"), (false, "batch")] {
                let Some(own) = rows.iter().find(|row| row.is_ours && row.estimator == ours) else { continue };
                let others = || rows.iter().filter(|row| !row.is_ours && row.is_online == is_online);
                let unit = if own.kind == Kind::Attitude { "°" } else { " m" };
                let best = others().filter_map(|row| Some((row, row.error()?))).min_by(|a, b| a.1.total_cmp(&b.1));
                if let (Some((row, error)), Some(mine)) = (best, own.error())
                    && error < mine
                {
                    said.push(format!(
                        "{}: the error of {ours} is {mine:.3}{unit}, that of {} {error:.3}{unit}",
                        own.recording, row.estimator
                    ));
                }
                let off = |row: &Row| row.sigma_factor.map(|factor| factor.ln().abs());
                let best = others().filter_map(|row| Some((row, off(row)?))).min_by(|a, b| a.1.total_cmp(&b.1));
                if let (Some((row, other)), Some(mine)) = (best, off(own))
                    && other < mine
                {
                    let factor = |row: &Row| row.sigma_factor.unwrap_or(f64::NAN);
                    said.push(format!(
                        "{}: σ of {ours} is off by the factor {:.2}, that of {} by {:.2}",
                        own.recording,
                        factor(own),
                        row.estimator,
                        factor(row)
                    ));
                }
            }
        }
        said
    }

    /// For people.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let names = self.rows.iter().map(|row| row.estimator.chars().count()).max().unwrap_or(0).max(9);
        let widths = COLUMNS.map(|column| column.chars().count());
        for rows in self.by_recording() {
            let Some(first) = rows.first() else { continue };
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "{}", first.recording);
            let _ = write!(text, "  {:<names$}", "estimator");
            for (column, width) in COLUMNS.iter().zip(widths) {
                let _ = write!(text, "  {column:>width$}");
            }
            text.push('\n');
            for row in rows {
                let _ = write!(text, "  {:<names$}", row.estimator);
                for (cell, width) in row.cells().iter().zip(widths) {
                    let _ = write!(text, "  {cell:>width$}");
                }
                text.push('\n');
            }
            text.push('\n');
        }
        text.push_str(
            "NEES: right at 2 and 1 (position, orientation) and 3 (pose) in the plane, 3, 3 and 6 in space\n",
        );
        let losses = self.losses();
        if !losses.is_empty() {
            text.push_str("\nwhere lienav is behind:\n");
            for loss in &losses {
                let _ = writeln!(text, "  {loss}");
            }
        }
        if !self.missing.is_empty() {
            let _ = writeln!(text, "\nin no folder of --data: {}", self.missing.join(", "));
        }
        text
    }

    /// With every number, one line an estimate.
    pub(super) fn to_csv(&self) -> String {
        let mut text = "recording,kind,estimator,is_ours,is_online,poses,position_rmse_m,aligned_position_rmse_m,\
                        orientation_rmse_deg,nees_position_mean,nees_orientation_mean,nees_mean,verdict,left_out\n"
            .to_owned();
        for row in &self.rows {
            let number = |value: Option<f64>| value.map(|x| x.to_string()).unwrap_or_default();
            let kind = match row.kind {
                Kind::Planar => "planar",
                Kind::Space => "space",
                Kind::Attitude => "attitude",
            };
            let quoted = row.left_out.as_ref().map(|why| format!("\"{}\"", why.replace('"', "'")));
            let _ = writeln!(
                text,
                "{},{kind},{},{},{},{},{},{},{},{},{},{},{},{}",
                row.recording,
                row.estimator,
                row.is_ours,
                row.is_online,
                row.poses,
                number(row.position_rmse_m),
                number(row.aligned_position_rmse_m),
                number(row.orientation_rmse_deg),
                number(row.nees_position_mean),
                number(row.nees_orientation_mean),
                number(row.nees_mean),
                row.verdict.map_or("", Verdict::word),
                quoted.unwrap_or_default()
            );
        }
        text
    }

    /// A tabular for a paper; it needs the package booktabs.
    pub(super) fn to_latex(&self) -> String {
        let escaped = |text: &str| text.replace('_', "\\_").replace('%', "\\%").replace('&', "\\&").replace('–', "--");
        let mut text = "\\begin{tabular}{llrrrrrrl}\n\\toprule\nrecording & estimator & position [m] & aligned [m] & \
                        orientation [$^\\circ$] & \\multicolumn{3}{c}{NEES: position, orientation, pose} & covariance \
                        \\\\\n"
            .to_owned();
        for rows in self.by_recording() {
            text.push_str("\\midrule\n");
            for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.left_out.is_none()) {
                let name = if at == 0 { escaped(&row.recording) } else { String::new() };
                let cells = row.cells().map(|cell| escaped(&cell));
                let _ = writeln!(text, "{name} & {} & {} \\\\", escaped(&row.estimator), cells.join(" & "));
            }
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::recordings::ALL;
    use super::*;

    fn table() -> Table {
        let row = |name: &str, error: f64, factor: f64| Row {
            position_rmse_m: Some(error),
            sigma_factor: Some(factor),
            verdict: Some(Verdict::Consistent),
            left_out: None,
            ..Row::left_out(&ALL[1], name, String::new())
        };
        let rows = vec![
            row("default", 0.5, 1.0),
            row("batch", 0.1, 2.0),
            row("numpy-ekf", 0.6, 3.0),
            row("gtsam-isam2", 0.4, 1.5),
            row("gtsam-batch", 0.2, 0.9),
            Row::left_out(&ALL[1], "mine", "\"no\" file, 100 %".to_owned()),
        ];
        Table { version: "1", seed: 1, is_quick: false, missing: vec!["x".to_owned()], rows }
    }

    #[test]
    fn the_table_says_where_ours_lose_and_what_is_left_out() {
        let table = table();
        let losses = table.losses();
        assert_eq!(losses.len(), 2, "{losses:?}");
        assert!(losses[0].contains("0.500 m, that of gtsam-isam2 0.400 m"), "{losses:?}");
        assert!(losses[1].contains("σ of batch is off by the factor 2.00, that of gtsam-batch by 0.90"), "{losses:?}");
        let text = table.to_text();
        assert!(text.contains("left out: \"no\" file") && text.contains("--data: x"), "{text}");
        assert_eq!(table.to_csv().lines().count(), 7);
        assert!(table.to_csv().lines().all(|line| line.split('"').next().unwrap().matches(',').count() == 13));
        let latex = table.to_latex();
        assert!(latex.contains("lost\\_in\\_the\\_woods & default") && !latex.contains("mine"), "{latex}");
    }
}
