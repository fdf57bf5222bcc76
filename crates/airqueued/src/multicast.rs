//! Datagrams to all neighbours on one interface: UDP to a link-local group of IPv6.

use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::net::{Ipv6Addr, SocketAddrV6, UdpSocket};
use thiserror::Error;

/// Of link-local scope, and transient: assigned to nobody (RFC 4291, 2.7).
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0, 0x6171);
/// CS6, the class of network control (RFC 4594, section 3.1): such packets do not wait behind the data whose queue they size.
const NETWORK_CONTROL: i32 = 48 << 2;

/// Why there is no socket.
#[derive(Debug, Error)]
#[error("cannot {action} at UDP port {port} of {interface}: {reason}{hint}")]
pub struct MulticastError {
    action: &'static str,
    interface: String,
    port: u16,
    reason: io::Error,
    hint: &'static str,
}

/// A socket that hears the group on one interface, and nothing else.
#[derive(Debug)]
pub struct Multicast {
    socket: UdpSocket,
    to: SocketAddrV6,
}

impl Multicast {
    /// Joins the group on an interface, by its name and number.
    pub fn join(interface: &str, index: u32, port: u16) -> Result<Multicast, MulticastError> {
        let failed = |action, hint| {
            let interface = interface.to_owned();
            move |reason| MulticastError { action, interface, port, reason, hint }
        };
        // The scope binds the socket to the interface; what others on this machine send to the port elsewhere does not come here.
        let to = SocketAddrV6::new(GROUP, port, 0, index);
        let socket = UdpSocket::bind(to).map_err(failed("listen", ""))?;
        let joined = socket.join_multicast_v6(&GROUP, index);
        joined.map_err(failed("join a group of IPv6", "; the interface needs IPv6"))?;
        socket.set_multicast_loop_v6(false).map_err(failed("send", ""))?;
        socket.set_nonblocking(true).map_err(failed("listen", ""))?;
        setsockopt(&socket, sockopt::Ipv6TClass, &NETWORK_CONTROL)
            .map_err(io::Error::from)
            .map_err(failed("send", ""))?;
        Ok(Multicast { socket, to })
    }

    /// Sends a datagram to all neighbours.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_to(bytes, self.to).map(|_| ())
    }

    /// The next datagram that has come, as far as the buffer holds it; none if there is none.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match self.socket.recv_from(buffer) {
            Ok((length, _)) => Ok(Some(&buffer[..length])),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
