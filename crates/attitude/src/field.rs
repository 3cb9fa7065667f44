//! The earth's magnetic field: its heading, and whether it is the earth's.

use super::{DropReason, MagnetometerConfig};
use lienav_base::stamp::Stamp;
use lienav_lie::wrap_angle;
use nalgebra::Vector3;
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_2;

/// Strength (any unit) and dip (rad, positive downwards) of a field.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Kind {
    strength: f64,
    dip: f64,
}

impl Kind {
    fn of(field: &Vector3<f64>) -> Self {
        Self { strength: field.norm(), dip: (-field.z).atan2(field.xy().norm()) }
    }

    fn is_near(&self, usual: &Self, config: &MagnetometerConfig) -> bool {
        (self.strength - usual.strength).abs() <= config.max_strength_deviation * usual.strength
            && (self.dip - usual.dip).abs() <= config.max_dip_deviation_rad
    }
}

/// Watches the field. The first one is taken for usual; a different one has to stay for a while to become it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FieldWatch {
    usual: Option<Kind>,
    /// A different field, and since when there is no other.
    other: Option<(Kind, Stamp)>,
}

impl FieldWatch {
    /// The heading's error: how far the world frame of the estimate is to be turned about the vertical. `field` is in
    /// that frame.
    ///
    /// # Errors
    /// The field has no heading, or is not the usual one.
    pub fn heading_error(
        &mut self,
        stamp: Stamp,
        field: &Vector3<f64>,
        config: &MagnetometerConfig,
    ) -> Result<f64, DropReason> {
        let kind = Kind::of(field);
        // Within a few degrees of vertical there is no heading in it.
        if field.xy().norm() <= 0.05 * kind.strength {
            return Err(DropReason::Disturbed);
        }
        let usual = *self.usual.get_or_insert(kind);
        if kind.is_near(&usual, config) {
            self.other = None;
        } else {
            match self.other {
                Some((other, since)) if kind.is_near(&other, config) => {
                    if stamp.since(since) < config.adopt_after_s {
                        return Err(DropReason::Disturbed);
                    }
                    (self.usual, self.other) = (Some(kind), None);
                }
                _ => {
                    self.other = Some((kind, stamp));
                    return Err(DropReason::Disturbed);
                }
            }
        }
        // Magnetic north lies at 90° less the declination, counterclockwise from the world's x axis.
        Ok(wrap_angle(FRAC_PI_2 - config.declination_rad - field.y.atan2(field.x)))
    }
}
