//! Tables: of spreadsheets, of total stations.

use super::super::{Problem, number};
use super::{Found, problem, scalar};
use lienav_slam::LandmarkMap;
use serde_yaml_ng::{Mapping, Value as Yaml};

/// What columns may be called, and what they are here.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("id", &["id", "point", "tag"]),
    ("class", &["class", "code"]),
    ("x_m", &["x_m", "x", "easting", "e"]),
    ("y_m", &["y_m", "y", "northing", "n"]),
    ("sigma_m", &["sigma_m", "sigma", "std_m"]),
    ("xx_m2", &["xx_m2", "var_x", "cov_xx"]),
    ("xy_m2", &["xy_m2", "cov_xy"]),
    ("yy_m2", &["yy_m2", "var_y", "cov_yy"]),
];

/// A table with names above its columns, which commas, semicolons or tabs separate. With semicolons, commas may be
/// decimal points.
pub(super) fn read(text: &str) -> Result<Found, Vec<Problem>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rows = (1..).zip(text.lines()).filter(|(_, row)| !(row.trim().is_empty() || row.starts_with('#')));
    let Some((line, head)) = rows.next() else {
        return Err(problem(None, "the table is empty; its first row names the columns: id,x_m,y_m,sigma_m"));
    };
    let separator = [';', '\t'].into_iter().find(|separator| head.contains(*separator)).unwrap_or(',');
    let names: Vec<String> = cells(head, separator).iter().map(|name| name.to_lowercase()).collect();
    let column = |name: &String| COLUMNS.iter().find(|(_, known)| known.contains(&name.as_str())).map(|(key, _)| *key);
    let keys: Vec<Option<&str>> = names.iter().map(column).collect();
    for needed in ["x_m", "y_m"] {
        match keys.iter().filter(|key| **key == Some(needed)).count() {
            1 => {}
            0 => {
                return Err(problem(
                    Some(line),
                    format!(
                        "there is no column '{needed}'; name the columns in the first row, as in id,x_m,y_m,sigma_m"
                    ),
                ));
            }
            _ => return Err(problem(Some(line), format!("there are two columns for '{needed}'; remove one of them"))),
        }
    }
    let mut found = Found::default();
    let unknown: Vec<&str> =
        names.iter().zip(&keys).filter(|(_, key)| key.is_none()).map(|(name, _)| name.as_str()).collect();
    if !unknown.is_empty() {
        found.notes.push(format!("columns left out: {}", unknown.join(", ")));
    }
    for (line, row) in rows {
        let cells = cells(row, separator);
        if cells.len() != keys.len() {
            let what = format!("the row has {} cells, and there are {} columns", cells.len(), keys.len());
            return Err(problem(Some(line), what));
        }
        let mut entry = Mapping::new();
        let mut covariance = [None, None, None];
        for (key, cell) in keys.iter().zip(&cells) {
            let Some(key) = key else { continue };
            if cell.is_empty() {
                continue;
            }
            let value = if separator == ';' { scalar(&cell.replace(',', ".")) } else { scalar(cell) };
            match ["xx_m2", "xy_m2", "yy_m2"].iter().position(|part| part == key) {
                Some(part) => covariance[part] = Some(value),
                None => drop(entry.insert((*key).into(), value)),
            }
        }
        if let [Some(xx), xy, Some(yy)] = covariance {
            entry.insert("covariance_m2".into(), Yaml::Sequence(vec![xx, xy.unwrap_or_else(|| 0.into()), yy]));
        }
        found.entries.push(entry);
        found.lines.push(line);
    }
    Ok(found)
}

/// The cells of a row; quotes around one are taken off.
fn cells(row: &str, separator: char) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for c in row.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => cells.push(String::new()),
            c => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

pub(super) fn write(map: &LandmarkMap) -> String {
    let mut text = "id,class,x_m,y_m,xx_m2,xy_m2,yy_m2\n".to_owned();
    for landmark in &map.landmarks {
        let (p, c) = (&landmark.position, &landmark.covariance);
        let numbers = [p.x, p.y, c.m11, c.m21, c.m22].map(number).join(",");
        text.push_str(&format!("{},{},{numbers}\n", landmark.id, landmark.class));
    }
    text
}
