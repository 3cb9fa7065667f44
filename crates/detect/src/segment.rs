//! The scan cut into segments where the range jumps, and what lies beside each.

use crate::scan::{Ray, Rays};

/// What lies beside the first or the last ray of a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    /// The next ray passed by: the object ends between. Its angle, rad.
    Free(f64),
    /// The next ray hit the edge with a part of its beam. Its angle, rad.
    Mixed(f64),
    /// Something nearer hides what may follow, or the scan ends.
    Hidden,
}

/// Rays `first..=last` on one surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub first: usize,
    pub last: usize,
    pub sides: [Side; 2],
}

impl Segment {
    pub fn rays(&self) -> usize {
        self.last - self.first + 1
    }
}

/// When two neighbours are on different surfaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    pub range_std: f64,
    pub max_radius: f64,
    pub step: f64,
}

impl Jump {
    /// The largest difference of ranges on one cylinder: noise, and how deep a cylinder of the largest radius R falls
    /// off over the width s of the rays from its edge, √(2Rs) ≤ R.
    pub fn threshold(&self, range: f64, rays: f64) -> f64 {
        let fall = (2.0 * self.max_radius * rays * range * self.step).sqrt().min(self.max_radius);
        6.0 * self.range_std + fall
    }

    fn between(&self, a: &Ray, b: &Ray) -> bool {
        b.angle - a.angle > 2.5 * self.step || self.apart(a, b)
    }

    fn apart(&self, a: &Ray, b: &Ray) -> bool {
        (a.range - b.range).abs() > self.threshold(a.range.min(b.range), 1.0)
    }
}

/// Surfaces farther apart give two echoes, not one between, m.
const MIXES_M: f64 = 1.5;

/// Cuts the rays into segments, from left to right.
pub(crate) fn segments(rays: &mut Rays, jump: &Jump, found: &mut Vec<Segment>) {
    found.clear();
    let count = rays.rays.len();
    if count == 0 {
        return;
    }
    if rays.circular
        && let Some(k) = (1..count).find(|&k| jump.between(&rays.rays[k - 1], &rays.rays[k]))
        && rays.after(count - 1).is_some_and(|next| !jump.between(&rays.rays[count - 1], &next))
    {
        rays.begin_at(k);
    }
    let list = &rays.rays;
    let mut first = 0;
    for k in 1..=count {
        if k == count || cuts(list, first, k, jump) {
            found.push(Segment { first, last: k - 1, sides: [Side::Hidden; 2] });
            first = k;
        }
    }
    for segment in found {
        segment.sides = [left(rays, segment, jump), right(rays, segment, jump)];
    }
}

/// Whether a new segment begins with ray `k`: a jump, or one in two steps over a ray between, which then belongs to
/// the nearer of both.
fn cuts(list: &[Ray], first: usize, k: usize, jump: &Jump) -> bool {
    let (before, here) = (&list[k - 1], &list[k]);
    if jump.between(before, here) {
        return true;
    }
    let two_steps = |a: &Ray, b: &Ray, c: &Ray| {
        let (one, two) = (b.range - a.range, c.range - b.range);
        one * two > 0.0 && (one + two).abs() > jump.threshold(a.range.min(c.range), 2.0)
    };
    let steps = |a: &Ray, b: &Ray| (b.range - a.range).abs();
    let with_next = list.get(k + 1).is_some_and(|next| {
        !jump.between(here, next) && two_steps(before, here, next) && steps(before, here) >= steps(here, next)
    });
    let with_last = k >= first + 2 && {
        let last = &list[k - 2];
        two_steps(last, before, here) && steps(before, here) > steps(last, before)
    };
    with_next || with_last
}

fn side(ray: Option<Ray>, beyond: Option<Ray>, edge: &Ray, outward: f64, jump: &Jump) -> Side {
    let Some(ray) = ray else { return Side::Free(edge.angle + outward * jump.step) };
    if ray.range < edge.range {
        return Side::Hidden;
    }
    // A ray by itself, between this surface and one behind, is a mixed pixel.
    let alone = beyond.is_some_and(|beyond| beyond.range > ray.range && jump.apart(&ray, &beyond));
    let behind = ray.range - edge.range < MIXES_M;
    if alone && behind { Side::Mixed(ray.angle) } else { Side::Free(ray.angle) }
}

fn left(rays: &Rays, segment: &Segment, jump: &Jump) -> Side {
    let edge = rays.rays[segment.first];
    let next = rays.before(segment.first);
    if next.is_none() && !rays.circular && rays.at_start(&edge) {
        return Side::Hidden;
    }
    let beyond = segment.first.checked_sub(1).and_then(|k| rays.before(k));
    side(next, beyond, &edge, -1.0, jump)
}

fn right(rays: &Rays, segment: &Segment, jump: &Jump) -> Side {
    let edge = rays.rays[segment.last];
    let next = rays.after(segment.last);
    if next.is_none() && !rays.circular && rays.at_end(&edge) {
        return Side::Hidden;
    }
    let beyond = (segment.last + 1 < rays.rays.len()).then(|| rays.after(segment.last + 1)).flatten();
    side(next, beyond, &edge, 1.0, jump)
}
