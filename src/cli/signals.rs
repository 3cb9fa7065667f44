//! Ctrl-C and its like: what was begun and is not finished goes, what was there before stays.

use lienav_io::files::remove_temporaries;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGXFSZ: a file has become longer than the shell allows. Linux gives it this number on all machines but MIPS.
const FILE_TOO_LONG: i32 = 25;

/// From here on, SIGINT, SIGTERM and SIGHUP remove unfinished files and folders, and end the process as they usually
/// do: with 128 and their number as exit code. Where there is no thread for that, they end it at once. A file that
/// becomes longer than the shell allows (`ulimit -f`) is an error of writing from here on, and ends nothing.
pub(super) fn end_cleanly() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let handlers = {
        let _inside = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        // Once it is handled, a signal no longer ends the process; the handler stays when this is dropped.
        let _handled = signal(SignalKind::from_raw(FILE_TOO_LONG));
        kinds.map(|kind| signal(kind).map(|handler| (kind.as_raw_value(), handler)))
    };
    let [Ok(interrupt), Ok(terminate), Ok(hangup)] = handlers else { return };
    // Not joined: it sleeps until a signal comes.
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let number = runtime.block_on(async {
            tokio::select! {
                number = next(interrupt) => number,
                number = next(terminate) => number,
                number = next(hangup) => number,
            }
        });
        remove_temporaries();
        std::process::exit(128 + number);
    });
}

async fn next((number, mut handler): (i32, Signal)) -> i32 {
    handler.recv().await;
    number
}
