//! The tables as people read them.

use super::{Cell, METHODS, Method, RIVAL, Thesis5, YARDSTICK};
use crate::monte_carlo::{Difference, FilterReport, table};

/// The tables of the thesis, each cell a block: what is printed (± the standard error of a mean over as many
/// realizations as the thesis has, from the spread of ours), ours with the thesis's choices, ours with sound ones, the
/// default filter, and the batch estimate, where it was asked for, with how many times its final position's RMS that of
/// each filter is.
pub fn to_text(thesis: &Thesis5) -> String {
    let mut text = format!(
        "Shen 2019, tables 5.1–5.6: mean errors of position [m] and yaw [rad], and NEES of the pose (3 is right); {} \
         runs a cell, seed {}\n",
        thesis.runs, thesis.seed
    );
    for cells in thesis.cells.chunk_by(|a, b| a.printed.table == b.printed.table) {
        let Some(first) = cells.first() else { continue };
        text += &format!("\nTable {}\n\n", first.printed.table);
        let head = ["", "printed", "", "thesis's choices", "", "NEES", "sound choices", "", "NEES"];
        let mut head = head.map(str::to_owned).to_vec();
        if first.filter(YARDSTICK).is_some() {
            head.push("final by batch's".into());
        }
        let mut rows = vec![head];
        rows.extend(cells.iter().flat_map(rows_of));
        text += &table(&rows);
    }
    text
}

fn rows_of(cell: &Cell) -> Vec<Vec<String>> {
    let mut rows = vec![vec![cell.printed.scenario.to_owned()]];
    for (method, (position_m, yaw_rad)) in METHODS.iter().zip(cell.printed.errors) {
        let printed = match cell.sampling_error(method.as_printed) {
            Some((position, yaw)) => [format!("{position_m} ± {position:.3}"), format!("{yaw_rad} ± {yaw:.4}")],
            None => [position_m.to_string(), yaw_rad.to_string()],
        };
        rows.push(row_of(cell, method, printed));
    }
    if cell.filter(RIVAL.sound).is_some() {
        rows.push(row_of(cell, &RIVAL, ["–", "–"].map(str::to_owned)));
    }
    for name in ["default", YARDSTICK].into_iter().filter(|name| cell.filter(name).is_some()) {
        let mut row = vec![format!("  {name}")];
        row.extend([""; 5].map(str::to_owned));
        row.extend(numbers(cell.filter(name)));
        row.extend(to_yardstick(cell, name).filter(|_| name != YARDSTICK));
        rows.push(row);
    }
    rows
}

fn row_of(cell: &Cell, method: &Method, printed: [String; 2]) -> Vec<String> {
    let mut row = vec![format!("  {}", method.name)];
    row.extend(printed);
    row.extend([method.as_printed, method.sound].into_iter().flat_map(|name| numbers(cell.filter(name))));
    row.extend(to_yardstick(cell, method.sound));
    row
}

fn to_yardstick(cell: &Cell, name: &str) -> Option<String> {
    let Difference { ratio, ratio_interval, .. } = cell.to_yardstick(name)?;
    Some(format!("{ratio:.2} [{:.2}, {:.2}]", ratio_interval.low, ratio_interval.high))
}

fn numbers(filter: Option<&FilterReport>) -> [String; 3] {
    [("position_error_mean_m", 3), ("yaw_error_mean_rad", 4), ("nees_mean", 1)].map(|(key, digits)| {
        let value = filter.and_then(|filter| filter.get(key)?.value);
        value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
    })
}
