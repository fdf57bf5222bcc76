"""Commands of iproute2 and iw, and which of a Linux machine's queues each of them governs.

mac80211 queues packets itself, per station and traffic identifier, with flow queueing and CoDel
(``net/mac80211/tx.c``, ``include/net/fq_impl.h``); its devices have no qdisc (``noqueue``). Adapters
whose firmware does the MAC (full-MAC drivers), and any shaped or wired port, queue in a qdisc.
"""

from __future__ import annotations

from typing import Final

from airqueue.sizing import plans
from airqueue.sizing.advice import Settings
from airqueue.sizing.settings.acks import Mark, table

ETHERNET_BYTES: Final = 14
"""What a qdisc counts on top of the IP packet."""
TXQ_MEMORY_BYTES: Final = 4 << 20
"""mac80211's memory limit without VHT (16 MiB with it)."""
BUFFER_BYTES: Final = 2304
"""What the kernel charges for a full packet: 2 KiB of data and its own bookkeeping."""

BURST_S: Final = 0.004
LEAST_BURST_BYTES: Final = 3036
"""Of a token bucket, as in plans: 4 ms, two full packets at least."""
TBF_LIMIT_BYTES: Final = 151_800
"""Of the byte queue that the queue below the token bucket replaces at once."""
PEAK_BURST_BYTES: Final = 1664
"""A second bucket, for one packet of 1500 bytes: tbf takes apart what the kernel has merged."""
TOKEN_BUCKET_NOTE: Final = (
    "The token bucket takes packets apart that the kernel has merged (GRO), so that limits count "
    "packets. Its second bucket is for an MTU of 1500; a larger MTU needs a larger bucket."
)

LEAST_TXQ_PACKETS: Final = 64
"""Of an aggregate of one station; an overflow of mac80211's queues drops up to 32 at once."""

TXQ_NOTES: Final = (
    "Leave mac80211's limit alone unless some traffic heeds no losses: its flow queueing and CoDel "
    "(target 20 ms) keep delays short whatever the limit, and the default of 8192 packets delays "
    "nobody but such a flow itself.",
    "The limit is one for all stations and access categories of the phy; when it is reached, the "
    "longest flow loses its oldest packets. With aggregation it must hold an aggregate, 64 packets "
    "or more, for every station in use, or it costs throughput.",
    "Below is the driver's ring, which no command here shortens: airtime queue limits (AQL) keep it "
    "at 5 to 12 ms for each station where the driver supports them.",
)
QDISC_NOTES: Final = (
    "tc and txqueuelen govern the qdisc. A device with mac80211's queues has none (noqueue), and a "
    "qdisc put there or at a full-MAC adapter never fills unless it shapes, since every packet is "
    "taken at once. They are for mac80211 drivers without these queues (before Linux 6.2), and for "
    "the wired or shaped port where the queue really is.",
    "txqueuelen is only what pfifo, bfifo, htb and the like take as limit when they are made without "
    "one: the tc line says it itself.",
)


def txq_lines(phy: str, packets: int) -> tuple[str, ...]:
    """Return the commands for mac80211's queues: memory too, where its default comes first.

    None for a limit that these queues do not keep.

    >>> txq_lines("phy0", 100), txq_lines("phy0", 38)
    (('iw phy phy0 set txq limit 100',), ())
    """
    if packets < LEAST_TXQ_PACKETS:
        return ()
    need = _memory_bytes(packets)
    more = () if need is None else (f"iw phy {phy} set txq memory_limit {need}",)
    return (f"iw phy {phy} set txq limit {packets}", *more)


def txq_notes(packets: int) -> tuple[str, ...]:
    """Return what to know of `txq_lines`, or why there are none."""
    if packets < LEAST_TXQ_PACKETS:
        return (
            f"mac80211's queues keep no limit below {LEAST_TXQ_PACKETS} packets, since an overflow "
            f"drops up to 32 at once: {packets} can only be the limit of a qdisc.",
        )
    return TXQ_NOTES


def _memory_bytes(packets: int) -> int | None:
    """Return the memory that this many packets need, if mac80211 does not have it by default."""
    need = packets * BUFFER_BYTES
    return need if need > TXQ_MEMORY_BYTES else None


def pfifo(device: str, packets: int) -> str:
    """Return the command for a FIFO counted in packets."""
    return f"tc qdisc replace dev {device} root pfifo limit {packets}"


def bfifo(device: str, size_bytes: int) -> str:
    """Return the command for a FIFO counted in bytes, Ethernet headers included."""
    return f"tc qdisc replace dev {device} root bfifo limit {size_bytes}"


def token_bucket(device: str, rate_bps: int) -> str:
    """Return the command for a shaper whose queue, to be set at 1:1, may count packets.

    >>> token_bucket("eth0", 8_000_000).partition("tbf ")[2]
    'rate 8000000bit burst 4000 limit 151800 peakrate 16gbit mtu 1664'
    """
    return (
        f"tc qdisc replace dev {device} root handle 1: tbf rate {rate_bps}bit "
        f"burst {burst_bytes(rate_bps)} limit {TBF_LIMIT_BYTES} "
        f"peakrate 16gbit mtu {PEAK_BURST_BYTES}"
    )


def burst_bytes(rate_bps: int) -> int:
    """Return what may leave a shaper at once, as in plans that do not say it.

    >>> burst_bytes(8_000_000)
    4000
    """
    return max(LEAST_BURST_BYTES, rate_bps // round(8 / BURST_S))


def txqueuelen(device: str, packets: int) -> str:
    """Return the command for a device's default queue length."""
    return f"ip link set dev {device} txqueuelen {packets}"


def fq_codel(
    device: str, *, limit: int, target_s: float, interval_s: float, quantum_bytes: int
) -> str:
    """Return the command for FQ-CoDel (RFC 8290).

    >>> fq_codel("wlan0", limit=1000, target_s=0.005, interval_s=0.1, quantum_bytes=300)
    'tc qdisc replace dev wlan0 root fq_codel limit 1000 target 5000us interval 100000us quantum 300'
    """
    return (
        f"tc qdisc replace dev {device} root fq_codel limit {limit} target {target_s * 1e6:.0f}us "
        f"interval {interval_s * 1e6:.0f}us quantum {quantum_bytes}"
    )


def queue(phy: str, device: str, packets: int, size_bytes: int, place: str) -> tuple[Settings, ...]:
    """Return the commands for one queue of a node: where mac80211 queues, and where a qdisc does."""
    txq = Settings(
        "tc",
        f"{place}, shell, mac80211, optional",
        txq_lines(phy, packets),
        txq_notes(packets),
        (plans.txq(phy, packets, _memory_bytes(packets)),) if packets >= LEAST_TXQ_PACKETS else (),
    )
    return txq, fifo(device, packets, size_bytes, place)


def fifo(device: str, packets: int, size_bytes: int, place: str) -> Settings:
    """Return the commands for a FIFO that is a qdisc."""
    return Settings(
        "tc",
        f"{place}, shell, where the queue is a qdisc: one of the tc lines",
        (pfifo(device, packets), bfifo(device, size_bytes), txqueuelen(device, packets)),
        QDISC_NOTES,
        (plans.queue(device, plans.fifo(packets=packets)),),
    )


def ack_rules(device: str, ack_bytes: int, mark: Mark) -> tuple[Settings, ...]:
    """Return the classification of acknowledgements for the access point and for Linux stations."""
    leaves = (
        "The mark CS4 stays in what a station sends beyond the access point; --mark priority leaves "
        "the packet as it is, for mac80211.",
        "Encrypted tunnels hide acknowledgements; other small TCP packets are taken for them.",
    )
    return (
        Settings(
            "tc",
            "access point: nft -f FILE",
            (
                *table("inet", (device,), ack_bytes, mark),
                *table("bridge", (device,), ack_bytes, mark),
            ),
            ("inet sees what is routed to the device, bridge what is bridged to it.", leaves[1]),
        ),
        Settings(
            "tc", "every station: nft -f FILE", table("inet", (device,), ack_bytes, mark), leaves
        ),
    )
