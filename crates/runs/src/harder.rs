//! Recordings made harder: fewer scans, and measurements of nothing.

use lienav_io::recording::{Input, Recording};
use lienav_slam::{Measurement, MeasurementKind, Scan};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Keeps the first scan of features, and then every `n`-th; 0 counts as 1.
pub fn keep_every(recording: &mut Recording, n: usize) {
    let mut scans = 0;
    recording.inputs.retain(|input| {
        let is_scan = matches!(input, Input::Scan(_));
        scans += usize::from(is_scan);
        !is_scan || (scans - 1).is_multiple_of(n.max(1))
    });
}

/// Adds so many false measurements without identity to every scan: ranges and bearings uniform between the least and
/// the greatest ones of the recording, labels and noise those of true measurements. Scans of other sensors than those
/// of ranges and bearings or positions stay as they are.
pub fn add_clutter(recording: &mut Recording, per_scan: usize, seed: u64) {
    let polar: Vec<[f64; 2]> = scans(&mut recording.inputs)
        .flat_map(|scan| scan.measurements.iter().filter_map(|measurement| polar(scan.kind, measurement)))
        .collect();
    let span = |of: fn(&[f64; 2]) -> f64| {
        let (low, high) =
            polar.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        move |part: f64| low + part * (high - low)
    };
    let (range, bearing) = (span(|z| z[0]), span(|z| z[1]));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for scan in scans(&mut recording.inputs) {
        let true_measurements = scan.measurements.len();
        for _ in 0..if true_measurements > 0 { per_scan } else { 0 } {
            let [range_part, bearing_part]: [f64; 2] = random.random();
            let like = scan.measurements[random.random_range(0..true_measurements)];
            let (range_m, bearing_rad) = (range(range_part), bearing(bearing_part));
            let value = match scan.kind {
                MeasurementKind::RelativePosition => [range_m * bearing_rad.cos(), range_m * bearing_rad.sin()],
                _ => [range_m, bearing_rad],
            };
            scan.measurements.push(Measurement { id: None, value: value.into(), ..like });
        }
    }
}

/// The scans that clutter can be added to.
fn scans(inputs: &mut [Input]) -> impl Iterator<Item = &mut Scan> {
    inputs.iter_mut().filter_map(|input| match input {
        Input::Scan(scan) => {
            matches!(scan.kind, MeasurementKind::RangeBearing | MeasurementKind::RelativePosition).then_some(scan)
        }
        _ => None,
    })
}

/// Range and bearing; `None` where they are no numbers.
fn polar(kind: MeasurementKind, measurement: &Measurement) -> Option<[f64; 2]> {
    let z = measurement.value.xy();
    let polar = if kind == MeasurementKind::RelativePosition { [z.norm(), z.y.atan2(z.x)] } else { [z.x, z.y] };
    polar.iter().all(|x| x.is_finite()).then_some(polar)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic;
    use super::*;

    #[test]
    fn every_third_scan_is_kept_and_all_odometry() {
        let mut recording = synthetic::recording(300, 4);
        let count =
            |recording: &Recording| recording.inputs.iter().filter(|input| matches!(input, Input::Scan(_))).count();
        let (inputs, before) = (recording.inputs.len(), count(&recording));
        keep_every(&mut recording, 3);
        assert_eq!(count(&recording), before.div_ceil(3));
        assert_eq!(inputs - recording.inputs.len(), before - before.div_ceil(3));
    }

    #[test]
    fn clutter_lies_where_measurements_lie_and_a_seed_repeats_it() {
        let clean = synthetic::recording(50, 4);
        let harder = |seed| {
            let mut recording = clean.clone();
            add_clutter(&mut recording, 10, seed);
            recording
        };
        let dirty = harder(1);
        assert_eq!(dirty, harder(1));
        assert_ne!(dirty, harder(2));
        for (input, before) in dirty.inputs.iter().zip(&clean.inputs) {
            let (Input::Scan(scan), Input::Scan(before)) = (input, before) else { continue };
            let (true_measurements, clutter) = scan.measurements.split_at(before.measurements.len());
            assert_eq!((true_measurements, clutter.len()), (&before.measurements[..], 10));
            assert!(clutter.iter().all(|o| o.id.is_none() && (2.0..20.0).contains(&o.value[0])), "{clutter:?}");
        }
    }
}
