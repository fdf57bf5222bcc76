"""Pieces of work named by what they are computed from, carried out once and kept.

>>> from airqueue.runs import Work, carry_out
>>> work = Work("model", {"model": "tay-chua", "parameters": {"n": 10}})
>>> round(carry_out([work])[work.key]["collision_probability"], 3)
0.293
"""

from airqueue.runs.carry import Progress, carry_out
from airqueue.runs.cluster import Cluster
from airqueue.runs.errors import CrewError, RunError, WorkError
from airqueue.runs.local import Local
from airqueue.runs.store import Store
from airqueue.runs.work import Work

__all__ = [
    "Cluster",
    "CrewError",
    "Local",
    "Progress",
    "RunError",
    "Store",
    "Work",
    "WorkError",
    "carry_out",
]
