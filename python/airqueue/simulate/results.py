"""Results of replications of a scenario: a row for each, and their means with intervals."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import airqueue
from airqueue import _native, lazy, text
from airqueue.simulate import cautions, tables
from airqueue.simulate.directory import ResultsDirectory, read
from airqueue.simulate.errors import ResultsError
from airqueue.simulate.reported import KINDS, values
from airqueue.simulate.tables import LIMITS
from airqueue.stats import t_quantile

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from airqueue.description import Description
    from airqueue.figures import MediumFigures, Summaries, Summary
    from airqueue.monitored import QueueInForce
    from airqueue.records import SeriesDict
    from airqueue.simulate.report_types import Named, Run
else:
    pd = lazy.Module("pandas")

FORMAT: Final = "airqueue-simulation"
VERSION: Final = 4


@dataclass(frozen=True, repr=False)
class Results:
    """Figures of every finished replication, and their summary. Names include the units.

    In the data frames (`flows`, `stations`, `queues`, `medium`) each row is a replication and a name.
    They are made once: whoever changes one gives `to_pandas`, which makes a new one, preference.
    """

    scenario: Description
    """The simulated description."""
    seed: int
    replications: int
    """Number of requested replications."""
    runs: Mapping[int, Run]
    """Number of a replication -> its figures by kind and name."""
    series: SeriesDict | None = field(default=None, compare=False)
    """Time series of the first replication, if recorded; results with equal figures are equal."""

    def __repr__(self) -> str:
        of = f"{len(self.runs)} of {self.replications} replications"
        if not self.runs:
            return f"<Results: {of}, seed {self.seed}>"
        mean = self.summary["medium"]["throughput_bps"]["mean"] or 0.0
        factor, unit = text.scale("b/s", [mean])
        carried = f"{mean / factor:.4g} {unit}"
        return f"<Results: {of} of {self.duration_s:g} s, seed {self.seed}, {carried}>"

    def _repr_html_(self) -> str:
        from airqueue.simulate import notebook  # noqa: PLC0415 - shows results: above this module

        return notebook.of_results(self)

    @property
    def complete(self) -> bool:
        """Whether every replication finished."""
        return len(self.runs) == self.replications

    @property
    def duration_s(self) -> float | None:
        """Simulated time that the figures cover, without the warm-up; None without a run."""
        return next((run["duration_s"] for run in self.runs.values()), None)

    @functools.cached_property
    def flows(self) -> pd.DataFrame:
        """What became of each flow's packets."""
        return self.frame("flows")

    @functools.cached_property
    def connections(self) -> pd.DataFrame:
        """What TCP did for each flow that it governs."""
        return self.frame("connections")

    @functools.cached_property
    def calls(self) -> pd.DataFrame:
        """How good each call is."""
        return self.frame("calls")

    @functools.cached_property
    def pings(self) -> pd.DataFrame:
        """How long the round trips of each flow of requests take."""
        return self.frame("pings")

    @functools.cached_property
    def frames(self) -> pd.DataFrame:
        """How late the pictures of each game or video are."""
        return self.frame("frames")

    @functools.cached_property
    def pages(self) -> pd.DataFrame:
        """The pages that each browser loaded, and how long they took."""
        return self.frame("pages")

    @functools.cached_property
    def videos(self) -> pd.DataFrame:
        """What the player of each video showed."""
        return self.frame("videos")

    @functools.cached_property
    def drops(self) -> pd.DataFrame:
        """What was lost of each flow, by place and kind."""
        return self.frame("drops")

    @functools.cached_property
    def stations(self) -> pd.DataFrame:
        """What each station sent."""
        return self.frame("stations")

    @functools.cached_property
    def beacons(self) -> pd.DataFrame:
        """The beacons of each access point that sends any."""
        return self.frame("beacons")

    @functools.cached_property
    def sleep(self) -> pd.DataFrame:
        """The sleep of each station that sleeps at times, and what waited for it."""
        return self.frame("sleep")

    @functools.cached_property
    def absences(self) -> pd.DataFrame:
        """The absences of each station that scans, or goes out of reach now and then."""
        return self.frame("absences")

    @functools.cached_property
    def associations(self) -> pd.DataFrame:
        """The associations of each station that associates with an access point."""
        return self.frame("associations")

    @functools.cached_property
    def interference(self) -> pd.DataFrame:
        """The bursts of each source of interference."""
        return self.frame("interference")

    @functools.cached_property
    def signals(self) -> pd.DataFrame:
        """Each direction of a link whose signal changes, as its data frames found it."""
        return self.frame("signals")

    @functools.cached_property
    def queues(self) -> pd.DataFrame:
        """What happened in each queue."""
        return self.frame("queues")

    @functools.cached_property
    def medium(self) -> pd.DataFrame:
        """What all stations together did, and how the time was used."""
        return self.frame("medium")

    @functools.cached_property
    def limits(self) -> pd.DataFrame:
        """The limits of queues that were set while the network ran, with time and reason."""
        return self.frame(LIMITS)

    def frame(self, kind: tables.Table) -> pd.DataFrame:
        """Return a kind of figures, such as ``flows`` or ``medium``, as a data frame.

        Raises ResultsError for another kind.
        """
        return pd.DataFrame(tables.columns(tables.checked(kind), self.runs))

    def to_pandas(self, kind: tables.Table) -> pd.DataFrame:
        """Return a kind of figures as a data frame of pandas.

        Parameters
        ----------
        kind : str
            ``flows``, ``connections``, ``calls``, ``pings``, ``frames``, ``pages``, ``videos``,
            ``drops``, ``stations``, ``beacons``, ``sleep``, ``absences``,
            ``associations``, ``interference``, ``signals``,
            ``queues``, ``medium`` or ``limits``.

        Returns
        -------
        pandas.DataFrame
            A row for each replication and name; NaN where a figure is missing.

        Raises
        ------
        MissingExtraError
            pandas is not installed: ``pip install 'airqueue[tables]'``.
        ResultsError
            There is no such kind.
        """
        return self.frame(kind)

    def to_arrow(self, kind: tables.Table) -> pa.Table:
        """Return a kind of figures as a table of Arrow, for DuckDB, Polars and others.

        Parameters
        ----------
        kind : str
            As for `to_pandas`.

        Returns
        -------
        pyarrow.Table
            A row for each replication and name; null where a figure is missing.

        Raises
        ------
        MissingExtraError
            pyarrow is not installed: ``pip install 'airqueue[tables]'``.
        ResultsError
            There is no such kind.
        """
        return tables.arrow(tables.columns(tables.checked(kind), self.runs))

    def to_xarray(self, kind: tables.Table) -> xr.Dataset:
        """Return a kind of figures as a data set of xarray.

        Parameters
        ----------
        kind : str
            As for `to_pandas`, but for ``limits``, which has no name for each row.

        Returns
        -------
        xarray.Dataset
            A variable for each figure over ``replication`` and the kind's noun, such as ``flow``;
            of ``medium`` over ``replication`` alone. NaN where a figure is missing; ``units`` is an
            attribute.

        Raises
        ------
        MissingExtraError
            xarray is not installed: ``pip install 'airqueue[xarray]'``.
        ResultsError
            There is no such kind, or it has no names.
        """
        return tables.dataset(tables.checked(kind), self.runs)

    def series_frame(self, kind: tables.OverTime) -> pd.DataFrame:
        """Return time series as a data frame of pandas.

        Parameters
        ----------
        kind : {"flows", "queues"}
            What the series are of.

        Returns
        -------
        pandas.DataFrame
            A row for each interval and name. ``time_s`` is the end of the interval, in seconds from
            the beginning of the warm-up.

        Raises
        ------
        ValueError
            None were recorded; ResultsError if there are no series of this kind.
        MissingExtraError
            pandas is not installed.
        """
        if self.series is None:
            raise ValueError("no time series were recorded; give Recorders(series_interval_s=...)")
        if kind not in tables.SERIES.values():
            known = " and ".join(tables.SERIES.values())
            raise ResultsError(f"there are no series of {kind!r}; there are those of {known}")
        return pd.DataFrame(tables.series_columns(self.series, kind))

    @functools.cached_property
    def summary(self) -> Summaries:
        """Mean and 95 % confidence interval of every figure, by kind and name.

        As in ``summary["flows"]["upload"]["throughput_bps"]["mean"]``; the interval ``ci95`` is
        ``[low, high]``, or None with a single replication. A figure that is missing in some
        replications, such as a delay without deliveries, has ``n``, the number of its values.
        """
        runs = [run for _, run in sorted(self.runs.items())]
        named = {
            kind: {name: _summaries([run[kind][name] for run in runs]) for name in runs[0][kind]}
            for kind in (KINDS if runs else ())
        }
        whole = _summaries([run["medium"] for run in runs])
        return cast("Summaries", {**{kind: {} for kind in KINDS}, **named, "medium": whole})

    @functools.cached_property
    def queues_in_force(self) -> list[QueueInForce]:
        """The discipline and the limits of each queue, given by the scenario or by default."""
        from airqueue.simulate.scenario import Scenario  # noqa: PLC0415 - it imports this module

        return Scenario(self.scenario).queues_in_force()

    @functools.cached_property
    def routes(self) -> dict[str, list[str]]:
        """Names of the stations and hosts that each flow passes, both ends included."""
        from airqueue.simulate.scenario import Scenario  # noqa: PLC0415 - which returns results

        return Scenario(self.scenario).routes

    @functools.cached_property
    def warnings(self) -> list[str]:
        """What would mislead a reader of the figures, a sentence each without its full stop."""
        return cautions.of_results(self)

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the summary, and the inputs to compute the summary again.

        The data depend on scenario, seed and version alone.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "airqueue": airqueue.__version__,
            "seed": self.seed,
            "replications": self.replications,
            "complete": self.complete,
            "finished": sorted(self.runs),
            "duration_s": self.duration_s,
            "scenario": self.scenario,
            "warnings": self.warnings,
            "queues_in_force": self.queues_in_force,
            **self.summary,
            LIMITS: list(tables.rows(LIMITS, self.runs)),
        }

    def to_text(self) -> str:
        """Return `to_json` as text."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write all results into a directory: tables, summary, scenario and provenance.

        Existing replications of this scenario and seed stay in the directory.

        Parameters
        ----------
        path : str or path
            The directory, which is made.
        force : bool
            Discards other results there.

        Raises
        ------
        ResultsError
            The directory has other results.
        OSError
            A file cannot be written.
        """
        with ResultsDirectory.opened(path, self.scenario, self.seed, force=force) as directory:
            kept = directory.runs()
            directory.begin_session(self.replications)
            directory.keep(self.runs, self.series)
            runs = dict(sorted({**kept, **self.runs}.items()))
            most = max([self.replications, *(replication + 1 for replication in runs)])
            whole = Results(self.scenario, self.seed, most, runs)
            directory.finish(whole.runs, self.series, whole.to_text())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Results:
        """Read the results of `save` or ``airqueue simulate --out``, to the last digit.

        Parameters
        ----------
        path : str or path
            The directory.

        Returns
        -------
        Results

        Raises
        ------
        ResultsError
            Results are missing, incomplete, or of another version.
        OSError
            A file cannot be read.
        """
        summary, runs, series = read(path)
        if (summary.get("format"), summary.get("version")) != (FORMAT, VERSION):
            raise ResultsError(f"{path}: its summary.json is not of this version of airqueue")
        return cls(summary["scenario"], summary["seed"], summary["replications"], runs, series)


def _summaries(runs: Sequence[Named | MediumFigures]) -> dict[str, Summary]:
    """Return the summary of each figure over the replications."""
    every = [values(run) for run in runs]
    return cast("dict[str, Summary]", _native.summaries(every, t_quantile))


def summarised(values: Sequence[float | None]) -> Summary:
    """Return mean and 95 % interval of a figure over replications; ``n`` if values are missing."""
    return cast("Summary", _native.summary(values, t_quantile))
