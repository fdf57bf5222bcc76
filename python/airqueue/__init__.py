"""airqueue: measure, model, simulate, emulate and manage the queues of Wi-Fi networks."""

from importlib.metadata import version

__version__ = version("airqueue")
