//! A flow at work.

use super::backlog::Presence;
use super::record::FlowTally;
use super::spec::{FlowSpec, RttReport};
use airqueue_core::{DataRate, Ecn, Feedback, Packet, Span, Time};
use airqueue_transport::traffic::Source;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::Msdu;
use airqueue_wifi::medium::StationId;

/// A source, the way its packets take, and the books on them.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) source: Source,
    to: StationId,
    /// The rate of its frames, if it has no rate control.
    pub(super) rate: RateIndex,
    /// Which of the network's rate controls it has.
    pub(super) control: Option<usize>,
    pub(super) overhead_bytes: u32,
    /// The queue that it feeds, among all of the network.
    pub(super) interface: usize,
    /// What that queue calls the next station.
    pub(super) hop: u16,
    /// Its packets in that queue.
    pub(super) waiting: u64,
    /// These, and those that the MAC has in hand.
    pub(super) presence: Presence,
    pub(super) tally: FlowTally,
    pub(super) ecn: Ecn,
    pub(super) report: Option<RttReport>,
    smoothed_rtt: Option<Span>,
    pub(super) collected: bool,
}

impl Flow {
    pub(super) fn new(
        source: Source,
        spec: &FlowSpec,
        interface: usize,
        hop: u16,
        control: Option<usize>,
    ) -> Flow {
        Flow {
            source,
            to: spec.to,
            rate: spec.rate,
            control,
            overhead_bytes: spec.overhead_bytes,
            interface,
            hop,
            waiting: 0,
            presence: Presence::default(),
            tally: FlowTally::default(),
            ecn: spec.ecn,
            report: spec.report,
            smoothed_rtt: None,
            collected: spec.collected,
        }
    }

    /// What its receiver says in the acknowledgement of a packet whose last data frame had this rate.
    pub(super) fn feedback(
        &mut self,
        packet: &Packet,
        rate: DataRate,
        now: Time,
    ) -> Option<Feedback> {
        let RttReport { base, smoothed } = self.report?;
        if !smoothed {
            return Some(Feedback { rtt: base, rate });
        }
        let sample = base + (now - packet.enqueued);
        // RFC 6298, 2.2 and 2.3.
        let before = self.smoothed_rtt.unwrap_or(sample).as_nanos();
        let rtt = Span::from_nanos(before + (sample.as_nanos() - before) / 8);
        self.smoothed_rtt = Some(rtt);
        Some(Feedback { rtt, rate })
    }

    /// The packet as the MAC takes it, to be sent at a rate that a rate control has chosen, or at the flow's own.
    pub(super) fn msdu(&self, packet: Packet, chosen: Option<RateIndex>) -> Msdu {
        let rate = chosen.unwrap_or(self.rate);
        Msdu { to: self.to, rate, mpdu_bytes: packet.size + self.overhead_bytes, packet }
    }
}
