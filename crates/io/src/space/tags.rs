//! What a recording of tags holds besides.

use super::data::{TruePose, Twist};
use lienav_base::stamp::Stamp;
use lienav_lie::Se3;
use nalgebra::{Matrix6, Vector2};
use std::collections::BTreeMap;

/// Tags in the images of cameras on a body.
#[derive(Clone, Debug, Default)]
pub struct TagRecording {
    /// The cameras.
    pub cameras: Vec<TagCamera>,
    /// What they saw, by increasing stamp.
    pub frames: Vec<TagFrame>,
    /// Tags whose places the recording states.
    pub known: BTreeMap<u64, StatedTag>,
    /// The true poses of tags in the frame of the truth.
    pub true_tags: BTreeMap<u64, Se3>,
    /// Standard deviation of a coordinate of a corner as the recording states it, px.
    pub pixel_sigma: Option<f64>,
    /// Covariance of (δp, δθ) of the truth, m and rad, about the axes of the world, by stamp; empty where it is unknown.
    pub truth_covariance: BTreeMap<Stamp, Matrix6<f64>>,
    /// Velocities that lag and are filtered, where the recording has them besides its odometry.
    pub chassis: Vec<Twist>,
}

/// A camera with its distortion, axes x right, y down, z forward.
#[derive(Clone, Debug, PartialEq)]
pub struct TagCamera {
    /// Its name in the recording.
    pub name: String,
    /// f_x, f_y, px.
    pub focal: Vector2<f64>,
    /// c_x, c_y, px.
    pub centre: Vector2<f64>,
    /// Its distortion.
    pub distortion: CameraDistortion,
    /// x_body = R x_camera + t.
    pub on_body: Se3,
}

/// The model of a distortion, with its coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraDistortion {
    /// k₁, k₂, p₁, p₂, k₃.
    PlumbBob([f64; 5]),
    /// k₁, k₂, k₃, k₄ of the angle to the axis.
    Equidistant([f64; 4]),
}

/// What all cameras saw at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct TagFrame {
    /// When.
    pub stamp: Stamp,
    /// Each tag once a camera.
    pub seen: Vec<TagSeen>,
}

/// A tag in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagSeen {
    /// Which camera.
    pub camera: usize,
    /// Its identity.
    pub id: u64,
    /// Length of its edge, m.
    pub size_m: f64,
    /// Its corners, px, those at (−, −), (+, −), (+, +), (−, +) in the tag's (x, y).
    pub corners: [Vector2<f64>; 4],
}

/// A tag whose place is stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedTag {
    /// x_world = R x_tag + t.
    pub pose: Se3,
    /// Standard deviations of its rotation, rad, and place, m, by axis.
    pub sigma: (f64, f64),
}

/// Frames from rows in any order. A tag that one camera has twice at an instant is none of the two: both are left out.
#[derive(Debug, Default)]
pub(super) struct TagFrames {
    frames: BTreeMap<Stamp, Vec<TagSeen>>,
    repeated: Vec<(Stamp, usize, u64)>,
}

/// Most tags in one frame; those behind them are left out.
const MOST_SEEN: usize = 300;

impl TagFrames {
    /// Takes in a tag; `false` where the frame has too many.
    pub(super) fn add(&mut self, stamp: Stamp, seen: TagSeen) -> bool {
        let all = self.frames.entry(stamp).or_default();
        if all.iter().any(|other| (other.camera, other.id) == (seen.camera, seen.id)) {
            self.repeated.push((stamp, seen.camera, seen.id));
            return true;
        }
        let has_place = all.len() < MOST_SEEN;
        if has_place {
            all.push(seen);
        }
        has_place
    }

    /// By increasing stamp, and how many rows were left out because another had their camera and tag.
    pub(super) fn into_frames(mut self) -> (Vec<TagFrame>, u64) {
        let mut left_out = self.repeated.len() as u64;
        self.repeated.sort_unstable();
        self.repeated.dedup();
        for (stamp, camera, id) in self.repeated {
            let Some(all) = self.frames.get_mut(&stamp) else { continue };
            let before = all.len();
            all.retain(|seen| (seen.camera, seen.id) != (camera, id));
            left_out += (before - all.len()) as u64;
        }
        (self.frames.into_iter().map(|(stamp, seen)| TagFrame { stamp, seen }).collect(), left_out)
    }
}

/// Whether corners are finite, and those of a convex quadrangle.
pub(super) fn are_corners(corners: &[Vector2<f64>; 4]) -> bool {
    const LARGEST_PX: f64 = 1e5;
    let edge = |k: usize| corners[(k + 1) % 4] - corners[k];
    let turn = |k: usize| edge(k).perp(&edge((k + 1) % 4));
    corners.iter().flat_map(|corner| corner.iter()).all(|x| x.abs() < LARGEST_PX)
        && ((0..4).all(|k| turn(k) > 0.0) || (0..4).all(|k| turn(k) < 0.0))
}

/// Whether a body would have had to be faster than this between two poses, m/s.
fn jumps(pair: &[TruePose], fastest: f64) -> bool {
    let seconds = pair[1].stamp.since(pair[0].stamp);
    (pair[1].pose.translation - pair[0].pose.translation).norm() > fastest * seconds
}

/// Leaves out poses between which the body would have had to be faster than this, m/s, and runs of less than a second
/// between a jump and another one or a gap. Returns how many.
pub(super) fn leave_out_jumps(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    const SHORTEST_S: f64 = 1.0;
    const GAP_S: f64 = 0.5;
    let is_jump: Vec<bool> = truth.windows(2).map(|pair| jumps(pair, fastest)).collect();
    let is_gap = |k: usize| truth[k + 1].stamp.since(truth[k].stamp) > GAP_S;
    let mut is_kept = vec![true; truth.len()];
    let mut first = 0;
    for k in 0..truth.len() {
        let ends = k + 1 == truth.len() || is_jump[k] || is_gap(k);
        if !ends {
            continue;
        }
        let (before, after) = (first > 0 && is_jump[first - 1], k + 1 < truth.len() && is_jump[k]);
        let is_short = truth[k].stamp.since(truth[first].stamp) < SHORTEST_S;
        if (before || after) && is_short {
            is_kept[first..=k].fill(false);
        }
        (is_kept[first], is_kept[k]) = (is_kept[first] && !before, is_kept[k] && !after);
        first = k + 1;
    }
    retain(truth, &is_kept)
}

/// Keeps the longest run of poses between two of which the body is not faster than this, m/s. Returns how many are left
/// out.
pub(super) fn keep_longest_run(truth: &mut Vec<TruePose>, fastest: f64) -> u64 {
    let mut starts = vec![0];
    starts.extend((1..truth.len()).filter(|k| jumps(&truth[k - 1..=*k], fastest)));
    starts.push(truth.len());
    let longest = starts.windows(2).max_by_key(|run| run[1] - run[0]).map_or(0..0, |run| run[0]..run[1]);
    let is_kept: Vec<bool> = (0..truth.len()).map(|k| longest.contains(&k)).collect();
    retain(truth, &is_kept)
}

fn retain(truth: &mut Vec<TruePose>, is_kept: &[bool]) -> u64 {
    let before = truth.len();
    let mut kept = is_kept.iter();
    truth.retain(|_| kept.next().copied().unwrap_or(true));
    (before - truth.len()) as u64
}
