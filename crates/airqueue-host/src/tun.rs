//! TUN devices: network devices whose packets a program reads and writes.

use crate::error::{HostError, words};
use crate::netns::within;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::stat::Mode;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

const DEVICE_NODE: &str = "/dev/net/tun";

nix::ioctl_write_ptr_bad!(
    /// TUNSETIFF of `linux/if_tun.h`, whose declared argument is an int although the kernel reads an ifreq.
    tunsetiff,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);

nix::ioctl_write_int_bad!(
    /// TUNSETOFFLOAD of `linux/if_tun.h`.
    tunsetoffload,
    nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>())
);
nix::ioctl_read_bad!(
    /// TUNGETIFF of `linux/if_tun.h`, which is declared as TUNSETIFF is.
    tungetiff,
    nix::request_code_read!(b'T', 210, size_of::<libc::c_uint>()),
    libc::ifreq
);

/// What is left to this side with segmentation offload, from the most that a kernel may know: checksums, segments of TCP
/// over both versions of IP, with ECN too, and datagrams of UDP (since Linux 6.2).
const SEGMENTATION: [libc::c_uint; 2] = [
    libc::TUN_F_CSUM
        | libc::TUN_F_TSO4
        | libc::TUN_F_TSO6
        | libc::TUN_F_TSO_ECN
        | libc::TUN_F_USO4
        | libc::TUN_F_USO6,
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN,
];

/// Creates a TUN device in a network namespace, as [`within`] takes it. The device exists as long as the descriptor.
/// Reads and writes are whole IP packets behind notes ([`airqueue_emulator::offload`]), and do not block. The kernel leaves
/// checksums to this side: before Linux 6.11 a device that does not take them refuses calls with `UDP_SEGMENT` (EIO). With
/// `offload` the kernel leaves the cutting into segments too.
pub fn create(namespace: Option<&Path>, name: &str, offload: bool) -> Result<OwnedFd, HostError> {
    within(namespace, || {
        let mut request = interface_request(name)?;
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let device =
            open(DEVICE_NODE, flags, Mode::empty()).map_err(|errno| unavailable(errno.into()))?;
        let kind = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        request.ifr_ifru.ifru_flags = kind as libc::c_short;
        // SAFETY: the descriptor is open, and the kernel reads one ifreq.
        unsafe { tunsetiff(device.as_raw_fd(), &raw const request) }
            .map_err(|errno| HostError::system("create a TUN device")(errno.into()))?;
        let offloads = if offload { &SEGMENTATION[..] } else { &[libc::TUN_F_CSUM] };
        // A kernel that refuses all leaves nothing to this side; merged packets may be written all the same.
        offloads.iter().any(|&of| leave(&device, of));
        Ok(device)
    })
}

fn leave(device: &OwnedFd, offloads: libc::c_uint) -> bool {
    // SAFETY: the descriptor is open, and the argument is a number.
    unsafe { tunsetoffload(device.as_raw_fd(), offloads as libc::c_int) }.is_ok()
}

/// Whether a descriptor is a TUN device with notes before each packet.
pub(crate) fn has_notes(device: &OwnedFd) -> bool {
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and the kernel writes one ifreq.
    let known = unsafe { tungetiff(device.as_raw_fd(), &raw mut request) }.is_ok();
    // SAFETY: the kernel has written the flags; otherwise all bytes are zero.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    known && libc::c_int::from(flags) & libc::IFF_VNET_HDR != 0
}

/// A request about the network interface of that name.
pub(crate) fn interface_request(name: &str) -> Result<libc::ifreq, HostError> {
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || !name.is_ascii() {
        let most = libc::IFNAMSIZ - 1;
        let text = format!("{name:?} is not a device name: give 1 to {most} ASCII characters");
        return Err(HostError::Request(text));
    }
    // SAFETY: all bytes zero are a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn unavailable(error: io::Error) -> HostError {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "load the kernel module tun with 'modprobe tun'",
        _ => "run as root, or let this user open the device node",
    };
    HostError::Request(format!("cannot open {DEVICE_NODE}: {}; {advice}", words(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_device_can_have_are_refused() {
        for name in ["", "a-name-of-16-char"] {
            let error = create(None, name, true).unwrap_err().to_string();
            assert!(error.contains("is not a device name"), "{error}");
        }
    }
}
