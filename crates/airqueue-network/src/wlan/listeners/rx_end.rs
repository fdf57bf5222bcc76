//! The effect of the end of a frame on its listeners.

use super::Listeners;
use super::bit_errors::BitErrors;
use super::energy::Part;
use super::on_air::FrameOnAir;
use super::parts::Parts;
use crate::wlan::tap::{FrameReception, Socket};
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Frame, FrameKind, Msdu, Overheard, Radio};
use airqueue_wifi::medium::{Air, End, FrameId, RxOutcome, Signal, StationId};
use airqueue_wifi::phy::frames::DELIMITER_BYTES;
use std::mem::discriminant;

/// A frame that ends. Its sender still holds the rest of it ([`Mac::frame`](airqueue_wifi::mac::Mac::frame)).
pub(in crate::wlan) struct Ending {
    pub(super) place: u32,
    pub(super) id: FrameId,
    pub(in crate::wlan) from: StationId,
    pub(in crate::wlan) to: StationId,
    pub(in crate::wlan) kind: FrameKind,
    pub(in crate::wlan) mpdus: u16,
    pub(in crate::wlan) begins: Time,
    pub(super) now: Time,
    pub(in crate::wlan) time: Span,
    pub(super) overheard: Overheard,
    /// [`FrameOnAir::version`](super::on_air::FrameOnAir::version).
    pub(super) version: u32,
    /// The outcome at the receiver: what overlapping frames left of the frame, and whether the receiver decoded it.
    pub(in crate::wlan) at_receiver: Option<(RxOutcome, bool)>,
}

impl Ending {
    /// A frame that ends at `now`.
    #[inline(always)]
    pub(super) fn new(
        on_air: FrameOnAir,
        place: u32,
        frame: &Frame,
        now: Time,
        radio: &Radio,
    ) -> Ending {
        let FrameOnAir { id, from, air, version } = on_air;
        let &Frame { kind, to, mpdus, .. } = frame;
        Ending {
            place,
            id,
            from,
            to,
            kind,
            mpdus,
            begins: air.begins,
            now,
            time: air.ends - air.begins,
            overheard: radio.overheard(frame, now),
            at_receiver: None,
            version,
        }
    }

    /// Whether the addressed station has decoded the frame.
    #[inline]
    pub(in crate::wlan) fn is_received(&self) -> bool {
        matches!(self.at_receiver, Some((_, true)))
    }
}

/// The effect of the end of a frame on a station.
#[derive(Clone, Copy, Debug)]
pub(super) enum RxEnd {
    /// The station is addressed, and decoded the frame.
    Addressed,
    /// Another station is addressed, and this station decoded the frame.
    Overheard,
    /// The receiver stayed with the frame and did not decode it.
    Errored(RxOutcome),
    /// The receiver ignored the frame for a stronger frame.
    Ignored,
    /// The frame has no effect.
    Nothing,
}

/// The effects of the end of a frame on the members of a group, by their places.
pub(super) type RxEnds = Vec<RxEnd>;

impl RxEnd {
    #[inline]
    pub(super) fn to_others(end: &End, decoded: bool) -> RxEnd {
        if decoded {
            RxEnd::Overheard
        } else if end.engaged {
            RxEnd::Errored(end.outcome)
        } else if end.ignored {
            RxEnd::Ignored
        } else {
            RxEnd::Nothing
        }
    }

    #[inline]
    pub(super) fn is_like(&self, other: &RxEnd) -> bool {
        discriminant(self) == discriminant(other)
    }

    /// The effects that a frame may have on several members of a group. No member transmits, so that the outcome of an
    /// error does not matter to them.
    pub(super) const SHARED: [RxEnd; 4] =
        [RxEnd::Overheard, RxEnd::Errored(RxOutcome::Collided), RxEnd::Ignored, RxEnd::Nothing];

    /// How often there is each of [`Self::SHARED`].
    pub(super) fn count(rx_ends: &RxEnds) -> [u32; RxEnd::SHARED.len()] {
        let mut count = [0; RxEnd::SHARED.len()];
        for rx_end in rx_ends {
            match rx_end {
                RxEnd::Overheard => count[0] += 1,
                RxEnd::Errored(_) => count[1] += 1,
                RxEnd::Ignored => count[2] += 1,
                RxEnd::Nothing => count[3] += 1,
                RxEnd::Addressed => {}
            }
        }
        count
    }
}

impl Listeners {
    /// The effect of a frame on a station. `tracker`: the station whose receiver tracks the frames on the air.
    #[inline]
    pub(super) fn rx_end<const TAPPED: bool>(
        &mut self,
        station: StationId,
        tracker: StationId,
        end: &End,
        ending: &mut Ending,
        tap: &mut Socket,
    ) -> RxEnd {
        let decoded = self.decodes(station, tracker, end, ending);
        if TAPPED {
            let whole = end.outcome.decoded();
            // An A-MPDU of which a part is left was captured.
            let outcome = if decoded && !whole { RxOutcome::Captured } else { end.outcome };
            let bit_error = whole && !decoded;
            let End { engaged, ignored, .. } = *end;
            tap.add_reception(FrameReception { station, outcome, engaged, ignored, bit_error });
        }
        if station != ending.to {
            return RxEnd::to_others(end, decoded);
        }
        ending.at_receiver = Some((end.outcome, decoded));
        if decoded { RxEnd::Addressed } else { RxEnd::to_others(end, false) }
    }

    /// Whether a station decodes a frame; of an A-MPDU, any part.
    #[inline]
    fn decodes(
        &mut self,
        station: StationId,
        tracker: StationId,
        end: &End,
        ending: &Ending,
    ) -> bool {
        // What others make of a frame that does not concern them changes nothing for a station out of reach or asleep.
        if station == ending.to
            && (!self.is_here_since(ending.from, ending.begins)
                || !self.is_listening(station, ending.begins))
        {
            return false;
        }
        if ending.mpdus > 1 {
            return self.decodes_any(station, tracker, end, ending);
        }
        if !end.outcome.decoded() {
            return false;
        }
        let lost = match self.is_disturbed(station, end, ending) {
            true => self.is_lost_beside_others((station, tracker), end, ending),
            false => self.errors.happen() && self.is_lost(station, ending),
        };
        if lost || station != ending.to || ending.kind != FrameKind::Data {
            return !lost;
        }
        let &Frame { ac, recipient, .. } = self.frame_of(ending);
        let sent = match &self.flights {
            Some(flights) => flights.sent(ending.place).next(),
            None => self.macs[ending.from.index()].sent(ac).next(),
        };
        let (sequence, &Msdu { packet, .. }) = sent.expect("a data frame has a packet");
        self.macs[station.index()].receive(recipient, sequence, &packet);
        true
    }

    /// Whether energy meets a frame at a station, or other frames add to the noise there.
    #[inline]
    fn is_disturbed(&self, station: StationId, end: &End, ending: &Ending) -> bool {
        end.overlapped && self.errors.are_by_snr()
            || self.energy.is_used()
                && self.energy.meets(station, Air { begins: ending.begins, ends: ending.now })
    }

    /// Whether noise alone destroys a frame of one MPDU at a station.
    fn is_lost(&mut self, station: StationId, ending: &Ending) -> bool {
        let &Frame { rate, bytes, .. } = self.frame_of(ending);
        let signal = self.signal(ending, station);
        let loss = self.errors.loss(rate, bytes, signal);
        self.errors.strikes(station, loss)
    }

    /// Whether a station decodes any MPDU of an A-MPDU. For its recipient each MPDU has its own length; for all other
    /// stations the MPDUs count as equally long.
    fn decodes_any(
        &mut self,
        station: StationId,
        tracker: StationId,
        end: &End,
        ending: &Ending,
    ) -> bool {
        if !self.is_found(tracker, end, ending) || self.is_preamble_lost(station, ending) {
            return false;
        }
        let signal = self.signal(ending, station);
        let (frame, noisy) = (*self.frame_of(ending), self.errors.happen());
        let Listeners { errors, hearing, macs, radio, energy, flights, .. } = self;
        let beside_energy = energy.meets(station, Air { begins: ending.begins, ends: ending.now });
        let disturbed = beside_energy || end.overlapped && noisy;
        let parts = Parts::of(&frame, ending.begins, ending.now, &radio.phy);
        // The probability that an MPDU, after its delimiter, is lost.
        let loss = |errors: &mut BitErrors, from: u32, to: u32| -> f64 {
            let part = || Part { air: parts.bytes(from, to), bytes: to - from, rate: frame.rate };
            let destroyed = end.overlapped && hearing.beside(tracker, part().air, signal).is_none();
            match destroyed {
                true => 1.0,
                false if disturbed => {
                    energy.loss(errors, station, &part(), hearing.overlaps(tracker, end), signal)
                }
                false if noisy => errors.loss(frame.rate, to - from, signal),
                false => 0.0,
            }
        };
        if station != frame.to {
            let one = frame.bytes / u32::from(frame.mpdus);
            let mut each =
                (0..u32::from(frame.mpdus)).map(|at| loss(errors, at * one, (at + 1) * one));
            if !noisy {
                // Overlapping frames destroy an MPDU or leave it whole.
                return !end.overlapped || each.any(|loss| loss < 1.0);
            }
            let all = each.product::<f64>();
            return !errors.strikes(station, all);
        }
        let Ok([sender, receiver]) = macs.get_disjoint_mut([frame.from.index(), station.index()])
        else {
            return false;
        };
        let mut at = 0;
        let whole = !(noisy || beside_energy || end.overlapped);
        let mut received = |msdu: &Msdu| {
            if whole {
                return true;
            }
            let (from, to) = (at, at + DELIMITER_BYTES + msdu.mpdu_bytes);
            at = to.next_multiple_of(4);
            let loss = loss(errors, from, to);
            let lost = if noisy { errors.strikes(station, loss) } else { loss > 0.0 };
            !lost
        };
        match flights {
            Some(flights) => {
                let sent = flights.sent(ending.place);
                let mpdus = sent.map(|(number, msdu)| (number, &msdu.packet, received(msdu)));
                receiver.receive_ampdu(frame.recipient, mpdus)
            }
            None => {
                let sent = sender.sent(frame.ac);
                let mpdus = sent.map(|(number, msdu)| (number, &msdu.packet, received(msdu)));
                receiver.receive_ampdu(frame.recipient, mpdus)
            }
        }
    }

    /// How a station hears a frame that ends.
    pub(super) fn signal(&self, ending: &Ending, station: StationId) -> Signal {
        match &self.varying {
            Some(varying) => varying.heard(ending.place, station).signal,
            None => self.listeners.for_frame(ending.version).signal(ending.from, station),
        }
    }

    /// Whether overlapping frames left a station the beginning of a frame, without which the station decodes nothing of
    /// the frame.
    #[inline]
    pub(super) fn is_found(&self, tracker: StationId, end: &End, ending: &Ending) -> bool {
        if ending.mpdus == 1 || !end.overlapped {
            return end.outcome.decoded();
        }
        let frame = self.frame_of(ending);
        let signal = self.signal(ending, tracker);
        let parts = Parts::of(frame, ending.begins, ending.now, &self.radio.phy);
        self.hearing.beside(tracker, parts.preamble(), signal).is_some()
    }

    /// Whether a frame may have different outcomes at members of a group that hear the frame alike.
    #[inline]
    pub(super) fn is_partial(&self, tracker: StationId, end: &End, ending: &Ending) -> bool {
        let overlapped = ending.mpdus > 1 && end.overlapped;
        (self.errors.happen() || overlapped) && self.is_found(tracker, end, ending)
    }
}
