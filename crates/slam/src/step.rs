//! One step of the filter: propagate, associate, gate, update, augment, prune.

use crate::iterate::iterate;
use crate::noise_estimation::NoiseFactors;
use lienav_associate::active_landmarks::activate;
use lienav_associate::associate::{Associations, Input, associate};
use lienav_associate::delayed_initialization::note_outliers;
use lienav_associate::displaced::pass_together;
use lienav_associate::gate::gate;
use lienav_associate::newcomers::augment_all;
use lienav_associate::recover::{recover, relocate_if_lost};
use lienav_associate::track_loss::TrackLoss;
use lienav_associate::wide_prior::{Place, Wide};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::{Ambiguity, Associated, Role, Subject};
use lienav_planar::linearize::Match;
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::names::Names;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::pose_clones;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::prune::prune;
use lienav_planar::state::State;
use lienav_planar::time_correlated_errors::take_offsets;
use lienav_planar::update::{Singular, Updated, Workspace, move_back, numbers, update};
use nalgebra::Vector2;

/// A landmark that was not seen for this long counts as mapped, s: longer than one landmark hides another, shorter than
/// a robot needs to come back.
const MAPPED_AFTER_S: f64 = 3.0;

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Normalised innovation squared of all matches together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Measurements used for the update.
    pub accepted: usize,
    /// Measurements that became landmarks.
    pub added: usize,
    /// Measurements left out, by reason.
    pub refused: Counts,
    /// Whether measurements without identity had to be searched for, because they were not clear one by one.
    pub is_searched: bool,
    /// The motion from the state before the step to the scan, as estimated after the scan.
    pub moved: Se2,
    /// Whether the robot was found elsewhere than odometry has it.
    pub is_displaced: bool,
    /// Landmarks that are not where the map has them, and are reinitialized.
    pub reinitialized: u64,
    /// Whether the update found the covariance of the state not positive semidefinite, and was left out.
    pub is_indefinite: bool,
}

/// Buffers of a step, which keep their allocations. No value in them passes from one step to the next but the record of
/// what is linearized.
#[derive(Debug, Default)]
pub struct StepBuffers {
    associations: Associations,
    wide: Wide,
    gated: Vec<Associated>,
    pub rows: Rows,
    rests: Vec<Vector2<f64>>,
    workspace: Workspace,
    /// What the measurements of the last scan were associated with.
    pub measurements: Vec<Associated>,
    /// What those of the next one were taken for before.
    pub names: Names,
}

impl StepBuffers {
    /// Measurements of the last scan that were left out, and landmarks that each of them may be of.
    pub fn ambiguous(&self) -> &[Ambiguity] {
        self.associations.ambiguous()
    }

    /// The measurements of the last update, the Cholesky factor of their joint innovation covariance, row by row, and
    /// how many numbers they have.
    pub fn last_innovation(&self) -> (&[Match], &[f64], usize) {
        (&self.associations.matches, self.workspace.factor_of_innovation(), self.workspace.numbers())
    }

    /// The measurements of the last update, and the pivots of the factor of their joint covariance.
    pub fn last_update(&self) -> (&[Match], impl Iterator<Item = f64>) {
        let (factor, m) = (self.workspace.factor_of_innovation(), self.workspace.numbers());
        (&self.associations.matches, (0..m).map(move |k| factor[k * m + k]))
    }
}

/// Processes a scan: propagate, associate, gate, update, augment, prune. With `track_loss`, the robot is relocated if
/// the gate has left out most measurements for too long.
///
/// The new state is a function of the old state, the model, the input and `track_loss`, bit for bit.
pub fn step(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    track_loss: Option<&mut TrackLoss>,
    learned: Option<&mut NoiseFactors>,
    buffers: &mut StepBuffers,
) -> Outcome {
    let before = state.pose;
    predict(state, model, input, &mut buffers.rows);
    correct((state, &before), model, input, track_loss, learned, buffers)
}

/// The first half of a step: brings the state to the scan, with the landmarks of the known map that it may have read.
pub fn predict(state: &mut State, model: &Model, input: &Input<'_>, rows: &mut Rows) {
    state.follow_tilt(&model.tilt, input.evidence.has_heights(), input.stamp);
    propagate_to(state, model, input.motion, input.stamp, rows);
    state.fade_offsets(input.stamp, &model.sensors);
    activate(state, model, (input.evidence, input.stamp), rows);
}

/// Propagates the state to the pose at which the scan at `stamp` was taken.
fn propagate_to(state: &mut State, model: &Model, motion: &Increment, stamp: Stamp, rows: &mut Rows) {
    rows.noise.clear();
    if *motion != Increment::none() {
        propagate(state, motion, &model.filter, rows);
    }
    for landmark in &mut state.landmarks {
        landmark.is_mapped |= stamp.since(landmark.last_seen) > MAPPED_AFTER_S;
    }
}

/// The second half: associate, recover, gate, update, augment, prune. `before` is the pose before the step, and
/// `buffers.rows` is as [`predict`] has left it.
pub fn correct(
    (state, before): (&mut State, &Se2),
    model: &Model,
    input: &Input<'_>,
    mut track_loss: Option<&mut TrackLoss>,
    learned: Option<&mut NoiseFactors>,
    buffers: &mut StepBuffers,
) -> Outcome {
    let StepBuffers { associations, wide, gated, rows, rests, workspace, measurements: checked_measurements, names } =
        buffers;
    let Input { motion, stamp, evidence } = *input;

    let is_searched = associate(state, model, evidence, associations);
    let prior = recover(state, model, input, track_loss.as_deref_mut(), (associations, wide, rows));
    take_offsets(state, model, stamp, &mut associations.matches);
    gate(state, model, stamp, associations, gated);
    if prior.is_contradicted {
        pass_together(state, model, associations, gated, workspace);
    }
    let is_lost = relocate_if_lost(state, model, input, track_loss.as_deref_mut(), (associations, wide, rows, gated));
    let predicted = state.pose;

    let mut learned = learned.filter(|_| !is_lost && prior.place == Place::Here);
    if let Some(learned) = &mut learned {
        learned.note_prior(state);
    }
    let matches = &mut associations.matches;
    if wide.moved_by.is_empty() {
        iterate(state, model, matches, rows, rests, workspace);
    }
    let updated = update(state, matches, &model.filter, (&rows.noise, &wide.moved_by), workspace);
    if matches.is_empty() || updated.is_err() {
        move_back(state, &wide.moved_by, &model.filter, workspace);
    }
    if let Some(learned) = learned.filter(|_| updated.is_ok()) {
        learned.note_left_out(gated, |dim| model.gate.known(dim), |checked| model.sensors.dim(checked));
        learned.learn(state, matches, (&motion.covariance, &rows.noise), workspace, stamp);
    }

    checked_measurements.clone_from(gated);
    let is_pending = track_loss.as_deref().is_some_and(|track_loss| track_loss.is_pending(stamp));
    note(state, associations, updated.is_ok(), (rows, checked_measurements), stamp);
    let reinitialized = if updated.is_err() || is_pending { 0 } else { note_outliers(state, model, gated, stamp) };
    let is_suspected = track_loss.is_some_and(|track_loss| track_loss.is_suspected());
    let added = augment_all(state, model, (associations, names), stamp, is_suspected, checked_measurements);
    if let Some(record) = &mut rows.record {
        record.note_initialized(state, &model.filter, checked_measurements);
    }
    prune(state, model, stamp);
    pose_clones::keep(state, &model.motions_over_s, stamp);

    let used = if updated.is_ok() { associations.matches.as_slice() } else { &[] };
    let (dof, accepted, refused) = (numbers(used), used.len(), associations.refused);
    let is_indefinite = updated.is_err_and(|Singular { is_indefinite }| is_indefinite);
    let Updated { nis, noise } = updated.unwrap_or_default();
    let moved = before.inverse() * Se2::exp(&rows.of_pose(&noise)) * predicted;
    let is_displaced = is_lost || matches!(prior.place, Place::Elsewhere(_));
    Outcome { nis, dof, accepted, added, refused, is_searched, moved, is_displaced, reinitialized, is_indefinite }
}

/// Notes what the matches have corrected, or that they could not.
fn note(
    state: &mut State,
    Associations { matches, refused, .. }: &mut Associations,
    is_updated: bool,
    (rows, checked_measurements): (&mut Rows, &mut Vec<Associated>),
    stamp: Stamp,
) {
    if !is_updated {
        matches.iter().for_each(|_| refused.add(DropReason::Singular));
        return;
    }
    note_matches(state, matches, stamp, checked_measurements);
    state.learn_tilt();
    if let Some(record) = &mut rows.record {
        record.note_matches(state, matches);
    }
}

/// Records when the landmarks of the matches were seen, and which measurements were used.
fn note_matches(state: &mut State, matches: &[Match], stamp: Stamp, checked_measurements: &mut Vec<Associated>) {
    for m in matches {
        if let Subject::Landmark(i) = m.subject {
            let landmark = &mut state.landmarks[i];
            landmark.last_seen = stamp;
            landmark.measurements = landmark.measurements.saturating_add(1);
            landmark.outliers = 0;
        }
        checked_measurements.push(Associated {
            noise_scale: m.noise_scale,
            linearization_point: m.linearization_point,
            ..Associated::new(state.identity(m.subject), m.measurement, Role::Again)
        });
    }
}
