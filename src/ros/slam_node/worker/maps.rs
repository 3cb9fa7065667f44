//! What the worker does with its map: loads, saves, and says how it went.

use super::Worker;
use crate::ros::slam_node::MapSettings;
use crate::ros::slam_node::map::{self, Done, Waiting};
use lienav_io::map_file::MapFile;
use lienav_slam::MapMode;
use lienav_submaps::{Submaps, Worker as Place};
use r2r::std_srvs::srv::Trigger;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// So often is looked whether the map was read, while the node is configured.
const LOADING_TURN: Duration = Duration::from_millis(5);

impl Worker {
    /// Goes on with the map that is there, if it is. The thread of the map reads it, so that the end of the node does
    /// not wait for a file.
    pub(super) fn load_at_start(&mut self) {
        let path = PathBuf::from(&self.settings.map.file);
        if path.as_os_str().is_empty() {
            return;
        }
        if !path.exists() {
            return self.log.info(&format!("{}: there is no map yet, it begins empty", path.display()));
        }
        self.map_store.load(&self.settings.map.file, None);
        while !self.map_store.is_idle() && !self.stop.sleep_until(Instant::now() + LOADING_TURN) {
            match self.map_store.done() {
                Some((Done::Loaded(read), _)) => return self.take_map(read.map(|file| *file), None),
                // What was asked for before the node was configured.
                Some((Done::Saved(result), waiting)) => self.map_saved(result, waiting),
                None => {}
            }
        }
    }

    pub(super) fn save_map(&mut self, request: Waiting) {
        if self.has_no_landmarks() {
            // A map that is good may be in the place of the file.
            let file = &self.settings.map.file;
            let message = format!("the map has no landmarks yet: nothing was saved, and '{file}' stays as it is");
            self.log.warn(&message);
            let answered = request.respond(Trigger::Response { success: false, message });
            return self.log.sent(answered);
        }
        if let Some(request) = self.with_file(request) {
            let (file, frame) = (&self.settings.map.file, &self.settings.map_frame);
            self.map_store.save((&self.slam, self.parts.as_ref()), self.tally.steps(), (file, frame), Some(request));
        }
    }

    pub(super) fn load_map(&mut self, request: Waiting) {
        if let Some(request) = self.with_file(request) {
            self.map_store.load(&self.settings.map.file, Some(request));
        }
    }

    /// The request, if a file is set; otherwise it is refused.
    fn with_file(&mut self, request: Waiting) -> Option<Waiting> {
        let message = match self.settings.map.file.is_empty() {
            true => "parameter 'map.file' is empty: set it to the file of the map",
            false if self.map_store.is_busy() => {
                "the disk does not keep up with what was asked for before: ask again later"
            }
            false => return Some(request),
        }
        .to_owned();
        self.log.warn(&message);
        let answered = request.respond(Trigger::Response { success: false, message });
        self.log.sent(answered);
        None
    }

    fn has_no_landmarks(&self) -> bool {
        let joined = self.parts.as_ref().map_or(0, |parts| parts.count(&self.slam));
        joined == 0 && self.slam.map().landmarks.is_empty()
    }

    /// Whether the map stays as it was read: saved again, it would be without the run that it can be gone on from.
    fn is_frozen(&self) -> bool {
        self.slam.config().map.mode == MapMode::Localization
    }

    /// Saves the map where that is due, and answers what the thread of the map has done.
    pub(super) fn keep_map(&mut self) {
        let MapSettings { file, autosave_s } = &self.settings.map;
        let is_due = self.map_store.is_due(self.tally.steps(), *autosave_s);
        if !file.is_empty() && !self.is_frozen() && is_due && !self.has_no_landmarks() {
            let filter = (&self.slam, self.parts.as_ref());
            self.map_store.save(filter, self.tally.steps(), (file, &self.settings.map_frame), None);
        }
        while let Some((done, waiting)) = self.map_store.done() {
            match done {
                Done::Saved(result) => self.map_saved(result, waiting),
                Done::Loaded(result) => {
                    // The node may have been deactivated while the file was read.
                    let read = result.and_then(|file| self.lifecycle.idle_sentence().map_or(Ok(*file), Err));
                    self.take_map(read, waiting);
                }
            }
        }
    }

    fn map_saved(&mut self, result: Result<usize, String>, waiting: Option<Waiting>) {
        let file = &self.settings.map.file;
        let result = result.map(|landmarks| format!("{file}: {landmarks} landmarks saved"));
        if result.is_ok() {
            self.tally.map_saves += 1;
            self.map_store.hold(false);
        }
        self.tell(result, waiting);
    }

    /// Takes a map that was read, between two steps; without one, the node goes on with what it has.
    fn take_map(&mut self, read: Result<MapFile, String>, waiting: Option<Waiting>) {
        let is_in_submaps = read.as_ref().is_ok_and(|file| file.parts.is_some());
        if is_in_submaps && self.parts.is_none() && self.tally.steps() == 0 {
            self.parts = Submaps::in_place_of_one(&mut self.slam, Place::Thread);
        }
        let filter = (&mut self.slam, self.parts.as_mut());
        let taken = read.and_then(|file| map::take(filter, file, &self.settings.map_frame));
        self.map_store.hold(taken.is_err());
        let result = match taken {
            Ok((said, warnings)) => {
                warnings.iter().for_each(|warning| self.log.warn(warning));
                self.outputs.restart();
                self.display.clear();
                self.newest = None;
                self.known = None;
                self.quality.restart();
                Ok(format!("{}: {said}", self.settings.map.file))
            }
            Err(why) => Err(format!("no map was loaded: {why}")),
        };
        self.tell(result, waiting);
    }

    /// Says how it went, to the log, the diagnostics, and whoever waits for it.
    fn tell(&mut self, result: Result<String, String>, waiting: Option<Waiting>) {
        match &result {
            Ok(message) => self.log.info(message),
            Err(message) => self.log.error(message),
        }
        self.tally.map_problem = result.as_ref().err().cloned();
        if let Some(request) = waiting {
            let success = result.is_ok();
            let message = result.unwrap_or_else(|message| message);
            let answered = request.respond(Trigger::Response { success, message });
            self.log.sent(answered);
        }
    }

    /// What has changed since the map was last saved is saved, where the node saves by itself.
    pub(super) fn save_at_the_end(&mut self) {
        let MapSettings { file, autosave_s } = &self.settings.map;
        let steps = self.tally.steps();
        let is_worth_it = self.map_store.is_worth_it(steps) && !self.has_no_landmarks();
        if !file.is_empty() && !self.is_frozen() && *autosave_s > 0.0 && is_worth_it {
            let filter = (&self.slam, self.parts.as_ref());
            self.map_store.save(filter, steps, (file, &self.settings.map_frame), None);
        }
        self.map_store.finish();
        self.keep_map();
    }
}
