//! Cameras: which landmarks they see, and where.

use super::scenario::{CameraConfig, CameraKind};
use crate::random::normal;
use lienav_lie::{LieGroup, Se3, So3};
use nalgebra::{Matrix3, Vector2, Vector3, Vector4};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet};

/// A pinhole camera, or the left one of a rectified pair: axes x right, y down, z forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// f, px, in both axes.
    pub focal: f64,
    /// c, px.
    pub centre: Vector2<f64>,
    /// The right camera is at (b, 0, 0), m; zero for one camera.
    pub baseline_m: f64,
    /// x_body = R x_camera + t.
    pub on_body: Se3,
}

/// A landmark in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Its identity; of a false detection, one that no landmark has.
    pub id: u64,
    /// In which camera.
    pub camera: usize,
    /// Where.
    pub at: Pixels,
    /// Whether the pixels have nothing to do with the landmark.
    pub is_outlier: bool,
}

/// Where a landmark is in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pixels {
    /// (u, v), px.
    One(Vector2<f64>),
    /// (u_l, v_l, u_r, v_r), px, in a rectified pair.
    Pair(Vector4<f64>),
}

/// Nearer points are not seen, m.
const NEAREST_M: f64 = 0.3;
/// Identities from here on are those of false detections.
pub const FALSE_ID: u64 = 1_000_000;
/// Where tracks end, identities from here on are those of tracks.
pub const TRACK_ID: u64 = 10_000_000;

/// The cameras of a body: one, a pair, or three that look ahead, to the left and to the right behind.
pub fn cameras(config: &CameraConfig) -> Vec<Camera> {
    // x of the camera is −y of the body, y is −z, z is x.
    let ahead = So3::from_matrix_unchecked(Matrix3::new(0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 0.0));
    let one = |yaw: f64| {
        let turn = So3::exp(&(Vector3::z() * yaw));
        Camera {
            focal: config.focal_px,
            centre: Vector2::new(config.width_px, config.height_px) * 0.5,
            baseline_m: if config.kind == CameraKind::Stereo { config.baseline_m } else { 0.0 },
            on_body: Se3::new(turn * ahead, turn * Vector3::new(0.05, 0.02, 0.0)),
        }
    };
    let third = std::f64::consts::TAU / 3.0;
    match config.kind {
        CameraKind::Mono | CameraKind::Stereo => vec![one(0.0)],
        CameraKind::Several => vec![one(0.0), one(third), one(-third)],
    }
}

impl Camera {
    /// Pixels of a point, px; `None` where it is not in the image.
    fn project(&self, x: &Vector3<f64>, size: &Vector2<f64>) -> Option<Vector2<f64>> {
        let pixel = x.xy() * (self.focal / x.z) + self.centre;
        let is_inside = x.z > NEAREST_M && pixel.iter().zip(size.iter()).all(|(p, most)| (0.0..*most).contains(p));
        is_inside.then_some(pixel)
    }

    fn see(&self, x: &Vector3<f64>, size: &Vector2<f64>) -> Option<Pixels> {
        let left = self.project(x, size)?;
        if self.baseline_m == 0.0 {
            return Some(Pixels::One(left));
        }
        let right = self.project(&(x - Vector3::x() * self.baseline_m), size)?;
        Some(Pixels::Pair(Vector4::new(left.x, left.y, right.x, right.y)))
    }
}

/// Follows landmarks from frame to frame.
#[derive(Clone, Debug)]
pub struct Tracker<'a> {
    config: &'a CameraConfig,
    cameras: &'a [Camera],
    landmarks: &'a BTreeMap<u64, Vector3<f64>>,
    followed: BTreeSet<u64>,
    known: BTreeSet<u64>,
    false_ids: u64,
    /// The track of each landmark that is followed, where tracks end.
    tracks: BTreeMap<u64, u64>,
    /// The landmarks of all tracks so far.
    of_tracks: BTreeMap<u64, u64>,
}

impl<'a> Tracker<'a> {
    /// Before the first frame.
    pub fn new(config: &'a CameraConfig, cameras: &'a [Camera], landmarks: &'a BTreeMap<u64, Vector3<f64>>) -> Self {
        let none = BTreeSet::new;
        let (tracks, of_tracks) = (BTreeMap::new(), BTreeMap::new());
        Self { config, cameras, landmarks, followed: none(), known: none(), false_ids: FALSE_ID, tracks, of_tracks }
    }

    /// What the cameras see of this pose: what was followed comes first, then what was seen before.
    pub fn frame(&mut self, pose: &Se3, rng: &mut ChaCha8Rng) -> Vec<Seen> {
        let size = Vector2::new(self.config.width_px, self.config.height_px);
        let mut visible = Vec::new();
        for (id, place) in self.landmarks {
            for (k, camera) in self.cameras.iter().enumerate() {
                let x = (*pose * camera.on_body).inverse().transform(place);
                if let Some(at) = camera.see(&x, &size) {
                    visible.push(Seen { id: *id, camera: k, at, is_outlier: false });
                }
            }
        }
        visible.sort_by_key(|seen| (!self.followed.contains(&seen.id), !self.known.contains(&seen.id), seen.id));
        visible.dedup_by_key(|seen| seen.id);
        visible.truncate(usize::try_from(self.config.most_in_view).unwrap_or(usize::MAX));
        self.followed = visible.iter().map(|seen| seen.id).collect();
        self.known.extend(&self.followed);
        let mut seen: Vec<Seen> = Vec::with_capacity(visible.len());
        for one in visible {
            // Every landmark draws as many numbers whatever becomes of it.
            let (missed, wrong): (f64, f64) = (rng.random(), rng.random());
            let right = self.disturbed(&one, rng);
            let anywhere = self.anywhere(one.camera, rng);
            if missed < self.config.miss_probability {
                continue;
            }
            let is_outlier = wrong < self.config.outlier_probability;
            let one = Seen { id: self.identity(one.id, rng), ..one };
            seen.push(Seen { at: if is_outlier { anywhere } else { right }, is_outlier, ..one });
        }
        let followed = &self.followed;
        self.tracks.retain(|landmark, _| followed.contains(landmark));
        for _ in 0..self.config.false_per_frame {
            let camera = rng.random_range(0..self.cameras.len());
            let at = self.anywhere(camera, rng);
            seen.push(Seen { id: self.false_ids, camera, at, is_outlier: true });
            self.false_ids += 1;
        }
        seen
    }

    /// Under which identity a landmark is seen.
    fn identity(&mut self, landmark: u64, rng: &mut ChaCha8Rng) -> u64 {
        if self.config.end_probability == 0.0 {
            return landmark;
        }
        let ends = rng.random::<f64>() < self.config.end_probability;
        if let (Some(track), false) = (self.tracks.get(&landmark), ends) {
            return *track;
        }
        let track = TRACK_ID + self.of_tracks.len() as u64;
        self.tracks.insert(landmark, track);
        self.of_tracks.insert(track, landmark);
        track
    }

    /// The landmark of each track.
    pub fn of_tracks(&self) -> &BTreeMap<u64, u64> {
        &self.of_tracks
    }

    fn disturbed(&self, one: &Seen, rng: &mut impl Rng) -> Pixels {
        let sigma = self.config.pixel_std;
        match one.at {
            Pixels::One(at) => Pixels::One(at + Vector2::from_fn(|_, _| sigma * normal(rng))),
            Pixels::Pair(at) => Pixels::Pair(at + Vector4::from_fn(|_, _| sigma * normal(rng))),
        }
    }

    /// Anywhere in the image of a camera; in a pair, at one height and any depth.
    fn anywhere(&self, camera: usize, rng: &mut impl Rng) -> Pixels {
        let (u, v): (f64, f64) =
            (rng.random_range(0.0..self.config.width_px), rng.random_range(0.0..self.config.height_px));
        let disparity = rng.random_range(0.0..1.0) * self.config.focal_px * self.cameras[camera].baseline_m;
        if self.cameras[camera].baseline_m == 0.0 {
            return Pixels::One(Vector2::new(u, v));
        }
        Pixels::Pair(Vector4::new(u, v, u - disparity, v))
    }
}
