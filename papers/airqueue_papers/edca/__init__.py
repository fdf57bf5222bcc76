"""EDCA paper: a test bed of 802.11e whose parameters make TCP fair.

The test bed is simulated as an 802.11b cell. Each assumption about a
setting that the paper does not print is stated beside the setting.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers.edca.advantage import CAL, FIG1, FIG2
from airqueue_papers.edca.parameters import FIG3, FIG4, FIG5
from airqueue_papers.edca.sizes import SIZES_ITEM
from airqueue_papers.edca.tables import TABLE1, TABLE2_ITEM
from airqueue_papers.edca.transfers import FIG6, FIG7, FIG8, FIG9, SEC5, SEC52
from airqueue_papers.item import Paper

PAPER: Final = Paper(
    "edca",
    (
        *(TABLE1, CAL, FIG1, FIG2, FIG3, FIG4, FIG5, SIZES_ITEM, SEC5, FIG6, FIG7),
        *(TABLE2_ITEM, FIG8, FIG9, SEC52),
    ),
)
