//! A hop over the air: how its packets are sent, and which packets the sender still holds.

use super::backlog::Presence;
use super::engine::Wlan;
use super::listeners::Ending;
use super::power::Receivers;
use super::spec::{HopSpec, RttReport};
use super::upper::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{DataRate, Feedback, NeighbourId, Packet, Span, Time};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Content, Msdu, rdqm_field};
use airqueue_wifi::medium::StationId;

/// How packets of a hop are sent.
#[derive(Debug)]
pub(super) struct Hop {
    pub(super) to: StationId,
    /// Rate of the hop's frames, if the hop has no rate control.
    pub(super) rate: RateIndex,
    /// The hop's rate control, by its place among the network's rate controls.
    pub(super) control: Option<usize>,
    pub(super) overhead_bytes: u32,
    /// Size of the largest packets, in IP bytes.
    pub(super) size_bytes: u32,
    /// The queue of the hop's packets, among all queues of the network.
    pub(super) interface: InterfaceId,
    /// The neighbour number of the next station at this queue.
    pub(super) neighbour: NeighbourId,
    /// The number of this queue's recipient at the next station.
    recipient: u32,
    /// The hop's packets in the queue or held by the MAC.
    pub(super) presence: Presence,
    pub(super) report: Option<RttReport>,
    smoothed_rtt: Option<Span>,
    /// Who may sleep while packets arrive.
    pub(super) receivers: Receivers,
}

impl Hop {
    pub(super) fn new(
        spec: &HopSpec,
        interface: InterfaceId,
        (neighbour, recipient): (NeighbourId, u32),
        control: Option<usize>,
        receivers: Receivers,
    ) -> Hop {
        Hop {
            to: spec.to,
            rate: spec.rate,
            control,
            overhead_bytes: spec.overhead_bytes,
            size_bytes: spec.size_bytes,
            interface,
            neighbour,
            recipient,
            presence: Presence::default(),
            report: spec.report,
            smoothed_rtt: None,
            receivers,
        }
    }

    /// What the receiver reports of a packet that has arrived, at this rate.
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

    /// Size of the MPDU of a packet.
    #[inline]
    pub(super) fn mpdu_bytes(&self, packet: &Packet) -> u32 {
        packet.size + self.overhead_bytes
    }

    /// The MSDU of a packet, sent at the rate that a rate control has chosen, or at the hop's own rate.
    pub(super) fn msdu(&self, packet: Packet, chosen: Option<RateIndex>) -> Msdu {
        let rate = chosen.unwrap_or(self.rate);
        let mpdu_bytes = self.mpdu_bytes(&packet);
        let content = Content::Data;
        Msdu { content, to: self.to, recipient: self.recipient, rate, mpdu_bytes, packet }
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// The receiver of a data frame tells about the first packet that its response acknowledges.
    #[inline(never)]
    pub(super) fn tell(&mut self, ending: &Ending, now: Time) {
        let to = ending.to;
        let recipient = self.listeners.frame_of(ending).recipient;
        let receiver = &self.listeners.macs[to.index()];
        let first = self
            .listeners
            .first_sent(ending, |sequence| receiver.has_received(recipient, sequence));
        let Some(msdu) = first else { return };
        let (packet, rate) = (msdu.packet, self.listeners.radio.phy.rate(msdu.rate));
        if let Some(feedback) = self.hops[HopId::of(&packet).index()].feedback(&packet, rate, now) {
            self.listeners.macs[to.index()].tell(rdqm_field::encode(&feedback));
        }
    }
}
