"""Compares frame times and exchanges with a station alone in its cell."""

from __future__ import annotations

from airqueue.models.phy_names import phy
from airqueue.models.single_station import single_station
from validation.claim import Claim, against_simulator

_SETTINGS = (
    ("802.11b, 11 Mb/s, control frames at 1 Mb/s", "single-b-long", "b-long", 11e6, None, 1e6),
    ("802.11g without b stations, 54 Mb/s", "single-g", "g", 54e6, None, None),
    ("802.11n, 65 Mb/s, A-MPDU of 28", "single-n-ampdu", "n", 65e6, 28, None),
)


def claims() -> list[Claim]:
    """Return the claim that a lone station's throughput follows from airtimes alone."""
    points = []
    for x, (setting, name, layer, rate_bps, mpdus, control_bps) in enumerate(_SETTINGS):
        model = single_station(
            phy(layer), 1500, rate_bps, mpdus=mpdus, control_rate_bps=control_bps
        )
        points.append(against_simulator(setting, x, float(model.throughput_bps) / 1e6, name))
    return [
        Claim(
            name="single-station",
            title="One station alone",
            statement="`single-station`: without collisions and errors the throughput is the packet "
            "over the time of its exchange, exactly. The tolerance is for the edges of a "
            "simulation's measuring interval.",
            quantity="IP throughput, Mb/s",
            reference="ns-3 3.44, 1500-byte IP packets",
            tolerance=0.002,
            axis="setting",
            points=points,
            figure=False,
        )
    ]
