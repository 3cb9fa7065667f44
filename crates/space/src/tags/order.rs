//! Whether corners begin with the one that they should: known tags show where others are that are seen with them.
//!
//! A detector that begins k corners later shows each tag turned by k quarters about its normal. The poses of all tags
//! then contradict their map, and each other, but the places of their centres are right.

use nalgebra::Vector3;
use std::f64::consts::FRAC_PI_2;

/// Fewer votes say nothing: single views have the wrong one of two poses.
const LEAST: u32 = 24;
/// This part of them agrees, or the map is wrong and not the order.
const AGREE: f64 = 0.8;
/// A direction votes for the turn that it fits to this angle, rad; turns are a quarter apart.
const NEAR: f64 = 0.35;
/// A tag ahead of a face is in the same direction whatever the turn: this part of it has to lie in its plane.
const ASIDE: f64 = 0.7;
/// Older votes are worth half after so many.
const MEMORY: u32 = 256;

/// How many pairs of tags fit their map if corners begin with the first, the second, the third and the fourth.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    votes: [u32; 4],
}

impl Order {
    /// Takes in where a tag is in the axes of another one, as stated and as seen.
    pub fn take(&mut self, stated: &Vector3<f64>, seen: &Vector3<f64>) {
        let (Some(stated), Some(seen)) = (stated.try_normalize(1e-3), seen.try_normalize(1e-3)) else { return };
        if stated.xy().norm() < ASIDE {
            return;
        }
        let is_near = |quarters: &usize| {
            let (sin, cos) = (FRAC_PI_2 * *quarters as f64).sin_cos();
            let turned = Vector3::new(cos * seen.x - sin * seen.y, sin * seen.x + cos * seen.y, seen.z);
            turned.angle(&stated) < NEAR
        };
        let mut fitting = (0..4).filter(is_near);
        let (Some(quarters), None) = (fitting.next(), fitting.next()) else { return };
        self.votes[quarters] += 1;
        if self.votes.iter().sum::<u32>() > MEMORY {
            self.votes.iter_mut().for_each(|votes| *votes /= 2);
        }
    }

    /// Which corner comes first, where that is clear: 0 is that at (−, −), and they go around counterclockwise.
    pub fn first(&self) -> Option<usize> {
        let all = self.votes.iter().sum::<u32>();
        let best = (0..4).max_by_key(|quarters| self.votes[*quarters])?;
        (all >= LEAST && f64::from(self.votes[best]) >= AGREE * f64::from(all)).then_some(best)
    }
}
