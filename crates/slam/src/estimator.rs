//! The filter itself: a state, moved by increments and corrected by clouds of features.

use super::associate::{Gate, Verdict, by_distance, by_identity};
use super::augment::augment;
use super::inbox::Segment;
use super::measure::{Match, Preview, linearize, relinearize};
use super::motion::{Increment, increment};
use super::propagate::{Rows, propagate};
use super::relocate::displacement;
use super::sensor::{Reading, Sensor};
use super::starvation::{Starvation, unknown_motions};
use super::state::State;
use super::trace::Role;
use super::update::{Workspace, preview, update};
use super::window::{Past, Seen, Window};
use super::{
    Config, Counts, Discretization, DropReason, FeatureKind, MapConfig, MotionConfig, Observation, Retraction,
    TwistPath, Variant, WhenFull,
};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use nalgebra::{Matrix3, Vector2};

/// A feature unseen for this long belongs to the map, s: longer than one stays hidden behind another, less than a robot needs
/// to come back.
const MAPPED_AFTER_S: f64 = 3.0;

/// Identities the filter gives to features that come without one start here.
const FIRST_OWN_ID: u32 = 0x8000_0000;

/// What a cloud did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correction {
    /// Normalised innovation squared of all matches together.
    pub nis: f64,
    /// Observations used for the update.
    pub accepted: usize,
    /// Observations that became features.
    pub added: usize,
    /// Observations left out.
    pub rejected: usize,
}

/// State and settings of one filter.
pub struct Estimator {
    /// The estimate.
    pub state: State,
    variant: Variant,
    sensor: Sensor,
    gate: Gate,
    starvation: Starvation,
    map: MapConfig,
    /// Motion since the last correction, not yet applied.
    pending: Increment,
    next_id: u32,
    matches: Vec<Match>,
    newcomers: Vec<(Option<u32>, Reading)>,
    seen: Vec<u32>,
    rows: Rows,
    rests: Vec<Vector2<f64>>,
    workspace: Workspace,
    window: Window,
    /// What the last cloud was taken for.
    sightings: Vec<Seen>,
    /// Room for those of clouds that are linearized again.
    unused: Vec<Seen>,
}

impl Estimator {
    /// At the initial pose, with an empty map.
    pub fn new(config: &Config, variant: Variant) -> Self {
        let capacity = config.map.max_features.min(64);
        let (pose, covariance) = (config.initial.pose(), config.initial.covariance());
        let state = State::new(variant.coordinates, pose, &covariance, &config.calibration, capacity);
        Self {
            sensor: Sensor::new(&config.sensor, variant.noise_at, variant.stereo, &state.calibration),
            state,
            variant,
            gate: Gate::new(&config.gate),
            starvation: Starvation::new(config.gate.starvation_limit_s),
            map: config.map.clone(),
            pending: Increment::none(),
            next_id: FIRST_OWN_ID,
            matches: Vec::new(),
            newcomers: Vec::new(),
            seen: Vec::new(),
            rows: Rows::default(),
            rests: Vec::new(),
            workspace: Workspace::default(),
            window: Window::new(variant.clouds_kept()),
            sightings: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// What the last cloud was taken for.
    pub fn sightings(&self) -> &[Seen] {
        &self.sightings
    }

    /// Takes over settings that may change while running.
    pub fn reconfigure(&mut self, config: &Config) {
        self.sensor = Sensor::new(&config.sensor, self.variant.noise_at, self.variant.stereo, &self.state.calibration);
        self.gate = Gate::new(&config.gate);
        self.starvation.limit_s = config.gate.starvation_limit_s;
        self.map = config.map.clone();
        self.window.clear();
    }

    /// Back to the initial pose and an empty map.
    pub fn reset(&mut self, config: &Config) {
        self.state.reset(config.initial.pose(), &config.initial.covariance(), &config.calibration);
        self.sensor.calibrate(&self.state.calibration);
        self.pending = Increment::none();
        self.next_id = FIRST_OWN_ID;
        self.window.clear();
    }

    /// Puts the robot elsewhere, with the map around it.
    pub fn set_pose(&mut self, pose: Se2, covariance: &Matrix3<f64>) {
        self.settle();
        self.window.clear();
        self.state.set_pose(pose, covariance);
    }

    /// Time starts anew at `stamp`: what is in the map counts as seen then.
    pub fn restart_clock(&mut self, stamp: Stamp) {
        self.starvation.forget();
        self.window.clear();
        for feature in &mut self.state.features {
            feature.last_seen = stamp;
        }
    }

    /// What a stretch of odometry says, calibrated by what is known so far.
    pub fn increment(&self, s: &Segment, config: &MotionConfig) -> Increment {
        let discretization = match config.path {
            TwistPath::Arc => self.variant.discretization,
            TwistPath::Chord => Discretization::Euler,
        };
        increment(&s.odometry, s.duration, s.interval, config, discretization, &self.state.calibration)
    }

    /// Moves on. Rigid increments are collected and applied to the features at the next correction, which is the same
    /// to first order in the noise and costs nothing per odometry message; Euler's are applied as they come.
    pub fn advance(&mut self, increment: &Increment) {
        match self.variant.discretization {
            Discretization::Exponential => self.pending = self.pending.then(increment),
            Discretization::Euler => {
                propagate(&mut self.state, increment, &self.variant, &mut self.rows);
            }
        }
    }

    /// Motion that the state does not contain yet.
    pub fn pending(&self) -> &Increment {
        &self.pending
    }

    /// Applies what [`Estimator::advance`] has collected.
    pub fn settle(&mut self) {
        self.rows.noise.clear();
        if self.pending != Increment::none() {
            propagate(&mut self.state, &self.pending, &self.variant, &mut self.rows);
            self.pending = Increment::none();
        }
    }

    /// One cloud: propagate, associate, gate, update, augment, prune; and the last clouds once more, where that is due.
    pub fn correct(
        &mut self,
        stamp: Stamp,
        kind: FeatureKind,
        observations: &[Observation],
        counts: &mut Counts,
    ) -> Correction {
        let mut correction = Correction::default();
        self.window.begin(&self.state, &self.pending, stamp);
        let before = self.state.pose;
        self.arrive(stamp);
        let mut refused = self.sort_out(stamp, kind, observations);
        if self.starves(stamp, &refused) {
            refused = self.open_gate(stamp, kind, observations);
        }
        counts.add_all(&refused);
        correction.rejected += refused.total() as usize;
        let moved = self.take_in(&before, stamp, counts, &mut correction);
        self.window.end(&self.state, &self.sightings, &moved);
        if self.window.is_due() {
            self.linearize_again();
        }
        correction
    }

    /// Moves to where the cloud at `stamp` was taken.
    fn arrive(&mut self, stamp: Stamp) {
        self.settle();
        for feature in &mut self.state.features {
            feature.is_mapped |= stamp.since(feature.last_seen) > MAPPED_AFTER_S;
        }
    }

    /// Update by the matches, augment by the newcomers, prune. Gives the motion from `before` to here, with what the matches say
    /// of it.
    fn take_in(&mut self, before: &Se2, stamp: Stamp, counts: &mut Counts, correction: &mut Correction) -> Se2 {
        let predicted = self.state.pose;
        let noise = self.update(stamp, counts, correction);
        self.augment(stamp, counts, correction);
        self.prune(stamp);
        before.inverse() * Se2::exp(&self.rows.of_pose(&noise)) * predicted
    }

    /// Goes back to before the clouds of the window and takes them in again, as what they were taken for, each linearized where
    /// its features are known to have been.
    fn linearize_again(&mut self) {
        let mut clouds = self.window.aim(&self.state);
        std::mem::swap(&mut self.sightings, &mut self.unused);
        let mut unused = (Counts::default(), Correction::default());
        for (k, past) in clouds.iter_mut().enumerate() {
            match &mut past.before {
                Some(oldest) if k == 0 => {
                    self.state.copy_from(oldest);
                    self.sensor.calibrate(&self.state.calibration);
                }
                Some(before) => before.copy_from(&self.state),
                None => {}
            }
            self.pending = past.motion.recalibrated(&past.calibration, &self.state.calibration);
            past.calibration.clone_from(&self.state.calibration);
            past.motion = self.pending;
            let before = self.state.pose;
            self.arrive(past.stamp);
            self.sort_again(past);
            past.moved = self.take_in(&before, past.stamp, &mut unused.0, &mut unused.1);
        }
        self.window.put_back(clouds);
        std::mem::swap(&mut self.sightings, &mut self.unused);
    }

    /// Matches and newcomers of a cloud that was taken in before.
    fn sort_again(&mut self, past: &Past) {
        self.matches.clear();
        self.newcomers.clear();
        self.sightings.clear();
        for seen in &past.seen {
            let known = self.state.find(seen.feature);
            match (seen.role, known) {
                (Role::First, None) => self.newcomers.push((Some(seen.feature), seen.reading)),
                (Role::Again, Some(i)) => {
                    let at = self.variant.linearization;
                    let matched = linearize(&self.state, &self.sensor, &seen.reading, i, at);
                    let aimed = |m: Match| Match { aim: seen.aim, ..m.scaled(seen.noise_scale) };
                    self.matches.extend(matched.map(aimed));
                }
                _ => {}
            }
        }
    }

    /// Whether the gate has left out most of what is seen for too long.
    fn starves(&mut self, stamp: Stamp, refused: &Counts) -> bool {
        self.starvation.reached(stamp, self.matches.len(), refused.get(DropReason::Gated))
    }

    /// Lets the robot be elsewhere, farther and farther from where the filter has it, until most of what is seen passes;
    /// gives what does not. The estimate begins where the cloud has the robot: a start that ignorance this large does not
    /// remember, from which the update is linear enough.
    fn open_gate(&mut self, stamp: Stamp, kind: FeatureKind, observations: &[Observation]) -> Counts {
        let unknown = Variant { discretization: Discretization::Exponential, ..self.variant };
        let sightings: Vec<_> = observations.iter().filter_map(|o| self.sighting(kind, o)).collect();
        let motion = displacement(&self.sensor, &sightings).unwrap_or_default();
        propagate(&mut self.state, &Increment { motion, ..Increment::none() }, &unknown, &mut self.rows);

        let mut refused = Counts::default();
        let mut whole = Increment::none();
        for motion in unknown_motions(motion.p.norm().max(motion.theta.abs())) {
            propagate(&mut self.state, &motion, &unknown, &mut self.rows);
            whole = whole.then(&motion);
            refused = self.sort_out(stamp, kind, observations);
            if refused.get(DropReason::Gated) <= self.matches.len() as u64 {
                break;
            }
        }
        // All of them are one motion that nobody knows, and are corrected as one.
        self.rows.note_noise(&self.state, &whole, &unknown);
        self.starvation.opened();
        self.window.clear();
        refused
    }

    /// Where the filter has the feature that an observation names, in the base frame, and what was read of it.
    fn sighting(&self, kind: FeatureKind, observation: &Observation) -> Option<(Vector2<f64>, Reading)> {
        let i = self.state.find(observation.id?)?;
        Some((self.state.in_robot(i), self.sensor.read(kind, observation).ok()?))
    }

    /// How often the gate was opened because it had starved the filter.
    pub fn gate_openings(&self) -> u64 {
        self.starvation.openings()
    }

    /// Every observation becomes a match, a newcomer, or is left out under its reason; gives how many were, and why.
    fn sort_out(&mut self, stamp: Stamp, kind: FeatureKind, observations: &[Observation]) -> Counts {
        self.matches.clear();
        self.newcomers.clear();
        self.seen.clear();
        self.sightings.clear();
        let mut refused = Counts::default();
        for observation in observations {
            if let Err(reason) = self.place(stamp, kind, observation) {
                refused.add(reason);
            }
        }
        refused
    }

    fn place(&mut self, stamp: Stamp, kind: FeatureKind, observation: &Observation) -> Result<(), DropReason> {
        let reading = self.sensor.read(kind, observation)?;
        let at = self.variant.linearization;
        let verdict = match observation.id {
            Some(id) => {
                if self.seen.contains(&id) {
                    return Err(DropReason::DuplicateFeature);
                }
                self.seen.push(id);
                let verdict = by_identity(&self.state, &self.sensor, &reading, id, &self.gate, at);
                if verdict.as_ref().is_err_and(|reason| *reason == DropReason::Gated) {
                    self.witness(id, reading, Role::Gated);
                }
                verdict?
            }
            None => by_distance(&self.state, &self.sensor, &reading, &self.gate, at)?,
        };
        match verdict {
            Verdict::Known(matched) => {
                if self.matches.iter().any(|m| m.feature == matched.feature) {
                    return Err(DropReason::DuplicateFeature);
                }
                let since = stamp.since(self.state.features[matched.feature].last_seen);
                self.matches.push(matched.scaled(self.sensor.repetition(since)));
            }
            Verdict::New => self.newcomers.push((observation.id, reading)),
        }
        Ok(())
    }

    /// Gives the noise of the last motion that was made good.
    fn update(&mut self, stamp: Stamp, counts: &mut Counts, correction: &mut Correction) -> [f64; 3] {
        self.iterate();
        let retraction = self.variant.retraction;
        match update(&mut self.state, &self.matches, retraction, &self.rows.noise, &mut self.workspace) {
            Ok(updated) => {
                self.sensor.calibrate(&self.state.calibration);
                correction.nis = updated.nis;
                correction.accepted = self.matches.len();
                for m in &self.matches {
                    let feature = &mut self.state.features[m.feature];
                    feature.last_seen = stamp;
                    feature.observations = feature.observations.saturating_add(1);
                    let (feature, reading, noise_scale) = (feature.id, m.reading, m.noise_scale);
                    self.sightings.push(Seen { feature, reading, role: Role::Again, noise_scale, aim: m.aim });
                }
                updated.noise
            }
            Err(_) => {
                correction.rejected += self.matches.len();
                self.matches.iter().for_each(|_| counts.add(DropReason::Singular));
                [0.0; 3]
            }
        }
    }

    /// Linearizes all matches anew where the update is going to put them, and what the last motion did to them, as often as
    /// the filter says: Gauss–Newton on the posterior. The last linearization is the one that [`update`] takes.
    fn iterate(&mut self) {
        let Some(charts) = self.variant.retraction.charts() else { return };
        if !matches!(self.variant.retraction, Retraction::Split(_)) {
            self.rows.noise.clear(); // nothing is split off
        }
        for _ in 1..self.variant.iterations {
            if self.matches.is_empty() {
                return;
            }
            let (rows, rests) = (&mut self.rows, &mut self.rests);
            let Ok(noise) = preview(&self.state, &self.matches, &rows.noise, rests, &mut self.workspace) else {
                return;
            };
            let robot = Se2::exp(&rows.of_pose(&noise)) * self.state.pose;
            let preview = Preview { noise, robot, charts };
            rows.begin();
            for (m, rest) in self.matches.iter_mut().zip(rests.iter()) {
                relinearize(&self.state, &self.sensor, m, &preview, rest, rows);
            }
            rows.apply(&mut self.state.covariance);
        }
    }

    fn augment(&mut self, stamp: Stamp, counts: &mut Counts, correction: &mut Correction) {
        for k in 0..self.newcomers.len() {
            let (id, reading) = self.newcomers[k];
            if !self.make_room(stamp) {
                counts.add(DropReason::MapFull);
                correction.rejected += 1;
                continue;
            }
            let id = id.unwrap_or_else(|| self.own_id());
            if augment(&mut self.state, &self.sensor, &reading, id, stamp, &self.variant) {
                correction.added += 1;
                self.witness(id, reading, Role::First);
            } else {
                counts.add(DropReason::OutOfRange);
                correction.rejected += 1;
            }
        }
    }

    fn witness(&mut self, feature: u32, reading: Reading, role: Role) {
        self.sightings.push(Seen { feature, reading, role, noise_scale: 1.0, aim: None });
    }

    fn own_id(&mut self) -> u32 {
        while self.state.find(self.next_id).is_some() {
            self.next_id = self.next_id.wrapping_add(1).max(FIRST_OWN_ID);
        }
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(FIRST_OWN_ID);
        id
    }

    /// Whether one more feature fits; with `drop_oldest` it is made to, at the cost of the feature not seen for longest.
    fn make_room(&mut self, stamp: Stamp) -> bool {
        if self.state.features.len() < self.map.max_features {
            return true;
        }
        if self.map.when_full == WhenFull::Refuse {
            return false;
        }
        let oldest = self.state.features.iter().enumerate().min_by_key(|(_, f)| (f.last_seen, f.id));
        match oldest {
            Some((i, feature)) if feature.last_seen < stamp => {
                self.state.swap_remove(i);
                true
            }
            _ => false,
        }
    }

    fn prune(&mut self, stamp: Stamp) {
        if self.map.forget_after_s <= 0.0 {
            return;
        }
        let mut i = 0;
        while i < self.state.features.len() {
            if stamp.since(self.state.features[i].last_seen) > self.map.forget_after_s {
                self.state.swap_remove(i);
            } else {
                i += 1;
            }
        }
    }
}
