//! Scenarios whose noise is not what a filter is told: `range-bearing` with one thing wrong each.

use super::measurement_noise::NoiseConfig;
use super::scenario::Scenario;

/// All of them, made of this one.
pub(super) fn disturbed(base: &Scenario) -> Vec<Scenario> {
    let with = |name: &str, noise: NoiseConfig| Scenario { name: name.into(), noise, ..base.clone() };
    let usual = NoiseConfig::default;
    let alike = |name: &str, alike_s: f64| with(name, NoiseConfig { alike_s, ..usual() });
    let mut scales = with("scales-off", usual());
    scales.odometry.velocity_scale = 1.03;
    scales.odometry.yaw_rate_scale = 0.97;
    vec![
        alike("alike-0.5s", 0.5),
        alike("alike-2s", 2.0),
        alike("alike-5s", 5.0),
        with("heavy-tails", NoiseConfig { tail_probability: 0.05, tail_factor: 5.0, ..usual() }),
        // Half of the one lap of 40 s.
        with("noise-tripled", NoiseConfig { change_s: 20.0, readings_change: 3.0, ..usual() }),
        with("clouds-late", NoiseConfig { cloud_delay_s: 0.1, ..usual() }),
        scales,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use lienav_slam::Scan;

    fn scans(name: &str) -> Vec<Scan> {
        let simulation = Simulation::new(&Scenario::named(name).unwrap()).unwrap();
        simulation.filter_map(|frame| frame.features).collect()
    }

    /// A scan that is 0.1 s late is the one that was taken 0.1 s, a scan, before.
    #[test]
    fn late_scans_are_of_where_the_robot_was() {
        let number = |scan: &Scan| scan.measurements.iter().map(|o| o.id.unwrap()).collect::<Vec<_>>();
        let (usual, late) = (scans("range-bearing"), scans("clouds-late"));
        assert!(usual.len() == late.len() && usual.len() > 300);
        for (before, after) in usual.iter().zip(&late[1..]) {
            assert_eq!(number(before), number(after));
        }
    }

    #[test]
    fn ranges_are_scaled() {
        let usual = Scenario::named("range-bearing").unwrap();
        let scaled = Scenario { noise: NoiseConfig { range_scale: 1.03, ..usual.noise.clone() }, ..usual.clone() };
        let sum = |scenario: &Scenario| -> f64 {
            let scans = Simulation::new(scenario).unwrap().filter_map(|frame| frame.features);
            scans.flat_map(|scan| scan.measurements).map(|o| o.value[0]).sum()
        };
        assert!((sum(&scaled) / sum(&usual) - 1.03).abs() < 1e-3);
    }
}
