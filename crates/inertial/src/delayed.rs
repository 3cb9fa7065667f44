//! Delayed initialization: a landmark that is seen in directions alone enters the state when its range is known from
//! several places, with all of its views at once, linearized where they meet.
//!
//! The views are taken from [pose clones](crate::clone). With H_f the derivatives of all residuals by the landmark and
//! H_x those by the clones, a rotation of the rows (Householder) takes H_f to (R; 0): the rows below show the clones
//! alone and are an update, the three above give the landmark, e = R⁻¹(r − H_x x − n) (Mourikis and Roumeliotis 2007;
//! Li and Mourikis 2013).

use crate::chi_square::chi2_bound;
use crate::clone::{clone_pose, find_clone, remove_clone};
use crate::filter::Filter;
use crate::measurement::{Measurement, RangePrior, View};
use crate::sight::{Sight, axes, is_valid, meet, normal_equations};
use crate::state::State;
use crate::state::landmark::{Kind, Landmark};
use crate::update::{Workspace, update_rows};
use nalgebra::{Matrix3, Vector2, Vector3};
use serde::{Deserialize, Serialize};

/// Most views of a landmark, the one of now included.
pub const VIEWS: usize = 12;
/// Columns: the landmark, six for each clone, the residual.
const COLUMNS: usize = 3 + 6 * VIEWS + 1;
const RESIDUAL: usize = COLUMNS - 1;
const ROWS: usize = 2 * VIEWS;

/// When landmarks are initialized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Every so many frames a pose is cloned.
    pub frames: u32,
    /// A landmark enters when its range is known to this part of it, by the noise of its views.
    pub range_sigma: f64,
    /// Whether views of landmarks whose range does not become known are used for the clones alone.
    pub spends: bool,
    /// Probability of the χ² gate of its views.
    pub gate: f64,
}

impl Default for Delay {
    fn default() -> Self {
        Self { frames: 2, range_sigma: 0.1, spends: true, gate: 0.99 }
    }
}

/// What was seen of a landmark that is not in the state yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Track {
    id: u64,
    views: [(u64, View); VIEWS],
    count: usize,
    /// Last frame in which it was seen.
    frame: u64,
}

/// Landmarks that wait.
#[derive(Clone, Debug)]
pub struct Delayed {
    delay: Delay,
    tracks: Vec<Track>,
    /// Identities of the clones, oldest first.
    clones: Vec<u64>,
    frame: u64,
    rows: Box<[[f64; COLUMNS]; ROWS]>,
    sparse: Vec<(usize, f64)>,
    ends: Vec<usize>,
    residual: Vec<f64>,
}

/// What a filter remembers of landmarks that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Memory {
    tracks: Vec<Track>,
    clones: Vec<u64>,
    frame: u64,
}

/// A memory that no filter had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("landmarks that wait have more views than there can be")]
pub struct Damaged;

impl Delayed {
    /// Without tracks.
    pub fn new(delay: Delay) -> Self {
        Self {
            delay,
            tracks: Vec::new(),
            clones: Vec::new(),
            frame: 0,
            rows: Box::new([[0.0; COLUMNS]; ROWS]),
            sparse: Vec::new(),
            ends: Vec::new(),
            residual: Vec::new(),
        }
    }

    /// Room for so many tracks.
    pub fn reserve(&mut self, tracks: usize) {
        self.tracks.reserve(tracks);
        self.clones.reserve(2 * VIEWS);
        self.sparse.reserve(ROWS * 6 * VIEWS);
        self.ends.reserve(ROWS + 1);
        self.residual.reserve(ROWS);
    }

    /// What the next frames depend on.
    pub fn memory(&self) -> Memory {
        Memory { tracks: self.tracks.clone(), clones: self.clones.clone(), frame: self.frame }
    }

    /// Continues where [`memory`](Self::memory) was called.
    ///
    /// # Errors
    /// [`Damaged`]: a track with more views than there can be.
    pub fn remember(&mut self, memory: Memory) -> Result<(), Damaged> {
        if memory.tracks.iter().any(|track| track.count >= VIEWS) {
            return Err(Damaged);
        }
        (self.tracks, self.clones, self.frame) = (memory.tracks, memory.clones, memory.frame);
        Ok(())
    }

    /// Whether a landmark waits.
    pub fn has(&self, id: u64) -> bool {
        self.tracks.iter().any(|track| track.id == id)
    }

    /// How many landmarks wait.
    pub fn waiting(&self) -> usize {
        self.tracks.len()
    }

    /// Takes in the views of a frame, of landmarks that the state does not have; returns how many it got. Call it after
    /// the frame's other measurements corrected the state.
    pub fn take(
        &mut self,
        state: &mut State,
        measurements: &[&dyn Measurement],
        filter: &Filter,
        prior: &RangePrior,
        work: &mut Workspace,
    ) -> usize {
        self.frame += 1;
        let is_kept = self.frame.is_multiple_of(u64::from(self.delay.frames.max(1)));
        let (mut initialized, mut waits) = (0, false);
        for measurement in measurements {
            let (Some(id), Some(view)) = (measurement.landmark(), prior.waiting_view(*measurement)) else { continue };
            if state.find(id).is_some() || !is_valid(&view) {
                continue;
            }
            let track = self.track(id);
            self.tracks[track].frame = self.frame;
            if self.initialize(state, track, view, filter, work) {
                self.tracks.swap_remove(track);
                initialized += 1;
            } else if is_kept {
                waits = true;
                if self.delay.spends && self.tracks[track].count + 1 == VIEWS {
                    self.spend(state, track, filter, work);
                }
                let (track, clone) = (&mut self.tracks[track], self.frame);
                if track.count + 1 == VIEWS {
                    track.views.rotate_left(1);
                    track.count -= 1;
                }
                track.views[track.count] = (clone, view);
                track.count += 1;
            }
        }
        // A track that ended does not come back.
        let frame = self.frame;
        if self.delay.spends {
            for track in 0..self.tracks.len() {
                if self.tracks[track].frame != frame {
                    self.spend(state, track, filter, work);
                }
            }
        }
        self.tracks.retain(|track| track.frame == frame);
        if waits {
            clone_pose(state, self.frame, filter);
            self.clones.push(self.frame);
        }
        self.forget(state);
        initialized
    }

    fn track(&mut self, id: u64) -> usize {
        if let Some(place) = self.tracks.iter().position(|track| track.id == id) {
            return place;
        }
        let none = View { camera: Default::default(), normalized: Vector2::zeros(), sigma: Vector2::zeros() };
        self.tracks.push(Track { id, views: [(0, none); VIEWS], count: 0, frame: self.frame });
        self.tracks.len() - 1
    }

    /// Removes clones from which nothing waiting was seen.
    fn forget(&mut self, state: &mut State) {
        let tracks = &self.tracks;
        self.clones.retain(|id| {
            let is_used = tracks.iter().any(|track| track.views[..track.count].iter().any(|(clone, _)| clone == id));
            if !is_used {
                remove_clone(state, *id);
            }
            is_used
        });
    }

    /// Puts a landmark into the state if its range is known well enough.
    fn initialize(
        &mut self,
        state: &mut State,
        track: usize,
        now: View,
        filter: &Filter,
        work: &mut Workspace,
    ) -> bool {
        let here = Sight::of_now(state, now, filter);
        let (sights, count) = self.sights(state, track, Some(here), filter);
        let sights = &sights[..count];
        let Some(place) = meet(sights).filter(|place| self.is_ripe(sights, place)) else { return false };
        let (id, anchor) = (self.tracks[track].id, here.ray().0);
        self.fill(sights, &place, &axes(state, filter));
        self.triangulate(2 * count);
        let (kind, chart) = (Kind::Point, filter.chart);
        let landmark =
            Landmark { id, kind, chart, position: place, anchor, first: place, is_confirmed: true, rejected: 0 };
        if !self.append(state, sights, landmark, work) {
            return false;
        }
        self.select(sights, 3..2 * count);
        let gate = chi2_bound(self.residual.len(), self.delay.gate);
        if update_rows(state, (&self.sparse, &self.ends, &self.residual), gate, filter, work).is_some() {
            return true;
        }
        state.remove(state.landmarks.len() - 1);
        false
    }

    /// Views of a track whose range does not become known: without the landmark they still show how the clones are to
    /// each other, above all how they are turned. Each view is used once.
    fn spend(&mut self, state: &mut State, track: usize, filter: &Filter, work: &mut Workspace) {
        /// Taken where views do not meet: what is far away moves little.
        const FAR_M: f64 = 10.0;
        /// Fewer views say too little.
        const LEAST: usize = 4;
        let (sights, count) = self.sights(state, track, None, filter);
        self.tracks[track].count = 0;
        if count < LEAST {
            return;
        }
        let sights = &sights[..count];
        let (centre, direction) = sights[count - 1].ray();
        let place = meet(sights).unwrap_or(centre + direction * FAR_M);
        if sights.iter().any(|sight| sight.see(&place).is_none()) {
            return;
        }
        self.fill(sights, &place, &axes(state, filter));
        self.triangulate(2 * count);
        self.select(sights, 3..2 * count);
        let gate = chi2_bound(self.residual.len(), self.delay.gate);
        update_rows(state, (&self.sparse, &self.ends, &self.residual), gate, filter, work);
    }

    /// The views of a track that were taken from clones, after the one of now.
    fn sights(&self, state: &State, track: usize, now: Option<Sight>, filter: &Filter) -> ([Sight; VIEWS], usize) {
        let track = &self.tracks[track];
        let none = now.unwrap_or(Sight::of_now(state, track.views[0].1, filter));
        let (mut sights, mut count) = ([none; VIEWS], usize::from(now.is_some()));
        for (id, view) in &track.views[..track.count] {
            let Some(clone) = find_clone(state, *id) else { continue };
            sights[count] = Sight::of_clone(&clone, *view, filter);
            count += 1;
        }
        (sights, count)
    }

    fn is_ripe(&self, sights: &[Sight], place: &Vector3<f64>) -> bool {
        let Some((information, _)) = normal_equations(sights, place) else { return false };
        let Some(covariance) = information.try_inverse() else { return false };
        let apart = place - sights[0].ray().0;
        let sigma = apart.normalize().dot(&(covariance * apart.normalize())).sqrt();
        sigma < self.delay.range_sigma * apart.norm()
    }

    /// Residuals and derivatives of all views, by errors in these axes.
    fn fill(&mut self, sights: &[Sight], place: &Vector3<f64>, axes: &Matrix3<f64>) {
        for (k, sight) in sights.iter().enumerate() {
            let (Some((residual, _)), Some(by_place)) = (sight.see(place), sight.derivative(place)) else {
                // A view that is left out says nothing.
                self.rows[2 * k..2 * k + 2].iter_mut().for_each(|row| row.fill(0.0));
                continue;
            };
            let by_turn = by_place * lienav_lie::hat(&(place - sight.at.0)) * axes;
            let by_place = by_place * axes;
            for a in 0..2 {
                let row = &mut self.rows[2 * k + a];
                row.fill(0.0);
                row[RESIDUAL] = residual[a];
                for c in 0..3 {
                    row[c] = by_place[(a, c)];
                    if sight.rows.is_some() {
                        row[3 + 6 * k + c] = -by_place[(a, c)];
                        row[6 + 6 * k + c] = by_turn[(a, c)];
                    }
                }
            }
        }
    }

    /// Rotates the rows by three Householder reflections, so that the first three columns are upper triangular.
    fn triangulate(&mut self, height: usize) {
        for pivot in 0..3 {
            let norm = self.rows[pivot..height].iter().map(|row| row[pivot] * row[pivot]).sum::<f64>().sqrt();
            let first = self.rows[pivot][pivot];
            let alpha = if first > 0.0 { -norm } else { norm };
            let mut v = [0.0; ROWS];
            for (slot, row) in v.iter_mut().zip(&self.rows[..height]).skip(pivot) {
                *slot = row[pivot];
            }
            v[pivot] -= alpha;
            let square = v[pivot..height].iter().map(|x| x * x).sum::<f64>();
            if square <= 0.0 {
                continue;
            }
            for column in pivot..COLUMNS {
                let along =
                    v[pivot..height].iter().zip(&self.rows[pivot..height]).map(|(x, row)| x * row[column]).sum::<f64>();
                let factor = 2.0 * along / square;
                for (x, row) in v[pivot..height].iter().zip(&mut self.rows[pivot..height]) {
                    row[column] -= factor * x;
                }
            }
        }
    }

    /// The rows of these numbers, sparse, in the columns of the state.
    fn select(&mut self, sights: &[Sight], rows: std::ops::Range<usize>) {
        self.sparse.clear();
        self.ends.clear();
        self.residual.clear();
        self.ends.push(0);
        for row in &self.rows[rows] {
            for (k, sight) in sights.iter().enumerate() {
                let Some(rows) = &sight.rows else { continue };
                for c in 0..6 {
                    self.sparse.push((rows[c / 3] + c % 3, row[3 + 6 * k + c]));
                }
            }
            self.ends.push(self.sparse.len());
            self.residual.push(row[RESIDUAL]);
        }
    }

    /// e = R⁻¹(r − H_x x − n) with the first three rows.
    fn append(&mut self, state: &mut State, sights: &[Sight], landmark: Landmark, work: &mut Workspace) -> bool {
        let upper = Matrix3::from_fn(|i, j| if j >= i { self.rows[i][j] } else { 0.0 });
        let Some(inverse) = upper.try_inverse() else { return false };
        self.select(sights, 0..3);
        work.append(state, (&self.sparse, &self.ends), &-inverse, &(inverse * inverse.transpose()));
        state.landmarks.push(landmark);
        true
    }
}
