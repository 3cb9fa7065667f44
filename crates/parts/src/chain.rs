//! What the closed parts know once one more is closed: two Gaussians that know the same landmarks, made one.

use super::common::{ALIKE, Common};
use super::near::{Near, lever};
use super::part::{Gaussian, Part};
use super::sparse::dense::factor;
use lienav_lie::Se2;
use lienav_slam::kernel;
use nalgebra::{DMatrix, DVector, Matrix2, Matrix2x3, Matrix3, Vector2, Vector3};
use std::collections::{HashMap, HashSet};

/// Corrections of Gauss and Newton, at most.
const ITERATIONS: usize = 10;
/// Both have each landmark in the same place at the end, to the root of this share of a standard deviation of what the
/// new part has seen.
const AGREED: f64 = 1e-4;
/// Base and end move by no more than this share of a variance, as a square.
const SETTLED: f64 = 1e-10;

/// A landmark that both know.
struct Shared {
    /// Its number in the closed parts, and its first row there.
    old: usize,
    row: usize,
    /// Its number in the new part, and its first row behind those of the closed ones.
    new: usize,
    new_row: usize,
}

/// A landmark of the closed parts as seen from their last base, q, and what it depends on.
struct Seen {
    place: Vector2<f64>,
    /// On β.
    by_base: Matrix2x3<f64>,
    /// On what is stored of it.
    by_own: Matrix2<f64>,
}

/// Where everything is after a correction (β, q) of the closed parts and (ξ, e) of the new one.
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
    /// [`Near::after`] a closed part: with the landmarks that the next part is begun with.
    pub fn behind(&self, part: &Part, numbers: &[usize], keeps: impl Fn(usize, &Vector2<f64>) -> bool) -> Option<Self> {
        let common = part.common(numbers);
        let is_common: HashSet<usize> = common.numbers.iter().copied().collect();
        let keeps = |number: usize, place: &Vector2<f64>| is_common.contains(&number) || keeps(number, place);
        let next = self.after(part, numbers, keeps).filter(Self::is_sound);
        let next = next.or_else(|| self.without_common().after(part, numbers, keeps).filter(Self::is_sound))?;
        Some(Self { common, ..next })
    }

    /// Without the landmarks that the part was begun with. Where vague ranges became certain, they are elsewhere to the
    /// part than they were when it began, and what both know from the same readings is no linear function of that: the
    /// part knows them alone then.
    fn without_common(&self) -> Self {
        let is_other = |a: &usize| !self.common.numbers.contains(&self.landmarks[*a]);
        let others: Vec<usize> = (0..self.landmarks.len()).filter(is_other).collect();
        Self { common: Common::none(), ..self.of_rows(&others) }
    }

    /// What is known of the end of `part` and of landmarks near it, if the part begins at this base. `numbers` are those
    /// of its landmarks; `keeps` says which landmarks are wanted, by number and place as seen from the end. `None` where
    /// the difference of both has no inverse covariance, and where that of the part was given back.
    ///
    /// Both know the same landmarks in the same places, q_i = Exp(ξ)(p̂_i + e_i), which Gauss–Newton solves for: a loop
    /// that closes a long way without landmarks corrects the base by metres.
    pub fn after(
        &self,
        part: &Gaussian,
        numbers: &[usize],
        keeps: impl Fn(usize, &Vector2<f64>) -> bool,
    ) -> Option<Self> {
        let mine = self.covariance.nrows();
        if part.covariance.nrows() != 3 + 2 * numbers.len() {
            return None;
        }
        let index: HashMap<usize, usize> = self.landmarks.iter().enumerate().map(|(a, number)| (*number, a)).collect();
        let of_both = |(new, number): (usize, &usize)| {
            let old = *index.get(number)?;
            Some(Shared { old, row: 3 + 2 * old, new, new_row: mine + 3 + 2 * new })
        };
        let shared: Vec<Shared> = numbers.iter().enumerate().filter_map(of_both).collect();
        let joint = self.joint(part, numbers);
        let (at, whitened) = self.agree(part, &shared, &joint)?;
        let exit = at.turned * part.exit;
        let mut next = Self {
            closed: self.closed + 1,
            base: self.base * at.moved * exit,
            landmarks: Vec::new(),
            places: Vec::new(),
            is_in_map: Vec::new(),
            covariance: DMatrix::zeros(0, 0),
            covers: self.covers,
            common: Common::none(),
        };
        // The rows of the result: of the end, then of the landmarks that are kept. Each is a sum of rows of both.
        let mut rows = Rows { joint: &joint.covariance, whitened: &whitened, terms: Vec::new() };
        let to_exit = exit.inverse().adjoint();
        let (by_base, by_pose) = (to_exit * at.by_base, to_exit * at.by_pose);
        for k in 0..3 {
            let of_base = (0..3).map(|c| (c, by_base[(k, c)]));
            rows.terms.push(of_base.chain((0..3).map(|c| (mine + c, by_pose[(k, c)]))).collect());
        }
        let back = part.exit.rotation().transpose();
        for (i, number) in numbers.iter().enumerate() {
            let row = mine + 3 + 2 * i;
            let place = part.exit.transform_back(&(part.places[i] + at.of_two(row)));
            if keeps(*number, &place) {
                next.landmarks.push(*number);
                next.places.push(place);
                rows.terms.extend((0..2).map(|k| vec![(row, back[(k, 0)]), (row + 1, back[(k, 1)])]));
            }
        }
        let is_new: HashSet<usize> = numbers.iter().copied().collect();
        let back = exit.rotation().transpose();
        for (a, number) in self.landmarks.iter().enumerate().filter(|(_, number)| !is_new.contains(number)) {
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
                rows.terms.push(own.chain(of_base).chain((0..3).map(|c| (mine + c, -by_pose[(k, c)]))).collect());
            }
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

    /// Whether both have a landmark in the same place.
    fn is_agreed(&self, part: &Gaussian, both: &Shared, at: &Corrected) -> bool {
        let p = at.turned.transform(&(part.places[both.new] + at.of_two(both.new_row)));
        let d = self.seen(both.old, at).place - p;
        let own = 3 + 2 * both.new;
        let noise: Matrix2<f64> = part.covariance.fixed_view::<2, 2>(own, own).into_owned();
        noise.try_inverse().is_some_and(|inverse| d.dot(&(inverse * d)) <= AGREED)
    }

    /// The covariance of (β, q) of the closed parts and (ξ, e) of the new one, which is not independent of them where it
    /// was begun with some of their landmarks.
    fn joint(&self, part: &Gaussian, numbers: &[usize]) -> Joint {
        let (mine, theirs) = (self.covariance.nrows(), part.covariance.nrows());
        let mut covariance = DMatrix::zeros(mine + theirs, mine + theirs);
        covariance.view_mut((0, 0), (mine, mine)).copy_from(&self.covariance);
        covariance.view_mut((mine, mine), (theirs, theirs)).copy_from(&part.covariance);
        let own = |number: usize| numbers.iter().position(|known| *known == number);
        let (common, gain) = self.tie(|number| own(number).is_some());
        // Cov(v, (ξ, e)), v = e + [I, J p̂]ξ.
        let mut with = DMatrix::zeros(gain.ncols(), theirs);
        for (k, i) in common.numbers.iter().filter_map(|number| own(*number)).enumerate() {
            let mut rows = with.fixed_rows_mut::<2>(2 * k);
            rows.copy_from(&part.covariance.fixed_rows::<2>(3 + 2 * i));
            rows.gemm(1.0, &lever(&part.places[i]), &part.covariance.fixed_rows::<3>(0), 1.0);
        }
        let crossed = gain * with;
        covariance.view_mut((0, mine), (mine, theirs)).copy_from(&crossed);
        covariance.view_mut((mine, 0), (theirs, mine)).copy_from(&crossed.transpose());
        Joint { covariance, tied: common.numbers.into_iter().collect() }
    }

    /// The correction with which both agree, and L⁻¹ Cov(d, all) there: of d, the differences, with S = LLᵀ.
    fn agree(&self, part: &Gaussian, shared: &[Shared], joint: &Joint) -> Option<(Corrected, DMatrix<f64>)> {
        let (mine, theirs) = (self.covariance.nrows(), part.covariance.nrows());
        let rows = 2 * shared.len();
        let mut at = Corrected::new(DVector::zeros(mine + theirs), mine);
        for iteration in 1.. {
            // d is the landmark of the closed parts less that of the new one.
            let turn = at.turned.rotation();
            let mut crossed = DMatrix::zeros(mine + theirs, rows);
            let mut difference = DVector::zeros(rows);
            let mut jacobians = Vec::with_capacity(shared.len());
            for (k, both) in shared.iter().enumerate() {
                let Seen { place, by_base, by_own } = self.seen(both.old, &at);
                let p = at.turned.transform(&(part.places[both.new] + at.of_two(both.new_row)));
                let by_pose = lever(&p) * at.by_pose;
                let d = place - p;
                let of_near = by_base * at.all.fixed_rows::<3>(0) + by_own * at.of_two(both.row);
                let of_part = by_pose * at.all.fixed_rows::<3>(mine) + turn * at.of_two(both.new_row);
                difference.fixed_rows_mut::<2>(2 * k).copy_from(&(d - of_near + of_part));
                let prior = &joint.covariance;
                let mut with = crossed.fixed_columns_mut::<2>(2 * k);
                with.gemm(1.0, &prior.fixed_columns::<2>(both.row), &by_own.transpose(), 0.0);
                if self.is_in_map[both.old] {
                    with.gemm(1.0, &prior.fixed_columns::<3>(0), &by_base.transpose(), 1.0);
                }
                with.gemm(-1.0, &prior.fixed_columns::<2>(both.new_row), &turn.transpose(), 1.0);
                with.gemm(-1.0, &prior.fixed_columns::<3>(mine), &by_pose.transpose(), 1.0);
                jacobians.push((by_base, by_own, by_pose));
            }
            let mut spread = DMatrix::zeros(rows, rows);
            for (k, (both, (by_base, by_own, by_pose))) in shared.iter().zip(&jacobians).enumerate() {
                let of_near = by_base * crossed.fixed_rows::<3>(0) + by_own * crossed.fixed_rows::<2>(both.row);
                let of_part = by_pose * crossed.fixed_rows::<3>(mine) + turn * crossed.fixed_rows::<2>(both.new_row);
                spread.fixed_rows_mut::<2>(2 * k).copy_from(&(of_near - of_part));
                if joint.tied.contains(&self.landmarks[both.old]) {
                    let seen: Matrix2<f64> =
                        part.covariance.fixed_view::<2, 2>(3 + 2 * both.new, 3 + 2 * both.new).into();
                    let mut own = spread.fixed_view_mut::<2, 2>(2 * k, 2 * k);
                    own += seen * ALIKE;
                }
            }
            factor(spread.as_mut_slice(), rows, 0..rows, rows, &mut Vec::new()).ok()?;
            spread.solve_lower_triangular_mut(&mut difference).then_some(())?;
            spread.tr_solve_lower_triangular_mut(&mut difference).then_some(())?;
            let next = Corrected::new(-(&crossed * &difference), mine);
            // What both know from the same readings keeps a difference, for it counts as uncertain by a little: of that,
            // base and end have to stay where they are.
            let settled = |k: usize| (next.all[k] - at.all[k]).powi(2) <= SETTLED * joint.covariance[(k, k)];
            let is_settled = joint.tied.is_empty() || (0..3).chain(mine..mine + 3).all(settled);
            at = next;
            let mut untied = shared.iter().filter(|both| !joint.tied.contains(&self.landmarks[both.old]));
            if iteration == ITERATIONS || (is_settled && untied.all(|both| self.is_agreed(part, both, &at))) {
                return Some((at, whitened(crossed, &spread)));
            }
        }
        None
    }
}

/// L⁻¹Cᵀ of the columns `crossed`, C.
fn whitened(mut crossed: DMatrix<f64>, root: &DMatrix<f64>) -> DMatrix<f64> {
    let (all, rows) = crossed.shape();
    kernel::solve_lower(crossed.as_mut_slice(), all, root.transpose().as_slice(), rows);
    crossed.transpose()
}

/// The covariance of the closed parts and a new one together.
struct Joint {
    covariance: DMatrix<f64>,
    /// Numbers of the landmarks that the new one was begun with.
    tied: HashSet<usize>,
}

/// Rows that are sums of rows of two Gaussians, less what their differences explain.
struct Rows<'a> {
    joint: &'a DMatrix<f64>,
    whitened: &'a DMatrix<f64>,
    /// Rows, those of the part behind those of the closed ones, and their weights.
    terms: Vec<Vec<(usize, f64)>>,
}

impl Rows<'_> {
    /// Of all rows.
    fn covariance(&self) -> DMatrix<f64> {
        let n = self.terms.len();
        let mut covariance = DMatrix::zeros(n, n);
        // Of each row with all rows of both.
        let mut with_all = DVector::zeros(self.joint.nrows());
        for (j, terms) in self.terms.iter().enumerate() {
            with_all.fill(0.0);
            for (a, weight) in terms {
                with_all.axpy(*weight, &self.joint.column(*a), 1.0);
            }
            for (i, terms) in self.terms.iter().enumerate().skip(j) {
                let sum = terms.iter().map(|(a, weight)| weight * with_all[*a]).sum();
                covariance[(i, j)] = sum;
                covariance[(j, i)] = sum;
            }
        }
        let mut explained = DMatrix::zeros(self.whitened.nrows(), n);
        for (j, terms) in self.terms.iter().enumerate() {
            for (a, weight) in terms {
                explained.column_mut(j).axpy(*weight, &self.whitened.column(*a), 1.0);
            }
        }
        covariance.gemm(-1.0, &explained.transpose(), &explained, 1.0);
        covariance
    }
}
