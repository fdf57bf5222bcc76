"""Logs of MGEN: what is written must be what is read, and nothing else may be believed."""

import dataclasses
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airqueue.measure import mgen, mgen_log
from airqueue.measure.mgen import MgenError, read_mgen
from airqueue.measure.records import MISSING, Run
from airqueue.measure.session import Session
from mgen_logs import (
    DAY_US,
    EPOCH_US,
    MAGIC,
    PORT,
    SOURCE,
    Packet,
    clock,
    message,
    record,
    recv_line,
    recv_record,
    send_line,
    write_logs,
    write_text,
)

pytestmark = pytest.mark.wall_clock

# --- round trips ------------------------------------------------------------------------------


@st.composite
def sessions(draw: st.DrawFn) -> list[Packet]:
    """One to three flows with losses, reordering, a wrap of the numbers, midnight, and any offset."""
    start = EPOCH_US - EPOCH_US % DAY_US + DAY_US - draw(st.integers(1, 3_000_000))
    offset = draw(st.integers(-3_600_000_000, 3_600_000_000))
    taken: set[int] = set()
    packets = []
    for flow in range(draw(st.integers(1, 3))):
        n = draw(st.integers(2, 40))
        gap = draw(st.integers(500, 200_000))
        first = draw(st.sampled_from([0, 17, 2**32 - n // 2 - 1]))
        payload = draw(st.integers(28, 8192))
        for k in range(n):
            sent = start + flow * 7 + k * gap
            while sent in taken:
                sent += 1
            taken.add(sent)
            delay = draw(st.integers(100, 600_000))
            lost = draw(st.booleans()) and 0 < k < n - 1
            received = None if lost else sent + offset + delay
            packets.append(Packet(flow + 1, (first + k) % 2**32, sent, received, payload))
    return packets


def expected_delays(packets: list[Packet]) -> dict[tuple[int, int], int | None]:
    """Delay in microseconds of every packet, by MGEN's flow and send time since the first."""
    start = min(p.sent_us for p in packets)
    return {
        (p.flow, p.sent_us - start): None if p.received_us is None else p.received_us - p.sent_us
        for p in packets
    }


def delays(run: Run) -> dict[tuple[int, int], int | None]:
    flows = [f["mgen_flow"] for f in run.meta["flows"]]
    return {
        (flows[f], int(s) // 1000): None if r == MISSING else (int(r) - int(s)) // 1000
        for f, s, r in zip(run.flow, run.sent_ns, run.received_ns, strict=True)
    }


SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("form", ["text", "epoch", "binary"])
@settings(max_examples=60, suppress_health_check=SUPPRESSED)
@given(packets=sessions())
def test_both_logs_give_back_every_packet(tmp_path: Path, form: str, packets: list[Packet]) -> None:
    run = read_mgen(*write_logs(tmp_path, packets, form))
    assert delays(run) == expected_delays(packets)
    assert run.meta["warnings"] == []
    assert np.all(np.diff(run.sent_ns) >= 0)
    sizes = {p.flow: p.payload + 28 for p in packets}
    flows = [f["mgen_flow"] for f in run.meta["flows"]]
    assert [sizes[flows[f]] for f in run.flow] == run.size_bytes.tolist()


@pytest.mark.parametrize("form", ["text", "epoch", "binary"])
@settings(max_examples=60, suppress_health_check=SUPPRESSED)
@given(packets=sessions())
def test_the_receivers_log_alone_knows_losses_from_gaps(
    tmp_path: Path, form: str, packets: list[Packet]
) -> None:
    run = read_mgen(write_logs(tmp_path, packets, form)[0])
    arrived = {k: v for k, v in expected_delays(packets).items() if v is not None}
    read = delays(run)
    assert {k: v for k, v in read.items() if v is not None} == arrived
    for flow in {p.flow for p in packets}:
        of_flow = [p for p in packets if p.flow == flow]
        account = next(f for f in run.meta["flows"] if f["mgen_flow"] == flow)
        assert account["sent"] == len(of_flow)
        assert account["received"] == sum(p.received_us is not None for p in of_flow)
    # Regular sending: what lies between two neighbours is known to the microsecond they are kept in,
    # beside what the generator shifted to keep send times apart.
    truth = np.sort([sent for _, sent in expected_delays(packets)])
    assert np.abs(np.sort(run.sent_ns // 1000) - truth).max() <= 3


def test_text_and_binary_logs_say_the_same(tmp_path: Path) -> None:
    packets = [Packet(1, k, EPOCH_US + k * 9_999, EPOCH_US + k * 9_999 + 70) for k in range(50)]
    runs = [read_mgen(*write_logs(tmp_path, packets, form)) for form in ("text", "epoch", "binary")]
    for run in runs[1:]:
        for name in ("sent_ns", "received_ns", "flow", "size_bytes", "scheduled_ns"):
            assert np.array_equal(getattr(run, name), getattr(runs[0], name)), name


# --- what single things mean -------------------------------------------------------------------


def steady(n: int, flow: int = 1, gap_us: int = 10_000, first_seq: int = 0) -> list[Packet]:
    return [
        Packet(flow, first_seq + k, EPOCH_US + k * gap_us, EPOCH_US + k * gap_us + 500)
        for k in range(n)
    ]


def test_the_papers_session_gets_the_papers_windows(tmp_path: Path) -> None:
    baseline = steady(1201, flow=1, gap_us=100_000)
    flood = [
        Packet(2, k, EPOCH_US + 30_000_050 + k * 2_000, EPOCH_US + 30_000_550 + k * 2_000)
        for k in range(30_000)
    ]
    run = read_mgen(write_logs(tmp_path, baseline + flood, "binary")[0])
    session = Session(run)
    for phase, window in {"quiet": (5, 25), "hold": (40, 80), "after": (95, 115)}.items():
        assert session.phases[phase] == pytest.approx(window, abs=0.01)
    assert [f["mgen_flow"] for f in run.meta["flows"]] == [2, 1]
    assert np.count_nonzero(session.flood) == 30_000
    assert session.size_bytes == 1500
    assert session.quiet_delay is not None
    assert session.quiet_delay.before_ns[1] == 500_000


def test_headers_of_ipv6_are_48_bytes(tmp_path: Path) -> None:
    packets = [dataclasses.replace(p, destination="2001:db8::2") for p in steady(5)]
    for form in ("text", "binary"):
        run = read_mgen(write_logs(tmp_path, packets, form)[0])
        assert set(run.size_bytes.tolist()) == {1472 + 48}


def test_only_the_senders_log_knows_losses_at_the_ends(tmp_path: Path) -> None:
    packets = [
        dataclasses.replace(p, received_us=None) if p.seq < 3 or p.seq >= 7 else p
        for p in steady(10)
    ]
    receiver, sender = write_logs(tmp_path, packets, "text")
    assert len(read_mgen(receiver)) == 4
    run = read_mgen(receiver, sender)
    assert len(run) == 10
    assert np.flatnonzero(run.lost).tolist() == [0, 1, 2, 7, 8, 9]
    assert run.sent_ns.tolist() == [k * 10_000_000 for k in range(10)]


def test_a_sender_that_starts_over_adds_no_losses(tmp_path: Path) -> None:
    again = [
        dataclasses.replace(p, sent_us=p.sent_us + 5_000_000, received_us=p.received_us + 5_000_000)
        for p in steady(6)
    ]
    run = read_mgen(write_logs(tmp_path, steady(10) + again, "text")[0])
    assert len(run) == 16
    assert not run.lost.any()
    assert ["start over once" in w for w in run.meta["warnings"]] == [True]


def test_late_and_repeated_packets_are_no_new_start(tmp_path: Path) -> None:
    packets = steady(10)
    late = dataclasses.replace(packets[4], received_us=packets[8].received_us + 1)
    twice = dataclasses.replace(packets[6], received_us=packets[9].received_us + 1)
    log = write_logs(tmp_path, [*packets[:4], late, *packets[5:], twice], "text")[0]
    run = read_mgen(log)
    assert len(run) == 10
    assert not run.lost.any()
    assert run.host.duplicates == 1
    assert run.meta["warnings"] == []
    assert run.received_ns[4] > run.received_ns[8]
    assert run.received_ns[6] < run.received_ns[7]


def test_midnight_on_either_clock_is_crossed(tmp_path: Path) -> None:
    midnight = EPOCH_US - EPOCH_US % DAY_US
    packets = [
        Packet(1, k, midnight - 25_000 + k * 10_000, midnight + 40_000 + k * 10_000)
        for k in range(6)
    ]
    run = read_mgen(*write_logs(tmp_path, packets, "text"))
    assert run.delay_s == pytest.approx(np.full(6, 0.065))
    assert run.sent_ns.tolist() == [k * 10_000_000 for k in range(6)]


def test_local_time_in_one_of_the_logs_is_no_contradiction(tmp_path: Path) -> None:
    receiver, sender = write_logs(tmp_path, steady(8), "text")
    zone_us = -int(9.5 * 3600e6)
    moved = [dataclasses.replace(p, sent_us=p.sent_us + zone_us) for p in steady(8)]
    sender.write_text("".join(map(send_line, moved)))
    run = read_mgen(receiver, sender)
    assert run.delay_s == pytest.approx(np.full(8, 0.0005))


def test_one_mgen_that_sends_to_itself_writes_one_log(tmp_path: Path) -> None:
    lines = [line(p) for p in steady(5) for line in (send_line, recv_line)]
    lines += [send_line(dataclasses.replace(steady(6)[5], received_us=None))]
    run = read_mgen(write_text(tmp_path, *lines))
    assert np.flatnonzero(run.lost).tolist() == [5]


def test_older_logs_without_protocol_and_stderr_lines_are_read(tmp_path: Path) -> None:
    lines = [recv_line(p).replace("proto>UDP ", "") for p in steady(3)]
    log = write_text(tmp_path, "mgen: version 5.02b\n", "\n", *lines)
    assert len(read_mgen(log)) == 3


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    whole = "".join(map(recv_line, steady(5)))
    end_of_size = whole.rindex("size>1472") + len("size>14")
    run = read_mgen(write_text(tmp_path, whole[:end_of_size]))
    assert len(run) == 4
    assert "cut short" in run.meta["warnings"][0]


def test_a_torn_last_record_is_left_out_and_said(tmp_path: Path) -> None:
    log = write_logs(tmp_path, steady(5), "binary")[0]
    whole = log.read_bytes()
    last = len(recv_record(steady(1)[0]))
    for cut in range(1, last):
        log.write_bytes(whole[:-cut])
        run = read_mgen(log)
        assert len(run) == 4
        assert "cut short" in run.meta["warnings"][0]


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    tcp = recv_line(steady(1)[0]).replace("proto>UDP", "proto>TCP")
    bad = f"{clock(EPOCH_US)} RERR proto>UDP type>checksum src>{SOURCE}/1\n"
    lines = [tcp, bad, *map(recv_line, steady(3))]
    elsewhere = [send_line(p) for p in steady(3) + steady(2, flow=9)]
    receiver = write_text(tmp_path, *lines)
    run = read_mgen(receiver, write_text(tmp_path, *elsewhere, name="sender.drc"))
    assert len(run) == 3
    said = " ".join(run.meta["warnings"])
    assert "1 messages that are not UDP" in said
    assert "could not read 1 messages" in said
    assert "flow 9 to 198.51.100.3/5000: 2 packets sent, none received" in said


def test_packets_that_the_senders_log_lacks_are_kept_and_said(tmp_path: Path) -> None:
    receiver, sender = write_logs(tmp_path, steady(10), "text")
    sender.write_text("".join(map(send_line, steady(8))))
    run = read_mgen(receiver, sender)
    assert len(run) == 10
    assert not run.lost.any()
    assert "lacks 2 packets" in run.meta["warnings"][0]


# --- what must not be believed -----------------------------------------------------------------

GOOD = recv_line(steady(1)[0])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello world\n", r"line 2: expected a time and the name of an MGEN event, found 'hello"),
        (GOOD.replace("seq>0", "seq>x"), r"line 2: expected RECV proto>UDP flow>N seq>N"),
        (GOOD.replace("seq>0", "seq>4294967296"), r"line 2: expected flow and sequence number"),
        (GOOD.replace("22:13:20", "25:13:20"), r"line 2: expected a time as HH:MM:SS"),
        (GOOD.replace("sent>", "sent>9999999999.000000x"), r"line 2: expected a time as"),
        (GOOD.replace("dst>198", "dst>999"), r"line 2: expected one of at most 4096 endpoints"),
        (GOOD.replace("/5000", "/70000"), r"line 2: expected one of at most 4096 endpoints"),
        (GOOD.replace("size>1472", "size>65535"), r"line 2: expected a size that fits"),
        (GOOD.replace("RECV", "GRAB"), r"line 2: expected an event of MGEN 5, found 'GRAB'"),
        (GOOD.replace(" gps", "x" * 70_000), r"line 2: expected at most 65536 bytes in a line"),
        ("\x00\x01\x02\n", r"line 2: expected a time"),
    ],
)
def test_malformed_lines_name_file_line_and_expectation(
    tmp_path: Path, line: str, says: str
) -> None:
    log = write_text(tmp_path, GOOD, line, recv_line(steady(2)[1]))
    with pytest.raises(MgenError, match=rf"receiver\.drc, {says}") as caught:
        read_mgen(log)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (record(0, b"abc"), "expected a record type"),
        (record(1, b"abc"), "expected an MGEN message, found a record that ends after 3 bytes"),
        (record(3, message(steady(1)[0])[:26]), "expected an MGEN message"),
        (record(3, message(steady(1)[0]).replace(b"\2\x08", b"\7\x08", 1)), "message version 2"),
        (
            recv_record(Packet(1, 0, 999_999, 999_999)).replace(
                struct.pack(">I", 999_999), struct.pack(">I", 1_000_000)
            ),
            "less than 1000000 microseconds",
        ),
        (record(3, struct.pack(">HBBIIIIHBB", 100, 2, 8, 1, 0, 0, 0, 5000, 3, 0)), "IPv4 or IPv6"),
    ],
)
def test_malformed_records_name_file_byte_and_expectation(
    tmp_path: Path, broken: bytes, says: str
) -> None:
    first = recv_record(steady(1)[0])
    log = tmp_path / "receiver.drc"
    log.write_bytes(MAGIC + first + broken + first)
    place = len(MAGIC + first)
    with pytest.raises(MgenError, match=rf"receiver\.drc, byte {place}: .*{says}"):
        read_mgen(log)


def test_a_jump_of_billions_is_damage_not_loss(tmp_path: Path) -> None:
    first, second = steady(2)
    jump = dataclasses.replace(second, seq=4_000_000)
    with pytest.raises(
        MgenError, match=r"line 2: expected at most 1000000 packets .*lost in a row"
    ):
        read_mgen(write_text(tmp_path, recv_line(first), recv_line(jump)))
    for seq in (2_000_000_000, 4_000_000_000):
        far = dataclasses.replace(second, seq=seq)
        with pytest.raises(MgenError, match=f"number {seq} after 0"):
            read_mgen(write_text(tmp_path, recv_line(first), recv_line(far)))


def test_many_believable_jumps_are_still_too_many_packets(tmp_path: Path) -> None:
    hops = [
        Packet(1, k * 900_000, EPOCH_US + k * 1000, EPOCH_US + k * 1000)
        for k in range(mgen_log.MAX_PACKETS // 900_000 + 2)
    ]
    with pytest.raises(MgenError, match="with the lost ones, too many"):
        read_mgen(write_logs(tmp_path, hops, "text")[0])


def test_two_senders_with_one_flow_number_are_refused(tmp_path: Path) -> None:
    mixed = [
        dataclasses.replace(p, source_port=PORT + p.seq % 2, sent_us=p.sent_us) for p in steady(6)
    ]
    with pytest.raises(MgenError, match=r"expected one sender at a time for flow 1 .*found two"):
        read_mgen(write_logs(tmp_path, mixed, "text")[0])


def test_endless_restarts_are_refused(tmp_path: Path) -> None:
    stuck = [dataclasses.replace(p, seq=0) for p in steady(mgen.MAX_RESTARTS + 2)]
    with pytest.raises(MgenError, match="at most 100 starts"):
        read_mgen(write_logs(tmp_path, stuck, "text")[0])


def test_a_session_of_weeks_is_refused(tmp_path: Path) -> None:
    slow = [Packet(1, k, EPOCH_US + k * DAY_US // 3, EPOCH_US + k * DAY_US // 3) for k in range(40)]
    for form in ("text", "binary"):
        with pytest.raises(MgenError, match="times cover 13 days"):
            read_mgen(write_logs(tmp_path, slow, form)[0])


def test_too_many_flows_are_refused(tmp_path: Path) -> None:
    crowd = [Packet(k, 0, EPOCH_US + k, EPOCH_US + k) for k in range(300)]
    with pytest.raises(MgenError, match="has 300 flows"):
        read_mgen(write_logs(tmp_path, crowd, "text")[0])


def test_logs_of_two_sessions_are_refused(tmp_path: Path) -> None:
    receiver, sender = write_logs(tmp_path, steady(10), "text")
    other = [dataclasses.replace(p, sent_us=p.sent_us + 1_234_567) for p in steady(10)]
    sender.write_text("".join(map(send_line, other)))
    with pytest.raises(MgenError, match="are not of one session"):
        read_mgen(receiver, sender)


def test_wrong_files_are_told_apart(tmp_path: Path) -> None:
    receiver, sender = write_logs(tmp_path, steady(3), "text")
    with pytest.raises(MgenError, match="name the receiver's log first"):
        read_mgen(sender)
    with pytest.raises(MgenError, match="has no SEND event of UDP; was txlog given"):
        read_mgen(receiver, receiver)
    empty = write_text(tmp_path, name="empty.drc")
    with pytest.raises(MgenError, match="did the receiver LISTEN"):
        read_mgen(empty)
    with pytest.raises(MgenError, match="cannot be read: No such file"):
        read_mgen(tmp_path / "absent.drc")
    with pytest.raises(MgenError, match="cannot be read: Is a directory"):
        read_mgen(tmp_path)


@settings(max_examples=300, suppress_health_check=SUPPRESSED)
@given(data=st.data())
def test_damaged_logs_are_read_or_refused_in_words(tmp_path: Path, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["text", "binary"]))
    receiver, sender = write_logs(tmp_path, steady(6) + steady(3, flow=2), form)
    for path in (receiver, sender):
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(0, 4))):
            at = data.draw(st.integers(0, len(content) - 1))
            content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        run = read_mgen(receiver, sender)
    except MgenError as refusal:
        assert "\n" not in str(refusal)
        return
    assert len(run) >= np.count_nonzero(run.received) > 0
    assert np.all(np.diff(run.sent_ns) >= 0)


# --- the real program --------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_logs_of_the_real_mgen_over_loopback(tmp_path: Path, binary: bool) -> None:
    program = shutil.which("mgen")
    if program is None:
        pytest.skip("mgen is not installed (Debian package mgen)")
    port = free_port()
    script = tmp_path / "sender.mgn"
    script.write_text(
        f"0.0 ON 1 UDP DST 127.0.0.1/{port} PERIODIC [20 722]\n"
        f"0.3 ON 2 UDP DST 127.0.0.1/{port} PERIODIC [200 1472] SEQUENCE 4294967290\n"
        "0.8 OFF 2\n"
        "1.2 OFF 1\n"
    )
    form = ["binary"] if binary else []
    receiver_log, sender_log = tmp_path / "receiver.drc", tmp_path / "sender.drc"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    receiver = subprocess.Popen(
        [program, "flush", *form, "event", f"LISTEN UDP {port}", "output", receiver_log], **quiet
    )
    try:
        wait_until_bound(port, receiver)
        subprocess.run(
            [program, "txlog", *form, "input", script, "output", sender_log],
            timeout=60,
            check=True,
            **quiet,
        )
        wait_until_it_stands(receiver_log)
    finally:
        receiver.terminate()
        receiver.wait(timeout=60)
    run = read_mgen(receiver_log, sender_log)
    flood, baseline = run.meta["flows"]
    assert (flood["mgen_flow"], baseline["mgen_flow"]) == (2, 1)
    # Half a second at 200/s, 1.2 s at 20/s; MGEN's timer may lag on a busy machine, not lead.
    assert 50 <= flood["sent"] <= 102
    assert 10 <= baseline["sent"] <= 26
    assert flood["received"] == flood["sent"]
    assert {750, 1500} == set(run.size_bytes.tolist())
    assert 0 <= np.nanmin(run.delay_s) <= np.nanmax(run.delay_s) < 0.5
    alone = read_mgen(receiver_log)
    assert delays(alone) == delays(run)


def wait_until_it_stands(log: Path) -> None:
    """Wait until a log, of which every line is written at once, has not grown for a second."""
    size, before = log.stat().st_size, -1
    end = time.monotonic() + 60
    while size != before and time.monotonic() < end:
        time.sleep(1)
        size, before = log.stat().st_size, size


def wait_until_bound(port: int, receiver: subprocess.Popen[bytes]) -> None:
    """Wait until the receiver's socket is there, as the kernel lists it."""
    end = time.monotonic() + 60
    while time.monotonic() < end and receiver.poll() is None:
        if any(f":{port:04X} " in line for line in Path("/proc/net/udp").read_text().splitlines()):
            return
        time.sleep(0.02)
    pytest.fail("mgen did not open its port")
