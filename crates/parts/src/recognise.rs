//! Landmarks without identity that the closed parts have already.
//!
//! What one landmark of the open part and one of the closed parts differ by, d = q̂ − p̂, has the covariance that the
//! join has for landmarks with identities; given those that are known to be the same, whose d is zero, it is normal with
//!
//! ```math
//! \bar d = d - S_{dm} S_{mm}^{-1} d_m, \quad \bar S = S_{dd} - S_{dm} S_{mm}^{-1} S_{md}
//! ```
//!
//! so that pairs are compatible jointly, and each makes the next more certain. A pair is believed where it is
//! compatible, nothing else is nearly so, and its ellipse is so small that a landmark that is none of the known ones
//! would hardly lie in it.

use super::common::{Tie, Tied};
use super::near::{Near, Shared};
use lienav_slam::LocalMap;
use nalgebra::{Cholesky, DMatrix, DVector, Dyn, Matrix2};
use std::cell::OnceCell;
use std::collections::HashMap;

/// χ² of two numbers, 99.9 %.
const GATE: f64 = 13.8;
/// The next best is worse by this in 2 ln of the likelihood.
const MARGIN: f64 = 12.0;
/// The ellipse of the gate has at most this share of the area that one landmark has for itself.
const CROWDED: f64 = 0.2;
/// A landmark was seen so often before it is looked for.
const SEEN: u32 = 3;
/// So many known pairs, the last ones, say where the others are to be.
const KNOWN: usize = 10;
/// Of a robot that is uncertain by more than landmarks are apart, so many have to be found at once.
const FEWEST: usize = 5;
/// And this share of those that lie where landmarks are.
const FOUND: f64 = 0.7;
/// However many there are, no more than these are considered.
const CONSIDERED: usize = 128;
/// So many are looked for then.
const SOUGHT: usize = 24;
/// So many of them, with so many of the closed ones each, are supposed to be a pair.
const SEEDS: usize = 6;
/// Two of the closed ones that may be the same are, nearer to each other than this share of the way to the next one.
const TWINS: f64 = 0.3;

/// Pairs that are known to be the same landmark.
#[derive(Clone)]
struct Known<'a> {
    near: &'a Near,
    /// Of its landmarks; 0 where it is not known.
    classes: &'a [u32],
    local: &'a LocalMap<'a>,
    tied: Tied<'a>,
    /// What the landmarks of the tie have to do with each of the open part, where somebody has asked for it.
    meetings: &'a [OnceCell<Vec<Matrix2<f64>>>],
    pairs: Vec<Shared>,
    /// Of S_mm, with d_m.
    factor: Option<(Cholesky<f64, Dyn>, DVector<f64>)>,
}

/// How a pair differs, given the known ones.
#[derive(Clone, Copy)]
struct Difference {
    /// Its square, m².
    square: f64,
    /// Squared Mahalanobis distance.
    distance: f64,
    /// Of its covariance.
    determinant: f64,
}

impl Difference {
    /// The area of the gate, m².
    fn ellipse(&self) -> f64 {
        std::f64::consts::PI * GATE * self.determinant.sqrt()
    }

    /// −2 ln of the likelihood, up to a constant.
    fn cost(&self) -> f64 {
        self.distance + self.determinant.ln()
    }
}

impl<'a> Known<'a> {
    fn new(
        (near, classes): (&'a Near, &'a [u32]),
        (local, tied): (&'a LocalMap<'a>, Tied<'a>),
        meetings: &'a [OnceCell<Vec<Matrix2<f64>>>],
        pairs: Vec<Shared>,
    ) -> Self {
        let mut known = Self { near, classes, local, tied, meetings, pairs, factor: None };
        known.factor();
        known
    }

    /// Cov(d_i, d_k).
    fn spread(&self, i: &Shared, k: &Shared) -> Matrix2<f64> {
        let meeting = |pair: &Shared| -> &[Matrix2<f64>] {
            self.meetings[pair.open.here].get_or_init(|| self.tied.meeting(self.local, &pair.open).collect())
        };
        self.near.spread(self.local, &self.tied, (i, meeting(i)), (k, meeting(k)))
    }

    fn add(&mut self, pair: Shared) {
        if self.pairs.len() >= KNOWN {
            self.pairs.remove(0);
        }
        self.pairs.push(pair);
        self.factor();
    }

    fn factor(&mut self) {
        let n = 2 * self.pairs.len();
        let mut spread = DMatrix::zeros(n, n);
        let mut d = DVector::zeros(n);
        for (i, a) in self.pairs.iter().enumerate() {
            for (k, b) in self.pairs.iter().enumerate() {
                spread.fixed_view_mut::<2, 2>(2 * i, 2 * k).copy_from(&self.spread(a, b));
            }
            d.fixed_rows_mut::<2>(2 * i).copy_from(&a.difference);
        }
        self.factor = (n > 0).then(|| spread.cholesky()).flatten().map(|factor| (factor, d));
    }

    /// `None` also where the pair is not within what is asked for.
    fn difference(&self, pair: &Shared, within: Within) -> Option<Difference> {
        let mut d = pair.difference;
        if matches!(within, Within::Square(square) if d.norm_squared() > square) {
            return None;
        }
        let mut own = self.spread(pair, pair);
        // The longest axis of an ellipse is shorter than the root of the trace.
        if matches!(within, Within::Gate) && d.norm_squared() > 2.0 * GATE * own.trace() {
            return None;
        }
        if let Some((factor, d_known)) = &self.factor {
            let mut shared = DMatrix::zeros(2 * self.pairs.len(), 2);
            for (k, known) in self.pairs.iter().enumerate() {
                shared.fixed_view_mut::<2, 2>(2 * k, 0).copy_from(&self.spread(known, pair));
            }
            let solved = factor.solve(&shared);
            d -= solved.tr_mul(d_known).fixed_rows::<2>(0);
            own -= Matrix2::from_iterator(solved.tr_mul(&shared).iter().copied());
        }
        let own = 0.5 * (own + own.transpose());
        let determinant = own.determinant();
        let distance = d.dot(&(own.try_inverse()? * d));
        let square = d.norm_squared();
        (determinant > 0.0 && distance >= 0.0).then_some(Difference { square, distance, determinant })
    }

    /// Whether two of the closed ones may be the same landmark.
    fn are_twins(&self, a: usize, b: usize, area: f64) -> bool {
        let near = self.near;
        let d = near.places[a] - near.places[b];
        if are_others(self.classes[a], self.classes[b]) || d.norm_squared() > TWINS * TWINS * area {
            return false;
        }
        let block = |i: usize, k: usize| near.covariance.fixed_view::<2, 2>(3 + 2 * i, 3 + 2 * k).into_owned();
        let spread = block(a, a) + block(b, b) - block(a, b) - block(b, a);
        spread.try_inverse().is_some_and(|inverse| (0.0..GATE).contains(&d.dot(&(inverse * d))))
    }
}

/// Whether two that are of these classes are two; 0 where it is not known.
fn are_others(one: u32, other: u32) -> bool {
    one != other && one != 0 && other != 0
}

/// A landmark of the open part that is one of the closed ones.
pub struct Recognised {
    /// Its identity in the filter.
    pub id: u32,
    /// Which one of [`Near`].
    pub row: usize,
    /// Others of [`Near`] that are the same landmark: recognised too late when they were seen.
    pub twins: Vec<usize>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Of the open part, so many landmarks, those nearest to the robot.
    pub most: usize,
    /// Also after a long way, where no pair is sure by itself.
    pub seeks: bool,
}

/// Which of the closed ones a landmark of the open part is compared with.
#[derive(Clone, Copy)]
enum Within {
    /// Those that are not farther than the root of this, m².
    Square(f64),
    /// Those that it is compatible with by itself, which it has to be to be so jointly.
    Gate,
}

/// The landmarks of the open part that are one of `near`. `classes` are those of `near`, 0 where it is not known; `index`
/// has the landmarks that are known already, of which `young` may be others, too; `free` are the rows of `near` that may
/// be meant. And whether pairs were supposed, and none was believed.
pub fn recognise(
    (near, classes): (&Near, &[u32]),
    (local, tie): (&LocalMap<'_>, &Tie),
    (index, young): (&HashMap<u32, usize>, &[u32]),
    mut free: Vec<usize>,
    Search { most, seeks }: Search,
) -> (Vec<Recognised>, bool) {
    let robot = local.pose().p;
    if near.landmarks.is_empty() {
        return (Vec::new(), false);
    }
    let is_wanted = |i: &usize| {
        let id = local.id(*i);
        !local.has_given_identity(*i)
            && (!index.contains_key(&id) || young.contains(&id))
            && local.is_landmark(*i)
            && local.observations(*i) >= SEEN
    };
    let by_distance = |i: &usize, k: &usize| {
        let square = |i: usize| (local.place(i) - robot).norm_squared();
        square(*i).total_cmp(&square(*k)).then(i.cmp(k))
    };
    let mut paired: Vec<usize> =
        (0..local.len()).filter(|i| local.is_landmark(*i) && index.contains_key(&local.id(*i))).collect();
    paired.sort_unstable_by(by_distance);
    let taken: Vec<usize> = paired.iter().map(|i| index[&local.id(*i)]).collect();
    paired.truncate(KNOWN);
    paired.reverse();
    let pairs = paired.iter().map(|i| near.shared(local, *i, index[&local.id(*i)])).collect();
    let mut tied = Vec::new();
    let tied = tie.with(local, &mut tied);
    let meetings = vec![OnceCell::new(); local.len()];
    let mut known = Known::new((near, classes), (local, tied), &meetings, pairs);
    free.retain(|a| !taken.contains(a));
    let area = area_of_one(near, local);
    let mut wanted: Vec<usize> = (0..local.len()).filter(is_wanted).collect();
    wanted.sort_unstable_by(by_distance);
    // Those that are new to the map have none of it near, and are not to take the place of others.
    let is_near = |i: &usize| free.iter().any(|a| (near.places[*a] - local.place(*i)).norm_squared() < area);
    let most = if seeks { most.clamp(SOUGHT, CONSIDERED) } else { most };
    let mut followed: Vec<usize> = wanted.iter().copied().filter(is_near).take(most).collect();
    let mut found = Vec::new();
    follow(&mut known, &mut followed, &mut free, area, &mut found);
    if seeks {
        // What is sure by itself has been found, and follows of no supposition.
        wanted.retain(|i| found.iter().all(|found: &Recognised| found.id != local.id(*i)));
        wanted.truncate(SOUGHT);
        let (of_loop, is_open) = seek(&known, &wanted, &free, area);
        found.extend(of_loop);
        return (found, is_open);
    }
    (found, false)
}

/// Takes the surest pair, then the surest that is left, until none is sure.
fn follow(
    known: &mut Known<'_>,
    wanted: &mut Vec<usize>,
    free: &mut Vec<usize>,
    area: f64,
    found: &mut Vec<Recognised>,
) {
    while let Some((pair, row, twins)) = surest(known, wanted, free, area) {
        wanted.retain(|i| *i != pair.open.here);
        free.retain(|other| *other != row && !twins.contains(other));
        found.push(Recognised { id: known.local.id(pair.open.here), row, twins });
        known.add(pair);
    }
}

/// After a long way the robot is uncertain by more than landmarks are apart, and no pair is sure by itself. Each pair
/// that may be right is supposed, and what follows of it. That of which most follows is believed, if that is enough, and
/// half as much follows of no other. And whether there were any to suppose, and none is believed.
fn seek(known: &Known<'_>, wanted: &[usize], free: &[usize], area: f64) -> (Vec<Recognised>, bool) {
    if wanted.len() < FEWEST {
        return (Vec::new(), false);
    }
    let mut seeds = Vec::new();
    for i in wanted.iter().take(SEEDS) {
        let mut own = differences(known, &[*i], free, Within::Gate);
        own.retain(|(.., own)| own.distance < GATE && own.ellipse() >= CROWDED * area);
        own.sort_unstable_by(|a, b| a.2.distance.total_cmp(&b.2.distance).then(a.1.cmp(&b.1)));
        own.truncate(SEEDS);
        seeds.extend(own);
    }
    let is_open = !seeds.is_empty();
    let mut all: Vec<Vec<Recognised>> = Vec::new();
    for (pair, row, _) in seeds {
        let id = known.local.id(pair.open.here);
        if all.iter().flatten().any(|other| (other.id, other.row) == (id, row)) {
            continue;
        }
        let mut supposed = known.clone();
        supposed.add(pair);
        let mut wanted: Vec<usize> = wanted.iter().copied().filter(|i| *i != pair.open.here).collect();
        let mut free: Vec<usize> = free.iter().copied().filter(|other| *other != row).collect();
        let mut compatible = differences(&supposed, &wanted, &free, Within::Square(4.0 * area));
        compatible.retain(|(.., own)| own.distance < GATE);
        compatible.dedup_by_key(|(pair, ..)| pair.open.here);
        if compatible.len() + 1 < FEWEST {
            continue;
        }
        let mut found = vec![Recognised { id, row, twins: Vec::new() }];
        follow(&mut supposed, &mut wanted, &mut free, area, &mut found);
        // Where there is another landmark instead.
        let left = differences(&supposed, &wanted, &free, Within::Square(4.0 * area));
        let is_missed = |i: &&usize| left.iter().any(|(pair, _, own)| pair.open.here == **i && own.square < area);
        let missed = wanted.iter().filter(is_missed).count();
        if found.len() as f64 >= FOUND * (found.len() + missed) as f64 {
            all.push(found);
        }
    }
    all.sort_by_key(|found| std::cmp::Reverse(found.len()));
    let second = all.get(1).map_or(0, Vec::len);
    let best = all.into_iter().next().unwrap_or_default();
    if best.len() >= FEWEST && 2 * second <= best.len() { (best, false) } else { (Vec::new(), is_open) }
}

/// How each of these landmarks of the open part differs from each of these closed ones that is within what is asked for.
fn differences(
    known: &Known<'_>,
    wanted: &[usize],
    free: &[usize],
    within: Within,
) -> Vec<(Shared, usize, Difference)> {
    let mut all = Vec::new();
    for i in wanted {
        let class = known.local.class(*i);
        for a in free {
            let pair = known.near.shared(known.local, *i, *a);
            if !are_others(class, known.classes[*a]) {
                all.extend(known.difference(&pair, within).map(|difference| (pair, *a, difference)));
            }
        }
    }
    all
}

/// The pair with the smallest ellipse of those that are believed, and the twins of its landmark.
fn surest(known: &Known<'_>, wanted: &[usize], free: &[usize], area: f64) -> Option<(Shared, usize, Vec<usize>)> {
    let all = differences(known, wanted, free, Within::Square(4.0 * area));
    let near = known.near;
    let is_believed = |(pair, a, own): &&(Shared, usize, Difference)| {
        let is_rival = |(other, b, rival): &&(Shared, usize, Difference)| {
            // Of twins, the one that is older.
            let is_twin = other.open.here == pair.open.here
                && near.landmarks[*a] < near.landmarks[*b]
                && known.are_twins(*a, *b, area);
            (other.open.here == pair.open.here) != (b == a) && !is_twin && rival.cost() <= own.cost() + MARGIN
        };
        own.distance < GATE && own.ellipse() < CROWDED * area && !all.iter().any(|other| is_rival(&other))
    };
    let sure = all.iter().filter(is_believed);
    let best = sure.min_by(|a, b| a.2.determinant.total_cmp(&b.2.determinant).then(a.1.cmp(&b.1)))?;
    let others = free.iter().copied().filter(|b| *b != best.1 && known.are_twins(best.1, *b, area)).collect();
    Some((best.0, best.1, others))
}

/// The area that a landmark has for itself, m²: the square of the median distance to the next one.
fn area_of_one(near: &Near, local: &LocalMap<'_>) -> f64 {
    let landmarks = (0..local.len()).filter(|i| local.is_landmark(*i)).take(CONSIDERED);
    let landmarks: Vec<_> = landmarks.map(|i| local.place(i)).collect();
    let places = if landmarks.len() > 2 { &landmarks } else { &near.places };
    let nearest = |(i, p): (usize, &nalgebra::Vector2<f64>)| {
        let others = places.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, q)| (q - p).norm_squared());
        others.min_by(f64::total_cmp)
    };
    let mut squares: Vec<f64> = places.iter().enumerate().filter_map(nearest).collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares.get(squares.len() / 2).copied().unwrap_or(0.0)
}
