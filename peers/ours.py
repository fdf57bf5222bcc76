"""Our engine, given the same cells: the way in is the Python API that everybody uses."""

from __future__ import annotations

import time
from typing import Any

from airqueue.simulate import Scenario

from .scenario import IP_UDP_HEADER_BYTES, Cell, Edca, NotModelledError, Radio, Result

RECEIVER = "receiver"
# Where the peers' stations stand, and how frames fade there: ns-2's two-ray ground on 10 m; ns-3's
# log-distance loss and the other defaults of its radio, on 1 m.
CIRCLE = {"ns2": "10 m", "ns3": "1 m"}
LIFETIME = "86400 s"
"""Of a packet: longer than any run."""
MEDIUM: dict[str, dict[str, Any]] = {
    "ns2": {"path_loss": {"two_ray": {}}},
    "ns3": {"path_loss": "ns3"},
}


def run_ours(cell: Cell, behaviour: str) -> Result:
    """One replication in this process; CPU time is that of building the network and running it."""
    scenario = Scenario(description(cell, behaviour))
    before = time.process_time()
    results = scenario.simulate(seed=cell.seed, replications=1, workers=1)
    cpu_s = time.process_time() - before
    run = results.runs[0]
    each = tuple(flow["throughput_bps"] or 0.0 for flow in run["flows"].values())
    stations = [figures for name, figures in run["stations"].items() if name != RECEIVER]
    attempts = round(sum(station["attempts"] for station in stations))
    failed = round(sum(s["attempts"] * (s["failed_ratio"] or 0.0) for s in stations))
    payload = (cell.ip_bytes - IP_UDP_HEADER_BYTES) / cell.ip_bytes
    return Result(
        simulator=f"airqueue {behaviour}",
        ip_throughput_bps=sum(each),
        udp_payload_bps=sum(each) * payload,
        station_ip_bps=each,
        attempts=attempts,
        failed_attempts=failed,
        failed_fraction=failed / attempts if attempts else 0.0,
        cpu_s=cpu_s,
        simulated_s=cell.warm_up_s + cell.seconds,
    )


def description(cell: Cell, behaviour: str) -> dict[str, Any]:
    """The cell as a scenario file has it."""
    receiver: dict[str, Any] = {"name": RECEIVER}
    if cell.edca:
        # Frames between stations that both know QoS have the longer header.
        receiver["mac"] = {"access": "edca"}
        senders = [sender(index, edca) for index, edca in enumerate(cell.edca)]
    else:
        senders = [{"name": "sta", "count": cell.stations - cell.old_stations}]
    if cell.old_stations:
        senders.insert(0, old_stations(cell))
    described: dict[str, Any] = {
        "behaviour": behaviour,
        "duration": f"{cell.seconds} s",
        "warm_up": f"{cell.warm_up_s} s",
        "phy": layer(cell),
        "stations": [receiver, *senders],
        "flows": [
            {"from": station["name"], "to": RECEIVER, "size": f"{cell.ip_bytes} B"}
            for station in senders
        ],
    }
    if cell.standard == "b":
        described["phy"]["preamble"] = cell.preamble
    mac: dict[str, Any] = {"rts_threshold": "0 B"} if cell.rts else {}
    if cell.radio:
        mac |= aggregation(cell.radio, behaviour)
    if mac:
        described["mac"] = mac
    if cell.mpdu_loss:
        described["medium"] = {"errors": {"frame": cell.mpdu_loss}}
    if cell.layout == "circle" and not cell.edca:
        on_a_circle(described, behaviour, cell.radius_m)
    return described


def layer(cell: Cell) -> dict[str, Any]:
    """The physical layer."""
    described: dict[str, Any] = {
        "standard": f"802.11{cell.standard}",
        "rate": f"{cell.data_mbps:g} Mb/s",
        "control_rate": f"{cell.control_mbps:g} Mb/s",
    }
    if cell.radio:
        described |= {
            "rate": cell.scheme,
            "width": f"{cell.radio.width_mhz} MHz",
            "streams": cell.radio.streams,
            "guard_interval": f"{cell.radio.guard_us:g} us",
        }
    return described


def aggregation(radio: Radio, behaviour: str) -> dict[str, Any]:
    """The MAC's part of a radio."""
    if behaviour == "ns3" and not radio.explicit_bar:
        raise NotModelledError("behaviour ns3 has a BlockAckReq follow each missed block ack")
    limits = {"max_size": f"{radio.ampdu_bytes} B", "window": radio.window}
    # As in ns-3: AIFSN and windows are the defaults of both.
    best_effort = {"txop": "0 us"}
    return {"aggregation": limits, "lifetime": LIFETIME, "edca": {"be": best_effort}}


def old_stations(cell: Cell) -> dict[str, Any]:
    """Those that know 802.11a alone."""
    rate = f"{cell.data_mbps:g} Mb/s"
    return {"name": "old", "count": cell.old_stations, "rate": rate, "mac": {"access": "dcf"}}


def sender(index: int, edca: Edca) -> dict[str, Any]:
    """A station that contends as best effort with these settings."""
    best_effort = {
        "aifsn": edca.aifsn,
        "cw_min": edca.cw_min,
        "cw_max": edca.cw_max,
        "txop": f"{edca.txop_us} us",
    }
    mac = {"access": "edca", "experimental": True, "edca": {"be": best_effort}}
    return {"name": f"sta{index + 1}", "mac": mac}


def on_a_circle(described: dict[str, Any], behaviour: str, radius_m: float | None = None) -> None:
    """Without places everyone hears everyone equally well, as at one point."""
    described["medium"] = MEDIUM[behaviour] | described.get("medium", {})
    if radius_m is not None:
        described["medium"]["propagation_delay"] = True
    for station in described["stations"]:
        station["position"] = ["0 m", "0 m"]
        if station["name"] != RECEIVER:
            station["circle"] = CIRCLE[behaviour] if radius_m is None else f"{radius_m:g} m"
