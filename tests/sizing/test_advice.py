"""The advice as data: what it cannot be, and what it is called."""

import pytest

from airqueue.sizing.advice import Advice, Column, Figure, Table, said, with_unit


def test_a_table_has_a_value_for_each_column():
    columns = (Column("a", "A"), Column("b", "B"))
    assert Table("t", "T", columns, ((1, 2),)).rows == ((1, 2),)
    with pytest.raises(ValueError, match="has not 2 values"):
        Table("t", "T", columns, ((1, 2), (1,)))


def test_figures_are_found_by_name():
    advice = Advice("ap", {}, "Do.", (Figure("delay_s", "delay", 0.5),))
    assert advice.figure("delay_s") == 0.5
    with pytest.raises(KeyError):
        advice.figure("other_s")


def test_nothing_is_said_of_what_is_not_there():
    assert said("delay_s", None) == with_unit("queue_packets", None) == "–"
    assert said("txop_us", 128.0) == "128.0"
