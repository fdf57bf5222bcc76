"""MGEN, the tool of the APQ paper, through the Host AP: our analysis of its logs finds the queue."""

from __future__ import annotations

import shutil
import threading
import time

import pytest

from airqueue.linux.config import HostApConfig, QueueSpec
from airqueue.linux.host_ap import HostAp
from airqueue.measure.api import analyze
from airqueue.measure.mgen import read_mgen
from bed_traffic import judged_when_punctual

pytestmark = [
    pytest.mark.bed,
    pytest.mark.skipif(shutil.which("mgen") is None, reason="mgen is missing: apt install mgen"),
]

# The paper's session, a tenth as long and with a denser baseline for its short quiet periods.
SCRIPT = """\
0.0 ON 1 UDP DST {to}/5001 PERIODIC [20 1472]
4.0 ON 2 UDP DST {to}/5002 PERIODIC [{rate} 1472]
10.0 OFF 2
14.0 OFF 1
"""


# The longer queue is the harder one: it fills for the better part of the load.
@pytest.mark.parametrize("capacity", [pytest.param(50, marks=pytest.mark.long), 250])
@judged_when_punctual
def test_mgen_log_of_a_session(tmp_path, capacity):
    log, sent = tmp_path / "receiver.drc", tmp_path / "sender.drc"
    with HostAp(HostApConfig(queue=QueueSpec("pfifo", capacity))) as bed:
        script = SCRIPT.format(to=bed.receiver_address, rate=750)
        (tmp_path / "send.mgn").write_text(script, "utf-8")
        listen = ["mgen", "event", "listen udp 5001-5002", "output", str(log)]
        receiver = threading.Thread(
            target=bed.namespace("receiver").run, args=(["timeout", "18", *listen],)
        )
        receiver.start()
        time.sleep(0.5)
        script_file = str(tmp_path / "send.mgn")
        send = ["mgen", "precise", "on", "txlog", "input", script_file, "output", str(sent)]
        bed.namespace("sender").run(["timeout", "16", *send])
        receiver.join()
    result = analyze([read_mgen(log, sent)], {"profile": "capture"})
    assert result.verdict == "fifo", result.evidence
    allowed = max(1, 0.01 * capacity)
    assert result.estimators["counting"].packets == pytest.approx(capacity, abs=allowed)
    assert result.capacity == pytest.approx(capacity, abs=allowed)
