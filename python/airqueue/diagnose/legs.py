"""The legs of a path, and by what they answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from airqueue._native import Echoes, NativeError, first_hops

if TYPE_CHECKING:
    # Shapes that the stub names; the compiled module has no such types.
    from airqueue.records import EchoTargetDict

Method = Literal["icmp", "hop", "udp", "tcp", "server"]
INTERVAL_S: Final = 0.05
"""Between two probes of a leg."""
ANSWER_S: Final = 1.0
"""In which a leg must have answered, or the next method is tried."""
ROUTER_S: Final = 1.5
"""For the answer of the first router."""
GATEWAY_PORT: Final = 80
"""Of TCP; a refusal is an answer, too."""


class LegError(Exception):
    """A leg cannot be probed; the message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where the probes of a leg go to, by which method, and by which other one if there is no answer.

    ``port``: of the other method.
    """

    name: str
    host: str
    port: int
    otherwise: Method = "tcp"
    method: Method = "icmp"

    def native(self) -> EchoTargetDict:
        """Return the target as the bindings take it."""
        port = None if self.method == "icmp" else self.port
        return {
            "name": self.name,
            "host": self.host,
            "method": self.method,
            "port": port,
            "hops": None,
        }


def first_router(host: str, netns: str | None = None) -> str | None:
    """Return the address of the first router on the way to a host; None if no router answers."""
    try:
        hops = first_hops(host, most=1, timeout_s=ROUTER_S, netns=netns)
    except NativeError:
        return None
    found = next((hop for hop in hops if hop["hop"] == 1 and not hop["is_host"]), None)
    return None if found is None else found["address"]


def answering(targets: Sequence[Target], netns: str | None = None) -> tuple[Target, ...]:
    """Return the targets, each with a method by which it answers: ICMP, or its other method.

    Raises LegError if nothing can be sent to any of them.
    """
    found = _answers(targets, ANSWER_S, netns)
    return tuple(
        target if answered else replace(target, method=target.otherwise)
        for target, answered in zip(targets, found, strict=True)
    )


def _answers(targets: Sequence[Target], within_s: float, netns: str | None) -> list[str | None]:
    """Return who answered each target in this time. Raises LegError if nothing can be sent."""
    probes = probing(targets, netns)
    try:
        end = time.monotonic() + within_s
        while True:
            found = [each["answered_by"] for each in probes.poll()]
            if all(found) or time.monotonic() >= end:
                return found
            time.sleep(INTERVAL_S)
    finally:
        probes.stop()


def probing(targets: Sequence[Target], netns: str | None) -> Echoes:
    """Begin to probe targets. Raises LegError if none of them can be probed."""
    try:
        native = [target.native() for target in targets]
        return Echoes(native, interval_s=INTERVAL_S, netns=netns)
    except NativeError as error:
        raise LegError(f"{error}.") from error
