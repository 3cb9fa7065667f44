//! Tables 2.3 and 2.4 of Shen 2019 as printed: largest step and mean number of iterations by number of nodes.

use super::methods::{DISCRETE_GRADIENT, DISEX, ENERGY_PRESERVING, EXPONENTIAL_MIDPOINT, MIDPOINT, NEWTON};

/// The methods of the columns.
pub(super) const COLUMNS: [&str; 6] =
    [MIDPOINT, NEWTON, EXPONENTIAL_MIDPOINT, DISCRETE_GRADIENT, ENERGY_PRESERVING, DISEX];

/// A row: nodes, and (largest step, mean iterations) of each of [`COLUMNS`].
pub(super) struct Row {
    pub(super) nodes: usize,
    pub(super) cells: [(f64, f64); 6],
    /// Keys of a report: `step_max_n…` and `iterations_mean_n…`.
    pub(super) keys: (&'static str, &'static str),
}

/// Rows from their cells; the keys are made of the number of nodes.
macro_rules! rows {
    ($($nodes:literal: $cells:expr),* $(,)?) => {
        &[$(Row {
            nodes: $nodes,
            cells: $cells,
            keys: (concat!("step_max_n", $nodes), concat!("iterations_mean_n", $nodes)),
        }),*]
    };
}

/// Table 2.3, the nonlinear Schrödinger equation.
pub(super) const NLS: &[Row] = rows![
    11: [(0.02, 14.2), (0.1, 8.3), (0.1, 12.6), (0.02, 14.0), (0.1, 11.9), (0.1, 101.4)],
    21: [(0.01, 12.9), (0.1, 8.3), (0.08, 12.6), (0.01, 11.8), (0.1, 12.0), (0.03, 47.7)],
    41: [(4e-3, 7.9), (0.1, 8.3), (0.06, 10.9), (4e-3, 5.8), (0.1, 12.0), (0.03, 49.2)],
    61: [(2e-3, 2.1), (0.1, 8.3), (0.04, 8.1), (2e-3, 4.0), (0.1, 12.0), (0.025, 44.5)],
    81: [(1e-3, 4.1), (0.1, 8.3), (0.04, 8.1), (1e-3, 3.0), (0.1, 12.0), (0.025, 44.6)],
    121: [(5e-4, 13.9), (0.1, 8.3), (0.04, 8.1), (5e-4, 3.4), (0.1, 12.0), (0.01, 43.3)],
    161: [(2e-4, 3.9), (0.1, 8.3), (0.01, 5.0), (2e-4, 2.0), (0.1, 12.0), (0.01, 30.5)],
    201: [(1e-4, 3.08), (0.1, 8.3), (8e-3, 4.7), (1e-4, 2.0), (0.1, 12.0), (8e-3, 30.0)],
    401: [(4e-5, 2.0), (0.1, 8.3), (5e-3, 4.9), (4e-5, 1.0), (0.1, 12.0), (4e-3, 32.0)],
];

/// Table 2.4, the equation of Korteweg and de Vries.
pub(super) const KDV: &[Row] = rows![
    401: [(4e-4, 17.9), (4e-4, 25.5), (8e-4, 8.4), (4e-4, 15.4), (0.005, 14.9), (4e-4, 26.9)],
    601: [(1e-4, 4.2), (1e-4, 7.3), (6e-4, 8.6), (1e-4, 3.4), (0.005, 14.8), (4e-4, 48.0)],
    801: [(6e-5, 18.5), (5e-5, 4.4), (6e-4, 9.4), (5e-5, 3.5), (0.005, 14.9), (1e-4, 19.0)],
    1001: [(3e-5, 7.7), (3e-5, 11.0), (6e-4, 10.6), (3e-5, 14.9), (0.005, 14.8), (1e-4, 19.0)],
    1201: [(1e-5, 2.0), (1e-5, 2.0), (6e-4, 11.4), (1e-5, 1.0), (0.005, 14.8), (1e-4, 22.0)],
    1401: [(1e-5, 1.0), (1e-5, 2.0), (6e-4, 16.1), (1e-5, 1.0), (0.005, 14.8), (1e-4, 34.0)],
];
