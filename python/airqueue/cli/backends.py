"""Where runs are executed: ``--workers`` and ``--cluster``, for all commands that have both."""

from __future__ import annotations

from typing import Final

import click

from airqueue.cli.parameters import Whole
from airqueue.runs import Cluster, Local
from airqueue.runs.backend import Backend
from airqueue.runs.cluster import is_address

_MOST_WORKERS: Final = 10_000

workers_option = click.option(
    "--workers",
    type=Whole(1, _MOST_WORKERS),
    help="Runs at the same time; without it as many as there are cores.",
)
cluster_option = click.option(
    "--cluster",
    metavar="tcp://HOST:PORT",
    help="Let the workers of a Dask scheduler execute the runs, e.g. tcp://192.0.2.1:8786.",
)


def backend_of(workers: int | None, cluster: str | None) -> Backend:
    """Return the processes of this machine, or the cluster. Raises UsageError for both at once, and
    for what is no address of a cluster."""
    if cluster is None:
        return Local(workers)
    if workers is not None:
        raise click.UsageError("--workers is for this machine; a cluster has its own.")
    if not is_address(cluster):
        raise click.UsageError(
            f"--cluster {cluster} is no address; write tcp://HOST:PORT, as 'dask scheduler' does."
        )
    return Cluster(cluster)
