//! What the check of the covariance needs of the last scans.

use lienav_planar::output::PoseEstimate;

/// What the check needs of the last scans.
#[derive(Debug, Default)]
pub struct Validity {
    /// The prediction of the scan that was processed last, and whether its update found the joint covariance
    /// indefinite.
    pub processed: Option<(PoseEstimate, bool)>,
    /// The last prediction with a valid covariance.
    pub last_valid: Option<PoseEstimate>,
    /// How many updates in a row found the joint covariance indefinite.
    pub indefinite: u8,
}
