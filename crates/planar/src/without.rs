//! Mechanisms that can be left out, to measure what each is worth: `choices.without` of `lienav evaluate`. A robot has
//! all of them.

use lienav_base::words;

words! {
    /// A mechanism of the filter that acts beside the update.
    pub enum Mechanism {
        /// Slips of the odometry long before, where odometry alone connects two sides of the map.
        Cuts = "cuts",
        /// Hypotheses of slips of the odometry.
        Slips = "slips",
        /// Loop closures on trial, undone where they turn out wrong.
        UndoLoop = "undo_loop",
        /// The last scans processed again with the noise that was estimated.
        Refilter = "refilter",
        /// Two landmarks at one place that are never measured in one scan.
        Duplicates = "duplicates",
        /// Merging only where the sensor has not looked in vain.
        FieldOfView = "field_of_view",
        /// Loop closures.
        Loops = "loops",
        /// The search for the place in the map after a gap.
        AfterGap = "after_gap",
        /// The search for a robot that was carried away.
        Carried = "carried",
        /// Priors too wide to linearize at.
        WidePrior = "wide_prior",
        /// Several hypotheses of the pose in a known map.
        PoseHypotheses = "pose_hypotheses",
        /// The Gaussian sum in a known map.
        GaussianSum = "gaussian_sum",
    }
}

/// What is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u32);

impl Without {
    /// Leaves one more out.
    #[must_use]
    #[inline]
    pub const fn and(self, mechanism: Mechanism) -> Self {
        Self(self.0 | 1 << mechanism as u32)
    }

    /// Whether a mechanism is left out.
    #[inline]
    pub const fn has(self, mechanism: Mechanism) -> bool {
        self.0 & 1 << mechanism as u32 != 0
    }
}
