//! What a landmark of a large map has in common with those near it that are in the state.
//!
//! The errors of a map that was made by a robot are hardly those of single landmarks: what is far from the start is off
//! by metres, and all that stands there is so alike. A joint covariance of all says that, and is for some thousand
//! landmarks at most. Of a larger map the covariances of near landmarks are known, and a landmark k enters *given* those
//! of the state that are nearest to it (Vecchia 1988): with K these,
//!
//! ```math
//! \delta p_k = A\,\delta p_K + w, \quad A = \Sigma_{kK}\Sigma_{KK}^{-1}, \quad \mathrm{Cov}(w) = \Sigma_{kk} - A\,\Sigma_{Kk}
//! ```
//!
//! and w is independent of all that is in the state, the pose too. The covariance that comes of it is one, whichever
//! pairs are known; it is that of the map where the others say nothing of k that K does not say.

use crate::known_map::KnownMap;
use crate::state::State;
use nalgebra::{Matrix2, SMatrix, SVector};

/// So many of the state at most.
const MOST: usize = 6;
/// So many are looked at.
const LOOKED_AT: usize = 64;
/// What rounding adds to a variance, as a share of it: landmarks may stand still beside each other.
const ROUNDING: f64 = 1e-9;

/// A landmark that depends on features of the state.
pub struct Given {
    sources: [(usize, Matrix2<f64>); MOST],
    count: usize,
    /// Cov(w).
    pub own: Matrix2<f64>,
}

impl Given {
    /// Landmark `k` of the known map; `None` if none is in the state whose covariance with it is known.
    pub fn new(state: &State, known: &KnownMap, k: usize) -> Option<Self> {
        let chosen = chosen(state, known, k)?;
        let near = known.near()?;
        let own = known.landmarks()[k].landmark.covariance;
        let mut joint = SMatrix::<f64, { 2 * MOST }, { 2 * MOST }>::identity();
        let mut crossed = SMatrix::<f64, 2, { 2 * MOST }>::zeros();
        let places = chosen.iter().flatten().map(|(place, _)| *place);
        for (a, one) in places.clone().enumerate() {
            crossed.fixed_view_mut::<2, 2>(0, 2 * a).copy_from(near.of(k, one)?);
            for (b, other) in places.clone().enumerate() {
                let mut block =
                    if a == b { known.landmarks()[one].landmark.covariance } else { *near.of(one, other)? };
                if a == b {
                    block += Matrix2::identity() * (ROUNDING * block.trace());
                }
                joint.fixed_view_mut::<2, 2>(2 * a, 2 * b).copy_from(&block);
            }
        }
        let factors = joint.cholesky()?.solve(&crossed.transpose()).transpose();
        let rest = own - factors * crossed.transpose();
        let mut given = Self { sources: [(0, Matrix2::zeros()); MOST], count: 0, own: positive(&rest) };
        for (a, (_, feature)) in chosen.iter().flatten().enumerate() {
            given.sources[a] = (*feature, factors.fixed_view::<2, 2>(0, 2 * a).into_owned());
            given.count += 1;
        }
        Some(given)
    }

    /// The features that it depends on, with A of each.
    pub fn sources(&self) -> &[(usize, Matrix2<f64>)] {
        &self.sources[..self.count]
    }

    /// The same as seen in turned axes.
    pub fn turned(mut self, axes: &Matrix2<f64>) -> Self {
        for (_, factor) in &mut self.sources[..self.count] {
            *factor = axes * *factor * axes.transpose();
        }
        self.own = axes * self.own * axes.transpose();
        self
    }
}

/// Landmarks of the map that are in the state, and say most of where landmark `k` is: those of which it differs least.
/// The covariance of each with each other is known.
fn chosen(state: &State, known: &KnownMap, k: usize) -> Option<[Option<(usize, usize)>; MOST]> {
    let near = known.near()?;
    let covariance = |place: usize| &known.landmarks()[place].landmark.covariance;
    let mut found = [(f64::INFINITY, 0, 0); LOOKED_AT];
    let mut count = 0;
    for (place, crossed) in near.around(k).iter().map(|(place, crossed)| (*place as usize, crossed)) {
        if let Some(feature) = state.find(known.landmarks()[place].landmark.id)
            && count < LOOKED_AT
        {
            let apart = (covariance(k) + covariance(place)).trace() - 2.0 * crossed.trace();
            found[count] = (apart, place, feature);
            count += 1;
        }
    }
    let found = &mut found[..count];
    found.sort_unstable_by(|(a, i, _), (b, j, _)| a.total_cmp(b).then(i.cmp(j)));
    let mut chosen = [None; MOST];
    let mut length = 0;
    for (_, place, feature) in found {
        let are_known = chosen[..length].iter().flatten().all(|(other, _)| near.of(*place, *other).is_some());
        if are_known && length < MOST {
            chosen[length] = Some((*place, *feature));
            length += 1;
        }
    }
    (length > 0).then_some(chosen)
}

/// The nearest covariance that is positive semidefinite.
fn positive(matrix: &Matrix2<f64>) -> Matrix2<f64> {
    let mut parts = (0.5 * (matrix + matrix.transpose())).symmetric_eigen();
    parts.eigenvalues = SVector::from_fn(|i, _| parts.eigenvalues[i].max(0.0));
    parts.recompose()
}
