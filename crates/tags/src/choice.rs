//! Which pose of a tag is the right one: by its prior, and by what the other tags of a frame say.

use crate::joint::Joint;
use crate::posterior::{Posterior, maximize};
use crate::sight::Sight;
use crate::square::solve;
use lienav_lie::LieGroup;
use nalgebra::Vector6;

/// Where the rotation between body and tag is known to this, rad, one of the poses of a square is out of question.
pub const NARROW: f64 = 0.1;

/// The posterior of a tag, and another one that is nearly as good: both poses of the square are tried where the prior
/// does not rule one out.
pub fn choose(sight: &Sight, joint: &Joint, is_narrow: bool, odds: f64) -> Option<(Posterior, Option<Posterior>)> {
    let zero = Vector6::zeros();
    let from_prior = maximize(sight, joint, &zero);
    if let (Some(found), true) = (from_prior, is_narrow) {
        return Some((found, None));
    }
    let solutions = solve(sight)?;
    let starts = [Some(solutions.best), solutions.other].map(|fit| fit.map(|fit| joint.numbers_of(&fit.pose)));
    let [one, two] = starts.map(|start| start.and_then(|start| maximize(sight, joint, &start)));
    let mut found = [one, two, from_prior];
    let cost = |one: &Option<Posterior>| one.map_or(f64::INFINITY, |one| one.cost);
    found.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let best = found[0]?;
    let rotation = |one: &Posterior| joint.pose(&one.y).0.rotation;
    let is_other = |one: &&Posterior| (rotation(one) * rotation(&best).inverse()).log().norm() > 0.5 * NARROW;
    let other = found.iter().flatten().find(is_other).filter(|other| other.cost < best.cost + odds).copied();
    Some((best, other))
}

/// What other tags say of a posterior: their costs, each up to a bound, and how many pass the gate.
#[derive(Clone, Copy, Default)]
pub struct Weight {
    /// Sum of their costs.
    pub cost: f64,
    /// How many agree.
    pub agree: usize,
    /// How many contradict.
    pub contradict: usize,
}

impl Weight {
    /// Whether more of them contradict than agree.
    pub fn is_contradicted(&self) -> bool {
        self.contradict > self.agree
    }
}
