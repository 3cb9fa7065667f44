//! Tables of numbers in text files: columns separated by tabs, spaces or commas; `#` and `%` begin comments; a first
//! row of words names the columns. Stamps are kept as decimal text until they are whole nanoseconds, so that none is
//! rounded to a double.

use crate::open;
use lienav_base::stamp::Stamp;
use lienav_files::{OpenError, bounds};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A text file that was read.
pub struct Table {
    path: PathBuf,
    text: String,
}

/// One row of a table.
pub struct Row<'a> {
    path: &'a Path,
    line: u64,
    cells: Vec<&'a str>,
    names: &'static [&'static str],
}

impl Table {
    /// Reads a file of a data set.
    ///
    /// # Errors
    /// The file is not there or not text.
    pub fn read(folder: &Path, name: &str) -> Result<Self, OpenError> {
        let path = folder.join(name);
        let text = open::regular(&path).and_then(|file| open::text(file, bounds::DATA_SET));
        let text = text.map_err(|error| OpenError::io(&path, error))?;
        Ok(Self::of(path, text))
    }

    /// Of text that was read from `path`, as from inside a compressed file.
    pub fn of(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    /// The rows, each of which has `names.len()` columns or more. Where a row of words comes first, it has to begin
    /// with `names`.
    ///
    /// # Errors
    /// From the rows: other columns.
    pub fn rows<'a>(
        &'a self,
        names: &'static [&'static str],
    ) -> impl Iterator<Item = Result<Row<'a>, OpenError>> + use<'a> {
        let mut is_first = true;
        (1..).zip(self.text.lines()).filter_map(move |(line, text)| {
            let text = text.split(['#', '%']).next().unwrap_or_default();
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() {
                return None;
            }
            let cells: Vec<&str> = if text.contains(',') {
                text.split(',').map(str::trim).collect()
            } else {
                text.split_whitespace().collect()
            };
            let row = Row { path: &self.path, line, cells, names };
            let names_columns = row.cells.iter().any(|cell| names.contains(cell));
            let is_head = std::mem::take(&mut is_first)
                && (names_columns || row.cells.iter().all(|cell| cell.parse::<f64>().is_err()));
            if is_head {
                return if row.cells.starts_with(names) {
                    None
                } else {
                    Some(Err(row.error(format!(
                        "the header is '{}'; expected '{}', more columns may follow",
                        row.cells.join(","),
                        names.join(",")
                    ))))
                };
            }
            if row.cells.len() < names.len() {
                let problem = format!("{} columns; expected {}: {}", row.cells.len(), names.len(), names.join(", "));
                return Some(Err(row.error(problem)));
            }
            Some(Ok(row))
        })
    }
}

impl Table {
    /// The rows of a file without columns of its own: [`Row::named`] says what they are.
    pub fn records(&self) -> impl Iterator<Item = Row<'_>> {
        (1..).zip(self.text.lines()).filter_map(|(line, text)| {
            let cells: Vec<&str> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
            (!cells.is_empty()).then_some(Row { path: &self.path, line, cells, names: &["record"] })
        })
    }
}

impl Table {
    /// The columns that the first line names; empty where the file is.
    fn head(&self) -> (u64, Vec<&str>) {
        let lines =
            (1..).zip(self.text.lines()).map(|(line, text)| (line, text.split(['#', '%']).next().unwrap_or("")));
        let first = lines.map(|(line, text)| (line, text.trim_matches([' ', '\t', '\r', '\u{feff}'])));
        let (line, text) = first.into_iter().find(|(_, text)| !text.is_empty()).unwrap_or((1, ""));
        (line, if text.is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() })
    }

    /// Whether the first line names all of these columns.
    pub fn has(&self, names: &[&str]) -> bool {
        let (_, head) = self.head();
        names.iter().all(|name| head.contains(name))
    }

    /// The rows of a table with commas whose first line names its columns, in any order and with others among them:
    /// each row has the cells of `names`.
    ///
    /// # Errors
    /// A column is missing; from the rows: too few cells.
    pub fn columns<'a>(
        &'a self,
        names: &'static [&'static str],
    ) -> Result<impl Iterator<Item = Result<Row<'a>, OpenError>> + use<'a>, OpenError> {
        let (first, head) = self.head();
        let mut places = Vec::new();
        for name in names {
            let Some(place) = head.iter().position(|column| column == name) else {
                let found = head.join(",").chars().take(200).collect::<String>();
                let problem = format!("there is no column {name}; the columns are '{found}'");
                return Err(OpenError::Text { path: self.path.clone(), line: first, problem });
            };
            places.push(place);
        }
        Ok((1..).zip(self.text.lines()).filter_map(move |(line, text)| {
            let text = text.split(['#', '%']).next().unwrap_or_default().trim();
            if line <= first || text.is_empty() {
                return None;
            }
            let all: Vec<&str> = text.split(',').map(str::trim).collect();
            let cells: Vec<&str> = places.iter().filter_map(|place| all.get(*place).copied()).collect();
            let row = Row { path: &self.path, line, cells, names };
            if row.cells.len() == names.len() {
                return Some(Ok(row));
            }
            let problem = format!("{} columns; the head of the table has {}", all.len(), head.len());
            Some(Err(row.error(problem)))
        }))
    }
}

impl<'a> Row<'a> {
    /// The same row with these columns.
    ///
    /// # Errors
    /// There are fewer.
    pub fn named(self, names: &'static [&'static str]) -> Result<Row<'a>, OpenError> {
        if self.cells.len() < names.len() {
            let problem = format!("{} columns; expected {}: {}", self.cells.len(), names.len(), names.join(", "));
            return Err(self.error(problem));
        }
        Ok(Self { names, ..self })
    }
}

impl Row<'_> {
    /// A finite number.
    ///
    /// # Errors
    /// The cell holds something else.
    pub fn number(&self, column: usize) -> Result<f64, OpenError> {
        let value: Option<f64> = self.word(column).parse().ok();
        value.filter(|value| value.is_finite()).ok_or_else(|| self.bad_cell(column, "a finite number"))
    }

    /// A number, which need not be finite.
    ///
    /// # Errors
    /// The cell holds something else.
    pub fn any_number(&self, column: usize) -> Result<f64, OpenError> {
        self.word(column).parse().map_err(|_| self.bad_cell(column, "a number"))
    }

    /// A number in a closed interval, which `expected` describes.
    ///
    /// # Errors
    /// The cell holds something else.
    pub fn number_within(&self, column: usize, range: RangeInclusive<f64>, expected: &str) -> Result<f64, OpenError> {
        let value = self.number(column).ok().filter(|value| range.contains(value));
        value.ok_or_else(|| self.bad_cell(column, expected))
    }

    /// A whole number that is not negative; `6.0` is one too.
    ///
    /// # Errors
    /// The cell holds something else.
    pub fn identity(&self, column: usize) -> Result<u32, OpenError> {
        let whole =
            |value: f64| (value.fract() == 0.0 && (0.0..4_294_967_295.0).contains(&value)).then_some(value as u32);
        self.number(column).ok().and_then(whole).ok_or_else(|| self.bad_cell(column, "a whole number"))
    }

    /// A stamp in seconds.
    ///
    /// # Errors
    /// The cell holds something else, or more seconds than 64 bits of nanoseconds hold.
    pub fn stamp(&self, column: usize) -> Result<Stamp, OpenError> {
        stamp_of(self.word(column)).ok_or_else(|| self.bad_cell(column, "seconds"))
    }

    /// The cell as it is; an empty one where the row has no such column.
    pub fn word(&self, column: usize) -> &str {
        self.cells.get(column).copied().unwrap_or_default()
    }

    fn bad_cell(&self, column: usize, expected: &str) -> OpenError {
        let name = self.names.get(column).copied().unwrap_or_default();
        self.error(format!("{name} is '{}'; expected {expected}", self.word(column)))
    }

    /// An error in this line.
    pub fn error(&self, problem: String) -> OpenError {
        OpenError::Text { path: self.path.to_owned(), line: self.line, problem }
    }
}

/// Seconds in decimals as whole nanoseconds, without passing through a double; digits beyond the ninth are rounded
/// half up. A number with an exponent, as MATLAB writes large ones, does pass through a double.
pub fn stamp_of(text: &str) -> Option<Stamp> {
    if text.contains(['e', 'E']) {
        let seconds: f64 = text.parse().ok()?;
        return (seconds.abs() < 9e9).then(|| Stamp::from_secs(seconds));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digit = |i: usize| fraction.as_bytes().get(i).map_or(0, |b| i64::from(b - b'0'));
    let nanos = (0..9).fold(0, |sum, i| 10 * sum + digit(i)) + i64::from(digit(9) >= 5);
    let total = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some(Stamp::from_nanos(if negative { -total } else { total }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(text: &str) -> Result<Vec<(Stamp, f64)>, String> {
        let table = Table { path: "t.dat".into(), text: text.into() };
        table
            .rows(&["t_s", "v_mps"])
            .map(|row| row.and_then(|row| Ok((row.stamp(0)?, row.number(1)?))).map_err(|e| e.to_string()))
            .collect()
    }

    #[test]
    fn tabs_commas_comments_heads_and_blank_lines_are_borne() {
        let expected =
            Ok(vec![(Stamp::from_nanos(1_248_444_187_156_000_000), 0.086), (Stamp::from_nanos(500_000_000), -1.0)]);
        assert_eq!(rows("# a\n 1248444187.156 \t  0.086 \t 7\r\n\n.5\t-1 # b\n"), expected);
        assert_eq!(rows("t_s,v_mps\n1248444187.156, 0.086\n% c\n0.50,-1.0\n"), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(rows("0 1\n2\n").unwrap_err(), "t.dat:2: 1 columns; expected 2: t_s, v_mps");
        assert_eq!(rows("0,x\n").unwrap_err(), "t.dat:1: v_mps is 'x'; expected a finite number");
        assert_eq!(rows("0 nan\n").unwrap_err(), "t.dat:1: v_mps is 'nan'; expected a finite number");
        assert_eq!(rows("\n1.2.3 4\n").unwrap_err(), "t.dat:2: t_s is '1.2.3'; expected seconds");
        assert_eq!(
            rows("t,w\n").unwrap_err(),
            "t.dat:1: the header is 't,w'; expected 't_s,v_mps', more columns may follow"
        );
        let inserted = "t.dat:1: the header is 't_s,1,v_mps'; expected 't_s,v_mps', more columns may follow";
        assert_eq!(rows("t_s,1,v_mps\n0,1,2\n").unwrap_err(), inserted);
        assert!(rows("t_s,v_mps,1\n0,1,2\n").is_ok());
    }

    proptest! {
        #[test]
        fn stamps_are_exact(nanos in any::<i64>()) {
            let stamp = Stamp::from_nanos(nanos.max(-i64::MAX));
            prop_assert_eq!(stamp_of(&stamp.to_string()), Some(stamp));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-+0-9.eE, \t#a-z]{0,40}(\n[-+0-9.eE, \t#]{0,40}){0,4}") {
            let _ = rows(&text);
        }
    }
}
