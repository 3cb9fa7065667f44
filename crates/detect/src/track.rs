//! What stands still: [`Tracker`].

use crate::config::PersistenceConfig;
use crate::output::{Class, Detection};
use lienav_base::stamp::Stamp;
use lienav_lie::se2::Se2;
use nalgebra::{Matrix2, Vector2};

/// Tells landmarks from legs over several scans: a landmark stays where it is in the odometry frame, alone, for
/// `persistence.duration_s`. What comes out are the detections of the present scan, not filtered, so that their errors
/// are independent from scan to scan.
#[derive(Debug)]
pub struct Tracker {
    config: PersistenceConfig,
    tracks: Vec<Track>,
    taken: Vec<bool>,
    standing: Vec<Detection>,
}

#[derive(Clone, Copy, Debug)]
struct Track {
    class: Class,
    /// Mean over the hits, in the odometry frame, m.
    position: Vector2<f64>,
    covariance: Matrix2<f64>,
    since: Stamp,
    seen: Stamp,
    hits: usize,
    /// How much oftener it stood beside something small than alone.
    crowded: i32,
    confirmed: bool,
}

/// Largest squared distance between a track and its detection, in covariances: 99.9 % of two numbers.
const GATE: f64 = 13.8;
/// So many things are followed at once.
const MOST: usize = 2000;

impl Tracker {
    /// A tracker with these settings.
    pub fn new(config: PersistenceConfig) -> Self {
        Self { config, tracks: Vec::new(), taken: Vec::new(), standing: Vec::new() }
    }

    /// Forgets everything, as after a jump of time or of odometry.
    pub fn reset(&mut self) {
        self.tracks.clear();
    }

    /// Those of `detections` that are landmarks, in the same order. `pose` is that of the sensor in the odometry frame
    /// at `stamp`, the stamp of the scan. A stamp before that of the last scan forgets everything.
    pub fn update(&mut self, stamp: Stamp, pose: &Se2, detections: &[Detection]) -> &[Detection] {
        self.standing.clear();
        if self.tracks.iter().any(|track| track.seen > stamp) {
            self.reset();
        }
        let memory = self.config.memory_s;
        self.tracks.retain(|track| {
            // What is not confirmed has to be seen in most scans.
            stamp.since(track.seen) <= if track.confirmed { memory } else { memory.min(0.5) }
        });
        self.taken.clear();
        self.taken.resize(self.tracks.len(), false);
        for detection in detections {
            if detection.class == Class::Reflector || self.config.duration_s == 0.0 && detection.isolated {
                self.standing.push(*detection);
                continue;
            }
            if self.follow(stamp, pose, detection) {
                self.standing.push(*detection);
            }
        }
        &self.standing
    }

    /// Puts a detection to its track; whether that is a landmark.
    fn follow(&mut self, stamp: Stamp, pose: &Se2, detection: &Detection) -> bool {
        let turn = pose.rotation();
        let position = pose.transform(&detection.position);
        let drift = self.config.drift_std_m.powi(2).max(1e-8);
        let covariance = turn * detection.covariance * turn.transpose() + Matrix2::identity() * drift;
        let distance = |track: &Track| {
            let innovation = position - track.position;
            let inverse = (covariance + track.covariance).try_inverse()?;
            Some((innovation.transpose() * inverse * innovation).x)
        };
        let near = self.tracks.iter().enumerate().filter(|&(k, track)| {
            !self.taken[k] && track.class == detection.class && (track.position - position).norm_squared() < 4.0
        });
        let nearest = near.filter_map(|(k, track)| Some((k, distance(track)?))).min_by(|a, b| a.1.total_cmp(&b.1));
        let crowded = if detection.isolated { -1 } else { 2 };
        let Some((k, _)) = nearest.filter(|&(_, distance)| distance < GATE) else {
            if self.tracks.len() < MOST {
                self.taken.push(true);
                self.tracks.push(Track {
                    class: detection.class,
                    position,
                    covariance,
                    since: stamp,
                    seen: stamp,
                    hits: 1,
                    crowded,
                    confirmed: false,
                });
            }
            return false;
        };
        self.taken[k] = true;
        let track = &mut self.tracks[k];
        if let Some(gain) = (track.covariance + covariance).try_inverse().map(|inverse| track.covariance * inverse) {
            track.position += gain * (position - track.position);
            // Odometry drifts: a track stays open to where its landmark will be next.
            track.covariance = (Matrix2::identity() - gain) * track.covariance + Matrix2::identity() * (0.05 * drift);
        }
        track.seen = stamp;
        track.hits += 1;
        track.crowded = (track.crowded + crowded).clamp(-10, 40);
        track.confirmed |= track.crowded < 0
            && track.hits >= self.config.min_hits
            && stamp.since(track.since) >= self.config.duration_s;
        track.confirmed
    }
}
