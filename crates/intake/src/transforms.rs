//! Transforms that never change, as `/tf_static` tells them: where sensors sit on a robot.

use crate::convert::Refusal;
use crate::convert::isometry_of;
use crate::messages::TransformStamped;
use nalgebra::Isometry3;
use std::collections::BTreeMap;

/// The most frames that are kept: no robot has so many.
const MAX_FRAMES: usize = 10_000;

/// The tree of static transforms, as far as it has come.
///
/// ```
/// use lienav_intake::messages::{Quaternion, Transform, TransformStamped, Vector3};
/// use lienav_intake::transforms::StaticTransforms;
///
/// let mut tree = StaticTransforms::default();
/// let mut lidar = TransformStamped { child_frame_id: "lidar".into(), ..TransformStamped::default() };
/// lidar.header.frame_id = "base_link".into();
/// lidar.transform.translation.x = 0.3;
/// lidar.transform.rotation.w = 1.0;
/// assert_eq!(tree.insert(&lidar), Ok(true));
/// assert_eq!(tree.between("base_link", "lidar").unwrap().translation.x, 0.3);
/// assert_eq!(tree.between("base_link", "camera"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct StaticTransforms {
    /// By frame: its parent, and its pose there.
    parents: BTreeMap<String, (String, Isometry3<f64>)>,
}

impl StaticTransforms {
    /// Takes a transform; a later one of the same frame replaces it. Says whether anything is new.
    ///
    /// # Errors
    /// [`Refusal::BadOrientation`], [`Refusal::BadTransform`].
    pub fn insert(&mut self, message: &TransformStamped) -> Result<bool, Refusal> {
        let (parent, child) = (plain(&message.header.frame_id), plain(&message.child_frame_id));
        let refused = |why| Refusal::BadTransform { parent: parent.to_owned(), child: child.to_owned(), why };
        let pose = isometry_of(&message.transform)?;
        if !pose.translation.vector.iter().all(|x| x.is_finite()) {
            return Err(refused("the translation is not finite"));
        }
        if parent.is_empty() || child.is_empty() || parent == child {
            return Err(refused("two frames with different names are needed"));
        }
        if self.parents.len() >= MAX_FRAMES && !self.parents.contains_key(child) {
            return Err(refused("there are too many frames"));
        }
        let entry = (parent.to_owned(), pose);
        if self.parents.get(child) == Some(&entry) {
            return Ok(false);
        }
        self.parents.insert(child.to_owned(), entry);
        Ok(true)
    }

    /// Whether there is no transform yet.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The pose of `frame` in `base`; `None` if no chain of transforms joins them yet.
    pub fn between(&self, base: &str, frame: &str) -> Option<Isometry3<f64>> {
        let (base, frame) = (plain(base), plain(frame));
        let ancestors: Vec<(&str, Isometry3<f64>)> = self.up_from(base).collect();
        let joined = self.up_from(frame).find_map(|(name, frame_in_it)| {
            let (_, base_in_it) = ancestors.iter().find(|(ancestor, _)| *ancestor == name)?;
            Some(base_in_it.inv_mul(&frame_in_it))
        });
        joined.filter(|pose| pose.translation.vector.iter().all(|x| x.is_finite()))
    }

    /// A frame and all above it, with the pose of the former in each. A ring of frames ends where it has been walked
    /// round.
    fn up_from<'a>(&'a self, frame: &'a str) -> impl Iterator<Item = (&'a str, Isometry3<f64>)> {
        let above = |(name, pose): &(&'a str, Isometry3<f64>)| {
            let (parent, in_parent) = self.parents.get(*name)?;
            Some((parent.as_str(), in_parent * pose))
        };
        std::iter::successors(Some((frame, Isometry3::identity())), above).take(self.parents.len() + 1)
    }
}

/// The name of a frame: a leading slash, as ROS 1 wrote it, does not count.
pub fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Quaternion, Transform, Vector3};
    use nalgebra::UnitQuaternion;
    use proptest::prelude::*;

    fn stamped(parent: &str, child: &str, pose: &Isometry3<f64>) -> TransformStamped {
        let (t, q) = (pose.translation.vector, pose.rotation);
        let mut message = TransformStamped { child_frame_id: child.into(), ..TransformStamped::default() };
        message.header.frame_id = parent.into();
        message.transform = Transform {
            translation: Vector3 { x: t.x, y: t.y, z: t.z },
            rotation: Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
        };
        message
    }

    fn pose(x: [f64; 6]) -> Isometry3<f64> {
        let rotation = UnitQuaternion::from_euler_angles(x[3], x[4], x[5]);
        Isometry3::from_parts(nalgebra::Translation3::new(x[0], x[1], x[2]), rotation)
    }

    proptest! {
        #[test]
        fn a_chain_is_the_product_of_its_transforms_in_either_direction(
            a in prop::array::uniform6(-1.0..1.0f64),
            b in prop::array::uniform6(-1.0..1.0f64),
            c in prop::array::uniform6(-1.0..1.0f64),
        ) {
            let (a, b, c) = (pose(a), pose(b), pose(c));
            let mut tree = StaticTransforms::default();
            // base_footprint → base_link → mast → camera; the mast also has a lidar.
            for (parent, child, pose) in [("mast", "camera", &b), ("base_link", "mast", &a), ("/mast", "/lidar", &c)] {
                prop_assert_eq!(tree.insert(&stamped(parent, child, pose)), Ok(true));
                prop_assert_eq!(tree.insert(&stamped(parent, child, pose)), Ok(false));
            }
            let near = |found: Option<Isometry3<f64>>, expected: Isometry3<f64>| {
                (found.unwrap().to_homogeneous() - expected.to_homogeneous()).amax() < 1e-12
            };
            prop_assert!(near(tree.between("base_link", "camera"), a * b));
            prop_assert!(near(tree.between("camera", "base_link"), (a * b).inverse()));
            prop_assert!(near(tree.between("lidar", "/camera"), c.inverse() * b));
            prop_assert_eq!(tree.between("base_link", "gripper"), None);
            prop_assert_eq!(tree.between("unheard", "unheard"), Some(Isometry3::identity()));
        }
    }

    #[test]
    fn what_is_no_transform_is_refused_and_a_ring_ends() {
        let mut tree = StaticTransforms::default();
        let one = Isometry3::identity();
        let mut bad = stamped("a", "b", &one);
        bad.transform.rotation.w = 0.0;
        assert_eq!(tree.insert(&bad).unwrap_err().word(), "bad_orientation");
        let mut bad = stamped("a", "b", &one);
        bad.transform.translation.x = f64::INFINITY;
        assert_eq!(tree.insert(&bad).unwrap_err().word(), "bad_transform");
        assert_eq!(tree.insert(&stamped("a", "/a", &one)).unwrap_err().word(), "bad_transform");
        assert_eq!(tree.insert(&stamped("", "a", &one)).unwrap_err().word(), "bad_transform");
        for (parent, child) in [("a", "b"), ("b", "c"), ("c", "a")] {
            tree.insert(&stamped(parent, child, &one)).unwrap();
        }
        assert_eq!(tree.between("a", "z"), None);
        for i in 0..2 * MAX_FRAMES {
            let _ = tree.insert(&stamped("a", &format!("frame {i}"), &one));
        }
        assert_eq!(tree.parents.len(), MAX_FRAMES);
        assert_eq!(tree.insert(&stamped("x", "c", &one)), Ok(true), "known frames may still move");
    }
}
