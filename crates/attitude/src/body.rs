//! A rigid body under a given torque: orientation from dynamics instead of a gyroscope.
//!
//! A torque acts from its stamp until the next one. Over this time the body is carried by the variational integrator
//! in unit quaternions ([`QuaternionIntegrator::step_forced`]), which makes or loses energy and momentum by the torque
//! alone.

use super::DropReason;
use lienav_base::settings;
use lienav_base::settings::{Described, OutOfRange, Spec, check};
use lienav_base::stamp::Stamp;
use lienav_integrate::quaternion::{QuaternionIntegrator, Rotation};
use lienav_integrate::{Inertia, InertiaError, IntegrationError};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

settings! {
    /// The body, and how its motion is integrated.
    pub struct BodyConfig {
        /// Moment of inertia about the body's x axis, kg m^2.
        ///
        /// The axes are those of the body frame, through the centre of mass: J = (ixx, ixy, ixz; ixy, iyy, iyz; …).
        ixx: f64 = 0.02, within 1e-9..=1e9, unit "kg m^2";
        /// Moment of inertia about the body's y axis, kg m^2.
        iyy: f64 = 0.02, within 1e-9..=1e9, unit "kg m^2";
        /// Moment of inertia about the body's z axis, kg m^2.
        izz: f64 = 0.04, within 1e-9..=1e9, unit "kg m^2";
        /// Product of inertia, as URDF has it, kg m^2.
        ixy: f64 = 0.0, within -1e9..=1e9, unit "kg m^2";
        /// Product of inertia, as URDF has it, kg m^2.
        ixz: f64 = 0.0, within -1e9..=1e9, unit "kg m^2";
        /// Product of inertia, as URDF has it, kg m^2.
        iyz: f64 = 0.0, within -1e9..=1e9, unit "kg m^2";
        /// The body is integrated in steps no longer than this, s.
        max_step_s: f64 = 0.005, within 1e-5..=1.0, unit "s";
        /// No torque acts longer than this, s; then the body turns freely.
        hold_torque_s: f64 = 0.1, within 1e-3..=10.0, unit "s";
        /// Torques beyond this are dropped as absurd, N m.
        max_torque: f64 = 1000.0, within 1e-6..=1e9, unit "N m";
    }
}

settings! {
    /// The body as the group `body` of other settings.
    pub struct BodyGroup {
        /// The body.
        body: BodyConfig;
    }
}

/// Every setting of [`BodyConfig`], in the order of its fields, in the group `body`.
pub const BODY_SPECS: &[Spec] = BodyGroup::SPECS;

/// A body that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BodyError {
    /// A number out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Numbers that are no inertia together.
    #[error("parameters 'body.ixx' to 'body.iyz': {0}")]
    Inertia(#[from] InertiaError),
}

/// Why a torque moved nothing.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BodyRefusal {
    /// The torque is not used.
    #[error("{0}")]
    Dropped(#[from] DropReason),
    /// The motion could not be carried on: it turns too fast for the step.
    #[error("{0}")]
    NotIntegrated(#[from] IntegrationError),
}

/// A torque, in the body frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torque {
    /// From when on it acts.
    pub stamp: Stamp,
    /// N·m.
    pub torque: Vector3<f64>,
}

/// The body.
#[derive(Clone, Debug)]
pub struct Body {
    config: BodyConfig,
    inertia: Inertia,
    integrator: QuaternionIntegrator,
    rotation: Rotation,
    last: Option<Torque>,
}

impl Body {
    /// At rest in the world's axes.
    ///
    /// # Errors
    /// A setting out of range, or an inertia that no body has.
    pub fn new(config: BodyConfig) -> Result<Self, BodyError> {
        check(&BodyGroup { body: config.clone() }, BODY_SPECS)?;
        let BodyConfig { ixx, iyy, izz, ixy, ixz, iyz, .. } = config;
        let inertia = Inertia::new(Matrix3::new(ixx, ixy, ixz, ixy, iyy, iyz, ixz, iyz, izz))?;
        Ok(Self { config, inertia, integrator: QuaternionIntegrator::default(), rotation: at_rest(), last: None })
    }

    /// Takes in a torque: the body moves on to its stamp, under the one before.
    ///
    /// # Errors
    /// Why it was not used; the body is then as it was. Where its motion could not be carried on, it goes on from
    /// here.
    pub fn torque(&mut self, torque: &Torque) -> Result<(), BodyRefusal> {
        if !torque.torque.iter().all(|x| x.is_finite()) {
            return Err(DropReason::NotFinite.into());
        }
        if torque.torque.norm() > self.config.max_torque {
            return Err(DropReason::Absurd.into());
        }
        if let Some(last) = self.last {
            if torque.stamp == last.stamp {
                return Err(DropReason::DuplicateStamp.into());
            }
            if torque.stamp < last.stamp {
                return Err(DropReason::TooLate.into());
            }
            self.last = Some(*torque);
            self.rotation = self.carried(&last, torque.stamp.since(last.stamp))?;
        }
        self.last = Some(*torque);
        Ok(())
    }

    /// The motion `time` seconds after `last`. A long silence is bridged freely, but not for ever: nobody knows what
    /// happened.
    fn carried(&self, last: &Torque, time: f64) -> Result<Rotation, IntegrationError> {
        let held = time.min(self.config.hold_torque_s);
        let free = (time - held).min(100.0 * self.config.hold_torque_s);
        let mut rotation = self.rotation;
        for (torque, time) in [(last.torque, held), (Vector3::zeros(), free)] {
            let steps = (time / self.config.max_step_s).ceil();
            let h = time / steps.max(1.0);
            for k in 0..steps as u64 {
                self.integrator.step_forced(&self.inertia, &mut rotation, [torque; 2], k as f64 * h, h)?;
            }
        }
        Ok(rotation)
    }

    /// R, from the body to the world.
    pub fn orientation(&self) -> UnitQuaternion<f64> {
        self.rotation.attitude.value()
    }

    /// Ω, rad/s, body frame.
    pub fn angular_velocity(&self) -> Vector3<f64> {
        self.inertia.body_angular_velocity(&self.rotation.body_angular_momentum)
    }

    /// At rest in the world's axes again; the next torque starts the clock anew.
    pub fn reset(&mut self) {
        (self.rotation, self.last) = (at_rest(), None);
    }
}

fn at_rest() -> Rotation {
    Rotation { attitude: UnitQuaternion::identity().into(), body_angular_momentum: Vector3::zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64, torque: Vector3<f64>) -> Torque {
        Torque { stamp: Stamp::from_nanos(1_000_000 * ms), torque }
    }

    #[test]
    fn a_torque_acts_from_its_stamp_to_the_next_and_no_longer_than_it_may() {
        let mut body = Body::new(BodyConfig::default()).unwrap();
        let push = Vector3::new(0.0, 0.0, 0.04);
        for ms in (0..=1000).step_by(20) {
            body.torque(&at(ms, if ms < 500 { push } else { Vector3::zeros() })).unwrap();
        }
        // 0.5 s at 1 rad/s².
        assert!((body.angular_velocity() - Vector3::z() * 0.5).norm() < 1e-12);
        assert!((body.orientation().angle() - (0.125 + 0.25)).abs() < 1e-5);
        body.torque(&at(1020, push)).unwrap();
        body.torque(&at(2020, push)).unwrap();
        assert!((body.angular_velocity().z - 0.6).abs() < 1e-12, "held for 0.1 s of the second");
    }

    #[test]
    fn a_free_body_keeps_momentum_in_the_world_and_energy() {
        let mut body =
            Body::new(BodyConfig { ixx: 1.0, iyy: 2.0, izz: 2.5, ixy: 0.1, ..BodyConfig::default() }).unwrap();
        body.torque(&at(0, Vector3::new(20.0, 10.0, -5.0))).unwrap();
        body.torque(&at(100, Vector3::zeros())).unwrap();
        let measure = |body: &Body| {
            let momentum = body.rotation.body_angular_momentum;
            (body.orientation() * momentum, body.inertia.kinetic_energy(&momentum))
        };
        let before = measure(&body);
        for ms in (110..20_000).step_by(10) {
            body.torque(&at(ms, Vector3::zeros())).unwrap();
        }
        let after = measure(&body);
        assert!((before.0 - after.0).norm() < 1e-11 && (before.1 - after.1).abs() < 1e-11);
    }

    #[test]
    fn bad_torques_move_nothing_and_impossible_bodies_are_named() {
        let mut body = Body::new(BodyConfig::default()).unwrap();
        body.torque(&at(10, Vector3::x())).unwrap();
        let refused = |body: &mut Body, torque| body.torque(&torque).unwrap_err();
        assert_eq!(refused(&mut body, at(20, Vector3::x() * f64::NAN)), DropReason::NotFinite.into());
        assert_eq!(refused(&mut body, at(20, Vector3::x() * 1e6)), DropReason::Absurd.into());
        assert_eq!(refused(&mut body, at(10, Vector3::x())), DropReason::DuplicateStamp.into());
        assert_eq!(refused(&mut body, at(5, Vector3::x())), DropReason::TooLate.into());
        // Too fast for any step: half a revolution and more.
        body.torque(&at(20, Vector3::x() * 1000.0)).unwrap();
        let before = body.rotation;
        assert!(matches!(refused(&mut body, at(120, Vector3::zeros())), BodyRefusal::NotIntegrated(_)));
        assert_eq!(body.rotation, before);
        body.torque(&at(130, Vector3::zeros())).unwrap();
        let impossible = Body::new(BodyConfig { izz: 9.0, ..BodyConfig::default() }).unwrap_err();
        assert!(impossible.to_string().contains("'body.ixx' to 'body.iyz'"), "{impossible}");
    }
}
