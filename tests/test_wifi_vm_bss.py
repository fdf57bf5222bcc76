"""Channel access at a radio with two BSSs: the real hostapd, and a station at each.

The trace of what mac80211 hands to drivers says which parameters each interface has: those of
an access point's own queues, which no program can read, and those that a station has taken from a
beacon.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from wifi_vm import image, machine, networks
from wifi_vm.ready import ready

pytestmark = [pytest.mark.boots, pytest.mark.long]

HERE = Path(__file__).parent / "wifi_vm"
FIRST, SECOND = "wlan0", "guests"
STATIONS = {FIRST: "wlan1", SECOND: "wlan2"}
CONFIGURED = {"aifsn": 4, "cw_min": 15, "cw_max": 1023, "txop_us": 0}
ANNOUNCED = {"aifsn": 9, "cw_min": 63, "cw_max": 255, "txop_us": 1024}
OTHERS = {
    "background": {"aifsn": 8, "cw_min": 31, "cw_max": 511, "txop_us": 1024},
    "video": {"aifsn": 3, "cw_min": 15, "cw_max": 31, "txop_us": 2048},
    "voice": {"aifsn": 3, "cw_min": 7, "cw_max": 15, "txop_us": 1024},
}
OWN = {"aifsn": 2, "cw_min": 7, "cw_max": 31, "txop_us": 1024}
OWN_SECOND = {"aifsn": 6, "cw_min": 31, "cw_max": 127, "txop_us": 2048}
# The first BSS has what hostapd's configuration says, the second what mac80211 begins with.
OWN_BEFORE = {
    FIRST: {"aifsn": 5, "cw_min": 15, "cw_max": 63, "txop_us": 0},
    SECOND: {"aifsn": 3, "cw_min": 15, "cw_max": 1023, "txop_us": 0},
}
BEST_EFFORT = 2
"""Its number in mac80211 (`enum ieee80211_ac_numbers`)."""


def set_of(kind: str, interface: str, category: str, values: dict[str, int]) -> dict:
    return {kind: {"interface": interface, "access_category": category, **values}}


PLANS = {
    "one": [set_of("edca", FIRST, "best_effort", ANNOUNCED)],
    "other": [set_of("edca", SECOND, "best_effort", ANNOUNCED)],
    "all": [
        set_of("edca", FIRST, "best_effort", ANNOUNCED),
        *(set_of("edca", SECOND, category, values) for category, values in OTHERS.items()),
    ],
    "own-first": [set_of("own_edca", FIRST, "best_effort", OWN)],
    "own-second": [set_of("own_edca", SECOND, "best_effort", OWN)],
    # One category: what one BSS announces for both, and the own queues of either.
    "together": [
        set_of("edca", FIRST, "best_effort", ANNOUNCED),
        set_of("own_edca", SECOND, "best_effort", OWN_SECOND),
        set_of("own_edca", FIRST, "best_effort", OWN),
    ],
    "crossed": [
        set_of("own_edca", FIRST, "best_effort", OWN),
        set_of("edca", SECOND, "best_effort", ANNOUNCED),
    ],
}
SCRIPT = """
mount -t tracefs tracing /sys/kernel/tracing
tracing=/sys/kernel/tracing
radios 3
# The event itself prints no parameters.
numbers='ac=$ac:u16 aifs=$aifs:u8 cw_min=$cw_min:u16 cw_max=$cw_max:u16 txop=$txop:u16'
event='e:bss/given mac80211/drv_conf_tx'
echo "$event "'vif=$vif_name:string '"$numbers" >>$tracing/dynamic_events
echo 1 >$tracing/events/bss/given/enable
access_point
second_bss
airqueued() { within ap $PWD/airqueued "$@"; }
# look NAME: what drivers were given until now, and for how long stations are connected
look() {
    cp $tracing/trace $1.trace
    for at in wlan0 guests; do within ap iw dev $at station dump >$1.$at.stations; done
}
# Beacons come each 0.1 s, and stations are connected for whole seconds.
settle() { sleep 1.2; }
ip link set hwsim0 up
addresses=$(for at in wlan0 guests; do within ap cat /sys/class/net/$at/address; done)
PYTHON listen.py $addresses &
waits 20 test -e listen.ready
settle
look begun
for plan in PLANS; do
    airqueued apply $plan.json --confirm 1000s --state /run/state >$plan.out 2>$plan.err
    echo $? >$plan.code
    settle
    look $plan
    airqueued restore --state /run/state >$plan.restore 2>&1
    settle
    look $plan-restored
done
touch listen.stop
wait %?listen
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder with what the machine left behind."""
    airqueued, kernel = ready(txqs=image.wanted())
    folder = tmp_path_factory.mktemp("bss")
    for name, sets in PLANS.items():
        settings = [{"why": "a test", "set": each} for each in sets]
        plan = {"plan": 1, "made_by": "a test", "settings": settings}
        (folder / f"{name}.json").write_text(json.dumps(plan), "utf-8")
    script = SCRIPT.replace("PYTHON", sys.executable).replace("PLANS", " ".join(PLANS))
    parts = networks.WAIT + networks.RADIOS + networks.ACCESS_POINT + networks.SECOND_BSS
    files = {"airqueued": airqueued, "listen.py": HERE / "listen.py"}
    done = machine.run(kernel, parts + script, folder, files)
    assert done.code == 0, done.output
    for name in PLANS:
        said = (folder / f"{name}.err").read_text("utf-8")
        assert (folder / f"{name}.code").read_text("utf-8") == "0\n", said
    return folder


def given(folder: Path, name: str, interface: str, category: int = BEST_EFFORT) -> list:
    """What drivers were given until a look: rows of AIFSN, CWmin, CWmax, TXOP in us."""
    numbers = " ".join(rf"{key}=(\d+)" for key in ("aifs", "cw_min", "cw_max", "txop"))
    record = re.compile(rf'vif="{interface}" ac={category} {numbers}')
    found = []
    for line in (folder / f"{name}.trace").read_text("utf-8").splitlines():
        if told := record.search(line):
            *values, txop = map(int, told.groups())
            found.append((*values, txop * 32))
    assert found, f"the kernel recorded nothing of {interface}"
    return found


def newly(
    folder: Path, before: str, after: str, interface: str, category: int = BEST_EFFORT
) -> set:
    """What drivers were given between two looks."""
    old = given(folder, before, interface, category)
    return set(given(folder, after, interface, category)[len(old) :])


def row(values: dict[str, int]) -> tuple[int, ...]:
    return tuple(values.values())


@pytest.mark.parametrize("number", ["", "-2"])
def test_every_bss_announces_what_is_set_at_one_and_as_before_again(ran, number):
    heard = [json.loads(line) for line in (ran / f"listen{number}.log").read_text().splitlines()]
    assert "deauthentication" not in heard
    assert (heard[0], heard[-1]) == (CONFIGURED, CONFIGURED)
    # Five plans name best effort, at either of the two.
    assert heard.count(ANNOUNCED) == 5


@pytest.mark.parametrize("interface", [FIRST, SECOND])
@pytest.mark.parametrize(("plan", "before"), [("one", "begun"), ("other", "one-restored")])
def test_stations_of_every_bss_take_what_is_set_at_one(ran, interface, plan, before):
    station = STATIONS[interface]
    assert row(ANNOUNCED) in newly(ran, before, plan, station)
    assert row(CONFIGURED) in newly(ran, plan, f"{plan}-restored", station)


@pytest.mark.parametrize("interface", [FIRST, SECOND])
def test_a_plan_of_all_categories_reaches_the_stations(ran, interface):
    expected = {0: OTHERS["voice"], 1: OTHERS["video"], 2: ANNOUNCED, 3: OTHERS["background"]}
    for category, values in expected.items():
        taken = newly(ran, "other-restored", "all", STATIONS[interface], category)
        assert row(values) in taken


@pytest.mark.parametrize(("interface", "plan"), [(FIRST, "own-first"), (SECOND, "own-second")])
def test_own_parameters_go_back_to_what_the_bss_had(ran, interface, plan):
    """hostapd sets `tx_queue_*` at the first BSS; the second one has mac80211's default."""
    other = SECOND if interface == FIRST else FIRST
    before = {FIRST: "all-restored", SECOND: "own-first-restored"}[interface]
    assert newly(ran, before, plan, interface) == {row(OWN)}
    assert newly(ran, plan, f"{plan}-restored", interface) == {row(OWN_BEFORE[interface])}
    assert newly(ran, before, f"{plan}-restored", other) == set()
    # The old value is one that the kernel had given to the driver.
    assert row(OWN_BEFORE[interface]) in given(ran, "begun", interface)
    said = (ran / f"{plan}.out").read_text("utf-8")
    source = "from /run/hostapd-ap.conf" if interface == FIRST else "mac80211's default"
    assert f"({source}" in said


@pytest.mark.parametrize(
    ("plan", "before", "own"),
    [
        ("together", "own-second-restored", {FIRST: OWN, SECOND: OWN_SECOND}),
        ("crossed", "together-restored", {FIRST: OWN}),
    ],
)
@pytest.mark.parametrize("interface", [FIRST, SECOND])
def test_what_is_announced_and_own_queues_do_not_change_each_other(
    ran, interface, plan, before, own
):
    """hostapd gives the driver nothing of its own queues when the beacon of a BSS changes."""
    after = f"{plan}-restored"
    station = STATIONS[interface]
    assert row(ANNOUNCED) in newly(ran, before, plan, station)
    assert row(CONFIGURED) in newly(ran, plan, after, station)
    found = [newly(ran, before, plan, interface), newly(ran, plan, after, interface)]
    if interface in own:
        assert found == [{row(own[interface])}, {row(OWN_BEFORE[interface])}]
    else:
        assert found == [set(), set()]


def test_hostapd_gives_its_own_parameters_to_the_first_bss_alone(ran):
    of_hostapd = row(OWN_BEFORE[FIRST])
    assert of_hostapd in given(ran, "begun", FIRST)
    assert of_hostapd not in given(ran, "begun", SECOND)


@pytest.mark.parametrize("interface", [FIRST, SECOND])
def test_stations_stay_connected(ran, interface):
    looks = ["begun", *(f"{plan}{end}" for plan in PLANS for end in ("", "-restored"))]
    times = []
    for name in looks:
        text = (ran / f"{name}.{interface}.stations").read_text("utf-8")
        found = re.search(r"connected time:\s+(\d+) seconds", text)
        assert found, text
        times.append(int(found[1]))
    assert times == sorted(set(times)), "the station did not connect anew"
