"""The EDCA paper's test bed as scenarios: saturated stations by UDP, uploads and downloads by TCP.

802.11b at 11 Mb/s without RTS. Preamble and rate of acknowledgements are not printed: the short
preamble and 11 Mb/s give the printed 1270 us of a packet (Fig. 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from airqueue.description import (
    CategoryTable,
    Description,
    EdcaTable,
    FlowTable,
    HostTable,
    PhyTable,
)
from airqueue.description_words import CountdownName
from airqueue_papers.item import Simulation

AP: Final = "ap"
UDP_BYTES: Final = 1400
"""Bytes of a packet's payload."""
HEADER_BYTES: Final = 28
"""Bytes of the headers of IPv4 and UDP."""
IP_BYTES: Final = UDP_BYTES + HEADER_BYTES
WINDOW: Final = 32
"""Values of the default window: the paper's CWmin, one more than the standard's."""
LARGEST_WINDOW: Final = 1024
"""Values of the largest default window."""
DIFS_AIFSN: Final = 2
"""DIFS is SIFS and two slots, the paper's AIFS of 0 slots."""
TCP_BUFFERS: Final = {"default": 64 * 1024, "used": 1024 * 1024}
"""TCP buffer in bytes; Table 1."""
QUEUES: Final = {"default": (199, 200), "used": (10, 10)}
"""Packets in front of the driver, and in the driver; Table 1."""
MSS: Final = 1448

PHY: Final[PhyTable] = {
    "standard": "802.11b",
    "preamble": "short",
    "rate": "11 Mb/s",
    "control_rate": "11 Mb/s",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Parameters of a queue in the paper's units."""

    aifs_slots: int = 0
    """Slots above DIFS."""
    window: int = WINDOW
    """Values of the first backoff, 0..window-1: the paper's CWmin."""
    txop: str = "0 us"
    """A time; ``1 packet``; or ``flows``: a packet for each download with packets queued."""

    def keys(self) -> CategoryTable:
        """Return the keys of ``mac.edca``."""
        return {
            "aifsn": DIFS_AIFSN + self.aifs_slots,
            "cw_min": self.window - 1,
            "cw_max": LARGEST_WINDOW - 1,
            "txop": self.txop,
        }


TABLE2: Final[Mapping[str, tuple[str, Literal["be", "vo"], Access]]] = {
    # Row of the table -> (station, category, parameters).
    "ap_upload_acks": (AP, "vo", Access(0, 4, "1 packet")),
    "ap_download_data": (AP, "be", Access(4, WINDOW, "flows")),
    "sta_download_acks": ("sta", "vo", Access(0, WINDOW, "1 packet")),
    "sta_upload_data": ("sta", "be", Access(4, WINDOW, "1 packet")),
}


def network(duration_s: float, warm_up_s: float = 5.0) -> Description:
    """Return the keys common to all scenarios, without stations and flows."""
    return {
        "duration": f"{duration_s:g} s",
        "warm_up": f"{warm_up_s:g} s",
        "phy": {**PHY},
        "mac": {"access": "dcf"},
        "stations": [{"name": AP}],
        "flows": [],
    }


UNENDING: Final[FlowTable] = {"source": "tcp", "start_spread": "1 s"}
"""A flow of TCP that always has data."""


def tcp(
    queues: tuple[int, int] = QUEUES["used"],
    buffer: int = TCP_BUFFERS["used"],
    ack_every: int = 1,
) -> Description:
    """Return the tables of the stations' queues and of TCP: AIMD, with the timers of Linux."""
    limit, ring = queues
    return {
        "queue": {"limit": f"{limit} packets", "ring": f"{ring} packets"},
        "tcp": {
            "stack": "linux",
            "congestion": "newreno",
            "mss": f"{MSS} B",
            "window": f"{buffer // MSS} packets",
            "ack_every": ack_every,
            # The test bed has Linux 2.6.8; bursts came with 2.6.18, small queues with 3.6.
            "segmentation_offload": False,
            "small_queue": False,
        },
    }


def saturated(name: str, sender: str, receiver: str, payload: int = UDP_BYTES) -> FlowTable:
    """Return a flow of UDP that always has a packet, with so many bytes of payload."""
    return {"name": name, "from": sender, "to": receiver, "size": f"{payload + HEADER_BYTES} B"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two saturated stations, the first with default parameters; Figs 3 to 5."""

    second: Access
    rule: CountdownName = "edca"
    """Rule by which counters move: ``edca``, ``freeze``."""
    payload: int = UDP_BYTES
    """Bytes of UDP payload in the packets of both."""

    @property
    def name(self) -> str:
        """Of the run."""
        access = self.second
        txop = access.txop.replace(" ", "")
        size = f"-{self.payload}B" * (self.payload != UDP_BYTES)
        return f"pair-aifs{access.aifs_slots}-cw{access.window}-txop{txop}-{self.rule}{size}"

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        described = network(duration_s, 1.0)
        described["mac"] = {"access": "edca", "experimental": True}
        for name, access in (("first", Access()), ("second", self.second)):
            keys: CategoryTable = {**access.keys(), "countdown": self.rule}
            described["stations"].append({"name": name, "mac": {"edca": {"be": keys}}})
            described["flows"].append(saturated(name, name, AP, self.payload))
        return described

    def simulation(self, duration_s: float, replications: int) -> Simulation:
        """Return its replications."""
        weight = 1e-3 * duration_s
        return Simulation(self.scenario(duration_s), replications, weight=weight)


@dataclass(frozen=True, slots=True)
class Shared:
    """Saturated uploads and downloads with default parameters; Sec. 5.1."""

    uploads: int
    downloads: int

    @property
    def name(self) -> str:
        """Of the run."""
        return f"saturated-{self.uploads}-{self.downloads}"

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        described = network(duration_s, 1.0)
        for name, count, ends in (
            ("up", self.uploads, ("up", AP)),
            ("down", self.downloads, (AP, "down")),
        ):
            described["stations"].append({"name": name, "count": count})
            described["flows"].append(saturated(name, *ends))
        return described

    def simulation(self, duration_s: float, replications: int) -> Simulation:
        """Return its replications."""
        weight = 2e-3 * duration_s
        return Simulation(self.scenario(duration_s), replications, weight=weight)


def divide(described: Description) -> None:
    """Give flows their categories: data is best effort."""
    described["mac"] = {"access": "edca"}
    for flow in described["flows"]:
        flow["category"] = "vo" if flow["source"] == "voice" else "be"


def prioritise(described: Description) -> None:
    """Give flows and stations Table 2: acknowledgements have a category, or share it with calls."""
    divide(described)
    rows = {(who, category): access.keys() for who, category, access in TABLE2.values()}
    stations: EdcaTable = {"be": rows["sta", "be"], "vo": rows["sta", "vo"]}
    described["mac"]["edca"] = stations
    described["stations"][0]["mac"] = {"edca": {"be": rows[AP, "be"], "vo": rows[AP, "vo"]}}
    for flow in described["flows"]:
        if flow["source"] == "tcp":
            flow["ack_category"] = "vo"


@dataclass(frozen=True, slots=True)
class Transfers:
    """TCP uploads to the access point and downloads from it, one to a station; Figs 2, 6 to 9."""

    uploads: int
    downloads: int = 0
    scheme: str = "default"
    """``default``: 802.11b; ``802.11e``: the standard's categories, calls as voice; ``table2``."""
    queues: tuple[int, int] = QUEUES["used"]
    buffer: int = TCP_BUFFERS["used"]
    background_mbps: float = 0.0
    """UDP rate of one more station."""
    ack_every: int = 1
    """Segments per acknowledgement."""
    calls: Literal["none", "apart", "together"] = "none"
    """As many calls as transfers: at stations of their own, or at those of the transfers."""

    @property
    def name(self) -> str:
        """Of the run."""
        words = [f"tcp-{self.uploads}-{self.downloads}-{self.scheme}"]
        words += [f"queues{self.queues[0]}-{self.queues[1]}"] * (self.queues != QUEUES["used"])
        words += [f"buffer{self.buffer}"] * (self.buffer != TCP_BUFFERS["used"])
        words += [f"background{self.background_mbps:g}"] * (self.background_mbps > 0)
        words += [f"d{self.ack_every}"] * (self.ack_every > 1)
        words += [f"calls-{self.calls}"] * (self.calls != "none")
        return "-".join(words)

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        described = network(duration_s, 10.0)
        described |= tcp(self.queues, self.buffer, self.ack_every)
        groups = (("up", self.uploads), ("down", self.downloads))
        for name, count in groups:
            if count:
                described["stations"].append({"name": name, "count": count})
                sender, receiver = (name, AP) if name == "up" else (AP, name)
                ends: FlowTable = {"from": sender, "to": receiver}
                described["flows"].append({"name": name, **ends, **UNENDING})
        if self.background_mbps:
            described["stations"].append({"name": "other"})
            flow = saturated("background", "other", AP)
            rate: FlowTable = {"source": "cbr", "rate": f"{self.background_mbps:g} Mb/s"}
            described["flows"].append({**flow, **rate})
        if self.calls != "none":
            self._call(described)
        if self.scheme == "802.11e":
            divide(described)
        if self.scheme == "table2":
            prioritise(described)
        return described

    def _call(self, described: Description) -> None:
        """Add calls over the access point: two flows of a codec each."""
        ends = [name for name, count in (("up", self.uploads), ("down", self.downloads)) if count]
        if self.calls == "apart":
            ends = ["phone"]
            count = self.uploads + self.downloads
            described["stations"].append({"name": "phone", "count": count})
        for end in ends:
            there: FlowTable = {"name": f"{end} speaks", "from": end, "to": AP}
            back: FlowTable = {"name": f"{end} listens", "from": AP, "to": end}
            described["flows"] += [{**way, "source": "voice"} for way in (there, back)]

    def simulation(self, duration_s: float, replications: int) -> Simulation:
        """Return its replications."""
        weight = 2.3e-3 * (duration_s + 10)
        return Simulation(self.scenario(duration_s), replications, weight=weight)


@dataclass(frozen=True, slots=True)
class LikeNs2:
    """TCP uploads as in ns-2's references: its MAC and TCP, and a server 5 ms behind the AP."""

    uploads: int
    queue_frames: int = 50
    """Queue limit of every station, counted as in ns-2: with the packet in the MAC."""

    @property
    def name(self) -> str:
        """Of the run."""
        return f"ns2-{self.uploads}-queue{self.queue_frames}"

    def scenario(self, duration_s: float) -> Description:
        """Return the description."""
        wire: HostTable = {"name": "server", "link": AP, "rate": "100 Mb/s", "delay": "5 ms"}
        return {
            "behaviour": "ns2",
            "duration": f"{duration_s:g} s",
            "warm_up": "30 s",
            "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s"},
            "queue": {"limit": f"{self.queue_frames} packets"},
            "tcp": {"mss": "1460 B", "window": "10000 packets"},
            "stations": [{"name": AP}, {"name": "up", "count": self.uploads}],
            "hosts": [wire],
            "flows": [{"name": "up", "from": "up", "to": "server", **UNENDING}],
        }

    def simulation(self, duration_s: float, replications: int) -> Simulation:
        """Return its replications."""
        weight = 3e-3 * duration_s
        return Simulation(self.scenario(duration_s), replications, weight=weight)
