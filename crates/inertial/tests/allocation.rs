//! The steady state allocates nothing: with room for the state, a frame leaves the allocator alone, landmarks that
//! enter included.

// A counting allocator is unsafe to write; the crate itself forbids it.
#![allow(unsafe_code)]

#[path = "../examples/simulator/mod.rs"]
mod simulator;

use lienav_inertial::filter::Filter;
use lienav_inertial::measurement::Measurement;
use lienav_inertial::measurement::point::Target;
use lienav_inertial::preintegration::integrator::Integrator;
use lienav_inertial::preintegration::samples::Interpolation;
use lienav_inertial::state::State;
use lienav_inertial::step::Step;
use lienav_inertial::window::WindowSettings;
use simulator::{Scenario, pixels, simulate};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system's allocator; the counter is a plain cell of this thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn frames_allocate_nothing() {
    let scenario = Scenario { duration_s: 10.0, ..Scenario::new("circle") };
    let run = simulate(&scenario, 1);
    for (name, filter) in Filter::ALL {
        let mut state = State::new(run.start, &scenario.start_covariance(), 140, &filter);
        let mut step = Step::with_capacity(filter, 140, 100);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let mut frames = run.frames.iter().enumerate().peekable();
        let (mut allocations, mut initialized) = (0, 0);
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some((k, frame)) = frames.next_if(|(_, frame)| frame.stamp <= sample.stamp) {
                let measurements = pixels(&scenario, frame);
                let all: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
                let before = ALLOCATIONS.with(Cell::get);
                step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
                // Landmarks are dropped, so that others enter.
                if k > 20 && k % 5 == 0 && state.landmarks[0].is_point() {
                    state.remove(0);
                }
                let corrected = step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
                if k > 3 {
                    allocations += ALLOCATIONS.with(Cell::get) - before;
                    initialized += corrected.initialized;
                }
            }
        }
        assert_eq!(allocations, 0, "{name}");
        assert!(initialized > 3, "{name}: {initialized}");
    }
}

/// A window with 150 tracks or so in view, each of which ends after ten frames: tracks that begin, end, are refused or
/// become landmarks, and clones that come and go.
#[test]
fn frames_of_a_window_allocate_nothing() {
    let scenario = Scenario { duration_s: 10.0, points: 800, ..Scenario::new("drone") };
    let run = simulate(&scenario, 2);
    for (name, filter) in [("default", Filter::DEFAULT), ("group", Filter::GROUP), ("reduced", Filter::REDUCED)] {
        let settings = WindowSettings::default();
        let parts = settings.landmarks + 2 * settings.clones();
        let mut state = State::new(run.start, &scenario.start_covariance(), parts + 2, &filter);
        let mut step = Step::with_capacity(filter, parts + 2, 300).with_window(settings, 300);
        let mut integrator = Integrator::new(state.nav.biases, scenario.noise, Interpolation::Cubic);
        let mut frames = run.frames.iter().enumerate().peekable();
        let (mut allocations, mut tracks, mut initialized) = (0, 0, 0);
        for sample in &run.samples {
            integrator.push(*sample).unwrap();
            while let Some((k, frame)) = frames.next_if(|(_, frame)| frame.stamp <= sample.stamp) {
                let mut measurements = pixels(&scenario, frame);
                for pixel in &mut measurements {
                    let Target::Landmark(id) = pixel.target else { continue };
                    // One of twenty stays.
                    let number = if id.is_multiple_of(20) { 0 } else { (k as u64 + 7 * id) / 10 };
                    pixel.target = Target::Landmark(id + 1000 * number);
                }
                let all: Vec<&dyn Measurement> = measurements.iter().map(|one| one as &dyn Measurement).collect();
                let before = ALLOCATIONS.with(Cell::get);
                step.predict(&mut state, &integrator.take(frame.stamp).unwrap());
                let corrected = step.correct(&mut state, &all).unwrap();
                integrator.set_biases(state.nav.biases);
                if k > 60 {
                    allocations += ALLOCATIONS.with(Cell::get) - before;
                    tracks += corrected.of_tracks[1][0];
                    initialized += corrected.initialized;
                }
            }
        }
        assert_eq!(allocations, 0, "{name}");
        assert!(tracks > 1000 && initialized > 0, "{name}: {tracks} {initialized}");
    }
}
