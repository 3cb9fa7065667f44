//! Reports as a table for people, one column an estimate.

use super::alignment::Method;
use super::consistency::{Consistency, Verdict};
use super::report::Report;
use super::space::Space;
use std::fmt::Write as _;

/// A row: what it is, and its cell.
type Row = (&'static str, fn(&Report) -> String);

const ROWS: [Row; 24] = [
    ("poses with truth", |r| r.steps.to_string()),
    ("  without", |r| r.steps_without_truth.to_string()),
    ("duration [s]", |r| format!("{:.1}", r.duration_s)),
    ("length of the path [m]", |r| format!("{:.1}", r.length_m)),
    ("position RMSE [m]", |r| meters(r.position_rmse_m)),
    ("  aligned", |r| meters(r.aligned_position_rmse_m)),
    ("  aligned by", |r| r.alignment.method.name().to_owned()),
    ("  median of the distances [m]", |r| meters(r.position_median_m)),
    ("  greatest [m]", |r| meters(r.position_max_m)),
    ("orientation RMSE [°]", |r| degrees(r.orientation_rmse_deg)),
    ("  aligned", |r| degrees(r.aligned_orientation_rmse_deg)),
    ("  claimed: position [m]", |r| r.sharpness.map_or("–".to_owned(), |s| meters(s.position_m))),
    ("  claimed: orientation [°]", |r| r.sharpness.map_or("–".to_owned(), |s| degrees(s.orientation_deg))),
    ("NEES of the position", |r| mean_of(r.consistency.position)),
    ("NEES of the orientation", |r| mean_of(r.consistency.orientation)),
    ("NEES of the pose", |r| mean_of(r.consistency.pose)),
    ("  95 % interval of its mean", |r| interval_of(r.consistency.pose)),
    ("  if consistent, 95 % within", |r| band_of(r.consistency.pose)),
    ("  in the 95 % band", |r| r.nees_in_band_fraction.map_or("–".to_owned(), |x| format!("{:.1} %", 100.0 * x))),
    ("  independent errors in the run", |r| {
        r.consistency.pose.map_or("–".to_owned(), |c| format!("{:.0}", c.effective_count))
    }),
    ("  an error lasts [s]", |r| r.consistency.pose.map_or("–".to_owned(), |c| short(c.correlation_s))),
    ("σ is wrong by the factor", |r| r.consistency.pose.map_or("–".to_owned(), |c| short(c.sigma_factor))),
    ("  by the median", |r| r.consistency.pose.map_or("–".to_owned(), |c| short(c.sigma_factor_median))),
    ("the covariance is", |r| r.verdict.map_or("not stated".to_owned(), |v| v.word().to_owned())),
];

fn meters(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.3e}") } else { format!("{value:.4}") }
}

fn degrees(value: f64) -> String {
    format!("{value:.4}")
}

fn short(value: f64) -> String {
    format!("{value:.3}")
}

fn mean_of(part: Option<Consistency>) -> String {
    part.map_or("–".to_owned(), |part| format!("{} ({} is right)", short(part.nees_mean), part.dof))
}

fn interval_of(part: Option<Consistency>) -> String {
    part.map_or("–".to_owned(), |part| format!("[{}, {}]", short(part.interval_low), short(part.interval_high)))
}

fn band_of(part: Option<Consistency>) -> String {
    part.map_or("–".to_owned(), |part| format!("[{}, {}]", short(part.band_low), short(part.band_high)))
}

/// The table, then motions, axes and warnings of each estimate.
pub fn to_text(reports: &[Report]) -> String {
    let mut text = String::new();
    let Some(first) = reports.first() else { return text };
    // Writing to a String cannot fail, so the results carry nothing.
    let _ = writeln!(text, "truth: {}\n", first.source);
    let mut rows = vec![("estimate", reports.iter().map(|report| report.filter.clone()).collect::<Vec<_>>())];
    rows.extend(ROWS.iter().map(|(label, cell)| (*label, reports.iter().map(cell).collect())));
    table(&mut text, &rows);
    for report in reports {
        of_one(&mut text, report);
    }
    text
}

/// Rows with a label, their columns as wide as they need.
fn table(text: &mut String, rows: &[(&str, Vec<String>)]) {
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let width = |k: usize| rows.iter().filter_map(|(_, cells)| cells.get(k)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|k| width(k).unwrap_or(0)).collect();
    for (label, cells) in rows {
        let _ = write!(text, "{label:<33}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.push('\n');
    }
}

fn of_one(text: &mut String, report: &Report) {
    let _ = writeln!(text, "\n{}: {}", report.filter, sentence(report));
    if !report.relative_by_time.is_empty() || !report.relative_by_distance.is_empty() {
        let head = ["RMSE [m]", "median [m]", "RMSE [°]", "of the way", "motions"].map(str::to_owned).to_vec();
        let labels: Vec<String> = report
            .relative_by_time
            .iter()
            .filter_map(|one| one.over_s.map(|s| format!("  motions over {s} s")))
            .chain(
                report
                    .relative_by_distance
                    .iter()
                    .filter_map(|one| one.over_m.map(|m| format!("  motions over {m:.1} m"))),
            )
            .collect();
        let cells = report.relative_by_time.iter().chain(&report.relative_by_distance).map(|one| {
            vec![
                meters(one.position_rmse_m),
                meters(one.position_median_m),
                degrees(one.orientation_rmse_deg),
                one.drift_percent.map_or("–".to_owned(), |percent| format!("{percent:.2} %")),
                one.count.to_string(),
            ]
        });
        let mut rows = vec![("  relative errors", head)];
        rows.extend(labels.iter().map(String::as_str).zip(cells));
        table(text, &rows);
    }
    for motion in &report.motions {
        if let Some(least) = motion.at_least {
            let added = motion.if_added.map_or("–".to_owned(), |added| {
                format!("{} for {:.0} % of them", short(added.nees_mean), 100.0 * motion.added_fraction)
            });
            let _ = writeln!(
                text,
                "  NEES of motions over {} s: at least {} whatever the correlation of its ends{}; {added} if errors only \
                 add up ({} is right)",
                motion.over_s,
                short(least.nees_mean),
                if least.verdict == Verdict::Overconfident { ": overconfident" } else { "" },
                least.dof
            );
        }
    }
    if let Some(calibration) = &report.calibration {
        let _ = write!(text, "  claimed → found:");
        for (claimed, found) in calibration.claimed.iter().zip(&calibration.found) {
            if [0.5, 0.9, 0.95, 0.99].contains(claimed) {
                let _ = write!(text, "  {:.0} % → {:.1} %", 100.0 * claimed, 100.0 * found);
            }
        }
        text.push('\n');
    }
    for axis in &report.axes {
        let stated = axis.stated.map_or(String::new(), |stated| format!(", claimed {}", meters(stated)));
        let _ = writeln!(text, "  {:<9} mean {:>9}, RMS {:>8}{stated}", axis.axis, meters(axis.mean), meters(axis.rms));
    }
    if !report.dropped.is_empty() {
        let reasons: Vec<String> = report.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let _ = writeln!(text, "  left out: {}", reasons.join(", "));
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
}

/// What follows, as a sentence.
pub fn sentence(report: &Report) -> String {
    let parts = [("pose", report.consistency.pose), ("position", report.consistency.position)];
    let Some((name, part)) = parts.into_iter().find_map(|(name, part)| Some((name, part?))) else {
        return "it states no covariance that could be judged".to_owned();
    };
    let frames = match report.alignment {
        alignment if !alignment.is_applied => "without alignment".to_owned(),
        alignment => format!("aligned by {}", alignment.method.name()),
    };
    let plane = if report.space == Space::Planar { "in the plane" } else { "in space" };
    let what = match part.verdict {
        Verdict::Overconfident => format!("its errors are {:.2} times what its covariance says", part.sigma_factor),
        Verdict::Underconfident => format!("its errors are only {:.2} of what its covariance says", part.sigma_factor),
        Verdict::Consistent => "its errors are as large as its covariance says".to_owned(),
        Verdict::Undecided => {
            format!("{:.0} independent errors are too few to judge its covariance", part.effective_count)
        }
    };
    let mut sentence = format!("{}: {what} ({name}, {plane}, {frames})", part.verdict.word());
    if report.alignment.method == Method::Sim3 && report.alignment.is_applied {
        let _ = write!(sentence, "; scale {:.5}", report.alignment.scale);
    }
    sentence
}
