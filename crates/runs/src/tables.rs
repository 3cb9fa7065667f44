//! Landmarks, measurements and position fixes of a run beside what it made of them, as tables that other tools read.

use super::associations::JudgedMeasurement;
use super::errors::LandmarkError;
use super::fixes::FixError;
use std::io::{self, Write};

/// Writes one line for each landmark that is known in both maps: its number and true identity, where it is and where it
/// was estimated (m), the covariance that was claimed (m²), and how often it was read, as CSV.
///
/// # Errors
/// Those of `out`.
pub fn write_landmarks_csv(landmarks: &[LandmarkError], out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record([
        "landmark",
        "truth",
        "x_m",
        "y_m",
        "true_x_m",
        "true_y_m",
        "var_x",
        "cov_xy",
        "var_y",
        "observations",
    ])?;
    for LandmarkError { landmark, identity, truth } in landmarks {
        let (place, c) = (landmark.position, &landmark.covariance);
        let numbers = [place.x, place.y, truth.x, truth.y, c[(0, 0)], c[(0, 1)], c[(1, 1)]];
        csv.write_field(landmark.id.to_string())?;
        csv.write_field(identity.to_string())?;
        for number in numbers {
            csv.write_field(number.to_string())?;
        }
        csv.write_field(landmark.measurements.to_string())?;
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// Writes one line for each measurement whose identity was withheld, as CSV: the stamp of its scan (s), what it is of
/// (empty: of nothing), the landmark that it went to (empty: it was left out), what most measurements of that one are
/// of, whether it corrected it or began it, and whether that is wrong.
///
/// # Errors
/// Those of `out`.
pub fn write_measurements_csv(checked_measurements: &[JudgedMeasurement], out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["stamp_s", "truth", "landmark", "landmark_truth", "role", "wrong"])?;
    let text = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    for checked in checked_measurements {
        let role = match (checked.landmark, checked.is_again) {
            (None, _) => "left_out",
            (Some(_), true) => "corrected",
            (Some(_), false) => "began",
        };
        csv.write_record([
            checked.stamp.to_string(),
            text(checked.truth),
            text(checked.landmark),
            text(checked.landmark_truth),
            role.to_owned(),
            u8::from(checked.is_wrong()).to_string(),
        ])?;
    }
    csv.flush()
}

/// Writes one line for each position fix that has an estimate, as CSV: its stamp (s), where the antenna was estimated,
/// and where the fix has it, both in the map frame (m), and how far that is (m).
///
/// # Errors
/// Those of `out`.
pub fn write_fixes_csv(fixes: &[FixError], out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["stamp_s", "x_m", "y_m", "fix_x_m", "fix_y_m", "distance_m"])?;
    for fix in fixes {
        csv.write_field(fix.stamp.to_string())?;
        for number in [fix.antenna.x, fix.antenna.y, fix.fix.x, fix.fix.y, fix.distance()] {
            csv.write_field(number.to_string())?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_base::stamp::Stamp;
    use lienav_slam::Landmark;
    use nalgebra::{Matrix2, Vector2};

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut text = Vec::new();
        write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_landmark_is_a_line() {
        let landmark = Landmark {
            id: 7,
            position: Vector2::new(1.5, -2.0),
            covariance: Matrix2::new(0.25, 0.125, 0.125, 0.5),
            last_seen: Stamp::default(),
            measurements: 3,
        };
        let error = LandmarkError { landmark, identity: 12, truth: Vector2::new(1.25, -2.5) };
        let table = text(|out| write_landmarks_csv(&[error], out));
        let expected = "landmark,truth,x_m,y_m,true_x_m,true_y_m,var_x,cov_xy,var_y,observations\n\
                        7,12,1.5,-2,1.25,-2.5,0.25,0.125,0.5,3\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn a_fix_is_a_line() {
        let fix =
            FixError { stamp: Stamp::from_secs(1.5), antenna: Vector2::new(1.0, 2.0), fix: Vector2::new(4.0, 6.0) };
        let table = text(|out| write_fixes_csv(&[fix], out));
        assert_eq!(table, "stamp_s,x_m,y_m,fix_x_m,fix_y_m,distance_m\n1.500000000,1,2,4,6,5\n");
    }

    #[test]
    fn a_measurement_says_what_it_is_of_and_where_it_went() {
        let checked = |truth, landmark: Option<(u32, bool, Option<u32>)>| JudgedMeasurement {
            stamp: Stamp::from_secs(2.5),
            truth,
            landmark: landmark.map(|(id, _, _)| id),
            landmark_truth: landmark.and_then(|(_, _, truth)| truth),
            is_again: landmark.is_some_and(|(_, again, _)| again),
        };
        let checked_measurements = [
            checked(Some(1), Some((10, false, Some(1)))),
            checked(Some(2), Some((10, true, Some(1)))),
            checked(None, Some((11, true, None))),
            checked(None, None),
        ];
        let table = text(|out| write_measurements_csv(&checked_measurements, out));
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "2.500000000,1,10,1,began,0",
                "2.500000000,2,10,1,corrected,1",
                "2.500000000,,11,,corrected,1",
                "2.500000000,,,,left_out,0"
            ]
        );
    }
}
