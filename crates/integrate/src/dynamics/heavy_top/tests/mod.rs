//! Methods on a top, each against the motion as RKMK 5(4) with a thousand steps has it.

mod by_group_action;
mod on_the_cotangent_bundle;

use super::*;
use crate::LieGroupMethod;
use lienav_lie::{HomogeneousSpace, LieGroup};

/// Slower than that of the text, and without symmetry.
fn top() -> HeavyTop {
    HeavyTop {
        moments: Vector3::new(0.8, 1.3, 2.1),
        first_moment: Vector3::new(0.2, 1.0, -0.3),
        gravity: Vector3::new(0.0, 1.0, -3.0),
    }
}

fn start() -> Canonical {
    (So3::exp(&Vector3::new(0.3, -0.2, 0.5)), Translation(Vector3::new(1.0, 2.0, -1.5)))
}

fn run<M: HomogeneousSpace>(method: &dyn LieGroupMethod<M, HeavyTop>, start: &M, steps: u32) -> M
where
    HeavyTop: VectorField<M>,
{
    let h = 1.0 / f64::from(steps);
    (0..steps).fold(start.clone(), |y, k| method.step(&top(), &y, f64::from(k) * h, h).unwrap())
}
