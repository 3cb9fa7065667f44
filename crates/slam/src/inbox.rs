//! The reorder buffer: odometry and features wait here, sorted by stamp, until it is certain what happened between
//! them.
//!
//! A cloud stamped τ is due once odometry stamped τ or later is there, whichever of the two arrives first. Odometry is
//! held back for `timing.reorder_window_s`, so that a cloud may come that much later than odometry of a later stamp
//! and still find the filter at its own instant. What comes out depends on the stamps alone, not on the order of
//! arrival, as long as nothing is later than the window.

use super::{FeatureKind, Imu, Observation, Odometry, TwistHold};
use lienav_base::stamp::Stamp;
use nalgebra::{Matrix2, Vector2};
use std::collections::VecDeque;

/// The most odometry messages that wait.
pub const MAX_ODOMETRY: usize = 8192;
/// The most clouds that wait.
pub const MAX_CLOUDS: usize = 32;
/// The most gyroscope samples that wait.
const MAX_IMU: usize = 8192;
/// A gyroscope sample stands for an interval that has none of its own up to this long after its stamp, s.
const IMU_FRESH_S: f64 = 0.1;
/// No segment is longer, s: of a robot that was silent for so long nothing is known but where it was, and a clock that
/// was set makes gaps of years, whose noise no number holds beside that of a sensor.
pub const MAX_SEGMENT_S: f64 = 60.0;

/// A cloud that waits.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// When it was seen.
    pub stamp: Stamp,
    /// How its observations are read.
    pub kind: FeatureKind,
    /// The observations.
    pub observations: Vec<Observation>,
    /// Whether it was ahead of the odometry by more than the reorder window when it came.
    is_early: bool,
}

/// A stretch of time in which the twist is constant.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The twist.
    pub odometry: Odometry,
    /// How long, s.
    pub duration: f64,
    /// How long the whole message stands for, s.
    pub interval: f64,
    /// The greatest speed, m/s, and yaw rate, rad/s, of late: a robot of which nothing was heard may have moved so.
    pub fastest: Vector2<f64>,
}

/// Speeds are remembered for about so long, s.
const FASTEST_MEMORY_S: f64 = 60.0;

/// Speed and yaw rate, without their signs.
fn speeds(odometry: &Odometry) -> Vector2<f64> {
    Vector2::new(odometry.velocity.norm(), odometry.yaw_rate.abs())
}

/// What waits.
#[derive(Clone, Debug)]
pub struct Inbox {
    hold: TwistHold,
    odometry: VecDeque<Odometry>,
    imu: VecDeque<Imu>,
    clouds: VecDeque<Cloud>,
    free: Vec<Cloud>,
    /// The last message taken out, and how long it stood for.
    last: Option<(Odometry, f64)>,
    /// The greatest speed and yaw rate of those taken out, fading.
    fastest: Vector2<f64>,
    newest_odometry: Option<Stamp>,
    newest_imu: Option<Stamp>,
    newest_cloud: Option<Stamp>,
    clock: Option<Stamp>,
    ended: bool,
}

impl Inbox {
    /// Empty.
    pub fn new(hold: TwistHold) -> Self {
        Self {
            hold,
            odometry: VecDeque::with_capacity(256),
            imu: VecDeque::with_capacity(256),
            clouds: VecDeque::with_capacity(MAX_CLOUDS),
            free: Vec::with_capacity(MAX_CLOUDS),
            last: None,
            fastest: Vector2::zeros(),
            newest_odometry: None,
            newest_imu: None,
            newest_cloud: None,
            clock: None,
            ended: false,
        }
    }

    /// Forgets everything, as if nothing had ever come.
    pub fn clear(&mut self) {
        self.odometry.clear();
        self.imu.clear();
        self.free.extend(self.clouds.drain(..));
        (self.last, self.newest_odometry, self.newest_imu) = (None, None, None);
        (self.newest_cloud, self.clock, self.ended) = (None, None, false);
        self.fastest = Vector2::zeros();
    }

    /// Removes clouds and inertial samples from outside of [`from`, `to`]; says how many clouds.
    pub fn drop_far(&mut self, from: Stamp, to: Stamp) -> usize {
        let is_near = |stamp: Stamp| (from..=to).contains(&stamp);
        self.imu.retain(|imu| is_near(imu.stamp));
        self.newest_imu = self.imu.back().map(|imu| imu.stamp);
        let before = self.clouds.len();
        for _ in 0..before {
            match self.clouds.pop_front() {
                Some(cloud) if is_near(cloud.stamp) => self.clouds.push_back(cloud),
                Some(cloud) => self.free.push(cloud),
                None => {}
            }
        }
        self.newest_cloud = self.clouds.back().map(|cloud| cloud.stamp);
        before - self.clouds.len()
    }

    /// Stamp of the newest odometry so far.
    pub fn newest_odometry(&self) -> Option<Stamp> {
        self.newest_odometry
    }

    /// Stamp of the earliest cloud that waits.
    pub fn first_cloud(&self) -> Option<Stamp> {
        self.clouds.front().map(|c| c.stamp)
    }

    /// Whether odometry of this stamp waits.
    pub fn has_odometry(&self, stamp: Stamp) -> bool {
        self.odometry.binary_search_by_key(&stamp, |o| o.stamp).is_ok()
    }

    /// Whether a cloud of this stamp waits.
    pub fn has_cloud(&self, stamp: Stamp) -> bool {
        self.clouds.iter().any(|c| c.stamp == stamp)
    }

    /// Whether there is room for one more odometry message.
    pub fn odometry_full(&self) -> bool {
        self.odometry.len() >= MAX_ODOMETRY
    }

    /// Whether there is room for one more cloud.
    pub fn clouds_full(&self) -> bool {
        self.clouds.len() >= MAX_CLOUDS
    }

    /// The very first message: it says when the run starts, and stands for what follows if twists are held after.
    pub fn start(&mut self, odometry: Odometry) {
        self.last = Some((odometry, 0.0));
        self.fastest = speeds(&odometry);
        self.newest_odometry = Some(odometry.stamp);
    }

    /// Adds a message at its place.
    pub fn push_odometry(&mut self, odometry: Odometry) {
        let at = self.odometry_before(odometry.stamp);
        self.odometry.insert(at, odometry);
        self.newest_odometry = self.newest_odometry.max(Some(odometry.stamp));
        self.ended = false;
    }

    /// Whether the next gyroscope sample pushes out the oldest.
    pub fn imu_full(&self) -> bool {
        self.imu.len() >= MAX_IMU
    }

    /// Adds a gyroscope sample at its place; the oldest makes room.
    pub fn push_imu(&mut self, imu: Imu) {
        if self.imu_full() {
            self.imu.pop_front();
        }
        let at = self.imu.partition_point(|s| s.stamp <= imu.stamp);
        self.imu.insert(at, imu);
        self.newest_imu = self.newest_imu.max(Some(imu.stamp));
    }

    /// Adds a cloud at its place. One that came early, and is contradicted by this one, which came after it and is
    /// older by more than the window, had a wrong stamp and is dropped; returns whether there was one.
    pub fn push_cloud(&mut self, stamp: Stamp, kind: FeatureKind, observations: &[Observation], window_s: f64) -> bool {
        let is_early = self.newest_odometry.is_some_and(|newest| stamp.since(newest) > window_s);
        let before = self.clouds.back().filter(|last| last.is_early).map(|last| last.stamp);
        let is_contradicted = before.is_some_and(|before| before.since(stamp) > window_s);
        if is_contradicted {
            self.free.extend(self.clouds.pop_back());
        } else if before.is_some_and(|before| before <= stamp) {
            self.newest_cloud = self.newest_cloud.max(before);
        }
        let mut cloud = self.free.pop().unwrap_or(Cloud { stamp, kind, observations: Vec::new(), is_early });
        (cloud.stamp, cloud.kind, cloud.is_early) = (stamp, kind, is_early);
        cloud.observations.clear();
        cloud.observations.extend_from_slice(observations);
        let at = self.clouds.partition_point(|c| c.stamp < stamp);
        self.clouds.insert(at, cloud);
        if !is_early {
            self.newest_cloud = self.newest_cloud.max(Some(stamp));
        }
        self.ended = false;
        is_contradicted
    }

    /// Gives a cloud's memory back.
    pub fn recycle(&mut self, cloud: Cloud) {
        self.free.push(cloud);
    }

    /// Tells what time it is.
    pub fn set_clock(&mut self, stamp: Stamp) {
        self.clock = Some(stamp);
    }

    /// Tells that nothing more will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The earliest cloud, if it need not wait longer.
    pub fn pop_due_cloud(&mut self, window_s: f64) -> Option<Cloud> {
        let stamp = self.first_cloud()?;
        let odometry_there = self.newest_odometry.is_some_and(|o| o >= stamp);
        let newest = self.newest_odometry.max(self.newest_cloud).max(self.clock).unwrap_or(stamp);
        let gyro_there = self.newest_imu.is_none_or(|i| i >= stamp || newest.since(i) > IMU_FRESH_S);
        let waited_enough = newest.since(stamp) > window_s || self.clouds_full() || self.ended;
        if (odometry_there && gyro_there) || waited_enough { self.clouds.pop_front() } else { None }
    }

    /// Stamp of the earliest odometry, if it is older than the window and no cloud waits before it.
    pub fn odometry_to_commit(&self, window_s: f64) -> Option<Stamp> {
        let (first, newest) = (self.odometry.front()?.stamp, self.newest_odometry?);
        let old = newest.since(first) > window_s || self.odometry_full();
        (old && self.first_cloud().is_none_or(|cloud| first <= cloud)).then_some(first)
    }

    /// Visits the segments from `from` to `to` in order, and says how many messages they use up. Beyond the newest
    /// message its twist is taken to last.
    pub fn walk(&self, from: Stamp, to: Stamp, mut visit: impl FnMut(Segment)) -> usize {
        let mut used = 0;
        let mut at = from;
        let mut last = self.last;
        while at < to {
            let next = self.odometry.get(used);
            let end = next.map_or(to, |o| o.stamp.min(to));
            let (odometry, interval) = match (self.hold, next, last) {
                (TwistHold::Before, Some(next), Some((last, _))) => (*next, next.stamp.since(last.stamp)),
                (TwistHold::Before, Some(next), None) => (*next, next.stamp.since(from)),
                (TwistHold::After, Some(next), Some((last, _))) => (last, next.stamp.since(last.stamp)),
                (_, None, Some((last, interval))) if interval > 0.0 => (last, interval),
                (_, None, Some((last, _))) => (last, to.since(at)),
                (TwistHold::After, Some(_), None) | (_, None, None) => return used,
            };
            if end > at {
                let fastest = last.map_or(self.fastest, |(last, _)| self.fastest.sup(&speeds(&last)));
                visit(self.segment(odometry, interval, fastest, at, end));
            }
            if let Some(next) = next
                && next.stamp <= to
            {
                last = Some((*next, interval));
                used += 1;
            }
            at = end;
        }
        used
    }

    /// `odometry`, which stands for `interval`, from `from` to `to`, with what inertial samples say of this time.
    fn segment(&self, mut odometry: Odometry, interval: f64, fastest: Vector2<f64>, from: Stamp, to: Stamp) -> Segment {
        if let Some((yaw_rate, levelling)) = self.inertial(from, to) {
            odometry = levelling.map_or(odometry, |levelling| odometry.levelled(&levelling));
            odometry.yaw_rate = yaw_rate;
        }
        let (duration, interval) = (to.since(from).min(MAX_SEGMENT_S), interval.min(MAX_SEGMENT_S));
        Segment { odometry, duration, interval, fastest: fastest.sup(&speeds(&odometry)) }
    }

    /// The whole segment between the waiting messages `index` and `index` + 1.
    pub fn segment_after(&self, index: usize) -> Option<Segment> {
        let (one, other) = (self.odometry.get(index)?, self.odometry.get(index + 1)?);
        let held = match self.hold {
            TwistHold::Before => other,
            TwistHold::After => one,
        };
        let fastest = self.fastest.sup(&speeds(one)).sup(&speeds(other));
        Some(self.segment(*held, other.stamp.since(one.stamp), fastest, one.stamp, other.stamp))
    }

    /// Stamp of the earliest odometry that waits.
    pub fn first_odometry(&self) -> Option<Stamp> {
        self.odometry.front().map(|odometry| odometry.stamp)
    }

    /// How many messages wait before all that are stamped `stamp` or later.
    pub fn odometry_before(&self, stamp: Stamp) -> usize {
        self.odometry.partition_point(|o| o.stamp < stamp)
    }

    /// Removes what [`Inbox::walk`] used up to `to`.
    pub fn consume(&mut self, used: usize, to: Stamp) {
        for _ in 0..used {
            if let Some(next) = self.odometry.pop_front() {
                let interval = self.last.map_or(0.0, |(last, _)| next.stamp.since(last.stamp));
                self.fastest = (self.fastest * (-interval / FASTEST_MEMORY_S).exp()).sup(&speeds(&next));
                self.last = Some((next, interval));
            }
        }
        while self.imu.get(1).is_some_and(|second| second.stamp <= to) {
            self.imu.pop_front();
        }
    }

    /// Mean yaw rate over (from, to] and mean levelling, of the samples that have one; those of the last sample before
    /// where there is none, if it is fresh.
    fn inertial(&self, from: Stamp, to: Stamp) -> Option<(f64, Option<Matrix2<f64>>)> {
        let start = self.imu.partition_point(|s| s.stamp <= from);
        let end = self.imu.partition_point(|s| s.stamp <= to);
        if end == start {
            return self.imu_at(to).map(|imu| (imu.yaw_rate, imu.tilt.map(|tilt| tilt.levelling())));
        }
        let rates: f64 = self.imu.range(start..end).map(|s| s.yaw_rate).sum();
        let tilts = self.imu.range(start..end).filter_map(|s| s.tilt);
        let (sum, count) = tilts.fold((Matrix2::zeros(), 0), |(sum, n), tilt| (sum + tilt.levelling(), n + 1));
        let levelling = (count > 0).then(|| sum / f64::from(count));
        Some((rates / (end - start) as f64, levelling))
    }

    /// The newest inertial sample up to `stamp`, if it is fresh.
    fn imu_at(&self, stamp: Stamp) -> Option<&Imu> {
        let before = self.imu.get(self.imu.partition_point(|s| s.stamp <= stamp).checked_sub(1)?)?;
        (stamp.since(before.stamp) <= IMU_FRESH_S).then_some(before)
    }

    /// How the base leans at `stamp`, where that is known.
    pub fn levelling(&self, stamp: Stamp) -> Option<Matrix2<f64>> {
        self.imu_at(stamp)?.tilt.map(|tilt| tilt.levelling())
    }
}
