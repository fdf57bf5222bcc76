//! The handshake of a connection at one end: RFC 9293, section 3.5.

use super::rto::{Rto, RtoSpec};
use super::segment::Segment;
use airqueue_core::Time;

/// One end of a connection during the handshake.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    state: State,
    /// This end sends the first SYN.
    active: bool,
    /// The next segment to send.
    due: Option<Kind>,
    /// The timeout for the other end, which doubles.
    rto: Rto,
    deadline: Time,
    /// When this end's SYN was sent; `None` before, and if the SYN was sent more than once.
    sent: Option<Time>,
    /// This end's SYN was sent again.
    retried: bool,
    /// The SYNs of both ends agree on ECN.
    ecn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    SynReceived,
    Open,
}

/// The segments of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Syn,
    SynAck,
    Ack,
}

/// The effect of a segment on a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The connection was open before; the segment is to be processed.
    Open,
    /// The segment has opened the connection, and is to be processed.
    Opened {
        /// When this end's SYN was sent, if it was sent once.
        sent: Option<Time>,
    },
    /// The segment belongs only to the handshake.
    Nothing,
}

impl Handshake {
    /// An end that opens the connection (`active`) or waits for the other end; if `open`, the connection is open
    /// already.
    pub(super) fn new(active: bool, open: bool, rto: RtoSpec, ecn: bool) -> Handshake {
        let state = if open { State::Open } else { State::Closed };
        let deadline = Time::MAX;
        let rto = Rto::new(rto);
        Handshake { state, active, due: None, rto, deadline, sent: None, retried: false, ecn }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether this end's SYN had to be sent again.
    pub(super) fn has_retried(&self) -> bool {
        self.retried
    }

    /// Begins the handshake, if this end is active.
    pub(super) fn open(&mut self) {
        if self.active && self.state == State::Closed {
            self.state = State::SynSent;
            self.due = Some(Kind::Syn);
        }
    }

    pub(super) fn on_segment(&mut self, segment: &Segment) -> Progress {
        let acknowledged = segment.ack.is_some_and(|ack| ack >= 1);
        match self.state {
            State::Closed | State::SynReceived if segment.syn && !acknowledged => {
                if !self.active {
                    self.state = State::SynReceived;
                    self.due = Some(Kind::SynAck);
                }
                Progress::Nothing
            }
            State::Closed => Progress::Nothing,
            State::SynSent if segment.syn && acknowledged => {
                self.due = Some(Kind::Ack);
                self.opened()
            }
            State::SynSent => Progress::Nothing,
            State::SynReceived if acknowledged => {
                self.due = None;
                self.opened()
            }
            State::SynReceived => Progress::Nothing,
            // An old SYN: the other end has not received the last acknowledgement (3.5.3).
            State::Open if segment.syn => {
                self.due = Some(Kind::Ack);
                Progress::Nothing
            }
            State::Open => Progress::Open,
        }
    }

    /// The next data segment acknowledges the other end's SYN.
    pub(super) fn leave_ack_to_data(&mut self) {
        if self.due == Some(Kind::Ack) {
            self.due = None;
        }
    }

    fn opened(&mut self) -> Progress {
        self.state = State::Open;
        self.deadline = Time::MAX;
        Progress::Opened { sent: self.sent }
    }

    /// The segment to send; starts the timer for the response.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let kind = self.due.take()?;
        if kind != Kind::Ack {
            self.sent = if self.retried || self.sent.is_some() { None } else { Some(now) };
            self.deadline = now + self.rto.timeout();
        }
        Some(self.segment(kind))
    }

    /// ECN is offered with ECE and CWR and accepted with ECE (RFC 3168, section 6.1.1).
    fn segment(&self, kind: Kind) -> Segment {
        let syn = kind != Kind::Ack;
        Segment {
            syn,
            ece: self.ecn && syn,
            cwr: self.ecn && kind == Kind::Syn,
            ..Segment::bare(u64::from(!syn), (kind != Kind::Syn).then_some(1))
        }
    }

    pub(super) fn next_timer(&self) -> Time {
        self.deadline
    }

    /// Retransmits an unanswered SYN, each time after twice the wait (RFC 6298, section 5).
    pub(super) fn on_timer(&mut self, now: Time) {
        if now < self.deadline {
            return;
        }
        self.deadline = Time::MAX;
        self.rto.back_off();
        self.retried = true;
        self.due = Some(if self.state == State::SynSent { Kind::Syn } else { Kind::SynAck });
    }
}
