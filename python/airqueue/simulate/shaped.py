"""A single queue: packets in, the fate of each packet out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airqueue import _native, lazy
from airqueue.simulate import renamed
from airqueue.simulate.errors import ScenarioError, check_whole
from airqueue.simulate.plain import plain
from airqueue.simulate.replications import MOST_SEED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = lazy.Module("numpy")

_MOST_BPS = 1_000_000_000_000
_MOST_DSCP = 63
_MOST_BLOCKS = 4
_MOST_OCTET = 2**60


@dataclass(frozen=True, slots=True)
class TcpHeader:
    """What a queue that filters acknowledgements reads of a packet's TCP header.

    Sequence numbers do not wrap.
    """

    ack: int | None
    """Acknowledgement number; None: the flag ACK is not set."""
    has_data: bool = False
    connection: int = 0
    """Number of the connection within the packet's flow."""
    syn: bool = False
    fin: bool = False
    ece: bool = False
    cwr: bool = False
    timestamps: tuple[int, int] | None = None
    """TSval and TSecr; None: the header has no timestamps option."""
    sack: Sequence[tuple[int, int]] = ()
    """Up to four blocks: the first octet, and the octet after the last."""


@dataclass(frozen=True, slots=True)
class PacketOutcomes:
    """The fates of packets, in the order in which they were offered."""

    left_ns: npt.NDArray[np.int64]
    """Departure of each packet; meaningless for dropped packets."""
    dropped: npt.NDArray[np.bool_]
    marked: npt.NDArray[np.bool_]


def shaped(
    queue: Mapping[str, object],
    at_ns: npt.ArrayLike,
    size_bytes: npt.ArrayLike,
    *,
    rate_bps: int,
    burst_bytes: int = 1540,
    flow: npt.ArrayLike = 0,
    ect: npt.ArrayLike = False,
    dscp: npt.ArrayLike = 0,
    hosts: Mapping[int, tuple[int, int]] | None = None,
    tcp: Sequence[TcpHeader | None] | None = None,
    seed: int = 1,
) -> PacketOutcomes:
    """Offer packets to a queue whose head waits for tokens, as under Linux's tbf.

    A single value of ``flow``, ``size_bytes``, ``ect`` or ``dscp`` stands for all packets. Warns with
    RenamedKeyWarning of keys by old names.

    Parameters
    ----------
    queue : dict
        The keys of a scenario's ``queue`` table.
    at_ns : array of int
        Arrival times in nanoseconds, one row, not decreasing.
    size_bytes : array of int
        Sizes of IP packets.
    rate_bps : int
        Rate of the bucket, in bits per second of packets with the table's ``link_layer``.
    burst_bytes : int
        Depth of the bucket, likewise.
    flow : array of int
        The flow of each packet.
    ect : array of bool
        Which packets may be marked.
    dscp : array of int
        Codepoints.
    hosts : dict, optional
        A source and a destination for each flow, for disciplines that are fair among hosts.
    tcp : sequence, optional
        The TCP header of each packet, for CAKE's ACK filter; None: the packet is not TCP.
    seed : int
        Of the queue's random numbers.

    Returns
    -------
    PacketOutcomes
        Arrays with an element for each packet.

    Raises
    ------
    ScenarioError
        A queue or packets that cannot be.

    Examples
    --------
    >>> fates = shaped({"limit": "2 packets"}, [0, 0, 0, 0], 1500, rate_bps=12_000_000)
    >>> fates.dropped.tolist(), fates.left_ns[:3].tolist()
    ([False, False, False, True], [0, 973334, 1973334])
    """
    check_whole("rate_bps", rate_bps, 1, _MOST_BPS)
    check_whole("burst_bytes", burst_bytes, 1, 2**32 - 1)
    check_whole("seed", seed, 0, MOST_SEED)
    at = np.ascontiguousarray(at_ns, dtype=np.int64)
    if at.ndim != 1 or (at.size and (at[0] < 0 or bool(np.any(np.diff(at) < 0)))):
        raise ScenarioError("at_ns: expected one row of times from 0 on that do not decrease")
    try:
        size = _column("size_bytes", size_bytes, at.size, np.uint32)
        fates = _native.serve(
            json.dumps(plain(queue)),
            rate_bps,
            burst_bytes,
            seed,
            at,
            _column("flow", flow, at.size, np.uint32),
            size,
            _column("ect", ect, at.size, np.bool_),
            _codepoints(dscp, at.size),
            _ends(hosts or {}),
            _headers(tcp or (), at.size),
        )
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    renamed.warn(fates["warnings"])
    left = fates["left_ns"]
    return PacketOutcomes(left, left < 0, fates["marked"])


def _ends(hosts: Mapping[int, tuple[int, int]]) -> list[tuple[int, int, int]]:
    ends = [(flow, source, destination) for flow, (source, destination) in hosts.items()]
    for name, number in ((f"hosts[{of[0]}]", number) for of in ends for number in of):
        check_whole(name, number, 0, 2**32 - 1)
    return ends


def _headers(tcp: Sequence[TcpHeader | None], length: int) -> list[TcpHeader | None]:
    if tcp and len(tcp) != length:
        raise ScenarioError(f"tcp: found {len(tcp)} values for {length} packets")
    for at, header in enumerate(tcp):
        if header is not None:
            _check_header(f"tcp[{at}]", header)
    return list(tcp)


def _check_header(name: str, header: TcpHeader) -> None:
    check_whole(f"{name}.connection", header.connection, 0, 2**32 - 1)
    if header.ack is not None:
        check_whole(f"{name}.ack", header.ack, 0, _MOST_OCTET)
    for stamp in header.timestamps or ():
        check_whole(f"{name}.timestamps", stamp, 0, _MOST_OCTET)
    if len(header.sack) > _MOST_BLOCKS:
        raise ScenarioError(f"{name}.sack: expected {_MOST_BLOCKS} blocks at most")
    for start, end in header.sack:
        check_whole(f"{name}.sack", start, 0, _MOST_OCTET)
        check_whole(f"{name}.sack", end, start, _MOST_OCTET)


def _codepoints(values: npt.ArrayLike, length: int) -> npt.NDArray[Any]:
    codepoints = _column("dscp", values, length, np.uint32)
    if bool(np.any(codepoints > _MOST_DSCP)):
        raise ScenarioError(f"dscp: expected 0 to {_MOST_DSCP}")
    return codepoints.astype(np.uint8)


def _column(name: str, values: npt.ArrayLike, length: int, kind: Any) -> npt.NDArray[Any]:
    given = np.asarray(values)
    if kind is not np.bool_ and (given.dtype.kind not in "iu" or bool(np.any(given < 0))):
        raise ScenarioError(f"{name}: expected whole numbers, at least 0")
    try:
        return np.ascontiguousarray(np.broadcast_to(given, (length,)), dtype=kind)
    except ValueError:
        raise ScenarioError(
            f"{name}: found {given.shape[0] if given.ndim else 1} values for {length} packets"
        ) from None
