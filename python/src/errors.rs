//! Errors of lienav as Python's: the sentences of the command line.

use pyo3::prelude::*;
use std::fmt::Display;

mod classes {
    pyo3::import_exception!(lienav._errors, WrongCall);
    pyo3::import_exception!(lienav._errors, WrongType);
    pyo3::import_exception!(lienav._errors, Failed);
}

/// What is asked for does not exist or makes no sense: exit code 2 of the command line.
pub fn wrong_call(error: impl Display) -> PyErr {
    classes::WrongCall::new_err(error.to_string())
}

/// An argument is of a type that does not fit.
pub fn wrong_type(error: impl Display) -> PyErr {
    classes::WrongType::new_err(error.to_string())
}

/// What is asked for cannot be done: exit code 1 of the command line.
pub fn failed(error: impl Display) -> PyErr {
    classes::Failed::new_err(error.to_string())
}
