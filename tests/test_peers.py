"""The driver of the reference simulators: what it counts, estimates and writes."""

import csv
import math
import shutil
import statistics
from dataclasses import replace
from typing import Any

import pytest

from peers import (
    references,
    references_ampdu,
    references_mesh,
    references_sleep,
    references_tcp,
)
from peers.compare import Case, compare
from peers.ours import run_ours
from peers.references import FAILED, THROUGHPUT, Table, txop_us
from peers.references_ampdu import HE80, HT20
from peers.run import count_attempts, run
from peers.scenario import Cell, Edca, NotModelledError, Radio, Result

RESULT = Result(
    simulator="fake",
    ip_throughput_bps=6e6,
    udp_payload_bps=5.9e6,
    station_ip_bps=(6e6,),
    attempts=1000,
    failed_attempts=100,
    failed_fraction=0.1,
    cpu_s=0.5,
    simulated_s=10.0,
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"standard": "n"},
        {"stations": 0},
        {"ip_bytes": 28},
        {"data_mbps": 54.0},
        {"data_mbps": 1.0, "control_mbps": 2.0},
        {"preamble": "none"},
        {"standard": "a", "data_mbps": 54.0, "control_mbps": 24.0, "preamble": "short"},
        {"edca": (Edca(),), "stations": 2},
        {"layout": "grid"},
        {"seconds": 0.0},
    ],
)
def test_a_cell_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Cell(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("standard", "radio", "wrong"),
    [
        ("b", Radio(), {}),
        ("n", Radio(width_mhz=80), {}),
        ("n", Radio(mcs=15, streams=1), {}),
        ("n", Radio(window=256), {}),
        ("n", Radio(), {"control_mbps": 12.0}),
        ("n", Radio(), {"old_stations": 1}),
        ("n", Radio(width_mhz=40), {"stations": 2, "old_stations": 1}),
        ("n", Radio(), {"stations": 2, "old_stations": 1, "data_mbps": 12.0}),
        ("n", Radio(), {"mpdu_loss": 1.0}),
        ("ac", Radio(mcs=10), {}),
        ("ax", Radio(mcs=2), {}),
        ("ax", Radio(guard_us=0.4), {}),
    ],
)
def test_a_cell_of_newer_stations_that_cannot_be_is_refused(
    standard: str, radio: Radio, wrong: dict[str, object]
) -> None:
    with pytest.raises(ValueError):
        Cell(standard, radio=radio, **{"control_mbps": 24.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"aifsn": 1}, {"cw_min": 0}, {"cw_max": 30}, {"txop_us": 33}])
def test_edca_settings_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Edca(**wrong)


def test_ns2_says_what_it_does_not_model() -> None:
    for cell in (
        Cell("a", data_mbps=54.0, control_mbps=24.0),
        Cell(stations=1, edca=(Edca(),)),
        Cell(preamble="short"),
        Cell(layout="point"),
        Cell(mpdu_loss=0.1),
        HT20,
    ):
        with pytest.raises(NotModelledError):
            run("ns2", cell)


def frame(event: str, time: float, station: int, kind: str) -> str:
    return f"{event} {time:.9f} _{station}_ MAC  --- 7 {kind} 1558 [102 0 1 800] -------\n"


def test_an_attempt_counts_once_its_outcome_is_known() -> None:
    trace = [
        "num_nodes is set 3\n",
        frame("s", 1.0, 1, "udp"),  # before the warm-up ends
        frame("s", 2.0, 1, "udp"),  # collides
        frame("s", 2.0, 2, "udp"),  # collides
        frame("s", 2.1, 2, "udp"),
        frame("s", 2.101, 0, "ACK"),
        frame("r", 2.102, 2, "ACK"),
        frame("s", 2.2, 1, "udp"),  # the end of the run comes before the answer
    ]
    assert count_attempts(trace, Cell(stations=2)) == (3, 2, "num_nodes is set 3\n")


def test_with_rts_it_is_rts_frames_that_are_attempts() -> None:
    kinds = ("RTS", "CTS", "udp", "ACK")
    trace = [frame("s" if k in ("RTS", "udp") else "r", 3.0, 1, k) for k in kinds]
    assert count_attempts(trace, Cell(rts=True)) == (1, 0, "")


def test_the_mean_of_runs_has_the_error_of_a_mean() -> None:
    rates = [6.0e6, 6.1e6, 6.3e6, 5.9e6]
    value, error = THROUGHPUT.estimate([replace(RESULT, ip_throughput_bps=r) for r in rates])
    assert value == pytest.approx(statistics.mean(rates))
    assert error == pytest.approx(statistics.stdev(rates) / math.sqrt(len(rates)))


def test_a_fraction_is_that_of_all_attempts() -> None:
    runs = [replace(RESULT, attempts=a, failed_attempts=f) for a, f in ((10, 5), (990, 0))]
    assert FAILED.estimate(runs)[0] == 5 / 1000


def test_a_fraction_that_is_the_same_in_every_run_has_no_error() -> None:
    runs = [replace(RESULT, attempts=a, failed_attempts=a // 4) for a in (400, 800, 1200)]
    assert FAILED.estimate(runs) == (0.25, 0.0)


@pytest.mark.parametrize("packets", range(1, 11))
def test_a_txop_holds_its_packets_and_no_more(packets: int) -> None:
    """Data of 1259 us (192 + 8 * 1466 / 11, rounded up), ACK of 304, SIFS of 10 between any two."""

    def needed(count: int) -> int:
        return count * (1259 + 10 + 304 + 10) - 10

    assert needed(packets) <= txop_us(packets) < needed(packets + 1)
    assert txop_us(packets) % 32 == 0


@pytest.mark.parametrize(
    "table",
    [
        *(references.TABLE, references_ampdu.TABLE, references_tcp.TABLE, references_mesh.TABLE),
        references_sleep.TABLE,
    ],
)
def test_every_reference_can_be_made_again(table: Table[Any, Any]) -> None:
    keys = [table.key(point) for point in table.points()]
    assert len(set(keys)) == len(keys)
    with table.file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows
    assert tuple(rows[0]) == table.columns
    assert {tuple(row[c] for c in table.scenario_columns) for row in rows} <= set(keys)


def test_the_ratio_is_cpu_of_the_peer_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def peer(name: str, cell: Cell, *, attempts: bool = False) -> Result:
        if name == "ns2" and cell.standard != "b":
            raise NotModelledError("802.11b only")
        if name == "ns2" and not attempts:
            return replace(RESULT, simulator=name, attempts=None, failed_fraction=None)
        # Counting costs time, which is not to be in the ratio.
        return replace(RESULT, simulator=name, cpu_s=RESULT.cpu_s * (2 if attempts else 1))

    def engine(cell: Case, behaviour: str) -> Result:
        return replace(RESULT, simulator=behaviour, cpu_s=RESULT.cpu_s / 50)

    monkeypatch.setattr("peers.compare.run", peer)
    cells = (Cell(), Cell("a", data_mbps=54.0, control_mbps=24.0))
    entries = compare(cells, ["ns2", "ns3-wheel", "ns3-debian"], engine, runs=3)
    ns3 = [("ns3", 1.0), ("ns3-wheel", 50.0), ("ns3-debian", 50.0)]
    assert [(e.simulator, round(e.ratio, 6)) for e in entries] == [
        ("ns2", 1.0),
        ("ns2", 50.0),
        *ns3,
        *ns3,
    ]


@pytest.mark.parametrize(
    ("behaviour", "cell"),
    [
        ("ns2", Cell(stations=3, control_mbps=2.0, rts=True, seconds=1.0)),
        ("ns3", Cell(stations=3, control_mbps=2.0, rts=True, seconds=1.0)),
        ("ns3", Cell("a", 2, 1000, 54.0, 24.0, seconds=1.0)),
        ("ns3", Cell("g", 2, 1000, 54.0, 24.0, layout="point", seconds=1.0)),
        (
            "ns3",
            Cell(stations=2, edca=(Edca(), Edca(aifsn=22, cw_min=1023, txop_us=3168)), seconds=1.0),
        ),
    ],
)
def test_our_engine_runs_what_the_peers_run(behaviour: str, cell: Cell) -> None:
    result = run_ours(cell, behaviour)
    assert len(result.station_ip_bps) == cell.stations
    assert result.ip_throughput_bps == pytest.approx(sum(result.station_ip_bps))
    assert result.simulated_s == cell.seconds + cell.warm_up_s
    # What is acknowledged is delivered, but for one packet a station at either end of the time.
    acknowledged = result.attempts - result.failed_attempts
    delivered = result.ip_throughput_bps * cell.seconds / (8 * cell.ip_bytes)
    assert acknowledged == pytest.approx(delivered, abs=2 * cell.stations)


@pytest.mark.parametrize(
    "cell",
    [
        replace(HT20, stations=4, old_stations=2, rts=True),
        replace(HE80, stations=2, mpdu_loss=0.1, layout="point"),
    ],
)
def test_our_engine_runs_the_newer_cells_too(cell: Cell) -> None:
    result = run_ours(replace(cell, seconds=1.0), "ns3")
    assert len(result.station_ip_bps) == cell.stations
    assert min(result.station_ip_bps) > 0


@pytest.mark.skipif(shutil.which("ns") is None, reason="there is no ns-2 here")
def test_ns2_gives_a_lone_station_what_its_timing_says() -> None:
    """DIFS, 15 slots on average (uniform 0..30), data with 34 bytes of header and FCS, SIFS, ACK."""
    cell = Cell(control_mbps=2.0, seconds=60.0)
    result = run("ns2", cell, attempts=True)
    cycle_us = 50 + 15 * 20 + 192 + 8 * 1534 / 11 + 10 + 192 + 8 * 14 / 2
    # The backoff's standard deviation is 179 us, so that of the mean of these exchanges 0.06 %.
    assert result.ip_throughput_bps == pytest.approx(8e6 * 1500 / cycle_us, rel=0.003)
    assert result.failed_attempts == 0
