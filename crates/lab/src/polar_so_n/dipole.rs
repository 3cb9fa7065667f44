//! The body of all experiments, and where it starts.

use super::motions::Start;
use lienav_integrate::dynamics::DipoleOnAStick;

pub(super) fn start() -> Start<DipoleOnAStick> {
    Start {
        body: DipoleOnAStick::default(),
        attitude: DipoleOnAStick::initial_attitude(),
        angular_velocity: DipoleOnAStick::initial_angular_velocity(),
    }
}
