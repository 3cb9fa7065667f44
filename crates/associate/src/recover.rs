//! What is exceptional in a step: a prior that is too wide to linearize at, and a robot that is lost.

use crate::active_landmarks::activate;
use crate::associate::{Associations, Evidence, Input, associate};
use crate::delayed_initialization::give_up;
use crate::displaced::{displace, is_allowed, linearize_there, refer_to_mean};
use crate::gate::gate;
use crate::relocate::{agreeing, displacement};
use crate::track_loss::{Agreement, TrackLoss, unknown_motions};
use crate::wide_prior::{Place, Wide, place};
use lienav_lie::Se2;
use lienav_planar::associated::Associated;
use lienav_planar::checked::CheckedMeasurement;
use lienav_planar::input::MeasurementKind;
use lienav_planar::model::Model;
use lienav_planar::motion::Increment;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::pose_clones;
use lienav_planar::propagate::{Rows, propagate};
use lienav_planar::state::State;
use lienav_planar::time_correlated_errors::take_offsets;

/// What became of the prior before the gate.
#[derive(Clone, Copy, Debug)]
pub struct Recovered {
    /// Where the measurements of landmarks with a wide prior have the robot.
    pub place: Place,
    /// Whether what is known of the robot in the map speaks against that.
    pub is_contradicted: bool,
}

/// Moves a prior that is too wide to linearize at to where the measurements of the scan have the robot, and associates
/// again there; leaves out measurements that do not tell where it is.
pub fn recover(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    track_loss: Option<&mut TrackLoss>,
    (associations, wide, rows): (&mut Associations, &mut Wide, &mut Rows),
) -> Recovered {
    let mut place = place(state, model, &associations.matches, wide);
    let mut is_contradicted = false;
    if let Place::Elsewhere(motion) = place
        && !is_allowed(state, &motion, &wide.members, model.gate.displaced())
    {
        (place, is_contradicted) = (Place::Here, !state.is_frozen);
    }
    if let Place::Elsewhere(motion) = place
        && !linearize_there(state, model, &mut associations.matches, &motion)
    {
        displace(state, &motion, &wide.members, model.gate.displaced(), &mut wide.moved_by);
        if wide.moved_by.is_empty() {
            // The prior is forgotten: where measurements that wait were taken from is not known any more.
            give_up(state);
            pose_clones::clear(state);
        }
        // The motion contains the correction of the last motion's noise.
        rows.noise.clear();
        activate(state, model, (input.evidence, input.stamp), rows);
        associate(state, model, input.evidence, associations);
        associations.matches.iter_mut().for_each(|candidate| refer_to_mean(state, candidate, &wide.moved_by));
    }
    let candidates = associations.matches.len();
    if track_loss.is_some_and(|track_loss| track_loss.holds_back(input.stamp, place, candidates, wide)) {
        hold_back(associations, wide);
    }
    Recovered { place, is_contradicted }
}

/// Leaves out the measurements with a wide prior that do not tell where the robot is.
fn hold_back(Associations { matches, refused, .. }: &mut Associations, wide: &Wide) {
    if wide.candidates.is_empty() {
        return;
    }
    let mut index = 0;
    matches.retain(|_| {
        let is_open = wide.is_open(index);
        index += 1;
        if is_open {
            refused.add(DropReason::Undetermined);
        }
        !is_open
    });
}

/// Relocates the robot where the gate has left out most measurements for too long, and associates and gates again
/// there. Returns whether it was lost.
pub fn relocate_if_lost(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    track_loss: Option<&mut TrackLoss>,
    (associations, wide, rows, gated): (&mut Associations, &mut Wide, &mut Rows, &mut Vec<Associated>),
) -> bool {
    let is_lost = is_lost(track_loss, state, model, input, associations.matches.len(), &associations.refused);
    if is_lost {
        give_up(state);
        pose_clones::clear(state);
        wide.moved_by.clear();
        relocate(state, model, input, rows, (associations, gated));
        associate(state, model, input.evidence, associations);
        take_offsets(state, model, input.stamp, &mut associations.matches);
        gate(state, model, input.stamp, associations, gated);
    }
    is_lost
}

/// Whether the gate has left out most measurements for too long, or those that it has left out agree on another place.
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

/// How many measurements of known landmarks one motion of the robot explains.
fn agreement(state: &State, model: &Model, evidence: Evidence<'_>) -> Option<Agreement> {
    let motion = most_likely_displacement(state, model, evidence)?;
    let agreeing = agreeing(state, (&model.sensors, &model.gate), known(state, model, evidence), &motion);
    Some(Agreement { agreeing, all: known(state, model, evidence).count() })
}

/// Relocates a lost robot: moves it to where the scan fits the map best, and increases the uncertainty of this motion
/// until most measurements pass the gate. An uncertainty this large makes the estimate independent of the new start;
/// the new start makes the update nearly linear.
fn relocate(
    state: &mut State,
    model: &Model,
    input: &Input<'_>,
    rows: &mut Rows,
    (associations, gated): (&mut Associations, &mut Vec<Associated>),
) {
    let filter = model.filter.rigid();
    let motion = most_likely_displacement(state, model, input.evidence).unwrap_or_default();
    propagate(state, &Increment { motion, ..Increment::none() }, &filter, rows);

    let mut whole = Increment::none();
    for motion in unknown_motions(motion.p.norm().max(motion.theta.abs())) {
        propagate(state, &motion, &filter, rows);
        whole = whole.then(&motion);
        activate(state, model, (input.evidence, input.stamp), rows);
        associate(state, model, input.evidence, associations);
        gate(state, model, input.stamp, associations, gated);
        if associations.refused.get(DropReason::Gated) <= associations.matches.len() as u64 {
            break;
        }
    }
    // All increments together are one unknown motion, and are corrected as one.
    rows.note_noise(state, &whole, &filter);
}

/// The motion of the robot that best explains the measurements of landmarks in the map.
fn most_likely_displacement(state: &State, model: &Model, evidence: Evidence<'_>) -> Option<Se2> {
    let known = known(state, model, evidence).map(|(i, checked)| (state.in_robot(i), checked));
    displacement((&model.sensors, &state.mounts), &known.collect::<Vec<_>>()).map(|fit| fit.motion)
}

/// The measurements that name a landmark of the map, with its index.
fn known<'a>(
    state: &'a State,
    model: &'a Model,
    evidence: Evidence<'a>,
) -> impl Iterator<Item = (usize, CheckedMeasurement)> + 'a {
    let (kind, measurements) = match evidence {
        Evidence::Observed { kind, measurements, .. } => (kind, measurements),
        Evidence::Associated(_) => (MeasurementKind::default(), [].as_slice()),
    };
    measurements.iter().filter_map(move |measurement| {
        let i = state.find(measurement.id?)?;
        let checked = model.sensors.read(kind, measurement).ok()?;
        (!model.sensors.is_of_pose(&checked)).then_some((i, checked))
    })
}
