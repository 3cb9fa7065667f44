//! How probable it is that a landmark was never measured from where the sensor has looked.

use crate::association::field_of_view::ViewCell;
use crate::association::memory::Memory;
use nalgebra::Vector2;
/// What all looks tell of one place at most, as a logarithm: something may have stood in the way, or is new there.
const MAX_LOG_RATIO: f64 = 4.0;
/// A place was looked at if a landmark there would have been read with a higher probability.
const IN_VIEW: f64 = 0.5;
/// The logarithm of the probability that a landmark which exists with probability `exists` was never read from `views`,
/// if it is at `place` in the map, m.
pub fn never_read<'a>(
    memory: &Memory,
    views: impl Iterator<Item = &'a ViewCell>,
    place: &Vector2<f64>,
    exists: f64,
) -> f64 {
    let reach = memory.rates.farthest();
    let looked = views.filter(|view| (view.pose.p - place).norm_squared() <= reach * reach).map(|view| {
        let detection = memory.rates.detection_in_view(&view.pose.transform_back(place));
        if detection > IN_VIEW { (1.0 - detection).ln() } else { 0.0 }
    });
    let missed = looked.sum::<f64>().max(-MAX_LOG_RATIO).exp();
    (1.0 - exists + exists * missed).ln()
}
