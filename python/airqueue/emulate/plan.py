"""What a program inside an emulated network finds: addresses, names and environment of the nodes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEVICE: Final = "airqueue0"
"""Name of the network device of each node."""
MTU_BYTES: Final = 1500
PREFIX: Final = ipaddress.IPv4Network("10.213.0.0/16")
PREFIX6: Final = ipaddress.IPv6Network("fd61:6972:7175::/64")
"""A unique local prefix (RFC 4193); nodes are alone in their namespaces, so none is in use there."""
_ROUTERS_FROM: Final = 0x8000
"""Routers have the addresses after this one in both prefixes; there are far fewer nodes."""

_LOCAL: Final = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"


def has_ipv6() -> bool:
    """Return whether this kernel has IPv6."""
    return Path("/proc/sys/net/ipv6").is_dir()


@dataclass(frozen=True, slots=True)
class Node:
    """A real node: a station or a wired host whose packets come from real programs."""

    name: str
    wired: bool
    """Whether it is a host with wired links only."""
    address: str
    """IPv4."""
    address6: str | None
    """IPv6; None on a kernel without it."""
    mtu_bytes: int = MTU_BYTES
    """The largest packets on the node's link."""

    @property
    def addresses(self) -> list[str]:
        """All addresses."""
        return [self.address] if self.address6 is None else [self.address, self.address6]

    @property
    def interfaces(self) -> list[str]:
        """The addresses with the lengths of their prefixes, as ``ip address add`` takes them."""
        lengths = (PREFIX.prefixlen, PREFIX6.prefixlen)
        return [f"{each}/{bits}" for each, bits in zip(self.addresses, lengths, strict=False)]


@dataclass(frozen=True, slots=True)
class Router:
    """A node that forwards packets between real nodes as a router, and is not real itself."""

    name: str
    address: str
    """IPv4: the source of the router's ICMP errors."""
    address6: str | None
    """IPv6; None on a kernel without it."""

    @property
    def addresses(self) -> list[str]:
        """All addresses."""
        return [self.address] if self.address6 is None else [self.address, self.address6]


class Plan:
    """The real nodes in the order of their addresses, and who is whose peer.

    ``mtus``: the largest packets on each node's link, in bytes. ``routers``: names of the routers
    between the nodes that are not real.
    """

    def __init__(
        self,
        names: Sequence[str],
        wired: Sequence[bool],
        *,
        ipv6: bool,
        mtus: Sequence[int] | None = None,
        routers: Sequence[str] = (),
    ) -> None:
        def addresses(k: int) -> tuple[str, str | None]:
            return str(PREFIX[k]), str(PREFIX6[k]) if ipv6 else None

        mtus = mtus or [MTU_BYTES] * len(names)
        self.nodes = tuple(
            Node(name, is_wired, *addresses(k), mtu)
            for k, (name, is_wired, mtu) in enumerate(zip(names, wired, mtus, strict=True), start=1)
        )
        self.routers = tuple(
            Router(name, *addresses(_ROUTERS_FROM + k)) for k, name in enumerate(routers, start=1)
        )

    def node(self, name: str) -> Node | None:
        """Return the real node of that name, if there is one."""
        return next((node for node in self.nodes if node.name == name), None)

    @property
    def default(self) -> Node:
        """Where the main command runs: the first wired host, otherwise the first node."""
        return next((node for node in self.nodes if node.wired), self.nodes[0])

    def peer(self, of: Node) -> Node:
        """Return the other end: of a station the first wired host, otherwise the first other node."""
        others = [node for node in self.nodes if node != of]
        if of.wired:
            return others[0]
        return next((node for node in others if node.wired), others[0])

    def environment(self, of: Node) -> dict[str, str]:
        """Return the variables that a program at the node gets."""
        peer = self.peer(of)
        found = {"AIRQUEUE_NODE": of.name, "AIRQUEUE_PEER": peer.address}
        if peer.address6 is not None:
            found["AIRQUEUE_PEER6"] = peer.address6
        return found | {variable(node.name): node.address for node in self.nodes}

    def hosts(self, of: Node) -> str:
        """Return the text of ``/etc/hosts`` at the node: all names, routers' too, and ``peer``."""
        peer = self.peer(of)
        lines = [
            f"{address} {node.name}{' peer' if node == peer else ''}\n"
            for node in self.nodes
            for address in node.addresses
        ]
        lines += [
            f"{address} {router.name}\n" for router in self.routers for address in router.addresses
        ]
        return _LOCAL + "".join(lines)


def variable(name: str) -> str:
    """Return the environment variable with the address of a node.

    >>> variable("smart-tv")
    'AIRQUEUE_ADDRESS_SMART_TV'
    """
    return f"AIRQUEUE_ADDRESS_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
