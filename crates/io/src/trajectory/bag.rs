//! Trajectories in bags: a topic of poses, or a chain of transforms.

use super::chain::Chain;
use super::convention::Convention;
use super::data::{BAD_ORIENTATION, MOST_POSES, Trajectory, Upper, upper};
use super::text::{too_many, unit};
use crate::bag::cdr::{CdrError, decode};
use crate::bag::{BagReader, Topic, UNREADABLE, listed as first_of};
use crate::convert::stamp_of;
use crate::messages::{
    Covariance6, Header, Message, Odometry, Pose, PoseStamped, PoseWithCovarianceStamped, TfMessage,
};
use crate::recording::OpenError;
use crate::transforms::plain;
use nalgebra::{Isometry3, Matrix6, Vector3};
use std::path::Path;

/// A message whose nanoseconds are a second or more.
const BAD_STAMP: &str = "bad_stamp";
/// A pose in another frame than those before it.
const UNKNOWN_FRAME: &str = "unknown_frame";

const TYPES: [&str; 3] = [Odometry::TYPE, PoseWithCovarianceStamped::TYPE, PoseStamped::TYPE];

/// Where in a bag a trajectory is.
pub enum Place<'a> {
    /// The only topic of poses.
    Only,
    /// A topic.
    Topic(&'a str),
    /// The pose of a frame in another one, by transforms.
    Transform(&'a str, &'a str),
}

/// Reads a trajectory; `progress` hears how many messages are done.
///
/// # Errors
/// The bag cannot be read, or has no such topic: with those that it has.
pub fn read(
    path: &Path,
    place: &Place<'_>,
    convention: Convention,
    progress: &mut dyn FnMut(u64),
) -> Result<Trajectory, OpenError> {
    let mut bag = BagReader::open(path)?;
    let wrong = |problem: String| OpenError::bag(path, problem);
    let wanted = wanted(bag.topics(), place).map_err(wrong)?;
    bag.select(&wanted);
    let mut taken = match place {
        Place::Transform(parent, child) => Taken::Transforms(Chain::new(parent, child)),
        _ => Taken::Poses(Box::default(), None),
    };
    let types: Vec<String> = bag.topics().iter().map(|topic| topic.type_name.clone()).collect();
    let mut unreadable = 0;
    let mut done = 0;
    for record in bag.by_ref() {
        let type_name = types.get(record.topic).map_or("", String::as_str);
        if taken.take(type_name, &record.data).is_err() {
            unreadable += 1;
        }
        done += 1;
        if done % 4096 == 0 {
            progress(done);
        }
        if taken.len() > MOST_POSES {
            return Err(wrong(too_many()));
        }
    }
    let mut trajectory = match taken {
        Taken::Poses(trajectory, _) => *trajectory,
        Taken::Transforms(chain) => chain.finish().map_err(wrong)?,
    };
    if trajectory.covariances.iter().all(|upper| upper.iter().all(|x| *x == 0.0)) {
        trajectory.covariances = Vec::new();
    }
    trajectory.put_in_order();
    trajectory.meaning = Some(convention.of_message());
    if unreadable > 0 {
        trajectory.dropped.insert(UNREADABLE, unreadable);
    }
    trajectory.warnings.extend(bag.warnings().iter().cloned());
    Ok(trajectory)
}

/// Which topics are read.
fn wanted(topics: &[Topic], place: &Place<'_>) -> Result<Vec<bool>, String> {
    let is_of_poses = |topic: &Topic| TYPES.contains(&topic.type_name.as_str());
    let is_of_transforms = |topic: &Topic| topic.type_name == TfMessage::TYPE;
    let listed = || {
        let named = topics.iter().filter(|t| is_of_poses(t)).map(|t| format!("{} ({})", t.name, t.type_name));
        let names = first_of(named, ", ");
        if names.is_empty() {
            "it has none of Odometry, PoseWithCovarianceStamped or PoseStamped".to_owned()
        } else {
            format!("its topics of poses are: {}", names.escape_debug())
        }
    };
    match place {
        Place::Transform(..) => {
            let wanted: Vec<bool> = topics.iter().map(is_of_transforms).collect();
            if wanted.contains(&true) { Ok(wanted) } else { Err("there are no transforms (/tf) in it".to_owned()) }
        }
        Place::Topic(name) => {
            let is_it = |topic: &Topic| plain(&topic.name) == plain(name);
            let Some(found) = topics.iter().find(|topic| is_it(topic)) else {
                return Err(format!("there is no topic {name} in it; {}", listed()));
            };
            if is_of_transforms(found) {
                return Err(format!("{name} has transforms; say of which frame: BAG:{name}:map:base_link"));
            }
            if !is_of_poses(found) {
                return Err(format!("{name} has {}, which is no pose; {}", found.type_name, listed()));
            }
            Ok(topics.iter().map(|topic| is_it(topic) && is_of_poses(topic)).collect())
        }
        Place::Only => {
            let wanted: Vec<bool> = topics.iter().map(is_of_poses).collect();
            match wanted.iter().filter(|wanted| **wanted).count() {
                1 => Ok(wanted),
                _ => Err(format!("which of its topics is the trajectory is not known; give BAG:TOPIC; {}", listed())),
            }
        }
    }
}

enum Taken {
    Poses(Box<Trajectory>, Option<String>),
    Transforms(Chain),
}

impl Taken {
    fn len(&self) -> usize {
        match self {
            Self::Poses(trajectory, _) => trajectory.len(),
            Self::Transforms(chain) => chain.len(),
        }
    }

    fn take(&mut self, type_name: &str, bytes: &[u8]) -> Result<(), CdrError> {
        match self {
            Self::Transforms(chain) => chain.take(&decode::<TfMessage>(bytes)?),
            Self::Poses(trajectory, frame) => {
                let (header, pose, covariance) = match type_name {
                    Odometry::TYPE => {
                        let message: Odometry = decode(bytes)?;
                        (message.header, message.pose.pose, Some(message.pose.covariance))
                    }
                    PoseWithCovarianceStamped::TYPE => {
                        let message: PoseWithCovarianceStamped = decode(bytes)?;
                        (message.header, message.pose.pose, Some(message.pose.covariance))
                    }
                    _ => {
                        let message: PoseStamped = decode(bytes)?;
                        (message.header, message.pose, None)
                    }
                };
                add(trajectory, frame, &header, &pose, covariance.as_ref());
            }
        }
        Ok(())
    }
}

fn add(
    to: &mut Trajectory,
    frame: &mut Option<String>,
    header: &Header,
    pose: &Pose,
    covariance: Option<&Covariance6>,
) {
    let Ok(stamp) = stamp_of(&header.stamp) else { return to.drop_one(BAD_STAMP) };
    if frame.get_or_insert_with(|| header.frame_id.clone()) != &header.frame_id {
        return to.drop_one(UNKNOWN_FRAME);
    }
    let q = &pose.orientation;
    let Some(rotation) = unit(q.x, q.y, q.z, q.w) else { return to.drop_one(BAD_ORIENTATION) };
    let p = &pose.position;
    to.stamps.push(stamp);
    to.poses.push(Isometry3::from_parts(Vector3::new(p.x, p.y, p.z).into(), rotation));
    if let Some(covariance) = covariance {
        to.covariances.push(upper_of(&covariance.0));
    }
}

/// The upper triangle of 36 numbers by rows; of two numbers that should be one, their mean.
fn upper_of(rows: &[f64; 36]) -> Upper {
    upper(&Matrix6::from_row_slice(rows))
}
