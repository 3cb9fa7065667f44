//! The input of the filter that sees tags: plain data.

use lienav_base::stamp::Stamp;
use lienav_inertial::measurement::pixel::Pinhole;
use lienav_lie::Se3;
use lienav_tags::lens::{Distortion, Lens};
use lienav_tags::sight::Sight;
use nalgebra::{Matrix6, Vector2, Vector3};

/// A camera on the body; axes x right, y down, z forward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Focal length, centre and distortion.
    pub lens: Lens,
    /// x_body = R x_camera + t.
    pub on_body: Se3,
}

impl Camera {
    /// Whether the numbers are those of a camera.
    pub fn is_sane(&self) -> bool {
        let Pinhole { focal, centre } = self.lens.pinhole;
        let bent: &[f64] = match &self.lens.distortion {
            Distortion::None => &[],
            Distortion::PlumbBob(k) => k,
            Distortion::Equidistant(k) => k,
        };
        focal.iter().all(|f| (1e-3..1e6).contains(f))
            && centre.iter().all(|c| c.abs() < 1e6)
            && bent.iter().all(|k| k.abs() < 1e3)
            && self.on_body.translation.iter().all(|x| x.abs() < 1e3)
            && self.on_body.rotation.orthogonality_error() < 1e-6
    }
}

/// The tags of one image, or of the images that all cameras took at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct TagFrame {
    /// When.
    pub stamp: Stamp,
    /// The camera whose image it is; `None` where it has what all cameras saw. An image without tags that can be used
    /// tells the time, and nothing else.
    pub camera: Option<usize>,
    /// Each tag once a camera.
    pub seen: Vec<TagSeen>,
}

/// A tag in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagSeen {
    /// Which camera: the number under which [`TagSlam3d::set_camera`](super::TagSlam3d::set_camera) has it.
    pub camera: usize,
    /// Its identity.
    pub id: u64,
    /// Length of its edge, m.
    pub size_m: f64,
    /// Its corners, px: those at (−, −), (+, −), (+, +), (−, +) in the tag's (x, y), with z out of its face.
    pub corners: [Vector2<f64>; 4],
}

/// Where a tag is on a board of several, which is one landmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnBoard {
    /// The tag whose frame is that of the board.
    pub board: u64,
    /// x_board = R x_tag + t.
    pub pose: Se3,
    /// Standard deviation of its place there by axis, m.
    pub sigma_m: f64,
}

impl TagSeen {
    /// What the filter takes of it.
    pub fn sight(&self, camera: &Camera, on_board: Option<&OnBoard>, sigma: f64) -> Sight {
        let (size_m, corners) = (self.size_m, self.corners);
        let (id, on_tag, off_m) = match on_board {
            Some(place) => (place.board, place.pose, place.sigma_m),
            None => (self.id, Se3::identity(), 0.0),
        };
        // What a place on a board is off by is seen in the image.
        let sigma = sigma.hypot(off_m * (corners[1] - corners[0]).norm() / size_m);
        Sight { id, lens: camera.lens, on_body: camera.on_body, mount: None, on_tag, size_m, corners, sigma }
    }
}

/// Velocity and rate of the body in its own axes, held until the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyTwist {
    /// From when on.
    pub stamp: Stamp,
    /// Velocity, m/s.
    pub velocity: Vector3<f64>,
    /// Angular rate, rad/s.
    pub rate: Vector3<f64>,
    /// Variances by axis of velocity, (m/s)², and rate, (rad/s)², of one message, where they are stated; where the
    /// settings have more noise, that counts.
    pub variances: Option<(Vector3<f64>, Vector3<f64>)>,
}

impl BodyTwist {
    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        let stated = self.variances.iter().flat_map(|(velocity, rate)| velocity.iter().chain(rate.iter()));
        self.velocity.iter().chain(self.rate.iter()).chain(stated).all(|x| x.is_finite())
    }

    /// Whether a robot can move like this, m/s and rad/s.
    pub fn is_sane(&self) -> bool {
        const FASTEST: (f64, f64) = (1e3, 1e2);
        self.velocity.norm() < FASTEST.0 && self.rate.norm() < FASTEST.1
    }
}

/// A tag in the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TagPose {
    /// Its identity.
    pub id: u64,
    /// x_map = R x_tag + p.
    pub pose: Se3,
    /// Covariance of p, m², and of a small rotation about the axes of the map, rad².
    pub covariance: Matrix6<f64>,
    /// Whether its place was known beforehand.
    pub is_known: bool,
}

/// A tag on something that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovingTag {
    /// Its identity.
    pub id: u64,
    /// When it was seen last.
    pub stamp: Stamp,
    /// x_map = R x_tag + p.
    pub pose: Se3,
    /// Covariance of p, m², and of a small rotation about the axes of the map, rad², with that of the robot's pose.
    pub covariance: Matrix6<f64>,
}
