//! The sheet of paper: size, colours, fonts, title and legend, the same for every plot.

use super::PlotError;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A part of the sheet.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Plotters rounds to whole pixels; drawn this many times larger and scaled down, lines are smooth.
const SCALE: u32 = 4;

/// Colours of Okabe and Ito (2008), told apart also by colour-blind people.
pub(super) const BLUE: RGBColor = RGBColor(0, 114, 178);
/// For what is true.
pub(super) const TRUE_COLOR: RGBColor = RGBColor(30, 30, 30);
/// For bounds.
pub(super) const ORANGE: RGBColor = RGBColor(213, 94, 0);
/// For lines that only help the eye.
pub(super) const GREY: RGBColor = RGBColor(150, 150, 150);
/// One for each of several filters; more repeat.
pub(super) const PALETTE: [RGBColor; 6] =
    [BLUE, ORANGE, RGBColor(0, 158, 115), RGBColor(204, 121, 167), RGBColor(230, 159, 0), RGBColor(86, 180, 233)];

const TITLE_HEIGHT: f64 = 34.0;
/// Of one row.
pub(super) const LEGEND_HEIGHT: f64 = 26.0;
/// What title and a legend of one row take from the sheet, in points.
pub(super) const HEAD_HEIGHT: f64 = TITLE_HEIGHT + LEGEND_HEIGHT;

/// Units of the sheet for a length in points of the finished picture.
pub(super) fn pt(points: f64) -> u32 {
    (points * f64::from(SCALE)).round().max(0.0) as u32
}

/// The same, signed.
pub(super) fn at(points: f64) -> i32 {
    (points * f64::from(SCALE)).round() as i32
}

/// A font of this size in points.
pub(super) fn font(points: f64) -> TextStyle<'static> {
    // The SVG backend divides sizes by 1.24.
    ("sans-serif", points * 1.24 * f64::from(SCALE)).into_font().color(&TRUE_COLOR)
}

/// How a legend shows what it names.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Line,
    Dashes,
    Dots,
    Band,
    Ellipse,
    Cross,
}

/// One entry of a legend.
pub(super) struct Entry {
    pub(super) label: String,
    pub(super) color: RGBColor,
    pub(super) mark: Mark,
}

impl Entry {
    pub(super) fn new(label: impl Into<String>, color: RGBColor, mark: Mark) -> Self {
        Self { label: label.into(), color, mark }
    }
}

/// Draws a plot of this size in points: white ground, title, legend (in as many rows as it needs), and below them
/// whatever `body` draws.
pub(super) fn draw(
    (width, height): (f64, f64),
    title: &str,
    legend: &[Entry],
    body: impl FnOnce(&Area) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let sheet = SVGBackend::with_string(&mut svg, (pt(width), pt(height))).into_drawing_area();
        sheet.fill(&WHITE).map_err(failed)?;
        let (head, rest) = sheet.split_vertically(pt(TITLE_HEIGHT));
        draw_title(&head, title, width)?;
        let rows = legend_rows(legend, width);
        let (strip, rest) = rest.split_vertically(pt(LEGEND_HEIGHT * rows.len().max(1) as f64));
        for (row, strip) in rows.iter().zip(strip.split_evenly((rows.len().max(1), 1))) {
            draw_legend(&strip, row)?;
        }
        body(&rest)?;
        sheet.present().map_err(failed)?;
    }
    let drawn = format!("width=\"{}\" height=\"{}\"", pt(width), pt(height));
    Ok(svg.replacen(&drawn, &format!("width=\"{width}\" height=\"{height}\""), 1))
}

/// A number beside a tick: as short as it can be said.
pub(super) fn tick(value: &f64) -> String {
    // Ticks are multiples of powers of ten, of which rounding leaves a trace: 0.30000000000000004.
    let rounded = format!("{value:.6}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.replace('-', "−") }
}

/// Whatever plotters reports, in our terms.
pub(super) fn failed<E: std::fmt::Display>(error: E) -> PlotError {
    PlotError(error.to_string())
}

/// A long title (a source may be a path of any length) is shortened at its front part, where paths are least telling.
fn draw_title(area: &Area, title: &str, width: f64) -> Result<(), PlotError> {
    let room = (width / 9.0) as usize;
    let length = title.chars().count();
    let shown = if length <= room {
        title.to_owned()
    } else {
        let (start, end) = (room / 2, length - (room - room / 2) + 1);
        title
            .chars()
            .enumerate()
            .filter(|(i, _)| *i < start || *i >= end)
            .map(|(i, c)| if i == end { '…' } else { c })
            .collect()
    };
    area.draw(&Text::new(shown, (at(14.0), at(10.0)), font(16.0))).map_err(failed)
}

fn draw_legend(area: &Area, legend: &[Entry]) -> Result<(), PlotError> {
    let mut left = 14.0;
    let style = font(12.0).pos(Pos::new(HPos::Left, VPos::Center));
    for Entry { label, color, mark } in legend {
        let line = color.stroke_width(pt(2.0));
        let (from, to) = ((at(left), at(10.0)), (at(left + 22.0), at(10.0)));
        match mark {
            Mark::Line => area.draw(&PathElement::new(vec![from, to], line)),
            Mark::Dashes => {
                let gap = [(at(left + 9.0), at(10.0)), (at(left + 13.0), at(10.0))];
                let first = area.draw(&PathElement::new(vec![from, gap[0]], line));
                first.and_then(|()| area.draw(&PathElement::new(vec![gap[1], to], line)))
            }
            Mark::Dots => (0..6).try_fold((), |(), k| {
                let start = left + 4.0 * f64::from(k);
                area.draw(&PathElement::new(vec![(at(start), at(10.0)), (at(start + 1.6), at(10.0))], line))
            }),
            Mark::Band => {
                let corners = [(at(left), at(4.0)), (at(left + 22.0), at(16.0))];
                area.draw(&Rectangle::new(corners, color.mix(BAND_OPACITY).filled()))
            }
            Mark::Ellipse => area.draw(&Circle::new((at(left + 11.0), at(10.0)), at(6.0), color.stroke_width(pt(1.2)))),
            Mark::Cross => area.draw(&Cross::new((at(left + 11.0), at(10.0)), at(4.0), color.stroke_width(pt(1.5)))),
        }
        .map_err(failed)?;
        area.draw(&Text::new(label.clone(), (at(left + 28.0), at(10.0)), style.clone())).map_err(failed)?;
        left += entry_width(label);
    }
    Ok(())
}

fn entry_width(label: &str) -> f64 {
    28.0 + 7.0 * label.chars().count() as f64 + 18.0
}

/// The entries of a legend in rows that fit into a sheet of this width in points.
pub(super) fn legend_rows(legend: &[Entry], width: f64) -> Vec<&[Entry]> {
    let (mut rows, mut rest) = (Vec::new(), legend);
    while !rest.is_empty() {
        let fitting = (1..=rest.len()).take_while(|&count| legend_width(&rest[..count]) <= width).last();
        let (row, below) = rest.split_at(fitting.unwrap_or(1));
        rows.push(row);
        rest = below;
    }
    rows
}

/// How wide a sheet must be for its legend to take one row, in points.
pub(super) fn legend_width(legend: &[Entry]) -> f64 {
    14.0 + legend.iter().map(|entry| entry_width(&entry.label)).sum::<f64>()
}

/// How strongly a band covers what lies under it.
pub(super) const BAND_OPACITY: f64 = 0.22;
