//! The yardstick: the maximum-likelihood estimate of a whole run, poses and features at once, on the same information,
//! with the same models and the same noise as the filter.
//!
//! Unknown are the poses X_k ∈ SE(2) at the stamps of the scans, the features p_i ∈ ℝ², and the calibration
//! parameters c that `calibration` switches on, here the same all the time. What is minimised is, with ‖r‖²_Σ =
//! rᵀΣ⁻¹r,
//!
//! $$ \sum_k \lVert (R_k^T (p_{k+1} - p_k) - t_k(c),\ \theta_{k+1} - \theta_k - a_k(c)) \rVert^2_{Q_k}
//!  + \sum_{(k, i)} \rho\left(\lVert y_{ki} - h(R_k^T (p_i - p_k); c) \rVert^2_{R_{ki}}\right) + \text{priors} $$
//!
//! with (t_k, a_k, Q_k) the filter's own increments of odometry, h and R the filter's own sensor. Which measurement is
//! of which feature, which ones are believed and which features are forgotten is what the filter `iterated` says: a
//! feature that comes back after `map.forget_after_s` is a new one here too.
//!
//! [`problem`](self) holds the run, its residuals are in `motion` and `sight`, `layout` says which unknowns there are,
//! `normal` adds up the normal equations, `solve` iterates (Gauss–Newton, with Levenberg and Marquardt's damping where
//! a step fails). The normal equations are factored as those of a map in parts are, [`lienav_submaps::sparse`].

mod layout;
mod loss;
mod motion;
mod normal;
mod problem;
mod scaled;
mod session;
mod settings;
mod sight;
mod solve;
#[cfg(test)]
mod tests;

pub use loss::Loss;
pub use session::Session;
pub use settings::Settings;
pub use solve::Solution;
