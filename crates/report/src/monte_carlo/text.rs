//! The report as a table for people.

use super::report::{FilterReport, Report};

/// The report of an experiment: a line for each filter, then the differences from the first.
pub fn to_text(report: &Report) -> String {
    let Report { scenario, runs, seed, steps, filters } = report;
    let mut text = format!("scenario: {scenario}, {runs} runs of {steps} steps, seed {seed}\n");
    text += "Means over steps and runs, [95 % confidence intervals]. A NEES of 3 and an NIS per degree of freedom of 1 \
        are right.\n\n";
    let head = ["filter", "position mean [m]", "yaw mean [rad]", "final position RMS [m]", "NEES", "in band"];
    let more = ["NEES in ξ", "in band", "NIS/dof", "map RMS [m]", "step [µs]"];
    let mut rows = vec![head.iter().chain(&more).map(ToString::to_string).collect()];
    rows.extend(filters.iter().map(row));
    text += &table(&rows);
    text += "\nover time: slope of the NEES ± standard error [1/1000 s], and what is claimed of the pose at the first \
        and the last step:\n\n";
    let about = [
        "filter",
        "NEES",
        "NEES in ξ",
        "position std [m]",
        "yaw std [rad]",
        "change",
        "map from robot [m]",
        "map NEES",
    ];
    let mut rows = vec![about.map(str::to_owned).to_vec()];
    rows.extend(filters.iter().map(over_time));
    text += &table(&rows);
    if let [first, others @ ..] = filters.as_slice()
        && !others.is_empty()
    {
        text += &format!("\nless the same of {}, in pairs:\n\n", first.name);
        let keys = ["position_error_mean_m", "yaw_error_mean_rad", "final_position_rmse_m", "nees_mean"];
        let mut rows = vec![head[..5].iter().chain(&["final RMS, ratio"]).map(ToString::to_string).collect()];
        rows.extend(others.iter().map(|filter| differences(filter, keys)));
        text += &table(&rows);
    }
    text += &associations(filters);
    for filter in filters.iter().filter(|filter| !filter.dropped.is_empty()) {
        let reasons: Vec<String> = filter.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        text += &format!("\ndropped by {}: {}", filter.name, reasons.join(", "));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// How right the associations were, where identities were withheld; nothing otherwise.
fn associations(filters: &[FilterReport]) -> String {
    let head = ["filter", "precision", "recall", "of used", "wrong", "used", "duplicates", "of clutter"];
    let more = ["landmarks by true", "loops closed", "p99 [µs]"];
    let mut rows = vec![head.iter().chain(&more).map(ToString::to_string).collect()];
    let percent = |part: Option<f64>| part.map_or("–".to_owned(), |part| format!("{:.3} %", 100.0 * part));
    for filter in filters {
        let Some(found) = &filter.associations else { continue };
        rows.push(vec![
            filter.name.clone(),
            number(found.pair_precision, 4),
            number(found.pair_recall, 4),
            number(found.used_pair_recall, 4),
            percent(found.wrong_fraction),
            percent(found.used_fraction),
            format!("{:.2}", found.duplicates),
            format!("{:.2}", found.false_landmarks),
            number(found.landmarks_per_true, 3),
            format!("{} of {}", found.loops_closed, found.loops),
            number(found.step_us_p99, 1),
        ]);
    }
    match rows.len() {
        1 => String::new(),
        _ => format!(
            "\nassociations, against identities that were withheld; precision and recall of pairs of readings:\n\n{}",
            table(&rows)
        ),
    }
}

/// Cells laid out in columns: the first to the left, the others to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            text += &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

fn row(filter: &FilterReport) -> Vec<String> {
    let value = |key: &str, digits: usize| number(filter.get(key).and_then(|value| value.value), digits);
    let bounded = |key: &str, digits: usize| {
        let interval = filter.get(key).and_then(|value| value.interval);
        let interval = interval.map(|i| format!(" [{:.digits$}, {:.digits$}]", i.low, i.high));
        value(key, digits) + &interval.unwrap_or_default()
    };
    vec![
        filter.name.clone(),
        bounded("position_error_mean_m", 4),
        bounded("yaw_error_mean_rad", 5),
        bounded("final_position_rmse_m", 4),
        bounded("nees_mean", 2),
        number(filter.nees_in_band_fraction, 3),
        value("group_nees_mean", 2),
        number(filter.group_nees_in_band_fraction, 3),
        value("nis_per_dof", 3),
        value("landmark_rmse_m", 4),
        number(filter.step_us_mean, 1),
    ]
}

fn over_time(filter: &FilterReport) -> Vec<String> {
    let value = |key: &str| filter.get(key).and_then(|value| value.value);
    let slope = |key: &str| {
        let error =
            filter.get(key).and_then(|value| value.standard_error).map(|error| format!(" ± {:.2}", 1e3 * error));
        number(value(key).map(|slope| 1e3 * slope), 2) + &error.unwrap_or_default()
    };
    let both = |quantity: &str| {
        let [first, last] = ["first", "final"].map(|when| number(value(&format!("{when}_{quantity}")), 4));
        format!("{first} → {last}")
    };
    vec![
        filter.name.clone(),
        slope("nees_slope_per_s"),
        slope("group_nees_slope_per_s"),
        both("position_std_m"),
        both("yaw_std_rad"),
        filter.pose_covariance_change_max.map_or("–".to_owned(), |change| format!("{change:.1e}")),
        number(value("relative_landmark_rmse_m"), 4),
        number(value("landmark_nees_mean"), 2),
    ]
}

fn differences(filter: &FilterReport, keys: [&str; 4]) -> Vec<String> {
    let cell = |(key, digits): (&str, usize)| match filter.get(key).and_then(|value| value.difference) {
        Some(d) => format!("{:+.digits$} [{:+.digits$}, {:+.digits$}]", d.value, d.interval.low, d.interval.high),
        None => "–".to_owned(),
    };
    let ratio = filter.get("final_position_rmse_m").and_then(|value| value.difference);
    let ratio = ratio.map_or("–".to_owned(), |d| {
        format!("{:.3} [{:.3}, {:.3}]", d.ratio, d.ratio_interval.low, d.ratio_interval.high)
    });
    let differences = keys.into_iter().zip([4, 5, 4, 2]).map(cell);
    std::iter::once(filter.name.clone()).chain(differences).chain([ratio]).collect()
}

/// With this many digits, or a dash.
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}
