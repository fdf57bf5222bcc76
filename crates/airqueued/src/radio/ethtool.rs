//! The ring of a driver, and its name, by ethtool's ioctl.

use crate::radio::error::RadioError;
use airqueue_control::plan::Ring;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::Serialize;
use std::os::fd::AsRawFd;

// Commands of `linux/ethtool.h`.
const GET_DRIVER: u32 = 0x03;
const GET_RING: u32 = 0x10;
const SET_RING: u32 = 0x11;

nix::ioctl_readwrite_bad!(
    /// `SIOCETHTOOL` of `linux/sockios.h`.
    ethtool_call,
    0x8946,
    libc::ifreq
);

/// The ring into which a driver puts packets to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TxRing {
    /// Packets that it holds.
    pub packets: u32,
    /// Most packets that it could hold.
    pub most_packets: u32,
}

/// `struct ethtool_ringparam`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct RingParameters {
    command: u32,
    most_received: u32,
    most_mini: u32,
    most_jumbo: u32,
    most_sent: u32,
    received: u32,
    mini: u32,
    jumbo: u32,
    sent: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInformation {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// The ring of an interface; `None` if its driver has none that ethtool could tell.
pub fn read_tx_ring(interface: &str) -> Result<Option<TxRing>, RadioError> {
    Ok(read_parameters(interface)?
        .map(|read| TxRing { packets: read.sent, most_packets: read.most_sent }))
}

/// Has the ring of an interface hold another number of packets. The driver may round it, which reading tells; most
/// drivers take the link down and up again for it.
pub fn set_tx_ring(interface: &str, packets: u32) -> Result<(), RadioError> {
    let now = check_tx_ring(interface, packets)?;
    let mut wanted = RingParameters { command: SET_RING, sent: packets, ..now };
    call(interface, &mut wanted).map_err(|error| failed("set the ring", interface, error))
}

/// Refuses a number of packets that an interface's ring cannot hold.
pub fn check_tx_ring(interface: &str, packets: u32) -> Result<RingParameters, RadioError> {
    let now = read_parameters(interface)?.ok_or_else(|| no_ring(interface))?;
    let least = Ring::FEWEST;
    if (least..=now.most_sent).contains(&packets) {
        return Ok(now);
    }
    let most = now.most_sent;
    Err(RadioError::Value(format!(
        "the ring of {interface} cannot hold {packets} packets; give {least} to {most}"
    )))
}

/// The error of an interface whose driver has no ring.
pub fn no_ring(interface: &str) -> RadioError {
    RadioError::Unsupported {
        what: interface.to_owned(),
        setting: "ring",
        reason: "its driver does not answer ethtool -g".to_owned(),
    }
}

/// Name of an interface's driver, such as `ath9k`; `None` if it does not tell.
pub fn driver(interface: &str) -> Result<Option<String>, RadioError> {
    let mut told = DriverInformation { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
    match call(interface, &mut told) {
        Ok(()) => {
            let end = told.driver.iter().position(|&byte| byte == 0).unwrap_or(32);
            let name = String::from_utf8_lossy(&told.driver[..end]);
            Ok(Some(name.replace(char::is_control, "\u{fffd}")).filter(|name| !name.is_empty()))
        }
        Err(Errno::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(failed("read the driver", interface, error)),
    }
}

fn read_parameters(interface: &str) -> Result<Option<RingParameters>, RadioError> {
    let mut told = RingParameters { command: GET_RING, ..RingParameters::default() };
    match call(interface, &mut told) {
        // cfg80211 answers for drivers without a ring.
        Ok(()) => Ok(Some(told).filter(|told| told.most_sent > 0)),
        Err(Errno::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(failed("read the ring", interface, error)),
    }
}

fn failed(action: &'static str, interface: &str, error: Errno) -> RadioError {
    if error == Errno::ENODEV {
        return RadioError::Absent { kind: "interface", name: interface.to_owned() };
    }
    RadioError::Call { action, interface: interface.to_owned(), reason: error.desc().to_owned() }
}

fn call<T>(interface: &str, argument: &mut T) -> Result<(), Errno> {
    let name = interface.as_bytes();
    // SAFETY: all zeros are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(&0) {
        return Err(Errno::ENODEV);
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(name) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(argument).cast();
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: the request points to a structure of the size that its command has, which outlives the call.
    unsafe { ethtool_call(socket.as_raw_fd(), &mut request) }?;
    Ok(())
}
