"""A mesh file from what `iw` printed on three routers in a line (`data/iw`: Linux 6.12, hwsim)."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from airqueue.cli import main
from airqueue.models.mesh_file import parse_topology
from airqueue.sizing.mesh_dumps import DumpError, layer_of, mesh_of, read_router

DUMPS = Path(__file__).parent / "data" / "iw"
FILES = [str(DUMPS / f"m{number}.iw") for number in (2, 3, 4)]


def text(number: int) -> str:
    return (DUMPS / f"m{number}.iw").read_text("utf-8")


def routers(**changed: str):
    return [read_router(name, changed.get(name, text(int(name[1])))) for name in ("m2", "m3", "m4")]


def test_a_line_of_three_routers_is_read():
    """The outer two have blocked each other: their entries in station dump are no links."""
    mesh = mesh_of(routers(), [["m2", "m4"], ["m4", "m2"]])
    ends = {(link["from"], link["to"]) for link in mesh.table["link"]}
    assert ends == {("m2", "m3"), ("m3", "m2"), ("m3", "m4"), ("m4", "m3")}
    assert [flow["route"] for flow in mesh.table["flow"]] == [
        ["m2", "m3", "m4"],
        ["m4", "m3", "m2"],
    ]
    assert mesh.cautions == ()


def test_the_command_prints_what_size_mesh_reads(tmp_path):
    done = CliRunner().invoke(main, ["size", "mesh-file", *FILES, "--flow", "m2, m4"])
    assert (done.exit_code, done.stderr) == (0, "")
    topology = parse_topology(done.stdout)
    assert {link.rate_bps for link in topology.links} == {54e6}
    assert {(link.radio, link.channel) for link in topology.links} == {("g", "1")}
    path = tmp_path / "mesh.toml"
    path.write_text(done.stdout, "utf-8")
    sized = CliRunner().invoke(main, ["size", "mesh", str(path)])
    assert sized.exit_code == 0, sized.output
    assert "m3" in sized.stdout


# As iw 5.19 prints rates; the rates are those of 802.11-2016, 19.5 and 21.5, and 802.11ax, 27.5.
@pytest.mark.parametrize(
    ("bitrate", "frequency", "layer", "mbps"),
    [
        ("1.0 MBit/s", 2412, "b-long", 1),
        ("36.0 MBit/s", 2412, "g", 36),
        ("36.0 MBit/s", 5180, "a", 36),
        ("65.0 MBit/s MCS 7", 5180, "n-20mhz-1ss", 65),
        ("300.0 MBit/s MCS 15 40MHz short GI", 2412, "n-2.4-40mhz-2ss-sgi", 300),
        ("866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2", 5180, "ac-80mhz-2ss-sgi", 2600 / 3),
        ("78.0 MBit/s VHT-MCS 8 VHT-NSS 1", 5180, "ac-20mhz-1ss", 78),
        (
            "1200.9 MBit/s 80MHz HE-MCS 11 HE-NSS 2 HE-GI 0 HE-DCM 0",
            5180,
            "ax-80mhz-2ss-gi0.8",
            1200.98,
        ),
        (
            "8.6 MBit/s HE-MCS 0 HE-NSS 1 HE-GI 0 HE-DCM 0",
            2412,
            "ax-2.4-20mhz-1ss-gi0.8",
            117 / 13.6,
        ),
    ],
)
def test_rates_have_their_layer(bitrate, frequency, layer, mbps):
    found, rate_bps = layer_of(bitrate, frequency)
    assert found == layer
    assert rate_bps == pytest.approx(mbps * 1e6, rel=1e-4)


@pytest.mark.parametrize(
    ("bitrate", "sentence"),
    [
        ("", "whose kind is not known"),
        (
            "144.4 MBit/s HE-MCS 11 HE-NSS 1 HE-GI 0 HE-DCM 0 HE-RU-ALLOC 2",
            "whose kind is not known",
        ),
        ("37.0 MBit/s", "a rate that a lacks"),
        ("65.0 MBit/s MCS 99", "streams"),
    ],
)
def test_rates_that_are_none_are_refused(bitrate, sentence):
    with pytest.raises(DumpError, match=sentence):
        layer_of(bitrate, 5180)


def test_what_is_missing_is_named():
    with pytest.raises(DumpError, match="m2: there is no line with 'addr'"):
        read_router("m2", "")
    with pytest.raises(DumpError, match="m2: there is no line with 'channel'"):
        read_router("m2", "\taddr 02:00:00:00:02:00\n")
    with pytest.raises(DumpError, match="m2 and twin have one address, 02:00:00:00:02:00"):
        mesh_of([*routers(), read_router("twin", text(2))], [["m2", "m4"]])
    with pytest.raises(
        DumpError, match=r"m2 -> m3: tx bitrate is '55\.0 MBit/s', a rate that g lacks"
    ):
        mesh_of(routers(m2=text(2).replace("54.0 MBit/s", "55.0 MBit/s")), [["m2", "m4"]])


def test_flows_and_routes_are_checked():
    with pytest.raises(DumpError, match="a flow names 'roof'; the files are of m2, m3, m4"):
        mesh_of(routers(), [["roof", "m4"]])
    with pytest.raises(DumpError, match="leads from m2 to itself"):
        mesh_of(routers(), [["m2", "m2"]])
    with pytest.raises(DumpError, match="has the hop m2 -> m4, but m2 has no peering with m4"):
        mesh_of(routers(), [["m3", "m2", "m4"]])
    # 0x14: the path is resolved, and no longer active.
    stale = text(2).replace("0x15\t2\t1", "0x14\t2\t1")
    with pytest.raises(DumpError, match="m2 knows no active path to m4; send packets"):
        mesh_of(routers(m2=stale), [["m2", "m4"]])
    strange = text(2).replace(
        "02:00:00:00:04:00 02:00:00:00:03:00", "02:00:00:00:04:00 02:00:00:00:09:00"
    )
    with pytest.raises(DumpError, match="next hop of m2 to m4 is 02:00:00:00:09:00"):
        mesh_of(routers(m2=strange), [["m2", "m4"]])
    back = text(3).replace(
        "02:00:00:00:04:00 02:00:00:00:04:00", "02:00:00:00:04:00 02:00:00:00:02:00"
    )
    with pytest.raises(DumpError, match="the paths from m2 to m4 return to m2"):
        mesh_of(routers(m3=back), [["m2", "m4"]])


def test_a_route_that_is_given_needs_no_paths():
    without = text(2).split("DEST ADDR")[0]
    mesh = mesh_of(routers(m2=without), [["m2", "m3", "m4"], ["m2", "m3"]])
    assert [flow["route"] for flow in mesh.table["flow"]] == [["m2", "m3", "m4"], ["m2", "m3"]]


def test_a_neighbour_without_a_file_is_said():
    done = CliRunner().invoke(main, ["size", "mesh-file", *FILES[:2], "--flow", "m2,m3"])
    assert done.exit_code == 0
    assert "m3 has neighbours of which there is no file: 02:00:00:00:04:00" in done.stderr
    assert "m4" not in done.stdout


def test_a_wrong_file_is_one_sentence(tmp_path):
    path = tmp_path / "huge.iw"
    path.write_bytes(bytes((1 << 20) + 1))
    done = CliRunner().invoke(main, ["size", "mesh-file", str(path), "--flow", "huge,m2"])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "longer than 1 MiB" in done.stderr
    done = CliRunner().invoke(main, ["size", "mesh-file", FILES[0], "--flow", "m2"])
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)


@given(st.text(alphabet="0x:aST \tdnr(o)5\nMBit/s", max_size=300))
def test_any_text_gives_a_router_or_a_sentence(more):
    try:
        mesh_of([read_router("m2", more + text(2)), *routers()[1:]], [["m2", "m4"]])
    except DumpError as error:
        assert "\n" not in str(error)
