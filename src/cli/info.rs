//! `lienav info`: what a recording holds.

use super::failure::{Failure, print};
use super::source::Source;
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Say what a recording holds
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let info = Info::of(&args.source.open()?);
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&info).map_err(Failure::failed)?));
    }
    print(&info.to_text())
}

/// What a recording holds.
#[derive(Debug, PartialEq, Serialize)]
struct Info {
    name: String,
    odometry: Stream,
    imu: Stream,
    features: Stream,
    observations: usize,
    identities: usize,
    observations_without_identity: usize,
    truth: Stream,
    true_landmarks: usize,
    has_parameters: bool,
    dropped: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

/// What there is of one kind of input.
#[derive(Debug, PartialEq, Serialize)]
struct Stream {
    messages: usize,
    first_stamp_s: Option<f64>,
    duration_s: f64,
    rate_hz: Option<f64>,
}

impl Stream {
    fn of(stamps: impl Iterator<Item = Stamp> + Clone) -> Self {
        let messages = stamps.clone().count();
        let (first, last) = (stamps.clone().min(), stamps.max());
        let duration_s = first.zip(last).map_or(0.0, |(first, last)| last.since(first));
        let rate_hz = (duration_s > 0.0).then(|| (messages - 1) as f64 / duration_s);
        Self { messages, first_stamp_s: first.map(Stamp::secs), duration_s, rate_hz }
    }
}

impl Info {
    fn of(recording: &Recording) -> Self {
        let stamps = |wanted: fn(&Input) -> bool| {
            Stream::of(recording.inputs.iter().filter(move |input| wanted(input)).map(Input::stamp))
        };
        let clouds = recording.inputs.iter().filter_map(|input| match input {
            Input::Features(cloud) => Some(cloud),
            _ => None,
        });
        let identities: Vec<Option<u32>> = clouds.flat_map(|cloud| &cloud.observations).map(|o| o.id).collect();
        Self {
            name: recording.name.clone(),
            odometry: stamps(|input| matches!(input, Input::Odometry(_))),
            imu: stamps(|input| matches!(input, Input::Imu(_))),
            features: stamps(|input| matches!(input, Input::Features(_))),
            observations: identities.len(),
            identities: identities.iter().flatten().collect::<BTreeSet<_>>().len(),
            observations_without_identity: identities.iter().filter(|id| id.is_none()).count(),
            truth: Stream::of(recording.truth.iter().map(|(stamp, _)| *stamp)),
            true_landmarks: recording.true_landmarks.len(),
            has_parameters: recording.config.is_some(),
            dropped: recording.dropped.clone(),
            warnings: recording.warnings.clone(),
        }
    }

    fn to_text(&self) -> String {
        let mut text =
            format!("{}\n\n{:<14}{:>10}{:>14}{:>12}\n", self.name, "", "messages", "duration [s]", "rate [Hz]");
        let streams =
            [("odometry", &self.odometry), ("imu", &self.imu), ("features", &self.features), ("truth", &self.truth)];
        for (name, stream) in streams {
            let rate = stream.rate_hz.map_or("–".to_owned(), |rate| format!("{rate:.2}"));
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:<14}{:>10}{:>14.3}{rate:>12}", stream.messages, stream.duration_s);
        }
        let _ = writeln!(
            text,
            "\n{} observations of {} features, {} without identity; {} true landmarks; {}",
            self.observations,
            self.identities,
            self.observations_without_identity,
            self.true_landmarks,
            if self.has_parameters { "says what its sensors are like" } else { "says nothing of its sensors" },
        );
        for (reason, count) in &self.dropped {
            let _ = writeln!(text, "left out: {count} × {reason}");
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_slam::{FeatureKind, Features, Observation, Odometry};
    use nalgebra::Vector2;

    #[test]
    fn streams_and_identities_are_counted() {
        let odometry = |seconds: f64| {
            let stamp = Stamp::from_secs(seconds);
            Input::Odometry(Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None })
        };
        let seen = |id| Observation { id, value: [0.0, 0.0].into(), covariance: None };
        let cloud = Features {
            stamp: Stamp::from_secs(1.0),
            kind: FeatureKind::RangeBearing,
            observations: vec![seen(Some(4)), seen(None), seen(Some(4))],
        };
        let recording = Recording {
            inputs: vec![odometry(2.0), Input::Features(cloud), odometry(0.0), odometry(1.0)],
            ..Recording::default()
        };
        let info = Info::of(&recording);
        let expected = Stream { messages: 3, first_stamp_s: Some(0.0), duration_s: 2.0, rate_hz: Some(1.0) };
        assert_eq!(info.odometry, expected);
        assert_eq!((info.features.messages, info.features.rate_hz, info.imu.messages), (1, None, 0));
        assert_eq!((info.observations, info.identities, info.observations_without_identity), (3, 1, 1));
        assert!(info.to_text().contains("3 observations of 1 features"));
    }
}
