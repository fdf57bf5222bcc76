//! Connections as the server holds them: before their request is whole, and after it was admitted.

use super::bucket::Bucket;
use super::tcp;
use airqueue_core::Time;
use airqueue_probe::client::Direction;
use airqueue_probe::load::REQUEST_LEN;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};

/// Bytes written or read in one call; a turn of the loop gives each connection one call.
pub(super) const CHUNK: usize = 64 << 10;
/// IP and TCP header bytes of a segment: IPv6, and TCP with timestamps.
const HEADERS: usize = 72;
/// Payload of the segments of a path with Ethernet's MTU, where the kernel does not know better.
const USUAL_MSS: usize = 1500 - HEADERS;
/// Segments with less payload are refused: headers would be much of the traffic. Every path that carries IPv4
/// datagrams of 552 bytes (Linux's least path MTU) allows this.
pub(super) const LEAST_MSS: usize = 400;

/// A connection that has not sent its whole request.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: u64,
    pub(super) stream: TcpStream,
    pub(super) peer: IpAddr,
    pub(super) since: Time,
    got: usize,
    bytes: [u8; REQUEST_LEN],
}

impl Pending {
    pub(super) fn new(id: u64, stream: TcpStream, peer: IpAddr, since: Time) -> Pending {
        Pending { id, stream, peer, since, got: 0, bytes: [0; REQUEST_LEN] }
    }

    /// Reads on; the request, once it is whole. An error ends the connection.
    pub(super) fn read(&mut self) -> io::Result<Option<[u8; REQUEST_LEN]>> {
        while self.got < REQUEST_LEN {
            match self.stream.read(&mut self.bytes[self.got..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.got += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        Ok(Some(self.bytes))
    }
}

/// A connection that loads the path.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) id: u64,
    stream: TcpStream,
    pub(super) direction: Direction,
    mss: usize,
    /// The kernel may have something to read, or room to write: events are edge-triggered.
    pub(super) ready: bool,
}

impl Active {
    pub(super) fn new(id: u64, stream: TcpStream, direction: Direction) -> Active {
        let mss = tcp::info(&stream).map_or(USUAL_MSS, |info| info.snd_mss as usize);
        Active { id, stream, direction, mss: mss.max(1), ready: true }
    }

    pub(super) fn has_small_segments(&self) -> bool {
        self.mss < LEAST_MSS
    }

    /// Answers the request.
    pub(super) fn answer(&mut self, code: u8) -> io::Result<()> {
        self.stream.write_all(&[code])
    }

    /// Ends the connection so that the answer still arrives.
    pub(super) fn part(self) {
        // If the kernel refuses, the connection is reset, and the answer may be lost.
        let _ = tcp::reset_on_close(&self.stream, false);
    }

    /// Writes or reads once, as much as the bucket allows. An error ends the connection.
    pub(super) fn carry(
        &mut self,
        bucket: &mut Bucket,
        allowance: usize,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        // The allowance is in bytes of IP packets.
        let payload = (allowance.saturating_mul(self.mss) / (self.mss + HEADERS)).clamp(1, CHUNK);
        let carried = match self.direction {
            Direction::Down => self.stream.write(&ZEROS[..payload]),
            Direction::Up => tcp::discard(&self.stream, buffer, payload),
        };
        match carried {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bucket.take(count + count.div_ceil(self.mss) * HEADERS);
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                self.ready = false;
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(e),
        }
    }
}

/// The content of a load.
pub(super) static ZEROS: [u8; CHUNK] = [0; CHUNK];
