//! What measurements without identity are of, as only a judge may know: kept beside the input, never in it.

use lienav_base::stamp::Stamp;
use lienav_slam::{MeasurementKind, Scan, Value};
use std::collections::HashMap;

/// A measurement, and what it is of: a true landmark, or nothing that is in the world.
pub type Known = (Value, Option<u32>);

/// The true identities of measurements that do not state them, by the stamp of their cloud.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identities {
    scans: HashMap<Stamp, Vec<(MeasurementKind, Vec<Known>)>>,
}

impl Identities {
    /// Takes the identities of a cloud away, and keeps them here.
    pub fn hide(&mut self, cloud: &mut Scan) {
        let ids: Vec<Option<u32>> = cloud.measurements.iter().map(|measurement| measurement.id).collect();
        self.keep(cloud, ids);
        cloud.measurements.iter_mut().for_each(|measurement| measurement.id = None);
    }

    /// Keeps what the measurements of a cloud are of, in their order. Of two clouds of one sensor with one stamp the
    /// first counts: a filter uses only one.
    pub fn keep(&mut self, cloud: &Scan, ids: impl IntoIterator<Item = Option<u32>>) {
        let sensors = self.scans.entry(cloud.stamp).or_default();
        if sensors.iter().all(|(kind, _)| *kind != cloud.kind) {
            let values = cloud.measurements.iter().map(|measurement| measurement.value);
            sensors.push((cloud.kind, values.zip(ids).collect()));
        }
    }

    /// The measurements of all scans, each scan with its stamp and its sensor, in any order.
    pub fn scans(&self) -> impl Iterator<Item = (Stamp, MeasurementKind, &[Known])> {
        self.scans.iter().flat_map(|(stamp, sensors)| {
            sensors.iter().map(|(kind, measurements)| (*stamp, *kind, measurements.as_slice()))
        })
    }

    /// All measurements with this stamp.
    pub fn at(&self, stamp: Stamp) -> impl Iterator<Item = &Known> {
        self.scans.get(&stamp).into_iter().flatten().flat_map(|(_, checked_measurements)| checked_measurements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::Measurement;

    #[test]
    fn what_is_hidden_is_kept_and_a_second_cloud_of_the_same_stamp_does_not_count() {
        let stamp = Stamp::from_secs(3.0);
        let measurements = vec![Measurement::new(Some(7), [1.0, 2.0]), Measurement::new(None, [3.0, 4.0])];
        let mut cloud = Scan { stamp, kind: MeasurementKind::RangeBearing, measurements };
        let mut again = cloud.clone();
        again.measurements[0].id = Some(9);
        let mut identities = Identities::default();
        identities.hide(&mut cloud);
        identities.hide(&mut again);
        assert!(cloud.measurements.iter().all(|measurement| measurement.id.is_none()));
        let kept: Vec<Known> = identities.at(stamp).copied().collect();
        assert_eq!(kept, [([1.0, 2.0].into(), Some(7)), ([3.0, 4.0].into(), None)]);
        assert_eq!(identities.at(Stamp::default()).count(), 0);
    }
}
