//! The steady state allocates nothing: samples, frames and poses leave the allocator alone.

// A counting allocator is unsafe to write; the crate itself forbids it.
#![allow(unsafe_code)]

use lienav_base::stamp::Stamp;
use lienav_space::lens::{Distortion, Lens};
use lienav_space::tags::{BodyTwist, Camera, TagConfig, TagFrame, TagSeen, TagSlam3d};
use lienav_space::{Config, Frame, Imu, ImuSample, Pinhole, Seen, Sensor, Slam3d, Value};
use nalgebra::{Vector2, Vector3};
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
fn samples_frames_and_poses_allocate_nothing() {
    let mut slam = Slam3d::new(Config::default()).unwrap();
    slam.set_sensor(0, Sensor::default()).unwrap();
    let value = Imu::new(Vector3::zeros(), Vector3::new(0.0, 0.0, 9.80665));
    let place = |id: u64| Vector3::new(3.0 + id as f64 * 0.1, 0.2 * id as f64 - 2.0, (id % 3) as f64);
    let seen = |id: u64| Seen { id, sensor: 0, value: Value::Position(place(id), None) };
    let mut frame = Frame { stamp: Stamp::default(), seen: (0..20).map(seen).collect() };
    let (mut counted, mut steps) = (0, 0);
    for k in 0..2000 {
        let stamp = Stamp::from_nanos(5_000_000 * k);
        let before = ALLOCATIONS.with(Cell::get);
        if k % 10 == 0 {
            frame.stamp = stamp;
            slam.push_frame(&frame).unwrap();
        }
        slam.push_imu(&ImuSample { stamp, value }).unwrap();
        while slam.poll().is_some() {
            steps += 1;
        }
        let pose = slam.pose();
        if k >= 1000 {
            counted += ALLOCATIONS.with(Cell::get) - before;
            assert!(pose.is_some());
        }
    }
    assert!(steps > 150, "{steps}");
    assert_eq!(counted, 0);
}

#[test]
fn tags_and_twists_allocate_nothing() {
    let mut slam = TagSlam3d::new(Config::default(), TagConfig::default()).unwrap();
    let pinhole = Pinhole { focal: Vector2::repeat(600.0), centre: Vector2::new(320.0, 240.0) };
    let lens = Lens { pinhole, distortion: Distortion::None };
    for camera in 0..2 {
        slam.set_camera(camera, Camera { lens, on_body: Default::default() }).unwrap();
    }
    let seen = |id: u64, camera: usize| {
        let (u, v) = (100.0 + 60.0 * id as f64, 200.0 + 20.0 * (id % 3) as f64);
        let corners = [[u, v + 40.0], [u + 42.0, v + 36.0], [u + 40.0, v - 4.0], [u - 3.0, v]];
        TagSeen { camera, id, size_m: 0.16, corners: corners.map(Vector2::from) }
    };
    let mut frames = [0, 1].map(|camera| TagFrame {
        stamp: Stamp::default(),
        camera: Some(camera),
        seen: (0..6).map(|id| seen(id, camera)).collect(),
    });
    let (mut counted, mut steps) = (0, 0);
    for k in 0..1000 {
        let stamp = Stamp::from_nanos(1_000_000_000 + 20_000_000 * k);
        frames.iter_mut().for_each(|frame| frame.stamp = stamp);
        let twist = BodyTwist { stamp, velocity: Vector3::zeros(), rate: Vector3::zeros(), variances: None };
        let before = ALLOCATIONS.with(Cell::get);
        slam.push_twist(&twist).unwrap();
        frames.iter().for_each(|frame| slam.push_frame(frame).unwrap());
        while slam.poll().is_some() {
            steps += 1;
        }
        let pose = slam.pose();
        if k >= 600 {
            counted += ALLOCATIONS.with(Cell::get) - before;
            assert!(pose.is_some());
        }
    }
    assert!(steps > 900, "{steps}");
    assert_eq!(counted, 0);
}
