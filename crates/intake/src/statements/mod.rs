//! Two statements of one fact, compared: what a source says of itself, before a filter believes it.
//!
//! Each check takes messages one by one and gives [`Finding`]s at any time: [`OdometryCheck`] compares the pose of
//! odometry with its twist, and looks at the variances it states; [`FixCheck`] looks at those of fixes; [`ClockCheck`]
//! compares the clocks that stamp topics; [`InertialCheck`] compares force with gravity, and rates with how gravity
//! turns; [`biases`] compares the biases that a filter finds with those that its settings expect. A bag reader asks at the end, a node with each report. Nothing here changes what a filter is fed with.

mod biases;
mod clocks;
mod fixes;
mod inertial;
mod odometry;

pub use biases::biases;
pub use clocks::ClockCheck;
pub use fixes::FixCheck;
pub use inertial::InertialCheck;
pub use odometry::OdometryCheck;

/// A contradiction, or a statement that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The topic that it is about.
    pub topic: String,
    /// What it is, as one word, for diagnostics.
    pub word: &'static str,
    /// One sentence with both numbers and what to do.
    pub sentence: String,
}

impl Finding {
    fn new(topic: &str, word: &'static str, sentence: String) -> Self {
        Self { topic: topic.to_owned(), word, sentence }
    }
}
