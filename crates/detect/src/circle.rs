//! A circle from the rays that hit it and those that passed by: mean and covariance of what is known then.
//!
//! The rays that pass confine the two tangents: the direction φ of the centre and the half angle w under which the
//! circle is seen lie in a small cell. For given (φ, w) the ranges are linear in the distance c of the centre,
//!
//! ```math
//! \rho_i = c\, g(\alpha_i - \varphi) + n_i, \qquad g(\alpha) = \cos\alpha - \sqrt{\sin^2 w - \sin^2\alpha}
//! ```
//!
//! with radius R = c sin w. So c is integrated in closed form and (φ, w) by Gauss–Legendre quadrature over the cell.
//! Nothing is linearized and nothing starts from a guess: one ray is as good as fifty.

use nalgebra::{Matrix2, Vector2};

/// Abscissae and weights of Gauss and Legendre on [0, 1].
const NODES: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_87, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];
const CELL: usize = NODES.len() * NODES.len();

/// Where a tangent of the circle is: between a ray that passed and one that hit, each blurred by the beam.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Angle of the ray that passed, rad.
    pub passed: f64,
    /// Angle of the ray that hit, rad.
    pub hit: f64,
    /// Half the width of the beam, rad.
    pub blur: f64,
}

impl Edge {
    /// Least and largest angle of the tangent.
    fn bounds(&self) -> (f64, f64) {
        (self.passed.min(self.hit) - self.blur, self.passed.max(self.hit) + self.blur)
    }

    /// Probability that one ray hit and the other passed for a tangent at `angle`: each beam in proportion to its part.
    fn likelihood(&self, angle: f64) -> f64 {
        if self.blur == 0.0 {
            return 1.0;
        }
        let outward = if self.hit >= self.passed { -1.0 } else { 1.0 };
        let part = |ray: f64| (0.5 + 0.5 * outward * (angle - ray) / self.blur).clamp(0.0, 1.0);
        part(self.hit) * (1.0 - part(self.passed))
    }
}

/// What is known of the radius before the rays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Radius {
    /// This one, m.
    Known(f64),
    /// Any between these, m.
    Between(f64, f64),
}

/// What is known of a circle with its rays, in the frame in which they were given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle {
    pub centre: Vector2<f64>,
    pub covariance: Matrix2<f64>,
    pub radius: f64,
    pub radius_std: f64,
    /// Least sum of squared residuals by the variance of a range.
    pub chi_squared: f64,
    /// Residual of the first and of the last ray there, in standard deviations; positive behind the circle.
    pub ends: [f64; 2],
}

#[derive(Clone, Copy, Default)]
struct Node {
    phi: f64,
    half_angle: f64,
    weight: f64,
    distance: f64,
    variance: f64,
    chi_squared: f64,
}

/// Circle through `rays` (angle from the direction `middle`, range), whose tangents are in `edges` (angles likewise).
/// `None` if no circle of that radius has these edges.
pub(crate) fn fit(
    rays: &[(f64, f64)],
    middle: f64,
    edges: &[Edge; 2],
    radius: Radius,
    range_std: f64,
) -> Option<Circle> {
    let mut nodes = [Node::default(); CELL];
    let count = match radius {
        Radius::Known(radius) => on_a_line(rays, edges, radius, &mut nodes),
        Radius::Between(..) => in_the_cell(edges, &mut nodes),
    };
    let nodes = &mut nodes[..count];
    let best = weigh(rays, nodes, range_std)?;
    let within = |node: &Node| match radius {
        Radius::Known(_) => true,
        Radius::Between(min, max) => (min..=max).contains(&(node.distance * node.half_angle.sin())),
    };
    moments(nodes, within).map(|(centre, covariance, radius, radius_std)| {
        let (sin, cos) = middle.sin_cos();
        let turn = Matrix2::new(cos, -sin, sin, cos);
        let residual = |ray: Option<&(f64, f64)>| {
            ray.map_or(0.0, |ray| (ray.1 - best.distance * shape(ray.0 - best.phi, best.half_angle)) / range_std)
        };
        Circle {
            centre: turn * centre,
            covariance: turn * covariance * turn.transpose(),
            radius,
            radius_std,
            chi_squared: best.chi_squared,
            ends: [residual(rays.first()), residual(rays.last())],
        }
    })
}

/// g: range over distance of the centre, for a ray at `angle` from it.
fn shape(angle: f64, half_angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    cos - (half_angle.sin().powi(2) - sin * sin).max(0.0).sqrt()
}

/// Nodes over both tangents: any radius.
fn in_the_cell(edges: &[Edge; 2], nodes: &mut [Node; CELL]) -> usize {
    let (left, right) = (edges[0].bounds(), edges[1].bounds());
    let mut count = 0;
    for (u, weight_left) in NODES {
        let a = left.0 + u * (left.1 - left.0);
        for (v, weight_right) in NODES {
            let b = right.0 + v * (right.1 - right.0);
            let weight = weight_left * weight_right * edges[0].likelihood(a) * edges[1].likelihood(b);
            if weight > 0.0 && b > a && b - a < 3.0 {
                nodes[count] = Node { phi: 0.5 * (a + b), half_angle: 0.5 * (b - a), weight, ..Node::default() };
                count += 1;
            }
        }
    }
    count
}

/// Nodes over the direction alone: the radius and the nearest range give the half angle.
fn on_a_line(rays: &[(f64, f64)], edges: &[Edge; 2], radius: f64, nodes: &mut [Node; CELL]) -> usize {
    let (left, right) = (edges[0].bounds(), edges[1].bounds());
    let middle = rays.get(rays.len() / 2).map_or(0.0, |ray| ray.1);
    let half_angle = (radius / (middle + radius)).clamp(0.0, 1.0).asin();
    let (low, high) =
        ((left.0 + half_angle).max(right.0 - half_angle), (left.1 + half_angle).min(right.1 - half_angle));
    if low >= high {
        return 0;
    }
    let mut count = 0;
    // Two halves, since the likelihood has a corner inside.
    for half in 0..2 {
        for (u, weight) in NODES {
            let phi = low + 0.5 * (f64::from(half) + u) * (high - low);
            let weight = weight * edges[0].likelihood(phi - half_angle) * edges[1].likelihood(phi + half_angle);
            if weight > 0.0 {
                nodes[count] = Node { phi, half_angle, weight, ..Node::default() };
                count += 1;
            }
        }
    }
    count
}

/// Gives every node its distance and its weight after the ranges; returns the best one.
fn weigh(rays: &[(f64, f64)], nodes: &mut [Node], range_std: f64) -> Option<Node> {
    let variance = range_std * range_std;
    for node in &mut *nodes {
        let (sin_phi, cos_phi) = node.phi.sin_cos();
        let half = node.half_angle.sin().powi(2);
        let (mut gg, mut gr, mut rr) = (0.0, 0.0, 0.0);
        for &(angle, range) in rays {
            // Angles from the middle are small: a sine and its cosine cost less than they look.
            let (s, c) = angle.sin_cos();
            let (sin, cos) = (s * cos_phi - c * sin_phi, c * cos_phi + s * sin_phi);
            let g = cos - (half - sin * sin).max(0.0).sqrt();
            gg += g * g;
            gr += g * range;
            rr += range * range;
        }
        if !(gg > 0.0) {
            node.weight = 0.0;
            continue;
        }
        node.distance = gr / gg;
        node.variance = variance / gg;
        node.chi_squared = ((rr - gr * node.distance) / variance).max(0.0);
    }
    let best = *nodes.iter().filter(|node| node.weight > 0.0).min_by(|a, b| a.chi_squared.total_cmp(&b.chi_squared))?;
    for node in nodes {
        node.weight *= (0.5 * (best.chi_squared - node.chi_squared)).exp() * node.variance.sqrt();
    }
    Some(best)
}

/// Mean and covariance of the centre, mean and deviation of the radius, over the nodes `within` the prior. `None` if
/// they have less than half of the weight.
fn moments(nodes: &[Node], within: impl Fn(&Node) -> bool) -> Option<(Vector2<f64>, Matrix2<f64>, f64, f64)> {
    let all: f64 = nodes.iter().map(|node| node.weight).sum();
    let inside = || nodes.iter().filter(|node| node.weight > 0.0 && within(node));
    let total: f64 = inside().map(|node| node.weight).sum();
    if !(total > 0.5 * all) {
        return None;
    }
    let (mut mean, mut radius) = (Vector2::zeros(), 0.0);
    for node in inside() {
        let (sin, cos) = node.phi.sin_cos();
        mean += node.weight / total * node.distance * Vector2::new(cos, sin);
        radius += node.weight / total * node.distance * node.half_angle.sin();
    }
    let (mut covariance, mut spread) = (Matrix2::zeros(), 0.0);
    for node in inside() {
        let (sin, cos) = node.phi.sin_cos();
        let ahead = Vector2::new(cos, sin);
        let error = node.distance * ahead - mean;
        let weight = node.weight / total;
        covariance += weight * (error * error.transpose() + node.variance * ahead * ahead.transpose());
        let sine = node.half_angle.sin();
        spread += weight * ((node.distance * sine - radius).powi(2) + node.variance * sine * sine);
    }
    Some((mean, covariance, radius, spread.sqrt()))
}
