//! The end of a process: SIGINT, SIGTERM, or its work being done.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// A request to end, shared by all threads of a process. Once made, it stays.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// A request that is made when the process gets SIGINT or SIGTERM. r2r installs no handlers of its own; a second
    /// signal changes nothing.
    ///
    /// # Errors
    /// The operating system gives no thread or no signal handler.
    pub fn on_signals() -> std::io::Result<Self> {
        let stop = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut interrupt, mut terminate) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let told = stop.clone();
        // Not joined: it sleeps until a signal comes, and a process that has nothing left to do need not wait for one.
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
            });
            told.request();
            // Kept alive so that later signals are swallowed while the threads are joined.
            std::mem::forget((interrupt, terminate));
        })?;
        Ok(stop)
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks all threads to end.
    pub fn request(&self) {
        *self.lock() = true;
        self.0.changed.notify_all();
    }

    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        *self.lock()
    }

    /// Sleeps until `deadline`, or until the end is asked for: then at once, and true is returned.
    pub fn sleep_until(&self, deadline: Instant) -> bool {
        let mut requested = self.lock();
        while !*requested {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            requested = self.0.changed.wait_timeout(requested, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *requested
    }

    /// Sleeps for `duration`, or until the end is asked for: then at once, and true is returned.
    pub fn sleep(&self, duration: Duration) -> bool {
        self.sleep_until(Instant::now() + duration)
    }

    /// Makes the request when dropped: a thread that holds this takes the others along, whatever it ends of.
    pub fn when_dropped(&self) -> impl Drop + use<> {
        struct Guard(Stop);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.request();
            }
        }
        Guard(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeper_wakes_when_the_end_is_asked_for() {
        let stop = Stop::default();
        let sleeper = std::thread::spawn({
            let stop = stop.clone();
            move || stop.sleep(Duration::from_secs(60))
        });
        stop.request();
        assert!(sleeper.join().unwrap());
        assert!(stop.is_requested());
    }

    #[test]
    fn a_thread_that_ends_takes_the_others_along() {
        let stop = Stop::default();
        let guard = stop.when_dropped();
        assert!(!stop.is_requested());
        drop(guard);
        assert!(stop.is_requested());
    }
}
