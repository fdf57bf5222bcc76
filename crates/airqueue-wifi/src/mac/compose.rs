//! Which packets the next exchange of an access category carries. An A-MPDU is filled only when the exchange begins,
//! with the packets in the queue at that time, as in ns-3 and in drivers that have few aggregates queued.

use super::batch::{Batch, Joining};
use super::category::TxopRemaining;
use super::exchange::Step;
use super::frame::{Content, Frame, FrameKind, Msdu, Transmission};
use super::station::Mac;
use super::view::Radio;
use crate::medium::StationId;
use crate::phy::frames::{BLOCK_ACK_REQUEST_BYTES, CTS_BYTES, RTS_BYTES};
use crate::phy::{AccessCategory, AmpduLimits, Phy, Protection, RateIndex, Response};
use airqueue_core::{NeighbourId, Packet, Span, Time};

/// The frame of an exchange, and its protection.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedFrame {
    to: StationId,
    /// The rate of RTS and of CTS to self.
    control: RateIndex,
    rate: RateIndex,
    bytes: u32,
    pub(super) mpdus: u16,
    response: Response,
    recipient: u32,
    /// Whether the frame is for all stations, which do not answer.
    pub(super) unanswered: bool,
    /// What the first packet is.
    pub(super) content: Content,
}

impl PlannedFrame {
    /// Duration of a step of the exchange: up to the next step, or to the end of the response.
    #[inline(always)]
    pub(super) fn time(&self, step: Step, phy: &Phy) -> Span {
        match step {
            Step::Rts => phy.protection(Protection::RtsCts, self.control),
            Step::CtsToSelf => phy.protection(Protection::CtsToSelf, self.control),
            Step::Data | Step::Request => {
                let frame = phy.airtime(self.rate, self.bytes);
                if self.unanswered {
                    return frame;
                }
                frame + phy.sifs() + phy.response(self.rate, self.response)
            }
        }
    }

    /// The frame of a step, which announces only its own exchange.
    pub(super) fn frame(&self, step: Step, from: StationId, phy: &Phy) -> Frame {
        let &PlannedFrame { to, control, rate, bytes, mpdus, response, recipient, .. } = self;
        let of = |kind, to, rate| Frame { response, recipient, ..Frame::new(kind, from, to, rate) };
        match step {
            Step::Rts => {
                let nav = phy.rts_nav(control, rate, phy.airtime(rate, bytes), response);
                Frame { bytes: RTS_BYTES, nav, ..of(FrameKind::Rts, to, control) }
            }
            Step::CtsToSelf => {
                let nav = phy.cts_to_self_nav(rate, phy.airtime(rate, bytes), response);
                Frame { bytes: CTS_BYTES, nav, ..of(FrameKind::Cts, from, control) }
            }
            Step::Data if self.unanswered => {
                Frame { bytes, mpdus, ..of(FrameKind::Data, to, rate) }
            }
            Step::Data => {
                let nav = phy.response_nav(rate, response);
                Frame { bytes, mpdus, nav, ..of(FrameKind::Data, to, rate) }
            }
            Step::Request => {
                let nav = phy.response_nav(rate, response);
                Frame { bytes, nav, ..of(FrameKind::BlockAckRequest, to, rate) }
            }
        }
    }
}

impl Mac {
    /// Whether the MAC holds no packet of an access category.
    #[inline]
    pub fn is_empty(&self, ac: AccessCategory) -> bool {
        self.categories[ac.index()].is_empty()
    }

    /// The first packet in hand of an access category that the MAC is not done with.
    #[inline]
    pub fn held(&self, ac: AccessCategory) -> Option<&Msdu> {
        self.categories[ac.index()].batch.first()
    }

    /// The packets of the last data frame of an access category with their sequence numbers, in the order of the
    /// frame. Valid until the sender acts on the response, or on its absence.
    #[inline]
    pub fn sent(&self, ac: AccessCategory) -> impl Iterator<Item = (u64, &Msdu)> {
        self.categories[ac.index()].batch.sent()
    }

    /// The packets in hand of an access category, with their sequence numbers.
    pub fn in_hand(&self, ac: AccessCategory) -> impl Iterator<Item = (u64, &Msdu)> {
        self.categories[ac.index()].all_batches().flat_map(Batch::all)
    }

    /// The packets in hand of an access category, each with its part of the airtime of exchanges up to `now`.
    pub fn airtimes_in_hand(
        &self,
        ac: AccessCategory,
        now: Time,
    ) -> impl Iterator<Item = (Packet, Span)> {
        self.categories[ac.index()].all_batches().flat_map(move |batch| batch.airtimes(now))
    }

    /// Number of packets in hand of an access category that are neither acknowledged nor given up.
    pub fn unfinished(&self, ac: AccessCategory) -> usize {
        self.categories[ac.index()].batches().map(Batch::unfinished).sum()
    }

    /// The neighbours, as the queue numbers them, for which packets are in hand.
    pub fn neighbours_in_hand(&self, ac: AccessCategory) -> impl Iterator<Item = NeighbourId> {
        let batches = self.categories[ac.index()].batches();
        batches.filter_map(|batch| batch.first().map(|first| first.packet.neighbour))
    }

    /// Whether the next exchange of an access category carries packets in hand; receivers take turns. Otherwise the
    /// exchange is for one of the `others`, for which packets wait in the queue.
    pub fn takes_turns(&mut self, ac: AccessCategory, others: bool) -> bool {
        self.categories[ac.index()].take_turns(others)
    }

    /// Sets the rate of the packets in hand of an access category for the next receiver. The new rate has the same
    /// format as the old one, or neither has a format. To be called before the next exchange is prepared.
    pub fn set_rate(&mut self, ac: AccessCategory, rate: RateIndex, radio: &Radio) {
        let batch = &mut self.categories[ac.index()].batch;
        // A block ack request concerns the A-MPDU that was sent.
        if !batch.asks {
            batch.set_rate(rate);
            self.send_one(ac, radio);
        }
    }

    /// Whether [`Self::poll_transmission`] has something to return.
    #[inline]
    pub fn has_transmission(&self) -> bool {
        self.transmission.is_some()
    }

    /// The data frame whose outcome has become known since the last call.
    #[inline]
    pub fn poll_transmission(&mut self) -> Option<Transmission> {
        self.transmission.take()
    }

    /// Records the outcome of the last frame of an access category, if the frame has data: null frames and PS-Polls have
    /// rates of their own, of which no rate control is to learn.
    pub(super) fn account_transmission(&mut self, ac: AccessCategory, acknowledged: u32) {
        if self.is_management(ac) {
            return;
        }
        let batch = &self.categories[ac.index()].batch;
        self.transmission = batch.first().map(|first| Transmission {
            ac,
            rate: first.rate,
            mpdus: batch.ppdu.mpdus.into(),
            acknowledged,
        });
    }

    #[inline(always)]
    pub(super) fn hold(&mut self, ac: AccessCategory, msdu: Msdu, now: Time, radio: &Radio) {
        self.categories[ac.index()].take_in(msdu, now);
        self.send_one(ac, radio);
    }

    /// Makes the first packet alone the next data frame of an access category, for now.
    #[inline(always)]
    pub(super) fn send_one(&mut self, ac: AccessCategory, radio: &Radio) {
        let Some(first) = self.held(ac) else { return };
        let window = self.limits(first.rate, &radio.phy).map_or(1, |limits| limits.mpdus);
        self.categories[ac.index()].batch.send_one(window, &radio.phy);
    }

    /// The limits of an A-MPDU; `None` without a block ack agreement.
    #[inline]
    fn limits(&self, rate: RateIndex, phy: &Phy) -> Option<AmpduLimits> {
        let own = self.config.aggregation?;
        let limits = phy.ampdu_limits(rate)?.window(own.window);
        Some(AmpduLimits { bytes: limits.bytes.min(own.max_bytes), ..limits })
    }

    /// Prepares the exchange of an access category that begins at `begins`. If there is room for more packets, those that
    /// the result admits may [join](Self::join).
    pub fn compose(&mut self, ac: AccessCategory, begins: Time, radio: &Radio) -> Option<Joining> {
        let &Msdu { rate, .. } = self.held(ac)?;
        let category = &self.categories[ac.index()];
        if category.batch.asks || !category.batch.ppdu.is_agreed() {
            return None;
        }
        let mut limits = self.limits(rate, &radio.phy)?;
        let window = limits.mpdus;
        match category.txop_remaining {
            TxopRemaining::Last => {}
            TxopRemaining::Packets(left) => limits = limits.window(left.saturating_add(1)),
            TxopRemaining::Until(limit) => {
                let around = self.time_around(rate, window, radio);
                limits = limits.within((limit - begins - around).max(Span::ZERO));
            }
        }
        let filling = radio.phy.filling(rate, &limits);
        self.categories[ac.index()].batch.send_several(filling, window, &radio.phy)
    }

    /// Duration of an exchange with an A-MPDU, without the A-MPDU itself.
    fn time_around(&self, rate: RateIndex, window: u32, radio: &Radio) -> Span {
        let response = radio.phy.sifs() + radio.phy.response(rate, Response::to_window(window));
        // The A-MPDU may become long enough for an RTS.
        let rts = self.config.rts_threshold_bytes < u32::MAX;
        let protection = if rts { Protection::RtsCts } else { self.config.protection };
        radio.phy.protection(protection, self.config.control_rate(rate, &radio.phy)) + response
    }

    /// Adds a packet, which has been [admitted](Joining::admit), to the exchange that is being prepared.
    /// [`Self::end_joining`] is due.
    #[inline]
    pub fn join(&mut self, ac: AccessCategory, msdu: Msdu, now: Time) {
        self.categories[ac.index()].join(msdu, now);
    }

    /// All packets that were admitted have joined the exchange that is being prepared.
    #[inline]
    pub fn end_joining(&mut self, ac: AccessCategory, joining: &Joining, radio: &Radio) {
        self.categories[ac.index()].batch.end_joining(joining, &radio.phy);
    }

    /// The packets of the next exchange of an access category.
    #[inline(always)]
    pub(super) fn planned_frame(&self, ac: AccessCategory, radio: &Radio) -> Option<PlannedFrame> {
        let category = &self.categories[ac.index()];
        let &Msdu { to, rate, recipient, content, .. } = category.batch.first()?;
        let (ppdu, response) = (&category.batch.ppdu, category.batch.response());
        let control = self.config.control_rate(rate, &radio.phy);
        let (bytes, mpdus) = (ppdu.bytes, ppdu.mpdus);
        let unanswered = to == self.id;
        let data = PlannedFrame {
            to,
            control,
            rate,
            bytes,
            mpdus,
            response,
            recipient,
            unanswered,
            content,
        };
        if !category.batch.asks {
            return Some(data);
        }
        let rate = radio.phy.response_rate(rate);
        Some(PlannedFrame { rate, bytes: BLOCK_ACK_REQUEST_BYTES, mpdus: 1, ..data })
    }
}
