//! Tracks: what cameras saw of points, as pixels of pose clones.

use crate::measurement::View;
use lienav_lie::Se3;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Most pixels of a track.
pub const MOST_VIEWS: usize = 24;
/// Most cameras on the body.
const MOST_CAMERAS: usize = 16;
/// Most tracks at a time; what comes beyond is not followed. 1,000 of them are 1.2 MB.
pub const MOST_TRACKS: usize = 1000;

/// What a camera saw from a clone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pixel {
    /// The identity of the clone.
    pub clone: u64,
    /// Its camera, by its place in the list.
    camera: usize,
    /// (x/z, y/z).
    normalized: Vector2<f64>,
    /// Standard deviation of each of the two.
    sigma: Vector2<f64>,
}

/// The pixels of a point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Track {
    /// The identity of the point.
    pub id: u64,
    /// The last frame that saw it.
    pub last: u64,
    pixels: [Pixel; MOST_VIEWS],
    count: usize,
}

impl Track {
    /// Its pixels, oldest first.
    pub fn pixels(&self) -> &[Pixel] {
        &self.pixels[..self.count]
    }

    /// The clone of its oldest pixel.
    pub fn first(&self) -> Option<u64> {
        (self.count > 0).then_some(self.pixels[0].clone)
    }

    /// Whether it has room for no other frame.
    pub fn is_full(&self) -> bool {
        self.count == MOST_VIEWS
    }

    /// Forgets its pixels: each is used once.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// All tracks, and the cameras that saw them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tracks {
    /// In no order that matters.
    pub all: Vec<Track>,
    cameras: Vec<Se3>,
    /// Where the next search begins.
    next: usize,
}

impl Tracks {
    /// Whether these are tracks that a window had: in bounds, of cameras that there are.
    pub fn are_sound(&self) -> bool {
        let is_sound = |track: &Track| {
            track.count <= MOST_VIEWS && track.pixels().iter().all(|one| one.camera < self.cameras.len())
        };
        self.all.len() <= MOST_TRACKS && self.cameras.len() <= MOST_CAMERAS && self.all.iter().all(is_sound)
    }

    /// Room for so many.
    pub fn reserve(&mut self, tracks: usize) {
        self.all.reserve(tracks.min(MOST_TRACKS));
        self.cameras.reserve(MOST_CAMERAS);
    }

    /// Adds a pixel of this frame, whose clone has the same identity; says whether there was room.
    pub fn add(&mut self, id: u64, frame: u64, view: &View) -> bool {
        let Some(camera) = self.camera(&view.camera) else { return false };
        let pixel = Pixel { clone: frame, camera, normalized: view.normalized, sigma: view.sigma };
        let place = match self.find(id) {
            Some(place) => place,
            None if self.all.len() >= MOST_TRACKS => return false,
            None => {
                self.all.push(Track { id, last: frame, pixels: [pixel; MOST_VIEWS], count: 0 });
                self.all.len() - 1
            }
        };
        self.next = place + 1;
        let track = &mut self.all[place];
        track.last = frame;
        if track.is_full() {
            return false;
        }
        track.pixels[track.count] = pixel;
        track.count += 1;
        true
    }

    /// The place of a track. Frames have them in much the same order, so that the search begins behind the last.
    fn find(&self, id: u64) -> Option<usize> {
        let next = self.next.min(self.all.len());
        let is_it = |place: &usize| self.all[*place].id == id;
        (next..self.all.len()).find(is_it).or_else(|| (0..next).find(is_it))
    }

    fn camera(&mut self, camera: &Se3) -> Option<usize> {
        let known = self.cameras.iter().position(|own| own == camera);
        if known.is_none() && self.cameras.len() < MOST_CAMERAS {
            self.cameras.push(*camera);
            return Some(self.cameras.len() - 1);
        }
        known
    }

    /// A pixel with its camera.
    pub fn view(&self, pixel: &Pixel) -> View {
        View { camera: self.cameras[pixel.camera], normalized: pixel.normalized, sigma: pixel.sigma }
    }

    /// Whether a clone has pixels.
    pub fn see(&self, clone: u64) -> bool {
        self.all.iter().any(|track| track.pixels().iter().any(|pixel| pixel.clone == clone))
    }
}
