//! An inertial sensor beside the tags: its samples, and the start with it.
//!
//! The body is then the frame of the inertial sensor, z of the map is up, and the state has biases and gravity: the
//! motion between frames is the increment that [`Slam3d`](crate::Slam3d) takes, and odometry is a measurement of the
//! velocity. At rest, and with a map that begins with the first tag, up is where the force points.

use crate::start::{self as inertial_start, IN_MOTION, Known, REST_S, WINDOW_S, at_rest_prior};
use crate::world::heading_between;
use lienav_base::stamp::Stamp;
use lienav_inertial::covariance::NavMatrix;
use lienav_inertial::filter::Filter;
use lienav_inertial::imu::{Biases, ImuNoise, ImuSample};
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::start::{Prior, RestSamples};
use lienav_inertial::state::State;
use lienav_inertial::state::errors::{FORCE_BIAS, GYRO_BIAS};
use lienav_lie::Se3;
use lienav_tags::filter::TagFilter;
use nalgebra::Matrix6;
use std::collections::VecDeque;

/// The most samples that wait: at 400 Hz, those of ten seconds.
pub const MOST_SAMPLES: usize = 4096;

/// The samples of an inertial sensor, in order.
#[derive(Clone, Debug)]
pub struct Inertial {
    samples: VecDeque<ImuSample>,
    noise: ImuNoise,
    interpolation: Interpolation,
    gravity: f64,
}

impl Inertial {
    /// Of a sensor with this noise.
    pub fn new(noise: ImuNoise, interpolation: Interpolation, gravity: f64) -> Self {
        Self { samples: VecDeque::with_capacity(MOST_SAMPLES), noise, interpolation, gravity }
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// Adds a sample that is later than all before.
    pub fn push(&mut self, sample: ImuSample) {
        if self.samples.len() >= MOST_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The stamp of the newest sample.
    pub fn newest(&self) -> Option<Stamp> {
        self.samples.back().map(|sample| sample.stamp)
    }

    /// From when on a state may begin: samples from before show whether the body is at rest.
    pub fn begins(&self) -> Option<Stamp> {
        self.samples.front().map(|sample| sample.stamp + WINDOW_S)
    }

    /// The samples after a stamp and up to another.
    pub fn between(&self, after: Stamp, to: Stamp) -> impl Iterator<Item = &ImuSample> {
        let from = self.samples.partition_point(|sample| sample.stamp <= after);
        self.samples.iter().skip(from).take_while(move |sample| sample.stamp <= to)
    }

    /// Forgets samples that are of no use to a state at this stamp: the integrator has them.
    pub fn forget_before(&mut self, stamp: Stamp) {
        while self.samples.front().is_some_and(|sample| sample.stamp <= stamp) {
            self.samples.pop_front();
        }
    }

    /// An integrator whose interval begins at a stamp.
    pub fn integrator(&self, at: Stamp) -> Integrator {
        let mut integrator = Integrator::new(Biases::default(), self.noise, self.interpolation);
        self.reach(&mut integrator, at);
        // What lies before is of no use.
        let _ = integrator.take(at);
        integrator
    }

    /// Hands samples on until they reach a stamp.
    fn reach(&self, integrator: &mut Integrator, to: Stamp) {
        let from = integrator.newest().map_or(0, |newest| self.samples.partition_point(|one| one.stamp <= newest));
        for sample in self.samples.iter().skip(from) {
            if integrator.newest().is_some_and(|newest| newest >= to) {
                break;
            }
            // They are finite and in order.
            let _ = integrator.push(*sample);
        }
    }

    /// Moves a state from where its integrator is to a stamp; `false` where samples do not reach it.
    pub fn advance(&self, tags: &TagFilter, state: &mut State, integrator: &mut Integrator, to: Stamp) -> bool {
        integrator.set_biases(state.nav.biases);
        self.reach(integrator, to);
        match integrator.take(to) {
            Ok(increment) => tags.predict(state, &increment),
            Err(_) => return false,
        }
        true
    }

    /// The state at a stamp where the body is at this pose, with the covariance of position and rotation about the axes of
    /// the map. What the force shows of the rotation is better than a wide prior; `is_level` says that nothing else is
    /// known of it.
    pub fn state_at(
        &self,
        pose: &Se3,
        covariance: &Matrix6<f64>,
        at: Stamp,
        is_level: bool,
        most_tags: usize,
    ) -> State {
        let filter = Filter::GROUP;
        let position_sigma = (0..3).map(|k| covariance[(k, k)]).fold(0.0, f64::max).sqrt();
        let known = Known { pose: *pose, position_sigma, heading_sigma: covariance[(5, 5)].max(0.0).sqrt() };
        let from = at - WINDOW_S;
        let rest: RestSamples = inertial_start::first_samples(self.between(from, at), from);
        let is_at_rest = inertial_start::is_at_rest(self.between(from, at), from);
        // The tags will show how fast it is: its sensor does not tell rest from an even motion.
        let at_rest = || self.level(&rest, &at_rest_prior(&known, IN_MOTION[1], self.gravity), pose, &filter);
        let moving = || inertial_start::in_motion(&rest, &known, IN_MOTION[1], self.gravity, &self.noise, &filter);
        let [_, velocity, gyro, force] = IN_MOTION;
        let as_given = || inertial_start::from_pose(pose, covariance, (velocity, gyro, force), self.gravity, &filter);
        let begun = match (is_at_rest, is_level) {
            (true, _) => at_rest(),
            (false, true) => moving(),
            (false, false) => None,
        };
        let begun = begun.unwrap_or_else(as_given);
        let mut state = State::new(begun.nav, &begun.nav_covariance(&filter), 2 * most_tags, &filter);
        state.gravity = self.gravity;
        state
    }

    /// At rest, at this heading.
    fn level(&self, rest: &RestSamples, prior: &Prior, pose: &Se3, filter: &Filter) -> Option<State> {
        let mut prior = *prior;
        let level = rest.start(REST_S, &prior, &self.noise, 0, filter).ok()?;
        prior.heading.0 = heading_between(&level.nav.rotation, &pose.rotation);
        rest.start(REST_S, &prior, &self.noise, 0, filter).ok()
    }
}

/// A state without tags at a pose with its covariance, with the biases of another and an unknown velocity.
pub fn moved_to(from: &State, pose: &Se3, covariance: &Matrix6<f64>, most_tags: usize, filter: &Filter) -> State {
    let [_, velocity, gyro, force] = IN_MOTION;
    let mut begun = inertial_start::from_pose(pose, covariance, (velocity, gyro, force), from.gravity, filter);
    begun.nav.biases = from.nav.biases;
    let mut all: NavMatrix = begun.nav_covariance(filter);
    let biases = from.nav_covariance(filter).fixed_view::<6, 6>(GYRO_BIAS, GYRO_BIAS).into_owned();
    all.fixed_view_mut::<6, 6>(GYRO_BIAS, GYRO_BIAS).copy_from(&biases);
    const { assert!(FORCE_BIAS == GYRO_BIAS + 3) };
    let mut state = State::new(begun.nav, &all, 2 * most_tags, filter);
    state.gravity = from.gravity;
    state
}
