//! Damage: of bits, of lengths, of order; cuts and splices; in texts, words that a parser may take for something else.

use rand::{Rng, RngExt};

/// Lengths and counts that break things.
const LENGTHS: [u64; 14] = [
    0,
    1,
    7,
    0x7f,
    0xff,
    0xffff,
    0x0100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x0001_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// Words for texts.
const WORDS: [&str; 22] = [
    "nan",
    ".nan",
    ".inf",
    "-.inf",
    "null",
    "~",
    "[",
    "]",
    "{",
    "}",
    "*a",
    "&a ",
    "!!binary ",
    "? ",
    "- ",
    ": ",
    "1e999",
    "-1",
    "18446744073709551616",
    "\u{feff}",
    "\n",
    "\t",
];

/// An input of the corpus with some damage.
pub fn damaged(corpus: &[Vec<u8>], random: &mut impl Rng) -> Vec<u8> {
    let pick = |random: &mut dyn FnMut(usize) -> usize| corpus.get(random(corpus.len().max(1))).cloned();
    let mut input = pick(&mut |count| random.random_range(0..count)).unwrap_or_default();
    for _ in 0..random.random_range(1..=8) {
        let at = |random: &mut dyn FnMut(usize) -> usize| random(input.len() + 1);
        let place = at(&mut |count| random.random_range(0..count));
        match random.random_range(0..10) {
            0 | 1 => {
                if let Some(byte) = input.get_mut(place) {
                    *byte ^= 1 << random.random_range(0..8);
                }
            }
            2 | 3 => {
                if let Some(byte) = input.get_mut(place) {
                    *byte = random.random();
                }
            }
            4 | 5 => {
                let mut length = LENGTHS[random.random_range(0..LENGTHS.len())];
                if random.random_bool(0.3) {
                    length = (input.len() as u64).wrapping_add_signed(random.random_range(-16..16));
                }
                let width = [1, 2, 4, 8][random.random_range(0..4)];
                let big = length.to_be_bytes();
                let little = length.to_le_bytes();
                let bytes = if random.random() { &little[..width] } else { &big[8 - width..] };
                for (old, new) in input.iter_mut().skip(place).zip(bytes) {
                    *old = *new;
                }
            }
            6 => input.truncate(place),
            7 => {
                // A piece is taken out, or comes twice.
                let end = (place + random.random_range(0..200)).min(input.len());
                let piece = input[place..end].to_vec();
                if random.random() {
                    input.drain(place..end);
                } else if input.len() < 1 << 20 {
                    input.splice(place..place, piece);
                }
            }
            8 => {
                let other = &corpus[random.random_range(0..corpus.len().max(1)).min(corpus.len() - 1)];
                let from = random.random_range(0..=other.len());
                input.truncate(place);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let word = WORDS[random.random_range(0..WORDS.len())];
                input.splice(place..place, word.bytes());
            }
        }
    }
    input
}
