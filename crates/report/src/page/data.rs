//! What a page shows, as it goes into the page: columns of numbers in SI units, rounded to what can be seen.

use super::rows::shown;
use crate::consistency::{BAND_PROBABILITY, chi_squared_band};
use crate::errors::{Errors, StepError};
use crate::plot::Subject;
use crate::plot::points::thin_path;
use crate::report::Report;
use crate::run::{Estimate, Run};
use lienav_base::stamp::Stamp;
use lienav_io::truth::Truth;
use lienav_lie::Se2;
use lienav_slam::{Landmark, Role, SeenMeasurement};
use nalgebra::Vector2;
use serde::Serialize;
use std::collections::BTreeMap;

/// Shares of all filters together: steps, measurements, and landmarks of maps at all their instants. Some 4 MB.
const MOST_ROWS: usize = 14_000;
const MAX_MEASUREMENTS: usize = 40_000;
const MOST_LANDMARKS: usize = 20_000;
/// The most steps of one filter.
const MOST_ROWS_OF_ONE: usize = 7000;
/// Stretches of time over which measurements are summed up.
const BINS: usize = 120;
/// A path has no detail finer than this part of its extent.
const PATH_RESOLUTION: f64 = 1.0 / 4000.0;

/// All of a page.
#[derive(Serialize)]
pub(super) struct Page {
    version: &'static str,
    source: String,
    /// The stamp that times count from, s: a text, because it has more digits than a number of JavaScript.
    start: String,
    duration_s: f64,
    /// The way of the robot, m.
    distance_m: f64,
    /// The probability of all bands, and that of NEES and NIS by degrees of freedom.
    probability: f64,
    bands: Vec<(f64, f64)>,
    truth: TruePath,
    filters: Vec<Shown>,
}

/// What is taken as true.
#[derive(Serialize)]
struct TruePath {
    /// x and y of each piece, m.
    pieces: Vec<(Vec<f64>, Vec<f64>)>,
    /// No point that is left out is farther than this from one that is not, m.
    resolution_m: f64,
    id: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// One run.
#[derive(Serialize)]
struct Shown {
    name: String,
    report: Report,
    steps: usize,
    rows: Rows,
    #[serde(rename = "readings")]
    measurements: Measurements,
    maps: Vec<Map>,
    bins: Bins,
    calibration: BTreeMap<&'static str, Learned>,
}

/// Numbers of steps, a column each; `null` where one is not known. Times in s, positions in m, angles in rad.
#[derive(Default, Serialize)]
struct Rows {
    t: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    yaw: Vec<f64>,
    /// Variances and covariance of x and y, m².
    xx: Vec<f64>,
    xy: Vec<f64>,
    yy: Vec<f64>,
    /// Standard deviation of the heading, rad.
    syaw: Vec<f64>,
    /// Estimate − truth.
    ex: Vec<f64>,
    ey: Vec<f64>,
    eyaw: Vec<f64>,
    nees: Vec<f64>,
    nis: Vec<f64>,
    dof: Vec<Option<usize>>,
    used: Vec<Option<usize>>,
    added: Vec<Option<usize>>,
    left: Vec<Option<usize>>,
}

/// Measurements, flat: those of the k-th scan that is shown are `start[k]..start[k + 1]`.
#[derive(Default, Serialize)]
struct Measurements {
    t: Vec<f64>,
    start: Vec<usize>,
    /// Where a measurement puts its landmark, in the base frame, m.
    x: Vec<f64>,
    y: Vec<f64>,
    /// 0 used, 1 began a landmark, 2 left out by the gate; 3 more where the measurement alone says no place, and x, y
    /// are those of the landmark.
    role: Vec<u8>,
    landmark: Vec<Option<u32>>,
}

/// The map at an instant.
#[derive(Serialize)]
struct Map {
    t: f64,
    id: Vec<u32>,
    x: Vec<f64>,
    y: Vec<f64>,
    xx: Vec<f64>,
    xy: Vec<f64>,
    yy: Vec<f64>,
}

/// Measurements by stretches of equal time: sums over all steps.
#[derive(Serialize)]
struct Bins {
    width_s: f64,
    used: Vec<u64>,
    added: Vec<u64>,
    left_out: BTreeMap<&'static str, Vec<u64>>,
    /// Whether what was left out is known by reason.
    has_reasons: bool,
}

/// A calibration parameter over time.
#[derive(Default, Serialize)]
struct Learned {
    t: Vec<f64>,
    value: Vec<f64>,
    sigma: Vec<f64>,
}

impl Page {
    /// Of runs that share one truth.
    pub(super) fn new(subjects: &[Subject]) -> Self {
        let stamps = || subjects.iter().flat_map(|s| s.run.estimates.iter().map(|estimate| estimate.stamp));
        let start = stamps().min().unwrap_or_default();
        let duration_s = stamps().max().map_or(0.0, |end| end.since(start));
        let shares = subjects.len().max(1);
        Self {
            version: env!("CARGO_PKG_VERSION"),
            source: subjects.first().map(|s| s.run.source.clone()).unwrap_or_default(),
            start: start.to_string(),
            duration_s: significant(duration_s, 9),
            distance_m: subjects.first().map_or(0.0, |s| significant(distance(s), 4)),
            probability: BAND_PROBABILITY,
            bands: (0..=MOST_DOF).map(|dof| band(dof.max(1))).collect(),
            truth: TruePath::new(subjects.first().map(|s| s.truth)),
            filters: subjects.iter().map(|subject| Shown::new(subject, (start, duration_s), shares)).collect(),
        }
    }
}

/// Scans with more degrees of freedom than this have a NIS without band.
const MOST_DOF: usize = 60;

fn band(dof: usize) -> (f64, f64) {
    let (low, high) = chi_squared_band(dof, BAND_PROBABILITY);
    (significant(low, 5), significant(high, 5))
}

/// How far the robot went, m: by the truth, where there is one.
fn distance(subject: &Subject) -> f64 {
    let length = |path: &mut dyn Iterator<Item = Vector2<f64>>| {
        let Some(mut last) = path.next() else { return 0.0 };
        path.map(|p| (p - std::mem::replace(&mut last, p)).norm()).filter(|step| step.is_finite()).sum::<f64>()
    };
    let truth: f64 = subject.truth.pieces().map(|piece| length(&mut piece.iter().map(|(_, pose)| pose.p))).sum();
    if truth > 0.0 { truth } else { length(&mut subject.run.estimates.iter().map(|estimate| estimate.pose.p)) }
}

impl TruePath {
    fn new(truth: Option<&Truth>) -> Self {
        let mut found = Self { pieces: Vec::new(), resolution_m: 0.0, id: Vec::new(), x: Vec::new(), y: Vec::new() };
        let Some(truth) = truth else { return found };
        let points = truth.poses().iter().map(|(_, pose)| pose.p);
        let (low, high) = points
            .fold((Vector2::repeat(f64::MAX), Vector2::repeat(f64::MIN)), |(low, high), p| (low.inf(&p), high.sup(&p)));
        let extent = (high - low).max().max(0.0);
        found.resolution_m = significant(extent * PATH_RESOLUTION, 2);
        for piece in truth.pieces().take(crate::plot::points::PIECES) {
            let path = piece.iter().map(|(_, pose)| (pose.p.x, pose.p.y));
            let path = thin_path(path, found.resolution_m);
            found.pieces.push(path.into_iter().map(|(x, y)| (metres(x), metres(y))).unzip());
        }
        for (id, position) in truth.landmarks().iter().take(MOST_LANDMARKS) {
            found.id.push(*id);
            found.x.push(metres(position.x));
            found.y.push(metres(position.y));
        }
        found
    }
}

impl Shown {
    fn new(subject: &Subject, (start, duration_s): (Stamp, f64), shares: usize) -> Self {
        let Subject { run, errors, .. } = *subject;
        let judged = judged(run, errors);
        let kept = shown(run.estimates.len(), &columns(run, &judged), (MOST_ROWS / shares).min(MOST_ROWS_OF_ONE));
        let time = |stamp: Stamp| significant(stamp.since(start), 9);
        Self {
            name: run.filter.clone(),
            report: Report::new(run, errors),
            steps: run.estimates.len(),
            rows: Rows::new(&kept, &run.estimates, &judged, &time),
            measurements: Measurements::new(run, &kept, MAX_MEASUREMENTS / shares, &time),
            maps: maps(run, MOST_LANDMARKS / shares, &time),
            bins: Bins::new(run, start, duration_s),
            calibration: learned(run, &time),
        }
    }
}

/// The error of each estimate, where its true pose is known.
fn judged<'a>(run: &Run, errors: &'a Errors) -> Vec<Option<&'a StepError>> {
    let mut steps = errors.steps.iter().peekable();
    run.estimates.iter().map(|estimate| steps.next_if(|step| step.stamp == estimate.stamp)).collect()
}

/// The numbers of which no extreme may be lost.
fn columns(run: &Run, judged: &[Option<&StepError>]) -> Vec<Vec<f64>> {
    let of = |value: fn(&StepError) -> f64| judged.iter().map(|step| step.map_or(f64::NAN, value)).collect();
    let by_dof = |estimate: &Estimate| match estimate.update {
        Some(update) if update.dof > 0 => update.nis / update.dof as f64,
        _ => f64::NAN,
    };
    let of_estimate = |value: fn(&Estimate) -> f64| run.estimates.iter().map(value).collect();
    vec![
        of(|step| step.error.x),
        of(|step| step.error.y),
        of(|step| step.error.z),
        of(|step| step.error.xy().norm()),
        of(|step| step.nees.unwrap_or(f64::NAN)),
        run.estimates.iter().map(by_dof).collect(),
        of_estimate(|estimate| estimate.pose.p.x),
        of_estimate(|estimate| estimate.pose.p.y),
    ]
}

impl Rows {
    fn new(kept: &[usize], estimates: &[Estimate], judged: &[Option<&StepError>], time: &dyn Fn(Stamp) -> f64) -> Self {
        let mut rows = Self::default();
        for &step in kept {
            let Estimate { stamp, pose, covariance: c, update } = estimates[step];
            rows.t.push(time(stamp));
            rows.x.push(metres(pose.p.x));
            rows.y.push(metres(pose.p.y));
            rows.yaw.push(radians(pose.theta));
            rows.xx.push(significant(c[(0, 0)], 4));
            rows.xy.push(significant(c[(0, 1)], 4));
            rows.yy.push(significant(c[(1, 1)], 4));
            rows.syaw.push(significant(c[(2, 2)].max(0.0).sqrt(), 4));
            let error = |value: fn(&StepError) -> f64| judged[step].map_or(f64::NAN, |e| significant(value(e), 4));
            rows.ex.push(error(|e| e.error.x));
            rows.ey.push(error(|e| e.error.y));
            rows.eyaw.push(error(|e| e.error.z));
            rows.nees.push(error(|e| e.nees.unwrap_or(f64::NAN)));
            rows.nis.push(update.map_or(f64::NAN, |u| significant(u.nis, 4)));
            rows.dof.push(update.map(|u| u.dof));
            rows.used.push(update.map(|u| u.accepted));
            rows.added.push(update.map(|u| u.added));
            rows.left.push(update.map(|u| u.rejected));
        }
        rows
    }
}

impl Measurements {
    /// Those of the scans at or before the steps that are shown; `most` of them, of scans evenly spread.
    fn new(run: &Run, kept: &[usize], most: usize, time: &dyn Fn(Stamp) -> f64) -> Self {
        let mut measurements = Self::default();
        let Some(timeline) = &run.timeline else { return measurements };
        let scans = &timeline.measurements.kept;
        let mut chosen: Vec<usize> = kept
            .iter()
            .filter_map(|&step| scans.partition_point(|(s, _)| *s <= run.estimates[step].stamp).checked_sub(1))
            .collect();
        chosen.dedup();
        let total: usize = chosen.iter().map(|&scan| scans[scan].1.len()).sum();
        let every = total.div_ceil(most.max(1)).max(1);
        // The estimates and the scans are both in the order of time.
        let mut estimates = run.estimates.iter();
        for (stamp, seen) in chosen.iter().step_by(every).map(|&scan| &scans[scan]) {
            let Some(estimate) = estimates.by_ref().find(|estimate| estimate.stamp >= *stamp) else { break };
            measurements.t.push(time(*stamp));
            measurements.start.push(measurements.x.len());
            seen.iter().for_each(|measurement| measurements.push(measurement, &estimate.pose));
        }
        measurements.start.push(measurements.x.len());
        measurements
    }

    fn push(&mut self, measurement: &SeenMeasurement, pose: &Se2) {
        let role = match measurement.role {
            Role::Again => 0,
            // A landmark that may be at several places is being begun.
            Role::First | Role::Held => 1,
            Role::Gated => 2,
        };
        let (place, role) = match (measurement.place, measurement.in_map) {
            (Some(place), _) => (place, role),
            (None, Some(in_map)) => (pose.transform_back(&in_map), role + 3),
            (None, None) => return,
        };
        self.x.push(significant(place.x, 4));
        self.y.push(significant(place.y, 4));
        self.role.push(role);
        self.landmark.push(measurement.landmark);
    }
}

/// The maps over time, and that of the end; `most` landmarks in all of them, or one map.
fn maps(run: &Run, most: usize, time: &dyn Fn(Stamp) -> f64) -> Vec<Map> {
    let kept = run.timeline.as_ref().map(|timeline| timeline.maps.kept.as_slice()).unwrap_or_default();
    let total: usize = kept.iter().map(|(_, map)| map.len()).sum::<usize>() + run.landmarks.len();
    let every = total.div_ceil(most.max(1)).max(1);
    let mut maps: Vec<Map> = kept.iter().step_by(every).map(|(stamp, map)| Map::new(time(*stamp), map)).collect();
    if let Some(end) = run.estimates.last() {
        maps.push(Map::new(time(end.stamp), &run.landmarks));
    }
    maps
}

impl Map {
    fn new(t: f64, landmarks: &[Landmark]) -> Self {
        // More than this nobody tells apart.
        let landmarks = &landmarks[..landmarks.len().min(MOST_LANDMARKS)];
        let of = |value: fn(&Landmark) -> f64| landmarks.iter().map(value).collect();
        Self {
            t,
            id: landmarks.iter().map(|landmark| landmark.id).collect(),
            x: of(|landmark| metres(landmark.position.x)),
            y: of(|landmark| metres(landmark.position.y)),
            xx: of(|landmark| significant(landmark.covariance[(0, 0)], 3)),
            xy: of(|landmark| significant(landmark.covariance[(0, 1)], 3)),
            yy: of(|landmark| significant(landmark.covariance[(1, 1)], 3)),
        }
    }
}

impl Bins {
    fn new(run: &Run, start: Stamp, duration_s: f64) -> Self {
        let width_s = (duration_s / BINS as f64).max(1e-3);
        let bin = |stamp: Stamp| ((stamp.since(start) / width_s).max(0.0) as usize).min(BINS - 1);
        let mut bins = Self {
            width_s,
            used: vec![0; BINS],
            added: vec![0; BINS],
            left_out: BTreeMap::new(),
            has_reasons: run.timeline.is_some(),
        };
        for estimate in &run.estimates {
            let (Some(update), bin) = (estimate.update, bin(estimate.stamp)) else { continue };
            bins.used[bin] += update.accepted as u64;
            bins.added[bin] += update.added as u64;
            if run.timeline.is_none() && update.rejected > 0 {
                bins.left_out.entry("left_out").or_insert_with(|| vec![0; BINS])[bin] += update.rejected as u64;
            }
        }
        for (stamp, reason, count) in run.timeline.iter().flat_map(|timeline| &timeline.left_out) {
            bins.left_out.entry(reason.word()).or_insert_with(|| vec![0; BINS])[bin(*stamp)] += count;
        }
        bins
    }
}

/// The most instants of a calibration: it changes slowly.
const MOST_INSTANTS: usize = 600;

fn learned(run: &Run, time: &dyn Fn(Stamp) -> f64) -> BTreeMap<&'static str, Learned> {
    let mut learned: BTreeMap<&'static str, Learned> = BTreeMap::new();
    let kept = run.timeline.as_ref().map(|timeline| timeline.calibration.kept.as_slice()).unwrap_or_default();
    let every = kept.len().div_ceil(MOST_INSTANTS).max(1);
    let end = run.estimates.last().map(|end| (end.stamp, run.calibration.clone()));
    for (stamp, estimates) in kept.iter().step_by(every).chain(end.as_ref()) {
        for estimate in estimates {
            let parameter = learned.entry(estimate.parameter.word()).or_default();
            parameter.t.push(time(*stamp));
            parameter.value.push(significant(estimate.value, 5));
            parameter.sigma.push(significant(estimate.std, 3));
        }
    }
    learned
}

/// A number with so many digits that count: its shortest text is short. What is not finite becomes `null`.
pub fn significant(value: f64, digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A coordinate to a tenth of a millimetre.
fn metres(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A heading to a tenth of a milliradian.
fn radians(value: f64) -> f64 {
    metres(value)
}
