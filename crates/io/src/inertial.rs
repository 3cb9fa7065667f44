//! What an inertial sensor recorded, wherever it comes from, and the truth to compare with.

use crate::bag::cdr;
use crate::bag::{BagReader, Problems, Role, Topics, Unread, magnetic_topic, not_one, roles_of};
use crate::convert::{Expected, imu_sample, magnetic_field};
use crate::datasets;
use crate::messages::{self, Imu};
use crate::recording::OpenError;
use crate::statements::InertialCheck;
use lienav_attitude::{ImuSample, MagneticField};
use lienav_base::stamp::Stamp;
use nalgebra::UnitQuaternion;
use std::collections::BTreeMap;
use std::path::Path;

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InertialRecording {
    /// What to call it in a report.
    pub name: String,
    /// In order of arrival.
    pub samples: Vec<ImuSample>,
    /// In order of arrival; empty without a magnetometer.
    pub fields: Vec<MagneticField>,
    /// The topic of the magnetic fields, where they are of a bag.
    pub field_topic: Option<String>,
    /// By increasing stamp; empty where no writer knows.
    pub truth: Vec<TrueOrientation>,
    /// Messages that were dropped, by reason, in the words of [`crate::bag::load`].
    pub dropped: BTreeMap<&'static str, u64>,
    /// Statements of the source that contradict each other or cannot be meant, one sentence each: they come first in a
    /// report.
    pub contradictions: Vec<String>,
    /// What the reader should know, one sentence each.
    pub warnings: Vec<String>,
}

/// Where the body was turned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueOrientation {
    /// When.
    pub stamp: Stamp,
    /// From the body to the world, z up.
    pub orientation: UnitQuaternion<f64>,
    /// Whether the body is moved; errors count while it is.
    pub moving: bool,
}

/// Reads a recording. `source` is `broad:FILE`, `euroc:FOLDER`, or a bag with a topic of sensor_msgs/Imu.
///
/// # Errors
/// Nothing can be read: [`OpenError`] names file, cause and remedy.
pub fn open(source: &str, topics: &Topics) -> Result<InertialRecording, OpenError> {
    if let Some(file) = source.strip_prefix("broad:") {
        return datasets::open_broad(Path::new(file));
    }
    if let Some(folder) = source.strip_prefix("euroc:") {
        return datasets::open_euroc(Path::new(folder));
    }
    if !Path::new(source).exists() {
        let problem = "no such file or folder; give broad:FILE, euroc:FOLDER or a bag";
        return Err(OpenError::Bag { path: source.into(), problem: problem.to_owned() });
    }
    from_bag(Path::new(source), topics)
}

fn from_bag(path: &Path, topics: &Topics) -> Result<InertialRecording, OpenError> {
    let mut bag = BagReader::open(path)?;
    let roles = roles_of(bag.topics(), topics).map_err(|problem| OpenError::bag(path, problem))?;
    if !roles.contains(&Some(Role::Imu)) {
        return Err(OpenError::bag(path, not_one(bag.topics(), &roles, Role::Imu)));
    }
    let magnetic = magnetic_topic(bag.topics(), topics.mag.as_deref());
    let (magnetic, warning) = match magnetic {
        Ok(topic) => (topic, None),
        Err(problem) if topics.mag.is_some() => return Err(OpenError::bag(path, problem)),
        Err(problem) => (None, Some(problem)),
    };
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut recording = InertialRecording { name, ..InertialRecording::default() };
    let mut frame = Expected::new("imu_frame", topics.frames.imu_frame.clone());
    let (mut problems, mut check) = (Problems::default(), InertialCheck::default());
    let is_read = |(index, role): (usize, &Option<Role>)| *role == Some(Role::Imu) || Some(index) == magnetic;
    bag.select(&roles.iter().enumerate().map(is_read).collect::<Vec<_>>());
    while let Some(record) = bag.next() {
        let read = if Some(record.topic) == magnetic {
            field_of(&record.data, &frame).map(|field| recording.fields.push(field))
        } else {
            sample_of(&record.data, &mut frame).map(|sample| {
                check.add(&sample);
                recording.samples.push(sample);
            })
        };
        match read {
            Ok(()) => {}
            Err(unread) => {
                *recording.dropped.entry(unread.word()).or_default() += 1;
                let topic = bag.topics().get(record.topic).map_or("", |topic| topic.name.as_str());
                problems.note(topic, record.log_time, &unread);
            }
        }
    }
    let topic = bag.topics().iter().zip(&roles).find(|(_, role)| **role == Some(Role::Imu));
    let name = topic.map_or(Role::Imu.usual_name(), |(topic, _)| topic.name.as_str());
    recording.contradictions = check.findings(name).into_iter().map(|finding| finding.sentence).collect();
    recording.field_topic = magnetic.and_then(|index| bag.topics().get(index)).map(|topic| topic.name.clone());
    recording.warnings.extend(warning);
    recording.warnings.extend_from_slice(bag.warnings());
    recording.warnings.extend(problems.into_sentences(path));
    Ok(recording)
}

/// The sample in a serialised message, by the checks of `attitude_node`.
fn sample_of(bytes: &[u8], frame: &mut Expected) -> Result<ImuSample, Unread> {
    let message: Imu = cdr::decode(bytes)?;
    let sample = imu_sample(&message, frame.frame().as_slice())?;
    frame.learn(&message.header.frame_id);
    Ok(sample)
}

/// The magnetic field in a serialised message, in the frame of the inertial sensor.
fn field_of(bytes: &[u8], frame: &Expected) -> Result<MagneticField, Unread> {
    let message: messages::MagneticField = cdr::decode(bytes)?;
    Ok(magnetic_field(&message, frame.frame().as_slice())?)
}

impl InertialRecording {
    /// What the reader should know of the magnetometer, if the filter uses one or not.
    pub fn remark_on_fields(&self, is_used: bool) -> Option<String> {
        match (&self.field_topic, is_used) {
            (Some(topic), false) if !self.fields.is_empty() => Some(format!(
                "the {} magnetic fields of {} are not used: set magnetometer.enabled=true, and the heading is that of \
                 magnetic north",
                self.fields.len(),
                topic.escape_debug()
            )),
            (_, true) if self.fields.is_empty() => Some(
                "magnetometer.enabled is true, and there is no magnetic field in the recording: the heading drifts"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::metadata::Qos;
    use crate::bag::{BagWriter, Existing, TypeText};
    use crate::convert::header;
    use crate::messages::Message;

    #[test]
    fn magnetic_fields_of_a_bag_are_read_and_never_ignored_silently() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bag");
        let mut bag = BagWriter::create(&path, Existing::Refuse).unwrap();
        let imu = bag.add_topic::<Imu>("/imu", Qos::RELIABLE).unwrap();
        let topics = ["/a/mag", "/b/mag"];
        let text =
            "std_msgs/Header header\ngeometry_msgs/Vector3 magnetic_field\nfloat64[9] magnetic_field_covariance\n";
        let kind = TypeText { name: messages::MagneticField::TYPE, text, hash: "" };
        let fields = topics.map(|name| bag.add_topic_described(name, &kind, Qos::RELIABLE).unwrap());
        for i in 0..5 {
            let stamp = Stamp::from_nanos(1_000_000 * i);
            bag.write(imu, stamp, &Imu { header: header(stamp, "imu_link"), ..Imu::default() }).unwrap();
            for (topic, frame) in fields.into_iter().zip(["imu_link", "elsewhere"]) {
                let message = messages::MagneticField { header: header(stamp, frame), ..Default::default() };
                bag.write_serialized(topic, stamp, stamp, &cdr::encode(&message).unwrap()).unwrap();
            }
        }
        bag.finish().unwrap();
        let read = |mag: Option<&str>| {
            open(path.to_str().unwrap(), &Topics { mag: mag.map(str::to_owned), ..Topics::default() })
        };
        let both = read(None).unwrap();
        assert!(both.fields.is_empty() && both.warnings[0].contains("/a/mag and /b/mag; name one"), "{both:?}");
        let one = read(Some("a/mag")).unwrap();
        assert_eq!((one.fields.len(), one.samples.len(), one.warnings.len()), (5, 5, 0), "{one:?}");
        assert!(one.remark_on_fields(false).unwrap().contains("5 magnetic fields of /a/mag are not used"));
        assert_eq!(one.remark_on_fields(true), None);
        assert_eq!(read(Some("/b/mag")).unwrap().dropped, [("unknown_frame", 5)].into());
        assert!(read(Some("/c")).unwrap_err().to_string().contains("no topic /c"));
        assert!(InertialRecording::default().remark_on_fields(true).unwrap().contains("no magnetic field"));
    }

    #[test]
    fn what_a_bag_says_about_its_sensor_is_checked_as_by_the_node() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bag");
        let mut bag = BagWriter::create(&path, Existing::Refuse).unwrap();
        let topic = bag.add_topic::<Imu>("/imu", Qos::RELIABLE).unwrap();
        let changes: [fn(&mut Imu); 6] = [
            |_| (),
            |m| m.header.frame_id = "phone".into(),
            |m| m.header.stamp.nanosec = 1_000_000_000,
            |m| m.angular_velocity_covariance[0] = -1.0,
            |m| m.linear_acceleration_covariance[0] = -1.0,
            |m| m.orientation.w = 17.0,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let stamp = Stamp::from_nanos(1_000_000 * i as i64);
            let mut message = Imu { header: header(stamp, "imu_link"), ..Imu::default() };
            change(&mut message);
            bag.write(topic, stamp, &message).unwrap();
        }
        bag.write_serialized(topic, Stamp::from_secs(1.0), Stamp::from_secs(1.0), &[0, 1, 0, 0, 7]).unwrap();
        bag.finish().unwrap();
        let recording = open(path.to_str().unwrap(), &Topics::default()).unwrap();
        assert_eq!(recording.samples.len(), 2, "its orientation is not read");
        let words = ["bad_stamp", "no_angular_velocity", "no_linear_acceleration", "unknown_frame", "unreadable"];
        assert_eq!(recording.dropped, words.map(|word| (word, 1)).into());
        assert_eq!(recording.warnings.len(), words.len(), "{:?}", recording.warnings);
        let sentence = "bag: /imu at 1.000000000 dropped as unreadable: \
                        the message could not be decoded as sensor_msgs/msg/Imu";
        assert!(recording.warnings.iter().any(|warning| warning.ends_with(sentence)), "{:?}", recording.warnings);
    }
}
