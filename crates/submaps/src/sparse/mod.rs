//! Sparse least squares: sums of Gaussians over a few unknowns each, the order in which unknowns are eliminated, and
//! the factor of the sum, front by front. The map in submaps is solved by it, and so is the batch estimate of
//! `lienav-eval`.

mod covariance;
pub(crate) mod dense;
mod factor;
mod order;
mod update;

pub use dense::NotPositive;
pub use factor::{Element, Factor};
pub use order::{Order, Step};
pub use update::Changes;
