"""Where the chains stop being valid: against what the EDCA paper measured, and strict priority."""

import pytest

from airqueue.models.edca_classes import classes
from airqueue.models.edca_hold import hold_chain
from airqueue.models.edca_slots import slots
from airqueue.models.edca_validity import Validity, strict_priority, validity
from airqueue.models.errors import ModelError, ParameterError


def of_chain(stations: list[float], aifs: list[int], cw_min: list[int], **options: str) -> Validity:
    share = hold_chain(stations, aifs, cw_min).success_share
    return validity(share, stations, aifs, cw_min, **options)


@pytest.mark.parametrize("aifs", [0, 5, 10])
def test_within_up_to_the_published_ten_slots(aifs: int) -> None:
    trust = of_chain([1, 1], [0, aifs], [31, 31])
    assert trust.within
    assert trust.note == ""


@pytest.mark.parametrize("aifs", [15, 20, 30])
def test_beyond_it_the_chain_gives_the_lower_class_too_much(aifs: int) -> None:
    trust = of_chain([1, 1], [0, aifs], [31, 31])
    assert not trust.within
    assert trust.share_error[1] > 0.1
    assert trust.share_error[0] < 0
    assert not trust.starved.any()
    assert "class 1 too much" in trust.note


@pytest.mark.parametrize("window", [16, 32, 64])
@pytest.mark.parametrize("stations", [[1, 1], [1, 5], [5, 1], [5, 5], [10, 10]])
def test_within_as_far_as_the_model_says(stations: list[int], window: int) -> None:
    """A third of the window with one favoured station, an eighth with several, to a tenth."""
    longest = window // (3 if stations[0] == 1 else 8)
    share = hold_chain(stations, [0, longest], window - 1).success_share
    run = slots(stations, [0, longest], window - 1, transmissions=600_000)
    for i, model in enumerate(share.tolist()):
        real = run.success_share(i)
        assert abs(model - real.mean) <= 0.1 * model + real.half_width


def test_with_several_favoured_stations_a_third_is_too_much() -> None:
    assert of_chain([5, 5], [0, 21], [63, 63]).share_error[1] > 0.2


def test_a_starved_class_transmits_after_collisions_only() -> None:
    """AIFS longer by CWmin and by more: the chain is off by most of the share."""
    for aifs in (31, 40):
        trust = of_chain([1, 1], [0, aifs], [31, 31])
        assert trust.starved.tolist() == [False, True]
        assert not trust.within
    starved = of_chain([2, 1], [0, 31], [31, 31])
    assert starved.starved.tolist() == [False, True]
    assert not starved.locked_out.any()
    assert "only after collisions" in starved.note
    assert 0.5 < float(starved.share_error[1]) < 1


def test_locked_out_is_what_never_transmits() -> None:
    trust = of_chain([1, 6], [0, 4], [3, 31])
    assert trust.locked_out.tolist() == [False, True]
    assert trust.share_error[1] == 1
    assert "never transmits" in trust.note
    # The chain does not know: it still gives the class a share.
    assert float(hold_chain([1, 6], [0, 4], [3, 31]).success_share[1]) > 0.005


@pytest.mark.parametrize(
    ("n", "aifs", "cw_min"),
    [
        ([1, 1], [0, 4], [3, 31]),
        ([1, 1], [0, 3], [3, 31]),
        ([2, 1], [0, 4], [3, 31]),
        ([1, 1, 1], [0, 4, 4], [3, 31, 1]),
        ([1, 1, 1], [0, 2, 8], [3, 3, 7]),
        ([1, 1], [0, 0], [31, 0]),
        ([1, 1, 1], [3, 0, 3], [15, 3, 7]),
        ([1], [0], [31]),
    ],
)
@pytest.mark.parametrize("rule", ["edca", "freeze"])
def test_strict_priority_is_what_the_process_does(
    n: list[int], aifs: list[int], cw_min: list[int], rule: str
) -> None:
    starved, locked_out = strict_priority(classes(n, aifs, cw_min, 1023), rule)
    run = slots(n, aifs, cw_min, rule=rule, transmissions=300_000)
    # What is locked out never transmits after the first part; everything else does.
    assert ((run.attempts.sum(axis=0) == 0) == locked_out).all()
    assert (starved | ~locked_out).all()
    # What is starved has no success where nobody else's window ever grows.
    constant = slots(n, aifs, cw_min, cw_min, rule=rule, transmissions=300_000)
    assert (constant.successes.sum(axis=0)[starved] == 0).all()


def test_a_frozen_counter_starves_the_neighbours_of_small_windows() -> None:
    assert of_chain([1, 1], [0, 0], [31, 3]).within
    frozen = of_chain([1, 1], [0, 0], [31, 3], rule="freeze")
    assert not frozen.within
    assert frozen.share_error[0] > 0.5


def test_a_note_names_the_direction() -> None:
    little = validity([0.2, 0.8], [1, 1], 0, 31)
    assert "class 0 too little, it really gets 2.5 times as much" in little.note
    assert little.share_error[0] == pytest.approx(-1.5, abs=3 * float(little.half_width[0]))


@pytest.mark.parametrize("cw_min", [2**16 - 1, 2**20 - 1])
def test_a_share_too_small_for_the_run_is_left_open(cw_min: int) -> None:
    """Some or no successes by chance say nothing against a share of one in a million."""
    trust = validity([1 - 1e-6, 1e-6], [1, 1], 0, [1, cw_min], 2**20 - 1)
    assert abs(trust.share_error[1]) - trust.half_width[1] <= 0.1
    assert not trust.within
    assert "too short to tell" in trust.note


def test_a_share_of_nothing_is_compared_too() -> None:
    """What the chain gives to a class whose AIFS is out of reach vanishes in floating point."""
    share = hold_chain([1, 1], [0, 1000], [1, 31]).success_share
    assert share[1] == 0
    trust = validity(share, [1, 1], [0, 1000], [1, 31])
    assert "never transmits" in trust.note
    assert (abs(trust.share_error) <= 1).all()
    got_some = validity([1.0, 0.0], [1, 1], 0)
    assert "too little" in got_some.note


@pytest.mark.parametrize("stations", [[1.4, 1], [2.5, 1.4], [1, 7.6], [1.2, 1.3, 4.4]])
def test_stations_that_are_not_whole_are_compared_one_by_one(stations: list[float]) -> None:
    """Classes that are alike get the same each, whatever their numbers: the chain is right."""
    trust = of_chain(stations, [0] * len(stations), [31] * len(stations))
    assert trust.within
    assert trust.note == ""
    # Half as much for each of the first class is half of its share, and not right.
    share = hold_chain(stations, 0, 31).success_share
    share[0] /= 2
    assert validity(share / share.sum(), stations, 0, 31).share_error[0] < -0.2


def test_stations_that_are_not_whole_are_rounded() -> None:
    """2.4 and 1.6 stations with shares of 0.6 and 0.4 get as much each as two and two with 0.5."""
    here = validity([0.6, 0.4], [2.4, 1.6], [0, 1], 31)
    there = validity([0.5, 0.5], [2, 2], [0, 1], 31)
    assert here.share_error == pytest.approx(there.share_error)


def test_the_exact_process_is_advised_for_whole_numbers_of_stations() -> None:
    """edca-slots, which the note advises, takes no others."""
    advice = [validity([0.95, 0.05], [each, 1], [0, 20]).note for each in (1, 1.4)]
    assert "edca-slots" in advice[0] and "whole numbers" not in advice[0]
    assert advice[1].endswith("edca-slots, with whole numbers of stations")


def test_very_many_stations_take_no_longer() -> None:
    assert validity([1.0], 3000, 0, 1023).within
    with pytest.raises(ModelError, match="no success"):
        validity([1.0], 60_000, 0, 1023)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"model_share": [0.5]}, "model_share"),
        ({"model_share": [-0.1, 1.0]}, "model_share"),
        ({"rule": "legacy"}, "rule"),
        ({"tolerance": 0}, "tolerance"),
        ({"stations": [0, 1]}, "stations"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], names: str) -> None:
    with pytest.raises(ParameterError) as raised:
        validity(**{"model_share": [0.5, 0.5], "stations": [1, 1], "aifs_slots": 0, **arguments})
    assert raised.value.parameter == names
