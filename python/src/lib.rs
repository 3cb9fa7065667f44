//! The Python module `lienav._lienav`: what `python/lienav` is a face of. It computes nothing itself: every number
//! comes from the crates that the command line and the nodes call.

mod arguments;
mod arrays;
mod attitude;
mod errors;
mod evaluation;
mod frames;
mod judge;
mod kalman_filter;
mod lie;
mod messages;
mod monte_carlo;
mod poses;
mod recording;
mod recording3d;
mod rest;
mod settings;
mod slam;
mod slam3d;
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
    use crate::recording3d::{
        Evaluation3d, Recording3d, evaluate_in_space, is_in_space, open_in_space, scenario_names_in_space,
        simulate_in_space,
    };
    #[pymodule_export]
    use crate::slam::{Slam, Step};
    #[pymodule_export]
    use crate::slam3d::{Slam3d, Step3d};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
