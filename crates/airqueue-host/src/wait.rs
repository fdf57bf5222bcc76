//! Waiting for sockets, for an absolute time, or for another thread.

use crate::clock;
use crate::error::HostError;
use crate::socket::UdpPort;
use airqueue_core::Time;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Most sockets of one driver.
pub const MAX_PORTS: usize = 64;
const TIMER: u64 = 1 << 32;
const WAKE: u64 = TIMER + 1;

/// The sockets that are ready, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ready {
    readable: u64,
    failed: u64,
}

impl Ready {
    /// As if every socket had something to read.
    pub fn with_all_readable(mut self) -> Ready {
        self.readable = u64::MAX;
        self
    }

    /// Whether something arrived on socket `i`.
    pub fn readable(self, i: usize) -> bool {
        self.readable & (1 << i) != 0
    }

    /// Whether socket `i` has something in its error queue.
    pub fn failed(self, i: usize) -> bool {
        self.failed & (1 << i) != 0
    }
}

/// Wakes a driver from another thread.
#[derive(Debug)]
pub struct Waker(EventFd);

impl Waker {
    /// A waker that waits in no [`Waiter`]: its owner waits for the descriptor, readable once woken.
    pub(crate) fn new() -> Result<Waker, Errno> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        EventFd::from_value_and_flags(0, flags).map(Waker)
    }

    /// Forgets what woke it.
    pub(crate) fn clear(&self) {
        // Resets the counter; nothing else reads it.
        let _ = self.0.read();
    }

    /// Ends the present wait, or the next one.
    pub fn wake(&self) {
        // The only failure is a full counter: then the waiter is awake already.
        let _ = self.0.write(1);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// `epoll` over the sockets, a timer and a waker.
#[derive(Debug)]
pub struct Waiter {
    epoll: Epoll,
    timer: TimerFd,
    armed: Option<Time>,
    waker: Arc<Waker>,
}

impl Waiter {
    /// A waiter for these sockets or devices.
    pub fn new<P: AsFd>(ports: &[P]) -> Result<Waiter, HostError> {
        if ports.len() > MAX_PORTS {
            let text =
                format!("{} flows or devices are too many: give at most {MAX_PORTS}", ports.len());
            return Err(HostError::Request(text));
        }
        Self::assemble(ports)
            .map_err(|errno| HostError::system("make an event loop")(io::Error::from(errno)))
    }

    fn assemble<P: AsFd>(ports: &[P]) -> Result<Waiter, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let waker = Arc::new(Waker::new()?);
        for (i, port) in ports.iter().enumerate() {
            epoll.add(port, EpollEvent::new(EpollFlags::EPOLLIN, i as u64))?;
        }
        // Edge-triggered: arming the timer again clears it, so nobody has to read it.
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll.add(&timer, EpollEvent::new(edge, TIMER))?;
        epoll.add(&waker.0, EpollEvent::new(EpollFlags::EPOLLIN, WAKE))?;
        Ok(Waiter { epoll, timer, armed: None, waker })
    }

    /// A handle that ends the wait from another thread.
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// Whether arrivals on the sockets end a wait. Errors always do.
    pub fn listen(&mut self, ports: &[UdpPort], on: bool) -> Result<(), HostError> {
        let wanted = if on { EpollFlags::EPOLLIN } else { EpollFlags::empty() };
        for (i, port) in ports.iter().enumerate() {
            self.epoll
                .modify(port, &mut EpollEvent::new(wanted, i as u64))
                .map_err(|errno| HostError::system("wait for events")(io::Error::from(errno)))?;
        }
        Ok(())
    }

    /// Waits until a socket is ready, until `deadline`, or until woken.
    pub fn wait(&mut self, deadline: Option<Time>) -> Result<Ready, HostError> {
        self.wait_from(clock::monotonic(), deadline)
    }

    /// As [`Self::wait`], for a caller who has just read the clock.
    pub fn wait_from(&mut self, now: Time, deadline: Option<Time>) -> Result<Ready, HostError> {
        let due = deadline.is_some_and(|at| at <= now);
        if !due && self.armed != deadline {
            self.arm(deadline)
                .map_err(|errno| HostError::system("set a timer")(io::Error::from(errno)))?;
        }
        let timeout = if due { EpollTimeout::ZERO } else { EpollTimeout::NONE };
        let mut events = [EpollEvent::empty(); MAX_PORTS + 2];
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            // A process that was stopped and goes on: what came meanwhile came in this wait, not in the next one.
            Err(Errno::EINTR) => self.epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0),
            Err(errno) => {
                return Err(HostError::system("wait for events")(io::Error::from(errno)));
            }
        };
        Ok(self.sort(&events[..count]))
    }

    fn arm(&mut self, deadline: Option<Time>) -> Result<(), Errno> {
        self.armed = deadline;
        let Some(at) = deadline else { return self.timer.unset() };
        let expiration = Expiration::OneShot(TimeSpec::nanoseconds(at.as_nanos().max(1)));
        self.timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    fn sort(&mut self, events: &[EpollEvent]) -> Ready {
        let mut ready = Ready::default();
        for event in events {
            match event.data() {
                TIMER => self.armed = None,
                WAKE => self.waker.clear(),
                i => {
                    let bit = 1u64 << i;
                    if event.events().contains(EpollFlags::EPOLLERR) {
                        ready.failed |= bit;
                    }
                    if event.events().contains(EpollFlags::EPOLLIN) {
                        ready.readable |= bit;
                    }
                }
            }
        }
        ready
    }
}

/// Asks for the lowest real-time priority for the calling thread; false where that is not permitted
/// (it needs CAP_SYS_NICE or RLIMIT_RTPRIO).
///
/// A driver's thread sleeps until an absolute time and then has microseconds of work. Among ordinary
/// threads it is woken up to milliseconds late when the other processors are busy; with this it is
/// not. The kernel's own limit (`sched_rt_runtime_us`) leaves the machine usable in a flood.
pub fn prefer_this_thread() -> bool {
    // nix does not wrap this call.
    // SAFETY: one plain structure of integers, of which musl has more than glibc, alive for the call; 0 is the calling
    // thread.
    unsafe {
        let mut lowest: libc::sched_param = std::mem::zeroed();
        lowest.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const lowest)
            == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Span;

    #[test]
    fn a_deadline_ends_the_wait_in_time() {
        let mut waiter = Waiter::new::<UdpPort>(&[]).unwrap();
        for ms in [3, 1, 2] {
            let at = clock::monotonic() + Span::from_millis(ms);
            waiter.wait(Some(at)).unwrap();
            assert!(clock::monotonic() >= at);
        }
        waiter.wait(Some(Time::ZERO)).unwrap();
    }

    #[test]
    fn a_waker_ends_the_wait_even_if_it_came_first() {
        let mut waiter = Waiter::new::<UdpPort>(&[]).unwrap();
        let waker = waiter.waker();
        waker.wake();
        waiter.wait(None).unwrap();
        let other = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            waker.wake();
        });
        waiter.wait(None).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn an_arrival_is_reported_for_its_socket() {
        let open = || UdpPort::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let ports = [open(), open()];
        let mut waiter = Waiter::new(&ports).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"x", ports[1].local_address()).unwrap();
        let ready = waiter.wait(None).unwrap();
        assert!(ready.readable(1) && !ready.readable(0) && !ready.failed(1));
    }
}
