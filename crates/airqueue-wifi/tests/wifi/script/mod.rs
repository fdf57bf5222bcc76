//! One station's MAC between its packets and a medium that follows a script. All that the station sends is logged.
//!
//! The layer is 802.11b with long preambles: slot 20 µs, SIFS 10, DIFS 50, EIFS 364. Data frames last
//! 1192 µs, RTS 272, CTS and ACK 248, so that every expected time can be added up by hand.

use airqueue_core::{DataRate, FlowKey, Packet, RandomStream, Seed, Span, Time};
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{
    Behaviour, CategoryConfig, Content, Frame, FrameKind, Mac, MacConfig, Msdu, Radio, Scoreboard,
    Transmission, TxStatus, Txop,
};
use airqueue_wifi::medium::{RxOutcome, StationId};
use airqueue_wifi::phy::{AccessCategory, Preamble, RateIndex, Response, dsss, frames};
use std::collections::{BTreeSet, VecDeque};

pub const ME: StationId = StationId(0);
pub const PEER: StationId = StationId(1);
pub const OTHER: StationId = StationId(2);
pub const THIRD: StationId = StationId(3);

pub const DATA_US: i64 = 1192;
pub const RTS_US: i64 = 272;
/// CTS and ACK.
pub const ACK_US: i64 = 248;
pub const SIFS_US: i64 = 10;
pub const SLOT_US: i64 = 20;
pub const DIFS_US: i64 = 50;
pub const EIFS_US: i64 = 364;
/// Data, SIFS, ACK.
pub const EXCHANGE_US: i64 = DATA_US + SIFS_US + ACK_US;
/// From the end of RTS or data to the time-out: SIFS, slot, preamble (10.3.2.9).
pub const TIMEOUT_US: i64 = 222;

/// 1375 bytes at 11 Mb/s are 1000 µs, the preamble 192.
const PSDU_BYTES: u32 = 1375;

const SEED: Seed = Seed(1);

pub fn us(us: i64) -> Time {
    Time::ZERO + Span::from_micros(us)
}

/// 802.11b with a behaviour. ns-2's control rate is that of the others here, 2 Mb/s.
pub fn network(behaviour: Behaviour) -> Radio {
    let rules = behaviour.rules();
    let phy = dsss(Preamble::Long, rules.conventions);
    let phy = match behaviour {
        Behaviour::Ns2 => phy.with_control_rate(mbps(2)).unwrap(),
        _ => phy,
    };
    Radio::new(phy, rules)
}

fn mbps(mbps: u64) -> DataRate {
    DataRate::from_bps(mbps * 1_000_000).unwrap()
}

/// DCF of 802.11b, window of 32 values.
pub fn dcf() -> MacConfig {
    MacConfig::new(vec![CategoryConfig::dcf(&network(Behaviour::Standard).phy)])
}

/// DCF with a window of one value: each backoff is zero.
pub fn eager() -> MacConfig {
    let mut config = dcf();
    config.categories[0].w_min = 1;
    config.categories[0].w_max = 1;
    config
}

/// An EDCA access category whose window never changes.
pub fn edca(aifsn: u32, cw: u32) -> CategoryConfig {
    let countdown = CountdownRule::Edca;
    CategoryConfig { aifsn, w_min: cw, w_max: cw, txop: Txop::One, countdown }
}

/// The draws that the station's MAC makes, from its documented stream.
pub fn draws() -> RandomStream {
    SEED.stream("wifi/backoff/0")
}

/// Slots of a draw from a window of `window` values.
pub fn slots(draws: &mut RandomStream, window: u64) -> i64 {
    draws.below(window) as i64
}

/// The peer's reaction to an RTS or a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The peer responds, and the station decodes the response.
    Received,
    /// The peer has not received the frame.
    None,
    /// The peer has received the frame, but its response is lost.
    Lost,
}

/// The outcome of a frame that the station senses.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// Decoded.
    Frame(Frame),
    /// The receiver was with the frame and did not decode it.
    Error(RxOutcome),
    /// The receiver was never with the frame.
    Noise,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Begin { hopeful: bool },
    End { hopeful: bool, ending: Ending },
    Packet(AccessCategory),
    Extension(AccessCategory, u32),
}

/// A frame that the station has sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub frame: Frame,
}

pub struct Station {
    pub mac: Mac,
    pub radio: Radio,
    pub sent: Vec<Sent>,
    /// The fate of each packet, in order, with its time.
    pub fates: Vec<(i64, TxStatus)>,
    /// Airtime of each packet's transmissions, in µs.
    pub airtimes: Vec<i64>,
    /// The outcomes of data frames.
    pub transmissions: Vec<Transmission>,
    /// The numbers of the packets that the peer has received.
    pub received: BTreeSet<u64>,
    script: Vec<(Time, Happening)>,
    answers: VecDeque<Answer>,
    queues: Vec<VecDeque<Msdu>>,
    /// Frames on the air that the receiver may decode.
    hopeful: u32,
    beginning: Option<Frame>,
    on_air: Option<(Time, Frame)>,
    packets: u64,
}

impl Station {
    pub fn new(behaviour: Behaviour, config: MacConfig) -> Station {
        Station::on(network(behaviour), config)
    }

    pub fn on(radio: Radio, config: MacConfig) -> Station {
        let queues = vec![VecDeque::new(); config.categories.len()];
        Station {
            mac: Mac::new(ME, config, &radio, SEED).unwrap(),
            radio,
            sent: Vec::new(),
            fates: Vec::new(),
            airtimes: Vec::new(),
            transmissions: Vec::new(),
            received: BTreeSet::new(),
            script: Vec::new(),
            answers: VecDeque::new(),
            queues,
            hopeful: 0,
            beginning: None,
            on_air: None,
            packets: 0,
        }
    }

    pub fn data_rate(&self) -> RateIndex {
        self.radio.phy.rate_index(mbps(11)).unwrap()
    }

    fn control_rate(&self) -> RateIndex {
        self.radio.phy.rate_index(mbps(2)).unwrap()
    }

    fn slowest_rate(&self) -> RateIndex {
        self.radio.phy.rate_index(mbps(1)).unwrap()
    }

    /// `count` packets arrive at an access category at `at` µs.
    pub fn packets(&mut self, ac: usize, at: i64, count: usize) -> &mut Station {
        self.script.extend((0..count).map(|_| (us(at), Happening::Packet(AccessCategory::at(ac)))));
        self
    }

    /// The TXOP of an access category is extended by `count` packets at `at` µs.
    pub fn extends(&mut self, ac: usize, at: i64, count: u32) -> &mut Station {
        self.script.push((us(at), Happening::Extension(AccessCategory::at(ac), count)));
        self
    }

    /// The station senses a frame from `begins` to `ends` µs.
    pub fn hears(&mut self, begins: i64, ends: i64, ending: Ending) -> &mut Station {
        let hopeful = !matches!(ending, Ending::Noise | Ending::Error(RxOutcome::Deaf));
        self.script.push((us(begins), Happening::Begin { hopeful }));
        self.script.push((us(ends), Happening::End { hopeful, ending }));
        self
    }

    /// The peer's responses, in order, to RTS and data; after these the peer responds to every frame.
    pub fn answers(&mut self, answers: &[Answer]) -> &mut Station {
        self.answers.extend(answers);
        self
    }

    /// A frame of another station, as the station decodes it.
    pub fn frame(&self, kind: FrameKind, from: StationId, to: StationId, nav: i64) -> Ending {
        Ending::Frame(self.plain(kind, from, to, Span::from_micros(nav)))
    }

    fn plain(&self, kind: FrameKind, from: StationId, to: StationId, nav: Span) -> Frame {
        let (rate, bytes) = match kind {
            FrameKind::Rts => (self.control_rate(), frames::RTS_BYTES),
            FrameKind::Cts | FrameKind::Ack => (self.control_rate(), frames::ACK_BYTES),
            FrameKind::CfEnd => (self.slowest_rate(), frames::CF_END_BYTES),
            FrameKind::BlockAck => (self.control_rate(), frames::BLOCK_ACK_BYTES),
            FrameKind::BlockAckRequest => (self.control_rate(), frames::BLOCK_ACK_REQUEST_BYTES),
            FrameKind::Data => (self.data_rate(), PSDU_BYTES),
            FrameKind::Beacon
            | FrameKind::Null
            | FrameKind::QosNull
            | FrameKind::PsPoll
            | FrameKind::Handshake(_) => {
                unreachable!("no script has management frames")
            }
        };
        let response = Response::Ack;
        let (opens, retry) = (false, false);
        Frame {
            kind,
            from,
            to,
            rate,
            bytes,
            nav,
            field: 0,
            ac: AccessCategory::FIRST,
            opens,
            retry,
            power: false,
            more: false,
            ends_service: false,
            mpdus: 1,
            response,
            recipient: 0,
        }
    }

    /// The frames that the station has sent: start in µs, and kind.
    pub fn log(&self) -> Vec<(i64, FrameKind)> {
        let whole = |at: Time| {
            assert_eq!(at.as_nanos() % 1000, 0, "{at} is no whole µs");
            at.as_nanos() / 1000
        };
        self.sent.iter().map(|sent| (whole(sent.at), sent.frame.kind)).collect()
    }

    /// Start times of the data frames, in µs.
    pub fn data(&self) -> Vec<i64> {
        let data = |&(at, kind)| (kind == FrameKind::Data).then_some(at);
        self.log().iter().filter_map(data).collect()
    }

    /// Processes all events up to and including `until` µs.
    pub fn run(&mut self, until: i64) -> &mut Station {
        while let Some(now) = self.next().filter(|&next| next <= us(until)) {
            self.instant(now);
        }
        self
    }

    fn next(&self) -> Option<Time> {
        let own = self.on_air.map(|(ends, _)| ends);
        let mac = [self.mac.next_grant(), self.mac.next_timer()];
        let script = self.script.iter().map(|&(at, _)| at);
        let times = script.chain(own).chain(mac);
        times.min().filter(|&at| at < Time::MAX)
    }

    /// Ends, then timers and packets, then the grant, then beginnings, as in the engine.
    fn instant(&mut self, now: Time) {
        if let Some((_, frame)) = self.on_air.take_if(|(ends, _)| *ends == now) {
            self.mac.on_transmitted(now, &self.radio);
            self.answer(&frame, now);
            self.follow_up(now);
        }
        while let Some(Happening::End { hopeful, ending }) =
            self.take(now, |what| matches!(what, Happening::End { .. }))
        {
            self.end(hopeful, ending, now);
        }
        if self.mac.next_timer() == now {
            if let Some(ac) = self.mac.is_to_compose() {
                self.compose(ac, now);
            }
            let receiving = self.hopeful > 0;
            let begins = self.mac.on_timer(now, receiving, &self.radio);
            self.beginning = begins.then(|| *self.mac.frame());
            self.follow_up(now);
        }
        while let Some(Happening::Packet(ac)) =
            self.take(now, |what| matches!(what, Happening::Packet(_)))
        {
            self.arrive(ac, now);
        }
        if self.mac.next_grant() == now {
            assert!(self.beginning.is_none(), "two frames at {now}");
            let ac = self.mac.on_grant(now, &self.radio);
            self.extend(now);
            self.compose(ac, now);
            self.mac.begin(now, &self.radio);
            self.beginning = Some(*self.mac.frame());
            self.follow_up(now);
        }
        self.extend(now);
        if let Some(frame) = self.beginning.take() {
            assert!(self.on_air.is_none(), "{frame:?} during another at {now}");
            self.sent.push(Sent { at: now, frame });
            self.on_air = Some((now + self.radio.phy.airtime(frame.rate, frame.bytes), frame));
            self.mac.on_transmit(now);
            self.mac.settle(now, &self.radio);
        }
        while let Some(Happening::Begin { hopeful }) =
            self.take(now, |what| matches!(what, Happening::Begin { .. }))
        {
            self.hopeful += u32::from(hopeful);
            if self.mac.on_sensed_begin(now, &self.radio) {
                self.mac.settle(now, &self.radio);
            }
        }
    }

    fn take(&mut self, now: Time, is: impl Fn(&Happening) -> bool) -> Option<Happening> {
        let at = self.script.iter().position(|(at, what)| *at == now && is(what))?;
        Some(self.script.remove(at).1)
    }

    fn end(&mut self, hopeful: bool, ending: Ending, now: Time) {
        self.hopeful -= u32::from(hopeful);
        self.mac.on_sensed_end(now);
        match ending {
            Ending::Frame(frame) => {
                self.mac.on_frame(&frame, &Scoreboard::default(), now, &self.radio);
            }
            Ending::Error(outcome) => {
                self.mac.on_error(outcome, now, &self.radio);
            }
            Ending::Noise => {}
        }
        self.follow_up(now);
    }

    /// After the grant, if there is one at that moment.
    fn extend(&mut self, now: Time) {
        while let Some(Happening::Extension(ac, packets)) =
            self.take(now, |what| matches!(what, Happening::Extension(..)))
        {
            self.mac.extend_txop(ac, packets);
        }
    }

    fn arrive(&mut self, ac: AccessCategory, now: Time) {
        self.packets += 1;
        let packet = Packet::new(self.packets, FlowKey(ac.index() as u32), 1000, now);
        let (rate, mpdu_bytes) = (self.data_rate(), PSDU_BYTES);
        let content = Content::Data;
        let msdu = Msdu { packet, content, to: PEER, recipient: 0, rate, mpdu_bytes };
        if self.mac.is_empty(ac) {
            self.mac.on_packet(ac, msdu, now, &self.radio);
            self.mac.settle(now, &self.radio);
        } else {
            self.queues[ac.index()].push_back(msdu);
        }
    }

    /// Waiting packets join the exchange as far as they fit.
    fn compose(&mut self, ac: AccessCategory, now: Time) {
        let Some(mut joining) = self.mac.compose(ac, now, &self.radio) else { return };
        let mut admits = |msdu: &mut Msdu| joining.admit(msdu.to, msdu.rate, msdu.mpdu_bytes);
        while let Some(msdu) = self.queues[ac.index()].pop_front_if(&mut admits) {
            self.mac.join(ac, msdu, now);
        }
        self.mac.end_joining(ac, &joining, &self.radio);
    }

    fn follow_up(&mut self, now: Time) {
        self.transmissions.extend(self.mac.poll_transmission());
        while let Some(ac) = self.mac.poll_done() {
            while let Some(finished) = self.mac.poll_finished(ac) {
                self.fates.push((now.as_nanos() / 1000, finished.status));
                self.airtimes.push(finished.airtime.as_nanos() / 1000);
            }
            let next = self.mac.is_empty(ac).then(|| self.queues[ac.index()].pop_front());
            self.mac.on_next(ac, next.flatten(), now, &self.radio);
        }
        self.mac.settle(now, &self.radio);
    }

    /// A frame ends now, which the peer has received or not.
    fn answer(&mut self, frame: &Frame, now: Time) {
        let kind = match frame.kind {
            FrameKind::Rts => FrameKind::Cts,
            FrameKind::Data => FrameKind::Ack,
            _ => return,
        };
        let answer = self.answers.pop_front().unwrap_or(Answer::Received);
        if answer != Answer::None && kind == FrameKind::Ack {
            let ac = frame.ac;
            let received = self.mac.sent(ac).map(|(_, msdu)| msdu.packet.id);
            self.received.extend(received);
        }
        if answer != Answer::Received {
            return;
        }
        let phy = &self.radio.phy;
        let rate = phy.response_rate(frame.rate);
        let nav = if kind == FrameKind::Cts { phy.cts_nav(rate, frame.nav) } else { Span::ZERO };
        let ending = Ending::Frame(Frame { rate, ..self.plain(kind, PEER, ME, nav) });
        let begins = now + phy.sifs();
        let ends = begins + phy.ack(rate);
        self.script.push((begins, Happening::Begin { hopeful: true }));
        self.script.push((ends, Happening::End { hopeful: true, ending }));
    }
}
