//! The map of `slam_node` as a file: saved and read by a thread of its own, so that the filter never waits for a disk.
//!
//! The filter's thread makes a copy between two steps, and takes what was read between two steps. Everything else
//! (the joint covariance, the text, the disk) is the other thread's.

use lienav_io::files::remedy;
use lienav_io::map_file::MapFile;
use lienav_slam::{LandmarkMap, MapMode, SavedState, Slam, StartMode};
use lienav_submaps::{Snapshot, Submaps};
use r2r::ServiceRequest;
use r2r::std_srvs::srv::Trigger;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// So many jobs wait at most.
const MOST_WAITING: usize = 8;

/// Somebody who waits for an answer.
pub type Waiting = ServiceRequest<Trigger::Service>;

enum Job {
    Save { path: PathBuf, frame: String, saved: Saved },
    Load { path: PathBuf },
}

/// What is saved.
enum Saved {
    /// A run that makes a map, and can be gone on with.
    Run(Box<SavedState>),
    /// A known map, with what was learned of it.
    Map(LandmarkMap),
    /// The same of a map in parts: all of these, and the filter, which has the open one.
    Submaps(Snapshot, Box<SavedState>),
}

impl Saved {
    fn of((slam, parts): (&Slam, Option<&Submaps>)) -> Self {
        if let Some(parts) = parts {
            return Self::Submaps(parts.snapshot(slam), Box::new(slam.save()));
        }
        match slam.config().map.mode {
            MapMode::Mapping => Self::Run(Box::new(slam.save())),
            MapMode::Localization | MapMode::Extend => Self::Map(slam.map()),
        }
    }

    fn into_file(self) -> Result<MapFile, String> {
        Ok(match self {
            Self::Run(saved) => MapFile::from(*saved),
            Self::Map(map) => MapFile { map, ..MapFile::default() },
            Self::Submaps(snapshot, saved) => {
                let whole = snapshot.solve().map_err(|error| error.to_string())?;
                MapFile::from((whole, *saved))
            }
        })
    }
}

/// What became of a job.
pub enum Done {
    /// So many landmarks were saved, or why none.
    Saved(Result<usize, String>),
    /// What was read, or why nothing.
    Loaded(Result<Box<MapFile>, String>),
}

/// Saves and reads, in the order in which it was asked to.
pub struct MapStore {
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    /// For each job that is not done, who waits for it.
    waiting: VecDeque<Option<Waiting>>,
    /// How many of them save.
    saving: usize,
    /// When the map was last saved, or the node started.
    last: Instant,
    /// The steps that the last saved map has.
    saved_steps: u64,
    /// Whether the file could not be read: it is not replaced unless somebody asks for it.
    is_held: bool,
}

impl MapStore {
    /// Starts the thread.
    pub fn new() -> Self {
        let (jobs, to_do) = channel();
        let (report, done) = channel();
        let work =
            move || to_do.iter().map(perform).map(|done| report.send(done)).take_while(Result::is_ok).for_each(drop);
        // Where the system has no thread left, every job is refused with a sentence.
        let thread = thread::Builder::new().name("map".into()).spawn(work).ok();
        let (waiting, last) = (VecDeque::new(), Instant::now());
        Self { jobs: Some(jobs), done, thread, waiting, saving: 0, last, saved_steps: 0, is_held: false }
    }

    /// Saves the map as it is now, `steps` steps after the start.
    pub fn save(
        &mut self,
        filter: (&Slam, Option<&Submaps>),
        steps: u64,
        (file, frame): (&str, &str),
        waiting: Option<Waiting>,
    ) {
        let saved = Saved::of(filter);
        (self.last, self.saved_steps) = (Instant::now(), steps);
        self.give(Job::Save { path: file.into(), frame: frame.to_owned(), saved }, waiting);
    }

    /// Whether so many jobs wait that no other is taken: each holds a copy of the filter.
    pub fn is_busy(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// Whether nothing is to be done.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reads the map.
    pub fn load(&mut self, file: &str, waiting: Option<Waiting>) {
        self.give(Job::Load { path: file.into() }, waiting);
    }

    fn give(&mut self, job: Job, waiting: Option<Waiting>) {
        self.waiting.push_back(waiting);
        self.saving += usize::from(matches!(job, Job::Save { .. }));
        // A thread that is gone shows where its answer is awaited.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }

    /// What was done since, and who waits for it.
    pub fn done(&mut self) -> Option<(Done, Option<Waiting>)> {
        if self.waiting.is_empty() {
            return None;
        }
        let done = match self.done.try_recv() {
            Ok(done) => done,
            Err(std::sync::mpsc::TryRecvError::Empty) => return None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                Done::Saved(Err("the thread that keeps the map has ended; restart the node".to_owned()))
            }
        };
        self.saving = self.saving.saturating_sub(usize::from(matches!(done, Done::Saved(_))));
        Some((done, self.waiting.pop_front().flatten()))
    }

    /// The file was read or written as it should be, or not.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Whether the map is to be saved by itself, `steps` steps after the start.
    pub fn is_due(&self, steps: u64, autosave_s: f64) -> bool {
        autosave_s > 0.0
            && self.waiting.is_empty()
            && self.last.elapsed() >= Duration::from_secs_f64(autosave_s)
            && self.is_worth_it(steps)
    }

    /// Whether there is something that the file does not have, and the file may be replaced.
    pub fn is_worth_it(&self, steps: u64) -> bool {
        !self.is_held && steps > self.saved_steps
    }

    /// What is mapped from here on, `steps` steps after the start, is another map.
    pub fn forget(&mut self, steps: u64) {
        (self.saved_steps, self.is_held) = (steps, false);
    }

    /// Waits until all is saved. What is only read is not waited for: whatever it is, the node ends.
    pub fn finish(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take().filter(|_| self.saving > 0) {
            // A panic of that thread has been written by its own hook.
            let _ = thread.join();
        }
    }
}

fn perform(job: Job) -> Done {
    match job {
        Job::Save { path, .. } if !may_be_replaced(&path) => Done::Saved(Err(format!(
            "{}: it is no map, and is not replaced; remove it, or set map.file to another name",
            path.display()
        ))),
        Job::Save { path, frame, saved } => {
            let made = saved.into_file().map(|file| MapFile { frame: Some(frame), ..file });
            Done::Saved(made.map_err(|error| format!("{}: {error}", path.display())).and_then(|file| {
                let written = file.write(&path).map(|()| file.map.landmarks.len());
                written.map_err(|error| format!("{}: {error}{}", path.display(), remedy(&error)))
            }))
        }
        Job::Load { path } => Done::Loaded(read(&path)),
    }
}

/// Whether there is nothing at `path`, or a map, be it a damaged one. Parameters come from whoever is on the network,
/// or from a slip of the pen: neither is to cost a file of somebody else.
fn may_be_replaced(path: &Path) -> bool {
    /// So far down is the line that says what it is, bytes.
    const HEAD: u64 = 1 << 16;
    let Ok(found) = path.metadata() else { return !path.is_symlink() };
    let mut head = Vec::new();
    // A pipe may never end, or never begin.
    let is_read = found.is_file() && File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)).is_ok();
    is_read && (head.is_empty() || String::from_utf8_lossy(&head).lines().any(|line| line.starts_with("lienav_map:")))
}

/// Reads a map.
///
/// # Errors
/// Why it cannot be read, with what to do.
pub fn read(path: &Path) -> Result<Box<MapFile>, String> {
    MapFile::read(path).map(Box::new).map_err(|error| error.to_string())
}

/// Takes a map into the filter: all of the run that made it, or its landmarks. Returns what was done, and what was
/// not, as sentences.
///
/// # Errors
/// Why nothing was taken.
pub fn take(
    (slam, parts): (&mut Slam, Option<&mut Submaps>),
    file: MapFile,
    map_frame: &str,
) -> Result<(String, Vec<String>), String> {
    if let Some(frame) = file.frame.as_deref().filter(|frame| *frame != map_frame) {
        return Err(format!(
            "the map is in frame '{frame}', and parameter 'map_frame' is '{map_frame}': set one of them to the other"
        ));
    }
    let landmarks = file.map.landmarks.len();
    let (what, warnings) = match parts {
        Some(parts) => take_in_parts(slam, parts, file)?,
        None => take_whole(slam, file)?,
    };
    Ok((format!("{landmarks} landmarks; {what}"), warnings))
}

const GOES_ON: &str = "pose and map go on where they were saved";
const STAYS: &str = "the pose stays as it was";
const SEARCHED_FOR: &str = "the robot is searched for";

/// The same of a filter that has one map.
fn take_whole(slam: &mut Slam, file: MapFile) -> Result<(&'static str, Vec<String>), String> {
    let MapFile { mut map, filter, parts, mut warnings, .. } = file;
    let is_mapping = slam.config().map.mode == MapMode::Mapping;
    if let Some(parts) = parts.filter(|_| !is_mapping) {
        // What landmarks have in common, which the text of the map does not say.
        match parts.known_map() {
            Ok(known) => map = known,
            Err(why) => warnings.push(format!("landmarks are taken as independent of each other: {why}")),
        }
    }
    if let Some(saved) = filter.filter(|_| is_mapping) {
        match slam.restore(saved.joining(slam)) {
            Ok(()) => {
                // Between the two runs lies a time of which nothing is known, and perhaps another clock.
                slam.restart_clock();
                return Ok((GOES_ON, warnings));
            }
            Err(why) => warnings.push(why.to_string()),
        }
    }
    slam.take_map(&map).map_err(|error| error.to_string())?;
    Ok((if slam.search().is_some() { SEARCHED_FOR } else { STAYS }, warnings))
}

/// The same of one that makes its map in parts: it goes on with the parts, makes the whole map of another run its first
/// one, or parts of the landmarks.
fn take_in_parts(slam: &mut Slam, parts: &mut Submaps, file: MapFile) -> Result<(&'static str, Vec<String>), String> {
    let MapFile { map, filter, parts: saved, mut warnings, .. } = file;
    let before = Box::new(slam.save());
    // A map that is extended stays where it is, and so does the robot.
    let here = if slam.config().map.mode == MapMode::Extend { parts.pose(slam) } else { None };
    // A state that was saved with parts has only the last one of them.
    let filter = filter.filter(|state| saved.is_some() || state.config().map.local_features == 0);
    let is_restored = filter.is_some_and(|state| match slam.restore(state.joining(slam)) {
        Ok(()) => true,
        Err(why) => {
            let what = if saved.is_some() { "what was learned of noise and calibration begins anew: " } else { "" };
            warnings.push(format!("{what}{why}"));
            false
        }
    });
    let goes_on = match saved {
        Some(saved) => parts.resume(slam, saved).map_err(|why| warnings.push(why.to_string())).is_ok(),
        None if is_restored && parts.adopt(slam) => true,
        None if is_restored => {
            warnings
                .push("one map of so many landmarks is no part: its landmarks are used, and not its pose".to_owned());
            false
        }
        None => false,
    };
    if goes_on {
        slam.restart_clock();
        if is_searched_for(slam, parts) {
            return Ok((SEARCHED_FOR, warnings));
        }
        let Some((pose, covariance)) = here else { return Ok((GOES_ON, warnings)) };
        let is_put = parts.set_pose(slam, pose, &covariance);
        return is_put.map(|()| (STAYS, warnings)).map_err(|why| format!("the pose could not be kept ({why})"));
    }
    if is_restored {
        slam.restore(*before).map_err(|why| why.to_string())?;
    }
    parts.take_map(slam, &map).map_err(|error| error.to_string())?;
    Ok((if is_searched_for(slam, parts) { SEARCHED_FOR } else { STAYS }, warnings))
}

/// Whether the robot is searched for in the map that was loaded: one that was, and one with an unknown start.
fn is_searched_for(slam: &mut Slam, parts: &mut Submaps) -> bool {
    let is_unknown = slam.config().initial.mode == StartMode::Unknown;
    // While a map is made, or without landmarks, there is nothing to search in.
    slam.search().is_some() || (is_unknown && parts.relocalize(slam).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::map_file::parse;
    use lienav_slam::Config;

    fn survey(frame: &str) -> MapFile {
        let text = "lienav_map: 1\nsigma_m: 0.1\nlandmarks:\n- {id: 3, x_m: 1, y_m: 2}\n- {id: 4, x_m: 3, y_m: 2}\n";
        MapFile { map: parse(text).unwrap().map, frame: Some(frame.to_owned()), ..MapFile::default() }
    }

    #[test]
    fn a_map_is_saved_read_and_taken_up_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.yaml");
        let file = path.to_str().unwrap();
        let mut slam = Slam::new(Config::default()).unwrap();
        let (said, warnings) = take((&mut slam, None), survey("map"), "map").unwrap();
        assert_eq!((said.as_str(), warnings.len()), ("2 landmarks; the pose stays as it was", 0));
        let mut map_store = MapStore::new();
        assert!(!map_store.is_due(0, 0.001) && !map_store.is_due(5, 0.0));
        map_store.save((&slam, None), 5, (file, "map"), None);
        map_store.finish();
        let Some((Done::Saved(Ok(2)), None)) = map_store.done() else { panic!("not saved") };
        assert!(!map_store.is_worth_it(5) && map_store.is_worth_it(6) && !map_store.is_busy());
        (0..MOST_WAITING).for_each(|_| map_store.save((&slam, None), 5, (file, "map"), None));
        assert!(map_store.is_busy());
        map_store.hold(true);
        assert!(!map_store.is_worth_it(6));

        let read = read(&path).unwrap();
        let mut again = Slam::new(Config::default()).unwrap();
        let (said, _) = take((&mut again, None), *read.clone(), "map").unwrap();
        assert!(said.contains("go on where they were saved") && again.map() == slam.map());
        // Of another filter, the landmarks are taken.
        let mut other = Slam::new(Config { filter: "ekf".into(), ..Config::default() }).unwrap();
        let (said, warnings) = take((&mut other, None), *read, "map").unwrap();
        assert!(said.contains("the pose stays") && warnings[0].contains("by the filter 'default'"), "{warnings:?}");
        assert_eq!(other.landmarks().count(), 2);
    }

    #[test]
    fn the_end_waits_for_what_is_saved_and_not_for_what_is_read() {
        let mut map_store = MapStore::new();
        map_store.load("/nowhere/map.yaml", None);
        assert_eq!(map_store.saving, 0);
        map_store.finish();
        assert!(map_store.thread.is_none());
    }

    /// A filter that makes its map in parts, and what joins them.
    fn in_submaps(local_features: usize) -> (Slam, Option<Submaps>) {
        let mut config = Config::default();
        config.map.local_features = local_features;
        super::super::worker::filter_of(config).unwrap()
    }

    #[test]
    fn a_map_in_parts_goes_on_from_its_file_and_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.yaml");
        let file = path.to_str().unwrap();
        let saved = |slam: &Slam, parts: Option<&Submaps>| {
            let mut map_store = MapStore::new();
            map_store.save((slam, parts), 5, (file, "map"), None);
            map_store.finish();
            assert!(matches!(map_store.done(), Some((Done::Saved(Ok(2)), None))));
            *read(&path).unwrap()
        };
        let taken = |(mut slam, mut parts): (Slam, Option<Submaps>), file: MapFile| {
            let (said, warnings) = take((&mut slam, parts.as_mut()), file, "map").unwrap();
            let count = parts.as_ref().map_or(slam.landmarks().count(), |parts| parts.count(&slam));
            assert_eq!(count, 2, "{said}");
            ((slam, parts), said, warnings)
        };
        // A survey becomes parts, which are saved, and gone on with.
        let (first, said, warnings) = taken(in_submaps(8), survey("map"));
        assert_eq!((said.as_str(), warnings.len()), ("2 landmarks; the pose stays as it was", 0));
        let of_submaps = saved(&first.0, first.1.as_ref());
        assert!(of_submaps.parts.is_some() && of_submaps.filter.is_some());
        let (_, said, warnings) = taken(in_submaps(8), of_submaps.clone());
        assert!(said.contains("go on where they were saved") && warnings.is_empty(), "{said} {warnings:?}");
        // Without what the filter was, its parts are left; without these, the landmarks.
        let (_, said, warnings) = taken(in_submaps(8), MapFile { filter: None, ..of_submaps.clone() });
        assert!(said.contains("go on where they were saved") && warnings.is_empty(), "{said} {warnings:?}");
        let (_, said, _) = taken(in_submaps(8), MapFile { parts: None, ..of_submaps.clone() });
        assert!(said.contains("the pose stays"), "{said}");
        // So does a filter that has one map.
        let (_, said, warnings) = taken((Slam::new(Config::default()).unwrap(), None), of_submaps.clone());
        assert!(said.contains("the pose stays") && warnings[0].contains("map.local_features"), "{said} {warnings:?}");

        // A robot that makes no map has no parts, and knows what landmarks have in common.
        let mut config = Config::default();
        (config.map.local_features, config.map.mode) = (8, MapMode::Localization);
        let (mut slam, none) = super::super::worker::filter_of(config.clone()).unwrap();
        let (said, warnings) = take((&mut slam, None), of_submaps, "map").unwrap();
        assert!(none.is_none() && warnings.is_empty() && said.contains("the pose stays"), "{said} {warnings:?}");
        assert!(slam.map().near.is_some_and(|near| near.of(0, 1).is_some()));
        config.map.mode = MapMode::Mapping;
        assert!(slam.reconfigure(config).unwrap_err().contains("start the node with the other mode"));

        // A robot that extends it and may be anywhere is searched for.
        let mut config = Config::default();
        (config.map.local_features, config.map.mode, config.initial.mode) = (8, MapMode::Extend, StartMode::Unknown);
        let ((slam, _), said, _) = taken(super::super::worker::filter_of(config).unwrap(), survey("map"));
        assert!(said.contains("is searched for") && slam.search().is_some(), "{said}");

        // The map of a filter that has one becomes the first part.
        let (whole, ..) = taken((Slam::new(Config::default()).unwrap(), None), survey("map"));
        let (_, said, warnings) = taken(in_submaps(8), saved(&whole.0, None));
        assert!(said.contains("go on where they were saved") && warnings.is_empty(), "{said} {warnings:?}");
    }

    #[test]
    fn a_known_map_is_saved_as_a_whole_and_a_robot_with_an_unknown_start_is_searched_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.yaml");
        let mut config = Config::default();
        (config.map.mode, config.initial.mode) = (MapMode::Localization, StartMode::Unknown);
        let mut slam = Slam::new(config).unwrap();
        let (said, _) = take((&mut slam, None), survey("map"), "map").unwrap();
        assert_eq!(said, "2 landmarks; the robot is searched for");
        let mut map_store = MapStore::new();
        map_store.save((&slam, None), 5, (path.to_str().unwrap(), "map"), None);
        map_store.finish();
        assert_eq!(read(&path).unwrap().map.landmarks, survey("map").map.landmarks);
    }

    #[test]
    fn what_is_no_map_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let slam = Slam::new(Config::default()).unwrap();
        let save = || {
            let job = Job::Save { path: path.clone(), frame: "map".into(), saved: Saved::of((&slam, None)) };
            let Done::Saved(result) = perform(job) else { panic!("something else was done") };
            result
        };
        std::fs::write(&path, "of somebody else").unwrap();
        let refused = save().unwrap_err();
        assert!(refused.contains("notes.txt: it is no map, and is not replaced"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of somebody else");
        for replaced in ["lienav_map: 1\nlandmarks:\n- {", ""] {
            std::fs::write(&path, replaced).unwrap();
            assert_eq!(save(), Ok(0));
        }
    }

    #[test]
    fn a_map_in_another_frame_is_refused_by_name() {
        let mut slam = Slam::new(Config::default()).unwrap();
        let refused = take((&mut slam, None), survey("yard"), "map").unwrap_err();
        assert!(refused.contains("in frame 'yard', and parameter 'map_frame' is 'map'"), "{refused}");
        assert_eq!(slam.landmarks().count(), 0);
    }
}
