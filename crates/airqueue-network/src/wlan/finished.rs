//! Packets that the MACs are done with.

use super::engine::Wlan;
use super::hop::Hop;
use super::interface::Interface;
use super::upper::UpperLayer;
use crate::{HopId, InterfaceId};
use airqueue_core::{Sent, Span, Time};
use airqueue_wifi::mac::{Acknowledged, Msdu, TxReport, TxStatus, rdqm_field};
use airqueue_wifi::phy::{Phy, RateIndex};
use std::iter::once;

impl Interface {
    /// The MAC is done with packets of a hop, one at least, sent at one rate. Returns the number of packets.
    #[inline(always)]
    fn on_finished<'a, U: UpperLayer>(
        &mut self,
        packets: impl Iterator<Item = Acknowledged<'a>> + Clone,
        acknowledged: bool,
        hop: (HopId, &mut Hop),
        (index, phy): (RateIndex, &Phy),
        upper: &mut U,
        now: Time,
    ) -> usize {
        let (mut number, mut airtime) = (0, Span::ZERO);
        let rate = phy.rate(index);
        let reports = self.queue.tx_queue.reads_reports();
        let air_rate = reports.then(|| phy.air_rate(index));
        for of in packets.clone() {
            number += 1;
            airtime = airtime + of.airtime;
            if reports {
                let (packet, feedback) = (of.msdu.packet, rdqm_field::decode(of.field, rate));
                let sent =
                    Sent { packet, acknowledged, airtime: of.airtime, rate: air_rate, feedback };
                self.queue.tx_queue.on_sent(&sent, now);
            }
        }
        if acknowledged {
            self.count_access_delays(packets.clone().map(|of| of.took));
        }
        let (id, hop) = hop;
        self.backlog.remove(&mut hop.presence, number as u64);
        let packets = packets.map(|of| &of.msdu.packet);
        upper.on_finished(id, (number as u64, packets), rate, airtime);
        number
    }

    /// Counts the medium access delays of acknowledged packets: those that joined an A-MPDU together have the same.
    #[inline(always)]
    fn count_access_delays(&mut self, mut delays: impl Iterator<Item = Span>) {
        let Some(mut of) = delays.next() else { return };
        let mut number = 1;
        for delay in delays {
            if delay != of {
                self.access_delays.add_alike(of, number);
                (of, number) = (delay, 0);
            }
            number += 1;
        }
        self.access_delays.add_alike(of, number);
    }
}

impl<U: UpperLayer> Wlan<U> {
    /// The MAC may be done with packets of a queue.
    #[inline]
    pub(super) fn account_all_finished(&mut self, interface: InterfaceId, now: Time) {
        let Interface { station, ac, .. } = self.interfaces[interface.index()];
        loop {
            if !self.power.is_used() {
                self.account_acknowledged(interface, now);
            }
            let finished = self.listeners.macs[station.index()].poll_finished(ac);
            let Some(finished) = finished else { return };
            self.account_finished(&finished, interface, now);
        }
    }

    /// The acknowledged packets of a queue, up to one that was given up: packets alike together.
    #[inline]
    fn account_acknowledged(&mut self, interface: InterfaceId, now: Time) {
        let Wlan { interfaces, hops, listeners, upper, .. } = self;
        let interface = &mut interfaces[interface.index()];
        let (mac, ac) = (&mut listeners.macs[interface.station.index()], interface.ac);
        loop {
            let alike = mac.acknowledged_alike(ac);
            let Some(Acknowledged { msdu: first, .. }) = alike.clone().next() else { return };
            let (id, rate) = (HopId::of(&first.packet), (first.rate, &listeners.radio.phy));
            let hop = (id, &mut hops[id.index()]);
            let number = interface.on_finished(alike, true, hop, rate, upper, now);
            mac.remove_finished(ac, number);
        }
    }

    /// The MAC is done with a packet.
    pub(super) fn account_finished(
        &mut self,
        finished: &TxReport,
        interface: InterfaceId,
        now: Time,
    ) {
        let TxReport { msdu, sequence, status, airtime, took, field } = *finished;
        let Msdu { packet, to, recipient, rate, .. } = msdu;
        let acknowledged = status == TxStatus::Acknowledged;
        let id = HopId::of(&packet);
        if self.power.is_used() {
            self.on_finished_for_sleeper(id, now);
        }
        let hop = &mut self.hops[id.index()];
        if !acknowledged && let Some(control) = hop.control {
            self.controls[control].in_vain = 0;
        }
        let rate = (rate, &self.listeners.radio.phy);
        let (interface, upper) = (&mut self.interfaces[interface.index()], &mut self.upper);
        let packets = once(Acknowledged { msdu: &msdu, airtime, took, field });
        interface.on_finished(packets, acknowledged, (id, hop), rate, upper, now);
        let peer = &mut self.listeners.macs[to.index()];
        if status == TxStatus::GivenUp && !peer.has_received(recipient, sequence) {
            self.upper.on_given_up(packet);
            peer.skip(recipient, sequence);
            // Later packets that waited there for this packet.
            self.deliver(to, recipient, now);
        }
    }
}
