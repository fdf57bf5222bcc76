//! Checks the frames on the air of a network: the view of each station, derived from the frames alone, and the rules of
//! access for every frame.

use super::cells::{CellSpec, Flow};
use super::random_networks::STOP;
use airqueue_core::{Span, Time};
use airqueue_network::wlan::tap::TracedFrame;
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::mac::{ErrorWait, Frame, FrameKind};
use airqueue_wifi::medium::{RxOutcome, StationId};
use airqueue_wifi::phy::Response;

/// The knowledge of one station, from what it has sensed, decoded and sent.
struct View<'a> {
    spec: &'a CellSpec,
    id: StationId,
    /// Beginnings of the frames on the air that it senses.
    sensed: Vec<(Time, usize)>,
    sending: bool,
    /// End of the last frame sensed or sent.
    idle_since: Time,
    /// The NAV, and the TXOP holder for whose exchange it was set.
    nav: (Time, Option<StationId>),
    /// The time by which a frame must begin, and the NAV if one does (IEEE 802.11-2016, 10.3.2.4).
    unconfirmed: Option<(Time, (Time, Option<StationId>))>,
    hold: Time,
    /// End of the wait for the answer to its last RTS or data frame.
    timeout: Time,
    /// Whether each queue always has a packet, from its first exchange on.
    backlogged: [bool; 4],
    /// The answer that the station owes: its time, kind and receiver.
    owed: Option<(Time, FrameKind, StationId)>,
    /// Whether a packet of the present TXOP was acknowledged.
    got_through: bool,
    /// When the station may continue an exchange or a TXOP; an exchange it must continue.
    next: Option<(Time, bool)>,
    busy: Span,
    busy_since: Time,
}

/// Checks all frames of a run that has ended; returns each station's busy time.
pub fn check(spec: &CellSpec, frames: &[TracedFrame]) -> Result<Vec<Span>, String> {
    let mut turns: Vec<(Time, bool, usize)> = Vec::with_capacity(2 * frames.len());
    for (at, traced) in frames.iter().enumerate() {
        turns.push((traced.begins, true, at));
        turns.push((traced.ends, false, at));
    }
    turns.sort_unstable();
    let ids = (0..spec.reach.stations() as u32).map(StationId);
    ids.map(|id| {
        let mut view = View::new(spec, id);
        for &(now, begins, at) in &turns {
            let traced = &frames[at];
            let wrong = |what: String| format!("station {} at {now}: {what}: {traced:?}", id.0);
            if begins { view.on_begin(traced, at) } else { view.on_end(traced, at) }
                .map_err(wrong)?;
        }
        if let Some((at, kind, to)) = view.owed.filter(|_| view.answers_always()) {
            return Err(format!("station {} owes {kind:?} to {to:?} at {at}", id.0));
        }
        Ok(view.busy)
    })
    .collect()
}

impl<'a> View<'a> {
    fn new(spec: &'a CellSpec, id: StationId) -> View<'a> {
        View {
            spec,
            id,
            sensed: Vec::new(),
            sending: false,
            idle_since: Time::ZERO,
            nav: (Time::ZERO, None),
            unconfirmed: None,
            hold: Time::ZERO,
            timeout: Time::ZERO,
            backlogged: [false; 4],
            got_through: false,
            owed: None,
            next: None,
            busy: Span::ZERO,
            busy_since: Time::ZERO,
        }
    }

    /// ns-2 omits answers, and data after a CTS, when the medium is not idle.
    fn answers_always(&self) -> bool {
        !self.spec.radio.rules.answers_need_idle
    }

    fn is_sensed(&self, traced: &TracedFrame) -> bool {
        self.spec.reach.signal(traced.frame.from, self.id).is_some_and(|signal| signal.sensed())
    }

    fn on_begin(&mut self, traced: &TracedFrame, at: usize) -> Result<(), String> {
        let now = traced.begins;
        self.nothing_missed(now)?;
        let own = traced.frame.from == self.id;
        if !own && !self.is_sensed(traced) {
            return Ok(());
        }
        if self.sensed.is_empty() && !self.sending {
            self.busy_since = now;
        }
        if own {
            self.send(&traced.frame, now)?;
            self.sending = true;
        } else {
            self.sensed.push((now, at));
            if let Some((by, until)) = self.unconfirmed.take()
                && now <= by
            {
                self.set_nav(until);
            }
        }
        Ok(())
    }

    fn set_nav(&mut self, nav: (Time, Option<StationId>)) {
        if nav.0 > self.nav.0 {
            self.nav = nav;
        }
    }

    /// A station with QoS answers the RTS of the TXOP holder that set its NAV (10.22.2.4).
    fn answers_rts(&self, from: StationId, now: Time) -> bool {
        let qos = self.spec.stations[self.id.index()].mac.categories.len() > 1;
        now >= self.nav.0 || qos && self.answers_always() && self.nav.1 == Some(from)
    }

    /// Checks that answers come, and exchanges continue, at their time or never.
    fn nothing_missed(&mut self, now: Time) -> Result<(), String> {
        if let Some((at, kind, to)) = self.owed.take_if(|owed| owed.0 < now)
            && self.answers_always()
        {
            return Err(format!("no {kind:?} to {to:?} at {at}"));
        }
        if let Some((at, true)) = self.next.take_if(|next| next.0 < now)
            && self.answers_always()
        {
            return Err(format!("the exchange does not go on at {at}"));
        }
        Ok(())
    }

    fn send(&mut self, frame: &Frame, now: Time) -> Result<(), String> {
        if self.sending {
            return Err("two frames at once".into());
        }
        let to_itself = frame.to == self.id;
        let answers = matches!(frame.kind, FrameKind::Ack | FrameKind::BlockAck);
        if answers || frame.kind == FrameKind::Cts && !to_itself {
            return match self.owed.take() {
                Some(owed) if owed == (now, frame.kind, frame.to) => Ok(()),
                owed => Err(format!("an answer to nothing, it owes {owed:?}")),
            };
        }
        if self.next.take_if(|next| next.0 == now).is_some() {
            return Ok(());
        }
        if self.resumes(now) {
            return Ok(());
        }
        self.begin_exchange(frame, now)
    }

    /// A TXOP with an acknowledged packet continues PIFS after a failure (the time-out, or the end of another
    /// reception) if the medium has been idle since.
    fn resumes(&self, now: Time) -> bool {
        let net = &self.spec.radio;
        let failure = now - net.phy.aifs(1);
        let known = failure == self.timeout || failure == self.idle_since;
        let unnoticed = self.sensed.iter().all(|s| now - s.0 <= net.rules.sense_delay);
        let idle = unnoticed && self.idle_since <= failure;
        net.rules.resumes_txop && self.got_through && known && idle
    }

    /// A backoff, possibly of zero slots, has ended: AIFS after the medium turned idle, EIFS after an error, no NAV.
    fn begin_exchange(&mut self, frame: &Frame, now: Time) -> Result<(), String> {
        let net = &self.spec.radio;
        if let Some((begins, _)) = self.sensed.iter().find(|s| now - s.0 > net.rules.sense_delay) {
            return Err(format!("it transmits into a frame that it has sensed since {begins}"));
        }
        if now < self.nav.0 {
            return Err(format!("its NAV ends at {}", self.nav.0));
        }
        let mac = &self.spec.stations[self.id.index()].mac;
        let aifs = net.phy.aifs(mac.categories[frame.ac.index()].aifsn);
        let idle = self.idle_since.max(self.nav.0).max(self.hold);
        // Nothing was on the air before the first frame of all.
        if idle > Time::ZERO && now < idle + aifs {
            return Err(format!("AIFS from {idle} is not over"));
        }
        self.got_through = false;
        let queue = frame.ac.index();
        if self.backlogged[queue] && now < STOP {
            self.on_a_boundary(idle, aifs, now)?;
        }
        self.backlogged[queue] = self.always_has_packets(queue);
        Ok(())
    }

    /// A shaper holds packets back, also those of a saturated source.
    fn always_has_packets(&self, queue: usize) -> bool {
        if self.spec.stations[self.id.index()].queues[queue].discipline.facts().shapes {
            return false;
        }
        let feeds = |f: &&Flow| (f.from, f.ac.index()) == (self.id, queue);
        let mut flows = self.spec.flows.iter().filter(feeds);
        flows.all(|flow| !flow.offered && flow.source.arrivals == Arrivals::Saturated)
    }

    /// A queue that always has packets sends a whole number of slots after the AIFS that follows the latest of these
    /// events: the medium turned idle, the NAV or EIFS ended, or an answer failed to come.
    fn on_a_boundary(&self, idle: Time, aifs: Span, now: Time) -> Result<(), String> {
        let slot = self.spec.radio.phy.slot().as_nanos();
        let whole = |from: Time| (now - (from + aifs)).as_nanos() % slot == 0;
        if whole(idle) || whole(idle.max(self.timeout)) {
            return Ok(());
        }
        Err(format!("no slot boundary, counted from {idle} or {}", self.timeout))
    }

    fn on_end(&mut self, traced: &TracedFrame, at: usize) -> Result<(), String> {
        let now = traced.ends;
        self.nothing_missed(now)?;
        let own = traced.frame.from == self.id;
        if own {
            self.sending = false;
            use FrameKind::{BlockAckRequest, Data, Rts};
            if matches!(traced.frame.kind, Rts | Data | BlockAckRequest) {
                self.timeout = now + self.spec.radio.phy.response_timeout(traced.frame.rate);
            }
            if traced.frame.kind == FrameKind::Cts && traced.frame.to == self.id {
                self.next = Some((now + self.spec.radio.phy.sifs(), true));
            }
        } else if self.is_sensed(traced) {
            self.sensed.retain(|&(_, on_air)| on_air != at);
        }
        if own || self.is_sensed(traced) {
            self.idle_since = now;
            if self.sensed.is_empty() && !self.sending {
                self.busy = self.busy + (now - self.busy_since);
            }
        }
        if let Some(reception) =
            traced.receptions.iter().find(|reception| reception.station == self.id)
        {
            if reception.decoded() {
                self.decode(&traced.frame, now);
            } else if reception.engaged {
                self.fail_to_decode(reception.outcome, now);
            } else if reception.ignored {
                self.ignore(traced);
            }
        }
        Ok(())
    }

    fn fail_to_decode(&mut self, outcome: RxOutcome, now: Time) {
        let (phy, rules) = (&self.spec.radio.phy, &self.spec.radio.rules);
        if outcome == RxOutcome::Deaf && !rules.deaf_errors {
            return;
        }
        match rules.error_wait {
            ErrorWait::Eifs => self.hold = now + (phy.eifs() - phy.difs()),
            ErrorWait::EifsAsNav => self.set_nav((now + phy.eifs(), None)),
        }
    }

    /// ns-2 defers to a frame that it has ignored: for the frame's duration and EIFS, from the frame's beginning.
    fn ignore(&mut self, traced: &TracedFrame) {
        let net = &self.spec.radio;
        if net.rules.ignored_nav {
            let nav = net.phy.nav(traced.ends - traced.begins + net.phy.eifs());
            self.set_nav((traced.begins + nav, None));
        }
    }

    fn decode(&mut self, frame: &Frame, now: Time) {
        let (phy, rules) = (&self.spec.radio.phy, &self.spec.radio.rules);
        self.hold = Time::ZERO;
        if frame.kind == FrameKind::CfEnd {
            (self.nav, self.unconfirmed) = ((now, None), None);
        } else if frame.to != self.id {
            let (until, by) = (now + frame.nav, now + phy.nav_timeout(frame.rate));
            let answers =
                matches!(frame.kind, FrameKind::Cts | FrameKind::Ack | FrameKind::BlockAck);
            let holder = Some(if answers { frame.to } else { frame.from });
            let reset = frame.kind == FrameKind::Rts && rules.nav_reset;
            if reset && by < until && until > self.nav.0 {
                let preamble = phy.preamble(phy.response_rate(frame.rate));
                self.set_nav((by, holder));
                self.unconfirmed = Some((by - preamble, (until, holder)));
            } else {
                self.set_nav((until, holder));
            }
            return;
        }
        let sifs = now + phy.sifs();
        match frame.kind {
            FrameKind::Data | FrameKind::BlockAckRequest => {
                let several = frame.response != Response::Ack;
                let kind = if several { FrameKind::BlockAck } else { FrameKind::Ack };
                self.owed = Some((sifs, kind, frame.from));
            }
            FrameKind::Rts if self.answers_rts(frame.from, now) => {
                self.owed = Some((sifs, FrameKind::Cts, frame.from));
            }
            FrameKind::Rts => {}
            FrameKind::Cts => self.next = Some((sifs, true)),
            // A TXOP may continue.
            FrameKind::Ack | FrameKind::BlockAck => {
                self.got_through = true;
                self.next = Some((sifs, false));
            }
            FrameKind::CfEnd
            | FrameKind::Beacon
            | FrameKind::Null
            | FrameKind::QosNull
            | FrameKind::PsPoll
            | FrameKind::Handshake(_) => {}
        }
    }
}
