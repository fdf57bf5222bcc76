"""Programs of one `airqueue emulate`: started, watched, and ended together."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from airqueue import text
from airqueue.emulate.network import EmulatedNetwork
from airqueue.emulate.nodes import Host, program_words
from airqueue.linux import pid_namespace
from airqueue.linux.noted import NotedSignals
from airqueue.linux.pid_namespace import shell_exit_code

_READY_S: Final = 3.0
"""How long the main program waits for sockets of the programs before it."""
_PATIENCE_S: Final = 3.0
"""How long a program has to end after SIGTERM."""
_LOOK_S: Final = 0.02
_SHOWN: Final = 60
"""Characters of a command that a sentence shows."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and where it runs."""

    node: str
    argv: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raise EmulationError for ``argv`` that is no list of words."""
        object.__setattr__(self, "argv", program_words(self.argv))


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run."""

    main: Program | None
    """Its end is the end of all."""
    others: tuple[Program, ...] = ()
    """Started before the main program, in order."""
    duration_s: float | None = None
    """Real time after which everything ends."""
    keep_stdout: bool = False
    """Whether stdout is kept free of what the main program prints there; stderr gets it then."""
    interactive: bool = False
    """Whether the main program is a shell at a terminal, which handles Ctrl-C by itself."""

    def to_json(self) -> dict[str, Any]:
        """Return the order as JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Order:
        """Return the order that `to_json` has made."""

        def program(of: Mapping[str, Any]) -> Program:
            return Program(of["node"], tuple(of["argv"]))

        main = None if value["main"] is None else program(value["main"])
        return cls(**{**value, "main": main, "others": tuple(map(program, value["others"]))})


class Session:
    """Carries out an order in a network, which it starts; `say` prints a sentence for the user."""

    def __init__(
        self,
        network: EmulatedNetwork,
        order: Order,
        say: Callable[[str], None],
        *,
        streams: tuple[int, int] = (1, 2),
        environment: Mapping[str, str] | None = None,
        noted: NotedSignals | None = None,
    ) -> None:
        """Programs write to the descriptors ``streams``, and have ``environment`` in addition.

        ``noted``: who notes signals, and goes on doing so after `run`; by default they are noted
        while `run` lasts.
        """
        self._network = network
        self._streams = streams
        self._environment = environment or {}
        self._order = order
        self._say = say
        self._main: subprocess.Popen[Any] | None = None
        self._ran: list[tuple[Program, subprocess.Popen[Any]]] = []
        self._others: dict[subprocess.Popen[Any], Program] = {}
        self._watched: dict[int, subprocess.Popen[Any]] = {}
        """Programs whose end has not been seen, by descriptors that become readable then."""
        self._noted = NotedSignals() if noted is None else noted
        self._noting = self._noted if noted is None else nullcontext()
        self._signals = self._noted.numbers

    def run(self, alongside: AbstractContextManager[object] | None = None) -> int:
        """Run everything and return the exit code: the main program's, 128 and its signal if one
        ended it. Without a main program: the first other than 0 of those that ended by themselves.

        ``alongside`` is entered before the network starts, and left, however this ends, when the
        programs have ended.
        """
        order, network = self._order, self._network
        network.on_end = self._noted.notify
        with self._noting, alongside or nullcontext():
            network.start(order.duration_s, lambda: bool(self._signals))
            try:
                if not self._signals:
                    self._start_others()
                if order.main is not None and not self._signals:
                    self._await_sockets()
                    self._main = self._start_main(order.main)
                    self._watched[os.pidfd_open(self._main.pid)] = self._main
                return self._watch()
            finally:
                self._end()
                network.programs = tuple(map(_document, self._ran))
                network.stop()
                network.on_end = lambda: None
                for fd in self._watched:
                    os.close(fd)

    def _start_others(self) -> None:
        for program in self._order.others:
            host = self._network.host(program.node)
            # A session of their own: Ctrl-C is for the main program, whose end is theirs.
            stderr = self._streams[1]
            process = host.popen(
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                env={**os.environ, **self._environment},
                start_new_session=True,
            )
            self._ran.append((program, process))
            self._others[process] = program
            self._watched[os.pidfd_open(process.pid)] = process

    def _await_sockets(self) -> None:
        """Give servers the time that they need to begin."""
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline and not self._signals and not all(self._ready()):
            time.sleep(_LOOK_S)

    def _ready(self) -> Iterator[bool]:
        """Yield for each node whether as many sockets listen there as programs run."""
        for name in {program.node for program in self._order.others}:
            running = [
                process
                for process, program in self._others.items()
                if program.node == name and process.poll() is None
            ]
            yield self._network.host(name).listening() >= len(running)

    def _start_main(self, program: Program) -> subprocess.Popen[Any]:
        host = self._network.host(program.node)
        stdout, stderr = self._streams
        if self._order.keep_stdout:
            stdout = stderr
        env = {**os.environ, **self._environment}
        if self._order.interactive:
            env |= _prompt(host)
        process = host.popen(program.argv, stdout=stdout, stderr=stderr, env=env)
        self._ran.append((program, process))
        return process

    def _watch(self) -> int:
        """Wait until the main program, or without one all others, or the time has ended."""
        code = 0
        while True:
            for process in self._until_news():
                process.wait()
                if process is self._main:
                    return shell_exit_code(process.returncode)
                code = code or shell_exit_code(process.returncode)
                self._tell(process)
            stopped = self._on_signals()
            if stopped is not None:
                return stopped
            if self._network.ended:
                return code if self._main is None else self._end_at_time()
            if self._others and not self._watched:
                return code

    def _until_news(self) -> list[subprocess.Popen[Any]]:
        """Wait for a signal, the end of the engine, or of programs, which are returned."""
        poll = select.poll()
        wake = self._noted.wake
        for fd in (*self._watched, wake):
            poll.register(fd, select.POLLIN)
        ready = [fd for fd, _ in poll.poll()]
        if wake in ready:
            os.read(wake, 4096)
            ready.remove(wake)
        for fd in ready:
            os.close(fd)
        return [self._watched.pop(fd) for fd in ready]

    def _on_signals(self) -> int | None:
        """Return the exit code if a signal ends the session."""
        while self._signals:
            number = self._signals.pop(0)
            if self._main is None:
                return 128 + number
            if number != signal.SIGINT:
                return self._end_main(number)
            # The program, of this process group, decides what an interrupt means.
            if not pid_namespace.is_of_group(number):
                self._main.send_signal(number)
        return None

    def _end_at_time(self) -> int:
        assert self._order.main is not None
        code = self._end_main(signal.SIGTERM)
        if self._order.duration_s is not None:
            command = shlex.join(self._order.main.argv)
            shown = command if len(command) <= _SHOWN else f"{command[:_SHOWN]}…"
            after = text.seconds(self._order.duration_s)
            self._say(f"The run was over after {after}, and ended {shown} (exit code {code}).")
        return code

    def _end_main(self, number: int) -> int:
        assert self._main is not None
        _end(self._main, number)
        return shell_exit_code(self._main.returncode)

    def _end(self) -> None:
        """End the other programs and all that they have started."""
        for process in self._others:
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_S
        for process in self._others:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            _signal_group(process, signal.SIGKILL)
            process.wait()
        if self._main is not None and self._main.poll() is None:
            _end(self._main, signal.SIGTERM)

    def _tell(self, process: subprocess.Popen[Any]) -> None:
        program = self._others[process]
        command = program.argv[-1]
        code = shell_exit_code(process.returncode)
        self._say(f"What runs at {program.node} ({command}) has ended with exit code {code}.")


def _document(ran: tuple[Program, subprocess.Popen[Any]]) -> dict[str, Any]:
    program, process = ran
    return {
        "node": program.node,
        "command": list(program.argv),
        "exit_code": shell_exit_code(process.returncode),
    }


def _end(process: subprocess.Popen[Any], number: int) -> None:
    process.send_signal(number)
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _signal_group(process: subprocess.Popen[Any], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _prompt(host: Host) -> dict[str, str]:
    """Return what makes the name of the node a part of the prompt, whatever the shell's own is.

    A shell of POSIX takes PS1 from the environment; bash sets its own, and runs PROMPT_COMMAND.
    """
    mark = f"({host.name}) "
    command = f'case $PS1 in "{mark}"*) ;; *) PS1="{mark}$PS1" ;; esac'
    return {"PS1": f"{mark}$ ", "PROMPT_COMMAND": command}
