"""Errors that the command turns into sentences are there under the names that it looks for."""

from importlib import import_module

import pytest

from airqueue.cli import errors


@pytest.mark.parametrize(("module", "name"), errors._MENDABLE)
def test_errors_that_become_sentences_are_exceptions(module: str, name: str) -> None:
    assert issubclass(getattr(import_module(module), name), Exception)
