//! Random numbers for tests, from a seed (SplitMix64): the crate needs none for its work.

pub(super) struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0, and less than 1.
    pub(super) fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.part() * end as f64) as usize
    }

    pub(super) fn byte(&mut self) -> u8 {
        (self.next() >> 56) as u8
    }

    /// Changes some bytes, fewer than `most`.
    pub(super) fn damage(&mut self, bytes: &mut [u8], most: usize) {
        for _ in 0..1 + self.below(most - 1) {
            let place = self.below(bytes.len());
            bytes[place] = self.byte();
        }
    }
}
