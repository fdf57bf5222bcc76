"""The largest receive window of stations, and a scenario of people who browse.

The clamp of a route is the kernel's ``RTAX_WINDOW``: the largest window that TCP advertises to
destinations behind the route, in bytes (ip-route(8), ``window``).
"""

from __future__ import annotations

from airqueue.models.phys import Phy
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings import scenario as parts
from airqueue.sizing.settings.scenario import AP


def windows(device: str, window_bytes: int) -> Settings:
    """Return the command that clamps the receive window of a Linux station."""
    return Settings(
        "tc",
        "every Linux station, shell",
        (
            f"ip -4 route replace $(ip -4 route show default dev {device} | "
            f"sed 's/ window [0-9]*//; q') dev {device} window {window_bytes}",
        ),
        (
            "The receiver sets the limit: a route's window is the largest that the station "
            "advertises, for new connections over this route. The access point cannot set it for "
            "its stations; systems other than Linux have no such setting for a route.",
            "A route that DHCP renews loses the window: set it again after every connection to the "
            "network. IPv6 has a default route of its own, which router advertisements renew.",
            "Linux delays acknowledgements by itself: leave quickack out of the route. A "
            "connection's first segments are acknowledged one by one all the same.",
        ),
    )


def scenario(
    *,
    layer: Phy,
    rate_bps: float,
    times_s: tuple[float, float],
    users: int,
    page_bytes: float,
    think_s: float,
    window: int,
    segment_bytes: int,
    every: int,
    timer_s: float,
    queue_packets: int,
    rtt_s: float,
    rts: bool,
) -> Settings:
    """Return the same network for `airqueue simulate`. times_s: counted, and before that."""
    distant = rtt_s > 0
    host = (
        "",
        "[[hosts]]",
        'name = "server"',
        f'link = "{AP}"',
        f'delay = "{rtt_s * 0.5e6:.0f} us"',
    )
    return Settings(
        "scenario",
        parts.PLACE,
        (
            *parts.times(*times_s),
            *parts.physical(layer, rate_bps),
            "",
            *(("[mac]", 'rts_threshold = "0 B"', "") if rts else ()),
            "[queue]",
            f'limit = "{queue_packets} packets"',
            "",
            "[tcp]",
            f'mss = "{segment_bytes} B"',
            f'window = "{window} packets"',
            f"ack_every = {every}",
            f'ack_delay = "{timer_s * 1e6:.0f} us"',
            "sack = false",
            "timestamps = false",
            "",
            "[[stations]]",
            f'name = "{AP}"',
            "",
            "[[stations]]",
            'name = "user"',
            f"count = {users}",
            *(host if distant else ()),
            "",
            "[[flows]]",
            'name = "page"',
            f'from = "{"server" if distant else AP}"',
            'to = "user"',
            'source = "web"',
            "",
            "[flows.web]",
            f'file_size = "{page_bytes:.0f} B"',
            f'think_time = "{think_s * 1e6:.0f} us"',
        ),
        ("SACK and timestamps are off, so that headers have the 40 bytes of the model.",),
    )
