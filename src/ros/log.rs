//! Log lines of a node, by way of ROS (so that `--log-level` and `ROS_LOG_DIR` are honoured) and on `/rosout`, and
//! never a flood of them.
//!
//! Lines are written by a thread of their own. A disk that is slow, a journal that hangs or a terminal that was stopped
//! would otherwise stop the filter, too: a write to such an end waits until somebody takes what is written.

use super::arguments::{RosArguments, Severity};
use super::qos;
use r2r::Publisher;
use r2r::builtin_interfaces::msg::Time;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Lines that may wait to be written; beyond, the newest are lost and counted.
const WAITING: usize = 256;

/// Writes under the name of its node.
#[derive(Clone, Debug)]
pub struct Log {
    name: String,
    level: Severity,
    throttle: Throttle,
}

impl Log {
    /// For the logger of this name, at the level of the command line.
    pub fn new(name: &str) -> Self {
        let level = RosArguments::read(std::env::args()).level(name);
        Self { name: name.replace('\0', ""), level, throttle: Throttle::default() }
    }

    /// What helps to find out why something happens; the text is made only where somebody asks for it.
    pub fn debug(&self, text: impl FnOnce() -> String) {
        if self.level <= Severity::Debug {
            self.write(Severity::Debug, &text());
        }
    }

    /// What a user may want to know.
    pub fn info(&self, text: &str) {
        self.write(Severity::Info, text);
    }

    /// What a user should know.
    pub fn warn(&self, text: &str) {
        self.write(Severity::Warn, text);
    }

    /// The same of what may come in floods: a line of each reason a second, see [`Throttle`].
    pub fn warn_of(&mut self, reason: &'static str, text: impl FnOnce() -> String) {
        if let Some(line) = self.throttle.line(Instant::now(), reason, text) {
            self.warn(&line);
        }
    }

    /// What a user may want to know, of what may come in floods.
    pub fn info_of(&mut self, reason: &'static str, text: impl FnOnce() -> String) {
        if let Some(line) = self.throttle.line(Instant::now(), reason, text) {
            self.info(&line);
        }
    }

    /// Warns where ROS has not sent something.
    pub fn sent(&mut self, outcome: r2r::Result<()>) {
        if let Err(error) = outcome {
            self.warn_of("publish", || format!("publishing failed: {error}"));
        }
    }

    /// What stops the node, or part of it.
    pub fn error(&self, text: &str) {
        self.write(Severity::Error, text);
    }

    fn write(&self, severity: Severity, text: &str) {
        let is_published = severity >= self.level;
        writer().write(Line { severity, is_published, name: self.name.clone(), text: printable(text) });
    }
}

/// Has every line of this process that is logged from now on published on `/rosout` by `node`, too, unless the command
/// line says otherwise.
///
/// # Errors
/// What ROS says.
pub fn publish_with(node: &mut r2r::Node) -> r2r::Result<()> {
    if !RosArguments::read(std::env::args()).without_rosout {
        let publisher = node.create_publisher("/rosout", qos::rosout())?;
        // Where the thread is busy for so long, its lines are lost anyway.
        let _ = writer().entries.try_send(Entry::Publisher(publisher));
    }
    Ok(())
}

/// Waits until all lines are written, but no longer than `limit`; says whether they are.
pub fn flush(limit: Duration) -> bool {
    let (done, is_done) = mpsc::sync_channel(1);
    let deadline = Instant::now() + limit;
    let mut entry = Entry::Flush(done);
    loop {
        match writer().entries.try_send(entry) {
            Ok(()) => return is_done.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok(),
            Err(TrySendError::Full(back)) if Instant::now() < deadline => entry = back,
            Err(_) => return false,
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Line {
    severity: Severity,
    /// Whether the level of the logger lets it out.
    is_published: bool,
    name: String,
    text: String,
}

impl Line {
    fn give_to_ros(&self, publisher: Option<&Publisher<r2r::rcl_interfaces::msg::Log>>) {
        match self.severity {
            Severity::Debug => r2r::log_debug!(&self.name, "{}", self.text),
            Severity::Info => r2r::log_info!(&self.name, "{}", self.text),
            Severity::Warn => r2r::log_warn!(&self.name, "{}", self.text),
            Severity::Error | Severity::Fatal => r2r::log_error!(&self.name, "{}", self.text),
        }
        if let Some(publisher) = publisher.filter(|_| self.is_published) {
            // A node that has ended has no publisher any more; the line is on the terminal.
            let _ = publisher.publish(&self.message());
        }
    }

    fn message(&self) -> r2r::rcl_interfaces::msg::Log {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let sec = i32::try_from(now.as_secs()).unwrap_or(i32::MAX);
        r2r::rcl_interfaces::msg::Log {
            stamp: Time { sec, nanosec: now.subsec_nanos() },
            level: self.severity.value(),
            name: self.name.clone(),
            msg: self.text.clone(),
            ..Default::default()
        }
    }
}

enum Entry {
    Line(Line),
    /// Lines are published with it from now on.
    Publisher(Publisher<r2r::rcl_interfaces::msg::Log>),
    Flush(SyncSender<()>),
}

/// The way to the thread that writes.
struct Writer {
    entries: SyncSender<Entry>,
    lost: AtomicU64,
}

/// That of this process, which is started with the first line.
fn writer() -> &'static Writer {
    static WRITER: OnceLock<Writer> = OnceLock::new();
    WRITER.get_or_init(|| {
        let (started, entries) = Writer::new(WAITING);
        // Where there is no thread to be had, nothing is logged; what the node does matters more.
        let _thread = std::thread::Builder::new().name("log".into()).spawn(move || {
            write_all(&entries, |line, publisher| {
                line.give_to_ros(publisher);
                let lost = writer().lost.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let text = format!("{lost} log lines were lost: what is logged is not taken fast enough");
                    Line { severity: Severity::Warn, text, ..line }.give_to_ros(publisher);
                }
            });
        });
        started
    })
}

/// Writes what comes, in its order, until nobody can send any more.
fn write_all(
    entries: &Receiver<Entry>,
    mut write: impl FnMut(Line, Option<&Publisher<r2r::rcl_interfaces::msg::Log>>),
) {
    let mut publisher = None;
    for entry in entries {
        match entry {
            Entry::Line(line) => write(line, publisher.as_ref()),
            Entry::Publisher(new) => publisher = Some(new),
            // Who asked may have given up.
            Entry::Flush(done) => drop(done.try_send(())),
        }
    }
}

impl Writer {
    fn new(waiting: usize) -> (Self, Receiver<Entry>) {
        let (entries, received) = mpsc::sync_channel(waiting);
        (Self { entries, lost: AtomicU64::new(0) }, received)
    }

    /// Never waits.
    fn write(&self, line: Line) {
        if self.entries.try_send(Entry::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// r2r panics on a NUL, and text that came in a message may hold anything.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Lets each reason through once a second, and says how many were held back.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    seen: BTreeMap<&'static str, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Instant,
    held_back: u64,
}

/// A reason is logged at most this often.
const PERIOD: Duration = Duration::from_secs(1);

impl Throttle {
    /// The line to log for one more event of `reason` at `now`, or `None` where it came too soon after the last one.
    pub fn line(&mut self, now: Instant, reason: &'static str, text: impl FnOnce() -> String) -> Option<String> {
        let Some(seen) = self.seen.get_mut(reason) else {
            self.seen.insert(reason, Seen { last: now, held_back: 0 });
            return Some(text());
        };
        if now.saturating_duration_since(seen.last) < PERIOD {
            seen.held_back += 1;
            return None;
        }
        let held_back = std::mem::take(&mut seen.held_back);
        seen.last = now;
        Some(match held_back {
            0 => text(),
            n => format!("{} (and {n} more since the last such line)", text()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_gets_a_line_a_second_and_the_rest_are_counted() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let mut at = |ms, reason| throttle.line(start + Duration::from_millis(ms), reason, || reason.to_uppercase());
        assert_eq!(at(0, "gated"), Some("GATED".into()));
        assert_eq!(at(1, "absurd"), Some("ABSURD".into()));
        assert_eq!(at(400, "gated"), None);
        assert_eq!(at(999, "gated"), None);
        assert_eq!(at(1000, "gated"), Some("GATED (and 2 more since the last such line)".into()));
        assert_eq!(at(2500, "gated"), Some("GATED".into()));
    }

    #[test]
    fn a_line_that_is_not_taken_stops_nobody_and_those_beyond_are_counted() {
        let (writer, entries) = Writer::new(2);
        let line =
            |text: &str| Line { severity: Severity::Info, is_published: true, name: "node".into(), text: text.into() };
        ["a", "b", "c", "d"].into_iter().for_each(|text| writer.write(line(text)));
        assert_eq!(writer.lost.load(Ordering::Relaxed), 2);
        drop(writer);
        let mut written = Vec::new();
        write_all(&entries, |line, _| written.push(line.text));
        assert_eq!(written, ["a", "b"]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\0b\u{1b}[2Jc\n"), "a\u{fffd}b\u{fffd}[2Jc\u{fffd}");
    }
}
