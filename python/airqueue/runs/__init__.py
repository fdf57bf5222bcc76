"""Pieces of work, identified by their inputs, executed once and kept.

>>> from airqueue.runs import Work, execute
>>> work = Work("model", {"model": "tay-chua", "parameters": {"n": 10}})
>>> round(execute([work])[work.key]["collision_probability"], 3)
0.293
"""

from airqueue.runs.cluster import Cluster
from airqueue.runs.errors import BackendError, RunError, WorkError
from airqueue.runs.execute import WorkProgress, execute
from airqueue.runs.local import Local
from airqueue.runs.store import Store
from airqueue.runs.work import Work

__all__ = [
    "BackendError",
    "Cluster",
    "Local",
    "RunError",
    "Store",
    "Work",
    "WorkError",
    "WorkProgress",
    "execute",
]
