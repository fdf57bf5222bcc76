"""airqueue: measure, model, simulate, emulate and manage the queues of Wi-Fi networks."""

from airqueue import _native

__version__ = _native.VERSION
