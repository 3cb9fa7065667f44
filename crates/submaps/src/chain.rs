//! What the closed submaps know once one more is closed: two Gaussians that know the same landmarks, made one.

mod agree;

use super::common::{Common, lever};
use super::near::Near;
use super::submap::{Gaussian, Submap};
use lienav_lie::Se2;
use lienav_slam::kernel::add_columns;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};

/// Corrections of Gauss and Newton, at most.
const ITERATIONS: usize = 10;
/// Both have each landmark in the same place at the end, to the root of this share of a standard deviation of what the
/// new submap has seen.
const AGREED: f64 = 1e-4;
/// Base and end move by no more than this share of a variance, as a square.
const SETTLED: f64 = 1e-10;

/// A landmark that both know.
struct Shared {
    /// Its number in the closed submaps, and its first row there.
    old: usize,
    row: usize,
    /// Its number in the new submap, and its first row behind those of the closed ones.
    new: usize,
    new_row: usize,
}

/// A landmark of the closed submaps as seen from their last base, q, and what it depends on.
struct Seen {
    place: Vector2<f64>,
    /// On β.
    by_base: Matrix2x3<f64>,
    /// On what is stored of it.
    by_own: Matrix2<f64>,
}

/// Where everything is after a correction (β, q) of the closed submaps and (ξ, e) of the new one.
struct Corrected {
    all: DVector<f64>,
    /// Exp(β).
    moved: Se2,
    /// J_r(β): Exp(β + δ) = Exp(β) Exp(J_r δ).
    by_base: Matrix3<f64>,
    /// Exp(ξ).
    turned: Se2,
    /// J_l(ξ): Exp(ξ + δ) = Exp(J_l δ) Exp(ξ).
    by_pose: Matrix3<f64>,
}

impl Corrected {
    fn new(all: DVector<f64>, mine: usize) -> Self {
        let beta: Vector3<f64> = all.fixed_rows::<3>(0).into_owned();
        let xi: Vector3<f64> = all.fixed_rows::<3>(mine).into_owned();
        let (by_base, by_pose) = (Se2::left_jacobian(&-beta), Se2::left_jacobian(&xi));
        Self { all, moved: Se2::exp(&beta), by_base, turned: Se2::exp(&xi), by_pose }
    }

    fn of_two(&self, row: usize) -> Vector2<f64> {
        self.all.fixed_rows::<2>(row).into_owned()
    }
}

impl Near {
    /// [`Near::after`] a closed submap: with the landmarks that the next submap is begun with.
    pub fn behind(
        &self,
        submap: &Submap,
        numbers: &[usize],
        keeps: impl Fn(usize, &Vector2<f64>) -> bool,
    ) -> Option<Self> {
        let common = submap.common(numbers);
        let keeps = |number: usize, place: &Vector2<f64>| common.numbers.contains(&number) || keeps(number, place);
        let next = self.after(submap, numbers, keeps).filter(Self::is_sound);
        let next = next.or_else(|| self.without_common().after(submap, numbers, keeps).filter(Self::is_sound))?;
        Some(Self { common, ..next })
    }

    /// Without the landmarks that the submap was begun with. Where vague ranges became certain, they are elsewhere to
    /// the submap than they were when it began, and what both know from the same measurements is no linear function of
    /// that: the submap knows them alone then.
    fn without_common(&self) -> Self {
        let is_other = |a: &usize| !self.common.numbers.contains(&self.landmarks[*a]);
        let others: Vec<usize> = (0..self.landmarks.len()).filter(is_other).collect();
        Self { common: Common::none(), ..self.of_rows(&others) }
    }

    /// What is known of the end of `submap` and of landmarks near it, if the submap begins at this base. `numbers` are
    /// those of its landmarks; `keeps` says which landmarks are wanted, by number and place as seen from the end.
    /// `None` where the difference of both has no inverse covariance, and where that of the submap was given back.
    ///
    /// Both know the same landmarks in the same places, q_i = Exp(ξ)(p̂_i + e_i), which Gauss–Newton solves for: a loop
    /// that closes a long way without landmarks corrects the base by metres.
    pub fn after(
        &self,
        submap: &Gaussian,
        numbers: &[usize],
        keeps: impl Fn(usize, &Vector2<f64>) -> bool,
    ) -> Option<Self> {
        let mine = self.covariance.nrows();
        if submap.covariance.nrows() != 3 + 2 * numbers.len() {
            return None;
        }
        let of_both = |(new, number): (usize, &usize)| {
            let old = self.landmarks.iter().position(|known| known == number)?;
            Some(Shared { old, row: 3 + 2 * old, new, new_row: mine + 3 + 2 * new })
        };
        let shared: Vec<Shared> = numbers.iter().enumerate().filter_map(of_both).collect();
        let joint = self.joint(submap, numbers);
        let (at, whitened) = self.agree(submap, &shared, &joint)?;
        let exit = at.turned * submap.exit;
        let mut next = Self {
            closed: self.closed + 1,
            base: self.base * at.moved * exit,
            landmarks: Vec::new(),
            places: Vec::new(),
            is_in_map: Vec::new(),
            covariance: DMatrix::zeros(0, 0),
            world: None,
            covers: self.covers,
            common: Common::none(),
        };
        // The rows of the result: of the end, then of the landmarks that are kept. Each is a sum of rows of both.
        let most = 6 + 2 * (numbers.len() + self.landmarks.len());
        let mut rows = Rows::new(&joint.covariance, &whitened, most);
        let to_exit = exit.inverse().adjoint();
        let (by_base, by_pose) = (to_exit * at.by_base, to_exit * at.by_pose);
        for k in 0..3 {
            let of_base = (0..3).map(|c| (c, by_base[(k, c)]));
            rows.push(of_base.chain((0..3).map(|c| (mine + c, by_pose[(k, c)]))));
        }
        let back = submap.exit.rotation().transpose();
        for (i, number) in numbers.iter().enumerate() {
            let row = mine + 3 + 2 * i;
            let place = submap.exit.transform_back(&(submap.places[i] + at.of_two(row)));
            if keeps(*number, &place) {
                next.landmarks.push(*number);
                next.places.push(place);
                (0..2).for_each(|k| rows.push([(row, back[(k, 0)]), (row + 1, back[(k, 1)])].into_iter()));
            }
        }
        let back = exit.rotation().transpose();
        for (a, number) in self.landmarks.iter().enumerate().filter(|(_, number)| !numbers.contains(number)) {
            let seen = self.seen(a, &at);
            let place = exit.transform_back(&seen.place);
            if !keeps(*number, &place) {
                continue;
            }
            next.landmarks.push(*number);
            next.places.push(place);
            let (by_own, by_base) = (back * seen.by_own, back * seen.by_base);
            let by_pose = back * lever(&seen.place) * at.by_pose;
            for k in 0..2 {
                let own = (0..2).map(|c| (3 + 2 * a + c, by_own[(k, c)]));
                let of_base = (0..3).filter(|_| self.is_in_map[a]).map(|c| (c, by_base[(k, c)]));
                rows.push(own.chain(of_base).chain((0..3).map(|c| (mine + c, -by_pose[(k, c)]))));
            }
        }
        if let Some(world) = self.world {
            let first = self.row_of_world();
            let moved = at.all.fixed_rows::<3>(first).into_owned();
            let by_own = Se2::left_jacobian(&-moved);
            next.world = Some(world * Se2::exp(&moved));
            (0..3).for_each(|k| rows.push((0..3).map(|c| (first + c, by_own[(k, c)]))));
        }
        next.covariance = rows.covariance();
        next.choose_frames();
        Some(next)
    }

    /// Landmark `a` from the base as it is corrected. One that is better known in the map than as seen from the base
    /// stays in the map where it is when the base moves, q = Exp(−β)(q̂ + w); what is stored of it is w − \[I, J q̂\]β.
    fn seen(&self, a: usize, at: &Corrected) -> Seen {
        let (place, own) = (self.places[a], at.of_two(3 + 2 * a));
        if !self.is_in_map[a] {
            return Seen { place: place + own, by_base: Matrix2x3::zeros(), by_own: Matrix2::identity() };
        }
        let arm = lever(&place);
        let q = at.moved.transform_back(&(place + own + arm * at.all.fixed_rows::<3>(0)));
        let back = at.moved.rotation().transpose();
        Seen { place: q, by_base: back * arm - lever(&q) * at.by_base, by_own: back }
    }

    /// Says of each landmark whether it is better known in the map than as seen from the base.
    pub fn choose_frames(&mut self) {
        let of_base = self.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let is_in_map = |(a, place): (usize, &Vector2<f64>)| {
            let arm = lever(place);
            let with_base = self.covariance.fixed_view::<2, 3>(3 + 2 * a, 0).into_owned();
            // The trace of Cov(w) less that of Cov(q).
            ((2.0 * with_base + arm * of_base) * arm.transpose()).trace() < 0.0
        };
        self.is_in_map = self.places.iter().enumerate().map(is_in_map).collect();
    }

    /// The covariance of (β, q) of the closed submaps and (ξ, e) of the new one, which is not independent of them where
    /// it was begun with some of their landmarks.
    fn joint(&self, submap: &Gaussian, numbers: &[usize]) -> Joint {
        let (mine, theirs) = (self.covariance.nrows(), submap.covariance.nrows());
        let own = |number: usize| numbers.iter().position(|known| *known == number);
        let (common, gain) = self.coupling(|number| own(number).is_some());
        // Cov(v, (ξ, e)), v = e + [I, J p̂]ξ.
        let mut with = DMatrix::zeros(gain.ncols(), theirs);
        for (k, i) in common.numbers.iter().filter_map(|number| own(*number)).enumerate() {
            let mut rows = with.fixed_rows_mut::<2>(2 * k);
            rows.copy_from(&submap.covariance.fixed_rows::<2>(3 + 2 * i));
            rows.gemm(1.0, &lever(&submap.places[i]), &submap.covariance.fixed_rows::<3>(0), 1.0);
        }
        let crossed = gain * with;
        let turned = crossed.transpose();
        let mut values = Vec::with_capacity((mine + theirs).pow(2));
        for [above, below] in [[&self.covariance, &turned], [&crossed, &submap.covariance]] {
            for (above, below) in above.as_slice().chunks_exact(mine).zip(below.as_slice().chunks_exact(theirs)) {
                values.extend_from_slice(above);
                values.extend_from_slice(below);
            }
        }
        let covariance = DMatrix::from_vec(mine + theirs, mine + theirs, values);
        Joint { covariance, coupled: common.numbers }
    }
}

/// The covariance of the closed submaps and a new one together.
struct Joint {
    covariance: DMatrix<f64>,
    /// Numbers of the landmarks that the new one was begun with.
    coupled: Vec<usize>,
}

/// Rows that are sums of rows of two Gaussians, less what their differences explain.
struct Rows<'a> {
    joint: &'a DMatrix<f64>,
    /// Cov(all, d) L⁻ᵀ.
    whitened: &'a DMatrix<f64>,
    /// Rows, those of the submap behind those of the closed ones, and their weights: one sum after the other.
    terms: Vec<(usize, f64)>,
    /// Where each sum ends.
    ends: Vec<usize>,
}

impl<'a> Rows<'a> {
    /// None, with room for some.
    fn new(joint: &'a DMatrix<f64>, whitened: &'a DMatrix<f64>, workspace: usize) -> Self {
        Self { joint, whitened, terms: Vec::with_capacity(8 * workspace), ends: Vec::with_capacity(workspace) }
    }

    fn push(&mut self, terms: impl Iterator<Item = (usize, f64)>) {
        self.terms.extend(terms);
        self.ends.push(self.terms.len());
    }

    /// The terms of each row.
    fn sums(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.terms[start..*end])
    }

    /// Of all rows.
    fn covariance(&self) -> DMatrix<f64> {
        let n = self.ends.len();
        let mut covariance = DMatrix::zeros(n, n);
        // Of each row with all rows of both.
        let mut with_all = DVector::zeros(self.joint.nrows());
        let column = |a: usize| &self.joint.as_slice()[a * self.joint.nrows()..][..self.joint.nrows()];
        for (j, terms) in self.sums().enumerate() {
            with_all.fill(0.0);
            for (a, weight) in terms {
                add_columns(with_all.as_mut_slice(), &[(column(*a), *weight)]);
            }
            for (i, terms) in self.sums().enumerate().skip(j) {
                let sum = terms.iter().map(|(a, weight)| weight * with_all[*a]).sum();
                covariance[(i, j)] = sum;
                covariance[(j, i)] = sum;
            }
        }
        let mut explained = DMatrix::zeros(n, self.whitened.ncols());
        let columns = explained.as_mut_slice().chunks_exact_mut(n);
        for (into, whitened) in columns.zip(self.whitened.as_slice().chunks_exact(self.whitened.nrows())) {
            for (sum, terms) in into.iter_mut().zip(self.sums()) {
                terms.iter().for_each(|(a, weight)| *sum += weight * whitened[*a]);
            }
        }
        covariance.gemm(-1.0, &explained, &explained.transpose(), 1.0);
        covariance
    }
}
