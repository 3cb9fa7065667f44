//! The errors of an estimate, step by step, and whitened by its covariance.

use super::alignment::Similarity;
use super::associate::Pairs;
use super::space::Space;
use super::whiten::{square, whiten};
use lienav_io::trajectory::{Meaning, Trajectory};
use nalgebra::{Isometry3, Matrix6, Vector6};
use rayon::prelude::*;

/// Standard deviations of the truth itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TruthNoise {
    /// Of each component of the position, m.
    pub std_m: f64,
    /// Of each component of the orientation, rad.
    pub std_rad: f64,
}

impl TruthNoise {
    /// Its covariance, once for each true pose that is in an error.
    pub fn covariance(&self, poses: f64) -> Matrix6<f64> {
        let (m, rad) = (poses * self.std_m * self.std_m, poses * self.std_rad * self.std_rad);
        Matrix6::from_diagonal(&Vector6::new(m, m, m, rad, rad, rad))
    }

    /// Whether something is stated.
    pub fn is_stated(&self) -> bool {
        self.std_m > 0.0 || self.std_rad > 0.0
    }
}

/// One estimate beside the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Truth − estimate, (m, rad), about fixed axes.
    pub error: Vector6<f64>,
    /// NEES of position, orientation and pose; not-a-number where it does not exist.
    pub nees: [f64; 3],
}

/// All steps, and their whitened errors one after the other: of position, orientation and pose, each where it exists.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// As many as pairs.
    pub all: Vec<Step>,
    /// Whitened, as many numbers a step as there are degrees of freedom.
    pub white: [Vec<f64>; 3],
    /// How many steps state a covariance of which none of the three could be used.
    pub singular: usize,
    /// How many state none.
    pub unstated: usize,
    /// Sums of the stated variances, number by number, m² and rad².
    pub variances: Vector6<f64>,
}

/// What errors are made of.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Who estimates.
    pub estimate: &'a Trajectory,
    /// With the truth.
    pub pairs: &'a Pairs,
    /// How the estimate is laid onto the truth.
    pub alignment: &'a Similarity,
    /// Which numbers count.
    pub space: Space,
    /// Of the truth.
    pub noise: TruthNoise,
    /// What the covariance means.
    pub meaning: Meaning,
}

impl Setting<'_> {
    /// An aligned estimate.
    pub fn pose(&self, at: usize) -> Isometry3<f64> {
        self.alignment.apply(&self.pairs.estimates[at])
    }

    /// The covariance that is stated for an error, moved along with the alignment, without the noise of the truth.
    pub fn stated(&self, at: usize) -> Option<Matrix6<f64>> {
        let stated = self.estimate.stated(self.pairs.which[at])?;
        Some(self.alignment.carry(&self.meaning.to_fixed(&stated, &self.pairs.estimates[at])))
    }

    /// The error and, where it is stated, its covariance, that of the truth added.
    pub fn error(&self, at: usize) -> (Vector6<f64>, Option<Matrix6<f64>>) {
        let error = self.space.error(&self.pairs.truths[at], &self.pose(at));
        let noise = self.noise.covariance(1.0);
        (error, self.stated(at).map(|stated| stated + noise))
    }
}

/// Steps are taken in blocks by all cores; the blocks are put together in order.
const BLOCK: usize = 16_384;

impl Steps {
    /// The errors of all pairs.
    pub fn new(setting: &Setting<'_>) -> Self {
        let count = setting.pairs.len();
        let starts: Vec<usize> = (0..count).step_by(BLOCK).collect();
        let blocks: Vec<Self> =
            starts.into_par_iter().map(|from| Self::of(setting, from..(from + BLOCK).min(count))).collect();
        let mut whole = Self { all: Vec::with_capacity(count), ..Self::default() };
        for block in blocks {
            whole.all.extend(block.all);
            whole.white.iter_mut().zip(block.white).for_each(|(whole, part)| whole.extend(part));
            whole.singular += block.singular;
            whole.unstated += block.unstated;
            whole.variances += block.variances;
        }
        whole
    }

    fn of(setting: &Setting<'_>, range: std::ops::Range<usize>) -> Self {
        let (position, orientation) = setting.space.parts();
        let parts = [position, orientation, setting.space.all()];
        let (mut steps, noise) = (Self::default(), setting.noise.covariance(1.0));
        for at in range {
            let error = setting.space.error(&setting.pairs.truths[at], &setting.pose(at));
            let mut nees = [f64::NAN; 3];
            match setting.stated(at) {
                None => steps.unstated += 1,
                Some(stated) => {
                    steps.variances += stated.diagonal();
                    let covariance = stated + noise;
                    for (k, part) in parts.iter().enumerate() {
                        if let Some(white) = whiten(&error, &covariance, part) {
                            let white = &white[..part.len()];
                            nees[k] = square(white);
                            steps.white[k].extend_from_slice(white);
                        }
                    }
                    steps.singular += usize::from(nees.iter().all(|x| x.is_nan()));
                }
            }
            steps.all.push(Step { error, nees });
        }
        steps
    }

    /// Squared length of the position's error, m².
    pub fn position_square(step: &Step) -> f64 {
        step.error.fixed_rows::<3>(0).norm_squared()
    }

    /// Squared angle of the orientation's error, rad².
    pub fn orientation_square(step: &Step) -> f64 {
        step.error.fixed_rows::<3>(3).norm_squared()
    }
}
