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

    ``relay``: addresses that may stand for a server which listens on a loopback address. The relay
    reaches such a server, programs do not.
    """
    first_lines: list[str] | None = None
    local: list[str] = []
    for path in files:
        try:
            lines = path.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        if first_lines is None:
            first_lines = lines
        servers = _servers(lines)
        far = [server for server in servers if not _is_local(server)]
        if far:
            return Resolver(_text(far, first_lines))
        local += servers
    for server in local:
        for address in relay:
            if (":" in address) == (":" in server):
                return Resolver(_text([address], first_lines or []), server)
    return Resolver("")


def _servers(lines: Sequence[str]) -> list[str]:
    words = (line.split() for line in lines)
    return [each[1] for each in words if len(each) > 1 and each[0] == "nameserver"]


def _is_local(server: str) -> bool:
    """Return whether a server cannot be reached by way of a router."""
    try:
        address = ipaddress.ip_address(server)
    except ValueError:
        return True
    return address.is_loopback or address.is_link_local or address.is_unspecified


def _text(servers: Sequence[str], lines: Sequence[str]) -> str:
    kept = [line for line in lines if line.split()[:1] in (["search"], ["domain"], ["options"])]
    return "\n".join([*(f"nameserver {each}" for each in servers[:_MOST_SERVERS]), *kept, ""])
