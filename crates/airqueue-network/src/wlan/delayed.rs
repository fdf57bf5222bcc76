//! Frames that take time to their listeners, from the beginning at the sender to the end at the last listener.

use super::engine::{END, Event, REACH, Wlan};
use super::listeners::Landed;
use super::tap::TracedMpdu;
use super::upper::UpperLayer;
use crate::event::EventQueue;
use airqueue_core::Time;
use airqueue_wifi::mac::FrameKind;

impl<U: UpperLayer> Wlan<U> {
    /// A frame that has begun ends at its sender at `ends`, and is on its way.
    pub(super) fn set_off(&mut self, place: u32, ends: Time, queue: &mut EventQueue<U::Event>) {
        queue.schedule(ends, END, Event::Sent(place).into());
        self.expect_begin(place, queue);
    }

    fn expect_begin(&mut self, place: u32, queue: &mut EventQueue<U::Event>) {
        if let Some(at) = self.listeners.next_begin(place) {
            queue.schedule(at, REACH, Event::Reach(place).into());
        }
    }

    fn expect_end(&mut self, place: u32, queue: &mut EventQueue<U::Event>) {
        match self.listeners.next_end(place) {
            Some(at) => {
                queue.schedule(at, END, Event::Leave(place).into());
            }
            None => self.land(place),
        }
    }

    /// The beginning of a frame reaches its next listeners.
    pub(super) fn on_reach(&mut self, place: u32, now: Time, queue: &mut EventQueue<U::Event>) {
        // A station whose backoff ends at this instant has not noticed the frame.
        if self.listeners.next_grant() <= now {
            self.on_grants(now, queue);
        }
        self.listeners.reach_next(place, now);
        self.expect_begin(place, queue);
    }

    /// A frame ends at its sender.
    pub(super) fn on_sent(&mut self, place: u32, now: Time, queue: &mut EventQueue<U::Event>) {
        let ending = self.listeners.send_whole(place, now);
        let time = self.counted(&ending);
        self.stations[ending.from.index()].on_sent(ending.kind, time);
        if ending.kind == FrameKind::Data && self.upper.watches_frames() {
            let sender = &self.listeners.macs[ending.from.index()];
            sender.sent(sender.frame().ac).for_each(|(_, msdu)| self.upper.on_sent(&msdu.packet));
        }
        self.expect_end(place, queue);
        self.follow_up(ending.from, now, queue);
    }

    /// The end of a frame reaches its next listeners.
    pub(super) fn on_leave(&mut self, place: u32, now: Time, queue: &mut EventQueue<U::Event>) {
        let ending = match self.tap.is_used() {
            true => self.listeners.leave_next::<true>(place, now, &mut self.tap),
            false => self.listeners.leave_next::<false>(place, now, &mut self.tap),
        };
        self.count_outcome(&ending);
        if self.examines_signals {
            self.conclude_signals(&ending, now, queue);
        }
        self.pass_on(&ending, now, queue);
        self.expect_end(place, queue);
        while let Some(station) = self.listeners.poll_touched() {
            self.follow_up(station, now, queue);
        }
    }

    /// All listeners have heard the end of a frame. A tap sees the frame at its sender's times.
    fn land(&mut self, place: u32) {
        self.listeners.land(place);
        let Landed { frame, sent, receptions, air } = self.listeners.landed(place);
        if !self.tap.is_used() {
            return;
        }
        receptions.iter().for_each(|reception| self.tap.add_reception(*reception));
        let received = receptions.iter().any(|at| at.station == frame.to && at.decoded());
        let receiver = &self.listeners.macs[frame.to.index()];
        let decoded =
            |place| received && (frame.mpdus == 1 || receiver.has_decoded(frame.recipient, place));
        let carried = sent.iter().enumerate().map(|(place, (_, msdu))| TracedMpdu {
            packet: msdu.packet,
            mpdu_bytes: msdu.mpdu_bytes,
            decoded: decoded(place),
        });
        self.tap.report_frame(frame, None, carried, air.begins, air.ends);
    }
}
