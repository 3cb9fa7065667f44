//! The pose in the map that follows from what the open submap knows and what the closed ones know.

use super::common::{Coupling, OpenLandmark};
use super::differences::Differences;
use super::near::{Near, Shared, in_map};
use super::submap::Gaussian;
use lienav_lie::Se2;
use lienav_slam::LocalMap;
use lienav_slam::by_id::ById;
use nalgebra::{Matrix3, Vector2, Vector3};

/// What a correction does to second order, beside the standard deviation of the position in its best direction: where
/// it does more, it is solved for again and again until it does not change.
pub const BENT: f64 = 0.3;

/// A difference between the open submap and the closed ones beyond this is no noise: χ² of two numbers. One in a
/// million is beyond 27.6; on real data, noise is up to three times what was stated.
const CONTRADICTION: f64 = 250.0;

/// The pose in the map that follows from the open submap and the closed ones.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// In the map.
    pub pose: Se2,
    /// Of (x, y, θ) in the map.
    pub covariance: Matrix3<f64>,
    /// Landmarks that both know.
    pub shared: usize,
    /// The mean of β + ξ.
    pub correction: Vector3<f64>,
}

/// Buffers of [`Near::join`].
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    shared: Vec<Shared>,
    coupled: Vec<OpenLandmark>,
    differences: Differences,
    /// Landmarks that the open submap has elsewhere than the closed ones, by identity.
    pub contradicted: Vec<u32>,
    /// Those of them of which that is sure: their difference is large whatever both sides have in common.
    pub moved: Vec<u32>,
}

impl Joined {
    /// What the correction does to second order, `reach_m` from the base, beside the standard deviation of the position
    /// in its best direction.
    pub fn bend(&self, reach_m: f64) -> f64 {
        let (shift, turn) = (self.correction.xy().norm(), self.correction.z.abs());
        let best = self.covariance.fixed_view::<2, 2>(0, 0).symmetric_eigenvalues().min().max(0.0).sqrt();
        turn * (shift + turn * reach_m) / best.max(f64::MIN_POSITIVE)
    }
}

impl Near {
    /// The pose in the map, from what the open submap knows and what the closed ones know: both know some landmarks,
    /// and their differences correct the sum β + ξ,
    ///
    /// $$ d_i = \hat q_i - \hat p_i, \quad c = \mathrm{Cov}(\beta + \xi, d), \quad \beta + \xi \sim N(-c S^{-1} d,\
    /// P_\beta + P_\xi - c S^{-1} c^T), \quad X = \hat B\, \mathrm{Exp}(\beta + \xi)\, \hat X $$
    ///
    /// Where the open submap was begun with some of the landmarks, β and q are not independent of ξ and p: `coupling`
    /// says how.
    pub fn join(
        &self,
        local: &LocalMap<'_>,
        index: &ById<usize>,
        coupling: &Coupling,
        workspace: &mut Workspace,
    ) -> Joined {
        workspace.shared.clear();
        for here in 0..local.len() {
            let Some(a) = index.get(&local.id(here)).filter(|_| local.is_landmark(here)) else { continue };
            workspace.shared.push(self.shared(local, here, *a));
        }
        let coupled = coupling.with(local, &mut workspace.coupled);
        workspace.differences.gather(self, local, &coupled, &workspace.shared);
        let left_out = (&mut workspace.contradicted, &mut workspace.moved);
        self.leave_out_contradictions(local, left_out, &mut workspace.shared, &workspace.differences);
        if !workspace.contradicted.is_empty() {
            workspace.differences.gather(self, local, &coupled, &workspace.shared);
        }
        let sum = workspace.differences.of_pose();
        let (correction, covariance) = match workspace.differences.eliminate() {
            Some(mean) => (mean, workspace.differences.of_pose()),
            None => (Vector3::zeros(), sum),
        };
        let moved = Se2::exp(&correction) * local.pose();
        let covariance = in_map(&(self.base.rotation() * moved.p), &self.base, &covariance);
        let joined = Joined { pose: self.base * moved, covariance, shared: workspace.shared.len(), correction };
        let reach_m = workspace.shared.iter().map(|shared| shared.open.place.norm()).fold(0.0, f64::max);
        let is_bent = joined.shared > 0 && joined.bend(reach_m) > BENT;
        is_bent.then(|| self.join_bent(local, workspace, &joined)).flatten().unwrap_or(joined)
    }

    /// Leaves out the landmarks whose difference is no noise, unless they are the most: the robot is elsewhere then.
    fn leave_out_contradictions(
        &self,
        local: &LocalMap<'_>,
        (contradicted, moved): (&mut Vec<u32>, &mut Vec<u32>),
        shared: &mut Vec<Shared>,
        differences: &Differences,
    ) {
        let is_noise = |k: usize| differences.is_within(k, CONTRADICTION);
        contradicted.clear();
        moved.clear();
        contradicted.extend((0..shared.len()).filter(|k| !is_noise(*k)).map(|k| local.id(shared[k].open.here)));
        if 2 * contradicted.len() > shared.len() {
            contradicted.clear();
        } else if !contradicted.is_empty() {
            let contradicted = &*contradicted;
            let is_left_out = |shared: &&Shared| contradicted.contains(&local.id(shared.open.here));
            let is_far = |shared: &&Shared| self.is_far(local, shared);
            moved.extend(shared.iter().filter(is_left_out).filter(is_far).map(|shared| local.id(shared.open.here)));
            shared.retain(|shared| !is_left_out(&shared));
        }
    }

    /// Whether a landmark is far from where the closed submaps have it. Where both sides know it from the same
    /// measurements, what is not linear makes the covariance of millimetres indefinite; that of both, as if they were
    /// independent, is a covariance.
    fn is_far(&self, local: &LocalMap<'_>, shared: &Shared) -> bool {
        let own = shared.open.with(local, &shared.open);
        let both = self.covariance.fixed_view::<2, 2>(shared.row, shared.row) + own;
        let square = both.cholesky().map(|root| shared.difference.dot(&root.solve(&shared.difference)));
        square.is_none_or(|square| square > CONTRADICTION)
    }

    /// The same where what the correction does to second order matters: the end of the submap as it would be closed
    /// now.
    fn join_bent(&self, local: &LocalMap<'_>, workspace: &Workspace, linear: &Joined) -> Option<Joined> {
        let chosen: Vec<usize> = workspace.shared.iter().map(|shared| shared.open.here).collect();
        let shared = self.of_rows(&workspace.shared.iter().map(|shared| (shared.row - 3) / 2).collect::<Vec<_>>());
        let numbers = shared.landmarks.clone();
        let end = shared.after(&Gaussian::new(local, &chosen), &numbers, |_, _| false).filter(Self::is_sound)?;
        let own = end.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let covariance = in_map(&Vector2::zeros(), &end.base, &own);
        Some(Joined { pose: end.base, covariance, ..*linear })
    }
}
