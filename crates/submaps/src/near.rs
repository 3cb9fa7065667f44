//! What the closed submaps know of the base of the open submap and of the landmarks near it.

#[cfg(test)]
use super::common::{ALIKE, Coupled};
use super::common::{Common, Coupling, OpenLandmark, lever};
use super::problem::{Solution, Start, world_of};
use super::submap::Gaussian;
use lienav_lie::{Se2, skew};
use lienav_slam::LocalMap;
use nalgebra::{DMatrix, Matrix2, Matrix3, Vector2};

/// A covariance that is indefinite by less than this submap of it is so by rounding: that of a base that is known
/// exactly.
const ROUNDING: f64 = 1e-9;

/// A Gaussian over the base B of the open submap and landmarks near it, as seen from it: β of the base, B = B̂ Exp(β),
/// and q_i = B⁻¹p_i. Landmarks relative to the base are what the open submap sees, too; how uncertain the base lies in
/// the map is in β alone.
#[derive(Clone, Debug)]
pub struct Near {
    /// How many submaps are closed before the open one.
    pub closed: usize,
    /// B̂.
    pub base: Se2,
    /// Numbers of the landmarks in the whole map.
    pub landmarks: Vec<usize>,
    /// q̂, m.
    pub places: Vec<Vector2<f64>>,
    /// Whether each is better known in the map than as seen from the base.
    pub is_in_map: Vec<bool>,
    /// Of (β, q), and behind them of ω where there is [`Near::world`].
    pub covariance: DMatrix<f64>,
    /// Where the frame of the world is in the map, Ô, if measurements have told; its error is ω, O = Ô Exp(ω).
    pub world: Option<Se2>,
    /// Where the robot was when this was asked for, and how far around all landmarks are in it, m.
    pub covers: (Vector2<f64>, f64),
    /// Landmarks that the open submap was begun with: both know them from the same measurements.
    pub common: Common,
}

/// A landmark that both know.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// In the open submap.
    pub open: OpenLandmark,
    /// First row in the covariance of the closed ones.
    pub row: usize,
    /// q̂ of the closed ones less that of the open submap.
    pub difference: Vector2<f64>,
}

impl Near {
    /// Before any submap is closed.
    pub fn start(start: &Start) -> Self {
        let covariance = start.covariance();
        Self {
            closed: 0,
            base: start.pose(),
            landmarks: Vec::new(),
            places: Vec::new(),
            is_in_map: Vec::new(),
            covariance: DMatrix::from_column_slice(3, 3, covariance.as_slice()),
            world: None,
            covers: (start.pose().p, f64::INFINITY),
            common: Common::none(),
        }
    }

    /// The landmarks that the open submap was begun with of which `holds` says that it still has them, and P_C Π⁻¹ of
    /// their columns.
    pub fn coupling(&self, holds: impl Fn(usize) -> bool) -> (Common, DMatrix<f64>) {
        let row_of = |number: usize| self.landmarks.iter().position(|known| *known == number);
        let only = self.common.only(|number| holds(number) && row_of(number).is_some());
        let common = only.unwrap_or_else(Common::none);
        let mut columns = DMatrix::zeros(self.covariance.nrows(), 2 * common.numbers.len());
        for (k, a) in common.numbers.iter().filter_map(|number| row_of(*number)).enumerate() {
            columns.fixed_columns_mut::<2>(2 * k).copy_from(&self.covariance.fixed_columns::<2>(3 + 2 * a));
        }
        let gain = columns * &common.information;
        (common, gain)
    }

    /// The trace of the covariance of landmark `a` as seen from the base, m².
    pub fn spread_of(&self, a: usize) -> f64 {
        self.covariance[(3 + 2 * a, 3 + 2 * a)] + self.covariance[(4 + 2 * a, 4 + 2 * a)]
    }

    /// The difference of two landmarks as seen from the base, m, and its covariance, m².
    pub fn apart(&self, a: usize, b: usize) -> (Vector2<f64>, Matrix2<f64>) {
        let block = |i: usize, k: usize| self.covariance.fixed_view::<2, 2>(3 + 2 * i, 3 + 2 * k).into_owned();
        (self.places[a] - self.places[b], block(a, a) + block(b, b) - block(a, b) - block(b, a))
    }

    /// The covariance of (x, y, θ) of the base in the map.
    pub fn base_covariance(&self) -> Matrix3<f64> {
        in_map(&Vector2::zeros(), &self.base, &self.covariance.fixed_view::<3, 3>(0, 0).into_owned())
    }

    /// Moves the base to `base`, and with it all landmarks. What was known of where it lies is forgotten, and of where
    /// the world lies: its error is independent of those of the landmarks as seen from it.
    pub fn put_at(&mut self, base: Se2, covariance: &Matrix3<f64>, closed: usize) {
        self.forget_world();
        self.covers.0 = base.transform(&self.base.transform_back(&self.covers.0));
        (self.base, self.closed) = (base, closed);
        self.covariance.fixed_rows_mut::<3>(0).fill(0.0);
        self.covariance.fixed_columns_mut::<3>(0).fill(0.0);
        self.covariance.fixed_view_mut::<3, 3>(0, 0).copy_from(covariance);
        self.common = Common::none();
        self.choose_frames();
    }

    /// Of a solution: its last base, and some of its landmarks.
    pub fn of_solution(solution: &Solution, landmarks: Vec<usize>) -> Self {
        let last = solution.bases.len() - 1;
        let base = solution.bases[last];
        let pose_of_world = world_of(&solution.submaps);
        let mut covariance = solution.covariance_with(last, &landmarks, pose_of_world);
        let places: Vec<Vector2<f64>> =
            landmarks.iter().map(|landmark| base.transform_back(&solution.landmarks[*landmark])).collect();
        // δq = Rᵀδp − [I, J q]β, first of the rows and then of the columns.
        let back = base.rotation().transpose();
        let change = |covariance: &mut DMatrix<f64>| {
            let of_base = covariance.fixed_rows::<3>(0).into_owned();
            for (i, q) in places.iter().enumerate() {
                let own = covariance.fixed_rows::<2>(3 + 2 * i).into_owned();
                covariance.fixed_rows_mut::<2>(3 + 2 * i).copy_from(&(back * own - lever(q) * &of_base));
            }
        };
        change(&mut covariance);
        covariance = covariance.transpose();
        change(&mut covariance);
        let covers = (base.p, f64::INFINITY);
        let (closed, common) = (solution.closed, solution.common());
        let world = pose_of_world.map(|pose| solution.bases[pose]);
        let is_in_map = Vec::new();
        let mut near = Self { closed, base, landmarks, places, is_in_map, covariance, world, covers, common };
        near.choose_frames();
        near
    }

    /// Feature `here` of the open submap as the same as landmark `a` of these.
    pub fn shared(&self, local: &LocalMap<'_>, here: usize, a: usize) -> Shared {
        let open = OpenLandmark::new(local, here);
        Shared { open, row: 3 + 2 * a, difference: self.places[a] - open.place }
    }

    /// The same of some of its landmarks, in this order.
    pub fn of_rows(&self, chosen: &[usize]) -> Self {
        let of_landmarks = chosen.iter().flat_map(|a| [3 + 2 * a, 4 + 2 * a]);
        let of_world = self.world.map(|_| self.row_of_world()).into_iter().flat_map(|row| row..row + 3);
        let rows: Vec<usize> = (0..3).chain(of_landmarks).chain(of_world).collect();
        let mut values = Vec::with_capacity(rows.len() * rows.len());
        for column in &rows {
            let column = &self.covariance.as_slice()[column * self.covariance.nrows()..][..self.covariance.nrows()];
            values.extend(rows.iter().map(|row| column[*row]));
        }
        Self {
            landmarks: chosen.iter().map(|a| self.landmarks[*a]).collect(),
            places: chosen.iter().map(|a| self.places[*a]).collect(),
            is_in_map: chosen.iter().map(|a| self.is_in_map[*a]).collect(),
            covariance: DMatrix::from_vec(rows.len(), rows.len(), values),
            common: self.common.clone(),
            ..*self
        }
    }

    /// How far from the end of `submap` so many landmarks are, of those that it knows, `numbers`, and of these.
    pub fn reach(&self, submap: &Gaussian, numbers: &[usize], count: usize) -> f64 {
        let others = self.landmarks.iter().zip(&self.places).filter(|(number, _)| !numbers.contains(number));
        let places = submap.places.iter().chain(others.map(|(_, place)| place));
        let mut distances: Vec<f64> = places.map(|place| (place - submap.exit.p).norm()).collect();
        distances.sort_unstable_by(f64::total_cmp);
        distances.get(count).copied().unwrap_or(f64::INFINITY)
    }

    /// The rows of landmarks that `submap` knows, too, and of those that are no farther from its end.
    pub fn within(&self, submap: &Gaussian, numbers: &[usize], reach: f64) -> Vec<usize> {
        let is_near = |a: &usize| (self.places[*a] - submap.exit.p).norm() <= reach;
        (0..self.landmarks.len()).filter(|a| is_near(a) || numbers.contains(&self.landmarks[*a])).collect()
    }

    /// Whether the covariances of the base and of each landmark are none that is indefinite beyond rounding.
    pub fn is_sound(&self) -> bool {
        let is_landmark_sound = |a: usize| {
            let own: Matrix2<f64> = self.covariance.fixed_view::<2, 2>(3 + 2 * a, 3 + 2 * a).into_owned();
            own.trace() >= 0.0 && own.determinant() >= -ROUNDING * own.trace().powi(2)
        };
        let of_base = self.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let is_finite = of_base.iter().all(|x| x.is_finite());
        let is_base_sound = || of_base.symmetric_eigenvalues().min() >= -ROUNDING * of_base.amax();
        is_finite && is_base_sound() && (0..self.landmarks.len()).all(is_landmark_sound)
    }

    #[cfg(test)]
    /// Cov(d_i, d_k), where what the landmarks of the tie have to do with each is known: [`Coupled::meeting`].
    pub fn spread(
        &self,
        local: &LocalMap<'_>,
        coupled: &Coupled<'_>,
        (i, of_i): (&Shared, &[Matrix2<f64>]),
        (k, of_k): (&Shared, &[Matrix2<f64>]),
    ) -> Matrix2<f64> {
        let apart = self.of_both(local, coupled, i, k);
        if coupled.landmarks.is_empty() {
            return apart;
        }
        let crossed = |u: &Shared, with: &[Matrix2<f64>]| -> Matrix2<f64> { coupled.crossed(u.row, |k| with[k]) };
        apart - crossed(i, of_k) - crossed(k, of_i).transpose()
    }

    #[cfg(test)]
    /// Cov(u_i, u_k) + Cov(v_i, v_k), and what [`ALIKE`] adds.
    fn of_both(&self, local: &LocalMap<'_>, coupled: &Coupled<'_>, i: &Shared, k: &Shared) -> Matrix2<f64> {
        let alike = if i.row == k.row && coupled.has(i.open.here) { ALIKE } else { 0.0 };
        let own = i.open.with(local, &k.open) * (1.0 + alike);
        self.covariance.fixed_view::<2, 2>(i.row, k.row) + own
    }
}

impl Coupling {
    /// Through these landmarks, by identity and number, which the open submap was begun with and still has.
    pub fn new(near: &Near, inherited: impl Iterator<Item = (u32, usize)>) -> Self {
        let inherited: Vec<(u32, usize)> = inherited.collect();
        // Of two with the same number, the last one.
        let id_of = |number: usize| inherited.iter().rev().find(|(_, known)| *known == number).map(|(id, _)| *id);
        let (common, gain) = near.coupling(|number| id_of(number).is_some());
        Self { ids: common.numbers.iter().filter_map(|number| id_of(*number)).collect(), gain }
    }
}

/// The covariance of (x, y, θ) in the map of a pose that is `arm` from where its error is, in the frame `at`.
pub fn in_map(arm: &Vector2<f64>, at: &Se2, covariance: &Matrix3<f64>) -> Matrix3<f64> {
    let (turn, turned) = (at.rotation(), skew(arm));
    let to_map =
        Matrix3::new(turn[(0, 0)], turn[(0, 1)], turned.x, turn[(1, 0)], turn[(1, 1)], turned.y, 0.0, 0.0, 1.0);
    let covariance = to_map * covariance * to_map.transpose();
    0.5 * (covariance + covariance.transpose())
}
