"""What a queueing delay does to the people who meet it: in a telephone call, in a game."""

from __future__ import annotations

from airqueue import text

CALL_GOOD_S = 0.150
"""One-way delay up to which ITU-T G.114 sees most calls unharmed; cited by the APQ paper, V."""
CALL_LIMIT_S = 0.400
"""One-way delay that ITU-T G.114 says network planning should not exceed."""
CALL_EASY_S = 0.100
"""Leaves 50 ms, which a call needs at least: G.711 or G.729 in packets of 20 ms takes 20 to 40 ms
with its packetisation and playout, and light 5 ms for 1000 km of fibre (G.114, annex A)."""
GAME_ROUND_TRIP_S = 0.100
"""Round-trip delay under which first-person shooters play well (Beigbeder et al. 2004, cited by
the APQ paper, V)."""

CALL_LOSS = 0.03
"""Share of lost packets that a call bears, by ITU-T G.1010, table I.1: conversational voice."""


def effect_on_call(delay_s: float) -> str:
    """Say what a queueing delay in one direction does to a telephone call (ITU-T G.114)."""
    call = f"{CALL_GOOD_S * 1e3:.0f} ms one way"
    if delay_s > CALL_LIMIT_S:
        return (
            f"For a call that is too much: ITU-T G.114 asks for {call} and sets the limit at "
            f"{CALL_LIMIT_S * 1e3:.0f} ms, and the full queue alone exceeds it."
        )
    if delay_s > CALL_GOOD_S:
        return (
            f"For a call that is audible: the full queue alone exceeds the {call} that ITU-T G.114 "
            f"calls good, though not its limit of {CALL_LIMIT_S * 1e3:.0f} ms."
        )
    left = (
        f"of the {call} that ITU-T G.114 calls good it leaves "
        f"{text.seconds(CALL_GOOD_S - delay_s)} for the rest of the path and the codec"
    )
    if delay_s > CALL_EASY_S:
        return f"A call can hardly bear that: {left}, which seldom take less than 50 ms."
    return f"A call can bear that: {left}."


def effect_on_game(delay_s: float) -> str:
    """Say what a queueing delay in one direction does to a first-person game."""
    game = f"{GAME_ROUND_TRIP_S * 1e3:.0f} ms round trip"
    if delay_s > GAME_ROUND_TRIP_S:
        return f"A first-person game wants less than {game}; this one direction already exceeds it."
    return (
        f"A first-person game wants less than {game}; this leaves "
        f"{text.seconds(GAME_ROUND_TRIP_S - delay_s)} of it for everything else."
    )


def effect_of_loss(ratio: float) -> str:
    """Say what lost packets do to a telephone call (ITU-T G.1010, table I.1)."""
    share, most = text.percent(ratio), f"{100 * CALL_LOSS:.0f} %"
    if ratio >= CALL_LOSS:
        return (
            f"For a call {share} lost packets are too many: ITU-T G.1010 asks for less than {most}."
        )
    return f"A call can bear {share} lost packets: ITU-T G.1010 asks for less than {most}."
