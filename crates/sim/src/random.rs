//! Random numbers: one seed, one independent stream for each purpose.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

/// What random numbers are drawn for. Each purpose has a stream of its own, so that a change of one sensor leaves the
/// world and the noise of all others as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    World = 0,
    Odometry = 1,
    Scan = 2,
    Misreads = 3,
    Imu = 4,
    Initial = 5,
    Detections = 6,
    Clutter = 7,
    Classes = 8,
    Late = 9,
    Outside = 10,
    Tails = 20,
    SpaceWorld = 30,
    SpaceMotion = 31,
    SpaceInertial = 32,
    SpaceCamera = 33,
    SpaceStart = 34,
}

/// The generator of one purpose: ChaCha with 8 rounds, the stream number being the purpose.
pub(super) fn generator(seed: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(purpose as u64);
    rng
}

/// A draw from N(0, 1).
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_draw_different_numbers_and_a_seed_repeats_them() {
        let draw = |seed, purpose| normal(&mut generator(seed, purpose));
        assert_eq!(draw(7, Purpose::World), draw(7, Purpose::World));
        assert_ne!(draw(7, Purpose::World), draw(7, Purpose::Odometry));
        assert_ne!(draw(7, Purpose::World), draw(8, Purpose::World));
    }
}
