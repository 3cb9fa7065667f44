//! A folder with everything about runs in space: numbers, trajectories, errors and figures.

use super::figures::{Subject, figures};
use super::page;
use super::report::{Report, to_json, to_text};
use crate::folder::{FolderError, create, show_only, write_file, write_text, write_whole};
use crate::plot::figure;
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::UnitQuaternion;
use std::io::{self, Write};
use std::path::Path;

/// Writes `report.json`, `report.txt`, `report.html`, the figures, and for each run `estimate.tum`, `truth.tum` (at the
/// stamps of the estimates) and `errors.csv`, all of them or nothing. Each run has a folder named like its filter; the
/// files of an only one are in the folder itself, too.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, subjects: &[Subject], reports: &[Report]) -> Result<(), FolderError> {
    write_whole(folder, |folder| {
        write_reports(folder, subjects, reports)?;
        let page = page::html(subjects, reports)?;
        write_text(folder, "report.html", &page)?;
        for (subject, report) in subjects.iter().zip(reports) {
            let own = folder.join(&subject.run.filter);
            create(&own)?;
            write_reports(&own, &[*subject], std::slice::from_ref(report))?;
            write_run(&own, subject)?;
            show_only(folder, &own, subjects.len())?;
        }
        Ok(())
    })
}

fn write_reports(folder: &Path, subjects: &[Subject], reports: &[Report]) -> Result<(), FolderError> {
    write_file(folder, "report.json", |out| writeln!(out, "{}", to_json(reports)?))?;
    write_text(folder, "report.txt", &to_text(reports))?;
    for one in figures(subjects) {
        write_text(folder, &format!("{}.svg", one.file), &figure(&one)?)?;
    }
    Ok(())
}

fn write_run(folder: &Path, subject: &Subject) -> Result<(), FolderError> {
    let estimates = subject.run.estimates.iter().map(|estimate| (estimate.stamp, estimate.pose));
    write_file(folder, "estimate.tum", |out| write_tum(estimates, out))?;
    let truth = subject.errors.pairs.iter().map(|pair| (pair.stamp, pair.truth));
    write_file(folder, "truth.tum", |out| write_tum(truth, out))?;
    write_file(folder, "errors.csv", |out| write_errors(subject, out))
}

/// Poses in the TUM format, one a line: `timestamp tx ty tz qx qy qz qw`, s and m.
fn write_tum(poses: impl Iterator<Item = (Stamp, Se3)>, out: &mut dyn Write) -> io::Result<()> {
    for (stamp, pose) in poses {
        let (p, q) = (pose.translation, UnitQuaternion::from_rotation_matrix(&pose.rotation.rotation()));
        writeln!(out, "{stamp} {} {} {} {} {} {} {}", p.x, p.y, p.z, q.i, q.j, q.k, q.w)?;
    }
    Ok(())
}

/// Errors of position, m, and orientation, rad, with their standard deviations, and NEES.
fn write_errors(subject: &Subject, out: &mut dyn Write) -> io::Result<()> {
    let names = ["x_m", "y_m", "z_m", "about_x_rad", "about_y_rad", "about_z_rad"];
    let columns: Vec<String> =
        names.iter().flat_map(|name| [format!("error_{name}"), format!("sigma_{name}")]).collect();
    writeln!(out, "stamp_s,{},nees_position,nees_orientation,nees_pose", columns.join(","))?;
    for pair in &subject.errors.pairs {
        write!(out, "{}", pair.stamp)?;
        for (error, sigma) in pair.error.iter().zip(pair.sigma.iter()) {
            write!(out, ",{error},{sigma}")?;
        }
        match pair.nees {
            Some([position, orientation, pose]) => writeln!(out, ",{position},{orientation},{pose}")?,
            None => writeln!(out, ",,,")?,
        }
    }
    Ok(())
}
