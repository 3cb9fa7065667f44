//! Two folders of results side by side: what changed, and whether the change is more than chance.
//!
//! Both are of the same runs, so errors are compared in pairs: of evaluations, estimates of one stamp; of Monte Carlo
//! experiments, runs of one seed. Successive estimates share most of their error; therefore a run is cut into
//! stretches, and these are resampled ([`STRETCHES`]).

use super::monte_carlo::{Interval, interval};
use lienav_io::open;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Into so many stretches of equal length a run is cut; they are resampled as if they were independent.
pub const STRETCHES: usize = 40;

/// The seed of the resamples: the same folders give the same intervals.
const SEED: u64 = 1;

/// Results that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A file cannot be read.
    #[error("{}: {error}; give a folder that `lienav evaluate --out` or `lienav monte-carlo --out` has written", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file is not what these commands write.
    #[error("{}: {problem}; write the results again", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The two have nothing to compare.
    #[error("{0}")]
    NothingInCommon(String),
}

/// One number of both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which filter of A, and of B where it has another name.
    pub filter: String,
    /// What it is, with its unit.
    pub number: &'static str,
    /// Of A, over the pairs.
    pub a: f64,
    /// Of B, over the pairs.
    pub b: f64,
    /// B divided by A.
    pub ratio: f64,
    /// Its 95 % interval; `null` where there are too few pairs.
    pub interval: Option<Interval>,
    /// How many pairs it is of.
    pub pairs: usize,
}

impl Row {
    /// Whether B differs from A by more than chance, and to which side.
    pub fn verdict(&self) -> &'static str {
        match self.interval {
            Some(interval) if interval.high < 1.0 => "B is less",
            Some(interval) if interval.low > 1.0 => "B is greater",
            Some(_) => "no difference is seen",
            None => "too few pairs",
        }
    }
}

/// What is compared: the columns of the file, what it is, and whether its root is shown.
type Number = (&'static [&'static str], &'static str, bool);

/// A column is squared before it is summed, unless its name says that it is a square or a mean already.
fn is_error(column: &str) -> bool {
    column.starts_with("error_")
}

/// Of the estimates of an evaluation; squares are summed over the columns.
const OF_STEPS: [Number; 3] = [
    (&["error_x_m", "error_y_m"], "position RMSE [m]", true),
    (&["error_yaw_rad"], "yaw RMSE [rad]", true),
    (&["nees"], "NEES, mean", false),
];

/// Of the runs of an experiment.
const OF_RUNS: [Number; 3] = [
    (&["position_mean_square_m2"], "position RMSE [m]", true),
    (&["yaw_mean_square_rad2"], "yaw RMSE [rad]", true),
    (&["nees_mean"], "NEES, mean", false),
];

/// Compares two folders of results.
///
/// # Errors
/// A folder that has no results, or two that have no pairs in common.
pub fn compare(a: &Path, b: &Path) -> Result<Vec<Row>, CompareError> {
    let (a, b) = (read(a)?, read(b)?);
    if a.is_experiment != b.is_experiment {
        let problem = "one is of `evaluate` and the other of `monte-carlo`; compare like with like";
        return Err(CompareError::NothingInCommon(problem.to_owned()));
    }
    let numbers = if a.is_experiment { OF_RUNS } else { OF_STEPS };
    let mut rows = Vec::new();
    for (name, of_a, of_b) in pairs_of_filters(&a, &b) {
        let keys: Vec<&String> = of_a.order.iter().filter(|key| of_b.rows.contains_key(*key)).collect();
        for (column, &(_, number, is_root)) in numbers.iter().enumerate() {
            let value = |table: &Table, key: &String| table.rows.get(key).map_or(f64::NAN, |row| row[column]);
            let pairs: Vec<(f64, f64)> = keys.iter().map(|key| (value(of_a, key), value(of_b, key))).collect();
            let pairs: Vec<_> = pairs.into_iter().filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
            rows.extend(row(&name, number, is_root, &pairs, a.is_experiment));
        }
    }
    if rows.is_empty() {
        let problem = "the two have no filter with estimates of the same stamps, or runs of the same seeds, and truth";
        return Err(CompareError::NothingInCommon(problem.to_owned()));
    }
    Ok(rows)
}

/// Filters of one name; where either has one filter only, these two, whatever their names.
fn pairs_of_filters<'a>(a: &'a Results, b: &'a Results) -> Vec<(String, &'a Table, &'a Table)> {
    if let ([(name_a, only_a)], [(name_b, only_b)]) = (&a.filters[..], &b.filters[..]) {
        let name = if name_a == name_b { name_a.clone() } else { format!("{name_a} / {name_b}") };
        return vec![(name, only_a, only_b)];
    }
    let of_b = |name: &String| b.filters.iter().find(|(other, _)| other == name).map(|(_, table)| table);
    a.filters.iter().filter_map(|(name, table)| Some((name.clone(), table, of_b(name)?))).collect()
}

fn row(filter: &str, number: &'static str, is_root: bool, pairs: &[(f64, f64)], are_runs: bool) -> Option<Row> {
    if pairs.is_empty() {
        return None;
    }
    // Units that are resampled: sums of both sides over stretches of the run, or runs.
    let length = if are_runs { 1 } else { pairs.len().div_ceil(STRETCHES) };
    let sum = |stretch: &[(f64, f64)]| stretch.iter().fold((0.0, 0.0), |(a, b), pair| (a + pair.0, b + pair.1));
    let units: Vec<(f64, f64, usize)> = pairs.chunks(length).map(|s| (sum(s).0, sum(s).1, s.len())).collect();
    let scaled = |value: f64| if is_root { value.sqrt() } else { value };
    let (all_a, all_b) = sum(pairs);
    let ratio = |(a, b): (f64, f64)| if a == b { 1.0 } else { scaled(b / a) };
    let of = |indices: &[usize]| {
        ratio(indices.iter().fold((0.0, 0.0), |(a, b), &index| (a + units[index].0, b + units[index].1)))
    };
    let enough = units.len() >= 5;
    Some(Row {
        filter: filter.to_owned(),
        number,
        a: scaled(all_a / pairs.len() as f64),
        b: scaled(all_b / pairs.len() as f64),
        ratio: ratio((all_a, all_b)),
        interval: if enough { interval(units.len(), SEED, of) } else { None },
        pairs: pairs.len(),
    })
}

/// Rows as a table for people.
pub fn to_text(rows: &[Row]) -> String {
    let mut text = String::new();
    let width = rows.iter().map(|row| row.filter.chars().count()).max().unwrap_or(0).max("filter".len());
    // Writing to a String cannot fail.
    let head = ["A", "B", "B / A", "95 % interval", "pairs"];
    let _ = writeln!(
        text,
        "{:<width$}  {:<18}  {:>10}  {:>10}  {:>8}  {:>18}  {:>7}",
        "filter", "", head[0], head[1], head[2], head[3], head[4]
    );
    for row in rows {
        let interval = row.interval.map_or("–".to_owned(), |found| format!("[{:.4}, {:.4}]", found.low, found.high));
        let _ = writeln!(
            text,
            "{:<width$}  {:<18}  {:>10.5}  {:>10.5}  {:>8.4}  {interval:>18}  {:>7}  {}",
            row.filter,
            row.number,
            row.a,
            row.b,
            row.ratio,
            row.pairs,
            row.verdict()
        );
    }
    text
}

/// A report is no longer, bytes.
const REPORT: u64 = 1 << 25;
/// A table is no longer, bytes.
const TABLE: u64 = 1 << 28;
/// No table has more rows of one filter: eleven hours at 50 Hz.
const MOST_ROWS: usize = 2_000_000;

/// What one folder holds.
struct Results {
    is_experiment: bool,
    filters: Vec<(String, Table)>,
}

/// The numbers of one filter, by what pairs them.
#[derive(Default)]
struct Table {
    order: Vec<String>,
    rows: BTreeMap<String, [f64; 3]>,
}

fn read(folder: &Path) -> Result<Results, CompareError> {
    let runs = folder.join("runs.csv");
    if runs.exists() {
        return Ok(Results { is_experiment: true, filters: read_table(&runs, Some("filter"), "seed", &OF_RUNS)? });
    }
    let report = folder.join("report.json");
    let text = open::read_text(&report, REPORT).map_err(|error| CompareError::Io { path: report.clone(), error })?;
    let damaged = |problem: String| CompareError::Damaged { path: report.clone(), problem };
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    let (reports, is_one) = match &json {
        serde_json::Value::Array(reports) => (reports.iter().collect(), false),
        one => (vec![one], true),
    };
    let mut filters = Vec::new();
    for one in reports {
        let name = one["filter"].as_str().ok_or_else(|| damaged("it names no filter".into()))?;
        // The name is that of a folder beside the report, and of none elsewhere.
        if Path::new(name).components().count() != 1 || name.starts_with('.') {
            return Err(damaged(format!("'{name}' is no name of a filter")));
        }
        let of_one = if is_one { folder.to_owned() } else { folder.join(name) };
        let tables = read_table(&of_one.join("errors.csv"), None, "stamp_s", &OF_STEPS)?;
        filters.extend(tables.into_iter().map(|(_, table)| (name.to_owned(), table)));
    }
    Ok(Results { is_experiment: false, filters })
}

/// The tables of a file, one for each value of the column `by`, in the order of the file.
fn read_table(
    path: &Path,
    by: Option<&str>,
    key: &str,
    numbers: &[Number; 3],
) -> Result<Vec<(String, Table)>, CompareError> {
    let damaged = |problem: String| CompareError::Damaged { path: path.to_owned(), problem };
    let file = open::bounded(path, TABLE).map_err(|error| CompareError::Io { path: path.to_owned(), error })?;
    let mut csv = csv::Reader::from_reader(io::BufReader::new(file));
    let header = csv.headers().map_err(|error| damaged(error.to_string()))?.clone();
    let column = |name: &str| {
        header.iter().position(|known| known == name).ok_or_else(|| damaged(format!("there is no column '{name}'")))
    };
    let (by, key) = (by.map(column).transpose()?, column(key)?);
    let columns = numbers.iter().map(|(names, ..)| names.iter().map(|name| column(name)).collect());
    let mut columns: Vec<Vec<usize>> = columns.collect::<Result<_, _>>()?;
    // A judged estimate in space has a height, too.
    if let (Some(z), Some(first)) = (header.iter().position(|known| known == "error_z_m"), columns.first_mut()) {
        first.push(z);
    }
    let mut tables: Vec<(String, Table)> = Vec::new();
    for record in csv.records() {
        let record = record.map_err(|error| damaged(error.to_string()))?;
        let name = by.and_then(|by| record.get(by)).unwrap_or_default();
        if tables.last().is_none_or(|(last, _)| last != name) {
            tables.push((name.to_owned(), Table::default()));
        }
        let Some((_, table)) = tables.last_mut() else { continue };
        let number = |index: usize| record.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
        let mut row = [f64::NAN; 3];
        for (value, of) in row.iter_mut().zip(&columns) {
            let part = |&index: &usize| number(index).powi(if header.get(index).is_some_and(is_error) { 2 } else { 1 });
            *value = of.iter().map(part).sum();
        }
        let key = record.get(key).unwrap_or_default().to_owned();
        if table.order.len() >= MOST_ROWS {
            return Err(damaged(format!("it has more than {MOST_ROWS} rows; compare a part of the run")));
        }
        table.order.push(key.clone());
        table.rows.insert(key, row);
    }
    if tables.is_empty() {
        tables.push((String::new(), Table::default()));
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::folder;
    use super::super::plot::Subject;
    use super::super::synthetic;
    use super::*;
    use std::fs;

    /// A folder with a run whose errors are those of a synthetic run times `scale`.
    fn results(root: &Path, name: &str, filters: &[&str], scale: f64) -> PathBuf {
        let (mut run, truth) = synthetic::run(400, 2);
        for estimate in &mut run.estimates {
            let true_pose = truth.at(estimate.stamp).unwrap();
            estimate.pose.p = true_pose.p + scale * (estimate.pose.p - true_pose.p);
        }
        let runs: Vec<_> =
            filters.iter().map(|filter| super::super::run::Run { filter: (*filter).into(), ..run.clone() }).collect();
        let errors: Vec<_> = runs.iter().map(|run| Errors::new(run, &truth)).collect();
        let subjects: Vec<_> =
            runs.iter().zip(&errors).map(|(run, errors)| Subject { run, truth: &truth, errors }).collect();
        folder::write(&root.join(name), &subjects).unwrap();
        root.join(name)
    }

    #[test]
    fn a_run_beside_itself_is_no_different_and_a_better_one_is() {
        let root = tempfile::tempdir().unwrap();
        let a = results(root.path(), "a", &["ekf", "default"], 1.0);
        let same = compare(&a, &a).unwrap();
        assert_eq!(same.len(), 6);
        assert!(same.iter().all(|row| row.ratio == 1.0 && row.interval == Some(Interval { low: 1.0, high: 1.0 })));
        let better = compare(&a, &results(root.path(), "b", &["ekf", "default"], 0.5)).unwrap();
        let position = &better[0];
        assert_eq!((position.filter.as_str(), position.pairs, position.verdict()), ("ekf", 400, "B is less"));
        assert!((position.ratio - 0.5).abs() < 1e-9, "{position:?}");
        assert_eq!(better[1].verdict(), "no difference is seen");
        assert!(to_text(&better).contains("ekf") && to_text(&better).contains("B is less"));
    }

    #[test]
    fn filters_of_other_names_are_compared_where_there_is_one_of_each() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (results(root.path(), "a", &["ekf"], 1.0), results(root.path(), "b", &["default"], 1.0));
        assert_eq!(compare(&a, &b).unwrap()[0].filter, "ekf / default");
        let c = results(root.path(), "c", &["default", "reduced"], 1.0);
        assert!(compare(&a, &c).unwrap_err().to_string().contains("no filter"));
    }

    #[test]
    fn folders_without_results_are_errors_that_say_what_to_give() {
        let root = tempfile::tempdir().unwrap();
        let a = results(root.path(), "a", &["ekf"], 1.0);
        let error = compare(&a, root.path()).unwrap_err().to_string();
        assert!(error.contains("report.json") && error.contains("--out"), "{error}");
        fs::write(a.join("errors.csv"), "stamp_s,x\n1,2\n").unwrap();
        let error = compare(&a, &a).unwrap_err().to_string();
        assert!(error.contains("errors.csv") && error.contains("error_x_m"), "{error}");
        fs::write(a.join("report.json"), r#"[{"filter": "../../etc"}]"#).unwrap();
        assert!(compare(&a, &a).unwrap_err().to_string().contains("no name of a filter"));
    }

    #[test]
    fn pipes_and_files_without_end_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let a = results(root.path(), "a", &["ekf"], 1.0);
        let sparse = fs::File::create(a.join("errors.csv")).unwrap();
        sparse.set_len(10 << 30).unwrap();
        assert!(compare(&a, &a).unwrap_err().to_string().contains("longer than 268 MB"));
        for name in ["report.json", "runs.csv"] {
            let _ = fs::remove_file(a.join(name));
            std::os::unix::fs::symlink("/dev/zero", a.join(name)).unwrap();
            let refused = compare(&a, &a).unwrap_err().to_string();
            assert!(refused.contains("expected a file"), "{refused}");
            fs::remove_file(a.join(name)).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(a.join(name)).status().unwrap().success());
            assert!(compare(&a, &a).unwrap_err().to_string().contains("expected a file"));
        }
    }

    #[test]
    fn runs_of_an_experiment_are_paired_by_their_seeds() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, scale: f64, seeds: std::ops::Range<u64>| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            let mut text = "filter,seed,position_mean_square_m2,yaw_mean_square_rad2,nees_mean\n".to_owned();
            for seed in seeds {
                let chance = 1.0 + (seed * 7 % 5) as f64;
                let _ = writeln!(text, "ekf,{seed},{},{chance},3", scale * chance);
            }
            fs::write(folder.join("runs.csv"), text).unwrap();
            folder
        };
        let (a, b) = (write("a", 1.0, 0..20), write("b", 4.0, 10..40));
        let rows = compare(&a, &b).unwrap();
        assert_eq!((rows[0].pairs, rows[0].verdict()), (10, "B is greater"));
        assert!((rows[0].ratio - 2.0).abs() < 1e-9 && rows[1].ratio == 1.0, "{rows:?}");
    }
}
