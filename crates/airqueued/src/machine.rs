//! This machine: which run of it this is, and its clock.

use airqueue_control::journal::Run;
use airqueue_core::Time;
use nix::net::if_::if_indextoname;
use nix::sys::signal::{SigSet, Signal};
use nix::time::{ClockId, clock_gettime};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The run of the machine, and the network namespace of this process.
pub fn run() -> io::Result<Run> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    let namespace = fs::metadata("/proc/self/ns/net")?.ino();
    Ok(Run { boot, namespace })
}

/// Whether an interface of this network namespace has the number. nix takes the null pointer of a number that none has for a
/// name, an empty one.
pub fn has_interface(index: u32) -> bool {
    if_indextoname(index).is_ok_and(|name| !name.is_empty())
}

/// A terminal does not stop this process any more (Ctrl-Z): half-way it would hold the lock, and guards would wait for it.
pub fn not_to_be_stopped() {
    let signals: SigSet = [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU].into_iter().collect();
    // Cannot fail for signals that exist; without it the process is as any other.
    let _ = signals.thread_block();
}

/// Time since the machine started, sleep included: a deadline passes while a laptop sleeps, and nobody sets this clock.
pub fn now() -> Time {
    // The clock exists since Linux 2.6.39; a time after every deadline takes a plan back.
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Time::MAX, |time| {
        // Seconds have 32 bits on some machines.
        let nanos = Duration::from(time).as_nanos();
        Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    })
}
