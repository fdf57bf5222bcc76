"""Inside user-mode Linux, as its first process: a Host AP, and a function that is run in it.

`uml_bed` boots the machine and reads what this module writes.
"""

from __future__ import annotations

import importlib
import json
import os
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airqueue.linux import config as configs
from airqueue.linux.config import HostApConfig
from airqueue.linux.discipline import Discipline
from airqueue.linux.errors import HostApError, NamespaceError
from airqueue.linux.host_ap import HostAp
from airqueue.linux.virtual import first_process

TASK: Final = "task.json"
RESULT: Final = "result.json"
ERROR: Final = "error.json"
SAID: Final = "said"
FILES: Final = "files"
UNFORESEEN: Final = "unforeseen"

BEGINS_AT_S: Final = 10.0
"""Time of the machine at which the function begins, since a machine that has just been started is a
special case."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What a function finds inside: ``function(inside, arguments)``, its result is JSON.

    ``say`` passes a JSON value on to the host at once. What is written in ``files`` is kept.
    """

    bed: HostAp
    say: Callable[[Any], None]
    files: Path


Function = Callable[[Inside, Mapping[str, Any]], Any]


def modules(config: HostApConfig) -> tuple[str, ...]:
    """Return the kernel's modules that a bed needs."""
    found = ["drivers/net/veth"]
    if config.ipv6:
        found.append("net/ipv6/ipv6")
    schedulers: list[str] = []
    if config.shaper != "own":
        schedulers.append(config.shaper)
    if isinstance(config.queue, Discipline):
        schedulers.append(config.queue.kind)
    if config.delay_s or config.loss:
        found += ["drivers/net/ifb", "net/sched/act_mirred"]
        schedulers += ["netem", "ingress"]
    found += [f"net/sched/sch_{name}" for name in schedulers]
    if config.isolate or {"drr", "netem"} & {*schedulers}:
        found.append("net/sched/cls_u32")
    return tuple(found)


def main() -> None:
    """Do the task of the folder."""
    task = json.loads((Path(os.environ["AIRQUEUE_FOLDER"]) / TASK).read_text("utf-8"))
    config = configs.from_json(task["config"])
    first_process.first_process(modules(config), lambda: _run(config, task))


def _run(config: HostApConfig, task: Mapping[str, Any]) -> None:
    code = first_process.in_child(lambda: _work(config, task))
    if code != 0 and not (first_process.FOLDER / ERROR).exists():
        raise RuntimeError(f"the work ended with {code}: the memory may be too small")


def _work(config: HostApConfig, task: Mapping[str, Any]) -> int:
    try:
        # Nothing else can be written: temporary files are in memory.
        os.environ["TMPDIR"] = "/run"
        (first_process.FOLDER / FILES).mkdir()
        function = _function(task["function"])
        time.sleep(max(0.0, BEGINS_AT_S - time.monotonic()))
        with (
            (first_process.FOLDER / SAID).open("a", encoding="utf-8") as said,
            HostAp(config, advice="") as bed,
        ):

            def say(value: Any) -> None:
                said.write(json.dumps(value) + "\n")
                said.flush()

            truth = {**bed.truth(), "settings": bed.shown().get("options", {})}
            inside = Inside(bed, say, first_process.FOLDER / FILES)
            began = time.monotonic()
            result = function(inside, task["arguments"])
            virtual_s = time.monotonic() - began
        _write(RESULT, {"result": result, "truth": truth, "virtual_s": virtual_s})
    except Exception as error:  # the host raises it again
        _write(ERROR, _described(error))
        return 1
    return 0


def _function(name: str) -> Function:
    module, _, attribute = name.partition(":")
    try:
        function: Function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise HostApError(f"{name} cannot be loaded in user-mode Linux: {error}") from error
    return function


def _described(error: Exception) -> dict[str, str]:
    """Return an error of the project, a sentence, by its class; of others the traceback."""
    kind = type(error)
    if isinstance(error, NamespaceError) or kind.__module__.split(".")[0] == "airqueue":
        return {"kind": f"{kind.__module__}:{kind.__qualname__}", "says": str(error)}
    return {"kind": UNFORESEEN, "says": traceback.format_exc()}


def _write(name: str, value: Any) -> None:
    (first_process.FOLDER / name).write_text(json.dumps(value), encoding="utf-8")


if __name__ == "__main__":
    main()
