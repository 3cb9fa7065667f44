//! Where the base was, for motions that a program asks for.

use lienav_base::stamp::Stamp;
use serde::Deserialize;
use serde::Serialize;
/// Where the base was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoseClone {
    /// Over how long the motion is wanted, s.
    pub over_s: f64,
    /// When the base was there.
    pub since: Stamp,
    /// The point at the origin of the base, by its identity.
    pub origin: u32,
    /// The point ahead of it, by its identity.
    pub ahead: u32,
    /// When the motion since then was told.
    #[serde(rename = "told")]
    pub reported: Option<Stamp>,
}
