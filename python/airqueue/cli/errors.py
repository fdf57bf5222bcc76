"""Reports errors from outside the program in one sentence instead of a traceback."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from airqueue.cli.talk import note

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
UNMET = 3
"""Exit code of a result that is not as expected."""
UNDECIDED = 4
"""Exit code of a result that does not decide whether it is as expected."""

_ADVICE = {
    errno.ENOSPC: "free some space or choose another place",
    errno.EDQUOT: "free some space or choose another place",
    errno.EACCES: "choose another place or change its permissions",
    errno.EISDIR: "name a file in it",
}

# Errors whose message is a sentence for the user, in modules that not every command loads.
_MENDABLE = (
    ("airqueue._native", "NativeError"),
    ("airqueue.lazy", "MissingExtraError"),
    ("airqueue.measure.prober", "ProbeError"),
    ("airqueue.measure.schema", "ResultError"),
    ("airqueue.measure.mgen_log", "MgenError"),
    ("airqueue.diagnose.legs", "LegError"),
    ("airqueue.diagnose.loads", "LoadError"),
    ("airqueue.diagnose.result", "DiagnosisError"),
    ("airqueue.diagnose.switching", "SwitchError"),
    ("airqueue.emulate.errors", "EmulationError"),
    ("airqueue.linux.config", "ConfigError"),
    ("airqueue.linux.errors", "NamespaceError"),
    ("airqueue.linux.errors", "MachineError"),
    ("airqueue.models.errors", "ModelError"),
    ("airqueue.sizing.mesh_dumps", "DumpError"),
    ("airqueue.sizing.plans", "PlanError"),
    ("airqueue.simulate.errors", "ScenarioError"),
    ("airqueue.simulate.errors", "ResultsError"),
    ("airqueue.runs.errors", "RunError"),
    ("airqueue.sweep.errors", "SweepError"),
)


# Warnings whose message is for the user too.
_TOLD = (("airqueue.simulate.errors", "RenamedKeyWarning"),)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn errors that the user can mend into a message and exit code 1, Ctrl-C into 130."""
    try:
        yield
    except click.UsageError as error:
        # With its full stop; the kinds of usage errors differ in how they are made.
        if error.message:
            error.__dict__["message"] = sentence(error.message)
        raise
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except click.ClickException:
        raise
    except Exception as error:
        message = said(error)
        if message is None:
            raise
        raise click.ClickException(message) from error


@contextmanager
def as_usage(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors about values of the command line into wrong usage, exit code 2."""
    try:
        yield
    except kinds as error:
        raise click.UsageError(sentence(error)) from error


def said(error: Exception) -> str | None:
    """Return an error that the user can mend as a sentence, None for other errors.

    The reader of a pipe who has gone is none: click ends quietly then.
    """
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        return None if error.errno == errno.EPIPE else describe(error)
    return sentence(error) if isinstance(error, _loaded(_MENDABLE)) else None


def sentence(error: Exception | str) -> str:
    """Return the message of an error with its full stop."""
    message = _shown(str(error))
    return message if message.endswith((".", "!", "?", "?)")) else f"{message}."


def _shown(text: str) -> str:
    r"""Return a text with the bytes of names that are not UTF-8 as in ``\xff``."""
    with suppress(UnicodeEncodeError):
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return text


def describe(error: OSError) -> str:
    """Return an operating system error as a sentence that names the file and what to do."""
    if error.strerror is None:
        return _shown(str(error))
    about = f"{_shown(str(error.filename))}: " if error.filename is not None else ""
    advice = _ADVICE.get(error.errno or 0)
    if error.errno == errno.ENOENT:
        advice = _example(str(error.filename))
    return f"{about}{error.strerror}{'' if advice is None else f'; {advice}'}."


def _example(path: str) -> str | None:
    """Say where an example is: help names examples as a checkout has them."""
    from airqueue.cli import examples  # noqa: PLC0415 - of this error alone

    found = examples.of_checkout(path)
    if found is None:
        return None
    return f'airqueue has this example: write "$(airqueue examples --path {found.name})" for it'


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Print warnings for the user on stderr, each once; Python handles other warnings."""
    reported: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, _loaded(_TOLD)):
                usual(message, category, *place, **more)
            elif str(message) not in reported:
                reported.add(str(message))
                note(f"Warning: {message}.")

        warnings.showwarning = show
        yield


def _loaded(names: tuple[tuple[str, str], ...]) -> tuple[type[Exception], ...]:
    """Return the classes of modules that are loaded already; import none."""
    kinds = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return tuple(kind for kind in kinds if kind is not None)
