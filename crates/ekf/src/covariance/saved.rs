//! A covariance as it is saved: without the room that it has to grow.

use crate::covariance::{Covariance, POSE};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The columns of the lower triangle, one behind the other.
#[derive(Serialize, Deserialize)]
struct Saved {
    calibration: usize,
    #[serde(rename = "features")]
    landmarks: usize,
    #[serde(with = "lienav_base::bits")]
    lower: Vec<f64>,
}

impl Serialize for Covariance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Saved::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Covariance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Saved::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl From<&Covariance> for Saved {
    fn from(whole: &Covariance) -> Self {
        let lower = whole.columns().flatten().copied().collect();
        Self { calibration: whole.calibration, landmarks: whole.landmarks, lower }
    }
}

impl TryFrom<Saved> for Covariance {
    type Error = &'static str;

    fn try_from(Saved { calibration, landmarks, lower }: Saved) -> Result<Self, Self::Error> {
        // No count of rows is greater than that of the numbers, so that nothing below overflows.
        let rows = landmarks.checked_mul(2).and_then(|rows| rows.checked_add(calibration)?.checked_add(POSE));
        let stride = rows.filter(|rows| *rows <= lower.len()).ok_or(WRONG)?;
        if stride * (stride + 1) / 2 != lower.len() {
            return Err(WRONG);
        }
        let mut data = vec![0.0; stride * stride];
        let mut rest = lower.as_slice();
        for j in 0..stride {
            let (column, others) = rest.split_at(stride - j);
            data[j * stride + j..(j + 1) * stride].copy_from_slice(column);
            rest = others;
        }
        Ok(Self { data, stride, calibration, landmarks })
    }
}

const WRONG: &str = "a covariance has not as many numbers as it has rows for";

impl Covariance {
    /// Every column, from the diagonal down.
    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        let n = self.dim();
        (0..n).map(move |j| &self.data[j * self.stride + j..j * self.stride + n])
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.columns().flatten().all(|number| number.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{Matrix2, Matrix2x3, Matrix3};

    #[test]
    fn it_comes_back_whole_and_can_grow() {
        let mut whole = Covariance::new(&Matrix3::identity(), &[0.5, 0.25], 40);
        for k in 0..5 {
            whole.append(&Matrix2x3::from_element(0.1 * f64::from(k)), &(Matrix2::identity() / 3.0));
        }
        let text = serde_json::to_string(&whole).unwrap();
        let mut back: Covariance = serde_json::from_str(&text).unwrap();
        assert_eq!(back.to_matrix(), whole.to_matrix());
        for covariance in [&mut whole, &mut back] {
            covariance.append(&Matrix2x3::from_element(0.3), &Matrix2::identity());
        }
        assert_eq!(back.to_matrix(), whole.to_matrix());
    }

    #[test]
    fn counts_that_do_not_fit_the_numbers_are_refused() {
        let whole = Covariance::new(&Matrix3::identity(), &[], 0);
        let text = serde_json::to_string(&whole).unwrap();
        for landmarks in ["1", "9223372036854775808", "18446744073709551615"] {
            let changed = text.replace("\"features\":0", &format!("\"features\":{landmarks}"));
            assert!(serde_json::from_str::<Covariance>(&changed).is_err(), "{changed}");
        }
    }
}
