//! Many runs of several filters: how errors grow, and whether the covariances know.

use super::PlotError;
use super::canvas::{
    Area, BAND_OPACITY, Entry, GREY, Mark, ORANGE, PALETTE, TRUE_COLOR, draw, failed, font, legend_width, pt, tick,
};
use super::colors::colors;
use super::points::thin_line;
use crate::consistency::POSE_DOF;
use crate::monte_carlo::{FilterOutcome, Outcome, StepSummary};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use std::ops::Range;

/// Least width of a plot, in points; a long legend makes it wider.
const WIDTH: f64 = 1000.0;

/// Mean errors of position and yaw over the runs, against time, a line for each filter (as Shen 2019, figures 5.2, 5.4
/// and 5.6, which show single runs).
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn error_growth(outcome: &Outcome) -> Result<String, PlotError> {
    numbered_error_growth("", outcome)
}

/// The same as a figure of a text: `number` stands before the title.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn numbered_error_growth(number: &str, outcome: &Outcome) -> Result<String, PlotError> {
    let legend: Vec<Entry> = lines(outcome).map(|(filter, line)| line.entry(&filter.name)).collect();
    type Panel = (&'static str, fn(&StepSummary) -> f64);
    let panels: [Panel; 2] =
        [("mean position error [m]", |step| step.position_mean_m), ("mean yaw error [rad]", |step| step.yaw_mean_rad)];
    let size = (WIDTH.max(legend_width(&legend)), 720.0);
    draw(size, &format!("{number}{}", title("Error growth", outcome)), &legend, |area| {
        for (panel, (label, value)) in area.split_evenly((2, 1)).iter().zip(panels) {
            let greatest = all_steps(outcome).map(value).filter(|value| value.is_finite()).fold(1e-9, f64::max);
            let mut chart = ChartBuilder::on(panel)
                .margin(pt(8.0))
                .x_label_area_size(pt(40.0))
                .y_label_area_size(pt(62.0))
                .build_cartesian_2d(time_span(outcome), 0.0..1.05 * greatest)
                .map_err(failed)?;
            configure(&mut chart.configure_mesh(), label)?;
            for (filter, line) in lines(outcome) {
                let points = filter.steps.iter().map(|step| (step.stamp.secs(), value(step)));
                let points = thin_line(points, &time_span(outcome));
                line.draw(&mut chart, points)?;
            }
        }
        Ok(())
    })
}

/// Mean NEES of the pose over the runs against time, on a logarithmic axis, with the 95 % band that a consistent
/// filter keeps to.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn run_mean_nees(outcome: &Outcome) -> Result<String, PlotError> {
    let band = all_steps(outcome).map(|step| step.nees).max_by_key(|nees| nees.runs).unwrap_or_default();
    let (low, high) = band.band();
    let mut legend: Vec<Entry> = lines(outcome).map(|(filter, line)| line.entry(&filter.name)).collect();
    legend.push(Entry::new(format!("95 % band of {} runs: {low:.2} … {high:.2}", band.runs), ORANGE, Mark::Band));
    let size = (WIDTH.max(legend_width(&legend)), 520.0);
    draw(size, &title("Consistency of the pose", outcome), &legend, |area| {
        let values = || all_steps(outcome).filter_map(|step| step.nees.mean()).filter(|mean| mean.is_finite());
        let least = values().fold(1.0, f64::min).max(1e-2) * 0.8;
        draw_nees(area, outcome, (low, high), least..values().fold(10.0, f64::max) * 1.3)
    })
}

fn draw_nees(area: &Area, outcome: &Outcome, band: (f64, f64), range: Range<f64>) -> Result<(), PlotError> {
    let (time, least) = (time_span(outcome), range.start);
    let mut chart = ChartBuilder::on(area)
        .margin(pt(12.0))
        .x_label_area_size(pt(40.0))
        .y_label_area_size(pt(62.0))
        .build_cartesian_2d(time.clone(), range.log_scale())
        .map_err(failed)?;
    configure(&mut chart.configure_mesh(), "NEES of (x, y, yaw), mean over runs")?;
    let corners = [(time.start, band.0), (time.end, band.1)];
    chart.draw_series([Rectangle::new(corners, ORANGE.mix(BAND_OPACITY).filled())]).map_err(failed)?;
    let expected = vec![(time.start, POSE_DOF as f64), (time.end, POSE_DOF as f64)];
    chart.draw_series([PathElement::new(expected, TRUE_COLOR.stroke_width(pt(0.8)))]).map_err(failed)?;
    for (filter, line) in lines(outcome) {
        let points = filter.steps.iter().filter_map(|step| Some((step.stamp.secs(), step.nees.mean()?.max(least))));
        line.draw(&mut chart, thin_line(points, &time))?;
    }
    Ok(())
}

fn configure<'a, X, Y>(
    mesh: &mut plotters::chart::MeshStyle<'a, '_, X, Y, SVGBackend<'_>>,
    label: &str,
) -> Result<(), PlotError>
where
    X: ValueFormatter<f64> + Ranged<ValueType = f64>,
    Y: ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25).stroke_width(pt(0.6)))
        .axis_style(TRUE_COLOR.stroke_width(pt(0.8)))
        .label_style(font(12.0))
        .axis_desc_style(font(13.0))
        .x_desc("time [s]")
        .y_desc(label)
        .x_label_formatter(&tick)
        .y_label_formatter(&tick)
        .set_all_tick_mark_size(pt(3.0))
        .draw()
        .map_err(failed)
}

/// How a filter is drawn: more filters than colours have dashed lines.
#[derive(Clone, Copy)]
struct Line {
    color: RGBColor,
    is_dashed: bool,
}

impl Line {
    fn entry(self, name: &str) -> Entry {
        Entry::new(name, self.color, if self.is_dashed { Mark::Dashes } else { Mark::Line })
    }

    fn draw<X, Y>(
        self,
        chart: &mut ChartContext<SVGBackend, Cartesian2d<X, Y>>,
        points: Vec<(f64, f64)>,
    ) -> Result<(), PlotError>
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let style = self.color.stroke_width(pt(1.3));
        if self.is_dashed {
            chart.draw_series(DashedLineSeries::new(points, pt(7.0), pt(4.0), style)).map_err(failed)?;
        } else {
            chart.draw_series([PathElement::new(points, style)]).map_err(failed)?;
        }
        Ok(())
    }
}

fn lines(outcome: &Outcome) -> impl Iterator<Item = (&FilterOutcome, Line)> {
    let line = |place: usize| Line { color: PALETTE[place % PALETTE.len()], is_dashed: place >= PALETTE.len() };
    let names: Vec<&str> = outcome.filters.iter().map(|filter| filter.name.as_str()).collect();
    outcome.filters.iter().zip(colors(&names)).map(move |(filter, place)| (filter, line(place)))
}

fn all_steps(outcome: &Outcome) -> impl Iterator<Item = &StepSummary> {
    outcome.filters.iter().flat_map(|filter| &filter.steps)
}

fn time_span(outcome: &Outcome) -> Range<f64> {
    let seconds = || all_steps(outcome).map(|step| step.stamp.secs());
    let (low, high) = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(f64::NEG_INFINITY, f64::max));
    if low < high { low..high } else { 0.0..1.0 }
}

fn title(what: &str, outcome: &Outcome) -> String {
    let experiment = &outcome.experiment;
    format!("{what}: {}, {} runs, seed {}", experiment.scenario.name, experiment.runs, experiment.seed)
}
