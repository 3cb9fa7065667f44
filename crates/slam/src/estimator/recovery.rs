//! When the prior is too wide for the association of landmarks without identity, and how to map on without it.

use crate::estimator::Estimator;
use lienav_associate::association::memory::is_placed;
use lienav_associate::bounds::BOUNDS;
use lienav_associate::thresholds::{CONFIRMING, LIKELY, MILLION_TO_ONE, TELLING};
use lienav_base::stamp::Stamp;
use lienav_lie::Se2;
use lienav_planar::associated::{Associated, Role, Subject};
use lienav_planar::input::{Measurement, MeasurementKind};
use lienav_planar::motion::Increment;
use lienav_planar::without::Mechanism;
use nalgebra::{Matrix3, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The association compares a measurement with the likeliest landmarks, eight of them. Where half as many are expected
/// beside the right one within the gate, the right one is among the eight in 98 % of all cases (Poisson).
const OTHERS: f64 = BOUNDS.candidates as f64 / 2.0;

/// What one scan says at most, as a logarithm of odds: of 30 scans, one is disturbed as a whole, by what hides or tilts
/// the sensor, and misses everything wherever the robot is.
const ONE_SCAN: f64 = 3.4;

/// What scans say of a robot that may have been carried away.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspicion {
    /// The first of them, by its number.
    since: u64,
    /// The logarithm of the odds that the robot is where it is taken to be.
    log_odds: f64,
    /// How many landmarks in view were missed.
    missed: usize,
    /// How far the landmarks of the map reach from the robot, m.
    reach_m: f64,
}

impl Suspicion {
    /// Whether it is one that a filter has made, and not of a damaged file.
    pub fn is_valid(&self) -> bool {
        self.log_odds <= 0.0 && (0.0..1e9).contains(&self.reach_m)
    }

    /// By how much a pose is more uncertain that is taken from the map with these odds, x, y and yaw: the covariance of
    /// both hypotheses, of which the other one says that the robot may be anywhere among the landmarks. A scan tells
    /// of a robot that was carried away once in a million, so that scans which fit add nothing.
    pub fn added_covariance(&self) -> Matrix3<f64> {
        let odds = (-self.log_odds - MILLION_TO_ONE.ln).exp();
        anywhere(self.reach_m) * (odds / (1.0 + odds)).min(1.0)
    }
}

/// The covariance of a robot that may be anywhere among landmarks that reach so far, m; x, y and yaw.
fn anywhere(reach_m: f64) -> Matrix3<f64> {
    Matrix3::from_diagonal(&Vector3::new(reach_m * reach_m, reach_m * reach_m, PI * PI))
}

impl Estimator {
    /// Whether more landmarks lie within the gate of a measurement than the association compares, after a `motion`
    /// since a landmark was last used. On average over the measurements, and for an ellipse that is taken for a circle.
    pub fn is_prior_too_wide(
        &self,
        motion: &Increment,
        kind: MeasurementKind,
        raw_measurements: &[Measurement],
    ) -> bool {
        let is_joint = self.model.is_joint();
        let nameless = raw_measurements.iter().filter(|raw| raw.id.is_none()).count();
        if self.model.without.has(Mechanism::AfterGap)
            || !is_joint
            || self.memory.is_idle()
            || self.model.map.local_features > 0
            || nameless < TELLING
        {
            return false;
        }
        let gate = self.model.gate.associated(2)[0];
        let square_radius = |distance: f64| {
            let c = &motion.covariance;
            let (along, across) = (0.5 * (c.m11 + c.m22), 0.5 * (c.m11 + c.m22) + c.m33 * distance * distance);
            gate * (along * across).max(0.0).sqrt()
        };
        // Asked first for a landmark as far away as any is read: that costs least.
        let rates = &self.memory.rates;
        if rates.landmark_density() * PI * square_radius(rates.farthest()) <= OTHERS {
            return false;
        }
        let robot = self.state.pose * self.pending.motion;
        let (mut measurements, mut landmarks) = (0, 0);
        for raw in raw_measurements.iter().filter(|raw| raw.id.is_none()) {
            let Ok(checked) = self.model.sensors.read(kind, raw) else { continue };
            let Some(place) = self.place(&checked) else { continue };
            let (at, square_radius) = (robot.transform(&place), square_radius(place.norm()));
            let is_near = |i: &usize| (self.state.in_map(*i) - at).norm_squared() < square_radius;
            measurements += 1;
            landmarks += (0..self.state.landmarks.len()).filter(is_near).count();
        }
        landmarks as f64 > (1.0 + OTHERS) * f64::from(measurements)
    }

    /// Weighs whether the scan that was processed last, and those before it, are of another place: landmarks that were
    /// read in the last scans and are in view are not read, and most of what is read is none of them. An error of the
    /// pose that has grown on a long way concerns other landmarks, and is for loop closures. The odds are those of the
    /// landmarks in view alone, added up from the first scan on that does not fit (the cumulative sum of Page's test),
    ///
    /// ```text
    /// Σ_read ln p/c + Σ_missed ln (1 − p)/(1 − c)
    /// ```
    ///
    /// with the probability p that a landmark is read where it is, and c that a measurement lies in its gate by chance.
    /// A scan that is disturbed as a whole misses all of them at once, so that one scan says no more than [`ONE_SCAN`].
    pub fn is_elsewhere(&self, raw_measurements: &[Measurement], suspicion: &mut Option<Suspicion>) -> bool {
        if self.memory.rates.matched_per_scan() < TELLING as f64 {
            return false;
        }
        self.weigh_place(raw_measurements, suspicion);
        suspicion.is_some_and(|sum| sum.missed >= CONFIRMING && sum.log_odds < -MILLION_TO_ONE.ln)
    }

    /// Adds up what [`Estimator::is_elsewhere`] decides by, for sensors that measure few landmarks at a time, too.
    pub fn weigh_place(&self, raw_measurements: &[Measurement], suspicion: &mut Option<Suspicion>) {
        let is_joint = self.model.is_joint();
        let nameless = raw_measurements.iter().filter(|raw| raw.id.is_none()).count();
        let is_silent = nameless == 0 && suspicion.is_none();
        if !is_joint || self.model.map.local_features > 0 || is_silent {
            return;
        }
        let since = suspicion.map_or(self.memory.scan, |suspicion| suspicion.since);
        let is_old = |id: u32| {
            self.memory.existence(id).is_none_or(|existence| existence.is_confirmed && existence.first < since)
        };
        let is_known = |of: &&Associated| match of.subject {
            Subject::Landmark(id) => of.role == Role::Again && is_old(id),
            Subject::Pose => false,
        };
        let known = self.measurements().iter().filter(is_known).count();
        if known > 0 && 2 * known >= nameless {
            *suspicion = None;
        }
        if nameless == 0 || 2 * known >= nameless {
            return;
        }
        let (rates, gate) = (&self.memory.rates, self.model.gate.associated(2)[0]);
        let noise =
            self.measurements().iter().filter_map(|of| self.model.sensors.place(&self.state.mounts, &of.measurement));
        let (count, area) = noise.fold((0.0, 0.0), |(count, sum), (_, noise)| {
            (count + 1.0, sum + PI * gate * noise.determinant().max(0.0).sqrt())
        });
        let by_chance = 1.0 - (-rates.landmark_density() * area / f64::max(count, 1.0)).exp();
        let is_read = |id: u32| self.memory.existence(id).is_some_and(|existence| existence.last == self.memory.scan);
        let recent = self.memory.recent();
        let mut sum = suspicion.unwrap_or(Suspicion { since, log_odds: 0.0, missed: 0, reach_m: 0.0 });
        let mut of_scan = 0.0;
        sum.reach_m = rates.farthest();
        for (i, landmark) in self.state.landmarks.iter().enumerate() {
            let z = self.state.in_robot(i);
            sum.reach_m = sum.reach_m.max(z.norm());
            let detection = rates.detection_in_view(&z);
            let is_tracked = landmark.last_seen >= recent && is_old(landmark.id) && is_placed(&self.state, i, &z);
            if !is_tracked || detection <= by_chance.max(LIKELY) {
                continue;
            }
            if is_read(landmark.id) {
                of_scan += (detection / by_chance).ln();
            } else {
                of_scan += ((1.0 - detection) / (1.0 - by_chance)).ln();
                sum.missed += 1;
            }
        }
        sum.log_odds += f64::max(of_scan, -ONE_SCAN);
        *suspicion = Some(sum).filter(|sum| sum.log_odds < 0.0);
    }

    /// The robot may be anywhere within its map: the pose is as uncertain as the map is wide, and what the scans of a
    /// suspicion have initialized is dropped.
    pub fn forget_place(&mut self, suspicion: &Suspicion) {
        let first = |id: u32| self.memory.existence(id).is_some_and(|existence| existence.first >= suspicion.since);
        let initialized: Vec<u32> =
            self.state.landmarks.iter().map(|landmark| landmark.id).filter(|id| first(*id)).collect();
        for id in initialized {
            if let Some(i) = self.state.find(id) {
                self.state.swap_remove(i);
            }
        }
        let robot = self.state.pose.p;
        let places = (0..self.state.landmarks.len()).map(|i| (self.state.in_map(i) - robot).norm());
        let reach = places.fold(self.memory.rates.farthest(), f64::max);
        self.propagate(&Increment { motion: Se2::identity(), covariance: anywhere(reach), drift: None });
    }

    /// Associates nothing from now on with landmarks that were measured before `stamp`, unless they are known relative
    /// to the robot as well as a measurement.
    pub fn map_on(&mut self, stamp: Stamp) {
        self.memory.map_on(stamp);
    }

    /// Whether loops are closed.
    pub fn close_loops(&mut self, closes: bool) {
        self.merging.closes_loops = closes;
    }
}
