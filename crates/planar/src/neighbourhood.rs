//! Where in the map the landmark of a measurement may be.

use crate::checked::CheckedMeasurement;
use crate::measurement::value::MAX_DIM;
use crate::model::Model;
use crate::state::State;
use nalgebra::Vector2;
/// The radius of a gate that is linearized is taken to be larger by this factor.
const MARGIN: f64 = 1.2;

/// Where in the map the landmark of a measurement may be: everything that its gates reach is within `radius` of
/// `centre`.
#[derive(Clone, Copy, Debug)]
pub struct Neighbourhood {
    /// In the map, m.
    pub centre: Vector2<f64>,
    /// m.
    pub radius: f64,
}

impl Neighbourhood {
    /// Of a measurement; `None` if it does not say where its landmark is.
    pub fn of(state: &State, model: &Model, checked: &CheckedMeasurement) -> Option<Self> {
        let (z, noise) = model.sensors.place(&state.mounts, checked)?;
        let pose = state.pose_covariance();
        let lever = z.norm();
        let mut std = noise.trace().max(0.0).sqrt()
            + (pose.m11 + pose.m22).max(0.0).sqrt()
            + lever * pose.m33.max(0.0).sqrt()
            + model.known.largest_std();
        if state.calibration.sensor().next().is_some() {
            // Offsets in metres, and angles that act at the distance of the landmark.
            let stds = state.calibration_estimates().map(|estimate| estimate.std * lever.max(1.0));
            std += stds.sum::<f64>();
        }
        let radius = MARGIN * model.gate.new_landmark(MAX_DIM).sqrt() * std;
        let centre = state.pose.transform(&z);
        (radius.is_finite() && centre.iter().all(|x| x.is_finite())).then_some(Self { centre, radius })
    }

    /// Whether landmark `i` may be meant.
    pub fn reaches(&self, state: &State, i: usize) -> bool {
        (state.in_map(i) - self.centre).norm_squared() <= self.radius * self.radius
    }
}
