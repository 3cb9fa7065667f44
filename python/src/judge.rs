//! The referee: estimates of any program beside a truth.

use crate::arrays::{Floats, Integers, array, numbers};
use crate::errors::{failed, wrong_call};
use crate::wait::interruptible;
use lienav_base::stamp::Stamp;
use lienav_eval::judge::report::to_json;
use lienav_eval::judge::space::Space;
use lienav_eval::judge::steps::TruthNoise;
use lienav_eval::judge::text::to_text;
use lienav_eval::judge::{Judged, Method, Options, judge as judge_trajectory};
use lienav_io::trajectory::data::{place, upper};
use lienav_io::trajectory::{self, Convention, Trajectory, Upper};
use nalgebra::{Isometry3, Matrix6, Quaternion, UnitQuaternion, Vector3};
use pyo3::prelude::*;

/// A source, or stamps and poses as arrays.
type Given<'py> = (Option<String>, Option<Integers<'py>>, Option<Floats<'py>>);

/// What is known of a judged estimate: the report as JSON and as a table, and its steps.
#[pyclass(frozen, module = "lienav._lienav")]
pub struct Judgement {
    judged: Judged,
}

/// The options of the command line, by their names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Wanted {
    align: String,
    convention: Option<String>,
    space: Option<bool>,
    max_gap_s: Option<f64>,
    time_offset_s: f64,
    truth_std_m: f64,
    truth_std_deg: f64,
    over_s: Option<Vec<f64>>,
    over_m: Option<Vec<f64>>,
}

#[pyfunction]
#[pyo3(signature = (estimate, truth, covariance, options))]
pub fn judge(
    py: Python<'_>,
    estimate: Given<'_>,
    truth: Given<'_>,
    covariance: Option<Floats<'_>>,
    options: &Bound<'_, PyAny>,
) -> PyResult<Judgement> {
    let wanted: Wanted = options.extract()?;
    let convention = wanted.convention.as_deref().map(|name| {
        let known = Convention::NAMES.join(", ");
        Convention::named(name).ok_or_else(|| wrong_call(format!("convention is '{name}'; there are: {known}")))
    });
    let convention = convention.transpose()?;
    let options = options_of(&wanted)?;
    let estimate = taken(py, "estimate", estimate, covariance, convention)?;
    let truth = taken(py, "truth", truth, None, None)?;
    let judged = interruptible(py, move |_| judge_trajectory(&estimate, &truth, &options))?;
    Ok(Judgement { judged: judged.map_err(failed)? })
}

fn options_of(wanted: &Wanted) -> PyResult<Options> {
    let default = Options::default();
    let max_gap_s = wanted.max_gap_s.unwrap_or(default.max_gap_s);
    let at_least_0 =
        [("max_gap_s", max_gap_s), ("truth_std_m", wanted.truth_std_m), ("truth_std_deg", wanted.truth_std_deg)];
    if let Some((name, value)) = at_least_0.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
        return Err(wrong_call(format!("{name} is {value}; allowed: 0 or more")));
    }
    let lengths = wanted.over_s.iter().chain(&wanted.over_m).flatten();
    if let Some(value) = lengths.into_iter().find(|value| !(**value > 0.0 && value.is_finite())) {
        return Err(wrong_call(format!("over_s or over_m is {value}; allowed: more than 0")));
    }
    if !wanted.time_offset_s.is_finite() {
        return Err(wrong_call(format!("time_offset_s is {}; allowed: seconds", wanted.time_offset_s)));
    }
    let unknown = || {
        let known = Method::NAMES.join(", ");
        wrong_call(format!("align is '{}'; there are: {known}", wanted.align))
    };
    Ok(Options {
        align: Method::named(&wanted.align).ok_or_else(unknown)?,
        max_gap_s,
        offset_s: wanted.time_offset_s,
        space: wanted.space.map(|space| if space { Space::Space } else { Space::Planar }),
        noise: TruthNoise { std_m: wanted.truth_std_m, std_rad: wanted.truth_std_deg.to_radians() },
        over_s: wanted.over_s.clone().unwrap_or(default.over_s),
        over_m: wanted.over_m.clone().unwrap_or_default(),
    })
}

fn taken(
    py: Python<'_>,
    name: &str,
    (source, stamps, poses): Given<'_>,
    covariance: Option<Floats<'_>>,
    convention: Option<Convention>,
) -> PyResult<Trajectory> {
    if let Some(source) = source {
        if covariance.is_some() {
            return Err(wrong_call("covariance goes with arrays; a file states its own"));
        }
        let options = trajectory::Options { convention, ..trajectory::Options::default() };
        let opened = interruptible(py, move |_| trajectory::open(&source, &options, &mut |_| ()))?;
        return opened.map_err(failed);
    }
    let (Some(stamps), Some(poses)) = (stamps, poses) else {
        return Err(wrong_call(format!("{name} is neither a path nor arrays")));
    };
    let stamps: Vec<Stamp> =
        numbers(&format!("{name}: stamp_ns"), &stamps, &[None])?.into_iter().map(Stamp::from_nanos).collect();
    let poses = poses_of(name, &poses, stamps.len())?;
    let covariances = covariance.map_or(Ok(Vec::new()), |covariance| covariances_of(&covariance, stamps.len()))?;
    let mut trajectory = Trajectory::new(name, stamps, poses, covariances);
    if let Some(convention) = convention {
        trajectory.meaning = Some(convention.of_array());
    }
    if trajectory.is_empty() {
        return Err(wrong_call(format!("{name} has no pose of finite numbers")));
    }
    Ok(trajectory)
}

/// Poses from (n, 3) of x, y, yaw or (n, 7) of x, y, z, qx, qy, qz, qw.
fn poses_of(name: &str, poses: &Floats<'_>, count: usize) -> PyResult<Vec<Isometry3<f64>>> {
    let of_plane = numbers(name, poses, &[Some(count), Some(3)]);
    if let Ok(plane) = of_plane {
        let pose = |row: &[f64]| {
            let turn = UnitQuaternion::from_euler_angles(0.0, 0.0, row[2]);
            Isometry3::from_parts(Vector3::new(row[0], row[1], 0.0).into(), turn)
        };
        return Ok(plane.chunks_exact(3).map(pose).collect());
    }
    let rows = numbers(name, poses, &[Some(count), Some(7)])?;
    let pose = |(k, row): (usize, &[f64])| {
        let q = Quaternion::new(row[6], row[3], row[4], row[5]);
        // What is not finite is left out later, as in files.
        if q.norm_squared().is_finite() && (q.norm_squared() - 1.0).abs() > 0.01 {
            return Err(wrong_call(format!(
                "{name}: the quaternion of row {k} has the length {}; expected 1",
                q.norm()
            )));
        }
        let turn = UnitQuaternion::new_normalize(q);
        Ok(Isometry3::from_parts(Vector3::new(row[0], row[1], row[2]).into(), turn))
    };
    rows.chunks_exact(7).enumerate().map(pose).collect()
}

/// Covariances from (n, 3, 3) of x, y, yaw or (n, 6, 6).
fn covariances_of(covariance: &Floats<'_>, count: usize) -> PyResult<Vec<Upper>> {
    const PLANAR: [usize; 3] = [0, 1, 5];
    if let Ok(plane) = numbers("covariance", covariance, &[Some(count), Some(3), Some(3)]) {
        let one = |rows: &[f64]| {
            let mut whole = [0.0; 21];
            for (i, &row) in PLANAR.iter().enumerate() {
                for (j, &column) in PLANAR.iter().enumerate().skip(i) {
                    whole[place(row, column)] = 0.5 * (rows[3 * i + j] + rows[3 * j + i]);
                }
            }
            whole
        };
        return Ok(plane.chunks_exact(9).map(one).collect());
    }
    let rows = numbers("covariance", covariance, &[Some(count), Some(6), Some(6)])?;
    Ok(rows.chunks_exact(36).map(|rows| upper(&Matrix6::from_row_slice(rows))).collect())
}

#[pymethods]
impl Judgement {
    fn json(&self) -> PyResult<String> {
        to_json(std::slice::from_ref(&self.judged.report)).map_err(failed)
    }

    fn text(&self) -> String {
        to_text(std::slice::from_ref(&self.judged.report))
    }

    /// (n,) int64: the stamps of the poses that have a truth, ns.
    fn stamp_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stamps: Vec<i64> = self.judged.pairs.stamps.iter().map(|stamp| stamp.nanos()).collect();
        let n = stamps.len();
        array(py, stamps, &[n])
    }

    /// (n, 6): estimate − truth, m and rad about fixed axes.
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = &self.judged.steps.all;
        let errors = steps.iter().flat_map(|step| <[f64; 6]>::from(step.error).map(|x| 0.0 - x)).collect();
        array(py, errors, &[steps.len(), 6])
    }

    /// (n, 3): NEES of position, orientation and pose.
    fn nees<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = &self.judged.steps.all;
        array(py, steps.iter().flat_map(|step| step.nees).collect(), &[steps.len(), 3])
    }
}
