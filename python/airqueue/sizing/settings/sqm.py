"""A shaper with flow queueing before a slow line or device: OpenWrt's SQM, and the same by tc.

The queue then is the router's, where it can be managed, and not the provider's, where it cannot.
"""

from __future__ import annotations

from typing import Final

from airqueue import text
from airqueue.sizing import plans
from airqueue.sizing.advice import Settings

SHAPED: Final = 0.95
"""Share of the line's rate: below it, or the queue stays in front of the line."""
WAN: Final = "wan"
"""The device of the line on OpenWrt with DSA."""

SECTION: Final = "airqueue"
"""The section of sqm-scripts' configuration."""

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


def recommended(line_bps: float) -> str:
    """Return the recommendation of a shaper before this line, the beginning of a sentence."""
    shaped = text.rate(1e3 * shaped_kbit(line_bps))
    return f"Shape the line on the router to {shaped} with flow queueing (SQM, cake)"


def shaper(line_bps: float) -> tuple[Settings, ...]:
    """Return the settings that shape downloads from a line of this rate, and leave uploads alone."""
    return line(line_bps, None)


def line(down_bps: float | None, up_bps: float | None) -> tuple[Settings, ...]:
    """Return the settings that shape a line in the directions whose rates are given."""
    down, up = (None if bps is None else shaped_kbit(bps) for bps in (down_bps, up_bps))
    unshaped = [
        f"{option} 0 leaves {option}s unshaped: give their rate in kbit/s to shape them."
        for option, kbit in (("download", down), ("upload", up))
        if kbit is None
    ]
    commands = [] if down is None else list(_download(down))
    if up is not None:
        commands.append(f"tc qdisc replace dev {WAN} root cake bandwidth {up}kbit")
    return (
        _openwrt(
            "router: shell",
            WAN,
            (*NOTES, *unshaped),
            download_kbit=down or 0,
            upload_kbit=up or 0,
        ),
        Settings(
            "tc",
            "router, shell",
            tuple(commands),
            # What comes in is shaped by way of a device that is made for this: no setting of a plan.
            NOTES,
            () if up is None or down is not None else (_shaped(WAN, up),),
        ),
    )


def _download(kbit: int) -> tuple[str, ...]:
    """Return the commands that shape what comes in: by way of a device whose queue can be set."""
    return (
        "ip link add ifb-line type ifb",
        "ip link set ifb-line up",
        f"tc qdisc replace dev {WAN} handle ffff: ingress",
        f"tc filter add dev {WAN} parent ffff: matchall action mirred egress redirect dev ifb-line",
        f"tc qdisc replace dev ifb-line root cake bandwidth {kbit}kbit ingress",
    )


ACCESS_POINT: Final = "access point: shell, where the FIFO is in firmware or in the driver's ring"


def before(device: str, rate_bps: float, place: str = ACCESS_POINT) -> tuple[Settings, ...]:
    """Return the settings that shape what is sent to a device whose own queue cannot be managed.

    rate_bps: of the device, as measured. place: where the commands are to be typed.
    """
    kbit = shaped_kbit(rate_bps)
    notes = (
        "A radio's rate changes with place and time. The shaper works while its rate is below the "
        "radio's: take the rate of the slowest place, and let only downloads through the shaper.",
    )
    return (
        # The queue's "upload" is what leaves through the interface: here to the stations.
        _openwrt(place, device, notes, download_kbit=0, upload_kbit=kbit),
        Settings(
            "tc",
            place,
            (f"tc qdisc replace dev {device} root cake bandwidth {kbit}kbit",),
            notes,
            (_shaped(device, kbit),),
        ),
    )


def _shaped(device: str, kbit: int) -> plans.Set:
    return plans.queue(device, plans.cake(1000 * kbit))


def _openwrt(
    place: str, interface: str, notes: tuple[str, ...], *, download_kbit: int, upload_kbit: int
) -> Settings:
    """Return one queue of sqm-scripts; a rate of 0 is not shaped."""
    options = {
        "interface": interface,
        "download": str(download_kbit),
        "upload": str(upload_kbit),
        "qdisc": "cake",
        "script": "piece_of_cake.qos",
        "enabled": "1",
    }
    section = f"uci set sqm.{SECTION}"
    lines = (
        f"{section}=queue",
        *(f"{section}.{option}='{value}'" for option, value in options.items()),
        "uci commit sqm",
        "/etc/init.d/sqm restart",
    )
    sets = (plans.uci("sqm", SECTION, options, kind="queue"),)
    return Settings("openwrt", f"{place} (package sqm-scripts)", lines, notes, sets)
