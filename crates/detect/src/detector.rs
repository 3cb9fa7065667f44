//! One scan at a time: [`Detector`].

use crate::bright::Threshold;
use crate::circle::{Circle, Edge, Fit, Hit, Radius};
use crate::config::{Config, ConfigError};
use crate::output::{Class, Counts, Detection, Rejection};
use crate::scan::{Ray, Rays, Scan, ScanError};
use crate::segment::{Jump, Segment, Side, segments};
use lienav_lie::se2::Se2;
use nalgebra::Vector2;

/// Finds cylinders in single scans. Its buffers are used again: after a few scans nothing is allocated.
#[derive(Debug)]
pub struct Detector {
    config: Config,
    counts: Counts,
    rays: Rays,
    segments: Vec<Segment>,
    bright: Vec<Segment>,
    small: Vec<Small>,
    sample: Vec<(f64, f64)>,
    arc: Vec<Hit>,
    fit: Fit,
    found: Vec<Detection>,
}

/// A small thing, whatever it is: what stands near a leg is another leg.
#[derive(Clone, Copy, Debug)]
struct Small {
    segment: Segment,
    centre: Vector2<f64>,
}

/// Widest thing that counts as small, if no class is wider, m: people are.
const SMALL_M: f64 = 0.45;
/// A ray beside a bright one is of the same reflector from this part of its intensity on.
const SAME_REFLECTOR: f64 = 0.3;
/// How many small things to both sides are looked at.
const NEIGHBOURS: usize = 32;

impl Detector {
    /// A detector with these settings.
    ///
    /// # Errors
    /// The first setting that is out of range, or sizes that contradict each other.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config,
            counts: Counts::default(),
            rays: Rays::default(),
            segments: Vec::new(),
            bright: Vec::new(),
            small: Vec::new(),
            sample: Vec::new(),
            arc: Vec::new(),
            fit: Fit::default(),
            found: Vec::new(),
        })
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What was small and free to both sides and still no landmark, counted over all scans.
    pub fn rejected(&self) -> &Counts {
        &self.counts
    }

    /// The cylinders of a scan, in the sensor frame at its stamp, that of the first ray: first reflectors, then the
    /// others, each from right to left for a scanner that turns left. Those with [`Detection::isolated`] false stand
    /// beside something small and may be a leg.
    ///
    /// # Errors
    /// A scan that contradicts itself. Rays without an echo are no error.
    pub fn detect(&mut self, scan: &Scan) -> Result<&[Detection], ScanError> {
        self.found.clear();
        self.rays.load(scan)?;
        let jump = self.jump();
        segments(&mut self.rays, &jump, &mut self.segments);
        self.find_bright();
        self.find_small(SMALL_M.max(2.2 * jump.max_radius));
        for k in 0..self.bright.len() {
            self.consider_bright(self.bright[k]);
        }
        for k in 0..self.small.len() {
            self.consider(k);
        }
        Ok(&self.found)
    }

    fn jump(&self) -> Jump {
        let largest = self.config.sizes.classes().iter().fold(0.0_f64, |max, class| max.max(class.2));
        let max_radius = 0.5 * largest.max(self.config.reflector.diameter_m);
        Jump { range_std: self.config.scanner.range_std_m, max_radius, step: self.rays.step }
    }

    /// Runs of bright rays within the segments.
    fn find_bright(&mut self) {
        self.bright.clear();
        let settings = &self.config.reflector;
        let threshold = match (settings.diameter_m > 0.0, settings.threshold) {
            (false, _) => Threshold::None,
            (true, 0.0) => Threshold::of_scan(&self.rays, settings.contrast, &mut self.sample),
            (true, fixed) => Threshold::Fixed(fixed),
        };
        if threshold == Threshold::None {
            return;
        }
        let list = &self.rays.rays;
        for segment in &self.segments {
            let mut next = segment.first;
            while let Some(seed) = (next..=segment.last).find(|&k| threshold.passes(list[k].range, list[k].intensity)) {
                // Rays beside a bright one that are not much less bright are of the same reflector.
                let mut brightest = list[seed].intensity;
                let (mut first, mut last) = (seed, seed);
                while last < segment.last && list[last + 1].intensity > SAME_REFLECTOR * brightest {
                    last += 1;
                    brightest = brightest.max(list[last].intensity);
                }
                while first > next && list[first - 1].intensity > SAME_REFLECTOR * brightest {
                    first -= 1;
                }
                // Inside of a segment the surface goes on beside the reflector.
                let left = if first == segment.first { segment.sides[0] } else { Side::Free(list[first - 1].angle) };
                let right = if last == segment.last { segment.sides[1] } else { Side::Free(list[last + 1].angle) };
                self.bright.push(Segment { first, last, sides: [left, right] });
                next = last + 1;
            }
        }
    }

    /// Segments that are small and in front of what is beside them.
    fn find_small(&mut self, widest_m: f64) {
        self.small.clear();
        let list = &self.rays.rays;
        let mut bright = self.bright.iter().peekable();
        for segment in &self.segments {
            while bright.next_if(|run| run.last < segment.first).is_some() {}
            if bright.peek().is_some_and(|run| run.first <= segment.last) {
                continue;
            }
            let (a, b) = (&list[segment.first], &list[segment.last]);
            let width = (b.angle - a.angle) * a.range.min(b.range);
            let hidden = segment.sides.map(|side| side == Side::Hidden);
            // A single ray with something nearer beside it is a mixed pixel or a piece of a wall seen from its end.
            if width > widest_m || hidden == [true; 2] || (segment.rays() == 1 && hidden != [false; 2]) {
                continue;
            }
            let (angle, range) = (0.5 * (a.angle + b.angle), a.range.min(b.range));
            let centre = range * Vector2::new(angle.cos(), angle.sin());
            self.small.push(Small { segment: *segment, centre });
        }
    }

    fn consider_bright(&mut self, run: Segment) {
        let radius = 0.5 * self.config.reflector.diameter_m;
        match self.circle(run, Radius::Known(radius)) {
            Ok((circle, time)) => self.report(Class::Reflector, run, &circle, time, true),
            Err(rejection) => self.counts.add(rejection),
        }
    }

    fn consider(&mut self, place: usize) {
        let small = self.small[place];
        let (shape, classes) = (&self.config.shape, self.config.sizes.classes());
        if small.segment.rays() < shape.min_rays {
            return self.counts.add(Rejection::FewRays);
        }
        let on = || classes.iter().filter(|class| class.2 > 0.0);
        let (min, max) = on().fold((f64::MAX, 0.0_f64), |(min, max), class| (min.min(class.1), max.max(class.2)));
        if max == 0.0 {
            return;
        }
        let fitted = self.circle(small.segment, Radius::Between(0.4 * min, 0.6 * max));
        let (circle, time) = match fitted {
            Ok(fitted) => fitted,
            Err(rejection) => return self.counts.add(rejection),
        };
        let diameter = 2.0 * circle.radius;
        let of_class = [Class::Pole, Class::Trunk, Class::Cone];
        // How far the diameter is outside of what a class has; 99 % of those at its limits are within 2.5 deviations.
        let outside = |class: &(&str, f64, f64)| (class.1 - diameter).max(diameter - class.2).max(0.0);
        let possible = classes.iter().enumerate().filter(|(_, class)| class.2 > 0.0);
        let nearest = possible.min_by(|a, b| outside(a.1).total_cmp(&outside(b.1)));
        let class = nearest.filter(|(_, class)| outside(class) <= 5.0 * circle.radius_std).map(|(k, _)| k);
        let Some(class) = class else { return self.counts.add(Rejection::Size) };
        let isolated = self.isolated(place);
        self.report(of_class[class], small.segment, &circle, time, isolated);
    }

    /// Whether nothing else that is small is near.
    fn isolated(&self, place: usize) -> bool {
        let far = |other: &Small| (other.centre - self.small[place].centre).norm() > self.config.shape.isolation_m;
        let before = &self.small[place.saturating_sub(NEIGHBOURS)..place];
        let after = &self.small[place + 1..(place + 1 + NEIGHBOURS).min(self.small.len())];
        before.iter().chain(after).all(far)
    }

    /// The circle through the rays of a segment, in the sensor frame at the time that is returned with it.
    fn circle(&mut self, segment: Segment, radius: Radius) -> Result<(Circle, f64), Rejection> {
        if segment.sides.contains(&Side::Hidden) {
            return Err(Rejection::CutOff);
        }
        let (mut segment, range_std) = (segment, self.config.scanner.range_std_m);
        let probability = self.config.shape.round_probability;
        loop {
            let middle = self.rays.rays[usize::midpoint(segment.first, segment.last)];
            let edges = self.prepare(&segment, &middle);
            let circle = self.fit.circle(&self.arc, middle.angle, &edges, radius, range_std).ok_or(Rejection::Size)?;
            if circle.chi_squared <= chi_squared_bound(self.arc.len(), probability) {
                return Ok((circle, middle.time));
            }
            // A ray at an end that lies far behind the circle hit it with a part of its beam only.
            let behind = if circle.ends[0] > circle.ends[1] { 0 } else { 1 };
            let trimmed = segment.sides.iter().any(|side| matches!(side, Side::Mixed(_)));
            if circle.ends[behind] < 2.5 || segment.rays() < 3 || (trimmed && segment.rays() < 5) {
                return Err(Rejection::NotRound);
            }
            if matches!(segment.sides[behind], Side::Mixed(_)) {
                return Err(Rejection::NotRound);
            }
            let k = if behind == 0 { segment.first } else { segment.last };
            segment.sides[behind] = Side::Mixed(self.rays.rays[k].angle);
            if behind == 0 {
                segment.first += 1;
            } else {
                segment.last -= 1;
            }
        }
    }

    /// Fills the arc with what the rays would have been from where the scanner was at the middle one, and returns the
    /// edges likewise.
    fn prepare(&mut self, segment: &Segment, middle: &Ray) -> [Edge; 2] {
        let (v, turn) = (self.rays.twist.xy(), self.rays.twist.z);
        let (sin, cos) = middle.angle.sin_cos();
        let (ahead, aside) = (v.x * cos + v.y * sin, v.y * cos - v.x * sin);
        // To first order in the time between the rays of one object, milliseconds.
        let rate = turn + aside / middle.range;
        self.arc.clear();
        for ray in &self.rays.rays[segment.first..=segment.last] {
            let after = ray.time - middle.time;
            self.arc.push(Hit { angle: ray.angle - middle.angle + rate * after, range: ray.range + ahead * after });
        }
        let blur = 0.5 * self.config.scanner.beam_divergence_rad;
        let by_angle = self.rays.time_step / self.rays.step;
        let corrected = |angle: f64| {
            let offset = angle - middle.angle;
            offset + rate * offset * by_angle
        };
        let ends = [segment.first, segment.last].map(|k| self.rays.rays[k].angle);
        std::array::from_fn(|k| {
            let hit = corrected(ends[k]);
            let (passed, mixed) = match segment.sides[k] {
                Side::Mixed(angle) => (corrected(angle), blur > 0.0),
                Side::Free(angle) => (corrected(angle), false),
                Side::Hidden => (hit, false),
            };
            Edge { passed, hit, blur, mixed }
        })
    }

    fn report(&mut self, class: Class, segment: Segment, circle: &Circle, time_s: f64, isolated: bool) {
        if circle.centre.norm() > self.config.scanner.max_range_m {
            return;
        }
        let moved = Se2::exp(&(self.rays.twist * time_s));
        let (mut position, turn) = (moved.transform(&circle.centre), moved.rotation());
        let mut covariance = turn * circle.covariance * turn.transpose();
        position.y *= self.rays.sign;
        covariance[(0, 1)] *= self.rays.sign;
        covariance[(1, 0)] = covariance[(0, 1)];
        self.found.push(Detection {
            class,
            position,
            covariance,
            diameter_m: 2.0 * circle.radius,
            diameter_std_m: 2.0 * circle.radius_std,
            rays: segment.rays(),
            isolated,
        });
    }
}

/// Bound of the sum of squares of `rays` residuals: Wilson and Hilferty's quantile of χ².
fn chi_squared_bound(rays: usize, probability: f64) -> f64 {
    let dof = rays as f64;
    // Upper quantile of the normal distribution, Abramowitz and Stegun 26.2.23, to 5e-4.
    let t = (-2.0 * (1.0 - probability).ln()).sqrt();
    let normal =
        t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let spread = 2.0 / (9.0 * dof);
    dof * (1.0 - spread + normal * spread.sqrt()).powi(3)
}
