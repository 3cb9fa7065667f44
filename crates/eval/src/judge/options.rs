//! How estimates are judged: what the command line and Python let a user choose.

use super::alignment::Method;
use super::space::Space;
use super::steps::TruthNoise;
use lienav_io::truth::MAX_TRUTH_GAP_S;

/// How estimates are judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How they are laid onto the truth before anything is compared.
    pub align: Method,
    /// Gaps of the truth up to this long are bridged, s.
    pub max_gap_s: f64,
    /// Added to the stamps of the estimate, s.
    pub offset_s: f64,
    /// Whether the plane is meant; by itself, what the estimate says.
    pub space: Option<Space>,
    /// Of the truth.
    pub noise: TruthNoise,
    /// Times over which motions are compared, s.
    pub over_s: Vec<f64>,
    /// Lengths of the path over which motions are compared, m; without any, a tenth to a half of the whole path.
    pub over_m: Vec<f64>,
}

/// The times over which motions are compared, unless others are asked for, s.
pub const OVER_S: [f64; 3] = [1.0, 10.0, 60.0];

impl Default for Options {
    fn default() -> Self {
        Self {
            align: Method::None,
            max_gap_s: MAX_TRUTH_GAP_S,
            offset_s: 0.0,
            space: None,
            noise: TruthNoise::default(),
            over_s: OVER_S.to_vec(),
            over_m: Vec::new(),
        }
    }
}
