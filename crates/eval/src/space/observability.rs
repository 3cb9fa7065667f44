//! What a filter takes for observable along the points where it linearizes.
//!
//! A window has the frames in which the same landmarks are followed: those of the state when it begins, each of which is
//! measured in half the frames at least. Its matrix has
//! the rows H_k Φ_{k−1} … Φ_0 of navigation state and landmarks, with columns of length one. Landmarks and an inertial
//! sensor cannot show the heading and the position: four directions. What corrections do to the coordinates of landmarks
//! has no part in these and is left out.

use lienav_inertial::covariance::NAV;
use lienav_inertial::filter::Filter;
use lienav_inertial::linearize::linearize;
use lienav_inertial::measurement::Measurement;
use lienav_inertial::observability::{Observability, measurement_matrix, unobservable};
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::propagate::transition_matrix;
use lienav_inertial::state::State;
use nalgebra::DMatrix;
use serde::Serialize;
use std::fmt::Write as _;

/// Singular values below this part of the greatest are zero.
pub const TOLERANCE: f64 = 1e-10;
/// A window has so many landmarks at least, and at most.
const LANDMARKS: std::ops::RangeInclusive<usize> = 3..=12;

/// What one window shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// When it ended, s.
    pub stamp_s: f64,
    /// How many landmarks were followed.
    pub landmarks: usize,
    /// Directions that are not seen: 4 is right.
    pub deficiency: usize,
    /// The five least singular values, greatest first, as parts of the greatest of all.
    pub least: [f64; 5],
    /// How much a turn about the vertical is seen, and shifts along x, y and z, as parts of the greatest singular value:
    /// zero is right.
    pub seen: [f64; 4],
}

/// Watches one run.
#[derive(Clone, Debug)]
pub struct Watch {
    filter: Filter,
    frames: usize,
    open: Option<Open>,
    /// What was found.
    pub windows: Vec<Window>,
}

/// A window that is not at its end.
#[derive(Clone, Debug)]
struct Open {
    identities: Vec<u64>,
    /// The four directions at its beginning.
    unobservable: DMatrix<f64>,
    matrix: Observability,
    frames: usize,
    /// How often each landmark was measured.
    sights: Vec<usize>,
}

impl Watch {
    /// Windows of so many frames.
    pub fn new(filter: Filter, frames: usize) -> Self {
        Self { filter, frames: frames.max(2), open: None, windows: Vec::new() }
    }

    /// The state is about to be propagated.
    pub fn predict(&mut self, state: &State, increment: &Preintegrated) {
        let Some(open) = &mut self.open else { return };
        let all = transition_matrix(state, increment, &self.filter);
        let rows = rows(state, &open.identities);
        open.matrix.propagate(&DMatrix::from_fn(rows.len(), rows.len(), |i, j| match (rows[i], rows[j]) {
            (Some(i), Some(j)) => all[(i, j)],
            _ => f64::from(u8::from(i == j)),
        }));
    }

    /// The state is about to be corrected by what a frame saw.
    pub fn correct(&mut self, state: &State, measurements: &[&dyn Measurement], stamp_s: f64) {
        let filter = self.filter;
        if self.open.is_none() {
            let is_seen = |id: &u64| measurements.iter().any(|one| one.landmark() == Some(*id));
            let points = state.landmarks.iter().filter(|landmark| landmark.is_point()).map(|landmark| landmark.id);
            let identities: Vec<u64> = points.filter(is_seen).take(*LANDMARKS.end()).collect();
            if !LANDMARKS.contains(&identities.len()) {
                return;
            }
            let (all, rows) = (unobservable(state, &filter), rows(state, &identities));
            let unobservable = DMatrix::from_fn(rows.len(), 4, |i, j| rows[i].map_or(0.0, |row| all[(row, j)]));
            let matrix = Observability::new(rows.len());
            self.open = Some(Open { sights: vec![0; identities.len()], identities, unobservable, matrix, frames: 0 });
        }
        let Some(open) = &mut self.open else { return };
        let rows = rows(state, &open.identities);
        for one in measurements {
            let Some(k) = open.identities.iter().position(|id| one.landmark() == Some(*id)) else { continue };
            open.sights[k] += 1;
            let Some(linearized) = linearize(state, *one, &filter) else { continue };
            let all = measurement_matrix(state, &linearized);
            let h = DMatrix::from_fn(all.nrows(), rows.len(), |i, j| rows[j].map_or(0.0, |row| all[(i, row)]));
            open.matrix.measure(&h);
        }
        open.frames += 1;
        if open.frames >= self.frames {
            // What was hardly seen has directions of its own that are not.
            if open.sights.iter().all(|sights| 2 * sights >= open.frames) {
                self.windows.push(close(open, stamp_s));
            }
            self.open = None;
        }
    }
}

/// Rows of the navigation state and of landmarks; `None` of those that the state does not have any more.
fn rows(state: &State, identities: &[u64]) -> Vec<Option<usize>> {
    let landmark = |id: &u64| {
        let first = state.find(*id).map(|i| state.covariance.row_of(i));
        (0..3).map(move |c| first.map(|row| row + c))
    };
    (0..NAV).map(Some).chain(identities.iter().flat_map(landmark)).collect()
}

fn close(open: &Open, stamp_s: f64) -> Window {
    let values = open.matrix.singular_values();
    let greatest = values.first().copied().unwrap_or(0.0);
    let part = |value: f64| if greatest > 0.0 { value / greatest } else { 0.0 };
    let mut least = [0.0; 5];
    for (slot, value) in least.iter_mut().rev().zip(values.iter().rev()) {
        *slot = part(*value);
    }
    let seen = open.matrix.seen(&open.unobservable);
    Window {
        stamp_s,
        landmarks: open.identities.len(),
        deficiency: open.matrix.rank_deficiency(TOLERANCE),
        least,
        seen: std::array::from_fn(|k| part(seen[k])),
    }
}

/// All windows of one filter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FilterReport {
    /// Its name.
    pub filter: String,
    /// Deficiencies with how many windows have them.
    pub deficiencies: Vec<(usize, usize)>,
    /// The greatest of all windows.
    pub seen_at_most: [f64; 4],
    /// One by one.
    pub windows: Vec<Window>,
}

/// The windows of several filters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Where the input came from.
    pub source: String,
    /// Frames of a window.
    pub frames: usize,
    /// In the order that was asked for.
    pub filters: Vec<FilterReport>,
}

impl FilterReport {
    /// Counts windows.
    pub fn new(filter: &str, windows: Vec<Window>) -> Self {
        let mut deficiencies: Vec<(usize, usize)> = Vec::new();
        let mut seen_at_most = [0.0_f64; 4];
        for window in &windows {
            match deficiencies.iter_mut().find(|(deficiency, _)| *deficiency == window.deficiency) {
                Some((_, count)) => *count += 1,
                None => deficiencies.push((window.deficiency, 1)),
            }
            seen_at_most.iter_mut().zip(window.seen).for_each(|(most, seen)| *most = most.max(seen));
        }
        deficiencies.sort_unstable();
        Self { filter: filter.to_owned(), deficiencies, seen_at_most, windows }
    }
}

impl Report {
    /// As JSON, indented.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// As a table, one line a filter.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "source: {}, windows of {} frames; 4 directions are not to be seen\n\n{:<10}{:>30}{:>14}{:>12}\n",
            self.source, self.frames, "filter", "windows by rank deficiency", "heading seen", "place seen"
        );
        for one in &self.filters {
            let counts: Vec<String> = one.deficiencies.iter().map(|(d, count)| format!("{d}: {count}")).collect();
            let [heading, place @ ..] = one.seen_at_most;
            let place = place.into_iter().fold(0.0, f64::max);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:<10}{:>30}{heading:>14.1e}{place:>12.1e}", one.filter, counts.join(", "));
        }
        text
    }
}
