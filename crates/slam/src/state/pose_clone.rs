//! Where the base was, for motions that a program asks for.

use lienav_base::stamp::Stamp;
use serde::Deserialize;
use serde::Serialize;
/// Where the base was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoseClone {
    pub over_s: f64,
    pub since: Stamp,
    pub origin: u32,
    pub ahead: u32,
    /// When the motion since then was told.
    #[serde(rename = "told")]
    pub reported: Option<Stamp>,
}
