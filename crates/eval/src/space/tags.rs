//! The pipeline of tags over a recording: with odometry where there is any, else at a velocity that stays nearly the
//! same.

use super::session::{Counts, Estimate};
use super::settings::Settings;
use super::tag_input::{boards_of, cameras_of, frame_of, known_tags, sights};
use super::tag_motion::{Motion, Odometry, input};
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::landmark::Kind;
use lienav_io::space::data::SpaceRecording;
use lienav_io::space::tags::TagFrame;
use lienav_lie::Se3;
use lienav_space::tags::{TagSlam3d, start};
use lienav_space::{Config, DropReason, Pose, Step};
use lienav_tags::filter::TagOptions;
use nalgebra::{Matrix6, Vector3};
use std::collections::BTreeSet;
use std::time::Instant;

/// What is known of a run before it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TagRunOptions {
    /// Whether the true tags are known to the filter, with this standard deviation of their places, m.
    pub map_sigma: Option<f64>,
    /// Which measurements of the motion are used.
    pub odometry: Odometry,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct TagRun {
    /// In order.
    pub estimates: Vec<Estimate>,
    /// How long each took, µs.
    pub step_us: Vec<f64>,
    /// What was counted.
    pub counts: Counts,
    /// Tags of the state at the end, m, in the world.
    pub tags: Vec<(u64, Vector3<f64>)>,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
}

/// So long, s, the true poses are given where no tag is known; these instants are not judged.
const GIVEN_S: f64 = 5.0;

/// A position less certain than this, m by axis, is no estimate: it is not kept, but counted.
const UNKNOWN_M: f64 = 0.5;

/// Cameras that see no tag for longer than this are still there, s: time goes on in the pipeline, which takes no gap for a
/// clock that was set.
const TICK_S: f64 = 1.0;

/// Longer gaps are taken for what they are, s.
const LONGEST_GAP_S: f64 = 3600.0;

/// Runs it; `None` where there is nothing to start from.
pub fn run(recording: &SpaceRecording, truth: &Truth, options: &TagRunOptions) -> Option<TagRun> {
    let motion = Motion::of(recording, options.odometry);
    let mut session = TagSession::start(recording, truth, options, &motion)?;
    let begun = session.begun;
    let mut twists = motion.twists.iter().skip_while(|twist| twist.stamp <= begun).peekable();
    for instant in motion.instants(recording, begun) {
        while let Some(twist) = twists.next_if(|twist| twist.stamp <= instant.stamp) {
            advance_clock(&mut session.slam, &mut session.clock, twist.stamp);
            // What is dropped is counted.
            let _ = session.slam.push_twist(&input(twist));
        }
        advance_clock(&mut session.slam, &mut session.clock, instant.stamp);
        match instant.frame {
            Some(k) => session.push_frame(&recording.tags.frames[k], truth),
            None => _ = session.slam.push_instant(instant.stamp),
        }
        session.poll();
        if session.is_lost {
            break;
        }
    }
    session.slam.flush();
    session.poll();
    Some(session.finish())
}

/// A run in progress.
struct TagSession {
    slam: TagSlam3d,
    /// Of the first instant.
    begun: Stamp,
    clock: Option<Stamp>,
    run: TagRun,
    spent: f64,
    /// Frames that were pushed: other steps of their instants are not kept.
    frames: BTreeSet<Stamp>,
    start_sigma: [f64; 5],
    /// Up to when true poses are given, in recordings without known tags.
    given_until: Option<Stamp>,
    /// Whether they still are.
    gives: bool,
    /// The covariance of the last of them.
    alike: Option<Matrix6<f64>>,
    is_lost: bool,
}

/// Where a run begins.
struct Begin {
    at: Stamp,
    pose: Se3,
    /// Whether known tags have shown it.
    is_shown: bool,
}

impl TagSession {
    fn start(recording: &SpaceRecording, truth: &Truth, options: &TagRunOptions, motion: &Motion) -> Option<Self> {
        let settings = Settings::of(recording);
        let sigma = recording.tags.pixel_sigma.unwrap_or(settings.pixels.own[0]);
        let config = motion.config(sigma);
        let (most_tags, unknown) = (config.tags.max_tags, config.tags.free_motion().unknown);
        let mut slam = TagSlam3d::new(Config::default(), config).ok()?.with_lost_sigma(settings.lost_sigma);
        for (k, camera) in cameras_of(&recording.tags).into_iter().enumerate() {
            // Tags of an invalid camera are counted.
            let _ = slam.set_camera(k, camera);
        }
        slam.set_known(known_tags(recording, options.map_sigma), boards_of(&recording.tags));
        let mut warnings = recording.warnings.clone();
        let begin = begin(recording, truth, motion, &slam, sigma, &mut warnings)?;
        // Near a start that tags show, and before they are taken in.
        let spread = match (begin.is_shown, truth.is_empty()) {
            (true, _) => start::NEAR,
            (false, false) => [0.1, 0.1],
            (false, true) => [settings.start_sigma[0], settings.start_sigma[2]],
        };
        let moves = if motion.twists.is_empty() { unknown } else { (0.0, 0.0) };
        let state = start::state_at(&begin.pose, &start::by_axis(spread), moves, most_tags, &Filter::GROUP);
        // What moves the body at the start, and what it has changed from.
        let held = motion.twists.partition_point(|twist| twist.stamp <= begin.at);
        let before = &motion.twists[held.saturating_sub(2)..held];
        let mut clock = None;
        for twist in before {
            advance_clock(&mut slam, &mut clock, twist.stamp);
            let _ = slam.push_twist(&input(twist));
        }
        slam.begin(state, begin.at);
        let given_until = (!begin.is_shown && !truth.is_empty()).then(|| begin.at + GIVEN_S);
        if given_until.is_some() {
            let sentence = format!("no tag is known: the true poses of the first {GIVEN_S} s say where the world is");
            warnings.push(sentence);
        }
        Some(Self {
            slam,
            begun: begin.at,
            clock,
            run: TagRun { warnings, ..TagRun::default() },
            spent: 0.0,
            frames: BTreeSet::new(),
            start_sigma: settings.start_sigma,
            gives: given_until.is_some(),
            given_until,
            alike: None,
            is_lost: false,
        })
    }

    fn push_frame(&mut self, frame: &TagFrame, truth: &Truth) {
        self.give(frame.stamp, truth);
        self.frames.insert(frame.stamp);
        let _ = self.slam.push_frame(&frame_of(frame));
    }

    /// Without known tags, the first true poses say where the world is. Their errors are alike: behind the last, what all
    /// of them are off by is added to the errors of the pose.
    fn give(&mut self, stamp: Stamp, truth: &Truth) {
        if self.gives && self.given_until.is_some_and(|until| until <= stamp) {
            self.gives = false;
            if let Some(covariance) = self.alike.take() {
                let _ = self.slam.push_common_error(stamp, &covariance);
                self.frames.insert(stamp);
            }
        }
        let Some(pose) = truth.at(stamp).filter(|_| self.gives) else { return };
        let [turn, _, place, ..] = self.start_sigma;
        let covariance = truth.covariance_at(stamp).copied().unwrap_or_else(|| start::by_axis([turn, place]));
        self.alike = Some(covariance);
        let _ = self.slam.push_pose(&Pose { stamp, pose, covariance });
    }

    fn poll(&mut self) {
        loop {
            let begin = Instant::now();
            let step = self.slam.poll();
            self.spent += begin.elapsed().as_secs_f64();
            match step {
                Some(step) => self.take(&step),
                None => break,
            }
        }
        if self.slam.counts().get(DropReason::InvalidCovariance) > 0 && !self.is_lost {
            self.is_lost = true;
            let at = self.clock.unwrap_or(self.begun);
            self.run.warnings.push(format!("the estimate was lost at {at}: the run ends there"));
        }
    }

    /// Keeps the estimate of an instant.
    fn take(&mut self, step: &Step) {
        let counts = &mut self.run.counts;
        counts.used += step.accepted;
        counts.gated += step.gated;
        counts.initialized += step.initialized;
        counts.removed += step.removed;
        counts.widened += usize::from(step.is_widened);
        let estimate = &step.estimate;
        if !step.has_frame && self.frames.contains(&estimate.stamp) {
            return;
        }
        if self.given_until.is_some_and(|until| estimate.stamp < until) {
            self.drop_one("given_pose");
            return;
        }
        if (0..3).any(|axis| estimate.covariance[(axis, axis)] > UNKNOWN_M * UNKNOWN_M) {
            self.drop_one("position_unknown");
            return;
        }
        let (stamp, pose, covariance, has_frame) = (estimate.stamp, estimate.pose, estimate.covariance, step.has_frame);
        self.run.estimates.push(Estimate { stamp, pose, covariance, has_frame });
        self.run.step_us.push(self.spent * 1e6);
        self.spent = 0.0;
    }

    fn drop_one(&mut self, reason: &str) {
        *self.run.counts.dropped.entry(reason.to_owned()).or_default() += 1;
    }

    fn finish(mut self) -> TagRun {
        let counted = self.slam.counts().by_word();
        let counted = counted.into_iter().filter(|(word, _)| *word != DropReason::Gated.word());
        self.run.counts.dropped.extend(counted.map(|(word, count)| (word.to_owned(), count)));
        let landmarks = self.slam.state().map(|state| state.landmarks.as_slice()).unwrap_or_default();
        let places = landmarks.iter().filter(|one| one.kind == Kind::ClonePlace);
        self.run.tags = places.map(|one| (one.id, one.position)).collect();
        /// The worst are named.
        const MOST_NAMED: usize = 10;
        let mut pairs = self.slam.contradictions();
        pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
        if !pairs.is_empty() {
            let name = |([one, other], off_m): &([u64; 2], f64)| format!("{one} and {other} by {off_m:.2} m");
            let named: Vec<String> = pairs.iter().take(MOST_NAMED).map(name).collect();
            let (count, named) = (pairs.len(), named.join(", "));
            let sentence = format!("the stated places of {count} pairs of tags contradict each other: {named}");
            self.run.warnings.push(sentence);
        }
        if self.run.counts.widened > 0 {
            let count = self.run.counts.widened;
            let sentence = format!("most tags were beyond the gate, and the covariance was widened {count} times");
            self.run.warnings.push(sentence);
        }
        self.run
    }
}

/// Between the rows of a recording time goes on.
fn advance_clock(slam: &mut TagSlam3d, clock: &mut Option<Stamp>, to: Stamp) {
    if let Some(mut at) = clock.filter(|at| to.since(*at) < LONGEST_GAP_S) {
        while to.since(at) > TICK_S {
            at = at + TICK_S;
            let _ = slam.push_time(at);
        }
    }
    *clock = (*clock).max(Some(to));
}

/// Where a run begins: where known tags show it, else at the first true pose. A single square is the weakest start there
/// is: two are waited for, or one that two cameras see.
fn begin(
    recording: &SpaceRecording,
    truth: &Truth,
    motion: &Motion,
    slam: &TagSlam3d,
    sigma: f64,
    warnings: &mut Vec<String>,
) -> Option<Begin> {
    let has_odometry = !motion.twists.is_empty();
    let end = motion.twists.last().map(|twist| twist.stamp);
    let frames = recording.tags.frames.iter();
    let mut frames = frames.filter(|frame| !has_odometry || motion.covers(frame.stamp, end)).peekable();
    let first = frames.peek()?.stamp;
    let odds = TagOptions::default().odds;
    let place = |frame: &TagFrame, least: usize| {
        let seen = sights(frame, &recording.tags, sigma);
        let has_enough = start::known_in(slam.known(), &seen) >= least;
        let pose = start::located(slam.known(), &seen, odds, motion.is_planar).filter(|_| has_enough)?;
        Some(Begin { at: frame.stamp, pose, is_shown: true })
    };
    let shown = frames.clone().find_map(|frame| place(frame, 2)).or_else(|| frames.find_map(|f| place(f, 1)));
    if shown.is_some() {
        return shown;
    }
    let stamps = recording.tags.frames.iter().map(|frame| frame.stamp).filter(|stamp| *stamp >= first);
    let given = stamps.into_iter().find_map(|stamp| Some((stamp, truth.at(stamp)?)));
    let (at, pose) = given.unwrap_or_else(|| {
        warnings.push("no truth at the start: it is at the origin".to_owned());
        (first, Se3::default())
    });
    Some(Begin { at, pose, is_shown: false })
}
