"""A shaper before a slow line or a radio, mostly with flow queueing: OpenWrt's SQM, and by tc.

The queue then is the router's, where it can be managed, and not the provider's, where it cannot.
"""

from __future__ import annotations

from typing import Final

from airqueue import text
from airqueue.sizing import plans
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import linux

SHAPED: Final = 0.95
"""Share of the line's rate: below it, or the queue stays in front of the line."""
WAN: Final = "wan"
"""The device of the line on OpenWrt with DSA."""

SECTION: Final = "airqueue"
"""The section of sqm-scripts' configuration."""

LEAST_KBIT: Final = 8
"""Smallest rate of a shaper in a plan."""
_LOWER: Final = (
    "Lower the rate until the delay under load is that of the idle line: lines with framing (DSL) "
    "carry less than their nominal rate. Flow offloading passes by the shaper: switch it off."
)


def shaped_kbit(line_bps: float) -> int:
    """Return the rate of the shaper.

    >>> shaped_kbit(16e6)
    15200
    """
    return max(LEAST_KBIT, int(SHAPED * line_bps / 1000))


def recommended(line_bps: float) -> str:
    """Return the recommendation of a shaper before this line, the beginning of a sentence."""
    shaped = text.rate(1e3 * shaped_kbit(line_bps))
    return f"Shape the line on the router to {shaped} with flow queueing (SQM, cake)"


def shaper(line_bps: float, device: str = WAN) -> tuple[Settings, ...]:
    """Return the settings that shape downloads from a line of this rate, and leave uploads alone."""
    return line(line_bps, None, device)


def line(down_bps: float | None, up_bps: float | None, device: str = WAN) -> tuple[Settings, ...]:
    """Return the settings that shape a line in the directions whose rates are given.

    device: that of the router which leads to the line.
    """
    notes = (
        f"{device} stands for the router's device that leads to the line; --line-device names "
        "another.",
        _LOWER,
    )
    down, up = (None if bps is None else shaped_kbit(bps) for bps in (down_bps, up_bps))
    unshaped = [
        f"{option} 0 leaves {option}s unshaped: give their rate in kbit/s to shape them."
        for option, kbit in (("download", down), ("upload", up))
        if kbit is None
    ]
    commands = [] if down is None else list(_download(down, device))
    if up is not None:
        commands.append(f"tc qdisc replace dev {device} root cake bandwidth {up}kbit")
    return (
        _openwrt(
            "router: shell",
            device,
            (*notes, *unshaped),
            download_kbit=down or 0,
            upload_kbit=up or 0,
        ),
        Settings(
            "tc",
            "router, shell",
            tuple(commands),
            # What comes in is shaped by way of a device that is made for this: no setting of a plan.
            notes,
            () if up is None or down is not None else (_shaped(device, up),),
        ),
    )


def _download(kbit: int, device: str) -> tuple[str, ...]:
    """Return the commands that shape what comes in: by way of a device whose queue can be set."""
    return (
        "ip link add ifb-line type ifb",
        "ip link set ifb-line up",
        f"tc qdisc replace dev {device} handle ffff: ingress",
        f"tc filter add dev {device} parent ffff: matchall "
        "action mirred egress redirect dev ifb-line",
        f"tc qdisc replace dev ifb-line root cake bandwidth {kbit}kbit ingress",
    )


ACCESS_POINT: Final = "access point: shell, any device"
STATION: Final = "this machine: shell"
_CHANGES: Final = (
    "A radio's rate changes with place and time. Packets wait in the shaper while its rate is below "
    "what the air carries, and behind the shaper when the air is slower."
)
_FOR_ALL: Final = (
    f"{_CHANGES} The shaper is one for all stations together: they get no more than the "
    "one station that was measured, which costs stations at a better place throughput. Measure where "
    "the lag matters."
)


def use_flow_queueing(rate_bps: float) -> str:
    """Return the recommendation of `access_point`, the beginning of a sentence."""
    shaped = text.rate(1e3 * shaped_kbit(rate_bps))
    return f"Use flow queueing at the access point, in a shaper of {shaped} for all stations (cake)"


def access_point(device: str, rate_bps: float) -> tuple[Settings, ...]:
    """Return the settings of a shaper with flow queueing before an access point's radio.

    The queue then is the shaper's, also where the FIFO is in firmware or in a driver's ring.
    rate_bps: what the air carries of TCP.
    """
    kbit = shaped_kbit(rate_bps)
    return (
        _cake(device, kbit, ACCESS_POINT, _FOR_ALL),
        # The queue's "upload" is what leaves through the interface: here to the stations.
        _openwrt("access point: shell", device, (_FOR_ALL,), download_kbit=0, upload_kbit=kbit),
    )


def access_point_fifo(device: str, rate_bps: float, packets: int) -> Settings:
    """Return the settings of a shaper with a FIFO before an access point's radio."""
    kbit = shaped_kbit(rate_bps)
    lines = (
        linux.token_bucket(device, 1000 * kbit),
        f"tc qdisc replace dev {device} parent 1:1 pfifo limit {packets}",
    )
    planned = plans.queue(device, plans.shaped_fifo(1000 * kbit, packets=packets))
    return Settings("tc", ACCESS_POINT, lines, (_FOR_ALL, linux.TOKEN_BUCKET_NOTE), (planned,))


def station(device: str, rate_bps: float) -> tuple[Settings, ...]:
    """Return the settings of a shaper with flow queueing before a station's radio.

    rate_bps: what the air carries of TCP.
    """
    note = f"{device} stands for this machine's radio; --device names another. {_CHANGES}"
    return (_cake(device, shaped_kbit(rate_bps), STATION, note),)


def _cake(device: str, kbit: int, place: str, note: str) -> Settings:
    line = f"tc qdisc replace dev {device} root cake bandwidth {kbit}kbit"
    return Settings("tc", place, (line,), (note,), (_shaped(device, kbit),))


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
