"""What a user asks to be diagnosed: which legs, which loads, and carrying both out."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from airqueue.diagnose.legs import GATEWAY_PORT, LegError, Target, answering, first_router
from airqueue.diagnose.loads import BothWays, Connections, Flood, LoadError
from airqueue.diagnose.records import DIRECTIONS, GATEWAY, SERVER, WIRE, Direction, Records
from airqueue.diagnose.timeline import Glimpse, Loading, Watch, carry_out
from airqueue.diagnose.web import Transfers
from airqueue.measure.live import DEFAULT_PORT, LiveProber

AUTO: Final = "auto"
NONE: Final = "none"
_WEB_PORTS: Final = {"http": 80, "https": 443}
MOST_BYTES: Final = 2 * 10**9


@dataclass(frozen=True, slots=True)
class Web:
    """Addresses of the web for the loads, and the most bytes of each direction."""

    download: str | None = None
    upload: str | None = None
    most_bytes: int = MOST_BYTES

    def __post_init__(self) -> None:
        """Refuse what is no address of the web: LoadError."""
        for url in filter(None, (self.download, self.upload)):
            parts = urlsplit(url)
            if parts.scheme not in _WEB_PORTS or not parts.hostname:
                raise LoadError(
                    f"{url!r} is not an address of the web: write http://host/path or https://..."
                )

    def url(self, direction: Direction) -> str | None:
        """Return the address for the load of a direction."""
        return self.download if direction == "down" else self.upload

    @property
    def host(self) -> tuple[str, int] | None:
        """Host and port of the first address."""
        url = self.download or self.upload
        if url is None:
            return None
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or _WEB_PORTS[parts.scheme]


@dataclass(frozen=True, slots=True)
class Order:
    """One diagnosis. ``host``: an `airqueue server`; without one the load comes from the web.

    ``wire``: another server, on the access point's own wire. ``gateway``: an address, or `AUTO`, or
    `NONE`. ``hold_s``: how long each full queue is watched.
    """

    host: str | None
    web: Web = Web()
    port: int = DEFAULT_PORT
    wire: str | None = None
    gateway: str = AUTO
    directions: tuple[Direction, ...] = DIRECTIONS
    hold_s: float = 5.0
    flood: bool = False
    """Load by a flood in place of TCP."""
    max_rate_bps: float | None = None
    max_wait_s: float = 600.0
    key: bytes | None = None
    together: bool = False
    """Load both directions at once, too."""

    def __post_init__(self) -> None:
        """Refuse an order without a load, or of both directions at once without TCP: LoadError."""
        if self.host is None and not any(map(self.web.url, self.directions)):
            way = "download" if "down" in self.directions else "upload"
            raise LoadError(
                f"Nothing to load with: name a host with an airqueue server, or a {way}."
            )
        if self.together and (self.flood or self.web.host is not None):
            raise LoadError(
                "Both directions at once are connections of TCP to an airqueue server: leave floods, "
                "downloads and uploads of the web out."
            )

    @property
    def target(self) -> str:
        """The host at the far end."""
        web = self.web.host
        return self.host if self.host is not None else web[0] if web is not None else ""

    def legs(self) -> tuple[Target, ...]:
        """Return the legs with methods by which they answer, from here outwards. Raises LegError."""
        router = first_router(self.target) if self.gateway == AUTO else self.gateway
        for option, named in (("--gateway", self.gateway), ("--wire", self.wire)):
            if named not in (None, AUTO, NONE):
                _check_name(option, named)
        found = []
        if router is not None and router != NONE:
            found.append(Target(GATEWAY, router, GATEWAY_PORT))
        if self.wire is not None:
            found.append(Target(WIRE, self.wire, self.port, "server"))
        if self.host is not None:
            found.append(Target(SERVER, self.host, self.port, "server"))
        elif self.web.host is not None:
            found.append(Target(SERVER, *self.web.host))
        return answering(found)

    def loads(self, watch: Watch) -> Iterator[Loading]:
        """Make the loads one after the other; a session with a server ends before the next load."""
        for site, host in ((WIRE, self.wire), (SERVER, self.host)):
            if host is None or (site == SERVER and self.web.host is not None):
                continue
            for way in self.directions:
                with self.prober(site, way) as prober:
                    load = Flood if self.flood else Connections
                    yield load(site, prober, watch, self.hold_s)
            if self.together:
                with self.prober(site, DIRECTIONS[0]) as prober:
                    yield BothWays(site, prober, watch, self.hold_s)
        for way in self.directions:
            url = self.web.url(way)
            if url is not None:
                most = self.web.most_bytes
                yield Transfers(SERVER, way, url, watch, self.hold_s, most)

    def server_of(self, site: str) -> str | None:
        """Return the host of the `airqueue server` of a site."""
        return self.wire if site == WIRE else self.host

    def prober(
        self, site: str, direction: Direction, max_wait_s: float | None = None
    ) -> LiveProber:
        """Begin a session with the server of a site, which there must be. Raises ProbeError."""
        host = self.server_of(site)
        assert host is not None
        return LiveProber(
            host,
            self.port,
            direction=direction,
            key=self.key,
            max_rate_bps=self.max_rate_bps,
            max_wait_s=self.max_wait_s if max_wait_s is None else max_wait_s,
        )


def _check_name(option: str, name: str) -> None:
    """Raise LegError for a name without an address."""
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError) as error:
        raise LegError(
            f"{option} {name}: there is no host of this name; give an address, or another name."
        ) from error


def diagnose(
    order: Order, on_glimpse: Callable[[Glimpse], None] = lambda glimpse: None
) -> tuple[Records, bool]:
    """Carry out an order; return the records, and whether Ctrl-C ended it early.

    Raises LegError, LoadError or ProbeError, BrokenOffError after a load; KeyboardInterrupt before
    anything was loaded.
    """
    on_glimpse(Glimpse("looking for the legs of the path", None, {}))
    watch = Watch(order.legs())
    try:
        return carry_out(watch, order.loads(watch), on_glimpse)
    finally:
        watch.close()
