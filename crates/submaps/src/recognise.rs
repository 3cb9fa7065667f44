//! Landmarks without identity that the closed submaps have already.
//!
//! What one landmark of the open submap and one of the closed submaps differ by, d = q̂ − p̂, has the covariance that
//! the join has for landmarks with identities; given those that are known to be the same, whose d is zero, it is normal
//! with
//!
//! ```math
//! \bar d = d - S_{dm} S_{mm}^{-1} d_m, \quad \bar S = S_{dd} - S_{dm} S_{mm}^{-1} S_{md}
//! ```
//!
//! so that pairs are compatible jointly, and each makes the next more certain. Which pairs are the same landmark is
//! decided for all of them together, as in one map ([`Identification`]).

use super::common::{ALIKE, Coupling, OpenLandmark};
use super::near::Near;
use lienav_slam::LocalMap;
use lienav_slam::by_id::ById;
use lienav_slam::identity::{Acquaintance, Identification, NEAR_M2, PLACED_M2, SURE, are_at_one_place, motion_between};
use lienav_slam::thresholds::{CONFIRMING, LIKELY};
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

/// So many known pairs, those nearest to the robot, say where the others are to be.
const KNOWN: usize = 10;
/// So many recent landmarks are compared, at least, where a loop is open.
const OPEN: usize = 5;

/// Recent landmarks of the open submap and landmarks of the closed ones, and how they differ given the pairs that are
/// known.
struct Compared<'a> {
    near: &'a Near,
    local: &'a LocalMap<'a>,
    /// Rows of the closed ones that may be one of the open submap.
    free: &'a [usize],
    /// How far the robot sees: the farthest landmark of the last scan, m.
    view_m: f64,
    /// Of each feature and row in `spread`: where its numbers in `whitened` begin.
    starts: Vec<usize>,
    /// L⁻¹S_md of each pair, with L the factor of S_mm: two columns.
    whitened: Vec<f64>,
    /// How many numbers a column of it has.
    length: usize,
    spread: Spread,
}

/// Cov(d_i, d_k), where i and k are pairs of a row of the closed submaps and a feature of the filter, from tables.
struct Spread {
    /// Where each row is in `crossed`.
    rows: Vec<usize>,
    /// Where each feature is in `own`, and in the columns of `crossed`.
    features: Vec<usize>,
    /// Of the closed submaps.
    closed: DMatrix<f64>,
    /// Cov(v_i, v_k).
    own: DMatrix<f64>,
    /// Cov(u_a, v_k).
    crossed: DMatrix<f64>,
    /// Whether the open submap was begun with each feature.
    is_coupled: Vec<bool>,
}

/// Of what is in no table.
const NOWHERE: usize = usize::MAX;

impl Spread {
    /// Of these rows and features.
    fn new((near, local, coupling): (&Near, &LocalMap<'_>, &Coupling), rows: &[usize], features: &[usize]) -> Self {
        let mut workspace = Vec::new();
        let coupled = coupling.with(local, &mut workspace);
        let open: Vec<OpenLandmark> = features.iter().map(|here| OpenLandmark::new(local, *here)).collect();
        let mut own = DMatrix::zeros(2 * open.len(), 2 * open.len());
        for (i, one) in open.iter().enumerate() {
            for (k, other) in open.iter().enumerate() {
                own.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&one.with(local, other));
            }
        }
        let mut meetings = DMatrix::zeros(2 * coupled.landmarks.len(), 2 * open.len());
        for (k, other) in open.iter().enumerate() {
            for (i, meeting) in coupled.meeting(local, other).enumerate() {
                meetings.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&meeting);
            }
        }
        let columns = 0..2 * coupled.landmarks.len();
        let mut gains = DMatrix::zeros(2 * rows.len(), columns.len());
        for (i, row) in rows.iter().enumerate() {
            gains.fixed_rows_mut::<2>(2 * i).copy_from(&coupled.gain().view((3 + 2 * row, 0), (2, columns.len())));
        }
        let mut of_rows = vec![NOWHERE; near.landmarks.len()];
        rows.iter().enumerate().for_each(|(k, row)| of_rows[*row] = k);
        let mut of_features = vec![NOWHERE; local.len()];
        features.iter().enumerate().for_each(|(k, here)| of_features[*here] = k);
        let closed = DMatrix::from_fn(2 * rows.len(), 2 * rows.len(), |i, j| {
            near.covariance[(3 + 2 * rows[i / 2] + i % 2, 3 + 2 * rows[j / 2] + j % 2)]
        });
        let is_coupled = features.iter().map(|here| coupled.has(*here)).collect();
        Self { rows: of_rows, features: of_features, closed, own, crossed: gains * meetings, is_coupled }
    }

    fn covariance(&self, (i, a): (usize, usize), (k, b): (usize, usize)) -> Matrix2<f64> {
        let (i, k) = (self.features[i], self.features[k]);
        let (a, b) = (self.rows[a], self.rows[b]);
        let block =
            |of: &DMatrix<f64>, row: usize, column: usize| of.fixed_view::<2, 2>(2 * row, 2 * column).into_owned();
        let alike = if a == b && self.is_coupled[i] { ALIKE } else { 0.0 };
        block(&self.closed, a, b) + block(&self.own, i, k) * (1.0 + alike)
            - block(&self.crossed, a, k)
            - block(&self.crossed, b, i).transpose()
    }
}

impl Acquaintance for Compared<'_> {
    fn covariance(&self, one: (usize, usize), other: (usize, usize)) -> Matrix2<f64> {
        let (one_white, other_white) = (self.whitened(one), self.whitened(other));
        let product = |i: usize, k: usize| -> f64 {
            one_white.chunks_exact(self.length.max(1)).nth(i).map_or(0.0, |column| {
                let other = other_white.chunks_exact(self.length.max(1)).nth(k).unwrap_or_default();
                column.iter().zip(other).map(|(a, b)| a * b).sum()
            })
        };
        self.spread.covariance(one, other) - Matrix2::new(product(0, 0), product(0, 1), product(1, 0), product(1, 1))
    }

    fn apart(&self, one: usize, other: usize) -> (Vector2<f64>, Matrix2<f64>) {
        self.near.apart(one, other)
    }

    fn absence(&self, pairs: &[(usize, usize)]) -> f64 {
        // Those that are at one place anyway say little of where the robot is.
        let is_wide = |pair: &&(usize, usize)| self.covariance(**pair, **pair).trace() > PLACED_M2;
        let pairs: Vec<(usize, usize)> = pairs.iter().filter(is_wide).copied().collect();
        if pairs.len() < 2 {
            return 0.0;
        }
        let (near, local) = (self.near, self.local);
        let motion = motion_between(pairs.iter().map(|(recent, old)| (local.place(*recent), near.places[*old])));
        let robot = motion * local.pose();
        let mut sum = 0.0;
        for row in self.free {
            if pairs.iter().any(|(_, old)| old == row) {
                continue;
            }
            let place = &near.places[*row];
            let z = robot.transform_back(place);
            let detection = local.detection(&z);
            // One that a landmark of the open submap is near may be that one.
            let is_near = |i: usize| (motion.transform(&local.place(i)) - place).norm_squared() < NEAR_M2;
            if detection > LIKELY && z.norm() < self.view_m && !(0..local.len()).any(is_near) {
                sum += (1.0 - detection).ln();
            }
        }
        sum
    }
}

/// Whether two that are of these classes are two; 0 where it is not known.
pub fn are_others(one: u32, other: u32) -> bool {
    one != other && one != 0 && other != 0
}

/// A landmark of the open submap that is one of the closed ones.
#[derive(Debug)]
pub struct Recognised {
    /// Its identity in the filter.
    pub id: u32,
    /// Which one of [`Near`].
    pub row: usize,
    /// Others of [`Near`] that are the same landmark: recognised too late when they were seen.
    pub duplicates: Vec<usize>,
}

/// What may be the same landmark.
pub struct Question<'a> {
    /// The closed submaps.
    pub near: &'a Near,
    /// The class of each of their landmarks, 0 where it is not known.
    pub classes: &'a [u32],
    /// Their rows that may be meant.
    pub free: Vec<usize>,
    /// The open submap.
    pub local: &'a LocalMap<'a>,
    /// What both have in common.
    pub coupling: &'a Coupling,
    /// Rows of the landmarks of the open submap that are known, by their identity in the filter.
    pub index: &'a ById<usize>,
    /// Features that may be a landmark of the closed submaps, those nearest to the robot first.
    pub recent: Vec<usize>,
    /// Whether a feature and a row were in view together, and are two.
    pub are_two: &'a dyn Fn(usize, usize) -> bool,
}

impl Question<'_> {
    /// The recent landmarks that are one of the closed submaps, and whether a loop is open: some may be, and none is
    /// for sure.
    pub fn answer(mut self, workspace: &mut Identification) -> (Vec<Recognised>, bool) {
        let Self { near, local, index, .. } = self;
        let robot = local.pose().p;
        let square = |i: &usize| (local.place(*i) - robot).norm_squared();
        let mut known: Vec<usize> =
            (0..local.len()).filter(|i| local.is_landmark(*i) && index.contains_key(&local.id(*i))).collect();
        known.sort_unstable_by(|a, b| square(a).total_cmp(&square(b)).then(a.cmp(b)));
        let mut is_known = vec![false; near.landmarks.len()];
        known.iter().for_each(|i| is_known[index[&local.id(*i)]] = true);
        known.truncate(KNOWN);
        self.free.retain(|row| !is_known[*row]);
        let candidates = self.candidates();
        if candidates.is_empty() {
            return (Vec::new(), false);
        }
        let known: Vec<(usize, usize)> = known.iter().map(|i| (*i, index[&local.id(*i)])).collect();
        let mut rows: Vec<usize> = candidates.iter().chain(&known).map(|(_, row)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut features: Vec<usize> = candidates.iter().chain(&known).map(|(i, _)| *i).collect();
        features.sort_unstable();
        features.dedup();
        let spread = Spread::new((near, local, self.coupling), &rows, &features);
        let last = (0..local.len()).map(|i| local.last_seen(i)).max();
        let in_view = (0..local.len()).filter(|i| Some(local.last_seen(*i)) == last);
        let view_m = in_view.map(|i| square(&i)).fold(0.0, f64::max).sqrt();
        let mut compared = Compared {
            near,
            local,
            free: &self.free,
            view_m,
            starts: vec![NOWHERE; rows.len() * features.len()],
            whitened: Vec::new(),
            length: 2 * known.len(),
            spread,
        };
        let factor = compared.factor(&known);
        workspace.begin(local.gates());
        let density = local.landmark_density();
        let mut of_recent = candidates.as_slice();
        while let Some((recent, _)) = of_recent.first().filter(|_| !workspace.is_full()) {
            let count = of_recent.iter().take_while(|(i, _)| i == recent).count();
            let (own, rest) = of_recent.split_at(count);
            let differences: Vec<_> = own.iter().map(|pair| compared.given(&factor, &known, *pair)).collect();
            // It is an old one if it is a landmark: a candidate counts by its odds.
            let density = density / local.existence_probability(*recent);
            workspace.add((*recent, local.measurements(*recent)), differences.into_iter(), density);
            of_recent = rest;
        }
        let is_wide = workspace.is_wide() && workspace.len() >= OPEN;
        workspace.search(&compared);
        let accepted = workspace.accept(&compared, SURE, CONFIRMING);
        let pairs = accepted.map_or(Default::default(), |_| workspace.accepted());
        let found: Vec<Recognised> =
            pairs.iter().map(|(recent, row)| self.recognised(&compared, *recent, *row)).collect();
        let is_open = is_wide && found.is_empty();
        (found, is_open)
    }

    /// The recent landmarks with each row that they may be, as far as that is told without what is known.
    fn candidates(&self) -> Vec<(usize, usize)> {
        let Self { near, local, .. } = self;
        let [_, gate] = local.gates();
        let mut candidates = Vec::new();
        for recent in &self.recent {
            let open = OpenLandmark::new(local, *recent);
            let (spread, class) = (open.with(local, &open).trace(), local.class(*recent));
            for row in &self.free {
                let own = near.spread_of(*row) + spread;
                // Var(a − b) ≤ 2(Var a + Var b).
                let is_near = (near.places[*row] - open.place).norm_squared() <= 2.0 * gate * own;
                if is_near && !are_others(class, self.classes[*row]) && !(self.are_two)(*recent, *row) {
                    candidates.push((*recent, *row));
                }
            }
        }
        candidates
    }

    /// With the others that are at its place: the oldest is kept.
    fn recognised(&self, compared: &Compared<'_>, recent: usize, row: usize) -> Recognised {
        let class = self.local.class(recent);
        let is_same =
            |other: &usize| !are_others(class, self.classes[*other]) && are_at_one_place(compared, row, *other);
        let mut same: Vec<usize> = self.free.iter().copied().filter(is_same).collect();
        same.sort_unstable_by_key(|row| self.near.landmarks[*row]);
        Recognised { id: self.local.id(recent), row: same[0], duplicates: same.split_off(1) }
    }
}

impl Compared<'_> {
    /// Where the pair is in `starts`.
    fn start_of(&self, (recent, row): (usize, usize)) -> usize {
        self.spread.features[recent] * self.spread.closed.nrows() / 2 + self.spread.rows[row]
    }

    /// L⁻¹S_md of a pair; empty where nothing is known.
    fn whitened(&self, pair: (usize, usize)) -> &[f64] {
        let start = self.starts[self.start_of(pair)];
        self.whitened.get(start..start.saturating_add(2 * self.length)).unwrap_or_default()
    }

    /// The factor of S_mm and what is left of the differences of the pairs that are known; `None` where there are none.
    fn factor(&self, known: &[(usize, usize)]) -> Option<(DMatrix<f64>, DVector<f64>)> {
        let n = 2 * known.len();
        let mut spread = DMatrix::zeros(n, n);
        let mut d = DVector::zeros(n);
        for (i, a) in known.iter().enumerate() {
            for (k, b) in known.iter().enumerate() {
                spread.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&self.spread.covariance(*a, *b));
            }
            d.fixed_rows_mut::<2>(2 * i).copy_from(&self.difference(*a));
        }
        let factor = spread.cholesky().filter(|_| n > 0)?.unpack();
        factor.solve_lower_triangular_mut(&mut d).then_some((factor, d))
    }

    fn difference(&self, (recent, row): (usize, usize)) -> Vector2<f64> {
        self.near.places[row] - self.local.place(recent)
    }

    /// d̄ and S̄ of a pair, with its row.
    fn given(
        &mut self,
        factor: &Option<(DMatrix<f64>, DVector<f64>)>,
        known: &[(usize, usize)],
        pair: (usize, usize),
    ) -> (usize, Vector2<f64>, Matrix2<f64>) {
        let (mut d, mut spread) = (self.difference(pair), self.spread.covariance(pair, pair));
        if let Some((factor, residual)) = factor {
            let mut whitened = DMatrix::zeros(2 * known.len(), 2);
            for (k, other) in known.iter().enumerate() {
                whitened.fixed_view_mut::<2, 2>(2 * k, 0).copy_from(&self.spread.covariance(*other, pair));
            }
            factor.solve_lower_triangular_mut(&mut whitened);
            d -= whitened.tr_mul(residual).fixed_rows::<2>(0);
            spread -= whitened.tr_mul(&whitened).fixed_view::<2, 2>(0, 0);
            let start = self.start_of(pair);
            self.starts[start] = self.whitened.len();
            self.whitened.extend_from_slice(whitened.as_slice());
        }
        (pair.1, d, 0.5 * (spread + spread.transpose()))
    }
}
