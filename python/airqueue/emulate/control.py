"""Control of a running emulation through a Unix-domain socket: one JSON object a line, both ways.

docs/emulate.md describes the protocol.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from airqueue.emulate.errors import EmulationError
from airqueue.emulate.live import Live
from airqueue.emulate.network import EmulatedNetwork
from airqueue.emulate.serving import Server
from airqueue.simulate import ScenarioError

VERSION: Final = 1
"""Version of the protocol."""
MOST_BYTES: Final = 65_536
"""Length of the longest request, with its line break."""
VARIABLE: Final = "AIRQUEUE_CONTROL"
"""Environment variable with the path of the socket, for programs inside and for `airqueue ctl`."""
_PATIENCE_S: Final = 60.0
_MOST_ANSWER_BYTES: Final = 1 << 26
_MOST_PATH_BYTES: Final = 107
"""Longest path of a socket (unix(7)), without the zero at its end."""


class _RequestError(Exception):
    """A request that is wrong; the message is for the client."""


class Control:
    """Answers requests for a network. `airqueue.emulate.serving.Server` calls the methods."""

    most_bytes = MOST_BYTES
    patience_s = _PATIENCE_S

    def __init__(self, network: EmulatedNetwork, live: Live) -> None:
        self._network = network
        self._live = live
        self._does: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
            "show": self._show,
            "change": self._change,
            "report": self._report,
        }

    def answer(self, buffer: bytearray) -> tuple[bytes, bool] | None:
        """Take a line out of the buffer, and answer."""
        end = buffer.find(b"\n", 0, MOST_BYTES)
        if end < 0:
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        try:
            return _line(ok=True, result=self._result(line)), True
        except (_RequestError, EmulationError, ScenarioError) as error:
            return _line(ok=False, error=str(error)), True
        except Exception as error:  # the client shows the text; the emulation goes on
            return _line(ok=False, error=f"the request failed ({error!r})"), True

    def too_long(self) -> bytes:
        """Return the answer to a line that does not end."""
        return _line(ok=False, error=f"a request has at most {MOST_BYTES} bytes")

    def too_many(self) -> bytes:
        """Return what a client gets for whom there is no room."""
        return _line(ok=False, error="too many clients are connected: close one of them")

    def _result(self, line: bytes) -> object:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _RequestError(f"a request is a line with a JSON object ({error})") from error
        if not isinstance(request, dict):
            raise _RequestError("a request is a line with a JSON object")
        if request.get("version") != VERSION:
            raise _RequestError(
                f'this is version {VERSION} of the protocol: give "version": {VERSION}'
            )
        what = request.get("do")
        do = self._does.get(what) if isinstance(what, str) else None
        if do is None:
            raise _RequestError(f'"do" is one of {", ".join(self._does)}')
        return do(request)

    def _show(self, request: Mapping[str, Any]) -> object:
        _check_keys(request)
        return {"scenario": self._network.name, **self._live.figures()}

    def _change(self, request: Mapping[str, Any]) -> object:
        _check_keys(request, "change")
        change = request.get("change")
        if not isinstance(change, dict):
            raise _RequestError('"change" is an object with the keys of an entry of [[changes]]')
        return {"at_s": self._network.change(change)}

    def _report(self, request: Mapping[str, Any]) -> object:
        _check_keys(request)
        self._network.moment()  # raises before real time has begun
        return self._network.report().document()


def _check_keys(request: Mapping[str, Any], *more: str) -> None:
    for key in request:
        if key not in ("version", "do", *more):
            raise _RequestError(f"unknown key {key!r} in the request")


def _line(**answer: object) -> bytes:
    return json.dumps({"version": VERSION, **answer}, ensure_ascii=False).encode() + b"\n"


@contextmanager
def serve(path: str | Path, network: EmulatedNetwork, live: Live) -> Iterator[None]:
    """Answer requests at a socket that exists within the ``with`` statement.

    Only the user who runs the emulation may connect. Raises EmulationError, or OSError that names
    the path.
    """
    path = Path(path)
    listener, inode = listen(path)
    try:
        with Server(listener, Control(network, live), "airqueue-control"):
            yield
    finally:
        with suppress(OSError):
            # Another emulation may have replaced a socket that was taken for dead.
            if path.lstat().st_ino == inode:
                path.unlink()


def listen(path: Path) -> tuple[socket.socket, int]:
    """Return a socket that listens at a path, mode 0600, and the inode of the path.

    The socket of an emulation that has ended is replaced. Raises as `serve` does.
    """
    _check_free(path)
    temporary = path.with_name(f".{os.urandom(4).hex()}")
    if len(os.fsencode(path)) > _MOST_PATH_BYTES or len(os.fsencode(temporary)) > _MOST_PATH_BYTES:
        raise EmulationError(
            f"{path} is too long for a socket, whose path has at most {_MOST_PATH_BYTES} bytes: "
            "choose a shorter one"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    mask = os.umask(0o177)
    try:
        listener.bind(str(temporary))
        # A socket that is in place listens: nobody takes it for dead.
        listener.listen()
        inode = temporary.lstat().st_ino
        temporary.replace(path)
    except OSError as error:
        listener.close()
        temporary.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        os.umask(mask)
    return listener, inode


def _check_free(path: Path) -> None:
    """Raise EmulationError if the path is a live socket, or is something else than a socket."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise EmulationError(f"{path} exists and is no socket: choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        code = probe.connect_ex(str(path))
    if code not in (errno.ECONNREFUSED, errno.ENOENT):
        raise EmulationError(f"another emulation listens at {path}: choose another path")


def ask(path: str | os.PathLike[str], do: str, *, timeout_s: float = 30.0, **more: object) -> Any:
    """Send one request to the control socket of an emulation, and return its result.

    Raises EmulationError with the sentence of the emulation, or if nobody answers.
    """
    request = json.dumps({"version": VERSION, "do": do, **more}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(os.fspath(path))
            connection.sendall(request)
            answer = json.loads(_read_line(connection))
        except TimeoutError as error:
            raise EmulationError(f"the emulation at {path} does not answer") from error
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise EmulationError(
                f"no emulation listens at {path}: name the socket of airqueue emulate --control"
            ) from error
        except (OSError, ValueError) as error:
            raise EmulationError(f"{path} gives no answer of an emulation ({error})") from error
    if not isinstance(answer, dict) or answer.get("version") != VERSION:
        raise EmulationError(f"{path} does not speak version {VERSION} of the protocol")
    if not answer.get("ok"):
        raise EmulationError(str(answer.get("error")))
    return answer.get("result")


def _read_line(connection: socket.socket) -> bytes:
    found = bytearray()
    while b"\n" not in found and len(found) < _MOST_ANSWER_BYTES:
        data = connection.recv(65_536)
        if not data:
            break
        found += data
    return bytes(found)
