//! Coordinates of a motion as sums of sines.

/// A coordinate as a function of time: offset, slope, and a sum of amplitude · sin(rate t + phase).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wave {
    /// At t = 0, without the sines.
    pub offset: f64,
    /// Per second.
    pub slope: f64,
    /// Amplitude, rate, rad/s, and phase, rad.
    pub sines: Vec<[f64; 3]>,
}

impl Wave {
    /// From its numbers.
    pub fn new(offset: f64, slope: f64, sines: &[[f64; 3]]) -> Self {
        Self { offset, slope, sines: sines.to_vec() }
    }

    /// Value, first and second derivative at an instant.
    pub fn at(&self, t: f64) -> [f64; 3] {
        let mut value = [self.offset + self.slope * t, self.slope, 0.0];
        for [amplitude, rate, phase] in &self.sines {
            let (sin, cos) = (rate * t + phase).sin_cos();
            value[0] += amplitude * sin;
            value[1] += amplitude * rate * cos;
            value[2] -= amplitude * rate * rate * sin;
        }
        value
    }
}
