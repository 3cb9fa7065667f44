//! Tags in the images of cameras: the pipeline of the filter that sees them.
//!
//! [`TagSlam3d`] takes [input] (corners in pixels, twists of the wheels, poses) in whatever order it arrives, and gives
//! the same [output](crate::output) as [`Slam3d`](crate::Slam3d). Without an
//! inertial sensor the body is the frame of the robot, and the motion between frames is that of the odometry, or a
//! velocity that stays nearly the same.
//!
//! [`settings`] are what can be set, `inbox` is what waits, [`motion`] moves the state between frames, [`start`]
//! begins, `search` finds the body among known tags, `running` is a run that has begun, `inertial` has the samples of
//! an inertial sensor, `face_on` doubts single tags, `pairs` of known tags show edges (`sizes`) and corners (`order`)
//! that are stated wrong, `map` has the tags of the state, and `pipeline` is the whole.
//!
//! A camera on a robot that stands sees a tag of 16 cm, 2 m ahead:
//!
//! ```
//! use lienav_base::stamp::Stamp;
//! use lienav_space::lens::{Distortion, Lens};
//! use lienav_space::tags::{Camera, TagConfig, TagFrame, TagSeen, TagSlam3d};
//! use lienav_space::{Config, Pinhole};
//! use nalgebra::Vector2;
//!
//! let mut slam = TagSlam3d::new(Config::default(), TagConfig::default())?;
//! let pinhole = Pinhole { focal: Vector2::repeat(600.0), centre: Vector2::new(320.0, 240.0) };
//! let lens = Lens { pinhole, distortion: Distortion::None };
//! slam.set_camera(0, Camera { lens, on_body: Default::default() })?;
//! let corners = [[296.0, 268.0], [343.0, 264.0], [344.0, 216.0], [296.0, 212.0]].map(|[u, v]| Vector2::new(u, v));
//! let seen = vec![TagSeen { camera: 0, id: 7, size_m: 0.16, corners }];
//! slam.push_frame(&TagFrame { stamp: Stamp::from_secs(1.0), camera: Some(0), seen })?;
//! let step = slam.poll().ok_or("no step")?;
//! assert_eq!((step.landmarks, slam.tags()[0].id), (1, 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod face_on;
mod inbox;
mod inertial;
pub mod input;
mod map;
pub mod motion;
mod order;
mod pairs;
mod pipeline;
mod running;
mod search;
pub mod settings;
mod sizes;
pub mod start;

pub use input::{BodyTwist, Camera, MovingTag, OnBoard, TagFrame, TagPose, TagSeen};
pub use lienav_tags::known::JointMap;
pub use lienav_tags::landmark::KnownTag;
pub use pipeline::TagSlam3d;
pub use settings::TagConfig;
