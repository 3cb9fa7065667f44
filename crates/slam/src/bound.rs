//! The bound on the measurements of one scan, so that the time of a step is bounded, too.
//!
//! A measurement without identity is compared with every landmark of the map, and each match adds rows to the update:
//! what a step costs grows with the measurements times the landmarks. Which measurements stay depends on the scan and
//! the map alone, not on time or on the order of arrival.

use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::state::State;

/// Buffer of [`Bound::choose`], which keeps its allocation.
#[derive(Debug, Default)]
pub struct Bound {
    ranked: Vec<Rank>,
    kept: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Rank {
    is_new: bool,
    distance: f64,
    place: usize,
}

impl Bound {
    /// Removes all but `most` measurements, and returns how many were removed. Those that name a landmark of the map
    /// stay first, then the nearest; of equals those that come first. The order of those that stay does not change.
    pub fn choose(&mut self, seen: &mut Vec<Measurement>, kind: MeasurementKind, state: &State, most: usize) -> usize {
        let excess = seen.len().saturating_sub(most);
        if excess == 0 {
            return 0;
        }
        let rank = |(place, measurement): (usize, &Measurement)| Rank {
            is_new: measurement.id.and_then(|id| state.find(id)).is_none(),
            distance: distance(kind, &measurement.value),
            place,
        };
        self.ranked.clear();
        self.ranked.extend(seen.iter().enumerate().map(rank));
        self.ranked.select_nth_unstable_by(most, |a, b| {
            let by_distance = || a.distance.total_cmp(&b.distance);
            a.is_new.cmp(&b.is_new).then_with(by_distance).then(a.place.cmp(&b.place))
        });
        self.kept.clear();
        self.kept.resize(seen.len(), false);
        for rank in &self.ranked[..most] {
            self.kept[rank.place] = true;
        }
        let mut kept = self.kept.iter();
        seen.retain(|_| kept.next().copied().unwrap_or(false));
        excess
    }
}

/// How far away the landmark of a measurement is, in a measure that only serves to compare; what makes no sense is
/// farthest. Of a sensor that a program has added nothing is known: all are equally far.
fn distance(kind: MeasurementKind, value: &[f64]) -> f64 {
    let distance = match (kind, value) {
        (MeasurementKind::RelativePosition, [x, y, ..]) => x.hypot(*y),
        (MeasurementKind::RangeBearing | MeasurementKind::Range, [range, ..]) => *range,
        (MeasurementKind::Bearing | MeasurementKind::WorldPosition | MeasurementKind::WorldPose, _) => 0.0,
        (MeasurementKind::StereoBearings, [left, right, ..]) => 1.0 / (left - right).abs(),
        (MeasurementKind::Added(_), _) => 0.0,
        _ => f64::INFINITY,
    };
    if distance >= 0.0 { distance } else { f64::INFINITY }
}
