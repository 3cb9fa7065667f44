//! The files of judged estimates: the report, the page, and what other tools and `lienav compare` read.

use super::page;
use super::report::{Report, to_json};
use super::run::Subject;
use super::text::to_text;
use crate::folder::{FolderError, create, show_only, write_file, write_text, write_whole};
use lienav_base::stamp::Stamp;
use nalgebra::Isometry3;
use std::io::{self, Write};
use std::path::Path;

/// Writes `report.json`, `report.txt`, `report.html`, `estimate.tum`, `truth.tum` and `errors.csv`, all of them or
/// nothing. Each estimate has a folder of its name for the last three and its own report; those of an only one are in the
/// folder itself, too.
///
/// # Errors
/// Which file could not be written, and why.
pub fn write(folder: &Path, subjects: &[Subject<'_>]) -> Result<(), FolderError> {
    write_whole(folder, |folder| {
        write_reports(folder, subjects)?;
        let page = |out: &mut dyn Write| out.write_all(page::html(subjects)?.as_bytes());
        write_file(folder, "report.html", page)?;
        for subject in subjects {
            let own = folder.join(&subject.judged.report.filter);
            create(&own)?;
            write_reports(&own, std::slice::from_ref(subject))?;
            write_one(&own, subject)?;
            show_only(folder, &own, subjects.len())?;
        }
        Ok(())
    })
}

fn write_reports(folder: &Path, subjects: &[Subject<'_>]) -> Result<(), FolderError> {
    let reports: Vec<Report> = subjects.iter().map(|subject| subject.judged.report.clone()).collect();
    write_file(folder, "report.json", |out| writeln!(out, "{}", to_json(&reports)?))?;
    write_text(folder, "report.txt", &to_text(&reports))
}

fn write_one(folder: &Path, subject: &Subject<'_>) -> Result<(), FolderError> {
    let pairs = &subject.judged.pairs;
    let stamps = || pairs.stamps.iter().copied();
    write_file(folder, "estimate.tum", |out| write_tum(stamps().zip(subject.judged.poses()), out))?;
    write_file(folder, "truth.tum", |out| write_tum(stamps().zip(pairs.truths.iter().copied()), out))?;
    write_file(folder, "errors.csv", |out| write_errors(subject, out))
}

fn write_tum(poses: impl Iterator<Item = (Stamp, Isometry3<f64>)>, out: &mut dyn Write) -> io::Result<()> {
    for (stamp, pose) in poses {
        let (p, q) = (pose.translation.vector, pose.rotation);
        writeln!(out, "{stamp} {} {} {} {} {} {} {}", p.x, p.y, p.z, q.i, q.j, q.k, q.w)?;
    }
    Ok(())
}

/// Each error, estimate − truth about fixed axes as `evaluate` has it, and the NEES; what is not known is empty.
fn write_errors(subject: &Subject<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "stamp_s,error_x_m,error_y_m,error_z_m,error_roll_rad,error_pitch_rad,error_yaw_rad,nees_position,\
         nees_orientation,nees"
    )?;
    for (stamp, step) in subject.judged.pairs.stamps.iter().zip(&subject.judged.steps.all) {
        write!(out, "{stamp}")?;
        for error in step.error.iter() {
            // Zero has no sign.
            write!(out, ",{}", 0.0 - error)?;
        }
        for nees in step.nees {
            if nees.is_finite() {
                write!(out, ",{nees}")?;
            } else {
                write!(out, ",")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
