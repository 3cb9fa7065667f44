//! The step of the filter: `predict` once a frame, `correct` for what was measured in it.

use crate::chart::Chart;
use crate::chi_square::Bounds;
use crate::coordinates::of_update;
use crate::covariance::NAV;
use crate::delayed::{Delay, Delayed};
use crate::filter::{Filter, Linearization};
use crate::linearize::{at, linearize};
use crate::located::linearize_first;
use crate::measurement::{Initial, Linearized, Measurement, RangePrior};
use crate::preintegration::Preintegrated;
use crate::propagate::propagate;
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION};
use crate::state::landmark::{Kind, Landmark};
use crate::update::{Contradicted, Singular, Updated, Workspace, update};
use crate::window::{Window, WindowSettings};
use lienav_lie::hat;
use nalgebra::{Matrix3, SMatrix, Vector3};

/// What a step needs besides the state; buffers keep their allocations.
#[derive(Clone, Debug)]
pub struct Step {
    /// The filter.
    pub filter: Filter,
    /// How far landmarks are where a measurement does not say so.
    pub prior: RangePrior,
    /// How much a tracked feature wanders over what it is on, rad/√s: a random walk of the landmark across the line of
    /// sight. It stands for errors of a track that stay alike from frame to frame; zero for tags and the like.
    pub wander: f64,
    bounds: Bounds,
    work: Workspace,
    /// Landmarks that are seen in directions alone, and wait for others.
    pub delayed: Delayed,
    /// A window of pose clones, where landmarks that are seen in directions alone are tracks.
    pub window: Option<Window>,
    linearized: Vec<Linearized>,
    /// As they were before the update.
    kept: Vec<Linearized>,
    /// Which measurements these are.
    accepted: Vec<usize>,
    initial: Vec<(Initial, Chart)>,
    outcomes: Vec<Outcome>,
}

/// What the filter did with a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// The update has it.
    Used,
    /// It is too far from its expectation, by itself or given the others.
    Gated,
    /// It could not be linearized, or its landmark could not be initialized from it.
    #[default]
    Unseen,
    /// It initialized its landmark.
    Initialized,
    /// Its landmark waits for views from other places.
    Waiting,
}

impl Decision {
    /// As one word, `snake_case`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Gated => "gated",
            Self::Unseen => "unseen",
            Self::Initialized => "initialized",
            Self::Waiting => "waiting",
        }
    }
}

/// What became of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the filter did.
    pub decision: Decision,
    /// Squared Mahalanobis distance from its expectation before the update, where there is one: χ² of `dim` degrees of
    /// freedom in the mean.
    pub distance: Option<f64>,
    /// How many numbers it has; 0 where it was not linearized.
    pub dim: usize,
}

/// What a correction did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corrected {
    /// How many measurements were taken in.
    pub used: usize,
    /// How many failed the gate.
    pub gated: usize,
    /// How many disagree with the one measurement that their landmark was initialized by: that one may be wrong as well,
    /// and the landmark is removed.
    pub unconfirmed: usize,
    /// How many could not be linearized: a point behind the camera, an unknown landmark that could not be initialized.
    pub unseen: usize,
    /// How many landmarks were removed, because their measurements fail the gate again and again.
    pub removed: usize,
    /// How many landmarks were initialized.
    pub initialized: usize,
    /// Of these, how many are pixels of tracks, used and gated; and how many tracks, used and gated.
    pub of_tracks: [[usize; 2]; 2],
    /// How many numbers were measured.
    pub numbers: usize,
    /// Normalized innovation squared; in the mean it is `numbers`.
    pub nis: f64,
}

impl Step {
    /// A step of this filter.
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            prior: RangePrior::default(),
            wander: 0.0,
            bounds: Bounds::new(filter.gate),
            work: Workspace::default(),
            delayed: Delayed::new(Delay::default()),
            window: None,
            linearized: Vec::new(),
            kept: Vec::new(),
            accepted: Vec::new(),
            initial: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// The same with room for so many landmarks, pose clones counted as two, and measurements of so many numbers in a
    /// frame. Up to there it allocates nothing.
    pub fn with_capacity(filter: Filter, landmarks: usize, numbers: usize) -> Self {
        let mut step = Self::new(filter);
        step.work.reserve(NAV + 7 + 3 * landmarks, numbers);
        step.linearized.reserve(numbers);
        step.kept.reserve(numbers);
        step.accepted.reserve(numbers);
        step.initial.reserve(numbers);
        step.outcomes.reserve(numbers);
        step.delayed.reserve(landmarks);
        step
    }

    /// The same with a [window](crate::window) of pose clones, and room for so many tracks at a time.
    #[must_use]
    pub fn with_window(mut self, settings: WindowSettings, tracks: usize) -> Self {
        let mut window = Window::new(settings);
        window.reserve(tracks);
        let clones = window.settings().clones();
        self.work.reserve_rows(NAV + 7 + 3 * (settings.landmarks + 2 * clones), 6 * clones);
        self.window = Some(window);
        self
    }

    /// The state moves to the next frame by what the inertial sensor says of the interval, preintegrated at the biases
    /// of the state.
    pub fn predict(&self, state: &mut State, increment: &Preintegrated) {
        propagate(state, increment, &self.filter);
        if self.wander > 0.0 {
            wander(state, self.wander * self.wander * increment.increment.duration_s, &self.filter);
        }
    }

    /// The state takes in the measurements of one instant. Landmarks that it does not have are initialized.
    ///
    /// # Errors
    /// [`Singular`]: nothing was changed.
    pub fn correct(&mut self, state: &mut State, measurements: &[&dyn Measurement]) -> Result<Corrected, Singular> {
        let mut corrected = Corrected::default();
        self.outcomes.clear();
        self.outcomes.resize(measurements.len(), Outcome::default());
        self.linearize(state, measurements, &mut corrected);
        let filter = of_update(state, &self.filter, &self.linearized);
        self.gate(state, measurements, &filter, &mut corrected);
        self.update(state, measurements, &filter, &mut corrected)?;
        corrected.removed = remove_rejected(state);
        if let Some(window) = &mut self.window {
            let taken = window.take(state, measurements, &filter, &self.prior, &mut self.work);
            corrected.used += taken.used;
            corrected.gated += taken.gated;
            corrected.of_tracks = [[taken.used, taken.gated], taken.tracks];
            corrected.initialized = taken.initialized;
            corrected.numbers += taken.numbers;
            corrected.nis += taken.nis;
        } else if self.filter.is_delayed {
            corrected.initialized = self.delayed.take(state, measurements, &filter, &self.prior, &mut self.work);
        }
        self.initialize(state, measurements, &mut corrected);
        self.decide(state, measurements);
        Ok(corrected)
    }

    /// What the last correction did with each of its measurements, in their order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Those that were linearized and not accepted are beyond the gate; the others are of new landmarks, or of none.
    fn decide(&mut self, state: &State, measurements: &[&dyn Measurement]) {
        for (outcome, measurement) in self.outcomes.iter_mut().zip(measurements) {
            let is_in_state = || measurement.landmark().is_some_and(|id| state.find(id).is_some());
            let waits = || measurement.landmark().is_some_and(|id| self.delayed.has(id));
            outcome.decision = match outcome.decision {
                _ if outcome.dim > 0 => Decision::Gated,
                Decision::Waiting if is_in_state() => Decision::Initialized,
                Decision::Waiting if waits() => Decision::Waiting,
                _ => Decision::Unseen,
            };
        }
        self.accepted.iter().for_each(|k| self.outcomes[*k].decision = Decision::Used);
    }

    /// The update by all that passed the gate. What the others contradict is left out, one after the other.
    fn update(
        &mut self,
        state: &mut State,
        measurements: &[&dyn Measurement],
        filter: &Filter,
        corrected: &mut Corrected,
    ) -> Result<(), Singular> {
        loop {
            self.kept.clone_from(&self.linearized);
            let accepted = &self.accepted;
            let again = |k: usize, moved: &State| {
                let measurement: &dyn Measurement = measurements[accepted[k]];
                if filter.is_iterated { linearize(moved, measurement, filter) } else { None }
            };
            let updated = update(state, &mut self.linearized, filter, &mut self.work, again)?;
            let Contradicted { worst, other } = match updated {
                Updated::Done(nis) => {
                    corrected.nis = nis;
                    break;
                }
                Updated::Contradicted(contradicted) => contradicted,
            };
            std::mem::swap(&mut self.linearized, &mut self.kept);
            let (first, second) = other.map_or((worst, None), |other| (worst.max(other), Some(worst.min(other))));
            for outlier in std::iter::once(first).chain(second) {
                let one = self.linearized.remove(outlier);
                self.accepted.remove(outlier);
                reject(state, &one, corrected);
            }
        }
        for one in &self.linearized {
            if let Some(i) = one.landmark {
                (state.landmarks[i].rejected, state.landmarks[i].is_confirmed) = (0, true);
            }
        }
        corrected.used = self.linearized.len();
        corrected.numbers = self.linearized.iter().map(|one| one.dim).sum();
        Ok(())
    }

    fn linearize(&mut self, state: &mut State, measurements: &[&dyn Measurement], corrected: &mut Corrected) {
        self.linearized.clear();
        self.accepted.clear();
        for (k, measurement) in measurements.iter().enumerate() {
            let is_new = measurement.landmark().is_some_and(|id| state.find(id).is_none());
            match linearize_first(state, *measurement, &self.filter, &self.prior) {
                Some(one) if is_valid(&one) => {
                    self.outcomes[k].dim = one.dim;
                    self.linearized.push(one);
                    self.accepted.push(k);
                }
                _ if is_new => self.outcomes[k].decision = Decision::Waiting,
                _ => corrected.unseen += 1,
            }
        }
    }

    /// Leaves out what is too far from its expectation: χ² of its own degrees of freedom, at the linearization of now
    /// or, where the prior is too wide for that, at the one where measurement and prior agree best.
    fn gate(
        &mut self,
        state: &mut State,
        measurements: &[&dyn Measurement],
        filter: &Filter,
        corrected: &mut Corrected,
    ) {
        let Self { bounds, work, linearized, accepted, outcomes, .. } = self;
        let (before, mut kept) = (linearized.len(), 0);
        for k in 0..before {
            let one = linearized[k];
            let bound = bounds.of(one.dim);
            let is_near = |distance: Option<f64>| distance.is_some_and(|d| d <= bound);
            let again = |moved: &State| linearize(moved, measurements[accepted[k]], filter);
            let distance = work.distance(state, &one);
            outcomes[accepted[k]].distance = distance;
            let passes =
                is_near(distance) || (filter.is_iterated && is_near(work.least_distance(state, &one, filter, again)));
            if passes {
                (linearized[kept], accepted[kept]) = (one, accepted[k]);
                kept += 1;
            } else {
                reject(state, &one, corrected);
            }
        }
        linearized.truncate(kept);
        accepted.truncate(kept);
    }

    fn initialize(&mut self, state: &mut State, measurements: &[&dyn Measurement], corrected: &mut Corrected) {
        let here = at(state, &state.nav, false);
        let prior = &self.prior;
        self.initial.clear();
        let waits = self.filter.is_delayed || self.window.is_some();
        let new = measurements.iter().filter(|one| one.landmark().is_some_and(|id| here.find(id).is_none()));
        let new = new.filter(|one| !waits || prior.waiting_view(**one).is_none());
        let chart = self.filter.chart;
        let with_chart = |one: &&dyn Measurement| {
            let chart = if one.view().is_some() { chart } else { Chart::Cartesian };
            one.initialize(&here, prior).map(|initial| (initial, chart))
        };
        self.initial.extend(new.filter_map(with_chart));
        for (initial, chart) in &self.initial {
            let is_near = (initial.place - state.nav.position).norm() < FARTHEST_M;
            let covariance = &initial.covariance;
            let is_valid = is_near && covariance.trace() < FARTHEST_M * FARTHEST_M && covariance.cholesky().is_some();
            if is_valid && state.find(initial.id).is_none() {
                append(state, initial, *chart, &self.filter);
                corrected.initialized += 1;
            }
        }
    }
}

/// Counts a measurement that is left out. A landmark that one measurement alone has shown is removed.
fn reject(state: &mut State, one: &Linearized, corrected: &mut Corrected) {
    match one.landmark.map(|i| &mut state.landmarks[i]) {
        Some(landmark) if !landmark.is_confirmed => {
            landmark.rejected = MOST_REJECTED;
            corrected.unconfirmed += 1;
        }
        landmark => {
            if let Some(landmark) = landmark {
                landmark.rejected += 1;
            }
            corrected.gated += 1;
        }
    }
}

/// Landmarks farther away than this are not kept, m.
const FARTHEST_M: f64 = 1e5;

/// Whether a measurement has finite numbers and positive variances.
fn is_valid(one: &Linearized) -> bool {
    let is_variance = |x: f64| x.is_finite() && x > 0.0;
    one.residual.iter().all(|x| x.is_finite()) && (0..one.dim).all(|a| is_variance(one.noise[(a, a)]))
}

/// A new landmark, whose e_i is independent of the navigation state, with corrections in this chart.
pub fn append(state: &mut State, initial: &Initial, chart: Chart, filter: &Filter) {
    let (a, c) = at_unobservable(state, &initial.place, filter);
    state.covariance.append(&c, &(a * initial.covariance * a.transpose()));
    push(state, initial.id, chart, initial.place, initial.sensor, false);
}

/// A landmark of a map: its place in the world, m, is known with this covariance, m², whatever the pose. In left errors
/// e_i = −ξ_p + p_i^ ξ_R + n.
pub fn append_mapped(state: &mut State, id: u64, place: Vector3<f64>, covariance: &Matrix3<f64>, filter: &Filter) {
    let (a, c) = at_unobservable(state, &place, filter);
    let mut by_nav = SMatrix::<f64, 3, NAV>::zeros();
    by_nav.fixed_view_mut::<3, 3>(0, ROTATION).copy_from(&hat(&place));
    by_nav.fixed_view_mut::<3, 3>(0, POSITION).fill_diagonal(-1.0);
    let by_nav = a * by_nav * filter.errors.from_left_inverse(&state.nav) + c;
    state.covariance.append(&by_nav, &(a * covariance * a.transpose()));
    push(state, id, Chart::Cartesian, place, state.nav.position, true);
}

/// The coordinates of a new landmark's error. Where a filter keeps its unobservable directions at predictions, the
/// landmark must agree with them.
fn at_unobservable(state: &State, place: &Vector3<f64>, filter: &Filter) -> (Matrix3<f64>, SMatrix<f64, 3, NAV>) {
    let nav = if filter.linearization == Linearization::Current { state.nav } else { state.predicted };
    filter.errors.landmark_from_left(&nav, place)
}

fn push(state: &mut State, id: u64, chart: Chart, place: Vector3<f64>, anchor: Vector3<f64>, is_confirmed: bool) {
    let kind = Kind::Point;
    state.landmarks.push(Landmark {
        id,
        kind,
        chart,
        position: place,
        anchor,
        first: place,
        is_confirmed,
        rejected: 0,
    });
}

/// A landmark whose measurements fail the gate so often in a row does not exist, or is not where the filter has it.
const MOST_REJECTED: u32 = 5;

fn remove_rejected(state: &mut State) -> usize {
    let before = state.landmarks.len();
    for i in (0..before).rev() {
        if state.landmarks[i].rejected >= MOST_REJECTED {
            state.remove(i);
        }
    }
    before - state.landmarks.len()
}

/// Adds to the covariance of each landmark that of a small rotation about the body, rad², but for its own axis.
fn wander(state: &mut State, variance: f64, filter: &Filter) {
    for i in (0..state.landmarks.len()).filter(|i| state.landmarks[*i].is_point()) {
        let r = state.landmarks[i].position - state.nav.position;
        let r = if filter.errors == Errors::Reduced { state.nav.rotation.rotate_back(&r) } else { r };
        let across = Matrix3::from_diagonal_element(r.norm_squared()) - r * r.transpose();
        let row = state.covariance.row_of(i);
        let sum = state.covariance.block::<3, 3>(row, row) + across * variance;
        state.covariance.set(row, row, &sum);
    }
}
