//! Tags that the state does not have yet: they wait until it is clear which of the two poses of a square is theirs.

use crate::sight::{Fit, Sight, fit};
use crate::square::Solutions;
use lienav_inertial::chi_square::chi2_bound;
use lienav_lie::{LieGroup, Se3};

/// Views of a waiting tag.
pub const VIEWS: usize = 6;

/// A tag with the views of it from several poses.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: u64,
    views: [(Sight, Se3); VIEWS],
    count: usize,
    /// When it was seen last, in frames.
    frame: u64,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Waitings {
    all: Vec<Waiting>,
    frame: u64,
    views: Vec<(Sight, Se3)>,
}

/// Most tags that wait; the one that was not seen for longest makes place for another.
const MOST: usize = 64;

/// Views are kept that are apart by this angle, rad, as seen from the tag, or by this distance, m; those of two squares of
/// a board are.
const APART: f64 = 0.03;

impl Waitings {
    /// With its buffers.
    pub fn new() -> Self {
        Self { all: Vec::with_capacity(MOST), frame: 0, views: Vec::with_capacity(VIEWS + 1) }
    }

    /// A new frame.
    pub fn begin_frame(&mut self) {
        self.frame += 1;
    }

    /// Forgets a tag.
    pub fn remove(&mut self, id: u64) {
        self.all.retain(|one| one.id != id);
    }

    /// A tag was seen from a body at this pose: its pose relative to the body, if one of the two solutions explains all
    /// views, and the other one does not, by a difference of χ² of `odds`.
    pub fn decide(&mut self, sight: &Sight, body: &Se3, solutions: &Solutions, odds: f64) -> Option<Fit> {
        /// Of the eight numbers of a view, six are fitted in the first one.
        const NUMBERS: usize = 8;
        let i = self.place_of(sight, body);
        let waiting = &mut self.all[i];
        waiting.frame = self.frame;
        self.views.clear();
        self.views.extend_from_slice(&waiting.views[..waiting.count]);
        self.views.push((*sight, *body));
        let bound = chi2_bound(NUMBERS * self.views.len() - 6, GATE);
        let both = [Some(solutions.best), solutions.other];
        let costs = both.map(|one| one.and_then(|one| fit(&self.views, &(*body * one.pose))));
        let winner = match costs {
            [Some(a), Some(b)] if a.cost + odds < b.cost => Some((a, solutions.best)),
            [Some(a), Some(b)] if b.cost + odds < a.cost => solutions.other.map(|other| (b, other)),
            [Some(a), None] => Some((a, solutions.best)),
            [None, Some(b)] => solutions.other.map(|other| (b, other)),
            // Both starts lead to one pose.
            [Some(a), Some(b)] if is_same(&a, &b) => Some((a, solutions.best)),
            _ => None,
        };
        if let Some((joint, own)) = winner
            && joint.cost < bound
        {
            // The state learns of this view alone: the others chose.
            let near = sight.fit(&(body.inverse() * joint.pose)).filter(|fit| fit.cost <= own.cost + odds);
            self.all.swap_remove(i);
            return near;
        }
        self.keep(i, sight, body);
        None
    }

    fn place_of(&mut self, sight: &Sight, body: &Se3) -> usize {
        if let Some(i) = self.all.iter().position(|one| one.id == sight.id) {
            return i;
        }
        if self.all.len() >= MOST
            && let Some(oldest) = (0..self.all.len()).min_by_key(|k| self.all[*k].frame)
        {
            self.all.swap_remove(oldest);
        }
        self.all.push(Waiting { id: sight.id, views: [(*sight, *body); VIEWS], count: 0, frame: self.frame });
        self.all.len() - 1
    }

    /// Keeps a view that differs from those before; of too many, the oldest goes.
    fn keep(&mut self, i: usize, sight: &Sight, body: &Se3) {
        let waiting = &mut self.all[i];
        let camera = |(sight, body): &(Sight, Se3)| *body * sight.on_body;
        let last = waiting.count.checked_sub(1).map(|k| waiting.views[k]);
        let own = camera(&(*sight, *body));
        let is_new = last.is_none_or(|view| {
            let last = camera(&view);
            let on_tag = (sight.on_tag.translation - view.0.on_tag.translation).norm();
            let shift = (own.translation - last.translation).norm();
            let turn = (own.rotation * last.rotation.inverse()).log().norm();
            turn > APART || shift > APART || on_tag > APART
        });
        if !is_new {
            return;
        }
        if waiting.count == VIEWS {
            waiting.views.rotate_left(1);
            waiting.count -= 1;
        }
        waiting.views[waiting.count] = (*sight, *body);
        waiting.count += 1;
    }
}

/// Probability of the gate that all views of a tag must pass together.
const GATE: f64 = 0.999;

fn is_same(a: &Fit, b: &Fit) -> bool {
    const SAME: f64 = 1e-3;
    (a.pose.rotation * b.pose.rotation.inverse()).log().norm() < SAME
}
