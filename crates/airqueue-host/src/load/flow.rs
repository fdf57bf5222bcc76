//! One connection of a client's load.

use super::connection::ZEROS;
use super::series::Carried;
use super::tcp::{self, TcpInfo};
use crate::error::words;
use airqueue_probe::client::Direction;
use airqueue_probe::load::{ADMITTED, LoadRefusal};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Calls that one connection gets before the next one.
const CALLS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// TCP's handshake.
    Connecting,
    /// The server has not answered the request.
    Asking,
    Loading,
    Dead,
}

#[derive(Debug)]
pub(super) struct Flow {
    stream: TcpStream,
    direction: Direction,
    index: u8,
    request: Vec<u8>,
    state: State,
    had_begun: bool,
    /// The kernel may have news: events are edge-triggered.
    ready: bool,
    carried: Carried,
    info: TcpInfo,
}

impl Flow {
    pub(super) fn new(
        stream: TcpStream,
        direction: Direction,
        index: u8,
        request: Vec<u8>,
    ) -> Flow {
        Flow {
            stream,
            direction,
            index,
            request,
            state: State::Connecting,
            had_begun: false,
            ready: false,
            carried: Carried::since(TcpInfo::default(), direction),
            info: TcpInfo::default(),
        }
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn direction(&self) -> Direction {
        self.direction
    }

    pub(super) fn index(&self) -> u8 {
        self.index
    }

    pub(super) fn is_opening(&self) -> bool {
        matches!(self.state, State::Connecting | State::Asking)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.state == State::Loading
    }

    pub(super) fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Whether the server had admitted it.
    pub(super) fn had_begun(&self) -> bool {
        self.had_begun
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready && !self.is_dead()
    }

    /// Something happened on the socket.
    pub(super) fn wake(&mut self) {
        self.ready = true;
    }

    /// Segments sent again so far by a connection that uploads.
    pub(super) fn retransmitted(&self) -> u64 {
        match self.direction {
            Direction::Up => u64::from(self.info.total_retrans),
            Direction::Down => 0,
        }
    }

    /// Asks the kernel how the connection is; bytes that were carried since the last call.
    pub(super) fn carried(&mut self) -> u64 {
        if !self.had_begun || self.is_dead() {
            return 0;
        }
        let Some(info) = tcp::info(&self.stream) else { return 0 };
        self.info = info;
        self.carried.more(info)
    }

    /// The round-trip time of the direction that the connection loads.
    pub(super) fn rtt_us(&self) -> Option<u32> {
        self.is_alive().then_some(match self.direction {
            Direction::Up => self.info.rtt_us,
            // Having nothing to send, a receiver sees round trips only in the echoes of its timestamps (RFC 7323).
            Direction::Down => self.info.rcv_rtt_us,
        })
    }

    /// The server did not answer in time.
    pub(super) fn give_up(&mut self) -> String {
        let reason = match self.state {
            State::Connecting => {
                "no answer over TCP: check that a firewall lets TCP through to the server's port"
            }
            _ => "the server's TCP port does not answer as airqueue: check what listens there",
        };
        self.die();
        reason.into()
    }

    fn die(&mut self) {
        self.state = State::Dead;
        // Of a connection that the kernel has ended already this cannot fail in a way that matters.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Does what can be done now; what the connection died of, if it did.
    pub(super) fn advance(&mut self, buffer: &mut [u8]) -> Option<String> {
        for _ in 0..CALLS {
            if !self.is_ready() {
                break;
            }
            match self.step(buffer) {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.ready = false,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    let reason = self.reason(&e);
                    self.die();
                    return Some(reason);
                }
            }
        }
        None
    }

    fn step(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        match self.state {
            State::Connecting => self.connected(),
            State::Asking => self.read_answer(),
            State::Loading if self.direction == Direction::Up => {
                self.stream.write(&ZEROS).map(drop)
            }
            State::Loading => match tcp::discard(&self.stream, buffer, buffer.len())? {
                0 => Err(ErrorKind::UnexpectedEof.into()),
                _ => Ok(()),
            },
            State::Dead => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn connected(&mut self) -> io::Result<()> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        // An event may come before the handshake is over.
        if self.stream.peer_addr().is_err() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.stream.write_all(&self.request)?;
        self.state = State::Asking;
        Ok(())
    }

    fn read_answer(&mut self) -> io::Result<()> {
        let mut code = [0];
        match self.stream.read(&mut code)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ if code[0] == ADMITTED => {
                self.info = tcp::info(&self.stream).unwrap_or_default();
                self.carried = Carried::since(self.info, self.direction);
                (self.state, self.had_begun) = (State::Loading, true);
                Ok(())
            }
            _ => {
                let refusal = LoadRefusal::from_wire(code[0]);
                let why = refusal.map_or("for an unknown reason".into(), |r| r.to_string());
                Err(io::Error::other(format!("the server refuses the load: {why}")))
            }
        }
    }

    /// Why a connection died, for the user.
    fn reason(&self, error: &io::Error) -> String {
        let closed = matches!(
            error.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
        );
        match self.state {
            State::Connecting if error.kind() == ErrorKind::ConnectionRefused => {
                "this server offers no TCP load: run it without --no-tcp, and keep its TCP port free".into()
            }
            State::Asking if closed => {
                "the server closed the connection without an answer: its run is over, or its TCP connections come from another address than its UDP, as behind some address translators".into()
            }
            State::Loading if closed => "the server or a device on the path ended it".into(),
            _ => words(error),
        }
    }
}
