//! Where a body is by tags whose places are known, when nothing else is known of it.

use crate::joint::Joint;
use crate::landmark::KnownTag;
use crate::sight::{NUMBERS, Sight};
use crate::square::solve;
use lienav_inertial::chi_square::chi2_bound;
use lienav_lie::{LieGroup, Se3, hat};
use nalgebra::{Matrix6, SMatrix, Vector6};
use std::collections::BTreeMap;

/// What a single tag tells at most against a pose, as χ².
const MOST_EVIDENCE: f64 = 50.0;

/// Probability of the gate that all tags must pass together.
const GATE: f64 = 0.9999;

/// Iterations from a start that is near.
const ITERATIONS: usize = 8;

/// Poses that are turned by more against each other are two, rad.
const APART: f64 = 0.1;

/// The pose of the body by known tags alone, and the standard deviation of its position by the corners alone, the
/// greatest of the three axes, m. `None` without known tags, or if their poses are ambiguous. `prior` gives the χ² of a
/// pose by what else is known. Each tag has to show the others where they are.
pub fn locate(
    known: &BTreeMap<u64, KnownTag>,
    sights: &[Sight],
    odds: f64,
    prior: impl Fn(&Se3) -> f64,
) -> Option<(Se3, f64)> {
    let all = with_places(known, sights);
    decide(candidates(&all, &[MOST_EVIDENCE; ITERATIONS], prior), odds, MOST_EVIDENCE)
}

/// The same of many tags, none of which need show by itself where the others are: of a small tag that is far away, that
/// is metres off. All of them pull at first, and what is far beyond the gate only at last does not.
pub fn locate_together(
    known: &BTreeMap<u64, KnownTag>,
    sights: &[Sight],
    odds: f64,
    prior: impl Fn(&Se3) -> f64,
) -> Option<(Se3, f64)> {
    /// From corners that are off by hundreds of pixels down to the gate.
    const CUTS: [f64; 12] = [1e7, 1e7, 1e6, 1e6, 1e5, 1e4, 1e3, 200.0, 50.0, 50.0, 50.0, 50.0];
    let all = with_places(known, sights);
    if all.is_empty() {
        return None;
    }
    // Of many tags, the numbers that are not fitted have more χ² than a single one.
    let bound = chi2_bound(NUMBERS * all.len() - 6, GATE).max(MOST_EVIDENCE);
    decide(candidates(&all, &CUTS, prior), odds, bound)
}

fn with_places(known: &BTreeMap<u64, KnownTag>, sights: &[Sight]) -> Vec<(Sight, Se3)> {
    sights.iter().filter_map(|sight| Some((*sight, known.get(&sight.id)?.pose))).collect()
}

/// The poses that the two of each tag lead to, with their costs and standard deviations.
fn candidates(all: &[(Sight, Se3)], cuts: &[f64], prior: impl Fn(&Se3) -> f64) -> Vec<(f64, Se3, f64)> {
    let mut found: Vec<(f64, Se3, f64)> = Vec::new();
    for (sight, tag) in all {
        let Some(solutions) = solve(sight) else { continue };
        for fit in [Some(solutions.best), solutions.other].into_iter().flatten() {
            let (cost, pose, sigma) = settle(all, &(*tag * fit.pose.inverse()), cuts);
            found.push((cost + prior(&pose), pose, sigma));
        }
    }
    found
}

/// The best of them, if no other one is nearly as good.
fn decide(mut found: Vec<(f64, Se3, f64)>, odds: f64, bound: f64) -> Option<(Se3, f64)> {
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (cost, pose, sigma) = *found.first()?;
    let is_other = |other: &Se3| (other.rotation * pose.rotation.inverse()).log().norm() > APART;
    let second = found.iter().find(|(_, other, _)| is_other(other)).map_or(f64::INFINITY, |(cost, ..)| *cost);
    (second > cost + odds && cost < bound).then_some((pose, sigma))
}

/// The pose of the body that fits all known tags best, from a start, and its cost; what is beyond the cut of an iteration
/// is left out, and costs as much. And the standard deviation of the position, m.
fn settle(all: &[(Sight, Se3)], start: &Se3, cuts: &[f64]) -> (f64, Se3, f64) {
    let mut pose = *start;
    let (mut cost, mut sigma) = (f64::INFINITY, f64::INFINITY);
    let mut before = f64::INFINITY;
    for &cut in cuts {
        if cut < before {
            (cost, before) = (f64::INFINITY, cut);
        }
        let (mut sum, mut information, mut vector) = (0.0, Matrix6::identity() * 1e-9, Vector6::zeros());
        for (sight, tag) in all {
            let (relative, by_y) = Joint::alone(&pose, tag).pose(&Vector6::zeros());
            match sight.see(&relative) {
                Some((residual, by_pose)) if residual.norm_squared() < cut => {
                    let h = by_pose * by_y;
                    information += h.tr_mul(&h);
                    vector += h.tr_mul(&residual);
                    sum += residual.norm_squared();
                }
                _ => sum += cut,
            }
        }
        let Some(factor) = information.cholesky() else { break };
        if sum.is_nan() || sum > cost + 1.0 {
            break;
        }
        cost = sum;
        // δp = ξ_p − p̂^ ξ_R.
        let mut by = SMatrix::<f64, 3, 6>::zeros();
        by.fixed_view_mut::<3, 3>(0, 0).copy_from(&-hat(&pose.translation));
        by.fixed_view_mut::<3, 3>(0, 3).fill_with_identity();
        sigma = (by * factor.inverse() * by.transpose()).diagonal().max().max(0.0).sqrt();
        pose = Se3::exp(&factor.solve(&vector)) * pose;
    }
    (cost, pose, sigma)
}
