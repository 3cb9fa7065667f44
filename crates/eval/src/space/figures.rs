//! Figures of runs in space: from above, from the side, and errors over time.

use super::errors::{Errors, Pair};
use super::run::SpaceRun;
use crate::plot::{Figure, Line, Look};
use lienav_lie::Se3;
use nalgebra::Vector3;

/// A run with its errors.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The run.
    pub run: &'a SpaceRun,
    /// Beside the truth.
    pub errors: &'a Errors,
}

/// Most landmarks of a figure.
const MOST_LANDMARKS: usize = 400;

/// All figures of runs that share one truth.
pub fn figures(subjects: &[Subject]) -> Vec<Figure> {
    let mut all = vec![
        view(subjects, "above", "From above", ["x [m]", "y [m]"], |p| (p.x, p.y)),
        view(subjects, "side", "From the side", ["x [m]", "z [m]"], |p| (p.x, p.z)),
        over_time(subjects, "position", "Distance to the true position", "error [m]", |pair| {
            pair.error.fixed_rows::<3>(0).norm()
        }),
        over_time(subjects, "orientation", "Angle to the true orientation", "error [°]", |pair| {
            pair.error.fixed_rows::<3>(3).norm().to_degrees()
        }),
        over_time(subjects, "nees", "NEES of the pose, 6 is right", "NEES", |pair| {
            pair.nees.map_or(f64::NAN, |nees| nees[2])
        }),
    ];
    if let [subject] = subjects {
        all.push(axes(subject, "attitude", "Error of the orientation about the axes of the world, and 3σ", 3));
    }
    all
}

/// What runs and truth look like in a plane.
fn view(
    subjects: &[Subject],
    file: &str,
    title: &str,
    [x_label, y_label]: [&str; 2],
    of: impl Fn(&Vector3<f64>) -> (f64, f64),
) -> Figure {
    let path = |name: &str, poses: &mut dyn Iterator<Item = Se3>| Line {
        name: name.to_owned(),
        points: poses.map(|pose| of(&pose.translation)).collect(),
        ..Line::default()
    };
    let mut lines: Vec<Line> = subjects
        .iter()
        .map(|subject| path(&subject.run.filter, &mut subject.run.estimates.iter().map(|estimate| estimate.pose)))
        .collect();
    if let Some(first) = subjects.first() {
        let truth = path("truth", &mut first.errors.pairs.iter().map(|pair| pair.truth));
        lines.push(Line { look: Some(Look { color: Look::COLORS - 1, stroke: 1 }), ..truth });
        lines.push(Line {
            name: format!("landmarks of {}", first.run.filter),
            points: first.run.landmarks.iter().take(MOST_LANDMARKS).map(|(_, place)| of(place)).collect(),
            is_scattered: true,
            ..Line::default()
        });
    }
    lines.retain(|line| !line.points.is_empty());
    Figure {
        file: file.to_owned(),
        title: titled(title, subjects),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        is_plane: true,
        lines,
        ..Figure::default()
    }
}

/// A number of each pair over time.
fn over_time(subjects: &[Subject], file: &str, title: &str, y_label: &str, of: impl Fn(&Pair) -> f64) -> Figure {
    let line = |subject: &Subject| Line {
        name: subject.run.filter.clone(),
        points: points(&subject.errors.pairs, &of),
        ..Line::default()
    };
    Figure {
        file: file.to_owned(),
        title: titled(title, subjects),
        x_label: "time [s]".to_owned(),
        y_label: y_label.to_owned(),
        lines: subjects.iter().map(line).collect(),
        ..Figure::default()
    }
}

/// Three errors from a row on, in degrees, with three times their standard deviations.
fn axes(subject: &Subject, file: &str, title: &str, row: usize) -> Figure {
    let pairs = &subject.errors.pairs;
    let mut lines = Vec::new();
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let error = Line {
            name: format!("about {axis}"),
            points: points(pairs, |pair| pair.error[row + k].to_degrees()),
            look: Some(Look { color: k, stroke: 0 }),
            ..Line::default()
        };
        let bound = Line {
            name: format!("3σ about {axis}"),
            points: points(pairs, |pair| 3.0 * pair.sigma[row + k].to_degrees()),
            look: Some(Look { color: k, stroke: 1 }),
            ..Line::default()
        };
        lines.extend([error, bound]);
    }
    Figure {
        file: file.to_owned(),
        title: titled(title, &[*subject]),
        x_label: "time [s]".to_owned(),
        y_label: "error [°]".to_owned(),
        lines,
        ..Figure::default()
    }
}

fn points(pairs: &[Pair], of: impl Fn(&Pair) -> f64) -> Vec<(f64, f64)> {
    let Some(first) = pairs.first().map(|pair| pair.stamp) else { return Vec::new() };
    pairs.iter().map(|pair| (pair.stamp.since(first), of(pair))).collect()
}

fn titled(what: &str, subjects: &[Subject]) -> String {
    subjects.first().map_or_else(|| what.to_owned(), |subject| format!("{what}: {}", subject.run.source))
}
