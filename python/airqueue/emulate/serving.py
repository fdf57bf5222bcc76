"""Requests from sockets, answered in one thread: whatever clients do costs a bounded amount.

A client has a buffer of bounded size for its requests and for what it has not read of the answers,
and a time in which to send or read something. A client that does not read is not read from. Nothing
a client sends ends the thread, which never waits for a client.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Protocol

_MOST_CLIENTS: Final = 8
_BACKLOG: Final = 8
_READ_BYTES: Final = 16_384
_LOOK_S: Final = 1.0


class Service(Protocol):
    """What answers requests. Its methods do not raise."""

    most_bytes: int
    """Largest request."""
    patience_s: float
    """How long a client may take for its next request, and to read the answer to the last one."""

    def answer(self, buffer: bytearray) -> tuple[bytes, bool] | None:
        """Take one request out of the buffer; return the answer and whether the connection stays.

        None if the buffer has no whole request yet.
        """
        ...

    def too_long(self) -> bytes:
        """Return what a client gets whose request is longer than `most_bytes`."""
        ...

    def too_many(self) -> bytes:
        """Return what a client gets for whom there is no room."""
        ...


class _Client:
    def __init__(self, connection: socket.socket, until: float) -> None:
        self.connection = connection
        self.requests = bytearray()
        self.answers = bytearray()
        self.more = False
        """Whether the buffer may have another whole request."""
        self.ended = False
        """Whether the client sends no more."""
        self.leaves = False
        """Whether the connection ends when the answers are sent."""
        self.until = until

    def receive(self) -> None:
        """Read what has come."""
        data = self.connection.recv(_READ_BYTES)
        self.ended = not data
        self.requests += data
        self.more = True

    def flush(self) -> None:
        """Send what the client takes."""
        if self.answers:
            del self.answers[: self.connection.send(self.answers)]

    @property
    def events(self) -> int:
        """What to wait for: answers go before more requests are read."""
        return selectors.EVENT_WRITE if self.answers or self.more else selectors.EVENT_READ


class Server:
    """Serves clients of a listening socket within a ``with`` statement; closes the socket."""

    def __init__(self, listener: socket.socket, service: Service, name: str) -> None:
        self._listener = listener
        self._service = service
        self._clients: dict[int, _Client] = {}
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._over = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = True
        self._waker.send(b"x")
        self._thread.join()
        for client in self._clients.values():
            client.connection.close()
        for each in (self._selector, self._listener, self._wake, self._waker):
            each.close()

    def _serve(self) -> None:
        while not self._over:
            for key, _ in self._selector.select(_LOOK_S):
                if key.fileobj is self._listener:
                    self._accept()
                elif client := self._clients.get(key.fd):
                    self._go_on(client)
            now = time.monotonic()
            for client in [each for each in self._clients.values() if each.until < now]:
                self._close(client)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            time.sleep(0.01)  # no descriptors left: do not take all of the processor
            return
        connection.setblocking(False)
        if len(self._clients) >= _MOST_CLIENTS:
            with suppress(OSError):
                connection.send(self._service.too_many())
            connection.close()
            return
        client = _Client(connection, time.monotonic() + self._service.patience_s)
        self._clients[connection.fileno()] = client
        self._selector.register(connection, selectors.EVENT_READ)

    def _go_on(self, client: _Client) -> None:
        """Read, answer at most one request, and write, without waiting."""
        try:
            client.flush()
            if not client.answers and not client.leaves:
                if not client.more:
                    client.receive()
                self._answer(client)
                client.flush()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._close(client)
            return
        if client.leaves and not client.answers:
            self._close(client)
        else:
            self._selector.modify(client.connection, client.events)

    def _answer(self, client: _Client) -> None:
        answer = self._service.answer(client.requests)
        if answer is not None:
            text, stays = answer
            client.answers += text
            client.leaves = not stays
            client.more = bool(client.requests)
            client.until = time.monotonic() + self._service.patience_s
            return
        client.more = False
        client.leaves = client.ended
        if len(client.requests) > self._service.most_bytes:
            client.answers += self._service.too_long()
            client.leaves = True

    def _close(self, client: _Client) -> None:
        del self._clients[client.connection.fileno()]
        self._selector.unregister(client.connection)
        client.connection.close()
