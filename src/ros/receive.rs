//! From r2r's streams to one place: whatever arrives, as an event of one type.

use futures::{FutureExt, Stream, StreamExt};
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

    /// Its stamp, as it is; `None` for what is not part of a stream of measurements, and goes first.
    fn stamp(&self) -> Option<(i32, u32)>;
}

/// Messages of `TOPICS` topics that have arrived together, merged by their stamps, since nobody knows which came
/// first; those of one topic stay in their order.
pub fn merged<M: OnTopic, const TOPICS: usize>(batch: Vec<M>) -> Vec<M> {
    let mut topics: [VecDeque<M>; TOPICS] = std::array::from_fn(|_| VecDeque::new());
    let mut merged = Vec::with_capacity(batch.len());
    batch.into_iter().for_each(|message| topics[message.topic()].push_back(message));
    loop {
        let heads = topics.iter().enumerate().filter_map(|(i, topic)| topic.front().map(|m| (m.stamp(), i)));
        let Some((_, first)) = heads.min() else { return merged };
        merged.extend(topics[first].pop_front());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
