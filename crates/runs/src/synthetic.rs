//! For tests of what judges runs: a run whose errors are drawn from the covariance it claims, and a small recording.

use super::run::{Estimate, Run, Update};
use lienav_base::stamp::Stamp;
use lienav_io::recording::{Input, Recording};
use lienav_io::truth::{MAX_TRUTH_GAP_S, Truth};
use lienav_lie::Se2;
use lienav_slam::{Landmark, Measurement, MeasurementKind, Odometry, Scan};
use nalgebra::{Cholesky, Matrix2, Matrix3, Vector2, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// `steps` steps at 10 Hz round a circle of radius 10 m among eight landmarks, with its truth.
pub fn run(steps: usize, seed: u64) -> (Run, Truth) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let covariance = Matrix3::new(0.04, 0.01, -0.002, 0.01, 0.09, 0.003, -0.002, 0.003, 0.0004);
    let root = Cholesky::new(covariance).map(|factor| factor.l()).unwrap_or_default();
    let (mut truth, mut estimates) = (Vec::new(), Vec::new());
    for step in 0..steps {
        let stamp = Stamp::from_nanos(1_000_000_000 + step as i64 * 100_000_000);
        let turn = step as f64 * 0.0157;
        let pose = Se2::new(10.0 * turn.sin(), 10.0 - 10.0 * turn.cos(), turn);
        let error = root * Vector3::from_fn(|_, _| normal());
        let update = Update { nis: 4.0, dof: 4, accepted: 2, added: 0, rejected: 0 };
        truth.push((stamp, pose));
        estimates.push(Estimate {
            stamp,
            pose: Se2::new(pose.p.x + error.x, pose.p.y + error.y, pose.theta + error.z),
            covariance,
            update: Some(update),
        });
    }
    let places: Vec<_> =
        (0..8).map(|id| (id, Se2::new(0.0, 0.0, f64::from(id)).transform(&Vector2::new(13.0, 2.0)))).collect();
    let landmark = |&(id, place): &(u32, Vector2<f64>)| Landmark {
        id,
        position: place + 0.2 * Vector2::from_fn(|_, _| normal()),
        covariance: Matrix2::new(0.04, 0.01, 0.01, 0.03),
        last_seen: Stamp::default(),
        measurements: 3,
    };
    let run = Run {
        source: "synthetic".into(),
        filter: "reduced".into(),
        step_us: (0..steps).map(|step| 1.0 + (step % 7) as f64).collect(),
        landmarks: places.iter().map(landmark).collect(),
        estimates,
        matches: Vec::new(),
        merged: Vec::new(),
        start: None,
        calibration: Vec::new(),
        noise: None,
        gate_openings: 0,
        dropped: [("gated".to_owned(), 3)].into(),
        contradictions: Vec::new(),
        warnings: Vec::new(),
        timeline: None,
        parts: None,
        motions: Vec::new(),
    };
    (run, Truth::new(&truth, &places, MAX_TRUTH_GAP_S))
}

/// `steps` odometry messages at 20 Hz round a circle, a scan of all six landmarks with every other one, the last
/// scan ahead of the last odometry. Range and bearing have the noise of the default configuration.
pub fn recording(steps: usize, seed: u64) -> Recording {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = |std: f64| -> f64 { std * Distribution::<f64>::sample(&StandardNormal, &mut random) };
    let (dt, twist) = (0.05, Vector3::new(1.0, 0.0, 0.2));
    let landmarks: Vec<_> =
        (0..6).map(|id| (id, Se2::new(0.0, 5.0, f64::from(id)).transform(&Vector2::new(8.0, 0.0)))).collect();
    let (mut pose, mut recording) =
        (Se2::identity(), Recording { name: "small circle".into(), ..Recording::default() });
    for step in 0..steps {
        let stamp = Stamp::from_nanos(step as i64 * 50_000_000);
        if step > 0 {
            pose = pose * Se2::exp(&(dt * twist));
        }
        let velocity = Vector2::new(twist.x + normal(0.1), normal(0.03));
        let odometry = Odometry { stamp, velocity, yaw_rate: twist.z + normal(0.1), covariance: None };
        recording.inputs.push(Input::Odometry(odometry));
        recording.truth.push((stamp, pose));
        if step % 2 == 0 || step + 1 == steps {
            let stamp = if step + 1 == steps { stamp + 0.01 } else { stamp };
            let mut see = |&(id, place): &(u32, Vector2<f64>)| {
                let z = pose.transform_back(&place);
                let value = Vector2::new(z.norm() + normal(0.05), z.y.atan2(z.x) + normal(0.02));
                Measurement::new(Some(id), value)
            };
            let measurements = landmarks.iter().map(&mut see).collect();
            recording.inputs.push(Input::Scan(Scan { stamp, kind: MeasurementKind::RangeBearing, measurements }));
        }
    }
    recording.true_landmarks = landmarks;
    recording
}
