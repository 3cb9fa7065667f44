//! What comes out.

use lienav_base::intake::{self, Reason};
use nalgebra::{Matrix2, Vector2};

/// What kind of thing a landmark is. The numbers are those of the field `class` of `features`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// A cylinder in reflective tape.
    Reflector = 1,
    /// A thin cylinder.
    Pole = 2,
    /// A thick cylinder.
    Trunk = 3,
    /// A cone, cut by the plane of the scan.
    Cone = 4,
}

/// A cylinder in one scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// What kind of thing it is.
    pub class: Class,
    /// Its axis in the sensor frame at the stamp of the scan, m.
    pub position: Vector2<f64>,
    /// Covariance of that, m².
    pub covariance: Matrix2<f64>,
    /// Its diameter, m; for a reflector the one that was set.
    pub diameter_m: f64,
    /// Standard deviation of that, m.
    pub diameter_std_m: f64,
    /// How many rays hit it.
    pub rays: usize,
    /// Whether nothing else that is small stands near: a leg mostly has another one beside it.
    pub isolated: bool,
}

/// Why something small was no landmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Something nearer, or the end of the scan, hides a part.
    CutOff,
    /// Fewer rays than `shape.min_rays` hit it.
    FewRays,
    /// No circle of the sizes looked for has these edges.
    Size,
    /// Its ranges are not those of a circle.
    NotRound,
}

/// How often each [`Rejection`] happened.
pub type Counts = intake::Counts<Rejection, 4>;

impl Reason for Rejection {
    const ALL: &'static [Self] = &[Self::CutOff, Self::FewRays, Self::Size, Self::NotRound];

    fn index(self) -> usize {
        self as usize
    }

    fn word(self) -> &'static str {
        match self {
            Self::CutOff => "cut_off",
            Self::FewRays => "few_rays",
            Self::Size => "size",
            Self::NotRound => "not_round",
        }
    }
}
