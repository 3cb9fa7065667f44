//! A run that has begun: samples integrated up to instants, and the state there.

use crate::ahead::Ahead;
use crate::estimator::{Estimator, Observer};
use crate::inbox::{Inbox, Key, What};
use crate::input::ImuSample;
use crate::measured::{AT_REST, Measured};
use crate::output::{Counts, DropReason, PoseEstimate, Step};
use crate::saved::SavedRun;
use crate::start;
use crate::world::{Map3d, place};
use lienav_base::stamp::Stamp;
use lienav_inertial::imu::ImuNoise;
use lienav_inertial::measurement::absolute::AbsolutePose;
use lienav_inertial::measurement::velocity::BodyVelocity;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::rest::RestDetector;
use lienav_inertial::step::Corrected;
use lienav_lie::Se3;
use nalgebra::{Matrix3, Matrix6};

/// Where nothing else comes, the state is moved so often, s, and is at rest if the inertial sensor is.
pub const SILENT_S: f64 = 0.5;

/// The filter on its way.
#[derive(Clone, Debug)]
pub struct Running {
    /// The filter with its state.
    pub estimator: Estimator,
    integrator: Integrator,
    ahead: Ahead,
    rest: RestDetector,
    /// The instant of the state.
    at: Stamp,
    /// Whether samples up to the start have not come yet.
    begins: bool,
    /// What was taken in at the instant of the state: kinds and sensors.
    taken: Vec<Key>,
    /// The last frame of which a landmark was used.
    pub last_used: Option<Stamp>,
    /// When the covariance was widened last.
    pub last_widened: Option<Stamp>,
    velocity_std: f64,
}

/// The state became invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid;

impl Running {
    /// Begins at a stamp.
    pub fn new(
        estimator: Estimator,
        at: Stamp,
        noise: ImuNoise,
        interpolation: Interpolation,
        velocity_std: f64,
    ) -> Self {
        let integrator = Integrator::new(estimator.state.nav.biases, noise, interpolation);
        let ahead = Ahead::new(&estimator.state, estimator.filter(), &integrator);
        Self {
            estimator,
            integrator,
            ahead,
            rest: RestDetector::default(),
            at,
            begins: true,
            taken: Vec::with_capacity(8),
            last_used: None,
            last_widened: None,
            velocity_std,
        }
    }

    /// What the next steps depend on, as plain data.
    pub fn save(&self) -> SavedRun {
        SavedRun {
            filter: self.estimator.save(),
            integrator: self.integrator.clone(),
            rest: self.rest.clone(),
            at: self.at,
            begins: self.begins,
            taken: self.taken.clone(),
            last_used: self.last_used,
            last_widened: self.last_widened,
        }
    }

    /// Continues where [`save`](Self::save) was called; `self` has just begun with the same settings.
    pub fn restore(&mut self, saved: SavedRun, inbox: &Inbox) {
        let SavedRun { filter: _, integrator, rest, at, begins, taken, last_used, last_widened } = saved;
        (self.integrator, self.rest, self.at, self.begins) = (integrator, rest, at, begins);
        (self.taken, self.last_used, self.last_widened) = (taken, last_used, last_widened);
        self.ahead.restart(&self.estimator.state, self.estimator.filter(), &self.integrator, &inbox.samples);
    }

    /// The instant of the state.
    pub fn at(&self) -> Stamp {
        self.at
    }

    /// Whether this was taken in already.
    pub fn has_taken(&self, stamp: Stamp, what: &What) -> bool {
        stamp == self.at && self.taken.contains(&what.key())
    }

    /// One more sample waits.
    pub fn note(&mut self, sample: &ImuSample) {
        if !self.begins {
            self.ahead.push(sample);
        }
    }

    /// The estimate at the newest sample.
    pub fn ahead(&self) -> Option<PoseEstimate> {
        if self.begins { None } else { self.ahead.estimate() }
    }

    /// The state is another one than it was.
    pub fn restart_ahead(&mut self, inbox: &Inbox) {
        self.integrator.set_biases(self.estimator.state.nav.biases);
        self.ahead.restart(&self.estimator.state, self.estimator.filter(), &self.integrator, &inbox.samples);
    }

    /// Puts the body at a pose in a map, whose landmarks take the place of those of the state. Of the rotation, the
    /// heading counts. Nothing is added to a map that is known.
    pub fn put_into(&mut self, map: Option<&Map3d>, pose: &Se3, covariance: &Matrix6<f64>, is_known: bool) {
        let filter = *self.estimator.filter();
        let state = &mut self.estimator.state;
        (0..state.landmarks.len()).rev().for_each(|i| state.remove(i));
        place(state, pose, covariance, &filter);
        if let Some(map) = map {
            map.append_to(state, &filter);
        }
        if is_known {
            self.estimator.freeze_landmarks();
        }
    }

    /// Goes on with landmarks of its own.
    pub fn leave_map(&mut self) {
        self.estimator.forget_landmarks();
    }

    /// Begins again at a pose in a map, at the velocity and the biases of now, with these standard deviations by axis:
    /// rotation, rad; velocity, m/s; position, m; biases, rad/s and m/s².
    pub fn begin_again(&mut self, map: &Map3d, pose: &Se3, sigma: &[f64; 5], is_known: bool) {
        let (filter, now) = (*self.estimator.filter(), &self.estimator.state);
        let velocity = pose.rotation * now.nav.rotation.rotate_back(&now.nav.velocity);
        let mut state = start::given(pose, &velocity, sigma, now.gravity, &filter);
        (state.nav.biases, state.predicted.biases) = (now.nav.biases, now.nav.biases);
        state.rate = now.rate;
        map.append_to(&mut state, &filter);
        self.estimator.state = state;
        if is_known {
            self.estimator.freeze_landmarks();
        }
    }

    /// Integrates samples until they reach a stamp.
    fn reach(&mut self, stamp: Stamp, inbox: &mut Inbox) {
        while self.integrator.newest().is_none_or(|newest| newest < stamp) {
            let Some(sample) = inbox.samples.pop_front() else { return };
            self.rest.push(&sample);
            // What is not in order was dropped before.
            let _ = self.integrator.push(sample);
        }
    }

    /// Once samples reach the start, the run begins there, or at the first sample.
    pub fn begin(&mut self, inbox: &mut Inbox) {
        if !self.begins || inbox.newest.is_none_or(|newest| newest < self.at) {
            return;
        }
        if let Some(first) = inbox.samples.front() {
            self.at = self.at.max(first.stamp);
        }
        self.reach(self.at, inbox);
        // What lies before the start is of no use.
        let _ = self.integrator.take(self.at);
        self.begins = false;
        self.restart_ahead(inbox);
    }

    /// Whether the start waits for samples.
    pub fn begins(&self) -> bool {
        self.begins
    }

    /// Moves the state to a stamp.
    fn advance(&mut self, to: Stamp, inbox: &mut Inbox, observer: &mut dyn Observer) -> Result<(), DropReason> {
        if to == self.at {
            return Ok(());
        }
        self.reach(to, inbox);
        let increment = self.integrator.take(to).map_err(|_| DropReason::TooLate)?;
        self.estimator.predict(&increment, observer);
        self.at = to;
        self.taken.clear();
        Ok(())
    }

    /// Moves the state through an interval in which nothing else comes, up to less than [`SILENT_S`] before a stamp.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn pass_silence(&mut self, until: Stamp, inbox: &mut Inbox, counts: &mut Counts) -> Result<(), Invalid> {
        while until.since(self.at) > SILENT_S {
            let to = self.at + SILENT_S;
            if self.advance(to, inbox, &mut ()).is_err() {
                return Ok(());
            }
            if self.rest.is_at_rest() && self.estimator.is_known_to_rest() {
                self.estimator.correct_one(to, Measured::Rest(AT_REST), counts);
            }
            self.restart_ahead(inbox);
            self.estimator.estimate(to).ok_or(Invalid)?;
        }
        Ok(())
    }

    /// Takes in what is to be done at an instant; `None` where it was dropped.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn take(
        &mut self,
        stamp: Stamp,
        what: &What,
        inbox: &mut Inbox,
        counts: &mut Counts,
        observer: &mut dyn Observer,
    ) -> Result<Option<Step>, Invalid> {
        self.pass_silence(stamp, inbox, counts)?;
        if stamp < self.at {
            counts.add(DropReason::TooLate);
            return Ok(None);
        }
        if let Err(reason) = self.advance(stamp, inbox, observer) {
            counts.add(reason);
            return Ok(None);
        }
        self.taken.push(what.key());
        let (corrected, is_widened) = self.correct(stamp, what, counts, observer);
        self.restart_ahead(inbox);
        if is_widened {
            self.last_widened = Some(stamp);
        }
        let has_frame = matches!(what, What::Frame(_));
        if has_frame && corrected.used > 0 {
            self.last_used = Some(stamp);
        }
        Ok(Some(Step {
            estimate: self.estimator.estimate(stamp).ok_or(Invalid)?,
            has_frame,
            is_at_rest: has_frame && self.estimator.is_at_rest(),
            nis: corrected.nis,
            dof: corrected.numbers,
            accepted: corrected.used,
            gated: corrected.gated,
            initialized: corrected.initialized,
            removed: corrected.removed,
            is_widened,
            landmarks: self.estimator.state.landmarks.iter().filter(|one| one.is_point()).count(),
        }))
    }

    fn correct(
        &mut self,
        stamp: Stamp,
        what: &What,
        counts: &mut Counts,
        observer: &mut dyn Observer,
    ) -> (Corrected, bool) {
        let one = match what {
            What::Instant => return (Corrected::default(), false),
            What::Frame(seen) => {
                return self.estimator.correct(stamp, seen, self.rest.is_calm(), counts, observer);
            }
            What::Odometry(odometry) => {
                let usual = || Matrix3::from_diagonal_element(self.velocity_std * self.velocity_std);
                let covariance = odometry.covariance.unwrap_or_else(usual);
                Measured::Velocity(BodyVelocity { mount: odometry.mount, velocity: odometry.velocity, covariance })
            }
            What::Pose(pose) => {
                Measured::Pose(AbsolutePose { mount: Se3::identity(), pose: pose.pose, covariance: pose.covariance })
            }
        };
        (self.estimator.correct_one(stamp, one, counts), false)
    }
}
