//! What is kept of a run: estimates at their own instants, times, counts.

use super::observability::Watch;
use lienav_base::stamp::Stamp;
use lienav_inertial::measurement::Measurement;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::state::State;
use lienav_io::space::data::{Frame, Image};
use lienav_lie::Se3;
use lienav_space::estimator::Observer;
use lienav_space::{Counts as Dropped, DropReason, PoseEstimate, Seen, Step, Value};
use nalgebra::Matrix6;
use std::collections::BTreeMap;

/// An estimate at its own instant.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// When.
    pub stamp: Stamp,
    /// The body in the world.
    pub pose: Se3,
    /// Covariance of position, m, then of the rotation about the axes of the world, rad.
    pub covariance: Matrix6<f64>,
    /// Whether a frame was taken in at this instant.
    pub has_frame: bool,
}

/// What a run counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Measurements that were used.
    pub used: usize,
    /// Measurements beyond the gate.
    pub gated: usize,
    /// Landmarks that were initialized.
    pub initialized: usize,
    /// Landmarks that were removed, because their measurements failed the gate again and again.
    pub removed: usize,
    /// How often the covariance was widened, because most measurements were beyond the gate.
    pub widened: usize,
    /// Frames in which the body was taken to be at rest.
    pub at_rest: usize,
    /// What was left out, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// A run in progress.
#[derive(Default)]
pub struct Session {
    /// What was estimated.
    pub estimates: Vec<Estimate>,
    /// How long each step took, µs.
    pub step_us: Vec<f64>,
    /// What was counted.
    pub counts: Counts,
    /// What the filter takes for observable, where that is asked for.
    pub watch: Option<Watch>,
    /// Why the run ended before its time.
    pub failure: Option<String>,
    /// Since the last estimate, s.
    pub spent_s: f64,
}

impl Session {
    /// Keeps what a step gave.
    pub fn take(&mut self, step: &Step) {
        let counts = &mut self.counts;
        counts.used += step.accepted;
        counts.gated += step.gated;
        counts.initialized += step.initialized;
        counts.removed += step.removed;
        counts.widened += usize::from(step.is_widened);
        counts.at_rest += usize::from(step.is_at_rest);
        self.keep(&step.estimate, step.has_frame);
    }

    /// Keeps the estimate of an instant.
    pub fn keep(&mut self, estimate: &PoseEstimate, has_frame: bool) {
        let PoseEstimate { stamp, pose, covariance, .. } = *estimate;
        self.estimates.push(Estimate { stamp, pose, covariance, has_frame });
        self.step_us.push(self.spent_s * 1e6);
        self.spent_s = 0.0;
    }

    /// The estimate is no longer one: the run ends.
    pub fn fail(&mut self, stamp: Stamp) {
        self.failure = Some(format!("the estimate was lost at {stamp}: the run ends there"));
    }

    /// What was left out but for the gate, by reason.
    pub fn count_dropped(&mut self, counts: &Dropped) {
        let by_word = counts.by_word().into_iter().filter(|(word, _)| *word != DropReason::Gated.word());
        self.counts.dropped.extend(by_word.map(|(word, count)| (word.to_owned(), count)));
    }
}

impl Observer for Watch {
    fn before_predict(&mut self, state: &State, increment: &Preintegrated) {
        self.predict(state, increment);
    }

    fn before_correct(&mut self, state: &State, measurements: &[&dyn Measurement], stamp: Stamp) {
        self.correct(state, measurements, stamp.secs());
    }
}

/// A frame of a recording as input of the pipeline: the camera is sensor 0, further ones come behind it.
pub fn input(frame: &Frame) -> lienav_space::Frame {
    let seen = |one: &lienav_io::space::data::Seen| {
        let (sensor, value) = match one.at {
            Image::Normalized(at) => (0, Value::Normalized(at)),
            Image::Further(k, at) => (k + 1, Value::Normalized(at)),
            Image::Stereo(z) => (0, Value::Stereo(z)),
        };
        Seen { id: one.id, sensor, value }
    };
    lienav_space::Frame { stamp: frame.stamp, seen: frame.seen.iter().map(seen).collect() }
}
