"""Transfers of the web as a load, from and to a server on this machine."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from airqueue.diagnose.loads import SETTLE_S, LoadError, payload_share
from airqueue.diagnose.order import Order, Web
from airqueue.diagnose.web import CHUNK_BYTES, Transfers
from bed_traffic import judged_when_punctual

pytestmark = pytest.mark.wall_clock

HOLD_S = 0.5


class Times:
    """The time of this machine."""

    def __init__(self) -> None:
        self._zero_s = time.monotonic()

    def clock(self) -> float:
        return time.monotonic() - self._zero_s

    def at_s(self, monotonic_ns: int) -> float:
        return monotonic_ns * 1e-9 - self._zero_s

    def answered_by(self, site: str) -> str | None:
        return "192.0.2.1"


class Files(http.server.BaseHTTPRequestHandler):
    """Gives away 200 kB at ``/file``, takes anything at ``/sink``, and has nothing else."""

    protocol_version = "HTTP/1.1"
    taken = 0

    def do_GET(self) -> None:
        if self.path != "/file":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", "200000")
        self.end_headers()
        for _ in range(20):
            # Slow enough for this machine to have time for other things.
            time.sleep(0.002)
            self.wfile.write(bytes(10_000))

    def do_POST(self) -> None:
        while self.path == "/sink" and (data := self.rfile.read1(CHUNK_BYTES)):
            type(self).taken += len(data)
            time.sleep(0.002)
        self.send_error(405)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def files():
    """A server; its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def transfers(direction, url, most_bytes=10**9):
    return Transfers("server", direction, url, Times(), HOLD_S, most_bytes)


@judged_when_punctual
def test_downloads_go_on_until_the_hold_is_over():
    said: list[str] = []
    with files() as at:
        load = transfers("down", f"{at}/file").carry_out(lambda words, left_s: said.append(words))
    assert (load.direction, load.kind) == ("down", "web")
    assert load.began_s >= SETTLE_S
    assert HOLD_S <= load.ended_s - load.began_s < HOLD_S + 1.0
    assert load.carried_bps > 0
    # The first stretches are those before anything arrived.
    begins, ends, rates = zip(*load.rates, strict=True)
    assert begins[1:] == ends[:-1] and ends[-1] - begins[0] >= SETTLE_S
    held = [bps for begin, bps in zip(begins, rates, strict=True) if begin >= load.began_s]
    assert sum(held) / len(held) == pytest.approx(load.carried_bps, rel=0.3)
    assert f"{at}/file" in said[0]
    assert not [t for t in threading.enumerate() if "_transfer" in t.name], "no transfer is left"


@judged_when_punctual
def test_uploads_reach_the_server():
    Files.taken = 0
    with files() as at:
        load = transfers("up", f"{at}/sink").carry_out(lambda words, left_s: None)
    assert load.direction == "up"
    held_bytes = load.carried_bps * (load.ended_s - load.began_s) / 8
    # What was handed to this machine's buffers is on its way, or was read.
    assert Files.taken >= 0.5 * held_bytes > 0


def test_rates_are_those_of_ip_packets():
    class Still(Transfers):
        """Two seconds in which a thousand full packets of TCP a second arrive."""

        def _transfer(self, index):
            """Transfer nothing."""

        def _watch(self, say, began):
            return (3.0, 1_448_000), (5.0, 3 * 1_448_000)

    load = Still("server", "down", "http://h/", Times(), HOLD_S, 1).carry_out(lambda words, s: None)
    assert load.carried_bps == pytest.approx(1000 * 1500 * 8)


def test_headers_of_ipv6_are_larger():
    # RFC 791, RFC 8200, RFC 9293 with the option of RFC 7323.
    assert payload_share("192.0.2.1") == payload_share(None) == (1500 - 20 - 20 - 12) / 1500
    assert payload_share("2001:db8::1") == (1500 - 40 - 20 - 12) / 1500


def test_bytes_are_bounded():
    with files() as at, pytest.raises(LoadError, match="--max-bytes"):
        transfers("down", f"{at}/file", most_bytes=500_000).carry_out(lambda words, left_s: None)


@pytest.mark.parametrize("path", ["/missing", "/file"])
def test_what_cannot_be_transferred_is_named(path):
    with files() as at:
        where = at
        if path == "/missing":
            with pytest.raises(LoadError, match="404"):
                transfers("down", at + path).carry_out(lambda words, left_s: None)
            return
    # The server is gone, and its port free.
    with pytest.raises(LoadError, match="refused"):
        transfers("down", where + path).carry_out(lambda words, left_s: None)


def test_the_legs_of_an_address_of_the_web_end_at_its_host():
    order = Order(None, Web("https://files.example/large"))
    assert order.target == "files.example"
    assert order.web.host == ("files.example", 443)
    assert Web(upload="http://h:8080/sink").host == ("h", 8080)
    assert socket.getservbyname("https") == 443
