//! A closed submap: what it says of the pose at its end and of its landmarks, seen from its base.

use super::common::Common;
use super::information::Information;
use super::sparse::Element;
use super::symmetric::Symmetric;
use lienav_lie::{Se2, skew};
use lienav_slam::LocalMap;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

/// The least standard deviation of a pose that is not exact, m and rad: odometry without noise has no information
/// matrix.
pub const LEAST_STD: f64 = 1e-6;

/// A Gaussian over the pose E at the end of a submap and the landmarks p_i that it has seen, relative to its base B, in
/// the errors of the filter that has made it:
///
/// $$ \xi = \log(B^{-1}E \hat X^{-1}), \quad e_i = R(\hat X)\,(E^{-1}p_i - \hat z_i), \quad (\xi, e) \sim N(0, P) $$
///
/// Poses relative to the robot and landmarks relative to the pose that has seen them last are what is nearly normal:
/// how the base lies in the map does not matter.
#[derive(Clone, Debug)]
pub struct Gaussian {
    /// X̂, the pose at the end, as estimated from the base.
    pub exit: Se2,
    /// Identities of the landmarks.
    pub ids: Vec<u32>,
    /// Their places, m, as estimated from the base.
    pub places: Vec<Vector2<f64>>,
    /// P: three rows of the pose, then two of each landmark. Given back where the submap is in a solution.
    pub covariance: DMatrix<f64>,
}

impl Gaussian {
    /// Of what the filter knows of the pose and of some of its features.
    pub fn new(local: &LocalMap<'_>, landmarks: &[usize]) -> Self {
        let ids = landmarks.iter().map(|i| local.id(*i)).collect();
        let places = landmarks.iter().map(|i| local.place(*i)).collect();
        let mut covariance = local.covariance(landmarks);
        (0..3).for_each(|i| covariance[(i, i)] += LEAST_STD * LEAST_STD);
        Self { exit: local.pose(), ids, places, covariance }
    }
}

/// A closed submap.
#[derive(Clone, Debug)]
pub struct Submap {
    gaussian: Gaussian,
    /// P⁻¹; less that of the landmarks that the next submap was begun with, where there is a next submap.
    information: Information,
    kept: Kept,
    /// Whether [`Submap::information`] is without that of landmarks that the next submap was begun with.
    is_given: bool,
}

/// Landmarks that the submap behind this one is begun with.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Their places in the list of this submap's.
    pub landmarks: Vec<usize>,
    /// P_KK⁻¹, of their e.
    pub information: DMatrix<f64>,
}

impl std::ops::Deref for Submap {
    type Target = Gaussian;

    fn deref(&self) -> &Gaussian {
        &self.gaussian
    }
}

/// Where the unknowns of a submap are: its base and its end, and its landmarks.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// B.
    pub base: Se2,
    /// E.
    pub exit: Se2,
    /// p_i, m.
    pub landmarks: &'a [Vector2<f64>],
}

impl Submap {
    /// Of what a filter says. `None` if the covariance has no inverse.
    pub fn new(gaussian: Gaussian) -> Option<Self> {
        let information = Information::of_covariance(gaussian.covariance.clone().cholesky()?)?;
        Some(Self { gaussian, information, kept: Kept::default(), is_given: false })
    }

    /// The same where the next submap is begun with some of its landmarks. `None` if their covariance has no inverse.
    pub fn keeping(mut self, landmarks: Vec<usize>) -> Option<Self> {
        if landmarks.is_empty() {
            return Some(self);
        }
        let rows: Vec<usize> = landmarks.iter().flat_map(|i| [3 + 2 * i, 4 + 2 * i]).collect();
        let own = DMatrix::from_fn(rows.len(), rows.len(), |i, j| self.gaussian.covariance[(rows[i], rows[j])]);
        let information = own.cholesky()?.inverse();
        information.iter().all(|value| value.is_finite()).then_some(())?;
        self.kept = Kept { landmarks, information };
        Some(self)
    }

    /// Whether the next submap is begun with landmarks of this one.
    pub fn leaves_any(&self) -> bool {
        self.is_given || !self.kept.landmarks.is_empty()
    }

    /// The landmarks that the next submap is begun with, as seen from its base; `numbers` are those of this submap's.
    pub fn common(&self, numbers: &[usize]) -> Common {
        let of_kept = self.kept.landmarks.iter().map(|i| numbers[*i]).collect();
        Common::seen_from(&self.exit, of_kept, &self.kept.information)
    }

    /// Its density given the landmarks that the next submap was begun with, of those that `has` says the next submap
    /// still has: what this submap says of them, the next submap says. `None` where there are none, and where it is so
    /// already.
    pub fn given_the_next(&self, has: impl Fn(usize) -> bool) -> Option<Self> {
        if self.is_given || self.kept.landmarks.is_empty() {
            return None;
        }
        let own = Common { numbers: self.kept.landmarks.clone(), information: self.kept.information.clone() };
        let information = self.information.less(own.only(has)?);
        Some(Self { information, is_given: true, ..self.clone() })
    }

    /// The same, with nothing for the next submap to begin with.
    pub fn leaving_nothing(self) -> Self {
        Self { kept: Kept::default(), ..self }
    }

    /// Whether what it says of landmarks that the next submap was begun with is what that one says.
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The same with what [`Submap::is_given`] says.
    pub fn with_given(self, is_given: bool) -> Self {
        Self { is_given, ..self }
    }

    /// Of its information, P⁻¹, with a Gaussian whose covariance is not known.
    pub fn of_information(gaussian: Gaussian, information: Symmetric) -> Self {
        Self { gaussian, information: information.into(), kept: Kept::default(), is_given: false }
    }

    /// P⁻¹; less that of [`Submap::kept`], where the next submap says it.
    pub fn information(&self) -> &Symmetric {
        self.information.get()
    }

    /// The same without ξ: what it says of its landmarks, as seen from its end. `None` if that has no inverse.
    pub fn without_motion(&self) -> Option<Self> {
        let n = 2 * self.ids.len();
        let information = self.information().whole();
        let inner = information.view((3, 3), (n, n)).into_owned();
        let crossed = information.view((0, 3), (3, n)).into_owned();
        let of_motion = information.fixed_view::<3, 3>(0, 0).into_owned();
        // The information of the marginal, (P_ee)⁻¹.
        Some(self.of_same_landmarks(inner - crossed.tr_mul(&(of_motion.try_inverse()? * &crossed))))
    }

    /// What landmarks say of each other as seen from a pose, whose error is in the first three rows of `information`,
    /// then two of each landmark. `None` if that of the pose has no inverse.
    pub fn of_landmarks(ids: Vec<u32>, places: Vec<Vector2<f64>>, information: &DMatrix<f64>) -> Option<Self> {
        let gaussian = Gaussian { exit: Se2::identity(), ids, places, covariance: DMatrix::zeros(0, 0) };
        Self::of_information(gaussian, Symmetric::new(information)).without_motion()
    }

    /// Whether it has no more than a submap before a solution needs, [`Submap::settled`].
    pub fn is_settled(&self) -> bool {
        self.gaussian.covariance.is_empty() && self.information.is_made()
    }

    /// The same without the covariance, which only the submaps behind a solution need.
    pub fn settled(&self) -> Self {
        let Gaussian { exit, ids, places, .. } = &self.gaussian;
        let covariance = DMatrix::zeros(0, 0);
        let gaussian = Gaussian { exit: *exit, ids: ids.clone(), places: places.clone(), covariance };
        Self { gaussian, information: self.information.settled(), kept: self.kept.clone(), is_given: self.is_given }
    }

    fn of_same_landmarks(&self, of_landmarks: DMatrix<f64>) -> Self {
        let n = of_landmarks.nrows();
        let mut information = DMatrix::zeros(3 + n, 3 + n);
        information.view_mut((3, 3), (n, n)).copy_from(&of_landmarks);
        Self { information: Symmetric::new(&information).into(), ..self.settled() }
    }

    /// (ξ, e) where the unknowns are `at`.
    pub fn residual(&self, at: &At<'_>) -> DVector<f64> {
        let mut residual = DVector::zeros(3 + 2 * self.ids.len());
        let moved = at.base.inverse() * at.exit;
        residual.fixed_rows_mut::<3>(0).copy_from(&(moved * self.exit.inverse()).log());
        let turn = self.exit.rotation();
        for (i, (p, place)) in at.landmarks.iter().zip(&self.places).enumerate() {
            let e = turn * at.exit.transform_back(p) - (place - self.exit.p);
            residual.fixed_rows_mut::<2>(3 + 2 * i).copy_from(&e);
        }
        residual
    }

    /// Half of (ξ, e)ᵀP⁻¹(ξ, e).
    pub fn cost(&self, at: &At<'_>) -> f64 {
        0.5 * self.information().square(&self.residual(at))
    }

    /// The Jacobians of (ξ, e): of ξ by the errors of base and end, B Exp(β) and E Exp(ε); of each e_i by ε; and of e_i
    /// by p_i, which is the same for all.
    fn jacobians(&self, at: &At<'_>) -> (Matrix3<f64>, Matrix3<f64>, Vec<Matrix2x3<f64>>, Matrix2<f64>) {
        let xi = (at.base.inverse() * at.exit * self.exit.inverse()).log();
        let inverse = |xi: &Vector3<f64>| Se2::left_jacobian(xi).try_inverse().unwrap_or_else(Matrix3::identity);
        let by_base = -inverse(&xi);
        let by_exit = inverse(&-xi) * self.exit.adjoint();
        let turn = self.exit.rotation();
        let of_landmark = |p: &Vector2<f64>| {
            let z = skew(&at.exit.transform_back(p));
            turn * Matrix2x3::new(-1.0, 0.0, -z.x, 0.0, -1.0, -z.y)
        };
        let by_landmark = turn * at.exit.rotation().transpose();
        (by_base, by_exit, at.landmarks.iter().map(of_landmark).collect(), by_landmark)
    }

    /// The gradient of [`Submap::element`] alone.
    pub fn gradient(&self, at: &At<'_>, base_is_known: bool) -> DVector<f64> {
        let (by_base, by_exit, exits, by_landmark) = self.jacobians(at);
        let weighted = self.information().times(&self.residual(at));
        let of_pose = weighted.fixed_rows::<3>(0);
        let skipped = if base_is_known { 3 } else { 0 };
        let mut gradient = DVector::zeros(6 - skipped + 2 * self.ids.len());
        if !base_is_known {
            gradient.fixed_rows_mut::<3>(0).copy_from(&(by_base.transpose() * of_pose));
        }
        let mut of_exit = by_exit.transpose() * of_pose;
        for (i, by_exit) in exits.iter().enumerate() {
            let e = weighted.fixed_rows::<2>(3 + 2 * i);
            of_exit += by_exit.transpose() * e;
            gradient.fixed_rows_mut::<2>(6 - skipped + 2 * i).copy_from(&(by_landmark.transpose() * e));
        }
        gradient.fixed_rows_mut::<3>(3 - skipped).copy_from(&of_exit);
        gradient
    }

    /// The normal equations of this submap: of its base, its end and its landmarks, in this order; those of the base
    /// are left out where it is known. `unknowns` are the names of all of them.
    pub fn element(&self, at: &At<'_>, unknowns: Vec<usize>, base_is_known: bool) -> Element {
        let (by_base, by_exit, exits, by_landmark) = self.jacobians(at);
        let n = self.ids.len();
        let rows = 3 + 2 * n;
        let given = self.information().whole();
        // ΛJ, whose columns of landmarks are those of Λ, turned.
        let mut half = DMatrix::zeros(rows, 6 + 2 * n);
        let of_pose = given.columns(0, 3);
        half.columns_mut(0, 3).gemm(1.0, &of_pose, &by_base, 0.0);
        half.columns_mut(3, 3).gemm(1.0, &of_pose, &by_exit, 0.0);
        for (i, by_exit) in exits.iter().enumerate() {
            let own = given.fixed_columns::<2>(3 + 2 * i);
            half.fixed_columns_mut::<3>(3).gemm(1.0, &own, by_exit, 1.0);
            half.fixed_columns_mut::<2>(6 + 2 * i).gemm(1.0, &own, &by_landmark, 0.0);
        }
        let mut information = DMatrix::zeros(6 + 2 * n, 6 + 2 * n);
        let pose = half.fixed_rows::<3>(0);
        information.fixed_rows_mut::<3>(0).gemm_tr(1.0, &by_base, &pose, 0.0);
        information.fixed_rows_mut::<3>(3).gemm_tr(1.0, &by_exit, &pose, 0.0);
        for (i, by_exit) in exits.iter().enumerate() {
            let own = half.fixed_rows::<2>(3 + 2 * i);
            information.fixed_rows_mut::<3>(3).gemm_tr(1.0, by_exit, &own, 1.0);
            information.fixed_rows_mut::<2>(6 + 2 * i).gemm_tr(1.0, &by_landmark, &own, 0.0);
        }
        if base_is_known {
            information = information.view((3, 3), (3 + 2 * n, 3 + 2 * n)).into_owned();
        }
        let gradient = self.gradient(at, base_is_known);
        Element { unknowns, information, gradient }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// A submap with `landmarks` landmarks around its way, and a full covariance.
    pub fn random_part(seed: u64, landmarks: u32) -> Submap {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let n = 3 + 2 * landmarks as usize;
        let root = DMatrix::from_fn(n, n, |_, _| random.random_range(-0.005..0.005)) + DMatrix::identity(n, n) * 0.02;
        let places =
            (0..landmarks).map(|_| Vector2::new(random.random_range(-3.0..9.0), random.random_range(-4.0..4.0)));
        let places = places.collect();
        let exit = Se2::new(6.0, random.random_range(-1.0..1.0), random.random_range(-1.0..1.0));
        let covariance = &root * root.transpose();
        Submap::new(Gaussian { exit, ids: (0..landmarks).collect(), places, covariance }).unwrap()
    }

    #[test]
    fn normal_equations_against_finite_differences() {
        let submap = random_part(1, 4);
        let base = Se2::new(100.0, -40.0, 2.0);
        let exit = base * Se2::new(6.1, 0.3, 0.4);
        let landmarks: Vec<Vector2<f64>> =
            submap.places.iter().map(|p| base.transform(p) + Vector2::new(0.1, -0.05)).collect();
        let at = |delta: &DVector<f64>| {
            let moved = |pose: &Se2, k: usize| *pose * Se2::exp(&delta.fixed_rows::<3>(k).into_owned());
            let landmarks: Vec<Vector2<f64>> =
                landmarks.iter().enumerate().map(|(i, p)| p + delta.fixed_rows::<2>(6 + 2 * i)).collect();
            submap.residual(&At { base: moved(&base, 0), exit: moved(&exit, 3), landmarks: &landmarks })
        };
        let n = 6 + 2 * landmarks.len();
        let jacobian = DMatrix::from_columns(
            &(0..n)
                .map(|k| {
                    let mut step = DVector::zeros(n);
                    step[k] = 1e-6;
                    (at(&step) - at(&-step)) / 2e-6
                })
                .collect::<Vec<_>>(),
        );
        let here = At { base, exit, landmarks: &landmarks };
        let element = submap.element(&here, (0..6).collect(), false);
        let expected = jacobian.transpose() * submap.information().whole() * &jacobian;
        assert!((&element.information - &expected).amax() < 1e-6 * expected.amax());
        let gradient = jacobian.transpose() * submap.information().whole() * submap.residual(&here);
        assert!((&element.gradient - &gradient).amax() < 1e-6 * gradient.amax());
        let known = submap.element(&here, (1..6).collect(), true);
        assert_eq!(known.information, element.information.view((3, 3), (n - 3, n - 3)).into_owned());
    }
}
