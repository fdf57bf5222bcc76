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

/// Creates a TUN device in a network namespace, as [`within`] takes it. The device exists as long as the descriptor.
/// Reads and writes are whole IP packets without a header before them, and do not block.
pub fn create(namespace: Option<&Path>, name: &str) -> Result<OwnedFd, HostError> {
    within(namespace, || {
        let mut request = interface_request(name)?;
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let device =
            open(DEVICE_NODE, flags, Mode::empty()).map_err(|errno| unavailable(errno.into()))?;
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the descriptor is open, and the kernel reads one ifreq.
        unsafe { tunsetiff(device.as_raw_fd(), &raw const request) }
            .map_err(|errno| HostError::system("create a TUN device")(errno.into()))?;
        Ok(device)
    })
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
            let error = create(None, name).unwrap_err().to_string();
            assert!(error.contains("is not a device name"), "{error}");
        }
    }
}
