//! The feature sensor: what is in view, and what is measured of it.

use super::measurement_noise::{MeasurementNoise, NoiseConfig};
use super::random::{Purpose, generator};
use super::scenario::FeatureSensorConfig;
use lienav_base::stamp::Stamp;
use lienav_lie::{Se2, wrap_angle};
use lienav_slam::{Label, Measurement, MeasurementKind, Scan, Value};
use nalgebra::Vector2;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};
use std::f64::consts::TAU;

/// A feature sensor with its noise.
#[derive(Clone, Debug)]
pub(super) struct FeatureSensor {
    config: FeatureSensorConfig,
    pose_in_base: Se2,
    /// The class of each feature, by its id; empty where there are none.
    classes: Vec<u32>,
    /// The classes that there are.
    class_count: u32,
    noise: MeasurementNoise,
    /// Measured ranges are the true ones times this.
    range_scale: f64,
    misreads: ChaCha8Rng,
    detections: ChaCha8Rng,
    clutter: ChaCha8Rng,
    confusions: ChaCha8Rng,
    late: ChaCha8Rng,
    /// Which features it sees.
    share: Share,
}

/// Which features a sensor sees, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    All,
    /// The last of so many.
    Every(u32),
    /// Those that are not the last of so many, for two other sensors.
    NotEvery([u32; 2]),
}

impl Share {
    fn has(self, id: u32) -> bool {
        let is_last = |every: u32| every > 0 && id % every == every - 1;
        match self {
            Self::All => true,
            Self::Every(every) => is_last(every),
            Self::NotEvery(both) => !both.into_iter().any(is_last),
        }
    }
}

impl FeatureSensor {
    pub(super) fn new(config: &FeatureSensorConfig, noise: &NoiseConfig, classes: Vec<u32>, seed: u64) -> Self {
        Self {
            class_count: classes.iter().copied().max().unwrap_or(0),
            classes,
            detections: generator(seed, Purpose::Detections),
            clutter: generator(seed, Purpose::Clutter),
            confusions: generator(seed, Purpose::Classes),
            late: generator(seed, Purpose::Late),
            share: Share::All,
            config: config.clone(),
            pose_in_base: Se2::new(config.x_m, config.y_m, config.yaw_rad),
            noise: MeasurementNoise::new(noise, seed),
            range_scale: noise.range_scale,
            misreads: generator(seed, Purpose::Misreads),
        }
    }

    /// What is seen from `robot`, in the order of `landmarks`, clutter behind it; and what each measurement is of. A
    /// range that noise makes negative is not reported.
    pub(super) fn observe(
        &mut self,
        stamp: Stamp,
        robot: &Se2,
        landmarks: &[(u32, Vector2<f64>)],
    ) -> (Scan, Vec<Option<u32>>) {
        let sensor = *robot * self.pose_in_base;
        let (mut measurements, mut identities) = (Vec::new(), Vec::new());
        let mut in_view_count = 0;
        for (id, p_world) in landmarks {
            let z = sensor.transform_back(p_world);
            if !self.share.has(*id) || !in_view(&self.config, &z) {
                continue;
            }
            let noise = self.noise.draw(stamp, *id);
            let misread = self.misread();
            let value = self.disturbed(project(&self.config, &misread.unwrap_or(z)), &noise);
            let value = value + Vector2::new(self.lateness(), 0.0);
            in_view_count += 1;
            if !self.is_detected() {
                continue;
            }
            let has_range = matches!(self.config.kind, MeasurementKind::RangeBearing | MeasurementKind::Range);
            if has_range && value.x <= 0.0 {
                continue;
            }
            let class = self.classes.get(*id as usize).map_or(0, |class| *class);
            let label = Label { class: self.read_class(class), ..Label::default() };
            let said = self.config.identified.then_some(*id);
            measurements.push(Measurement { label, ..Measurement::new(said, numbers(self.config.kind, value)) });
            identities.push(misread.is_none().then_some(*id));
        }
        self.add_clutter(in_view_count, &mut measurements);
        identities.resize(measurements.len(), None);
        (Scan { stamp, kind: self.config.kind, measurements }, identities)
    }

    /// The same sensor for some of the features.
    pub(super) fn of(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// The variance of the one number of a measurement.
    pub(super) fn variance(&self) -> f64 {
        match self.config.kind {
            MeasurementKind::Range => self.config.range_std_m.powi(2),
            _ => self.config.bearing_std_rad.powi(2),
        }
        .max(1e-18)
    }

    /// By how much a range alone is too long, m.
    fn lateness(&mut self) -> f64 {
        if self.config.kind != MeasurementKind::Range {
            return 0.0;
        }
        let [chance, length]: [f64; 2] = self.late.random();
        let FeatureSensorConfig { late_probability, late_min_m, late_max_m, .. } = self.config;
        if chance < late_probability { late_min_m + length * (late_max_m - late_min_m) } else { 0.0 }
    }

    /// Whether a feature in view is seen. One number for every feature: another probability hides others as well.
    fn is_detected(&mut self) -> bool {
        self.detections.random::<f64>() < self.config.detection_probability
    }

    /// The class that a measurement says; 0 for none. One that is confused is any of the others with equal
    /// probability.
    fn read_class(&mut self, class: u32) -> u32 {
        if !self.config.classified || class == 0 {
            return 0;
        }
        let [chance, other]: [f64; 2] = self.confusions.random();
        if chance >= self.config.class_confusion || self.class_count < 2 {
            return class;
        }
        let other = 1 + ((other * f64::from(self.class_count - 1)) as u32).min(self.class_count - 2);
        if other < class { other } else { other + 1 }
    }

    /// Measurements of nothing, where `in_view` features are in view: a Poisson number of them. A sensor that says
    /// which feature it sees knows that these are none.
    fn add_clutter(&mut self, in_view: usize, measurements: &mut Vec<Measurement>) {
        let mean = self.config.clutter * in_view as f64;
        let Ok(number) = Poisson::new(mean) else { return };
        for _ in 0..number.sample(&mut self.clutter) as usize {
            let [bearing, range, class]: [f64; 3] = self.clutter.random();
            let value = project(&self.config, &self.place(bearing, range));
            let class = match self.config.classified {
                true => (1 + (class * f64::from(self.class_count)) as u32).min(self.class_count),
                false => 0,
            };
            if !self.config.identified {
                let label = Label { class, ..Label::default() };
                measurements.push(Measurement { label, ..Measurement::new(None, numbers(self.config.kind, value)) });
            }
        }
    }

    /// Where a misread puts the feature, in the sensor frame.
    fn misread(&mut self) -> Option<Vector2<f64>> {
        // Three numbers for every feature, misread or not: a higher probability adds misreads and changes none.
        let [chance, bearing, range]: [f64; 3] = self.misreads.random();
        (chance < self.config.misread_probability).then(|| self.place(bearing, range))
    }

    /// Of two numbers uniform over [0, 1), a place with bearing and range uniform over the field of view, in the sensor
    /// frame, m.
    fn place(&self, bearing: f64, range: f64) -> Vector2<f64> {
        let config = &self.config;
        let (sin, cos) = ((bearing - 0.5) * config.field_of_view_rad).sin_cos();
        let range_m = config.min_range_m + range * (config.max_range_m - config.min_range_m);
        range_m * Vector2::new(cos, sin)
    }

    /// With bias and noise; `noise` is a draw from N(0, I).
    fn disturbed(&self, value: Vector2<f64>, noise: &Vector2<f64>) -> Vector2<f64> {
        let config = &self.config;
        let bearing =
            |true_rad: f64, n: f64| wrap_angle(true_rad + config.bearing_bias_rad + config.bearing_std_rad * n);
        match config.kind {
            MeasurementKind::RelativePosition => value + config.position_std_m * noise,
            MeasurementKind::RangeBearing => {
                let range = self.range_scale * value.x + config.range_bias_m + config.range_std_m * noise.x;
                Vector2::new(range, bearing(value.y, noise.y))
            }
            MeasurementKind::StereoBearings => Vector2::new(bearing(value.x, noise.x), bearing(value.y, noise.y)),
            MeasurementKind::Range => {
                let range = self.range_scale * value.x + config.range_bias_m + config.range_std_m * noise.x;
                Vector2::new(range, 0.0)
            }
            MeasurementKind::Bearing => Vector2::new(bearing(value.x, noise.x), 0.0),
            _ => value,
        }
    }
}

/// As many of both numbers as a measurement has.
fn numbers(kind: MeasurementKind, value: Vector2<f64>) -> Value {
    match kind {
        MeasurementKind::Range | MeasurementKind::Bearing => [value.x].into(),
        _ => value.into(),
    }
}

/// Whether the sensor sees a feature at `z` (m, sensor frame): in range, and within the angle of view, for a stereo
/// pair of both cameras (Shen 2019, section 5.5: 120° each, features farther than 5 m are ignored).
fn in_view(config: &FeatureSensorConfig, z: &Vector2<f64>) -> bool {
    if !(config.min_range_m..=config.max_range_m).contains(&z.norm()) {
        return false;
    }
    let within = |bearing: f64| config.field_of_view_rad >= TAU || bearing.abs() <= 0.5 * config.field_of_view_rad;
    match config.kind {
        MeasurementKind::StereoBearings => {
            let bearings = stereo_bearings(config.baseline_m, z);
            within(bearings.x) && within(bearings.y)
        }
        MeasurementKind::RelativePosition
        | MeasurementKind::RangeBearing
        | MeasurementKind::Range
        | MeasurementKind::Bearing => within(z.y.atan2(z.x)),
        // Sensors that a program adds are simulated by what they measure: `AddedSensor`; those of the world by
        // `Outside`.
        MeasurementKind::WorldPosition | MeasurementKind::WorldPose | MeasurementKind::Added(_) => false,
    }
}

/// What a perfect sensor measures of a feature at `z` (m, sensor frame).
fn project(config: &FeatureSensorConfig, z: &Vector2<f64>) -> Vector2<f64> {
    match config.kind {
        MeasurementKind::RangeBearing => Vector2::new(z.norm(), z.y.atan2(z.x)),
        MeasurementKind::Range => Vector2::new(z.norm(), 0.0),
        MeasurementKind::Bearing => Vector2::new(z.y.atan2(z.x), 0.0),
        MeasurementKind::RelativePosition
        | MeasurementKind::WorldPosition
        | MeasurementKind::WorldPose
        | MeasurementKind::Added(_) => *z,
        MeasurementKind::StereoBearings => stereo_bearings(config.baseline_m, z),
    }
}

/// Bearings of `z` from the left camera at (0, b/2) and the right one at (0, −b/2), rad.
fn stereo_bearings(baseline_m: f64, z: &Vector2<f64>) -> Vector2<f64> {
    let half = 0.5 * baseline_m;
    Vector2::new((z.y - half).atan2(z.x), (z.y + half).atan2(z.x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use proptest::prelude::*;
    use std::f64::consts::{FRAC_PI_3, PI};

    fn config(kind: MeasurementKind) -> FeatureSensorConfig {
        FeatureSensorConfig { kind, ..Scenario::default().sensor }
    }

    fn exact(kind: MeasurementKind) -> FeatureSensorConfig {
        FeatureSensorConfig { position_std_m: 0.0, range_std_m: 0.0, bearing_std_rad: 0.0, ..config(kind) }
    }

    fn polar(range: f64, bearing: f64) -> Vector2<f64> {
        range * Vector2::new(bearing.cos(), bearing.sin())
    }

    /// Where the rays (0, ±b/2) + s (cos α, sin α) meet.
    fn triangulated(baseline_m: f64, bearings: &Vector2<f64>) -> Vector2<f64> {
        let (left, right) = (bearings.x, bearings.y);
        let s = baseline_m * left.cos() / (right - left).sin();
        Vector2::new(s * right.cos(), s * right.sin() - 0.5 * baseline_m)
    }

    proptest! {
        #[test]
        fn noise_free_bearings_meet_in_the_feature(x in 0.2..5.0f64, y in -5.0..5.0f64, b in 0.05..1.0f64) {
            let z = Vector2::new(x, y);
            prop_assert!((triangulated(b, &stereo_bearings(b, &z)) - z).norm() < 1e-9 / b);
        }

        #[test]
        fn every_kind_sees_through_the_lever_arm(x in 1.0..4.0f64, y in -1.0..1.0f64, theta in -3.0..3.0f64, which in 0..3usize) {
            let kind = [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings][which];
            let mounted = FeatureSensorConfig { x_m: 0.3, y_m: -0.1, yaw_rad: 0.4, ..exact(kind) };
            let robot = Se2::new(5.0, -7.0, theta);
            let z = Vector2::new(x, y);
            let p_world = (robot * Se2::new(0.3, -0.1, 0.4)).transform(&z);
            let seen = FeatureSensor::new(&mounted, &NoiseConfig::default(), Vec::new(), 1).observe(Stamp::default(), &robot, &[(9, p_world)]).0;
            prop_assert_eq!((seen.kind, seen.measurements[0].id), (kind, Some(9)));
            let value = seen.measurements[0].value.xy();
            let found = match kind {
                MeasurementKind::RangeBearing => polar(value.x, value.y),
                MeasurementKind::StereoBearings => triangulated(mounted.baseline_m, &value),
                _ => value,
            };
            prop_assert!((found - z).norm() < 1e-9);
        }
    }

    #[test]
    fn the_view_ends_at_60_degrees_and_5_m() {
        let config = config(MeasurementKind::RangeBearing);
        for side in [1.0, -1.0] {
            assert!(in_view(&config, &polar(3.0, side * (FRAC_PI_3 - 1e-9))));
            assert!(!in_view(&config, &polar(3.0, side * (FRAC_PI_3 + 1e-9))));
        }
        assert!(in_view(&config, &polar(5.0 - 1e-9, 0.3)) && !in_view(&config, &polar(5.0 + 1e-9, 0.3)));
        let near = FeatureSensorConfig { min_range_m: 0.5, ..config };
        assert!(in_view(&near, &polar(0.5 + 1e-9, 0.3)) && !in_view(&near, &polar(0.5 - 1e-9, 0.3)));
    }

    #[test]
    fn a_stereo_pair_sees_what_both_cameras_see() {
        let config = config(MeasurementKind::StereoBearings);
        // On the edge of the left camera's view to the left: the right one, looking past it, decides.
        let edge = |y: f64| Vector2::new(3.0 * FRAC_PI_3.cos(), y + 3.0 * FRAC_PI_3.sin());
        assert!(!in_view(&config, &edge(0.25 - 1e-9)));
        assert!(in_view(&config, &edge(-0.25 - 1e-9)));
        assert!(!in_view(&config, &edge(-0.25 + 1e-9)));
        // The views of both meet b/2 / tan 60° ahead of the robot.
        let apex = 0.25 / FRAC_PI_3.tan();
        assert!(
            in_view(&config, &Vector2::new(apex + 1e-9, 0.0)) && !in_view(&config, &Vector2::new(apex - 1e-9, 0.0))
        );
    }

    #[test]
    fn a_full_circle_sees_straight_behind() {
        let config = FeatureSensorConfig { field_of_view_rad: TAU, ..exact(MeasurementKind::RangeBearing) };
        let behind = [(0, Vector2::new(-2.0, 1e-12)), (1, Vector2::new(-2.0, -1e-12))];
        let seen = FeatureSensor::new(&config, &NoiseConfig::default(), Vec::new(), 1)
            .observe(Stamp::default(), &Se2::identity(), &behind)
            .0;
        let bearings: Vec<f64> = seen.measurements.iter().map(|o| o.value[1]).collect();
        assert!((bearings[0] - PI).abs() < 1e-9 && (bearings[1] + PI).abs() < 1e-9);
    }

    /// Sum of squares of 2 · 5,000 draws, each divided by its standard deviation: χ² with 10,000 degrees of freedom,
    /// whose standard deviation is 141.
    #[test]
    fn noise_has_the_stated_variance_and_bias() {
        for kind in [MeasurementKind::RelativePosition, MeasurementKind::RangeBearing, MeasurementKind::StereoBearings]
        {
            let config = FeatureSensorConfig { bearing_bias_rad: 0.1, range_bias_m: -0.2, ..config(kind) };
            let (std, bias) = match kind {
                MeasurementKind::RangeBearing => ((0.05, 0.01), (-0.2, 0.1)),
                MeasurementKind::StereoBearings => ((0.01, 0.01), (0.1, 0.1)),
                _ => ((0.1, 0.1), (0.0, 0.0)),
            };
            let z = Vector2::new(2.0, 0.5);
            let truth = project(&config, &z) + Vector2::new(bias.0, bias.1);
            let mut sensor = FeatureSensor::new(&config, &NoiseConfig::default(), Vec::new(), 11);
            let mut sum = 0.0;
            for _ in 0..5000 {
                let seen = sensor.observe(Stamp::default(), &Se2::identity(), &[(0, z)]).0;
                let error = seen.measurements[0].value.xy() - truth;
                sum += (error.x / std.0).powi(2) + (error.y / std.1).powi(2);
            }
            assert!((sum - 10_000.0).abs() < 3.0 * 141.4, "{kind:?}: {sum}");
        }
    }

    /// 5,000 ranges, of which a twentieth is too long by 1–5 m, none too short: 250 ± 15, by 3 m ± 1.15 m.
    #[test]
    fn late_ranges_come_as_often_as_stated_and_are_only_too_long() {
        let config =
            FeatureSensorConfig { late_probability: 0.05, range_std_m: 1e-6, ..config(MeasurementKind::Range) };
        let mut sensor = FeatureSensor::new(&config, &NoiseConfig::default(), Vec::new(), 5);
        let z = Vector2::new(3.0, 0.5);
        let mut read = || {
            let seen = sensor.observe(Stamp::default(), &Se2::identity(), &[(0, z)]).0.measurements[0];
            assert_eq!(seen.value.len(), 1);
            seen.value[0] - z.norm()
        };
        let late: Vec<f64> = (0..5000).map(|_| read()).filter(|error| error.abs() > 1e-3).collect();
        assert!((205..=295).contains(&late.len()), "{}", late.len());
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!(late.iter().all(|error| (0.99..5.01).contains(error)) && (mean - 3.0).abs() < 0.3, "{mean}");
    }

    #[test]
    fn misreads_come_as_often_as_stated_and_spare_the_others() {
        let clean = config(MeasurementKind::RangeBearing);
        let dirty = FeatureSensorConfig { misread_probability: 0.1, ..clean.clone() };
        let (mut a, mut b) = (
            FeatureSensor::new(&clean, &NoiseConfig::default(), Vec::new(), 3),
            FeatureSensor::new(&dirty, &NoiseConfig::default(), Vec::new(), 3),
        );
        let landmark = [(0, Vector2::new(2.0, 0.5))];
        let mut misread = 0;
        for _ in 0..5000 {
            let (x, y) = (
                a.observe(Stamp::default(), &Se2::identity(), &landmark).0,
                b.observe(Stamp::default(), &Se2::identity(), &landmark).0,
            );
            misread += u32::from(x != y);
        }
        // Binomial: 500 ± 21.
        assert!((437..=563).contains(&misread), "{misread}");
    }

    /// 5,000 scans of one feature: 4,500 ± 21 are seen, 1,000 ± 32 false ones, 450 ± 20 of another class.
    #[test]
    fn detection_clutter_and_confusion_come_as_often_as_stated() {
        let config = FeatureSensorConfig {
            detection_probability: 0.9,
            clutter: 0.2,
            classified: true,
            class_confusion: 0.1,
            identified: false,
            ..config(MeasurementKind::RangeBearing)
        };
        let mut sensor = FeatureSensor::new(&config, &NoiseConfig::default(), vec![2, 1], 5);
        let (mut seen, mut clutter, mut confused) = (0, 0, 0);
        for _ in 0..5000 {
            let (scan, of) = sensor.observe(Stamp::default(), &Se2::identity(), &[(0, polar(2.0, 0.1))]);
            assert_eq!(scan.measurements.len(), of.len());
            for (measurement, of) in scan.measurements.iter().zip(of) {
                assert!(measurement.id.is_none() && (1..=2).contains(&measurement.label.class));
                match of {
                    Some(id) => {
                        assert_eq!(id, 0);
                        seen += 1;
                        confused += u32::from(measurement.label.class == 1);
                    }
                    None => {
                        assert!(measurement.value[0] <= 5.0 && measurement.value[1].abs() <= FRAC_PI_3 + 1e-9);
                        clutter += 1;
                    }
                }
            }
        }
        assert!((4437..=4563).contains(&seen), "{seen}");
        assert!((905..=1095).contains(&clutter), "{clutter}");
        assert!((390..=510).contains(&confused), "{confused}");

        // A sensor that identifies sees the same, without clutter.
        let named = FeatureSensorConfig { identified: true, ..config.clone() };
        let (mut a, mut b) = (
            FeatureSensor::new(&config, &NoiseConfig::default(), vec![2], 5),
            FeatureSensor::new(&named, &NoiseConfig::default(), vec![2], 5),
        );
        for _ in 0..100 {
            let landmark = [(0, polar(2.0, 0.1))];
            let (dirty, of) = a.observe(Stamp::default(), &Se2::identity(), &landmark);
            let (clean, _) = b.observe(Stamp::default(), &Se2::identity(), &landmark);
            let real = dirty.measurements.iter().zip(of).filter(|(_, of)| of.is_some());
            assert!(real.map(|(o, _)| o.value).eq(clean.measurements.iter().map(|o| o.value)));
        }
    }

    #[test]
    fn an_anonymous_sensor_gives_no_ids() {
        let config = FeatureSensorConfig { identified: false, ..config(MeasurementKind::RangeBearing) };
        let seen = FeatureSensor::new(&config, &NoiseConfig::default(), Vec::new(), 1)
            .observe(Stamp::default(), &Se2::identity(), &[(4, polar(2.0, 0.0))])
            .0;
        assert_eq!(seen.measurements[0].id, None);
    }
}
