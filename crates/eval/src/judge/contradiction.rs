//! A convention that fits better than the one that was named.
//!
//! All meanings of the same numbers are densities of one height ([`lienav_io::trajectory::convention`]), so that the mean
//! NEES is twice their negative log-likelihood, but for a constant. Where another meaning makes errors much smaller, and
//! by more than chance over the run, the named one contradicts the errors.

use super::sample::correlation_steps;
use super::space::Space;
use super::steps::Setting;
use super::whiten::{square, whiten};
use lienav_io::trajectory::{Axes, Meaning, Order};

/// So many steps are looked at, evenly taken from the run.
const LOOKED_AT: usize = 2000;
/// Another meaning is named where the mean NEES by the named one is this many times as large.
const CLEARLY: f64 = 1.3;
/// And where the difference is so many standard errors of it.
const SIGNIFICANT: f64 = 4.0;

/// What contradicts the named convention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contradiction {
    /// What was named.
    pub named: Meaning,
    /// What fits better.
    pub better: Meaning,
    /// Mean NEES by the one that was named.
    pub nees_named: f64,
    /// Mean NEES by the other.
    pub nees_better: f64,
}

impl Contradiction {
    /// Looks for a meaning that fits clearly better. In the plane, only one that changes the numbers of the plane.
    pub fn find(setting: &Setting<'_>, is_named: bool) -> Option<Self> {
        let named = nees_by(setting, setting.meaning);
        let orders: &[Order] =
            if is_named { &[Order::PositionFirst] } else { &[Order::PositionFirst, Order::OrientationFirst] };
        let meanings = orders.iter().flat_map(|&order| Axes::ALL.map(|axes| Meaning { order, axes }));
        let others = meanings.filter(|meaning| *meaning != setting.meaning);
        let mut best: Option<Self> = None;
        for meaning in others {
            let other = nees_by(setting, meaning);
            let pairs = || named.iter().zip(&other).filter(|(a, b)| a.is_finite() && b.is_finite());
            let count = pairs().count();
            // Where only the other is a covariance at all, nothing can be compared.
            if count < 10 || 2 * count < named.iter().filter(|x| x.is_finite()).count() {
                continue;
            }
            let n = count as f64;
            let (a, b) = (pairs().map(|(a, _)| a).sum::<f64>() / n, pairs().map(|(_, b)| b).sum::<f64>() / n);
            let differences: Vec<f64> = pairs().map(|(a, b)| a - b).collect();
            let mean = differences.iter().sum::<f64>() / n;
            let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
            let about_mean: Vec<f64> = differences.iter().map(|d| d - mean).collect();
            let effective = (n / correlation_steps(&about_mean, 1)).max(1.0);
            // One that never differs by more than rounding is the same.
            let is_sure = mean > SIGNIFICANT * (variance / effective).sqrt() && mean > 1e-9 * a;
            let is_best = best.is_none_or(|best| b < best.nees_better);
            if is_sure && a > CLEARLY * b && is_best {
                best = Some(Self { named: setting.meaning, better: meaning, nees_named: a, nees_better: b });
            }
        }
        best
    }

    /// The sentence that names both numbers and the remedy.
    pub fn sentence(&self) -> String {
        let Self { named, better, nees_named, nees_better } = self;
        let option = match (better.order, better.axes) {
            (_, Axes::Fixed) => "ros",
            (_, Axes::BodyOrientation) => "openvins",
            (_, Axes::Body) => "gtsam",
            (_, Axes::Left) => "left",
        };
        let order = match better.order {
            Order::PositionFirst => "position",
            Order::OrientationFirst => "orientation",
        };
        format!(
            "the covariance contradicts its convention: mean NEES is {nees_named:.2} with {named}, and {nees_better:.2} \
             with {better}; if that is what the estimator means, give --covariance {option} \
             --covariance-order {order}"
        )
    }
}

/// The NEES of some steps if the covariance meant this.
fn nees_by(setting: &Setting<'_>, meaning: Meaning) -> Vec<f64> {
    let setting = Setting { meaning, ..*setting };
    let of = match setting.space {
        Space::Planar => Space::Planar.all(),
        Space::Space => Space::Space.all(),
    };
    let stride = setting.pairs.len().div_ceil(LOOKED_AT).max(1);
    let nees = |at: usize| {
        let (error, covariance) = setting.error(at);
        covariance.and_then(|covariance| whiten(&error, &covariance, of)).map_or(f64::NAN, |white| square(&white))
    };
    (0..setting.pairs.len()).step_by(stride).map(nees).collect()
}
