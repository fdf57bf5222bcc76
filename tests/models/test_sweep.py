"""Rows of a sweep, their errors, and the JSON of both formats against its schema."""

import json

import jsonschema
import numpy as np
import pytest

from airqueue.models import sweep
from airqueue.models.arguments import ArgumentError, read
from airqueue.models.catalogue import MODULES, Figure, Kind, Model, Output, Parameter, find
from airqueue.models.errors import ModelError, ParameterError


def figures(n: int, rate: float, shares: tuple[float, ...]) -> dict[str, Figure]:
    if n == 13:
        raise ParameterError("n", "n is 13; it must be another")
    each = rate / n if n else float("nan")
    return {
        "word": "many" if n > 1 else None,
        "each_bps": np.float64(each),
        "share_bps": np.asarray(shares) * rate,
        "fair": np.bool_(len(set(shares)) == 1),
    }


MODEL = Model(
    "shares",
    "Shares of a rate.",
    (
        Parameter("n", "stations", 1, Kind.WHOLE),
        Parameter("rate", "rate of the cell", 1e6, Kind.RATE),
        Parameter("shares", "share of each", (0.5, 0.5), Kind.NUMBERS),
    ),
    (
        Output("word", "a word"),
        Output("each_bps", "equal share"),
        Output("share_bps", "shares"),
        Output("fair", "all alike"),
    ),
    figures,
    "n=1..5",
)


def valid(name: str, content: object) -> None:
    jsonschema.Draft202012Validator.check_schema(sweep.schema(name))
    jsonschema.validate(content, sweep.schema(name))
    json.dumps(content, allow_nan=False)


def test_the_last_sweep_varies_fastest() -> None:
    rows = list(sweep.rows(read(MODEL, ["rate=1mbit,2mbit", "n=1..2"])))
    assert [(row["rate"], row["n"]) for row in rows] == [(1e6, 1), (1e6, 2), (2e6, 1), (2e6, 2)]
    assert [row["each_bps"] for row in rows] == [1e6, 5e5, 2e6, 1e6]
    assert [row["word"] for row in rows] == [None, "many", None, "many"]


def test_rows_are_plain_python() -> None:
    (row,) = sweep.rows(read(MODEL, ["shares=0.25,0.75"]))
    assert row["share_bps"] == [0.25e6, 0.75e6]
    assert type(row["each_bps"]) is float
    assert row["fair"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["n=13"], "n is 13; it must be another"),
        (["n=12..14"], "at n=13: n is 13; it must be another"),
        (["rate=1mbit,2mbit", "n=13"], "at rate=1mbit: n is 13; it must be another"),
        (["n=0"], "each_bps is nan for these parameters; use less extreme ones"),
    ],
)
def test_errors_say_where(arguments: list[str], message: str) -> None:
    with pytest.raises(ModelError) as raised:
        list(sweep.rows(read(MODEL, arguments)))
    assert str(raised.value) == message


def test_outputs_are_chosen_once_in_their_order() -> None:
    assert sweep.chosen(MODEL, None) == MODEL.outputs
    assert [o.name for o in sweep.chosen(MODEL, ["fair", "word", "fair"])] == ["fair", "word"]
    with pytest.raises(ArgumentError, match=r"no output 'each'; did you mean 'each_bps'\? it has"):
        sweep.chosen(MODEL, ["each"])


def test_a_result_follows_its_schema() -> None:
    request = read(MODEL, ["rate=1mbit,2mbit", "shares=0.5,0.5/1"])
    rows = list(sweep.rows(request))
    content = sweep.result(request, sweep.chosen(MODEL, ["share_bps"]), rows)
    valid("sweep", content)
    assert content["swept"] == ["rate", "shares"]
    assert content["columns"]["rate"] == "rate of the cell, in b/s"
    assert content["rows"][1] == {"rate": 1e6, "shares": [1.0], "share_bps": [1e6]}
    assert content["parameters"] == {"n": 1}
    assert content["complete"] is True
    partial = sweep.result(request, MODEL.outputs, rows[:3])
    valid("sweep", partial)
    assert (partial["complete"], partial["points"], len(partial["rows"])) == (False, 4, 3)


def test_the_catalogue_follows_its_schema() -> None:
    content = sweep.catalogue([MODEL, *map(find, MODULES)])
    valid("catalogue", content)
    assert [m["name"] for m in content["models"]] == ["shares", *MODULES]
    shares = content["models"][0]["parameters"][2]
    assert shares["default"] == [0.5, 0.5]
    assert shares["kind"] == Kind.NUMBERS.value


def test_unknown_models_are_named_with_what_is_near() -> None:
    with pytest.raises(ModelError, match="no model 'tay-chau'; did you mean 'tay-chua'"):
        find("tay-chau")
    with pytest.raises(ModelError, match=f"there are {next(iter(MODULES))}, "):
        find("")
