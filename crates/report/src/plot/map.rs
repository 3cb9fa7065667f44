//! The plane from above: where the robot went and what it saw.

use super::canvas::{Area, BLUE, Entry, GREY, HEAD_HEIGHT, Mark, ORANGE, TRUE_COLOR, at, draw, failed, font, pt, tick};
use super::points::{PIECES, bounds, clipped, ellipse, equal_scale, longest, positions, thin_path, thin_points};
use super::{PlotError, Subject};
use crate::errors::Errors;
use crate::run::Run;
use lienav_base::stamp::Stamp;
use lienav_io::truth::Truth;
use lienav_slam::{Landmark, LandmarkMap, MapLandmark};
use plotters::prelude::*;

/// Width of the trajectory's plot, and the heights it may have, in points.
const WIDTH: f64 = 900.0;
const HEIGHTS: (f64, f64) = (420.0, 1000.0);

/// What the labels of the axes take from a map, in points: left and below, and the margin at the other sides.
const LABELS: (f64, f64) = (54.0, 40.0);
const MARGIN: f64 = 12.0;

/// The trajectory beside the true one, the features with their 95 % ellipses, the true landmarks, and position fixes
/// where there are some; both axes to one scale.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn trajectory(subject: &Subject) -> Result<String, PlotError> {
    numbered_trajectory("", subject)
}

/// The same as a figure of a text: `number` stands before the title.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn numbered_trajectory(number: &str, subject: &Subject) -> Result<String, PlotError> {
    let mut legend = vec![
        Entry::new("truth", TRUE_COLOR, Mark::Line),
        Entry::new("estimate", BLUE, Mark::Line),
        Entry::new("feature with 95 % ellipse", ORANGE, Mark::Ellipse),
        Entry::new("true landmark", TRUE_COLOR, Mark::Cross),
    ];
    if !subject.errors.each_fix.is_empty() {
        legend.push(Entry::new("position fix", GREY, Mark::Dots));
    }
    let title = format!("{number}{}", subject.title("Trajectory"));
    let runs = [(subject, BLUE, ORANGE)];
    draw(size(subject.truth, &runs), &title, &legend, |area| draw_map(area, subject.truth, &runs, false))
}

/// The landmarks of a map with their identities and 95 % ellipses; both axes to one scale.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn landmarks(title: &str, map: &LandmarkMap) -> Result<String, PlotError> {
    let landmark = |&MapLandmark { id, position, covariance, .. }: &MapLandmark| Landmark {
        id,
        position,
        covariance,
        last_seen: Stamp::default(),
        measurements: 0,
    };
    let run = Run { landmarks: map.landmarks.iter().map(landmark).collect(), ..Run::default() };
    let truth = Truth::default();
    let errors = Errors::new(&run, &truth);
    let subject = Subject { run: &run, truth: &truth, errors: &errors };
    let legend = [Entry::new("landmark with 95 % ellipse", ORANGE, Mark::Ellipse)];
    let runs = [(&subject, BLUE, ORANGE)];
    let title = format!("Map: {title}, {} landmarks", map.landmarks.len());
    draw(size(&truth, &runs), &title, &legend, |area| draw_map(area, &truth, &runs, true))
}

/// As high as the map needs where it takes the whole width, with room for title and legend.
fn size(truth: &Truth, runs: &[(&Subject, RGBColor, RGBColor)]) -> (f64, f64) {
    let (_, size) = bounds(extent(truth, runs));
    let height = HEAD_HEIGHT + LABELS.1 + (WIDTH - LABELS.0) * 1.06 * size.y / size.x.max(1e-3);
    (WIDTH, height.clamp(HEIGHTS.0, HEIGHTS.1).round())
}

/// Of so many landmarks, each has room for its identity.
const MOST_NAMED: usize = 200;

/// Draws runs into one map: each with the colour of its trajectory and that of its features.
pub(super) fn draw_map(
    area: &Area,
    truth: &Truth,
    runs: &[(&Subject, RGBColor, RGBColor)],
    is_named: bool,
) -> Result<(), PlotError> {
    let (width, height) = area.dim_in_pixel();
    let inner = |all: u32, labels: f64| (f64::from(all) - f64::from(pt(labels + 2.0 * MARGIN))).max(1.0);
    let (x, y) = equal_scale(bounds(extent(truth, runs)), inner(width, LABELS.0), inner(height, LABELS.1));
    let resolution = (x.end - x.start) / inner(width, LABELS.0) * f64::from(pt(0.5));
    let mut chart = ChartBuilder::on(area)
        .margin(pt(MARGIN))
        .x_label_area_size(pt(LABELS.1))
        .y_label_area_size(pt(LABELS.0))
        .build_cartesian_2d(x.clone(), y.clone())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25).stroke_width(pt(0.6)))
        .axis_style(TRUE_COLOR.stroke_width(pt(0.8)))
        .label_style(font(12.0))
        .axis_desc_style(font(13.0))
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .x_desc("x [m]")
        .y_desc("y [m]")
        .set_all_tick_mark_size(pt(3.0))
        .draw()
        .map_err(failed)?;
    let true_style = TRUE_COLOR.stroke_width(pt(1.4));
    for piece in longest(truth.pieces().collect()) {
        let path = thin_path(positions(piece), resolution);
        chart.draw_series([PathElement::new(path, true_style)]).map_err(failed)?;
    }
    // Fixes of one run, in whose map they are; those that jump out of sight are no part of the picture.
    if let [(subject, ..)] = runs {
        let in_sight = |(p, q): &(f64, f64)| x.contains(p) && y.contains(q);
        let fixes = subject.errors.each_fix.iter().map(|fix| (fix.fix.x, fix.fix.y)).filter(in_sight);
        let fixes = thin_points(fixes, 4.0 * resolution);
        chart.draw_series(fixes.into_iter().map(|p| Circle::new(p, at(1.2), GREY.filled()))).map_err(failed)?;
    }
    for (subject, color, _) in runs {
        let path = thin_path(estimated(subject), resolution);
        chart.draw_series([PathElement::new(path, color.mix(0.85).stroke_width(pt(1.4)))]).map_err(failed)?;
    }
    for (subject, _, color) in runs {
        let style = color.stroke_width(pt(1.3));
        // Of more ellipses than anyone can tell apart, the largest.
        let mut landmarks: Vec<_> = subject.run.landmarks.iter().collect();
        if landmarks.len() > PIECES {
            landmarks.sort_by(|a, b| b.covariance.trace().total_cmp(&a.covariance.trace()));
            landmarks.truncate(PIECES);
        }
        let outlines = landmarks.into_iter().filter_map(ellipse).flat_map(|outline| clipped(&outline, &x, &y));
        chart.draw_series(outlines.map(|outline| PathElement::new(outline, style))).map_err(failed)?;
        let finite = subject.run.landmarks.iter().map(|l| (l.position.x, l.position.y)).filter(is_finite);
        let finite = thin_points(finite, 8.0 * resolution);
        chart.draw_series(finite.into_iter().map(|p| Circle::new(p, at(1.6), color.filled()))).map_err(failed)?;
    }
    for landmark in runs.iter().flat_map(|(subject, ..)| &subject.run.landmarks).take(MOST_NAMED).filter(|_| is_named) {
        let place = (landmark.position.x, landmark.position.y);
        let name = EmptyElement::at(place) + Text::new(landmark.id.to_string(), (at(3.0), at(-12.0)), font(10.0));
        chart.draw_series([name]).map_err(failed)?;
    }
    // Hundreds of landmarks are a background, a dozen are what one looks for.
    let (size, width) = if truth.landmarks().len() > 100 { (2.2, 0.8) } else { (4.0, 1.3) };
    let cross = TRUE_COLOR.stroke_width(pt(width));
    let crosses = truth.landmarks().values().map(|p| (p.x, p.y)).filter(is_finite);
    let crosses = thin_points(crosses, 16.0 * resolution);
    chart.draw_series(crosses.into_iter().map(|p| Cross::new(p, at(size), cross))).map_err(failed)?;
    Ok(())
}

fn is_finite(point: &(f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

fn estimated<'a>(subject: &'a Subject) -> impl Iterator<Item = (f64, f64)> + 'a {
    subject.run.estimates.iter().map(|estimate| (estimate.pose.p.x, estimate.pose.p.y))
}

/// All that must fit into a map: trajectories, features and landmarks; not the ellipses, which may be of any size.
fn extent(truth: &Truth, runs: &[(&Subject, RGBColor, RGBColor)]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = positions(truth.poses()).collect();
    points.extend(truth.landmarks().values().map(|p| (p.x, p.y)));
    for (subject, _, _) in runs {
        points.extend(estimated(subject));
        points.extend(subject.run.landmarks.iter().map(|landmark| (landmark.position.x, landmark.position.y)));
    }
    points
}
