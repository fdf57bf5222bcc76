"""`airqueue diagnose --switch` with real endpoints: a setting and a drift that are known.

The switch is a schedule: on the virtual clock the access point's queue changes at whole multiples of
`SLOT_S`, and each command waits for the next one. The radio becomes slower meanwhile.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from airqueue.diagnose.again import changes
from airqueue.diagnose.alternate import Alternated, from_json, order
from airqueue.diagnose.result import read_diagnosis
from airqueue.emulate import Order, Program, exact
from airqueue.emulate.guest import PROGRAMS_AT_S

pytestmark = [pytest.mark.usefixtures("user_mode_linux"), pytest.mark.long]

AIRQUEUE = (sys.executable, "-m", "airqueue")
SLOT_S = 60
PAIRS = 4
LONG, SHORT = 100, 50
"""Packets of the access point's queue."""
WAIT = f"sleep $(({SLOT_S} - $(date +%s) % {SLOT_S})); sleep 1"
"""The date of an exact emulation begins at a multiple of the slot. The change comes before the end
of the second sleep."""


def slot_s(number: int) -> float:
    """Return the network's time half a second into a slot of the date, which runs while booting."""
    return SLOT_S * number - PROGRAMS_AT_S + 0.5


def alternated(folder: Path, with_packets: int) -> Alternated:
    """Switch the access point's queue between `LONG` and ``with_packets`` packets; at the third slot
    the radio's rate falls from 24 to 12 Mb/s."""
    home = {
        "warm_up": "0 s",
        "duration": "900 s",
        "phy": {"standard": "802.11g", "rate": "24 Mb/s"},
        "stations": [
            {"name": "ap", "queue": f"pfifo:{LONG}"},
            {"name": "phone", "real": True, "queue": "fq_codel"},
        ],
        "hosts": [{"name": "server", "link": "ap", "delay": "5 ms", "real": True}],
        "flows": [{"name": "down", "source": "external", "from": "server", "to": "phone"}],
        "changes": [
            {
                "at": f"{slot_s(n)} s",
                "station": "ap",
                "queue": f"pfifo:{with_packets if n % 2 == 0 else LONG}",
            }
            for n in range(1, PAIRS + 2)
        ]
        + [{"at": f"{slot_s(3)} s", "station": "phone", "rate": "12 Mb/s"}],
    }
    kept = str(folder / "result.json")
    words = ("--direction", "down", "--load", "flood", "--hold", "2s", "--pairs", str(PAIRS))
    argv = (*AIRQUEUE, "diagnose", "server", "--no-progress", *words, "--switch", WAIT, WAIT)
    programs = Order(
        Program("phone", (*argv, "--json", kept)), (Program("server", (*AIRQUEUE, "server")),)
    )
    done = exact.run(home, programs, scratch=folder)
    assert done.exit_code == 0, done.stderr
    assert b"left in the state 'without', as you chose" in done.stderr
    document = read_diagnosis(kept)
    found = from_json(document)
    assert found is not None and len(found.halves) == 2 * PAIRS
    assert [half.state for half in found.halves] == order(PAIRS)
    return found


def packet_s(found: Alternated) -> list[float]:
    """Return how long a full packet of the flood took in each diagnosis, by the rate carried."""
    return [1500 * 8 / half.records.loads[0].carried_bps for half in found.halves]


def change(found: Alternated) -> dict[str, Any]:
    (only,) = json.loads(json.dumps(found.to_json()))["changes"]
    return only


def test_a_setting_without_effect_is_not_praised_for_a_slower_radio(tmp_path):
    found = alternated(tmp_path, LONG)
    taken = packet_s(found)
    assert max(taken) > 1.5 * min(taken), "the rate fell meanwhile"
    (deceived,) = changes(found.halves[0].records, found.halves[-1].records)
    assert deceived.word == "worse"
    only = change(found)
    assert only["word"] == "undecided"
    assert only["change_s"]["low"] < 0 < only["change_s"]["high"]


def test_an_effect_is_told_while_the_radio_becomes_slower(tmp_path):
    found = alternated(tmp_path, SHORT)
    taken = packet_s(found)
    assert max(taken) > 1.5 * min(taken), "the rate fell meanwhile"
    # A probe waits for all packets of the full queue: the setting takes the difference away.
    truth_s = -(LONG - SHORT) * sum(taken) / len(taken)
    last_with = [half.records for half in found.halves if half.state == "with"][-1]
    (deceived,) = changes(found.halves[0].records, last_with)
    assert not deceived.change.low <= truth_s <= deceived.change.high
    only = change(found)
    assert only["word"] == "better"
    assert only["change_s"]["low"] <= truth_s <= only["change_s"]["high"]
