//! What the network did with a packet, and how a comment says so.

use crate::figures::Refusal;
use airqueue_core::{DropReason, Span, Time};
use airqueue_network::network::{Hop, NetworkSpec};
use airqueue_wifi::phy::AccessCategory;
use std::fmt::Write;

/// What has happened to a packet in the network.
#[derive(Debug, Default)]
pub struct Story {
    /// The sender and the receiver, as places.
    ends: (usize, usize),
    /// When the packet entered.
    pub since: Time,
    legs: Vec<Leg>,
    /// Where and why the packet was dropped.
    pub dropped: Option<(Hop, DropReason)>,
    /// Where the packet was given up.
    pub given_up: Option<Hop>,
    /// The capture of the sender, and the packet's number there.
    pub record: Option<(usize, u64)>,
}

/// How a packet, or its way as a whole, ends.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// A place receives the packet.
    Delivered {
        /// The place.
        to: usize,
        /// The packet.
        bytes: &'a [u8],
    },
    /// A router makes fragments of the packet.
    Fragmented {
        /// The largest packets of the next link, in IP bytes.
        mtu_bytes: u32,
    },
    /// The packet is lost.
    Lost,
}

impl<'a> End<'a> {
    /// The place that receives the packet, and the packet.
    pub fn received(self) -> Option<(usize, &'a [u8])> {
        match self {
            End::Delivered { to, bytes } => Some((to, bytes)),
            End::Fragmented { .. } | End::Lost => None,
        }
    }
}

/// A hop of a packet.
#[derive(Debug)]
pub struct Leg {
    over: Hop,
    /// How long the packet was in the queue before the hop.
    pub waited: Option<Span>,
    /// Frames that had the packet in them.
    pub attempts: u32,
}

impl Story {
    /// Another packet has the place of this one.
    pub fn begin(&mut self, ends: (usize, usize), now: Time) {
        self.legs.clear();
        let legs = std::mem::take(&mut self.legs);
        *self = Story { ends, since: now, legs, ..Story::default() };
    }

    /// The leg over a hop.
    pub fn leg(&mut self, over: Hop) -> &mut Leg {
        let at = self.legs.iter().position(|leg| leg.over == over).unwrap_or_else(|| {
            self.legs.push(Leg { over, waited: None, attempts: 0 });
            self.legs.len() - 1
        });
        &mut self.legs[at]
    }
}

/// Names in comments.
#[derive(Debug, Default)]
pub struct Labels {
    /// Real nodes, and behind these routers that are not real.
    pub places: Vec<String>,
    /// Stations, each with the names of its queues.
    stations: Vec<(String, Vec<String>)>,
    /// The station before each hop over the air, and the place of the queue.
    air: Vec<(u32, u8)>,
    wires: Vec<String>,
}

impl Labels {
    /// The names in a network, those of queues as in its figures.
    pub fn new(places: Vec<String>, spec: &NetworkSpec) -> Labels {
        let queues = |name: &str, count: usize| match count {
            1 => vec![name.to_owned()],
            _ => AccessCategory::ALL
                .map(|ac| format!("{name}.{}", ac.acronym().to_ascii_lowercase()))
                .to_vec(),
        };
        let stations = spec.wlan.stations.iter();
        let stations = stations
            .map(|station| (station.name.clone(), queues(&station.name, station.queues.len())));
        let air = spec.wlan.hops.iter().map(|hop| (hop.from.0, hop.ac.index() as u8));
        let wires = spec.wires.iter().map(|wire| wire.name.clone());
        Labels { places, stations: stations.collect(), air: air.collect(), wires: wires.collect() }
    }

    /// The name of the queue before a hop.
    pub(crate) fn queue(&self, over: Hop) -> &str {
        match over {
            Hop::Air(hop) => {
                let (station, queue) = self.air[hop.index()];
                let queues = &self.stations[station as usize].1;
                queues.get(usize::from(queue)).unwrap_or(&queues[0])
            }
            Hop::Wire(wire) => &self.wires[wire.index()],
        }
    }

    /// The station before a hop over the air.
    pub(crate) fn sender(&self, over: Hop) -> &str {
        match over {
            Hop::Air(hop) => &self.stations[self.air[hop.index()].0 as usize].0,
            Hop::Wire(wire) => &self.wires[wire.index()],
        }
    }

    /// The comment on a packet with which the network is done.
    pub fn ended(&self, story: &Story, end: End<'_>, marked: bool, now: Time) -> String {
        let (from, to) = story.ends;
        let (from, to) = (&self.places[from], &self.places[to]);
        let after = milliseconds(now - story.since);
        let mut text = format!("{from} -> {to}: ");
        // Writing to a string never fails.
        let _ = match (end, story.dropped, story.given_up) {
            (End::Delivered { .. }, ..) => write!(text, "delivered after {after} in the network"),
            (End::Fragmented { mtu_bytes }, ..) => write!(
                text,
                "fragmented there for a link that carries {mtu_bytes} bytes, after {after} in the network"
            ),
            (_, Some((over, reason)), _) => {
                let queue = self.queue(over);
                write!(text, "dropped by the queue {queue} ({}) after {after}", words(reason))
            }
            (_, _, Some(over)) => {
                let (sender, attempts) = (self.sender(over), attempts(story, over));
                write!(text, "given up by {sender} after {attempts} on the air, after {after}")
            }
            _ => write!(text, "lost after {after}"),
        };
        if marked {
            text.push_str("; marked CE by a queue");
        }
        for leg in &story.legs {
            if let Some(waited) = leg.waited {
                let queue = self.queue(leg.over);
                let _ = write!(text, "; {} in the queue {queue}", milliseconds(waited));
            }
            if leg.attempts > 0 && story.given_up != Some(leg.over) {
                let (sender, attempts) = (self.sender(leg.over), attempts(story, leg.over));
                let _ = write!(text, "; {attempts} on the air by {sender}");
            }
        }
        text
    }

    /// The comment on a packet that is in the network at the end.
    pub fn still(&self, story: &Story) -> String {
        let (from, to) = story.ends;
        let (from, to) = (&self.places[from], &self.places[to]);
        format!("{from} -> {to}: still in the network when the run ended")
    }

    /// The comment on a packet that the network did not carry.
    pub fn refused(&self, from: usize, refusal: Refusal, router: Option<usize>) -> String {
        let why = match refusal {
            Refusal::Malformed => "is not one whole IP packet",
            Refusal::Oversize => "is larger than a link carries",
            Refusal::ForeignSource => "has the source address of another node",
            Refusal::NoSuchNode => "is to no node",
            Refusal::HopLimit => "has used up its hop limit",
            Refusal::Full => "is one more than the emulator holds",
        };
        let (from, name) = (&self.places[from], refusal.name());
        match router {
            None => format!("{from}: refused ({name}): the packet {why}"),
            Some(router) => {
                let router = &self.places[router];
                format!("{from}: refused ({name}), stopped by {router}: the packet {why}")
            }
        }
    }
}

fn attempts(story: &Story, over: Hop) -> String {
    let leg = story.legs.iter().find(|leg| leg.over == over);
    match leg.map_or(0, |leg| leg.attempts) {
        1 => "1 attempt".to_owned(),
        many => format!("{many} attempts"),
    }
}

fn milliseconds(span: Span) -> String {
    let ns = span.as_nanos();
    format!("{}.{:06} ms", ns / 1_000_000, ns % 1_000_000)
}

fn words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Tail => "full, as it arrived",
        DropReason::Head => "full, to make room",
        DropReason::Oversize => "too large ever to pass",
        DropReason::Policed => "beyond the rate of a policer",
        DropReason::Aqm => "active queue management",
        DropReason::AckFilter => "ACK filter",
        DropReason::Overrun => "the station's processor was busy",
    }
}
