"""Inside user-mode Linux, as its first process: an emulation on the virtual clock.

`exact` boots the machine and reads what this module writes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from airqueue.emulate.errors import EmulationError
from airqueue.emulate.live import Live
from airqueue.emulate.network import EmulatedNetwork
from airqueue.emulate.session import Order, Session
from airqueue.linux.errors import NamespaceError
from airqueue.linux.virtual import first_process
from airqueue.simulate import ScenarioError

TASK: Final = "task.json"
RESULT: Final = "result.json"
ERROR: Final = "error"
OPPORTUNITIES: Final = "opportunities.json"
STDIN: Final = "stdin"
STDOUT: Final = "stdout"
STDERR: Final = "stderr"
SCRATCH: Final = "scratch"

PROGRAMS_AT_S: Final = 10.0
"""Time of the machine at which programs begin. A machine that has just been started is a special case
that programs do not expect: in its first second ping does not wait between packets."""

# The network devices, what keeps packets of stations, and what programs may want: disciplines of
# queues, and congestion control.
_MODULES: Final = (
    "drivers/net/tun",
    "drivers/net/veth",
    "drivers/net/ifb",
    "net/sched/cls_u32",
    "net/ipv6/ipv6",
    "net/ipv4/netfilter/iptable_mangle",
    "net/ipv6/netfilter/ip6table_mangle",
    "net/netfilter/nfnetlink_queue",
    "net/netfilter/xt_NFQUEUE",
    *(
        f"net/sched/sch_{name}"
        for name in ("cake", "fq", "fq_codel", "htb", "netem", "prio", "tbf")
    ),
    *(f"net/ipv4/tcp_{name}" for name in ("bbr", "dctcp")),
)


def capture(number: int) -> str:
    """Return the name of the file for a capture."""
    return f"capture-{number}"


def main() -> None:
    """Do the task of the folder."""
    first_process.first_process(_MODULES, _run)


def _run() -> None:
    written = first_process.make_writable()
    task = json.loads((first_process.FOLDER / TASK).read_text("utf-8"))
    code = first_process.in_child(lambda: _work(task, written))
    if code != 0 and not (first_process.FOLDER / ERROR).exists():
        raise RuntimeError(f"the emulation ended with {code}: the memory may be too small")


def _work(task: Mapping[str, Any], written: int) -> int:
    _redirect()
    try:
        _write(RESULT, _emulate(task))
        if task["scratch"] is not None:
            _keep(written, Path(task["scratch"]))
    except (EmulationError, NamespaceError, OSError) as error:
        _write(ERROR, str(error))
        return 1
    except Exception:  # the host shows the text
        _write(ERROR, f"the emulation failed inside the machine: {traceback.format_exc()}")
        return 1
    return 0


def _redirect() -> None:
    """Give programs files of the host: stdin, which is whole, stdout and stderr, written at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    given = os.open(first_process.FOLDER / STDIN, os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    for number, name in ((1, STDOUT), (2, STDERR)):
        path = first_process.FOLDER / name
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_SYNC)
        os.dup2(file, number)
        os.close(file)


def _emulate(task: Mapping[str, Any]) -> str:
    # What Python itself needed has been read from the first process's environment.
    os.environ.clear()
    os.environ.update(task["environment"])
    os.chdir(task["directory"])
    for name, value in task["tcp"].items():
        _set_tcp(name, value)
    time.sleep(max(0.0, PROGRAMS_AT_S - time.monotonic()))
    try:
        network = EmulatedNetwork(
            task["scenario"],
            real=task["real"],
            seed=task["seed"],
            changes=task["changes"],
            back_pressure=task["back_pressure"],
            # One packet in one write: the kernel acknowledges as in the comparisons with simulations.
            offload=False,
            pcap={
                node: first_process.FOLDER / capture(number)
                for number, node in enumerate(task["pcap"])
            },
            trace=task["trace"],
        )
    except ScenarioError as error:
        raise EmulationError(str(error)) from error
    order = Order.from_json(task["order"])

    def say(sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    try:
        network.keep_series()
        code = Session(network, order, say).run(Live(network, network.series, shown=False))
    finally:
        network.close()
    if network.opportunities is not None:
        _write(OPPORTUNITIES, network.opportunities.to_json())
    return replace(network.report(), exact=True).to_text(exit_code=code)


def _set_tcp(name: str, value: str) -> None:
    folder = Path("/proc/sys/net/ipv4")
    try:
        (folder / name).write_text(value, encoding="ascii")
    except OSError as error:
        known = (folder / "tcp_available_congestion_control").read_text("ascii").split()
        raise EmulationError(
            f"the kernel of exact runs does not take net.ipv4.{name} = {value} "
            f"({error.strerror}); it has the congestion controls {', '.join(known)}"
        ) from error


def _keep(written: int, scratch: Path) -> None:
    """Copy what has been written below the scratch folder to the host."""
    source = Path(f"/proc/self/fd/{written}", scratch.relative_to("/"))
    if source.is_dir():
        with suppress(shutil.Error):  # sockets and devices cannot be copied
            shutil.copytree(source, first_process.FOLDER / SCRATCH, symlinks=True)


def _write(name: str, text: str) -> None:
    (first_process.FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
