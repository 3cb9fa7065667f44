//! Points in the plane by their place: a grid of square cells, hashed, so that a map may have any extent.

use nalgebra::Vector2;

/// Indices of points, by the cell in which they lie.
#[derive(Clone, Debug)]
pub struct SpatialHash {
    /// Side of a cell, m.
    size: f64,
    /// A power of two of buckets; cells share one where their hashes do.
    buckets: Vec<Vec<Entry>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u32,
    cell: [i64; 2],
    point: Vector2<f64>,
}

/// About so many points lie in a cell if they are spread evenly.
const IN_A_CELL: f64 = 2.0;

impl Default for SpatialHash {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl SpatialHash {
    /// Of these points; a point's index is its place in the list.
    pub fn new(points: &[Vector2<f64>]) -> Self {
        let mut hash =
            Self { size: cell_size(points), buckets: vec![Vec::new(); points.len().max(16).next_power_of_two()] };
        for (index, point) in points.iter().enumerate() {
            hash.insert(index as u32, point);
        }
        hash
    }

    /// Adds a point.
    pub fn insert(&mut self, index: u32, point: &Vector2<f64>) {
        let cell = self.cell(point);
        let bucket = self.bucket(cell);
        self.buckets[bucket].push(Entry { index, cell, point: *point });
    }

    /// Removes the point that was added with this index at `point`.
    pub fn remove(&mut self, index: u32, point: &Vector2<f64>) {
        let bucket = self.bucket(self.cell(point));
        self.buckets[bucket].retain(|entry| entry.index != index);
    }

    /// Visits the points within `radius` of `centre`, with the square of their distance from it.
    pub fn within(&self, centre: &Vector2<f64>, radius: f64, mut visit: impl FnMut(u32, f64)) {
        let square = radius * radius;
        let mut visit_near = |entry: &Entry| {
            let distance = (entry.point - centre).norm_squared();
            if distance <= square {
                visit(entry.index, distance);
            }
        };
        let reach = Vector2::new(radius, radius);
        let (low, high) = (self.cell(&(centre - reach)), self.cell(&(centre + reach)));
        let columns = high[0].saturating_sub(low[0]).saturating_add(1);
        let rows = high[1].saturating_sub(low[1]).saturating_add(1);
        if columns.saturating_mul(rows) > self.buckets.len() as i64 {
            self.buckets.iter().flatten().for_each(visit_near);
            return;
        }
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                let in_cell = self.buckets[self.bucket([x, y])].iter().filter(|entry| entry.cell == [x, y]);
                in_cell.for_each(&mut visit_near);
            }
        }
    }

    fn cell(&self, point: &Vector2<f64>) -> [i64; 2] {
        // Beyond the range of the integers, they saturate.
        [point.x, point.y].map(|x| (x / self.size).floor() as i64)
    }

    fn bucket(&self, cell: [i64; 2]) -> usize {
        let mixed =
            (cell[0] as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (cell[1] as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        (mixed ^ (mixed >> 32)) as usize & (self.buckets.len() - 1)
    }
}

/// Such that about [`IN_A_CELL`] points lie in a cell, where they lie at all: from the quartiles of both coordinates,
/// because a few points far away say nothing about the rest.
fn cell_size(points: &[Vector2<f64>]) -> f64 {
    if points.len() < 4 {
        return 1.0;
    }
    let spread = |axis: usize| {
        let mut values: Vec<f64> = points.iter().map(|point| point[axis]).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[3 * values.len() / 4] - values[values.len() / 4]
    };
    // A quarter of the points lies between the quartiles of both.
    let area = spread(0).max(1e-3) * spread(1).max(1e-3);
    (area / (0.25 * points.len() as f64) * IN_A_CELL).sqrt().clamp(0.05, 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn what_is_found_is_what_a_look_at_all_points_finds() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut points: Vec<Vector2<f64>> =
            (0..500).map(|_| Vector2::new(random.random_range(-40.0..60.0), random.random_range(-3.0..90.0))).collect();
        points.push(Vector2::new(1e9, -1e9));
        points.push(points[3]);
        let mut hash = SpatialHash::new(&points);
        hash.remove(17, &points[17]);
        hash.insert(17, &Vector2::new(0.0, 0.0));
        points[17] = Vector2::new(0.0, 0.0);
        for radius in [0.0, 0.3, 4.0, 35.0, 1e4, 1e12] {
            for _ in 0..20 {
                let centre = Vector2::new(random.random_range(-50.0..70.0), random.random_range(-10.0..99.0));
                let mut found = Vec::new();
                hash.within(&centre, radius, |index, square| found.push((index, square)));
                found.sort_unstable_by_key(|(index, _)| *index);
                let near = points.iter().enumerate().map(|(k, p)| (k as u32, (p - centre).norm_squared()));
                let expected: Vec<(u32, f64)> = near.filter(|(_, square)| *square <= radius * radius).collect();
                assert_eq!(found, expected, "within {radius} of {centre}");
            }
        }
    }
}
