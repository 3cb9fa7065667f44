//! Whether landmarks of a known map are still where the map has them.
//!
//! A landmark that was **moved** is read outside of its gate again and again, while others fit. One that has **gone**
//! is not read where it should be. What "should" means is learned: how often landmarks are read at which distance and
//! bearing, so that the field of view needs no settings. A wall or a parked truck hides a landmark, too; therefore only
//! looks from nearby count, each from another place, and from more than one side.
//!
//! Scans judge landmarks only if most of their measurements fit: a wrong pose says nothing of the map.

use crate::step::Outcome;
use lienav_associate::association::rates::{BINS, FADE, bin};
use lienav_associate::thresholds::{CONFIRMING, MILLION_TO_ONE, VERY_LIKELY};
use lienav_base::stamp::Stamp;
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::belief::{LandmarkStatus, STRIKES, STRUCK_FOR_S};
use lienav_planar::filter::Coordinates;
use lienav_planar::known_map::KnownMap;
use lienav_planar::output::DropReason;
use lienav_planar::state::State;

/// How often landmarks are read that should be, by bearing and distance in the robot frame.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Expected, and read; by bearing, and by distance in octaves.
    bins: [(f64, f64); BINS],
    /// The mean distance of measurements, m, and of how many.
    distance: (f64, f64),
}

impl Default for Watch {
    fn default() -> Self {
        Self { bins: [(0.0, 0.0); BINS], distance: (0.0, 0.0) }
    }
}

impl Watch {
    /// Judges the landmarks of the state by a scan. Landmarks that are no longer believed are given to `lose`.
    pub fn judge(
        &mut self,
        (state, known): (&State, &mut KnownMap),
        (measurements, outcome): (&[Associated], &Outcome),
        stamp: Stamp,
        lose: &mut Vec<u32>,
    ) {
        lose.clear();
        let gated = measurements.iter().filter(|measurement| measurement.role == Role::Gated).count();
        if outcome.accepted < CONFIRMING.max(2 * gated) || outcome.is_displaced {
            return;
        }
        self.judge_measurements(known, measurements, stamp, lose);
        // A measurement that fits two may be of either.
        let unclear = [DropReason::Ambiguous, DropReason::TooManyPoints, DropReason::Undetermined];
        if unclear.iter().all(|reason| outcome.refused.get(*reason) == 0) {
            self.judge_absent((state, known), measurements, lose);
        }
    }

    fn judge_measurements(
        &mut self,
        known: &mut KnownMap,
        measurements: &[Associated],
        stamp: Stamp,
        lose: &mut Vec<u32>,
    ) {
        for measurement in measurements {
            let Subject::Landmark(id) = measurement.subject else { continue };
            let Some(belief) = known.belief_mut(id) else { continue };
            (belief.absence, belief.looked_from, belief.first_side) = (0.0, None, None);
            belief.is_from_two_sides = false;
            if measurement.role != Role::Gated {
                belief.strikes = 0;
                if belief.status == LandmarkStatus::Gone {
                    belief.status = LandmarkStatus::Ok;
                }
                continue;
            }
            if belief.strikes == 0 {
                belief.struck_since = stamp;
            }
            belief.strikes += 1;
            if belief.strikes >= STRIKES && stamp.since(belief.struck_since) >= STRUCK_FOR_S {
                (belief.strikes, belief.status) = (0, LandmarkStatus::Moved);
                lose.push(id);
            }
        }
    }

    fn judge_absent(
        &mut self,
        (state, known): (&State, &mut KnownMap),
        measurements: &[Associated],
        lose: &mut Vec<u32>,
    ) {
        /// Looks count if the robot moved by this since the last, m.
        const APART_M: f64 = 0.3;
        /// Two sides: 45° apart.
        const OTHER_SIDE: f64 = std::f64::consts::FRAC_1_SQRT_2;
        /// Looks from nearer than this fraction of the mean distance of measurements count.
        const NEARBY: f64 = 0.8;
        self.bins.iter_mut().for_each(|(expected, read)| (*expected, *read) = (FADE * *expected, FADE * *read));
        for i in 0..state.landmarks.len() {
            let landmark = &state.landmarks[i];
            let id = landmark.id;
            let distance = match state.coordinates {
                Coordinates::Robot => landmark.x.norm(),
                Coordinates::World | Coordinates::Invariant => (landmark.x - state.pose.p).norm(),
            };
            let is_read = measurements.iter().any(|measurement| measurement.subject == Subject::Landmark(id));
            let is_near = distance * self.distance.1 < NEARBY * self.distance.0;
            if is_read {
                self.distance = (self.distance.0 + distance, self.distance.1 + 1.0);
            }
            if !is_near {
                continue;
            }
            let Some(belief) = known.belief_mut(id) else { continue };
            let z = state.in_robot(i);
            let bin = &mut self.bins[bin(&z)];
            bin.0 += 1.0;
            if is_read {
                bin.1 += 1.0;
                continue;
            }
            // The prior is that of a sensor that sees nothing: four looks.
            let probability = (bin.1 / (bin.0 + 4.0)).min(VERY_LIKELY);
            let robot = state.pose.p;
            let is_new_look = belief.looked_from.is_none_or(|from| (robot - from).norm() > APART_M);
            let side = (robot - state.pose.transform(&z)).try_normalize(1e-6);
            let (true, Some(side)) = (is_new_look, side) else { continue };
            belief.looked_from = Some(robot);
            belief.absence += (1.0 - probability).ln();
            belief.is_from_two_sides |= belief.first_side.get_or_insert(side).dot(&side) < OTHER_SIDE;
            if belief.absence < -MILLION_TO_ONE.ln && belief.is_from_two_sides {
                belief.status = LandmarkStatus::Gone;
                (belief.absence, belief.first_side, belief.is_from_two_sides) = (0.0, None, false);
                lose.push(id);
            }
        }
        if self.distance.1 > 1e6 {
            self.distance = (0.5 * self.distance.0, 0.5 * self.distance.1);
        }
    }
}
