//! Motions that were not what odometry says, found without identities.
//!
//! A wheel slips, and the robot has turned by ten times what the noise of its odometry has room for. With identities,
//! readings say so at once. Without, what is read is where nothing is known: it begins landmarks anew, what is known and
//! should be in view is missed, and what is matched wrongly after that confirms the wrong pose. So the filter keeps where
//! it was, every few clouds, and what comes. Where landmarks are missed and others begin, it takes in the same clouds as
//! if the robot had slipped at one of these times, and weighs both by what they make of the landmarks ([`Account`]):
//! those of before are read again, or missed, or there are new ones. Where the odds are high, and no other rival that has
//! the robot elsewhere is nearly as likely, it goes on as if it had.
//!
//! It may have slipped long before, where the map hangs together by odometry alone ([`Cut`]). That needs none of the
//! clouds since ([`Slip`]), and is one more way in which rivals begin.
//!
//! The cost is bounded: a copy of the state for every [`EVERY`] clouds, and while landmarks are missed and others begin,
//! as many more steps as there are rivals; [`KEPT`] × [`EVERY`] clouds are made again where a rival begins, and where
//! it turns out to be right. It is not saved with the filter.

use crate::association::account::Account;
use crate::association::cuts::Cut;
use crate::config::{Config, MapMode};
use crate::estimator::Slip;
use crate::history::doubt::{Branch, Fork, Rival, SUSPICIOUS};
use crate::inbox::QueuedScan;
use crate::output::{Processed, Step};
use crate::slam::Slam;
use lienav_base::stamp::Stamp;

/// Where the filter was is kept after so many clouds with readings.
const EVERY: usize = 4;
/// So many of these times are kept.
const KEPT: usize = 16;
/// With more features, the steps that are made again would take longer than a robot should wait.
const MOST_LANDMARKS: usize = 64;
/// As many messages of odometry and inertial samples are kept that were used.
const MOST_MESSAGES: usize = 4096;
/// As many clouds are kept, those without readings too.
const MOST_SCANS: usize = 600;
/// A cloud with more readings is not kept: in a map this small, most of them are of no landmark.
const MAX_MEASUREMENTS: usize = 256;
/// How far a robot that slips has turned otherwise, and with which standard deviation, rad. If the filter were told of one
/// slip as wide as all of them, landmarks would be on circles where it knows tangents.
const TURNS: [(f64, f64); 3] = [(0.0, 0.3), (0.4, 0.2), (-0.4, 0.2)];
/// A rival is no other one if after so many clouds it knows the heading as well as the filter, by this factor of the
/// variance, and makes the same of the clouds, by this logarithm.
const SETTLED: (usize, f64, f64) = (8, 2.0, 1.0);

/// How the robot may have slipped: where it was, and at a cut of its map.
fn slips(cut: Option<Cut>) -> impl Iterator<Item = Slip> {
    let places = std::iter::once(None).chain(cut.map(Some));
    places.flat_map(|at| TURNS.map(|(turn, std)| Slip { turn, std, at }))
}

impl Slam {
    /// Whether motions may be doubted: as loops are tried.
    fn doubts(&self) -> bool {
        let Config { map, timing, .. } = &self.config;
        map.mode == MapMode::Mapping
            && map.local_features == 0
            && timing.rewind_s == 0.0
            && self.search.is_none()
            && self.estimator.state.landmarks.len() <= MOST_LANDMARKS
            && self.inbox.past_messages() <= MOST_MESSAGES
            && self.doubt.scans.len() < MOST_SCANS
            && !self.estimator.is_recorded()
    }

    /// Keeps what is needed to take this cloud in again; to be called before it is processed.
    pub(super) fn keep_for_doubt(&mut self, scan: &QueuedScan) {
        if self.estimator.memory().is_idle() {
            return;
        }
        if !self.doubts() || scan.measurements.len() > MAX_MEASUREMENTS {
            return self.end_doubt();
        }
        let Some(time) = self.time.filter(|time| *time <= scan.stamp) else { return };
        if self.doubt.forks.is_empty() || self.doubt.since >= EVERY {
            if self.doubt.forks.len() >= KEPT {
                self.forget_first_fork();
            }
            self.inbox.keep_past(true);
            let scans = self.doubt.before + self.doubt.scans.len() as u64;
            let spare = self.doubt.spare.pop();
            let mut way = self.way_in(time, spare);
            self.estimator.begin(&mut way.account);
            self.doubt.forks.push_back(Fork { way, scans, weighed: 0.0, rivals: Vec::new() });
            self.doubt.since = 0;
        }
        let copy = self.inbox.copy(scan);
        self.doubt.scans.push_back(copy);
    }

    /// Where the filter is, in the memory of a way that nobody goes any more. What is in the account is to be begun.
    fn way_in(&self, time: Stamp, spare: Option<Branch>) -> Branch {
        match spare {
            Some(Branch { point, account }) => Branch { point: self.point_in(time, point), account },
            None => Branch { point: self.point(time), account: Account::default() },
        }
    }

    fn forget_first_fork(&mut self) {
        if let Some(Fork { way, rivals, .. }) = self.doubt.forks.pop_front() {
            self.doubt.spare.push(way);
            self.doubt.spare.extend(rivals.into_iter().map(|rival| rival.way));
        }
        let Some(first) = self.doubt.forks.front().map(|fork| fork.scans) else { return };
        while self.doubt.before < first
            && let Some(scan) = self.doubt.scans.pop_front()
        {
            self.doubt.before += 1;
            self.inbox.recycle(scan);
        }
        self.doubt.merged.retain(|(count, _)| *count > first);
        self.forget_past_as_needed();
    }

    /// The robot has moved as odometry says.
    pub(super) fn end_doubt(&mut self) {
        if !self.doubt.forks.is_empty() {
            self.doubt.forks.clear();
            self.doubt.spare.clear();
            self.doubt.before += self.doubt.scans.len() as u64;
            self.doubt.scans.drain(..).for_each(|scan| self.inbox.recycle(scan));
            self.doubt.merged.clear();
            self.keep_past_as_needed();
        }
    }

    /// What the last cloud makes of the features, for who weighs it.
    pub(super) fn glance_at(&mut self, step: &Processed) {
        self.doubt.has_glanced = false;
        let Ok(Some(step)) = step else { return };
        let has_read = step.accepted + step.added + step.rejected > 0 && !self.estimator.has_read_the_pose();
        let is_weighed = !self.doubt.forks.is_empty() || self.second_look.has_account();
        if has_read && is_weighed && !self.estimator.memory().is_idle() {
            self.doubt.has_glanced = true;
            self.estimator.glance(&mut self.doubt.glances);
            self.second_look.note(&self.doubt.glances, (step.nis, step.dof));
        }
    }

    /// Takes in what the last cloud says of the motions before it. Gives what became of that cloud, where the robot turns
    /// out to have slipped.
    pub(super) fn doubt_motion(&mut self, step: Option<&Step>) -> Option<Processed> {
        let step = step?;
        if self.doubt.forks.is_empty() {
            return None;
        }
        let count = self.doubt.before + self.doubt.scans.len() as u64;
        // Of clouds that are kept only: they are taken back with them.
        self.doubt.merged.extend(self.estimator.merged().iter().map(|pair| (count, *pair)));
        if !self.doubt.has_glanced {
            return None;
        }
        self.doubt.since += 1;
        for fork in &mut self.doubt.forks {
            fork.way.account.note(&self.doubt.glances, (step.nis, step.dof));
        }
        self.follow_rivals();
        let believed = |fork: &Fork| {
            fork.rivals
                .iter()
                .filter(|rival| rival.is_believed(&fork.way.account))
                .map(Rival::order)
                .max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let likeliest = self.doubt.forks.iter().enumerate().filter_map(|(k, fork)| Some((k, believed(fork)?)));
        if let Some((k, (_, slip))) = likeliest.max_by(|a, b| a.1.0.total_cmp(&b.1.0))
            && self.doubt.is_undisputed(k, slip)
        {
            return self.take_slip(k, slip);
        }
        if let Some(k) = self.doubt.next_fork() {
            self.begin_rivals(k);
        }
        None
    }

    /// Takes the last cloud in as if the robot had slipped, where that is followed.
    fn follow_rivals(&mut self) {
        if self.doubt.forks.iter().all(|fork| fork.rivals.is_empty()) {
            return;
        }
        let Some(scan) = self.doubt.scans.pop_back() else { return };
        let (mut forks, mut spare) = (std::mem::take(&mut self.doubt.forks), std::mem::take(&mut self.doubt.spare));
        let known = SETTLED.1 * self.estimator.state.pose_covariance()[(2, 2)];
        self.aside(|slam| {
            for Fork { way: own, rivals, .. } in &mut forks {
                let is_in_doubt = own.account.is_suspicious(SUSPICIOUS);
                let given_up = rivals.extract_if(.., |Rival { way: Branch { point, account }, scans, .. }| {
                    let mut is_same = false;
                    slam.on(point, |slam| {
                        let _ = slam.take_in_for(&scan, account, true);
                        is_same = slam.estimator.state.pose_covariance()[(2, 2)] < known
                            && (account.against() - own.account.against()).abs() < SETTLED.2;
                    });
                    *scans += 1;
                    !is_in_doubt || (is_same && *scans > SETTLED.0)
                });
                spare.extend(given_up.map(|rival| rival.way));
            }
        });
        self.doubt.scans.push_back(scan);
        (self.doubt.forks, self.doubt.spare) = (forks, spare);
    }

    /// Follows what the filter would be if the robot had slipped at the time of this fork, for each of [`TURNS`].
    fn begin_rivals(&mut self, k: usize) {
        let (mut forks, mut spare) = (std::mem::take(&mut self.doubt.forks), std::mem::take(&mut self.doubt.spare));
        let scans = std::mem::take(&mut self.doubt.scans);
        let Fork { way, scans: first, weighed, rivals } = &mut forks[k];
        *weighed = way.account.against();
        let since = (*first - self.doubt.before) as usize;
        self.aside(|slam| {
            let cut = way.point.estimator.cut();
            for slip in slips(cut) {
                let time = way.point.time;
                let mut other = None;
                slam.on(&mut way.point, |slam| {
                    let other = other.insert(slam.way_in(time, spare.pop()));
                    slam.slip(slip, &mut other.account);
                    for scan in scans.range(since..) {
                        let _ = slam.take_in_for(scan, &mut other.account, true);
                    }
                });
                // The filter has gone on from where the fork was, of which the other is a copy.
                if let Some(mut other) = other {
                    std::mem::swap(&mut other.point, &mut way.point);
                    rivals.push(Rival { way: other, scans: 0, slip });
                }
            }
        });
        (self.doubt.forks, self.doubt.spare, self.doubt.scans) = (forks, spare, scans);
    }

    /// The robot slips, and an account begins.
    fn slip(&mut self, slip: Slip, account: &mut Account) {
        self.estimator.slip(slip);
        self.estimator.begin(account);
    }

    /// Goes on as if the robot had slipped at the time of this fork.
    fn take_slip(&mut self, k: usize, slip: Slip) -> Option<Processed> {
        let Fork { way: Branch { point, mut account }, scans, .. } = self.doubt.forks.drain(..).nth(k)?;
        let mut again = self.go_back_for_good(point);
        self.slip(slip, &mut account);
        let mut last = None;
        let since = (scans - self.doubt.before) as usize;
        let merged = self.doubt.merged.drain(..).filter(|(count, _)| *count > scans);
        let split = merged.map(|(_, pair)| pair).collect();
        for (k, scan) in std::mem::take(&mut self.doubt.scans).into_iter().enumerate() {
            self.doubt.before += 1;
            if k >= since {
                last = Some(self.take_in_for(&scan, &mut account, true));
                self.note_again(&mut again, &scan);
            }
            self.inbox.recycle(scan);
        }
        self.end_again(again, split);
        self.estimator.note_slip();
        self.believe_loop();
        self.end_second_look();
        self.keep_past_as_needed();
        self.commit();
        self.look_ahead();
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::checkpoint::Point;
    use crate::history::doubt::Doubt;
    use crate::{Measurement, MeasurementKind, Odometry};
    use lienav_lie::Se2;
    use nalgebra::{Matrix3, Vector2};
    use std::collections::VecDeque;

    /// A robot that is known to a centimetre at so many metres ahead.
    fn at(ahead_m: f64) -> Point {
        let mut config = Config::default();
        (config.initial.position_std_m, config.initial.yaw_std_rad) = (0.01, 0.01);
        let mut slam = Slam::new(config).unwrap();
        for k in 0..3 {
            let stamp = Stamp::from_secs(f64::from(k));
            slam.odometry(&Odometry { stamp, velocity: Vector2::zeros(), yaw_rate: 0.0, covariance: None }).unwrap();
        }
        let known = Matrix3::from_diagonal_element(1e-4);
        slam.set_pose(Se2::new(ahead_m, 0.0, 0.0), &known).unwrap();
        slam.features(Stamp::from_secs(1.0), MeasurementKind::RangeBearing, &[Measurement::new(None, [3.0, 0.0])])
            .unwrap();
        let _ = slam.poll();
        slam.point(slam.time.unwrap())
    }

    fn rival(turn: f64, ahead_m: f64, told: f64) -> Rival {
        let way = Branch { point: at(ahead_m), account: Account::telling(told) };
        Rival { way, scans: 0, slip: Slip { turn, std: 0.2, at: None } }
    }

    #[test]
    fn where_two_rivals_have_the_robot_at_two_places_the_likelier_one_has_to_be_sure() {
        let is_undisputed = |other: Rival| {
            let one = rival(0.4, 0.0, 20.0);
            let slip = one.slip;
            let way = Branch { point: at(0.0), account: Account::telling(0.0) };
            let fork = Fork { way, scans: 0, weighed: 0.0, rivals: vec![one, other] };
            Doubt { forks: VecDeque::from([fork]), ..Doubt::default() }.is_undisputed(0, slip)
        };
        assert!(!is_undisputed(rival(-0.4, 1.0, 18.0)), "as likely, a metre away");
        assert!(is_undisputed(rival(-0.4, 1.0, 16.0)), "far less likely");
        assert!(is_undisputed(rival(-0.4, 0.01, 18.0)), "at the same place");
    }
}
