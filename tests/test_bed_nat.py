"""A client behind a NAT: the server knows no way to it but the one that its own packets opened."""

from __future__ import annotations

import numpy as np
import pytest

from airqueue._native import Server
from airqueue.linux.config import HostApConfig, QueueSpec
from airqueue.linux.host_ap import HostAp
from airqueue.measure.live import LiveProber
from airqueue.measure.plan import Plan, cbr

pytestmark = pytest.mark.bed

MASQUERADE = """
table ip nat {
  chain outgoing {
    type nat hook postrouting priority 100;
    ip saddr 10.97.2.0/24 masquerade
  }
}
"""


def run(namespace, *argv: str, stdin: str = "") -> None:
    done = namespace.run(argv, stdin=stdin)
    assert done.returncode == 0, done.stderr


def test_a_flood_finds_its_way_back_through_a_nat():
    with HostAp(HostApConfig(queue=QueueSpec("pfifo", 40))) as bed:
        ap, sender = bed.namespace("ap"), bed.namespace("sender")
        run(ap, "ip", "addr", "add", "10.97.1.1/32", "dev", "in")
        run(ap, "nft", "-f", "-", stdin=MASQUERADE)
        # The wired machine reaches the access point's own address and nothing behind it.
        run(sender, "ip", "route", "del", "default")
        run(sender, "ip", "route", "add", "10.97.1.1/32", "dev", "net")
        server = Server(None, 0, netns=bed.server_ns)
        try:
            with LiveProber(bed.server_address, server.port, netns=bed.client_ns) as prober:
                plan = Plan((cbr(0, 0.1, 1.1, 900, 1500), cbr(1, 0.0, 1.5, 20, 1500)))
                records = prober.run(plan, {})
        finally:
            server.stop()
    assert records.end == "complete"
    flood = records.flow == 0
    # 7 Mb/s let 578 packets/s through, 40 wait: the rest of the flood was refused.
    assert 500 < np.count_nonzero(records.received & flood) < 700
    assert np.count_nonzero(records.lost & flood) > 200
