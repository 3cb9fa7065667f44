//! A window of pose clones (multi-state constraint filter, Mourikis and Roumeliotis 2007): landmarks that come and go by
//! the hundred need no place in the state.
//!
//! At each frame the pose is [cloned](crate::clone). What a camera sees of a point is kept as pixels of clones, a
//! [`track`]. A track that has ended, or is as old as the window, is [triangulated](mod@triangulate), its landmark is
//! eliminated by the left null space of its Jacobian ([`project`]), and what is left shows the clones: used once, after a
//! χ² gate. The rows of all tracks of a frame are added up ([`information`]) to no more than six for each clone, so that
//! an update costs the same however many tracks have ended. Tracks that stay become landmarks of the state, up to a
//! budget. Where the camera hardly moves, the baseline between clones is [not known](parallax), and no range: such a track
//! shows how clones are turned, as one of a point that is too [`far`] away.
//!
//! The errors of clones are relative to the body of now, so that the rows have no columns of heading and position: the
//! four unobservable directions stay what they are, whatever the linearization.

pub mod information;
pub mod parallax;
pub mod project;
#[cfg(test)]
mod tests;
pub mod track;
pub mod triangulate;

use crate::chi_square::chi2_bound;
use crate::clone::{PoseClone, clone_pose, find_clone, remove_clone};
use crate::delayed::Damaged;
use crate::filter::Filter;
use crate::measurement::{Measurement, RangePrior};
use crate::sight::{Sight, axes, is_valid};
use crate::state::State;
use crate::state::landmark::{Kind, Landmark};
use crate::update::Workspace;
use crate::update::dense::{DenseRows, update_dense};
use information::Information;
use nalgebra::{Matrix3, Vector3};
use parallax::baseline_sigma;
use project::Projection;
use serde::{Deserialize, Serialize};
use track::{MOST_VIEWS, Tracks};
use triangulate::{Triangulated, far, triangulate};

/// Most frames of a window.
pub const MOST_FRAMES: usize = 20;
/// Most frames between updates.
pub const MOST_EVERY: usize = 4;

/// How a window is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSettings {
    /// Length: so many frames are kept as pose clones after an update; at most [`MOST_FRAMES`].
    pub frames: usize,
    /// Tracks are used every so many frames, those that have ended since then all at once: an update by a few tracks
    /// costs the same as one by many.
    pub every: usize,
    /// So many tracks that are as old as the window become landmarks of the state at most.
    pub landmarks: usize,
    /// Probability of the χ² gate that a track must pass.
    pub gate: f64,
    /// A track whose range is less certain than this part of it is refused; where the baseline between its clones is, its
    /// direction alone is used.
    pub range_sigma: f64,
    /// A track becomes a landmark if its range is known to this part of it.
    pub landmark_sigma: f64,
}

/// Of 20 simulated runs with 150 tracks a frame, the errors of a drone and a car are 5 and 0 % above those of a filter
/// that has all landmarks in its state; with 12 frames and updates every second, 13 and 15 % at two thirds of the cost.
/// Without landmarks of the state, the error on V1_01 doubles.
impl Default for WindowSettings {
    fn default() -> Self {
        Self { frames: 18, every: 3, landmarks: 10, gate: 0.99, range_sigma: 0.5, landmark_sigma: 0.1 }
    }
}

impl WindowSettings {
    /// Most clones at a time.
    pub fn clones(&self) -> usize {
        self.frames + self.every
    }
}

/// What a frame did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// Pixels that were used, of tracks that have ended or are as old as the window.
    pub used: usize,
    /// Pixels beyond the gate.
    pub gated: usize,
    /// Pixels of tracks whose range is undetermined.
    pub refused: usize,
    /// Tracks that were used or refused, and that failed the gate.
    pub tracks: [usize; 2],
    /// Tracks that became landmarks.
    pub initialized: usize,
    /// Rows of the update.
    pub numbers: usize,
    /// Its normalized innovation squared.
    pub nis: f64,
}

/// What a window remembers of tracks and clones.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Memory {
    tracks: Tracks,
    clones: Vec<u64>,
    frame: u64,
    landmarks: Vec<(u64, u64)>,
}

/// The window.
#[derive(Clone, Debug)]
pub struct Window {
    settings: WindowSettings,
    tracks: Tracks,
    /// Identities of the clones, oldest first.
    clones: Vec<u64>,
    frame: u64,
    /// The clones of this frame, oldest first.
    slots: Vec<PoseClone>,
    /// Joint covariance of their errors, row by row.
    prior: Vec<f64>,
    /// Landmarks that were tracks, and the last frame that saw each.
    landmarks: Vec<(u64, u64)>,
    /// The views of one track, and the places of their clones in `slots`.
    sights: Vec<Sight>,
    places: Vec<usize>,
    projection: Projection,
    information: Information,
    bounds: [f64; 2 * MOST_VIEWS],
}

impl Window {
    /// An empty one.
    pub fn new(settings: WindowSettings) -> Self {
        let (frames, every) = (settings.frames.clamp(2, MOST_FRAMES), settings.every.clamp(1, MOST_EVERY));
        let settings = WindowSettings { frames, every, ..settings };
        let clones = settings.clones();
        Self {
            settings,
            tracks: Tracks::default(),
            clones: Vec::with_capacity(clones),
            frame: 0,
            slots: Vec::with_capacity(clones),
            prior: Vec::with_capacity(36 * clones * clones),
            landmarks: Vec::with_capacity(settings.landmarks + 1),
            sights: Vec::with_capacity(MOST_VIEWS),
            places: Vec::with_capacity(MOST_VIEWS),
            projection: Projection::default(),
            information: Information::new(clones),
            bounds: std::array::from_fn(|dof| chi2_bound(dof.max(1), settings.gate)),
        }
    }

    /// How it is used.
    pub fn settings(&self) -> &WindowSettings {
        &self.settings
    }

    /// Room for so many tracks at a time.
    pub fn reserve(&mut self, tracks: usize) {
        self.tracks.reserve(tracks);
    }

    /// What the next frames depend on, as plain data; the clones themselves are in the state.
    pub fn memory(&self) -> Memory {
        let Self { tracks, clones, frame, landmarks, .. } = self;
        Memory { tracks: tracks.clone(), clones: clones.clone(), frame: *frame, landmarks: landmarks.clone() }
    }

    /// Continues where [`memory`](Self::memory) was called.
    ///
    /// # Errors
    /// A memory that no window of these settings had.
    pub fn remember(&mut self, memory: Memory) -> Result<(), Damaged> {
        let Memory { tracks, clones, frame, landmarks } = memory;
        if !tracks.are_sound() || clones.len() > self.settings.clones() || landmarks.len() > self.settings.landmarks {
            return Err(Damaged);
        }
        (self.tracks, self.clones, self.frame, self.landmarks) = (tracks, clones, frame, landmarks);
        Ok(())
    }

    /// How many tracks wait.
    pub fn waiting(&self) -> usize {
        self.tracks.all.len()
    }

    /// The rows of the last update, for tests and tools.
    pub fn rows(&self) -> DenseRows<'_> {
        self.information.rows()
    }

    /// Takes in the pixels of a frame, of landmarks that the state does not have. Call it after the frame's other
    /// measurements corrected the state.
    pub fn take(
        &mut self,
        state: &mut State,
        measurements: &[&dyn Measurement],
        filter: &Filter,
        prior: &RangePrior,
        work: &mut Workspace,
    ) -> Taken {
        self.frame += 1;
        let mut taken = Taken::default();
        if self.note(state, measurements, prior) {
            clone_pose(state, self.frame, filter);
            self.clones.push(self.frame);
        }
        self.information.begin(0);
        if !self.frame.is_multiple_of(self.settings.every as u64) {
            return taken;
        }
        self.gather(state);
        self.information.begin(self.slots.len());
        let leave = self.clones.len().saturating_sub(self.settings.frames);
        // Identities of clones increase.
        let newest_to_leave = leave.checked_sub(1).map(|k| self.clones[k]);
        for k in 0..self.tracks.all.len() {
            let track = &self.tracks.all[k];
            let has_ended = track.last != self.frame;
            let is_old = track.first().is_some_and(|first| newest_to_leave.is_some_and(|newest| first <= newest));
            if has_ended || is_old || track.is_full() {
                self.spend(state, k, !has_ended, filter, work, &mut taken);
                self.tracks.all[k].clear();
            }
        }
        let frame = self.frame;
        self.tracks.all.retain(|track| track.last == frame);
        taken.numbers = self.information.solve(&self.slots);
        if taken.numbers > 0 {
            // Each track has passed its own gate.
            taken.nis = update_dense(state, &self.information.rows(), filter, work).unwrap_or(0.0);
        }
        self.forget(state, newest_to_leave);
        taken
    }

    /// Adds the pixels of a frame to their tracks; says whether there were any.
    fn note(&mut self, state: &State, measurements: &[&dyn Measurement], prior: &RangePrior) -> bool {
        let mut is_seen = false;
        for measurement in measurements {
            let Some(id) = measurement.landmark() else { continue };
            if state.find(id).is_some() {
                if let Some((_, last)) = self.landmarks.iter_mut().find(|(own, _)| *own == id) {
                    *last = self.frame;
                }
            } else if let Some(view) = prior.waiting_view(*measurement).filter(is_valid) {
                is_seen |= self.tracks.add(id, self.frame, &view);
            }
        }
        is_seen
    }

    /// Looks the clones up, with their joint covariance.
    fn gather(&mut self, state: &State) {
        self.slots.clear();
        self.clones.retain(|id| {
            // A clone that was removed from outside takes its pixels with it.
            let clone = find_clone(state, *id);
            self.slots.extend(clone);
            clone.is_some()
        });
        let n = 6 * self.slots.len();
        self.prior.clear();
        self.prior.resize(n * n, 0.0);
        let row = |k: usize| self.slots[k / 6].rows[k % 6 / 3] + k % 3;
        for i in 0..n {
            for j in 0..=i {
                let value = state.covariance.get(row(i), row(j));
                (self.prior[i * n + j], self.prior[j * n + i]) = (value, value);
            }
        }
    }

    /// Uses a track: as a landmark if it `stays` and there is room, else for the clones alone.
    fn spend(
        &mut self,
        state: &mut State,
        track: usize,
        stays: bool,
        filter: &Filter,
        work: &mut Workspace,
        taken: &mut Taken,
    ) {
        /// Fewer pixels say too little: two of them a single number.
        const LEAST: usize = 3;
        let id = self.tracks.all[track].id;
        self.see(track, filter);
        let all = self.sights.len();
        let axes = axes(state, filter);
        for attempt in 0..2 {
            let count = self.sights.len();
            if count < LEAST {
                break;
            }
            let most = self.settings.range_sigma;
            let known = baseline_sigma(&self.sights, &self.places, &self.prior, &axes).filter(|sigma| *sigma < most);
            let is_known = |found: &Triangulated| known.is_some_and(|known| found.sigma.hypot(known) <= most);
            let Some(found) = triangulate(&self.sights).filter(is_known) else {
                if known.is_none() && self.see_far(&axes) {
                    self.projection.add_to(&mut self.information);
                    taken.used += count;
                    taken.gated += all - count;
                } else {
                    taken.refused += all;
                }
                taken.tracks[0] += 1;
                return;
            };
            let is_whole = self.projection.fill(&self.sights, &self.places, &found.place, &axes);
            if is_whole && self.passes() {
                if stays && found.sigma < self.settings.landmark_sigma && self.has_room(state) {
                    self.promote(state, id, &found, filter, work);
                    taken.initialized += 1;
                }
                self.projection.add_to(&mut self.information);
                taken.used += count;
                taken.gated += all - count;
                taken.tracks[0] += 1;
                return;
            }
            if attempt == 0 {
                self.keep_inliers(&found.place);
            }
        }
        if all >= LEAST {
            taken.gated += all;
            taken.tracks[1] += 1;
        }
    }

    /// Projects a track whose baseline is unknown as one of a point that is too far away to have one. Returns false where
    /// it moved by more than the turns of the clones explain.
    fn see_far(&mut self, axes: &Matrix3<f64>) -> bool {
        far(&self.sights).is_some_and(|place| self.projection.fill(&self.sights, &self.places, &place, axes))
            && self.passes()
    }

    /// Whether the track that was projected last passes the gate.
    fn passes(&mut self) -> bool {
        let (bound, clones) = (self.bounds[2 * self.sights.len() - 3], self.slots.len());
        self.projection.square() <= bound
            || self.projection.distance(&self.prior, clones).is_some_and(|distance| distance <= bound)
    }

    /// Looks up what was seen of a track.
    fn see(&mut self, track: usize, filter: &Filter) {
        self.sights.clear();
        self.places.clear();
        for pixel in self.tracks.all[track].pixels() {
            let Some(place) = self.clones.iter().position(|id| *id == pixel.clone) else { continue };
            self.sights.push(Sight::of_clone(&self.slots[place], self.tracks.view(pixel), filter));
            self.places.push(place);
        }
    }

    /// Leaves out pixels that are far from where the others have the landmark: those of a track that jumped to another
    /// point; all, where no more than half would be left.
    fn keep_inliers(&mut self, place: &Vector3<f64>) {
        /// In standard deviations of the pixels.
        const FARTHEST: f64 = 4.0;
        let (all, mut kept) = (self.sights.len(), 0);
        for k in 0..all {
            let is_near = self.sights[k].see(place).is_some_and(|(residual, _)| residual.norm() < FARTHEST);
            if is_near {
                self.sights.swap(kept, k);
                self.places.swap(kept, k);
                kept += 1;
            }
        }
        let kept = if 2 * kept > all && kept < all { kept } else { 0 };
        self.sights.truncate(kept);
        self.places.truncate(kept);
    }

    /// Whether the state has room for one more landmark. One that was not seen for longer than a window gives way.
    fn has_room(&mut self, state: &mut State) -> bool {
        self.landmarks.retain(|(id, _)| state.find(*id).is_some());
        if self.landmarks.len() < self.settings.landmarks {
            return true;
        }
        let before = self.frame.saturating_sub(self.settings.frames as u64);
        let longest = (0..self.landmarks.len()).min_by_key(|k| self.landmarks[*k].1);
        let Some(k) = longest.filter(|k| self.landmarks[*k].1 < before) else { return false };
        let (id, _) = self.landmarks.swap_remove(k);
        if let Some(i) = state.find(id) {
            state.remove(i);
            // Another part of the state took its rows.
            self.gather(state);
        }
        true
    }

    /// Makes a landmark of the track that was projected last.
    fn promote(&mut self, state: &mut State, id: u64, found: &Triangulated, filter: &Filter, work: &mut Workspace) {
        if !self.projection.append_to(state, &self.slots, work) {
            return;
        }
        state.landmarks.push(Landmark {
            id,
            kind: Kind::Point,
            chart: filter.chart,
            position: found.place,
            anchor: found.sensor,
            first: found.place,
            is_confirmed: true,
            rejected: 0,
        });
        self.landmarks.push((id, self.frame));
    }

    /// Removes clones up to the last that leaves the window, and those from which nothing waiting was seen.
    fn forget(&mut self, state: &mut State, newest_to_leave: Option<u64>) {
        let tracks = &self.tracks;
        self.clones.retain(|id| {
            let is_kept = newest_to_leave.is_none_or(|newest| *id > newest) && tracks.see(*id);
            if !is_kept {
                remove_clone(state, *id);
            }
            is_kept
        });
    }
}
