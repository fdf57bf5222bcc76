"""Arguments of models: what each text means, ranges to the last point, and no text that crashes."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airqueue.models.arguments import MAX_POINTS, ArgumentError, Sweep, read, written
from airqueue.models.catalogue import REQUIRED, Kind, Model, Output, Parameter

KINDS = {
    "x": Parameter("x", "a number", 1.0),
    "n": Parameter("n", "a count", 1, Kind.WHOLE),
    "rate": Parameter("rate", "a rate", 1e6, Kind.RATE),
    "wait": Parameter("wait", "a time", 0.1, Kind.DURATION),
    "size": Parameter("size", "a size", 1500, Kind.SIZE),
    "form": Parameter("form", "a choice", "new", Kind.CHOICE, ("new", "old")),
    "word": Parameter("word", "a text", "", Kind.TEXT),
    "limit": Parameter("limit", "an optional number", None),
    "other": Parameter("other", "an optional text", None, Kind.TEXT),
    "xs": Parameter("xs", "numbers", (1.0,), Kind.NUMBERS),
    "rates": Parameter("rates", "rates", (1e6,), Kind.RATES),
    "waits": Parameter("waits", "times", None, Kind.DURATIONS),
}
MODEL = Model(
    "every-kind", "Every kind.", tuple(KINDS.values()), (Output("y", "a figure"),), dict, "x=1"
)


def value(argument: str) -> object:
    request = read(MODEL, [argument])
    assert not request.sweeps
    return request.fixed[argument.partition("=")[0]]


def sweep(argument: str) -> Sweep:
    (found,) = read(MODEL, [argument]).sweeps
    return found


@pytest.mark.parametrize(
    ("argument", "meant"),
    [
        ("x=10", 10.0),
        ("x=-2.5e-3", -0.0025),
        ("x= .5 ", 0.5),
        ("n=7", 7),
        ("n=1e3", 1000),
        ("n=2.0", 2),
        ("rate=54mbit", 54e6),
        ("rate=500kbit/s", 5e5),
        ("rate=5500000 b/s", 5.5e6),
        ("wait=100ms", 0.1),
        ("wait=20us", 2e-5),
        ("wait=1.5 s", 1.5),
        ("wait=1e-3s", 0.001),
        ("wait=0s", 0.0),
        ("size=1500B", 1500),
        ("size=64KiB", 65536),
        ("size=64kB", 64000),
        ("form=old", "old"),
        ("word=a,b/c 1..2=3", "a,b/c 1..2=3"),
        ("limit=none", None),
        ("other=none", None),
        ("word=none", "none"),
        ("limit=3", 3.0),
        ("xs=1,2.5", (1.0, 2.5)),
        ("xs=4", (4.0,)),
        ("rates=54mbit/s,1mbit", (54e6, 1e6)),
        ("waits=1ms,2ms", (0.001, 0.002)),
        ("waits=none", None),
    ],
)
def test_one_value(argument: str, meant: object) -> None:
    got = value(argument)
    assert got == meant
    assert type(got) is type(meant)


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("x=1,2,5", (1, 2, 5)),
        ("x=1..4", (1, 2, 3, 4)),
        ("x=4..1", (4, 3, 2, 1)),
        ("x=2..2", (2,)),
        ("x=0..1:0.25", (0, 0.25, 0.5, 0.75, 1)),
        ("x=0..1:0.3", (0, 0.3, 0.6, 0.9)),
        ("x=1..0:-0.5", (1, 0.5, 0)),
        ("x=1..0:0.5", (1, 0.5, 0)),
        ("x=-1..1", (-1, 0, 1)),
        ("x=1,10..30:10,5", (1, 10, 20, 30, 5)),
        ("x=1e300..1.5e300:2.5e299", (1e300, 1.25e300, 1.5e300)),
        ("x=1e-300..1e300*1e300", (1e-300, 1, 1e300)),
        ("n=1..50:7", (1, 8, 15, 22, 29, 36, 43, 50)),
        ("n=2..64*2", (2, 4, 8, 16, 32, 64)),
        ("n=64..2*2", (64, 32, 16, 8, 4, 2)),
        ("n=64..2*0.25", (64, 16, 4)),
        ("n=81..1*3", (81, 27, 9, 3, 1)),
        ("rate=1mbit..2mbit:500kbit", (1e6, 1.5e6, 2e6)),
        ("rate=2mbit..1mbit:1mbit", (2e6, 1e6)),
        ("rate=1mbit..100mbit*10", (1e6, 1e7, 1e8)),
        ("wait=100ms..300ms:0.1s", (0.1, 0.2, 0.3)),
        ("wait=100ms..0.3s step 100 ms", (0.1, 0.2, 0.3)),
        ("x=0..1 points 5", (0, 0.25, 0.5, 0.75, 1)),
        ("n=1..1000 points 4 log", (1, 10, 100, 1000)),
        ("n=2..16 factor 2", (2, 4, 8, 16)),
        ("size=1kB..2KiB:1kB", (1000, 2000)),
        ("size=1500B..1502B", (1500, 1501, 1502)),
        ("form=old,new", ("old", "new")),
        ("limit=none,4", (None, 4)),
        ("xs=1,2/3/none", None),
        ("xs=1,2/3", ((1, 2), (3,))),
        ("rates=54mbit/s,1mbit/s/11mbit/s", ((54e6, 1e6), (11e6,))),
        ("waits=none/1ms", (None, (0.001,))),
    ],
)
def test_several_values(argument: str, values: tuple[object, ...] | None) -> None:
    if values is None:
        with pytest.raises(ArgumentError):
            sweep(argument)
    else:
        assert sweep(argument).values == values


def test_steps_do_not_add_up_errors() -> None:
    tenths = sweep("x=0..1:0.1").values
    assert tenths == tuple(k / 10 for k in range(11))
    assert sweep("x=0..90:0.001").values[-1] == 90
    assert len(sweep("x=0..9.9999:0.0001").values) == MAX_POINTS


@given(
    st.decimals(-1000, 1000, places=3),
    st.decimals("0.001", 10, places=3),
    st.integers(0, 300),
    st.booleans(),
)
def test_a_range_is_its_definition(start, step, steps, down) -> None:  # type: ignore[no-untyped-def]
    end = start - step * steps if down else start + step * steps
    values = sweep(f"x={start}..{end}:{step}").values
    exact = [Fraction(start) + (-1 if down else 1) * k * Fraction(step) for k in range(steps + 1)]
    assert values == tuple(float(point) for point in exact)


@given(st.integers(1, 1000), st.integers(2, 50), st.integers(0, 12))
def test_a_geometric_range_is_its_definition(start: int, factor: int, steps: int) -> None:
    values = sweep(f"x={start}..{start * factor**steps}*{factor}").values
    assert values == tuple(float(start * factor**k) for k in range(steps + 1))


def test_only_factors_make_an_axis_logarithmic() -> None:
    assert sweep("n=1..64*2").geometric
    assert not sweep("n=1..64").geometric
    assert not sweep("n=1..64*2,100").geometric
    assert not sweep("form=old,new").geometric


def test_a_request_has_everything_in_order() -> None:
    request = read(MODEL, ["rate=1mbit,2mbit", "x=3", "n=1..5"])
    assert [s.parameter.name for s in request.sweeps] == ["rate", "n"]
    assert request.points == 10
    assert list(request.fixed) == [name for name in KINDS if name not in ("rate", "n")]
    assert request.given.startswith("x=3 wait=100ms size=1500B form=new")
    assert read(MODEL, []).points == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "'x' is not key=value"),
        (["y=1"], "no parameter 'y'"),
        (["rat=1"], "did you mean 'rate'"),
        (["x=1", "x=2"], "x is given twice"),
        (["x="], "x=: there is no value"),
        (["word= "], "there is no value"),
        (["xs="], "there is no value"),
        (["x=one"], '"one" is not a number'),
        (["x=nan"], '"nan" is not a number'),
        (["x=inf"], '"inf" is not a number'),
        (["x=none"], '"none" is not a number'),
        (["x=1e999"], "too large"),
        (["x=" + "9" * 310], "too large"),
        (["x=１"], "is not a number"),
        (["x=1,,2"], '"" is not a number'),
        (["n=1.5"], "1.5 is not a whole number"),
        (["n=1e300"], "too large"),
        (["n=1..2:0.5"], "0.5 is not a whole number"),
        (["n=1..4*1.5"], "1.5 is not a whole number"),
        (["rate=54mbit"] * 2, "twice"),
        (["rate=54"], '"54" has no unit; a rate has the units b/s, kb/s, Mb/s or Gb/s, such as'),
        (["wait=1ms,2"], '"2" has no unit'),
        (["size=1500"], 'such as "1500 B" or "64kB"'),
        (["rates=1mbit/2"], '"2" has no unit'),
        (["rate=fast"], "not a rate"),
        (["rate=7 MB/s"], 'has the unit "MB/s"; a rate'),
        (["rate=1mb..2mbps:1mbit"], 'has the unit "mbps"; a rate'),
        (["rate=1mbit..2mbit"], "needs a step"),
        (["wait=1d"], "length of time"),
        (["size=1.5B"], "not a whole number"),
        (["size=1TB"], "a size has the units"),
        (["form=newer"], "did you mean 'new'"),
        (["form=new..old"], "none of the choices"),
        (["xs=1..3"], "is not a number"),
        (["x=1..5:0"], "the step is zero"),
        (["x=1..5:-1"], "goes down and the range up"),
        (["x=1..5:"], '"" is not a number'),
        (["x=..5"], '"" is not a number'),
        (["x=1.."], '"" is not a number'),
        (["x=1..5:1:1"], '"1:1" is not a number'),
        (["x=0..5*2"], "above zero"),
        (["x=-8..-1*2"], "above zero"),
        (["x=1..5*1"], "not 1"),
        (["x=1..5*-2"], "above zero"),
        (["x=1..5*0.5"], "use one above 1"),
        (["x=0..100000"], "100,001 values"),
        (["x=0..1e300"], "far too many"),
        (["x=1e-300..1e300*1.0000001"], "values"),
        (["x=1..60000,1..60000"], "more than 100,000 values"),
        (["x=1..1000", "n=1..1000"], "1,000,000 points"),
        (["xs=" + "1/" * 100_001 + "1"], "100,002 points"),
    ],
)
def test_what_cannot_be_read_is_said(arguments: list[str], message: str) -> None:
    with pytest.raises(ArgumentError) as raised:
        read(MODEL, arguments)
    assert message in str(raised.value)
    assert len(str(raised.value)) < 250
    assert "\n" not in str(raised.value)


def test_missing_parameters_are_named() -> None:
    needy = Model(
        "needy",
        "It needs.",
        (Parameter("n", "stations"), Parameter("m", "flows", REQUIRED), Parameter("k", "k", 1)),
        (Output("y", "a figure"),),
        dict,
        "n=1 m=2",
    )
    assert repr(needy.parameters[0].default) == "required"
    with pytest.raises(ArgumentError, match=r"needy needs n=\.\.\. and m=\.\.\., as in 'n=1 m=2'"):
        read(needy, ["k=2"])
    with pytest.raises(ArgumentError, match=r"needs m=\.\.\."):
        read(needy, ["n=1..3"])


numbers = st.floats(allow_nan=False, allow_infinity=False)
BY_KIND = {
    "x": numbers,
    "n": st.integers(-(2**53), 2**53),
    "rate": st.floats(0, allow_infinity=False),
    "wait": st.floats(0, allow_infinity=False),
    "size": st.integers(0, 2**53),
    "form": st.sampled_from(("new", "old")),
    "limit": st.none() | numbers,
    "xs": st.lists(numbers, min_size=1).map(tuple),
    "rates": st.lists(st.floats(0, 1e12), min_size=1).map(tuple),
    "waits": st.none() | st.lists(st.floats(0, 1e5), min_size=1).map(tuple),
}


@pytest.mark.parametrize("name", BY_KIND)
@given(st.data())
def test_what_is_written_is_read_back(name: str, data: st.DataObject) -> None:
    original = data.draw(BY_KIND[name])
    assert value(f"{name}={written(KINDS[name].kind, original)}") == original


@pytest.mark.parametrize(
    ("kind", "number", "shown"),
    [
        (Kind.RATE, 54e6, "54mbit"),
        (Kind.RATE, 1e9, "1gbit"),
        (Kind.RATE, 0.0, "0bit"),
        (Kind.RATE, 1234567.0, "1234567bit"),
        (Kind.DURATION, 9e-6, "9us"),
        (Kind.DURATION, 0.0205, "20.5ms"),
        (Kind.DURATION, 1e-9, "1ns"),
        (Kind.SIZE, 1500, "1500B"),
        (Kind.NUMBER, 0.1 + 0.2, "0.30000000000000004"),
        (Kind.NUMBERS, (), ""),
    ],
)
def test_values_are_written_as_people_write_them(kind: Kind, number: object, shown: str) -> None:
    assert written(kind, number) == shown


PIECES = st.sampled_from(
    [*KINDS, "=", "..", ":", "*", ",", "/", "-", "1", "0", "9e9", "1e-9", ".5"]
)
UNITS = st.sampled_from(
    ["mbit", "ms", "KiB", "/s", "none", "nan", "inf", "new", "٣", "\ud800", " "]
)


@given(st.lists(st.text() | st.lists(PIECES | UNITS).map("".join), max_size=4))
@example(["x=" + "9" * 5000])
@example(["n=9e99..1e-99*1e-99"])
@example(["rates=/s/s/"])
def test_no_text_does_worse_than_an_argument_error(arguments: list[str]) -> None:
    try:
        request = read(MODEL, arguments)
    except ArgumentError as error:
        assert str(error).encode()
        return
    assert 0 < request.points <= MAX_POINTS
    assert set(request.fixed) | {s.parameter.name for s in request.sweeps} == set(KINDS)
    for swept in request.sweeps:
        assert all(math.isfinite(v) for v in swept.values if isinstance(v, int | float))
