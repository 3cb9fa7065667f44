//! # lienav-tags
//!
//! Tags: squares of known size with an identity, as landmarks with a pose, for the filter of `lienav-inertial`.
//!
//! [`lens`] is the camera, [`sight`] a tag in its image, [`square`] the two poses that four corners have. [`landmark`]
//! says what a tag is in the state, [`known`] how tags of a map go together, [`joint`] what corners depend on
//! ([`numbers`] of the state, with those of a camera that is [`mounted`] not quite as stated), [`posterior`] what they
//! say of it. [`waiting`] decides between the two poses of a new tag and [`choice`] between those of one that the state
//! has, [`locate`] finds a body among known tags, [`agreement`] names those whose places contradict each other,
//! [`moving`] follows those that move, [`motion`] moves a body without an inertial sensor, and [`filter`] is the step.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod agreement;
pub mod choice;
pub mod filter;
pub mod joint;
pub mod known;
pub mod landmark;
pub mod lens;
pub mod locate;
pub mod motion;
pub mod mounted;
pub mod moving;
pub mod numbers;
pub mod posterior;
pub mod sight;
pub mod square;
pub mod waiting;

#[cfg(test)]
mod tests;
