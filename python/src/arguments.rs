//! Arguments of methods, each read by its name: one that does not fit is refused with its name and its value.

use crate::arrays::{Floats, Integers};
use crate::errors::{wrong_call, wrong_type};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};
use std::path::PathBuf;

const WHOLE: &str = "a whole number of nanoseconds: lienav.to_ns(seconds) makes it";
const STAMPS: &str = "whole numbers of nanoseconds: lienav.to_ns(seconds) makes them";
const NUMBER: &str = "a number";
const COUNT: &str = "a whole number from 0 on";
const ARRAY: &str = "an array of numbers";
const THREE: &str = "three numbers";
const PATH: &str = "a path";

/// The sentence for an argument that does not fit.
pub fn refused(name: &str, given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let text = given.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let shown: String = text.chars().take(60).collect();
    let shown = if shown.len() < text.len() { format!("{shown}…") } else { shown };
    if given.is_instance_of::<PyInt>() && expected != PATH {
        return wrong_call(format!("{name} is {shown}; expected {expected}"));
    }
    let kind = given.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    wrong_type(format!("{name} is {shown}, of type {kind}; expected {expected}"))
}

macro_rules! arguments {
    ($($reader:ident $name:literal: $type:ty, $expected:expr;)*) => {$(
        #[doc = concat!("Reads the argument `", $name, "`.")]
        pub fn $reader<'py>(given: &Bound<'py, PyAny>) -> PyResult<$type> {
            given.extract().map_err(|_| refused($name, given, $expected))
        }
    )*};
}

arguments! {
    stamp_ns "stamp_ns": i64, WHOLE;
    vx "vx": f64, NUMBER;
    vy "vy": f64, NUMBER;
    yaw_rate "yaw_rate": f64, NUMBER;
    x "x": f64, NUMBER;
    y "y": f64, NUMBER;
    theta "theta": f64, NUMBER;
    duration "duration": f64, NUMBER;
    number "number": usize, "a whole number from 0 to 15";
    sensor "sensor": i64, "a whole number from 0 to 15";
    focal "focal": Option<(f64, f64)>, "two numbers, (f_x, f_y) px, or None";
    centre "centre": (f64, f64), "two numbers, (c_x, c_y) px";
    baseline_m "baseline_m": f64, NUMBER;
    pixel_std "pixel_std": Option<(f64, f64)>, "two numbers, of (u, v) px, or None";
    common_pixel_std "common_pixel_std": (f64, f64), "two numbers, of (u, v) px";
    start_std "std": [f64; 5], "five numbers: rad, m/s, m, rad/s, m/s²";
    stated_map_std_m "map_std_m": Option<f64>, "a number or None";
    known_ids "ids": Vec<i64>, "whole numbers";
    velocity "velocity": Floats<'py>, ARRAY;
    std_rad "std_rad": f64, NUMBER;
    map_std_m "map_std_m": f64, NUMBER;
    max_truth_gap_s "max_truth_gap_s": Option<f64>, "a number or None";
    tilt "tilt": Option<(f64, f64)>, "two numbers, (roll, pitch) rad, or None";
    motion "motion": (f64, f64, f64), THREE;
    twist "twist": (f64, f64, f64), THREE;
    mount "mount": (f64, f64, f64), THREE;
    ids "ids": Option<Vec<i64>>, "whole numbers, -1 where one is unknown, or None";
    values "values": Floats<'py>, ARRAY;
    noise "noise": Floats<'py>, ARRAY;
    orientation "orientation": Floats<'py>, ARRAY;
    angular_velocity "angular_velocity": Floats<'py>, ARRAY;
    specific_force "specific_force": Floats<'py>, ARRAY;
    field "field": Floats<'py>, ARRAY;
    fields "field": Option<Floats<'py>>, "an array of numbers or None";
    stamps "stamp_ns": Integers<'py>, STAMPS;
    field_stamp_ns "field_stamp_ns": Option<Integers<'py>>, STAMPS;
    covariance "covariance": Floats<'py>, ARRAY;
    stated "covariance": Option<Floats<'py>>, "an array of numbers or None";
    filters "filters": Vec<String>, "names of filters";
    runs "runs": usize, COUNT;
    seed "seed": u64, COUNT;
    scenario_seed "seed": Option<u64>, "a whole number from 0 on, or None";
    threads "threads": usize, COUNT;
    every "every": usize, "a whole number from 1 on";
    clutter "clutter": usize, COUNT;
    clutter_seed "clutter_seed": u64, COUNT;
    map "map": Option<PathBuf>, PATH;
    path "path": PathBuf, PATH;
    state "state": Bound<'py, PyBytes>, "the bytes that save() gave";
}
