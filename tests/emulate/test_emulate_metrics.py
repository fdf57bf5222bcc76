"""The counters of an emulation for Prometheus: their format, their values, and hostile clients."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from airqueue.cli import emulate_live, main
from airqueue.emulate import EmulationError, emulate, metrics

PAGE = (Path(__file__).parents[2] / "docs" / "emulate.md").read_text("utf-8")
# Prometheus, "Exposition formats", text format 0.0.4: names, labels with their escapes, values.
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>[^ ]+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)')

Families = dict[str, tuple[str, dict[tuple[tuple[str, str], ...], float]]]


def parse(text: str) -> Families:
    """Read the text format strictly, independently of the writer; return kind and samples by name."""
    assert text.endswith("\n")
    found: Families = {}
    helped, current = "", ""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            helped, _, about = line.removeprefix("# HELP ").partition(" ")
            assert NAME.fullmatch(helped)
            assert about
            continue
        if line.startswith("# TYPE "):
            current, _, kind = line.removeprefix("# TYPE ").partition(" ")
            assert current == helped
            assert current not in found, "a family in two pieces"
            assert kind in ("counter", "gauge", "histogram")
            found[current] = (kind, {})
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        labels = match["labels"] or ""
        pairs = LABEL.findall(labels)
        assert "".join(f'{name}="{value}",' for name, value in pairs).rstrip(",") == labels, line
        assert len({name for name, _ in pairs}) == len(pairs)
        kind, samples = found[current]
        suffix = match["name"].removeprefix(current)
        assert suffix in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
        key = (*pairs, ("", suffix)) if suffix else tuple(pairs)
        assert key not in samples, "a sample twice"
        samples[key] = float(match["value"])
    for name, (kind, samples) in found.items():
        assert kind != "counter" or name.endswith("_total")
        assert kind == "gauge" or all(value >= 0 for value in samples.values())
        assert all(math.isfinite(value) for value in samples.values())
        if kind == "histogram":
            check_histogram(samples)
    return found


def check_histogram(samples: dict[tuple[tuple[str, str], ...], float]) -> None:
    """Buckets rise with their bounds up to ``+Inf``, which is the count."""
    series: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for key, value in samples.items():
        if key[-1] == ("", "_bucket"):
            bound = dict(key)["le"]
            own = tuple(each for each in key[:-1] if each[0] != "le")
            series.setdefault(own, []).append((float(bound.replace("+Inf", "inf")), value))
    assert series
    for own, buckets in series.items():
        assert buckets == sorted(buckets)
        assert [count for _, count in buckets] == sorted(count for _, count in buckets)
        assert buckets[-1] == (math.inf, samples[(*own, ("", "_count"))])
        assert (*own, ("", "_sum")) in samples


def fetch(port: int, request: bytes) -> tuple[str, str]:
    """Return head and body of the answer to a request; the length must be that of the head."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(request)
        data = b""
        while part := client.recv(65_536):
            data += part
    head, _, body = data.decode().partition("\r\n\r\n")
    match = re.search(r"\r\nContent-Length: (\d+)", head)
    assert match
    assert len(body.encode()) in (int(match[1]), 0)
    return head, body


class Idle:
    """Stands in for a network whose real time has not begun."""

    name = 'quote " and \\ and\nline'
    seed = 1

    def moment(self) -> Any:
        raise EmulationError("the warm-up of the emulation is not over")


@contextmanager
def served() -> Iterator[int]:
    with metrics.serve(("127.0.0.1", 0), Idle()) as url:  # type: ignore[arg-type]
        yield int(url.removeprefix("http://127.0.0.1:").removesuffix("/metrics"))


def test_before_real_time_there_is_the_description_alone():
    with served() as port:
        head, body = fetch(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    assert "Content-Type: text/plain; version=0.0.4; charset=utf-8" in head
    ((kind, samples),) = parse(body).values()
    (labels,) = samples
    assert kind == "gauge"
    assert dict(labels)["scenario"] == r"quote \" and \\ and\nline"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "404"),
        (b"GET /metricsx HTTP/1.1\r\n\r\n", "404"),
        (b"GET /metrics?x=1 HTTP/1.0\n\n", "200"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"GET /metrics\r\n\r\n", "400"),
        (b"GET /metrics SPDY/3\r\n\r\n", "400"),
        (b"\x16\x03\x01\x02\r\n\r\n", "400"),
        (b"\r\n\r\n", "400"),
        (b"GET /metrics HTTP/1.1\r\n" + b"X" * (8192 - 22), "431"),
    ],
)
def test_requests_that_are_none_get_a_status(request_, status):
    with served() as port:
        head, body = fetch(port, request_)
        assert head.startswith(f"HTTP/1.1 {status} ")
        assert "Connection: close" in head
        assert (body == "") == request_.startswith(b"HEAD")
        assert fetch(port, b"GET /metrics HTTP/1.1\r\n\r\n")[0].startswith("HTTP/1.1 200 ")


def test_slow_clients_leave_room_for_others(monkeypatch):
    monkeypatch.setattr(metrics.Metrics, "patience_s", 0.3)
    with served() as port:
        slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(8)]
        for client in slow:
            client.sendall(b"GET /met")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as extra:
            assert extra.recv(65_536).startswith(b"HTTP/1.1 503 ")
        for client in slow:
            assert client.recv(100) == b""
            client.close()
        assert fetch(port, b"GET /metrics HTTP/1.1\r\n\r\n")[0].startswith("HTTP/1.1 200 ")


def test_a_port_in_use_is_one_sentence():
    with (
        served() as port,
        pytest.raises(EmulationError, match=rf"127.0.0.1 port {port} \(Address already in use\)"),
        metrics.serve(("127.0.0.1", port), Idle()),  # type: ignore[arg-type]
    ):
        pass


def test_addresses_are_numeric_and_loopback_by_default():
    convert = emulate_live._Address().convert
    for text, address in (
        ("9100", ("127.0.0.1", 9100)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:9100", ("::1", 9100)),
    ):
        assert convert(text, None, None) == address
    for text in ("", "x", "-1", "65536", "localhost:9100", ":9100", "1.2.3:9100", "٣"):
        done = CliRunner().invoke(main, ["emulate", "quiet-flat", "--metrics", text, "--", "true"])
        assert done.exit_code == 2
        assert "is not [ADDRESS:]PORT" in done.stderr


@pytest.mark.emulation
def test_counters_are_those_of_the_emulation():
    with emulate("home-evening") as net:
        ping = ["ping", "-4", "-q", "-c", "20", "-i", "0.02", "peer"]
        net.host("phone").run(ping, capture_output=True)
        net.change({"station": "tablet", "away": True})
        before = parse(metrics.text(net))
        net.host("phone").run(ping, capture_output=True)
        after = parse(metrics.text(net))
    assert before.keys() == after.keys()
    for name, (kind, samples) in before.items():
        if kind != "gauge":
            assert all(after[name][1][key] >= value for key, value in samples.items()), name
    pair = (("from", "phone"), ("to", "server"))
    assert after["airqueue_delivered_packets_total"][1][pair] == 40
    assert after["airqueue_delivered_bytes_total"][1][pair] == 40 * 84
    delays = after["airqueue_delay_seconds"][1]
    assert delays[(*pair, ("", "_count"))] == 40
    # No packet takes less than the 10 ms of the line.
    mean_s = delays[(*pair, ("", "_sum"))] / 40
    assert 0.01 < mean_s < 5
    short = (*pair, ("le", repr(2**23 * 1e-9)), ("", "_bucket"))
    assert delays[short] == 0
    for name in after:
        assert f"`{name}`" in PAGE, name
    away = after["airqueue_station_away"][1]
    assert [dict(labels)["station"] for labels, value in away.items() if value] == ["tablet"]
    airtime = after["airqueue_station_airtime_seconds_total"][1]
    elapsed_s = after["airqueue_elapsed_seconds_total"][1][()]
    assert 0 < sum(airtime.values()) < 1.2 * elapsed_s + 1
    assert (("queue", "server->ap"),) in after["airqueue_queue_packets"][1]
