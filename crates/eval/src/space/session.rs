//! One filter on its way through a recording: what a frame saw as measurements, and what is kept of each step.

use super::observability::Watch;
use super::settings::Settings;
use lienav_base::stamp::Stamp;
use lienav_inertial::delayed::{Delay, Delayed};
use lienav_inertial::filter::Filter;
use lienav_inertial::measurement::Measurement;
use lienav_inertial::measurement::pixel::{Pinhole, Pixel};
use lienav_inertial::measurement::point::{Mount, Target};
use lienav_inertial::measurement::rest::Rest;
use lienav_inertial::measurement::stereo::StereoPixels;
use lienav_inertial::preintegration::Preintegrated;
use lienav_inertial::state::State;
use lienav_inertial::step::{Step, append_mapped};
use lienav_io::space::data::{Camera, Frame, Image, Seen};
use lienav_lie::{Se3, So3};
use nalgebra::{Matrix3, Matrix6, Vector3};
use std::collections::BTreeMap;
use std::time::Instant;

/// An estimate at its own instant.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// When.
    pub stamp: Stamp,
    /// The body in the world.
    pub pose: Se3,
    /// Covariance of position, m, then of the rotation about the axes of the world, rad.
    pub covariance: Matrix6<f64>,
    /// Whether a frame was taken in at this instant.
    pub has_frame: bool,
}

/// What a run counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Measurements that were used.
    pub used: usize,
    /// Measurements beyond the gate.
    pub gated: usize,
    /// Landmarks that were initialized.
    pub initialized: usize,
    /// Landmarks that were removed, because their measurements failed the gate again and again.
    pub removed: usize,
    /// How often the covariance was widened, because most measurements were beyond the gate.
    pub widened: usize,
    /// Frames in which the body was taken to be at rest.
    pub at_rest: usize,
    /// What was left out, by reason.
    pub dropped: BTreeMap<String, u64>,
}

/// A run in progress.
pub struct Session<'a> {
    /// The state.
    pub state: State,
    step: Step,
    camera: &'a Camera,
    /// Further cameras of the body.
    pub further: &'a [Camera],
    settings: &'a Settings,
    /// Landmarks whose places are known.
    mapped: Option<Vec<u64>>,
    /// What was estimated.
    pub estimates: Vec<Estimate>,
    /// How long each step took, µs.
    pub step_us: Vec<f64>,
    /// What was counted.
    pub counts: Counts,
    spent: f64,
    /// Measurements used and beyond the gate in the last frames, older ones with less weight.
    recent: (f64, f64),
    /// What the filter takes for observable, where that is asked for.
    pub watch: Option<Watch>,
    /// Why the run ended before its time.
    pub failure: Option<String>,
}

/// A state with more landmarks takes in no new ones: a frame would take too long.
const MOST_LANDMARKS: usize = 200;
/// Most measurements of a frame; those of landmarks that the state has come first.
const MOST_MEASUREMENTS: usize = 80;

impl<'a> Session<'a> {
    /// A run that begins with this state.
    pub fn new(state: State, filter: Filter, camera: &'a Camera, settings: &'a Settings) -> Self {
        let mut step = Step::new(filter);
        step.prior = settings.ranges;
        step.delayed = Delayed::new(Delay::default());
        Self {
            state,
            step,
            camera,
            further: &[],
            settings,
            mapped: None,
            estimates: Vec::new(),
            step_us: Vec::new(),
            counts: Counts::default(),
            spent: 0.0,
            recent: (0.0, 0.0),
            watch: None,
            failure: None,
        }
    }

    /// Gives it a map: places in the world with this standard deviation, m.
    pub fn set_map(&mut self, map: &BTreeMap<u64, Vector3<f64>>, level: &So3, sigma: f64) {
        let covariance = Matrix3::identity() * sigma.max(1e-4).powi(2);
        for (id, place) in map.iter().take(MOST_LANDMARKS) {
            append_mapped(&mut self.state, *id, *level * *place, &covariance, &self.step.filter);
        }
        self.mapped = Some(map.keys().take(MOST_LANDMARKS).copied().collect());
    }

    /// Moves the state to another instant.
    pub fn predict(&mut self, increment: &Preintegrated) {
        if let Some(watch) = &mut self.watch {
            watch.predict(&self.state, increment);
        }
        let begin = Instant::now();
        self.step.predict(&mut self.state, increment);
        self.spent += begin.elapsed().as_secs_f64();
    }

    /// Takes in a frame.
    pub fn correct(&mut self, frame: &Frame, is_at_rest: bool) {
        let (pixels, stereo) = self.measurements(frame);
        let begin = Instant::now();
        if self.settings.tracks_end {
            // A track that ended does not come back.
            for i in (0..self.state.landmarks.len()).rev() {
                let landmark = &self.state.landmarks[i];
                if landmark.is_point() && frame.seen.iter().all(|seen| seen.id != landmark.id) {
                    self.state.remove(i);
                }
            }
        }
        let mut all: Vec<&dyn Measurement> = pixels.iter().map(|one| one as &dyn Measurement).collect();
        all.extend(stereo.iter().map(|one| one as &dyn Measurement));
        let at_rest = Rest { velocity_sigma: 0.01, mean_rate: Vector3::zeros(), rate_sigma: f64::INFINITY };
        if is_at_rest {
            all.push(&at_rest);
            self.counts.at_rest += 1;
        }
        if let Some(watch) = &mut self.watch {
            watch.correct(&self.state, &all, frame.stamp.secs());
        }
        match self.step.correct(&mut self.state, &all) {
            Ok(corrected) => {
                self.counts.used += corrected.used;
                self.counts.gated += corrected.gated;
                self.counts.initialized += corrected.initialized;
                self.counts.removed += corrected.removed;
                self.watch(corrected.used as f64, corrected.gated as f64);
            }
            Err(_) => self.drop_one("singular_innovation"),
        }
        self.spent += begin.elapsed().as_secs_f64();
    }

    /// Where most measurements of the last frames are beyond the gate, the state is not where its covariance has it: the
    /// covariance is made wide enough to take in the next ones.
    fn watch(&mut self, used: f64, gated: f64) {
        const KEPT: f64 = 0.8;
        const LEAST: f64 = 4.0;
        self.recent = (KEPT * self.recent.0 + used, KEPT * self.recent.1 + gated);
        if self.recent.1 < LEAST || self.recent.1 <= self.recent.0 {
            return;
        }
        let [turn, velocity, position] = self.settings.lost_sigma;
        let wider = Preintegrated::uncertainty(turn, velocity, position);
        let rate = self.state.rate;
        self.step.predict(&mut self.state, &wider);
        self.state.rate = rate;
        self.recent = (0.0, 0.0);
        self.counts.widened += 1;
    }

    /// Counts something that is left out.
    pub fn drop_one(&mut self, reason: &str) {
        *self.counts.dropped.entry(reason.to_owned()).or_default() += 1;
    }

    /// What a frame saw, as measurements.
    fn measurements(&mut self, frame: &Frame) -> (Vec<Pixel>, Vec<StereoPixels>) {
        let Camera { focal, centre, baseline_m, on_body } = *self.camera;
        let (mount, noise) = (Mount::Fixed(on_body), &self.settings.pixels);
        let is_full = self.state.landmarks.len() >= MOST_LANDMARKS;
        let (mut pixels, mut stereo, mut unknown, mut overflow) = (Vec::new(), Vec::new(), 0, 0);
        let is_known = |seen: &&Seen| self.state.find(seen.id).is_some();
        let (known, new): (Vec<&Seen>, Vec<&Seen>) = frame.seen.iter().partition(is_known);
        for seen in known.into_iter().chain(new) {
            if pixels.len() + stereo.len() >= MOST_MEASUREMENTS {
                overflow += 1;
                continue;
            }
            if self.mapped.as_ref().is_some_and(|mapped| mapped.binary_search(&seen.id).is_err()) {
                unknown += 1;
                continue;
            }
            if is_full && self.state.find(seen.id).is_none() {
                overflow += 1;
                continue;
            }
            let target = Target::Landmark(seen.id);
            match seen.at {
                Image::Normalized(at) => {
                    let camera = Pinhole { focal, centre: nalgebra::Vector2::zeros() };
                    let pixel = at.component_mul(&focal);
                    pixels.push(Pixel { target, mount, camera, pixel, sigma: noise.own[0] });
                }
                Image::Further(k, at) => {
                    let Some(own) = self.further.get(k) else { continue };
                    let camera = Pinhole { focal: own.focal, centre: nalgebra::Vector2::zeros() };
                    let (mount, pixel) = (Mount::Fixed(own.on_body), at.component_mul(&own.focal));
                    pixels.push(Pixel { target, mount, camera, pixel, sigma: noise.own[0] });
                }
                Image::Stereo(z) => {
                    let camera = Pinhole { focal, centre };
                    let covariance = noise.covariance();
                    stereo.push(StereoPixels { target, mount, camera, baseline_m, pixels: z, covariance });
                }
            }
        }
        (0..unknown).for_each(|_| self.drop_one("not_in_map"));
        (0..overflow).for_each(|_| self.drop_one("too_many"));
        (pixels, stereo)
    }

    /// Keeps the estimate of an instant; false where the state is no longer one.
    pub fn keep(&mut self, stamp: Stamp, has_frame: bool) -> bool {
        let covariance = self.state.pose_covariance(&self.step.filter);
        let nav = &self.state.nav;
        let is_sound = nav.position.iter().chain(nav.velocity.iter()).all(|x| x.abs() < 1e9)
            && nav.rotation.orthogonality_error() < 1e-3
            && covariance.iter().all(|x| x.is_finite())
            && covariance.diagonal().iter().all(|x| *x >= 0.0);
        if !is_sound {
            self.failure = Some(format!("the estimate was lost at {stamp}: the run ends there"));
            return false;
        }
        let pose = Se3::new(nav.rotation, nav.position);
        self.estimates.push(Estimate { stamp, pose, covariance, has_frame });
        self.step_us.push(self.spent * 1e6);
        self.spent = 0.0;
        true
    }
}
