//! Recovery of the place in a map that is being made, where landmarks have no identity and the prior is too wide to
//! associate by: after a gap of the input.
//!
//! The joint association compares a measurement with the landmarks within its gate. Where the motion since the last
//! scan is so uncertain that this gate holds more landmarks than the association compares, a wrong combination may fit
//! as well as the right one, and the filter would take it for certain. The measurements are then held back, with the
//! pose as wide as odometry leaves it, and a search ([`GlobalLocalization`]) compares the last scans with the whole
//! map. Where it has found the robot, its measurements are processed with the identities that the search gives them, as
//! if a front end had named them, until the filter has taken most of a scan in.
//!
//! A robot that was carried away is noticed by a scan in which landmarks that are in view are not measured, and what is
//! measured is none of them. Its pose is then unknown within the map, and it is searched for in the same way.
//!
//! The robot may also have left the mapped area. After [`HELD_S`] seconds the filter maps on, and takes no landmark
//! from before the gap for one that is measured now, until the search finds the robot or [`SEARCHED_S`] have passed;
//! later, loop closures find it.

use crate::inbox::QueuedScan;
use crate::slam::Slam;
use crate::slam::finder::finder_config;
use crate::slam::lost::{Recovery, Search};
use crate::step::Outcome;
use lienav_associate::global_localization::GlobalLocalization;
use lienav_associate::thresholds::HELD_S;
use lienav_planar::config::{Config, MapMode};
use lienav_planar::filter::Discretization;
use lienav_planar::motion::Increment;
use lienav_planar::output::DropReason;
use lienav_planar::without::Mechanism;

/// The search goes on for so long, s, in which a robot at 1 m/s comes back to what it has mapped.
const SEARCHED_S: f64 = 60.0;

impl Slam {
    /// How often the place in the map was searched for, because the prior was too wide to associate by.
    pub fn recoveries(&self) -> u64 {
        self.recovery.searches
    }

    /// Whether the robot is searched for in the map that is being made, and its pose is that of the odometry alone.
    pub fn is_recovering(&self) -> bool {
        self.recovery.search.is_some()
    }

    /// Begins a search where the prior is too wide, and gives the scan to the search that runs. To be called at the
    /// instant of the scan, before it corrects the state. Gives what becomes of a scan that is held back whole.
    pub(super) fn recover(&mut self, scan: &mut QueuedScan) -> Option<Outcome> {
        let is_nameless = scan.measurements.iter().any(|measurement| measurement.id.is_none());
        if !is_nameless || self.estimator.model.sensors.reads_pose(scan.kind) {
            return None;
        }
        if self.config.filter_mode() != MapMode::Mapping {
            self.end_recovery();
            return None;
        }
        if self.recovery.search.is_none() && !self.begin_recovery(scan) {
            return None;
        }
        // The filter never rewinds past a search.
        self.stay();
        let Some(search) = &mut self.recovery.search else { return None };
        search.finder.advance(self.estimator.pending());
        self.estimator.settle();
        self.estimator.forget_past();
        search.finder.observe(scan.kind, &scan.measurements);
        let age_s = scan.stamp.since(search.began);
        if search.finder.found().is_some() {
            let (before, kind) = (scan.measurements.len(), scan.kind);
            scan.measurements.retain_mut(|measurement| {
                measurement.id = measurement.id.or_else(|| search.finder.identify(kind, measurement));
                measurement.id.is_some()
            });
            search.named = scan.measurements.len();
            search.held_back = before - search.named;
            return None;
        }
        if age_s > SEARCHED_S {
            self.end_recovery();
        } else if search.is_mapping {
            return None;
        } else if age_s > HELD_S {
            search.is_mapping = true;
            self.estimator.map_on(scan.stamp);
        } else {
            // Those that a front end has named tell by themselves where the robot is.
            let before = scan.measurements.len();
            scan.measurements.retain(|measurement| measurement.id.is_some());
            search.named = scan.measurements.len();
            search.held_back = before - search.named;
            if search.named == 0 {
                self.estimator.note_measurements(std::iter::empty());
                return Some(Outcome::default());
            }
        }
        None
    }

    /// Begins a search if the prior is too wide to associate the scan by.
    fn begin_recovery(&mut self, scan: &QueuedScan) -> bool {
        let pending = *self.estimator.pending();
        let motion = self.recovery.blind.map_or(pending, |blind| blind.then(&pending));
        if !self.recovery.has_gap
            || self.filter().discretization() == Discretization::Euler
            || !self.estimator.is_prior_too_wide(&motion, scan.kind, &scan.measurements)
        {
            return false;
        }
        self.search_own_map(scan)
    }

    /// Begins a search in the map as it is. Returns whether there is anything to search in.
    fn search_own_map(&mut self, scan: &QueuedScan) -> bool {
        let map = self.estimator.landmark_map();
        let config = Config { sensor: self.estimator.sensor(&self.config.sensor), ..self.config.clone() };
        let added = self.estimator.added().to_vec();
        let finder = GlobalLocalization::new(&map, finder_config(&config), self.filter(), &config, &added);
        self.recovery.search = finder.ok().map(|finder| {
            self.recovery.searches += 1;
            Search { finder: Box::new(finder), began: scan.stamp, is_mapping: false, named: 0, held_back: 0 }
        });
        self.estimator.close_loops(self.recovery.search.is_none());
        self.recovery.search.is_some()
    }

    /// Begins a search if a scan contradicts that the robot is where it is taken to be: it was carried away. What the
    /// scan has initialized is dropped, and the pose is unknown within the map.
    pub(super) fn recover_if_carried(&mut self, scan: &QueuedScan) {
        if self.estimator.model.without.has(Mechanism::Carried)
            || self.recovery.search.is_some()
            || self.search.global.is_some()
            || self.filter().discretization() == Discretization::Euler
        {
            return;
        }
        self.estimator.weigh_place(&scan.measurements, &mut self.recovery.uncertain_place);
        if !self.estimator.is_elsewhere(&scan.measurements, &mut self.recovery.suspicion) {
            return;
        }
        let Some(suspicion) = self.recovery.suspicion.take() else { return };
        self.recovery.uncertain_place = None;
        self.stay();
        self.estimator.forget_past();
        self.estimator.forget_place(&suspicion);
        self.search_own_map(scan);
    }

    /// Takes note of what the filter has made of a scan, `before` which the motion was not applied yet, and adds what
    /// was held back of it. Ends a search whose identities the filter has taken for most of the scan.
    pub(super) fn note_recovery(&mut self, before: &Increment, outcome: &mut Outcome) {
        if let Some(search) = &mut self.recovery.search {
            outcome.refused.add_many(DropReason::Undetermined, std::mem::take(&mut search.held_back) as u64);
            let named = std::mem::take(&mut search.named);
            if named > 0 && 2 * outcome.accepted > named {
                self.end_recovery();
                self.stay();
            }
        }
        if outcome.accepted + outcome.added > 0 {
            (self.recovery.blind, self.recovery.has_gap) = (None, false);
        } else if *self.estimator.pending() == Increment::none() && *before != Increment::none() {
            let blind = self.recovery.blind.unwrap_or(Increment::none());
            self.recovery.blind = Some(blind.then(before));
        }
    }

    /// Ends the search: what it has collected is of another time, or of another map.
    pub(super) fn end_recovery(&mut self) {
        let searches = self.recovery.searches;
        self.recovery = Recovery { searches, ..Recovery::default() };
        self.estimator.close_loops(true);
    }
}
