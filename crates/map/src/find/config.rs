//! What the search supposes.

/// What a [`Finder`](super::Finder) takes for granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinderConfig {
    /// The range of the sensor, m, from the base; `None` to learn it from what is seen.
    pub max_range_m: Option<f64>,
    /// The field of view of the sensor, rad, symmetric about straight ahead; `None` to learn it from what is seen.
    pub field_of_view_rad: Option<f64>,
    /// The probability of seeing a landmark within range and field of view, before anything is learned.
    pub detection_probability: f64,
    /// The share of landmarks that are seen and are not in the map.
    pub unmapped: f64,
    /// What all measurements of a landmark have in common of their error, as a share of the variance of one: a landmark
    /// that is seen fifty times is not known seven times better.
    pub repeating: f64,
    /// A pose is found if it has all of the probability but this.
    pub doubt: f64,
    /// For so many scans in a row.
    pub scans: u32,
    /// With so many landmarks, if they have no identity.
    pub landmarks: usize,
    /// The most hypotheses that are kept.
    pub max_hypotheses: usize,
    /// The most measurements of a scan that are used: the nearest.
    pub max_sightings: usize,
}

impl Default for FinderConfig {
    fn default() -> Self {
        Self {
            max_range_m: None,
            field_of_view_rad: None,
            detection_probability: 0.7,
            unmapped: 0.1,
            repeating: 0.2,
            doubt: 1e-3,
            scans: 5,
            landmarks: 4,
            max_hypotheses: 96,
            max_sightings: 40,
        }
    }
}
