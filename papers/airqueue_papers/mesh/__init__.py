"""MESH: buffers that the nodes of a wireless mesh share, rebuilt.

What its models say is in `sizes`, its simulations are in `chains` and `several`, and its test bed,
as a simulation, in `testbed`.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers.item import Paper
from airqueue_papers.mesh import chains, several, sizes, testbed

PAPER: Final = Paper("mesh", (*sizes.ITEMS, *chains.ITEMS, *several.ITEMS, *testbed.ITEMS))
