"""Trials: what `airqueue.sizing` advises, simulated before anybody sets it.

Each trial simulates the scenario that the advice prints, beside others of the same network, so that a
reader can repeat the trial with `airqueue simulate`.

>>> from airqueue.sizing.ap import ap_queue
>>> from airqueue.sizing.ap_parts import Asked
>>> sized = ap_queue([65e6], 0.02, 1, phy="n", delay_target_s=0.2)
>>> tried = ap.try_queue(sized, Asked(rtt_s=0.02, flows=1, delay_target_s=0.2))
>>> sized.packets, tried.packets > 1.5 * sized.packets
(96, True)
"""

from airqueue.trials import ap, edca, mesh, rdqm, web

__all__ = ["ap", "edca", "mesh", "rdqm", "web"]
