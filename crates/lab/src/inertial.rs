//! `lienav reproduce inertial`: Luo and Sun 2020, with more methods, with a coefficient that changes, and with a
//! gyroscope's.

use super::figures::{line, marked, of_errors, over_time};
use super::measure::{drift, largest, order_observed, time_step};
use super::{Experiment, Extent, MethodResult, Part, Reproduction};
use lienav_integrate::dynamics::inertial::{
    Coning, Gyroscope, coefficient, generalized_energy, luo_sun, orthogonality_error,
};
use lienav_integrate::tableau::{
    EULER, EXPLICIT_MIDPOINT, GAUSS4, GAUSS6, IMPLICIT_MIDPOINT, KUTTA3, LOBATTO_IIIA4, RADAU_IIA5, RK4,
};
use lienav_integrate::{IntegrationError, Tableau, linear_rk};
use lienav_io::open;
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, Vector3};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const REPRODUCTION: Reproduction = Reproduction::of_parts(
    "inertial",
    "Luo, Sun 2020: Runge-Kutta methods on Q' = S Q; equation (36), figure 1, coning; with --recording, a gyroscope",
    PARTS,
);

/// A tableau of any number of stages.
trait Method: Sync {
    fn name(&self) -> &'static str;
    fn order(&self) -> usize;
    fn symplectic_defect(&self) -> f64;
    /// P − I for a constant S.
    fn increment(&self, s: &Matrix3<f64>, h: f64) -> Result<Matrix3<f64>, IntegrationError>;
    fn step(
        &self,
        s: &dyn Fn(f64) -> Matrix3<f64>,
        time: f64,
        h: f64,
        q: &Matrix3<f64>,
    ) -> Result<Matrix3<f64>, IntegrationError>;
}

impl<const S: usize> Method for Tableau<S> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn order(&self) -> usize {
        self.order
    }
    fn symplectic_defect(&self) -> f64 {
        self.symplectic_defect()
    }
    fn increment(&self, s: &Matrix3<f64>, h: f64) -> Result<Matrix3<f64>, IntegrationError> {
        linear_rk::increment(self, &[*s; S], 0.0, h)
    }
    fn step(
        &self,
        s: &dyn Fn(f64) -> Matrix3<f64>,
        time: f64,
        h: f64,
        q: &Matrix3<f64>,
    ) -> Result<Matrix3<f64>, IntegrationError> {
        linear_rk::step(self, s, time, h, q)
    }
}

/// The two of the text first.
const METHODS: [&dyn Method; 9] =
    [&IMPLICIT_MIDPOINT, &EXPLICIT_MIDPOINT, &EULER, &KUTTA3, &RK4, &GAUSS4, &GAUSS6, &RADAU_IIA5, &LOBATTO_IIIA4];

const PARTS: &[Part] = &[
    (|extent, _| equation_36(extent), 0.7),
    (|_, _| coning(), 0.3),
    (|extent, _| super::inertial_form::experiment(extent), 0.0),
];

fn equation_36(extent: Extent) -> Result<Experiment, IntegrationError> {
    let (h, s) = (0.1, luo_sun());
    let steps = if extent == Extent::Full { 20_000_u32 } else { 2_000 };
    let mut experiment = Experiment {
        name: "equation-36".into(),
        about: format!(
            "Q' = S Q with S of (36), Q(0) = I, [0, {}], h = 0.1. Energy tr QᵀQ less 3 (figure 1); determinant less 1; \
             orthogonality ‖QᵀQ − I‖; attitude against exp(tS). The text says of figure 1 that the energy of the \
             implicit midpoint rule \"fluctuates tiny\" and that of the explicit one grows. A method that meets (22) \
             shows a symplectic defect of rounding.",
            f64::from(steps) * h
        ),
        ..Experiment::default()
    };
    let mut lines = Vec::new();
    for method in METHODS {
        let Some(increment) = experiment.found(method.name(), "long run", method.increment(&s, h)) else { continue };
        let (mut q, mut energies) = (Matrix3::identity(), Vec::new());
        let (mut determinant, mut orthogonality) = (0.0_f64, 0.0_f64);
        for k in 1..=steps {
            q = linear_rk::apply(&increment, &q);
            energies.push((f64::from(k) * h, generalized_energy(&q) - 3.0));
            determinant = determinant.max((q.determinant() - 1.0).abs());
            orthogonality = orthogonality.max(orthogonality_error(&q));
        }
        let mut values = vec![
            ("order_observed", order_observed(&errors_of_constant(method))),
            ("order_expected", method.order() as f64),
            ("symplectic_defect", method.symplectic_defect()),
            ("energy_error_max", largest(energies.iter().map(|point| point.1))),
            ("energy_drift_per_time", drift(&energies).map_or(f64::NAN, |fit| fit.slope)),
            ("determinant_error_max", determinant),
            ("constraint_error_max", orthogonality),
            ("attitude_error_final", (q - exact(f64::from(steps) * h)).norm()),
        ];
        values.push(("step_ns", step_ns(method, &|_| s, h)));
        experiment.methods.push(MethodResult { name: method.name().into(), values });
        // Euler's grows beyond what a figure, and then a number, can hold.
        let points = energies.iter().map(|point| (point.0, point.1.abs())).filter(|point| point.1 < 1e6).collect();
        lines.push(line(method.name(), points));
    }
    let title = "Error of the generalized energy on (36), h = 0.1 (Luo and Sun 2020, figure 1)";
    experiment.figures.push(over_time("figure-1", title, ("t", "|tr QᵀQ − 3|"), true, lines));
    Ok(experiment)
}

/// exp(tS) of (36).
fn exact(t: f64) -> Matrix3<f64> {
    *So3::exp(&(-Vector3::new(0.0, 0.1, 2.0) * t)).matrix()
}

/// Step sizes and errors at t = 8.
fn errors_of_constant(method: &dyn Method) -> Vec<(f64, f64)> {
    let error = |k: u32| {
        let steps = 16_u32 << k;
        let h = 8.0 / f64::from(steps);
        let end = method
            .increment(&luo_sun(), h)
            .map(|increment| (0..steps).fold(Matrix3::identity(), |q, _| linear_rk::apply(&increment, &q)));
        (h, end.map_or(f64::NAN, |q| (q - exact(8.0)).norm()))
    };
    (0..10).map(error).collect()
}

fn step_ns(method: &dyn Method, s: &dyn Fn(f64) -> Matrix3<f64>, h: f64) -> f64 {
    let mut q = Matrix3::identity();
    let time = time_step(Duration::from_millis(20), || {
        // A step that fails leaves the matrix as it is; and is noted in the experiment.
        q = std::hint::black_box(method.step(s, 0.0, h, &q).unwrap_or(q));
        q = if q.norm_squared() < 10.0 { q } else { Matrix3::identity() };
    });
    time.least_ns
}

fn coning() -> Result<Experiment, IntegrationError> {
    let motion = Coning { half_angle: 0.1, rate: 10.0 };
    let s = move |t: f64| coefficient(&motion.body_angular_velocity(t));
    let mut experiment = Experiment {
        name: "coning".into(),
        about:
            "Q' = S(t) Q of a coning motion with an exact solution: half angle 0.1 rad, 10 rad/s, [0, 2]. Not in the \
                text: orders where S changes; errors at h = 0.02."
                .into(),
        ..Experiment::default()
    };
    let mut lines = Vec::new();
    for method in METHODS {
        let mut errors = Vec::new();
        let mut orthogonality = 0.0;
        for k in 0..9 {
            let steps = 25_u32 << k;
            let h = 2.0 / f64::from(steps);
            let q = motion.attitude(0.0).matrix().transpose();
            let run = (0..steps).try_fold(q, |q, i| method.step(&s, f64::from(i) * h, h, &q));
            let Some(q) = experiment.found(method.name(), &format!("h = {h}"), run) else {
                errors.push((h, f64::NAN));
                continue;
            };
            errors.push((h, (q.transpose() - motion.attitude(2.0).matrix()).norm()));
            if steps == 100 {
                orthogonality = orthogonality_error(&q);
            }
        }
        let values = vec![
            ("order_observed", order_observed(&errors)),
            ("order_expected", method.order() as f64),
            ("attitude_error_final", errors[2].1),
            ("constraint_error_max", orthogonality),
            ("step_ns", step_ns(method, &s, 0.02)),
        ];
        experiment.methods.push(MethodResult { name: method.name().into(), values });
        lines.push((method.order(), marked(method.name(), errors)));
    }
    let title = "Coning: error of the attitude at t = 2 s";
    experiment.figures.push(of_errors("figure-coning", title, ("h, s", "‖Q − Q_exact‖, Frobenius"), lines));
    Ok(experiment)
}

/// The gyroscope's samples joined by straight lines, integrated with steps from sample to sample, against steps of a
/// fourth of that with Gauss 6.
/// What cannot be done with a recording.
#[derive(Debug)]
pub enum RecordingError {
    /// It has none of these columns.
    Unreadable(PathBuf),
    /// It cannot be opened, or is too long.
    Io(PathBuf, io::Error),
    /// A method has failed, or the reference.
    Integration(IntegrationError),
}

impl std::fmt::Display for RecordingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(path) => {
                let columns = COLUMNS.join(", ");
                write!(f, "{}: no gyroscope is recorded there; give a CSV file with columns {columns}", path.display())
            }
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Integration(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordingError {}

impl From<IntegrationError> for RecordingError {
    fn from(error: IntegrationError) -> Self {
        Self::Integration(error)
    }
}

/// The experiment `recorded-gyroscope` of `inertial`: the methods on a recorded gyroscope, a CSV file with the columns
/// t_s, gyr_x_radps, gyr_y_radps, gyr_z_radps; a quick one takes 2,000 samples.
///
/// # Errors
/// No such file, or an [`IntegrationError`] where there is no reference.
pub fn recorded_gyroscope(extent: Extent, path: &Path) -> Result<Experiment, RecordingError> {
    let mut experiment = Experiment { name: "recorded-gyroscope".into(), ..Experiment::default() };
    let file = open::bounded(path, LONGEST).map_err(|error| RecordingError::Io(path.to_owned(), error))?;
    let gyroscope = read(file).ok_or_else(|| RecordingError::Unreadable(path.to_owned()))?;
    let name = path.display();
    let samples = if extent == Extent::Full {
        gyroscope.samples()
    } else {
        &gyroscope.samples()[..2_000.min(gyroscope.samples().len())]
    };
    let s = |t: f64| coefficient(&gyroscope.at(t));
    let mut reference = Matrix3::identity();
    for pair in samples.windows(2) {
        let h = (pair[1].0 - pair[0].0) / 4.0;
        for quarter in 0..4 {
            reference = Method::step(&GAUSS6, &s, pair[0].0 + f64::from(quarter) * h, h, &reference)?;
        }
    }
    let duration = samples.last().map_or(0.0, |last| last.0) - samples.first().map_or(0.0, |first| first.0);
    experiment.about = format!(
        "S(t) of {} samples ({duration:.1} s) of the gyroscope of {name}, straight lines between them; steps from \
         sample to sample, and from each to the one after the next. Attitude against Gauss 6 at a fourth of the step.",
        samples.len()
    );
    let mut lines = Vec::new();
    for method in METHODS {
        let mut defects = Vec::new();
        let mut final_errors = Vec::new();
        for stride in [1, 2] {
            let observe = |end: f64, q: &Matrix3<f64>| defects.push((end - samples[0].0, orthogonality_error(q)));
            let end = along(method, &s, samples, stride, observe);
            let end = experiment.found(method.name(), &format!("steps over {stride} intervals"), end);
            final_errors.push(end.map_or(f64::NAN, |q| (q - reference).norm()));
        }
        let values = vec![
            ("attitude_error_final", final_errors[0]),
            ("attitude_error_final_half_rate", final_errors[1]),
            ("constraint_error_max", largest(defects.iter().map(|point| point.1))),
        ];
        experiment.methods.push(MethodResult { name: method.name().into(), values });
        lines.push(line(method.name(), defects));
    }
    let title = format!("{name}: orthogonality, steps from sample to sample");
    experiment.figures.push(over_time("figure-recorded", &title, ("t, s", "‖QᵀQ − I‖, Frobenius"), true, lines));
    Ok(experiment)
}

/// Steps from each sample to the `stride`-th after it; of single ones every twentieth is observed with its time.
fn along(
    method: &dyn Method,
    s: &dyn Fn(f64) -> Matrix3<f64>,
    samples: &[(f64, Vector3<f64>)],
    stride: usize,
    mut observe: impl FnMut(f64, &Matrix3<f64>),
) -> Result<Matrix3<f64>, IntegrationError> {
    let mut q = Matrix3::identity();
    for (index, pair) in samples.windows(stride + 1).enumerate().step_by(stride) {
        let (start, end) = (pair[0].0, pair[stride].0);
        q = method.step(s, start, end - start, &q)?;
        if stride == 1 && index % 20 == 0 {
            observe(end, &q);
        }
    }
    if stride == 2 && samples.len().is_multiple_of(2) {
        let [.., a, b] = samples else { return Ok(q) };
        q = method.step(s, a.0, b.0 - a.0, &q)?;
    }
    Ok(q)
}

/// The columns of a recording.
const COLUMNS: [&str; 4] = ["t_s", "gyr_x_radps", "gyr_y_radps", "gyr_z_radps"];

/// No recording is longer, bytes.
const LONGEST: u64 = 1 << 28;

/// The gyroscope of a recording with these columns, time from its first sample. None of another table.
fn read(file: impl io::Read) -> Option<Gyroscope> {
    let mut reader = csv::Reader::from_reader(file);
    let headers = reader.headers().ok()?.clone();
    let columns = COLUMNS.map(|name| headers.iter().position(|header| header == name));
    let sample = |record: &csv::StringRecord| {
        let [t, x, y, z] = columns.map(|column| column.and_then(|column| record.get(column)?.parse::<f64>().ok()));
        Some((t?, Vector3::new(x?, y?, z?)))
    };
    let mut samples: Vec<_> = reader.records().filter_map(|record| sample(&record.ok()?)).collect();
    let start = samples.first()?.0;
    samples.iter_mut().for_each(|sample| sample.0 -= start);
    Some(Gyroscope::new(samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_of_the_text_and_the_orders_come_out() {
        let report = REPRODUCTION.run(Extent::Quick, &|_| (), |_, _| Ok::<_, IntegrationError>(())).unwrap();
        let constant = &report.experiments[0];
        let value = |experiment: &Experiment, method: &str, key: &str| {
            let method = experiment.methods.iter().find(|m| m.name == method).unwrap();
            method.values.iter().find(|(k, _)| *k == key).unwrap().1
        };
        for symplectic in ["implicit midpoint", "Gauss 4", "Gauss 6"] {
            for key in ["symplectic_defect", "energy_error_max", "constraint_error_max", "determinant_error_max"] {
                assert!(value(constant, symplectic, key) < 1e-12, "{symplectic} {key}");
            }
        }
        // ‖Q‖² grows by 1 + (0.1|ω|)⁴/4 a step in two of three directions.
        let growth = 2.0 * ((1.0 + 0.0401_f64.powi(2) / 4.0).powi(2000) - 1.0);
        assert!((value(constant, "explicit midpoint", "energy_error_max") / growth - 1.0).abs() < 0.01);
        for experiment in &report.experiments[..2] {
            for method in &experiment.methods {
                let order = value(experiment, &method.name, "order_observed");
                let expected = value(experiment, &method.name, "order_expected");
                assert!((order - expected).abs() < 0.15, "{}: {} {order}", experiment.name, method.name);
            }
        }
    }

    #[test]
    fn a_recording_is_read_or_said_to_be_missing() {
        let missing = recorded_gyroscope(Extent::Quick, Path::new("no/such/file.csv")).unwrap_err().to_string();
        assert!(missing.contains("no/such/file.csv: No such file"), "{missing}");
        let other = recorded_gyroscope(Extent::Quick, &Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
            .unwrap_err()
            .to_string();
        assert!(other.contains("gyr_z_radps"), "{other}");
        let file = tempfile::NamedTempFile::new().unwrap();
        let text =
            "t_s,gyr_x_radps,gyr_y_radps,gyr_z_radps\n5.0,0.1,0.2,0.3\nx,1,1,1\n5.5,0.1,0.2,0.3\n6.0,0.1,0.2,0.3\n";
        std::fs::write(file.path(), text).unwrap();
        assert_eq!(read(text.as_bytes()).unwrap().samples().len(), 3);
        let short = recorded_gyroscope(Extent::Full, file.path()).unwrap();
        assert!(short.methods.iter().all(|method| method.values[2].1 < 0.1), "{short:?}");
        let euroc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/euroc_mh01/imu.csv");
        if !euroc.exists() {
            println!("skipped: no {}", euroc.display());
            return;
        }
        let report = recorded_gyroscope(Extent::Quick, &euroc).unwrap();
        assert!(report.methods[0].values[2].1 < 1e-13 && report.methods[2].values[2].1 > 1e-6);
    }
}
