//! Errors over time, and what was claimed about them.

use super::canvas::{Area, BAND_OPACITY, BLUE, Entry, GREY, Mark, ORANGE, TRUE_COLOR, draw, failed, font, pt, tick};
use super::points::{longest, thin_line};
use super::{PlotError, Subject};
use crate::consistency::{BAND_PROBABILITY, POSE_DOF, chi_squared_band, fraction_inside};
use crate::errors::StepError;
use crate::mean::mean;
use lienav_base::stamp::Stamp;
use plotters::prelude::*;
use std::ops::Range;

/// What is plotted of the pose: its index in (x, y, θ), and its name with unit.
pub(super) const COMPONENTS: [(usize, &str); 3] = [(0, "x error [m]"), (1, "y error [m]"), (2, "yaw error [rad]")];

/// Steps farther apart than this are not joined by a line, s.
const MAX_JOINED_S: f64 = 5.0;

/// The errors of x, y and yaw, each with its ±3σ band.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn errors(subject: &Subject) -> Result<String, PlotError> {
    let legend = [
        Entry::new("error (estimate − truth)", TRUE_COLOR, Mark::Line),
        Entry::new("±3σ as claimed", BLUE, Mark::Band),
    ];
    draw((1000.0, 860.0), &subject.title("Error of the pose"), &legend, |area| {
        let start = start(subject);
        for (panel, (component, label)) in area.split_evenly((3, 1)).iter().zip(COMPONENTS) {
            let limit = error_limit(&[*subject], component);
            let panel_labels = Labels { x: (component == 2).then_some("time [s]"), y: Some(label) };
            draw_error(panel, subject, component, start, limit, BLUE, &panel_labels)?;
        }
        Ok(())
    })
}

/// The NEES of the pose on a logarithmic axis, with the 95 % band of χ² with 3 degrees of freedom.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn nees(subject: &Subject) -> Result<String, PlotError> {
    let band = chi_squared_band(POSE_DOF, BAND_PROBABILITY);
    let in_words = match (mean(subject.errors.nees()), fraction_inside(subject.errors.nees(), band)) {
        (Some(mean), Some(inside)) => format!("NEES: mean {mean:.2}, {:.1} % of the steps in the band", 100.0 * inside),
        _ => "NEES: no step has one".to_owned(),
    };
    let legend = [
        Entry::new(in_words, BLUE, Mark::Line),
        Entry::new(format!("95 % band of χ²(3): {:.2} … {:.2}", band.0, band.1), ORANGE, Mark::Band),
        Entry::new("3: what a consistent filter has on average", TRUE_COLOR, Mark::Line),
    ];
    draw((1000.0, 460.0), &subject.title("Consistency of the pose"), &legend, |area| draw_nees(area, subject, band))
}

fn draw_nees(area: &Area, subject: &Subject, (low, high): (f64, f64)) -> Result<(), PlotError> {
    let start = start(subject);
    let time = time_span(&subject.errors.steps, start);
    let (least, greatest) = (1e-2, subject.errors.nees().fold(30.0, f64::max) * 1.5);
    let mut chart = ChartBuilder::on(area)
        .margin(pt(12.0))
        .x_label_area_size(pt(40.0))
        .y_label_area_size(pt(62.0))
        .build_cartesian_2d(time.clone(), (least..greatest).log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25).stroke_width(pt(0.6)))
        .axis_style(TRUE_COLOR.stroke_width(pt(0.8)))
        .label_style(font(12.0))
        .axis_desc_style(font(13.0))
        .x_desc("time [s]")
        .y_desc("NEES of (x, y, yaw)")
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .set_all_tick_mark_size(pt(3.0))
        .draw()
        .map_err(failed)?;
    let corners = [(time.start, low), (time.end, high)];
    chart.draw_series([Rectangle::new(corners, ORANGE.mix(BAND_OPACITY).filled())]).map_err(failed)?;
    for piece in pieces(&subject.errors.steps) {
        let points = piece.iter().filter_map(|step| Some((step.stamp.since(start), step.nees?.max(least))));
        let line = thin_line(points, &time);
        chart.draw_series([PathElement::new(line, BLUE.stroke_width(pt(1.0)))]).map_err(failed)?;
    }
    let expected = vec![(time.start, POSE_DOF as f64), (time.end, POSE_DOF as f64)];
    chart.draw_series([PathElement::new(expected, TRUE_COLOR.stroke_width(pt(1.2)))]).map_err(failed)?;
    Ok(())
}

/// What is written beside a panel's axes.
pub(super) struct Labels<'a> {
    pub(super) x: Option<&'a str>,
    pub(super) y: Option<&'a str>,
}

/// Draws one component of the error with its ±3σ band into a panel that reaches from −`limit` to `limit`.
pub(super) fn draw_error(
    area: &Area,
    subject: &Subject,
    component: usize,
    start: Stamp,
    limit: f64,
    color: RGBColor,
    labels: &Labels,
) -> Result<(), PlotError> {
    let time = time_span(&subject.errors.steps, start);
    let mut chart = ChartBuilder::on(area)
        .margin(pt(8.0))
        .x_label_area_size(pt(if labels.x.is_some() { 40.0 } else { 22.0 }))
        .y_label_area_size(pt(62.0))
        .build_cartesian_2d(time.clone(), -limit..limit)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25).stroke_width(pt(0.6)))
        .axis_style(TRUE_COLOR.stroke_width(pt(0.8)))
        .label_style(font(11.0))
        .axis_desc_style(font(12.0))
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .x_labels(6)
        .y_labels(6)
        .x_desc(labels.x.unwrap_or_default())
        .y_desc(labels.y.unwrap_or_default())
        .set_all_tick_mark_size(pt(3.0))
        .draw()
        .map_err(failed)?;
    let bound = |value: f64| value.clamp(-limit, limit);
    for piece in pieces(&subject.errors.steps) {
        let of = |value: fn(&StepError, usize) -> f64| {
            thin_line(piece.iter().map(|step| (step.stamp.since(start), bound(value(step, component)))), &time)
        };
        let mut band = of(|step, component| 3.0 * step.std()[component]);
        band.extend(of(|step, component| -3.0 * step.std()[component]).into_iter().rev());
        chart.draw_series([Polygon::new(band, color.mix(BAND_OPACITY).filled())]).map_err(failed)?;
        let line = of(|step, component| step.error[component]);
        chart.draw_series([PathElement::new(line, TRUE_COLOR.stroke_width(pt(0.9)))]).map_err(failed)?;
    }
    Ok(())
}

/// How far a panel must reach to show all errors of one component, and the band for most of the time: a filter that
/// starts knowing nothing must not press the rest flat.
pub(super) fn error_limit(subjects: &[Subject], component: usize) -> f64 {
    let steps = || subjects.iter().flat_map(|subject| &subject.errors.steps);
    let greatest = steps().map(|step| step.error[component].abs()).filter(|e| e.is_finite()).fold(0.0, f64::max);
    let mut bands: Vec<f64> = steps().map(|step| 3.0 * step.std()[component]).filter(|b| b.is_finite()).collect();
    bands.sort_by(f64::total_cmp);
    let usual = bands.get(bands.len() * 98 / 100).copied().unwrap_or(0.0);
    1.1 * greatest.max(usual).max(1e-6)
}

/// The instant that is 0 on the axis of time: that of the first estimate.
pub(super) fn start(subject: &Subject) -> Stamp {
    subject.run.estimates.first().map(|estimate| estimate.stamp).unwrap_or_default()
}

fn time_span(steps: &[StepError], start: Stamp) -> Range<f64> {
    let seconds = || steps.iter().map(|step| step.stamp.since(start));
    let (low, high) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(f64::NEG_INFINITY, f64::max));
    if low < high { low..high } else { 0.0..1.0 }
}

fn pieces(steps: &[StepError]) -> Vec<&[StepError]> {
    longest(steps.chunk_by(|a, b| (0.0..=MAX_JOINED_S).contains(&b.stamp.since(a.stamp))).collect())
}
