use super::*;
use crate::messages::{Quaternion, Transform};
use nalgebra::{SVector, Translation3, UnitQuaternion, Vector2, Vector6};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const CAMERA: TagCamera = TagCamera {
    size_m: 0.16,
    focal_px: 600.0,
    pixel_std: 0.5,
    scale_std: 0.0,
    max_range_m: 10.0,
    max_view_angle_rad: 1.3,
};

/// A tag at (x, y, z) of the camera, turned by `angle` about the camera's Y axis from facing along Z.
fn at(x: f64, y: f64, z: f64, angle: f64) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), angle);
    Isometry3::from_parts(Translation3::new(x, y, z), turn)
}

fn stamped(pose: &Isometry3<f64>) -> TransformStamped {
    let (t, q) = (pose.translation.vector, pose.rotation);
    let translation = crate::messages::Vector3 { x: t.x, y: t.y, z: t.z };
    let rotation = Quaternion { x: q.i, y: q.j, z: q.k, w: q.w };
    TransformStamped { transform: Transform { translation, rotation }, ..TransformStamped::default() }
}

#[test]
fn a_name_has_the_identity_that_its_pattern_says() {
    let id = |pattern: &str, name: &str| pattern.parse::<TagPattern>().unwrap().identity(name);
    for (pattern, name, expected) in [
        ("tag36h11:{id}", "tag36h11:5", Some(5)),
        ("tag36h11:{id}", "/tag36h11:005", Some(5)),
        ("/tag36h11:{id}", "tag36h11:5", Some(5)),
        ("tag36h11:{id}", "tag36h11:5x", None),
        ("tag36h11:{id}", "tag36h11:", None),
        ("tag36h11:{id}", "tag36h11:-5", None),
        ("tag36h11:{id}", "tag25h9:5", None),
        ("marker_{id}", "marker_12", Some(12)),
        ("marker_{id+500}", "marker_12", Some(512)),
        ("marker_{id}", "marker_4294967294", Some(u32::MAX - 1)),
        ("marker_{id}", "marker_4294967295", None),
        ("marker_{id}", "marker_99999999999", None),
        ("marker_{id+4294967295}", "marker_1", None),
        ("*marker_{id}", "robot1/marker_3", Some(3)),
        ("tag*:{id}", "tag36h11:7", Some(7)),
        ("cam*/t{id}_*_end", "cam12/t8_a_b_end", Some(8)),
        ("{id}", "17", Some(17)),
        ("*{id}*", "a1b2", Some(1)),
        ("tag:{id}", "tag:ü5", None),
        ("tag:ü{id}é", "tag:ü5é", Some(5)),
        ("dock=500", "dock", Some(500)),
        ("/dock=500", "/dock", Some(500)),
        ("dock=500", "dock_2", None),
        ("*/dock=500", "robot1/dock", Some(500)),
        ("a=b=4294967294", "a=b", Some(u32::MAX - 1)),
    ] {
        assert_eq!(id(pattern, name), expected, "{pattern} {name}");
    }
    for bad in [
        "",
        "tag",
        "tag{id",
        "tag{number}",
        "{id}{id}",
        "{id+}",
        "{id+x}",
        "{id-1}",
        "a}{id}",
        "{id}}",
        "dock=",
        "dock=x",
        "=5",
        "a=4294967295",
    ] {
        let error = bad.parse::<TagPattern>().unwrap_err().to_string();
        assert!(error.contains("{id}"), "{error}");
    }
}

#[test]
fn the_noise_of_a_tag_that_faces_the_camera_is_what_the_formulas_say() {
    let sigma = CAMERA.pixel_std / CAMERA.focal_px;
    for d in [0.5, 1.0, 2.0] {
        let c = CAMERA.covariance(&at(0.0, 0.0, d, 0.0)).unwrap();
        let (across, along) = (c.m11.sqrt(), c.m33.sqrt());
        assert!((along / (d * d * sigma / (2f64.sqrt() * CAMERA.size_m)) - 1.0).abs() < 0.01, "{d}: {along}");
        // The orientation is not known, which takes a little from the position, too.
        let ratio = across / (0.5 * d * sigma);
        assert!((1.0..1.5).contains(&ratio), "{d}: {ratio}");
    }
    // From the side, its width does not say how far away it is; and the scale counts in proportion.
    let straight = CAMERA.covariance(&at(0.0, 0.0, 2.0, 0.0)).unwrap().m33;
    let aside = CAMERA.covariance(&at(0.0, 0.0, 2.0, 1.0)).unwrap().m33;
    assert!(aside > 1.3 * straight, "{straight} {aside}");
    let scaled = TagCamera { scale_std: 0.02, ..CAMERA }.covariance(&at(0.0, 0.0, 2.0, 0.0)).unwrap().m33;
    assert!((scaled - straight - 0.04f64.powi(2)).abs() < 1e-12);
}

/// The eight angles of a tag's corners.
fn corners(pose: &Isometry3<f64>) -> SVector<f64, 8> {
    let half = 0.5 * CAMERA.size_m;
    let seen = [(-half, -half), (half, -half), (half, half), (-half, half)].map(|(x, y)| {
        let c = pose.translation.vector + pose.rotation * Vector3::new(x, y, 0.0);
        Vector2::new(c.x / c.z, c.y / c.z)
    });
    SVector::from_iterator(seen.iter().flat_map(|v| [v.x, v.y]))
}

fn moved(pose: &Isometry3<f64>, by: &Vector6<f64>) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_scaled_axis(by.fixed_rows::<3>(3).into_owned());
    Isometry3::from_parts((pose.translation.vector + by.fixed_rows::<3>(0)).into(), turn * pose.rotation)
}

#[test]
fn positions_that_are_fitted_to_noisy_corners_scatter_as_the_covariance_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let sigma = CAMERA.pixel_std / CAMERA.focal_px;
    for truth in [at(0.2, -0.1, 1.2, 0.9), at(-0.3, 0.1, 2.0, -0.7), at(0.0, 0.0, 1.5, 1.1)] {
        let stated = CAMERA.covariance(&truth).unwrap();
        let (trials, mut nees, mut scatter) = (400, 0.0, Matrix3::zeros());
        for _ in 0..trials {
            let noise = SVector::<f64, 8>::from_fn(|_, _| {
                let x: f64 = StandardNormal.sample(&mut rng);
                sigma * x
            });
            let seen = corners(&truth) + noise;
            let mut fit = truth;
            for _ in 0..8 {
                let h = 1e-6;
                let j = SMatrix::<f64, 8, 6>::from_fn(|row, k| {
                    let mut by = Vector6::zeros();
                    by[k] = h;
                    (corners(&moved(&fit, &by))[row] - corners(&moved(&fit, &-by))[row]) / (2.0 * h)
                });
                let step = (j.tr_mul(&j)).cholesky().unwrap().solve(&j.tr_mul(&(seen - corners(&fit))));
                fit = moved(&fit, &step);
            }
            let error = fit.translation.vector - truth.translation.vector;
            nees += error.dot(&(stated.try_inverse().unwrap() * error)) / f64::from(trials);
            scatter += error * error.transpose() / f64::from(trials);
        }
        // χ² of 3 · 400 degrees of freedom, and what is not linear.
        assert!((2.5..3.5).contains(&nees), "{nees} {scatter} {stated}");
    }
}

#[test]
fn a_measurement_is_on_the_floor_and_what_the_camera_cannot_see_is_left_out() {
    // z forward, x to the right, y down; the camera looks to the left of the robot, 30° upwards.
    let camera = Isometry3::from_parts(
        Translation3::new(0.1, 0.2, 0.6),
        UnitQuaternion::from_euler_angles(0.0, -0.5, std::f64::consts::FRAC_PI_2)
            * UnitQuaternion::from_euler_angles(-std::f64::consts::FRAC_PI_2, 0.0, -std::f64::consts::FRAC_PI_2),
    );
    let pose = at(0.3, -0.2, 2.0, 0.6);
    let seen = CAMERA.measurement(7, &stamped(&pose), &camera).unwrap().unwrap();
    let expected = (camera * pose).translation.vector.xy();
    assert!((seen.value.xy() - expected).norm() < 1e-12 && seen.id == Some(7));
    assert!(expected.y > 1.5, "to the left: {expected}");
    assert!((seen.height_m - (camera * pose).translation.z).abs() < 1e-12, "{}", seen.height_m);
    let c = seen.covariance.unwrap().fixed::<2>();
    // The line of sight is along Y: that is where it is uncertain.
    assert!(c.m22 > 4.0 * c.m11 && c.determinant() > 0.0, "{c}");

    let none = |pose: Isometry3<f64>| CAMERA.measurement(7, &stamped(&pose), &camera).unwrap().is_none();
    assert!(none(at(0.0, 0.0, 11.0, 0.0)) && none(at(0.0, 0.0, 2.0, 1.4)) && none(at(0.0, 0.0, 0.0, 0.0)));
    assert!(!none(at(0.0, 0.0, 2.0, std::f64::consts::PI)), "aruco's markers have their Z axis towards the camera");
    let mut bad = stamped(&pose);
    bad.transform.translation.x = f64::NAN;
    assert_eq!(CAMERA.measurement(7, &bad, &camera).unwrap_err().word(), "bad_transform");
    bad.transform.rotation.w = 9.0;
    assert_eq!(CAMERA.measurement(7, &bad, &camera).unwrap_err().word(), "bad_orientation");
}

#[test]
fn the_height_of_a_tag_is_its_derivative_by_roll_and_pitch_of_the_base() {
    let camera = Isometry3::from_parts(
        Translation3::new(0.2, -0.1, 0.6),
        UnitQuaternion::from_euler_angles(-std::f64::consts::FRAC_PI_2, 0.0, -std::f64::consts::FRAC_PI_2),
    );
    for (x, y, z) in [(0.3, -1.1, 3.0), (-1.0, 0.4, 2.0), (0.0, -2.0, 1.0)] {
        let level = camera * at(x, y, z, 0.4);
        // The tag stays where it is, and the base leans.
        let read = |roll: f64, pitch: f64| {
            let base =
                Isometry3::from_parts(Translation3::identity(), UnitQuaternion::from_euler_angles(roll, pitch, 0.0));
            let in_camera = camera.inverse() * base.inverse() * level;
            CAMERA.measurement(3, &stamped(&in_camera), &camera).unwrap().unwrap()
        };
        let (seen, h) = (read(0.0, 0.0), 1e-5);
        let xy = |roll: f64, pitch: f64| read(roll, pitch).value.xy();
        let by_roll = (xy(h, 0.0) - xy(-h, 0.0)) / (2.0 * h);
        let by_pitch = (xy(0.0, h) - xy(0.0, -h)) / (2.0 * h);
        assert!((by_roll - Vector2::new(0.0, seen.height_m)).norm() < 1e-6, "{by_roll} {}", seen.height_m);
        assert!((by_pitch - Vector2::new(-seen.height_m, 0.0)).norm() < 1e-6, "{by_pitch} {}", seen.height_m);
    }
}
