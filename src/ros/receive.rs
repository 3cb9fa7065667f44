//! From r2r's streams to one place: whatever arrives, as an event of one type.

use super::qos_overrides;
use futures::{FutureExt, Stream, StreamExt};
use lienav_io::bag::cdr::{self, CdrError};
use lienav_io::messages::Message;
use r2r::{Node, QosProfile};
use std::collections::VecDeque;
use std::time::Duration;

/// The longest a thread that waits for input looks away from everything else.
pub const WAIT: Duration = Duration::from_millis(20);
/// The most that is received before it is passed on.
const MOST: usize = 4096;

/// Gives what has arrived at one subscription or service since the last call; never waits.
pub type Inbox<E> = Box<dyn FnMut(&mut dyn FnMut(E)) + Send>;

/// Takes everything that `stream` has ready, as events.
pub fn receive<T: 'static, E: 'static>(
    mut stream: impl Stream<Item = T> + Unpin + Send + 'static,
    event: impl Fn(T) -> E + Send + 'static,
) -> Inbox<E> {
    Box::new(move |take| {
        while let Some(Some(item)) = stream.next().now_or_never() {
            take(event(item));
        }
    })
}

/// Subscribes to a topic, with this quality of service or as the user has it ([`qos_overrides`]). Messages are taken as
/// the bytes that came and decoded here, as those of a bag are: what the middleware cannot decode it throws away
/// without a word, and nobody could count it.
///
/// # Errors
/// ROS refuses the subscription.
pub fn subscribe<M: Message + 'static, E: 'static>(
    node: &mut Node,
    topic: &str,
    qos: QosProfile,
    event: impl Fn(Result<M, CdrError>) -> E + Send + 'static,
) -> r2r::Result<Inbox<E>> {
    subscribe_some(node, topic, qos, move |decoded| Some(event(decoded)))
}

/// The same of a topic of which not every message is an event.
///
/// # Errors
/// ROS refuses the subscription.
pub fn subscribe_some<M: Message + 'static, E: 'static>(
    node: &mut Node,
    topic: &str,
    qos: QosProfile,
    event: impl Fn(Result<M, CdrError>) -> Option<E> + Send + 'static,
) -> r2r::Result<Inbox<E>> {
    let qos = qos_overrides::subscription(node, topic, qos)?;
    let mut inbox = receive(node.subscribe_raw(topic, M::TYPE, qos)?, |bytes: Vec<u8>| bytes);
    Ok(Box::new(move |take| {
        inbox(&mut |bytes: Vec<u8>| {
            if let Some(event) = event(cdr::decode(&bytes)) {
                take(event);
            }
        });
    }))
}

/// An inbox whose events become those of another type.
pub fn relay<A: 'static, B: 'static>(mut inbox: Inbox<A>, event: impl Fn(A) -> B + Send + 'static) -> Inbox<B> {
    Box::new(move |take| inbox(&mut |item| take(event(item))))
}

/// One turn of r2r, which waits for input no longer than `wait` and brings at most one message of each subscription.
/// Says whether it has brought any.
pub fn turn<E>(node: &mut r2r::Node, inboxes: &mut [Inbox<E>], wait: Duration, take: &mut dyn FnMut(E)) -> bool {
    let mut brought = false;
    node.spin_once(wait);
    for inbox in inboxes {
        inbox(&mut |event| {
            brought = true;
            take(event);
        });
    }
    brought
}

/// All that has arrived, in as many turns as that takes: with one, the rare topics would run ahead of the frequent
/// ones after a moment without processor time. Waits for the first no longer than `wait`.
pub fn all<E>(node: &mut r2r::Node, inboxes: &mut [Inbox<E>], wait: Duration) -> Vec<E> {
    let mut batch = Vec::new();
    let mut brought = turn(node, inboxes, wait, &mut |event| batch.push(event));
    while brought && batch.len() < MOST {
        brought = turn(node, inboxes, Duration::ZERO, &mut |event| batch.push(event));
    }
    batch
}

/// Something that came on one of several topics.
pub trait OnTopic {
    /// Which topic it was, from 0 on: those of one stamp are taken in this order.
    fn topic(&self) -> usize;

    /// What it takes of the room for its topic in a [`Queue`](super::queue::Queue).
    fn weight(&self) -> usize {
        1
    }

    /// Its stamp, as it is; `None` for what is not part of a stream of measurements, and goes first.
    fn stamp(&self) -> Option<(i32, u32)>;
}

/// Messages of `TOPICS` topics that have arrived together, merged by their stamps, since nobody knows which came
/// first; those of one topic stay in their order.
pub fn merged<M: OnTopic, const TOPICS: usize>(batch: Vec<M>) -> Vec<M> {
    let mut topics: [VecDeque<M>; TOPICS] = std::array::from_fn(|_| VecDeque::new());
    let mut merged = Vec::with_capacity(batch.len());
    for message in batch {
        match topics.get_mut(message.topic()) {
            Some(topic) => topic.push_back(message),
            None => merged.push(message),
        }
    }
    loop {
        let heads = topics.iter().enumerate().filter_map(|(i, topic)| topic.front().map(|m| (m.stamp(), i)));
        let Some((_, first)) = heads.min() else { return merged };
        merged.extend(topics.get_mut(first).and_then(VecDeque::pop_front));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lienav_io::messages as plain;
    use r2r::{WrappedTypesupport, geometry_msgs, nav_msgs, sensor_msgs};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    impl OnTopic for (usize, i32) {
        fn topic(&self) -> usize {
            self.0
        }

        fn stamp(&self) -> Option<(i32, u32)> {
            (self.1 >= 0).then_some((self.1, 0))
        }
    }

    #[test]
    fn topics_are_merged_by_stamps_and_keep_their_own_order() {
        // What turns of r2r bring after a while without processor time: one of each, then one of each.
        let batch = vec![(0, 5), (1, 5), (0, 10), (1, 55), (0, 50), (0, 55)];
        assert_eq!(merged::<_, 2>(batch), [(0, 5), (1, 5), (0, 10), (0, 50), (0, 55), (1, 55)]);
        assert_eq!(merged::<_, 2>(vec![(0, 30), (1, 20), (0, 10)]), [(1, 20), (0, 30), (0, 10)]);
        assert_eq!(merged::<_, 3>(vec![(1, 0), (0, 7), (2, -1)]), [(2, -1), (1, 0), (0, 7)], "no stamp goes first");
        assert_eq!(merged::<_, 2>(vec![(1, 3), (1, 2)]), [(1, 3), (1, 2)]);
    }

    /// `message` with every number in it another one, in the order of the fields, and a name for every string.
    fn filled<M: WrappedTypesupport + Serialize + DeserializeOwned>(message: &M) -> M {
        fn fill(value: &mut Value, next: &mut u32) {
            match value {
                Value::Number(_) => {
                    *next += 1;
                    *value = (*next).into();
                }
                Value::String(text) => *text = format!("name {next}"),
                Value::Array(items) => items.iter_mut().for_each(|item| fill(item, next)),
                Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, next)),
                Value::Bool(flag) => *flag = true,
                Value::Null => (),
            }
        }
        let mut value = serde_json::to_value(message).unwrap();
        fill(&mut value, &mut 0);
        serde_json::from_value(value).unwrap()
    }

    /// The middleware's own encoding of a message, decoded as a node decodes it, says the same in every field.
    fn is_understood<P: Message>(message: &impl WrappedTypesupport) {
        let message = filled(message);
        let decoded: P = cdr::decode(&message.to_serialized_bytes().unwrap()).unwrap();
        assert_eq!(numbers(&serde_json::to_value(&message).unwrap()), numbers(&serde_json::to_value(decoded).unwrap()));
    }

    /// The same with all numbers as floating ones.
    fn numbers(value: &Value) -> Value {
        match value {
            Value::Number(number) => number.as_f64().into(),
            Value::Array(items) => items.iter().map(numbers).collect(),
            Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), numbers(field))).collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn a_message_of_the_middleware_is_understood_in_every_field() {
        is_understood::<plain::Odometry>(&nav_msgs::msg::Odometry::default());
        is_understood::<plain::Imu>(&sensor_msgs::msg::Imu::default());
        is_understood::<plain::MagneticField>(&sensor_msgs::msg::MagneticField::default());
        is_understood::<plain::WrenchStamped>(&geometry_msgs::msg::WrenchStamped::default());
        is_understood::<plain::PoseWithCovarianceStamped>(&geometry_msgs::msg::PoseWithCovarianceStamped::default());
        let fields = vec![sensor_msgs::msg::PointField::default(); 2];
        let cloud = sensor_msgs::msg::PointCloud2 { fields, data: vec![0; 3], ..Default::default() };
        is_understood::<plain::PointCloud2>(&cloud);
        let info = sensor_msgs::msg::CameraInfo { k: vec![0.0; 9], d: vec![0.0; 5], ..Default::default() };
        is_understood::<plain::CameraInfo>(&info);
    }

    #[cfg(feature = "vision_msgs")]
    #[test]
    fn a_detection_is_understood_in_every_field() {
        use r2r::vision_msgs::msg::{Detection3D, Detection3DArray, ObjectHypothesisWithPose};
        let results = vec![ObjectHypothesisWithPose::default(); 2];
        let detections = vec![Detection3D { results, ..Default::default() }; 2];
        is_understood::<plain::Detection3DArray>(&Detection3DArray { detections, ..Default::default() });
    }

    #[cfg(feature = "apriltag_msgs")]
    #[test]
    fn a_tag_in_an_image_is_understood_in_every_field() {
        use r2r::apriltag_msgs::msg::{AprilTagDetection, AprilTagDetectionArray};
        let detections = vec![AprilTagDetection::default(); 2];
        is_understood::<plain::AprilTagDetectionArray>(&AprilTagDetectionArray { detections, ..Default::default() });
    }

    #[test]
    fn all_that_is_there_is_taken_and_nothing_is_waited_for() {
        let (mut sender, stream) = futures::channel::mpsc::channel(10);
        let mut inbox = receive(stream, |x: u32| x + 1);
        let mut taken = Vec::new();
        inbox(&mut |x| taken.push(x));
        assert!(taken.is_empty());
        (0..3).for_each(|x| sender.try_send(x).unwrap());
        inbox(&mut |x| taken.push(x));
        assert_eq!(taken, [1, 2, 3]);
    }
}
