//! Measurements of new landmarks, and the first measurements from outside.

use crate::associate::Associations;
use crate::delayed_initialization::{Taken, is_placeless, settle, take};
use lienav_base::stamp::Stamp;
use lienav_planar::associated::{Associated, Newcomer, Role, Subject};
use lienav_planar::augment::augment;
use lienav_planar::config::MapMode;
use lienav_planar::georeference;
use lienav_planar::model::Model;
use lienav_planar::names::Names;
use lienav_planar::output::{Counts, DropReason};
use lienav_planar::prune::make_room;
use lienav_planar::state::State;
use lienav_planar::time_correlated_errors::begin_offset;
/// Adds new landmarks, and returns how many. They have the numbers that they had before, if these scans are taken in
/// again. None is added while it is suspected that the robot is elsewhere, nor to a known map that stays as it is;
/// measurements from outside are compared with the map from then on.
pub fn augment_all(
    state: &mut State,
    model: &Model,
    (Associations { newcomers, refused, .. }, names): (&mut Associations, &Names),
    stamp: Stamp,
    is_suspected: bool,
    measurements: &mut Vec<Associated>,
) -> usize {
    let mut newcomers = georeference_map(state, model, newcomers, stamp, refused, measurements);
    if is_suspected {
        newcomers.iter().for_each(|_| refused.add(DropReason::Undetermined));
        newcomers = &[];
    }
    if model.map.mode == MapMode::Localization {
        newcomers.iter().for_each(|_| refused.add(DropReason::UnknownLandmark));
        newcomers = &[];
    }
    let mut added = 0;
    for Newcomer { id, measurement } in newcomers {
        if is_placeless(&model.sensors, measurement) {
            match take(state, model, *id, measurement, stamp) {
                Ok(taken) => measurements.push(Associated::new(
                    Subject::Landmark(id.unwrap_or_default()),
                    *measurement,
                    if taken == Taken::Initialized { Role::First } else { Role::Held },
                )),
                Err(reason) => refused.add(reason),
            }
            continue;
        }
        if !make_room(state, &model.map, stamp) {
            refused.add(DropReason::MapFull);
            continue;
        }
        let before = names.of_newcomer(measurement).filter(|before| state.find(*before).is_none());
        let id = id.or(before).unwrap_or_else(|| state.new_identity());
        if augment(state, &model.sensors, measurement, id, stamp, &model.filter) {
            begin_offset(state, model, measurement, stamp);
            added += 1;
            measurements.push(Associated::new(Subject::Landmark(id), *measurement, Role::First));
        } else {
            refused.add(DropReason::OutOfRange);
        }
    }
    settle(state, model, stamp);
    added
}

/// Takes in the measurements from outside that nothing is compared with yet; returns the other newcomers. A scan has
/// one kind or the other.
fn georeference_map<'n>(
    state: &mut State,
    model: &Model,
    newcomers: &'n [Newcomer],
    stamp: Stamp,
    refused: &mut Counts,
    measurements: &mut Vec<Associated>,
) -> &'n [Newcomer] {
    if !newcomers.first().is_some_and(|newcomer| model.sensors.is_of_world(&newcomer.measurement)) {
        return newcomers;
    }
    for Newcomer { measurement, .. } in newcomers {
        match georeference::take(state, &model.sensors, measurement, stamp) {
            Ok(()) => {}
            Err(reason) => refused.add(reason),
        }
        measurements.push(Associated::new(Subject::Pose, *measurement, Role::Held));
    }
    &[]
}
