//! What is to be drawn, reduced to what can be seen.

use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_slam::Landmark;
use nalgebra::{Matrix2, Vector2};
use std::ops::Range;

/// The square of the 95 % radius of a two-dimensional Gaussian: the 0.95 quantile of χ² with 2 degrees of freedom, −2
/// ln 0.05.
const ELLIPSE_RADIUS_SQUARED: f64 = 5.991_464_547_107_98;

/// How many columns a line over time is reduced to; each keeps its first, least, greatest and last value.
const COLUMNS: f64 = 700.0;

/// A closed outline of the 95 % ellipse of a landmark, m. `None` where position or covariance are not usable.
pub(super) fn ellipse(landmark: &Landmark) -> Option<Vec<(f64, f64)>> {
    let (position, covariance) = (landmark.position, landmark.covariance);
    if !position.iter().chain(covariance.iter()).all(|x| x.is_finite()) {
        return None;
    }
    let eigen = Matrix2::symmetric_eigen(covariance);
    let axes = eigen.eigenvalues.map(|value| (value.max(0.0) * ELLIPSE_RADIUS_SQUARED).sqrt());
    let outline = (0..=48).map(|k| {
        let (sine, cosine) = (f64::from(k) * std::f64::consts::TAU / 48.0).sin_cos();
        let point = position + eigen.eigenvectors * Vector2::new(axes.x * cosine, axes.y * sine);
        (point.x, point.y)
    });
    Some(outline.collect())
}

/// A path in the plane without the points that lie closer than `resolution` (m) to the last one that was kept, and
/// without those that are not finite.
pub(crate) fn thin_path(points: impl IntoIterator<Item = (f64, f64)>, resolution: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut last = None;
    for point in points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
        last = Some(point);
        if kept.last().is_none_or(|&(x, y)| (point.0 - x).hypot(point.1 - y) >= resolution) {
            kept.push(point);
        }
    }
    // The end of a path matters even where it is near.
    if let Some(last) = last.filter(|last| kept.last() != Some(last)) {
        kept.push(last);
    }
    thin_parts(kept)
}

/// How many parts a long path is reduced to; each keeps its first and last point and those farthest in all four
/// directions.
const PARTS: usize = 4000;

/// The most pieces of a line that is drawn with gaps, and the most ellipses.
pub(crate) const PIECES: usize = 2000;

/// A path in the plane of which no extreme is lost, reduced to six points for each of [`PARTS`] parts where it has
/// more.
fn thin_parts(path: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if path.len() <= 6 * PARTS {
        return path;
    }
    let mut kept = Vec::with_capacity(6 * PARTS);
    for part in path.chunks(path.len().div_ceil(PARTS)) {
        let last = part.len() - 1;
        let mut ends = vec![0, last];
        for of in [|p: &(f64, f64)| p.0, |p: &(f64, f64)| p.1] {
            let by = |&a: &usize, &b: &usize| of(&part[a]).total_cmp(&of(&part[b]));
            ends.extend((0..=last).min_by(by).into_iter().chain((0..=last).max_by(by)));
        }
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends.into_iter().map(|index| part[index]));
    }
    kept
}

/// The [`PIECES`] longest pieces of a line, in their order: of a million single points, none is seen.
pub(super) fn longest<T>(pieces: Vec<&[T]>) -> Vec<&[T]> {
    if pieces.len() <= PIECES {
        return pieces;
    }
    let mut lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let least = lengths[PIECES - 1];
    let mut of_least = PIECES - lengths.partition_point(|length| *length > least);
    let mut is_kept = |piece: &&[T]| {
        let is_least = piece.len() == least && of_least > 0;
        of_least -= usize::from(is_least);
        is_least || piece.len() > least
    };
    pieces.into_iter().filter(|piece| is_kept(piece)).collect()
}

/// Points of which no more than one lies in each square of this width, where there are more than [`PIECES`].
pub(super) fn thin_points(points: impl Iterator<Item = (f64, f64)>, width: f64) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.collect();
    if points.len() <= PIECES {
        return points;
    }
    let mut seen = std::collections::HashSet::new();
    points.into_iter().filter(|(x, y)| seen.insert(((x / width) as i64, (y / width) as i64))).collect()
}

/// A line over time, reduced to [`COLUMNS`] columns of `span` in which no peak is lost. Values that are not finite
/// are left out.
pub(super) fn thin_line(points: impl IntoIterator<Item = (f64, f64)>, span: &Range<f64>) -> Vec<(f64, f64)> {
    let width = (span.end - span.start) / COLUMNS;
    let column = |t: f64| if width > 0.0 { ((t - span.start) / width) as i64 } else { 0 };
    let finite: Vec<_> = points.into_iter().filter(|(t, y)| t.is_finite() && y.is_finite()).collect();
    let mut kept = Vec::new();
    for bin in finite.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [bin.first(), bin.iter().min_by(by_value), bin.iter().max_by(by_value), bin.last()];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

/// The positions of stamped poses.
pub(super) fn positions(poses: &[(Stamp, Se2)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    poses.iter().map(|(_, pose)| (pose.p.x, pose.p.y))
}

/// The middle and the size of the upright box that holds all points; of one metre where there is none.
pub(super) fn bounds(points: impl IntoIterator<Item = (f64, f64)>) -> (Vector2<f64>, Vector2<f64>) {
    let (mut low, mut high) = (Vector2::repeat(f64::INFINITY), Vector2::repeat(f64::NEG_INFINITY));
    for (x, y) in points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
        (low, high) = (low.inf(&Vector2::new(x, y)), high.sup(&Vector2::new(x, y)));
    }
    if low.x > high.x {
        return (Vector2::zeros(), Vector2::repeat(1.0));
    }
    (0.5 * (low + high), high - low)
}

/// The pieces of a path that lie in a box: what is outside is left out, not moved to the border.
pub(super) fn clipped(path: &[(f64, f64)], x: &Range<f64>, y: &Range<f64>) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for ends in path.windows(2) {
        let [a, b] = [ends[0], ends[1]];
        let Some((from, to)) = inside(a, b, x, y) else { continue };
        // The ends themselves, to the last bit, so that pieces join.
        let at = |s: f64| match s {
            0.0 => a,
            1.0 => b,
            s => (a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1)),
        };
        let (start, end) = (at(from), at(to));
        match pieces.last_mut().filter(|piece| from == 0.0 && piece.last() == Some(&start)) {
            Some(piece) => piece.push(end),
            None => pieces.push(vec![start, end]),
        }
    }
    pieces
}

/// The part of a line from a to b in a box, as parameters of [0, 1] (Liang and Barsky 1984).
fn inside(a: (f64, f64), b: (f64, f64), x: &Range<f64>, y: &Range<f64>) -> Option<(f64, f64)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let borders = [(-dx, a.0 - x.start), (dx, x.end - a.0), (-dy, a.1 - y.start), (dy, y.end - a.1)];
    borders.into_iter().try_fold((0.0_f64, 1.0_f64), |(from, to), (rate, room)| {
        if rate == 0.0 {
            return (room >= 0.0).then_some((from, to));
        }
        let (from, to) = if rate < 0.0 { (from.max(room / rate), to) } else { (from, to.min(room / rate)) };
        (from < to).then_some((from, to))
    })
}

/// The ranges of both axes that show a box with a margin and have one scale on a field of `width` × `height`.
pub(super) fn equal_scale(
    (middle, size): (Vector2<f64>, Vector2<f64>),
    width: f64,
    height: f64,
) -> (Range<f64>, Range<f64>) {
    // Metres per unit of the field.
    let scale = 1.06 * (size.x / width).max(size.y / height).max(1e-3 / width);
    let half = 0.5 * scale * Vector2::new(width, height);
    (middle.x - half.x..middle.x + half.x, middle.y - half.y..middle.y + half.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_a_line_keeps_every_peak_and_both_ends() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|k| (f64::from(k), f64::from(k % 7))).collect();
        points[54_321].1 = 1e6;
        let thin = thin_line(points.iter().copied(), &(0.0..100_000.0));
        assert!(thin.len() < 4 * 702 && thin.contains(&(54_321.0, 1e6)));
        assert_eq!((thin.first(), thin.last()), (points.first(), points.last()));
    }

    #[test]
    fn thinning_a_path_keeps_its_end() {
        let path = thin_path([(0.0, 0.0), (0.1, 0.0), (f64::NAN, 0.0), (1.0, 0.0), (1.2, 0.0)], 0.5);
        assert_eq!(path, [(0.0, 0.0), (1.0, 0.0), (1.2, 0.0)]);
    }

    #[test]
    fn a_path_of_a_million_steps_keeps_its_extremes_in_a_few_points() {
        let mut path: Vec<(f64, f64)> = (0..1_000_000).map(|k| (f64::from(k % 1000), f64::from(k % 77))).collect();
        (path[123_456].0, path[654_321].1) = (-1e3, 1e3);
        let thin = thin_path(path.iter().copied(), 1e-3);
        assert!(thin.len() <= 6 * PARTS && thin.contains(&path[123_456]) && thin.contains(&path[654_321]));
        assert_eq!((thin.first(), thin.last()), (path.first(), path.last()));
        let singles: Vec<&[(f64, f64)]> = path.chunks(1).chain([&path[..9]]).collect();
        let pieces = longest(singles);
        assert!(pieces.len() <= PIECES && pieces.contains(&&path[..9]));
        assert!(thin_points(path.iter().copied(), 100.0).len() <= 40);
    }

    #[test]
    fn a_circle_that_leaves_the_frame_is_cut_and_not_flattened() {
        let circle: Vec<_> =
            (0..=360).map(|k| (f64::from(k).to_radians().cos(), f64::from(k).to_radians().sin())).collect();
        let pieces = clipped(&circle, &(-2.0..0.5), &(-2.0..2.0));
        assert_eq!(pieces.len(), 1);
        assert!(pieces[0].iter().all(|p| p.0 <= 0.5 + 1e-12 && (p.0.hypot(p.1) - 1.0).abs() < 1e-4));
        assert!((pieces[0][0].0 - 0.5).abs() < 1e-12 && pieces[0].len() > 200);
        assert_eq!(clipped(&circle, &(2.0..3.0), &(0.0..1.0)), Vec::<Vec<(f64, f64)>>::new());
        assert_eq!(clipped(&circle, &(-2.0..2.0), &(-2.0..2.0)), [circle]);
    }

    #[test]
    fn both_axes_have_one_scale_and_hold_every_point() {
        let (x, y) = equal_scale(bounds([(0.0, 0.0), (60.0, 1.0)]), 600.0, 300.0);
        assert!(((x.end - x.start) / 600.0 - (y.end - y.start) / 300.0).abs() < 1e-12);
        assert!(x.contains(&0.0) && x.contains(&60.0) && y.contains(&0.0) && y.contains(&1.0));
    }

    #[test]
    fn the_outline_of_an_ellipse_has_the_mahalanobis_distance_of_its_probability() {
        let covariance = Matrix2::new(0.5, 0.2, 0.2, 0.3);
        let landmark = Landmark {
            id: 1,
            position: Vector2::new(3.0, -2.0),
            covariance,
            last_seen: Stamp::default(),
            measurements: 1,
        };
        let inverse = covariance.try_inverse().unwrap();
        for (x, y) in ellipse(&landmark).unwrap() {
            let offset = Vector2::new(x, y) - landmark.position;
            assert!((offset.dot(&(inverse * offset)) - ELLIPSE_RADIUS_SQUARED).abs() < 1e-9);
        }
    }
}
