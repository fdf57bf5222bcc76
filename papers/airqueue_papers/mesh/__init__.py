"""MESH: buffers that the nodes of a wireless mesh share, rebuilt.

The models are in `sizes`, the simulations in `chains` and `several`, and a simulation of the test
bed in `testbed`.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers.item import Paper
from airqueue_papers.mesh import chains, deviations, several, sizes, testbed

PAPER: Final = Paper(
    "mesh", (*sizes.ITEMS, *chains.ITEMS, *deviations.ITEMS, *several.ITEMS, *testbed.ITEMS)
)
