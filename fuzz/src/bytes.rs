//! Bytes read as a story: whatever they are, there is a next number.

/// What is left of an input; zeros behind its end.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// Ordinary numbers, and the ones that break things.
    pub fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 10] =
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 1e-300, 1e9, 1e12];
        match self.byte() {
            0..200 => (f64::from(u16::from_le_bytes(self.take())) - 32_768.0) / 10_000.0,
            k @ 200..230 => SPECIAL[usize::from(k) % SPECIAL.len()],
            _ => f64::from_le_bytes(self.take()),
        }
    }

    pub fn numbers<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.number())
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let (now, later) = self.0.split_at(N.min(self.0.len()));
        taken[..now.len()].copy_from_slice(now);
        self.0 = later;
        taken
    }
}
