//! Tags on bodies that move, as on a cart or a person: they are followed, and say nothing of the pose of the robot.
//!
//! Which ones these are is stated, or found: a tag that was not where the state had it, again and again, while others
//! of the same images were. A found one becomes a landmark again when it has rested for as long as it is trusted.

use crate::sight::Sight;
use crate::square::{Solutions, solve};
use lienav_base::stamp::Stamp;
use lienav_inertial::chi_square::chi2_bound;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3, hat};
use nalgebra::{Matrix3, Matrix6, SMatrix};
use std::collections::BTreeSet;

/// A tag that was removed so often, while other tags were where they had been, is on something that moves: once is a
/// tag that was hung elsewhere.
const MOVES: u32 = 2;

/// A found one that rests for so many frames becomes a landmark again, and each time that it moves then, for twice as
/// many: 5 s at 20 Hz.
const REST: u32 = 100;

/// So many tags are followed; the one that was not seen for longest makes place for another.
const MOST: usize = 64;

/// Probability of the gate that the place of a resting tag passes.
const GATE: f64 = 0.999;

/// A tag that moves, where it was seen last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Followed {
    /// Its identity.
    pub id: u64,
    /// x_world = R x_tag + p.
    pub pose: Se3,
    /// Covariance of p, m², and of a small rotation about the axes of the world, rad², with that of the robot's pose.
    pub covariance: Matrix6<f64>,
    /// Where it has been since it moved last, and the covariance of that place, m².
    rests: (Se3, Matrix3<f64>),
    /// For how many frames.
    rested: u32,
    /// The frame that saw it last.
    frame: u64,
    /// When that was, where it is stated.
    pub stamp: Option<Stamp>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Moving {
    /// As stated.
    listed: BTreeSet<u64>,
    /// How often a tag was removed while others were where they had been, and whether it is taken for moving.
    found: Vec<(u64, u32, bool)>,
    seen: Vec<Followed>,
    /// The instant of the frame.
    pub now: Option<Stamp>,
}

impl Moving {
    /// With the tags that are stated to move.
    pub fn new(listed: BTreeSet<u64>) -> Self {
        Self { listed, found: Vec::with_capacity(MOST), seen: Vec::with_capacity(MOST), now: None }
    }

    /// Whether a tag is on something that moves.
    pub fn contains(&self, id: u64) -> bool {
        self.listed.contains(&id) || self.found.iter().any(|(other, _, moves)| *other == id && *moves)
    }

    /// Those that were found and not stated.
    pub fn found(&self) -> impl Iterator<Item = u64> + '_ {
        self.found.iter().filter(|(_, _, moves)| *moves).map(|(id, ..)| *id)
    }

    /// Where they were seen last.
    pub fn seen(&self) -> impl Iterator<Item = &Followed> {
        self.seen.iter()
    }

    /// A tag of the state was not where it had been, while others were.
    pub fn removed(&mut self, id: u64) {
        if let Some((_, count, moves)) = self.found.iter_mut().find(|(other, ..)| *other == id) {
            *count = count.saturating_add(1);
            *moves = *count >= MOVES;
            return;
        }
        if self.found.len() == MOST {
            self.found.remove(0);
        }
        self.found.push((id, 1, false));
    }

    /// A tag that moves is seen; one that has rested for long enough is a landmark again.
    pub fn follow(&mut self, state: &State, sight: &Sight, frame: u64, filter: &Filter) {
        let Some(solutions) = solve(sight) else { return };
        let k = self.seen.iter().position(|one| one.id == sight.id);
        let last = k.and_then(|k| self.seen.get(k)).copied();
        let Some((pose, covariance)) = placed(state, &solutions, last.as_ref(), filter) else { return };
        let own = covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let anew = Followed { id: sight.id, pose, covariance, rests: (pose, own), rested: 0, frame, stamp: self.now };
        let now = match last {
            Some(last) if last.frame == frame => return,
            Some(last) if is_there(&last.rests, &pose, &own) => {
                Followed { rests: last.rests, rested: last.rested.saturating_add(1), ..anew }
            }
            _ => anew,
        };
        let entry = self.found.iter_mut().find(|(id, _, moves)| *id == sight.id && *moves);
        if let Some((_, count, moves)) = entry.filter(|_| !self.listed.contains(&sight.id)) {
            let wait = REST.saturating_mul(1 << count.saturating_sub(MOVES).min(16));
            if now.rested >= wait {
                *moves = false;
                self.seen.retain(|one| one.id != sight.id);
                return;
            }
        }
        if let Some(one) = k.and_then(|k| self.seen.get_mut(k)) {
            *one = now;
            return;
        }
        if self.seen.len() == MOST
            && let Some(oldest) = (0..MOST).min_by_key(|k| self.seen[*k].frame)
        {
            self.seen.swap_remove(oldest);
        }
        self.seen.push(now);
    }
}

/// The pose of a tag in the world by its corners, with its covariance: of the two that a square has, the one that is
/// turned like the last where neither is clearly better.
fn placed(
    state: &State,
    solutions: &Solutions,
    last: Option<&Followed>,
    filter: &Filter,
) -> Option<(Se3, Matrix6<f64>)> {
    /// The better one is right at these odds, as twice their logarithm: a thousand to one.
    const CLEAR: f64 = 13.8;
    let body = Se3::new(state.nav.rotation, state.nav.position);
    let off =
        |pose: &Se3| last.map_or(0.0, |last| ((body * *pose).rotation * last.pose.rotation.inverse()).log().norm());
    let fit = match solutions.other {
        Some(other) if solutions.margin() < CLEAR && off(&other.pose) < off(&solutions.best.pose) => other,
        _ => solutions.best,
    };
    let pose = body * fit.pose;
    let mut own = fit.information.try_inverse()?;
    let place = solutions.place_covariance()?;
    own.fixed_view_mut::<3, 3>(0, 0).copy_from(&place);
    if solutions.margin() < CLEAR {
        // Either of both: nothing is known of how place and turn go together.
        let apart = solutions
            .other
            .map_or(0.0, |other| (other.pose.rotation * solutions.best.pose.rotation.inverse()).log().norm_squared());
        own.fixed_view_mut::<3, 3>(0, 3).fill(0.0);
        own.fixed_view_mut::<3, 3>(3, 0).fill(0.0);
        (3..6).for_each(|k| own[(k, k)] += apart);
    }
    let turn = *body.rotation.matrix();
    let mut to_world = Matrix6::zeros();
    to_world.fixed_view_mut::<3, 3>(0, 0).copy_from(&turn);
    to_world.fixed_view_mut::<3, 3>(3, 3).copy_from(&turn);
    let own = to_world * own * to_world.transpose();
    // δp_tag = δp + δθ × (p_tag − p).
    let mut by_body = SMatrix::<f64, 6, 6>::identity();
    by_body.fixed_view_mut::<3, 3>(0, 3).copy_from(&-hat(&(pose.translation - body.translation)));
    let all = by_body * state.pose_covariance(filter) * by_body.transpose() + own;
    let all = 0.5 * (all + all.transpose());
    all.cholesky()?;
    Some((pose, all))
}

/// Whether a tag is where it rests.
fn is_there(rests: &(Se3, Matrix3<f64>), pose: &Se3, own: &Matrix3<f64>) -> bool {
    let apart = pose.translation - rests.0.translation;
    let both = rests.1 + own;
    both.cholesky().is_some_and(|factor| apart.dot(&factor.solve(&apart)) < chi2_bound(3, GATE))
}
