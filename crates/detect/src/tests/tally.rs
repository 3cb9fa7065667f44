//! Precision, recall and consistency over simulated scenes.

use super::scenes::{Scene, scan_of};
use crate::{Class, Config, Detection, Detector, Tracker};
use lienav_base::stamp::Stamp;
use lienav_lie::se2::Se2;
use lienav_sim::scan::{Cast, Disc, Seen};
use nalgebra::Vector2;

/// Scans of a drive.
const SCANS: usize = 30;
/// Detections within this of a landmark are of it, m.
const SAME_M: f64 = 0.25;

/// What detections were and what they should have been.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Detections of a landmark.
    pub right: usize,
    /// Detections of something else.
    pub wrong: usize,
    /// Landmarks that were whole and hit by enough rays.
    pub there: usize,
    /// Those of them that were found.
    pub found: usize,
    /// Sum of the squared errors by their covariances, over `there` and found.
    pub nees: f64,
    /// Sum of the squared errors, m².
    pub squared_error: f64,
}

impl Tally {
    pub fn precision(&self) -> f64 {
        self.right as f64 / (self.right + self.wrong).max(1) as f64
    }
    pub fn recall(&self) -> f64 {
        self.found as f64 / self.there.max(1) as f64
    }
    pub fn mean_nees(&self) -> f64 {
        self.nees / self.found.max(1) as f64
    }
    pub fn rmse(&self) -> f64 {
        (self.squared_error / self.found.max(1) as f64).sqrt()
    }
}

/// Poles and reflectors, each told in single scans and by the tracker, and poles by how many rays hit them.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub poles_alone: Tally,
    /// Those that the tracker lets pass, over all that are whole.
    pub poles: Tally,
    /// The same over those that were whole in two thirds of the scans of the last 1.2 s, the first of them too.
    pub poles_in_view: Tally,
    pub reflectors: Tally,
    /// In single scans, hit by 3, 4–5, 6–9, 10–19, 20 and more rays.
    pub by_rays: [Tally; 5],
}

/// How many rays hit a disc, if it is whole: with nothing nearer beside it and within the scan.
fn whole(cast: &Cast, k: usize) -> Option<usize> {
    let hit = |ray: &usize| cast.seen[*ray] == Seen::Disc(k);
    let first = (0..cast.seen.len()).find(hit)?;
    let last = (0..cast.seen.len()).rfind(hit)?;
    let rays = (first..=last).filter(hit).count();
    let passes = |ray: Option<usize>, edge: usize| {
        let ray = ray.filter(|&ray| ray < cast.seen.len())?;
        (cast.seen[ray] == Seen::Nothing || cast.ranges[ray] > cast.ranges[edge].min(100.0) - 0.03).then_some(())
    };
    passes(first.checked_sub(1), first)?;
    passes(Some(last + 1), last)?;
    (rays == last - first + 1).then_some(rays)
}

fn is_reflector(disc: &Disc) -> bool {
    disc.reflectivity > 5.0
}

/// Judges the detections of one scan.
fn judge(
    scene: &Scene,
    cast: &Cast,
    pose: &Se2,
    detections: &[Detection],
    reflectors: bool,
    mut each: impl FnMut(usize, usize, Option<(f64, f64)>),
) -> (usize, usize) {
    let (mut right, mut wrong) = (0, 0);
    let of_kind = |detection: &&Detection| (detection.class == Class::Reflector) == reflectors;
    for detection in detections.iter().filter(of_kind) {
        let at = pose.transform(&detection.position);
        let near = |disc: &Disc| is_reflector(disc) == reflectors && (disc.centre - at).norm() < SAME_M;
        if scene.world.discs.iter().any(near) {
            right += 1;
        } else {
            wrong += 1;
        }
    }
    for (k, disc) in scene.world.discs.iter().enumerate().filter(|(_, disc)| is_reflector(disc) == reflectors) {
        let truth: Vector2<f64> = pose.transform_back(&disc.centre);
        if truth.norm() > 14.8 {
            continue;
        }
        let least = if reflectors { 1 } else { 3 };
        let Some(rays) = whole(cast, k).filter(|&rays| rays >= least) else { continue };
        let distance = |detection: &&Detection| (detection.position - truth).norm();
        let nearest = detections.iter().filter(of_kind).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        each(
            k,
            rays,
            nearest.filter(|nearest| distance(nearest) < SAME_M).map(|nearest| {
                let error = nearest.position - truth;
                let inverse = nearest.covariance.try_inverse().unwrap();
                (error.norm_squared(), (error.transpose() * inverse * error).x)
            }),
        );
    }
    (right, wrong)
}

fn count(tally: &mut Tally, found: Option<(f64, f64)>) {
    tally.there += 1;
    if let Some((squared, nees)) = found {
        tally.found += 1;
        tally.squared_error += squared;
        tally.nees += nees;
    }
}

/// Drives through a scene, with a scan each 0.1 s, and judges from 1.5 s on, when the tracker may have found what it
/// saw from the start.
pub fn run(scene: &Scene, config: &Config, report: &mut Report) {
    let mut detector = Detector::new(config.clone()).unwrap();
    let mut tracker = Tracker::new(config.persistence.clone());
    let mut rng = scene.noise();
    let mut in_view = vec![[false; SCANS]; scene.world.discs.len()];
    for k in 0..SCANS {
        let time = 0.1 * k as f64;
        let pose = scene.pose(time);
        let cast = scene.scanner.cast(&scene.world, &pose, &scene.twist, time, &mut rng);
        let detections = detector.detect(&scan_of(scene, &cast)).unwrap();
        let standing = tracker.update(Stamp::from_secs(time), &pose, detections);
        for (disc, view) in in_view.iter_mut().enumerate() {
            view[k] = whole(&cast, disc).is_some_and(|rays| rays >= 3);
        }
        if k < 15 || k % 2 == 0 {
            continue;
        }
        let alone: Vec<_> = detections.iter().copied().filter(|detection| detection.isolated).collect();
        let tally = &mut report.poles_alone;
        let bins = &mut report.by_rays;
        let (right, wrong) = judge(scene, &cast, &pose, &alone, false, |_, rays, found| {
            count(tally, found);
            let bin = [4, 6, 10, 20].iter().filter(|&&least| rays >= least).count();
            count(&mut bins[bin], found);
        });
        tally.right += right;
        tally.wrong += wrong;
        let long = |disc: usize| {
            let view = &in_view[disc][k - 12..=k];
            view[0] && view.iter().filter(|whole| **whole).count() >= 9
        };
        let (tally, steady) = (&mut report.poles, &mut report.poles_in_view);
        let (right, wrong) = judge(scene, &cast, &pose, standing, false, |disc, _, found| {
            count(tally, found);
            if long(disc) {
                count(steady, found);
            }
        });
        for tally in [tally, steady] {
            tally.right += right;
            tally.wrong += wrong;
        }
        let tally = &mut report.reflectors;
        let (right, wrong) = judge(scene, &cast, &pose, standing, true, |_, _, found| count(tally, found));
        tally.right += right;
        tally.wrong += wrong;
    }
}

/// A line of the table in docs/detector.md.
pub fn line(name: &str, tally: &Tally) -> String {
    let judged = tally.right + tally.wrong > 0;
    let precision = if judged { format!("{:.3}", tally.precision()) } else { "–".into() };
    format!(
        "| {name} | {} | {precision} | {:.3} | {:.2} | {:.1} |",
        tally.there,
        tally.recall(),
        tally.mean_nees(),
        1000.0 * tally.rmse()
    )
}
