//! Tags as corners in an image, `apriltag_msgs`: where they are, by the camera that made the image.

use super::extrinsics::Extrinsics;
use super::read::stamp_of;
use super::refusal::Refusal;
use super::tag_sizes::TagSizes;
use super::tags::TagCamera;
use crate::messages::{AprilTagDetectionArray, CameraInfo, ImagePoint};
use lienav_slam::{Measurement, MeasurementKind, Scan};
use nalgebra::{Isometry3, Matrix3, Rotation3, SMatrix, SVector, Translation3, UnitQuaternion, Vector2, Vector6};

/// Steps of the fit; from the homography it takes three or four.
const MOST_STEPS: usize = 20;

/// A camera without distortion, as a rectified image has it, pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pinhole {
    /// Focal lengths along the image's x and y.
    pub focal: Vector2<f64>,
    /// Where the optical axis meets the image.
    pub centre: Vector2<f64>,
}

impl Pinhole {
    /// That of the rectified image, which detectors of tags take (`p`), or of the raw one where a driver fills in no
    /// other (`k`). `None` without focal lengths.
    pub fn of(info: &CameraInfo) -> Option<Self> {
        let ([fx, _, cx, _, _, fy, cy, ..], k) = (info.p, info.k);
        [[fx, fy, cx, cy], [k[0], k[4], k[2], k[5]]].into_iter().find_map(|[fx, fy, cx, cy]| {
            let is_camera = fx > 0.0 && fy > 0.0 && [fx, fy, cx, cy].iter().all(|x| x.is_finite());
            is_camera.then(|| Self { focal: Vector2::new(fx, fy), centre: Vector2::new(cx, cy) })
        })
    }

    /// The direction to a point of the image: (x, y) at depth 1.
    fn direction(&self, point: &ImagePoint) -> Vector2<f64> {
        (Vector2::new(point.x, point.y) - self.centre).component_div(&self.focal)
    }
}

impl TagCamera {
    /// The pose of a tag in the camera's frame from its corners in the image: that with the least squares of what its
    /// corners miss them by, in pixels (Levenberg–Marquardt from the homography). `None` where the corners are not
    /// those of a square in front of the camera.
    ///
    /// A square looks alike from each of its sides, so that its first corner and the sense of their turn are free: the
    /// orientation may be turned, the position is the same.
    pub fn locate(&self, camera: &Pinhole, corners: &[ImagePoint; 4]) -> Option<Isometry3<f64>> {
        let seen = corners.each_ref().map(|corner| camera.direction(corner));
        let mut pose = self.by_homography(&seen)?;
        let (mut missed, mut derivative) = self.missed(camera, &pose, &seen)?;
        let mut damping = 1e-3;
        for _ in 0..MOST_STEPS {
            let mut normal = derivative.tr_mul(&derivative);
            normal.set_diagonal(&(normal.diagonal() * (1.0 + damping)));
            let step: Vector6<f64> = normal.cholesky()?.solve(&derivative.tr_mul(&missed));
            let turn = UnitQuaternion::from_scaled_axis(step.fixed_rows::<3>(3).into_owned());
            let moved = pose.translation.vector + step.fixed_rows::<3>(0);
            let next = Isometry3::from_parts(Translation3::from(moved), turn * pose.rotation);
            match self.missed(camera, &next, &seen).filter(|(m, _)| m.norm_squared() <= missed.norm_squared()) {
                Some(better) => ((missed, derivative), pose, damping) = (better, next, 0.1 * damping),
                None => damping *= 10.0,
            }
            if step.norm() < 1e-10 * self.size_m {
                break;
            }
        }
        Some(pose)
    }

    /// What the corners miss those of a tag at `pose` by, pixels, and the derivative of its corners by position and
    /// orientation, δ + φ × arm.
    fn missed(
        &self,
        camera: &Pinhole,
        pose: &Isometry3<f64>,
        seen: &[Vector2<f64>; 4],
    ) -> Option<(SVector<f64, 8>, SMatrix<f64, 8, 6>)> {
        let (mut missed, mut derivative) = (SVector::<f64, 8>::zeros(), SMatrix::<f64, 8, 6>::zeros());
        for (k, (corner, seen)) in self.corners().iter().zip(seen).enumerate() {
            let arm = pose.rotation * corner;
            let c = arm + pose.translation.vector;
            if c.z <= 1e-3 * self.size_m {
                return None;
            }
            let by_corner = SMatrix::<f64, 2, 3>::new(1.0, 0.0, -c.x / c.z, 0.0, 1.0, -c.y / c.z) / c.z;
            let by_corner = nalgebra::Matrix2::from_diagonal(&camera.focal) * by_corner;
            let off = (seen - c.xy() / c.z).component_mul(&camera.focal);
            missed.fixed_rows_mut::<2>(2 * k).copy_from(&off);
            derivative.fixed_view_mut::<2, 3>(2 * k, 0).copy_from(&by_corner);
            derivative.fixed_view_mut::<2, 3>(2 * k, 3).copy_from(&(-by_corner * arm.cross_matrix()));
        }
        (missed.iter().chain(&derivative).all(|x| x.is_finite())).then_some((missed, derivative))
    }

    /// The pose by the homography that brings a square to these four directions. Its columns are, up to a factor, the
    /// tag's two axes and its centre.
    fn by_homography(&self, seen: &[Vector2<f64>; 4]) -> Option<Isometry3<f64>> {
        let [p0, p1, p2, p3] = seen;
        let (along, across, bent) = (p1 - p2, p3 - p2, p0 - p1 + p2 - p3);
        let area = along.perp(&across);
        let (g, h) = (bent.perp(&across) / area, along.perp(&bent) / area);
        // From the unit square with its corner p0 in the origin.
        let x = (p1 * (1.0 + g) - p0).push(g);
        let y = (p3 * (1.0 + h) - p0).push(h);
        let centre = p0.push(1.0) + 0.5 * (x + y);
        let factor = self.size_m / (x.norm() * y.norm()).sqrt();
        let (x, y) = (x.normalize(), y.normalize());
        let axes = Matrix3::from_columns(&[x, y, x.cross(&y)]);
        let position = factor * centre;
        if !(axes.iter().chain(&position).all(|v| v.is_finite()) && position.z > 0.0) {
            return None;
        }
        let rotation = Rotation3::from_matrix_eps(&axes, 1e-12, 100, Rotation3::identity());
        Some(Isometry3::from_parts(position.into(), UnitQuaternion::from_rotation_matrix(&rotation)))
    }
}

/// The tags of an image as a level sensor at [`Extrinsics::mount`] would have seen them: positions with the covariance
/// of [`TagCamera::covariance`], whose focal length is that of `camera`. What is not in front of the camera, too far
/// away or too much from the side is left out; a negative number is no identity. Corners that are no numbers make a
/// measurement without numbers, for the filter to count.
///
/// # Errors
/// [`Refusal::BadStamp`].
pub fn april_tags(
    message: &AprilTagDetectionArray,
    extrinsics: &Extrinsics,
    (tags, sizes, camera): (&TagCamera, &TagSizes, &Pinhole),
) -> Result<Scan, Refusal> {
    let stamp = stamp_of(&message.header.stamp)?;
    let all = TagCamera { focal_px: (camera.focal.x * camera.focal.y).sqrt(), ..*tags };
    let measurements = message.detections.iter().filter_map(|tag| {
        if !tag.corners.iter().all(|corner| corner.x.is_finite() && corner.y.is_finite()) {
            return Some(Measurement::new(u32::try_from(tag.id).ok(), [f64::NAN; 2]));
        }
        let id = u32::try_from(tag.id).ok();
        let tags = sizes.of(id, &all);
        let pose = tags.locate(camera, &tag.corners)?;
        Some(extrinsics.level_measurement(id, &pose.translation.vector, Some(&tags.usable(&pose)?)))
    });
    Ok(Scan { stamp, kind: MeasurementKind::RelativePosition, measurements: measurements.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::header;
    use crate::messages::AprilTagDetection;
    use lienav_base::stamp::Stamp;
    use nalgebra::Vector3;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    const TAGS: TagCamera = TagCamera {
        size_m: 0.16,
        focal_px: 1.0,
        pixel_std: 0.5,
        scale_std: 0.0,
        max_range_m: 10.0,
        max_view_angle_rad: 1.3,
    };

    fn camera() -> Pinhole {
        let mut info = CameraInfo::default();
        (info.p[0], info.p[2], info.p[5], info.p[6]) = (610.0, 322.0, 590.0, 238.0);
        Pinhole::of(&info).unwrap()
    }

    fn corners(pose: &Isometry3<f64>, first: usize, back: bool) -> [ImagePoint; 4] {
        let of = |k: usize| {
            let p = (pose * nalgebra::Point3::from(TAGS.corners()[k % 4])).coords;
            let x = (p.xy() / p.z).component_mul(&camera().focal) + camera().centre;
            ImagePoint { x: x.x, y: x.y }
        };
        [0, 1, 2, 3].map(|k| of(if back { first + 4 - k } else { first + k }))
    }

    fn pose(at: [f64; 3], lean: f64, about: f64, roll: f64) -> Isometry3<f64> {
        let lean = UnitQuaternion::from_scaled_axis(lean * Vector3::new(about.cos(), about.sin(), 0.0));
        let roll = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), roll);
        Isometry3::from_parts(Translation3::new(at[0], at[1], at[2]), lean * roll)
    }

    proptest! {
        #[test]
        fn a_tag_is_where_its_corners_say_whichever_is_the_first_and_whichever_way_they_turn(
            x in -1.0..1.0f64, y in -0.5..0.5f64, z in 0.3..8.0f64, lean in 0.0..1.2f64, about in -3.0..3.0f64,
            roll in -3.0..3.0f64, first in 0..4usize, back in any::<bool>(),
        ) {
            let truth = pose([x * z, y * z, z], lean, about, roll);
            let found = TAGS.locate(&camera(), &corners(&truth, first, back)).unwrap();
            let off = (found.translation.vector - truth.translation.vector).norm();
            prop_assert!(off < 1e-6 * z, "{off}");
            let normals = (found.rotation * Vector3::z()).dot(&(truth.rotation * Vector3::z())).abs();
            prop_assert!((normals - 1.0).abs() < 1e-6, "{normals}");
        }

        #[test]
        fn whatever_the_corners_are_there_is_a_finite_pose_in_front_of_the_camera_or_none(
            points in prop::array::uniform8(prop_oneof![
                -1e3..1e3f64, Just(0.0), Just(f64::NAN), Just(f64::INFINITY), -1e300..1e300f64,
            ]),
        ) {
            let corners = [0, 1, 2, 3].map(|k| ImagePoint { x: points[2 * k], y: points[2 * k + 1] });
            if let Some(pose) = TAGS.locate(&camera(), &corners) {
                prop_assert!(pose.translation.vector.iter().all(|v| v.is_finite()) && pose.translation.z > 0.0);
            }
        }
    }

    #[test]
    fn the_covariance_is_that_of_the_fit_to_noisy_corners() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let tags = TagCamera { focal_px: 600.0, ..TAGS };
        for (at, lean) in [([0.3, 0.1, 1.0], 0.6), ([1.0, 0.2, 3.0], 0.5), ([-0.5, 0.0, 2.0], 0.9)] {
            let truth = pose(at, lean, 1.3, 0.4);
            let mut nees = 0.0;
            for _ in 0..2000 {
                let noisy = corners(&truth, 0, false).map(|corner| {
                    let noise: [f64; 2] = [(); 2].map(|()| StandardNormal.sample(&mut random));
                    ImagePoint { x: corner.x + 0.5 * noise[0], y: corner.y + 0.5 * noise[1] }
                });
                let found = tags.locate(&camera(), &noisy).unwrap();
                let error = found.translation.vector - truth.translation.vector;
                nees += error.dot(&(tags.covariance(&found).unwrap().try_inverse().unwrap() * error)) / 2000.0;
            }
            // Three numbers; the depth of a small tag is not quite Gaussian.
            assert!((2.6..3.5).contains(&nees), "{nees} at {at:?}");
        }
    }

    #[test]
    fn tags_of_an_image_are_measurements_on_the_floor() {
        let optical =
            UnitQuaternion::from_euler_angles(-std::f64::consts::FRAC_PI_2, 0.0, -std::f64::consts::FRAC_PI_2);
        let extrinsics = Extrinsics::of(&Isometry3::from_parts(Translation3::new(0.2, 0.0, 0.5), optical));
        let tag = |id: i32, at: [f64; 3], lean: f64| AprilTagDetection {
            id,
            corners: corners(&pose(at, lean, 1.57, 0.0), 0, false),
            ..AprilTagDetection::default()
        };
        let detections = vec![
            tag(5, [-1.0, 0.3, 4.0], 0.3),
            tag(6, [0.0, 0.0, 12.0], 0.3),
            tag(7, [0.0, 0.0, 2.0], 1.4),
            tag(-1, [0.0, 0.0, 2.0], 0.2),
            AprilTagDetection {
                id: 8,
                corners: [0, 1, 2, 3].map(|_| ImagePoint { x: f64::NAN, y: 0.0 }),
                ..AprilTagDetection::default()
            },
        ];
        let message = AprilTagDetectionArray { header: header(Stamp::from_secs(2.0), "camera"), detections };
        let seen = april_tags(&message, &extrinsics, (&TAGS, &TagSizes::default(), &camera())).unwrap();
        assert_eq!(
            seen.measurements.iter().map(|o| o.id).collect::<Vec<_>>(),
            [Some(5), None, Some(8)],
            "too far, from the side"
        );
        assert!(seen.measurements[2].value.xy().x.is_nan());
        let on_base = extrinsics.mount.transform(&seen.measurements[0].value.xy());
        assert!((on_base - Vector2::new(4.2, 1.0)).norm() < 1e-6, "{on_base}");
        assert!((seen.measurements[0].height_m - 0.2).abs() < 1e-6, "0.3 m below the camera");
        let c = seen.measurements[0].covariance.unwrap().fixed::<2>();
        assert!(c.determinant() > 0.0 && c.m22 > 9.0 * c.m11, "along the line of sight it is known less well: {c}");
    }

    #[test]
    fn a_camera_without_focal_length_is_none_and_a_raw_one_stands_in() {
        assert_eq!(Pinhole::of(&CameraInfo::default()), None);
        let mut info = CameraInfo::default();
        (info.k[0], info.k[2], info.k[4], info.k[5]) = (500.0, 320.0, 510.0, 240.0);
        let found = Pinhole::of(&info).unwrap();
        assert_eq!((found.focal, found.centre), (Vector2::new(500.0, 510.0), Vector2::new(320.0, 240.0)));
        info.k[0] = f64::NAN;
        assert_eq!(Pinhole::of(&info), None);
    }
}
