//! Where and how a run begins.

use super::super::inbox::What;
use super::super::running::Running;
use super::super::search::Search;
use super::super::start;
use super::TagSlam3d;
use crate::config::MapMode;
use crate::output::DropReason;
use lienav_base::stamp::Stamp;
use lienav_inertial::filter::Filter;
use lienav_inertial::state::State;
use lienav_lie::{LieGroup, Se3, So3};
use lienav_tags::filter::{TagFilter, TagOptions};
use lienav_tags::moving::Moving;
use nalgebra::{Matrix6, Vector3};

impl TagSlam3d {
    /// Begins where that is possible: at a pose that is given, among known tags, or with the first tag of a new map.
    pub(super) fn start(&mut self) {
        if self.running.is_some() {
            return;
        }
        if let Some(inertial) = &self.motion.inertial {
            let Some(begins) = inertial.begins() else { return };
            let dropped = self.inbox.drop_before(begins);
            self.counts.add_many(DropReason::NotStarted, dropped as u64);
        }
        let is_only_known = self.config.map.mode == MapMode::Localization;
        let window_s = self.config.timing.reorder_window_s;
        let is_frame = |what: &What| matches!(what, What::Frame(images) if !images.sights.is_empty());
        let first = self.inbox.items().find(|item| is_frame(&item.what)).map(|item| item.stamp);
        let Some(first) = first.filter(|first| self.inbox.is_due(*first, window_s)) else { return };
        if let Some((pose, covariance)) = self.given {
            self.begin_at(&pose, &covariance, first, false);
        } else if self.known.is_empty() && !is_only_known {
            let at_start = &self.config.start;
            let place = Vector3::new(at_start.x_m, at_start.y_m, at_start.z_m);
            let pose = Se3::new(So3::exp(&(Vector3::z() * at_start.yaw_rad)), place);
            let mut covariance = start::by_axis([0.0, at_start.position_std_m]);
            covariance[(5, 5)] = at_start.yaw_std_rad.powi(2);
            self.begin_at(&pose, &covariance, first, true);
        } else if let Some((stamp, pose, spread)) =
            self.search.find(&self.inbox, &self.known, self.motion.is_planar, &self.config)
        {
            self.begin_at(&pose, &start::by_axis(spread), stamp, false);
        }
    }

    /// Begins at a pose; `is_level` says that its inclination is not known.
    pub(super) fn begin_at(&mut self, pose: &Se3, covariance: &Matrix6<f64>, at: Stamp, is_level: bool) {
        let free = self.own.tags.free_motion();
        let motion = if self.motion.twist_at(at).is_some() { (0.0, 0.0) } else { free.unknown };
        let most = self.own.tags.max_tags;
        let state = match &self.motion.inertial {
            Some(inertial) => inertial.state_at(pose, covariance, at, is_level, most),
            None => start::state_at(pose, covariance, motion, most, &Filter::GROUP),
        };
        self.begin(state, at);
        if let Some(running) = &mut self.running {
            running.search_again();
        }
    }

    /// Begins with a state that a program has made, at a stamp. Frames from before are dropped as `not_started`.
    pub fn begin(&mut self, state: State, at: Stamp) {
        let options = TagOptions { most_tags: self.own.tags.max_tags, ..TagOptions::default() };
        let mut filter = TagFilter::new(self.known.clone(), options);
        filter.motion = self.own.tags.free_motion();
        filter.joint_map.clone_from(&self.joint_map);
        filter.moving = Moving::new(self.moving.clone());
        let mut running = Running::new(state, at, filter, &self.motion, self.lost_sigma);
        running.only_known = self.config.map.mode == MapMode::Localization;
        if let Some(before) = &self.running {
            running.adopt_mounts(before);
        } else if let Some(covariance) = self.own.tags.mount_covariance() {
            let cameras = self.cameras.iter().enumerate().filter_map(|(k, camera)| Some((k, (*camera)?)));
            cameras.for_each(|(k, camera)| running.estimate_mount(k, &camera.on_body, &covariance));
        }
        let dropped = self.inbox.drop_before(at);
        self.counts.add_many(DropReason::NotStarted, dropped as u64);
        self.running = Some(running);
        (self.given, self.search) = (None, Search::default());
        self.look_ahead();
    }
}
