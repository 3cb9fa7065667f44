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
/// Most panels of the quadrature over one edge.
const PANELS: usize = 4;
/// Probability that a ray by itself beside an edge met the edge, and no thing of its own.
const MIXED: f64 = 0.8;

/// Least deviation of a direction where the radius is known, as a part of the step between the rays.
const LEAST_PART: f64 = 0.04;

/// Where a tangent of the circle is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Angle of the ray that passed, rad.
    pub passed: f64,
    /// Angle of the ray that hit, rad.
    pub hit: f64,
    /// Half the width of the beam, rad.
    pub blur: f64,
    /// Whether the ray that passed seems to have met the edge with a part of its beam.
    pub mixed: bool,
}

impl Edge {
    /// Least and largest angle of the tangent.
    fn bounds(&self) -> (f64, f64) {
        (self.passed.min(self.hit) - self.blur, self.passed.max(self.hit) + self.blur)
    }

    /// Density of a tangent at `angle`, but for a factor: that one ray hit and the other passed, each beam in
    /// proportion to its part; and that a mixed one did neither.
    fn likelihood(&self, angle: f64) -> f64 {
        let outward = if self.hit >= self.passed { -1.0 } else { 1.0 };
        let part = |ray: f64| match self.blur {
            0.0 => 1.0,
            blur => (0.5 + 0.5 * outward * (angle - ray) / blur).clamp(0.0, 1.0),
        };
        let hit = part(self.hit);
        if !self.mixed {
            return if self.blur == 0.0 { 1.0 } else { hit * (1.0 - part(self.passed)) };
        }
        let (low, high) = self.bounds();
        let within = (angle - self.passed).abs() <= self.blur;
        hit * if within { MIXED / (2.0 * self.blur) } else { (1.0 - MIXED) / (high - low - 2.0 * self.blur).max(1e-9) }
    }

    /// Calls `visit` with angles and weights of a quadrature over the tangent.
    fn quadrature(&self, panels: usize, mut visit: impl FnMut(f64, f64)) {
        let (low, high) = self.bounds();
        let mut over = |from: f64, to: f64, panels: usize| {
            let width = (to - from) / panels as f64;
            for panel in 0..panels {
                for (u, weight) in NODES {
                    let angle = from + (panel as f64 + u) * width;
                    visit(angle, weight * width * self.likelihood(angle));
                }
            }
        };
        // The density of a mixed ray jumps: each part has panels of its own.
        match (self.mixed && self.blur > 0.0, self.hit >= self.passed) {
            (false, _) => over(low, high, panels),
            (true, true) => {
                over(low, low + 2.0 * self.blur, 1);
                over(low + 2.0 * self.blur, high, panels);
            }
            (true, false) => {
                over(low, high - 2.0 * self.blur, panels);
                over(high - 2.0 * self.blur, high, 1);
            }
        }
    }
}

/// A ray that hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Angle from the middle ray of the object, rad.
    pub angle: f64,
    /// Range, m.
    pub range: f64,
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

/// A circle that may be.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    phi: f64,
    half_angle: f64,
    weight: f64,
    distance: f64,
    variance: f64,
    chi_squared: f64,
}

/// A hit as the quadrature needs it.
#[derive(Clone, Copy, Debug)]
struct Ray {
    sin: f64,
    cos: f64,
    range: f64,
    /// 1 over the variance, 1/m².
    information: f64,
}

/// Fits circles. Its buffers are used again.
#[derive(Debug, Default)]
pub(crate) struct Fit {
    nodes: Vec<Node>,
    right: Vec<(f64, f64)>,
    rays: Vec<Ray>,
}

impl Fit {
    /// Circle through `hits` around the direction `middle`, whose tangents are in `edges` (angles from the middle
    /// likewise). `None` if no circle of that radius has these edges.
    pub fn circle(
        &mut self,
        hits: &[Hit],
        middle: f64,
        edges: &[Edge; 2],
        radius: Radius,
        range_std: f64,
    ) -> Option<Circle> {
        self.load(hits, edges, range_std);
        match radius {
            Radius::Known(radius) => self.on_a_line(hits, edges, radius),
            Radius::Between(..) => self.in_the_cell(hits, edges, range_std),
        }
        let best = self.weigh()?;
        let within = |node: &Node| match radius {
            Radius::Known(_) => true,
            Radius::Between(min, max) => (min..=max).contains(&(node.distance * node.half_angle.sin())),
        };
        let prior = radius;
        moments(&self.nodes, within).map(|(centre, covariance, radius, radius_std)| {
            let (sin, cos) = middle.sin_cos();
            let turn = Matrix2::new(cos, -sin, sin, cos);
            let covariance = match prior {
                // Edges that hardly admit the known radius confine the direction to nothing, and the model is not that
                // good.
                Radius::Known(_) => covariance + across(&centre, LEAST_PART * (edges[0].hit - edges[0].passed)),
                Radius::Between(..) => covariance,
            };
            let residual = |hit: Option<&Hit>| {
                let predicted = |hit: &Hit| best.distance * shape(hit.angle - best.phi, best.half_angle);
                hit.map_or(0.0, |hit| (hit.range - predicted(hit)) / range_std)
            };
            Circle {
                centre: turn * centre,
                covariance: turn * covariance * turn.transpose(),
                radius,
                radius_std,
                chi_squared: best.chi_squared,
                ends: [residual(hits.first()), residual(hits.last())],
            }
        })
    }

    /// The hits with their variances: that of a range and, near the edges, what the width of the beam makes of the
    /// slope.
    fn load(&mut self, hits: &[Hit], edges: &[Edge; 2], range_std: f64) {
        let middle = |edge: &Edge| 0.5 * (edge.passed + edge.hit);
        let (left, right) = (middle(&edges[0]), middle(&edges[1]));
        let (phi, half) = (0.5 * (left + right), (0.5 * (right - left)).max(1e-9));
        let blur = edges[0].blur;
        let floor = (blur / half).clamp(1e-3, 1.0);
        self.rays.clear();
        for hit in hits {
            let (sin, cos) = hit.angle.sin_cos();
            let part = ((hit.angle - phi) / half).clamp(-1.0, 1.0);
            let slope = part / (1.0 - part * part).max(floor).sqrt();
            let variance = range_std * range_std + (hit.range * blur * slope).powi(2) / 3.0;
            self.rays.push(Ray { sin, cos, range: hit.range, information: 1.0 / variance });
        }
    }

    /// Nodes over both tangents: any radius.
    fn in_the_cell(&mut self, hits: &[Hit], edges: &[Edge; 2], range_std: f64) {
        let range = hits.get(hits.len() / 2).map_or(0.0, |hit| hit.range);
        let panels = |edge: &Edge| {
            let (low, high) = edge.bounds();
            // A panel is as wide as the ranges resolve.
            let wanted = (high - low) * range * (hits.len() as f64).sqrt() / (8.0 * range_std);
            (wanted.ceil().max(1.0) as usize).min(PANELS)
        };
        let Self { nodes, right, .. } = self;
        nodes.clear();
        right.clear();
        edges[1].quadrature(panels(&edges[1]), |angle, weight| right.push((angle, weight)));
        edges[0].quadrature(panels(&edges[0]), |a, weight_left| {
            for &(b, weight_right) in right.iter() {
                let weight = weight_left * weight_right;
                if weight > 0.0 && b > a && b - a < 3.0 {
                    nodes.push(Node { phi: 0.5 * (a + b), half_angle: 0.5 * (b - a), weight, ..Node::default() });
                }
            }
        });
    }

    /// Nodes over the direction alone: the radius and the middle range give the half angle.
    fn on_a_line(&mut self, hits: &[Hit], edges: &[Edge; 2], radius: f64) {
        self.nodes.clear();
        let (left, right) = (edges[0].bounds(), edges[1].bounds());
        let range = hits.get(hits.len() / 2).map_or(0.0, |hit| hit.range);
        let half_angle = (radius / (range + radius)).clamp(0.0, 1.0).asin();
        let low = (left.0 + half_angle).max(right.0 - half_angle);
        let high = (left.1 + half_angle).min(right.1 - half_angle);
        if low >= high {
            return;
        }
        let width = (high - low) / PANELS as f64;
        for panel in 0..PANELS {
            for (u, weight) in NODES {
                let phi = low + (panel as f64 + u) * width;
                let weight = weight * edges[0].likelihood(phi - half_angle) * edges[1].likelihood(phi + half_angle);
                if weight > 0.0 {
                    self.nodes.push(Node { phi, half_angle, weight, ..Node::default() });
                }
            }
        }
    }

    /// Gives every node its distance and its weight after the ranges; returns the best one.
    fn weigh(&mut self) -> Option<Node> {
        for node in &mut self.nodes {
            let (sin_phi, cos_phi) = node.phi.sin_cos();
            let half = node.half_angle.sin().powi(2);
            let (mut gg, mut gr, mut rr) = (0.0, 0.0, 0.0);
            for ray in &self.rays {
                let sin = ray.sin * cos_phi - ray.cos * sin_phi;
                let cos = ray.cos * cos_phi + ray.sin * sin_phi;
                let g = cos - (half - sin * sin).max(0.0).sqrt();
                gg += ray.information * g * g;
                gr += ray.information * g * ray.range;
                rr += ray.information * ray.range * ray.range;
            }
            if gg.is_nan() || gg <= 0.0 {
                node.weight = 0.0;
                continue;
            }
            node.distance = gr / gg;
            node.variance = 1.0 / gg;
            node.chi_squared = (rr - gr * node.distance).max(0.0);
        }
        let possible = self.nodes.iter().filter(|node| node.weight > 0.0);
        let best = *possible.min_by(|a, b| a.chi_squared.total_cmp(&b.chi_squared))?;
        for node in &mut self.nodes {
            node.weight *= (0.5 * (best.chi_squared - node.chi_squared)).exp() * node.variance.sqrt();
        }
        Some(best)
    }
}

/// Variance of a direction with this deviation, rad, as a covariance of the point it points to.
fn across(point: &Vector2<f64>, deviation: f64) -> Matrix2<f64> {
    let aside = Vector2::new(-point.y, point.x) * deviation;
    aside * aside.transpose()
}

/// g: range over distance of the centre, for a ray at `angle` from it.
fn shape(angle: f64, half_angle: f64) -> f64 {
    let (sin, cos) = angle.sin_cos();
    cos - (half_angle.sin().powi(2) - sin * sin).max(0.0).sqrt()
}

/// Mean and covariance of the centre, mean and deviation of the radius, over the nodes `within` the prior. `None` if
/// they have less than half of the weight.
fn moments(nodes: &[Node], within: impl Fn(&Node) -> bool) -> Option<(Vector2<f64>, Matrix2<f64>, f64, f64)> {
    let all: f64 = nodes.iter().map(|node| node.weight).sum();
    let inside = || nodes.iter().filter(|node| node.weight > 0.0 && within(node));
    let total: f64 = inside().map(|node| node.weight).sum();
    if total.is_nan() || total <= 0.5 * all {
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
