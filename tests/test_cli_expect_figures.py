"""Bounds of a simulation's figures, and the exit codes of simulations that do not keep them."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from airqueue.cli import main
from airqueue.cli.errors import UNDECIDED, UNMET
from airqueue.cli.expect_figures import Bounds
from tests.simulate.test_devices import CELL


def summary(mean, ci95):
    figure = {"mean": mean, "ci95": ci95}
    return {
        "flows": {
            "call": {"delay_p95_s": figure},
            "up": {"delay_p95_s": {"mean": 9.0, "ci95": None}},
        },
        "medium": {"throughput_bps": figure},
    }


@pytest.mark.parametrize(
    ("bound", "mean", "ci95", "ends"),
    [
        ("flows.call.delay_p95_s < 50 ms", 0.04, [0.03, 0.0499], 0),
        ("flows.call.delay_p95_s < 50 ms", 0.04, [0.03, 0.05], UNDECIDED),
        ("flows.call.delay_p95_s <= 50 ms", 0.04, [0.03, 0.05], 0),
        ("flows.call.delay_p95_s<50ms", 0.06, [0.0501, 0.07], UNMET),
        ("flows.call.delay_p95_s > 50 ms", 0.04, [0.03, 0.0499], UNMET),
        ("flows.call.delay_p95_s >= 50 ms", 0.06, [0.05, 0.07], 0),
        # One replication: the value decides.
        ("flows.call.delay_p95_s < 50 ms", 0.04, None, 0),
        ("flows.call.delay_p95_s < 50 ms", 0.06, None, UNMET),
        ("flows.call.delay_p95_s < 50 ms", None, None, UNDECIDED),
        # One of all names is beyond it.
        ("flows.*.delay_p95_s < 50 ms", 0.04, None, UNMET),
        ("medium.throughput_bps > 1 Mb/s", 2e6, [1.5e6, 2.5e6], 0),
        ("medium.throughput_bps > 1 Gb/s", 2e6, [1.5e6, 2.5e6], UNMET),
    ],
)
def test_a_bound_holds_where_the_whole_interval_says_so(bound, mean, ci95, ends):
    try:
        Bounds.read([bound]).enforce(summary(mean, ci95))
    except click.exceptions.Exit as ended:
        assert ended.exit_code == ends
    else:
        assert ends == 0


def test_what_is_missed_comes_before_what_is_open(capsys):
    open_one, missed = "medium.throughput_bps > 2 Mb/s", "flows.up.delay_p95_s < 1 s"
    with pytest.raises(click.exceptions.Exit) as ended:
        Bounds.read([open_one, missed]).enforce(summary(2e6, [1.5e6, 2.5e6]))
    assert ended.value.exit_code == UNMET
    assert capsys.readouterr().err == ("Not as expected: flows.up.delay_p95_s is 9 s, not < 1 s.\n")
    with pytest.raises(click.exceptions.Exit) as ended:
        Bounds.read([open_one]).enforce(summary(2e6, [1.5e6, 2.5e6]))
    assert ended.value.exit_code == UNDECIDED
    assert capsys.readouterr().err == (
        "Not decided: medium.throughput_bps is 2 Mb/s ± 500 kb/s, which leaves "
        "'medium.throughput_bps > 2 Mb/s' open.\n"
    )


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    path = tmp_path_factory.mktemp("expect") / "cell.toml"
    path.write_text(CELL)
    return str(path)


def simulate(cell, *bounds):
    options = [word for bound in bounds for word in ("--expect", bound)]
    return CliRunner().invoke(main, ["simulate", cell, "--replications", "2", *options])


def test_a_simulation_ends_with_the_code_and_shows_its_figures_all_the_same(cell):
    kept = simulate(cell, "flows.*.throughput_bps > 1 Mb/s", "medium.collided_ratio < 0.5")
    assert (kept.exit_code, kept.stderr) == (0, "")
    missed = simulate(cell, "flows.up.throughput_bps > 54 Mb/s")
    assert missed.exit_code == UNMET
    assert missed.stderr.startswith("Not as expected: flows.up.throughput_bps is ")
    assert missed.stdout == kept.stdout


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("bad", "--expect 'bad'; expected as in 'flows.call.delay_p95_s < 50 ms'."),
        ("phy.rate.x < 5", "--expect phy.rate.x: no figure; expected"),
        ("flows.up9.loss_ratio < 1", "--expect flows.up9.loss_ratio: none of the flows"),
        ("flows.*.loss < 1", "--expect flows.*.loss: unknown figure of flows"),
        ("calls.*.mos > 3", "--expect calls.*.mos: there are no calls in this network"),
        ("flows.*.delay_p95_s < 5", "'5'; expected a number and a unit, as s."),
        ("flows.*.delay_p95_s < 5 Mb/s", "'5 Mb/s'; expected a number and a unit, as s."),
        ("flows.*.loss_ratio < 5 %", "'5 %'; expected a number alone."),
        ("flows.*.loss_ratio < nan", "'nan'; expected a number alone."),
    ],
)
def test_what_is_no_bound_is_wrong_usage(cell, bound, said):
    refused = simulate(cell, bound)
    assert refused.exit_code == 2
    assert said in refused.stderr
