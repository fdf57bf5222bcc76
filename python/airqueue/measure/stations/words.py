"""The result of several stations in words."""

from __future__ import annotations

from airqueue import text
from airqueue.measure.stations.verdict import PairDict, StationsDict

ADVICE = {
    "one_queue": "A flood to any station delays all of them: give each flow or station its own queue "
    "(FQ-CoDel, CAKE, or the queues of Linux's mac80211).",
    "equal_packets": "A slow station takes more airtime than a fast one: airtime fairness "
    "(mac80211) gives each as much.",
}
DRAGGED = 1.5
"""Ratio of rates alone from which on a slow station is worth a sentence."""


def stations_lines(result: StationsDict) -> list[str]:
    """Return the result as lines, the verdict first."""
    lines = [result["says"], ""]
    for station in result["stations"]:
        lines.append(f"{station['name']} alone: {text.rate(station['alone_bps'])}")
    for pair in result["pairs"]:
        lines += ["", *_pair_lines(pair)]
    advice = _advice(result)
    if advice:
        lines += ["", advice]
    if result["interrupted"]:
        lines += ["", "Interrupted: only a part was measured."]
    return [*lines, *(["", *result["warnings"]] if result["warnings"] else [])]


def _pair_lines(pair: PairDict) -> list[str]:
    first, second = pair["stations"]
    return [f"{first} and {second}:", *(f"- {item['says']}" for item in pair["evidence"])]


def _advice(result: StationsDict) -> str:
    if result["queues"] == "one_queue":
        return ADVICE["one_queue"]
    rates = [s["alone_bps"] for s in result["stations"] if s["alone_bps"]]
    if result["shares"] == "equal_packets" and max(rates) >= DRAGGED * min(rates):
        return ADVICE["equal_packets"]
    return ""
