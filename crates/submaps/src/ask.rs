//! The question what the closed submaps know of the surroundings of the robot.

use super::near::Near;
use super::problem::{Placed, Solution, Start};
use lienav_lie::Se2;
use nalgebra::Vector2;
use std::collections::HashSet;

/// Landmarks near the robot whose joint covariance the closed submaps are asked for.
const NEAR: usize = 100;

/// What the closed submaps know of the last base and of what is near the robot: of the solution, and of the submaps
/// that were closed after it was begun. `robot` is seen from the base; `open` are landmarks of the open submap.
pub fn near(
    start: &Start,
    solution: Option<&Solution>,
    chain: &[Placed],
    (robot, place): (&Se2, &Vector2<f64>),
    open: &HashSet<usize>,
) -> Option<Near> {
    let of_chain: HashSet<usize> = chain.iter().flat_map(|placed| placed.landmarks.iter().copied()).collect();
    let origin = solution.map_or_else(|| start.pose(), |solution| solution.bases[0]);
    let mut radius = f64::INFINITY;
    let mut wanted = HashSet::new();
    let mut known = match solution {
        None => Near::start(start),
        Some(solution) => {
            let (chosen, covered) = nearest(solution, place, NEAR);
            radius = covered;
            wanted.extend(chosen);
            let common = solution.common().numbers;
            let mut numbers: Vec<usize> = wanted
                .iter()
                .chain(open)
                .chain(&common)
                .chain(&of_chain)
                .copied()
                .filter(|number| *number < solution.landmarks.len())
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            Near::of_solution(solution, numbers)
        }
    };
    for (k, placed) in chain.iter().enumerate() {
        let is_last = !chain[k + 1..].iter().any(|placed| !placed.is_outside);
        let keeps = |number: usize, seen: &Vector2<f64>| {
            !is_last || wanted.contains(&number) || open.contains(&number) || (seen - robot.p).norm() <= radius
        };
        known = if placed.is_outside {
            known.informed_by(placed, &origin)
        } else {
            known.behind(&placed.submap, &placed.landmarks, keeps)?
        };
    }
    known.covers = (*place, radius);
    Some(known)
}

/// The `count` landmarks nearest to a place, and how far around it there are no others.
fn nearest(solution: &Solution, place: &Vector2<f64>, count: usize) -> (Vec<usize>, f64) {
    if solution.landmarks.len() <= count {
        return ((0..solution.landmarks.len()).collect(), f64::INFINITY);
    }
    let mut radius = 4.0;
    let mut found = Vec::new();
    while found.len() < count && radius < 1e6 {
        radius *= 1.6;
        found.clear();
        solution.hash.within(place, radius, |index, square| found.push((square, index as usize)));
    }
    found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let covered = found.get(count).map_or(radius, |(square, _)| square.sqrt());
    found.truncate(count);
    (found.into_iter().map(|(_, index)| index).collect(), covered)
}
