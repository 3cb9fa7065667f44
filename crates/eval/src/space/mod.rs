//! Motions in space: runs of the filters with an inertial sensor over recordings, judged against the truth.
//!
//! Read [`settings`] (what is taken for the noise of a recording), [`truth`] (levelled and interpolated), [`run`] (a
//! filter over a recording; [`twists`] is the same without an inertial sensor, [`session`] what is kept, [`start`]
//! begins; [`tags`] is the same of tags with a pose, [`tag_motion`] what moves them, `tag_input` what they are made
//! of), [`errors`] (against the truth), [`report`] (the numbers), [`simulated`] (runs of scenarios as recordings),
//! [`monte_carlo`] (many of them), [`observability`], [`folder`] (all of it as files, with [`figures`] and a [`page`]),
//! [`bag`] (a recording as a rosbag2 bag), [`robot`] (a bag of a robot, run as its node would).

pub mod bag;
pub mod errors;
pub mod figures;
pub mod folder;
pub mod monte_carlo;
pub mod observability;
pub mod page;
pub mod report;
pub mod robot;
pub mod run;
pub mod session;
pub mod settings;
pub mod simulated;
pub mod start;
mod tag_input;
pub mod tag_motion;
pub mod tags;
pub mod task;
pub mod truth;
pub mod twists;

#[cfg(test)]
mod robot_tests;
#[cfg(test)]
mod simulated_tests;
#[cfg(test)]
mod tag_tests;
#[cfg(test)]
mod tests;
