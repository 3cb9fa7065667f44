//! What is known from outside of where poses are in the map: ways without landmarks, from its origin to them.

use super::{Placed, Problem, Start};
use crate::submap::{Gaussian, LEAST_STD, Submap};
use lienav_lie::{Se2, skew};
use nalgebra::{DMatrix, Matrix3};
use std::sync::Arc;

/// The number of the pose that is the frame of the world.
pub const WORLD: usize = 1;

impl Submap {
    /// A way without landmarks: where it ends as seen from where it begins, with the covariance of (x, y, θ) there.
    /// `None` if that is none.
    pub fn motion(exit: Se2, covariance: &Matrix3<f64>) -> Option<Self> {
        // X = Exp(ξ)X̂ moves the position by ξ_p + θ J p̂.
        let arm = skew(&exit.p);
        let to_error = Matrix3::new(1.0, 0.0, -arm.x, 0.0, 1.0, -arm.y, 0.0, 0.0, 1.0);
        let of_error = to_error * covariance * to_error.transpose();
        let covariance = DMatrix::from_fn(3, 3, |i, j| {
            0.5 * (of_error[(i, j)] + of_error[(j, i)]) + if i == j { LEAST_STD * LEAST_STD } else { 0.0 }
        });
        Self::new(Gaussian { exit, ids: Vec::new(), places: Vec::new(), covariance })
    }
}

impl Placed {
    /// What is known from outside of where a pose is.
    pub fn of_outside(motion: Submap, exit: usize) -> Self {
        Self {
            submap: Arc::new(motion),
            landmarks: Arc::default(),
            base: Some(0),
            exit,
            is_outside: true,
            is_of_world: false,
        }
    }
}

/// The number of the pose that is the frame of the world, if a submap says where in the world a pose is.
pub fn world_of(submaps: &[Placed]) -> Option<usize> {
    submaps.iter().find(|placed| placed.is_of_world).and_then(|placed| placed.base)
}

impl Problem {
    /// Moves all poses and landmarks as one.
    pub fn move_all(&mut self, moved: &Se2) {
        self.bases.iter_mut().for_each(|base| *base = *moved * *base);
        self.landmarks.iter_mut().for_each(|place| *place = moved.transform(place));
    }

    /// Of where the map lies, it is known that its last pose is there, with the covariance of (x, y, θ), and nothing
    /// else: however often a pose is given, the problem has one way that says so. `None` if the covariance is none.
    pub fn lead_to_the_end(&mut self, pose: Se2, covariance: &Matrix3<f64>) -> Option<()> {
        let motion = Submap::motion(pose, covariance)?;
        self.submaps.retain(|placed| !placed.is_outside);
        self.start = Start::Known(Se2::identity());
        if self.submaps.iter().any(|placed| placed.base == Some(0) || placed.exit == 0) || self.bases.len() < 2 {
            self.begin_with(Se2::identity());
        } else {
            self.bases[0] = Se2::identity();
        }
        self.submaps.push(Placed::of_outside(motion, self.bases.len() - 1));
        self.closed += 1;
        Some(())
    }

    /// The robot goes on elsewhere in the map: it is there, with the covariance of (x, y, θ), and no way leads there
    /// from where it was. `None` if the covariance is none.
    pub fn lead_elsewhere(&mut self, pose: Se2, covariance: &Matrix3<f64>) -> Option<()> {
        self.begin_at_the_origin()?;
        let first = self.bases[0];
        let turn = first.rotation().transpose().to_homogeneous();
        let motion = Submap::motion(first.inverse() * pose, &(turn * covariance * turn.transpose()))?;
        self.bases.push(pose);
        self.submaps.push(Placed::of_outside(motion, self.bases.len() - 1));
        self.closed += 1;
        Some(())
    }

    /// The first pose is known exactly from now on: where it was not, a way leads from the origin to what was the first
    /// one. Says whether poses have other numbers now; `None` if what is known of the start is nothing.
    pub fn begin_at_the_origin(&mut self) -> Option<bool> {
        let Start::Normal(pose, information) = &self.start else { return Some(false) };
        // The error of the start is in its own frame: E = X̂ Exp(ε), and that of a way in the frame that it begins in.
        let to_motion = pose.adjoint();
        let of_motion = to_motion * information.try_inverse()? * to_motion.transpose();
        let covariance = DMatrix::from_fn(3, 3, |i, j| 0.5 * (of_motion[(i, j)] + of_motion[(j, i)]));
        let motion = Submap::new(Gaussian { exit: *pose, ids: Vec::new(), places: Vec::new(), covariance })?;
        self.start = Start::Known(Se2::identity());
        self.begin_with(Se2::identity());
        self.submaps.insert(0, Placed::of_outside(motion, 1));
        self.closed += 1;
        Some(true)
    }

    /// The frame of the world, `world` in the map, becomes the pose behind the first one, which is the map's origin and
    /// no robot's from then on. Nothing says yet where it is. `None` if what is known of the start is nothing.
    pub fn begin_with_world(&mut self, world: Se2) -> Option<()> {
        if let Start::Known(pose) = self.start {
            let is_of_robot = |placed: &Placed| !placed.is_outside && (placed.base == Some(0) || placed.exit == 0);
            if self.bases.len() == 1 || self.submaps.iter().any(is_of_robot) {
                // All ways from the world lead to poses that are estimated.
                let motion = Submap::motion(pose, &Matrix3::zeros())?;
                self.start = Start::Known(Se2::identity());
                self.begin_with(Se2::identity());
                self.submaps.insert(0, Placed::of_outside(motion, 1));
                self.closed += 1;
            }
        } else {
            self.begin_at_the_origin()?;
        }
        self.bases.insert(WORLD, world);
        let behind = |pose: usize| pose + usize::from(pose >= WORLD);
        for placed in &mut self.submaps {
            (placed.base, placed.exit) = (placed.base.map(behind), behind(placed.exit));
        }
        Some(())
    }

    /// Puts a pose before all others.
    fn begin_with(&mut self, pose: Se2) {
        self.bases.insert(0, pose);
        for placed in &mut self.submaps {
            (placed.base, placed.exit) = (placed.base.map(|base| base + 1), placed.exit + 1);
        }
    }
}
