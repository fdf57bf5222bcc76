"""Packet records: the only input of estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from airqueue import lazy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = lazy.Module("numpy")


MISSING: int = -(1 << 63)
"""A time that does not exist: not sent, not stamped, lost."""

RunEnd = Literal["complete", "cancelled", "receiver_silent", "sender_silent"]


@dataclass(frozen=True, slots=True)
class HostReport:
    """The two endpoints' reports about themselves in one run.

    ``send_blocked``: packets that the sending host's own buffer refused. ``receive_overflow``:
    packets that the receiver's socket buffer had no room for, as its kernel counted them.
    ``clock_steps``: wall-clock steps seen while mapping timestamps, both ends together. ``shared``:
    the server also carried packets of other clients during the run.
    """

    send_blocked: int = 0
    receive_overflow: int = 0
    duplicates: int = 0
    clock_steps: int = 0
    kernel_receive_timestamps: bool = True
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """One run: arrays of equal length n, row i = i-th packet in the order of sending.

    Times in integer nanoseconds. ``scheduled_ns``, ``sent_ns``, ``kernel_tx_ns``: sender's clock,
    from the sender's start of the run. ``received_ns``: receiver's clock, from an epoch of its own;
    the offset between the clocks is unknown, and constant but for skew and steps. ``MISSING`` marks
    what does not exist: a packet that never left, a packet without a stamp, a lost packet.
    ``size_bytes``: IP packet size.

    ``sent_class``, ``received_class``: the traffic class (`plan.traffic_class`) that the sender wrote
    into a packet's IP header, and the one that the header had on arrival, 0 for a packet that did not
    arrive (`received`). Both None if they were not recorded: in captures of versions that did not
    know them, and in logs of other tools.
    """

    scheduled_ns: npt.NDArray[np.int64]
    sent_ns: npt.NDArray[np.int64]
    kernel_tx_ns: npt.NDArray[np.int64]
    received_ns: npt.NDArray[np.int64]
    flow: npt.NDArray[np.uint8]
    size_bytes: npt.NDArray[np.uint16]
    host: HostReport = field(default_factory=HostReport)
    end: RunEnd = "complete"
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Purpose of the run: JSON values only, e.g. ``kind``, ``size_bytes``, phase boundaries."""
    sent_class: npt.NDArray[np.uint8] | None = None
    received_class: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.sent_ns)

    @property
    def sent(self) -> npt.NDArray[np.bool_]:
        """Whether each packet left the sender; shape (n,)."""
        sent: npt.NDArray[np.bool_] = self.sent_ns != MISSING
        return sent

    @property
    def received(self) -> npt.NDArray[np.bool_]:
        """Whether each packet arrived; shape (n,)."""
        received: npt.NDArray[np.bool_] = self.received_ns != MISSING
        return received

    @property
    def lost(self) -> npt.NDArray[np.bool_]:
        """Whether each packet left and did not arrive; shape (n,)."""
        return self.sent & ~self.received

    @property
    def delay_s(self) -> npt.NDArray[np.float64]:
        """One-way delay plus the unknown clock offset in seconds, NaN where lost; shape (n,)."""
        both = self.sent & self.received
        delay = np.full(len(self), np.nan)
        delay[both] = (self.received_ns[both] - self.sent_ns[both]) * 1e-9
        return delay
