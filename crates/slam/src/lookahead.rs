//! The motion along the odometry that waits, from the first message to the newest, in time that does not depend on how
//! many wait.
//!
//! Increments compose associatively, but a composition cannot be undone: so the oldest is not taken off the whole, as
//! messages are used up, but two stacks are kept, as for a queue made of stacks. Each element knows the composition
//! from itself to where the stacks meet, and the whole is the composition of the two tops. When the front is empty,
//! the back is turned over, so that each increment is composed three times in its life. What waits may also change at
//! its end (a message that came out of order, an inertial sample that belongs to an earlier interval): the elements
//! concerned are taken off and put on again.

use lienav_planar::calibration::MOTION;
use lienav_planar::motion::Increment;
use serde::{Deserialize, Serialize};

/// One increment, and the composition of all between it and where the stacks meet, with it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Element {
    own: Increment,
    whole: Increment,
}

/// A queue of increments that knows their composition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LookAhead {
    /// The oldest is last; each whole ends with the first.
    front: Vec<Element>,
    /// The newest is last; each whole begins with the first.
    back: Vec<Element>,
    /// The calibration the increments were made with.
    calibration: [f64; MOTION],
}

impl LookAhead {
    /// How many increments there are.
    pub fn len(&self) -> usize {
        self.front.len() + self.back.len()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.front.clear();
        self.back.clear();
    }

    /// Removes all where calibration has changed since they were made.
    pub fn recalibrate(&mut self, calibration: [f64; MOTION]) {
        if self.calibration != calibration {
            self.calibration = calibration;
            self.clear();
        }
    }

    /// Adds the newest.
    pub fn push(&mut self, own: Increment) {
        let whole = self.back.last().map_or(own, |last| compose(&last.whole, &own));
        self.back.push(Element { own, whole });
    }

    /// Removes the `count` oldest, or all where there are fewer.
    pub fn pop_front(&mut self, count: usize) {
        let in_front = count.min(self.front.len());
        self.front.truncate(self.front.len() - in_front);
        let in_back = (count - in_front).min(self.back.len());
        if in_back == 0 {
            return;
        }
        for element in self.back.drain(in_back..).rev() {
            put_before(&mut self.front, element.own);
        }
        self.back.clear();
    }

    /// Keeps the `length` oldest.
    pub fn truncate(&mut self, length: usize) {
        if length >= self.front.len() {
            self.back.truncate(length - self.front.len());
            return;
        }
        // The newest of the front go, with which all of its wholes end. Both stacks get a half, so that neither end is
        // near.
        let (kept, newer) = (self.front.len() - length, length / 2);
        self.back.clear();
        for k in (kept..kept + newer).rev() {
            self.push(self.front[k].own);
        }
        self.front.drain(..kept + newer);
        let mut whole = None;
        for element in &mut self.front {
            element.whole = whole.map_or(element.own, |later| compose(&element.own, &later));
            whole = Some(element.whole);
        }
    }

    /// `first`, and then all.
    pub fn after(&self, first: Increment) -> Increment {
        let tops = [self.front.last(), self.back.last()];
        tops.into_iter().flatten().fold(first, |so_far, top| compose(&so_far, &top.whole))
    }
}

/// Puts the next older increment onto the front.
fn put_before(front: &mut Vec<Element>, own: Increment) {
    let whole = front.last().map_or(own, |later| compose(&own, &later.whole));
    front.push(Element { own, whole });
}

fn compose(one: &Increment, other: &Increment) -> Increment {
    #[cfg(test)]
    tests::COMPOSITIONS.with(|count| count.set(count.get() + 1));
    one.then(other)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use lienav_lie::Se2;
    use nalgebra::Matrix3;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::VecDeque;

    thread_local! {
        /// Compositions so far on this thread.
        pub static COMPOSITIONS: Cell<u64> = const { Cell::new(0) };
    }

    fn increment(x: f64) -> Increment {
        Increment { motion: Se2::new(x, 0.3 * x, 0.1 + x), covariance: Matrix3::identity() * (0.1 + x), drift: None }
    }

    #[derive(Clone, Debug)]
    enum Change {
        Push(f64),
        PopFront(usize),
        Truncate(usize),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            6 => (0.0..0.1f64).prop_map(Change::Push),
            2 => (0..6usize).prop_map(Change::PopFront),
            1 => (0..60usize).prop_map(Change::Truncate),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(5),
            ..ProptestConfig::with_cases(200)
        })]
        #[test]
        fn it_is_the_composition_of_what_a_queue_holds(changes in prop::collection::vec(change(), 1..200)) {
            let (mut ahead, mut queue) = (LookAhead::default(), VecDeque::new());
            for change in changes {
                match change {
                    Change::Push(x) => {
                        ahead.push(increment(x));
                        queue.push_back(increment(x));
                    }
                    Change::PopFront(count) => {
                        ahead.pop_front(count);
                        queue.drain(..count.min(queue.len()));
                    }
                    Change::Truncate(length) => {
                        ahead.truncate(length);
                        queue.truncate(length);
                    }
                }
                let first = increment(0.05);
                let expected = queue.iter().fold(first, |whole, next| whole.then(next));
                let found = ahead.after(first);
                prop_assert_eq!(ahead.len(), queue.len());
                prop_assert!((found.motion.p - expected.motion.p).norm() < 1e-12);
                prop_assert!((found.motion.theta - expected.motion.theta).sin().abs() < 1e-12);
                prop_assert!((found.covariance - expected.covariance).amax() < 1e-11 * expected.covariance.amax());
            }
        }
    }

    #[test]
    fn the_cost_of_a_queue_that_moves_on_does_not_depend_on_its_length() {
        for length in [1usize, 10, 200, 2000] {
            let mut ahead = LookAhead::default();
            (0..length).for_each(|_| ahead.push(increment(0.01)));
            let before = COMPOSITIONS.get();
            for _ in 0..10_000 {
                // A sample that comes late takes the newest three off now and then.
                ahead.truncate(length.saturating_sub(3));
                while ahead.len() <= length {
                    ahead.push(increment(0.01));
                }
                ahead.pop_front(1);
                ahead.after(increment(0.01));
            }
            let each = (COMPOSITIONS.get() - before) as f64 / 1e4;
            assert!(each < 10.0, "{length}: {each} a message, four of them of the newest");
        }
    }
}
