//! The report of runs in space as one page: numbers and figures in a single file, which loads nothing from anywhere.

use super::figures::{Subject, figures};
use super::report::{ROWS, Report, column};
use crate::plot::{PlotError, figure};
use std::fmt::Write as _;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:980px;margin:2rem auto;padding:0 1rem;\
                     color:#1b1f24;background:#fff}table{border-collapse:collapse}td,th{padding:.2rem .8rem;\
                     border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}\
                     figure{margin:1.5rem 0}svg{max-width:100%;height:auto}.quiet{color:#59636e}";

/// The page, as HTML.
///
/// # Errors
/// A figure that could not be drawn.
pub fn html(subjects: &[Subject], reports: &[Report]) -> Result<String, PlotError> {
    let source = reports.first().map_or("", |report| report.source.as_str());
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>lienav report: {0}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"quiet\">Estimates at their own instants. NEES \
         includes the truth's own error; 3 is right for position and orientation, 6 for the pose.</p>\n",
        escaped(source)
    );
    table(&mut page, reports);
    for (number, one) in figures(subjects).iter().enumerate() {
        let svg = figure(one)?;
        // Writing to a String cannot fail.
        let _ = writeln!(page, "<figure id=\"figure-{number}\">\n{svg}\n</figure>");
    }
    for report in reports {
        for warning in &report.warnings {
            let _ = writeln!(page, "<p><strong>{}</strong>: {}</p>", escaped(&report.filter), escaped(warning));
        }
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

fn table(page: &mut String, reports: &[Report]) {
    let columns: Vec<Vec<String>> = reports.iter().map(column).collect();
    page.push_str("<table>\n");
    for (row, label) in ROWS.iter().enumerate() {
        let cell = if row == 0 { "th" } else { "td" };
        let _ = write!(page, "<tr><{cell}>{}</{cell}>", escaped(label));
        for column in &columns {
            let _ = write!(page, "<{cell}>{}</{cell}>", escaped(&column[row]));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

/// Text that is no markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
