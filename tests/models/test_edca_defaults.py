"""The default parameters of the access categories."""

from dataclasses import replace

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
    assert (category.cw_min, category.cw_max) == (int(row["cw_min"]), int(row["cw_max"]))
    assert category.txop_s == pytest.approx(float(row["txop_ms"]) * 1e-3)
    access_point = edca_defaults(layer, access_point=True, edition=row["edition"])[name]
    assert access_point.aifsn == int(row["ap_aifsn"])


def test_mixed_layers_count_as_ofdm() -> None:
    assert edca_defaults(phy("g")) == edca_defaults(phy("a"))
    assert tuple(edca_defaults(phy("g"))) == ACCESS_CATEGORIES


def test_an_edition_that_there_is_not() -> None:
    with pytest.raises(ParameterError, match="edition is '1999'"):
        edca_defaults(phy("g"), edition="1999")


def test_windows_follow_those_of_the_layer() -> None:
    found = edca_defaults(replace(phy("a"), cw_min=63, cw_max=511))
    windows = {name: (category.cw_min, category.cw_max) for name, category in found.items()}
    assert windows == {"BK": (63, 511), "BE": (63, 511), "VI": (31, 63), "VO": (15, 31)}


@pytest.mark.parametrize("cw_min", [2, 16.5])
def test_windows_that_have_no_parts(cw_min: float) -> None:
    with pytest.raises(ParameterError, match="cw_min is"):
        edca_defaults(replace(phy("a"), cw_min=cw_min))
