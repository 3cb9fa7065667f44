//! How probable it is that a landmark was never measured from where the sensor has looked.

use crate::association::field_of_view::ViewCell;
use crate::association::memory::Memory;
use crate::thresholds::{FIFTY_TO_ONE, LIKELY};
use nalgebra::Vector2;
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
        if detection > LIKELY { (1.0 - detection).ln() } else { 0.0 }
    });
    let missed = looked.sum::<f64>().max(-FIFTY_TO_ONE.ln).exp();
    (1.0 - exists + exists * missed).ln()
}
