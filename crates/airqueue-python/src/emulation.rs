//! `Emulation`: packets of real programs in the network of a scenario, on the wall clock.

use crate::convert;
use crate::dicts::{EmulationDict, LossDict, Named, OpportunitiesDict, PairDict, RefusedDict};
use crate::error;
use crate::live::{Names, PyMoment, below};
use crate::scenario::{opportunities, refused, wrong};
use airqueue_core::{PacketCount, Seed, Time};
use airqueue_emulator::{Loss, Losses, PairCounters};
use airqueue_host::background::BackgroundFile;
use airqueue_host::emulator::{Emulator, State};
use airqueue_host::error::words;
use airqueue_host::{packet_queue, tun, veth};
use airqueue_scenario::Scenario;
use airqueue_scenario::emulated::Emulated;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, IntoRawFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

/// Creates a TUN device in a network namespace, and returns the descriptor, which belongs to the caller. The kernel leaves
/// checksums to the reader, and segments too with `offload`.
#[pyfunction]
pub(crate) fn open_tun(
    py: Python<'_>,
    namespace: PathBuf,
    name: &str,
    offload: bool,
) -> PyResult<RawFd> {
    py.detach(|| tun::create(Some(&namespace), name, offload))
        .map(IntoRawFd::into_raw_fd)
        .map_err(error)
}

/// Prepares a veth pair, and returns a descriptor of the emulator's end, which belongs to the caller.
#[pyfunction]
pub(crate) fn open_veth(
    py: Python<'_>,
    namespace: PathBuf,
    name: &str,
    emulator: (PathBuf, String),
) -> PyResult<RawFd> {
    py.detach(|| veth::open((&namespace, name), (&emulator.0, &emulator.1)))
        .map(IntoRawFd::into_raw_fd)
        .map_err(error)
}

/// Opens a queue in which the kernel keeps up to `most` packets of a network namespace, and returns the descriptor, which
/// belongs to the caller, and the number of the queue.
#[pyfunction]
pub(crate) fn open_packet_queue(
    py: Python<'_>,
    namespace: PathBuf,
    most: u32,
) -> PyResult<(RawFd, u16)> {
    let queue = py.detach(|| packet_queue::open(Some(&namespace), most)).map_err(error)?;
    Ok((queue.into_raw_fd(), packet_queue::NUMBER))
}

/// Lateness is counted below the powers of two from 2^13 ns (8 µs) to 2^30 ns (1.07 s).
const LATENESS_POWERS: (u32, u32) = (13, 30);

/// A scenario with real nodes.
#[pyclass(name = "Emulation", module = "airqueue._native", frozen)]
pub(crate) struct PyEmulation(Box<Emulator>, Described);

/// What the emulation emulates.
struct Described {
    emulated: Emulated,
    names: Arc<Names>,
}

#[pymethods]
impl PyEmulation {
    #[new]
    fn new(py: Python<'_>, json: &str, real: Vec<String>, seed: u64) -> PyResult<Self> {
        let start = || {
            let emulated = Scenario::emulated(json, &real)?;
            let emulator = Emulator::new(airqueue_emulator::Emulation::new(&emulated, Seed(seed))?);
            let names = Arc::new(Names::new(&emulated));
            Ok(PyEmulation(Box::new(emulator), Described { emulated, names }))
        };
        py.detach(start).map_err(wrong)
    }

    /// The real nodes, each with whether the node is a wired host.
    #[getter]
    fn nodes(&self) -> Vec<(String, bool)> {
        let of_each = |state: &mut State| {
            state.emulation.nodes().iter().map(|node| (node.name.clone(), node.wired)).collect()
        };
        self.0.with(of_each)
    }

    /// The largest packets of each real node's device, in bytes.
    #[getter]
    fn mtus(&self) -> Vec<u32> {
        let mtus =
            |state: &mut State| state.emulation.nodes().iter().map(|node| node.mtu_bytes).collect();
        self.0.with(mtus)
    }

    /// Names of the routers between real nodes that are not real themselves.
    #[getter]
    fn routers(&self) -> Vec<String> {
        self.0.with(|state| state.emulation.routers().to_vec())
    }

    /// Gives a router that is not real its addresses.
    fn set_router(&self, name: &str, addresses: Vec<String>) -> PyResult<()> {
        let addresses = parse(&addresses)?;
        self.0.with(|state| {
            let found = state.emulation.routers().iter().position(|router| router == name);
            let found = found.ok_or_else(|| error(format!("there is no router {name:?}")))?;
            let place = state.emulation.nodes().len() + found;
            addresses.into_iter().for_each(|own| state.emulation.set_address(place, own));
            Ok(())
        })
    }

    /// Says that the addresses with this prefix are those of the network.
    fn add_prefix(&self, network: &str, length: u8) -> PyResult<()> {
        let [network] = parse(&[network.to_owned()])?[..] else { unreachable!("one for one") };
        self.0.with(|state| state.emulation.add_prefix(network, length));
        Ok(())
    }

    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.0.with(|state| state.emulation.warm_up().as_secs_f64())
    }

    /// Connects a node to a device with these addresses. The descriptor is duplicated. `merges`: segments that leave the
    /// network at one instant are written to a TUN device as one packet.
    fn attach(
        &self,
        node: &str,
        device: RawFd,
        addresses: Vec<String>,
        merges: bool,
    ) -> PyResult<()> {
        let addresses = parse(&addresses)?;
        if device < 0 {
            return Err(error(format!("{device} is not a descriptor")));
        }
        // SAFETY: the descriptor is only borrowed while the caller, who owns it, waits.
        let device = unsafe { BorrowedFd::borrow_raw(device) };
        self.0.attach(node, (device, merges), &addresses).map_err(error)
    }

    /// Makes a node the gateway.
    fn set_gateway(&self, node: &str) -> PyResult<()> {
        self.0.set_gateway(node).map_err(error)
    }

    /// For each node packets that were not read in time, beyond those that the device itself counts.
    fn device_drops(&self, py: Python<'_>) -> BTreeMap<String, u64> {
        let dropped = py.detach(|| self.0.device_drops());
        self.nodes().into_iter().map(|(name, _)| name).zip(dropped).collect()
    }

    /// Takes packets of a node from a queue of `open_packet_queue` too. The descriptor is duplicated.
    fn attach_queue(&self, node: &str, queue: RawFd) -> PyResult<()> {
        if queue < 0 {
            return Err(error(format!("{queue} is not a descriptor")));
        }
        // SAFETY: the descriptor is only borrowed while the caller, who owns it, waits.
        let queue = unsafe { BorrowedFd::borrow_raw(queue) };
        self.0.attach_queue(node, queue).map_err(error)
    }

    /// Captures what a node sends and receives in a file, which is made now.
    fn capture(&self, py: Python<'_>, node: &str, path: PathBuf) -> PyResult<()> {
        let at = self.0.with(|state| state.emulation.nodes().iter().position(|of| of.name == node));
        let at = at.ok_or_else(|| error(format!("there is no real node {node:?}")))?;
        let file = BackgroundFile::create(&path).map_err(|error| refused(py, &path, &error))?;
        self.0.with(|state| state.emulation.capture(at, Box::new(file)));
        Ok(())
    }

    /// The captures: the node, the number of packets, and why the file ends early.
    fn captures(&self) -> Vec<(String, u64, Option<String>)> {
        self.0.with(|state| {
            let name = |at: usize| state.emulation.nodes()[at].name.clone();
            let captures = state.emulation.captures();
            captures.map(|of| (name(of.node), of.packets, of.failure.map(words))).collect()
        })
    }

    /// Simulates the warm-up, and then follows the wall clock until `stop`, or for a duration.
    #[pyo3(signature = (duration_s=None, *, priority=false))]
    fn run(&self, py: Python<'_>, duration_s: Option<f64>, priority: bool) -> PyResult<()> {
        let duration = duration_s.map(|s| convert::span("duration_s", s)).transpose()?;
        py.detach(|| self.0.run(duration, priority)).map_err(error)
    }

    /// Ends `run`, from any thread.
    fn stop(&self) {
        self.0.stop();
    }

    /// Whether real time has begun: the warm-up is over.
    #[getter]
    fn started(&self) -> bool {
        self.0.started()
    }

    /// Keeps the delivery opportunities of a link such as `ap:phone`.
    fn watch(&self, py: Python<'_>, link: &str) -> PyResult<()> {
        let watch = || self.0.with(|state| state.emulation.watch(&self.1.emulated, link));
        py.detach(watch).map_err(wrong)
    }

    /// The delivery opportunities so far, if they are kept.
    fn opportunities<'py>(&self, py: Python<'py>) -> Option<OpportunitiesDict<'py>> {
        let found = py.detach(|| self.0.with(|state| state.emulation.opportunities()));
        found.map(|found| opportunities(py, &found))
    }

    /// Changes the network now: a JSON object with the keys of an entry of `changes` in a scenario, without its time.
    /// Returns the time since the end of the warm-up, in seconds.
    fn change(&self, py: Python<'_>, json: &str) -> PyResult<f64> {
        let change = || {
            let changes = self.1.emulated.change(json)?;
            let at = self.0.change(&changes) - Time::ZERO;
            Ok((at - self.1.emulated.scenario.warm_up()).as_secs_f64())
        };
        py.detach(change).map_err(wrong)
    }

    /// All counters at this moment.
    fn moment(&self, py: Python<'_>) -> PyMoment {
        PyMoment::new(py.detach(|| self.0.moment()), &self.1.names)
    }

    /// The counters so far.
    fn report(&self, py: Python<'_>) -> EmulationDict {
        py.detach(|| self.0.with(report))
    }

    /// The figures of the simulated flows, stations and queues since the warm-up, as JSON.
    fn figures(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.with(|state| state.emulation.figures()))
    }
}

fn parse(addresses: &[String]) -> PyResult<Vec<IpAddr>> {
    let parse = |text: &String| {
        text.parse::<IpAddr>().map_err(|_| error(format!("{text:?} is not an IP address")))
    };
    addresses.iter().map(parse).collect()
}

fn report(state: &mut State) -> EmulationDict {
    let pairs = state.emulation.pairs();
    let pairs = pairs.zip(state.emulation.losses());
    let pairs = pairs
        .map(|((from, to, of), losses)| (format!("{}->{}", from.name, to.name), pair(of, losses)));
    let refused = state.emulation.refused();
    let refused = refused.filter(|(_, count)| count.packets > 0).map(|(refusal, count)| {
        let answered_packets = state.emulation.answered(refusal);
        let PacketCount { packets, bytes } = count;
        (refusal.name().to_owned(), RefusedDict { packets, bytes, answered_packets })
    });
    let (lateness, read) = (&state.lateness, &state.read_lateness);
    let (elapsed_s, cpu_s) = (state.elapsed.as_secs_f64(), state.cpu.as_secs_f64());
    EmulationDict {
        duration_s: elapsed_s,
        written_packets: lateness.all.count,
        late_p50_s: lateness.quantile_s(0.5),
        late_p99_s: lateness.quantile_s(0.99),
        late_max_s: lateness.all.greatest_s(),
        late_ratio: lateness.late_ratio(),
        read_late_p99_s: read.quantile_s(0.99),
        read_late_max_s: read.all.greatest_s(),
        read_late_ratio: read.late_ratio(),
        unwritten_packets: state.unwritten,
        held_packets: state.emulation.packets_held() as u64,
        cpu_ratio: (elapsed_s > 0.0).then(|| cpu_s / elapsed_s),
        priority: state.priority,
        late_below: below(&lateness.histogram, LATENESS_POWERS),
        read_late_below: below(&read.histogram, LATENESS_POWERS),
        pairs: Named(pairs.collect()),
        refused: Named(refused.collect()),
    }
}

fn losses(of: &Losses) -> Vec<LossDict> {
    let dict = |loss: &Loss| LossDict {
        place: loss.place.clone(),
        reason: loss.reason.name(),
        packets: loss.packets,
    };
    of.all().iter().map(dict).collect()
}

fn pair(of: &PairCounters, lost: &Losses) -> PairDict {
    PairDict {
        offered_packets: of.offered.packets,
        offered_bytes: of.offered.bytes,
        delivered_packets: of.delivered.packets,
        delivered_bytes: of.delivered.bytes,
        dropped_packets: of.dropped.packets,
        given_up_packets: of.lost.packets,
        marked_packets: of.marked,
        delay_mean_s: of.delay.mean_s(),
        delay_p50_s: of.delay_s(0.5),
        delay_p95_s: of.delay_s(0.95),
        delay_p99_s: of.delay_s(0.99),
        delay_max_s: of.delay.greatest_s(),
        losses: losses(lost),
    }
}
