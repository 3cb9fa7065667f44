//! The scale on which association, history and recovery decide.
//!
//! Every test of evidence uses one of these odds, and every test of a probability one of these probabilities, so that
//! two tests of one kind decide alike. What is harder to undo needs higher odds.
//! (Such a scale is that of Jeffreys 1961, appendix B.)

/// Odds, and their logarithm for sums of log-likelihood ratios, rounded by 0.12 at most.
#[derive(Clone, Copy, Debug)]
pub struct Odds {
    /// So many to one.
    pub ratio: f64,
    /// About ln `ratio`.
    pub ln: f64,
}

/// What one landmark tells at most where it may stand in a row or grid, in which one that fits makes it likelier that
/// the next does; what a scan may lose without consequence; the odds below which no match is used.
pub const TEN_TO_ONE: Odds = Odds { ratio: 10.0, ln: 2.3 };
/// What one measurement tells at most, however sure the sensor, because clutter comes back, too; the odds of one of
/// several matches or hypotheses against the others, which later scans can correct.
pub const TWENTY_TO_ONE: Odds = Odds { ratio: 20.0, ln: 3.0 };
/// What landmarks in view that are not read tell at most, however often, because something may stand in the way for
/// long; the odds at which a loop is closed on trial, and those that are left to it at the end.
pub const FIFTY_TO_ONE: Odds = Odds { ratio: 50.0, ln: 4.0 };
/// The odds of what stays: a candidate becomes a landmark, two landmarks become one, a match moves the robot by more
/// than its noise. One decision in so many may be wrong; and as rarely a robot slips.
pub const THOUSAND_TO_ONE: Odds = Odds { ratio: 1_000.0, ln: 6.9 };
/// The odds against what happens once a day at 10 Hz: the robot was carried away, a known landmark has gone. Each scan
/// is a chance of a false alarm.
pub const MILLION_TO_ONE: Odds = Odds { ratio: 1e6, ln: 13.8 };
/// The odds of what is not tested any more: a loop is believed, and a slip of which nothing is read that was known.
pub const CERTAIN: Odds = Odds { ratio: 1e7, ln: 16.0 };

/// More probable than not: a landmark exists, a place was in view, a measurement is explained.
pub const LIKELY: f64 = 0.5;
/// One in ten: a measurement hidden or false, in a sensor of which nothing else is known, and a probability below which
/// a measurement is not used.
pub const UNLIKELY: f64 = 0.1;
/// All but one in ten.
pub const VERY_LIKELY: f64 = 1.0 - UNLIKELY;

/// So many landmarks, measurements or scans confirm each other: two landmarks make a rigid motion, two measurements
/// make a place, one disturbance hides two neighbours; the third contradicts what is wrong.
pub const CONFIRMING: usize = 3;
/// So many measurements of one scan tell by themselves where the robot is in its map, with one to spare: a search finds
/// it, and a scan can tell that it is elsewhere. Sensors that measure fewer on average are for the Gaussian sum.
pub const TELLING: usize = 4;
/// The squared distance up to which what was measured agrees with a place of the robot that others have given, 5²: the
/// map has errors of its own.
pub const AGREES: f64 = 25.0;
/// So long measurements that do not tell where the robot is are held back, s. A world in which one landmark is in view
/// at a time tells no more than that.
pub const HELD_S: f64 = 10.0;
