//! The pose at the newest sample of the inertial sensor: the last step, propagated. Its covariance is that of the pose
//! alone, so that it costs the same however many landmarks there are.

use crate::check::sound;
use crate::input::ImuSample;
use crate::output::PoseEstimate;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::propagate::Interval;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{Errors, POSITION, ROTATION, VELOCITY};
use lienav_inertial::state::nav::Nav;
use lienav_lie::Se3;
use nalgebra::Matrix6;

/// The last step, and the samples since.
#[derive(Clone, Debug)]
pub struct Ahead {
    integrator: Integrator,
    nav: Nav,
    gravity: f64,
    /// Of the left errors.
    covariance: NavMatrix,
}

impl Ahead {
    /// After a step of this state; `samples` are those that wait.
    pub fn new(state: &State, filter: &Filter, integrator: &Integrator) -> Self {
        let (nav, gravity, covariance) = (state.nav, state.gravity, left(state, filter));
        Self { integrator: integrator.clone(), nav, gravity, covariance }
    }

    /// The same, without an allocation.
    pub fn restart<'a>(
        &mut self,
        state: &State,
        filter: &Filter,
        integrator: &Integrator,
        samples: impl IntoIterator<Item = &'a ImuSample>,
    ) {
        (self.nav, self.gravity, self.covariance) = (state.nav, state.gravity, left(state, filter));
        self.integrator.copy_from(integrator);
        samples.into_iter().for_each(|sample| self.push(sample));
    }

    /// One more sample.
    pub fn push(&mut self, sample: &ImuSample) {
        // What is not in order was dropped before.
        let _ = self.integrator.push(*sample);
    }

    /// The estimate at the newest sample; `None` where it is no longer one.
    pub fn estimate(&self) -> Option<PoseEstimate> {
        let (stamp, increment) = self.integrator.until_newest()?;
        estimate(stamp, &self.nav, &self.covariance, &increment, self.gravity)
    }
}

/// Covariance of the left errors of the navigation state.
fn left(state: &State, filter: &Filter) -> NavMatrix {
    let change = filter.errors.from_left_inverse(&state.nav);
    change * state.covariance.nav() * change.transpose()
}

fn estimate(
    stamp: Stamp,
    nav: &Nav,
    covariance: &NavMatrix,
    increment: &Preintegrated,
    gravity: f64,
) -> Option<PoseEstimate> {
    let moved = nav.moved(&increment.increment, gravity);
    let interval = Interval::new(nav, increment, gravity);
    let own = interval.transition * covariance * interval.transition.transpose() + interval.noise;
    let change = Errors::Additive.from_left(&moved);
    let all = change * own * change.transpose();
    let rows: [usize; 6] = std::array::from_fn(|i| if i < 3 { POSITION + i } else { ROTATION + i - 3 });
    let covariance = Matrix6::from_fn(|i, j| 0.5 * (all[(rows[i], rows[j])] + all[(rows[j], rows[i])]));
    sound(&moved, &covariance).map(|covariance| PoseEstimate {
        stamp,
        pose: Se3::new(moved.rotation, moved.position),
        covariance,
        velocity: moved.velocity,
        velocity_covariance: all.fixed_view::<3, 3>(VELOCITY, VELOCITY).into_owned(),
        rate: increment.end_rate,
        biases: moved.biases,
    })
}
