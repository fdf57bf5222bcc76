"""The `airqueue` command. Exit codes: 0 for a result ("undecided" is a result), 1 for a failure,
2 for wrong usage, 130 for an interrupt. `airqueue emulate` has those of the program that it runs.
"""

from __future__ import annotations

import importlib
from typing import Any

import click

import airqueue
from airqueue import starting
from airqueue.cli import daemon, elsewhere, talk, terminal
from airqueue.cli.errors import one_sentence, warnings_as_sentences

# Commands load when used: some load libraries that take long. Name -> (module, attribute, line in
# the list of commands).
_COMMANDS = {
    "measure": ("airqueue.cli.measure", "measure", "Measure the queue between here and a server."),
    "diagnose": (
        "airqueue.cli.diagnose",
        "diagnose",
        "Say why it lags, where, and what to set.",
    ),
    "server": ("airqueue.cli.server", "server", "Be the other end of measurements."),
    "analyze": ("airqueue.cli.analyze", "analyze", "Evaluate a stored capture again."),
    "compare": ("airqueue.cli.compare", "compare", "Say whether two measurements really differ."),
    "testbed": ("airqueue.cli.testbed", "testbed", "Measure kernel queues of known capacity."),
    "model": ("airqueue.cli.model", "model", "Evaluate models of 802.11, TCP and queues."),
    "simulate": (
        "airqueue.cli.simulate",
        "simulate",
        "Simulate a network of 802.11 stations.",
    ),
    "emulate": (
        "airqueue.cli.emulate",
        "emulate",
        "Run real programs inside a simulated network.",
    ),
    "ctl": ("airqueue.cli.ctl", "ctl", "Show and change a running emulation."),
    "sweep": (
        "airqueue.cli.sweep",
        "sweep",
        "Simulate a scenario at many points of its parameters.",
    ),
    "size": ("airqueue.cli.size", "size", "Say what to configure, and what to expect of it."),
    "examples": ("airqueue.cli.examples", "examples", "List or print the examples."),
    "schema": ("airqueue.cli.schema", "schema", "Print the JSON Schema of a result or a file."),
    "completion": (
        "airqueue.cli.completion",
        "completion",
        "Print what lets a shell complete commands.",
    ),
    **{name: ("airqueue.cli.daemon", name, line) for name, line in daemon.COMMANDS.items()},
}


class LazyGroup(click.Group):
    """A group that imports its commands when they are called, and reports errors as sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return our commands in the order in which a user needs them, then others after them."""
        return [*_COMMANDS, *(name for name in elsewhere.names() if name not in _COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in _COMMANDS:
            found = elsewhere.command(cmd_name)
            return None if found is None else talk.talks(found)
        module, attribute, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        # What another program does with its arguments it says itself.
        return command if cmd_name in daemon.COMMANDS else talk.talks(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing ours."""
        lines = {name: line for name, (_, _, line) in _COMMANDS.items()}
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, lines.get(name) or elsewhere.line(name))
                    for name in self.list_commands(ctx)
                ]
            )

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command line and run a command, as click does."""
        terminal.open_closed()
        terminal.write_anywhere()
        talk.begin()
        return super().main(*args, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read options; some print something already, as --help does, which may fail."""
        with one_sentence(), starting.Interruptible():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error that the user can mend becomes one sentence and exit code 1."""
        with warnings_as_sentences(), one_sentence(), starting.Interruptible():
            return super().invoke(ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(airqueue.__version__, prog_name="airqueue")
def main() -> None:
    """Measure the queue of an access point, or of any bottleneck, from outside; predict what it does.

    \b
    On a wired machine:       airqueue server
    On the wireless machine:  airqueue measure HOST
    Without any network:      airqueue model, airqueue simulate, airqueue sweep, airqueue size
    Programs on such a Wi-Fi: airqueue emulate home-evening -- COMMAND
    What is to be set:        airqueue apply PLAN --confirm 90s
    """


talk.talks(main)
