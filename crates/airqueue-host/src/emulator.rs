//! The wall-clock loop of an emulation: packets of the nodes' devices through the network of a scenario.
//!
//! The network's time is the wall clock's time since the start, plus the warm-up. A packet enters the network at the time
//! at which it is read, and is written as soon as possible after the time at which it leaves the network. Lateness does
//! not accumulate: a late write changes no time in the network.

use crate::clock::{ClockSample, monotonic};
use crate::error::HostError;
use crate::packet_device::PacketDevice;
use crate::ports::{Log, Ports};
use crate::senders::Senders;
use crate::wait::{Ready, Waiter, Waker, prefer_this_thread};
use airqueue_core::{Span, Time};
use airqueue_emulator::offload::Segments;
use airqueue_emulator::{Departure, Emulation, Lateness, Refusal, Token};
use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most packets read from a device before packets that are due are written.
const BATCH: usize = 64;
/// Larger than any packet that a device passes on, with offload too.
const BUFFER_BYTES: usize = 70_000;
/// A wait that takes no longer was no sleep.
const INSTANT: Span = Span::from_micros(10);
/// How often the loop reports the duration and its CPU time.
const ACCOUNT_EVERY: Span = Span::from_millis(10);
/// How long the loop gives way to another thread that wants the state.
const GIVE_WAY: Duration = Duration::from_micros(20);
/// Longest sleep of the loop, whose reports are then never much older.
const LONGEST_SLEEP: Span = Span::from_millis(100);

/// An emulation and its devices. All methods may be called from any thread.
#[derive(Debug)]
pub struct Emulator {
    state: Mutex<State>,
    /// Threads that want the state.
    wanted: AtomicU32,
    started: AtomicBool,
    stopped: AtomicBool,
    waker: Mutex<Option<Arc<Waker>>>,
}

/// The network, and what the loop has measured of itself.
#[derive(Debug)]
pub struct State {
    /// The network of the real nodes.
    pub emulation: Emulation,
    devices: Vec<Option<Arc<PacketDevice>>>,
    /// Of nodes whose packets count against their sockets while the node's station has them: where the packets come from.
    queues: Vec<Option<OwnedFd>>,
    /// How late packets were written.
    pub lateness: Lateness,
    /// How long packets may have waited to be read, at most, as far as the loop can know.
    pub read_lateness: Lateness,
    /// Packets that a device did not take.
    pub unwritten: u64,
    /// Wall-clock time since the end of the warm-up; zero before it has ended.
    pub elapsed: Span,
    /// When the loop ended, on the wall clock.
    pub(crate) ended: Option<Time>,
    /// CPU time of the loop in this time.
    pub cpu: Span,
    /// Whether the loop has a real-time priority.
    pub priority: bool,
    /// Network time minus wall-clock time, once the network follows the wall clock.
    pub(crate) offset: Option<Span>,
}

impl Emulator {
    /// An emulation at time zero, without devices.
    pub fn new(emulation: Emulation) -> Emulator {
        let devices = emulation.nodes().iter().map(|_| None).collect();
        let queues = emulation.nodes().iter().map(|_| None).collect();
        let state = State {
            emulation,
            devices,
            queues,
            lateness: Lateness::default(),
            read_lateness: Lateness::default(),
            unwritten: 0,
            elapsed: Span::ZERO,
            ended: None,
            cpu: Span::ZERO,
            priority: false,
            offset: None,
        };
        Emulator {
            state: Mutex::new(state),
            wanted: AtomicU32::new(0),
            started: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    /// Connects a node to a device, and gives the node the addresses of the device. `merges` is that of [`PacketDevice::new`].
    pub fn attach(
        &self,
        node: &str,
        (device, merges): (BorrowedFd<'_>, bool),
        addresses: &[IpAddr],
    ) -> Result<(), HostError> {
        let copy = device.try_clone_to_owned().map_err(HostError::system("use a device"))?;
        let device = Arc::new(PacketDevice::new(copy, merges)?);
        self.with(|state| {
            let at = state.find(node)?;
            state.devices[at] = Some(device);
            for &address in addresses {
                state.emulation.set_address(at, address);
            }
            Ok(())
        })
    }

    /// Makes a node the gateway ([`Emulation::set_gateway`]).
    pub fn set_gateway(&self, node: &str) -> Result<(), HostError> {
        self.with(|state| {
            let at = state.find(node)?;
            state.emulation.set_gateway(at);
            Ok(())
        })
    }

    /// Takes what a node sends from a queue of [`packet_queue`](crate::packet_queue) too: packets from there count against
    /// the sockets of the node's programs as long as the node's station has the packets. Packets that are larger than
    /// the network's go on to the node's device, in fragments.
    pub fn attach_queue(&self, node: &str, queue: BorrowedFd<'_>) -> Result<(), HostError> {
        let copy = queue.try_clone_to_owned().map_err(HostError::system("keep packets"))?;
        self.with(|state| {
            let at = state.find(node)?;
            state.queues[at] = Some(copy);
            Ok(())
        })
    }

    /// Calls `work` with the present state; a running loop waits meanwhile.
    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        self.wanted.fetch_add(1, Ordering::Relaxed);
        let result = work(&mut self.lock());
        self.wanted.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until other threads have had the state: the lock alone would go back to the thread that has just released
    /// the lock.
    fn give_way(&self) {
        while self.wanted.load(Ordering::Relaxed) > 0 {
            std::thread::sleep(GIVE_WAY);
        }
    }

    /// Whether the warm-up of [`Self::run`] is over, and the network follows the wall clock.
    pub fn started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Ends [`Self::run`] at once, also a run that has not begun.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Ends a sleep of [`Self::run`].
    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }

    /// Simulates the warm-up, and then follows the wall clock until [`Self::stop`], or for `duration`. With `priority`
    /// the calling thread asks for a real-time priority.
    pub fn run(&self, duration: Option<Span>, priority: bool) -> Result<(), HostError> {
        let ports = Ports::new(self.devices()?);
        let queues = self.queues()?;
        let kept = queues.iter().map(|(.., queue)| queue.as_fd());
        let waiter = Waiter::new(&ports.descriptors().chain(kept).collect::<Vec<_>>())?;
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiter.waker());
        let Some(warm_up) = self.warm_up() else { return Ok(()) };
        self.with(|state| state.priority = priority && prefer_this_thread());
        let began = monotonic();
        let end = duration.map_or(Time::MAX, |duration| began + duration);
        let offset = warm_up - (began - Time::ZERO);
        let wall = Span::from_nanos(ClockSample::take().offset_ns);
        self.with(|state| {
            state.emulation.set_capture_zero(wall - offset);
            state.offset = Some(offset);
        });
        self.started.store(true, Ordering::Relaxed);
        let began_cpu = cpu_time();
        let senders = queues.iter().map(|(node, mtu, queue)| Senders::new(*node, *mtu, queue));
        let senders = senders.collect();
        let emulator = self;
        Loop { emulator, ports, senders, waiter, offset, end, began, began_cpu, now: began }.run()
    }

    /// For each node the packets that [`PacketDevice::dropped`] counts.
    pub fn device_drops(&self) -> Vec<u64> {
        let dropped = |of: &Option<Arc<PacketDevice>>| of.as_ref().map_or(0, |of| of.dropped());
        self.with(|state| state.devices.iter().map(dropped).collect())
    }

    fn devices(&self) -> Result<Vec<Arc<PacketDevice>>, HostError> {
        self.with(|state| {
            let nodes = state.emulation.nodes().iter().zip(&state.devices);
            let copies = nodes.map(|(node, device)| {
                device.clone().ok_or_else(|| {
                    HostError::Request(format!("the node {:?} has no device", node.name))
                })
            });
            copies.collect()
        })
    }

    /// The nodes that have a queue, the MTU of their devices, and the queues.
    fn queues(&self) -> Result<Vec<(usize, u32, OwnedFd)>, HostError> {
        self.with(|state| {
            let nodes = state.emulation.nodes().iter().zip(&state.queues).enumerate();
            let mut kept = Vec::new();
            for (at, (node, queue)) in nodes {
                if let Some(queue) = queue {
                    let queue = queue.try_clone().map_err(HostError::system("keep packets"))?;
                    kept.push((at, node.mtu_bytes, queue));
                }
            }
            Ok(kept)
        })
    }

    /// Simulates the warm-up, and returns its duration; `None` if it was stopped.
    fn warm_up(&self) -> Option<Span> {
        let warm_up = self.with(|state| state.emulation.warm_up());
        let until = Time::ZERO + warm_up;
        let part =
            |state: &mut State| (0..10_000).all(|_| state.emulation.step(until, &mut |_| {}));
        while self.with(part) {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            self.give_way();
        }
        Some(warm_up)
    }
}

impl State {
    /// The index of a real node.
    fn find(&self, node: &str) -> Result<usize, HostError> {
        self.emulation.nodes().iter().position(|of| of.name == node).ok_or_else(|| {
            HostError::Request(format!("there is no real node {node:?} in the scenario"))
        })
    }
}

/// A run on the wall clock. On the virtual clock of user-mode Linux the loop spends most of its time in system calls, and
/// therefore reads the clock as rarely as possible.
struct Loop<'a> {
    emulator: &'a Emulator,
    ports: Ports,
    /// Of nodes whose packets the kernel keeps.
    senders: Vec<Senders<'a>>,
    waiter: Waiter,
    /// Network time minus wall-clock time.
    offset: Span,
    end: Time,
    began: Time,
    began_cpu: Span,
    /// The latest reading of the clock.
    now: Time,
}

impl Loop<'_> {
    fn run(mut self) -> Result<(), HostError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut looked = self.began;
        let mut accounted = self.began;
        loop {
            let due = self.emulator.lock().emulation.next_at().map(|at| at - self.offset);
            let sleeps = self.now;
            let wakes = due.unwrap_or(Time::MAX).min(sleeps + LONGEST_SLEEP).min(self.end);
            let ready = self.waiter.wait_from(sleeps, Some(wakes))?;
            self.now = monotonic();
            // A packet ends a sleep when it comes; a packet that was there already may have come since the last look.
            // A sleep that lasted too long hides when its packets came.
            let since = if self.now - sleeps > INSTANT { self.now.min(wakes) } else { looked };
            looked = self.now;
            let mut state = self.emulator.lock();
            // Packets that the kernel could not keep come from the device, and are younger than those it keeps.
            self.read_kept(&mut state, ready, since, &mut buffer)?;
            self.read(&mut state, ready, since, &mut buffer)?;
            let reached = self.advance(&mut state);
            self.let_go(&mut state)?;
            let ends = self.now >= self.end || self.emulator.stopped.load(Ordering::Relaxed);
            if ends || self.now - accounted > ACCOUNT_EVERY {
                accounted = self.now;
                (state.elapsed, state.cpu) = (self.now - self.began, cpu_time() - self.began_cpu);
                // In an idle network time passes, too.
                state.emulation.pass_to(reached);
                state.emulation.write_captures(self.now + self.offset);
            }
            if ends {
                state.ended = Some(self.now);
                state.emulation.finish_captures();
            }
            drop(state);
            if ends {
                return Ok(());
            }
            self.emulator.give_way();
        }
    }

    /// Reads packets that have come since a time, and offers each packet at the time at which it is read.
    fn read(
        &mut self,
        state: &mut State,
        ready: Ready,
        since: Time,
        buffer: &mut [u8],
    ) -> Result<(), HostError> {
        // Reading is how the loop learns why a device has failed.
        let ready = |&at: &usize| ready.readable(at) || ready.failed(at);
        for node in (0..self.ports.len()).filter(ready) {
            let mut left = BATCH;
            while left > 0 {
                let size = match self.ports.read(node, buffer) {
                    Ok(size) => size,
                    Err(Errno::EAGAIN | Errno::EINTR) => break,
                    Err(errno) => {
                        return Err(HostError::system("read a node's device")(errno.into()));
                    }
                };
                let packets = match self.ports.packets(node, &mut buffer[..size]) {
                    Some(packets) => self.offer_all(state, since, node, packets),
                    None => {
                        let now = self.reach_now(state);
                        let bytes = self.ports.packet(node, &buffer[..size]);
                        state.emulation.refuse(node, bytes, now);
                        1
                    }
                };
                left = left.saturating_sub(packets);
            }
        }
        Ok(())
    }

    /// Offers the packets of one read, all of them now, and returns how many there were.
    fn offer_all(
        &mut self,
        state: &mut State,
        since: Time,
        node: usize,
        mut packets: Segments<'_>,
    ) -> usize {
        let mut count = 0;
        let now = self.reach_now(state);
        while let Some(packet) = packets.next_packet() {
            count += 1;
            let senders = self.senders.iter_mut().find(|of| of.node == node);
            if !senders.is_some_and(|of| of.returns(packet)) {
                // A refused packet is counted there.
                let _ = self.offer(state, since, (node, packet), None, now);
            }
        }
        self.flush_before_next(state);
        count
    }

    /// Handles all events up to now, and returns the network's time.
    fn reach_now(&mut self, state: &mut State) -> Time {
        self.now = monotonic();
        let now = self.now + self.offset;
        self.step_to(state, now);
        now
    }

    /// Offers a packet of a node that has come since a time; the kernel keeps the packet if there is a token.
    fn offer(
        &mut self,
        state: &mut State,
        since: Time,
        (node, bytes): (usize, &[u8]),
        token: Option<u32>,
        now: Time,
    ) -> Result<(), Refusal> {
        let State { emulation, lateness, unwritten, read_lateness, .. } = state;
        read_lateness.add(now - self.offset - since);
        let Loop { ports, offset, now: at, .. } = self;
        let mut log = Log { lateness, unwritten, offset: *offset, now: at };
        let mut pass_on = |of: Departure<'_>| ports.write(&of, &mut log);
        emulation.arrive_held(node, bytes, token, now, &mut pass_on)
    }

    /// As [`Self::read`], of packets that the kernel keeps.
    fn read_kept(
        &mut self,
        state: &mut State,
        ready: Ready,
        since: Time,
        buffer: &mut [u8],
    ) -> Result<(), HostError> {
        let failed = |errno: Errno| HostError::system("read kept packets")(errno.into());
        for at in 0..self.senders.len() {
            if !ready.readable(self.ports.len() + at) {
                continue;
            }
            let node = self.senders[at].node;
            while let Some((token, bytes)) = self.senders[at].read(buffer).map_err(failed)? {
                let now = self.reach_now(state);
                if self.offer(state, since, (node, bytes), Some(token), now).is_err() {
                    self.senders[at].let_go(token).map_err(failed)?;
                }
                self.flush_before_next(state);
            }
        }
        Ok(())
    }

    /// Lets the kernel have the packets that the stations of their senders no longer have.
    fn let_go(&mut self, state: &mut State) -> Result<(), HostError> {
        let failed = |errno: Errno| HostError::system("let kept packets go")(errno.into());
        for Token { node, id } in state.emulation.released() {
            let senders = self.senders.iter_mut().find(|of| of.node == node);
            senders.expect("tokens are of kept packets").let_go(id).map_err(failed)?;
        }
        self.senders.iter_mut().try_for_each(Senders::flush).map_err(failed)
    }

    /// Handles the events that are due, and writes the packets that leave the network; returns up to which time.
    fn advance(&mut self, state: &mut State) -> Time {
        let now = self.now.min(self.end) + self.offset;
        self.step_to(state, now);
        self.flush_before(state, None);
        now
    }

    /// Handles events up to a time of the network. Packets that leave the network at one instant are written when this
    /// instant is over.
    fn step_to(&mut self, state: &mut State, until: Time) {
        let State { emulation, lateness, unwritten, .. } = state;
        let Loop { ports, offset, now, .. } = self;
        let mut log = Log { lateness, unwritten, offset: *offset, now };
        while emulation.step(until, &mut |of: Departure<'_>| ports.write(&of, &mut log)) {
            if ports.waits() {
                ports.flush_before(emulation.next_at(), &mut log);
            }
        }
    }

    fn flush_before_next(&mut self, state: &mut State) {
        if self.ports.waits() {
            let next = state.emulation.next_at();
            self.flush_before(state, next);
        }
    }

    fn flush_before(&mut self, state: &mut State, next: Option<Time>) {
        let State { lateness, unwritten, .. } = state;
        let Loop { ports, offset, now, .. } = self;
        let mut log = Log { lateness, unwritten, offset: *offset, now };
        ports.flush_before(next, &mut log);
    }
}

/// CPU time of the calling thread.
fn cpu_time() -> Span {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("Linux always counts this");
    Span::from_nanos((usage.user_time() + usage.system_time()).num_nanoseconds())
}
