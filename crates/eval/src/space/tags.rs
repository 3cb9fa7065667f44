//! The filter that sees tags over a recording: with odometry where there is any, else at a velocity that stays nearly
//! the same.

use super::session::{Counts, Estimate};
use super::settings::Settings;
use super::tag_motion::{Motion, Odometry};
use super::truth::Truth;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::measurement::absolute::AbsolutePose;
use lienav_inertial::measurement::pixel::Pinhole;
use lienav_inertial::measurement::planar::Planar;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{GYRO_BIAS, POSITION, VELOCITY};
use lienav_inertial::state::landmark::Kind;
use lienav_inertial::state::nav::Nav;
use lienav_inertial::step::Step;
use lienav_inertial::tag::filter::{Corrected, TagFilter, TagOptions};
use lienav_inertial::tag::landmark::KnownTag;
use lienav_inertial::tag::lens::{Distortion, Lens};
use lienav_inertial::tag::locate::locate;
use lienav_inertial::tag::sight::Sight;
use lienav_io::space::data::SpaceRecording;
use lienav_io::space::tags::{CameraDistortion, TagFrame, TagRecording};
use lienav_lie::{Se3, hat};
use nalgebra::{Matrix6, SMatrix, SVector, Vector3};
use std::collections::BTreeMap;
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

/// A run begins where corners of known tags show the position to this, m by axis.
const START_M: f64 = 0.15;

/// A position less certain than this, m by axis, is no estimate: it is not kept, but counted.
const UNKNOWN_M: f64 = 0.5;

/// Runs it; `None` where there is nothing to start from.
pub fn run(recording: &SpaceRecording, truth: &Truth, options: &TagRunOptions) -> Option<TagRun> {
    let motion = Motion::of(recording, options.odometry);
    let mut session = TagSession::start(recording, truth, options, &motion)?;
    for instant in motion.instants(recording, session.at) {
        session.advance(instant.stamp, &motion);
        if let Some(k) = instant.frame {
            session.correct(&recording.tags.frames[k], &motion, truth);
        }
        if !session.keep(instant.frame.is_some()) {
            break;
        }
    }
    Some(session.finish())
}

/// A run in progress.
struct TagSession<'a> {
    state: State,
    tags: TagFilter,
    step: Step,
    recorded: &'a TagRecording,
    sigma: f64,
    at: Stamp,
    is_planar: bool,
    run: TagRun,
    spent: f64,
    recent: (f64, f64),
    lost_sigma: [f64; 3],
    start_sigma: [f64; 5],
    /// Up to when true poses are given, in recordings without known tags.
    given_until: Option<Stamp>,
    /// The covariance of the last of them.
    alike: Matrix6<f64>,
}

impl<'a> TagSession<'a> {
    fn start(recording: &'a SpaceRecording, truth: &Truth, options: &TagRunOptions, motion: &Motion) -> Option<Self> {
        let settings = Settings::of(recording);
        let known = known_tags(recording, options.map_sigma);
        let tags = TagFilter::new(known, TagOptions::default());
        let sigma = recording.tags.pixel_sigma.unwrap_or(settings.pixels.own[0]);
        let has_odometry = !motion.twists.is_empty();
        let mut warnings = recording.warnings.clone();
        let end = motion.twists.last().map(|twist| twist.stamp);
        let frames = recording.tags.frames.iter();
        let mut frames = frames.filter(|frame| !has_odometry || motion.covers(frame.stamp, end)).peekable();
        let first = frames.peek()?.stamp;
        // Where tags are known, they show where the run begins: no truth is needed.
        let floor = |pose: &Se3| if motion.is_planar { off_the_floor(pose) } else { 0.0 };
        // A single square is the weakest start there is: two are waited for, or one that two cameras see.
        let place = |frame: &TagFrame, least: usize| {
            let seen = sights(frame, &recording.tags, sigma);
            let known = seen.iter().filter(|sight| tags.known.contains_key(&sight.id)).count();
            let (pose, off) = locate(&tags.known, &seen, tags.options.odds, floor).filter(|_| known >= least)?;
            (off < START_M).then_some((frame.stamp, pose))
        };
        let located = frames.clone().find_map(|frame| place(frame, 2)).or_else(|| frames.find_map(|f| place(f, 1)));
        let (at, pose, wide) = match located {
            Some((at, pose)) => (at, pose, true),
            None => {
                let stamps = recording.tags.frames.iter().map(|frame| frame.stamp).filter(|stamp| *stamp >= first);
                match stamps.into_iter().find_map(|stamp| Some((stamp, truth.at(stamp)?))) {
                    Some((at, pose)) => (at, pose, false),
                    None => {
                        warnings.push("no truth at the start: it is at the origin".to_owned());
                        (first, Se3::identity(), false)
                    }
                }
            }
        };
        let nav = Nav { rotation: pose.rotation, position: pose.translation, ..Nav::default() };
        // Near a start that tags show, and before they are taken in: half a radian, and some metres.
        let [turn, place] = match (wide, truth.is_empty()) {
            (true, _) => [0.5, 3.0],
            (false, false) => [0.1, 0.1],
            (false, true) => [settings.start_sigma[0], settings.start_sigma[2]],
        };
        let motion_sigma = if has_odometry { (0.0, 0.0) } else { tags.motion.unknown };
        let covariance = NavMatrix::from_diagonal(&SVector::from_fn(|i, _| match i {
            0..VELOCITY => f64::powi(turn, 2),
            VELOCITY..POSITION => motion_sigma.0.powi(2),
            POSITION..GYRO_BIAS => f64::powi(place, 2),
            GYRO_BIAS..12 => motion_sigma.1.powi(2),
            _ => 0.0,
        }));
        let mut state = State::new(nav, &covariance, 2 * tags.options.most_tags, &tags.filter);
        state.gravity = 0.0;
        let step = Step::new(tags.filter);
        let mut run = TagRun { warnings, ..TagRun::default() };
        let (spent, recent, is_planar) = (0.0, (0.0, 0.0), motion.is_planar);
        let alike = Matrix6::zeros();
        let (lost_sigma, start_sigma) = (settings.lost_sigma, settings.start_sigma);
        let given_until = (!wide && !truth.is_empty()).then(|| at + GIVEN_S);
        if given_until.is_some() {
            let sentence = format!("no tag is known: the true poses of the first {GIVEN_S} s say where the world is");
            run.warnings.push(sentence);
        }
        Some(Self {
            state,
            tags,
            step,
            recorded: &recording.tags,
            sigma,
            at,
            is_planar,
            run,
            spent,
            recent,
            lost_sigma,
            start_sigma,
            given_until,
            alike,
        })
    }

    /// Moves the state to another instant.
    fn advance(&mut self, to: Stamp, motion: &Motion) {
        let begin = Instant::now();
        while self.at < to {
            let (held, until) = match motion.at(self.at) {
                Some((k, until)) => (Some(k), until.map_or(to, |until| until.min(to))),
                None => (None, to),
            };
            let seconds = until.since(self.at);
            match held {
                Some(k) => {
                    let increment = motion.increment(k, seconds, &self.state);
                    self.tags.predict(&mut self.state, &increment);
                }
                None => self.tags.coast(&mut self.state, seconds),
            }
            self.at = until;
        }
        self.spent += begin.elapsed().as_secs_f64();
    }

    /// Takes in a frame.
    fn correct(&mut self, frame: &TagFrame, motion: &Motion, truth: &Truth) {
        let mut all = sights(frame, self.recorded, self.sigma);
        for sight in &mut all {
            sight.sigma = sight.sigma.hypot(motion.stamp_sigma_s * motion.blur(frame.stamp, sight));
        }
        self.give(frame.stamp, truth);
        for _ in all.len()..frame.seen.len() {
            self.drop_one("bad_corners");
        }
        let begin = Instant::now();
        self.level();
        let corrected = self.tags.correct(&mut self.state, &all);
        self.level();
        self.spent += begin.elapsed().as_secs_f64();
        self.count(&corrected);
    }

    /// Without known tags, the first true poses say where the world is. Their errors are alike: behind the last, what all
    /// of them are off by is added to the errors of the pose, of which everything else is independent.
    fn give(&mut self, stamp: Stamp, truth: &Truth) {
        if self.given_until.is_some_and(|until| until <= stamp) {
            self.given_until = None;
            // ξ_R = δθ and ξ_p = δp + p̂^ δθ.
            let mut to_left = SMatrix::<f64, 6, 6>::zeros();
            to_left.fixed_view_mut::<3, 3>(0, 3).fill_with_identity();
            to_left.fixed_view_mut::<3, 3>(3, 0).fill_with_identity();
            to_left.fixed_view_mut::<3, 3>(3, 3).copy_from(&hat(&self.state.nav.position));
            let own = to_left * self.alike * to_left.transpose();
            let rows = [0, 1, 2, POSITION, POSITION + 1, POSITION + 2];
            let mut nav = self.state.covariance.nav();
            for (i, row) in rows.into_iter().enumerate() {
                for (j, column) in rows.into_iter().enumerate() {
                    nav[(row, column)] += 0.5 * (own[(i, j)] + own[(j, i)]);
                }
            }
            self.state.covariance.set(0, 0, &nav);
        }
        let Some(pose) = truth.at(stamp).filter(|_| self.is_given(stamp)) else { return };
        let [turn, _, place, ..] = self.start_sigma;
        let own = Matrix6::from_fn(|i, j| match (i == j, i < 3) {
            (false, _) => 0.0,
            (true, true) => place * place,
            (true, false) => turn * turn,
        });
        let covariance = truth.covariance_at(stamp).copied().unwrap_or(own);
        self.alike = covariance;
        let given = AbsolutePose { mount: Se3::identity(), pose, covariance };
        if self.step.correct(&mut self.state, &[&given]).is_err() {
            self.drop_one("singular_innovation");
        }
    }

    fn is_given(&self, stamp: Stamp) -> bool {
        self.given_until.is_some_and(|until| stamp < until)
    }

    fn count(&mut self, corrected: &Corrected) {
        let counts = &mut self.run.counts;
        counts.used += corrected.used;
        counts.gated += corrected.gated;
        counts.initialized += corrected.initialized;
        counts.removed += corrected.removed;
        for (reason, count) in [("ambiguous_tag", corrected.ambiguous), ("unexplained_tag", corrected.unexplained)] {
            (0..count).for_each(|_| self.drop_one(reason));
        }
        self.watch(corrected);
    }

    /// Where most tags of the last frames are beyond the gate, the covariance is made wide enough to take in the next.
    fn watch(&mut self, corrected: &Corrected) {
        const KEPT: f64 = 0.8;
        const LEAST: f64 = 4.0;
        self.recent = (KEPT * self.recent.0 + corrected.used as f64, KEPT * self.recent.1 + corrected.gated as f64);
        if self.recent.1 < LEAST || self.recent.1 <= self.recent.0 {
            return;
        }
        let [turn, velocity, position] = self.lost_sigma;
        self.tags.predict(&mut self.state, &Preintegrated::uncertainty(turn, velocity, position));
        self.recent = (0.0, 0.0);
        self.run.counts.widened += 1;
    }

    /// The body is on the floor.
    fn level(&mut self) {
        /// A floor of a hall, m and rad.
        const FLOOR: (f64, f64) = (1e-3, 1e-3);
        if !self.is_planar {
            return;
        }
        let floor = Planar { height_m: 0.0, height_sigma_m: FLOOR.0, up: Vector3::z(), tilt_sigma: FLOOR.1 };
        if self.step.correct(&mut self.state, &[&floor]).is_err() {
            self.drop_one("singular_innovation");
        }
    }

    fn drop_one(&mut self, reason: &str) {
        *self.run.counts.dropped.entry(reason.to_owned()).or_default() += 1;
    }

    /// Keeps the estimate of an instant; false where the state is no longer one.
    fn keep(&mut self, has_frame: bool) -> bool {
        let covariance = self.state.pose_covariance(&self.tags.filter);
        let nav = &self.state.nav;
        let is_sound = nav.position.iter().chain(nav.velocity.iter()).all(|x| x.abs() < 1e9)
            && nav.rotation.orthogonality_error() < 1e-3
            && covariance.iter().all(|x| x.is_finite())
            && covariance.diagonal().iter().all(|x| *x >= 0.0);
        if !is_sound {
            self.run.warnings.push(format!("the estimate was lost at {}: the run ends there", self.at));
            return false;
        }
        if self.is_given(self.at) {
            self.drop_one("given_pose");
            return true;
        }
        if (0..3).any(|axis| covariance[(axis, axis)] > UNKNOWN_M * UNKNOWN_M) {
            self.drop_one("position_unknown");
            return true;
        }
        let pose = Se3::new(nav.rotation, nav.position);
        self.run.estimates.push(Estimate { stamp: self.at, pose, covariance, has_frame });
        self.run.step_us.push(self.spent * 1e6);
        self.spent = 0.0;
        true
    }

    fn finish(mut self) -> TagRun {
        let places = self.state.landmarks.iter().filter(|one| one.kind == Kind::ClonePlace);
        self.run.tags = places.map(|one| (one.id, one.position)).collect();
        /// The worst are named.
        const MOST_NAMED: usize = 10;
        let mut pairs: Vec<([u64; 2], f64)> = self.tags.contradictions().collect();
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

/// How far a pose is from one on a level floor, as χ² with a centimetre and a hundredth of a radian.
fn off_the_floor(pose: &Se3) -> f64 {
    const FLAT: (f64, f64) = (0.01, 0.01);
    let up = pose.rotation * Vector3::z();
    (pose.translation.z / FLAT.0).powi(2) + (up.xy().norm_squared() + (1.0 - up.z).powi(2)) / FLAT.1.powi(2)
}

/// Tags whose places the filter knows: those that the recording states, or with a map all true ones.
fn known_tags(recording: &SpaceRecording, map_sigma: Option<f64>) -> BTreeMap<u64, KnownTag> {
    /// A rotation is known as well as a place half a metre away.
    const ARM_M: f64 = 0.5;
    let tags = &recording.tags;
    match map_sigma {
        Some(sigma) if !tags.true_tags.is_empty() => {
            let known = |(id, pose): (&u64, &Se3)| (*id, KnownTag { pose: *pose, sigma: (sigma / ARM_M, sigma) });
            tags.true_tags.iter().map(known).collect()
        }
        _ => tags.known.iter().map(|(id, tag)| (*id, KnownTag { pose: tag.pose, sigma: tag.sigma })).collect(),
    }
}

/// What a frame saw, as far as it can be of tags.
fn sights(frame: &TagFrame, tags: &TagRecording, sigma: f64) -> Vec<Sight> {
    let (cameras, boards) = (&tags.cameras, &tags.on_board);
    let sight = |seen: &lienav_io::space::tags::TagSeen| {
        let camera = cameras.get(seen.camera)?;
        let distortion = match camera.distortion {
            CameraDistortion::PlumbBob(k) if k == [0.0; 5] => Distortion::None,
            CameraDistortion::PlumbBob(k) => Distortion::PlumbBob(k),
            CameraDistortion::Equidistant(k) => Distortion::Equidistant(k),
        };
        let lens = Lens { pinhole: Pinhole { focal: camera.focal, centre: camera.centre }, distortion };
        let (size_m, corners) = (seen.size_m, seen.corners);
        let (id, on_tag, off_m) = match boards.get(&seen.id) {
            Some(place) => (place.board, place.pose, place.sigma_m),
            None => (seen.id, Se3::identity(), 0.0),
        };
        // What a place on a board is off by is seen in the image.
        let sigma = sigma.hypot(off_m * (corners[1] - corners[0]).norm() / size_m);
        Some(Sight { id, lens, on_body: camera.on_body, on_tag, size_m, corners, sigma }).filter(Sight::is_valid)
    };
    frame.seen.iter().filter_map(sight).collect()
}
