//! Noise that has changed: the scores of the last scans against what all scans before had told.
//!
//! A factor is learned with a memory of many scans; a noise that triples from one moment to the next would be learned
//! with the patience of that memory, and the map would take in bad measurements as good ones until then. The scores of
//! a factor have mean zero and the variance of their information where the factor is right (`NoiseFactors`). In
//! blocks of `SCANS` scans, a sum beyond `LIMIT` standard deviations to which nearly every scan has contributed
//! says that it is right no more. Then what was known before counts for no more than the block does. The share of scans
//! of one sign keeps a single wrong measurement, and tails that are heavy, from looking like a change.

use serde::{Deserialize, Serialize};

/// Scans of a block.
const SCANS: u32 = 10;

/// Standard deviations of the sum of a block's scores. 5, and not 3: for every factor there are thousands of blocks.
const LIMIT: f64 = 5.0;

/// Of so many scans of a block, the scores must have the same sign.
const ALIKE: u32 = 8;

/// A block that tells less of ln α than this is too poor: a number with nothing but this noise in it tells ½.
const LEAST_INFORMATION: f64 = 2.0;

/// The scores of the scans of the current block, for each factor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    sums: Vec<Sum>,
    #[serde(rename = "clouds")]
    scans: u32,
}

/// Of one factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sum {
    /// g, summed.
    score: f64,
    /// F, summed.
    information: f64,
    /// In so many scans, g was positive, or negative.
    positive: u32,
    negative: u32,
}

impl Sum {
    /// Whether the block contradicts what was known of the factor with this information, its own included.
    fn contradicts(&self, known: f64) -> bool {
        let alike = if self.score > 0.0 { self.positive } else { self.negative };
        self.information >= LEAST_INFORMATION
            && alike >= ALIKE
            && self.score * self.score >= LIMIT * LIMIT * self.information
            && known >= 2.0 * self.information
    }
}

impl Block {
    /// Takes in a scan: of n factors the scores g, and the information F, row by row.
    ///
    /// At the end of a block, where it contradicts what was known with the information Λ, row by row: scales the rows
    /// and columns of these factors in Λ down to what the block tells, and puts the block's score into `score`.
    pub fn take(&mut self, score: &mut [f64], new_information: &[f64], known: &mut [f64]) {
        let n = score.len();
        self.sums.resize(n, Sum::default());
        for (j, (sum, g)) in self.sums.iter_mut().zip(&*score).enumerate() {
            sum.score += g;
            sum.information += new_information[j * n + j];
            sum.positive += u32::from(*g > 0.0);
            sum.negative += u32::from(*g < 0.0);
        }
        self.scans += 1;
        if self.scans < SCANS {
            return;
        }
        self.scans = 0;
        for (j, sum) in self.sums.iter_mut().enumerate() {
            let sum = std::mem::take(sum);
            if sum.contradicts(known[j * n + j]) {
                let scale = (sum.information / known[j * n + j]).sqrt();
                for k in 0..n {
                    known[j * n + k] *= scale;
                    known[k * n + j] *= scale;
                }
                score[j] = sum.score;
            }
        }
    }

    /// Becomes what another one is, in the memory that it has.
    pub fn copy_from(&mut self, other: &Self) {
        self.sums.clone_from(&other.sums);
        self.scans = other.scans;
    }

    /// Whether a block that was saved can be gone on with: finite numbers, of so many factors or none, and not more
    /// scans than it has.
    pub fn is_of(&self, factors: usize) -> bool {
        let is_sound = |sum: &Sum| {
            let Sum { score, information, positive, negative } = *sum;
            score.is_finite() && information.is_finite() && positive <= self.scans && negative <= self.scans
        };
        let has_all = self.sums.is_empty() || self.sums.len() == factors;
        self.scans < SCANS && has_all && self.sums.iter().all(is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of these scores of one factor, each with an information of ½, after 500 scans as expected.
    fn after(scores: [f64; SCANS as usize]) -> (f64, f64) {
        let mut block = Block::default();
        let mut known = [250.0];
        let mut last = [0.0];
        for score in scores {
            last = [score];
            block.take(&mut last, &[0.5], &mut known);
        }
        assert_eq!((block.scans, block.sums[0]), (0, Sum::default()), "the next block begins with nothing");
        (last[0], known[0])
    }

    #[test]
    fn noise_that_tripled_makes_what_was_known_count_as_a_block() {
        let (score, known) = after([4.0, 0.5, 6.0, 2.0, -0.5, 3.0, 1.0, 8.0, 4.0, 2.0]);
        assert_eq!((score, known), (30.0, 5.0));
    }

    #[test]
    fn noise_that_became_small_likewise_if_enough_is_told() {
        // Variances cannot fall below nothing: g ≥ −½ a number. Ten scans of one number do not suffice; of ten, they
        // do.
        assert_eq!(after([-0.5; 10]), (-0.5, 250.0));
        let mut block = Block::default();
        let (mut known, mut score) = ([1000.0], [0.0]);
        for _ in 0..SCANS {
            score = [-4.5];
            block.take(&mut score, &[5.0], &mut known);
        }
        assert_eq!((score, known), ([-45.0], [50.0]));
    }

    #[test]
    fn a_single_measurement_that_is_wrong_is_no_change() {
        let (score, known) = after([-0.5, -0.5, 60.0, -0.5, 0.3, -0.5, 0.1, -0.5, -0.5, -0.4]);
        assert_eq!((score, known), (-0.4, 250.0));
    }

    #[test]
    fn others_keep_what_is_known_of_them() {
        let mut block = Block::default();
        let mut known = [250.0, 30.0, 30.0, 400.0];
        for _ in 0..SCANS {
            block.take(&mut [5.0, 0.01], &[0.5, 0.0, 0.0, 0.5], &mut known);
        }
        let scale = (5.0f64 / 250.0).sqrt();
        assert!((known[0] - 5.0).abs() < 1e-12, "{known:?}");
        assert_eq!((known[1], known[2], known[3]), (30.0 * scale, 30.0 * scale, 400.0));
    }

    #[test]
    fn what_was_saved_of_another_kind_is_refused() {
        let mut block = Block::default();
        assert!(block.is_of(6));
        block.take(&mut [0.0; 3], &[0.0; 9], &mut [0.0; 9]);
        assert!(block.is_of(3) && !block.is_of(6));
        let damaged = |damage: fn(&mut Block)| {
            let mut block = block.clone();
            damage(&mut block);
            block
        };
        assert!(!damaged(|block| block.sums[1].score = f64::NAN).is_of(3));
        assert!(!damaged(|block| block.sums[0].positive = u32::MAX).is_of(3));
        assert!(!damaged(|block| block.scans = u32::MAX).is_of(3));
    }
}
