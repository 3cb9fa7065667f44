//! State plus error, and the difference of two states.

use super::State;
use super::errors::{Errors, FORCE_BIAS, GYRO_BIAS, POSITION, ROTATION, VELOCITY, part};
use super::landmark::{Kind, Landmark};
use super::nav::{Nav, orthogonal};
use crate::chart::{Centre, Chart};
use crate::covariance::NAV;
use crate::filter::Filter;
use lienav_lie::{LieGroup, Se3, So3, hat};
use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

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
        if filter.errors == Errors::Left && !self.mounts.is_empty() {
            self.move_with_mounts(delta, filter, blocks);
        } else {
            self.move_mean(delta, filter, blocks);
        }
        if !blocks.is_empty() {
            self.covariance.transform_landmarks(blocks);
        }
    }

    /// The same as [`State::move_mean`], with the covariance of mounts: the error of the pose of a sensor, Ad_X δ beside that
    /// of the body, is left what it is as well, and so is that of the pose of a tag, (a_i, e_i + p̂_i^ a_i): what two of them
    /// were measured to have in common stays so.
    fn move_with_mounts(&mut self, delta: &[f64], filter: &Filter, blocks: &mut Vec<Matrix3<f64>>) {
        let (to_world, first) = (adjoint(&pose(&self.nav)), self.mount_row(0));
        for (k, mount) in self.mounts.iter().enumerate() {
            self.covariance.transform_head(first + 6 * k, &(to_world * about_body(&mount.translation)));
        }
        let places: Vec<Vector3<f64>> = self.landmarks.iter().map(|landmark| landmark.position).collect();
        self.move_mean(delta, filter, blocks);
        for (place, turn) in self.tags() {
            let moved = places[place] - self.landmarks[place].position;
            let rows = [place, turn].map(|i| self.covariance.row_of(i));
            self.covariance.shear(rows, &hat(&moved));
        }
        let back = adjoint(&pose(&self.nav).inverse());
        for (k, mount) in self.mounts.iter().enumerate() {
            self.covariance.transform_head(first + 6 * k, &(about_body(&-mount.translation) * back));
        }
    }

    /// The same without the covariance. `blocks` becomes what an error of each landmark before is after; it is empty
    /// where that is the identity.
    pub fn move_mean(&mut self, delta: &[f64], filter: &Filter, blocks: &mut Vec<Matrix3<f64>>) {
        blocks.clear();
        let before = self.nav;
        self.nav = plus(&before, delta, filter.errors);
        let first_row = self.covariance.head();
        let (calibration, mounts) = delta[NAV..first_row].split_at(first_row - NAV - 6 * self.mounts.len());
        self.calibration.correct(calibration);
        for (mount, d) in self.mounts.iter_mut().zip(mounts.chunks_exact(6)) {
            let d = Vector6::from_column_slice(d);
            *mount = if filter.errors == Errors::Left {
                // The pose of the sensor in the world gets its correction on the group, as that of the body does.
                let body = pose(&before);
                let [turn, place] = [part(delta, ROTATION), part(delta, POSITION)];
                let of_body = Vector6::new(turn.x, turn.y, turn.z, place.x, place.y, place.z);
                let all = of_body + adjoint(&body) * about_body(&mount.translation) * d;
                pose(&self.nav).inverse() * Se3::exp(&all) * body * *mount
            } else {
                Se3::new(So3::exp(&part(d.as_slice(), 0)) * mount.rotation, mount.translation + part(d.as_slice(), 3))
            };
            mount.rotation = orthogonal(&mount.rotation);
        }
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
                if !self.mounts.is_empty() {
                    self.move_tags(delta, first_row);
                    return;
                }
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

    /// Where the places and the rotations of tags are among the landmarks.
    fn tags(&self) -> Vec<(usize, usize)> {
        let is_turn = |landmark: &Landmark| matches!(landmark.kind, Kind::CloneRotation(_));
        let turn_of = |id: u64| self.landmarks.iter().position(|other| other.id == id && is_turn(other));
        let places = self.landmarks.iter().enumerate().filter(|(_, one)| one.kind == Kind::ClonePlace);
        places.filter_map(|(place, one)| Some((place, turn_of(one.id)?))).collect()
    }

    /// Tags get their corrections on the group, each with its own rotation.
    fn move_tags(&mut self, delta: &[f64], first_row: usize) {
        let xi = Vector6::from_fn(|k, _| delta[if k < 3 { ROTATION + k } else { POSITION + k - 3 }]);
        for (place, turn) in self.tags() {
            let [e, a] = [place, turn].map(|i| part(delta, first_row + 3 * i));
            let Kind::CloneRotation(rotation) = self.landmarks[turn].kind else { continue };
            let before = Se3::new(rotation, self.landmarks[place].position);
            let own = about_body(&before.translation) * Vector6::new(a.x, a.y, a.z, e.x, e.y, e.z);
            let after = Se3::exp(&(xi + own)) * before;
            self.landmarks[place].position = after.translation;
            self.landmarks[turn].kind = Kind::CloneRotation(orthogonal(&after.rotation));
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

fn pose(nav: &Nav) -> Se3 {
    Se3::new(nav.rotation, nav.position)
}

/// Ad of a pose.
pub fn adjoint(pose: &Se3) -> Matrix6<f64> {
    Matrix6::from_columns(&std::array::from_fn::<_, 6, _>(|k| {
        pose.adjoint_apply(&Vector6::from_fn(|i, _| f64::from(u8::from(i == k))))
    }))
}

/// What a rotation and a shift of something at t are as a motion about the origin, (ε, τ) ↦ (ε, τ + t^ ε).
pub fn about_body(t: &Vector3<f64>) -> Matrix6<f64> {
    let mut by = Matrix6::identity();
    by.fixed_view_mut::<3, 3>(3, 0).copy_from(&hat(t));
    by
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
