//! The probes of several targets, and their answers.

use super::message::{self, Reply};
use super::pace::Pace;
use super::series::Series;
use super::token::Tokens;
use super::{CLOSED_PORT, CLOSED_PORTS, Method};
use airqueue_core::Time;
use std::net::{IpAddr, SocketAddr};

/// A target whose address is known.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// How the target is probed.
    pub method: Method,
    /// Its address; the port is not used.
    pub address: SocketAddr,
    /// The identifier of ICMP echo requests.
    pub id: u16,
    /// When its probes leave.
    pub pace: Pace,
}

/// A probe to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which target.
    pub target: usize,
    /// The number of the probe.
    pub index: u32,
    /// Where to.
    pub to: SocketAddr,
}

/// Where an ICMP error is from and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpError {
    /// Who reports it.
    pub from: IpAddr,
    /// Type of ICMP or ICMPv6.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// The port that the packet was sent to.
    pub port: u16,
}

/// What an ICMP error means to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    TimeExceeded,
    PortUnreachable,
    Other,
}

impl IcmpError {
    fn meaning(&self, ipv6: bool) -> Meaning {
        // RFC 792: time to live exceeded in transit 11 0, port unreachable 3 3. RFC 4443, 3.1 and 3.3: 3 0, and 1 4.
        match (ipv6, self.kind, self.code) {
            (false, 11, 0) | (true, 3, 0) => Meaning::TimeExceeded,
            (false, 3, 3) | (true, 1, 4) => Meaning::PortUnreachable,
            _ => Meaning::Other,
        }
    }
}

#[derive(Debug)]
struct Track {
    target: Target,
    series: Series,
    refused: u64,
}

impl Track {
    fn is_ipv6(&self) -> bool {
        self.target.address.is_ipv6()
    }

    fn port(&self, index: u32) -> u16 {
        match self.target.method {
            Method::Icmp => 0,
            Method::Hop(_) | Method::Udp(None) => {
                CLOSED_PORT + (index % u32::from(CLOSED_PORTS)) as u16
            }
            Method::Udp(Some(port)) | Method::Tcp(port) | Method::Server(port) => port,
        }
    }
}

/// Probes of targets, without I/O.
#[derive(Debug)]
pub struct Prober {
    tracks: Vec<Track>,
    tokens: Tokens,
}

impl Prober {
    /// A prober of these targets; `secret` makes its probes unpredictable.
    pub fn new(targets: Vec<Target>, secret: [u8; 32]) -> Prober {
        let track = |target| Track { target, series: Series::default(), refused: 0 };
        Prober { tracks: targets.into_iter().map(track).collect(), tokens: Tokens::new(secret) }
    }

    /// The targets.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        self.tracks.iter().map(|track| &track.target)
    }

    /// What is known of a target's probes.
    pub fn series(&self, target: usize) -> &Series {
        &self.tracks[target].series
    }

    /// Probes that the kernel refused to send.
    pub fn refused(&self, target: usize) -> u64 {
        self.tracks[target].refused
    }

    /// Times at which a target should have got a probe and got none.
    pub fn skipped(&self, target: usize) -> u64 {
        self.tracks[target].target.pace.skipped()
    }

    /// When the next probe is due; `None`: no more.
    pub fn next_deadline(&self) -> Option<Time> {
        let going = self.tracks.iter().filter(|track| !track.series.is_full());
        going.map(|track| track.target.pace.next()).min()
    }

    /// A probe that is due, its bytes in `out`. What became of it is to be told next, before the next call.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Probe> {
        let due = |track: &mut Track| !track.series.is_full() && track.target.pace.take(now);
        let target = self.tracks.iter_mut().position(due)?;
        let track = &self.tracks[target];
        let index = track.series.next_index();
        let token = self.tokens.token(target, index);
        match track.target.method {
            Method::Icmp => {
                message::echo_request(track.is_ipv6(), track.target.id, index as u16, token, out);
            }
            Method::Hop(_) | Method::Udp(_) => message::datagram(token, out),
            Method::Tcp(_) => out.clear(),
            Method::Server(_) => message::hello(token, out),
        }
        let mut to = track.target.address;
        to.set_port(track.port(index));
        Some(Probe { target, index, to })
    }

    /// A probe has left.
    pub fn on_sent(&mut self, probe: Probe, at: Time) {
        self.tracks[probe.target].series.on_sent(at);
    }

    /// The kernel did not take a probe. Its number is the next one's.
    pub fn on_refused(&mut self, probe: Probe) {
        self.tracks[probe.target].refused += 1;
    }

    /// A probe was not sent because too many are on their way.
    pub fn on_skipped(&mut self, probe: Probe) {
        self.tracks[probe.target].target.pace.skip();
    }

    /// A message arrived on a target's socket. `program`: the time is the program's, not the kernel's.
    pub fn on_message(
        &mut self,
        target: usize,
        from: IpAddr,
        bytes: &[u8],
        at: Time,
        program: bool,
    ) {
        let track = &mut self.tracks[target];
        let ipv6 = track.is_ipv6();
        let found = match track.target.method {
            Method::Icmp => message::echo_reply(ipv6, bytes).map(|reply| {
                let ours = reply.id == track.target.id;
                message::index(&self.tokens, target, reply).filter(|_| ours)
            }),
            Method::Server(_) => {
                message::challenge(bytes).map(|token| self.tokens.index(target, token))
            }
            Method::Hop(_) | Method::Udp(_) | Method::Tcp(_) => None,
        };
        let right = from == track.target.address.ip();
        match found {
            None => track.series.ignored.malformed += 1,
            Some(Some(index)) if right => track.answer(index, at, from, program),
            Some(_) => track.series.ignored.foreign += 1,
        }
    }

    /// An ICMP error arrived about a packet from a target's socket to the target's address; `quoted` is what the error
    /// quotes of that packet: from the ICMP header on, or what was after the UDP header. Any of it may be absent.
    pub fn on_icmp_error(
        &mut self,
        target: usize,
        error: IcmpError,
        quoted: &[u8],
        at: Time,
        program: bool,
    ) {
        let track = &mut self.tracks[target];
        let meaning = error.meaning(track.is_ipv6());
        let hop = matches!(track.target.method, Method::Hop(_));
        let answers = match meaning {
            Meaning::TimeExceeded => hop,
            Meaning::PortUnreachable => track.target.method.by_errors(),
            Meaning::Other => false,
        };
        if !answers {
            let ours = quoted_is_ours(&self.tokens, target, track, quoted);
            let ignored = &mut track.series.ignored;
            *(if ours { &mut ignored.unreachable } else { &mut ignored.foreign }) += 1;
            return;
        }
        let index = match message::quoted_token(quoted) {
            Some(token) => match self.tokens.index(target, token) {
                Some(index) if track.port(index) == error.port => index,
                _ => return track.series.ignored.foreign += 1,
            },
            // A router may quote the UDP header alone (RFC 792): the port says which probe.
            None => match track.series.only_unanswered(at, |i| track.port(i) == error.port) {
                Some(index) => index,
                None => return track.series.ignored.ambiguous += 1,
            },
        };
        let before = track.series.answered();
        track.answer(index, at, error.from, program);
        if meaning == Meaning::PortUnreachable && track.series.answered() > before {
            track.series.from_host = true;
        }
    }

    /// A connection was accepted or refused by the target.
    pub fn on_connected(&mut self, target: usize, index: u32, at: Time, program: bool) {
        let track = &mut self.tracks[target];
        let by = track.target.address.ip();
        track.answer(index, at, by, program);
    }

    /// A connection failed for another reason: `ambiguous` if the target did answer, but it is not known when.
    pub fn on_connection_failed(&mut self, target: usize, ambiguous: bool) {
        let ignored = &mut self.tracks[target].series.ignored;
        *(if ambiguous { &mut ignored.ambiguous } else { &mut ignored.unreachable }) += 1;
    }
}

impl Track {
    fn answer(&mut self, index: u32, at: Time, by: IpAddr, program: bool) {
        if self.series.on_answer(index, at, by) {
            self.series.timed_by_program += u64::from(program);
        }
    }
}

/// Whether an error is about a probe of ours, as far as can be told from what it quotes: the kernel has found the socket
/// by addresses and ports or by the identifier, and a router may have cut off the rest.
fn quoted_is_ours(tokens: &Tokens, target: usize, track: &Track, quoted: &[u8]) -> bool {
    let ours = |reply: Reply| message::index(tokens, target, reply).is_some();
    match track.target.method {
        Method::Icmp if quoted.len() < message::ECHO_LEN => true,
        Method::Icmp => message::quoted_echo(track.is_ipv6(), quoted).is_some_and(ours),
        Method::Hop(_) | Method::Udp(_) => {
            message::quoted_token(quoted).is_none_or(|token| tokens.index(target, token).is_some())
        }
        Method::Tcp(_) | Method::Server(_) => true,
    }
}
