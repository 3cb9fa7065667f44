//! What `slam_node` shows: path, landmarks, and their ellipses. For eyes, not for control: at a limited rate, and only
//! while somebody listens.

use super::Settings;
use super::markers::{self, Shown};
use crate::ros::qos_overrides::publisher;
use crate::ros::{qos, tf};
use lienav_base::stamp::Stamp;
use lienav_io::cloud::{FLOAT32, FLOAT64, UINT32};
use lienav_lie::Se2;
use lienav_slam::{Landmark, PoseEstimate, Slam, valid_covariance};
use lienav_submaps::Submaps;
use nalgebra::Vector2;
use r2r::geometry_msgs::msg::PoseStamped;
use r2r::nav_msgs::msg::Path;
use r2r::sensor_msgs::msg::{PointCloud2, PointField};
use r2r::std_msgs::msg::Header;
use r2r::visualization_msgs::msg::MarkerArray;
use r2r::{Node, Publisher, WrappedTypesupport};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The publishers, and what they have shown.
pub struct Display {
    path: Publisher<Path>,
    landmarks: Publisher<PointCloud2>,
    markers: Publisher<MarkerArray>,
    map: String,
    poses: VecDeque<(Stamp, Se2)>,
    shown: Shown,
    newest: Option<Stamp>,
    changed: bool,
    listeners: usize,
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
            shown: Shown::default(),
            newest: None,
            changed: false,
            listeners: 0,
            due: Instant::now(),
        })
    }

    /// Adds a pose, if it is far enough from the one before.
    pub fn add(&mut self, estimate: &PoseEstimate, settings: &Settings) {
        (self.newest, self.changed) = (Some(estimate.stamp), true);
        extend(&mut self.poses, estimate.stamp, estimate.pose, settings);
    }

    /// Forgets the path; the ellipses vanish when they are next shown.
    pub fn clear(&mut self) {
        self.poses.clear();
        self.changed = true;
    }

    /// Publishes what has changed, if it is due and somebody listens.
    ///
    /// # Errors
    /// ROS refuses.
    pub fn show(
        &mut self,
        now: Instant,
        (slam, parts): (&Slam, Option<&Submaps>),
        settings: &Settings,
    ) -> r2r::Result<()> {
        if now < self.due {
            return Ok(());
        }
        self.due = now + Duration::from_secs_f64(1.0 / settings.display_rate_hz);
        let of_path = listeners(&self.path);
        let of_map = listeners(&self.landmarks) + listeners(&self.markers);
        let newcomer = of_path + of_map > self.listeners;
        self.listeners = of_path + of_map;
        let Some(stamp) = self.newest else { return Ok(()) };
        if !(self.changed || newcomer) || self.listeners == 0 {
            return Ok(());
        }
        self.changed = false;
        let header = tf::header(stamp, &self.map);
        if of_path > 0 {
            self.path.publish(&path(&header, &self.poses))?;
        }
        if of_map > 0 {
            let landmarks: Vec<Landmark> = match parts {
                Some(parts) => parts.known(slam),
                None => slam.landmarks().collect(),
            };
            let landmarks: Vec<Landmark> = landmarks.into_iter().filter_map(publishable).collect();
            self.landmarks.publish(&cloud(&header, &landmarks))?;
            let robot = self.poses.back().map_or(Vector2::zeros(), |(_, pose)| pose.p);
            let kinds = markers::thinned(markers::sorted(slam, &landmarks), &robot);
            self.markers.publish(&self.shown.markers(&header, &kinds, settings.marker_probability))?;
        }
        Ok(())
    }
}

/// A landmark with a covariance as it may be published; `None` where it is invalid.
fn publishable(landmark: Landmark) -> Option<Landmark> {
    Some(Landmark { covariance: valid_covariance(&landmark.covariance)?, ..landmark })
}

fn listeners<T: WrappedTypesupport + 'static>(publisher: &Publisher<T>) -> usize {
    publisher.get_inter_process_subscription_count().unwrap_or_default()
}

fn extend(poses: &mut VecDeque<(Stamp, Se2)>, stamp: Stamp, pose: Se2, settings: &Settings) {
    let far = poses.back().is_none_or(|(_, last)| (pose.p - last.p).norm() >= settings.path_spacing_m);
    if far {
        poses.push_back((stamp, pose));
    }
    while poses.len() > settings.path_length {
        poses.pop_front();
    }
}

fn path(header: &Header, poses: &VecDeque<(Stamp, Se2)>) -> Path {
    let stamped = |(stamp, pose): &(Stamp, Se2)| PoseStamped {
        header: tf::header(*stamp, &header.frame_id),
        pose: tf::pose(*pose),
    };
    Path { header: header.clone(), poses: poses.iter().map(stamped).collect() }
}

/// `x`, `y`, `z`, the covariance, and the `id`: FLOAT32, which rviz can draw and colour by; and `x_m`, `y_m` FLOAT64
/// for those who compute with them.
fn cloud(header: &Header, landmarks: &[Landmark]) -> PointCloud2 {
    const SINGLE: [&str; 7] = ["x", "y", "z", "id", "var_x", "var_y", "cov_xy"];
    const DOUBLE: [&str; 2] = ["x_m", "y_m"];
    let field = |name: &str, offset: usize, datatype: u8| PointField {
        name: name.to_owned(),
        offset: offset as u32,
        datatype,
        count: 1,
    };
    let single =
        SINGLE.iter().enumerate().map(|(i, &name)| field(name, 4 * i, if name == "id" { UINT32 } else { FLOAT32 }));
    let double = DOUBLE.iter().enumerate();
    let double = double.map(|(i, &name)| field(name, 4 * SINGLE.len() + 8 * i, FLOAT64));
    let point_step = 4 * SINGLE.len() + 8 * DOUBLE.len();
    let mut data = Vec::with_capacity(landmarks.len() * point_step);
    for landmark in landmarks {
        let (p, c) = (landmark.position, landmark.covariance);
        data.extend([p.x as f32, p.y as f32, 0.0].into_iter().flat_map(f32::to_le_bytes));
        data.extend(landmark.id.to_le_bytes());
        data.extend([c.m11 as f32, c.m22 as f32, c.m12 as f32].into_iter().flat_map(f32::to_le_bytes));
        data.extend([p.x, p.y].into_iter().flat_map(f64::to_le_bytes));
    }
    PointCloud2 {
        header: header.clone(),
        height: 1,
        width: landmarks.len() as u32,
        fields: single.chain(double).collect(),
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
    use nalgebra::{Matrix2, Vector2};

    fn landmark(id: u32, covariance: Matrix2<f64>) -> Landmark {
        Landmark { id, position: Vector2::new(1.0, 2.0), covariance, last_seen: Stamp::default(), measurements: 3 }
    }

    #[test]
    fn the_path_is_thinned_and_bounded() {
        let settings = Settings { path_length: 3, path_spacing_m: 1.0, ..Default::default() };
        let mut poses = VecDeque::new();
        for k in 0..100 {
            extend(&mut poses, Stamp::from_nanos(k), Se2::new(0.25 * k as f64, 0.0, 0.0), &settings);
        }
        let x: Vec<f64> = poses.iter().map(|(_, pose)| pose.p.x).collect();
        assert_eq!(x, [22.0, 23.0, 24.0]);
    }

    #[test]
    fn the_cloud_of_landmarks_can_be_read_back() {
        let message = cloud(&tf::header(Stamp::default(), "map"), &[landmark(9, Matrix2::new(0.5, 0.1, 0.1, 0.25))]);
        let number = |i: usize| f32::from_le_bytes(message.data[4 * i..4 * i + 4].try_into().unwrap());
        assert_eq!([number(0), number(1), number(4), number(5)], [1.0, 2.0, 0.5, 0.25]);
        assert_eq!(message.data[12..16], 9u32.to_le_bytes());
        assert_eq!(message.data[28..36], 1.0f64.to_le_bytes());
        assert_eq!(message.data.len(), message.row_step as usize);
    }
}
