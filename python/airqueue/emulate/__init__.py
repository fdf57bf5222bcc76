"""Real programs inside a simulated Wi-Fi network, in real time or on a virtual clock."""

import sys

from airqueue.callable_module import call_as_function
from airqueue.emulate.errors import EmulationError
from airqueue.emulate.network import EmulatedNetwork, emulate
from airqueue.emulate.nodes import Host
from airqueue.emulate.results import EmulationResults
from airqueue.emulate.session import Order, Program
from airqueue.emulate.verdict import Verdict

__all__ = [
    "EmulatedNetwork",
    "EmulationError",
    "EmulationResults",
    "Host",
    "Order",
    "Program",
    "Verdict",
    "emulate",
]

call_as_function(sys.modules[__name__])
