//! Tables by identity.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by identity. A filter looks its landmarks up tens of times a step, for which the hash of the standard
/// library does more than it needs: that is made for keys that an enemy may choose.
pub type ById<V> = HashMap<u32, V, BuildHasherDefault<Spread>>;

/// A hash of one identity: identities follow each other, and a product with an odd number sends those to places far
/// apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, id: u32) {
        // The place in a table is in the lowest bits; those of a product that the whole identity is in are the highest.
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    /// Identities as they come: of measurements from 0 on, and those that the filter gives.
    #[test]
    fn places_are_spread() {
        for first in [0, 0x8000_0000] {
            let hash = BuildHasherDefault::<Spread>::default();
            let mut taken = vec![0; 1024];
            (first..first + 1024).for_each(|id: u32| taken[hash.hash_one(id) as usize % 1024] += 1);
            assert!(taken.iter().max() < Some(&8));
        }
        let table: ById<usize> = (0..100).map(|id| (id, id as usize)).collect();
        assert!((0..100).all(|id| table.get(&id) == Some(&(id as usize))) && !table.contains_key(&100));
    }
}
