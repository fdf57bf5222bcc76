"""A PID namespace for all that a command starts, so that nothing of it outlives the command.

Three processes: the one that was started stays outside and waits; the first process of the new
namespace only reaps and forwards; the worker goes on with the command. The kernel kills every
process of a PID namespace when its first process ends, and that one is killed when the process
outside ends, by whatever signal.
"""

from __future__ import annotations

import ctypes
import math
import os
import select
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from types import FrameType
from typing import Final, NoReturn

from airqueue.linux.errors import NamespaceError

CLONE_NEWPID: Final = 0x20000000
_PR_SET_PDEATHSIG: Final = 1
_SI_KERNEL: Final = 0x80
"""``si_code`` of a signal that the kernel sent, as for Ctrl-C: the whole foreground group got it."""
_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PASSED: Final = {signal.SIGRTMIN + place: number for place, number in enumerate(_FORWARDED)}
"""What the process outside sends inside for a signal that it got: never mistaken for the signal that
was sent to the whole group, and never merged with it, as pending ones of one number are."""
_WAITED_FOR: Final = {*_FORWARDED, *_PASSED, signal.SIGCHLD}
_TOGETHER_S: Final = 0.05
"""How far apart the processes of a group get one signal, at most; people do not notice it."""
_alone: Final = Counter[int]()
"""How often the worker was passed a signal, and nobody has asked yet."""
_libc = ctypes.CDLL(None, use_errno=True)


def enter() -> None:
    """Return in a new process, in a PID namespace of its own; the caller's process never returns.

    It waits for the new one and exits with its exit code, or with 128 and the number of the signal
    that ended it; signals that it gets by itself it passes on, those of its whole group it does not:
    the new process has these already. Must be called before any thread is started. Raises
    NamespaceError.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    if _libc.unshare(CLONE_NEWPID) != 0:
        reason = os.strerror(ctypes.get_errno())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise NamespaceError(
            f"cannot make a PID namespace ({reason}): run as root, "
            "or where unprivileged user namespaces are allowed"
        )
    alive, held = os.pipe()
    first = os.fork()
    if first:
        os.close(alive)
        _wait_outside(first)
    os.close(held)
    _die_with_parent(alive)
    worker = os.fork()
    if worker:
        _wait_inside(worker)
    os.close(alive)
    for passed in _PASSED:
        signal.signal(passed, _take)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_of_group(number: int) -> bool:
    """Whether a signal that this process, of `enter`, has got came to its whole process group.

    Programs in this group have got it, too. To be asked once for each signal.
    """
    if _alone[number]:
        _alone[number] -= 1
        return False
    return True


def _take(passed: int, frame: FrameType | None) -> None:
    """Have a signal that was passed on do what the signal itself does."""
    number = _PASSED[passed]
    _alone[number] += 1
    signal.raise_signal(number)


def _die_with_parent(alive: int) -> None:
    """Have the kernel kill this process when its parent ends, even if the parent has ended already.

    The parent is in another namespace, where ``getppid`` cannot tell one from another: that the
    parent holds the other end of the pipe says that it is there.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    poll = select.poll()
    poll.register(alive, select.POLLHUP)
    if poll.poll(0):
        os._exit(128 + signal.SIGKILL)


def _wait_outside(child: int) -> NoReturn:
    """Pass signals on until the child ends, then end as it did."""
    terminal = _own_terminal()
    while True:
        got = signal.sigwaitinfo(_WAITED_FOR)
        if got.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid == child:
                _take_back(terminal)
                os._exit(_exit_code(status))
        elif got.si_signo in _FORWARDED and got.si_code != _SI_KERNEL:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGRTMIN + _FORWARDED.index(got.si_signo))


def _wait_inside(worker: int) -> NoReturn:
    """Be the first process of the namespace: reap orphans, pass signals on, end with the worker.

    Whoever sends a signal here by its number sends it to the whole group, and so to the worker, too.
    """
    reached: dict[int, float] = {}
    while True:
        got = signal.sigwaitinfo(_WAITED_FOR)
        if got.si_signo in _PASSED:
            number = _PASSED[got.si_signo]
            recent = time.monotonic() - reached.get(number, -math.inf) < _TOGETHER_S
            if not recent and signal.sigtimedwait({number}, _TOGETHER_S) is None:
                os.kill(worker, got.si_signo)
            continue
        if got.si_signo != signal.SIGCHLD:
            reached[got.si_signo] = time.monotonic()
            continue
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == worker:
                    os._exit(_exit_code(status))


def shell_exit_code(returncode: int) -> int:
    """Return an exit code as a shell has it, from one that is negative for a signal, as Python's is.

    >>> shell_exit_code(7), shell_exit_code(-15)
    (7, 143)
    """
    return returncode if returncode >= 0 else 128 - returncode


def _exit_code(status: int) -> int:
    return shell_exit_code(os.waitstatus_to_exitcode(status))


def _own_terminal() -> int | None:
    """Return the descriptor of the terminal, if this process is in its foreground group."""
    for each in (0, 1, 2):
        with suppress(OSError):
            if os.tcgetpgrp(each) == os.getpgrp():
                return each
    return None


def _take_back(terminal: int | None) -> None:
    """Be in the foreground again, where an interactive shell made itself the foreground group.

    Such a shell cannot name groups of other PID namespaces, and so does not give the terminal back.
    """
    if terminal is None:
        return
    with suppress(OSError):
        if os.tcgetpgrp(terminal) != os.getpgrp():
            # The kernel would stop a background process that asks, unless it ignores the signal.
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(terminal, os.getpgrp())
