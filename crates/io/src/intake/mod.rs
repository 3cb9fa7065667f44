//! The intake of a robot's messages, for a node and for a bag alike: that of [`lienav_intake::intake`], and [`TagIntake`]
//! for the filter that sees tags, whose map is a file.

mod space_tags;

pub use lienav_intake::intake::*;
pub use space_tags::{TAG_WORDS, TagIntake, TagRobot, TagsSeen};
