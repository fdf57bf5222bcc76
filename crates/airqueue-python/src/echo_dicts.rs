//! Dictionaries of probes to several targets.

use crate::dicts::Column;
use pyo3::prelude::*;
use schemars::JsonSchema;

/// A target to be probed.
#[derive(JsonSchema)]
#[expect(dead_code)] // of these fields Python's type is made; the values are read one by one
pub(crate) struct EchoTargetDict {
    /// What the target is called.
    pub(crate) name: String,
    /// Name or IP address.
    pub(crate) host: String,
    /// `icmp`: echo; `hop`: datagrams that end at a router on the way; `udp`: datagrams to a closed port; `tcp`: connections;
    /// `server`: a message that an airqueue server answers.
    #[schemars(extend("enum" = ["icmp", "hop", "udp", "tcp", "server"]))]
    pub(crate) method: String,
    /// Port: needed for `tcp`; of `server` by default 5860; of `udp` by default ports that are usually closed.
    pub(crate) port: Option<u16>,
    /// Number of the router, from 1: needed for `hop`.
    pub(crate) hops: Option<u8>,
}

/// Messages that answered no probe.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct EchoIgnoredDict {
    /// Not of the method's protocol, or cut off.
    pub(crate) malformed: u64,
    /// From another address, or not about a probe that was sent.
    pub(crate) foreign: u64,
    /// About a probe that had been answered.
    pub(crate) duplicate: u64,
    /// More than ten seconds after the probe.
    pub(crate) late: u64,
    /// ICMP errors about a probe that are not the method's answer, and connections that failed.
    pub(crate) unreachable: u64,
    /// Answers that could be to several probes.
    pub(crate) ambiguous: u64,
}

/// The state of a target.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct EchoPollDict {
    /// What the target is called.
    pub(crate) name: String,
    /// Its method.
    #[schemars(extend("enum" = ["icmp", "hop", "udp", "tcp", "server"]))]
    pub(crate) method: &'static str,
    /// The address that is probed; none if the target could not be probed.
    pub(crate) address: Option<String>,
    /// Probes sent.
    pub(crate) sent: u64,
    /// Probes answered.
    pub(crate) answered: u64,
    /// Round trip of the answer that came last.
    pub(crate) round_trip_s: Option<f64>,
    /// The address that answered last.
    pub(crate) answered_by: Option<String>,
    /// Probes that the kernel did not take.
    pub(crate) refused: u64,
    /// The kernel's words about the last of them.
    pub(crate) refusal: Option<String>,
    /// Times at which a probe was due and none was sent.
    pub(crate) skipped: u64,
    /// Why the target is not probed, or no longer: a sentence.
    pub(crate) failed: Option<String>,
}

/// The probes of a target since the start, a row for each that left, in the order of sending. Times are of CLOCK_MONOTONIC;
/// the smallest int64 stands for an answer that has not come.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct EchoSeriesDict<'py> {
    /// What the target is called.
    pub(crate) name: String,
    /// Its method.
    #[schemars(extend("enum" = ["icmp", "hop", "udp", "tcp", "server"]))]
    pub(crate) method: &'static str,
    /// The address that was probed; none if the target could not be probed.
    pub(crate) address: Option<String>,
    /// Send time of the probe, before the queues of this machine.
    pub(crate) sent_ns: Column<'py, i64>,
    /// Receive time of its answer.
    pub(crate) received_ns: Column<'py, i64>,
    /// The address that answered last.
    pub(crate) answered_by: Option<String>,
    /// Whether the host itself has answered, and not only a router on the way.
    pub(crate) from_host: bool,
    /// Answers whose receive time is the program's, and not the kernel's.
    pub(crate) timed_by_program: u64,
    /// Messages that answered no probe.
    pub(crate) ignored: EchoIgnoredDict,
    /// Why the target was not probed, or no longer: a sentence.
    pub(crate) failed: Option<String>,
}

/// A router on the way to a host, or the host.
#[derive(IntoPyObject, JsonSchema)]
pub(crate) struct HopDict {
    /// Its number, from 1.
    pub(crate) hop: u8,
    /// Its address; none if it did not answer.
    pub(crate) address: Option<String>,
    /// Round trip of its answer.
    pub(crate) round_trip_s: Option<f64>,
    /// Whether this is the host itself.
    pub(crate) is_host: bool,
}
