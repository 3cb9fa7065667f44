//! Work that is done beside the filter, whose result is taken in force a fixed number of scans later, whenever it was
//! done: what comes out depends on the input alone.

use std::thread::{JoinHandle, spawn};

/// Where work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Worker {
    /// In place, when the result is due: for evaluation.
    #[default]
    InPlace,
    /// In a thread of its own, so that the filter does not wait: for a robot.
    Thread,
}

/// Work that was begun.
pub enum Job<T> {
    /// It is done when it is due.
    Waiting(Box<dyn FnOnce() -> T + Send>),
    /// It is being done.
    Running(JoinHandle<T>),
}

impl<T: Send + 'static> Job<T> {
    /// Begins it.
    pub fn new(worker: Worker, work: impl FnOnce() -> T + Send + 'static) -> Self {
        match worker {
            Worker::InPlace => Self::Waiting(Box::new(work)),
            Worker::Thread => Self::Running(spawn(work)),
        }
    }

    /// The result; `None` if the work came to no end.
    pub fn take(self) -> Option<T> {
        match self {
            Self::Waiting(work) => Some(work()),
            Self::Running(thread) => thread.join().ok(),
        }
    }
}
