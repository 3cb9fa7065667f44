//! The steady state allocates nothing: once buffers have grown to the size of the scans and what stands is known,
//! detector and tracker leave the allocator alone.

// A counting allocator is unsafe to write; the crate itself forbids it.
#![allow(unsafe_code)]

use lienav_base::stamp::Stamp;
use lienav_detect::{Config, Detector, Scan, Tracker};
use lienav_lie::se2::Se2;
use lienav_sim::scan::{Disc, Scanner, Wall, World};
use nalgebra::{Vector2, Vector3};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
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
fn scans_allocate_nothing_once_the_buffers_have_grown() {
    let disc = |k: u32| {
        let angle = 0.3 * f64::from(k) - 2.2;
        let centre = Vector2::new(angle.cos(), angle.sin()) * (2.0 + 0.4 * f64::from(k));
        if k.is_multiple_of(3) { Disc::reflector(centre, 0.04) } else { Disc::pole(centre, 0.1) }
    };
    let world = World {
        discs: (0..14).map(disc).collect(),
        walls: vec![Wall { from: Vector2::new(9.0, -30.0), to: Vector2::new(9.0, 30.0), reflectivity: 0.5 }],
        people: vec![],
    };
    let (scanner, pose, twist) = (Scanner::default(), Se2::identity(), Vector3::zeros());
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let casts: Vec<_> = (0..30).map(|_| scanner.cast(&world, &pose, &twist, 0.0, &mut rng)).collect();
    let mut detector = Detector::new(Config::default()).unwrap();
    let mut tracker = Tracker::new(Config::default().persistence);
    let (mut late, mut standing) = (0, 0);
    for k in 0..60 {
        let cast = &casts[k % casts.len()];
        let before = ALLOCATIONS.get();
        let scan = Scan {
            angle_min_rad: scanner.angle_min_rad,
            angle_increment_rad: scanner.angle_increment_rad,
            time_increment_s: scanner.time_increment_s,
            range_min_m: scanner.range_min_m,
            range_max_m: scanner.range_max_m,
            ranges: &cast.ranges,
            intensities: &cast.intensities,
            twist,
        };
        let found = detector.detect(&scan).unwrap();
        standing = tracker.update(Stamp::from_secs(0.1 * k as f64), &pose, found).len();
        if k >= casts.len() {
            late += ALLOCATIONS.get() - before;
        }
    }
    assert!(ALLOCATIONS.get() > 0 && standing > 10, "{standing}");
    assert_eq!(late, 0);
}
