//! Numbers as text without loss: the bits of each as sixteen hexadecimal digits, one behind the other. A saved state
//! has many numbers, some of which may be infinite or none: JSON knows neither, and takes longer to read.
//!
//! ```
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Row {
//!     #[serde(with = "lienav_base::bits")]
//!     numbers: Vec<f64>,
//! }
//! let text = serde_json::to_string(&Row { numbers: vec![1.0, f64::INFINITY] }).unwrap();
//! assert_eq!(text, r#"{"numbers":"3ff00000000000007ff0000000000000"}"#);
//! assert_eq!(serde_json::from_str::<Row>(&text).unwrap().numbers, [1.0, f64::INFINITY]);
//! ```

use serde::{Deserializer, Serializer, de};
use std::fmt;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// For `#[serde(with = "lienav_base::bits")]`.
///
/// # Errors
/// What the serializer says.
pub fn serialize<S: Serializer>(numbers: impl AsRef<[f64]>, serializer: S) -> Result<S::Ok, S::Error> {
    let numbers = numbers.as_ref();
    let mut text = String::with_capacity(16 * numbers.len());
    for byte in numbers.iter().flat_map(|number| number.to_bits().to_be_bytes()) {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    serializer.serialize_str(&text)
}

/// For `#[serde(with = "lienav_base::bits")]`.
///
/// # Errors
/// A text that is not sixteen hexadecimal digits for each number.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    deserializer.deserialize_str(Digits)
}

struct Digits;

impl de::Visitor<'_> for Digits {
    type Value = Vec<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sixteen hexadecimal digits for each number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<f64>, E> {
        let (numbers, rest) = text.as_bytes().as_chunks::<16>();
        let number = |digits: &[u8; 16]| {
            let bits = digits
                .iter()
                .try_fold(0_u64, |bits, digit| Some(bits << 4 | u64::from(char::from(*digit).to_digit(16)?)));
            bits.map(f64::from_bits)
        };
        let numbers: Option<Vec<f64>> = numbers.iter().map(number).collect();
        numbers.filter(|_| rest.is_empty()).ok_or_else(|| E::invalid_value(de::Unexpected::Str("other text"), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    fn read(text: &str) -> Result<Vec<f64>, Error> {
        let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
        deserialize(deserializer)
    }

    #[test]
    fn every_number_comes_back_bit_for_bit() {
        let numbers = [0.0, -0.0, 1.0 / 3.0, f64::MIN_POSITIVE / 3.0, f64::NAN, f64::NEG_INFINITY, -1e300];
        let text = serde_json::to_string(&Row { numbers: numbers.to_vec() }).unwrap();
        let back: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(back.numbers.map_bits(), numbers.to_vec().map_bits());
    }

    #[test]
    fn what_is_cut_off_or_no_digit_is_refused() {
        assert_eq!(read("").unwrap(), [] as [f64; 0]);
        for text in ["3ff000000000000", "3ff00000000000000", "3ff000000000000g", "+3ff00000000000", "ääääääää"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Row {
        #[serde(with = "super")]
        numbers: Vec<f64>,
    }

    trait MapBits {
        fn map_bits(&self) -> Vec<u64>;
    }

    impl MapBits for Vec<f64> {
        fn map_bits(&self) -> Vec<u64> {
            self.iter().map(|number| number.to_bits()).collect()
        }
    }
}
