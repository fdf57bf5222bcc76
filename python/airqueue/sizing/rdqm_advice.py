"""The advice of `airqueue size rdqm`: the shares of `airqueue.sizing.rdqm` in words and settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from airqueue.sizing.advice import (
    Advice,
    Alternative,
    Column,
    Figure,
    Settings,
    Table,
    not_simulated,
)
from airqueue.sizing.rdqm import RdqmSizing
from airqueue.sizing.rdqm_trial import RdqmTrial, scenario, unknown_rtt_s
from airqueue.sizing.settings import classes
from airqueue.sizing.settings.classes import Class
from airqueue.text import plural, rate, seconds

SHAPED: Final = 0.9
"""Share of the air's rate that the classes get together, so that packets wait in them."""
ALIKE: Final = 1.02
"""Ratio of the rates with equal times to those of one FIFO up to which there is nothing to gain."""

_UNTRIED: Final = (
    "The rates depend on the size of the buffer neither here nor in the paper. A small buffer caps "
    "the windows of distant flows: simulated, three flows over 20, 150 and 20 ms at 54, 54 and "
    "6 Mb/s got 22.3 Mb/s together with 100 packets, and 3.6 Mb/s with 10, where 18.3 to 20.6 Mb/s "
    "are said."
)
_TRIED: Final = (
    "The simulation has the size of the buffer, which the predicted rates ignore. Its base station "
    "is the paper's, which learns from what receivers report; classes of Linux are not simulated. "
    "--for scenario prints the cell for airqueue simulate."
)
_CAUTIONS: Final = (
    "The shares hold while these flows are the ones that send: a flow more or less, another rate or "
    "another delay changes all of them.",
    "The rates are predictions between two idealisations: windows that the limits cap, and equal "
    "shares of the time, towards which waiting in the base station moves them. A flow that its limit "
    "does not hold back gets what the others leave.",
    "Classes are served in turns, where the paper has one FIFO with limits for flows: on Linux a "
    "flow's share of the rate is that of its class, and its limit bounds its delay.",
)


def rdqm_advice(
    sized: RdqmSizing,
    *,
    device: str,
    trial: RdqmTrial | None = None,
    untried: str | None = None,
) -> Advice:
    """Return the advice for a buffer that `airqueue.sizing.rdqm.size_rdqm` divided.

    trial: what simulations say; untried: why there is none, where one would be expected.
    """
    classes_of_htb = _settings(sized, device)
    return Advice(
        what="rdqm",
        inputs={
            "buffer_packets": sized.buffer_packets,
            "phy": sized.air.phy.name,
            "packet_bytes": sized.air.packet_bytes,
            "flows": [
                {"rate_bps": flow.rate_bps, "rtt_s": flow.rtt_s, "address": flow.address}
                for flow in sized.flows
            ],
        },
        headline=_headline(sized, trial),
        figures=(*(() if trial is None else trial.figures()), *_figures(sized)),
        tables=(_flows(sized), *(() if trial is None else (trial.table(sized),))),
        alternatives=(
            Alternative(
                "FQ-CoDel",
                "keeps the flows' delays apart by itself, and needs to know neither delays nor "
                "rates; with airtime fairness, as mac80211 has where the driver lets it, slow "
                "stations do not slow the others down"
                + (
                    ""
                    if trial is None
                    else f". Simulated, the flows get {trial.flow_queueing.found()} there."
                ),
            ),
        ),
        cautions=(
            *not_simulated(untried),
            _UNTRIED if trial is None else _TRIED,
            *(() if trial is None else _unknown(sized)),
            *_CAUTIONS,
        ),
        # No plan sets what the headline leaves.
        settings=(
            replace(classes_of_htb, sets=()) if _leaves(sized, trial) else classes_of_htb,
            scenario(sized),
        ),
    )


def _headline(sized: RdqmSizing, trial: RdqmTrial | None) -> str:
    limits = sized.limits
    if min(limits) == max(limits):
        parts = f"{plural(limits[0], 'packet')} to each of {plural(len(limits), 'flow')}"
    else:
        parts = f"{min(limits)} to {max(limits)} packets to each of {plural(len(limits), 'flow')}"
    divide = (
        f"Divide the buffer of {plural(sized.buffer_packets, 'packet')} by delay and rate, {parts}"
    )
    if len(sized.flows) == 1:
        return (
            f"One flow has the whole buffer of {plural(sized.buffer_packets, 'packet')}: there is "
            "nothing to divide."
        )
    if trial is not None:
        better = f" With mac80211's queues they get {trial.flow_queueing.found()}."
        if trial.is_worse:
            return f"Do not divide this buffer. {trial.found()}{better}"
        return f"{divide}. {trial.found()}{better}"
    fair_bps, fifo_bps = sum(sized.airtime_fair_bps), sum(sized.together_bps)
    if fair_bps <= ALIKE * fifo_bps:
        return (
            f"{divide}. The rates of the stations hardly differ, so that all together get no more "
            "than from one FIFO."
        )
    low_bps, high_bps = sorted((fair_bps, sum(sized.capped_bps)))
    return (
        f"{divide}: together they then get {rate(low_bps)} to {rate(high_bps)} instead of "
        f"{rate(fifo_bps)} from one FIFO, where the slowest sets the rate of all."
    )


def _leaves(sized: RdqmSizing, trial: RdqmTrial | None) -> bool:
    """Return whether the buffer is not to be divided."""
    return len(sized.flows) == 1 or (trial is not None and trial.is_worse)


def _unknown(sized: RdqmSizing) -> tuple[str, ...]:
    """Say with which round trip flows are simulated whose own is not known."""
    if all(flow.rtt_s is not None for flow in sized.flows):
        return ()
    return (
        "Flows whose round trip is not known are simulated with one of "
        f"{seconds(unknown_rtt_s(sized))}.",
    )


def _figures(sized: RdqmSizing) -> tuple[Figure, ...]:
    reports = sum(flow.rtt_s is not None for flow in sized.flows)
    flows = len(sized.flows)
    return (
        Figure("buffer_packets", "Q, the buffer", sized.buffer_packets, "as given"),
        Figure(
            "rdqm_packets",
            "for flows whose delay is known",
            sized.buffer_packets * reports / flows,
            "Q N_R/N, divided by delay times rate (Algorithm 3)",
        ),
        Figure(
            "legacy_packets",
            "for the others",
            sized.buffer_packets * (flows - reports) / flows,
            "Q N_L/N, in equal parts",
        ),
        Figure("fifo_bps", "all flows, from one FIFO", sum(sized.together_bps), "equal packets"),
        Figure(
            "capped_bps",
            "all flows, by their limits",
            sum(sized.capped_bps),
            "if the limits cap the windows, and nothing waits",
        ),
        Figure(
            "airtime_fair_bps",
            "all flows, with equal times",
            sum(sized.airtime_fair_bps),
            "waiting in the base station moves the rates towards this",
        ),
    )


def _flows(sized: RdqmSizing) -> Table:
    rows = zip(
        sized.flows,
        sized.limits,
        sized.together_bps,
        sized.airtime_fair_bps,
        sized.capped_bps,
        strict=True,
    )
    return Table(
        "flows",
        "Flows",
        (
            Column("flow", "flow"),
            Column("station_bps", "station"),
            Column("rtt_s", "round trip"),
            Column("limit_packets", "limit"),
            Column("fifo_bps", "one FIFO"),
            Column("airtime_fair_bps", "equal times"),
            Column("capped_bps", "capped"),
        ),
        tuple(
            (flow.address or str(number), flow.rate_bps, flow.rtt_s, limit, fifo, fair, capped)
            for number, (flow, limit, fifo, fair, capped) in enumerate(rows, 1)
        ),
    )


def _settings(sized: RdqmSizing, device: str) -> Settings:
    rows = zip(sized.flows, sized.limits, sized.airtime_fair_bps, strict=True)
    parts = [Class(limit, SHAPED * bps, flow.address) for flow, limit, bps in rows]
    return classes.settings(device, parts)
