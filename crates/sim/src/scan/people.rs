//! People as a scanner sees them: two legs that step, or a body at the height of the hip.

use super::meet_disc;
use nalgebra::Vector2;
use std::f64::consts::TAU;

/// A person who walks straight on, or stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Person {
    /// Where the body is at time 0, in the world, m.
    pub position: Vector2<f64>,
    /// How it walks, m/s.
    pub velocity: Vector2<f64>,
    /// Where it looks when it stands, rad.
    pub heading_rad: f64,
    /// Where in a step the person is at time 0, 0 … 1.
    pub phase: f64,
    /// As in [`Disc`](super::Disc).
    pub reflectivity: f64,
    /// What of it the scanner sees.
    pub body: Body,
}

/// What the scanner sees of a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// Two cylinders with this radius, m.
    Legs {
        /// Radius of a leg, m.
        radius: f64,
    },
    /// An ellipse, wide to the sides, m.
    Torso {
        /// Half of the width, m.
        half_width: f64,
        /// Half of the depth, m.
        half_depth: f64,
    },
}

/// From one step of a foot to its next, s.
const CYCLE_S: f64 = 1.1;
/// Part of the cycle in which a foot stands.
const STANCE: f64 = 0.6;
/// From the middle of the body to a leg, m.
const HIP_M: f64 = 0.12;

impl Person {
    /// Where the two legs are at a time, at the height of the shin, m.
    pub fn legs(&self, time_s: f64) -> [Vector2<f64>; 2] {
        let (ahead, left) = self.axes();
        let body = self.position + self.velocity * time_s;
        let stride = self.velocity.norm() * CYCLE_S;
        [0.0, 0.5].map(|offset| {
            let part = (time_s / CYCLE_S + self.phase + offset).rem_euclid(1.0);
            // A foot that stands falls back behind the body at the speed of walking, then swings forward.
            let swing = (part - STANCE).max(0.0) / (1.0 - STANCE);
            let swung = swing - (TAU * swing).sin() / TAU;
            let foot = stride * (STANCE / 2.0 - part + swung);
            let side = if offset == 0.0 { HIP_M } else { -HIP_M };
            body + 0.85 * foot * ahead + side * left
        })
    }

    fn axes(&self) -> (Vector2<f64>, Vector2<f64>) {
        let standing = Vector2::new(self.heading_rad.cos(), self.heading_rad.sin());
        let ahead = self.velocity.try_normalize(1e-9).unwrap_or(standing);
        (ahead, Vector2::new(-ahead.y, ahead.x))
    }

    /// Range of the person in a direction, and the cosine of the incidence.
    pub(super) fn meet(&self, origin: &Vector2<f64>, direction: &Vector2<f64>, time_s: f64) -> Option<(f64, f64)> {
        let to_body = self.position + self.velocity * time_s - origin;
        if to_body.perp(direction).abs() > 1.5 {
            return None;
        }
        match self.body {
            Body::Legs { radius } => {
                let met = self.legs(time_s).map(|leg| meet_disc(&(leg - origin), radius, direction));
                met.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0))
            }
            Body::Torso { half_width, half_depth } => {
                // In axes in which the ellipse is the unit circle.
                let (ahead, left) = self.axes();
                let scaled = |v: &Vector2<f64>| Vector2::new(v.dot(&ahead) / half_depth, v.dot(&left) / half_width);
                let stretched = scaled(direction);
                let length = stretched.norm();
                let (range, cos) = meet_disc(&scaled(&to_body), 1.0, &(stretched / length))?;
                Some((range / length, cos))
            }
        }
    }
}
