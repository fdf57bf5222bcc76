"""HTTP paper: TCP over one cell of 802.11b, unlimited downloads and users who fetch files.

Models are those of ``airqueue.models``; the runs are scenarios with ``behaviour = "ns2"``.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers.http.contention import FIG1, FIG2
from airqueue_papers.http.downloads import FIG4, FIG5
from airqueue_papers.http.fairness import FIG9, ROUND_ROBIN
from airqueue_papers.http.single import FIG3, FIG12, FIG13
from airqueue_papers.http.tables import TABLE2, TABLE3
from airqueue_papers.http.users import FIG7, FIG8, FIG10
from airqueue_papers.item import Paper

PAPER: Final = Paper(
    "http",
    (
        *(FIG1, FIG2, FIG3, FIG4, FIG5, TABLE2, FIG7, FIG8, FIG9, ROUND_ROBIN, TABLE3),
        *(FIG10, FIG12, FIG13),
    ),
)
