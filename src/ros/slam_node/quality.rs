//! How good the pose is, in one word with the numbers behind it: `~/pose_quality`, and `/diagnostics`.
//!
//! | word | when |
//! |---|---|
//! | lost | no odometry yet, none for more than a second, switched off, or the robot is searched for |
//! | lost | the covariance of the pose is invalid, until the next cloud |
//! | lost | the robot is searched for in the map that it makes |
//! | lost | the standard deviation of the position is no number, or at least `sensor.max_range_m` |
//! | lost | the standard deviation of the heading is no number, or at least π/√3, that of any heading |
//! | lost | in the last [`WINDOW`] clouds, all of at least [`FEW`] measurements of known landmarks were outside their gates |
//! | degraded | more than half of them were |
//! | degraded | the gate was opened within these clouds: what was published before was wrong |
//! | degraded | the NIS of these clouds is beyond the χ² quantile of [`PROBABILITY`] |
//! | degraded | no landmark was used for more than a second: the pose is that of the odometry since |
//! | degraded | a standard deviation is beyond `quality.max_position_std_m` or `quality.max_yaw_std_rad`, if set |
//! | ok | otherwise |
//!
//! The filter's numbers speak for themselves here: no bound is tuned to a robot.

use super::report::{FEW, Search};
use crate::ros::diagnostics::{Level, Values};
use lienav_base::settings;
use lienav_base::stamp::Stamp;
use lienav_eval::consistency::chi_squared_band;
use lienav_slam::{DropReason, PoseEstimate, Slam, Step};
use r2r::diagnostic_msgs::msg::DiagnosticStatus;
use std::collections::VecDeque;
use std::f64::consts::PI;
use std::time::Duration;

/// So many clouds are looked back on.
const WINDOW: usize = 10;

/// A NIS beyond this quantile is too large to be chance.
const PROBABILITY: f64 = 0.999;

/// Longer silence than this is a lack, as for [`Findings`](crate::ros::diagnostics::Findings), s.
const SILENCE_S: f64 = 1.0;

settings! {
    /// What the user asks of the pose.
    pub struct QualitySettings {
        /// Beyond this standard deviation of the position, the pose is called degraded, m; 0 for no limit.
        max_position_std_m: f64 = 0.0, within 0.0..=1e6, unit "m", runtime;
        /// Beyond this standard deviation of the heading, the pose is called degraded, rad; 0 for no limit.
        max_yaw_std_rad: f64 = 0.0, within 0.0..=10.0, unit "rad", runtime;
    }
}

/// How good a pose is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quality {
    /// As good as its covariance says.
    Ok,
    /// Worse than usual, or worse than its covariance says.
    Degraded,
    /// Not to be used.
    Lost,
}

impl Quality {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Lost => "lost",
        }
    }

    fn level(self) -> Level {
        match self {
            Self::Ok => Level::Ok,
            Self::Degraded => Level::Warn,
            Self::Lost => Level::Error,
        }
    }
}

/// One cloud, as far as it tells how good the pose is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cloud {
    used: u64,
    gated: u64,
    nis: f64,
    dof: usize,
    openings: u64,
}

/// The last clouds.
#[derive(Clone, Debug, Default)]
pub struct Window {
    clouds: VecDeque<Cloud>,
    /// Of the filter, after the last of them.
    gated: u64,
    openings: u64,
    last_used: Option<Stamp>,
    said: Option<Quality>,
}

/// What a judgement is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    is_switched_on: bool,
    is_recovering: bool,
    search: Option<Search>,
    odometry_silence_s: Option<f64>,
    /// Stamp of the pose, standard deviations of position (m) and heading (rad).
    pose: Option<(Stamp, f64, f64)>,
    /// From the last cloud of which a landmark was used to the pose.
    feature_age_s: Option<f64>,
    clouds: Cloud,
    max_range_m: f64,
    demands: QualitySettings,
}

impl Window {
    /// One more cloud, which the filter has processed.
    pub fn add(&mut self, step: &Step, slam: &Slam) {
        let (gated, openings) = (slam.counts().get(DropReason::Gated), slam.gate_openings());
        let used = (step.accepted + step.added) as u64;
        self.clouds.push_back(Cloud {
            used,
            gated: gated.saturating_sub(self.gated),
            nis: step.nis,
            dof: step.dof,
            openings: openings.saturating_sub(self.openings),
        });
        if self.clouds.len() > WINDOW {
            self.clouds.pop_front();
        }
        (self.gated, self.openings) = (gated, openings);
        if used > 0 {
            self.last_used = Some(step.estimate.stamp);
        }
    }

    /// What there is to judge by, with the pose at the newest odometry, `silence` after the last odometry message.
    pub fn evidence(
        &self,
        slam: &Slam,
        predicted: Option<PoseEstimate>,
        silence: Option<Duration>,
        demands: &QualitySettings,
    ) -> Evidence {
        let add = |sum: Cloud, c: &Cloud| Cloud {
            used: sum.used + c.used,
            gated: sum.gated + c.gated,
            nis: sum.nis + c.nis,
            dof: sum.dof + c.dof,
            openings: sum.openings + c.openings,
        };
        let stds = |e: &PoseEstimate| {
            let root = |variance: f64| if variance >= -1e-12 { variance.max(0.0).sqrt() } else { f64::NAN };
            (e.stamp, root(e.covariance.m11 + e.covariance.m22), root(e.covariance.m33))
        };
        Evidence {
            is_switched_on: slam.enabled(),
            is_recovering: slam.is_recovering(),
            search: slam.search().map(Search::of),
            odometry_silence_s: silence.map(|silence| silence.as_secs_f64()),
            pose: predicted.as_ref().map(stds),
            feature_age_s: predicted.zip(self.last_used).map(|(pose, used)| pose.stamp.since(used).max(0.0)),
            clouds: self.clouds.iter().fold(Cloud::default(), add),
            max_range_m: slam.config().sensor.max_range_m,
            demands: demands.clone(),
        }
    }

    /// The clouds so far are of another pose: after a reset, another map, or time that was set back.
    pub fn restart(&mut self) {
        self.clouds.clear();
        self.last_used = None;
    }

    /// Whether this is another word than was said last; it is said now.
    pub fn is_news(&mut self, quality: Quality) -> bool {
        self.said.replace(quality) != Some(quality)
    }
}

impl Evidence {
    /// The word, by the table of this module, and the sentences for it.
    pub fn judge(&self) -> (Quality, Vec<String>) {
        let mut found: Vec<(Quality, String)> = Vec::new();
        let Cloud { used, gated, nis, dof, openings } = self.clouds;
        let mut lost = |sentence: String| found.push((Quality::Lost, sentence));
        if !self.is_switched_on {
            lost("the filter is switched off".into());
        }
        if self.is_recovering {
            lost("the robot is searched for in the map that it makes: odometry alone".into());
        }
        if let Some(search) = &self.search {
            lost(format!("the robot is searched for: {} poses are left", search.candidates));
        }
        match self.odometry_silence_s {
            None => lost("no odometry yet".into()),
            Some(silence) if silence > SILENCE_S => lost(format!("no odometry for {silence:.1} s")),
            Some(_) if self.pose.is_none() && self.is_switched_on && self.search.is_none() => {
                lost("there is no pose yet, or none with a valid covariance".into());
            }
            Some(_) => (),
        }
        if let Some((_, position, yaw)) = self.pose {
            if position.is_nan() || position >= self.max_range_m {
                let range = self.max_range_m;
                lost(format!("the position is known to {position:.2} m only, and the sensor sees {range} m far"));
            }
            if yaw.is_nan() || yaw >= PI / 3.0_f64.sqrt() {
                lost(format!("the heading is known to {yaw:.2} rad only, which is nothing"));
            }
        }
        let measurements = used + gated;
        if measurements >= FEW && used == 0 {
            lost(format!("all of {gated} readings of known landmarks are outside their gates"));
        }
        let mut degraded = |sentence: String| found.push((Quality::Degraded, sentence));
        if measurements >= FEW && used > 0 && 2 * gated > measurements {
            degraded(format!("{gated} of {measurements} readings of known landmarks are outside their gates"));
        }
        if openings > 0 {
            degraded("track loss: the gate was opened a moment ago".into());
        }
        if nis > self.nis_bound() {
            degraded(format!("NIS {nis:.0} of {dof}: errors are larger than the covariance says"));
        }
        match self.feature_age_s {
            None if self.pose.is_some() => degraded("no landmark was used yet".into()),
            Some(age) if age > SILENCE_S => degraded(format!("no landmark was used for {age:.1} s: odometry alone")),
            _ => (),
        }
        if let Some((_, position, yaw)) = self.pose {
            let QualitySettings { max_position_std_m, max_yaw_std_rad } = self.demands;
            if max_position_std_m > 0.0 && position > max_position_std_m {
                degraded(format!("the position is known to {position:.3} m, {max_position_std_m} m is asked for"));
            }
            if max_yaw_std_rad > 0.0 && yaw > max_yaw_std_rad {
                degraded(format!("the heading is known to {yaw:.4} rad, {max_yaw_std_rad} rad is asked for"));
            }
        }
        let worst = found.iter().map(|(quality, _)| *quality).max().unwrap_or(Quality::Ok);
        (worst, found.into_iter().map(|(_, sentence)| sentence).collect())
    }

    /// The sentences for the word, for the log.
    pub fn reasons(&self) -> String {
        self.judge().1.join("; ")
    }

    fn nis_bound(&self) -> f64 {
        chi_squared_band(self.clouds.dof, 2.0 * PROBABILITY - 1.0).1
    }

    /// The word as level and message, the reasons and the numbers as values. `name` is that of the node.
    pub fn status(&self, name: &str) -> (Quality, DiagnosticStatus) {
        let (quality, reasons) = self.judge();
        let mut values = Values::default();
        values.say("reason", reasons.join("; "));
        if let Some((stamp, position, yaw)) = self.pose {
            values.say("stamp", stamp);
            values.say("position_std_m", format_args!("{position:.6}"));
            values.say("yaw_std_rad", format_args!("{yaw:.6}"));
        }
        if let Some(age) = self.feature_age_s {
            values.say("feature_age_s", format_args!("{age:.3}"));
        }
        if let Some(silence) = self.odometry_silence_s {
            values.say("odom_silence_s", format_args!("{silence:.3}"));
        }
        let Cloud { used, gated, nis, dof, openings } = self.clouds;
        values.say("readings.used", used);
        values.say("readings.gated", gated);
        values.say("nis", format_args!("{nis:.3}"));
        values.say("nis.dof", dof);
        values.say("nis.bound", format_args!("{:.3}", self.nis_bound()));
        values.say("gate.openings", openings);
        values.say("searching", self.search.is_some());
        let verdict = (quality.level(), quality.word().to_owned());
        (quality, values.status(format!("{name}: pose quality"), verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Evidence {
        Evidence {
            is_switched_on: true,
            odometry_silence_s: Some(0.02),
            pose: Some((Stamp::from_secs(10.0), 0.05, 0.01)),
            feature_age_s: Some(0.1),
            clouds: Cloud { used: 50, gated: 1, nis: 98.0, dof: 100, openings: 0 },
            max_range_m: 20.0,
            ..Evidence::default()
        }
    }

    fn word(change: impl FnOnce(&mut Evidence)) -> (Quality, usize) {
        let mut evidence = good();
        change(&mut evidence);
        let (quality, reasons) = evidence.judge();
        (quality, reasons.len())
    }

    #[test]
    fn a_pose_is_good_unless_something_speaks_against_it() {
        assert_eq!(word(|_| ()), (Quality::Ok, 0));
        let (quality, status) = good().status("slam_node");
        assert_eq!((quality, status.level, status.message.as_str()), (Quality::Ok, 0, "ok"));
        assert_eq!(status.name, "slam_node: pose quality");
    }

    #[test]
    fn each_line_of_the_table_makes_its_word() {
        let lost: [fn(&mut Evidence); 10] = [
            |e| e.is_switched_on = false,
            |e| (e.odometry_silence_s, e.pose, e.feature_age_s) = (None, None, None),
            |e| e.odometry_silence_s = Some(1.1),
            |e| (e.pose, e.feature_age_s) = (None, None),
            |e| e.pose = Some((Stamp::default(), 20.0, 0.01)),
            |e| e.pose = Some((Stamp::default(), f64::NAN, 0.01)),
            |e| e.pose = Some((Stamp::default(), 0.1, 1.82)),
            |e| e.pose = Some((Stamp::default(), 0.1, f64::NAN)),
            |e| (e.clouds.used, e.clouds.gated) = (0, 8),
            |e| {
                e.search =
                    Some(Search { candidates: 3, best: 0.5, elsewhere: 0.1, is_ambiguous: false, is_refuted: false });
            },
        ];
        for (k, change) in lost.into_iter().enumerate() {
            assert_eq!(word(change), (Quality::Lost, 1), "rule {k}");
        }
        let degraded: [fn(&mut Evidence); 7] = [
            |e| (e.clouds.used, e.clouds.gated) = (10, 11),
            |e| e.clouds.openings = 1,
            // χ²₁₀₀(0.999) = 149.4
            |e| e.clouds.nis = 149.6,
            |e| e.feature_age_s = Some(1.1),
            |e| e.feature_age_s = None,
            |e| e.demands.max_position_std_m = 0.04,
            |e| e.demands.max_yaw_std_rad = 0.009,
        ];
        for (k, change) in degraded.into_iter().enumerate() {
            assert_eq!(word(change), (Quality::Degraded, 1), "rule {k}");
        }
    }

    #[test]
    fn what_is_on_the_other_side_of_a_bound_makes_none() {
        let fine: [fn(&mut Evidence); 6] = [
            |e| e.clouds.nis = 149.2,
            |e| (e.clouds.used, e.clouds.gated) = (10, 10),
            |e| (e.clouds.used, e.clouds.gated) = (0, 7),
            |e| e.pose = Some((Stamp::default(), 19.9, 1.81)),
            |e| e.feature_age_s = Some(0.99),
            |e| (e.clouds.nis, e.clouds.dof) = (0.0, 0),
        ];
        for (k, change) in fine.into_iter().enumerate() {
            assert_eq!(word(change), (Quality::Ok, 0), "rule {k}");
        }
    }

    #[test]
    fn a_word_is_news_once() {
        let mut window = Window::default();
        let said = [Quality::Lost, Quality::Lost, Quality::Ok, Quality::Lost].map(|quality| window.is_news(quality));
        assert_eq!(said, [true, false, true, true]);
    }
}
