"""A shaper with flow queueing before a slow line: OpenWrt's SQM, and the same by tc.

The queue then is the router's, where it can be managed, and not the provider's, where it cannot. Only
downloads are shaped here: their rate is what `airqueue size ap` was told.
"""

from __future__ import annotations

from typing import Final

from airqueue.sizing.advice import Settings

SHAPED: Final = 0.95
"""Share of the line's rate: below it, or the queue stays in front of the line."""
WAN: Final = "wan"
"""The device of the line on OpenWrt with DSA."""

NOTES: Final = (
    f"{WAN} is the device that leads to the line: put its name in the place of {WAN}.",
    "Lower the rate until the delay under load is that of the idle line: lines with framing (DSL) "
    "carry less than their nominal rate. Flow offloading passes by the shaper: switch it "
    "off.",
)


def shaped_kbit(line_bps: float) -> int:
    """Return the rate of the shaper.

    >>> shaped_kbit(16e6)
    15200
    """
    return max(1, int(SHAPED * line_bps / 1000))


def shaper(line_bps: float) -> tuple[Settings, ...]:
    """Return the settings that shape what comes from a line of this rate."""
    kbit = shaped_kbit(line_bps)
    option = "uci set sqm.airqueue"
    return (
        Settings(
            "openwrt",
            "router: shell (package sqm-scripts)",
            (
                f"{option}=queue",
                f"{option}.interface='{WAN}'",
                f"{option}.download='{kbit}'",
                f"{option}.upload='0'",
                f"{option}.qdisc='cake'",
                f"{option}.script='piece_of_cake.qos'",
                f"{option}.enabled='1'",
                "uci commit sqm",
                "/etc/init.d/sqm restart",
            ),
            (*NOTES, "upload 0 leaves uploads unshaped: give their rate in kbit/s to shape them."),
        ),
        Settings(
            "tc",
            "router, shell",
            (
                "ip link add ifb-line type ifb",
                "ip link set ifb-line up",
                f"tc qdisc replace dev {WAN} handle ffff: ingress",
                f"tc filter add dev {WAN} parent ffff: matchall action mirred egress redirect "
                "dev ifb-line",
                f"tc qdisc replace dev ifb-line root cake bandwidth {kbit}kbit ingress",
            ),
            NOTES,
        ),
    )
