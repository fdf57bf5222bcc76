"""Sweeps over a scenario's parameters: many points, each with as many replications as needed.

>>> from airqueue.simulate import cell
>>> from airqueue.sweep import Sweep
>>> sweep = Sweep({"scenario": cell(duration="1 s"), "parameters": {"stations.sta.count": [1, 5]}})
>>> [str(point) for point in sweep.points]
['point 0 (stations.sta.count=1)', 'point 1 (stations.sta.count=5)']
"""

from airqueue.sweep.errors import SweepError
from airqueue.sweep.results import SweepResults
from airqueue.sweep.sweep import Interrupted, Sweep, SweepProgress

__all__ = ["Interrupted", "Sweep", "SweepError", "SweepProgress", "SweepResults"]
