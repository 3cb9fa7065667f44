//! What lies between the thread that receives and the one that computes: a bounded queue that counts what it drops, and
//! knows what waits, for how long, and when something was last heard.
//!
//! r2r gives each subscription a channel of 10 messages that silently drops the newest when it is full. It is
//! therefore emptied into this queue after every turn of the wait set, where a burst finds room and a loss is counted.

use super::receive::OnTopic;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests, which are few and wait for an answer, go before messages, which are many and may be dropped. Messages are
/// of `TOPICS` topics.
#[derive(Debug)]
pub struct Queue<R, M, const TOPICS: usize> {
    state: Mutex<State<R, M, TOPICS>>,
    changed: Condvar,
    capacity: usize,
    most: [usize; TOPICS],
}

#[derive(Debug)]
struct State<R, M, const TOPICS: usize> {
    requests: VecDeque<R>,
    messages: VecDeque<(Instant, M)>,
    waiting: [usize; TOPICS],
    weight: [usize; TOPICS],
    load: Load<TOPICS>,
}

/// What [`Queue::next`] gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<R, M> {
    /// Somebody waits for an answer.
    Request(R),
    /// A message, and when it was received.
    Message(Instant, M),
    /// Nothing came in time.
    Idle,
}

/// What a queue says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load<const TOPICS: usize> {
    /// Messages that were dropped so far because the whole queue was full.
    pub dropped: u64,
    /// Messages that were dropped so far because too many of their topic waited.
    pub superseded: u64,
    /// When the message was received that waits at the front.
    pub oldest: Option<Instant>,
    /// When something last came on each topic; not when somebody got round to it.
    pub heard: [Option<Instant>; TOPICS],
}

impl<const TOPICS: usize> Load<TOPICS> {
    /// When something last came on `topic`.
    pub fn heard_on(&self, topic: usize) -> Option<Instant> {
        self.heard.get(topic).copied().flatten()
    }
}

impl<R, M: OnTopic, const TOPICS: usize> Queue<R, M, TOPICS> {
    /// A queue of at most `capacity` messages.
    pub fn new(capacity: usize) -> Self {
        let load = Load { dropped: 0, superseded: 0, oldest: None, heard: [None; TOPICS] };
        let state = State {
            requests: VecDeque::new(),
            messages: VecDeque::new(),
            waiting: [0; TOPICS],
            weight: [0; TOPICS],
            load,
        };
        let capacity = capacity.max(1);
        Self { state: Mutex::new(state), changed: Condvar::new(), capacity, most: [usize::MAX; TOPICS] }
    }

    /// The same, with messages of `topic` that weigh no more than `most` together: large ones that are soon worth
    /// nothing. There is always room for one.
    pub fn holding(mut self, topic: usize, most: usize) -> Self {
        if let Some(own) = self.most.get_mut(topic) {
            *own = most;
        }
        self
    }

    fn lock(&self) -> MutexGuard<'_, State<R, M, TOPICS>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Requests are not dropped: r2r holds at most 10 of each service, and their senders wait.
    pub fn push_request(&self, request: R) {
        self.lock().requests.push_back(request);
        self.changed.notify_one();
    }

    /// Adds a message. Where there is no room, the oldest message goes and is counted: what is newest is worth most.
    pub fn push_message(&self, message: M) {
        let (mut state, topic, now) = (self.lock(), message.topic(), Instant::now());
        let most = self.most.get(topic).copied().unwrap_or(usize::MAX);
        let room = most.saturating_sub(message.weight());
        while state.exceeds(topic, room) {
            state.remove_oldest_of(topic);
        }
        if state.messages.len() >= self.capacity && state.pop().is_some() {
            state.load.dropped += 1;
        }
        state.arrived(now, &message);
        state.messages.push_back((now, message));
        drop(state);
        self.changed.notify_one();
    }

    /// The next request, else the next message; waits for one until `deadline`.
    pub fn next(&self, deadline: Instant) -> Next<R, M> {
        let mut state = self.lock();
        loop {
            if let Some(request) = state.requests.pop_front() {
                return Next::Request(request);
            }
            if let Some((received, message)) = state.pop() {
                return Next::Message(received, message);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return Next::Idle;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many messages of `topic` wait.
    pub fn waiting(&self, topic: usize) -> usize {
        self.lock().waiting.get(topic).copied().unwrap_or(0)
    }

    /// How it stands with the queue.
    pub fn load(&self) -> Load<TOPICS> {
        let state = self.lock();
        Load { oldest: state.messages.front().map(|(received, _)| *received), ..state.load }
    }
}

impl<R, M: OnTopic, const TOPICS: usize> State<R, M, TOPICS> {
    fn pop(&mut self) -> Option<(Instant, M)> {
        let popped = self.messages.pop_front();
        popped.inspect(|(_, message)| self.left(message))
    }

    fn remove_oldest_of(&mut self, topic: usize) {
        let oldest = self.messages.iter().position(|(_, message)| message.topic() == topic);
        if let Some((_, message)) = oldest.and_then(|i| self.messages.remove(i)) {
            self.left(&message);
            self.load.superseded += 1;
        }
    }

    /// Whether messages of `topic` wait that weigh more than `room`.
    fn exceeds(&self, topic: usize, room: usize) -> bool {
        let of_topic = self.waiting.get(topic).zip(self.weight.get(topic));
        of_topic.is_some_and(|(waiting, weight)| *waiting > 0 && *weight > room)
    }

    fn arrived(&mut self, now: Instant, message: &M) {
        let topic = message.topic();
        if let (Some(heard), Some(waiting), Some(weight)) =
            (self.load.heard.get_mut(topic), self.waiting.get_mut(topic), self.weight.get_mut(topic))
        {
            *heard = Some(now);
            *waiting += 1;
            *weight += message.weight();
        }
    }

    fn left(&mut self, message: &M) {
        let topic = message.topic();
        if let (Some(waiting), Some(weight)) = (self.waiting.get_mut(topic), self.weight.get_mut(topic)) {
            *waiting -= 1;
            *weight -= message.weight();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of topic 0 below 100, of topic 1 from there on.
    impl OnTopic for u32 {
        fn topic(&self) -> usize {
            usize::from(*self >= 100)
        }

        fn stamp(&self) -> Option<(i32, u32)> {
            None
        }

        fn weight(&self) -> usize {
            if *self < 200 { 1 } else { 5 }
        }
    }

    fn take(queue: &Queue<char, u32, 2>) -> Option<u32> {
        match queue.next(Instant::now()) {
            Next::Message(_, message) => Some(message),
            _ => None,
        }
    }

    #[test]
    fn a_full_queue_drops_the_oldest_message_and_counts_it() {
        let queue = Queue::new(2);
        (0..5).for_each(|i| queue.push_message(i));
        assert_eq!((take(&queue), take(&queue), take(&queue)), (Some(3), Some(4), None));
        assert_eq!((queue.load().dropped, queue.load().superseded, queue.waiting(0)), (3, 0, 0));
    }

    #[test]
    fn of_a_topic_whose_messages_are_too_heavy_the_oldest_go_and_the_others_stay() {
        let queue = Queue::new(10).holding(1, 2);
        [1, 100, 2, 101, 102, 3].into_iter().for_each(|i| queue.push_message(i));
        assert_eq!((queue.waiting(0), queue.waiting(1)), (3, 2));
        assert_eq!(std::iter::from_fn(|| take(&queue)).collect::<Vec<_>>(), [1, 2, 101, 102, 3]);
        assert_eq!((queue.load().dropped, queue.load().superseded), (0, 1));
        // One that is too heavy for the room has it alone.
        [4, 100, 101, 200, 5].into_iter().for_each(|i| queue.push_message(i));
        assert_eq!(std::iter::from_fn(|| take(&queue)).collect::<Vec<_>>(), [4, 200, 5]);
        assert_eq!(queue.load().superseded, 3);
    }

    #[test]
    fn what_was_heard_is_known_before_anybody_takes_it() {
        let before = Instant::now();
        let queue: Queue<char, u32, 2> = Queue::new(4);
        assert_eq!((queue.load().oldest, queue.load().heard), (None, [None; 2]));
        queue.push_message(7);
        queue.push_message(8);
        let load = queue.load();
        assert!(load.oldest.is_some_and(|at| before <= at && Some(at) <= load.heard[0]) && load.heard[1].is_none());
        assert_eq!((take(&queue), take(&queue)), (Some(7), Some(8)));
        assert_eq!((queue.load().oldest, queue.load().heard), (None, load.heard));
    }

    #[test]
    fn requests_go_first_and_are_not_dropped() {
        let queue: Queue<char, u32, 2> = Queue::new(1);
        queue.push_message(0);
        "abc".chars().for_each(|c| queue.push_request(c));
        for c in "abc".chars() {
            assert_eq!(queue.next(Instant::now()), Next::Request(c));
        }
        assert_eq!(take(&queue), Some(0));
        assert_eq!(queue.next(Instant::now()), Next::Idle);
    }

    #[test]
    fn a_waiting_thread_gets_what_comes_later() {
        let queue: Queue<char, u32, 2> = Queue::new(4);
        let far = Instant::now() + Duration::from_secs(60);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| queue.next(far));
            queue.push_request('a');
            assert_eq!(reader.join().unwrap(), Next::Request('a'));
        });
    }
}
