"""The endpoints are put where they belong: checked with a stand-in of a few lines for each."""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from airqueue.linux.config import HostApConfig, QueueSpec
from airqueue.linux.disturbance import Disturbance
from airqueue.linux.errors import HostApError
from airqueue.linux.netns import _in_scratch_thread, _set_network
from airqueue.linux.probing import host_ap_prober
from airqueue.measure.prober import ProbeError

pytestmark = pytest.mark.bed


def bound(netns: str, address: str, port: int) -> socket.socket:
    """A socket in the namespace behind a path, opened as the endpoints open theirs."""

    def make() -> socket.socket:
        fd = os.open(netns, os.O_RDONLY)
        try:
            _set_network(fd)
        finally:
            os.close(fd)
        udp = socket.socket(
            socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM
        )
        udp.bind((address, port))
        udp.settimeout(2)
        return udp

    return _in_scratch_thread(make)


class EchoServer:
    """Says back what it hears."""

    running = 0

    def __init__(self, bind: str, port: int, netns: str) -> None:
        self._socket = bound(netns, bind, port)
        self._thread = threading.Thread(target=self._echo, daemon=True)
        self._thread.start()
        EchoServer.running += 1

    def _echo(self) -> None:
        while True:
            data, source = self._socket.recvfrom(2048)
            if data == b"stop":
                return
            self._socket.sendto(data, source)

    def stop(self) -> None:
        self._socket.sendto(b"stop", self._socket.getsockname()[:2])
        self._thread.join(2)
        self._socket.close()
        EchoServer.running -= 1


@contextmanager
def pinging_prober(host, port, *, direction, netns, local_ports):
    """Ping the server from each flow's port."""
    wild = "::" if ":" in host else "0.0.0.0"
    heard = []
    for own in local_ports:
        with bound(netns, wild, own) as udp:
            udp.sendto(b"hello", (host, port))
            heard.append(udp.recvfrom(2048)[1][:2])
    yield SimpleNamespace(direction=direction, heard=heard, wanted=(host, port))


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    monkeypatch.setitem(sys.modules, "airqueue._native", SimpleNamespace(Server=EchoServer))
    live = SimpleNamespace(LiveProber=pinging_prober)
    monkeypatch.setitem(sys.modules, "airqueue.measure.live", live)


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize("isolate", [False, True])
def test_server_and_client_reach_each_other_through_the_access_point(isolate, direction, ipv6):
    shaper = "htb" if isolate else "tbf"
    config = HostApConfig(shaper=shaper, isolate=isolate, direction=direction, ipv6=ipv6)
    with host_ap_prober(config) as prober:
        assert prober.direction == direction
        assert prober.heard == [prober.wanted] * 3
    assert EchoServer.running == 0


def test_a_bed_that_fails_midway_is_a_path_that_fails(monkeypatch):
    asked = threading.Event()

    def refuse(self, factor: float) -> None:
        asked.set()
        raise HostApError("tc said no")

    monkeypatch.setattr("airqueue.linux.host_ap.HostAp.change_rate", refuse)
    config = HostApConfig(QueueSpec("pfifo", 10), disturbances=(Disturbance("swing", 0.1, 0.5),))
    with pytest.raises(ProbeError, match=r"^tc said no\.$"), host_ap_prober(config):
        assert asked.wait(60)
    assert EchoServer.running == 0
