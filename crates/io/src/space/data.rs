//! What a recording in space holds.

use super::tags::TagRecording;
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::{Vector2, Vector3, Vector4};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A recorded run. All stamps are on the clock of the inertial sensor or of the odometry.
#[derive(Clone, Debug, Default)]
pub struct SpaceRecording {
    /// What to call it in a report.
    pub name: String,
    /// Which layout it has.
    pub layout: Layout,
    /// Samples of an inertial sensor by increasing stamp; empty without one.
    pub inertial: Vec<InertialSample>,
    /// Velocities and rates of the body by increasing stamp, each held until the next; empty without odometry.
    pub twists: Vec<Twist>,
    /// Velocities that lag and are filtered, where the recording has them besides its odometry.
    pub chassis: Vec<Twist>,
    /// Frames of the camera by increasing stamp.
    pub frames: Vec<Frame>,
    /// The camera.
    pub camera: Camera,
    /// Further cameras on the same body.
    pub further_cameras: Vec<Camera>,
    /// Noise as the recording states it.
    pub stated: StatedNoise,
    /// Where a filter starts, where that is given.
    pub start: Option<GivenStart>,
    /// Poses of the body by increasing stamp; empty where the recording has no truth.
    pub truth: Vec<TruePose>,
    /// Gravity in the frame of the truth, m/s², where it is stated: that frame need not be level.
    pub gravity: Option<Vector3<f64>>,
    /// True landmarks by identity, m, in the frame of the truth.
    pub landmarks: BTreeMap<u64, Vector3<f64>>,
    /// Whether identities are those of tracks, which do not come back, in a simulated run.
    pub tracks_end: bool,
    /// Rows that were left out, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
    /// Tags in the images of cameras, in recordings of tags.
    pub tags: TagRecording,
}

/// The layout of a recording's folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// An inertial sensor, and tracks of points in one camera.
    #[default]
    EurocTracks,
    /// An inertial sensor, and tags in a pair of cameras.
    Starloc,
    /// Rate, body velocity, and points in a pair of cameras.
    Starry,
    /// A simulated run: noise and start are those that are stated.
    Simulated,
    /// Corners of tags in cameras, with or without odometry.
    Tagslam,
    /// Corners of tags of a known field in one camera, and odometry.
    Frc,
}

/// A sample of an inertial sensor, in its own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InertialSample {
    /// When.
    pub stamp: Stamp,
    /// Angular rate, rad/s.
    pub rate: Vector3<f64>,
    /// Specific force, m/s².
    pub force: Vector3<f64>,
}

/// Velocity and rate of the body in its own axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Twist {
    /// From when on.
    pub stamp: Stamp,
    /// Velocity, m/s.
    pub velocity: Vector3<f64>,
    /// Angular rate, rad/s.
    pub rate: Vector3<f64>,
}

/// What the camera saw at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// When.
    pub stamp: Stamp,
    /// Each landmark once.
    pub seen: Vec<Seen>,
}

/// A landmark in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Its identity.
    pub id: u64,
    /// Where it is.
    pub at: Image,
}

/// Where a landmark is in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Image {
    /// x/z and y/z in one camera.
    Normalized(Vector2<f64>),
    /// (u_l, v_l, u_r, v_r), px, in a rectified pair of cameras.
    Stereo(Vector4<f64>),
    /// x/z and y/z in a further camera, counted from 0.
    Further(usize, Vector2<f64>),
}

/// A pinhole camera, or the left one of a rectified pair: axes x right, y down, z forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// f_x, f_y, px.
    pub focal: Vector2<f64>,
    /// c_x, c_y, px.
    pub centre: Vector2<f64>,
    /// Where the right camera is: at (b, 0, 0), m; zero for one camera.
    pub baseline_m: f64,
    /// x_body = R x_camera + t.
    pub on_body: Se3,
}

/// Noise as a recording states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatedNoise {
    /// Variances of the velocity of one twist by axis, (m/s)².
    pub velocity: Option<Vector3<f64>>,
    /// Variances of the rate of one twist by axis, (rad/s)².
    pub rate: Option<Vector3<f64>>,
    /// Variances of (u_l, v_l, u_r, v_r), px².
    pub pixels: Option<Vector4<f64>>,
    /// Of the inertial sensor: white noise of the rate, rad/s/√Hz, and of the force, m/s²/√Hz; random walks of their
    /// biases, rad/s²/√Hz and m/s³/√Hz.
    pub inertial: Option<[f64; 4]>,
}

/// An estimate of the start with its errors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GivenStart {
    /// When.
    pub stamp: Stamp,
    /// The body in the frame of the truth.
    pub pose: Se3,
    /// m/s, in that frame.
    pub velocity: Vector3<f64>,
    /// Standard deviations by axis: rotation, rad; velocity, m/s; position, m; biases, rad/s and m/s².
    pub std: [f64; 5],
}

/// A true pose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TruePose {
    /// When.
    pub stamp: Stamp,
    /// Body to the frame of the truth.
    pub pose: Se3,
    /// Velocity in the frame of the truth, m/s, where the recording has it.
    pub velocity: Option<Vector3<f64>>,
    /// Bias of the accelerometer, m/s², where the recording has it.
    pub force_bias: Option<Vector3<f64>>,
}
