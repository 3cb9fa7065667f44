//! # lienav-base
//!
//! Filters that take live input share three questions: which time does a message belong to, why was it left out, and
//! what can be set? This crate answers them once for the filters of lienav, and for other filters and nodes that want
//! the same answers: time stamps, a guard against wrong clocks, counts of what was dropped, and settings that are
//! declared in one place with unit, range, default and description.
//!
//! One declaration gives a struct, its defaults, its documentation and its range checks:
//!
//! ```
//! use lienav_base::settings;
//! use lienav_base::settings::{Described, check};
//!
//! settings! {
//!     /// A gripper.
//!     pub struct Gripper {
//!         /// How fast the fingers move, m/s.
//!         speed: f64 = 0.1, within 0.0..=0.5, unit "m/s", runtime;
//!     }
//! }
//!
//! let refused = check(&Gripper { speed: 0.9 }, Gripper::SPECS).unwrap_err();
//! assert_eq!(refused.to_string(), "parameter 'speed' is 0.9; allowed: 0 … 0.5");
//! assert!(check(&Gripper::default(), Gripper::SPECS).is_ok());
//! ```
//!
//! # Where to go on
//!
//! - [`stamp`]: [`Stamp`](stamp::Stamp), whole nanoseconds since an epoch that the data define. Nothing here reads a
//!   clock.
//! - [`clock`]: [`ClockGuard`](clock::ClockGuard) decides which stamps belong to the clock in force. One wrong stamp
//!   costs one message; a jump of time is followed once a run of messages confirms it.
//! - [`intake`]: [`Counts`](intake::Counts), how often each reason of refusal occurred.
//! - [`nesting`]: [`check_yaml`](nesting::check_yaml) bounds the depth and the size of a text before it is parsed.
//! - [`bits`]: lists of numbers in files, without loss.
//! - [`settings`](mod@settings): [`settings!`] and [`words!`] declare settings, [`check`](settings::check) checks
//!   ranges.
//! - `lienav-slam` and `lienav-attitude` are the filters that use this crate; `lienav-io` reads and writes settings as
//!   files. `examples/01_range_bearing_slam.rs` and `05_attitude.rs` use stamps and settings in a program.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod bits;
pub mod clock;
pub mod intake;
pub mod nesting;
pub mod settings;
pub mod stamp;
