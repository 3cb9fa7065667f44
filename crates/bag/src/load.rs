//! A bag as a recording.

use super::arrivals::Arrivals;
use super::metadata;
use super::params;
use super::plan::{Part, Plan, plan};
use super::read::{BagReader, CDR};
use super::reader::{Reader, TruthReader, Unread};
use super::record::Topic;
use super::static_mount::look_ahead;
use super::topics::{Role, Topics, candidates, listed, not_one, not_one_of, unread_encoding};
use crate::recording::{Input, Recording};
use lienav_files::files::folder_of;
use lienav_files::open;
use lienav_files::{OpenError, bounds};
use lienav_intake::convert::Frames;
use lienav_intake::intake::{Intake, stated_inputs};
use lienav_intake::messages::{Message, TfMessage};
use lienav_intake::statements::ClockCheck;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// `custom_data` under which a converted bag keeps the name of its source.
pub const NAME_KEY: &str = "lienav.name";
/// Prefix of `custom_data` under which a converted bag keeps what its source left out, by reason.
pub const DROPPED_KEY: &str = "lienav.dropped.";

/// Reads a bag: a folder, or a single storage file. A `params.yaml` in the bag's folder gives [`Recording::config`].
///
/// Messages pass the checks of [`lienav_intake::convert`], as those of a node do, and are counted in [`Recording::dropped`]
/// under the same words. Frames are those that [`Topics::frames`] states, else those of `params.yaml`, else those of
/// the first message of each topic: a frame that changes within the bag is refused. Where `params.yaml` does not say
/// where the sensor sits, `/tf_static` does, as for a node.
///
/// # Errors
/// Nothing can be read, or a topic that was asked for is not there.
pub fn load(path: &Path, topics: &Topics) -> Result<Recording, OpenError> {
    let mut loading = Loading::open(path, topics)?;
    let inputs: Vec<Input> = loading.by_ref().collect();
    Ok(Recording { inputs, ..loading.finish() })
}

/// A bag on its way to a recording: its input one by one, in order of arrival, so that no more of it is in memory than
/// is asked for.
pub struct Loading {
    path: PathBuf,
    bag: BagReader,
    parts: Vec<Option<Part>>,
    roles: Vec<Option<Role>>,
    reader: Reader,
    problems: Problems,
    clocks: ClockCheck,
    arrivals: Arrivals,
    /// How many messages of each topic were there, and how many were taken.
    counts: Vec<[u64; 2]>,
}

impl Loading {
    /// Opens a bag, as [`load`] does.
    pub fn open(path: &Path, topics: &Topics) -> Result<Self, OpenError> {
        let mut bag = BagReader::open(path)?;
        if let Some(first) = bag.topics().first().filter(|_| bag.topics().iter().all(|topic| topic.encoding != CDR)) {
            return Err(OpenError::bag(path, unread_encoding(first)));
        }
        if bag.topics().is_empty() && bag.message_count() == 0 && bag.metadata().is_none() {
            let warnings = bag.warnings().join("; ");
            let problem =
                format!("there is no message in it; where it is still being recorded, end that first ({warnings})");
            return Err(OpenError::bag(path, problem));
        }
        let name = if path.is_dir() { path.file_name() } else { path.file_stem() };
        let name = name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        let mut recording = Recording { name, ..Recording::default() };
        let Notes { frames, parameters } = read_notes(path, &bag, &mut recording)?;
        let bad = |problem| OpenError::bag(path, problem);
        let given = topics.parameters.as_deref().map(|text| params::frames_from_yaml(text, params::NODE));
        let frames = topics.frames.clone().or(given.transpose().map_err(bad)?.unwrap_or_default()).or(frames);
        let texts: Vec<&str> = parameters.iter().chain(&topics.parameters).map(String::as_str).collect();
        let inputs = stated_inputs(&texts, params::NODE).map_err(bad)?;
        let mut intake = Intake::new(&inputs.settings, None).map_err(bad)?;
        let Plan { parts, roles, cameras, types, missing } =
            plan(bag.topics(), topics, &intake, &inputs.uses).map_err(bad)?;
        recording.warnings.extend(inputs.warnings.iter().chain(&missing).cloned());
        warn_of_topics(bag.topics(), (&parts, &roles), types, &mut recording);

        let ahead = look_ahead(&mut bag, &parts, &mut intake, &frames, inputs.is_placed);
        bag.select(&parts.iter().map(Option::is_some).collect::<Vec<_>>());
        let odometry = roles.iter().zip(bag.topics()).find(|(role, _)| **role == Some(Role::Odometry));
        let clocks = ClockCheck::new(odometry.map_or("", |(_, topic)| topic.name.as_str()));
        let (counts, problems) = (vec![[0; 2]; parts.len()], Problems::default());
        let mut reader = Reader::new(recording, frames, (inputs, intake, cameras), &ahead);
        if let Some(text) = &topics.parameters {
            reader.prefer(text);
        }
        let arrivals = Arrivals::default();
        Ok(Self { path: path.to_owned(), bag, parts, roles, reader, problems, clocks, arrivals, counts })
    }

    /// What is known so far besides the input.
    pub fn recording(&self) -> &Recording {
        &self.reader.recording
    }

    /// What is known besides the input that was taken out: the truth, what was dropped, and what is to be said.
    pub fn finish(mut self) -> Recording {
        let rest: Vec<Input> = self.by_ref().collect();
        let contradictions = self.contradictions();
        let missed = self.reader.tags_missed();
        let mut recording = self.reader.recording;
        recording.warnings.extend(missed);
        recording.contradictions = contradictions;
        recording.inputs = rest;
        recording.truth.sort_by_key(|&(stamp, _)| stamp);
        recording.truth.dedup_by_key(|&mut (stamp, _)| stamp);
        recording.warnings.extend_from_slice(self.bag.warnings());
        recording.warnings.extend(self.problems.into_sentences(&self.path));
        recording
    }
}

impl Loading {
    /// What the bag states that cannot be, and topics of which no message could be taken.
    fn contradictions(&self) -> Vec<String> {
        let name = |role| {
            let topic = self.roles.iter().zip(self.bag.topics()).find(|(found, _)| **found == Some(role));
            topic.map_or(role.usual_name(), |(_, topic)| topic.name.as_str())
        };
        let main = name(Role::Odometry);
        let sources = self.reader.checks().enumerate();
        let of_sources = sources.flat_map(|(k, (topic, check))| check.findings(if k == 0 { main } else { topic }));
        let findings =
            (self.clocks.findings().into_iter()).chain(of_sources).chain(self.reader.fixes.findings(name(Role::Fix)));
        let topics = self.bag.topics().iter().zip(&self.counts);
        let unread =
            topics.filter(|&(_, &[messages, taken])| messages > 0 && taken == 0).map(|(topic, [messages, _])| {
                let why = self.problems.of(&topic.name).map_or(String::new(), |why| format!(": {why}"));
                format!("none of the {messages} messages of {} could be used{why}", topic.name)
            });
        unread.chain(findings.map(|finding| finding.sentence)).collect()
    }
}

impl Iterator for Loading {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(input) = self.reader.next() {
                return Some(input);
            }
            let record = self.bag.next()?;
            let Some(part) = self.parts.get(record.topic).copied().flatten() else { continue };
            let (Some(topic), Some([messages, taken])) =
                (self.bag.topics().get(record.topic), self.counts.get_mut(record.topic))
            else {
                continue;
            };
            *messages += 1;
            let unread = self.reader.take(part, (&topic.name, &topic.type_name), &record.data);
            for input in self.reader.ready() {
                self.arrivals.note(input, record.log_time);
                self.clocks.add(&topic.name, input.stamp(), record.log_time);
            }
            *taken += u64::from(unread.is_empty() || !self.reader.ready().is_empty());
            for unread in unread {
                self.reader.recording.drop_one(unread.word());
                self.problems.note(&topic.name, record.log_time, &unread);
            }
        }
    }
}

/// The first problem of each kind, for the warnings of a recording.
#[derive(Default)]
pub struct Problems(BTreeMap<&'static str, String>);

impl Problems {
    /// Keeps it, if it is the first of its kind: `received` says when, of a message of this topic.
    pub fn note(&mut self, topic: &str, received: impl std::fmt::Display, unread: &Unread) {
        let word = unread.word();
        self.0.entry(word).or_insert_with(|| format!("{topic} at {received} dropped as {word}: {unread}"));
    }

    /// The first problem of a topic.
    fn of(&self, topic: &str) -> Option<&str> {
        let begins = |sentence: &&String| sentence.strip_prefix(topic).is_some_and(|rest| rest.starts_with(" at "));
        self.0.values().find(begins).map(String::as_str)
    }

    /// One sentence each, with the bag in front.
    pub fn into_sentences(self, bag: &Path) -> impl Iterator<Item = String> {
        self.0.into_values().map(move |sentence| format!("{}: {sentence}", bag.display()))
    }
}

/// Truth that is heard message by message, while a robot drives: the checks are those of [`load`], and what does not
/// pass them is left out.
#[derive(Default)]
pub struct HeardTruth {
    recording: Recording,
    reader: TruthReader,
}

impl HeardTruth {
    /// Takes a message of [`Role::Truth`] or [`Role::TrueLandmarks`]; other roles are no truth and left out.
    pub fn take(&mut self, role: Role, type_name: &str, bytes: &[u8]) {
        // It is counted where the whole recording is read.
        let _left_out = self.reader.take(&mut self.recording, role, type_name, bytes);
    }

    /// What has been heard: poses and landmarks.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }
}

/// What a parameter file says besides the settings.
#[derive(Default)]
struct Notes {
    frames: Frames,
    /// Its text.
    parameters: Option<String>,
}

/// What is known beside the messages: the parameter file, and what a conversion has noted in `metadata.yaml`.
fn read_notes(path: &Path, bag: &BagReader, recording: &mut Recording) -> Result<Notes, OpenError> {
    for (key, value) in bag.metadata().and_then(|m| m.custom_data.as_ref()).into_iter().flatten() {
        if key == NAME_KEY {
            recording.name.clone_from(value);
        } else if let (Some(reason), Ok(count)) = (key.strip_prefix(DROPPED_KEY), value.parse()) {
            recording.dropped.insert(reason.to_owned(), count);
        }
    }
    let folder = if path.is_dir() { path } else { folder_of(path) };
    let params = folder.join(params::FILE_NAME);
    let file = match fs::symlink_metadata(&params) {
        Ok(_) => match metadata::inside(folder, &params) {
            Ok(_) => open::regular(&params),
            Err(problem) => return Err(OpenError::bag(&params, problem)),
        },
        Err(error) => Err(error),
    };
    match file.and_then(|file| open::text(file, bounds::TEXT)) {
        Ok(text) => {
            let bad = |problem| OpenError::bag(&params, problem);
            recording.config = Some(params::from_yaml(&text).map_err(bad)?);
            let frames = params::frames_from_yaml(&text, params::NODE).map_err(bad)?;
            Ok(Notes { frames, parameters: Some(text) })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Notes::default()),
        Err(error) => Err(OpenError::io(&params, error)),
    }
}

fn warn_of_topics(
    topics: &[Topic],
    (parts, roles): (&[Option<Part>], &[Option<Role>]),
    [odometry, features]: [&'static [&'static str]; 2],
    recording: &mut Recording,
) {
    recording.warnings.extend(topics.iter().filter(|topic| topic.encoding != CDR).map(unread_encoding));
    // Tags and sensors that have names may be all that measure landmarks.
    let has_others = parts.iter().any(|part| matches!(part, Some(Part::Transforms | Part::Scan(_))));
    for (role, types) in [(Role::Odometry, odometry), (Role::Scan, features)] {
        let is_had = roles.contains(&Some(role)) || role == Role::Scan && has_others;
        if !is_had {
            recording.warnings.push(not_one_of(topics, roles, role, types));
        }
    }
    // Nobody has to have an inertial sensor; of two, none is used.
    if !roles.contains(&Some(Role::Imu)) && candidates(topics, roles, Role::Imu).count() > 1 {
        recording.warnings.push(not_one(topics, roles, Role::Imu));
    }
    // Transforms are in every bag, and nobody expects them to be read.
    let is_missed = |topic: &Topic| topic.type_name != TfMessage::TYPE;
    let unused = topics.iter().zip(parts).filter(|(topic, part)| part.is_none() && is_missed(topic));
    let unused: Vec<String> = unused.map(|(topic, _)| format!("{} ({})", topic.name, topic.type_name)).collect();
    if !unused.is_empty() {
        let unused = listed(unused.into_iter(), ", ");
        recording.warnings.push(format!("topics that were not read: {unused}"));
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
