//! The filter with what surrounds its step: frames as measurements, bounds on landmarks, and wider errors where most
//! measurements are beyond the gate. Programs with a motion model of their own call it; [`Slam3d`](crate::Slam3d) does
//! the rest.

use crate::check::sound;
use crate::input::{Seen, Sensor};
use crate::measured::{AT_REST, Measured, Stated};
use crate::output::{Counts, DropReason, PoseEstimate};
use crate::saved::SavedFilter;
use crate::still::StillView;
use lienav_base::stamp::Stamp;
use lienav_inertial::delayed::Damaged;
use lienav_inertial::filter::Filter;
use lienav_inertial::measurement::rest::is_known_to_rest;
use lienav_inertial::measurement::{Measurement, RangePrior};
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::VELOCITY;
use lienav_inertial::step::{Corrected, Outcome, Step};
use lienav_inertial::window::WindowSettings;
use lienav_lie::Se3;

/// Sees the state before each change: for tools.
pub trait Observer {
    /// The state is about to be propagated.
    fn before_predict(&mut self, _state: &State, _increment: &Preintegrated) {}
    /// The state is about to be corrected.
    fn before_correct(&mut self, _state: &State, _measurements: &[&dyn Measurement], _stamp: Stamp) {}
}

impl Observer for () {}

/// Which landmarks are kept.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A state with so many landmarks takes in no new ones.
    pub most_landmarks: usize,
    /// A landmark that a frame does not see is removed: its track has ended.
    pub tracks_end: bool,
    /// Most measurements of a frame, up to [`MOST_MEASUREMENTS`]; those of landmarks that the state has come first.
    pub most_measurements: usize,
}

/// No frame has more measurements.
pub const MOST_MEASUREMENTS: usize = 300;
/// Most measurements of a frame where all are of landmarks in the state, which cost the square of it. Those of a window
/// cost next to nothing.
pub const USUAL_MEASUREMENTS: usize = 80;
/// By how much a state that is lost is uncertain, by axis: rotation, rad; velocity, m/s; position, m.
pub const LOST_SIGMA: [f64; 3] = [0.05, 0.5, 0.3];

/// The filter and its state.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// The state.
    pub state: State,
    step: Step,
    /// The sensors of landmarks.
    pub sensors: Vec<Sensor>,
    /// Standard deviations where a message states none.
    pub stated: Stated,
    bounds: Bounds,
    lost_sigma: [f64; 3],
    /// Identities of the landmarks of a known map that nothing is added to, in order.
    known: Option<Vec<u64>>,
    /// Measurements used and beyond the gate in the last frames, older ones with less weight.
    recent: (f64, f64),
    /// What was seen before.
    pub view: StillView,
    /// Whether the body was taken to be at rest in the last frame.
    is_at_rest: bool,
    batch: Vec<Measured>,
    /// Places in the frame of landmarks that the state has, then of others.
    order: Vec<usize>,
    /// What became of each measurement of the last frame, in its order.
    decisions: Vec<Decision>,
    /// Places in the frame of the measurements of the batch.
    places: Vec<usize>,
}

/// What became of a measurement of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Of which landmark it is.
    pub id: u64,
    /// Which sensor measured it.
    pub sensor: usize,
    /// What the filter did with it, or why it did not get there.
    pub outcome: Result<Outcome, DropReason>,
}

impl Decision {
    /// As one word, `snake_case`: that of the filter's decision, or of the reason.
    pub fn word(&self) -> &'static str {
        match &self.outcome {
            Ok(outcome) => outcome.decision.word(),
            Err(reason) => reason.word(),
        }
    }
}

impl Estimator {
    /// A filter that begins with this state.
    pub fn new(state: State, filter: Filter, ranges: RangePrior, bounds: Bounds) -> Self {
        let bounds = Bounds { most_measurements: bounds.most_measurements.min(MOST_MEASUREMENTS), ..bounds };
        let mut step = Step::new(filter);
        step.prior = ranges;
        Self {
            state,
            step,
            sensors: Vec::new(),
            stated: Stated { position_m: 0.05, range_m: 0.1 },
            bounds,
            lost_sigma: LOST_SIGMA,
            known: None,
            recent: (0.0, 0.0),
            view: StillView::default(),
            is_at_rest: false,
            batch: Vec::with_capacity(bounds.most_measurements + 1),
            order: Vec::new(),
            decisions: Vec::new(),
            places: Vec::with_capacity(MOST_MEASUREMENTS),
        }
    }

    /// What the next frames depend on, as plain data.
    pub fn save(&self) -> SavedFilter {
        let Self { state, step, known, recent, view, .. } = self;
        SavedFilter {
            state: state.clone(),
            waiting: step.delayed.memory(),
            window: step.window.as_ref().map(|window| window.memory()),
            known: known.clone(),
            recent: *recent,
            view: view.clone(),
        }
    }

    /// Continues where [`save`](Self::save) was called.
    ///
    /// # Errors
    /// A memory of landmarks that wait which no filter had.
    pub fn restore(&mut self, saved: SavedFilter) -> Result<(), Damaged> {
        self.step.delayed.remember(saved.waiting)?;
        match (&mut self.step.window, saved.window) {
            (Some(window), Some(memory)) => window.remember(memory)?,
            (None, None) => {}
            _ => return Err(Damaged),
        }
        (self.state, self.known, self.recent) = (saved.state, saved.known, saved.recent);
        self.view = saved.view;
        Ok(())
    }

    /// Whether the body was taken to be at rest in the last frame: by its inertial sensor, and by what it saw.
    pub fn is_at_rest(&self) -> bool {
        self.is_at_rest
    }

    /// What became of each measurement of the last frame, in its order.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The same with another uncertainty of a state that is lost, as [`LOST_SIGMA`].
    #[must_use]
    pub fn with_lost_sigma(mut self, sigma: [f64; 3]) -> Self {
        self.lost_sigma = sigma;
        self
    }

    /// The same with a window of pose clones: landmarks that are seen in directions alone are tracks.
    #[must_use]
    pub fn with_window(mut self, settings: WindowSettings) -> Self {
        self.step = self.step.with_window(settings, MOST_MEASUREMENTS);
        self
    }

    /// The filter.
    pub fn filter(&self) -> &Filter {
        &self.step.filter
    }

    /// No landmark is added to those that the state has now.
    pub fn freeze_landmarks(&mut self) {
        let points = self.state.landmarks.iter().filter(|landmark| landmark.is_point());
        let mut known: Vec<u64> = points.map(|landmark| landmark.id).collect();
        known.sort_unstable();
        self.known = Some(known);
    }

    /// Forgets all landmarks, and adds what it sees.
    pub fn forget_landmarks(&mut self) {
        (0..self.state.landmarks.len()).rev().for_each(|i| self.state.remove(i));
        self.known = None;
    }

    /// Moves the state by what the inertial sensor says of an interval.
    pub fn predict(&mut self, increment: &Preintegrated, observer: &mut dyn Observer) {
        observer.before_predict(&self.state, increment);
        self.step.predict(&mut self.state, increment);
    }

    /// Takes in a frame; says whether the covariance was widened.
    pub fn correct(
        &mut self,
        stamp: Stamp,
        seen: &[Seen],
        is_calm: Option<bool>,
        counts: &mut Counts,
        observer: &mut dyn Observer,
    ) -> (Corrected, bool) {
        self.gather(seen, counts);
        if self.bounds.tracks_end {
            // A track that ended does not come back.
            for i in (0..self.state.landmarks.len()).rev() {
                let landmark = &self.state.landmarks[i];
                if landmark.is_point() && seen.iter().all(|seen| seen.id != landmark.id) {
                    self.state.remove(i);
                }
            }
        }
        let Self { view, batch, places, .. } = self;
        let measured = places.iter().zip(batch.iter()).map(|(k, one)| (seen[*k].id, seen[*k].sensor, one));
        let is_seen_at_rest = view.take(stamp, measured, is_calm);
        self.is_at_rest = is_calm == Some(true) && is_seen_at_rest.unwrap_or_else(|| self.is_known_to_rest());
        if self.is_at_rest {
            self.batch.push(Measured::Rest(AT_REST));
        }
        let corrected = self.take_batch(stamp, counts, observer);
        for (place, outcome) in self.places.iter().zip(self.step.outcomes()) {
            self.decisions[*place].outcome = Ok(*outcome);
        }
        // A track is used or gated as a whole.
        let [pixels, tracks] = corrected.of_tracks;
        let count = |all: usize, k: usize| (all - pixels[k] + tracks[k]) as f64;
        let is_widened = self.watch(count(corrected.used, 0), count(corrected.gated, 1));
        (corrected, is_widened)
    }

    /// Takes in a measurement that is of no landmark.
    pub fn correct_one(&mut self, stamp: Stamp, one: Measured, counts: &mut Counts) -> Corrected {
        self.batch.clear();
        self.batch.push(one);
        self.take_batch(stamp, counts, &mut ())
    }

    /// The measurements of a frame: those of landmarks that the state has come first.
    fn gather(&mut self, seen: &[Seen], counts: &mut Counts) {
        let Self { state, step, batch, order, known, sensors, decisions, places, .. } = self;
        // Tracks of a window have no place in the state.
        let has_place = |one: &Measured| step.window.is_some() && step.prior.waiting_view(one).is_some();
        batch.clear();
        order.clear();
        places.clear();
        decisions.clear();
        decisions.extend(seen.iter().map(|one| Decision {
            id: one.id,
            sensor: one.sensor,
            outcome: Ok(Outcome::default()),
        }));
        for is_in_state in [true, false] {
            order.extend((0..seen.len()).filter(|k| state.find(seen[*k].id).is_some() == is_in_state));
        }
        let is_full = state.landmarks.len() >= self.bounds.most_landmarks;
        for k in order.iter().copied() {
            let one = &seen[k];
            let is_new_and_full = is_full && state.find(one.id).is_none();
            let refused = if batch.len() >= self.bounds.most_measurements {
                DropReason::TooManyPoints
            } else if known.as_ref().is_some_and(|known| known.binary_search(&one.id).is_err()) {
                DropReason::UnknownLandmark
            } else if let Some(sensor) = sensors.get(one.sensor) {
                let measured = Measured::of(one, sensor, &self.stated);
                if !is_new_and_full || has_place(&measured) {
                    batch.push(measured);
                    places.push(k);
                    continue;
                }
                DropReason::MapFull
            } else if is_new_and_full {
                DropReason::MapFull
            } else {
                DropReason::UnknownSensor
            };
            counts.add(refused);
            decisions[k].outcome = Err(refused);
        }
    }

    fn take_batch(&mut self, stamp: Stamp, counts: &mut Counts, observer: &mut dyn Observer) -> Corrected {
        let mut all: [&dyn Measurement; MOST_MEASUREMENTS + 1] = [&AT_REST; MOST_MEASUREMENTS + 1];
        all.iter_mut().zip(&self.batch).for_each(|(slot, one)| *slot = one);
        let all = &all[..self.batch.len()];
        observer.before_correct(&self.state, all, stamp);
        match self.step.correct(&mut self.state, all) {
            Ok(corrected) => {
                counts.add_many(DropReason::Gated, corrected.gated as u64);
                corrected
            }
            Err(_) => {
                counts.add(DropReason::Singular);
                Corrected::default()
            }
        }
    }

    /// Where most measurements of the last frames are beyond the gate, the state is not where its covariance has it: the
    /// covariance is made wide enough to take in the next ones.
    fn watch(&mut self, used: f64, gated: f64) -> bool {
        const KEPT: f64 = 0.8;
        /// Few tracks of a window end in a frame.
        const KEPT_IN_WINDOW: f64 = 0.95;
        const LEAST: f64 = 4.0;
        let kept = if self.step.window.is_some() { KEPT_IN_WINDOW } else { KEPT };
        self.recent = (kept * self.recent.0 + used, kept * self.recent.1 + gated);
        if self.recent.1 < LEAST || self.recent.1 <= self.recent.0 {
            return false;
        }
        let [turn, velocity, position] = self.lost_sigma;
        let wider = Preintegrated::uncertainty(turn, velocity, position);
        let rate = self.state.rate;
        self.step.predict(&mut self.state, &wider);
        self.state.rate = rate;
        self.recent = (0.0, 0.0);
        true
    }

    /// Whether a body whose inertial sensor is calm is at rest by its velocity.
    pub fn is_known_to_rest(&self) -> bool {
        is_known_to_rest(&self.state, &self.step.filter)
    }

    /// Whether more measurements of the last frames were beyond the gate than used.
    pub fn is_contradicted(&self) -> bool {
        self.recent.1 > self.recent.0
    }

    /// The estimate at a stamp, which is that of the state; `None` where the state is no longer one.
    pub fn estimate(&self, stamp: Stamp) -> Option<PoseEstimate> {
        let filter = &self.step.filter;
        let covariance = self.state.pose_covariance(filter);
        let nav = &self.state.nav;
        sound(nav, &covariance).map(|covariance| PoseEstimate {
            stamp,
            pose: Se3::new(nav.rotation, nav.position),
            covariance,
            velocity: nav.velocity,
            velocity_covariance: self.state.nav_covariance(filter).fixed_view::<3, 3>(VELOCITY, VELOCITY).into_owned(),
            rate: self.state.rate,
            biases: nav.biases,
        })
    }
}
