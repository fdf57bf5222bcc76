//! The device of a node where TUN devices cannot be made: one end of a veth pair, whose other end is in a namespace of
//! the emulator.

use crate::error::HostError;
use crate::netns::within;
use crate::packet_ring;
use crate::tun::interface_request;
use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// Hardware address of every node: on each link there is one. Bit 1 of the first byte: locally administered.
pub const NODE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Words of the kernel's mask of features; there are two in Linux 6.
const MOST_WORDS: usize = 8;
// Commands of `linux/ethtool.h`.
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_CHECKSUMS: u32 = 0x16;
const SET_SCATTER: u32 = 0x19;
const GET_SEGMENTATION: u32 = 0x1e;
const SET_SOFTWARE_SEGMENTATION: u32 = 0x24;

nix::ioctl_readwrite_bad!(
    /// `SIOCETHTOOL` of `linux/sockios.h`.
    ethtool_call,
    0x8946,
    libc::ifreq
);
nix::ioctl_write_ptr_bad!(
    /// `SIOCSIFHWADDR` of `linux/sockios.h`.
    set_address_call,
    libc::SIOCSIFHWADDR,
    libc::ifreq
);

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    value: u32,
}

/// `struct ethtool_gfeatures`.
#[repr(C)]
#[derive(Default)]
struct Features {
    command: u32,
    words: u32,
    of_each: [FeatureWord; MOST_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FeatureWord {
    available: u32,
    requested: u32,
    active: u32,
    never_changed: u32,
}

/// `struct ethtool_sfeatures`.
#[repr(C)]
#[derive(Default)]
struct Change {
    command: u32,
    words: u32,
    of_each: [ChangeWord; MOST_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ChangeWord {
    valid: u32,
    requested: u32,
}

/// Opens the emulator's end of a veth pair, as [`crate::packet_device::PacketDevice::new`] takes it, and prepares the
/// node's end: packets leave the node whole, with their checksums, and no larger than its MTU.
///
/// Both ends are a namespace, as [`within`] takes it, and the name of an interface there.
pub fn open(node: (&Path, &str), emulator: (&Path, &str)) -> Result<OwnedFd, HostError> {
    within(Some(node.0), || prepare(node.1))?;
    within(Some(emulator.0), || {
        if_nametoindex(emulator.1)
            .and_then(|index| packet_ring::open(index as libc::c_int))
            .map_err(|errno| HostError::system("open a packet socket")(errno.into()))
    })
}

fn prepare(name: &str) -> Result<(), HostError> {
    let mut request = interface_request(name)?;
    let failed = |errno: Errno| HostError::system("prepare a veth device")(errno.into());
    let flags = SockFlag::SOCK_CLOEXEC;
    let any = socket(AddressFamily::Inet, SockType::Datagram, flags, None).map_err(failed)?;
    let mut address = [0; 14];
    for (to, from) in address.iter_mut().zip(NODE_ADDRESS) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_hwaddr =
        libc::sockaddr { sa_family: libc::ARPHRD_ETHER, sa_data: address };
    // SAFETY: the descriptor is open, and the kernel reads one ifreq.
    unsafe { set_address_call(any.as_raw_fd(), &raw const request) }.map_err(failed)?;
    if without_offloads(any.as_raw_fd(), request).map_err(failed)? {
        return Ok(());
    }
    let text = format!("the kernel leaves checksums or segments of {name} to the device");
    Err(HostError::Request(text))
}

/// Switches off all that a device may leave undone, and returns whether this was successful.
///
/// The names of features are the kernel's own matter: all features that can be changed are switched off, and then those
/// two are switched on that leave nothing undone, so that the kernel segments large packets of TCP before the device,
/// as the kernel does for TUN.
fn without_offloads(any: RawFd, request: libc::ifreq) -> nix::Result<bool> {
    let mut found =
        Features { command: GET_FEATURES, words: MOST_WORDS as u32, ..Features::default() };
    call(any, request, &mut found)?;
    let mut change = Change { command: SET_FEATURES, words: found.words, ..Change::default() };
    for (to, from) in change.of_each.iter_mut().zip(&found.of_each) {
        to.valid = from.available;
    }
    call(any, request, &mut change)?;
    for command in [SET_SCATTER, SET_SOFTWARE_SEGMENTATION] {
        call(any, request, &mut Value { command, value: 1 })?;
    }
    let mut left = 0;
    for command in [GET_CHECKSUMS, GET_SEGMENTATION] {
        let mut value = Value { command, value: 0 };
        call(any, request, &mut value)?;
        left |= value.value;
    }
    Ok(left == 0)
}

fn call<T>(any: RawFd, mut request: libc::ifreq, argument: &mut T) -> nix::Result<()> {
    request.ifr_ifru.ifru_data = (&raw mut *argument).cast();
    // SAFETY: the descriptor is open, and the argument is the structure of its command, alive during the call.
    unsafe { ethtool_call(any, &raw mut request) }.map(drop)
}
