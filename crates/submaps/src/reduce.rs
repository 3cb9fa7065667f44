//! Fewer submaps for the same landmarks: a robot that drives all day among them closes one submap after the other.
//!
//! A submap of landmarks that were all known before says where they are among each other. So does another one of the
//! same landmarks, and the two become one, by least squares over the landmarks and the pose between the two. First,
//! such a submap is cut off from the way: that one submap begins where the other ends is forgotten where both have seen
//! the same landmarks, which say it better. What is forgotten makes the map less certain, never more.

use super::problem::{Placed, Problem};
use super::submap::{At, Submap};
use lienav_lie::Se2;
use nalgebra::{DMatrix, DVector, Vector2};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The last submaps stay as they are.
const LAST: usize = 4;
/// Landmarks that two submaps know: the way from one to the other is cut only where there are so many, and submaps with
/// fewer are not made one.
const SHARED: usize = 3;
/// Gauss–Newton of two submaps: iterations, and the step at which it ends, as a square, m² and rad².
const ITERATIONS: usize = 10;
const SMALL_STEP: f64 = 1e-16;

impl Problem {
    /// The same with fewer submaps: with none of more than `most` landmarks unless it had more before.
    pub fn reduced(mut self, most: usize) -> Self {
        self.cut();
        for placed in self.submaps.iter_mut().filter(|placed| !placed.submap.is_settled()) {
            placed.submap = Arc::new(placed.submap.settled());
        }
        let bases: HashSet<usize> = self.submaps.iter().filter_map(|placed| placed.base).collect();
        let mut merged: Vec<Placed> = Vec::with_capacity(self.submaps.len());
        // Those that can be made one, by landmark.
        let mut free: HashMap<usize, Vec<usize>> = HashMap::new();
        let last = self.submaps.len().saturating_sub(LAST);
        for (k, mut placed) in std::mem::take(&mut self.submaps).into_iter().enumerate() {
            let is_free = k < last && placed.base.is_none() && !bases.contains(&placed.exit);
            if !is_free {
                merged.push(placed);
                continue;
            }
            let mut place = merged.len();
            if let Some((with, both)) = best(&merged, &free, &placed, most).and_then(|with| {
                let both = merged[with].merged_with(&placed, &self.bases)?;
                Some((with, both))
            }) {
                (placed, place) = (both, with);
            }
            for landmark in placed.landmarks.iter() {
                let holders = free.entry(*landmark).or_default();
                if !holders.contains(&place) {
                    holders.push(place);
                }
            }
            if place == merged.len() {
                merged.push(placed);
            } else {
                merged[place] = placed;
            }
        }
        self.submaps = merged;
        self.compacted()
    }

    /// Cuts off the submaps of landmarks that were all known before.
    fn cut(&mut self) {
        let mut first: HashMap<usize, usize> = HashMap::new();
        for (k, placed) in self.submaps.iter().enumerate() {
            placed.landmarks.iter().for_each(|landmark| {
                first.entry(*landmark).or_insert(k);
            });
        }
        // Neighbours always know the same landmarks.
        let knows_nothing_new = |k: usize| {
            let landmarks = &self.submaps[k].landmarks;
            landmarks.len() >= SHARED && landmarks.iter().all(|landmark| first[landmark] + 2 < k)
        };
        let last = self.submaps.len().saturating_sub(LAST);
        let is_cut = |k: usize| {
            let (before, this) = (&self.submaps[k - 1], &self.submaps[k]);
            let is_next = this.base == Some(before.exit);
            let shared = this.landmarks.iter().filter(|landmark| before.landmarks.contains(landmark)).count();
            is_next
                && !before.submap.leaves_any()
                && shared >= SHARED
                && knows_nothing_new(k - 1)
                && knows_nothing_new(k)
        };
        let cut: Vec<usize> = (1..last).filter(|k| is_cut(*k)).collect();
        for k in cut {
            if let Some(submap) = self.submaps[k].submap.without_motion() {
                (self.submaps[k].submap, self.submaps[k].base) = (Arc::new(submap), None);
            }
        }
    }

    /// Without poses that nothing asks for: those between that begin and end a submap stay, and the first and the last.
    /// They are left out once they are the most: a pose with another number is another unknown to the factor.
    fn compacted(mut self) -> Self {
        let last = self.bases.len() - 1;
        let mut is_used = vec![false; last + 1];
        (is_used[0], is_used[last]) = (true, true);
        for placed in &self.submaps {
            is_used[placed.exit] = true;
            placed.base.into_iter().for_each(|base| is_used[base] = true);
        }
        if 2 * is_used.iter().filter(|is_used| **is_used).count() > is_used.len() {
            return self;
        }
        let mut number = vec![0; is_used.len()];
        for pose in 0..last {
            number[pose + 1] = number[pose] + usize::from(is_used[pose]);
        }
        for placed in &mut self.submaps {
            (placed.base, placed.exit) = (placed.base.map(|base| number[base]), number[placed.exit]);
        }
        let mut used = is_used.iter();
        self.bases.retain(|_| used.next().is_some_and(|is_used| *is_used));
        self
    }
}

/// Of the submaps that can be made one with `placed`, the one that knows the most of its landmarks.
fn best(merged: &[Placed], free: &HashMap<usize, Vec<usize>>, placed: &Placed, most: usize) -> Option<usize> {
    let mut shared: HashMap<usize, usize> = HashMap::new();
    for holder in placed.landmarks.iter().filter_map(|landmark| free.get(landmark)).flatten() {
        *shared.entry(*holder).or_default() += 1;
    }
    let fits = |(with, shared): &(usize, usize)| {
        let (mine, theirs) = (placed.landmarks.len(), merged[*with].landmarks.len());
        *shared >= SHARED && 2 * shared >= mine.min(theirs) && mine + theirs - shared <= most.max(mine).max(theirs)
    };
    let fitting = shared.into_iter().filter(fits);
    fitting.max_by_key(|(with, shared)| (*shared, std::cmp::Reverse(*with))).map(|(with, _)| with)
}

impl Placed {
    /// Both as one, as seen from the end of this one. `None` where they do not determine how they lie to each other.
    fn merged_with(&self, other: &Self, bases: &[Se2]) -> Option<Self> {
        let mut landmarks: Vec<usize> = self.landmarks.to_vec();
        let mut places: Vec<Vector2<f64>> =
            self.submap.places.iter().map(|p| self.submap.exit.transform_back(p)).collect();
        let mut ids = self.submap.ids.clone();
        let mut number: HashMap<usize, usize> =
            landmarks.iter().enumerate().map(|(i, landmark)| (*landmark, i)).collect();
        let mut exit = bases[self.exit].inverse() * bases[other.exit];
        for ((landmark, id), place) in other.landmarks.iter().zip(&other.submap.ids).zip(&other.submap.places) {
            number.entry(*landmark).or_insert_with(|| {
                landmarks.push(*landmark);
                ids.push(*id);
                places.push(exit.transform(&other.submap.exit.transform_back(place)));
                landmarks.len() - 1
            });
        }
        let theirs: Vec<usize> = other.landmarks.iter().map(|landmark| number[landmark]).collect();
        let rows = 3 + 2 * landmarks.len();
        for _ in 0..ITERATIONS {
            // Of the pose at the end of the other one, then of the landmarks.
            let (mut information, mut gradient) = (DMatrix::zeros(rows, rows), DVector::zeros(rows));
            let own: Vec<usize> = (0..self.landmarks.len()).collect();
            for (placed, end, of_landmarks, skipped) in [(self, Se2::identity(), &own, 3), (other, exit, &theirs, 0)] {
                let seen: Vec<Vector2<f64>> = of_landmarks.iter().map(|i| places[*i]).collect();
                let at = At { base: end * placed.submap.exit.inverse(), exit: end, landmarks: &seen };
                let element = placed.submap.element(&at, Vec::new(), true);
                let of_landmarks = of_landmarks.iter().flat_map(|i| [3 + 2 * i, 4 + 2 * i]);
                let to: Vec<usize> = (0..3).chain(of_landmarks).collect();
                for (j, column) in to.iter().enumerate().skip(skipped) {
                    gradient[*column] += element.gradient[j];
                    for (i, row) in to.iter().enumerate().skip(j) {
                        information[(*row.max(column), *row.min(column))] += element.information[(i, j)];
                    }
                }
            }
            let root = information.clone().cholesky()?;
            let step = -root.solve(&gradient);
            exit = exit * Se2::exp(&step.fixed_rows::<3>(0).into_owned());
            places.iter_mut().enumerate().for_each(|(i, place)| *place += step.fixed_rows::<2>(3 + 2 * i));
            if step.norm_squared() < SMALL_STEP {
                information.fill_upper_triangle_with_lower_triangle();
                let submap = Submap::of_landmarks(ids, places, &information)?;
                return Some(Self {
                    submap: Arc::new(submap),
                    landmarks: Arc::new(landmarks),
                    base: None,
                    exit: self.exit,
                    is_outside: false,
                    is_of_world: false,
                });
            }
        }
        None
    }
}
