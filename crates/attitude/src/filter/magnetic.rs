//! What a magnetic field does to the estimate.

use super::Attitude;
use crate::correct::correct_heading;
use crate::{DropReason, MagneticField};

impl Attitude {
    /// Takes in a magnetic field. It corrects the heading at the newest sample; it may be older than that by no more
    /// than `timing.max_gap_s`, and no newer.
    ///
    /// # Errors
    /// Why it was not used; already counted.
    pub fn magnetic_field(&mut self, sample: &MagneticField) -> Result<(), DropReason> {
        let outcome = self.take_field(sample);
        self.note(outcome);
        outcome
    }

    fn take_field(&mut self, sample: &MagneticField) -> Result<(), DropReason> {
        if !(self.enabled && self.config.magnetometer.enabled) {
            return Err(DropReason::Disabled);
        }
        if !sample.field.iter().all(|x| x.is_finite()) {
            return Err(DropReason::NotFinite);
        }
        let now = self.last.map(|last| last.stamp).ok_or(DropReason::NotStarted)?;
        let limit = self.config.timing.max_gap_s;
        if now.since(sample.stamp) > limit {
            return Err(DropReason::TooLate);
        }
        if sample.stamp.since(now) > limit {
            return Err(DropReason::FromTheFuture);
        }
        match self.last_field {
            Some(last) if last == sample.stamp => return Err(DropReason::DuplicateStamp),
            Some(last) if last > sample.stamp => return Err(DropReason::TooLate),
            _ => self.last_field = Some(sample.stamp),
        }
        let field = self.state.orientation * sample.field;
        if !field.norm_squared().is_normal() {
            return Err(DropReason::Absurd);
        }
        let angle = self.field.heading_error(sample.stamp, &field, &self.config.magnetometer)?;
        self.settle();
        let before = self.state.orientation;
        let variance = self.config.magnetometer.heading_std_rad.powi(2);
        self.mixture.each(|belief| correct_heading(belief, angle, variance));
        self.mixture.merge(&mut self.state);
        if let Some(levelling) = &mut self.levelling {
            levelling.turn(&(self.state.orientation * before.inverse()));
        }
        self.refresh_rotation();
        Ok(())
    }
}
