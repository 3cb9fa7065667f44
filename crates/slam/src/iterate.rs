//! Gauss–Newton on the posterior: matches are linearized again where the update would bring the estimate.

use lienav_associate::wide_prior::exceeds_noise;
use lienav_lie::Se2;
use lienav_planar::linearize::{Match, Preview, relinearize};
use lienav_planar::model::Model;
use lienav_planar::propagate::Rows;
use lienav_planar::state::State;
use lienav_planar::update::{Workspace, preview};
use nalgebra::Vector2;
/// An error that is this part of the noise of a measurement does not matter.
const UNFELT: f64 = 1.0 / 3.0;

/// Linearizes all matches, and the effect of the last motion's noise on them, again at the estimate that the update
/// would give, as often as the filter says: Gauss–Newton on the posterior. [`update`] uses the last linearization.
///
/// The effect of the noise on what was not seen stays as it was. Where the robot is so far off that turning about the
/// one place or the other is not the same to the measurements, the two would contradict each other, and nothing is
/// linearized again.
pub fn iterate(
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
        if matches.iter().any(|matched| is_significant(matched, turned)) {
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

/// Whether an error of the landmark of this size, m, is more than a small part of the noise.
fn is_significant(matched: &Match, size: f64) -> bool {
    let exceeds = |axis| exceeds_noise(&(matched.by_landmark * axis * (size / UNFELT)), &matched.noise, matched.dim);
    exceeds(Vector2::x()) || exceeds(Vector2::y())
}
