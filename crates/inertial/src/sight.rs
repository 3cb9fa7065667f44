//! Views of a landmark from pose clones and from the body of now: residuals, derivatives, and where they meet.

use crate::clone::{PoseClone, linearization_point};
use crate::filter::{Filter, Linearization};
use crate::measurement::View;
use crate::state::State;
use crate::state::errors::{Errors, POSITION, ROTATION};
use nalgebra::{Matrix2x3, Matrix3, Vector2, Vector3};

/// One view of a landmark, in the world.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub view: View,
    /// First rows of the place and the rotation; `None` of the body of now, where errors are relative to it.
    pub rows: Option<[usize; 2]>,
    pub position: Vector3<f64>,
    pub rotation: Matrix3<f64>,
    /// Place and rotation where the derivatives are taken.
    pub at: (Vector3<f64>, Matrix3<f64>),
}

impl Sight {
    /// From the body of now.
    pub fn of_now(state: &State, view: View, filter: &Filter) -> Self {
        let rows = (filter.errors == Errors::Additive).then_some([POSITION, ROTATION]);
        let first = linearization_point(state, filter);
        let at = (first.position, *first.rotation.matrix());
        Self { view, rows, position: state.nav.position, rotation: *state.nav.rotation.matrix(), at }
    }

    /// From a clone.
    pub fn of_clone(clone: &PoseClone, view: View, filter: &Filter) -> Self {
        let (position, rotation) = (clone.position, *clone.rotation.matrix());
        let first = (clone.first.0, *clone.first.1.matrix());
        let at = if filter.linearization == Linearization::Current { (position, rotation) } else { first };
        Self { view, rows: Some(clone.rows), position, rotation, at }
    }

    /// The derivative, where it is to be taken.
    pub fn derivative(&self, place: &Vector3<f64>) -> Option<Matrix2x3<f64>> {
        let (position, rotation) = self.at;
        Self { position, rotation, ..*self }.see(place).map(|(_, derivative)| derivative)
    }

    /// Whitened residual and minus its derivative by the place of the landmark, m⁻¹, of the errors' δz.
    pub fn see(&self, place: &Vector3<f64>) -> Option<(Vector2<f64>, Matrix2x3<f64>)> {
        const NEAREST_M: f64 = 0.05;
        let camera = &self.view.camera;
        let turn = camera.rotation.matrix().transpose() * self.rotation.transpose();
        let centre = self.rotation.transpose() * (place - self.position) - camera.translation;
        let x = camera.rotation.rotate_back(&centre);
        if x.z.is_nan() || x.z <= NEAREST_M {
            return None;
        }
        let expected = x.xy() / x.z;
        let by_x = Matrix2x3::new(1.0, 0.0, -expected.x, 0.0, 1.0, -expected.y) / x.z;
        let weight = self.view.sigma.map(|sigma| 1.0 / sigma);
        let residual = (self.view.normalized - expected).component_mul(&weight);
        Some((residual, nalgebra::Matrix2::from_diagonal(&weight) * by_x * turn))
    }

    /// Centre of the camera, m, and direction, in the world.
    pub fn ray(&self) -> (Vector3<f64>, Vector3<f64>) {
        let centre = self.position + self.rotation * self.view.camera.translation;
        let direction = self.rotation * (self.view.camera.rotation * self.view.normalized.push(1.0));
        (centre, direction.normalize())
    }
}

/// The axes of errors that are relative to the body: those of the world, or of the body of now.
pub fn axes(state: &State, filter: &Filter) -> Matrix3<f64> {
    if filter.errors == Errors::Reduced { *state.nav.rotation.matrix() } else { Matrix3::identity() }
}

/// Whether a view has finite numbers, a noise that sensors have, and a camera that is a pose.
pub fn is_valid(view: &View) -> bool {
    const SIGMA: std::ops::Range<f64> = 1e-7..10.0;
    const FARTHEST: f64 = 100.0;
    const ORTHOGONAL: f64 = 1e-6;
    view.normalized.iter().all(|x| x.abs() < FARTHEST)
        && view.sigma.iter().all(|sigma| SIGMA.contains(sigma))
        && view.camera.translation.iter().all(|x| x.abs() < FARTHEST)
        && view.camera.rotation.orthogonality_error() < ORTHOGONAL
}

/// Σ HᵀH and Σ Hᵀr over all views; `None` where one does not see the place.
pub fn normal_equations(sights: &[Sight], place: &Vector3<f64>) -> Option<(Matrix3<f64>, Vector3<f64>)> {
    let (mut information, mut vector) = (Matrix3::zeros(), Vector3::zeros());
    for sight in sights {
        let (residual, h) = sight.see(place)?;
        information += h.transpose() * h;
        vector += h.transpose() * residual;
    }
    Some((information, vector))
}

/// Where views meet: the point nearest to the rays, then Gauss–Newton on the pixels.
pub fn meet(sights: &[Sight]) -> Option<Vector3<f64>> {
    const ITERATIONS: usize = 5;
    if sights.len() < 2 {
        return None;
    }
    let (mut information, mut vector) = (Matrix3::zeros(), Vector3::zeros());
    for sight in sights {
        let (centre, direction) = sight.ray();
        let aside = Matrix3::identity() - direction * direction.transpose();
        information += aside;
        vector += aside * centre;
    }
    let mut place = information.try_inverse()? * vector;
    for _ in 0..ITERATIONS {
        let (information, vector) = normal_equations(sights, &place)?;
        place += information.cholesky()?.solve(&vector);
    }
    place.iter().all(|x| x.is_finite()).then_some(place)
}
