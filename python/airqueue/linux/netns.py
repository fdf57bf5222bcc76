"""Network namespaces held by file descriptors alone, and work done inside them.

Nothing is named in the file system and no helper process keeps a namespace alive: when the process
that holds the descriptors ends, even by SIGKILL, the kernel takes the namespaces down together
with every device, queue and filter in them.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from airqueue.linux.errors import NamespaceError
from airqueue.linux.privileges import missing_tools

CLONE_NEWNET = 0x40000000
_OWN_NETWORK = "/proc/thread-self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)

T = TypeVar("T")


class Namespace:
    """A network namespace that lives as long as this object (or a socket inside it) does."""

    def __init__(self, name: str) -> None:
        """Make a new namespace. ``name`` appears in messages and recorded commands only."""
        self.name = name
        self._fd = _in_scratch_thread(_unshare_network)

    @property
    def fd(self) -> int:
        """Descriptor of the namespace."""
        if self._fd < 0:
            raise NamespaceError(f"the namespace {self.name!r} is closed")
        return self._fd

    @property
    def path(self) -> str:
        """Path that ``setns`` can use, in this process only (the descriptor is its own)."""
        return f"/proc/self/fd/{self.fd}"

    def call(self, function: Callable[[], T]) -> T:
        """Run ``function`` on a thread of its own inside the namespace and return its result.

        A namespace belongs to a thread, so the caller stays where it is. What the function opens
        (sockets above all) stays in the namespace.
        """
        fd = self.fd

        def enter_and_call() -> T:
            _set_network(fd)
            return function()

        return _in_scratch_thread(enter_and_call)

    def run(
        self, argv: Sequence[str], *, pass_fds: Sequence[int] = (), stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program inside the namespace and return its outcome, whatever it is.

        A child starts in the namespace of the thread that forks it, so no nsenter is needed.
        """

        def start() -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                argv,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
                pass_fds=pass_fds,
                # A Ctrl-C at the terminal ends the measurement, but must not interrupt a tc halfway.
                start_new_session=True,
            )

        try:
            return self.call(start)
        except FileNotFoundError as error:
            absent = missing_tools(argv[:1])
            raise NamespaceError(absent or f"{argv[0]} is not on the PATH") from error
        except subprocess.TimeoutExpired as error:
            raise NamespaceError(f"'{' '.join(argv)}' did not finish within 30 s") from error

    def set_sysctl(self, key: str, value: str) -> None:
        """Write a ``net.`` setting of the namespace, named as sysctl(8) names it."""
        path = Path("/proc/sys") / key.replace(".", "/")

        def write() -> None:
            path.write_text(value, encoding="ascii")

        try:
            self.call(write)
        except FileNotFoundError as error:
            if key.endswith(".disable_ipv6"):
                return  # A kernel without IPv6 has nothing to disable.
            raise NamespaceError(f"this kernel has no setting {key}") from error
        except OSError as error:
            raise NamespaceError(
                f"cannot set {key}={value} in a network namespace ({error.strerror}): "
                "/proc/sys must be writable, which some containers forbid"
            ) from error

    def close(self) -> None:
        """Give the namespace up; the kernel removes it once no socket is left inside."""
        # Taken out first: whatever interrupts this, no descriptor is closed twice.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> Namespace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


def _unshare_network() -> int:
    """Move the calling thread into a new network namespace and return a descriptor of it."""
    if _libc.unshare(CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise NamespaceError(
            f"cannot make a network namespace ({reason}): run as root, "
            "or where unprivileged user namespaces are allowed"
        )
    return os.open(_OWN_NETWORK, os.O_RDONLY | os.O_CLOEXEC)


def _set_network(fd: int) -> None:
    """Move the calling thread into the network namespace behind ``fd``."""
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise NamespaceError(f"cannot enter a network namespace ({reason})")


def _in_scratch_thread(function: Callable[[], T]) -> T:
    """Run ``function`` on a thread that ends with it; whatever it raises is raised here."""
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body, name="airqueue-netns", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
