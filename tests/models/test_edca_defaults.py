"""The default parameters of the access categories."""

import pytest
from tables import rows

from airqueue.models.edca_defaults import ACCESS_CATEGORIES, edca_defaults
from airqueue.models.errors import ParameterError
from airqueue.models.phy_names import phy


@pytest.mark.parametrize("row", rows("edca_defaults"), ids=lambda row: "-".join(row.values()))
def test_the_table(row: dict[str, str]) -> None:
    layer, name = phy(row["phy"]), row["category"]
    category = edca_defaults(layer, edition=row["edition"])[name]
    assert category.name == name
    assert category.aifsn == int(row["aifsn"])
    # The table has the largest backoff, a window is the number of its values.
    assert (category.cw_min, category.cw_max) == (int(row["cw_min"]) + 1, int(row["cw_max"]) + 1)
    assert category.txop_s == pytest.approx(float(row["txop_ms"]) * 1e-3)
    access_point = edca_defaults(layer, access_point=True, edition=row["edition"])[name]
    assert access_point.aifsn == int(row["ap_aifsn"])


def test_mixed_layers_count_as_ofdm() -> None:
    assert edca_defaults(phy("g")) == edca_defaults(phy("a"))
    assert tuple(edca_defaults(phy("g"))) == ACCESS_CATEGORIES


def test_an_edition_that_there_is_not() -> None:
    with pytest.raises(ParameterError, match="edition is '1999'"):
        edca_defaults(phy("g"), edition="1999")
