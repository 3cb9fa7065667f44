//! # lienav-io
//!
//! A filter takes plain numbers with stamps. A robot has messages, bags, published data sets and parameter files. This
//! crate turns the latter into the former, and back, without ROS. It is for programs that run the filters of lienav on
//! recorded data, and for the nodes: what comes from a topic and what comes from a bag are the same plain structs,
//! pass the same checks, and are refused for the same reasons.
//!
//! ```
//! use lienav_io::convert::{self, Frame};
//! use lienav_io::messages::Odometry;
//! use lienav_io::settings_file;
//! use lienav_slam::Config;
//!
//! let config = settings_file::overlay(&Config::default(), "sensor: {range_std_m: 0.02}", "slam_node")?;
//! assert_eq!(config.sensor.range_std_m, 0.02);
//!
//! let frames = [Frame::parameter("odom_frame", "odom")];
//! let mut message = Odometry::default();
//! (message.header.frame_id, message.twist.twist.linear.x) = ("odom".into(), 0.5);
//! let (odometry, _pose) = convert::odometry(&message, &frames, &[])?;
//! assert_eq!(odometry.velocity.x, 0.5);
//! message.header.frame_id = "map".into();
//! assert_eq!(convert::odometry(&message, &frames, &[]).unwrap_err().word(), "unknown_frame");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to go on
//!
//! - [`recording::open`] reads a bag or a data set into a [`recording::Recording`]: the input of a filter in order of
//!   arrival, and the truth where it is known. [`inertial`] is the same for inertial sensors, [`space`] for motions in
//!   space among landmarks.
//! - [`bag`] reads and writes rosbag2 bags (MCAP and SQLite); a damaged bag gives what can be read of it and says
//!   where it ends. [`to_bag`] writes a recording as a bag. [`datasets`] reads data sets as their authors publish
//!   them.
//! - [`intake`] makes input of a filter of the messages of a whole robot, for a node and for a bag: sensors placed by
//!   `/tf_static`, several of them, tags, twists, several sources of odometry.
//! - [`messages`] are ROS 2 messages as plain structs, [`convert`] checks and converts them, and [`cloud`] defines the
//!   fields of a point cloud of measurements.
//! - [`settings_file`] reads settings from YAML and ROS parameter files; [`files`] writes a file completely or not at
//!   all.
//! - [`map_file`] is a map of landmarks that outlives the run: written by hand from a survey, or by a filter.
//! - [`trajectory`] reads what any estimator has written, with the covariances that it states.
//! - [`truth`] interpolates true poses; [`identities`] are what measurements without identity are really of.
//! - Input goes to `lienav-slam` or `lienav-attitude`, runs to `lienav-eval`; `lienav-sim` simulates what this crate
//!   records. `examples/02_stereo.rs` evaluates a recording.
//! - Messages, their conversion and settings come from `lienav-intake`, bags and recordings from `lienav-bag`, and how
//!   files are opened and written from `lienav-files`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

pub mod datasets;
pub mod inertial;
pub mod intake;
pub mod map_file;
pub mod recording;
pub mod space;
pub mod to_bag;
pub mod trajectory;
pub mod truth;

pub use lienav_bag as bag;
pub use lienav_bag::identities;
use lienav_files::place;
pub use lienav_files::{files, open, yaml};
pub use lienav_intake::{cloud, convert, geodesy, messages, settings_file, statements, transforms};
