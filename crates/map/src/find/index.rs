//! A map that is asked for what is near a place, and for pairs at a distance.

use crate::{LandmarkMap, LandmarkMapError, MapLandmark, NearCovariances};
use nalgebra::{DMatrix, Matrix2, Vector2};
use std::collections::HashMap;
use std::f64::consts::PI;
use std::hash::{BuildHasherDefault, Hasher};

/// The most landmarks of a cell that a query looks at: many at one place cost no more than these.
const CELL_LIMIT: usize = 16;
/// The landmarks that the density is counted over, and pairs of them that are aligned to learn how alike places are.
const SAMPLES: usize = 48;
/// Places count as alike if landmarks agree within this, m: what a sensor and odometry reach after a few scans.
const ALIKE_M: f64 = 0.25;
/// The most alignments of one pair that are looked at.
const ALIGNMENTS: usize = 64;

/// Two landmarks of the map, by their places in it, and how far apart they are, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub distance: f64,
    pub a: u32,
    pub b: u32,
}

/// The map with a grid over it and its pairs in the order of their distances.
#[derive(Clone, Debug)]
pub struct MapIndex {
    landmarks: Vec<MapLandmark>,
    joint: Option<DMatrix<f64>>,
    near: Option<NearCovariances>,
    /// Places of landmarks in the map, those of one cell together.
    order: Vec<u32>,
    /// First and last in `order` of each cell that is not empty.
    cells: HashMap<(i64, i64), (u32, u32), BuildHasherDefault<CellHasher>>,
    cell_m: f64,
    pairs: Vec<Pair>,
    by_id: HashMap<u32, u32>,
    /// Pairs nearer than this are in `pairs`, m, save around a few landmarks in a crowd.
    pub pair_reach_m: f64,
    /// Landmarks in a square metre around a landmark, on average.
    pub density: f64,
    /// The same around a place where another place has one, if two landmarks of each agree: equal to `density` where
    /// landmarks stand at random, and more where the map repeats itself.
    pub density_alike: f64,
    /// What each landmark is uncertain by beside its neighbours, m²: errors that they share move the map as a whole.
    local: Vec<Matrix2<f64>>,
    /// A bound on that along any direction, m².
    pub largest_variance: f64,
    /// The median of it along either axis, m².
    pub typical_variance: f64,
    hull: Hull,
}

/// Area and circumference of the convex hull.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Hull {
    area: f64,
    circumference: f64,
}

/// Cells are numbered by two integers; a multiplication mixes them well enough.
#[derive(Clone, Copy, Debug, Default)]
struct CellHasher(u64);

impl Hasher for CellHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_i64(i64::from(*byte)));
    }

    fn write_i64(&mut self, number: i64) {
        let mixed = (self.0.rotate_left(23) ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

impl MapIndex {
    /// Of a map, with at most `max_pairs` pairs.
    ///
    /// # Errors
    /// Those of [`LandmarkMap::check`].
    pub fn new(map: &LandmarkMap, max_pairs: usize) -> Result<Self, LandmarkMapError> {
        map.check()?;
        let landmarks = map.landmarks.clone();
        let by_id = landmarks.iter().zip(0..).map(|(landmark, k)| (landmark.id, k)).collect();
        let hull = Hull::of(landmarks.iter().map(|landmark| landmark.position).collect());
        let mut index = Self {
            joint: map.joint.clone(),
            near: map.near.clone(),
            order: Vec::new(),
            cells: HashMap::default(),
            cell_m: 1.0,
            pairs: Vec::new(),
            by_id,
            pair_reach_m: 0.0,
            density: 0.0,
            density_alike: 0.0,
            local: landmarks.iter().map(|landmark| landmark.covariance).collect(),
            largest_variance: 0.0,
            typical_variance: 0.0,
            hull,
            landmarks,
        };
        if index.landmarks.is_empty() {
            return Ok(index);
        }
        let spread = index.landmarks.len() as f64 / hull.grown(1.0);
        index.fill_cells(spread.sqrt().recip().max(0.1));
        index.density = index.density_within((8.0 / (PI * spread)).sqrt());
        index.fill_cells(index.density.sqrt().recip().max(0.1));
        index.fill_pairs(max_pairs);
        index.learn_local_covariances();
        index.density_alike = index.density_of_alike_places().max(index.density);
        Ok(index)
    }

    /// How many landmarks there are.
    pub fn len(&self) -> usize {
        self.landmarks.len()
    }

    /// A landmark by its place in the map.
    pub fn landmark(&self, k: u32) -> &MapLandmark {
        &self.landmarks[k as usize]
    }

    /// The place in the map of the landmark with this identity.
    pub fn find(&self, id: u32) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The area from which a sensor of this range sees a landmark, m².
    pub fn area(&self, range_m: f64) -> f64 {
        self.hull.grown(range_m)
    }

    /// The covariance of landmarks i and j, m²; zero where nothing is known of it.
    pub fn covariance(&self, i: u32, j: u32) -> Matrix2<f64> {
        match &self.joint {
            Some(joint) => joint.fixed_view::<2, 2>(2 * i as usize, 2 * j as usize).into_owned(),
            None if i == j => self.landmark(i).covariance,
            None => {
                let known = self.near.as_ref().and_then(|near| near.of(i as usize, j as usize));
                known.copied().unwrap_or_else(Matrix2::zeros)
            }
        }
    }

    /// Whether errors of landmarks are correlated.
    pub fn is_joint(&self) -> bool {
        self.joint.is_some() || self.near.is_some()
    }

    /// What a landmark is uncertain by beside its neighbours, m².
    pub fn local_covariance(&self, k: u32) -> &Matrix2<f64> {
        &self.local[k as usize]
    }

    /// Calls `visit` with all landmarks within `radius` of a place, with their squared distances; with at most
    /// [`CELL_LIMIT`] of a cell.
    pub fn within(&self, place: &Vector2<f64>, radius: f64, mut visit: impl FnMut(u32, f64)) {
        let (low, high) = (self.cell(&place.add_scalar(-radius)), self.cell(&place.add_scalar(radius)));
        // A query wider than the map looks at all landmarks, not at all cells.
        let wide = (high.0.saturating_sub(low.0)).saturating_mul(high.1.saturating_sub(low.1));
        let bound = radius * radius;
        if wide as u64 > 2 * self.cells.len() as u64 + 16 {
            for &(from, to) in self.cells.values() {
                self.visit_cell(place, bound, (from, to), &mut visit);
            }
            return;
        }
        for x in low.0..=high.0 {
            for y in low.1..=high.1 {
                if let Some(&range) = self.cells.get(&(x, y)) {
                    self.visit_cell(place, bound, range, &mut visit);
                }
            }
        }
    }

    fn visit_cell(&self, place: &Vector2<f64>, bound: f64, (from, to): (u32, u32), visit: &mut impl FnMut(u32, f64)) {
        for &k in self.order[from as usize..to as usize].iter().take(CELL_LIMIT) {
            let squared = (self.landmark(k).position - place).norm_squared();
            if squared <= bound {
                visit(k, squared);
            }
        }
    }

    /// Pairs whose distance is between these, as a part of all pairs.
    pub fn pairs_between(&self, low: f64, high: f64) -> std::ops::Range<usize> {
        let first = |bound: f64| self.pairs.partition_point(|pair| pair.distance < bound);
        first(low)..first(high).max(first(low))
    }

    /// Pairs by their number.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    fn cell(&self, place: &Vector2<f64>) -> (i64, i64) {
        ((place.x / self.cell_m).floor() as i64, (place.y / self.cell_m).floor() as i64)
    }

    fn fill_cells(&mut self, cell_m: f64) {
        self.cell_m = cell_m;
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|k| (self.cell(&self.landmark(*k).position), *k));
        self.cells.clear();
        for (place, k) in order.iter().zip(0..) {
            let cell = self.cell(&self.landmarks[*place as usize].position);
            self.cells.entry(cell).or_insert((k, k)).1 = k + 1;
        }
        self.order = order;
    }

    /// Neighbours within `radius` of a landmark, averaged over the map.
    fn density_within(&self, radius: f64) -> f64 {
        let mut count = 0.0;
        let samples = self.samples(20 * SAMPLES);
        for k in &samples {
            self.within(&self.landmark(*k).position, radius, |_, _| count += 1.0);
        }
        count / (samples.len() as f64 * PI * radius * radius)
    }

    /// Landmarks spread evenly over the order of the map.
    fn samples(&self, count: usize) -> Vec<u32> {
        let step = (self.len() / count).max(1);
        (0..self.len() as u32).step_by(step).collect()
    }

    /// Each landmark with its nearest ones: as many as `max_pairs` allows.
    fn fill_pairs(&mut self, max_pairs: usize) {
        let each = (max_pairs / self.len()).clamp(4, self.len().max(4));
        let mut radius = (1.5 * each as f64 / (PI * self.density)).sqrt();
        if each >= self.len() {
            radius = f64::INFINITY;
        }
        let (mut reaches, mut near) = (Vec::with_capacity(self.len()), Vec::new());
        for k in 0..self.len() as u32 {
            near.clear();
            let place = self.landmark(k).position;
            if radius.is_finite() {
                self.within(&place, radius, |j, squared| near.push((squared.sqrt(), j)));
            } else {
                near.extend((0..self.len() as u32).map(|j| ((self.landmark(j).position - place).norm(), j)));
            }
            near.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            reaches.push(if near.len() > each { near[each].0 } else { radius });
            for &(distance, j) in near.iter().take(each + 1) {
                if j != k {
                    self.pairs.push(Pair { distance, a: k.min(j), b: k.max(j) });
                }
            }
        }
        self.pairs.sort_by(|one, other| {
            one.distance.total_cmp(&other.distance).then((one.a, one.b).cmp(&(other.a, other.b)))
        });
        self.pairs.dedup();
        reaches.sort_by(f64::total_cmp);
        self.pair_reach_m = reaches[reaches.len() / 10];
    }

    /// Half of Cov(m_k − m_j), for the neighbour j of which k is known best.
    fn learn_local_covariances(&mut self) {
        if self.is_joint() {
            let mut best = vec![f64::INFINITY; self.len()];
            for Pair { a, b, .. } in &self.pairs {
                let across = self.covariance(*a, *b);
                let apart = 0.5 * (self.covariance(*a, *a) + self.covariance(*b, *b) - across - across.transpose());
                for k in [*a as usize, *b as usize] {
                    if apart.trace() < best[k].min(self.local[k].trace()) {
                        best[k] = apart.trace();
                        self.local[k] = apart;
                    }
                }
            }
        }
        let mut variances: Vec<f64> = self.local.iter().map(Matrix2::trace).collect();
        variances.sort_by(f64::total_cmp);
        self.largest_variance = variances[variances.len() - 1];
        self.typical_variance = 0.5 * variances[variances.len() / 2];
    }

    /// Lays pairs of the map upon others of the same length, and counts how often a neighbour of the one comes upon a
    /// landmark near the other.
    fn density_of_alike_places(&self) -> f64 {
        let (mut hits, mut trials) = (0_u64, 0_u64);
        let reach = (12.0 / (PI * self.density)).sqrt();
        for a in self.samples(SAMPLES) {
            let place = self.landmark(a).position;
            let mut around = Vec::new();
            self.within(&place, reach, |k, squared| around.push((squared, k)));
            around.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            around.retain(|(_, k)| *k != a);
            let Some(&(squared, b)) = around.get(around.len() / 2) else { continue };
            let (length, direction) = (squared.sqrt(), self.landmark(b).position - place);
            let range = self.pairs_between(length - ALIKE_M, length + ALIKE_M);
            let step = (range.len() / ALIGNMENTS).max(1);
            for pair in self.pairs[range].iter().step_by(step) {
                for (from, to) in [(pair.a, pair.b), (pair.b, pair.a)] {
                    if from == a || to == b || from == b || to == a {
                        continue;
                    }
                    let other = self.landmark(from).position;
                    let towards = self.landmark(to).position - other;
                    let turn = direction.y.atan2(direction.x) - towards.y.atan2(towards.x);
                    let rotation = lienav_lie::rotation(-turn);
                    for (_, k) in around.iter().filter(|(_, k)| *k != b) {
                        let image = other + rotation * (self.landmark(*k).position - place);
                        let mut is_hit = false;
                        self.within(&image, ALIKE_M, |_, _| is_hit = true);
                        hits += u64::from(is_hit);
                        trials += 1;
                    }
                }
            }
        }
        if trials < 100 {
            return 0.0;
        }
        hits as f64 / trials as f64 / (PI * ALIKE_M * ALIKE_M)
    }
}

impl Hull {
    /// Andrew's monotone chain.
    fn of(mut points: Vec<Vector2<f64>>) -> Self {
        points.sort_by(|one, other| one.x.total_cmp(&other.x).then(one.y.total_cmp(&other.y)));
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        let mut corners = Vec::new();
        for pass in 0..2 {
            chain.clear();
            for point in &points {
                while let [.., a, b] = chain[..] {
                    if (b - a).perp(&(point - b)) > 0.0 {
                        break;
                    }
                    chain.pop();
                }
                chain.push(*point);
            }
            chain.pop();
            corners.append(&mut chain);
            if pass == 0 {
                points.reverse();
            }
        }
        let next = |k: usize| corners[(k + 1) % corners.len()];
        let area = (0..corners.len()).map(|k| 0.5 * corners[k].perp(&next(k))).sum::<f64>();
        let circumference = (0..corners.len()).map(|k| (next(k) - corners[k]).norm()).sum();
        Self { area: area.abs(), circumference }
    }

    /// The area within `margin` of the hull.
    fn grown(&self, margin: f64) -> f64 {
        self.area + margin * self.circumference + PI * margin * margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::tests::scene::{grid, random_map};

    #[test]
    fn what_is_near_is_what_a_search_through_all_finds() {
        let map = random_map(300, 40.0, 3);
        let index = MapIndex::new(&map, 20_000).unwrap();
        for (k, radius) in [(0, 0.5), (7, 3.0), (100, 12.0), (200, 1e3)] {
            let place = map.landmarks[k].position + Vector2::new(0.3, -0.2);
            let mut found = Vec::new();
            index.within(&place, radius, |k, _| found.push(k));
            found.sort_unstable();
            let all = (0..300_u32).filter(|k| (index.landmark(*k).position - place).norm() <= radius);
            assert_eq!(found, all.collect::<Vec<_>>(), "{radius}");
        }
    }

    #[test]
    fn pairs_of_a_length_are_all_there_within_reach() {
        let map = random_map(200, 30.0, 4);
        let index = MapIndex::new(&map, 6000).unwrap();
        assert!(index.pairs.len() <= 6000 + 200 && index.pair_reach_m > 3.0, "{}", index.pair_reach_m);
        let (low, high) = (2.0, 2.5);
        let all = (0..200)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .filter(|(i, j)| {
                let distance = (map.landmarks[*i].position - map.landmarks[*j].position).norm();
                (low..high).contains(&distance)
            })
            .count();
        assert_eq!(index.pairs_between(low, high).len(), all);
    }

    #[test]
    fn density_and_area_are_those_of_the_field() {
        let index = MapIndex::new(&grid(20, 20, 3.0, 0.0, 1), 50_000).unwrap();
        assert!((index.hull.area - 57.0 * 57.0).abs() < 1e-9);
        assert!((index.density * 9.0 - 1.0).abs() < 0.25, "{}", index.density);
        // Landmarks at random: nothing more is learned from a place that has two in common.
        let random = MapIndex::new(&random_map(400, 60.0, 1), 50_000).unwrap();
        assert!(random.density_alike < 1.5 * random.density, "{}", random.density_alike / random.density);
        let jittered = MapIndex::new(&grid(20, 20, 3.0, 0.3, 1), 50_000).unwrap();
        assert!(jittered.density_alike > 2.0 * jittered.density, "{}", jittered.density_alike / jittered.density);
        let exact = MapIndex::new(&grid(20, 20, 3.0, 0.0, 1), 50_000).unwrap();
        assert!(exact.density_alike > 10.0 * exact.density, "{}", exact.density_alike / exact.density);
    }

    #[test]
    fn thousands_at_one_place_and_one_far_away_are_a_map_too() {
        let mut map = random_map(5000, 0.0, 1);
        map.landmarks[7].position = Vector2::new(1e7, -1e7);
        let index = MapIndex::new(&map, 50_000).unwrap();
        let mut count = 0;
        index.within(&Vector2::zeros(), 1.0, |_, _| count += 1);
        assert!(count >= 1 && index.pairs.len() < 100_000);
    }
}
