//! Lines in a plane, with linear or logarithmic axes: the figures of experiments with integrators.

use super::PlotError;
use super::canvas::{
    Area, Entry, GREY, HEAD_HEIGHT, LEGEND_HEIGHT, Mark, PALETTE, TRUE_COLOR, at, draw, failed, font, legend_rows, pt,
    tick,
};
use super::points::{bounds, equal_scale, thin_line, thin_path, thin_points};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::borrow::Cow;
use std::ops::Range;

/// Size of a figure, in points; a legend of several rows makes it higher.
const SIZE: (f64, f64) = (900.0, 560.0);

/// The heights that a figure with axes of one scale may have, in points.
const PLANE_HEIGHTS: (f64, f64) = (420.0, 1000.0);

/// What the labels of the axes take, in points: beside and below.
const LABELS: (f64, f64) = (74.0, 42.0);
const MARGIN: f64 = 12.0;

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
    /// Whether it shows a plane: both axes, linear then, have one scale, and lines are paths, not functions of x.
    pub is_plane: bool,
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
    /// Grey and dashed, as a slope to compare with; its name stands at its end.
    pub is_guide: bool,
    /// Dots alone, as for samples that are too far apart to be joined.
    pub is_scattered: bool,
    /// How it is drawn where that is to be the same in several figures; else the first look that is free.
    pub look: Option<Look>,
}

/// How a line is drawn: both numbers repeat after [`Look::COLORS`] and [`Look::STROKES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Which of the colours.
    pub color: usize,
    /// 0 is a whole line, 1 one of dashes, 2 one of dots.
    pub stroke: usize,
}

impl Look {
    /// How many colours there are: those of several filters, and black.
    pub const COLORS: usize = PALETTE.len() + 1;
    /// How many strokes there are.
    pub const STROKES: usize = 3;

    /// All of them: every colour whole, then dashed, then dotted; black last of each.
    fn all() -> impl Iterator<Item = Self> {
        (0..Self::STROKES).flat_map(|stroke| (0..Self::COLORS).map(move |color| Self { color, stroke }))
    }

    fn rgb(self) -> RGBColor {
        PALETTE.get(self.color % Self::COLORS).copied().unwrap_or(TRUE_COLOR)
    }

    fn entry(self, name: &str) -> Entry {
        let marks = [Mark::Line, Mark::Dashes, Mark::Dots];
        Entry::new(name, self.rgb(), marks[self.stroke % Self::STROKES])
    }

    /// Length of a dash and of the gap after it, in points; of a whole line none.
    fn dashes(self) -> Option<(f64, f64)> {
        [None, Some((7.0, 4.0)), Some((1.6, 2.8))][self.stroke % Self::STROKES]
    }
}

/// Draws a figure: measured points marked, guides grey and dashed with their names at their ends, more lines than
/// colours dashed.
///
/// # Errors
/// None in practice; what the plotting library reports.
pub fn figure(figure: &Figure) -> Result<String, PlotError> {
    let figure = &in_readable_units(figure);
    let looks = looks(figure);
    let drawn = looks.iter().zip(&figure.lines).filter(|(_, line)| !line.is_guide || line.points.len() > 2);
    let legend: Vec<Entry> = drawn.map(|(look, line)| entry(*look, line)).collect();
    let rows = LEGEND_HEIGHT * (legend_rows(&legend, SIZE.0).len() as f64 - 1.0).max(0.0);
    if figure.is_plane {
        return draw_plane(figure, &looks, &legend, rows);
    }
    draw((SIZE.0, SIZE.1 + rows), &figure.title, &legend, |area| {
        let (x, y) = (range(figure, |p| p.0, figure.x_log), range(figure, |p| p.1, figure.y_log));
        let (span, shown) = ([x.clone(), y.clone()], [x.clone(), y.clone()]);
        match (figure.x_log, figure.y_log) {
            (false, false) => draw_lines(area, figure, &looks, x, y, &span),
            (false, true) => draw_lines(area, figure, &looks, x, y.log_scale(), &span),
            (true, false) => draw_lines(area, figure, &looks, x.log_scale(), y, &span),
            (true, true) => draw_lines(area, figure, &looks, x.log_scale(), y.log_scale(), &shown),
        }
    })
}

fn entry(look: Option<Look>, line: &Line) -> Entry {
    match look {
        Some(look) => look.entry(&line.name),
        None => Entry::new(&line.name, GREY, Mark::Dashes),
    }
}

/// As high as the plane needs where it takes the whole width.
fn draw_plane(figure: &Figure, looks: &[Option<Look>], legend: &[Entry], rows: f64) -> Result<String, PlotError> {
    let points = || figure.lines.iter().flat_map(|line| &line.points).copied();
    let (_, size) = bounds(points());
    let width = SIZE.0 - LABELS.0 - 2.0 * MARGIN;
    let below = HEAD_HEIGHT + LABELS.1 + 2.0 * MARGIN;
    let height = (below + 1.06 * width * size.y / size.x.max(1e-300)).clamp(PLANE_HEIGHTS.0, PLANE_HEIGHTS.1);
    let (x, y) = equal_scale(bounds(points()), width, height - below);
    let span = [x.clone(), y.clone()];
    draw((SIZE.0, height.round() + rows), &figure.title, legend, |area| draw_lines(area, figure, looks, x, y, &span))
}

fn draw_lines<X, Y>(
    area: &Area,
    figure: &Figure,
    looks: &[Option<Look>],
    x: X,
    y: Y,
    span: &[Range<f64>; 2],
) -> Result<(), PlotError>
where
    X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
    Y: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(pt(MARGIN))
        .x_label_area_size(pt(LABELS.1))
        .y_label_area_size(pt(LABELS.0))
        .build_cartesian_2d(x, y)
        .map_err(failed)?;
    let [x_span, y_span] = span;
    let (x_tick, y_tick) = (tick_of(figure.x_log, x_span), tick_of(figure.y_log, y_span));
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
    for (index, (look, line)) in looks.iter().zip(&figure.lines).enumerate() {
        let points = visible(figure, line, span);
        let Some(look) = look else {
            let guide = GREY.stroke_width(pt(0.9));
            let dashes = if line.points.len() > 2 { (4.0, 3.0) } else { (9.0 - (index % 3) as f64 * 3.0, 4.0) };
            let (dash, gap) = (pt(dashes.0), pt(dashes.1));
            chart.draw_series(DashedLineSeries::new(points.clone(), dash, gap, guide)).map_err(failed)?;
            // A slope is named where it ends; what is drawn of more points stands in the legend.
            if let ([_, end], true) = (&points[..], points.len() == 2) {
                let style = font(11.0).color(&GREY).pos(Pos::new(HPos::Right, VPos::Bottom));
                let name = EmptyElement::at(*end) + Text::new(line.name.clone(), (at(-5.0), at(-2.0)), style);
                chart.draw_series([name]).map_err(failed)?;
            }
            continue;
        };
        let color = look.rgb();
        if line.is_scattered {
            chart.draw_series(points.iter().map(|p| Circle::new(*p, at(1.1), color.filled()))).map_err(failed)?;
            continue;
        }
        let style = color.stroke_width(pt(if line.marked { 0.9 } else { 1.3 }));
        match look.dashes() {
            Some((dash, gap)) => {
                let series = DashedLineSeries::new(points.clone(), pt(dash), pt(gap), style);
                chart.draw_series(series).map_err(failed)?
            }
            None => chart.draw_series([PathElement::new(points.clone(), style)]).map_err(failed)?,
        };
        if line.marked {
            // Hollow where the line is dashed, so that a repeated colour is told apart also by its marks.
            let fill = if look.stroke == 0 { color.filled() } else { color.stroke_width(pt(1.2)) };
            if look.stroke == 2 {
                let crosses = points.iter().map(|p| Cross::new(*p, at(3.0), color.stroke_width(pt(1.2))));
                chart.draw_series(crosses).map_err(failed)?;
            } else {
                chart.draw_series(points.iter().map(|p| Circle::new(*p, at(3.2), fill))).map_err(failed)?;
            }
        }
    }
    Ok(())
}

/// What of a path a reader can tell apart, as a part of the width of the field.
const RESOLUTION: f64 = 1.0 / 1600.0;

/// The points of a line that can be seen: of a function thinned in columns of equal width on the paper, of a path by
/// their distances.
fn visible(figure: &Figure, line: &Line, [x_span, y_span]: &[Range<f64>; 2]) -> Vec<(f64, f64)> {
    let shown = line.points.iter().copied().filter(|p| is_shown(figure, p));
    if line.is_scattered {
        // Columns as wide as rows, so that the grid of squares is one of the paper.
        let (width, height) = (x_span.end - x_span.start, y_span.end - y_span.start);
        let unit = shown.map(|(x, y)| ((x - x_span.start) / width, (y - y_span.start) / height));
        let thin = thin_points(unit, 2.0 * RESOLUTION).into_iter();
        return thin.map(|(x, y)| (x_span.start + x * width, y_span.start + y * height)).collect();
    }
    if line.marked || (line.is_guide && line.points.len() <= 2) {
        return shown.collect();
    }
    if figure.is_plane {
        return thin_path(shown, RESOLUTION * (x_span.end - x_span.start));
    }
    if figure.x_log {
        let logarithmic = thin_line(shown.map(|(x, y)| (x.ln(), y)), &(x_span.start.ln()..x_span.end.ln()));
        return logarithmic.into_iter().map(|(x, y)| (x.exp(), y)).collect();
    }
    thin_line(shown, x_span)
}

fn is_shown(figure: &Figure, &(x, y): &(f64, f64)) -> bool {
    let fits = |value: f64, is_log: bool| value.is_finite() && (!is_log || value > 0.0);
    fits(x, figure.x_log) && fits(y, figure.y_log)
}

/// The look of each line: what it asks for, or the first that no line has; none of guides.
fn looks(figure: &Figure) -> Vec<Option<Look>> {
    let mut taken: Vec<Look> = figure.lines.iter().filter_map(|line| line.look).collect();
    let look = |line: &Line| {
        if line.is_guide {
            return None;
        }
        line.look.or_else(|| {
            // Black is for what is true or known; it is taken last.
            let mut free: Vec<Look> = Look::all().filter(|look| !taken.contains(look)).collect();
            free.sort_by_key(|look| (look.stroke, look.color));
            let first = free.first().copied().unwrap_or_default();
            taken.push(first);
            Some(first)
        })
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
    let (mut x, mut y) = (exponent(|p| p.0, figure.x_log), exponent(|p| p.1, figure.y_log));
    if figure.is_plane {
        (x, y) = if x == 0 || y == 0 { (0, 0) } else { (x.max(y), x.max(y)) };
    }
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

/// Numbers beside ticks: on logarithmic axes powers of ten as such where they would be long, and no number where it
/// would overlap its neighbour.
fn tick_of(is_log: bool, span: &Range<f64>) -> impl Fn(&f64) -> String + use<> {
    let decades = if is_log { (span.end / span.start).log10() } else { 0.0 };
    move |value| {
        let size = value.abs();
        if !is_log || size == 0.0 {
            return tick(value);
        }
        let exponent = (size.log10() + 1e-9).floor() as i32;
        let mantissa = value / 10_f64.powi(exponent);
        let is_one_of = |digits: &[f64]| digits.iter().any(|digit| (mantissa - digit).abs() < 1e-6);
        let is_told = match decades {
            ..=1.0 => true,
            ..=2.5 => is_one_of(&[1.0, 2.0, 5.0]),
            _ => is_one_of(&[1.0]),
        };
        if !is_told {
            return String::new();
        }
        if (1e-2..1e3).contains(&size) {
            return tick(value);
        }
        let power = format!("10{}", superscript(exponent));
        if is_one_of(&[1.0]) { power } else { format!("{}·{power}", tick(&mantissa)) }
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
            assert_eq!(tick_of(is_log, &(1e-12..1e6))(&value), text);
        }
    }

    #[test]
    fn ticks_of_a_logarithmic_axis_do_not_overlap() {
        let told = |high: f64| {
            let tick = tick_of(true, &(1.0..high));
            (1..10).filter(|digit| !tick(&f64::from(*digit)).is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(told(8.0), (1..10).collect::<Vec<_>>());
        assert_eq!((told(100.0), told(1e4)), (vec![1, 2, 5], vec![1]));
    }

    #[test]
    fn a_path_around_a_circle_keeps_its_shape_and_has_axes_of_one_scale() {
        let at = |k: u32| (f64::from(k) * 0.01).sin_cos();
        let circle = line("circle", (0..20_000).map(at).collect());
        let figure = Figure { is_plane: true, lines: vec![circle], ..Figure::default() };
        let span = [-1.1..1.1, -1.1..1.1];
        let shown = visible(&figure, &figure.lines[0], &span);
        let chord = shown.windows(2).map(|w| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1)).fold(0.0, f64::max);
        assert!(chord < 0.05 && shown.iter().all(|p| (p.0.hypot(p.1) - 1.0).abs() < 1e-12), "{chord}");
        let svg = super::figure(&figure).unwrap();
        let height: f64 = svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(height > 850.0, "a circle takes the height of its width: {height}");
    }

    #[test]
    fn a_line_keeps_the_look_it_asks_for_and_the_others_take_what_is_free() {
        let asked = Look { color: 0, stroke: 0 };
        let lines =
            vec![line("first", vec![]), Line { look: Some(asked), ..line("asks", vec![]) }, line("next", vec![])];
        let looks: Vec<_> = looks(&Figure { lines, ..Figure::default() }).into_iter().flatten().collect();
        assert_eq!(looks, [Look { color: 1, stroke: 0 }, asked, Look { color: 2, stroke: 0 }]);
        let many = (0..30).map(|k| line(&k.to_string(), vec![])).collect();
        let many: Vec<_> = super::looks(&Figure { lines: many, ..Figure::default() });
        let distinct: std::collections::BTreeSet<_> =
            many[..21].iter().flatten().map(|l| (l.color, l.stroke)).collect();
        assert_eq!(distinct.len(), 21);
    }

    #[test]
    fn a_guide_is_named_at_its_end_and_dots_are_not_joined() {
        let guide = Line { is_guide: true, ..line("order 4", vec![(0.01, 1e-8), (1.0, 1.0)]) };
        let dots = Line { is_scattered: true, ..line("dots", vec![(0.1, 0.1), (0.5, 1.0)]) };
        let figure = Figure { x_log: true, y_log: true, lines: vec![dots, guide], ..Figure::default() };
        let svg = super::figure(&figure).unwrap();
        assert!(svg.contains("order 4") && svg.matches("<circle").count() >= 2);
    }
}
