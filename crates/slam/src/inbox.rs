//! The reorder buffer: odometry and scans wait here, sorted by stamp, until the odometry up to a scan is complete.
//!
//! A scan with stamp τ is due when odometry with stamp τ or later has arrived. Odometry is held back for
//! `timing.reorder_window_s`: a scan that arrives up to this much later than odometry with a later stamp is still
//! processed at its own stamp. The output depends on the stamps only, not on the order of arrival, as long as no
//! message is later than the window.

use crate::imu_yaw_rate::{self, IMU_FRESH_S};
use lienav_base::stamp::Stamp;
use lienav_planar::config::TwistHold;
use lienav_planar::input::{Imu, Measurement, MeasurementKind, Odometry};
use lienav_planar::motion::Segment;
use lienav_planar::names::Names;
use lienav_planar::tilt::Tilt;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The most odometry messages that wait.
pub const MAX_ODOMETRY: usize = 8192;
/// The most scans that wait.
pub const MAX_SCANS: usize = 32;
/// The most gyroscope samples that wait.
const MAX_IMU: usize = 8192;
/// The longest duration of a segment, s. After a longer gap only the last pose of the robot is known; and after a clock
/// was set, a gap can be years, with a noise too large for the precision of a number beside that of a sensor.
pub const MAX_SEGMENT_S: f64 = 60.0;

/// A scan that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueuedScan {
    /// When the measurements were made.
    pub stamp: Stamp,
    /// The sensor that made them.
    #[serde(with = "sensor_index")]
    pub kind: MeasurementKind,
    /// The measurements.
    #[serde(rename = "observations")]
    pub measurements: Vec<Measurement>,
    /// What the measurements were taken for, if it was taken in before.
    #[serde(skip)]
    pub names: Names,
    /// Whether it was ahead of the odometry by more than the reorder window when it came.
    is_early: bool,
}

impl QueuedScan {
    /// Of measurements that are not early.
    pub fn new(stamp: Stamp, kind: MeasurementKind, measurements: &[Measurement]) -> Self {
        Self { measurements: measurements.to_vec(), ..Self::empty(stamp, kind) }
    }

    fn empty(stamp: Stamp, kind: MeasurementKind) -> Self {
        Self { stamp, kind, measurements: Vec::new(), names: Names::default(), is_early: false }
    }

    /// The order in which scans are processed: by stamp, and those of one stamp by sensor.
    pub fn place(&self) -> (Stamp, usize) {
        (self.stamp, self.kind.index())
    }
}

/// A sensor as it is saved: by its place among all.
mod sensor_index {
    use crate::MeasurementKind;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(kind: &MeasurementKind, serializer: S) -> Result<S::Ok, S::Error> {
        kind.index().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MeasurementKind, D::Error> {
        let index = usize::deserialize(deserializer)?;
        MeasurementKind::at(index).ok_or_else(|| D::Error::custom("there is no such sensor"))
    }
}

/// Speeds are remembered for about so long, s.
const FASTEST_MEMORY_S: f64 = 60.0;

/// Speed and yaw rate, without their signs.
fn speeds(odometry: &Odometry) -> Vector2<f64> {
    Vector2::new(odometry.velocity.norm(), odometry.yaw_rate.abs())
}

/// The messages that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inbox {
    hold: TwistHold,
    odometry: VecDeque<Odometry>,
    imu: VecDeque<Imu>,
    #[serde(rename = "clouds")]
    scans: VecDeque<QueuedScan>,
    #[serde(skip)]
    free: Vec<QueuedScan>,
    /// The last message that was removed, and the interval that it was valid for, s.
    last: Option<(Odometry, f64)>,
    /// The greatest speed and yaw rate of those taken out, fading.
    fastest: Vector2<f64>,
    newest_odometry: Option<Stamp>,
    newest_imu: Option<Stamp>,
    #[serde(rename = "newest_cloud")]
    newest_scan: Option<Stamp>,
    clock: Option<Stamp>,
    ended: bool,
    /// What was used, as far back as the filter may go.
    #[serde(skip)]
    past: Past,
    #[serde(skip)]
    keeps_past: bool,
}

/// Messages that were used.
#[derive(Clone, Debug, Default)]
struct Past {
    odometry: VecDeque<Odometry>,
    imu: VecDeque<Imu>,
}

impl Past {
    fn clear(&mut self) {
        self.odometry.clear();
        self.imu.clear();
    }
}

/// What was used last, at an instant that [`Inbox::go_back`] goes back to.
#[derive(Clone, Copy, Debug)]
pub struct InboxPoint {
    last: Option<(Odometry, f64)>,
    fastest: Vector2<f64>,
}

impl Inbox {
    /// Empty.
    pub fn new(hold: TwistHold) -> Self {
        Self {
            hold,
            odometry: VecDeque::with_capacity(256),
            imu: VecDeque::with_capacity(256),
            scans: VecDeque::with_capacity(MAX_SCANS),
            free: Vec::with_capacity(MAX_SCANS),
            last: None,
            fastest: Vector2::zeros(),
            newest_odometry: None,
            newest_imu: None,
            newest_scan: None,
            clock: None,
            ended: false,
            past: Past::default(),
            keeps_past: false,
        }
    }

    /// From now on keeps what is used, or no longer does.
    pub fn keep_past(&mut self, keeps: bool) {
        self.keeps_past = keeps;
        if !keeps {
            self.past.clear();
        }
    }

    /// How many messages are kept that were used.
    pub fn past_messages(&self) -> usize {
        self.past.odometry.len() + self.past.imu.len()
    }

    /// Nobody goes back to an instant before `stamp` any more.
    pub fn forget_past(&mut self, stamp: Stamp) {
        let past = &mut self.past;
        while past.odometry.front().is_some_and(|odometry| odometry.stamp <= stamp) {
            past.odometry.pop_front();
        }
        while past.imu.front().is_some_and(|imu| stamp.since(imu.stamp) > IMU_FRESH_S) {
            past.imu.pop_front();
        }
    }

    /// What [`Inbox::go_back`] needs to come back to this instant.
    pub fn point(&self) -> InboxPoint {
        InboxPoint { last: self.last, fastest: self.fastest }
    }

    /// What was used after `stamp`, the instant of the point, waits again.
    pub fn go_back(&mut self, stamp: Stamp, point: &InboxPoint) {
        if !self.keeps_past {
            return;
        }
        let past = &mut self.past;
        let used = past.odometry.partition_point(|odometry| odometry.stamp <= stamp);
        past.odometry.drain(used..).rev().for_each(|odometry| self.odometry.push_front(odometry));
        past.imu.drain(..).rev().for_each(|imu| self.imu.push_front(imu));
        (self.last, self.fastest) = (point.last, point.fastest);
    }

    /// Forgets all messages and all stamps.
    pub fn clear(&mut self) {
        self.odometry.clear();
        self.imu.clear();
        self.free.extend(self.scans.drain(..));
        self.past.clear();
        (self.last, self.newest_odometry, self.newest_imu) = (None, None, None);
        (self.newest_scan, self.clock, self.ended) = (None, None, false);
        self.fastest = Vector2::zeros();
    }

    /// Whether messages are in the order of their stamps, as they have to be.
    pub fn is_sorted(&self) -> bool {
        self.odometry.iter().is_sorted_by_key(|o| o.stamp)
            && self.imu.iter().is_sorted_by_key(|s| s.stamp)
            && self.scans.iter().is_sorted_by_key(|c| c.stamp)
    }

    /// Removes scans and inertial samples outside of [`from`, `to`], and returns how many scans.
    pub fn drop_far(&mut self, from: Stamp, to: Stamp) -> usize {
        let is_near = |stamp: Stamp| (from..=to).contains(&stamp);
        self.imu.retain(|imu| is_near(imu.stamp));
        self.newest_imu = self.imu.back().map(|imu| imu.stamp);
        let before = self.scans.len();
        for _ in 0..before {
            match self.scans.pop_front() {
                Some(scan) if is_near(scan.stamp) => self.scans.push_back(scan),
                Some(scan) => self.free.push(scan),
                None => {}
            }
        }
        self.newest_scan = self.scans.back().map(|scan| scan.stamp);
        before - self.scans.len()
    }

    /// Stamp of the newest odometry so far.
    pub fn newest_odometry(&self) -> Option<Stamp> {
        self.newest_odometry
    }

    /// Stamp of the earliest scan that waits.
    pub fn first_scan(&self) -> Option<Stamp> {
        self.scans.front().map(|c| c.stamp)
    }

    /// Whether odometry of this stamp waits.
    pub fn has_odometry(&self, stamp: Stamp) -> bool {
        self.odometry.binary_search_by_key(&stamp, |o| o.stamp).is_ok()
    }

    /// Whether a scan of this sensor with this stamp waits.
    pub fn has_scan(&self, stamp: Stamp, kind: MeasurementKind) -> bool {
        self.scans.iter().any(|c| c.stamp == stamp && c.kind == kind)
    }

    /// Whether there is room for one more odometry message.
    pub fn odometry_full(&self) -> bool {
        self.odometry.len() >= MAX_ODOMETRY
    }

    /// Whether there is room for one more scan.
    pub fn scans_full(&self) -> bool {
        self.scans.len() >= MAX_SCANS
    }

    /// Takes the first message of a run: the run starts at its stamp. Its twist is used where twists are held after.
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

    /// Adds a scan at its place. One that came early, and is contradicted by this one, which came after it and is
    /// older by more than the window, had a wrong stamp and is dropped; returns whether there was one.
    pub fn push_scan(
        &mut self,
        stamp: Stamp,
        kind: MeasurementKind,
        measurements: &[Measurement],
        window_s: f64,
    ) -> bool {
        let is_early = self.newest_odometry.is_some_and(|newest| stamp.since(newest) > window_s);
        let before = self.scans.back().filter(|last| last.is_early).map(|last| last.stamp);
        let is_contradicted = before.is_some_and(|before| before.since(stamp) > window_s);
        if is_contradicted {
            self.free.extend(self.scans.pop_back());
        } else if before.is_some_and(|before| before <= stamp) {
            self.newest_scan = self.newest_scan.max(before);
        }
        let mut scan = self.free.pop().unwrap_or_else(|| QueuedScan::empty(stamp, kind));
        (scan.stamp, scan.kind, scan.is_early) = (stamp, kind, is_early);
        scan.measurements.clear();
        scan.measurements.extend_from_slice(measurements);
        scan.names.clear();
        let at = self.scans.partition_point(|c| c.place() < (stamp, kind.index()));
        self.scans.insert(at, scan);
        if !is_early {
            self.newest_scan = self.newest_scan.max(Some(stamp));
        }
        self.ended = false;
        is_contradicted
    }

    /// A copy of a scan, in memory that was kept.
    pub fn copy(&mut self, scan: &QueuedScan) -> QueuedScan {
        let mut copy = self.free.pop().unwrap_or_else(|| QueuedScan::empty(scan.stamp, scan.kind));
        (copy.stamp, copy.kind, copy.is_early) = (scan.stamp, scan.kind, scan.is_early);
        copy.measurements.clone_from(&scan.measurements);
        copy.names.copy_from(&scan.names);
        copy
    }

    /// Keeps the memory of a scan for the next one.
    pub fn recycle(&mut self, scan: QueuedScan) {
        self.free.push(scan);
    }

    /// Sets the current time.
    pub fn set_clock(&mut self, stamp: Stamp) {
        self.clock = Some(stamp);
    }

    /// Declares that no more messages will come: every scan is due.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Removes the earliest scan if it is due: odometry is there up to `hold_s` after it, so that scans of slower
    /// sensors may still come before it, or nothing more is to be waited for.
    pub fn pop_due_scan(&mut self, window_s: f64, hold_s: f64) -> Option<QueuedScan> {
        let stamp = self.first_scan()?;
        let odometry_there = self.newest_odometry.is_some_and(|o| o >= stamp && o.since(stamp) >= hold_s);
        let newest = self.newest_odometry.max(self.newest_scan).max(self.clock).unwrap_or(stamp);
        let gyro_there = self.newest_imu.is_none_or(|i| i >= stamp || newest.since(i) > IMU_FRESH_S);
        let waited_enough = newest.since(stamp) > window_s || self.scans_full() || self.ended;
        if (odometry_there && gyro_there) || waited_enough { self.scans.pop_front() } else { None }
    }

    /// The stamp of the earliest odometry message, if it is older than the window and no scan with an earlier stamp
    /// waits.
    pub fn odometry_to_commit(&self, window_s: f64) -> Option<Stamp> {
        let (first, newest) = (self.odometry.front()?.stamp, self.newest_odometry?);
        let old = newest.since(first) > window_s || self.odometry_full();
        (old && self.first_scan().is_none_or(|scan| first <= scan)).then_some(first)
    }

    /// Visits the segments from `from` to `to` in order, and returns how many messages they use up. After the newest
    /// message, its twist is continued.
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

    /// The segment from `from` to `to` of a message that is valid for `interval`, with the inertial samples of this
    /// time.
    fn segment(&self, mut odometry: Odometry, interval: f64, fastest: Vector2<f64>, from: Stamp, to: Stamp) -> Segment {
        if let Some((yaw_rate, levelling)) = imu_yaw_rate::mean(&self.imu, from, to) {
            odometry = levelling.map_or(odometry, |levelling| odometry.levelled(&levelling));
            odometry.yaw_rate = yaw_rate;
        }
        let (duration, interval) = (to.since(from).min(MAX_SEGMENT_S), interval.min(MAX_SEGMENT_S));
        Segment { odometry, duration, interval, fastest: fastest.sup(&speeds(&odometry)), change: None }
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

    /// Visits the whole segments between messages of `stamp` or later, in order; the first may begin with the message
    /// that was used last.
    pub fn segments_since(&self, stamp: Stamp, mut visit: impl FnMut(Segment)) {
        if let (Some((last, _)), Some(first)) = (self.last, self.odometry.front())
            && stamp <= last.stamp
            && last.stamp < first.stamp
        {
            let held = match self.hold {
                TwistHold::Before => first,
                TwistHold::After => &last,
            };
            let fastest = self.fastest.sup(&speeds(&last));
            visit(self.segment(*held, first.stamp.since(last.stamp), fastest, last.stamp, first.stamp));
        }
        let initialized = self.odometry_before(stamp);
        (initialized..self.odometry.len()).filter_map(|index| self.segment_after(index)).for_each(visit);
    }

    /// Stamp of the earliest odometry that waits.
    pub fn first_odometry(&self) -> Option<Stamp> {
        self.odometry.front().map(|odometry| odometry.stamp)
    }

    /// How many messages with a stamp before `stamp` wait.
    pub fn odometry_before(&self, stamp: Stamp) -> usize {
        self.odometry.partition_point(|o| o.stamp < stamp)
    }

    /// Removes the `used` messages that [`Inbox::walk`] up to `to` reported, and inertial samples that are no longer
    /// needed.
    pub fn consume(&mut self, used: usize, to: Stamp) {
        for _ in 0..used {
            if let Some(next) = self.odometry.pop_front() {
                let interval = self.last.map_or(0.0, |(last, _)| next.stamp.since(last.stamp));
                self.fastest = (self.fastest * (-interval / FASTEST_MEMORY_S).exp()).sup(&speeds(&next));
                self.last = Some((next, interval));
                if self.keeps_past {
                    self.past.odometry.push_back(next);
                }
            }
        }
        while self.imu.get(1).is_some_and(|second| second.stamp <= to) {
            let used = self.imu.pop_front();
            if self.keeps_past {
                self.past.imu.extend(used);
            }
        }
    }

    /// Roll and pitch at `stamp`, if they are known.
    pub fn tilt(&self, stamp: Stamp) -> Option<Tilt> {
        imu_yaw_rate::newest(&self.imu, stamp)?.tilt
    }
}
