"""nftables rules that put small TCP acknowledgements into the video access category.

cfg80211 maps the DSCP to a user priority by its upper three bits, with the exceptions of RFC 8325 in
newer kernels (``cfg80211_classify8021d``); CS4 is user priority 4, the video category, in all of
them. A socket buffer priority of 256 to 263 is taken for the user priority as it is: that way
nothing is written into the packet, but other firmware than mac80211's may not look at it.
"""

from __future__ import annotations

from typing import Final, Literal

Mark = Literal["dscp", "priority"]

DSCP: Final = "cs4"
USER_PRIORITY: Final = 4
PRIORITY: Final = f"0:{0x100 + USER_PRIORITY:x}"
IPV4_HEADER_BYTES: Final = 20


def rules(devices: tuple[str, ...], ack_bytes: int, mark: Mark) -> tuple[str, ...]:
    """Return the rules of a chain: TCP packets without SYN, FIN, RST of at most ``ack_bytes``.

    ack_bytes: IPv4 packet length. IPv6 counts its payload, without the header, so that the same TCP
    header and options fit: ack_bytes - 20.
    """
    names = ", ".join(f'"{device}"' for device in devices)
    where = f"oifname {{ {names} }} tcp flags & (syn | fin | rst) == 0"
    payload = ack_bytes - IPV4_HEADER_BYTES
    if mark == "priority":
        actions = (f"meta priority set {PRIORITY}",) * 2
    else:
        actions = (f"ip dscp set {DSCP}", f"ip6 dscp set {DSCP}")
    return (
        f"{where} ip length <= {ack_bytes} {actions[0]}",
        f"{where} ip6 length <= {payload} {actions[1]}",
    )


def chain(
    hook_priority: str, devices: tuple[str, ...], ack_bytes: int, mark: Mark
) -> tuple[str, ...]:
    """Return a chain that marks what leaves through one of the devices."""
    return (
        "chain airqueue_acks {",
        f"  type filter hook postrouting priority {hook_priority}; policy accept;",
        *(f"  {rule}" for rule in rules(devices, ack_bytes, mark)),
        "}",
    )


def table(family: str, devices: tuple[str, ...], ack_bytes: int, mark: Mark) -> tuple[str, ...]:
    """Return a table of family ``inet`` (what is routed or sent here) or ``bridge``."""
    # In the bridge family names of priorities differ: mangle is none of them.
    priority = "mangle" if family == "inet" else "filter"
    return (
        f"table {family} airqueue {{",
        *(f"  {line}" for line in chain(priority, devices, ack_bytes, mark)),
        "}",
    )
