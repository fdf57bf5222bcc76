"""Bianchi's fixed point and the saturation throughput, against the Monte Carlo and ns-2."""

from __future__ import annotations

from airqueue.models.bianchi import bianchi
from airqueue.models.edca_slots import Slots, slots
from airqueue.models.kumar import kumar_backoffs
from airqueue.models.saturation import SlotTimes, saturation
from validation.claim import Claim, Point, against_estimate, against_simulator

_STATIONS = (2, 3, 5, 10, 20, 30, 40, 50)
_RETRIES = 7

# 802.11b, 1500-byte IP packets with 34 bytes of MAC, long preambles, ACKs at 2 Mb/s, no RTS. A
# collision lasts a frame, and the others then wait EIFS (364 µs) and not DIFS.
_PAYLOAD_BITS = 1500 * 8
_FRAME_S = 192e-6 + 1534 * 8 / 11e6
_TIMES = SlotTimes(20e-6, 50e-6 + _FRAME_S + 10e-6 + 248e-6, _FRAME_S + 364e-6)


def claims(transmissions: int) -> list[Claim]:
    """Return the claims about collisions and throughput of saturated stations."""
    runs = {
        (rule, cw_min): [_run(n, rule, cw_min, transmissions) for n in _STATIONS]
        for rule, cw_min in (("freeze", 31), ("edca", 31), ("edca", 15))
    }
    return [
        _collisions("freeze", 31, "legacy stations", runs["freeze", 31]),
        _collisions("edca", 31, "EDCA stations", runs["edca", 31]),
        _collisions("edca", 15, "EDCA stations, small windows", runs["edca", 15]),
        _small_windows(transmissions),
        _throughput(runs["freeze", 31]),
        _ns2_collisions(),
        _ns2_throughput(),
    ]


def _run(n: int, rule: str, cw_min: int, transmissions: int) -> Slots:
    return slots(
        [n], [0], cw_min, 1023, retries=_RETRIES, rule=rule, transmissions=transmissions, seed=n
    )


def _collisions(rule: str, cw_min: int, who: str, runs: list[Slots]) -> Claim:
    points = []
    for n, run in zip(_STATIONS, runs, strict=True):
        real = run.collision_probability(0)
        model = float(bianchi(n, cw_min, 1023, _RETRIES).collision_probability)
        points.append(against_estimate(f"{n}", n, model, real, inside=n >= 3))
    return Claim(
        name=f"collisions-{rule}-{cw_min + 1}",
        title=f"Collisions of {who}",
        statement=f"`bianchi` with {_RETRIES} retries, CWmin {cw_min}, CWmax 1023, from three "
        "stations on. Two stations collide more often than independent attempts would, the more so "
        "the smaller the window.",
        quantity="collision probability",
        reference="Monte Carlo, DCF freeze" if rule == "freeze" else "Monte Carlo, EDCA countdown",
        tolerance=0.05,
        axis="saturated stations",
        points=points,
        figure=cw_min != 15,
    )


def _small_windows(transmissions: int) -> Claim:
    points = []
    for cw_min in (1, 3, 7, 15, 31, 63):
        real = _run(5, "freeze", cw_min, transmissions).collision_probability(0)
        model = float(bianchi(5, cw_min, 1023, _RETRIES).collision_probability)
        points.append(against_estimate(f"{cw_min}", cw_min, model, real, inside=cw_min >= 15))
    return Claim(
        name="collisions-freeze-windows",
        title="Collisions of legacy stations, other windows",
        statement=f"`bianchi` with {_RETRIES} retries and CWmax 1023 for five stations, from CWmin "
        "15 on. A frozen counter does not move in the slots in which others transmit. With small "
        "windows these are most slots, and the winner often goes on alone.",
        quantity="collision probability",
        reference="Monte Carlo, DCF freeze",
        tolerance=0.05,
        axis="CWmin",
        points=points,
        figure=False,
    )


def _throughput(runs: list[Slots]) -> Claim:
    """Return the claim on throughput: the reference is the Monte Carlo's counts on the same clock."""
    points = []
    for n, run in zip(_STATIONS, runs, strict=True):
        single = run.transmissions - run.collided
        time_s = (
            run.idle_slots * _TIMES.idle_s
            + single * _TIMES.success_s
            + run.collided * _TIMES.collision_s
        )
        rates = single * _PAYLOAD_BITS / time_s / 1e6
        error = float(rates.std(ddof=1) / len(rates) ** 0.5)
        tau = bianchi(n, 31, 1023, _RETRIES).attempt_probability
        model = float(saturation(n, tau, _TIMES, _PAYLOAD_BITS).throughput_bps) / 1e6
        points.append(Point(f"{n}", n, model, float(rates.mean()), error))
    return Claim(
        name="saturation-throughput",
        title="Throughput of saturated stations",
        statement="`bianchi` and its throughput for 802.11b, 1500-byte packets at 11 Mb/s without "
        "RTS. Missed collisions cost little: they replace successes of equal length.",
        quantity="IP throughput of all, Mb/s",
        reference="Monte Carlo, DCF freeze",
        tolerance=0.02,
        axis="saturated stations",
        points=points,
    )


def _ns2(n: int) -> tuple[float, float]:
    """Return (p, τ) for the windows of ns-2: backoffs of 0..cw-1 with cw 31, 63, ..., 1023."""
    solved = kumar_backoffs(n, [(32 << min(k, 5)) / 2 for k in range(_RETRIES)])
    return float(solved.collision_probability), float(solved.attempt_probability)


def _ns2_collisions() -> Claim:
    points = [
        against_simulator(f"{n}", n, _ns2(n)[0], f"collisions-b-n{n}") for n in (2, 5, 10, 20)
    ]
    return Claim(
        name="collisions-ns2",
        title="Collisions in a simulator",
        statement="`kumar` with the mean backoffs of ns-2 and the slot of the transmission counted.",
        quantity="collided share of attempts",
        reference="ns-2 2.35",
        tolerance=0.05,
        axis="saturated stations",
        points=points,
        figure=False,
    )


def _ns2_throughput() -> Claim:
    # After a collision its senders wait ACK timeout and DIFS (312 µs), the others EIFS and DIFS.
    times = SlotTimes(20e-6, _TIMES.success_s, _FRAME_S + 414e-6)
    payload_bits = (1500 - 28) * 8
    points = []
    for n in (1, 5, 20):
        model = float(saturation(n, _ns2(n)[1], times, payload_bits).throughput_bps) / 1e6
        points.append(against_simulator(f"{n}", n, model, f"saturated-b-1500-n{n}"))
    return Claim(
        name="saturation-ns2",
        title="Throughput in a simulator",
        statement="As above, with the times of ns-2, UDP payload of 1500-byte packets. The window of "
        "ns-2 has one value less than the standard's.",
        quantity="UDP throughput of all, Mb/s",
        reference="ns-2 2.35",
        tolerance=0.03,
        axis="saturated stations",
        points=points,
        figure=False,
    )
