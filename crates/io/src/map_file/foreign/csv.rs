//! Tables: of spreadsheets, of total stations.

use super::super::{Problem, number};
use super::found::{Found, problem, scalar};
use lienav_slam::LandmarkMap;
use serde_yaml_ng::{Mapping, Value as Yaml};

/// What columns may be called, and what they are here.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("id", &["id", "point", "tag"]),
    ("class", &["class", "code", "color", "colour"]),
    ("x_m", &["x_m", "x", "easting", "e"]),
    ("y_m", &["y_m", "y", "northing", "n"]),
    ("sigma_m", &["sigma_m", "sigma", "std_m"]),
    ("xx_m2", &["xx_m2", "var_x", "cov_xx", "x_variance"]),
    ("xy_m2", &["xy_m2", "cov_xy", "xy_covariance"]),
    ("yy_m2", &["yy_m2", "var_y", "cov_yy", "y_variance"]),
];

/// What a track of eufs_sim or FSDS calls the row that says where the car starts: it is no landmark.
const CAR_START: &str = "car_start";

/// The classes of cones in such tracks, by number from 1 on, as the simulator of lienav has them.
const CONES: [&str; 4] = ["blue", "yellow", "orange", "big_orange"];

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
    let mut keys: Vec<Option<&str>> = names.iter().map(column).collect();
    let rows: Vec<(usize, Vec<String>)> = rows.map(|(line, row)| (line, cells(row, separator))).collect();
    classes_for_ids(&names, &mut keys, &rows);
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
    let (mut words, mut starts) = (cones(&keys, &rows), 0);
    for (line, cells) in rows {
        if cells.len() != keys.len() {
            let what = format!("the row has {} cells, and there are {} columns", cells.len(), keys.len());
            return Err(problem(Some(line), what));
        }
        if keys.iter().zip(&cells).any(|(key, cell)| *key == Some("class") && cell == CAR_START) {
            starts += 1;
            continue;
        }
        let mut entry = Mapping::new();
        let (mut xx, mut xy, mut yy) = (None, None, None);
        for (key, cell) in keys.iter().zip(&cells) {
            let Some(key) = key else { continue };
            if cell.is_empty() {
                continue;
            }
            if *key == "class" && scalar(cell).is_string() {
                entry.insert("class".into(), class_of(cell, &mut words).into());
                continue;
            }
            let value = if separator == ';' { scalar(&cell.replace(',', ".")) } else { scalar(cell) };
            match *key {
                "xx_m2" => xx = Some(value),
                "xy_m2" => xy = Some(value),
                "yy_m2" => yy = Some(value),
                key => drop(entry.insert(key.into(), value)),
            }
        }
        if let (Some(xx), Some(yy)) = (xx, yy) {
            entry.insert("covariance_m2".into(), Yaml::Sequence(vec![xx, xy.unwrap_or_else(|| 0.into()), yy]));
        }
        found.entries.push(entry);
        found.lines.push(line);
    }
    if starts > 0 {
        found.notes.push(format!("{starts} rows '{CAR_START}' are no landmarks, and are left out"));
    }
    if !words.is_empty() {
        let named: Vec<String> = (1..).zip(&words).map(|(class, word)| format!("{class} = {word}")).collect();
        found.notes.push(format!("classes in words got numbers: {}", named.join(", ")));
    }
    Ok(found)
}

/// A column `tag` with words in it is the class, as in tracks of cones, where there is no other.
fn classes_for_ids(names: &[String], keys: &mut [Option<&str>], rows: &[(usize, Vec<String>)]) {
    let Some(tag) = names.iter().position(|name| name == "tag").filter(|_| !keys.contains(&Some("class"))) else {
        return;
    };
    let is_word = |cell: &String| !cell.is_empty() && scalar(cell).is_string();
    if rows.iter().any(|(_, cells)| cells.get(tag).is_some_and(is_word))
        && let Some(key) = keys.get_mut(tag)
    {
        *key = Some("class");
    }
}

/// The words of [`CONES`] where no other word is a class; nothing otherwise.
fn cones(keys: &[Option<&str>], rows: &[(usize, Vec<String>)]) -> Vec<String> {
    let Some(class) = keys.iter().position(|key| *key == Some("class")) else { return Vec::new() };
    let mut words = rows.iter().filter_map(|(_, cells)| cells.get(class)).filter(|cell| scalar(cell).is_string());
    let is_cone = |word: &String| word.is_empty() || word == CAR_START || CONES.contains(&word.as_str());
    let is_track = words.clone().any(|word| CONES.contains(&word.as_str())) && words.all(is_cone);
    if is_track { CONES.map(str::to_owned).to_vec() } else { Vec::new() }
}

/// The number of a class in words: 1 for the first one that comes, 2 for the next.
fn class_of(word: &str, words: &mut Vec<String>) -> u64 {
    let place = words.iter().position(|known| known == word).unwrap_or_else(|| {
        words.push(word.to_owned());
        words.len() - 1
    });
    place as u64 + 1
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
