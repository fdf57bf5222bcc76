"""The result of uploads in words."""

from __future__ import annotations

from airqueue import text
from airqueue.uploads.settings import NAMES
from airqueue.uploads.verdict import BurstsDict, CategoryDict, EqualDict, PairDict, UploadsDict

IGNORED = (
    "The categories make no difference: the stations' drivers may ignore DSCPs, WMM may be off, or "
    "all categories have the same parameters."
)
DIFFERENT = "The stations contend by other parameters than these settings."


def uploads_lines(result: UploadsDict) -> list[str]:
    """Return the result as lines, the verdict first."""
    lines = [result["says"], ""]
    for station in result["stations"]:
        lines.append(f"{station['name']} alone: {text.rate(station['alone_bps'])}")
    names = [station["name"] for station in result["stations"]]
    if result["equal"] is not None:
        lines += ["", "All in best effort:", *_equal_lines(result["equal"], names)]
    for category in result["categories"]:
        lines += ["", f"{NAMES[category['category']].capitalize()} beside best effort:"]
        lines += [f"- {_pair_words(pair)}" for pair in category["pairs"]]
        lines += [f"- {_burst_words(each)}" for each in category["bursts"]]
    advice = _advice(result["categories"])
    if advice:
        lines += ["", advice]
    if result["interrupted"]:
        lines += ["", "Interrupted: only a part was measured."]
    return [*lines, *(["", *result["warnings"]] if result["warnings"] else [])]


def _equal_lines(found: EqualDict, names: list[str]) -> list[str]:
    lines = [
        f"- {name}: {packets:.0%} of the packets, {won:.0%} of the accesses, "
        f"{each:.3g} packets in an access."
        for name, packets, won, each in zip(
            names,
            found["packet_shares"],
            found["access_shares"],
            found["packets_per_access"],
            strict=True,
        )
    ]
    low, high = found["jain_low"], found["jain_high"]
    return [
        *lines,
        f"- Jain's index of the packets is {found['jain']:.3f} ({low:.3f} to {high:.3f}).",
    ]


def _pair_words(pair: PairDict) -> str:
    first, second = pair["stations"]
    both = f"{first} and {second}"
    if pair["ratio"] is None or pair["low"] is None or pair["high"] is None:
        return f"{both}: not known, {pair['reason']}."
    seen = (
        f"{both}: {pair['ratio']:.3g} accesses for each one of best effort "
        f"({pair['low']:.3g} to {pair['high']:.3g})"
    )
    if pair["predicted"] is None:
        return f"{seen}; {pair['reason']}."
    word = pair["obedience"].replace("_", " ")
    return f"{seen}; the settings predict {pair['predicted']:.3g}: {word}."


def _burst_words(found: BurstsDict) -> str:
    name, packets = found["station"], found["packets"]
    if packets is None:
        return f"{name}: the TXOP is not judged, its accesses are not known."
    burst = text.plural(packets, "packet")
    if found["allowed"] is None:
        return f"{name}: bursts are not seen, up to {burst} in an access; the TXOP is not judged."
    word = {"within": "kept, and not used up"}.get(found["limit"], found["limit"])
    return f"{name}: up to {burst} in an access, the TXOP limit admits {found['allowed']}: {word}."


def _advice(categories: list[CategoryDict]) -> str:
    wrong = [p for c in categories for p in c["pairs"] if p["obedience"] == "not_obeyed"]
    if not wrong:
        return ""
    return IGNORED if all(pair["no_difference"] for pair in wrong) else DIFFERENT
