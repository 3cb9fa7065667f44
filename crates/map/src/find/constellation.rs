//! The local constellation: where the landmarks of the last scans are, as seen from the base, with their joint
//! covariance.
//!
//! It needs no pose, and no map. A measurement in the base frame is linear in it, z_i + n, so that the filter is a
//! Kalman filter whose only linearization is that of the turn of the base. A landmark that is seen again and again is
//! one landmark, with an error that shrinks as it should: what is compared with the map afterwards counts each once.

use super::sighting::{Displacement, Sighting};
use lienav_lie::skew;
use nalgebra::{DMatrix, Matrix2, Matrix2x3, Vector2};

/// A measurement belongs to a landmark within this squared Mahalanobis distance: 99.97 % of them do.
const GATE: f64 = 16.0;
/// Measurements without identity make a landmark if it was seen this often; clutter seldom comes to the same place so
/// often.
const CONFIRMED: u32 = 3;
/// A landmark that is not confirmed goes if it should have been seen so much oftener than it was seen, or if so many
/// scans in a row do not have it.
const DOUBTFUL: f64 = 1.5;
const FORGOTTEN: u32 = 30;
/// A confirmed landmark goes if it should have been seen this often in a row, and was not: something that moved.
const GONE: f64 = 12.0;
/// A landmark known worse than this no longer says anything, m.
const VAGUE_M: f64 = 2.0;
/// The most landmarks that are not confirmed.
const MAX_CANDIDATES: usize = 24;
/// A landmark that so many scans have not had may make room for others.
pub const STALE: u32 = 10;

/// A landmark of the constellation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// The identity that its measurements name.
    pub id: Option<u32>,
    /// Its class; 0 if nobody knows.
    pub class: u32,
    /// How many scans had it.
    pub hits: u32,
    /// How many scans have not had it since it was last seen.
    pub unseen: u32,
    /// How often it should have been seen since it was last seen.
    pub missed: f64,
    /// Variance of its last measurement along either axis, m².
    pub noise: f64,
}

impl Track {
    /// Whether it is a landmark, as far as its measurements tell.
    pub fn is_confirmed(&self) -> bool {
        self.id.is_some() || self.hits >= CONFIRMED
    }
}

/// Landmarks in the base frame.
#[derive(Clone, Debug)]
pub struct Constellation {
    pub tracks: Vec<Track>,
    pub places: Vec<Vector2<f64>>,
    pub covariance: DMatrix<f64>,
}

impl Default for Constellation {
    fn default() -> Self {
        Self { tracks: Vec::new(), places: Vec::new(), covariance: DMatrix::zeros(0, 0) }
    }
}

impl Constellation {
    /// How many landmarks there are, confirmed or not.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    /// The confirmed ones.
    pub fn confirmed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|i| self.tracks[*i].is_confirmed())
    }

    /// The covariance of landmarks i and j, m².
    pub fn block(&self, i: usize, j: usize) -> Matrix2<f64> {
        self.covariance.fixed_view::<2, 2>(2 * i, 2 * j).into_owned()
    }

    /// The base moves: z⁺ = R(a)ᵀ(z − t), δz⁺ = R(a)ᵀ(δz − δt) − J z⁺ δa.
    pub fn carry(&mut self, step: &Displacement) {
        if step.motion == lienav_lie::Se2::identity() && step.covariance.iter().all(|x| *x == 0.0) {
            return;
        }
        let back = step.motion.rotation().transpose();
        self.places.iter_mut().for_each(|place| *place = step.motion.transform_back(place));
        let noise: Vec<Matrix2x3<f64>> = self
            .places
            .iter()
            .map(|place| {
                let lever = -skew(place);
                Matrix2x3::new(-back[(0, 0)], -back[(0, 1)], lever.x, -back[(1, 0)], -back[(1, 1)], lever.y)
            })
            .collect();
        for i in 0..self.len() {
            let scaled = noise[i] * step.covariance;
            for (j, of_other) in noise.iter().enumerate().take(i + 1) {
                let block = back * self.block(i, j) * back.transpose() + scaled * of_other.transpose();
                self.covariance.fixed_view_mut::<2, 2>(2 * i, 2 * j).copy_from(&block);
                self.covariance.fixed_view_mut::<2, 2>(2 * j, 2 * i).copy_from(&block.transpose());
            }
        }
    }

    /// Takes in a scan; `most` landmarks are followed, those that came first. `expected` is the probability that the
    /// sensor has of seeing what is at a place. Gives for each confirmed landmark that there was before where it is,
    /// and whether it was seen; and how far away the nearest is that there was no room for.
    pub fn take(
        &mut self,
        sightings: &[Sighting],
        most: usize,
        expected: impl Fn(&Vector2<f64>) -> f64,
    ) -> (Vec<(Vector2<f64>, bool)>, f64) {
        let matches = self.associate(sightings);
        let confirmed: Vec<usize> = self.confirmed().collect();
        let mut is_seen = vec![false; self.len()];
        matches.iter().flatten().for_each(|i| is_seen[*i] = true);
        let outcome = confirmed.iter().map(|i| (self.places[*i], is_seen[*i])).collect();

        for (i, seen) in is_seen.iter().enumerate() {
            let chance = expected(&self.places[i]);
            let track = &mut self.tracks[i];
            if *seen {
                (track.hits, track.unseen, track.missed) = (track.hits + 1, 0, 0.0);
            } else {
                (track.unseen, track.missed) = (track.unseen + 1, track.missed + chance);
            }
        }
        for (sighting, track) in sightings.iter().zip(&matches) {
            if let Some(i) = *track {
                self.correct(i, sighting);
                self.tracks[i].noise = 0.5 * sighting.covariance.trace();
                if self.tracks[i].class == 0 {
                    self.tracks[i].class = sighting.class;
                }
            }
        }
        self.retain(|track, spread| {
            let is_doubtful = track.missed > 1.0 + DOUBTFUL * f64::from(track.hits) || track.unseen > FORGOTTEN;
            if track.is_confirmed() { track.missed < GONE && spread < VAGUE_M } else { !is_doubtful }
        });
        let is_double = |tracks: &[Track], sighting: &Sighting| {
            sighting.id.is_some() && tracks.iter().any(|track| track.id == sighting.id)
        };
        let strangers: Vec<&Sighting> = sightings
            .iter()
            .zip(&matches)
            .filter(|(sighting, track)| track.is_none() && !is_double(&self.tracks, sighting))
            .map(|(sighting, _)| sighting)
            .collect();
        let room = most.saturating_sub(self.confirmed().filter(|i| self.tracks[*i].unseen < STALE).count());
        let room = if room == 0 { 0 } else { (2 * room + 4).min(MAX_CANDIDATES) };
        self.forget_candidates(room.saturating_sub(strangers.len()));
        for sighting in strangers.iter().take(room) {
            if !is_double(&self.tracks, sighting) {
                self.append(sighting);
            }
        }
        // The nearest come first.
        (outcome, strangers.get(room).map_or(f64::INFINITY, |sighting| sighting.position.norm()))
    }

    /// The confirmed landmarks that are more than `most`, the last in the constellation first: those not seen for
    /// longest, and of those that were seen least.
    pub fn surplus(&self, most: usize) -> Vec<usize> {
        let mut order: Vec<usize> = self.confirmed().collect();
        order.sort_by(|i, j| {
            let far = self.places[*i].norm_squared().total_cmp(&self.places[*j].norm_squared());
            let (one, other) = (&self.tracks[*i], &self.tracks[*j]);
            one.unseen.cmp(&other.unseen).then(other.hits.cmp(&one.hits)).then(far)
        });
        let mut surplus = order.split_off(most.min(order.len()));
        surplus.sort_unstable_by(|i, j| j.cmp(i));
        surplus
    }

    /// Drops a landmark.
    pub fn remove(&mut self, i: usize) {
        self.tracks.remove(i);
        self.places.remove(i);
        let covariance = std::mem::replace(&mut self.covariance, DMatrix::zeros(0, 0));
        self.covariance = covariance.remove_rows(2 * i, 2).remove_columns(2 * i, 2);
    }

    /// Drops those that are not confirmed and not seen for longest, but for `most` of them.
    fn forget_candidates(&mut self, most: usize) {
        let mut candidates: Vec<usize> = (0..self.len()).filter(|i| !self.tracks[*i].is_confirmed()).collect();
        candidates.sort_by_key(|i| (self.tracks[*i].unseen, std::cmp::Reverse(self.tracks[*i].hits), *i));
        let mut dropped = candidates.split_off(most.min(candidates.len()));
        dropped.sort_unstable_by(|i, j| j.cmp(i));
        dropped.into_iter().for_each(|i| self.remove(i));
    }

    /// The landmark of each sighting. Pairs are taken in the order of their distances, one of each.
    fn associate(&self, sightings: &[Sighting]) -> Vec<Option<usize>> {
        let mut near = Vec::new();
        for (k, sighting) in sightings.iter().enumerate() {
            for (i, track) in self.tracks.iter().enumerate() {
                if let (Some(one), Some(other)) = (sighting.id, track.id)
                    && one == other
                {
                    near.push((f64::NEG_INFINITY, k, i));
                    continue;
                }
                if sighting.id.is_some() || (sighting.class != 0 && track.class != 0 && sighting.class != track.class) {
                    continue;
                }
                let residual = sighting.position - self.places[i];
                let covariance = self.block(i, i) + sighting.covariance;
                // Cheap, and most pairs are far apart.
                if residual.norm_squared() > GATE * covariance.trace() {
                    continue;
                }
                let Some(inverse) = covariance.try_inverse() else { continue };
                let squared = residual.dot(&(inverse * residual));
                if squared <= GATE {
                    near.push((squared + covariance.determinant().ln(), k, i));
                }
            }
        }
        near.sort_by(|one, other| one.0.total_cmp(&other.0).then((one.1, one.2).cmp(&(other.1, other.2))));
        let (mut matches, mut is_taken) = (vec![None; sightings.len()], vec![false; self.len()]);
        for (_, k, i) in near {
            if matches[k].is_none() && !is_taken[i] {
                (matches[k], is_taken[i]) = (Some(i), true);
            }
        }
        matches
    }

    /// A measurement of landmark i: K = P_·i (P_ii + R)⁻¹, P⁺ = P − K P_i·.
    fn correct(&mut self, i: usize, sighting: &Sighting) {
        let innovation = self.block(i, i) + sighting.covariance;
        let Some(inverse) = innovation.try_inverse() else { return };
        let residual = inverse * (sighting.position - self.places[i]);
        let columns = self.covariance.fixed_columns::<2>(2 * i).into_owned();
        for (j, place) in self.places.iter_mut().enumerate() {
            *place += columns.fixed_rows::<2>(2 * j) * residual;
        }
        let gain = &columns * inverse;
        self.covariance.gemm(-1.0, &gain, &columns.transpose(), 1.0);
        // Kept symmetric to the last bit, or rounding grows.
        for row in 0..self.covariance.nrows() {
            for column in 0..row {
                let mean = 0.5 * (self.covariance[(row, column)] + self.covariance[(column, row)]);
                self.covariance[(row, column)] = mean;
                self.covariance[(column, row)] = mean;
            }
        }
    }

    fn append(&mut self, sighting: &Sighting) {
        let n = self.covariance.nrows();
        let covariance = std::mem::replace(&mut self.covariance, DMatrix::zeros(0, 0));
        self.covariance = covariance.resize(n + 2, n + 2, 0.0);
        self.covariance.fixed_view_mut::<2, 2>(n, n).copy_from(&sighting.covariance);
        self.places.push(sighting.position);
        let noise = 0.5 * sighting.covariance.trace();
        self.tracks.push(Track { id: sighting.id, class: sighting.class, hits: 1, unseen: 0, missed: 0.0, noise });
    }

    fn retain(&mut self, keep: impl Fn(&Track, f64) -> bool) {
        for i in (0..self.len()).rev() {
            let spread = (0.5 * self.block(i, i).trace()).sqrt();
            if !keep(&self.tracks[i], spread) {
                self.remove(i);
            }
        }
    }
}
