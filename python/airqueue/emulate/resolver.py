"""Where programs in an emulated network with a way out ask for names."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FILES: Final = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))
"""The second has the servers behind the first where the first names systemd's stub."""
_MOST_SERVERS: Final = 3
"""MAXNS of resolv.conf(5): the C library ignores more."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """What programs find in ``/etc/resolv.conf``."""

    text: str
    """Empty where the machine has no such file, or no server in it."""
    local: str | None = None
    """A server that the machine alone reaches, and for which the address of the relay stands."""


def find(relay: Sequence[str], files: Sequence[Path] = _FILES) -> Resolver:
    """Return the machine's servers as nodes reach them.

    ``relay``: addresses of which one may stand for a server that the machine alone reaches. The relay
    asks the first such server of its version of IP.
    """
    first: list[str] = []
    for path in files:
        try:
            lines = path.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        if path == files[0]:
            first = lines
        far = [server for server in _servers(lines) if _is_routed(server)]
        if far:
            return Resolver(_text(far, first))
    for server in filter(_is_local, _servers(first)):
        for address in relay:
            if (":" in address) == (":" in server):
                return Resolver(_text([address], first), server)
    return Resolver("")


def _servers(lines: Sequence[str]) -> list[str]:
    words = (line.split() for line in lines)
    return [each[1] for each in words if len(each) > 1 and each[0] == "nameserver"]


def _is_local(server: str) -> bool:
    """Return whether the machine alone reaches a server: clouds have theirs on 169.254.0.0/16."""
    address = _address(server)
    if address is None:
        return False
    return address.is_loopback or (address.version == 4 and address.is_link_local)


def _is_routed(server: str) -> bool:
    """Return whether a server can be reached by way of a router."""
    address = _address(server)
    if address is None:
        return False
    return not (address.is_loopback or address.is_link_local or address.is_unspecified)


def _address(server: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(server)
    except ValueError:
        return None


def _text(servers: Sequence[str], lines: Sequence[str]) -> str:
    kept = [line for line in lines if line.split()[:1] in (["search"], ["domain"], ["options"])]
    return "\n".join([*(f"nameserver {each}" for each in servers[:_MOST_SERVERS]), *kept, ""])
