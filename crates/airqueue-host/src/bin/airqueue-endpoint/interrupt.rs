//! Ctrl-C as a flag.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM set a flag; a second one ends the program at once.
pub(crate) fn listen() {
    let once = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESETHAND, SigSet::empty());
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
    unsafe {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            // Cannot fail for these signals; without the handler Ctrl-C would end the program.
            let _ = sigaction(signal, &once);
        }
        // A file beyond the size limit is then an error like a full disk, not the end.
        let _ = sigaction(Signal::SIGXFSZ, &ignore);
    }
}

/// Whether the user wants to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
