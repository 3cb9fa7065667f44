//! Trajectories and errors as text files that other tools read.

use super::errors::Errors;
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use std::io::{self, Write};

/// Writes poses in the TUM format, one a line: `timestamp tx ty tz qx qy qz qw`, s and m. Stamps keep every
/// nanosecond and numbers every bit.
///
/// # Errors
/// Those of `out`.
pub fn write_tum(poses: impl IntoIterator<Item = (Stamp, Se2)>, out: &mut dyn Write) -> io::Result<()> {
    for (stamp, pose) in poses {
        let (sine, cosine) = (0.5 * pose.theta).sin_cos();
        writeln!(out, "{stamp} {} {} 0 0 0 {sine} {cosine}", pose.p.x, pose.p.y)?;
    }
    Ok(())
}

/// Writes estimate, truth, errors (m, rad), claimed covariance (upper triangle of (x, y, θ)) and NEES of each step
/// that has a true pose, as CSV. NEES is empty where the covariance is singular.
///
/// # Errors
/// Those of `out`.
pub fn write_errors_csv(errors: &Errors, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(ERROR_COLUMNS)?;
    for step in &errors.steps {
        let c = &step.covariance;
        let numbers = [
            step.estimate.p.x,
            step.estimate.p.y,
            step.estimate.theta,
            step.truth.p.x,
            step.truth.p.y,
            step.truth.theta,
            step.error.x,
            step.error.y,
            step.error.z,
            c[(0, 0)],
            c[(0, 1)],
            c[(0, 2)],
            c[(1, 1)],
            c[(1, 2)],
            c[(2, 2)],
        ];
        csv.write_field(step.stamp.to_string())?;
        for number in numbers {
            csv.write_field(number.to_string())?;
        }
        csv.write_field(step.nees.map(|nees| nees.to_string()).unwrap_or_default())?;
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

const ERROR_COLUMNS: [&str; 17] = [
    "stamp_s",
    "x_m",
    "y_m",
    "yaw_rad",
    "true_x_m",
    "true_y_m",
    "true_yaw_rad",
    "error_x_m",
    "error_y_m",
    "error_yaw_rad",
    "var_x",
    "cov_xy",
    "cov_xyaw",
    "var_y",
    "cov_yyaw",
    "var_yaw",
    "nees",
];

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn a_tum_line_keeps_the_stamp_and_the_numbers() {
        let mut text = Vec::new();
        let stamp = Stamp::from_nanos(1_248_444_175_103_000_001);
        write_tum([(stamp, Se2::new(0.1 + 0.2, -1e-17, 1.0))], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let fields: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(fields[0], "1248444175.103000001");
        let numbers: Vec<f64> = fields[1..].iter().map(|field| field.parse().unwrap()).collect();
        assert_eq!(numbers, [0.1 + 0.2, -1e-17, 0.0, 0.0, 0.0, 0.5_f64.sin(), 0.5_f64.cos()]);
    }

    #[test]
    fn the_csv_has_a_row_a_step_and_the_numbers_come_back() {
        let (run, truth) = synthetic::run(20, 5);
        let errors = Errors::new(&run, &truth);
        let mut text = Vec::new();
        write_errors_csv(&errors, &mut text).unwrap();
        let mut csv = csv::Reader::from_reader(text.as_slice());
        let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 20);
        assert_eq!(csv.headers().unwrap().len(), rows[7].len());
        assert_eq!(rows[7][7].parse::<f64>().unwrap(), errors.steps[7].error.x);
        assert_eq!(rows[7][16].parse::<f64>().ok(), errors.steps[7].nees);
    }
}
