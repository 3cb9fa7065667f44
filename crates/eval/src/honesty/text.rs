//! The tables, as they stand in the documentation.

use super::{Honesty, Span};

/// Tables in Markdown: simulated cases, then recordings.
pub fn to_text(honesty: &Honesty) -> String {
    let mut text = String::new();
    if !honesty.cases.is_empty() {
        text += &format!("{} runs a case, seed {}; the default filter\n\n", honesty.runs, honesty.seed);
        let head = [
            "case",
            "filter",
            "position [m]",
            "NEES",
            "second half: position [m]",
            "yaw [rad]",
            "NEES",
            "position by truth's",
        ];
        text += &heading(&head);
        for case in &honesty.cases {
            for row in &case.rows {
                let mut cells = vec![case.case.clone(), row.method.to_owned()];
                cells.extend(span(row.whole.as_ref(), false));
                cells.extend(span(row.second_half.as_ref(), true));
                cells.push(number(row.to_truth, 2));
                text += &line(&cells);
            }
        }
    }
    if !honesty.recordings.is_empty() {
        text += if text.is_empty() { "" } else { "\n" };
        let head = ["recording", "filter", "position [m]", "aligned [m]", "yaw [rad]", "NEES", "step [µs]"];
        text += &heading(&head);
        for row in &honesty.recordings {
            text += &line(&[
                row.recording.clone(),
                row.filter.clone(),
                number(row.position_rmse_m, 3),
                number(row.aligned_position_rmse_m, 3),
                number(row.yaw_rmse_rad, 4),
                number(row.nees_mean, 1),
                number(row.step_us, 0),
            ]);
        }
    }
    text
}

fn heading(head: &[&str]) -> String {
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(&head.iter().map(ToString::to_string).collect::<Vec<_>>()) + &rule
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn span(span: Option<&Span>, has_yaw: bool) -> Vec<String> {
    let mut cells = vec![number(span.map(|span| span.position_rms_m), 3)];
    if has_yaw {
        cells.push(number(span.map(|span| span.yaw_rms_rad), 4));
    }
    cells.push(number(span.and_then(|span| span.nees), 1));
    cells
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}
