"""Errors that the command turns into sentences are there under the names that it looks for."""

from importlib import import_module

import pytest

from airqueue.cli import errors, main


@pytest.mark.parametrize(("module", "name"), errors._MENDABLE)
def test_errors_that_become_sentences_are_exceptions(module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), Exception)


@pytest.mark.parametrize("given", ["x", "0", "1.5", "100001", ""])
def test_a_number_out_of_bounds_is_told_the_bounds(runner, given):
    done = runner.invoke(main, ["simulate", "cell.toml", "--replications", given])
    assert done.exit_code == 2
    assert f"{given!r} is no whole number from 1 to 100000." in done.stderr


@pytest.mark.parametrize("given", ["x", "-1", "nan"])
def test_a_number_with_a_fraction_is_told_the_bounds(runner, given):
    done = runner.invoke(main, ["size", "web", "--users", "5", "--round-trips", given])
    assert done.exit_code == 2
    assert f"{given!r} is no number from 0 " in done.stderr
