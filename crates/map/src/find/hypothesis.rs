//! A hypothesis: a pose, the landmarks that it makes of the constellation, and how probable that is.
//!
//! Everything is relative to a robot among landmarks that are in no map and stand at random, as dense as those of the
//! map: what is seen is then as probable anywhere. A landmark of the constellation that is one of the map gains, one
//! that is none costs, and so does one of the map that should have been seen and was not:
//!
//! ```math
//! \log w = \log \frac{1}{2\pi A}\int N(r(T);\, 0,\, S)\, dT + \sum_{matched} \log\frac{1 - \varepsilon}{\rho}
//!     + \sum_{others} \log \varepsilon + \sum_{not seen} \log\Big(g + (1 - g) \prod_v (o + (1 - o)(1 - P_D)^{n_v})\Big)
//! ```
//!
//! S is the covariance of the constellation and that of the map, so that an error of either counts once for each
//! landmark however often it was seen.

use super::constellation::Constellation;
use super::index::MapIndex;
use super::visibility::{Detection, View, Views};
use lienav_lie::{Se2, skew};
use nalgebra::{DMatrix, DVector, Dyn, Matrix2, Matrix2x3, Matrix3, OMatrix, U3, Vector2};
use std::f64::consts::TAU;

/// A landmark of the constellation is one of the map within this squared Mahalanobis distance.
const GATE: f64 = 16.0;
/// Nothing is looked for farther than this from where it should be, m.
const MAX_GATE_M: f64 = 3.0;
/// A landmark that the map says is here is gone, or was never there, with this probability.
const ABSENT: f64 = 0.05;
/// A landmark is hidden from one place with this probability.
const HIDDEN: f64 = 0.2;
/// A measurement names the wrong landmark with this probability; so does one in a place that is not the map's.
const MISNAMED: f64 = 1e-3;
/// A landmark counts for no more than this share of the density at its peak where the map repeats itself: else no
/// number of landmarks would tell an exact grid from another.
const MOST_ALIKE: f64 = 0.1;

/// Everything that hypotheses are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub index: &'a MapIndex,
    pub constellation: &'a Constellation,
    pub detection: &'a Detection,
    pub views: &'a Views,
    /// Of a landmark that is in no map, among those that were confirmed.
    pub unmapped: f64,
    /// Of the variance of a measurement, what all measurements of a landmark share.
    pub repeating: f64,
    /// Poses of the base are sought over this area, m².
    pub area: f64,
}

/// What was seen, or not, before: by landmark of the map, sorted, so that none counts twice.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// What the match of a landmark was worth that has left the constellation.
    pub matched: Vec<(u32, f64)>,
    /// The log probability of not having seen it from the views that are forgotten.
    pub unseen: Vec<(u32, f64)>,
}

/// The most landmarks of the map that the past of a hypothesis remembers.
const MAX_PAST: usize = 512;

impl Past {
    /// Of the landmarks that are not matched now.
    pub fn log_matched(&self, matches: &[(usize, u32)]) -> f64 {
        self.matched.iter().filter(|(k, _)| matches.iter().all(|(_, l)| l != k)).map(|(_, gain)| gain).sum()
    }

    /// What a landmark was worth; once more, if it was there before.
    pub fn keep_match(&mut self, k: u32, gain: f64) {
        match self.matched.binary_search_by_key(&k, |(k, _)| *k) {
            Ok(place) => self.matched[place].1 = gain,
            Err(place) if self.matched.len() < MAX_PAST => self.matched.insert(place, (k, gain)),
            Err(_) => {}
        }
    }

    /// Landmarks that were not seen from one view.
    pub fn keep_unseen(&mut self, unseen: &[(u32, f64)]) {
        for (k, log) in unseen {
            match self.unseen.binary_search_by_key(k, |(k, _)| *k) {
                Ok(place) => self.unseen[place].1 += log,
                Err(place) if self.unseen.len() < MAX_PAST => self.unseen.insert(place, (*k, *log)),
                Err(_) => {}
            }
        }
    }
}

/// Landmarks of the constellation with those of the map.
pub type Matches = Vec<(usize, u32)>;

/// A pose that fits matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub pose: Se2,
    /// Of (u, a), T_true = T Exp(u, a).
    pub in_body: Matrix3<f64>,
    /// The same beside the landmarks around: without what all of them are off by together.
    pub relative: Matrix3<f64>,
    /// log (1/2πA) ∫ N dT.
    pub log_evidence: f64,
}

impl Fit {
    /// Covariance of (x, y, θ) in the map frame.
    pub fn covariance(&self) -> Matrix3<f64> {
        let r = self.pose.rotation();
        let to_map = Matrix3::new(r[(0, 0)], r[(0, 1)], 0.0, r[(1, 0)], r[(1, 1)], 0.0, 0.0, 0.0, 1.0);
        let covariance = to_map * self.in_body * to_map.transpose();
        0.5 * (covariance + covariance.transpose())
    }
}

/// What a hypothesis comes to.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub fit: Fit,
    pub matches: Matches,
    pub log_weight: f64,
    /// How many of the matches are between landmarks with the same identity.
    pub named: usize,
}

impl Evidence<'_> {
    /// Matches, fits and weighs. `None` where fewer than two landmarks match.
    pub fn judge(&self, pose: &Se2, relative: &Matrix3<f64>, past: &Past) -> Option<Judgement> {
        let mut matches = self.matches(pose, relative);
        let mut fit = self.fit(&matches, pose)?;
        // Some may come in, or go out, from where it fits.
        let again = self.matches(&fit.pose, &fit.relative);
        if again != matches {
            matches = again;
            fit = self.fit(&matches, &fit.pose)?;
        }
        let named = matches.iter().filter(|(i, k)| self.is_named(*i, *k)).count();
        let log_weight = fit.log_evidence + self.log_matched(&matches) + self.log_missing(&fit.pose, &matches, past);
        Some(Judgement { fit, matches, log_weight, named })
    }

    /// The covariance of a landmark of the constellation: what its measurements left of it, and what they share.
    pub fn block(&self, i: usize) -> Matrix2<f64> {
        let shared = self.repeating * self.constellation.tracks[i].noise;
        self.constellation.block(i, i) + Matrix2::identity() * shared
    }

    /// The landmarks of the constellation that count.
    pub fn tracks(&self) -> impl Iterator<Item = usize> + '_ {
        self.constellation.confirmed()
    }

    /// The landmark of the map for each of the constellation: the nearest ones first, one for each.
    fn matches(&self, pose: &Se2, relative: &Matrix3<f64>) -> Matches {
        let rotation = pose.rotation();
        let mut near = Vec::new();
        for i in self.tracks() {
            let place = self.constellation.places[i];
            let levers = lever(&place);
            let covariance = self.block(i) + levers * relative * levers.transpose();
            let covariance = rotation * covariance * rotation.transpose();
            let image = pose.transform(&place);
            self.near(i, &image, &covariance, |k, distance| near.push((distance, i, k)));
        }
        near.sort_by(|one, other| one.0.total_cmp(&other.0).then((one.1, one.2).cmp(&(other.1, other.2))));
        let mut matches = Matches::with_capacity(near.len());
        for (_, i, k) in near {
            if matches.iter().all(|(j, l)| *j != i && *l != k) {
                matches.push((i, k));
            }
        }
        matches.sort_unstable();
        matches
    }

    /// Calls `visit` with the landmarks of the map that i can be, and their squared distances with ln|S|.
    pub fn near(&self, i: usize, image: &Vector2<f64>, covariance: &Matrix2<f64>, mut visit: impl FnMut(u32, f64)) {
        let mut consider = |k: u32| {
            let (residual, total) =
                (self.index.landmark(k).position - image, covariance + self.index.local_covariance(k));
            let Some(inverse) = total.try_inverse() else { return };
            let squared = residual.dot(&(inverse * residual));
            if squared <= GATE && self.can_be(i, k) {
                visit(k, squared + total.determinant().ln());
            }
        };
        if let Some(k) = self.constellation.tracks[i].id.and_then(|id| self.index.find(id)) {
            return consider(k);
        }
        let reach = (GATE * (covariance.trace() + self.index.largest_variance)).sqrt().min(MAX_GATE_M);
        self.index.within(image, reach, |k, _| consider(k));
    }

    /// Whether identity and class allow it. A landmark with an identity that the map does not have may be any.
    pub fn can_be(&self, i: usize, k: u32) -> bool {
        let (track, landmark) = (&self.constellation.tracks[i], self.index.landmark(k));
        let has_class = track.class == 0 || landmark.class == 0 || track.class == landmark.class;
        has_class && (self.is_named(i, k) || track.id.and_then(|id| self.index.find(id)).is_none())
    }

    fn is_named(&self, i: usize, k: u32) -> bool {
        self.constellation.tracks[i].id == Some(self.index.landmark(k).id)
    }

    /// Generalized least squares: r_i = z_i − Rᵀ(m_i − p), ∂r_i/∂(u, a) = (I, J y_i), with the whole covariance of the
    /// constellation and the map.
    pub fn fit(&self, matches: &[(usize, u32)], pose: &Se2) -> Option<Fit> {
        if matches.len() < 2 {
            return None;
        }
        let rows = 2 * matches.len();
        let back = pose.rotation().transpose();
        let mut covariance = DMatrix::zeros(rows, rows);
        for (a, &(i, k)) in matches.iter().enumerate() {
            for (b, &(j, l)) in matches.iter().enumerate().take(a + 1) {
                let mut block = if i == j { self.block(i) } else { self.constellation.block(i, j) };
                if a == b || self.index.is_joint() {
                    block += back * self.index.covariance(k, l) * back.transpose();
                }
                covariance.fixed_view_mut::<2, 2>(2 * a, 2 * b).copy_from(&block);
            }
        }
        let factor = nalgebra::Cholesky::new(covariance)?;
        let (mut pose, mut in_body, mut squared) = (*pose, Matrix3::zeros(), 0.0);
        for step in 0..3 {
            let (mut residual, mut jacobian) = (DVector::zeros(rows), OMatrix::<f64, Dyn, U3>::zeros(rows));
            for (a, &(i, k)) in matches.iter().enumerate() {
                let expected = pose.transform_back(&self.index.landmark(k).position);
                let difference = self.constellation.places[i] - expected;
                residual.fixed_rows_mut::<2>(2 * a).copy_from(&difference);
                jacobian.fixed_rows_mut::<2>(2 * a).copy_from(&lever(&expected));
            }
            factor.l_dirty().solve_lower_triangular_mut(&mut residual);
            factor.l_dirty().solve_lower_triangular_mut(&mut jacobian);
            let information: Matrix3<f64> = jacobian.tr_mul(&jacobian);
            in_body = information.try_inverse()?;
            let correction = -in_body * jacobian.tr_mul(&residual);
            if step == 2 || correction.norm_squared() < 1e-16 {
                squared = (residual + jacobian * correction).norm_squared();
                break;
            }
            pose = pose * Se2::exp(&correction);
        }
        let log_determinant = 2.0 * (0..rows).map(|k| factor.l_dirty()[(k, k)].ln()).sum::<f64>();
        let log_volume = 0.5 * (3.0 * TAU.ln() + in_body.determinant().ln());
        let log_peak = -0.5 * (squared + log_determinant + rows as f64 * TAU.ln());
        let log_evidence = log_peak + log_volume - (TAU * self.area).ln();
        let relative = self.relative_covariance(matches, &pose)?;
        log_evidence.is_finite().then_some(Fit { pose, in_body, relative, log_evidence })
    }

    fn relative_covariance(&self, matches: &[(usize, u32)], pose: &Se2) -> Option<Matrix3<f64>> {
        let back = pose.rotation().transpose();
        let mut information = Matrix3::zeros();
        for &(i, k) in matches {
            let covariance = self.block(i) + back * self.index.local_covariance(k) * back.transpose();
            let levers = lever(&self.constellation.places[i]);
            information += levers.transpose() * covariance.try_inverse()? * levers;
        }
        information.try_inverse()
    }

    /// What the landmarks of the constellation say, beside how well they fit.
    fn log_matched(&self, matches: &[(usize, u32)]) -> f64 {
        let matched: f64 = matches.iter().map(|(i, k)| self.log_gain(*i, *k)).sum();
        matched + (self.tracks().count() - matches.len()) as f64 * self.unmapped.ln()
    }

    /// log (1 − ε)/ρ of a match.
    pub fn log_gain(&self, i: usize, k: u32) -> f64 {
        let name = if self.is_named(i, k) { -MISNAMED.ln() } else { 0.0 };
        (1.0 - self.unmapped).ln() - self.index.density.ln() + name
    }

    /// The log weight of a place that is not in the map, but made like it: where a map repeats itself, the next place
    /// of its kind has landmarks where this one has, more often than by chance.
    pub fn log_elsewhere(&self) -> f64 {
        self.tracks().map(|i| self.log_likeness(i)).sum()
    }

    /// How much more probable a landmark is where this one is in a place that is made like the map than by chance.
    fn log_likeness(&self, i: usize) -> f64 {
        let variance = Matrix2::identity() * self.index.typical_variance;
        let peak = 1.0 / (TAU * (self.block(i) + variance).determinant().sqrt());
        let density = self.index.density_alike.min(MOST_ALIKE * peak);
        (density / self.index.density).ln().max(0.0)
    }

    /// What a match is worth where the pose is known, beside a place that is not in the map.
    pub fn log_worth(&self, pose: &Se2, i: usize, k: u32) -> Option<f64> {
        let back = pose.rotation().transpose();
        let covariance = self.block(i) + back * self.index.local_covariance(k) * back.transpose();
        let residual = self.constellation.places[i] - pose.transform_back(&self.index.landmark(k).position);
        let squared = residual.dot(&(covariance.try_inverse()? * residual));
        let log_normal = -0.5 * (squared + covariance.determinant().ln()) - TAU.ln();
        Some(self.log_gain(i, k) + log_normal - self.log_likeness(i))
    }

    /// What landmarks of the map say that are not in the constellation.
    fn log_missing(&self, pose: &Se2, matches: &[(usize, u32)], past: &Past) -> f64 {
        let excused = self.excused(pose, matches);
        let is_missing = |(k, _): &&(u32, f64)| excused.binary_search(k).is_err();
        let mut missing: Vec<(u32, f64)> = past.unseen.iter().filter(is_missing).copied().collect();
        self.views.iter().for_each(|view| self.unseen(pose, view, &excused, &mut missing));
        missing.sort_by_key(|(k, _)| *k);
        missing
            .chunk_by(|one, other| one.0 == other.0)
            .map(|of_one| {
                let unseen: f64 = of_one.iter().map(|(_, log)| log).sum();
                (ABSENT + (1.0 - ABSENT) * unseen.exp()).ln()
            })
            .sum()
    }

    /// Landmarks of the map that are not missing, sorted: those that match, and those of which something was seen, but
    /// not often enough to be confirmed.
    pub fn excused(&self, pose: &Se2, matches: &[(usize, u32)]) -> Vec<u32> {
        let mut excused: Vec<u32> = matches.iter().map(|(_, k)| *k).collect();
        for i in (0..self.constellation.len()).filter(|i| !self.constellation.tracks[*i].is_confirmed()) {
            let image = pose.transform(&self.constellation.places[i]);
            let reach = (GATE * self.block(i).trace()).sqrt().min(MAX_GATE_M);
            self.index.within(&image, reach, |k, _| excused.push(k));
        }
        excused.sort_unstable();
        excused
    }

    /// Adds the landmarks that should have been seen from a view, with the log probability of not having seen them.
    pub fn unseen(&self, pose: &Se2, view: &View, excused: &[u32], missing: &mut Vec<(u32, f64)>) {
        let from = *pose * view.pose;
        let reach = self.detection.reach().min(view.horizon_m);
        self.index.within(&from.p, reach, |k, _| {
            if excused.binary_search(&k).is_ok() {
                return;
            }
            let chance = self.detection.at(&from.transform_back(&self.index.landmark(k).position));
            if chance > 0.0 {
                let unseen = HIDDEN + (1.0 - HIDDEN) * (1.0 - chance).powi(view.scans.min(1000) as i32);
                missing.push((k, unseen.ln()));
            }
        });
    }
}

/// ∂(place in the base frame)/∂(u, a), up to the sign: (I, J y).
pub fn lever(place: &Vector2<f64>) -> Matrix2x3<f64> {
    let turned = skew(place);
    Matrix2x3::new(1.0, 0.0, turned.x, 0.0, 1.0, turned.y)
}

/// log Σ exp.
pub fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + logs.map(|log| (log - greatest).exp()).sum::<f64>().ln()
}
