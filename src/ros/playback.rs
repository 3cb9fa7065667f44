//! What a user asks of a bag that is being played: to pause, to jump, to go faster; by keys and by services.

use super::receive::{Inbox, receive};
use super::stop::Stop;
use r2r::std_srvs::srv::Trigger;
use r2r::{Node, QosProfile, ServiceRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

/// A jump by a key, s.
const JUMP_S: i64 = 5;

/// The wishes, shared by the thread that plays and those that listen.
#[derive(Debug)]
pub struct Control {
    is_paused: AtomicBool,
    jump_s: AtomicI64,
    speed_percent: AtomicU32,
}

impl Control {
    /// Plays at the usual speed, or waits for the end of a pause.
    pub fn new(is_paused: bool) -> Self {
        let (jump_s, speed_percent) = (AtomicI64::new(0), AtomicU32::new(100));
        Self { is_paused: AtomicBool::new(is_paused), jump_s, speed_percent }
    }

    /// Whether nothing is played.
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Pauses or goes on.
    pub fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    /// Pauses what plays, and the other way round.
    pub fn toggle(&self) {
        self.is_paused.fetch_xor(true, Ordering::Relaxed);
    }

    /// Asks for a jump ahead, or back; those that wait add up.
    pub fn jump(&self, seconds: i64) {
        self.jump_s.fetch_add(seconds, Ordering::Relaxed);
    }

    /// The jump that was asked for, s; 0 for none.
    pub fn take_jump(&self) -> f64 {
        self.jump_s.swap(0, Ordering::Relaxed) as f64
    }

    /// The speed as a multiple of that of the command line.
    pub fn speed(&self) -> f64 {
        f64::from(self.speed_percent.load(Ordering::Relaxed)) / 100.0
    }

    /// Goes faster by a tenth, or slower.
    fn change_speed(&self, percent: i32) {
        let change = |old: u32| Some(old.saturating_add_signed(percent).clamp(10, 10_000));
        // The closure always has a value.
        let _ = self.speed_percent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    /// What keys mean: space, and the arrows of a terminal (ESC [ A … D).
    pub fn keys(&self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [first, behind @ ..] = rest {
            rest = match rest {
                [0x1b, b'[', arrow, behind @ ..] => {
                    match arrow {
                        b'A' => self.change_speed(10),
                        b'B' => self.change_speed(-10),
                        b'C' => self.jump(JUMP_S),
                        b'D' => self.jump(-JUMP_S),
                        _ => (),
                    }
                    behind
                }
                _ => {
                    if *first == b' ' {
                        self.toggle();
                    }
                    behind
                }
            };
        }
    }
}

/// A call of a service.
pub enum Request {
    /// Pause.
    Pause(ServiceRequest<Trigger::Service>),
    /// Go on.
    Resume(ServiceRequest<Trigger::Service>),
    /// The one or the other.
    Toggle(ServiceRequest<Trigger::Service>),
}

impl Request {
    /// The services `~/pause`, `~/resume` and `~/toggle_paused`.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn services(node: &mut Node) -> r2r::Result<Vec<Inbox<Self>>> {
        let mut service = |name: &str, request: fn(ServiceRequest<Trigger::Service>) -> Self| {
            r2r::Result::Ok(receive(node.create_service(name, QosProfile::services_default())?, request))
        };
        Ok(vec![
            service("~/pause", Self::Pause)?,
            service("~/resume", Self::Resume)?,
            service("~/toggle_paused", Self::Toggle)?,
        ])
    }

    /// Does what is asked for, and answers.
    ///
    /// # Errors
    /// ROS cannot send the answer.
    pub fn answer(self, control: &Control) -> r2r::Result<()> {
        let request = match self {
            Self::Pause(request) => {
                control.set_paused(true);
                request
            }
            Self::Resume(request) => {
                control.set_paused(false);
                request
            }
            Self::Toggle(request) => {
                control.toggle();
                request
            }
        };
        let message = if control.is_paused() { "paused" } else { "playing" }.to_owned();
        request.respond(Trigger::Response { success: true, message })
    }
}

/// A terminal that gives each key at once, until this is dropped.
struct RawTerminal(Termios);

impl RawTerminal {
    #[allow(clippy::indexing_slicing, reason = "special codes are found by their names, which all exist")]
    fn of_stdin() -> Option<Self> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut raw = before.clone();
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Reads keys until `stop`, where standard input is a terminal.
pub fn listen_to_keys(control: &Control, stop: &Stop) {
    let Some(_terminal) = RawTerminal::of_stdin() else { return };
    let stdin = std::io::stdin();
    let mut bytes = [0; 64];
    while !stop.is_requested() {
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut terminal = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut terminal, Some(&wait)).unwrap_or(0) > 0 {
            match rustix::io::read(&stdin, &mut bytes) {
                // The terminal is gone.
                Ok(0) | Err(_) => return,
                Ok(count) => control.keys(bytes.get(..count).unwrap_or_default()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_pauses_and_arrows_jump_and_change_the_speed() {
        let control = Control::new(false);
        control.keys(b" ");
        assert!(control.is_paused());
        control.keys(b"x \x1b[C\x1b[C\x1b[D\x1b[Z");
        assert!(!control.is_paused());
        assert_eq!((control.take_jump(), control.take_jump()), (5.0, 0.0));
        control.keys(b"\x1b[A\x1b[A\x1b[B");
        assert_eq!(control.speed(), 1.1);
        (0..50).for_each(|_| control.keys(b"\x1b[B"));
        assert_eq!(control.speed(), 0.1, "it never stands still");
        control.keys(b"\x1b[");
    }
}
