"""Runs one cell in one peer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable

from .install import HERE, install
from .scenario import Cell, NotModelledError, Result


def run(peer: str, cell: Cell, *, attempts: bool = False) -> Result:
    """``attempts`` has ns-2 count them from its trace, which costs CPU time; ns-3 always counts."""
    if peer == "ns2":
        return run_ns2(cell, attempts)
    return run_ns3(peer, cell)


def run_ns2(cell: Cell, attempts: bool) -> Result:
    if cell.standard != "b" or cell.edca or cell.mpdu_loss:
        raise NotModelledError(
            "ns-2 knows neither the symbols of OFDM nor EDCA: 802.11b with DCF only, without losses"
        )
    if cell.layout != "circle":
        raise NotModelledError("ns-2 has its stations on a circle only")
    if cell.preamble == "short" and cell.control_mbps == 1:
        raise NotModelledError("ns-2 has one preamble for all frames, and 1 Mb/s has no short one")
    arguments = (
        *(cell.stations, cell.ip_bytes, f"{cell.data_mbps:g}", f"{cell.control_mbps:g}"),
        *(cell.preamble, int(cell.rts), f"{cell.seconds:g}", f"{cell.warm_up_s:g}", cell.seed),
        *(int(attempts), "10" if cell.radius_m is None else f"{cell.radius_m:g}"),
    )
    command = [str(install("ns2")), str(HERE / "ns2" / "cell.tcl"), *map(str, arguments)]
    # The answer is one line, so standard output never fills its pipe while the trace is read.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        sent, failed, rest = count_attempts(process.stderr, cell)
        answer = process.stdout.read()
    line = json_line(answer, rest, process.returncode)
    if attempts:
        line |= {"attempts": sent, "failed_attempts": failed}
        line["failed_fraction"] = failed / sent if sent else 0.0
    return Result.from_json(line)


def count_attempts(trace: Iterable[str], cell: Cell) -> tuple[int, int, str]:
    """First frames of exchanges after the warm-up, those unanswered, and lines that are no trace.

    A line of the MAC's trace is "s 1.99 _7_ MAC --- 0 RTS 44 [...": event, time, node, layer,
    reason, packet number, type, size. An attempt counts once its outcome is known: its station has
    heard the answer, or tries again.
    """
    first, answer = ("RTS", "CTS") if cell.rts else ("udp", "ACK")
    sent = failed = 0
    pending: set[str] = set()
    rest: list[str] = []
    for line in trace:
        words = line.split(maxsplit=7)
        if len(words) < 8 or words[3] != "MAC":
            rest.append(line)
            continue
        event, time, station, kind = words[0], words[1], words[2], words[6]
        if event == "s" and kind == first and float(time) >= cell.warm_up_s:
            if station in pending:
                sent += 1
                failed += 1
            pending.add(station)
        elif event == "r" and kind == answer and station in pending:
            sent += 1
            pending.remove(station)
    return sent, failed, "".join(rest)


def run_ns3(peer: str, cell: Cell) -> Result:
    if cell.radius_m is not None:
        raise NotModelledError("ns-3 has its circle of 1 m only")
    if cell.preamble == "short" and cell.control_mbps <= 2:
        raise NotModelledError("ns-3 sends a short preamble at 5.5 and 11 Mb/s only")
    options = {
        "standard": cell.standard,
        "stations": cell.stations,
        "ip-bytes": cell.ip_bytes,
        "data-mbps": f"{cell.data_mbps:g}",
        "control-mbps": f"{cell.control_mbps:g}",
        "preamble": cell.preamble,
        "rts": int(cell.rts),
        "layout": cell.layout,
        "seconds": f"{cell.seconds:g}",
        "warm-up": f"{cell.warm_up_s:g}",
        "seed": cell.seed,
    }
    if cell.radio:
        options |= {
            "old-stations": cell.old_stations,
            "mcs": cell.radio.mcs,
            "width": cell.radio.width_mhz,
            "streams": cell.radio.streams,
            "guard-ns": round(1000 * cell.radio.guard_us),
            "ampdu-bytes": cell.radio.ampdu_bytes,
            "window": cell.radio.window,
            "explicit-bar": int(cell.radio.explicit_bar),
        }
    if cell.mpdu_loss:
        options["mpdu-loss"] = f"{cell.mpdu_loss:g}"
    if cell.edca:
        stations = (f"{e.aifsn}:{e.cw_min}:{e.cw_max}:{e.txop_us}" for e in cell.edca)
        options["edca"] = ",".join(stations)
    command = [str(install(peer)), *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Result.from_json(json_line(done.stdout, done.stderr, done.returncode))


def json_line(output: str, complaints: str, code: int) -> dict[str, object]:
    """What a program printed among a simulator's own remarks."""
    for line in output.splitlines():
        if line.startswith("{"):
            parsed: dict[str, object] = json.loads(line)
            return parsed
    raise RuntimeError(f"the simulator ended with code {code}: {complaints.strip()[-400:]}")
