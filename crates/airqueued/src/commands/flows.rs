//! `flows`: who sends how much through an interface, and how long each end takes to answer.

use super::args::FlowsArgs;
use super::{Code, Stop, looks};
use crate::machine;
use crate::tap::Tap;
use airqueue_control::flows::{Direction, End, Flow, Flows, Half, Protocol};
use airqueue_core::Span;
use serde::Serialize;
use std::cell::RefCell;
use std::fmt::Write;
use std::net::SocketAddr;

/// A look, as it is printed.
#[derive(Serialize)]
struct Look {
    /// When, in seconds since the machine started.
    at_s: f64,
    /// Active flows towards stations.
    downloads: usize,
    /// Active flows from stations.
    uploads: usize,
    /// Packets of flows for which there was no room.
    untracked: u32,
    /// Packets that passed unseen since the beginning.
    lost_packets: u64,
    /// The flows.
    flows: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    protocol: &'static str,
    station: SocketAddr,
    station_mac: Option<String>,
    far: SocketAddr,
    direction: &'static str,
    active: bool,
    down_bps: f64,
    up_bps: f64,
    station_rtt: Rtt,
    far_rtt: Rtt,
}

#[derive(Serialize)]
struct Rtt {
    least_s: Option<f64>,
    smoothed_s: Option<f64>,
    samples: u32,
}

pub(super) fn run(args: &FlowsArgs) -> Result<(), Stop> {
    let tap = Tap::open(&args.interface).map_err(|e| Stop::new(Code::Failed, e.to_string()))?;
    let ears = RefCell::new((tap, Flows::new(machine::now())));
    let listen = || {
        let (tap, flows) = &mut *ears.borrow_mut();
        tap.feed(flows, true);
    };
    // The first look has the time of one interval behind it, as all others.
    looks::each(args.looks.every, Some(2), listen, |_| Ok(true))?;
    looks::each(args.looks.every, args.looks.count, listen, |number| {
        listen();
        let (tap, flows) = &mut *ears.borrow_mut();
        if tap.is_deaf() {
            let what = format!("{} was removed: nothing passes it any more", args.interface);
            return Err(Stop::new(Code::Failed, what));
        }
        let now = machine::now();
        let seen = flows.look(now);
        let shown = seen.flows.iter().filter(|flow| args.all || flow.active);
        let look = Look {
            at_s: now.as_secs_f64(),
            downloads: seen.active(Direction::Download).count(),
            uploads: seen.active(Direction::Upload).count(),
            untracked: seen.untracked,
            lost_packets: tap.lost(),
            flows: shown.map(line).collect(),
        };
        if !args.looks.shows(number) {
            return Ok(true);
        }
        looks::show(&look, args.print.json, || page(&look))
    })
}

fn line(flow: &Flow) -> Line {
    let end = |end: End| SocketAddr::new(end.address, end.port);
    let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
    let rtt = |half: &Half| Rtt {
        least_s: seconds(half.least),
        smoothed_s: seconds(half.smoothed),
        samples: half.samples,
    };
    Line {
        protocol: match flow.key.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        },
        station: end(flow.key.station),
        station_mac: flow.station_mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")),
        far: end(flow.key.far),
        direction: match flow.direction {
            Direction::Download => "download",
            Direction::Upload => "upload",
        },
        active: flow.active,
        down_bps: flow.down_bps,
        up_bps: flow.up_bps,
        station_rtt: rtt(&flow.station),
        far_rtt: rtt(&flow.far),
    }
}

fn page(look: &Look) -> String {
    let mut text = String::new();
    let head = ["", "station", "far end", "down", "up", "to station", "to far end"];
    row(&mut text, &head.map(str::to_owned));
    for line in &look.flows {
        let rate = |bps: f64| format!("{:.2} Mb/s", bps / 1e6);
        let rtt = |rtt: &Rtt| rtt.least_s.map_or("-".to_owned(), |s| format!("{:.1} ms", s * 1e3));
        let (station, far) = (line.station.to_string(), line.far.to_string());
        let (down, up) = (rate(line.down_bps), rate(line.up_bps));
        let (near, rest) = (rtt(&line.station_rtt), rtt(&line.far_rtt));
        row(&mut text, &[line.protocol.to_owned(), station, far, down, up, near, rest]);
    }
    let Look { downloads, uploads, untracked, lost_packets, .. } = look;
    let _ = write!(text, "{downloads} active downloads, {uploads} active uploads");
    if *untracked > 0 {
        let _ = write!(text, "; {untracked} packets of flows for which there is no room");
    }
    if *lost_packets > 0 {
        let _ = write!(text, "; {lost_packets} packets passed unseen");
    }
    text.push('\n');
    text
}

fn row(text: &mut String, cells: &[String; 7]) {
    let [protocol, station, far, down, up, near, rest] = cells;
    let _ = writeln!(
        text,
        "{protocol:<4} {station:<24} {far:<24} {down:>12} {up:>12} {near:>11} {rest:>11}"
    );
}
