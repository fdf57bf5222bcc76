//! CAKE's options: from what a plan says to what the kernel takes, and what the kernel tells in words.

use crate::netlink::attributes::{self, Writer};
use airqueue_control::plan::{Cake, Isolation, Tins};

/// `TCA_CAKE_*` of `linux/pkt_sched.h`.
const RATE: u16 = 2;
const TINS_MODE: u16 = 3;
const ISOLATION: u16 = 5;
const OVERHEAD: u16 = 6;
const RTT: u16 = 7;
const MEMORY: u16 = 10;
const NAT: u16 = 11;
const ACK_FILTER: u16 = 16;

/// In the order of `CAKE_DIFFSERV_*`, with tc's words.
const TINS: [(Tins, &str); 5] = [
    (Tins::Diffserv3, "diffserv3"),
    (Tins::Diffserv4, "diffserv4"),
    (Tins::Diffserv8, "diffserv8"),
    (Tins::Besteffort, "besteffort"),
    (Tins::Precedence, "precedence"),
];
/// In the order of `CAKE_FLOW_*`, with tc's words.
const ISOLATIONS: [(Isolation, &str); 8] = [
    (Isolation::Flowblind, "flowblind"),
    (Isolation::Srchost, "srchost"),
    (Isolation::Dsthost, "dsthost"),
    (Isolation::Hosts, "hosts"),
    (Isolation::Flows, "flows"),
    (Isolation::DualSrchost, "dual-srchost"),
    (Isolation::DualDsthost, "dual-dsthost"),
    (Isolation::TripleIsolate, "triple-isolate"),
];
/// What CAKE has unless it is told otherwise.
const USUAL_TINS: u64 = 0;
const USUAL_ISOLATION: u64 = 7;
const USUAL_RTT_US: u64 = 100_000;

/// What the kernel takes.
pub(super) fn options(cake: &Cake) -> Vec<u8> {
    let written = Writer::default();
    let written = match cake.rate_bps {
        Some(rate_bps) => written.u64(RATE, rate_bps / 8),
        None => written,
    };
    written
        .maybe_u32(TINS_MODE, cake.tins.and_then(|tins| number(&TINS, tins)))
        .maybe_u32(ISOLATION, cake.isolation.and_then(|isolation| number(&ISOLATIONS, isolation)))
        .maybe_u32(OVERHEAD, cake.overhead_bytes.map(|bytes| bytes as u32))
        .maybe_u32(RTT, cake.rtt_us)
        .maybe_u32(MEMORY, cake.memory_limit_bytes)
        .maybe_u32(NAT, cake.nat.map(u32::from))
        .maybe_u32(ACK_FILTER, cake.ack_filter.map(u32::from))
        .finish()
}

/// What is not CAKE's default, the rate apart.
pub(super) fn unusual(options: &[u8]) -> Vec<String> {
    let Ok(all) = attributes::read(options) else { return Vec::new() };
    let other = |attribute, usual| all.number(attribute).filter(|&value| value != usual);
    let told = [
        other(OVERHEAD, 0).map(|bytes| format!("overhead {} bytes", bytes as u32 as i32)),
        other(RTT, USUAL_RTT_US).map(|us| format!("rtt {} ms", us as f64 / 1e3)),
        other(TINS_MODE, USUAL_TINS).map(|tins| format!("tins {}", name(&TINS, tins))),
        other(ISOLATION, USUAL_ISOLATION).map(|by| format!("isolation {}", name(&ISOLATIONS, by))),
        other(MEMORY, 0).map(|bytes| format!("memory {bytes} bytes")),
        other(NAT, 0).map(|_| "nat".to_owned()),
        other(ACK_FILTER, 0).map(|_| "ack-filter".to_owned()),
    ];
    told.into_iter().flatten().collect()
}

/// The kernel's number of a value.
fn number<T: Copy + PartialEq>(known: &[(T, &str)], value: T) -> Option<u32> {
    known.iter().position(|&(each, _)| each == value).map(|at| at as u32)
}

fn name<T>(known: &[(T, &'static str)], number: u64) -> &'static str {
    known.get(number as usize).map_or("unknown", |&(_, name)| name)
}
