//! The methods of the chapter.

use lienav_integrate::quaternion::{Iteration, LagrangianQuaternionIntegrator, QuaternionIntegrator};
use lienav_integrate::rattle::Rattle;
use lienav_integrate::shake::{Shake, ShakeSolver};
use lienav_integrate::stormer_verlet::StormerVerlet;
use lienav_integrate::{Convergence, FloatingBodyMethod, RotationMap};

/// What is done with each method.
pub(super) trait Visitor {
    fn visit<M: FloatingBodyMethod>(&mut self, method: &M);
}

/// How many [`visit_all`] visits.
pub(super) const COUNT: usize = 9;

/// In the order they are printed.
pub(super) fn visit_all(visitor: &mut impl Visitor) {
    let convergence = Convergence::default();
    visitor.visit(&QuaternionIntegrator { iteration: Iteration::Cross, convergence });
    visitor.visit(&QuaternionIntegrator { iteration: Iteration::Linear, convergence });
    visitor.visit(&QuaternionIntegrator { iteration: Iteration::Newton, convergence });
    visitor.visit(&LagrangianQuaternionIntegrator::default());
    visitor.visit(&Rattle::default());
    visitor.visit(&StormerVerlet { map: RotationMap::Cayley, convergence });
    visitor.visit(&StormerVerlet { map: RotationMap::Exponential, convergence });
    visitor.visit(&Shake { solver: ShakeSolver::Chord, convergence });
    visitor.visit(&Shake { solver: ShakeSolver::Newton, convergence });
}
