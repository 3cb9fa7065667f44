//! One step of the filter: propagate, associate, gate, update, augment, prune.

use super::associate::{AssociationRoom, Associations, Evidence, Newcomer, associate};
use super::association::Doubt;
use super::augment::augment;
use super::delayed::{Taken, give_up, is_placeless, note_misfits, settle, take};
use super::displaced::{displace, is_allowed, linearize_there, pass_together, refer_to_mean};
use super::enter::enter;
use super::fixed_lag::{Associated, Role};
use super::gate::{Gate, gate};
use super::known_map::KnownMap;
use super::linearize::{Match, Preview, Subject, relinearize};
use super::marks;
use super::motion::Increment;
use super::names::Names;
use super::noise::NoiseFactors;
use super::offsets::{SLOTS, begin_offset, take_offsets};
use super::propagate::{Rows, propagate};
use super::prune::{make_room, prune};
use super::relocate::{agreeing, displacement};
use super::sensor::{Reading, Sensor, Sensors};
use super::state::State;
use super::tie;
use super::tilt_noise::TiltNoise;
use super::track_loss::{Agreement, TrackLoss, unknown_motions};
use super::update::{Singular, Updated, Workspace, move_back, numbers, preview, update};
use super::wide_prior::{Place, Wide, exceeds_noise, place};
use super::{Association, Config, Counts, DropReason, FeatureKind, Filter, MapConfig, MapMode};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::Vector2;

/// A feature that was not seen for this long counts as mapped, s: longer than one feature hides another, shorter than
/// a robot needs to come back.
const MAPPED_AFTER_S: f64 = 3.0;

/// What a step needs besides state and input: the filter, the sensors, the gate, the limits of the map.
#[derive(Clone, Debug)]
pub struct Model {
    pub filter: Filter,
    pub sensors: Sensors,
    pub gate: Gate,
    pub map: MapConfig,
    /// How readings without identity are associated; never [`Association::Auto`].
    pub association: Association,
    /// The landmarks that are known before the run.
    pub known: KnownMap,
    /// Over how long motions are wanted, s.
    pub motions_over_s: Vec<f64>,
    /// Roll and pitch of the base that no sensor tells.
    pub tilt: TiltNoise,
}

impl Model {
    /// As configured, with the sensors that a program has added.
    pub fn new(filter: Filter, config: &Config, added: &[Sensor]) -> Self {
        let may_last = config.learning.enabled || config.sensor.correlation_s > 0.0;
        let slots = if may_last { SLOTS } else { 0 };
        Self {
            filter,
            sensors: Sensors::with_antenna(&config.sensor, &config.absolute, filter.stereo, added).keep_lasting(slots),
            gate: Gate::new(&config.gate),
            map: MapConfig { mode: config.filter_mode(), ..config.map.clone() },
            association: rule(config),
            known: KnownMap::default(),
            motions_over_s: Vec::new(),
            tilt: TiltNoise::of(&config.motion, false),
        }
    }
}

/// What [`Association::Auto`] stands for.
fn rule(config: &Config) -> Association {
    match (config.association, config.filter_mode()) {
        (Association::Auto, MapMode::Mapping) => Association::Joint,
        (Association::Auto, MapMode::Localization | MapMode::Extend) => Association::Unique,
        (rule, _) => rule,
    }
}

/// A cloud, and the motion from the state to the pose at which the cloud was taken.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub motion: &'a Increment,
    pub stamp: Stamp,
    pub evidence: Evidence<'a>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Normalised innovation squared of all matches together.
    pub nis: f64,
    /// Its degrees of freedom.
    pub dof: usize,
    /// Observations used for the update.
    pub accepted: usize,
    /// Observations that became features.
    pub added: usize,
    /// Observations left out, by reason.
    pub refused: Counts,
    /// Whether readings without identity had to be searched for, because they were not clear one by one.
    pub is_searched: bool,
    /// The motion from the state before the step to the cloud, as estimated after the cloud.
    pub moved: Se2,
    /// Whether the robot was found elsewhere than odometry has it.
    pub is_displaced: bool,
    /// Landmarks that are not where the map has them, and begin anew.
    pub begun_anew: u64,
    /// Whether the update found the covariance of the state not positive semidefinite, and was left out.
    pub is_indefinite: bool,
}

/// Buffers of a step, which keep their allocations. No value in them passes from one step to the next but the record of
/// what is linearized.
#[derive(Debug, Default)]
pub struct Room {
    association: AssociationRoom,
    wide: Wide,
    gated: Vec<Associated>,
    pub rows: Rows,
    rests: Vec<Vector2<f64>>,
    workspace: Workspace,
    /// What the readings of the last cloud were associated with.
    pub readings: Vec<Associated>,
    /// What those of the next one were taken for before.
    pub names: Names,
}

impl Room {
    /// Readings of the last cloud that were left out, and features that each of them may be of.
    pub fn doubtful(&self) -> &[Doubt] {
        self.association.doubtful()
    }

    /// The readings of the last update, and the pivots of the factor of their joint covariance.
    pub fn last_update(&self) -> (&[Match], impl Iterator<Item = f64>) {
        let (factor, m) = (self.workspace.factor_of_innovation(), self.workspace.numbers());
        (self.association.matches(), (0..m).map(move |k| factor[k * m + k]))
    }
}

/// Processes a cloud: propagate, associate, gate, update, augment, prune. With `track_loss`, the robot is relocated if
/// the gate has left out most observations for too long.
///
/// The new state is a function of the old state, the model, the input and `track_loss`, bit for bit.
pub fn step(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    track_loss: Option<&mut TrackLoss>,
    learned: Option<&mut NoiseFactors>,
    room: &mut Room,
) -> Outcome {
    let before = state.pose;
    predict(state, model, input, &mut room.rows);
    correct((state, &before), model, input, track_loss, learned, room)
}

/// The first half of a step: brings the state to the cloud, with the landmarks of the known map that it may have read.
pub fn predict(state: &mut State, model: &Model, input: &Input<'_>, rows: &mut Rows) {
    state.follow_tilt(&model.tilt, &input.evidence, input.stamp);
    propagate_to(state, model, input.motion, input.stamp, rows);
    state.fade_offsets(input.stamp, &model.sensors);
    enter(state, model, (input.evidence, input.stamp), rows);
}

/// The second half: associate, gate, update, augment, prune. `before` is the pose before the step, and `room.rows` is as
/// [`predict`] has left it.
pub fn correct(
    (state, before): (&mut State, &Se2),
    model: &Model,
    input: &Input<'_>,
    mut track_loss: Option<&mut TrackLoss>,
    learned: Option<&mut NoiseFactors>,
    room: &mut Room,
) -> Outcome {
    let Room { association, wide, gated, rows, rests, workspace, readings, names } = room;
    let Input { motion, stamp, evidence } = *input;

    let Associations { mut candidates, mut newcomers, mut refused, is_searched } =
        associate(state, model, evidence, association);
    let mut place = place(state, model, candidates, wide);
    let mut is_contradicted = false;
    if let Place::Elsewhere(motion) = place
        && !is_allowed(state, &motion, &wide.members, model.gate.displaced())
    {
        // What is known of the robot in the map speaks against it.
        (place, is_contradicted) = (Place::Here, !state.is_frozen);
    }
    if let Place::Elsewhere(motion) = place
        && !linearize_there(state, model, candidates, &motion)
    {
        displace(state, &motion, &wide.members, model.gate.displaced(), &mut wide.moved_by);
        if wide.moved_by.is_empty() {
            // The prior is forgotten: where readings that wait were taken from is not known any more.
            give_up(state);
            marks::clear(state);
        }
        // The motion contains the correction of the last motion's noise.
        rows.noise.clear();
        enter(state, model, (evidence, stamp), rows);
        Associations { candidates, newcomers, refused, .. } = associate(state, model, evidence, association);
        candidates.iter_mut().for_each(|candidate| refer_to_mean(state, candidate, &wide.moved_by));
    }
    if track_loss.as_deref_mut().is_some_and(|track_loss| track_loss.holds_back(stamp, place, candidates.len(), wide)) {
        hold_back(candidates, wide, &mut refused);
    }
    take_offsets(state, model, stamp, candidates);
    let mut matched = gate(state, model, stamp, candidates, gated, &mut refused);
    if is_contradicted {
        matched = pass_together(state, model, matched, gated, &mut refused, workspace);
    }
    let is_lost = is_lost(track_loss.as_deref_mut(), state, model, input, matched.len(), &refused);
    if is_lost {
        give_up(state);
        marks::clear(state);
        wide.moved_by.clear();
        relocate(state, model, input, rows, (association, gated));
        Associations { candidates, newcomers, refused, .. } = associate(state, model, evidence, association);
        take_offsets(state, model, stamp, candidates);
        matched = gate(state, model, stamp, candidates, gated, &mut refused);
    }
    let predicted = state.pose;
    let mut learned = learned.filter(|_| !is_lost && place == Place::Here);
    if let Some(learned) = &mut learned {
        learned.note_prior(state);
    }
    if wide.moved_by.is_empty() {
        iterate(state, model, matched, rows, rests, workspace);
    }
    let updated = update(state, matched, &model.filter, (&rows.noise, &wide.moved_by), workspace);
    if matched.is_empty() || updated.is_err() {
        move_back(state, &wide.moved_by, &model.filter, workspace);
    }

    if let Some(learned) = learned.filter(|_| updated.is_ok()) {
        learned.note_left_out(gated, |dim| model.gate.known(dim), |reading| model.sensors.dim(reading));
        learned.learn(state, matched, (&motion.covariance, &rows.noise), workspace, stamp);
    }
    readings.clone_from(gated);
    let mut begun_anew = 0;
    match &updated {
        Ok(_) => {
            note_matches(state, matched, stamp, readings);
            state.learn_tilt();
            if let Some(record) = &mut rows.record {
                record.note_matches(state, matched);
            }
            let is_pending = track_loss.as_deref().is_some_and(|track_loss| track_loss.is_pending(stamp));
            begun_anew = if is_pending { 0 } else { note_misfits(state, model, gated, stamp) };
        }
        Err(Singular { .. }) => matched.iter().for_each(|_| refused.add(DropReason::Singular)),
    }
    newcomers = tie_to_world(state, model, newcomers, stamp, &mut refused, readings);
    if track_loss.is_some_and(|track_loss| track_loss.is_suspected()) {
        newcomers.iter().for_each(|_| refused.add(DropReason::Undetermined));
        newcomers = &[];
    }
    if model.map.mode == MapMode::Localization {
        newcomers.iter().for_each(|_| refused.add(DropReason::UnknownLandmark));
        newcomers = &[];
    }
    let added = augment_all(state, model, (newcomers, names), stamp, &mut refused, readings);
    if let Some(record) = &mut rows.record {
        record.note_begun(state, &model.filter, readings);
    }
    prune(state, model, stamp);
    marks::keep(state, &model.motions_over_s, stamp);

    let is_indefinite = updated.is_err_and(|Singular { is_indefinite }| is_indefinite);
    let used = if updated.is_ok() { &*matched } else { &[] };
    let Updated { nis, noise } = updated.unwrap_or_default();
    let moved = before.inverse() * Se2::exp(&rows.of_pose(&noise)) * predicted;
    let is_displaced = is_lost || matches!(place, Place::Elsewhere(_));
    let (dof, accepted) = (numbers(used), used.len());
    Outcome { nis, dof, accepted, added, refused, is_searched, moved, is_displaced, begun_anew, is_indefinite }
}

/// An error that is this part of the noise of a reading does not matter.
const UNFELT: f64 = 1.0 / 3.0;

/// Leaves out the readings with a wide prior that do not tell where the robot is.
fn hold_back(candidates: &mut Vec<Match>, wide: &Wide, refused: &mut Counts) {
    if wide.candidates.is_empty() {
        return;
    }
    let mut index = 0;
    candidates.retain(|_| {
        let is_open = wide.is_open(index);
        index += 1;
        if is_open {
            refused.add(DropReason::Undetermined);
        }
        !is_open
    });
}

/// Propagates the state to the pose at which the cloud at `stamp` was taken.
fn propagate_to(state: &mut State, model: &Model, motion: &Increment, stamp: Stamp, rows: &mut Rows) {
    rows.noise.clear();
    if *motion != Increment::none() {
        propagate(state, motion, &model.filter, rows);
    }
    for feature in &mut state.features {
        feature.is_mapped |= stamp.since(feature.last_seen) > MAPPED_AFTER_S;
    }
}

/// Whether the gate has left out most readings for too long, or those that it has left out agree on another place.
fn is_lost(
    track_loss: Option<&mut TrackLoss>,
    state: &State,
    model: &Model,
    input: &Input<'_>,
    passed: usize,
    refused: &Counts,
) -> bool {
    let gated = refused.get(DropReason::Gated);
    let agreement = || agreement(state, model, input.evidence).unwrap_or_default();
    track_loss.is_some_and(|track_loss| track_loss.reached(input.stamp, passed, gated, agreement))
}

/// How many readings of known features one motion of the robot explains.
fn agreement(state: &State, model: &Model, evidence: Evidence<'_>) -> Option<Agreement> {
    let motion = most_likely_displacement(state, model, evidence)?;
    let agreeing = agreeing(state, (&model.sensors, &model.gate), known(state, model, evidence), &motion);
    Some(Agreement { agreeing, all: known(state, model, evidence).count() })
}

/// Relocates a lost robot: moves it to where the cloud fits the map best, and increases the uncertainty of this motion
/// until most readings pass the gate. An uncertainty this large makes the estimate independent of the new start; the
/// new start makes the update nearly linear.
fn relocate(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    rows: &mut Rows,
    (association, gated): (&mut AssociationRoom, &mut Vec<Associated>),
) {
    let filter = model.filter.rigid();
    let motion = most_likely_displacement(state, model, input.evidence).unwrap_or_default();
    propagate(state, &Increment { motion, ..Increment::none() }, &filter, rows);

    let mut whole = Increment::none();
    for motion in unknown_motions(motion.p.norm().max(motion.theta.abs())) {
        propagate(state, &motion, &filter, rows);
        whole = whole.then(&motion);
        enter(state, model, (input.evidence, input.stamp), rows);
        let Associations { candidates, mut refused, .. } = associate(state, model, input.evidence, association);
        let passed = gate(state, model, input.stamp, candidates, gated, &mut refused).len();
        if refused.get(DropReason::Gated) <= passed as u64 {
            break;
        }
    }
    // All increments together are one unknown motion, and are corrected as one.
    rows.note_noise(state, &whole, &filter);
}

/// The motion of the robot that best explains the readings of features in the map.
fn most_likely_displacement(state: &State, model: &Model, evidence: Evidence<'_>) -> Option<Se2> {
    let known = known(state, model, evidence).map(|(i, reading)| (state.in_robot(i), reading));
    displacement((&model.sensors, &state.mounts), &known.collect::<Vec<_>>()).map(|fit| fit.motion)
}

/// The readings that name a feature of the map, with its index.
fn known<'a>(
    state: &'a State,
    model: &'a Model,
    evidence: Evidence<'a>,
) -> impl Iterator<Item = (usize, Reading)> + 'a {
    let (kind, observations) = match evidence {
        Evidence::Observed { kind, observations, .. } => (kind, observations),
        Evidence::Associated(_) => (FeatureKind::default(), [].as_slice()),
    };
    observations.iter().filter_map(move |observation| {
        let i = state.find(observation.id?)?;
        let reading = model.sensors.read(kind, observation).ok()?;
        (!model.sensors.is_of_pose(&reading)).then_some((i, reading))
    })
}

/// Linearizes all matches, and the effect of the last motion's noise on them, again at the estimate that the update
/// would give, as often as the filter says: Gauss–Newton on the posterior. [`update`] uses the last linearization.
///
/// The effect of the noise on what was not seen stays as it was. Where the robot is so far off that turning about the
/// one place or the other is not the same to the readings, the two would contradict each other, and nothing is
/// linearized again.
fn iterate(
    state: &mut State,
    model: &Model,
    matches: &mut [Match],
    rows: &mut Rows,
    rests: &mut Vec<Vector2<f64>>,
    workspace: &mut Workspace,
) {
    let Some(charts) = model.filter.charts() else { return };
    if !model.filter.is_split() {
        rows.noise.clear();
    }
    for _ in 1..model.filter.iterations() {
        if matches.is_empty() {
            return;
        }
        let Ok(correction) = preview(state, matches, &rows.noise, rests, workspace) else { return };
        let robot = Se2::exp(&rows.of_pose(&correction.noise)) * state.pose;
        let turned = rows.turn_about((robot.p - state.pose.p).norm());
        if matches.iter().any(|matched| is_felt(matched, turned)) {
            return;
        }
        let preview = Preview { noise: correction.noise, robot, rest_of_pose: correction.rest_of_pose, charts };
        rows.begin();
        for (matched, rest) in matches.iter_mut().zip(rests.iter()) {
            relinearize(state, &model.sensors, matched, &preview, rest, rows);
        }
        rows.apply(&mut state.covariance);
    }
}

/// Whether an error of the feature of this size, m, is more than a small part of the noise.
fn is_felt(matched: &Match, size: f64) -> bool {
    let exceeds = |axis| exceeds_noise(&(matched.by_feature * axis * (size / UNFELT)), &matched.noise, matched.dim);
    exceeds(Vector2::x()) || exceeds(Vector2::y())
}

/// Records when the features of the matches were seen, and which readings were used.
fn note_matches(state: &mut State, matches: &[Match], stamp: Stamp, readings: &mut Vec<Associated>) {
    for m in matches {
        if let Subject::Feature(i) = m.subject {
            let feature = &mut state.features[i];
            feature.last_seen = stamp;
            feature.observations = feature.observations.saturating_add(1);
            feature.misfits = 0;
        }
        readings.push(Associated {
            noise_scale: m.noise_scale,
            linearization_point: m.linearization_point,
            ..Associated::new(state.identity(m.subject), m.reading, Role::Again)
        });
    }
}

/// Takes in the readings from outside that nothing is compared with yet; returns the other newcomers. A cloud has one
/// kind or the other.
fn tie_to_world<'n>(
    state: &mut State,
    model: &Model,
    newcomers: &'n [Newcomer],
    stamp: Stamp,
    refused: &mut Counts,
    readings: &mut Vec<Associated>,
) -> &'n [Newcomer] {
    if !newcomers.first().is_some_and(|newcomer| model.sensors.is_of_world(&newcomer.reading)) {
        return newcomers;
    }
    for Newcomer { reading, .. } in newcomers {
        match tie::take(state, &model.sensors, reading, stamp) {
            Ok(()) => {}
            Err(reason) => refused.add(reason),
        }
        readings.push(Associated::new(Subject::Pose, *reading, Role::Held));
    }
    &[]
}

/// Adds new features, and returns how many. They have the numbers that they had before, if these clouds are taken in
/// again.
fn augment_all(
    state: &mut State,
    model: &Model,
    (newcomers, names): (&[Newcomer], &Names),
    stamp: Stamp,
    refused: &mut Counts,
    readings: &mut Vec<Associated>,
) -> usize {
    let mut added = 0;
    for Newcomer { id, reading } in newcomers {
        if is_placeless(&model.sensors, reading) {
            match take(state, model, *id, reading, stamp) {
                Ok(taken) => readings.push(Associated::new(
                    Subject::Feature(id.unwrap_or_default()),
                    *reading,
                    if taken == Taken::Begun { Role::First } else { Role::Held },
                )),
                Err(reason) => refused.add(reason),
            }
            continue;
        }
        if !make_room(state, &model.map, stamp) {
            refused.add(DropReason::MapFull);
            continue;
        }
        let before = names.of_newcomer(reading).filter(|before| state.find(*before).is_none());
        let id = id.or(before).unwrap_or_else(|| state.new_identity());
        if augment(state, &model.sensors, reading, id, stamp, &model.filter) {
            begin_offset(state, model, reading, stamp);
            added += 1;
            readings.push(Associated::new(Subject::Feature(id), *reading, Role::First));
        } else {
            refused.add(DropReason::OutOfRange);
        }
    }
    settle(state, model, stamp);
    added
}
