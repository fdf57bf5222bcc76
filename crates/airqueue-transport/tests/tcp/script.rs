//! One end of a connection, where the test is the other end: segments by their numbers from 1, each of `MSS` bytes.

use airqueue_core::{Span, Time};
use airqueue_transport::tcp::{
    Growth, HeaderSize, InitialWindow, Opening, Range, Segment, Sender, TcpSpec, Timestamps,
};

pub const MSS: u64 = 1000;
/// No segments.
pub const NONE: [u64; 0] = [];

pub fn at(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// An open connection with an initial window of `initial` segments and without options.
pub fn plain(initial: u32) -> TcpSpec {
    let mut spec = TcpSpec::standard(MSS as u32);
    spec.opening = Opening::Open;
    spec.header = HeaderSize::Fixed(40);
    spec.timestamps = None;
    spec.sack = false;
    spec.sender.limited_transmit = false;
    spec.sender.initial_window = InitialWindow::Segments(initial);
    spec.sender.growth = Growth::Bytes { segments_per_ack: 1 };
    spec
}

/// A connection as [`plain`] with selective acknowledgements and limited transmit.
pub fn selective(initial: u32) -> TcpSpec {
    let mut spec = plain(initial);
    spec.sack = true;
    spec.sender.limited_transmit = true;
    spec
}

/// The first octet of segment `number`.
pub fn octet(number: u64) -> u64 {
    1 + (number - 1) * MSS
}

/// A segment of data.
pub fn data(number: u64) -> Segment {
    Segment { payload_bytes: MSS as u32, ..bare(octet(number), Some(1)) }
}

/// An acknowledgement of the first `segments`.
pub fn ack(segments: u64) -> Segment {
    bare(1, Some(octet(segments + 1)))
}

pub fn bare(seq: u64, ack: Option<u64>) -> Segment {
    Segment {
        seq,
        payload_bytes: 0,
        header_bytes: 40,
        ack,
        syn: false,
        fin: false,
        psh: false,
        ece: false,
        cwr: false,
        ecn: Default::default(),
        timestamps: None,
        sack: Default::default(),
        window_bytes: Segment::UNLIMITED,
    }
}

pub fn stamped(segment: Segment, value_ms: i64, echo_ms: Option<i64>) -> Segment {
    let timestamps = Timestamps { value: at(value_ms), echo: echo_ms.map(at) };
    Segment { timestamps: Some(timestamps), ..segment }
}

/// A sender under test.
pub struct Script {
    pub sender: Sender,
    pub now: Time,
}

impl Script {
    pub fn new(spec: &TcpSpec) -> Script {
        Script { sender: Sender::new(spec).unwrap(), now: Time::ZERO }
    }

    /// A sender with more data than any test uses.
    pub fn backlogged(spec: &TcpSpec) -> Script {
        let mut script = Script::new(spec);
        script.sender.write(u64::MAX / 2);
        script
    }

    pub fn segments(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).collect()
    }

    /// The numbers of the segments sent now.
    pub fn sent(&mut self) -> Vec<u64> {
        self.segments().iter().map(|s| 1 + (s.seq - 1) / MSS).collect()
    }

    /// The segments sent after an acknowledgement of the first `segments`.
    pub fn on_ack(&mut self, segments: u64) -> Vec<u64> {
        self.on(&ack(segments))
    }

    /// The segments sent after an acknowledgement of the first `segments` with SACK blocks for `runs`, each from first
    /// to last.
    pub fn on_sack(&mut self, segments: u64, runs: &[(u64, u64)]) -> Vec<u64> {
        let range = |&(first, last)| Range { start: octet(first), end: octet(last + 1) };
        let blocks: Vec<Range> = runs.iter().map(range).collect();
        self.on(&Segment { sack: blocks.as_slice().into(), ..ack(segments) })
    }

    pub fn on(&mut self, segment: &Segment) -> Vec<u64> {
        self.sender.on_segment(segment, self.now);
        self.sent()
    }

    /// Advances to `ms`; no timer may expire before.
    pub fn quiet_until(&mut self, ms: i64) {
        assert!(self.sender.next_timer() >= at(ms), "a timer at {}", self.sender.next_timer());
        self.now = at(ms);
        assert_eq!(self.sent(), NONE);
    }

    /// Advances to `ms`, the time of the next timer; returns the segments sent then.
    pub fn timer_at(&mut self, ms: i64) -> Vec<u64> {
        assert_eq!(self.sender.next_timer(), at(ms));
        self.now = at(ms);
        self.sender.on_timer(self.now);
        self.sent()
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.cwnd_bytes() as f64 / MSS as f64
    }

    pub fn ssthresh(&self) -> f64 {
        self.sender.ssthresh_bytes() as f64 / MSS as f64
    }
}
