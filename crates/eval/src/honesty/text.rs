//! The tables, as they stand in docs/honesty.md.

use super::{CaseRows, Honesty, Span};
use crate::monte_carlo::number;

/// Tables in Markdown: simulated cases, a line each, and recordings, a line for each filter.
pub fn to_text(honesty: &Honesty) -> String {
    let mut text = String::new();
    if !honesty.cases.is_empty() {
        text += &format!("{} runs a case, seed {}; the default filter, second half\n\n", honesty.runs, honesty.seed);
        let pairs = ["truth [m]", "NEES", "told [m]", "NEES", "learns [m]", "NEES"];
        text += &heading(&[&["case"][..], &pairs, &["by truth's"]].concat());
        honesty.cases.iter().for_each(|case| text += &line(&cells(case)));
    }
    if !honesty.recordings.is_empty() {
        text += if text.is_empty() { "" } else { "\n" };
        text += &heading(&["recording", "filter", "position [m]", "aligned [m]", "yaw [rad]", "NEES"]);
        for row in &honesty.recordings {
            text += &line(&[
                format!("`{}`", row.recording),
                format!("`{}`", row.filter),
                number(row.position_rmse_m, 3),
                number(row.aligned_position_rmse_m, 3),
                number(row.yaw_rmse_rad, 4),
                number(row.nees_mean, 1),
            ]);
        }
    }
    text
}

/// Position and NEES of each way that the case has, and the position of the last by that of the first.
fn cells(case: &CaseRows) -> Vec<String> {
    let mut cells = vec![case.case.clone()];
    for method in ["truth", "told", "learns"] {
        let span: Option<Span> = case.rows.iter().find(|row| row.method == method).and_then(|row| row.second_half);
        cells.push(number(span.map(|span| span.position_rms_m), 3));
        cells.push(number(span.and_then(|span| span.nees), 1));
    }
    cells.push(number(case.rows.last().and_then(|row| row.to_truth), 2));
    cells
}

fn heading(head: &[&str]) -> String {
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(&head.iter().map(ToString::to_string).collect::<Vec<_>>()) + &rule
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}
