//! What a solution of all submaps comes to, and what it leaves behind.

use crate::problem::{Placed, Problem, Solution};
use lienav_lie::Se2;
use nalgebra::Vector2;
use std::sync::Arc;

/// What the work of a solution comes to.
pub(super) struct Solved {
    pub solution: Solution,
    /// What was solved for, with everything where the solution has it: the problem goes on from that.
    pub problem: Problem,
}

/// What is of no use any more.
pub(super) struct Old {
    pub _solution: Option<Arc<Solution>>,
    /// Submaps, bases and landmarks of a problem.
    pub _problem: (Vec<Placed>, Vec<Se2>, Vec<Vector2<f64>>),
}
