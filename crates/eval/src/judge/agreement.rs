//! Two estimates of one run without a truth: what can be said, and what cannot.
//!
//! Of the difference d = δ_A − δ_B only Σ_A and Σ_B are stated, not how the two errors are correlated.
//!
//! - Whatever the correlation, its covariance is at most 2 (Σ_A + Σ_B). Where the mean NEES by this bound is above its
//!   degrees of freedom, at least one of the two is overconfident.
//! - If errors are independent, the covariance is Σ_A + Σ_B. A smaller NEES than is right means errors in common, as of
//!   estimators that use the same sensors, or that one is underconfident: which of these is not known.
//! - An error that both have is not seen.

use super::alignment::{Method, Similarity};
use super::associate::Pairs;
use super::consistency::{Consistency, Verdict};
use super::options::Options;
use super::space::Space;
use super::whiten::whiten;
use lienav_io::trajectory::Trajectory;
use serde::Serialize;

/// Two estimates beside each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The one.
    pub a: String,
    /// The other.
    pub b: String,
    /// Poses that were compared.
    pub steps: usize,
    /// Poses of B at whose instant A has none.
    pub steps_without_partner: usize,
    /// Root mean square of the distance, m.
    pub position_rms_m: f64,
    /// The same after an alignment, m.
    pub aligned_position_rms_m: f64,
    /// Root mean square of the angle, degrees.
    pub orientation_rms_deg: f64,
    /// By the greatest covariance that the stated ones allow.
    pub at_least: Option<Consistency>,
    /// If the errors of the two are independent.
    pub if_independent: Option<Consistency>,
}

impl Agreement {
    /// Compares B with A at the stamps of B. `None` where they have no instant in common.
    pub fn new(a: &Trajectory, b: &Trajectory, options: &Options) -> Option<Self> {
        let pairs = Pairs::new(b, a, options.max_gap_s, options.offset_s);
        if pairs.is_empty() {
            return None;
        }
        let planar = |of: &Trajectory| Space::of(of) == Space::Planar;
        let found = if planar(a) || planar(b) { Space::Planar } else { Space::Space };
        let space = options.space.unwrap_or(found);
        let motion = options.align.fit(&pairs)?;
        let best = if space == Space::Planar { Method::Se2 } else { Method::Se3 };
        let aligned = best.fit(&pairs)?;
        let of = space.all();
        let (mut least, mut independent) = (Vec::new(), Vec::new());
        for (at, &which) in pairs.which.iter().enumerate() {
            // The covariance of A changes little between two of its poses: the earlier one is taken.
            let place = a.stamps.partition_point(|stamp| *stamp <= pairs.stamps[at]).saturating_sub(1);
            let (Some(of_a), Some(of_b)) = (a.covariance(place), b.covariance(which)) else { continue };
            let both = of_a + motion.carry(&of_b);
            let error = space.error(&pairs.truths[at], &motion.apply(&pairs.estimates[at]));
            if let (Some(bound), Some(sum)) = (whiten(&error, &(both * 2.0), of), whiten(&error, &both, of)) {
                least.extend_from_slice(&bound[..of.len()]);
                independent.extend_from_slice(&sum[..of.len()]);
            }
        }
        let duration = pairs.stamps.last()?.since(*pairs.stamps.first()?);
        let step_s = duration / pairs.len().saturating_sub(1).max(1) as f64;
        let rms = |motion: &Similarity| {
            let errors = (0..pairs.len()).map(|k| space.error(&pairs.truths[k], &motion.apply(&pairs.estimates[k])));
            let (position, orientation) = errors.fold((0.0, 0.0), |(p, r), e| {
                (p + e.fixed_rows::<3>(0).norm_squared(), r + e.fixed_rows::<3>(3).norm_squared())
            });
            let n = pairs.len() as f64;
            ((position / n).sqrt(), (orientation / n).sqrt().to_degrees())
        };
        let (position_rms_m, orientation_rms_deg) = rms(&motion);
        let fitted = options.align.parameters();
        Some(Self {
            a: a.name.clone(),
            b: b.name.clone(),
            steps: pairs.len(),
            steps_without_partner: pairs.without_truth,
            position_rms_m,
            aligned_position_rms_m: rms(&aligned).0,
            orientation_rms_deg,
            at_least: Consistency::new(&least, of.len(), step_s, fitted),
            if_independent: Consistency::new(&independent, of.len(), step_s, fitted),
        })
    }

    /// What can be said, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = vec![format!(
            "{} and {} differ by {:.4} m and {:.4}° (RMS over {} poses; {:.4} m aligned)",
            self.a, self.b, self.position_rms_m, self.orientation_rms_deg, self.steps, self.aligned_position_rms_m
        )];
        let (Some(least), Some(independent)) = (self.at_least, self.if_independent) else {
            said.push("one of them states no covariance, so that the difference has no measure".to_owned());
            return said;
        };
        let nees = |of: &Consistency| {
            format!("{:.3} [{:.3}, {:.3}], {} is right", of.nees_mean, of.interval_low, of.interval_high, of.dof)
        };
        said.push(match (least.verdict, independent.verdict) {
            (Verdict::Overconfident, _) => format!(
                "at least one of them is overconfident, whatever their errors have in common: NEES of the difference by \
                 2 (Σ_A + Σ_B) is {}",
                nees(&least)
            ),
            (_, Verdict::Overconfident) => format!(
                "if their errors are independent, at least one of them is overconfident: NEES of the difference by Σ_A + \
                 Σ_B is {}",
                nees(&independent)
            ),
            (_, Verdict::Underconfident) => format!(
                "their difference is smaller than two independent errors would be: they share errors, or one of them is \
                 underconfident; NEES by Σ_A + Σ_B is {}",
                nees(&independent)
            ),
            (_, Verdict::Consistent) => {
                format!("their difference is that of two independent, consistent estimates: NEES is {}", nees(&independent))
            }
            _ => format!(
                "{:.0} independent differences are too few to say more: NEES is {}",
                independent.effective_count,
                nees(&independent)
            ),
        });
        said.push("an error that both have is not seen without a truth".to_owned());
        said
    }
}
