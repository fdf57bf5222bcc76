"""Airtime paper: the queues of Linux's mac80211 against the performance anomaly and bufferbloat.

The paper's text could be read in part. What its authors published beside it, a commit of the kernel
and slides, has numbers of the same test bed. docs/reproduction.md lists the sources.
"""

from __future__ import annotations

from typing import Final

from airqueue_papers.anomaly.airtimes import MANY, TCP_ITEM, UDP_ITEM
from airqueue_papers.anomaly.commit import COMMIT
from airqueue_papers.anomaly.latency import APPLICATIONS, LATENCY, LOWEST
from airqueue_papers.anomaly.table1 import TABLE1
from airqueue_papers.item import Paper

PAPER: Final = Paper(
    "anomaly", (UDP_ITEM, TABLE1, TCP_ITEM, LATENCY, APPLICATIONS, COMMIT, MANY, LOWEST)
)
