//! The kinds of figures that experiments have in common: errors over step sizes, and quantities over time.

use super::measure;
use lienav_eval::plot::{Figure, Line};

/// Errors over step sizes on logarithmic axes, each line with the order of its method, and a guide of each order.
pub(super) fn of_errors(file: &str, title: &str, (x, y): (&str, &str), lines: Vec<(usize, Line)>) -> Figure {
    let mut orders: Vec<usize> = lines.iter().map(|line| line.0).collect();
    orders.sort_unstable();
    orders.dedup();
    let guides: Vec<Line> = orders.into_iter().filter_map(|order| guide(order, &lines)).collect();
    let lines = lines.into_iter().map(|line| line.1).chain(guides).collect();
    Figure { x_log: true, y_log: true, ..plain(file, title, (x, y), lines) }
}

/// The slope of an order, through the first of its lines where that converges, as far as errors of any line reach.
fn guide(order: usize, lines: &[(usize, Line)]) -> Option<Line> {
    let errors = || lines.iter().flat_map(|line| &line.1.points).map(|point| point.1);
    let shown = errors().filter(|error| *error > 0.0 && error.is_finite());
    let (least, greatest) = shown.fold((f64::INFINITY, 0.0_f64), |(low, high), e| (low.min(e), high.max(e)));
    let of_order = lines.iter().filter(|line| line.0 == order);
    let (line, (fit, range)) =
        of_order.filter_map(|line| Some((&line.1, measure::converging(&line.1.points)?))).next()?;
    let (power, middle) = (order as f64, 0.5 * (range.start + range.end));
    let error_there = fit.intercept + fit.slope * middle;
    let at = |error: f64| middle + (error.ln() - error_there) / power;
    let steps = line.points.iter().map(|point| point.0.ln());
    let (finest, coarsest) = steps.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(h), high.max(h)));
    let ends = [finest.max(at(least)), coarsest.min(at(greatest))];
    let points = ends.map(|h| (h.exp(), (error_there + power * (h - middle)).exp())).into();
    Some(Line { name: format!("order {order}"), points, is_guide: true, ..Line::default() })
}

/// Something over time, `y_log` or not.
pub(super) fn over_time(file: &str, title: &str, axes: (&str, &str), y_log: bool, lines: Vec<Line>) -> Figure {
    Figure { y_log, ..plain(file, title, axes, lines) }
}

/// Lines in a plane with linear axes.
pub(super) fn plain(file: &str, title: &str, (x_label, y_label): (&str, &str), lines: Vec<Line>) -> Figure {
    Figure {
        file: file.to_owned(),
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        lines,
        ..Figure::default()
    }
}

/// Paths in a plane whose axes have one scale.
pub(super) fn plane(file: &str, title: &str, axes: (&str, &str), lines: Vec<Line>) -> Figure {
    Figure { is_plane: true, ..plain(file, title, axes, lines) }
}

/// A line without marks.
pub(super) fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points, ..Line::default() }
}

/// A line of a few measured points.
pub(super) fn marked(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { marked: true, ..line(name, points) }
}

/// A line of absolute values.
pub(super) fn absolute(name: &str, points: &[(f64, f64)]) -> Line {
    line(name, points.iter().map(|&(t, error)| (t, error.abs())).collect())
}

/// Of each of a thousand blocks the point of the greatest error: what a figure can show.
pub(super) fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let block = points.len().div_ceil(1000).max(1);
    points.chunks(block).filter_map(|of| of.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_has_the_slope_of_its_order_and_stays_in_the_figure() {
        let points = |c: f64, p: i32| (2..12).map(|k| 0.5_f64.powi(k)).map(|h| (h, c * h.powi(p) + 1e-14)).collect();
        let lines = vec![(2, marked("midpoint", points(0.3, 2))), (6, marked("Gauss 6", points(2.0, 6)))];
        let figure = of_errors("f", "t", ("h", "error"), lines);
        assert_eq!(figure.lines.len(), 4);
        for (guide, order) in figure.lines[2..].iter().zip([2.0, 6.0]) {
            let [(h0, e0), (h1, e1)] = guide.points[..] else { panic!("{guide:?}") };
            assert!(guide.is_guide && (((e1 / e0).ln() / (h1 / h0).ln()) - order).abs() < 1e-9);
            assert!(e0 > 0.9e-14 && e1 < 0.1 && h0 < h1, "{guide:?}");
        }
    }

    #[test]
    fn what_does_not_converge_has_no_guide() {
        let lines = vec![(4, marked("flat", vec![(0.1, 1e-14), (0.2, 1e-14), (0.4, 1e-14)]))];
        assert_eq!(of_errors("f", "t", ("h", "error"), lines).lines.len(), 1);
    }
}
