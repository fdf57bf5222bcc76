"""The tc and nft commands of the bottleneck, as pure functions of its configuration.

How the kernel behaves, each found by experiment and kept true by ``tests/test_bed.py``:

* The packet that waits for tokens stays in the FIFO: tbf peeks, and htb does not touch a leaf whose
  class may not send. So the FIFO's limit is all that can wait, and no packet is in service apart.
* Changing a tbf sets the limit of a FIFO below it to the tbf's own ``limit`` number, in whatever
  unit the FIFO counts. Given the FIFO's number there, a change of rate leaves the FIFO as it is;
  given another, a bigger queue would silently come with it. It also refills the bucket.
* Changing an htb class leaves its FIFO alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airqueue.linux.config import FRAME_BYTES, MIN_BURST_BYTES, MTU_BYTES, HostApConfig
from airqueue.linux.discipline import Discipline

DEVICE = "out"
"""The access point's interface towards the receiver: the bottleneck."""
FLOW_PORTS = (40_000, 40_001, 40_002)
"""The client's UDP ports, one per flow; the low two bits select the leaf when flows are isolated.
Fixed numbers are safe: nobody else is in the client's namespace."""

Argv = tuple[str, ...]

_PARENT = "1:1"
LEAF = "10:"
"""Handle of the queue, or of the first of several."""
_LEAVES = (("1:10", LEAF), ("1:11", "11:"), ("1:12", "12:"))
"""Classes and the handles of their FIFOs, one for each flow; the first takes all else."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """The present setting of the token bucket. ``rate_bps`` in bits per second."""

    rate_bps: int
    burst_bytes: int
    mpu_bytes: int
    limit: int
    """Limit of the FIFO behind it, in its own unit; a tbf has no use for it before anything else."""


def initial_bucket(config: HostApConfig) -> Bucket:
    """Return the undisturbed setting."""
    limit = FRAME_BYTES if isinstance(config.queue, Discipline) else config.queue.limit
    return Bucket(config.rate_bps, config.bucket_bytes, config.mpu_bytes, limit)


def stalled_bucket(bucket: Bucket, seconds: float) -> Bucket:
    """Return a setting under which the next packet but one leaves after ``seconds``.

    A qdisc that waits for tokens sleeps on a timer set with the rate of that moment, and a change
    of the rate does not wake it. A rate of nearly nothing would thus hold the queue long after the
    stall is over; this rate makes the kernel's own timer fire when the stall ends. One packet still
    leaves at the beginning, on a timer that was already set. The mpu makes that packet cost the
    same whatever its size.
    """
    # The refilled bucket (tbf) pays for one frame and a bit; the rest of the second takes the time.
    missing_bits = 8 * (2 * FRAME_BYTES - MIN_BURST_BYTES)
    rate_bps = max(8, round(missing_bits / seconds))
    return replace(bucket, rate_bps=rate_bps, burst_bytes=MIN_BURST_BYTES, mpu_bytes=FRAME_BYTES)


def build_commands(config: HostApConfig) -> list[Argv]:
    """Return the commands that make the bottleneck, to be run in the access point's namespace."""
    if config.policer != "none":
        return _policer(config)
    bucket = initial_bucket(config)
    if config.shaper == "own":
        return [_shaping("add", config, bucket)]
    if config.shaper == "tbf":
        return [_tbf("add", bucket), *_queue(config, _PARENT, LEAF)]
    commands: list[Argv] = [
        ("tc", "qdisc", "add", "dev", DEVICE, "root", "handle", "1:", "htb", "default", "10")
    ]
    commands += _htb_classes("add", config, bucket)
    for leaf, handle in _leaves(config):
        commands += _queue(config, leaf, handle)
    return commands + (_port_filters(config) if config.isolate else [])


def _queue(config: HostApConfig, parent: str, handle: str) -> list[Argv]:
    """Return the commands that make the queue behind the shaper."""
    head = ("tc", "qdisc", "add", "dev", DEVICE, "parent", parent, "handle", handle)
    if config.queue.kind != "drr":
        return [(*head, *config.queue.words)]
    # drr drops what no filter sends to a class of its own; the classes have its parameters.
    classes = [f"{handle}{number}" for number in range(1, len(FLOW_PORTS) + 1)]
    add = ("tc", "class", "add", "dev", DEVICE, "parent", handle, "classid")
    rest = ("tc", "filter", "add", "dev", DEVICE, "parent", handle, "protocol", "all", "prio", "2")
    return [
        (*head, "drr"),
        *((*add, classid, *config.queue.words) for classid in classes),
        *_filters(config, handle, classes),
        (*rest, "u32", "match", "u32", "0", "0", "flowid", classes[0]),
    ]


def change_commands(config: HostApConfig, before: Bucket, after: Bucket) -> list[Argv]:
    """Return the commands that take the bottleneck from one setting to another."""
    if config.shaper == "own":
        return [_shaping("change", config, after)]
    if config.shaper == "tbf":
        return [_tbf("change", after)]
    commands: list[Argv] = []
    if before.limit != after.limit:
        # Of a FIFO: no other queue's limit changes.
        for leaf, handle in _leaves(config):
            fifo = (config.queue.kind, "limit", str(after.limit))
            commands.append(
                ("tc", "qdisc", "change", "dev", DEVICE, "parent", leaf, "handle", handle, *fifo)
            )
    if replace(before, limit=after.limit) != after:
        commands += _htb_classes("change", config, after)
    return commands


def _shaping(verb: str, config: HostApConfig, bucket: Bucket) -> Argv:
    """Return the command for cake as its own shaper."""
    kind, *parameters = config.queue.words
    head = ("tc", "qdisc", verb, "dev", DEVICE, "root", "handle", LEAF)
    return (*head, kind, "bandwidth", f"{bucket.rate_bps}bit", *parameters)


def _tbf(verb: str, bucket: Bucket) -> Argv:
    tbf = ("tc", "qdisc", verb, "dev", DEVICE, "root", "handle", "1:", "tbf")
    # The limit must be the FIFO's own number: see the head of this file.
    return (*tbf, *_rate(bucket), "limit", str(bucket.limit))


def _rate(bucket: Bucket) -> Argv:
    rate: Argv = ("rate", f"{bucket.rate_bps}bit", "burst", str(bucket.burst_bytes))
    return (*rate, "mpu", str(bucket.mpu_bytes)) if bucket.mpu_bytes else rate


def _leaves(config: HostApConfig) -> tuple[tuple[str, str], ...]:
    return _LEAVES if config.isolate else _LEAVES[:1]


def _htb_classes(verb: str, config: HostApConfig, bucket: Bucket) -> list[Argv]:
    if not config.isolate:
        return [_htb_class(verb, "1:", _LEAVES[0][0], bucket, bucket.rate_bps)]
    # Each leaf is sure of its share and may borrow all: a sparse flow waits for no other's queue.
    share = replace(bucket, rate_bps=max(8, bucket.rate_bps // len(_LEAVES)))
    return [
        _htb_class(verb, "1:", _PARENT, bucket, bucket.rate_bps),
        *(_htb_class(verb, _PARENT, leaf, share, bucket.rate_bps) for leaf, _ in _LEAVES),
    ]


def _htb_class(verb: str, parent: str, classid: str, bucket: Bucket, ceil_bps: int) -> Argv:
    head = ("tc", "class", verb, "dev", DEVICE, "parent", parent, "classid", classid, "htb")
    ceiling = ("ceil", f"{ceil_bps}bit", "cburst", str(bucket.burst_bytes))
    return (*head, *_rate(bucket), *ceiling, "quantum", str(MIN_BURST_BYTES))


def _port_filters(config: HostApConfig) -> list[Argv]:
    """Return the filters that send a client port to its leaf; the first leaf is htb's default."""
    return _filters(config, "1:", [leaf for leaf, _ in _LEAVES])


def _filters(config: HostApConfig, parent: str, classes: Sequence[str]) -> list[Argv]:
    """Return filters by the low two bits of the client's port (u32: at hand on any kernel).

    Packets of the first flow, bits 0, are left to what takes all others.
    """
    family, header = ("ipv6", "ip6") if config.ipv6 else ("ip", "ip")
    port = "dport" if config.direction == "down" else "sport"
    head = ("tc", "filter", "add", "dev", DEVICE, "parent", parent, "protocol", family)
    return [
        (*head, *f"prio 1 u32 match {header} {port} {bits} 0x0003 flowid {classid}".split())
        for bits, classid in enumerate(classes)
        if bits
    ]


def policed_pps(config: HostApConfig) -> int:
    """Return the packets per second of the policer that counts packets (nft takes whole ones)."""
    return max(1, round(config.rate_bps / 8 / MTU_BYTES))


def _policer(config: HostApConfig) -> list[Argv]:
    """Return a policer in the forward chain, before an unshaped FIFO in which nothing can wait.

    nft meters the IP packet: unlike tc it does not see the Ethernet header.
    """
    chain = "{ type filter hook forward priority 0 ; policy accept ; }"
    if config.policer == "nft":
        rate, burst = f"{config.rate_bps // 8} bytes/second", f"{config.bucket_bytes} bytes"
    else:
        rate, burst = (
            f"{policed_pps(config)}/second",
            f"{config.bucket_bytes // FRAME_BYTES} packets",
        )
    limit = f"limit rate over {rate} burst {burst}"
    return [
        ("tc", "qdisc", "add", "dev", DEVICE, "root", "handle", LEAF, *config.queue.words),
        ("nft", "add", "table", "inet", "bed"),
        ("nft", "add", "chain", "inet", "bed", "police", chain),
        ("nft", "add", "rule", "inet", "bed", "police", "oifname", DEVICE, *limit.split(), "drop"),
    ]
