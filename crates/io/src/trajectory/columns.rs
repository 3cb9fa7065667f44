//! Which column of a text file is what.
//!
//! | file | a line |
//! |---|---|
//! | TUM | `stamp x y z qx qy qz qw`, s and m |
//! | OpenVINS | the same, and six numbers each of the covariance of orientation and position |
//! | KITTI | twelve numbers, the rows of [R p]; stamps are in a file of their own |
//! | EuRoC, CSV | a header names the columns |

use super::convention::{Axes, Meaning, Order};
use super::data::place;

/// What one column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Nothing that matters here.
    Other,
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// x, y or z, m.
    Position(usize),
    /// x, y, z or w.
    Quaternion(usize),
    /// Roll, pitch or yaw, rad: R = Rz(yaw) Ry(pitch) Rx(roll).
    Angle(usize),
    /// A place in the upper triangle of the covariance.
    Covariance(usize),
    /// A place in the twelve numbers of [R p], row by row.
    Matrix(usize),
}

/// The columns of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// What each of them holds; a line may have more.
    pub columns: Vec<Column>,
    /// What stands between them; `None`: spaces and tabs.
    pub separator: Option<char>,
    /// The line that names them, which is no data.
    pub header: Option<String>,
    /// Whether the names of a covariance say which number is which.
    pub is_named: bool,
    /// What its covariance means, if only one meaning is possible.
    pub meaning: Option<Meaning>,
}

impl Layout {
    fn has(&self, wanted: Column) -> bool {
        self.columns.contains(&wanted)
    }

    /// Whether lines have covariances.
    pub fn has_covariance(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Covariance(_)))
    }

    /// Whether stamps are in another file.
    pub fn needs_times(&self) -> bool {
        self.has(Column::Matrix(0))
    }

    /// The layout of a file that begins so.
    ///
    /// # Errors
    /// The format is not known: what was found, and what would be read.
    pub fn of(head: &str) -> Result<Self, String> {
        let lines = || head.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_comment = |line: &&str| line.starts_with(['#', '%']);
        let first = lines().find(|line| !is_comment(line));
        let separator = separator_of(first.or_else(|| lines().next()).unwrap_or_default());
        let is_number = |line: &str| cells(line, separator).any(|cell| cell.parse::<f64>().is_ok());
        let named = lines()
            .take_while(|line| is_comment(line) || !is_number(line))
            .filter_map(|line| from_names(line, separator_of(line)));
        if let Some(found) = named.last() {
            return Ok(Self { separator, ..found });
        }
        let Some(first) = first else {
            return Err("there is no line of numbers in it".to_owned());
        };
        if !is_number(first) {
            return Err(format!(
                "its header '{}' names no trajectory; needed are stamp_s (or stamp_ns), x_m, y_m, and yaw_rad or qx, qy, \
                 qz, qw",
                shortened(first)
            ));
        }
        let count = cells(first, separator).count();
        let (columns, meaning) = match count {
            8 => (tum(), None),
            12 => ((0..12).map(Column::Matrix).collect(), None),
            20 => {
                let mut columns = tum();
                columns.extend(blocks_of_openvins());
                (columns, Some(Meaning { order: Order::PositionFirst, axes: Axes::BodyOrientation }))
            }
            _ => {
                return Err(format!(
                    "its lines have {count} columns; 8 are TUM (stamp x y z qx qy qz qw), 12 KITTI, 20 OpenVINS, any \
                     other number needs a header that names them"
                ));
            }
        };
        Ok(Self { columns, separator, header: None, is_named: count == 20, meaning })
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(120).collect()
}

/// What separates the columns of a line.
fn separator_of(line: &str) -> Option<char> {
    [',', ';'].into_iter().find(|separator| line.contains(*separator))
}

/// The cells of a line.
pub fn cells(line: &str, separator: Option<char>) -> impl Iterator<Item = &str> {
    let (mut by_sign, mut by_space) = match separator {
        Some(separator) => (Some(line.split(separator)), None),
        None => (None, Some(line.split_ascii_whitespace())),
    };
    std::iter::from_fn(move || match (&mut by_sign, &mut by_space) {
        (Some(cells), _) => cells.next().map(str::trim),
        (None, Some(cells)) => cells.next(),
        (None, None) => None,
    })
}

fn tum() -> Vec<Column> {
    let mut columns = vec![Column::Seconds];
    columns.extend((0..3).map(Column::Position));
    columns.extend((0..4).map(Column::Quaternion));
    columns
}

/// Orientation, then position, each as the upper triangle of its block.
fn blocks_of_openvins() -> impl Iterator<Item = Column> {
    let upper = |from: usize| [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(|(i, j)| place(from + i, from + j));
    [upper(3), upper(0)].into_iter().flatten().map(Column::Covariance)
}

/// The layout that a header names; `None` where stamp or position is missing.
fn from_names(line: &str, separator: Option<char>) -> Option<Layout> {
    let bare = line.trim_start_matches(['#', '%', ' ']);
    let names: Vec<String> = cells(bare, separator).map(plain).collect();
    let is_euroc = names.iter().any(|name| name == "p_rs_r_x");
    let columns: Vec<Column> = names
        .iter()
        .map(|name| match column_named(name) {
            Column::Seconds if is_euroc => Column::Nanoseconds,
            column => column,
        })
        .collect();
    let blocks = names.iter().filter(|name| block_named(name).is_some()).count();
    let is_named = !names.iter().any(|name| numbered(name).is_some());
    let meaning = (blocks > 0).then_some(Meaning { order: Order::PositionFirst, axes: Axes::BodyOrientation });
    let header = (!line.starts_with(['#', '%'])).then(|| line.to_owned());
    let layout = Layout { columns, separator, header, is_named, meaning };
    let has_stamp = layout.has(Column::Seconds) || layout.has(Column::Nanoseconds);
    let has_turn = layout.has(Column::Angle(2)) || (0..4).all(|k| layout.has(Column::Quaternion(k)));
    let has_place = (0..2).all(|k| layout.has(Column::Position(k)));
    (has_stamp && has_place && has_turn).then_some(layout)
}

/// A name without its unit in brackets, in small letters.
fn plain(name: &str) -> String {
    let name = name.split(['[', '(']).next().unwrap_or_default();
    name.trim().trim_matches('"').to_ascii_lowercase()
}

fn column_named(name: &str) -> Column {
    let known: &[(&[&str], Column)] = &[
        (&["stamp_s", "t_s", "time_s", "timestamp_s", "timestamp", "stamp", "time", "t"], Column::Seconds),
        (&["stamp_ns", "t_ns", "time_ns", "timestamp_ns"], Column::Nanoseconds),
        (&["x_m", "x", "tx", "p_x", "px", "p_rs_r_x"], Column::Position(0)),
        (&["y_m", "y", "ty", "p_y", "py", "p_rs_r_y"], Column::Position(1)),
        (&["z_m", "z", "tz", "p_z", "pz", "p_rs_r_z"], Column::Position(2)),
        (&["qx", "q_x", "q_rs_x"], Column::Quaternion(0)),
        (&["qy", "q_y", "q_rs_y"], Column::Quaternion(1)),
        (&["qz", "q_z", "q_rs_z"], Column::Quaternion(2)),
        (&["qw", "q_w", "q_rs_w"], Column::Quaternion(3)),
        (&["roll_rad", "roll"], Column::Angle(0)),
        (&["pitch_rad", "pitch"], Column::Angle(1)),
        (&["yaw_rad", "yaw", "theta_rad", "theta"], Column::Angle(2)),
    ];
    if let Some((_, column)) = known.iter().find(|(names, _)| names.contains(&name)) {
        return *column;
    }
    let pair = pair_named(name).or_else(|| numbered(name)).or_else(|| block_named(name));
    pair.map_or(Column::Other, |(i, j)| Column::Covariance(place(i, j)))
}

const AXES: [&[&str]; 6] = [&["x"], &["y"], &["z"], &["roll", "rx"], &["pitch", "ry"], &["yaw", "theta", "rz"]];

/// `var_x`, `cov_xy`, `cov_x_yaw`: two of the six numbers.
fn pair_named(name: &str) -> Option<(usize, usize)> {
    let axis = |word: &str| AXES.iter().position(|names| names.contains(&word));
    if let Some(rest) = name.strip_prefix("var_") {
        return axis(rest).map(|i| (i, i));
    }
    let rest = name.strip_prefix("cov_")?;
    let splits = (1..rest.len()).filter(|&at| rest.is_char_boundary(at));
    splits.into_iter().find_map(|at| {
        let (first, second) = rest.split_at(at);
        Some((axis(first)?, axis(second.strip_prefix('_').unwrap_or(second))?))
    })
}

/// `c11` … `c66`, also `c_1_1`: numbers of a matrix whose order is a matter of convention.
fn numbered(name: &str) -> Option<(usize, usize)> {
    let digits: Vec<u8> = name.strip_prefix('c')?.bytes().filter(|&b| b != b'_').collect();
    match digits[..] {
        [i @ b'1'..=b'6', j @ b'1'..=b'6'] => Some((usize::from(i - b'1'), usize::from(j - b'1'))),
        _ => None,
    }
}

/// `Pr12` and `Pt12`: of the block of orientation and that of position.
fn block_named(name: &str) -> Option<(usize, usize)> {
    let (from, digits) = match (name.strip_prefix("pr"), name.strip_prefix("pt")) {
        (Some(digits), _) => (3, digits),
        (_, Some(digits)) => (0, digits),
        _ => return None,
    };
    match digits.as_bytes() {
        [i @ b'1'..=b'3', j @ b'1'..=b'3'] => Some((from + usize::from(i - b'1'), from + usize::from(j - b'1'))),
        _ => None,
    }
}
