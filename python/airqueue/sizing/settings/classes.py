"""A rate divided into classes on Linux: htb with a FIFO for each, and nftables' rules for them.

A packet's priority (``meta priority``) names its class, as htb reads it (``htb_classify``).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from airqueue.sizing import plans
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import linux

HANDLE: Final = 0x10
"""Of the root, as priorities name it."""
FIRST: Final = 2
"""Number of the first flow's class; class 1 is that of all together."""
OTHER_PACKETS: Final = 50
"""Of packets that no rule assigns, such as those of new flows."""
OTHER_SHARE: Final = 0.05
"""Of the rate, which such packets have for themselves."""
BITS: Final = 8
"""Rates of the kernel are bytes per second."""
RATE_TO_QUANTUM: Final = 10
LEAST_QUANTUM_BYTES: Final = 1518
MOST_QUANTUM_BYTES: Final = 60_000

NOTES: Final = (
    "The classes hold the queue while their rates together stay below that of the air; on a "
    "mac80211 device nothing waits in a qdisc without such a shaper.",
    "Rules name stations: without an address no packet gets into a flow's class. Address, protocol "
    "and port of the server tell flows of one station apart.",
    linux.TOKEN_BUCKET_NOTE,
)


@dataclass(frozen=True, slots=True)
class Class:
    """A flow's class: packets that may wait, IP bits/s of its own, and its station's address."""

    limit_packets: int
    rate_bps: float
    address: str | None


def settings(device: str, flows: Sequence[Class]) -> Settings:
    """Return the classes, and the rules for those whose address is known."""
    rates = [_whole(flow.rate_bps) for flow in flows]
    other = FIRST + len(flows)
    total = _whole(sum(rates) / (1 - OTHER_SHARE))
    every = [
        (FIRST + index, bps, flow.limit_packets)
        for index, (flow, bps) in enumerate(zip(flows, rates, strict=True))
    ]
    every.append((other, total - sum(rates), OTHER_PACKETS))
    classes = [
        {"id": number, "rate_bps": bps, "queue": {"limit_packets": limit}}
        for number, bps, limit in every
    ]
    shared = {"handle": HANDLE, "rate_bps": total, "other": other, "classes": classes}
    return Settings(
        "tc",
        "base station, shell",
        (*_tree(device, total, other, every), *_rules(device, flows)),
        NOTES,
        (plans.queue(device, {"shared": shared}),),
    )


def _whole(bps: float) -> int:
    return max(8000, int(bps) // BITS * BITS)


def _quantum(bps: int) -> int:
    """Return the bytes that a class sends in its turn, as plans have them."""
    return min(max(bps // (BITS * RATE_TO_QUANTUM), LEAST_QUANTUM_BYTES), MOST_QUANTUM_BYTES)


def _tree(
    device: str, total: int, other: int, every: Sequence[tuple[int, int, int]]
) -> tuple[str, ...]:
    root = f"{HANDLE:x}"
    burst = linux.burst_bytes(total)
    bursts = f"burst {burst} cburst {burst}"
    lines = [
        linux.token_bucket(device, total),
        f"tc qdisc add dev {device} parent 1:1 handle {root}: htb default {other:x}",
        f"tc class add dev {device} parent {root}: classid {root}:1 htb rate {total}bit "
        f"{bursts} quantum {_quantum(total)}",
    ]
    for number, bps, limit in every:
        lines += [
            f"tc class add dev {device} parent {root}:1 classid {root}:{number:x} "
            f"htb rate {bps}bit ceil {total}bit {bursts} quantum {_quantum(bps)}",
            f"tc qdisc add dev {device} parent {root}:{number:x} pfifo limit {limit}",
        ]
    return tuple(lines)


def _rules(device: str, flows: Sequence[Class]) -> tuple[str, ...]:
    known = [(FIRST + index, flow.address) for index, flow in enumerate(flows) if flow.address]
    if not known:
        return ()
    table = "inet airqueue_classes"
    return (
        f"nft add table {table}",
        f"nft 'add chain {table} out {{ type filter hook postrouting priority mangle; }}'",
        *(
            f'nft \'add rule {table} out oifname "{device}" {_family(address)} daddr {address} '
            f"meta priority set {HANDLE:x}:{number:x}'"
            for number, address in known
        ),
    )


def _family(address: str) -> str:
    return "ip" if ipaddress.ip_address(address).version == 4 else "ip6"
