//! Long work: on a thread of its own, without the interpreter's lock, while the caller listens for Ctrl-C.

use crate::errors::failed;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

/// How long Ctrl-C waits at most until it is noticed.
const LISTEN_EVERY: Duration = Duration::from_millis(20);

/// Whether the work is still wanted.
#[derive(Clone, Default)]
pub struct Wanted(Arc<AtomicBool>);

impl Wanted {
    /// False after Ctrl-C.
    pub fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Does `work` on a thread of its own. After Ctrl-C, or whatever else a signal handler raises, it is told to stop and
/// not waited for.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> PyResult<T> {
    let wanted = Wanted::default();
    let (sender, receiver) = channel();
    let told = wanted.clone();
    let thread = Builder::new().name("lienav".into()).spawn(move || {
        // The caller may have gone.
        let _ = sender.send(work(&told));
    });
    thread.map_err(|error| failed(format!("no thread can be started: {error}")))?;
    let receiver = std::sync::Mutex::new(receiver);
    loop {
        let received = py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(LISTEN_EVERY),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("internal error: the work has ended without a result; please report it"));
            }
        }
        if let Err(raised) = py.check_signals() {
            wanted.0.store(true, Ordering::Relaxed);
            return Err(raised);
        }
    }
}
