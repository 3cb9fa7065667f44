//! `lienav play`: a bag on its topics, at a multiple of its speed.

use super::pace::{ClockSource, Player, Waited};
use super::playback::{Control, Request, listen_to_keys};
use super::qos;
use super::start::{self, StartError};
use super::stop::Stop;
use lienav_base::stamp::Stamp;
use lienav_io::bag::{BagReader, Topic, listed};
use lienav_io::recording::OpenError;
use r2r::{Node, PublisherUntyped, QosProfile, WrappedNativeMsgUntyped};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What to play, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder, `.mcap` or `.db3` file.
    pub bag: PathBuf,
    /// Seconds of the bag in a second of the wall; positive.
    pub rate: f64,
    /// `/clock` this often, Hz of the wall; `None` for no `/clock`.
    pub clock_hz: Option<f64>,
    /// Only these topics; all if there is none.
    pub topics: Vec<String>,
    /// Names in the bag, and names to publish under.
    pub remap: Vec<(String, String)>,
    /// Start again at the end.
    pub repeat: bool,
    /// Begin this far into the bag, s.
    pub start_offset_s: f64,
    /// Wait this long before the first message, s.
    pub delay_s: f64,
    /// Play so much of the bag, s; `None` for all.
    pub duration_s: Option<f64>,
    /// Begin with a pause.
    pub start_paused: bool,
    /// Listen to keys where standard input is a terminal.
    pub has_keys: bool,
    /// Quality of service by topic, instead of the usual.
    pub qos: BTreeMap<String, QosOverride>,
}

/// Quality of service of one topic, as in the files of `ros2 bag play --qos-profile-overrides-path`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QosOverride {
    reliability: Option<Reliability>,
    durability: Option<Durability>,
    history: Option<History>,
    depth: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reliability {
    Reliable,
    BestEffort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Durability {
    TransientLocal,
    Volatile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum History {
    KeepLast,
    KeepAll,
}

impl QosOverride {
    /// The profile with what is overridden.
    fn of(&self, mut qos: QosProfile) -> QosProfile {
        qos = match self.reliability {
            Some(Reliability::Reliable) => qos.reliable(),
            Some(Reliability::BestEffort) => qos.best_effort(),
            None => qos,
        };
        qos = match self.durability {
            Some(Durability::TransientLocal) => qos.transient_local(),
            Some(Durability::Volatile) => qos.volatile(),
            None => qos,
        };
        match (self.history, self.depth) {
            (Some(History::KeepAll), _) => qos.keep_all(),
            (_, Some(depth)) => qos.keep_last(depth),
            (_, None) => qos,
        }
    }
}

/// What was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Messages published.
    pub messages: u64,
    /// Messages that could not be read as what they claim to be.
    pub damaged: u64,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
}

/// Why a bag cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The bag cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// ROS refuses.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Of the topics of the bag none can be played.
    #[error("{}: nothing to play: {reason}", bag.display())]
    Nothing {
        /// The bag.
        bag: PathBuf,
        /// Its topics, and why none of them.
        reason: String,
    },
    /// It has more topics than are played at a time.
    #[error("{}: {count} of its topics can be played, at most {MOST_TOPICS} at a time; name some by --topics", bag.display())]
    TooMany {
        /// The bag.
        bag: PathBuf,
        /// How many topics there are to play.
        count: usize,
    },
}

impl From<r2r::Error> for PlayError {
    fn from(error: r2r::Error) -> Self {
        Self::Start(error.into())
    }
}

/// A publisher takes 30 kB and 0.3 ms; no robot has so many topics.
const MOST_TOPICS: usize = 1000;
/// Subscribers need up to this long to find a new publisher, which loses what it sends before.
const SETTLING: Duration = Duration::from_millis(500);
/// What was sent last may still be on its way for this long.
const FLUSHING: Duration = Duration::from_millis(300);

/// Plays a bag to its end, or until `stop`. `progress` gets the part that was played, from 0 to 1.
///
/// # Errors
/// The bag cannot be read, holds nothing that can be played, or ROS refuses.
pub fn play(options: &Options, stop: &Stop, mut progress: impl FnMut(f64) + Send) -> Result<Played, PlayError> {
    let mut bag = BagReader::open(&options.bag)?;
    let mut node = Node::create(start::context()?, "lienav_player", "")?;
    let mut played = Played::default();
    let channels = advertise(&mut node, bag.topics(), options, &mut played.warnings)?;
    if bag.bounds().is_none() || channels.iter().all(Option::is_none) {
        let names = listed(bag.topics().iter().map(|topic| topic.name.clone()), ", ");
        let found = if names.is_empty() { "it is empty".into() } else { format!("it holds {}", names.escape_debug()) };
        let reasons: Vec<String> = std::iter::once(found).chain(played.warnings).collect();
        return Err(PlayError::Nothing { bag: options.bag.clone(), reason: reasons.join("; ") });
    }
    let clock = options.clock_hz.map(|hz| ClockSource::of(&mut node, hz)).transpose()?;
    if stop.sleep(SETTLING + Duration::from_secs_f64(options.delay_s.clamp(0.0, 1e6))) {
        return Ok(played);
    }
    let requests = Request::services(&mut node)?;
    let control = Control::new(options.start_paused);
    let (over, mut outcome) = (stop.clone(), Ok(true));
    let answer = |batch: Vec<Request>| {
        // Who asked may have gone.
        batch.into_iter().for_each(|request| drop(request.answer(&control)));
    };
    let mut channels = Channels { channels, played: &mut played };
    std::thread::scope(|scope| {
        if options.has_keys {
            scope.spawn(|| listen_to_keys(&control, &over));
        }
        // Whatever it ends of, the keys are not waited for.
        let _ends_all = stop.when_dropped();
        start::spin(
            node,
            requests,
            stop,
            answer,
            |_| (),
            || {
                // Moved, since it may be sent to another thread and not shared.
                let clock = clock;
                outcome = play_all(&mut bag, &mut channels, options, &control, clock.as_ref(), stop, &mut progress);
                if matches!(outcome, Ok(true)) {
                    stop.sleep(FLUSHING);
                }
            },
        )
    })?;
    outcome?;
    played.warnings.extend_from_slice(bag.warnings());
    if played.damaged > 0 {
        played.warnings.push(format!("{} damaged messages were left out", played.damaged));
    }
    Ok(played)
}

/// The topics that are played, by their index in the bag.
struct Channels<'a> {
    channels: Vec<Option<Channel>>,
    played: &'a mut Played,
}

/// Plays to the end; false where that was asked for earlier.
fn play_all(
    bag: &mut BagReader,
    channels: &mut Channels,
    options: &Options,
    control: &Control,
    clock: Option<&ClockSource>,
    stop: &Stop,
    progress: &mut (impl FnMut(f64) + ?Sized),
) -> r2r::Result<bool> {
    let Some((first, last)) = bag.bounds() else { return Ok(true) };
    let begin = first + options.start_offset_s;
    let end = options.duration_s.map_or(last, |duration| last.min(begin + duration));
    let whole = end.since(begin).max(1e-9);
    loop {
        bag.seek(if options.start_offset_s > 0.0 { begin } else { Stamp::MIN });
        let mut player = Player::from_now(begin, options.rate * control.speed(), clock);
        while let Some(record) = bag.next().filter(|record| record.log_time <= end) {
            let Some(Some(channel)) = channels.channels.get(record.topic) else { continue };
            match player.wait_with(control, options.rate, record.log_time, stop)? {
                Waited::Stopped => return Ok(false),
                Waited::Jump(to) => {
                    let to = to.clamp(begin, end.max(begin));
                    bag.seek(to);
                    player = Player::from_now(to, options.rate * control.speed(), clock);
                    continue;
                }
                Waited::Due => (),
            }
            match channel.publish(&record.data)? {
                true => channels.played.messages += 1,
                false => channels.played.damaged += 1,
            }
            progress((record.log_time.since(begin) / whole).clamp(0.0, 1.0));
        }
        if !options.repeat {
            return Ok(true);
        }
    }
}

/// A topic that is played.
struct Channel {
    publisher: PublisherUntyped,
    type_name: String,
}

impl Channel {
    /// Publishes a message as it was recorded; false if it is not one of its type.
    fn publish(&self, data: &[u8]) -> r2r::Result<bool> {
        // Bytes go out as they are, so that nothing is lost on the way; but not before they were read once.
        let readable = WrappedNativeMsgUntyped::new_from(&self.type_name)?.from_serialized_bytes(data).is_ok();
        if readable {
            self.publisher.publish_raw(data)?;
        }
        Ok(readable)
    }
}

/// A publisher for each topic that is wanted and that can be published.
fn advertise(
    node: &mut Node,
    topics: &[Topic],
    options: &Options,
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<Channel>>, PlayError> {
    let same = |a: &str, b: &str| a.trim_start_matches('/') == b.trim_start_matches('/');
    let wanted = |topic: &Topic| {
        let chosen = options.topics.is_empty() || options.topics.iter().any(|name| same(name, &topic.name));
        // With --clock the time is ours to tell.
        chosen && !(options.clock_hz.is_some() && same(&topic.name, "clock"))
    };
    let has_type =
        |topic: &Topic| topic.encoding == "cdr" && WrappedNativeMsgUntyped::new_from(&topic.type_name).is_ok();
    let is_played: Vec<bool> = topics.iter().map(|topic| wanted(topic) && has_type(topic)).collect();
    let count = is_played.iter().filter(|is_played| **is_played).count();
    if count > MOST_TOPICS {
        return Err(PlayError::TooMany { bag: options.bag.clone(), count });
    }
    let left_out = topics.iter().zip(&is_played).filter(|(topic, is_played)| wanted(topic) && !**is_played);
    let left_out = listed(left_out.map(|(topic, _)| format!("{} ({})", topic.name, topic.type_name)), ", ");
    if !left_out.is_empty() {
        warnings.push(format!("not played, since this build has no such types: {}", left_out.escape_debug()));
    }
    let mut channels = Vec::with_capacity(topics.len());
    for (topic, is_played) in topics.iter().zip(is_played) {
        if !is_played {
            channels.push(None);
            continue;
        }
        let renamed = options.remap.iter().find(|(from, _)| same(from, &topic.name));
        let name = renamed.map_or(topic.name.as_str(), |(_, to)| to.as_str());
        let named = options.qos.iter().find(|(name, _)| same(name, &topic.name));
        let qos = named.map_or_else(|| offered(&topic.qos), |(_, own)| own.of(offered(&topic.qos)));
        let publisher = node.create_publisher_untyped(name, &topic.type_name, qos)?;
        channels.push(Some(Channel { publisher, type_name: topic.type_name.clone() }));
    }
    for name in options.topics.iter().filter(|name| !topics.iter().any(|t| same(name, &t.name))) {
        warnings.push(format!("the bag has no topic {name}"));
    }
    Ok(channels)
}

/// Reliable, whatever was offered, since that fits every subscriber; kept for those who come late if it was so.
fn offered(recorded: &str) -> QosProfile {
    // rosbag2 writes the words today, and wrote rmw's number (1) for long.
    let latched = recorded.contains("transient_local") || recorded.contains("durability: 1");
    if latched { qos::latched().keep_last(100) } else { QosProfile::default().reliable().keep_last(1000) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use r2r::qos::DurabilityPolicy;

    #[test]
    fn quality_of_service_is_overridden_where_the_file_says_so() {
        let text = "/odom:\n  reliability: best_effort\n  history: keep_last\n  depth: 7\n";
        let overrides: BTreeMap<String, QosOverride> = serde_yaml_ng::from_str(text).unwrap();
        let qos = overrides["/odom"].of(offered(""));
        assert!(matches!(qos.reliability, r2r::qos::ReliabilityPolicy::BestEffort));
        assert_eq!(qos.depth, 7);
        assert!(serde_yaml_ng::from_str::<BTreeMap<String, QosOverride>>("/odom: {speed: 3}").is_err());
    }

    #[test]
    fn what_was_latched_is_latched_again() {
        let is_latched = |recorded| matches!(offered(recorded).durability, DurabilityPolicy::TransientLocal);
        assert!(is_latched("- history: keep_last\n  durability: transient_local\n"));
        assert!(is_latched("- history: 1\n  reliability: 1\n  durability: 1\n"));
        assert!(!is_latched("- history: 1\n  reliability: 1\n  durability: 2\n"));
        assert!(!is_latched(""));
    }
}
