"""Simulating networks of 802.11 stations: a scenario in, data frames and intervals out.

The package is called like its function `simulate`: ``airqueue.simulate("cell.toml")``.

>>> from airqueue.simulate import cell
>>> results = cell("802.11b", stations=2, duration="1 s").simulate(seed=1, replications=2)
>>> len(results.flows), [kind for kind, named in results.summary.items() if named]
(4, ['flows', 'drops', 'stations', 'queues', 'medium'])
"""

import sys

from airqueue.callable_module import call_as_function
from airqueue.simulate import mesh
from airqueue.simulate.call import simulate
from airqueue.simulate.cell import cell
from airqueue.simulate.errors import RenamedKeyWarning, ResultsError, ScenarioError
from airqueue.simulate.recorders import Recorders
from airqueue.simulate.results import Results
from airqueue.simulate.scenario import Interrupted, Scenario
from airqueue.simulate.shaped import PacketOutcomes, TcpHeader, shaped

__all__ = [
    "Interrupted",
    "PacketOutcomes",
    "Recorders",
    "RenamedKeyWarning",
    "Results",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "TcpHeader",
    "cell",
    "mesh",
    "shaped",
    "simulate",
]

call_as_function(sys.modules[__name__])
