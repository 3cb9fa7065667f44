//! What a recording of tags holds, as input of the pipeline.

use lienav_inertial::measurement::pixel::Pinhole;
use lienav_io::space::data::SpaceRecording;
use lienav_io::space::tags::{CameraDistortion, TagFrame, TagRecording, TagSeen};
use lienav_lie::Se3;
use lienav_space::tags::{self, Camera, KnownTag, OnBoard};
use lienav_tags::lens::{Distortion, Lens};
use lienav_tags::sight::Sight;
use std::collections::BTreeMap;

/// Tags whose places the filter knows: those that the recording states, or with a map all true ones.
pub fn known_tags(recording: &SpaceRecording, map_sigma: Option<f64>) -> BTreeMap<u64, KnownTag> {
    /// A rotation is known as well as a place half a metre away.
    const ARM_M: f64 = 0.5;
    let tags = &recording.tags;
    match map_sigma {
        Some(sigma) if !tags.true_tags.is_empty() => {
            let known = |(id, pose): (&u64, &Se3)| (*id, KnownTag { pose: *pose, sigma: (sigma / ARM_M, sigma) });
            tags.true_tags.iter().map(known).collect()
        }
        _ => tags.known.iter().map(|(id, tag)| (*id, KnownTag { pose: tag.pose, sigma: tag.sigma })).collect(),
    }
}

/// Tags that are on boards.
pub fn boards_of(tags: &TagRecording) -> BTreeMap<u64, OnBoard> {
    let place = |(id, on): (&u64, &lienav_io::space::tags::OnBoard)| {
        (*id, OnBoard { board: on.board, pose: on.pose, sigma_m: on.sigma_m })
    };
    tags.on_board.iter().map(place).collect()
}

/// The cameras.
pub fn cameras_of(tags: &TagRecording) -> Vec<Camera> {
    let camera = |camera: &lienav_io::space::tags::TagCamera| {
        let distortion = match camera.distortion {
            CameraDistortion::PlumbBob(k) if k == [0.0; 5] => Distortion::None,
            CameraDistortion::PlumbBob(k) => Distortion::PlumbBob(k),
            CameraDistortion::Equidistant(k) => Distortion::Equidistant(k),
        };
        let lens = Lens { pinhole: Pinhole { focal: camera.focal, centre: camera.centre }, distortion };
        Camera { lens, on_body: camera.on_body }
    };
    tags.cameras.iter().map(camera).collect()
}

fn seen_of(seen: &TagSeen) -> tags::TagSeen {
    tags::TagSeen { camera: seen.camera, id: seen.id, size_m: seen.size_m, corners: seen.corners }
}

/// A frame.
pub fn frame_of(frame: &TagFrame) -> tags::TagFrame {
    tags::TagFrame { stamp: frame.stamp, camera: None, seen: frame.seen.iter().map(seen_of).collect() }
}

/// What a frame saw, as far as it can be of tags.
pub fn sights(frame: &TagFrame, recorded: &TagRecording, sigma: f64) -> Vec<Sight> {
    let (cameras, boards) = (cameras_of(recorded), boards_of(recorded));
    let sight = |seen: &TagSeen| {
        let camera = cameras.get(seen.camera)?;
        Some(seen_of(seen).sight(camera, boards.get(&seen.id), sigma)).filter(Sight::is_valid)
    };
    frame.seen.iter().filter_map(sight).collect()
}
