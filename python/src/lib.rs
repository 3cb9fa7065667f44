//! The Python module `lienav._lienav`: what `python/lienav` is a face of. It computes nothing itself: every number
//! comes from the crates that the command line and the nodes call.

mod arguments;
mod arrays;
mod attitude;
mod errors;
mod evaluation;
mod judge;
mod kalman_filter;
mod lie;
mod messages;
mod monte_carlo;
mod recording;
mod rest;
mod settings;
mod slam;
mod wait;

use pyo3::prelude::*;

#[pymodule]
mod _lienav {
    #[pymodule_export]
    use crate::attitude::{Attitude, evaluate_attitude};
    #[pymodule_export]
    use crate::evaluation::{Evaluation, evaluate, filter_names};
    #[pymodule_export]
    use crate::judge::{Judgement, judge};
    #[pymodule_export]
    use crate::kalman_filter::{Correction, KalmanFilter, resumed_kalman_filter};
    #[pymodule_export]
    use crate::lie::lie;
    #[pymodule_export]
    use crate::monte_carlo::{Experiment, Outcome, merge_shards, scenario_names};
    #[pymodule_export]
    use crate::recording::{Recording, open_recording, recording_of_arrays, simulate};
    #[pymodule_export]
    use crate::slam::{Slam, Step};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
