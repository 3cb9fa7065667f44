//! State plus error, and the difference of two states.

use super::State;
use super::errors::{Errors, FORCE_BIAS, GYRO_BIAS, POSITION, ROTATION, VELOCITY, part};
use super::landmark::{Kind, Landmark};
use super::nav::{Nav, orthogonal};
use crate::chart::{Centre, Chart};
use crate::covariance::NAV;
use crate::filter::Filter;
use lienav_lie::{LieGroup, So3};
use nalgebra::{Matrix3, Vector3};

/// The exponential of a correction, as it acts on vectors and points of the world.
struct Motion {
    turn: So3,
    xi: [Vector3<f64>; 3],
}

impl Motion {
    fn of(delta: &[f64]) -> Self {
        let xi = [ROTATION, VELOCITY, POSITION].map(|row| part(delta, row));
        Self { turn: So3::exp(&xi[0]), xi }
    }

    /// J ξ, J the left Jacobian of SO(3).
    fn spread(&self, linear: &Vector3<f64>) -> Vector3<f64> {
        So3::dexp(&self.xi[0], linear)
    }

    /// E p + J ξ_p.
    fn point(&self, p: &Vector3<f64>) -> Vector3<f64> {
        self.turn * *p + self.spread(&self.xi[2])
    }
}

impl State {
    /// Applies a correction in the coordinates of the filter's errors; as long as the covariance has rows. Where the
    /// correction is an addition in a chart, the covariance of the landmarks is carried over to the new estimate;
    /// `blocks` is a buffer for that.
    pub fn boxplus(&mut self, delta: &[f64], filter: &Filter, blocks: &mut Vec<Matrix3<f64>>) {
        self.move_mean(delta, filter, blocks);
        if !blocks.is_empty() {
            self.covariance.transform_landmarks(blocks);
        }
    }

    /// The same without the covariance. `blocks` becomes what an error of each landmark before is after; it is empty
    /// where that is the identity.
    pub fn move_mean(&mut self, delta: &[f64], filter: &Filter, blocks: &mut Vec<Matrix3<f64>>) {
        blocks.clear();
        let before = self.nav;
        self.nav = plus(&before, delta, filter.errors);
        let first_row = self.covariance.head();
        self.calibration.correct(&delta[NAV..first_row]);
        let parts = delta[first_row..].chunks_exact(3).map(|d| Vector3::new(d[0], d[1], d[2]));
        match filter.errors {
            Errors::Additive => {
                for (landmark, d) in self.landmarks.iter_mut().zip(parts) {
                    match &mut landmark.kind {
                        Kind::CloneRotation(rotation) => *rotation = orthogonal(&(So3::exp(&d) * *rotation)),
                        _ => landmark.position += d,
                    }
                }
            }
            Errors::Reduced => {
                for (landmark, d) in self.landmarks.iter_mut().zip(parts) {
                    if let Kind::CloneRotation(rotation) = &mut landmark.kind {
                        // What is estimated is RᵀR_c.
                        let seen = So3::exp(&d) * (before.rotation.inverse() * *rotation);
                        *rotation = orthogonal(&(self.nav.rotation * seen));
                        continue;
                    }
                    let z = before.seen(&landmark.position) + d;
                    landmark.position = self.nav.position + self.nav.rotation * z;
                }
            }
            Errors::Left => {
                let motion = Motion::of(delta);
                for (landmark, e) in self.landmarks.iter_mut().zip(parts) {
                    if let Kind::CloneRotation(rotation) = landmark.kind {
                        landmark.kind = Kind::CloneRotation(orthogonal(&(motion.turn * So3::exp(&e) * rotation)));
                        blocks.push(*motion.turn.matrix());
                        continue;
                    }
                    let (r, derivative) = relative(landmark, &before, &e, filter);
                    let (r, block) = if is_on_group(landmark, filter) {
                        (motion.turn * (r - e) + motion.spread(&e), Matrix3::identity())
                    } else {
                        (motion.turn * r, motion.turn.matrix() * derivative)
                    };
                    landmark.position = r + self.nav.position;
                    landmark.anchor = motion.point(&landmark.anchor);
                    blocks.push(block);
                }
                if self.landmarks.iter().all(|landmark| is_on_group(landmark, filter)) {
                    blocks.clear();
                }
            }
        }
    }

    /// The errors of this estimate: the δ that leads from it to the truth, in the coordinates of the filter. The
    /// true landmarks are in the same order. `None` where a landmark is out of reach of its chart.
    pub fn boxminus(&self, truth: &Nav, landmarks: &[Landmark], filter: &Filter) -> Option<Vec<f64>> {
        let mut delta = vec![0.0; self.covariance.dim()];
        minus(&mut delta, truth, &self.nav, filter.errors);
        let motion = Motion::of(&delta);
        let first_row = self.covariance.head();
        for ((slot, landmark), true_landmark) in
            delta[first_row..].chunks_exact_mut(3).zip(&self.landmarks).zip(landmarks)
        {
            let true_position = &true_landmark.position;
            if let (Kind::CloneRotation(own), Kind::CloneRotation(other)) = (landmark.kind, true_landmark.kind) {
                let turn = match filter.errors {
                    Errors::Left => motion.turn.inverse() * other * own.inverse(),
                    Errors::Additive => other * own.inverse(),
                    Errors::Reduced => {
                        let [other, own] =
                            [(truth, other), (&self.nav, own)].map(|(nav, r)| nav.rotation.inverse() * r);
                        other * own.inverse()
                    }
                };
                slot.copy_from_slice(turn.log().as_slice());
                continue;
            }
            let d = match filter.errors {
                Errors::Additive => true_position - landmark.position,
                Errors::Reduced => truth.seen(true_position) - self.nav.seen(&landmark.position),
                Errors::Left => {
                    let apart = true_position - truth.position;
                    let r = landmark.position - self.nav.position;
                    if is_on_group(landmark, filter) {
                        So3::dexp_inv(&motion.xi[0], &(apart - motion.turn * r))
                    } else {
                        let centre = centre(landmark, &self.nav, filter);
                        let place = motion.turn.rotate_back(&apart) + self.nav.position;
                        landmark.chart.correction(&(landmark.position - centre), &(place - centre))?
                    }
                }
            };
            slot.copy_from_slice(d.as_slice());
        }
        Some(delta)
    }
}

/// Whether a landmark is moved by the exponential of SE₂₊ₙ(3), which leaves its error what it is.
fn is_on_group(landmark: &Landmark, filter: &Filter) -> bool {
    match landmark.kind {
        Kind::Point => landmark.chart == Chart::Cartesian || filter.chart == Chart::Cartesian,
        Kind::ClonePlace | Kind::CloneRotation(_) => filter.chart == Chart::Cartesian,
    }
}

/// Where the chart of a landmark is centred, m, in the world.
fn centre(landmark: &Landmark, nav: &Nav, filter: &Filter) -> Vector3<f64> {
    match filter.centre {
        Centre::Sensor => nav.position,
        Centre::FirstSight => landmark.anchor,
    }
}

/// p_i − p after the correction e in the landmark's chart, before the motion of all, and its derivative by e.
fn relative(landmark: &Landmark, nav: &Nav, e: &Vector3<f64>, filter: &Filter) -> (Vector3<f64>, Matrix3<f64>) {
    let centre = centre(landmark, nav, filter);
    let (z, derivative) = landmark.chart.retract(&(landmark.position - centre), e);
    (centre + z - nav.position, derivative)
}

/// The navigation state after a correction.
fn plus(nav: &Nav, delta: &[f64], errors: Errors) -> Nav {
    let motion = Motion::of(delta);
    let [_, velocity, position] = &motion.xi;
    let rotation = orthogonal(&(motion.turn * nav.rotation));
    let (velocity, position) = match errors {
        Errors::Left => (motion.turn * nav.velocity + motion.spread(velocity), motion.point(&nav.position)),
        Errors::Reduced => (rotation * (nav.rotation.rotate_back(&nav.velocity) + velocity), nav.position + position),
        Errors::Additive => (nav.velocity + velocity, nav.position + position),
    };
    let mut biases = nav.biases;
    biases.gyro += part(delta, GYRO_BIAS);
    biases.accelerometer += part(delta, FORCE_BIAS);
    Nav { rotation, velocity, position, biases }
}

/// The error of the navigation state.
fn minus(delta: &mut [f64], truth: &Nav, nav: &Nav, errors: Errors) {
    let turn = truth.rotation * nav.rotation.inverse();
    let angle = turn.log();
    let (velocity, position) = match errors {
        Errors::Left => (
            So3::dexp_inv(&angle, &(truth.velocity - turn * nav.velocity)),
            So3::dexp_inv(&angle, &(truth.position - turn * nav.position)),
        ),
        Errors::Reduced => (
            truth.rotation.rotate_back(&truth.velocity) - nav.rotation.rotate_back(&nav.velocity),
            truth.position - nav.position,
        ),
        Errors::Additive => (truth.velocity - nav.velocity, truth.position - nav.position),
    };
    let parts = [
        angle,
        velocity,
        position,
        truth.biases.gyro - nav.biases.gyro,
        truth.biases.accelerometer - nav.biases.accelerometer,
    ];
    for (slot, part) in delta[..NAV].chunks_exact_mut(3).zip(parts) {
        slot.copy_from_slice(part.as_slice());
    }
}
