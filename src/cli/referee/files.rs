//! The files between recordings, estimators and the judge: CSV as `lienav judge` reads it.

use super::super::failure::Failure;
use lienav_base::stamp::Stamp;
use lienav_eval::folder::write_text;
use lienav_lie::{Se2, Se3};
use nalgebra::{Matrix3, Matrix6, UnitQuaternion};
use std::fmt::Write as _;
use std::path::Path;

/// The six numbers of a pose, as the columns of a covariance name them.
const AXES: [&str; 6] = ["x", "y", "z", "roll", "pitch", "yaw"];

/// Poses in the plane, with covariances of (x, y, yaw) where they are stated.
pub(super) fn planar(rows: impl Iterator<Item = (Stamp, Se2, Option<Matrix3<f64>>)>) -> String {
    let mut text = "stamp_s,x_m,y_m,yaw_rad,var_x,cov_xy,cov_xyaw,var_y,cov_yyaw,var_yaw\n".to_owned();
    for (stamp, pose, covariance) in rows {
        let c = covariance.unwrap_or_else(Matrix3::zeros);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{stamp},{},{},{},{},{},{},{},{},{}",
            pose.p.x, pose.p.y, pose.theta, c.m11, c.m12, c.m13, c.m22, c.m23, c.m33
        );
    }
    text
}

/// Poses in space, with covariances of position and rotation about fixed axes where they are stated.
pub(super) fn space(rows: impl Iterator<Item = (Stamp, Se3, Option<Matrix6<f64>>)>) -> String {
    let pairs = || (0..6).flat_map(|i| (i..6).map(move |j| (i, j)));
    let name = |(i, j): (usize, usize)| match (AXES.get(i), AXES.get(j)) {
        (Some(a), _) if i == j => format!(",var_{a}"),
        (Some(a), Some(b)) => format!(",cov_{a}_{b}"),
        _ => String::new(),
    };
    let mut text = "stamp_s,x_m,y_m,z_m,qx,qy,qz,qw".to_owned();
    text.extend(pairs().map(name));
    text.push('\n');
    for (stamp, pose, covariance) in rows {
        let (p, q) = (pose.translation, UnitQuaternion::from_rotation_matrix(&pose.rotation.rotation()));
        let _ = write!(text, "{stamp},{},{},{},{},{},{},{}", p.x, p.y, p.z, q.i, q.j, q.k, q.w);
        let c = covariance.unwrap_or_else(Matrix6::zeros);
        for place in pairs() {
            let _ = write!(text, ",{}", c.get(place).copied().unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// A table of numbers with a header.
pub(super) struct Numbers(String);

impl Numbers {
    /// Without rows.
    pub(super) fn new(header: &str) -> Self {
        Self(format!("{header}\n"))
    }

    /// Adds a row: stamps first.
    pub(super) fn row(&mut self, stamps: &[Stamp], numbers: &[f64]) {
        let stamps = stamps.iter().map(ToString::to_string);
        let cells: Vec<String> = stamps.chain(numbers.iter().map(ToString::to_string)).collect();
        let _ = writeln!(self.0, "{}", cells.join(","));
    }

    /// Writes it.
    pub(super) fn write(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        write_text(folder, name, &self.0).map_err(Failure::failed)
    }
}

/// Writes the settings that every estimator is given.
pub(super) fn setting(folder: &Path, value: &serde_json::Value) -> Result<(), Failure> {
    write_text(folder, "setting.json", &format!("{value:#}\n")).map_err(Failure::failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::trajectory::{self, Options};
    use nalgebra::Vector3;

    #[test]
    fn what_is_written_is_read_with_every_number() {
        let covariance = Matrix6::from_fn(|i, j| if i == j { 2.0 + i as f64 } else { 0.01 * (i + j) as f64 });
        let pose = Se3::new(lienav_lie::So3::identity(), Vector3::new(1.0, 2.0, 3.0));
        let folder = tempfile::tempdir().unwrap();
        write_text(folder.path(), "a.csv", &space([(Stamp::from_secs(1.5), pose, Some(covariance))].into_iter()))
            .unwrap();
        let path = folder.path().join("a.csv");
        let read = trajectory::open(path.to_str().unwrap(), &Options::default(), &mut |_| ()).unwrap();
        assert_eq!(read.covariance(0), Some(covariance));
        assert_eq!(read.poses[0].translation.vector, Vector3::new(1.0, 2.0, 3.0));
        let c = Matrix3::new(4.0, 0.1, 0.2, 0.1, 5.0, 0.3, 0.2, 0.3, 6.0);
        let rows = [(Stamp::from_secs(1.5), Se2::new(1.0, 2.0, 0.5), Some(c))];
        write_text(folder.path(), "b.csv", &planar(rows.into_iter())).unwrap();
        let path = folder.path().join("b.csv");
        let read = trajectory::open(path.to_str().unwrap(), &Options::default(), &mut |_| ()).unwrap();
        let found = read.covariance(0).unwrap();
        assert_eq!((found[(0, 5)], found[(1, 5)], found[(5, 5)], found[(1, 1)]), (0.2, 0.3, 6.0, 5.0));
    }
}
