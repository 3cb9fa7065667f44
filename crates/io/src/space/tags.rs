//! What a recording of tags holds besides.

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
    /// Tags that are on a board with others.
    pub on_board: BTreeMap<u64, OnBoard>,
    /// The true poses of tags in the frame of the truth.
    pub true_tags: BTreeMap<u64, Se3>,
    /// Standard deviation of a coordinate of a corner as the recording states it, px.
    pub pixel_sigma: Option<f64>,
    /// Covariance of (δp, δθ) of the truth, m and rad, about the axes of the world, by stamp; empty where it is unknown.
    pub truth_covariance: BTreeMap<Stamp, Matrix6<f64>>,
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

/// Where a tag is on a board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnBoard {
    /// The tag whose frame is that of the board.
    pub board: u64,
    /// x_board = R x_tag + t.
    pub pose: Se3,
    /// Standard deviation of its place there by axis, m.
    pub sigma_m: f64,
}

/// A tag whose place is stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedTag {
    /// x_world = R x_tag + t.
    pub pose: Se3,
    /// Standard deviations of its rotation, rad, and place, m, by axis.
    pub sigma: (f64, f64),
}

/// Frames from rows in any order. Where one camera has a tag twice at an instant, both are left out.
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

/// Four corners from the eight numbers of a row.
pub(super) fn corners_of([u0, v0, u1, v1, u2, v2, u3, v3]: [f64; 8]) -> [Vector2<f64>; 4] {
    [Vector2::new(u0, v0), Vector2::new(u1, v1), Vector2::new(u2, v2), Vector2::new(u3, v3)]
}

/// Whether corners are finite, and those of a convex quadrangle.
pub(super) fn are_corners(corners: &[Vector2<f64>; 4]) -> bool {
    const LARGEST_PX: f64 = 1e5;
    let [a, b, c, d] = corners;
    let (ab, bc, cd, da) = (b - a, c - b, d - c, a - d);
    let turns = [ab.perp(&bc), bc.perp(&cd), cd.perp(&da), da.perp(&ab)];
    corners.iter().flat_map(|corner| corner.iter()).all(|x| x.abs() < LARGEST_PX)
        && (turns.iter().all(|turn| *turn > 0.0) || turns.iter().all(|turn| *turn < 0.0))
}
