"""`airqueue apply`, `confirm`, `restore`, `watch` and others: the commands of `airqueued`.

They pass their arguments on and become that program: help, exit codes and output are those of
`airqueued`, which needs no Python: on a router the program is there alone.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

import click

PROGRAM: Final = "airqueued"
COMMANDS: Final = {
    "apply": "Change settings as a plan says, until it is confirmed.",
    "confirm": "Keep the plan that was applied.",
    "restore": "Put settings back as they were before any plan.",
    "status": "Say what plans have set, and what waits to be confirmed.",
    "places": "Say where the queue of each interface is, and what it cannot hold.",
    "watch": "Show every station's queues live, and which do not drain.",
    "flows": "Show the flows through an interface live, with their round trips.",
}


class _Passing(click.Command):
    """A command of the program."""

    def __init__(self, name: str) -> None:
        given = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
        super().__init__(name, context_settings=given, short_help=COMMANDS[name])

    def invoke(self, ctx: click.Context) -> None:
        """Become the program. Raises ClickException without one."""
        path = program()
        if path is None:
            raise click.ClickException(
                f"`airqueue {self.name}` is a command of {PROGRAM}, which is neither beside "
                "airqueue nor on the PATH: in a checkout `make setup` builds it."
            )
        sys.stdout.flush()
        os.execv(path, [PROGRAM, str(self.name), *ctx.args])


def program() -> str | None:
    """Return the path of the program: beside this interpreter, or on the PATH."""
    beside = Path(sys.executable).parent
    return shutil.which(PROGRAM, path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))


apply, confirm, restore, status, places, watch, flows = (_Passing(name) for name in COMMANDS)
