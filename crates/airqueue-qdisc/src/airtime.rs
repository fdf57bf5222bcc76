//! The airtime that stations have used, and the airtime that their packets in transit are expected to use.

use airqueue_core::{AirRate, Device, Packet, Sent, Span};
use std::collections::VecDeque;

/// The airtime counters of all stations.
#[derive(Clone, Debug)]
pub(crate) struct Airtime {
    stations: Vec<Station>,
    /// The device, with the expected airtime of all stations' packets that were handed out and are not yet reported.
    device: Device,
    /// Whether packets in transit count.
    expects: bool,
}

#[derive(Clone, Debug)]
struct Station {
    /// The airtime of a turn.
    turn: Span,
    /// The airtime left in the station's turn.
    deficit: Span,
    /// The packets are for all stations in range: they do not count towards the airtime of all.
    is_group: bool,
    /// The expected airtime of `in_transit`.
    pending: Span,
    /// The packets that were handed out and are not yet reported, with their expected airtimes. Reports come nearly in this
    /// order.
    in_transit: VecDeque<(u64, Span)>,
    /// The rate of the last report.
    rate: Option<AirRate>,
    /// The recent airtime per byte, in picoseconds.
    byte_ps: Option<u64>,
}

/// The most that is expected of a packet, and the unit of what is expected: Linux has 10 bits for it
/// (`ieee80211_info_set_tx_time_est`).
const MOST_EXPECTED_US: u32 = 4095;
const UNIT_US: u32 = 4;

/// The airtime of a byte at 6 Mb/s, from which the recent airtime per byte starts.
const FIRST_BYTE_PS: u64 = 1_333_333;

impl Airtime {
    /// `expects`: the expected airtime of packets in transit counts.
    pub(crate) fn new(expects: bool) -> Airtime {
        Airtime { stations: Vec::new(), device: Device::default(), expects }
    }

    /// Says what is known of the device, before the first packet.
    pub(crate) fn set_device(&mut self, device: &Device) {
        debug_assert!(self.device.airtime.own() == Span::ZERO);
        self.device = Device { airtime: device.airtime.share(), ..*device };
    }

    /// Adds a station, with a full turn.
    pub(crate) fn add(&mut self, turn: Span) {
        self.stations.push(Station {
            turn,
            deficit: turn,
            is_group: false,
            pending: Span::ZERO,
            in_transit: VecDeque::new(),
            rate: None,
            byte_ps: None,
        });
    }

    /// Gives a station without packets in transit another length of turns, and a full turn.
    pub(crate) fn set_station(&mut self, at: usize, turn: Span, is_group: bool) {
        let station = &mut self.stations[at];
        debug_assert!(station.in_transit.is_empty());
        (station.turn, station.deficit, station.is_group) = (turn, turn, is_group);
    }

    /// A packet is handed to the link, or taken up again. What it is expected to take does not change any more.
    pub(crate) fn on_handed_out(&mut self, at: usize, packet: &Packet) {
        if !self.expects {
            return;
        }
        let Airtime { stations, device, .. } = self;
        let Some(station) = stations.get_mut(at) else { return };
        // Nobody's rate is that of packets to all stations.
        let rate = station.rate.filter(|_| !station.is_group).unwrap_or(device.slowest);
        let us = rate.expected_us(packet.size, device.aggregates && !station.is_group);
        let expected = Span::from_micros((us.min(MOST_EXPECTED_US) / UNIT_US * UNIT_US).into());
        station.in_transit.push_back((packet.id, expected));
        station.pending = station.pending + expected;
        if !station.is_group {
            device.airtime.add(expected);
        }
    }

    /// A packet that was handed out is not in the device any more: it waits for a station that sleeps, or is reported.
    pub(crate) fn on_put_aside(&mut self, packet: &Packet) {
        let Airtime { stations, device, .. } = self;
        let Some(station) = stations.get_mut(packet.neighbour.index()) else { return };
        let place = station.in_transit.iter().position(|&(id, _)| id == packet.id);
        let Some((_, expected)) = place.and_then(|place| station.in_transit.remove(place)) else {
            return;
        };
        station.pending = station.pending - expected;
        if !station.is_group {
            device.airtime.add(Span::ZERO - expected);
        }
    }

    /// The link reports a packet of `bytes` bytes. Its airtime is charged to the station, and enters the recent airtime per
    /// byte with weight 1/8; its rate is what the station's next packets are expected to have.
    pub(crate) fn on_report(&mut self, sent: &Sent, bytes: u64) {
        self.on_put_aside(&sent.packet);
        let Some(station) = self.stations.get_mut(sent.packet.neighbour.index()) else { return };
        station.deficit = station.deficit - sent.airtime;
        station.rate = sent.rate.or(station.rate);
        // A packet given up in an internal collision was never on the air.
        if sent.airtime > Span::ZERO {
            let ns = u128::from(sent.airtime.as_nanos().unsigned_abs());
            let ps = u64::try_from(ns * 1000 / u128::from(bytes.max(1)))
                .unwrap_or(u64::MAX)
                .min(1 << 50);
            station.byte_ps = Some((7 * station.byte_ps.unwrap_or(FIRST_BYTE_PS) + ps).div_ceil(8));
        }
    }

    /// The throughput of a station that had all airtime, once a packet was reported.
    pub(crate) fn throughput_bps(&self, at: usize) -> Option<u64> {
        self.stations[at].byte_ps.map(|ps| 8_000_000_000_000 / ps.max(1))
    }

    /// The expected airtime of a station's packets in transit.
    pub(crate) fn pending(&self, at: usize) -> Span {
        self.stations[at].pending
    }

    /// The expected airtime of all stations' packets in transit.
    pub(crate) fn pending_of_all(&self) -> Span {
        self.device.airtime.own()
    }

    /// As [`Self::pending_of_all`], of all queues of the device.
    pub(crate) fn pending_in_device(&self) -> Span {
        self.device.airtime.of_all()
    }

    /// The airtime left in a station's turn; with `and_pending`, less the expected airtime of its packets in transit.
    pub(crate) fn left(&self, at: usize, and_pending: bool) -> Span {
        let Station { deficit, pending, .. } = self.stations[at];
        if and_pending { deficit - pending } else { deficit }
    }

    /// A station that has used up its turn gets a new turn.
    pub(crate) fn refill(&mut self, at: usize) {
        let station = &mut self.stations[at];
        station.deficit = station.deficit + station.turn;
    }
}
