"""What every model in the catalogue keeps to, so that the command can offer it."""

import json
import math
import random
import re
import resource
import shlex
import signal
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.models import sweep
from airqueue.models.arguments import read, written
from airqueue.models.catalogue import MODULES, Kind, Model, Parameter, find
from airqueue.models.errors import ModelError, ParameterError

PATIENCE_S = 10
MEMORY_BYTES = 4 << 30
"""What one evaluation may take at most, of a processor and of memory: a model must not go on or
allocate by a hostile number."""

HOSTILE = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e300, 1e-300, 1e9, 0.5)
# fmt: off
UNUSUAL = (
    0.0, 5e-324, 1e-300, 1e-6, 1e-3, 0.1, 0.5, 0.999999, 1, 2, 3, 10, 100, 1500, 1e5, 1e6, 54e6,
    1e9, 1e12, 1e15, 1e300, -1.0, math.nan, math.inf,
)
# fmt: on
HOSTILE_TEXTS = ("0", "-1", "nan", "inf", "1e300", "1e9", "0.5", "x", "", "0,0", "-1,1", "1e300,1")
SCALARS = (Kind.NUMBER, Kind.WHOLE, Kind.RATE, Kind.DURATION, Kind.SIZE)

EVERY_MODEL = pytest.mark.parametrize("name", MODULES)


@contextmanager
def watched() -> Iterator[None]:
    """Fail after PATIENCE_S or MEMORY_BYTES more, and on every warning."""

    def too_slow(*_: object) -> None:
        pytest.fail(f"no answer within {PATIENCE_S} s")

    used, hard = _address_space(), resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE_S)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, hard[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, hard)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[0]) * resource.getpagesize()


def defaults(model: Model) -> dict[str, object]:
    """The example's parameters, of a sweep the first point: a starting point that works."""
    request = read(model, shlex.split(model.example))
    return {**request.fixed, **{s.parameter.name: s.values[0] for s in request.sweeps}}


def answer(model: Model, parameters: Mapping[str, object]) -> None:
    """Fail unless an evaluation gives figures, none of them NaN or infinite, or a ModelError."""
    with watched():
        try:
            figures = model.evaluate(**parameters)
        except ModelError as error:
            assert str(error), "an error without a message"
            return
    for name, figure in figures.items():
        for number in np.ravel(np.asarray(figure, dtype=object)):
            finite = number is None or isinstance(number, str) or math.isfinite(number)
            assert finite, f"{name} is {number}"


@EVERY_MODEL
def test_it_is_described(name: str) -> None:
    model = find(name)
    assert model.name == name
    assert model.summary.endswith(".") and len(model.summary) <= 160
    assert model.outputs
    for named in (*model.parameters, *model.outputs):
        assert named.name.isidentifier() and named.name == named.name.lower()
        assert named.help.strip() and "\n" not in named.help
        assert not named.help.endswith(".")
    for group in (model.parameters, model.outputs):
        assert len({named.name for named in group}) == len(group)
    both = {p.name for p in model.parameters} & {o.name for o in model.outputs}
    assert not both, "a column of the table would have two meanings"


UNIT_ENDINGS = {
    Kind.RATE: "_bps",
    Kind.RATES: "_bps",
    Kind.DURATION: "_s",
    Kind.DURATIONS: "_s",
    Kind.SIZE: "_bytes",
}


@EVERY_MODEL
def test_its_parameters_are_named_with_their_units(name: str) -> None:
    for parameter in find(name).parameters:
        assert parameter.name.endswith(UNIT_ENDINGS.get(parameter.kind, "")), parameter.name
        for kind, ending in UNIT_ENDINGS.items():
            if parameter.name.endswith(ending):
                assert UNIT_ENDINGS.get(parameter.kind) == ending, f"{parameter.name} is no {kind}"


@EVERY_MODEL
def test_its_defaults_can_be_typed(name: str) -> None:
    for parameter in find(name).parameters:
        assert bool(parameter.choices) == (parameter.kind is Kind.CHOICE)
        if parameter.required or parameter.default in ("", ()):
            continue
        if parameter.kind is Kind.CHOICE and parameter.default is not None:
            assert parameter.default in parameter.choices
        typed = f"{parameter.name}={written(parameter.kind, parameter.default)}"
        fixed = read(_alone(find(name), parameter), [typed]).fixed[parameter.name]
        if isinstance(parameter.default, list | tuple):
            assert list(fixed) == list(parameter.default)
        else:
            assert fixed == parameter.default


def _alone(model: Model, parameter: Parameter) -> Model:
    return Model(model.name, model.summary, (parameter,), model.outputs, dict, model.example)


@EVERY_MODEL
def test_its_example_runs(name: str) -> None:
    model = find(name)
    with watched():
        arguments = ["model", name, *shlex.split(model.example)]
        shown = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert shown.exit_code == 0, shown.output
        written_out = CliRunner().invoke(main, [*arguments, "--json", "-"])
    content = json.loads(written_out.stdout, parse_constant=pytest.fail)
    jsonschema.validate(content, sweep.schema("sweep"))
    assert content["complete"] is True
    names = [output.name for output in model.outputs]
    assert list(content["columns"]) == [*content["swept"], *names]


@EVERY_MODEL
def test_its_help_runs(name: str) -> None:
    shown = CliRunner().invoke(main, ["model", name, "--help"], catch_exceptions=False)
    assert shown.exit_code == 0
    for named in (*find(name).parameters, *find(name).outputs):
        assert f"  {named.name}" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80


@EVERY_MODEL
def test_it_returns_what_it_declares(name: str) -> None:
    model = find(name)
    with watched():
        returned = model.evaluate(**defaults(model))
    assert set(returned) == {output.name for output in model.outputs}


@EVERY_MODEL
def test_hostile_values_get_an_answer_or_an_error(name: str) -> None:
    model = find(name)
    start = defaults(model)
    for parameter in model.parameters:
        for hostile in HOSTILE:
            if parameter.kind in SCALARS:
                values = [hostile]
            elif parameter.kind in (Kind.CHOICE, Kind.TEXT):
                continue
            else:
                values = [(), (hostile,), (1.0, hostile)]
            for value in values:
                _answered(model, start, {parameter.name: value})


@EVERY_MODEL
def test_an_error_names_what_the_user_wrote(name: str) -> None:
    model = find(name)
    start, known = defaults(model), {parameter.name for parameter in model.parameters}
    for parameter in model.parameters:
        if parameter.kind in (Kind.CHOICE, Kind.TEXT):
            continue
        for hostile in (*HOSTILE, 7e6):
            scalar = parameter.kind in SCALARS
            for value in [hostile] if scalar else [(), (hostile,), (1.0, hostile), (hostile,) * 3]:
                try:
                    model.evaluate(**{**start, parameter.name: value})
                except ParameterError as error:
                    assert error.parameter in known, error
                    keys = set(re.findall(r"[a-z]+(?:_[a-z]+)+", str(error)))
                    assert keys <= known, error
                except ModelError:
                    continue


@EVERY_MODEL
def test_unusual_combinations_get_an_answer_or_an_error(name: str) -> None:
    model = find(name)
    start = defaults(model)
    choose = random.Random(name)
    for _ in range(60):
        share = choose.choice((0.2, 0.5))
        unusual = {
            parameter.name: _unusual(parameter, choose)
            for parameter in model.parameters
            if parameter.kind is not Kind.TEXT and choose.random() < share
        }
        _answered(model, start, unusual)


def _unusual(parameter: Parameter, choose: random.Random) -> object:
    if parameter.kind is Kind.CHOICE:
        return choose.choice(parameter.choices)
    if parameter.kind in SCALARS:
        return choose.choice(UNUSUAL)
    return tuple(choose.choices(UNUSUAL, k=choose.choice((1, 2, 3))))


@pytest.mark.parametrize(
    ("name", "unusual"),
    [
        ("battiti-li", {"cw_min_low": 0}),
        ("battiti-li", {"stations_high": 1e5}),
        ("edca-hold", {"stations": (1e5,)}),
        ("sawtooth", {"packet_bytes": 5e-324}),
    ],
)
def test_corners_get_an_answer_or_an_error(name: str, unusual: dict[str, object]) -> None:
    model = find(name)
    assert set(unusual) <= {parameter.name for parameter in model.parameters}
    _answered(model, defaults(model), unusual)


def _answered(model: Model, start: Mapping[str, object], changed: Mapping[str, object]) -> None:
    """Fail, naming what was changed, if an evaluation gives anything but figures or a ModelError."""
    try:
        answer(model, {**start, **changed})
    except (Exception, pytest.fail.Exception) as error:
        shown = ", ".join(f"{name}={value}" for name, value in changed.items())
        raise AssertionError(
            f"{model.name} with {shown} gave {type(error).__name__}: {error}"
        ) from error


@EVERY_MODEL
def test_hostile_texts_get_an_answer_or_a_sentence(name: str) -> None:
    model = find(name)
    start = [
        f"{p.name}={written(p.kind, value)}"
        for p in model.parameters
        if (value := defaults(model)[p.name]) not in (None, "", ())
    ]
    for parameter in model.parameters:
        others = [text for text in start if not text.startswith(f"{parameter.name}=")]
        for hostile in HOSTILE_TEXTS:
            typed = f"{parameter.name}={hostile}"
            with watched():
                result = CliRunner().invoke(main, ["model", name, *others, typed, "--json", "-"])
            assert result.exit_code in (0, 1, 2), typed
            expected = (type(None), SystemExit)
            assert isinstance(result.exception, expected), (typed, repr(result.exception))
            if result.exit_code == 0:
                json.loads(result.stdout, parse_constant=pytest.fail)
            else:
                assert "Error: " in result.stderr, typed
