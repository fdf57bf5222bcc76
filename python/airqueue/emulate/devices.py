"""The network device of a real node: TUN, or one end of a veth pair where TUN may not be used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal, get_args

from airqueue import _native
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.nodes import Host, ip
from airqueue.emulate.plan import DEVICE, MTU_BYTES
from airqueue.linux.netns import Namespace

Device = Literal["tun", "veth"]
_TUN: Final = Path("/dev/net/tun")
_QUIET: Final = "arp off multicast off"


def why_no_tun() -> str:
    """Return why this user cannot make TUN devices, and what would help; empty if they can."""
    try:
        os.close(os.open(_TUN, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return (
            f"there is no {_TUN}: load the kernel module with 'modprobe tun', "
            "or give the container this device"
        )
    except OSError as error:
        return (
            f"{_TUN} cannot be opened ({error.strerror}): run as root, "
            f"or let this user open it ('chmod 666 {_TUN}', as most distributions have it)"
        )
    return ""


def checked_kind(asked: Device | None) -> Device | None:
    """Return what was asked for. Raises EmulationError for what is no kind of device."""
    if asked not in (None, *get_args(Device)):
        raise EmulationError(f"{asked!r} is no kind of device: choose 'tun' or 'veth'")
    return asked


def choose(asked: Device | None) -> Device:
    """Return the kind of device: the one that was asked for, or TUN where this user may make it.

    Raises EmulationError with one sentence.
    """
    reason = why_no_tun()
    if asked == "tun" and reason:
        raise EmulationError(reason)
    return asked or ("veth" if reason else "tun")


class Devices:
    """Makes the devices of an emulation's nodes, all of one kind.

    The emulator's ends of veth pairs are in a namespace of their own. There, as at nodes, only
    programs send: without addresses and without address resolution the kernel has nothing to say.
    """

    def __init__(self, kind: Device, *, offload: bool) -> None:
        """Raises NamespaceError. ``offload``: of segments, for TUN devices alone."""
        self.kind = kind
        self.offload = offload and kind == "tun"
        self._ends: Namespace | None = None
        self._made = 0
        if kind == "veth":
            self._ends = Namespace("emulator")
            self._ends.set_sysctl("net.ipv6.conf.default.disable_ipv6", "1")

    def open(self, host: Host) -> int:
        """Make a node's device, and return a descriptor, which belongs to the caller.

        Raises EmulationError or NativeError with one sentence.
        """
        if self._ends is None:
            return _native.open_tun(host.namespace.path, DEVICE, self.offload)
        self._made += 1
        end, node = f"node{self._made}", host.namespace
        try:
            pair = f"type veth peer name {end} netns {self._ends.path}"
            ip(node, f"link add name {DEVICE} {pair}", pass_fds=(self._ends.fd,))
        except EmulationError as error:
            reason = why_no_tun() or "a TUN device may be made"
            raise EmulationError(f"{error}: there may be no module 'veth'; {reason}") from error
        ip(node, f"link set dev {DEVICE} {_QUIET}")
        # Up first: a packet socket of an interface that is down has failed.
        ip(self._ends, f"link set dev {end} {_QUIET} mtu {MTU_BYTES} up")
        return _native.open_veth(node.path, DEVICE, (self._ends.path, end))

    def close(self) -> None:
        """Give up the emulator's ends; the devices are gone when the engine has closed them too."""
        if self._ends is not None:
            self._ends.close()
