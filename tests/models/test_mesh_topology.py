"""Meshes as data and as files, among them files that are wrong or hostile."""

from itertools import pairwise
from pathlib import Path

import pytest

from airqueue.models import mesh_file, mesh_topology
from airqueue.models.errors import ModelError, ParameterError
from airqueue.models.mesh_file import parse_topology, read_topology
from airqueue.models.mesh_topology import (
    Flow,
    Link,
    Topology,
    TopologyError,
    chain,
    cross,
    parking_lot,
)
from airqueue.toml_text import MAX_FILE_BYTES

EXAMPLES = Path(__file__).parents[2] / "examples" / "mesh"

GOOD = """
title = "two hops"
radio = "b-ack-11"
rate = "11mbit"
nodes = ["a", "b", "c"]

[[link]]
between = ["a", "b"]

[[link]]
from = "b"
to = "c"
rate = "5.5mbit"
channel = 6

[[flow]]
route = ["a", "b", "c"]
rate = "1mbit"
delay = "20ms"
"""

PLACED = """
radio = "mesh-ac"
range_m = 100
[nodes]
a = [0, 0]
b = [80.5, 0]
c = [160, 0]
[[link]]
from = "b"
to = "c"
rate = "195mbit"
[[flow]]
route = ["a", "b", "c"]
"""


def test_a_file_of_links() -> None:
    mesh = parse_topology(GOOD)
    assert mesh.nodes == ("a", "b", "c")
    assert [str(link) for link in mesh.links] == ["a -> b", "b -> a", "b -> c"]
    assert mesh.links[2].rate_bps == 5.5e6
    assert [link.channel for link in mesh.links] == ["1", "1", "6"]
    assert mesh.flows == (Flow("flow 1", ("a", "b", "c"), 1e6, 0.02),)
    assert mesh.neighbours().tolist() == [[0, 1], [1, 2]]


def test_a_file_of_positions_needs_no_links() -> None:
    mesh = parse_topology(PLACED)
    assert {str(link): link.rate_bps for link in mesh.links} == pytest.approx(
        {"b -> c": 195e6, "a -> b": 866_666_666.67}
    )
    assert sorted(map(sorted, mesh.neighbours().tolist())) == [[0, 1], [1, 2]]


def test_rts_and_a_channel_for_all() -> None:
    mesh = parse_topology(f'rts = true\nchannel = "5 GHz"\n{GOOD}')
    assert mesh.rts
    assert [link.channel for link in mesh.links] == ["5 GHz", "5 GHz", "6"]


def test_positions_without_a_range_are_for_drawing() -> None:
    text = GOOD.replace('nodes = ["a", "b", "c"]', "").replace(
        "[[flow]]", "[nodes]\na = [0, 0]\nb = [9e8, 0]\nc = [1, 2]\n[[flow]]"
    )
    mesh = parse_topology(text)
    assert mesh.positions_m["c"] == (1, 2)
    assert len(mesh.neighbours()) == 2


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_examples_are_read(path: Path) -> None:
    mesh = read_topology(path)
    assert mesh.title
    assert mesh.flows


def test_the_examples_are_the_built_meshes() -> None:
    for name, built in (("chain", chain(4)), ("parking-lot", parking_lot()), ("cross", cross())):
        mesh = read_topology(EXAMPLES / f"{name}.toml")
        assert len(mesh.nodes) == len(built.nodes)
        assert len(mesh.neighbours()) == len(built.neighbours())
        assert [len(f.route) for f in mesh.flows] == [len(f.route) for f in built.flows]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "two hops"', "title = 3", "title: 3; expected one line of text"),
        ('title = "two hops"', 'titel = "x"', "the top level: the key 'titel'.*mean 'title'"),
        ('title = "two hops"', "zebra = 1", "the key 'zebra'; expected one of title"),
        ('title = "two hops"', "rts = 1", "rts: 1; expected true or false"),
        ('title = "two hops"', "range_m = 10", "range_m: nodes without positions"),
        ('title = "two hops"', 'range_m = "far"', "range_m: 'far'; expected a distance"),
        ('title = "two hops"', "title = 'a' 'b'", "expected valid TOML"),
        ('title = "two hops"', "rate = '1mbit'", "overwrite a value; expected valid TOML"),
        ('radio = "b-ack-11"', "", "link 1: radio: nothing; expected how its frames are timed"),
        ('radio = "b-ack-11"', 'radio = "d"', "link 1: radio is 'd'; it must be one of b-ack-11"),
        ('rate = "11mbit"', 'rate = "54mbit"', "link 1: rate_bps is 54 Mb/s, which b-long has not"),
        ('rate = "11mbit"', "rate = 11", "rate: 11; expected a rate with its unit"),
        ('rate = "11mbit"', 'rate = "11"', "rate: '11'; expected a rate with its unit"),
        ('rate = "11mbit"', f"rate = 1{'0' * 4000}", "rate: a huge number"),
        ('rate = "11mbit"', "rate = [11]", "rate: a list of 1; expected"),
        (
            'nodes = ["a", "b", "c"]',
            "",
            "^missing key nodes; expected the names of the nodes, as in",
        ),
        ('nodes = ["a", "b", "c"]', "nodes = 3", "nodes: 3; expected their names"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a"]', "nodes: there are 1; expected from 2"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a", "b", 3]', "nodes: 3; expected a name"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a", "b", " "]', "nodes: ' '; expected a name"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a", "b", "\\u001b"]', r"nodes: '\\x1b'; expected"),
        ('nodes = ["a", "b", "c"]', f'nodes = ["a", "{"b" * 65}"]', "nodes: a name of 65 char"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a", "b", "a"]', "nodes: 'a' is there twice"),
        ('nodes = ["a", "b", "c"]', 'nodes = ["a", "b"]', "link 'b -> c': there is no node 'c'"),
        ('["a", "b"]\n\n', '["a", "d"]\n\n', "link 'a -> d': there is no node 'd'"),
        ('["a", "b"]\n\n', '["a"]\n\n', "link 1: between: a list of 1; expected two nodes"),
        ('["a", "b"]\n\n', '["a", "a"]\n\n', "link 1: the link 'a -> a' again"),
        ('["a", "b"]\n\n', '"ab"\n\n', "link 1: between: 'ab'; expected two nodes"),
        ('["a", "b"]\n\n', '["b", "c"]\n\n', "link 2: the link 'b -> c' again"),
        ('from = "b"', "", "link 2: no ends; expected between"),
        ('from = "b"', 'from = "c"', "link 'c -> c': both ends are the same"),
        ('from = "b"', 'from = "b"\nbetween = ["b", "c"]', "link 2: both between and from"),
        ('from = "b"', 'from = "b"\ncost = 1', "link 2: the key 'cost'; expected one of between"),
        ("channel = 6", "channel = -1", "link 2: channel: -1; expected a channel"),
        ("channel = 6", "channel = true", "link 2: channel: True; expected a channel"),
        ("channel = 6", 'channel = ""', "link 2: channel: ''; expected a name"),
        ('rate = "5.5mbit"', 'rate = "7mbit"', "link 2: rate_bps is 7 Mb/s"),
        ('route = ["a", "b", "c"]', "", "flow 1: route: nothing; expected nodes from source"),
        ('route = ["a", "b", "c"]', 'route = ["a"]', "flow 1: route: nodes: there are 1"),
        ('route = ["a", "b", "c"]', 'route = ["a", "z"]', "flow 'flow 1': route: there is no node"),
        ('route = ["a", "b", "c"]', 'route = ["a", "c"]', "route: no link 'a -> c'"),
        ('route = ["a", "b", "c"]', 'route = ["c", "b"]', "route: no link 'c -> b'"),
        ('route = ["a", "b", "c"]', 'route = ["a", "b", "a"]', "route: 'a' is there twice"),
        ('delay = "20ms"', 'delay = "-20ms"', "flow 1: delay: '-20ms'; expected a time"),
        ('delay = "20ms"', 'delay = "2000s"', "flow 'flow 1': delay: 2000 s; expected from 0"),
        ('delay = "20ms"', 'hops = 3\ndelay = "1s"', "flow 1: the key 'hops'"),
        ('delay = "20ms"', '[[flow]]\nname = "flow 1"\nroute = ["a", "b"]', "flow: 'flow 1' is"),
        ("[[flow]]", "[flow]", "flow: a table of 3; expected entries that begin with"),
        ("[[flow]]", "[[flows]]", "the key 'flows'.*did you mean 'flow'"),
        ("[[link]]", "[[x]]", "the key 'x'"),
    ],
)
def test_wrong_files_are_explained(old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(TopologyError, match=says):
        parse_topology(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("c = [160, 0]", "c = [300, 0]", "link 'b -> c': its ends are 219.5 m apart; expected at"),
        ("c = [160, 0]", "c = [160]", "nodes.c: a list of 1; expected a position in m"),
        ("c = [160, 0]", 'c = "far"', "nodes.c: 'far'; expected a position"),
        ("c = [160, 0]", "c = [nan, 0]", "nodes: 'c': position"),
        ("c = [160, 0]", "c = [1e300, 0]", "nodes: 'c': position.*at most 1e\\+09 from 0"),
        ("c = [160, 0]", "c = [true, 0]", "nodes.c: a list of 2; expected a position"),
        ("c = [160, 0]", f"c = [1{'0' * 400}, 0]", "nodes.c"),
        ("b = [80.5, 0]", "b = [120, 0]", "link 'a -> b': its ends are 120 m apart"),
        ("range_m = 100", "range_m = -1", "range_m: -1; expected a distance"),
        ("range_m = 100", "range_m = inf", "range_m: inf; expected a distance"),
        ("[[flow]]", "[flow]", "flow: a table"),
        ("[[flow]]\n", "[[flow]]\nname = 7\n", "flow 1: name: 7; expected a name"),
    ],
)
def test_wrong_positions_are_explained(old: str, new: str, says: str) -> None:
    assert old in PLACED
    with pytest.raises(TopologyError, match=says):
        parse_topology(PLACED.replace(old, new, 1))


def test_entries_that_are_none() -> None:
    with pytest.raises(TopologyError, match=r"link 1: 3; expected an entry that begins with"):
        parse_topology(GOOD.replace("[[link]]", "link = [3]\n[x]").split("[x]")[0])


def test_no_flow() -> None:
    with pytest.raises(TopologyError, match="flows: there are 0"):
        parse_topology(GOOD.split("[[flow]]", maxsplit=1)[0])


def test_hostile_files_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mesh.toml"
    many = "'n'," * 20_000
    for data, says in (
        (b"title = '\xff'", "line 1 is not UTF-8"),
        (b"a = " + b"[" * 100_000, "nested too deeply|expected valid TOML"),
        (b"#" * (MAX_FILE_BYTES + 1), ": too large; expected at most 1 MiB"),
        (b"\x00", "expected valid TOML"),
        (b"a." * 50_000 + b"b = 1", "a key of fifty parts"),
        (b"", ": missing key nodes; expected the names"),
        (f"x = {'9' * 10_000}".encode(), "expected valid TOML"),
        (f"nodes = [{many}]".encode(), "nodes: there are 20,000"),
    ):
        path.write_bytes(data)
        with pytest.raises(TopologyError, match=says) as raised:
            read_topology(path)
        assert str(raised.value).startswith(f"{path}: ")
        assert len(str(raised.value)) < 1000
    with pytest.raises(OSError, match=r"none\.toml"):
        read_topology(tmp_path / "none.toml")


def test_many_links_are_read_quickly() -> None:
    count = 4000
    names = [f"n{i}" for i in range(count)]
    links = "".join(f'[[link]]\nbetween = ["{a}", "{b}"]\n' for a, b in pairwise(names))
    flow = '[[flow]]\nroute = ["n0", "n1"]\n'
    text = f'radio = "b-ack-11"\nnodes = {names}\n{links}{flow}'.replace("'", '"')
    assert len(parse_topology(text).links) == 2 * (count - 1)


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh_topology, "MAX_NEIGHBOURS", 1)
    with pytest.raises(TopologyError, match="pairs of nodes within range_m: there are 2"):
        parse_topology(PLACED).neighbours()
    monkeypatch.setattr(mesh_topology, "MAX_ROUTE_HOPS", 2)
    with pytest.raises(TopologyError, match="the flows' hops: there are 3"):
        parse_topology(PLACED)
    monkeypatch.setattr(mesh_file, "MAX_LINKS", 1)
    with pytest.raises(TopologyError, match="link: there are 2"):
        parse_topology(GOOD)


LINK = Link("a", "b", 1e6)


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"links": (Link("a", "b", 0.0),)}, "link 'a -> b': rate"),
        ({"links": (Link("a", "b", float("nan")),)}, "link 'a -> b': rate"),
        ({"links": (LINK, LINK)}, "link"),
        ({"links": ()}, "links"),
        ({"flows": (Flow("f", ("a", "b"), -1.0),)}, "flow 'f': rate"),
        ({"flows": (Flow("f", ("a", "b"), None, float("nan")),)}, "flow 'f': delay"),
        ({"range_m": 5.0}, "nodes: 'a'"),
        ({"positions_m": {"z": (0.0, 0.0)}}, "the position of 'z'"),
    ],
)
def test_wrong_meshes_in_python(arguments: dict, place: str) -> None:
    whole = {"nodes": ("a", "b"), "links": (LINK,), "flows": (Flow("f", ("a", "b")),)}
    Topology(**whole)
    with pytest.raises(TopologyError) as raised:
        Topology(**{**whole, **arguments})
    assert raised.value.place == place
    assert isinstance(raised.value, ModelError)


def test_built_meshes() -> None:
    assert len(chain(5).links) == 10
    assert [len(flow.hops) for flow in parking_lot((1, 4)).flows] == [1, 4]
    assert len(cross(5, 4).nodes) == 21
    for call in (
        lambda: chain(0),
        lambda: chain(1.5),
        lambda: cross(5, 27),
        lambda: cross(10**6),
        lambda: parking_lot((0,)),
        lambda: parking_lot((float("nan"),)),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(TopologyError, match="flow_hops: there are 0"):
        parking_lot(())
    with pytest.raises(TopologyError, match="flow: '4 hops' is there twice"):
        parking_lot((4, 4))


@pytest.mark.parametrize("rate_bps", ["x", True, 0.5, float("nan"), [11e6]])
def test_a_rate_is_a_number_within_its_range(rate_bps):
    with pytest.raises(TopologyError, match="expected from 1 to 1e\\+12 b/s"):
        chain(2, rate_bps)
