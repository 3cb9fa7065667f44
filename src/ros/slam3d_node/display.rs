//! What `slam3d_node` shows: path, landmarks, and their ellipsoids. For eyes, not for control: at a limited rate, and
//! only while somebody listens.

use super::output::pose_of;
use super::squares;
use crate::ros::qos_overrides::publisher;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_io::convert::quaternion_of;
use lienav_io::space::robot::filter::Filter;
use lienav_io::space::robot::settings::Settings;
use lienav_lie::{Se3, So3};
use lienav_space::Landmark;
use nalgebra::{Matrix3, Vector3};
use r2r::geometry_msgs::msg::{self, PoseStamped};
use r2r::nav_msgs::msg::Path;
use r2r::sensor_msgs::msg::{PointCloud2, PointField};
use r2r::std_msgs::msg::{ColorRGBA, Header};
use r2r::visualization_msgs::msg::{Marker, MarkerArray};
use r2r::{Node, Publisher, WrappedTypesupport};
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// Path, landmarks and markers so often.
const PERIOD: Duration = Duration::from_millis(200);
/// The most poses in the path; beyond it, the oldest are removed.
const PATH_LENGTH: usize = 5000;
/// Distance from one pose of the path to the next, m.
const PATH_SPACING_M: f64 = 0.05;
/// A landmark lies in its ellipsoid with a probability of 0.95: χ² with three degrees of freedom.
const SCALE: f64 = 2.795_5;

/// The publishers, and what they have shown.
pub struct Display {
    path: Publisher<Path>,
    landmarks: Publisher<PointCloud2>,
    markers: Publisher<MarkerArray>,
    map: String,
    poses: VecDeque<(Stamp, Se3)>,
    shown: BTreeSet<u64>,
    newest: Option<Stamp>,
    due: Instant,
}

impl Display {
    /// Advertises the topics.
    ///
    /// # Errors
    /// ROS refuses one of them.
    pub fn of(node: &mut Node, settings: &Settings) -> r2r::Result<Self> {
        Ok(Self {
            path: publisher(node, "path", qos::reliable())?,
            landmarks: publisher(node, "landmarks", qos::reliable())?,
            markers: publisher(node, "markers", qos::reliable())?,
            map: settings.map_frame.clone(),
            poses: VecDeque::new(),
            shown: BTreeSet::new(),
            newest: None,
            due: Instant::now(),
        })
    }

    /// Adds a pose, if it is far enough from the one before.
    pub fn add(&mut self, stamp: Stamp, pose: &Se3) {
        self.newest = Some(stamp);
        let apart = self.poses.back().map(|(_, last)| (pose.translation - last.translation).norm());
        if apart.is_none_or(|apart| apart >= PATH_SPACING_M) {
            self.poses.push_back((stamp, *pose));
        }
        while self.poses.len() > PATH_LENGTH {
            self.poses.pop_front();
        }
    }

    /// Forgets the path.
    pub fn clear(&mut self) {
        self.poses.clear();
    }

    /// Publishes what is due, where somebody listens.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn show(&mut self, now: Instant, filter: &Filter) -> r2r::Result<()> {
        if now < self.due {
            return Ok(());
        }
        self.due = now + PERIOD;
        let Some(stamp) = self.newest else { return Ok(()) };
        let header = tf::header(stamp, &self.map);
        if has_listeners(&self.path) {
            self.path.publish(&path(&header, &self.poses))?;
        }
        let (points, ellipsoids) = (has_listeners(&self.landmarks), has_listeners(&self.markers));
        if points || ellipsoids {
            let landmarks = filter.listed();
            if points {
                self.landmarks.publish(&point_cloud(&header, &landmarks))?;
            }
            if ellipsoids {
                let message = self.marker_array(&header, &landmarks, filter);
                self.markers.publish(&message)?;
            }
        }
        Ok(())
    }

    fn marker_array(&mut self, header: &Header, landmarks: &[Landmark], filter: &Filter) -> MarkerArray {
        let now: BTreeSet<u64> = landmarks.iter().map(|landmark| landmark.id).collect();
        let of_tags: &[&str] = if filter.sees_tags() { &squares::NAMES } else { &[] };
        let namespaces = || ["landmarks"].iter().chain(of_tags);
        let gone = self.shown.difference(&now).flat_map(|id| namespaces().map(move |name| (*id, *name)));
        let gone = gone.map(|(id, name)| Marker {
            header: header.clone(),
            ns: name.to_owned(),
            id: id as i32,
            action: Marker::DELETE as i32,
            ..Marker::default()
        });
        let ellipsoids = landmarks.iter().map(|landmark| marker(header, landmark));
        let markers = gone.chain(ellipsoids).chain(squares::of(header, filter)).collect();
        self.shown = now;
        MarkerArray { markers }
    }
}

fn has_listeners<T: WrappedTypesupport + 'static>(publisher: &Publisher<T>) -> bool {
    publisher.get_inter_process_subscription_count().unwrap_or_default() > 0
}

fn path(header: &Header, poses: &VecDeque<(Stamp, Se3)>) -> Path {
    let stamped = |(stamp, pose): &(Stamp, Se3)| PoseStamped {
        header: tf::header(*stamp, &header.frame_id),
        pose: pose_of(pose),
    };
    Path { header: header.clone(), poses: poses.iter().map(stamped).collect() }
}

/// An ellipsoid that has a landmark in it with a probability of 0.95.
fn marker(header: &Header, landmark: &Landmark) -> Marker {
    const LEAST_M: f64 = 0.02;
    let eigen = landmark.covariance.symmetric_eigen();
    let mut axes = eigen.eigenvectors;
    if axes.determinant() < 0.0 {
        axes.column_mut(0).neg_mut();
    }
    let size = eigen.eigenvalues.map(|x| (2.0 * SCALE * x.max(0.0).sqrt()).max(LEAST_M));
    let rotation = if axes.iter().all(|x| x.is_finite()) { axes } else { Matrix3::identity() };
    let q = quaternion_of(&So3::from_matrix_unchecked(rotation));
    let p: &Vector3<f64> = &landmark.position;
    Marker {
        header: header.clone(),
        ns: "landmarks".to_owned(),
        id: landmark.id as i32,
        type_: Marker::SPHERE as i32,
        action: Marker::ADD as i32,
        pose: msg::Pose {
            position: msg::Point { x: p.x, y: p.y, z: p.z },
            orientation: msg::Quaternion { x: q.i, y: q.j, z: q.k, w: q.w },
        },
        scale: msg::Vector3 { x: size.x, y: size.y, z: size.z },
        color: ColorRGBA { r: 0.1, g: 0.4, b: 0.9, a: 0.5 },
        ..Marker::default()
    }
}

/// `x`, `y`, `z`, the `id` and the variances.
fn point_cloud(header: &Header, landmarks: &[Landmark]) -> PointCloud2 {
    const FIELDS: [&str; 7] = ["x", "y", "z", "id", "var_x", "var_y", "var_z"];
    let field = |(i, name): (usize, &&str)| PointField {
        name: (*name).to_owned(),
        offset: 4 * i as u32,
        datatype: if *name == "id" { PointField::UINT32 as u8 } else { PointField::FLOAT32 as u8 },
        count: 1,
    };
    let point_step = 4 * FIELDS.len();
    let mut data = Vec::with_capacity(landmarks.len() * point_step);
    for landmark in landmarks {
        data.extend(landmark.position.iter().flat_map(|x| (*x as f32).to_le_bytes()));
        data.extend((landmark.id as u32).to_le_bytes());
        data.extend(landmark.covariance.diagonal().iter().flat_map(|x| (*x as f32).to_le_bytes()));
    }
    PointCloud2 {
        header: header.clone(),
        height: 1,
        width: landmarks.len() as u32,
        fields: FIELDS.iter().enumerate().map(field).collect(),
        is_bigendian: false,
        point_step: point_step as u32,
        row_step: (point_step * landmarks.len()) as u32,
        data,
        is_dense: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_cloud_of_landmarks_can_be_read_back() {
        let covariance = Matrix3::from_diagonal(&Vector3::new(0.5, 0.25, 0.125));
        let landmark = Landmark { id: 9, position: Vector3::new(1.0, 2.0, 3.0), covariance };
        let header = tf::header(Stamp::default(), "map");
        let message = point_cloud(&header, &[landmark]);
        let number = |i: usize| f32::from_le_bytes(message.data[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!([0, 1, 2, 4, 5, 6].map(number), [1.0, 2.0, 3.0, 0.5, 0.25, 0.125]);
        assert_eq!(message.data[12..16], 9u32.to_le_bytes());
        let marker = marker(&header, &landmark);
        let mut size = [marker.scale.x, marker.scale.y, marker.scale.z];
        size.sort_by(f64::total_cmp);
        assert!((size[2] - 2.0 * SCALE * 0.5_f64.sqrt()).abs() < 1e-12, "{size:?}");
    }
}
