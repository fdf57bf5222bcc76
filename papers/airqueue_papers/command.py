"""`airqueue reproduce`: the tables and figures of six papers, beside our results."""

from __future__ import annotations

import functools
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click

import airqueue
from airqueue import provenance, text
from airqueue.cli.backends import backend_of, cluster_option, workers_option
from airqueue.cli.common import json_option, stdout
from airqueue.cli.errors import sentence
from airqueue.cli.written import check_directories, check_folders, check_outputs
from airqueue.files import write_atomically
from airqueue.linux.virtual import machine
from airqueue.runs import Local, Store
from airqueue.runs.backend import Backend
from airqueue_papers import command_tables
from airqueue_papers.command_progress import shown
from airqueue_papers.document import FORMAT, SABOTAGE_FORMAT, sabotage_to_text, schema, to_text
from airqueue_papers.item import Budget
from airqueue_papers.kernel import measured
from airqueue_papers.reproduction import (
    Chosen,
    Reproduced,
    UnknownItemError,
    choose,
    exact_before,
    missing,
    reproduce,
)
from airqueue_papers.sabotage import campaign, chosen_for


class _Reproduce(click.Command):
    """The command, with the schemas that `airqueue schema` lists."""

    schemas: ClassVar = {
        "reproduction": ("airqueue reproduce", schema),
        "sabotage": ("airqueue reproduce --sabotage", functools.partial(schema, SABOTAGE_FORMAT)),
    }


@click.command(
    "reproduce", cls=_Reproduce, short_help="Rebuild the tables and figures of six papers."
)
@click.argument("names", metavar="[PAPER[.ITEM]]...", nargs=-1)
@click.option(
    "--budget",
    type=click.Choice([each.value for each in Budget]),
    default=Budget.QUICK.value,
    show_default=True,
    help="How long all papers may take on two cores: 5 or 45 minutes.",
)
@click.option(
    "--out",
    "out_path",
    metavar="DIR",
    help="Write the report there: DIR/index.html, figures, scenario files, claims.json. Finished "
    "runs are kept in DIR/runs; without --out in the user's cache.",
)
@json_option
@click.option("--list", "only_list", is_flag=True, help="List the items, and run nothing.")
@click.option(
    "--exact",
    is_flag=True,
    help="Run the items with the Linux kernel's own queues and TCP on a virtual clock, and no "
    "others: an hour on two cores, whatever the budget. Needs user-mode Linux.",
)
@click.option(
    "--sabotage",
    is_flag=True,
    help="Run items also with each mechanism that their claims are about switched off, and tell "
    "which verdicts stand all the same. Finished runs are kept, as of other runs.",
)
@click.option(
    "--schema",
    "only_schema",
    is_flag=True,
    help="Print the JSON Schema of what --json writes, with --sabotage of what that writes, and run "
    "nothing.",
)
@workers_option
@cluster_option
def reproduce_command(
    *,
    names: tuple[str, ...],
    budget: str,
    out_path: str | None,
    json_path: str | None,
    only_list: bool,
    exact: bool,
    sabotage: bool,
    only_schema: bool,
    workers: int | None,
    cluster: str | None,
) -> None:
    """Run the simulations behind each table and figure, and judge whether each claim holds.

    \b
    Examples:
      airqueue reproduce --list
      airqueue reproduce mesh.table3 rdqm
      airqueue reproduce --budget full --out report
      airqueue reproduce --exact --out report
      airqueue reproduce http --sabotage
      airqueue reproduce --budget full --cluster tcp://192.0.2.1:8786 --out report
      airqueue reproduce --schema > reproduction.schema.json
      airqueue reproduce --json - | jq '.claims[] | select(.verdict == "not reproduced")'

    Without names: all papers. Finished runs are kept, so that the same command resumes an
    interrupted one, and only runs with a changed input or program are repeated.
    docs/reproduction.md explains the verdicts.
    """
    if only_schema:
        printed = schema(SABOTAGE_FORMAT if sabotage else FORMAT)
        click.echo(json.dumps(printed, indent=2, ensure_ascii=False))
        return
    try:
        chosen = choose(names)
    except UnknownItemError as error:
        raise click.UsageError(sentence(error)) from error
    backend = backend_of(workers, cluster)
    if only_list and json_path is not None:
        raise click.UsageError("--list prints a table and no JSON: leave --json out.")
    if exact:
        _check_exact_usage(chosen, sabotage=sabotage, cluster=cluster)
    if only_list:
        command_tables.show_items(stdout(), chosen)
        return
    check_folders([("--out", out_path)])
    check_directories([out_path])
    check_outputs([("--json", json_path)])
    began = time.monotonic()
    store = Store(_kept_at(out_path))
    if sabotage:
        _sabotage(names, Budget(budget), store, backend, json_path)
        return
    simulated = [each for each in chosen if not each.item.exact]
    if exact:
        _check_exact(chosen, Budget(budget), store)
        simulated = [each for each in simulated if not missing([each], Budget(budget), store)]
    reproduced = _run(simulated, Budget(budget), store, backend)
    of_kernel = [each for each in chosen if each.item.exact]
    known: Mapping[str, Any] = {}
    if not exact:
        of_kernel, known = exact_before(of_kernel, Budget(budget), store)
    reproduced += _run(of_kernel, Budget(budget), store, backend, known)
    reproduced.sort(key=lambda each: chosen.index(each.chosen))
    page = None
    if out_path is not None:
        took_s = time.monotonic() - began
        # Pictures are drawn here: fonts of other machines would change them.
        page = _report(out_path, reproduced, Budget(budget), took_s, Local(workers))
    _emit(reproduced, Budget(budget), page, json_path)


def _check_exact_usage(chosen: Sequence[Chosen], *, sabotage: bool, cluster: str | None) -> None:
    """Raise UsageError for what does not go with --exact."""
    if cluster is not None:
        raise click.UsageError("--exact boots a kernel on this machine: leave --cluster out.")
    if sabotage:
        raise click.UsageError(
            "--sabotage shows what exact runs have found before: leave --exact out."
        )
    if not any(each.item.exact for each in chosen):
        names = text.listed([each.name for each in choose() if each.item.exact])
        raise click.UsageError(f"--exact is for {names}: name one of these, or none.")


def _check_exact(chosen: Sequence[Chosen], budget: Budget, store: Store) -> None:
    """Raise an error in a sentence where a real kernel is to run and cannot."""
    items = [each for each in chosen if each.item.exact]
    if any(work.kind in measured.KINDS for work in missing(items, budget, store)):
        with tempfile.TemporaryDirectory(prefix="airqueue-") as folder:
            machine.find(Path(folder))


def _run(
    chosen: Sequence[Chosen],
    budget: Budget,
    store: Store,
    backend: Backend,
    known: Mapping[str, Any] | None = None,
) -> list[Reproduced]:
    """Carry out the runs, with progress on a terminal."""
    with shown() as show:
        return reproduce(chosen, budget, store, backend, show, known=known)


def _sabotage(
    names: Sequence[str], budget: Budget, store: Store, backend: Backend, json_path: str | None
) -> None:
    """Carry out the items as they are and without each mechanism, and tell which verdicts stand."""
    items = chosen_for(names)
    if not items:
        raise click.UsageError(
            f"--sabotage is for the simulated items of the papers: {text.listed([*names])} has none."
        )
    with shown() as show:
        done = campaign(items, budget, store, backend, show)
    content = sabotage_to_text(done, budget)
    if _is_shown(content, json_path):
        return
    command_tables.show_sabotage(stdout(), done)


def _is_shown(content: str, json_path: str | None) -> bool:
    """Write JSON where it was asked for; say whether stdout has it, and nothing else may follow."""
    if json_path == "-":
        click.echo(content, nl=False)
        return True
    if json_path is not None:
        write_atomically(json_path, content)
    return False


def _kept_at(out_path: str | None) -> Path:
    """Return the directory of stored runs: below the report, or in the cache directory of XDG."""
    if out_path is not None:
        return Path(out_path) / "runs"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "airqueue" / "runs"


def _report(
    out_path: str,
    reproduced: Sequence[Reproduced],
    budget: Budget,
    took_s: float,
    backend: Local,
) -> Path:
    """Write the report and return its first page."""
    from airqueue_papers.site import Origin, write_site  # noqa: PLC0415 - matplotlib is slow

    here = provenance.session()
    origin = Origin(
        budget=budget,
        version=airqueue.__version__,
        date=here["date"],
        machine=here["platform"],
        revision=provenance.git_revision(),
        took_s=took_s,
    )
    return write_site(out_path, reproduced, origin, Store(_kept_at(out_path)), backend)


def _emit(
    reproduced: Sequence[Reproduced], budget: Budget, page: Path | None, json_path: str | None
) -> None:
    content = to_text(reproduced, budget)
    if _is_shown(content, json_path):
        return
    command_tables.show(stdout(), reproduced)
    if page is not None:
        click.echo(f"The report is {page}.")
