"""Results of ns-2.35 for the paper's networks, with the settings of `networks`.

For sized buffers: only runs with the paper's limits and one queue at each node. There are no results
for TCP-AP, which ns-2.35 does not implement.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers import ns2

_QUANTITIES: Final = {
    "goodput": ("goodput of flow ", 1e-3),
    "rtt": ("mean round-trip time of flow ", 1e3),
    "call": ("mean delay of call ", 1e3),
}
"""Prefix of the quantities of a network's flows, and the factor to kb/s or ms."""
_USUAL: Final = "50"


def of(network: str, scheme: str, quantity: str) -> float | None:
    """Return the mean over flows, in kb/s or ms, or None if there is none.

    network: ``parking-lot``, ``cross`` or ``chain`` with its hops and metres, as in ``chain-4-130``;
    with the suffix ``-calls`` for a network with calls.
    """
    begins, scale = _QUANTITIES[quantity]
    found = [
        scale * float(row["value"])
        for row in ns2.rows("mesh")
        if row["quantity"].startswith(begins)
        and _network(row) == network
        and scheme == ("fifo50" if row["queues"] == _USUAL else "sized")
    ]
    return sum(found) / len(found) if found else None


def _network(row: dict[str, str]) -> str:
    words = [row["kind"]]
    if row["kind"] == "chain":
        words += [row["hops"], row["spacing_m"]]
    return "-".join([*words, "calls"] if row["calls"] == "yes" else words)


def shorter(network: str, scheme: str) -> float | None:
    """Return the factor by which ns-2's round-trip time is shorter than with 50 packets."""
    usual, other = of(network, "fifo50", "rtt"), of(network, scheme, "rtt")
    return None if usual is None or other is None else usual / other


def lost_percent(network: str, scheme: str) -> float | None:
    """Return the loss of ns-2's goodput against 50 packets, in percent."""
    usual, other = of(network, "fifo50", "goodput"), of(network, scheme, "goodput")
    return None if usual is None or other is None else 100 * (1 - other / usual)
