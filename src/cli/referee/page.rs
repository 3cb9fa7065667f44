//! The table as a page: one file without script, which links the page of each recording.

use super::table::{COLUMNS, Row, Table};
use lienav_eval::judge::consistency::Verdict;
use std::fmt::Write as _;

const STYLE: &str = "
:root { color-scheme: light dark; --text: #1c2733; --soft: #5b6b7b; --ground: #fff; --line: #d5dde5; --bad: #a3341f; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e9ef; --soft: #9aabbb; --ground: #12181f; --line: #32404e; --bad: #ef9a86; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); margin: 0 auto;
  padding: 1.5rem; max-width: 68rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
a { color: inherit; } p, li { max-width: 46rem; } .soft { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child, td:last-child, th:last-child
  { text-align: left; } td:last-child { white-space: normal; min-width: 9rem; }
.ours td:first-child { font-weight: 600; } .best { font-weight: 700; } .bad { color: var(--bad); }
";

/// The page.
pub(super) fn html(table: &Table) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>lienav referee</title><style>{STYLE}</style>\
         </head><body>\n<h1>Estimators beside each other</h1>\n<p class=\"soft\">lienav {}, seed {}{}. Errors are without \
         alignment but for the column that says so; the best of a kind is bold, our estimators are named in bold. NEES is \
         right at 2, 1 and 3 (position, orientation, pose) in the plane, at 3, 3 and 6 in space.</p>\n",
        table.version,
        table.seed,
        if table.is_quick { ", a quick run" } else { "" }
    );
    for rows in table.by_recording() {
        recording(&mut page, rows);
    }
    let losses = table.losses();
    // Writing to a String cannot fail, here and below.
    if !losses.is_empty() {
        page.push_str("<h2>Where lienav is behind</h2>\n<ul>");
        for loss in &losses {
            let _ = write!(page, "<li>{}</li>", escaped(loss));
        }
        page.push_str("</ul>\n");
    }
    if !table.missing.is_empty() {
        page.push_str("<h2>Recordings that are missing</h2>\n<ul>");
        for name in &table.missing {
            let _ = write!(page, "<li>{}</li>", escaped(name));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</body></html>\n");
    page
}

fn recording(page: &mut String, rows: &[Row]) {
    let Some(first) = rows.first() else { return };
    let name = escaped(&first.recording);
    let _ = write!(
        page,
        "<h2><a href=\"{name}/judged/report.html\">{name}</a></h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{name}\"><table><thead><tr><th scope=\"col\">estimator</th>"
    );
    for column in &COLUMNS {
        let _ = write!(page, "<th scope=\"col\">{}</th>", escaped(column));
    }
    page.push_str("</tr></thead><tbody>\n");
    for row in rows {
        let errors = [row.position_rmse_m, row.aligned_position_rmse_m, row.orientation_rmse_deg];
        let is_best = |column: usize| {
            let of = |row: &Row| [row.position_rmse_m, row.aligned_position_rmse_m, row.orientation_rmse_deg];
            let peers = rows.iter().filter(|peer| peer.is_online == row.is_online);
            let least = peers.filter_map(|peer| *of(peer).get(column)?).min_by(f64::total_cmp);
            errors.get(column).copied().flatten().is_some_and(|own| Some(own) == least)
        };
        let class = if row.is_ours { " class=\"ours\"" } else { "" };
        let _ = write!(page, "<tr{class}><td>{}</td>", escaped(&row.estimator));
        let is_wrong = row.left_out.is_some() || row.verdict == Some(Verdict::Overconfident);
        for (column, cell) in row.cells().iter().enumerate() {
            let class = match column {
                0..=2 if is_best(column) => " class=\"best\"",
                6 if is_wrong => " class=\"bad\"",
                _ => "",
            };
            let _ = write!(page, "<td{class}>{}</td>", escaped(cell));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
