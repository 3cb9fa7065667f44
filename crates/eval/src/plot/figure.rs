//! Lines in a plane, with linear or logarithmic axes: the figures of experiments with integrators.

use super::PlotError;
use super::canvas::{
    Area, Entry, GREY, LEGEND_HEIGHT, Mark, PALETTE, TRUE_COLOR, at, draw, failed, font, legend_rows, pt, tick,
};
use super::points::thin_line;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// Size of a figure, in points; a legend of several rows makes it higher.
const SIZE: (f64, f64) = (900.0, 560.0);

/// Lines in a plane.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// File name without its ending: `figure-4.2`.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// Label of the abscissa, with unit.
    pub x_label: String,
    /// Label of the ordinate, with unit.
    pub y_label: String,
    /// Whether the abscissa is logarithmic; points that are not positive are left out then.
    pub x_log: bool,
    /// Whether the ordinate is logarithmic.
    pub y_log: bool,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// A line of a [`Figure`].
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// Points (x, y); those that are not finite are left out. Thinned to what can be seen when drawn.
    pub points: Vec<(f64, f64)>,
    /// Marks at the points and thin lines between them, as for a few measured points; else a line alone.
    pub marked: bool,
    /// Grey and dashed, as a slope to compare with.
    pub is_guide: bool,
}

/// Draws a figure: measured points marked, guides grey and dashed, more lines than colours dashed.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn figure(figure: &Figure) -> Result<String, PlotError> {
    let figure = &in_readable_units(figure);
    let looks = looks(figure);
    let legend: Vec<Entry> = looks.iter().zip(&figure.lines).map(|(look, line)| look.entry(&line.name)).collect();
    let height = SIZE.1 + LEGEND_HEIGHT * (legend_rows(&legend, SIZE.0).len() as f64 - 1.0).max(0.0);
    draw((SIZE.0, height), &figure.title, &legend, |area| {
        let (x, y) = (range(figure, |p| p.0, figure.x_log), range(figure, |p| p.1, figure.y_log));
        match (figure.x_log, figure.y_log) {
            (false, false) => draw_lines(area, figure, &looks, x.clone(), y, &x),
            (false, true) => draw_lines(area, figure, &looks, x.clone(), y.log_scale(), &x),
            (true, false) => draw_lines(area, figure, &looks, x.clone().log_scale(), y, &x),
            (true, true) => draw_lines(area, figure, &looks, x.clone().log_scale(), y.log_scale(), &x),
        }
    })
}

fn draw_lines<X, Y>(
    area: &Area,
    figure: &Figure,
    looks: &[Look],
    x: X,
    y: Y,
    span: &Range<f64>,
) -> Result<(), PlotError>
where
    X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
    Y: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(pt(12.0))
        .x_label_area_size(pt(42.0))
        .y_label_area_size(pt(74.0))
        .build_cartesian_2d(x, y)
        .map_err(failed)?;
    let (x_tick, y_tick) = (tick_of(figure.x_log), tick_of(figure.y_log));
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GREY.mix(0.25).stroke_width(pt(0.6)))
        .axis_style(TRUE_COLOR.stroke_width(pt(0.8)))
        .label_style(font(12.0))
        .axis_desc_style(font(13.0))
        .x_desc(&figure.x_label)
        .y_desc(&figure.y_label)
        .x_label_formatter(&x_tick)
        .y_label_formatter(&y_tick)
        .set_all_tick_mark_size(pt(3.0))
        .draw()
        .map_err(failed)?;
    for (look, line) in looks.iter().zip(&figure.lines) {
        let points = visible(figure, line, span);
        let style = look.color.stroke_width(pt(if line.marked { 0.9 } else { 1.3 }));
        if look.is_dashed {
            chart.draw_series(DashedLineSeries::new(points.clone(), pt(7.0), pt(4.0), style)).map_err(failed)?;
        } else {
            chart.draw_series([PathElement::new(points.clone(), style)]).map_err(failed)?;
        }
        if line.marked {
            // Hollow where the line is dashed, so that a repeated colour is told apart also by its marks.
            let fill = if look.is_dashed { look.color.stroke_width(pt(1.2)) } else { look.color.filled() };
            chart.draw_series(points.iter().map(|p| Circle::new(*p, at(3.2), fill))).map_err(failed)?;
        }
    }
    Ok(())
}

/// The points of a line that can be seen: thinned in columns of equal width on the paper.
fn visible(figure: &Figure, line: &Line, span: &Range<f64>) -> Vec<(f64, f64)> {
    let shown = line.points.iter().copied().filter(|p| is_shown(figure, p));
    if line.marked || line.is_guide {
        return shown.collect();
    }
    if figure.x_log {
        let logarithmic = thin_line(shown.map(|(x, y)| (x.ln(), y)), &(span.start.ln()..span.end.ln()));
        return logarithmic.into_iter().map(|(x, y)| (x.exp(), y)).collect();
    }
    thin_line(shown, span)
}

fn is_shown(figure: &Figure, &(x, y): &(f64, f64)) -> bool {
    let fits = |value: f64, is_log: bool| value.is_finite() && (!is_log || value > 0.0);
    fits(x, figure.x_log) && fits(y, figure.y_log)
}

/// How a line is drawn.
#[derive(Clone, Copy)]
struct Look {
    color: RGBColor,
    is_dashed: bool,
}

impl Look {
    fn entry(self, name: &str) -> Entry {
        Entry::new(name, self.color, if self.is_dashed { Mark::Dashes } else { Mark::Line })
    }
}

/// Colours in turn for all but the guides.
fn looks(figure: &Figure) -> Vec<Look> {
    let mut index = 0;
    let look = |line: &Line| {
        if line.is_guide {
            return Look { color: GREY, is_dashed: true };
        }
        index += 1;
        Look { color: PALETTE[(index - 1) % PALETTE.len()], is_dashed: index > PALETTE.len() }
    };
    figure.lines.iter().map(look).collect()
}

/// With numbers beside the ticks of linear axes that are neither long nor close to nothing: a power of ten common to
/// all goes into the label.
fn in_readable_units(figure: &Figure) -> Cow<'_, Figure> {
    let exponent = |of: fn(&(f64, f64)) -> f64, is_log: bool| {
        let values = figure.lines.iter().flat_map(|line| &line.points).filter(|p| is_shown(figure, p)).map(of);
        let size = values.fold(0.0, |size: f64, x| size.max(x.abs()));
        let is_readable = is_log || size == 0.0 || READABLE.contains(&size);
        if is_readable { 0 } else { size.log10().floor() as i32 }
    };
    let (x, y) = (exponent(|p| p.0, figure.x_log), exponent(|p| p.1, figure.y_log));
    if (x, y) == (0, 0) {
        return Cow::Borrowed(figure);
    }
    let mut scaled = figure.clone();
    for point in scaled.lines.iter_mut().flat_map(|line| &mut line.points) {
        *point = (point.0 / 10_f64.powi(x), point.1 / 10_f64.powi(y));
    }
    for (label, exponent) in [(&mut scaled.x_label, x), (&mut scaled.y_label, y)] {
        if exponent != 0 {
            *label += &format!(" (× 10{})", superscript(exponent));
        }
    }
    Cow::Owned(scaled)
}

/// Greatest values that ticks can tell in a few digits.
const READABLE: Range<f64> = 1e-2..1e5;

/// What an axis shows: all points that are shown, with a margin. Guides do not stretch it, unless there is nothing
/// else.
fn range(figure: &Figure, of: fn(&(f64, f64)) -> f64, is_log: bool) -> Range<f64> {
    let bounds = |guides: bool| {
        let lines = figure.lines.iter().filter(|line| guides || !line.is_guide);
        let values = lines.flat_map(|line| &line.points).filter(|p| is_shown(figure, p)).map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (low, high) = Some(bounds(false)).filter(|(low, high)| low <= high).unwrap_or_else(|| bounds(true));
    if low > high {
        return if is_log { 0.1..10.0 } else { 0.0..1.0 };
    }
    if is_log {
        // At least half a decade on both sides of a single value.
        let margin = (high / low).powf(0.04).max(if high / low < 3.0 { 3.0 } else { 1.0 });
        // The first tick is a power of ten: one that lies just below is taken in, or a short axis would have none.
        let power = 10_f64.powf((low / margin).log10().floor());
        return if low / margin < 1.3 * power { power } else { low / margin }..high * margin;
    }
    // Ticks are told apart with an absolute tolerance of the machine's epsilon: errors at rounding get room around
    // them.
    let margin = if high > low { (0.04 * (high - low)).max(64.0 * f64::EPSILON) } else { 0.5 * low.abs().max(1.0) };
    low - margin..high + margin
}

/// Numbers beside ticks: on logarithmic axes powers of ten as such where they would be long.
fn tick_of(is_log: bool) -> impl Fn(&f64) -> String {
    move |value| {
        let size = value.abs();
        if !is_log || size == 0.0 || (1e-2..1e3).contains(&size) {
            return tick(value);
        }
        let exponent = size.log10().floor() as i32;
        let mantissa = value / 10_f64.powi(exponent);
        let power = format!("10{}", superscript(exponent));
        if (mantissa - 1.0).abs() < 1e-6 { power } else { format!("{}·{power}", tick(&mantissa)) }
    }
}

fn superscript(number: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = |c: char| c.to_digit(10).map_or('⁻', |digit| digits[digit as usize]);
    number.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
        Line { name: name.into(), points, ..Line::default() }
    }

    fn is_svg(text: &str) -> bool {
        text.starts_with("<svg") && text.trim_end().ends_with("</svg>") && !text.contains("NaN")
    }

    #[test]
    fn every_kind_of_axis_is_drawn_also_where_points_are_missing_or_none() {
        let wild = vec![(0.0, 0.0), (f64::NAN, 1.0), (1e-3, -1.0), (1e-2, 1e-9), (0.1, f64::INFINITY), (1.0, 1e-3)];
        for (x_log, y_log) in [(false, false), (false, true), (true, false), (true, true)] {
            let guide = Line { is_guide: true, ..line("slope 2", vec![(1e-3, 1e-6), (1.0, 1.0)]) };
            let marked = Line { marked: true, ..line("measured", wild.clone()) };
            for lines in
                [vec![], vec![line("none", vec![])], vec![guide.clone()], vec![marked, guide, line("b", wild.clone())]]
            {
                let figure = Figure { title: "Order".into(), x_log, y_log, lines, ..Figure::default() };
                assert!(is_svg(&super::figure(&figure).unwrap()));
            }
        }
    }

    #[test]
    fn many_lines_of_many_points_stay_small_and_a_long_legend_takes_several_rows() {
        let wave = |k: i32| (0..100_000).map(|t| (f64::from(t), 10_f64.powi(-k) * f64::from(t % 17 + 1))).collect();
        let lines: Vec<Line> =
            (0..8).map(|k| line(&format!("a method with a long name, number {k}"), wave(k))).collect();
        let svg = figure(&Figure { y_log: true, lines, ..Figure::default() }).unwrap();
        assert!(is_svg(&svg) && svg.len() < 2_000_000, "{}", svg.len());
        assert!(svg.contains("10⁻⁵") && svg.contains("number 7"));
        let height: f64 = svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(height > SIZE.1 + LEGEND_HEIGHT);
    }

    #[test]
    fn a_short_logarithmic_axis_and_errors_at_rounding_have_ticks_that_can_be_read() {
        let nodes = line("largest step", vec![(11.0, 2.2e-16), (21.0, -4.4e-16), (41.0, 1.1e-16)]);
        let svg = figure(&Figure { x_log: true, lines: vec![nodes], ..Figure::default() }).unwrap();
        assert!(is_svg(&svg) && svg.contains("\n20\n") && svg.contains("\n40\n"));
        assert!(svg.contains("(× 10⁻¹⁶)"));
    }

    #[test]
    fn small_numbers_on_a_linear_axis_are_told_in_powers_of_ten() {
        let points = vec![(0.0, -3e-14), (1e4, 1.2e-13)];
        let of = |y_log| Figure {
            y_label: "error".into(),
            y_log,
            lines: vec![line("a", points.clone())],
            ..Figure::default()
        };
        let svg = figure(&of(false)).unwrap();
        assert!(svg.contains("error (× 10⁻¹³)") && !svg.contains("·10"));
        assert!(!figure(&of(true)).unwrap().contains("×"));
    }

    #[test]
    fn ticks_are_short() {
        for (is_log, value, text) in [
            (true, 1e-12, "10⁻¹²"),
            (true, 0.1, "0.1"),
            (true, 1e5, "10⁵"),
            (false, 2.3e-16, "0"),
            (false, -0.5, "−0.5"),
        ] {
            assert_eq!(tick_of(is_log)(&value), text);
        }
    }
}
