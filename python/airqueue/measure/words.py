"""A measurement in plain words: what the verdict means, for whom, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from airqueue import text
from airqueue.measure import class_words
from airqueue.measure.document import Discipline, Document, Evidence, Parameter
from airqueue.qoe import effect_on_call, effect_on_game

EstimatorName = Literal["published", "corrected", "counting", "fill_drain"]
ESTIMATOR_NAMES: Final[Mapping[EstimatorName, str]] = {
    "counting": "counting",
    "corrected": "corrected formula",
    "published": "published formula",
    "fill_drain": "fill and drain",
}
"""Estimators in the order in which they are shown, the headline first."""


@dataclass(frozen=True, slots=True)
class Words:
    """A verdict in sentences, from the most to the least important."""

    headline: str
    findings: tuple[str, ...]
    """The result, and its meaning for a call and for a game."""
    sureness: tuple[str, ...]
    """How sure it is: intervals, discards, warnings (disagreeing estimators are among those)."""
    next_steps: tuple[str, ...]
    """Suggestions, if the result is not a capacity."""

    def paragraphs(self) -> list[str]:
        """Return the non-empty paragraphs."""
        parts = [(self.headline, *self.findings), self.sureness, self.next_steps]
        return [" ".join(part) for part in parts if part]


@dataclass(frozen=True, slots=True)
class _Plain:
    """Meaning of a verdict other than `fifo`, and the next step."""

    headline: str
    meaning: str
    next_steps: tuple[str, ...]


_PLAIN: Mapping[str, _Plain] = {
    "isolated": _Plain(
        "Flows do not share one queue here.",
        "While the flood waited, a sparse flow beside it did not: the device keeps flows apart, as "
        "fair queueing does. No single number says what it holds, so none is given.",
        (
            "Calls and games are flows of their own: a bulk transfer hardly delays them.",
            "The evidence says how far apart the two flows were.",
        ),
    ),
    "not_flat": _Plain(
        "The queue does not refuse packets at one length.",
        "A plain FIFO refuses packets when it is full, always at one length, and loses none while it "
        "has room. Here that is not so, as under active queue management (CoDel, PIE, RED), when "
        "packets of others wait in the same queue, or when the link itself keeps changing. "
        "A capacity read from it would not be one, so none is given.",
        (
            "Measure again when nothing else uses the channel and the link; if the answer stays, "
            "the device manages its queue, or two queues in a row fill by turns: the pictures of "
            "delay over time show how.",
        ),
    ),
    "policer": _Plain(
        "Packets are dropped without being queued first.",
        "There was loss but next to no delay: something enforces a rate with a policer, or with a "
        "queue of very few packets. There is no queue to measure at this point of the path.",
        (
            "If an access point's own queue is of interest, find what limits the rate before it "
            "(a traffic contract, a firewall rule) and lift that limit for the measurement.",
        ),
    ),
    "sender_limited": _Plain(
        "The sending machine was the limit, not the network.",
        "It could not send at the rate that was asked for, so nothing can be said about the queue.",
        (
            "Close other programs on the sender, connect it by a faster wired link, or let a "
            "faster machine send. A machine that sends by its own Wi-Fi holds its programs back when "
            "the queue of its radio is full, as Linux does.",
        ),
    ),
    "receiver_limited": _Plain(
        "The receiving machine was the limit, not the network.",
        "Its kernel dropped packets for want of buffer space, which looks like loss on the path; "
        "nothing can be said about the queue.",
        (
            "Close other programs on the receiver, raise its limit for socket buffers "
            "(on Linux net.core.rmem_max), or receive on a faster machine.",
        ),
    ),
    "not_saturable": _Plain(
        "The path could not be saturated.",
        "No rate that the two endpoints agreed to send filled a queue, so its capacity was not "
        "reached.",
        (
            "Allow a higher rate (--max-rate here and on the server), or slow the wireless hop "
            "down: a lower data rate or more distance.",
            "Check that the hop of interest really lies between the two machines.",
        ),
    ),
    "undecided": _Plain(
        "The measurement does not decide what kind of queue this is.",
        "Rather than guess, no capacity is given; the evidence speaks for more than one kind, or "
        "for none clearly.",
        (
            "Measure again when the channel is quiet, for longer (--max-time), or with --profile "
            "paper; look at the pictures of the report for what disturbed this one.",
        ),
    ),
}


def describe(result: Document) -> Words:
    """Put a measurement result (`schema.json`) into words."""
    if result["verdict"] == "fifo":
        return _describe_fifo(result)
    plain = _PLAIN[result["verdict"]]
    discipline = result.get("discipline")
    headline = plain.headline
    findings = [plain.meaning]
    if discipline is not None and discipline["name"] is not None:
        headline = f"This is {discipline['says']}."
        # Where nothing waits it does not matter who shares the queue.
        waits = discipline["name"] != "policer"
        meaning = _MEANING.get(discipline["sharing"], ()) if waits else ()
        findings = [*meaning, *of_discipline(discipline)]
    if result["delay_full_s"] is not None and result["verdict"] in ("not_flat", "undecided"):
        findings.extend(_of_delay(result, headline != plain.headline))
    findings.extend(_of_bucket(result))
    findings.extend(_of_classes(result))
    return Words(
        headline,
        tuple(findings),
        (*_interrupted(result), *_discards(result), *result["warnings"]),
        plain.next_steps if headline == plain.headline else (),
    )


_MEANING: Final[Mapping[str, tuple[str, ...]]] = {
    "one_queue": ("All flows wait in one queue, so that a call waits behind a download.",),
    "by_flow": (
        "Each flow has a queue of its own: calls and games beside a download hardly wait.",
    ),
    "sparse_first": ("Flows with few packets pass: calls and games hardly wait.",),
}


def of_discipline(discipline: Discipline) -> list[str]:
    """Return sentences about the parameters of a discipline and its limit."""
    said = [_of_parameter(name, parameter) for name, parameter in parameters_of(discipline)]
    limit = discipline["hard_limit_packets"]
    if limit is None:
        return said
    waited = f"{text.plural(round(limit), 'packet')} waiting"
    if discipline["management"] == "tail_drop":
        return [*said, f"A queue was full with {waited}."]
    return [*said, f"It was full with {waited}: its hard limit, which steady flows seldom see."]


def parameters_of(discipline: Discipline) -> list[tuple[str, Parameter]]:
    """Return the names and values of the parameters that the records tell."""
    given = discipline["parameters"]
    named = (("target", given.get("target_s")), ("interval", given.get("interval_s")))
    return [(name, parameter) for name, parameter in named if parameter is not None]


def _of_parameter(name: str, parameter: Parameter) -> str:
    low, high = parameter["ci95"]
    if low <= 0:
        return f"Its {name} is at most {text.seconds(high)}."
    between = f"{text.seconds(low)} to {text.seconds(high)}"
    return f"Its {name} is {text.seconds(parameter['value'])} ({between})."


def evidence_beside(result: Document) -> list[Evidence]:
    """Return the evidence for the discipline and classes, after that for the verdict."""
    parts = result.get("discipline"), result.get("classes")
    return [each for part in parts if part is not None for each in part["evidence"]]


def _of_bucket(result: Document) -> list[str]:
    """Say what a shaper, or a policer, lets pass at once."""
    bucket = result.get("token_bucket")
    if bucket is None:
        return []
    depth = text.quantity(bucket["bytes"], "bytes")
    if bucket["at_least"]:
        return [
            f"After a rest {depth} and more pass at once, before the rate holds: the token bucket "
            "(burst) of a shaper or a policer is at least that deep."
        ]
    assert bucket["ci95_bytes"] is not None  # known, since the bucket was full
    between = text.interval(bucket["ci95_bytes"], "bytes")
    return [
        f"After a rest {depth} ({between}) pass at once, before the rate holds: the token bucket "
        "(burst) of a shaper or a policer. Short transfers do not wait there; long ones do."
    ]


def _of_classes(result: Document) -> list[str]:
    classes = result.get("classes")
    return [] if classes is None else class_words.describe(classes)


def _describe_fifo(result: Document) -> Words:
    unit, capacity = result["capacity_unit"], result["capacity"]
    headline = "One first-in first-out queue"
    if unit is not None and capacity is not None:
        headline += f" that holds {_whole(capacity, unit)}"
    else:
        headline += f" that holds {_by_size(result)}"
    if result["counted_in"] == "undecided":
        headline += "; whether it counts packets or bytes is undecided."
    else:
        headline += f", counted in {result['counted_in']}."
    findings = []
    if result["delay_full_s"] is not None:
        findings.append(_delay_sentence(result))
        findings.extend(_meaning_of_delay(result["delay_full_s"]))
    findings.extend(_apart(result))
    findings.extend(_of_bucket(result))
    findings.extend(_of_classes(result))
    return Words(
        headline,
        tuple(findings),
        (
            *_interrupted(result),
            *(_sureness(result) if result["capacity"] is not None else ()),
            *_discards(result),
            *result["warnings"],
        ),
        (),
    )


def _by_size(result: Document) -> str:
    """Return what the queue holds of each size, where this is no one number of packets or bytes."""
    counting = result["estimators"]["counting"]
    assert counting is not None  # the verdict is fifo
    counts = (
        f"{_whole(row['packets'] or 0.0, 'packets')} of {size} bytes"
        for size, row in counting["by_size"].items()
    )
    return text.listed(list(counts), "or")


def _meaning_of_delay(delay_s: float) -> tuple[str, str]:
    return effect_on_call(delay_s), effect_on_game(delay_s)


def _of_delay(result: Document, named: bool) -> list[str]:
    """Return what the delay means; in a queue that is managed, that of a flood is not TCP's."""
    delay_s = result["delay_full_s"]
    assert delay_s is not None
    if named:
        waited = text.seconds(delay_s)
        return [
            f"A flood that does not slow down waited {waited} in it; TCP, which does, waits less."
        ]
    return [_delay_sentence(result), *_meaning_of_delay(delay_s)]


def _delay_sentence(result: Document) -> str:
    towards = "towards" if result["direction"] == "down" else "from"
    at_rate = f", at {text.rate(result['rate_bps'])}" if result["rate_bps"] is not None else ""
    return (
        f"When full it adds {text.seconds(result['delay_full_s'])} in the direction {towards} "
        f"the measuring machine{at_rate}; a slower link makes that longer in proportion."
    )


def _apart(result: Document) -> list[str]:
    said = []
    if result["in_service_packets"]:
        said.append("The packet being transmitted comes on top.")
    if result["drop_from"] == "head":
        said.append("When full it drops the oldest packet, not the newest.")
    return said


def _sureness(result: Document) -> list[str]:
    said = []
    unit = result["capacity_unit"]
    accepted = sum(1 for s in result["sessions"] if s["accepted"])
    if result["ci95"] is not None:
        said.append(
            f"The 95 % confidence interval is {text.interval(result['ci95'], unit)} {unit}, from "
            f"{text.plural(accepted, 'session')}."
        )
    else:
        said.append(
            f"There is no confidence interval: {text.plural(accepted, 'session')} "
            "are too few for one."
        )
    resolution = result["resolution"]
    if resolution is not None and resolution["packets"] > 1.0:
        said.append(
            f"Differences below {text.quantity(resolution['packets'], 'packets')} cannot be told "
            f"here: {resolution['because'].rstrip('.')}."
        )
    return said


def _discards(result: Document) -> list[str]:
    if not result["discarded_sessions"]:
        return []
    reasons = [
        f"{reason.replace('_', ' ')}: {n}" for reason, n in result["discard_reasons"].items()
    ]
    because = f" ({', '.join(reasons)})" if reasons else ""
    return [
        f"{text.plural(result['discarded_sessions'], 'session').capitalize()} did not pass the "
        f"checks and took no part{because}."
    ]


def _interrupted(result: Document) -> list[str]:
    said = "The measurement was interrupted; this is what the part before that says."
    return [said] if result["interrupted"] else []


def _whole(value: float, unit: str) -> str:
    return f"{round(value):,} {unit if round(value) != 1 else unit.removesuffix('s')}"
