//! What the open submap and the closed ones know from the same measurements: landmarks that the next submap goes on
//! with.
//!
//! A submap does not forget the landmarks that are in view when it is closed. The filter goes on with them, with what
//! is known of where they are as seen from the robot, Π. So does the closed submap, and both are refinements of the
//! same Π: with u the errors of the closed submaps, P_C their covariance, and v those of the open submap, seen from its
//! base,
//!
//! ```math
//! u_K = P_C(\Pi^{-1} \pi + m), \quad v = P_O(\Pi^{-1} \pi + n) \;\Rightarrow\; \mathrm{Cov}(u, v) = P_{C,\cdot K}\, \Pi^{-1} P_{O,K\cdot}
//! ```
//!
//! π the errors of the landmarks K when the submap was begun, and m and n independent: what each has learned since.

use lienav_lie::{Se2, skew};
use lienav_slam::LocalMap;
#[cfg(test)]
use nalgebra::SMatrix;
use nalgebra::{DMatrix, Matrix2, Matrix2x3, Vector2};

/// A difference between two refinements of the same Gaussian may be zero, with certainty, before either has learned
/// anything. It counts as uncertain by this share of the variance that the open submap has, so that rounding and what
/// is not linear decide nothing.
pub const ALIKE: f64 = 1e-2;

/// Landmarks that the open submap was begun with.
#[derive(Clone, Debug)]
pub struct Common {
    /// Their numbers in the whole map.
    pub numbers: Vec<usize>,
    /// Π⁻¹, of their places as seen from the base.
    pub information: DMatrix<f64>,
}

impl Common {
    /// None.
    pub fn none() -> Self {
        Self { numbers: Vec::new(), information: DMatrix::zeros(0, 0) }
    }

    /// Of landmarks whose information is in a frame that is turned as `exit` is, in that frame.
    pub fn seen_from(exit: &Se2, numbers: Vec<usize>, information: &DMatrix<f64>) -> Self {
        let turn = exit.rotation();
        let mut turned = DMatrix::zeros(information.nrows(), information.ncols());
        for j in 0..numbers.len() {
            for i in 0..numbers.len() {
                let block = turn.transpose() * information.fixed_view::<2, 2>(2 * i, 2 * j) * turn;
                turned.fixed_view_mut::<2, 2>(2 * i, 2 * j).copy_from(&block);
            }
        }
        Self { numbers, information: turned }
    }

    /// Those of them that `holds` says of, in their order, and the information of these alone.
    pub fn only(&self, holds: impl Fn(usize) -> bool) -> Option<Self> {
        let kept: Vec<usize> = (0..self.numbers.len()).filter(|i| holds(self.numbers[*i])).collect();
        if kept.len() == self.numbers.len() {
            return Some(self.clone());
        }
        if kept.is_empty() {
            return None;
        }
        let covariance = self.information.clone().cholesky()?.inverse();
        let rows: Vec<usize> = kept.iter().flat_map(|i| [2 * i, 2 * i + 1]).collect();
        let own = DMatrix::from_fn(rows.len(), rows.len(), |i, j| covariance[(rows[i], rows[j])]);
        Some(Self { numbers: kept.iter().map(|i| self.numbers[*i]).collect(), information: own.cholesky()?.inverse() })
    }
}

/// How the errors of the closed submaps depend on those of the open submap.
#[derive(Clone, Debug, Default)]
pub struct Coupling {
    /// The landmarks through which they do: their identities in the filter.
    pub ids: Vec<u32>,
    /// P_C Π⁻¹ of their columns.
    pub gain: DMatrix<f64>,
}

impl Coupling {
    /// The same with what the open submap has of these landmarks now.
    pub fn with<'a>(&'a self, local: &LocalMap<'_>, workspace: &'a mut Vec<OpenLandmark>) -> Coupled<'a> {
        workspace.clear();
        workspace.extend(self.ids.iter().filter_map(|id| local.find(*id)).map(|here| OpenLandmark::new(local, here)));
        Coupled { gain: &self.gain, landmarks: workspace }
    }
}

/// A tie, with what the open submap has of its landmarks at this instant.
#[derive(Clone, Copy)]
pub struct Coupled<'a> {
    gain: &'a DMatrix<f64>,
    pub landmarks: &'a [OpenLandmark],
}

impl Coupled<'_> {
    /// P_C Π⁻¹ of the columns of its landmarks.
    pub fn gain(&self) -> &DMatrix<f64> {
        self.gain
    }

    /// Whether the open submap was begun with this feature of the filter.
    pub fn has(&self, here: usize) -> bool {
        self.landmarks.iter().any(|landmark| landmark.here == here)
    }

    /// Cov(v_κ, v_k) of each landmark of the tie with one of the open submap.
    pub fn meeting(&self, local: &LocalMap<'_>, k: &OpenLandmark) -> impl Iterator<Item = Matrix2<f64>> {
        self.landmarks.iter().map(|landmark| landmark.with(local, k))
    }

    /// P_C Π⁻¹ in pairs of rows of the closed submaps that begin at these, and in those of the base, column by column,
    /// each followed by zeros to `stride`.
    pub fn gains(&self, pairs: impl Iterator<Item = usize> + Clone, stride: usize, into: &mut Vec<f64>) {
        into.resize(self.gain.ncols() * stride, 0.0);
        let columns = self.gain.as_slice().chunks_exact(self.gain.nrows().max(1));
        for (column, into) in columns.zip(into.chunks_exact_mut(stride)) {
            let (values, rest) = into.split_at_mut(2 * pairs.clone().count());
            for (row, value) in pairs.clone().zip(values.chunks_exact_mut(2)) {
                value.copy_from_slice(&column[row..row + 2]);
            }
            let (of_base, rest) = rest.split_at_mut(3);
            of_base.copy_from_slice(&column[..3]);
            rest.fill(0.0);
        }
    }

    #[cfg(test)]
    /// Cov(u, v_k), where u is in these rows of the closed submaps, and `with` has Cov(v_κ, v_k) of the landmarks of
    /// the tie.
    pub fn crossed<const R: usize, const C: usize>(
        &self,
        row: usize,
        with: impl Fn(usize) -> SMatrix<f64, 2, C>,
    ) -> SMatrix<f64, R, C> {
        let mut sum = SMatrix::zeros();
        for k in 0..self.landmarks.len() {
            sum += self.gain.fixed_view::<R, 2>(row, 2 * k) * with(k);
        }
        sum
    }
}

/// A landmark of the open submap, as seen from its base: its error is v = e + [I, J p̂]ξ.
#[derive(Clone, Copy, Debug)]
pub struct OpenLandmark {
    /// Its feature in the filter.
    pub here: usize,
    /// p̂, m.
    pub place: Vector2<f64>,
    /// Cov(e, ξ).
    with_pose: Matrix2x3<f64>,
    /// Cov(v, ξ).
    pub whole_with_pose: Matrix2x3<f64>,
}

impl OpenLandmark {
    /// Feature `here`.
    pub fn new(local: &LocalMap<'_>, here: usize) -> Self {
        let place = local.place(here);
        let with_pose = local.with_pose(here);
        Self { here, place, with_pose, whole_with_pose: with_pose + lever(&place) * local.of_pose() }
    }

    /// Cov(v, v_k).
    #[inline]
    pub fn with(&self, local: &LocalMap<'_>, k: &Self) -> Matrix2<f64> {
        // The products with [I, J p̂], without its ones and zeros.
        let (own, other) = (&self.with_pose, &k.whole_with_pose);
        let (own_turned, other_turned) = (skew(&self.place), skew(&k.place));
        let by_other = Matrix2::from_fn(|r, c| own[(r, c)] + own[(r, 2)] * other_turned[c]);
        let by_own = Matrix2::from_fn(|r, c| other[(c, r)] + own_turned[r] * other[(c, 2)]);
        local.of_landmarks(self.here, k.here) + by_other + by_own
    }
}

/// [I, J q]: what a point at q is off by if its frame is.
pub fn lever(q: &Vector2<f64>) -> Matrix2x3<f64> {
    let turned = skew(q);
    Matrix2x3::new(1.0, 0.0, turned.x, 0.0, 1.0, turned.y)
}
