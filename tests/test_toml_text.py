"""TOML that we write is TOML, and says what it was made of."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from airqueue import toml_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = (
    TEXT
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    PLAIN, lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT, below, max_size=4)
)


def typed(value):
    """A value with the types of all its parts, as 1, 1.0 and True are equal."""
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    return [typed(each) for each in value] if isinstance(value, list) else (type(value), value)


@given(st.dictionaries(TEXT, VALUES, max_size=6))
def test_what_is_written_is_read_again(table):
    assert typed(tomllib.loads(toml_text.render(table))) == typed(table)


def test_tables_have_headings_and_values_come_before_them():
    described = {
        "phy": {"rate": "11 Mb/s"},
        "stations": [{"name": "ap", "queue": {"limit": "9 packets"}}, {"name": "sta"}],
        "duration": "1 s",
    }
    assert toml_text.render(described) == (
        'duration = "1 s"\n\n[phy]\nrate = "11 Mb/s"\n\n'
        '[[stations]]\nname = "ap"\n\n[stations.queue]\nlimit = "9 packets"\n\n'
        '[[stations]]\nname = "sta"\n'
    )
