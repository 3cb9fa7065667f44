//! What lies between the thread that receives and the one that computes: a bounded queue that counts what it drops.
//!
//! r2r gives each subscription a channel of 10 messages that silently drops the newest when it is full. It is
//! therefore emptied into this queue after every turn of the wait set, where a burst finds room and a loss is counted.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Requests, which are few and wait for an answer, go before messages, which are many and may be dropped.
#[derive(Debug)]
pub struct Queue<R, M> {
    state: Mutex<State<R, M>>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct State<R, M> {
    requests: VecDeque<R>,
    messages: VecDeque<(Instant, M)>,
    dropped: u64,
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

impl<R, M> Queue<R, M> {
    /// A queue of at most `capacity` messages.
    pub fn new(capacity: usize) -> Self {
        let state = State { requests: VecDeque::new(), messages: VecDeque::new(), dropped: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new(), capacity: capacity.max(1) }
    }

    fn lock(&self) -> MutexGuard<'_, State<R, M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Requests are not dropped: r2r holds at most 10 of each service, and their senders wait.
    pub fn push_request(&self, request: R) {
        self.lock().requests.push_back(request);
        self.changed.notify_one();
    }

    /// Adds a message. A full queue drops its oldest message and counts it: what is newest is worth most.
    pub fn push_message(&self, message: M) {
        let mut state = self.lock();
        if state.messages.len() >= self.capacity {
            state.messages.pop_front();
            state.dropped += 1;
        }
        state.messages.push_back((Instant::now(), message));
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
            if let Some((received, message)) = state.messages.pop_front() {
                return Next::Message(received, message);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return Next::Idle;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many messages were dropped so far because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(queue: &Queue<char, u32>) -> Option<u32> {
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
        assert_eq!(queue.dropped(), 3);
    }

    #[test]
    fn requests_go_first_and_are_not_dropped() {
        let queue: Queue<char, u32> = Queue::new(1);
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
        let queue: Queue<char, u32> = Queue::new(4);
        let far = Instant::now() + Duration::from_secs(60);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| queue.next(far));
            queue.push_request('a');
            assert_eq!(reader.join().unwrap(), Next::Request('a'));
        });
    }
}
