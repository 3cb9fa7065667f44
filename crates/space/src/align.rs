//! Where a body is in a map of before: the rotation and the shift that take landmarks of its own to those of the map
//! with the same identities, as most of them agree. Up is known to both.
//!
//! With weights w_i of landmarks p_i and m_i and w_g of the vertical, the rotation maximizes tr(R Bᵀ) with B = Σ w_i
//! (m_i − m̄)(p_i − p̄)ᵀ + w_g e_z e_zᵀ (Wahba's problem); two landmarks beside each other are enough for it.

use crate::world::{Map3d, relative_sigma};
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix3, Vector3};

/// So many landmarks have to agree.
pub const LEAST: usize = 3;
/// And so large a part of those that the map has.
const MAJORITY: f64 = 0.6;
/// Two maps of one landmark differ by so much, m, and by so large a part of its distance: what is known of ranges.
const TOLERANCE: (f64, f64) = (0.2, 0.1);
/// A landmark that is known less well than this part of its tolerance waits.
const KNOWN_WELL: f64 = 0.5;
/// How well a start in motion knows the vertical, rad.
const TILT: f64 = 0.1;
/// The heading has to be known so well, rad: by far better than a start in a map is taken to know it.
const HEADING: f64 = 0.1;
/// At most so many pairs are tried in a frame.
const MOST_PAIRS: usize = 300;

/// A landmark that both know.
struct Pair {
    /// Its own.
    own: Vector3<f64>,
    /// In the map.
    there: Vector3<f64>,
    /// By how much the two may differ, m.
    tolerance: f64,
}

/// The pose of the body in the map; `None` where too few landmarks agree.
pub fn find(state: &State, filter: &Filter, map: &Map3d) -> Option<Se3> {
    let pairs = pairs(state, filter, map);
    let needed = LEAST.max((MAJORITY * pairs.len() as f64).ceil() as usize);
    let best = hypotheses(&pairs).max_by_key(|pose| agreeing(&pairs, pose).count())?;
    let first = fit(agreeing(&pairs, &best))?;
    let found = fit(agreeing(&pairs, &first))?;
    let inliers = || agreeing(&pairs, &found);
    if inliers().count() < needed || heading_sigma(inliers, &found) > HEADING {
        return None;
    }
    Some(found * Se3::new(state.nav.rotation, state.nav.position))
}

/// Landmarks of the state that the map has, and whose place relative to the body is known well.
fn pairs(state: &State, filter: &Filter, map: &Map3d) -> Vec<Pair> {
    let pair = |(i, landmark): (usize, &lienav_inertial::state::landmark::Landmark)| {
        let there = map.landmarks.iter().find(|one| one.id == landmark.id)?.position.into();
        let distance = (landmark.position - state.nav.position).norm();
        let tolerance = TOLERANCE.0 + TOLERANCE.1 * distance;
        let is_known = relative_sigma(state, i, filter) < KNOWN_WELL * tolerance;
        is_known.then_some(Pair { own: landmark.position, there, tolerance })
    };
    state.landmarks.iter().enumerate().filter(|(_, landmark)| landmark.is_point()).filter_map(pair).collect()
}

/// What pairs of landmarks make of it, near ones and far ones.
fn hypotheses(pairs: &[Pair]) -> impl Iterator<Item = Se3> {
    let n = pairs.len();
    let all = (1..n).flat_map(move |apart| (apart..n).map(move |j| (j - apart, j)));
    let of_two = |(i, j): (usize, usize)| {
        let (a, b) = (&pairs[i], &pairs[j]);
        let is_as_long = ((a.own - b.own).norm() - (a.there - b.there).norm()).abs() < a.tolerance + b.tolerance;
        if is_as_long { fit([a, b].into_iter()) } else { None }
    };
    all.take(MOST_PAIRS).filter_map(of_two)
}

fn agreeing<'a>(pairs: &'a [Pair], pose: &Se3) -> impl Iterator<Item = &'a Pair> + Clone {
    let pose = *pose;
    pairs.iter().filter(move |pair| (pose.transform(&pair.own) - pair.there).norm() < pair.tolerance)
}

/// The rotation and shift that fit best; `None` for less than two landmarks.
fn fit<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone) -> Option<Se3> {
    let weight = |pair: &Pair| pair.tolerance.powi(-2);
    let (mut sum, mut own, mut there) = (0.0, Vector3::zeros(), Vector3::zeros());
    for pair in pairs.clone() {
        sum += weight(pair);
        own += pair.own * weight(pair);
        there += pair.there * weight(pair);
    }
    if pairs.clone().count() < 2 {
        return None;
    }
    let (own, there) = (own / sum, there / sum);
    let up = Vector3::z() * Vector3::z().transpose() / (TILT * TILT);
    let add = |b: Matrix3<f64>, pair: &Pair| b + (pair.there - there) * (pair.own - own).transpose() * weight(pair);
    let svd = pairs.fold(up, add).svd(true, true);
    let (u, v_t) = (svd.u?, svd.v_t?);
    let mut signs = Vector3::repeat(1.0);
    signs[svd.singular_values.imin()] = (u * v_t).determinant().signum();
    let rotation = So3::from_matrix_unchecked(u * Matrix3::from_diagonal(&signs) * v_t);
    Some(Se3::new(rotation, there - rotation * own))
}

/// How well these landmarks show the heading, rad: by what they are off, and how far they are from their middle.
fn heading_sigma<'a, I: Iterator<Item = &'a Pair>>(pairs: impl Fn() -> I, pose: &Se3) -> f64 {
    let n = pairs().count() as f64;
    let middle = pairs().map(|pair| pair.own).sum::<Vector3<f64>>() / n;
    let off = pairs().map(|pair| (pose.transform(&pair.own) - pair.there).norm_squared()).sum::<f64>() / n;
    let spread = pairs().map(|pair| (pair.own - middle).xy().norm_squared()).sum::<f64>();
    const LEAST_OFF_M: f64 = 0.05;
    (off.sqrt() + LEAST_OFF_M) / spread.sqrt()
}
