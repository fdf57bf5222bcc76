//! The packets that the MAC holds for one receiver on behalf of an access category: how they are sent, and what the
//! originator (IEEE 802.11-2016, 10.24) knows of each packet.

use super::exchange::{Acknowledged, TxReport, TxStatus};
use super::frame::Msdu;
use super::recipient::Scoreboard;
use crate::medium::StationId;
use crate::phy::{Filling, Phy, RateIndex, Response};
use airqueue_core::{Packet, Span, Time};
use std::collections::VecDeque;

/// A packet in hand.
#[derive(Clone, Copy, Debug)]
struct Slot {
    msdu: Msdu,
    /// When the MAC took the packet.
    since: Time,
    /// The packet was sent before.
    sent: bool,
    /// Airtime of its transmissions, with responses and the SIFS between; a packet of an A-MPDU has a share in
    /// proportion to its bytes.
    airtime: Span,
    /// From `since` to the acknowledgement.
    took: Span,
    /// What the receiver told about the packet; 0: nothing.
    field: u16,
    /// Set once the sender is done with this packet; packets before it may still be outstanding.
    status: Option<TxStatus>,
}

/// The contents of the next data frame: the first packets in hand that the sender is not done with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ppdu {
    /// How many MPDUs.
    pub(super) mpdus: u16,
    /// Bytes of the PSDU.
    pub(super) bytes: u32,
    /// Window of the block ack agreement in MPDUs; 1: no agreement.
    pub(super) window: u32,
}

impl Ppdu {
    const NONE: Ppdu = Ppdu { mpdus: 0, bytes: 0, window: 1 };

    /// Whether packets travel under a block ack agreement.
    pub(super) fn is_agreed(&self) -> bool {
        self.window > 1
    }

    /// The response to the frame. A single MPDU asks for an ACK (10.24.7.2; in VHT and HE it is an S-MPDU).
    pub(super) fn response(&self) -> Response {
        if self.mpdus > 1 { Response::to_window(self.window) } else { Response::Ack }
    }
}

/// Which packets may join an A-MPDU that is being filled.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    to: StationId,
    rate: RateIndex,
    /// How many packets the window of the agreement has room for.
    room: usize,
    filling: Filling,
}

impl Joining {
    /// Whether a packet for a station, at a rate, with an MPDU of so many bytes may join. The packet is then to join, and
    /// the next one comes after it.
    #[inline]
    pub fn admit(&mut self, to: StationId, rate: RateIndex, mpdu_bytes: u32) -> bool {
        let admitted =
            self.room > 0 && (self.to, self.rate) == (to, rate) && self.filling.add(mpdu_bytes);
        self.room -= usize::from(admitted);
        admitted
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// Packets with consecutive sequence numbers.
    slots: VecDeque<Slot>,
    /// How many of them the sender is not done with.
    open: usize,
    /// The sequence number of the next packet.
    pub(super) next_sequence: u64,
    pub(super) ppdu: Ppdu,
    /// An A-MPDU got no block ack, and the sender requests one before it sends more data.
    pub(super) asks: bool,
    /// When this receiver last had its turn, in turns of the access category.
    pub(super) turn: u64,
    /// When the exchange ends that was charged last, if its response comes.
    charged_until: Time,
}

/// Divides a time in proportion to bytes: all parts together are the time, and the parts of the first bytes depend on
/// their number alone.
#[derive(Debug)]
struct Shares {
    time: i64,
    all: i64,
    /// What the parts so far have been rounded down by, of `all`.
    rest: i64,
    /// The last part was for so many bytes: its nanoseconds before rounding, and of `all`.
    of: u32,
    whole: i64,
    fraction: i64,
}

impl Shares {
    fn new(time: Span, all: i64) -> Shares {
        Shares { time: time.as_nanos(), all: all.max(1), rest: 0, of: 0, whole: 0, fraction: 0 }
    }

    /// The part of the next bytes. Packets are often equally long, and a division takes long.
    #[inline]
    fn next(&mut self, bytes: u32) -> Span {
        if bytes != self.of {
            let product = self.time * i64::from(bytes);
            (self.of, self.whole, self.fraction) = (bytes, product / self.all, product % self.all);
        }
        self.rest += self.fraction;
        let carry = self.rest >= self.all;
        self.rest -= if carry { self.all } else { 0 };
        Span::from_nanos(self.whole + i64::from(carry))
    }
}

impl Batch {
    pub(super) fn new() -> Batch {
        let slots = VecDeque::with_capacity(1);
        Batch {
            slots,
            open: 0,
            next_sequence: 0,
            ppdu: Ppdu::NONE,
            asks: false,
            turn: 0,
            charged_until: Time::ZERO,
        }
    }

    /// Whether no packet is in hand.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether a packet for a receiver may be appended to those in hand.
    #[inline]
    pub(super) fn is_for(&self, to: StationId) -> bool {
        self.slots.front().is_none_or(|slot| slot.msdu.to == to)
    }

    /// The receiver of the packets in hand, if there are any.
    pub(super) fn receiver(&self) -> Option<StationId> {
        self.slots.front().map(|slot| slot.msdu.to)
    }

    /// The first packet that the sender is not done with.
    #[inline]
    pub(super) fn first(&self) -> Option<&Msdu> {
        self.slots.get(self.first_open()?).map(|slot| &slot.msdu)
    }

    /// The index of this packet: mostly 0.
    #[inline]
    fn first_open(&self) -> Option<usize> {
        match self.slots.front()?.status {
            None => Some(0),
            Some(_) => self.slots.iter().position(|slot| slot.status.is_none()),
        }
    }

    /// Number of packets that the sender is not done with.
    #[inline]
    pub(super) fn unfinished(&self) -> usize {
        self.open
    }

    /// Calls a function for each packet of the data frame: mostly there is one.
    #[inline]
    fn each_on_air(&mut self, mut act: impl FnMut(&mut Slot)) {
        let Some(first) = self.first_open() else { return };
        if self.ppdu.mpdus == 1 {
            act(&mut self.slots[first]);
        } else {
            self.each_open(self.ppdu.mpdus.into(), act);
        }
    }

    /// Calls a function for the first `most` packets that the sender is not done with.
    #[inline]
    fn each_open(&mut self, most: usize, mut act: impl FnMut(&mut Slot)) {
        let mut left = most;
        let (front, back) = self.slots.as_mut_slices();
        for slots in [front, back] {
            for slot in slots.iter_mut().filter(|slot| slot.status.is_none()) {
                if left == 0 {
                    return;
                }
                left -= 1;
                act(slot);
            }
        }
    }

    #[inline]
    pub(super) fn push(&mut self, msdu: Msdu, now: Time) {
        self.slots.push_back(Slot {
            msdu,
            since: now,
            sent: false,
            airtime: Span::ZERO,
            took: Span::ZERO,
            field: 0,
            status: None,
        });
        self.open += 1;
        self.next_sequence += 1;
    }

    /// The sequence number of the first packet in hand.
    #[inline]
    fn first_sequence(&self) -> u64 {
        self.next_sequence - self.slots.len() as u64
    }

    /// All packets in hand with their sequence numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Msdu)> {
        (self.first_sequence()..).zip(self.slots.iter().map(|slot| &slot.msdu))
    }

    /// From now on sends at this rate the packets that the sender is not done with.
    pub(super) fn set_rate(&mut self, rate: RateIndex) {
        let open = self.slots.iter_mut().filter(|slot| slot.status.is_none());
        open.for_each(|slot| slot.msdu.rate = rate);
    }

    /// Makes the first packet alone the next data frame, under an agreement with a window of `window` MPDUs.
    #[inline]
    pub(super) fn send_one(&mut self, window: u32, phy: &Phy) {
        let Some(first) = self.first() else { return };
        let bytes = phy.single_psdu_bytes(first.rate, first.mpdu_bytes);
        self.ppdu = Ppdu { mpdus: 1, bytes, window };
    }

    /// Makes an A-MPDU of as many packets as fit the next data frame, or one MPDU if only one fits. Returns which packets
    /// that are not yet in hand may join, if any may.
    pub(super) fn send_several(
        &mut self,
        mut filling: Filling,
        window: u32,
        phy: &Phy,
    ) -> Option<Joining> {
        self.slots.reserve((window as usize).saturating_sub(self.slots.len()));
        let open = self.open;
        let mut packets = self.slots.iter().filter(|slot| slot.status.is_none());
        let _ = packets.try_for_each(|slot| filling.add(slot.msdu.mpdu_bytes).then_some(()));
        let begun = filling.ampdu().mpdus() > 0;
        // A first packet that exceeds the limits is sent without an A-MPDU.
        let filling = if begun { filling } else { Filling::EMPTY };
        self.ppdu = Ppdu { window, ..Ppdu::NONE };
        self.size(filling, phy);
        let &Msdu { to, rate, .. } = self.first()?;
        let room = (window as usize).saturating_sub(self.slots.len());
        let joins = begun && usize::from(self.ppdu.mpdus) == open && room > 0;
        joins.then_some(Joining { to, rate, room, filling })
    }

    /// Packets have joined ([`Self::push`]) the next data frame.
    pub(super) fn end_joining(&mut self, joining: &Joining, phy: &Phy) {
        self.size(joining.filling, phy);
    }

    fn size(&mut self, filling: Filling, phy: &Phy) {
        let Some(first) = self.first() else { return };
        let (ampdu, alone) = (filling.ampdu(), first.mpdu_bytes);
        self.ppdu.bytes = match ampdu.mpdus() {
            0 | 1 => phy.single_psdu_bytes(first.rate, alone),
            _ => ampdu.bytes(),
        };
        self.ppdu.mpdus = ampdu.mpdus().max(1) as u16;
    }

    /// The data frame is being sent. True if the first of its MPDUs was sent before.
    pub(super) fn on_sent(&mut self) -> bool {
        let retry = self.first_open().is_some_and(|first| self.slots[first].sent);
        self.each_on_air(|slot| slot.sent = true);
        retry
    }

    /// Shares the airtime of a part of an exchange among its packets, in proportion to their bytes. A block ack
    /// request concerns all packets that were sent.
    pub(super) fn charge(&mut self, time: Span, now: Time) {
        self.charged_until = now + time;
        self.divide(time, |slot, part| slot.airtime = slot.airtime + part);
    }

    /// The packets in hand, each with its part of the airtime up to `now`.
    pub(super) fn airtimes(&self, now: Time) -> Vec<(Packet, Span)> {
        let mut so_far = self.clone();
        if now < self.charged_until {
            let ahead = self.charged_until - now;
            so_far.divide(ahead, |slot, part| slot.airtime = (slot.airtime - part).max(Span::ZERO));
        }
        so_far.slots.iter().map(|slot| (slot.msdu.packet, slot.airtime)).collect()
    }

    #[inline]
    fn divide(&mut self, time: Span, mut act: impl FnMut(&mut Slot, Span)) {
        let asks = self.asks;
        if !asks && self.ppdu.mpdus == 1 {
            self.each_on_air(|slot| act(slot, time));
            return;
        }
        let most = if asks { usize::MAX } else { self.ppdu.mpdus.into() };
        let is_due = |slot: &Slot| slot.sent || !asks;
        let mut all = 0;
        self.each_open(most, |slot| {
            all += if is_due(slot) { i64::from(slot.msdu.mpdu_bytes) } else { 0 };
        });
        let mut shares = Shares::new(time, all);
        self.each_open(most, |slot| {
            if is_due(slot) {
                let part = shares.next(slot.msdu.mpdu_bytes);
                act(slot, part);
            }
        });
    }

    /// A response has arrived. Returns the number of packets that the response acknowledges: an ACK the packet of the
    /// data frame, a block ack all packets that the receiver has. Its `field` speaks of the first of these.
    pub(super) fn on_acknowledged(
        &mut self,
        response: Response,
        scoreboard: &Scoreboard,
        field: u16,
        now: Time,
    ) -> u64 {
        let mut count = 0;
        let first = self.first_sequence();
        let mut acknowledge = |slot: &mut Slot| {
            slot.status = Some(TxStatus::Acknowledged);
            slot.took = now - slot.since;
            slot.field = if count == 0 { field } else { 0 };
            count += 1;
        };
        match response {
            Response::Ack => self.each_on_air(acknowledge),
            Response::BlockAck | Response::BlockAck256 => {
                // Mostly all of them, from the first on.
                let (mut sequence, has_all_before) = (first, first + scoreboard.run_from(first));
                let (front, back) = self.slots.as_mut_slices();
                for slot in [front, back].into_iter().flatten() {
                    let has = sequence < has_all_before || scoreboard.has(sequence);
                    if slot.status.is_none() && has {
                        acknowledge(slot);
                    }
                    sequence += 1;
                }
            }
        }
        self.open -= count as usize;
        count
    }

    /// Gives up the first packet.
    pub(super) fn give_up_first(&mut self) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.status.is_none()) {
            slot.status = Some(TxStatus::GivenUp);
            self.open -= 1;
        }
    }

    /// Gives up the packets that the MAC has held for `lifetime` and returns their number.
    fn give_up_older(&mut self, lifetime: Span, now: Time) -> u64 {
        // Mostly there is none, and none is older than the first.
        let is_old = |slot: &Slot| now - slot.since >= lifetime;
        if self.open == 0 || !self.first_open().is_some_and(|first| is_old(&self.slots[first])) {
            return 0;
        }
        let old = |slot: &&mut Slot| slot.status.is_none() && is_old(slot);
        let mut count = 0;
        for slot in self.slots.iter_mut().filter(old) {
            slot.status = Some(TxStatus::GivenUp);
            count += 1;
        }
        self.open -= count as usize;
        count
    }

    /// Removes the first packet if the sender is done with it.
    #[inline]
    pub(super) fn pop_finished(&mut self) -> Option<TxReport> {
        let (status, sequence) = (self.slots.front()?.status?, self.first_sequence());
        let Slot { msdu, airtime, took, field, .. } = self.slots.pop_front()?;
        Some(TxReport { msdu, sequence, status, airtime, took, field })
    }

    /// The first packets in hand that were acknowledged, as far as they are of one flow and were sent at one rate.
    #[inline]
    pub(super) fn acknowledged_alike(&self) -> impl Iterator<Item = Acknowledged<'_>> + Clone {
        let of = |msdu: &Msdu| (msdu.packet.flow, msdu.rate);
        let first = self.slots.front().map(|first| of(&first.msdu));
        let is_alike = move |slot: &&Slot| {
            slot.status == Some(TxStatus::Acknowledged) && Some(of(&slot.msdu)) == first
        };
        let alike = self.slots.iter().take_while(is_alike);
        alike.map(|slot| Acknowledged {
            msdu: &slot.msdu,
            airtime: slot.airtime,
            took: slot.took,
            field: slot.field,
        })
    }

    /// Removes the first packets, with which the sender is done.
    #[inline]
    pub(super) fn remove_finished(&mut self, packets: usize) {
        if packets == 1 {
            self.slots.pop_front();
        } else {
            self.slots.drain(..packets);
        }
    }

    /// Gives up all packets, and reports them.
    pub(super) fn discard(&mut self, reports: &mut Vec<TxReport>) {
        for slot in &mut self.slots {
            slot.status = slot.status.or(Some(TxStatus::GivenUp));
        }
        (self.open, self.asks) = (0, false);
        while let Some(report) = self.pop_finished() {
            reports.push(report);
        }
    }

    /// The packets of the last data frame with their sequence numbers, in the order of the frame.
    #[inline]
    pub(super) fn sent(&self) -> impl Iterator<Item = (u64, &Msdu)> {
        let slots = (self.first_sequence()..).zip(&self.slots);
        let open = slots.filter(|(_, slot)| slot.status.is_none());
        open.take(self.ppdu.mpdus.into()).map(|(sequence, slot)| (sequence, &slot.msdu))
    }

    /// The response to the frame of the present exchange.
    #[inline]
    pub(super) fn response(&self) -> Response {
        if self.asks { Response::to_window(self.ppdu.window) } else { self.ppdu.response() }
    }

    /// Gives up the packets that have been in hand for `lifetime` and returns their number.
    pub(super) fn give_up_expired(&mut self, lifetime: Span, now: Time) -> u64 {
        let given_up = self.give_up_older(lifetime, now);
        // Without an outstanding packet there is nothing left to request.
        self.asks &= self.first().is_some();
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::frame::Content;
    use crate::mac::recipient::Recipient;
    use crate::phy::{Conventions, ofdm};
    use airqueue_core::{FlowKey, Packet};
    use proptest::prelude::*;

    fn msdu() -> Msdu {
        Msdu {
            packet: Packet::new(0, FlowKey(0), 1500, Time::ZERO),
            content: Content::Data,
            to: StationId(1),
            recipient: 0,
            rate: ofdm(Conventions::STANDARD).slowest_basic(),
            mpdu_bytes: 1536,
        }
    }

    /// A packet behind a gap is reported once the gap is closed; its medium access delay ends with its acknowledgement.
    #[test]
    fn a_packet_behind_a_gap_has_the_delay_of_its_own_acknowledgement() {
        let at = |us| Time::ZERO + Span::from_micros(us);
        let mut batch = Batch::new();
        batch.push(msdu(), at(10));
        batch.push(msdu(), at(30));
        batch.ppdu = Ppdu { mpdus: 2, bytes: 3072, window: 64 };
        batch.on_sent();
        let mut recipient = Recipient::new();
        recipient.receive(1, &msdu().packet);
        let scoreboard = recipient.scoreboard();
        assert_eq!(batch.on_acknowledged(Response::BlockAck, &scoreboard, 0, at(100)), 1);
        assert!(batch.pop_finished().is_none());
        batch.ppdu.mpdus = 1;
        assert_eq!(batch.on_acknowledged(Response::Ack, &scoreboard, 0, at(400)), 1);
        let took = batch.acknowledged_alike().map(|of| of.took).collect::<Vec<_>>();
        assert_eq!(took, [Span::from_micros(390), Span::from_micros(70)]);
        let reports = std::iter::from_fn(|| batch.pop_finished()).map(|of| of.took);
        assert_eq!(reports.collect::<Vec<_>>(), took);
    }

    proptest! {
        /// The parts of the first bytes are the rounded share of these bytes, and all parts together are the time.
        #[test]
        fn shares_add_up_exactly(
            ns in 0i64..20_000_000,
            sizes in prop::collection::vec(prop_oneof![Just(1534u32), 1u32..5000], 1..256),
        ) {
            let all = sizes.iter().map(|&bytes| i64::from(bytes)).sum::<i64>();
            let mut shares = Shares::new(Span::from_nanos(ns), all);
            let (mut bytes, mut charged) = (0, 0);
            for size in sizes {
                bytes += i64::from(size);
                charged += shares.next(size).as_nanos();
                prop_assert_eq!(charged, ns * bytes / all);
            }
            prop_assert_eq!(charged, ns);
        }
    }
}
