//! A simulation as a recording, so that it goes the way of every other.

use lienav_io::identities::Identities;
use lienav_io::recording::{Input, Recording};
use lienav_sim::{Frame, Scenario, ScenarioError, Simulation};

/// What a robot would have recorded in `scenario`, in order of arrival: a gyroscope's reading and the features
/// between two odometry messages arrive with the later of these. The truth has a pose for every message; the settings
/// are those of the simulated sensors.
///
/// # Errors
/// A value of the scenario out of range, or waypoints through which no path leads.
pub fn recording(scenario: &Scenario) -> Result<Recording, ScenarioError> {
    let simulation = Simulation::new(scenario)?;
    let mut recording = Recording {
        name: format!("{}, seed {}", scenario.name, scenario.seed),
        true_landmarks: simulation.landmarks().to_vec(),
        config: Some(simulation.filter_config("default")),
        ..Recording::default()
    };
    let truth = simulation.clone();
    recording.identities = withheld(&simulation);
    for frame in simulation {
        keep_identities(&mut recording.identities, &frame);
        for input in inputs(frame) {
            recording.truth.push((input.stamp(), truth.truth(input.stamp())));
            recording.inputs.push(input);
        }
    }
    recording.truth.sort_by_key(|(stamp, _)| *stamp);
    recording.truth.dedup_by_key(|(stamp, _)| *stamp);
    Ok(recording)
}

/// Where the true identities are kept of a feature sensor that does not say them.
pub fn withheld(simulation: &Simulation) -> Option<Identities> {
    (!simulation.scenario().sensor.identified).then(Identities::default)
}

/// Keeps the true identities of the features of a frame, where they are withheld.
pub fn keep_identities(identities: &mut Option<Identities>, frame: &Frame) {
    if let (Some(identities), Some(scan)) = (identities, &frame.features) {
        identities.keep(scan, frame.identities.iter().copied());
    }
}

/// What arrives with one frame of a simulation, in order; measurements of added sensors arrive in the order of their
/// stamps.
pub fn inputs(frame: Frame) -> impl Iterator<Item = Input> {
    let imu = frame.imu.map(|imu| Input::Imu(imu.into()));
    let (earlier, later): (Vec<_>, Vec<_>) = frame.added.into_iter().partition(|scan| scan.stamp < frame.stamp);
    let known = [Some(Input::Odometry(frame.odometry)), frame.features.map(Input::Scan)].into_iter().flatten();
    let features = |scans: Vec<_>| scans.into_iter().map(Input::Scan);
    imu.into_iter().chain(features(earlier)).chain(known).chain(features(later))
}

#[cfg(test)]
mod tests {
    use super::super::errors::Errors;
    use super::super::run::run;
    use super::*;
    use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
    use lienav_slam::Config;

    #[test]
    fn every_message_has_its_truth_and_every_scan_becomes_a_step() {
        let recording = recording(&Scenario::default()).unwrap();
        let truth = Truth::new(&recording.truth, &recording.true_landmarks, 0.0);
        assert!(recording.inputs.iter().all(|input| truth.at(input.stamp()).is_some()));
        let scans = recording.inputs.iter().filter(|input| matches!(input, Input::Scan(_))).count();
        let run = run(&recording, recording.config.as_ref().unwrap(), |_| ()).unwrap();
        assert_eq!((run.estimates.len(), Errors::new(&run, &truth).steps_without_truth), (scans, 0));
        // Noise puts a few far features beyond what the settings believe.
        let believed = |(reason, count): (&String, &u64)| reason == "out_of_range" && *count < 50;
        assert!(run.dropped.iter().all(believed), "{:?}", run.dropped);
    }

    #[test]
    fn with_sensors_almost_without_noise_every_filter_follows_the_truth() {
        let mut scenario = Scenario::default();
        (scenario.odometry.velocity_x_std, scenario.odometry.velocity_y_std) = (1e-6, 1e-6);
        (scenario.odometry.yaw_rate_std, scenario.sensor.bearing_std_rad) = (1e-6, 1e-6);
        let recording = recording(&scenario).unwrap();
        let truth = Truth::new(&recording.truth, &recording.true_landmarks, MAX_TRUTH_GAP_S);
        for filter in ["ekf", "fe-ekf", "reduced"] {
            let config = Config { filter: filter.into(), ..recording.config.clone().unwrap() };
            let run = run(&recording, &config, |_| ()).unwrap();
            let rmse = Errors::new(&run, &truth).position_rmse().unwrap();
            assert!(rmse < 1e-4, "{filter}: {rmse} m");
        }
    }
}
