//! Published experiments, run again and held against what was printed.

mod figures;
mod report;
mod text;
mod thesis5;
mod thesis_tables;

pub use figures::write;
pub use report::{Experiment, Extent, Figure, Line, MethodResult, Progress, Report, Reproduction, Table};
pub use text::to_text;
pub use thesis_tables::{PRINTED, PrintedCell};
pub use thesis5::{Cell, FILTERS, METHODS, Method, Thesis5};

/// What can be run again, by name, and what it is.
pub const NAMES: [(&str, &str); 1] = [(
    "thesis-5",
    "tables 5.1-5.6 and figures 5.1-5.6 of Shen 2019, chapter 5: EKF, FE-EKF and reduced EKF in 36 scenes",
)];
