//! `lienav info`: what a recording holds.

use super::failure::{Failure, print};
use super::layers::Layers;
use super::source::Source;
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Say what a recording holds
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    source: Source,
    /// A ROS parameter file for slam_node, over that of the bag: which sensors, tags and sources of odometry there are
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(source) = args.source.in_space() {
        return super::space::info(source, args.json);
    }
    let mut stream = args.source.stream(&Layers::of_file(args.config.clone()))?;
    let info = Info::of(&mut stream).beside(&stream.finish());
    if args.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&info).map_err(Failure::failed)?));
    }
    print(&info.to_text())
}

/// What a recording holds.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Info {
    name: String,
    odometry: Stream,
    imu: Stream,
    features: Stream,
    #[serde(rename = "observations")]
    measurements: usize,
    identities: usize,
    #[serde(rename = "observations_without_identity")]
    measurements_without_identity: usize,
    truth: Stream,
    true_landmarks: usize,
    has_parameters: bool,
    dropped: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

/// What there is of one kind of input.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Stream {
    messages: usize,
    first_stamp_s: Option<f64>,
    duration_s: f64,
    rate_hz: Option<f64>,
}

impl Stream {
    fn of(stamps: impl Iterator<Item = Stamp>) -> Self {
        let mut seen = Seen::default();
        stamps.for_each(|stamp| seen.add(stamp));
        seen.stream()
    }
}

/// The stamps of one kind of input so far.
#[derive(Default)]
struct Seen {
    messages: usize,
    bounds: Option<(Stamp, Stamp)>,
}

impl Seen {
    fn add(&mut self, stamp: Stamp) {
        self.messages += 1;
        self.bounds = Some(self.bounds.map_or((stamp, stamp), |(first, last)| (first.min(stamp), last.max(stamp))));
    }

    fn stream(&self) -> Stream {
        let duration_s = self.bounds.map_or(0.0, |(first, last)| last.since(first));
        let rate_hz = (duration_s > 0.0).then(|| (self.messages - 1) as f64 / duration_s);
        let first_stamp_s = self.bounds.map(|(first, _)| first.secs());
        Stream { messages: self.messages, first_stamp_s, duration_s, rate_hz }
    }
}

impl Info {
    /// Goes through the input once and keeps none of it.
    fn of(inputs: &mut impl Iterator<Item = Input>) -> Self {
        let (mut odometry, mut imu, mut features) = (Seen::default(), Seen::default(), Seen::default());
        let (mut measurements, mut without, mut identities) = (0, 0, BTreeSet::new());
        for input in inputs {
            match &input {
                Input::Odometry(_) | Input::Fallback { .. } | Input::Received { .. } => odometry.add(input.stamp()),
                Input::Imu(sample) => imu.add(sample.stamp),
                Input::Scan(cloud) => {
                    features.add(cloud.stamp);
                    measurements += cloud.measurements.len();
                    without += cloud.measurements.iter().filter(|seen| seen.id.is_none()).count();
                    identities.extend(cloud.measurements.iter().filter_map(|seen| seen.id));
                }
            }
        }
        Self {
            odometry: odometry.stream(),
            imu: imu.stream(),
            features: features.stream(),
            measurements,
            identities: identities.len(),
            measurements_without_identity: without,
            ..Self::default()
        }
    }

    /// Adds what is known besides the input.
    fn beside(self, recording: &Recording) -> Self {
        Self {
            name: recording.name.clone(),
            truth: Stream::of(recording.truth.iter().map(|(stamp, _)| *stamp)),
            true_landmarks: recording.true_landmarks.len(),
            has_parameters: recording.config.is_some(),
            dropped: recording.dropped.clone(),
            warnings: recording.contradictions.iter().chain(&recording.warnings).cloned().collect(),
            ..self
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
            self.measurements,
            self.identities,
            self.measurements_without_identity,
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
    use lienav_slam::{Measurement, MeasurementKind, Odometry, Scan};
    use nalgebra::Vector2;

    #[test]
    fn streams_and_identities_are_counted() {
        let odometry = |seconds: f64| {
            let stamp = Stamp::from_secs(seconds);
            Input::Odometry(Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None })
        };
        let seen = |id| Measurement::new(id, [0.0, 0.0]);
        let cloud = Scan {
            stamp: Stamp::from_secs(1.0),
            kind: MeasurementKind::RangeBearing,
            measurements: vec![seen(Some(4)), seen(None), seen(Some(4))],
        };
        let inputs = [odometry(2.0), Input::Scan(cloud), odometry(0.0), odometry(1.0)];
        let info = Info::of(&mut inputs.into_iter()).beside(&Recording::default());
        let expected = Stream { messages: 3, first_stamp_s: Some(0.0), duration_s: 2.0, rate_hz: Some(1.0) };
        assert_eq!(info.odometry, expected);
        assert_eq!((info.features.messages, info.features.rate_hz, info.imu.messages), (1, None, 0));
        assert_eq!((info.measurements, info.identities, info.measurements_without_identity), (3, 1, 1));
        assert!(info.to_text().contains("3 observations of 1 features"));
    }
}
