//! A recording through the filter.

use lienav_attitude::{Attitude, Config, Estimate};
use lienav_base::settings::OutOfRange;
use lienav_io::inertial::{InertialRecording, TrueOrientation};
use nalgebra::UnitQuaternion;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// How the filter begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// Knowing nothing: with the first sample.
    #[default]
    Cold,
    /// With the first true orientation, and the first sample after it.
    FirstOrientation,
}

/// Long enough for the clock, short enough for most to be undisturbed.
const BLOCK: usize = 1000;

/// How well a first true orientation is known, rad.
const FIRST_STD_RAD: f64 = 2e-3;

/// An estimate and the truth of the same instant.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// What the filter says at the sample nearest to the truth's stamp, carried over the rest by its own rate.
    pub estimate: Estimate,
    /// What was.
    pub truth: TrueOrientation,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// At the stamps of the truth.
    pub points: Vec<Point>,
    /// The last one.
    pub last: Option<Estimate>,
    /// How many samples there were.
    pub samples: usize,
    /// Time of a sample, orientation included, ns: the mean over blocks of 1000, and of these the median.
    pub sample_ns: f64,
    /// What was left out, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Gaps that samples did not bridge.
    pub gaps: u64,
    /// How often the vertical was lost, and found again.
    pub levellings: u64,
}

/// Runs the filter over a recording, twice: once for the estimates, once for the time.
///
/// # Errors
/// A setting out of range.
pub fn run(recording: &InertialRecording, config: &Config, begin: Begin) -> Result<Run, OutOfRange> {
    let mut attitude = begun(recording, config, begin)?;
    let mut run = Run { samples: recording.samples.len(), ..Run::default() };
    let mut truth = recording.truth.iter().peekable();
    let mut fields = recording.fields.iter().peekable();
    let mut before: Option<Estimate> = None;
    for sample in samples(recording, begin) {
        // What is left out is counted by the filter.
        let _ = attitude.imu(sample);
        while let Some(field) = fields.next_if(|field| field.stamp <= sample.stamp) {
            let _ = attitude.magnetic_field(field);
        }
        let Some(estimate) = attitude.estimate() else { continue };
        while let Some(truth) = truth.next_if(|truth| truth.stamp <= estimate.stamp) {
            let late = estimate.stamp.since(truth.stamp);
            let nearest = match before {
                Some(before) if truth.stamp.since(before.stamp) < late => before,
                _ => estimate,
            };
            // Truth from before the first sample, or in a gap, has no estimate.
            if truth.stamp.since(nearest.stamp).abs() <= config.timing.max_gap_s {
                run.points.push(Point { estimate: moved_to(&nearest, truth), truth: *truth });
            }
        }
        before = Some(estimate);
    }
    run.last = attitude.estimate();
    run.dropped = attitude.counts().by_word();
    for (reason, count) in &recording.dropped {
        *run.dropped.entry(reason).or_default() += count;
    }
    run.gaps = attitude.gaps();
    run.levellings = attitude.levellings();
    run.sample_ns = sample_ns(recording, config, begin)?;
    Ok(run)
}

fn begun(recording: &InertialRecording, config: &Config, begin: Begin) -> Result<Attitude, OutOfRange> {
    let mut attitude = Attitude::new(config.clone())?;
    if let (Begin::FirstOrientation, Some(first)) = (begin, recording.truth.first()) {
        // A quaternion of unit norm is never refused.
        let _ = attitude.set_orientation(first.orientation, FIRST_STD_RAD);
    }
    Ok(attitude)
}

fn samples(recording: &InertialRecording, begin: Begin) -> impl Iterator<Item = &lienav_attitude::ImuSample> {
    let from = recording.truth.first().filter(|_| begin == Begin::FirstOrientation).map(|first| first.stamp);
    // A stamp may be rounded.
    recording.samples.iter().skip_while(move |sample| from.is_some_and(|from| from.since(sample.stamp) > 1e-3))
}

fn moved_to(estimate: &Estimate, truth: &TrueOrientation) -> Estimate {
    let step = truth.stamp.since(estimate.stamp);
    let turn = UnitQuaternion::from_scaled_axis(estimate.angular_velocity * step);
    Estimate { orientation: estimate.orientation * turn, ..*estimate }
}

fn sample_ns(recording: &InertialRecording, config: &Config, begin: Begin) -> Result<f64, OutOfRange> {
    let mut attitude = begun(recording, config, begin)?;
    let mut blocks = Vec::with_capacity(recording.samples.len() / BLOCK + 1);
    for block in recording.samples.chunks(BLOCK) {
        let start = Instant::now();
        for sample in block {
            let _ = attitude.imu(sample);
            black_box(attitude.orientation());
        }
        blocks.push(start.elapsed().as_secs_f64() * 1e9 / block.len() as f64);
    }
    blocks.sort_by(f64::total_cmp);
    Ok(blocks.get(blocks.len() / 2).copied().unwrap_or_default())
}
