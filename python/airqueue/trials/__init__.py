"""Trials: what `airqueue.sizing` advises, simulated before anybody sets it.

Each trial simulates the scenario that the advice prints, so that a reader can repeat the trial with
`airqueue simulate`.
"""

from airqueue.trials import ap, edca, mesh, rdqm, web

__all__ = ["ap", "edca", "mesh", "rdqm", "web"]
