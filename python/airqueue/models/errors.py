"""Errors of models; each message says in a sentence what to change."""

from __future__ import annotations


class ModelError(ValueError):
    """A model has no result; the base class of the other errors."""


class ParameterError(ModelError):
    """A parameter lies outside the model's range; the message names it, its value and the range."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ConvergenceError(ModelError):
    """The model's equation has no solution, or none was found, for these parameters."""
