"""Control points of radios against the real ones: cfg80211, mac80211, hostapd, a wired driver's ring.

One machine is booted, with an access point, its station and a mesh of three: all that this kernel
accepts is set, read back by other programs, and taken back. In another one the program is killed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from wifi_vm import image, machine, networks
from wifi_vm.packages import Source, sources
from wifi_vm.ready import ready

# The machine's clock is the wall clock: its traffic does not wait for a processor.
pytestmark = [pytest.mark.boots, pytest.mark.wall_clock]

KILLS = "AIRQUEUE_WIFI_VM_KILLS"
"""Environment variable: how often an apply, a confirm and a restore are killed, each."""
HERE = Path(__file__).parent / "wifi_vm"
STATION = "02:00:00:00:01:00"
EDCA = {"interface": "wlan0", "access_category": "best_effort"}
ANNOUNCED = {"aifsn": 9, "cw_min": 63, "cw_max": 255, "txop_us": 1024}
SHAPED = {"shaped": {"rate_bps": 2_000_000, "below": {"fifo": {"limit_packets": 3}}}}
SETTINGS = {
    "txq": {"txq": {"phy": "phy0", "limit_packets": 100, "quantum_bytes": 600}},
    "edca": {"edca": {**EDCA, **ANNOUNCED}},
    "own_edca": {"own_edca": {**EDCA, "aifsn": 2, "cw_min": 7, "cw_max": 15, "txop_us": 1024}},
    "shaped": {"queue": {"interface": "wlan0", "queue": SHAPED}},
    "fair": {"own_edca": {**EDCA, "aifsn": 6, "cw_min": 31, "cw_max": 1023, "txop_us": 0}},
    "ring": {"ring": {"interface": "eth0", "packets": 80}},
    "rounded": {"ring": {"interface": "eth0", "packets": 50}},
    "few": {"txq": {"phy": "phy0", "limit_packets": 30}},
    "empty": {"queue": {"interface": "wlan0", "queue": {"fifo": {"limit_packets": 100}}}},
    "weight": {"airtime_weight": {"interface": "wlan0", "station": STATION, "weight": 512}},
    "aql": {
        "aql": {
            "phy": "phy0",
            "access_category": "voice",
            "limit_low_us": 1000,
            "limit_high_us": 2000,
        }
    },
}
# Settings that the kernel tells.
READABLE = {True: ["txq", "shaped"], False: ["empty"]}
# What each kernel accepts of the access point. Before TXQs the root qdisc has the queue.
ACCEPTED = {True: ["txq", "edca", "own_edca", "shaped"], False: ["edca", "own_edca", "empty"]}
REFUSED = {True: ["few", "empty", "weight", "aql"], False: ["txq", "weight", "aql"]}
SERVICE = """
config = 1
plan = "fair.json"
sample_interval = "500 ms"
at_most_every = "1 s"
[[edca]]
interface = "wlan0"
packet = "1.27 ms"
most_packets = 3
access = [{ uploads = 2, downloads = 5, aifsn = 4, cw_min = 15, packets = 3 }]
"""

WATCHING = """
config = 1
[watch]
interval = "500 ms"
stuck_after = "2 s"
prometheus = "watching.prom"
"""

FUNCTIONS = """
airqueued() { local at=$1; shift; within $at $PWD/airqueued "$@"; }
# run NAME COMMAND...: keeps what the command prints and how it ends
run() {
    local name=$1; shift
    "$@" >$name.out 2>$name.err
    echo $? >$name.code
}
drained() { within ap iw phy phy0 get txq | grep -q 'Backlog:[[:space:]]*0 pkts'; }
# Handles of qdiscs are numbered anew each time.
state() {
    within ap iw phy phy0 get txq 2>&1 | grep -E 'limit|Quantum'
    within ap tc qdisc show dev wlan0 | sed 's/[0-9a-f]*: / /g'
}
# whole: whether all is old, or all is new
whole() { state >now.state; cmp -s now.state old.state || cmp -s now.state new.state; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
of_plan() { airqueued ap "$@" --state /run/kills >/dev/null; }
change() { of_plan apply readable.json --confirm 1000s; }
# begins WHICH: what has to be there before an apply, confirm or restore
begins() { [ $1 = apply ] || change; [ $1 != restore ] || of_plan confirm; }
# argued WHICH: the command with its arguments
argued() { [ $1 = apply ] && echo apply readable.json --confirm 1000s || echo $1; }
settled() {
    airqueued ap status --json --state /run/kills >now.status
    whole || return 1
    grep -Eq '"state":"(nothing of ours|confirmed|waits to be confirmed)"' now.status && return
    # Killed before it had called a guard, it has touched nothing: the next command forgets its plan.
    grep -q '"guarded":false.*"state":"applying"' now.status && cmp -s now.state old.state
}
# kills COUNT: kills the program at different moments of an apply, a confirm and a restore, each in
# five seconds whole again
kills() {
    state >old.state
    change
    state >new.state
    of_plan restore
    local which number began longest
    for which in apply confirm restore; do
        begins $which
        began=$(milliseconds)
        of_plan $(argued $which)
        longest=$(($(milliseconds) - began))
        of_plan restore
        for number in $(seq $1); do
            begins $which
            ip netns exec ap $PWD/airqueued $(argued $which) --state /run/kills >/dev/null 2>&1 &
            began=$((longest * (number * 13 % 20) / 20))
            sleep $(printf '%d.%03d' $((began / 1000)) $((began % 1000)))
            kill -9 $! 2>/dev/null
            wait $! 2>/dev/null
            echo $? >kill-$which-$number.code
            began=$(milliseconds)
            ( waits 5 whole; echo whole ) >kill-$which-$number.state 2>&1
            # What is whole while a guard is at work may be half new a moment later.
            waits 60 settled
            echo $(($(milliseconds) - began)) >kill-$which-$number.ms
            cp now.state kill-$which-$number.now
            ( of_plan restore; state ) >>kill-$which-$number.state 2>&1
        done
    done
}
look() {
    within ap iw phy phy0 get txq >$1.txq 2>&1
    within ap tc qdisc show dev wlan0 >$1.qdisc
    within ap iw dev wlan0 station dump >$1.stations
    # Beacons come each 0.1 s.
    sleep 0.5
}
"""

LOOKS = """
radios 5
access_point
mesh
ip link set hwsim0 up
PYTHON listen.py 02:00:00:00:00:00 &
waits 60 test -e listen.ready
for at in ap sta m3; do run places-$at airqueued $at places --json; done
run places-first $PWD/airqueued places --json
look before
run apply airqueued ap apply accepted.json --confirm 1000s --state /run/ap
look applied
run places-applied airqueued ap places --json
run status airqueued ap status --json --state /run/ap
for name in REFUSED; do
    run $name airqueued ap apply $name.json --dry-run --state /run/ap-refused
done
if [ -e /sys/class/net/eth0 ]; then
    run ring $PWD/airqueued apply ring.json --confirm 1000s --state /run/first
    ethtool -g eth0 >ring.applied
    run ring-restore $PWD/airqueued restore --state /run/first
    run rounded $PWD/airqueued apply rounded.json --confirm 1000s --state /run/first
    ethtool -g eth0 >ring.restored
fi
if [ TXQS = True ]; then
    run shaped-off airqueued ap restore --state /run/ap
    within ap ping -c 1 10.9.0.2 >/dev/null
    run limit airqueued ap apply txq.json --confirm 1000s --state /run/ap
    run idle airqueued ap obeys phy0 --for 1s --json
    within ap PYTHON flood.py 10.9.0.2 400 wait &
    waits 60 test -e flood.ready
    within ap hostapd_cli -i wlan0 chan_switch 60 2437 blocktx ht >switch
    run obeys airqueued ap obeys phy0 --for 3s --json &
    within ap $PWD/airqueued --config watching.toml --state /run/watching --json \
        >watching.out 2>watching.err &
    run watch airqueued ap watch --every 500ms --stuck-after 2s --count 8 --json \
        --prometheus watch.prom &
    sleep 0.5
    touch flood.go
    waits 60 test -e obeys.code
    waits 60 test -e watch.code
    # The radio speaks again on its new channel.
    waits 60 drained
    run after airqueued ap watch --every 500ms --stuck-after 2s --count 3 --json
fi
run restore airqueued ap restore --state /run/ap
look restored
within ap $PWD/airqueued --config service.toml --state /run/service --json \
    >service.out 2>service.err &
waits 60 grep -q set service.out
within ap PYTHON downloads.py 10.9.0.2 3 6
# What the station sends are uploads.
within sta PYTHON downloads.py 10.9.0.1 2 10 &
within ap PYTHON downloads.py 10.9.0.2 5 8
# The next look finds them gone.
sleep 2.5
within ap PYTHON downloads.py 10.9.0.2 1 1
pkill -TERM -x airqueued
waits 60 sh -c '! pgrep -x airqueued'
run service-status airqueued ap status --state /run/service --json
touch listen.stop
wait
"""

KILLED = """
radios 2
access_point
kills KILLS
"""


def plan(*names: str) -> str:
    settings = [{"why": "a test", "set": SETTINGS[name]} for name in names]
    return json.dumps({"plan": 1, "made_by": "a test", "settings": settings})


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What the machine left behind, and whether its kernel has TXQs."""
    return booted(tmp_path_factory.mktemp("wifi"), LOOKS)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What a machine left behind in which the program was killed."""
    return booted(tmp_path_factory.mktemp("killed"), KILLED)


def booted(folder: Path, script: str) -> Look:
    airqueued, kernel = ready(txqs=image.wanted())
    for name in SETTINGS:
        (folder / f"{name}.json").write_text(plan(name), "utf-8")
    txqs = kernel.has_txqs
    (folder / "accepted.json").write_text(plan(*ACCEPTED[txqs]), "utf-8")
    (folder / "readable.json").write_text(plan(*READABLE[txqs]), "utf-8")
    (folder / "service.toml").write_text(SERVICE, "utf-8")
    (folder / "watching.toml").write_text(WATCHING, "utf-8")
    kills = os.environ.get(KILLS, "1")
    words = {
        "KILLS": kills,
        "TXQS": str(txqs),
        "PYTHON": sys.executable,
        "REFUSED": shlex.join(REFUSED[txqs]),
    }
    own = re.sub("|".join(words), lambda found: words[found[0]], FUNCTIONS + script)
    files = {
        "airqueued": airqueued,
        "flood.py": HERE / "flood.py",
        "downloads.py": HERE / "downloads.py",
        "listen.py": HERE / "listen.py",
    }
    limit_s = 400 + 120 * int(kills)
    done = machine.run(kernel, networks.ALL + own, folder, files, limit_s=limit_s)
    assert done.code == 0, done.output
    return Look(folder, txqs, done.output)


class Look:
    """The files that the script has left."""

    def __init__(self, folder: Path, txqs: bool, output: str) -> None:
        self.folder = folder
        self.txqs = txqs
        self.output = output

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def json(self, name: str):
        assert self.text(f"{name}.code") == "0\n", self.text(f"{name}.err")
        return json.loads(self.text(f"{name}.out"))

    def code(self, name: str) -> int:
        return int(self.text(f"{name}.code"))

    def connected_s(self, name: str) -> int:
        found = re.search(r"connected time:\s+(\d+) seconds", self.text(f"{name}.stations"))
        assert found, self.text(f"{name}.stations")
        return int(found[1])


def test_the_place_of_every_queue_is_found(ran):
    expected = "txqs" if ran.txqs else "before_txqs"
    for at, name in (("ap", "wlan0"), ("sta", "wlan1"), ("m3", "wlan3")):
        (place,) = ran.json(f"places-{at}")
        assert (place["interface"], place["place"]) == (name, expected)
        assert place["driver"] == "mac80211_hwsim"
        assert (place["txq_limits"] is not None) == ran.txqs
        assert any("mesh_fwding" in note for note in place["notes"]) == (at == "m3")
    first = {place["interface"]: place for place in ran.json("places-first")}
    assert first["eth0"]["driver"] == "e1000"
    assert first["eth0"]["ring"] == {"packets": 256, "most_packets": 4096}


def test_what_is_accepted_is_set_and_taken_back(ran):
    assert ran.code("apply") == 0, ran.text("apply.err")
    assert len(ran.json("status")["settings"]) == len(ACCEPTED[ran.txqs])
    assert ran.code("restore") == 0, ran.text("restore.err")
    assert ran.text("before.txq") == ran.text("restored.txq") or ran.txqs
    if ran.txqs:
        limits = {
            name: re.findall(r"(?:limit|Quantum):\s+(\d+)", ran.text(f"{name}.txq"))
            for name in ("before", "applied", "restored")
        }
        assert limits["applied"] == ["100", "16777216", "600"]
        assert limits["before"] == limits["restored"] == ["8192", "16777216", "300"]
    root = r"qdisc (htb|tbf)" if ran.txqs else r"qdisc pfifo \w+: root .*limit 100p"
    assert re.search(root, ran.text("applied.qdisc")), ran.text("applied.qdisc")
    assert ran.text("before.qdisc").split()[1] == ("noqueue" if ran.txqs else "mq")
    assert ran.text("restored.qdisc") == ran.text("before.qdisc")
    (place,) = ran.json("places-applied")
    expected = ("shaper", 2_000_000) if ran.txqs else ("before_txqs", None)
    assert (place["place"], place["shaped_bps"]) == expected


def test_old_values_that_nothing_tells_say_where_they_are_from(ran):
    said = ran.text("apply.out")
    # The access point's configuration sets AIFSN 4, and nothing for its own queues.
    source = "from /run/hostapd-ap.conf; hostapd does not tell"
    assert f"from    AIFSN 4, CWmin 15, CWmax 1023, TXOP 0 us ({source})" in said
    assert "from    AIFSN 3, CWmin 15, CWmax 63, TXOP 0 us" in said
    assert "the kernel does not tell" in said


def test_stations_hear_what_is_announced_and_stay(ran):
    # hostapd's configuration has AIFSN 4; the rest are its defaults.
    as_configured = {"aifsn": 4, "cw_min": 15, "cw_max": 1023, "txop_us": 0}
    heard = [json.loads(line) for line in ran.text("listen.log").splitlines()]
    assert "deauthentication" not in heard
    assert (heard[0], heard[-1]) == (as_configured, as_configured)
    # hostapd may announce before the last of the four is set.
    assert ANNOUNCED in heard
    # Between the looks is more than a second each.
    times = [ran.connected_s(name) for name in ("before", "applied", "restored")]
    assert times == sorted(set(times)), "the station did not connect anew"


def test_channel_access_follows_the_flows(ran):
    assert ran.text("service.err") == ""
    events = [json.loads(line) for line in ran.text("service.out").splitlines()]
    assert [event["event"] for event in events[:1]] == ["set"]
    changes = [(event["what"], event["why"]) for event in events if event["event"] == "changed"]
    assert all(what.startswith("own best effort of wlan0") for what, _ in changes)
    to = [(what.split(" to ")[1], why) for what, why in changes]
    # Three packets of 1.27 ms less a SIFS of 10 us, in units of 32 us.
    plain, three_packets = "AIFSN 6, CWmin 31, CWmax 1023, TXOP", "3808 us"
    assert (f"{plain} {three_packets}", "3 active downloads, 0 uploads") in to
    # Two more than a TXOP may have packets for.
    row = f"AIFSN 4, CWmin 15, CWmax 1023, TXOP {three_packets}"
    assert (row, "5 active downloads, 2 uploads") in to
    # Without downloads, and with one, it is one packet.
    assert to[-1][0] == f"{plain} 0 us", changes
    assert ran.json("service-status")["state"] == "nothing of ours"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("few", "cannot hold a limit of 30 packets"),
        ("empty", "would stay empty"),
        ("txq", "mac80211 has no TXQs for its driver in this kernel"),
        ("weight", "has no weights of airtime"),
        ("aql", "has no limits of airtime"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(ran, name, words):
    if name not in REFUSED[ran.txqs]:
        pytest.skip("this kernel accepts it")
    assert ran.code(name) == 3
    assert words in ran.text(f"{name}.err")
    assert "Traceback" not in ran.text(f"{name}.err")


def test_the_ring_of_a_wired_driver_is_set_and_taken_back(ran):
    now = re.compile(r"Current hardware settings:.*?TX:\s+(\d+)", re.S)
    assert ran.code("ring") == ran.code("ring-restore") == 0
    assert now.search(ran.text("ring.applied"))[1] == "80"
    # e1000 makes 56 of 50, a multiple of 8: that is not what was asked for.
    assert ran.code("rounded") == 5
    assert "56 packets instead of 50" in ran.text("rounded.err")
    assert now.search(ran.text("ring.restored"))[1] == "256"


@pytest.mark.long
@pytest.mark.parametrize("which", ["apply", "confirm", "restore"])
def test_what_is_killed_leaves_all_old_or_all_new(killed, which):
    old, new = killed.text("old.state"), killed.text("new.state")
    assert old != new
    left = sorted(killed.folder.glob(f"kill-{which}-*.state"))
    kills = int(os.environ.get(KILLS, "1"))
    assert len(left) == kills
    found = {old: 0, new: 0}
    for each in left:
        assert each.read_text("utf-8") == "whole\n" + old, each.name
        found[each.with_suffix(".now").read_text("utf-8")] += 1
    each_of = [path.read_text("utf-8") for path in killed.folder.glob(f"kill-{which}-*.code")]
    in_time = each_of.count("137\n")
    longest = max(int(path.read_text("utf-8")) for path in killed.folder.glob(f"kill-{which}-*.ms"))
    ends = f"{found[old]} old and {found[new]} new after {longest} ms"
    print(f"{which}: {in_time} of {kills} killed, {ends}")
    if which == "confirm":
        assert found[old] == 0, "a confirm takes nothing back"
    # Fewer may all come too late on a busy machine.
    assert in_time > 0 or kills < 20


def test_a_limit_counts_as_obeyed_when_the_queue_overflowed(ran):
    if not ran.txqs:
        pytest.skip("this kernel's hwsim has no TXQs")
    assert ran.text("switch") == "OK\n"
    assert ran.code("idle") == 8
    assert json.loads(ran.text("idle.out"))["obeyed"]["seen"] == "not_filled"
    obeyed = ran.json("obeys")
    assert obeyed["limit_packets"] == 100
    seen = obeyed["obeyed"]
    assert seen["seen"] == "yes"
    # 400 packets of one flow, of which an overflow drops 32: `fq_flow_drop`.
    assert 100 - 32 < seen["most_packets"] <= 100
    assert (400 - 100) // 32 <= seen["overflows"] <= 400 // 32


def test_a_queue_that_does_not_drain_is_named_until_it_drains(ran):
    if not ran.txqs:
        pytest.skip("this kernel's hwsim has no TXQs")
    assert ran.code("watch") == ran.code("after") == 0, ran.text("watch.err")
    looks = [json.loads(line) for line in ran.text("watch.out").splitlines()]
    assert len(looks) == 8
    stuck = [look["alarms"] for look in looks if look["alarms"]]
    assert stuck, "the access point was silent for 6 s"
    for (alarm,) in stuck:
        assert (alarm["station"], alarm["category"]) == (STATION, "best_effort")
        assert alarm["stuck_s"] >= 2
        assert 0.5 < alarm["share_of_limit"] <= 1
        assert alarm["others_wait"] == []
    assert len({alarm["since_s"] for (alarm,) in stuck}) == 1
    assert f'station="{STATION}"' in ran.text("watch.prom")
    for line in ran.text("after.out").splitlines():
        assert json.loads(line)["alarms"] == []


def test_the_service_tells_when_a_queue_stands_and_when_it_drains(ran):
    if not ran.txqs:
        pytest.skip("this kernel's hwsim has no TXQs")
    assert ran.text("watching.err") == ""
    events = [json.loads(line) for line in ran.text("watching.out").splitlines()]
    assert [event["event"] for event in events] == ["stuck", "drains"], events
    for event in events:
        assert event["what"] == f"best effort queue of {STATION} at wlan0"
    alarm = events[0]["alarm"]
    assert (alarm["station"], alarm["others_wait"]) == (STATION, [])
    assert alarm["stuck_s"] >= 2 and 0.5 < alarm["share_of_limit"] <= 1
    # It ended by the same signal as the service beside it, and took its file away.
    assert not (ran.folder / "watching.prom").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.list", "# deb http://old/debian bookworm main\ndeb http://here/debian bookworm main\n"),
        (
            "b.list",
            "deb-src http://here/debian bookworm main\ndeb http://other/ bookworm contrib\n"
            "deb [arch=amd64] http://here/debian bookworm contrib main",
        ),
        (
            "c.sources",
            "Types: deb\n# from\nURIs: http://here/debian\nSuites: bookworm\nComponents: main\n\n"
            "Types: deb\nURIs: http://other/\nSuites: x\nComponents: contrib\n",
        ),
        (
            "d.sources",
            "Enabled: no\nURIs: http://old/\nSuites: bookworm\nComponents: main\n\n"
            "URIs: http://here/debian\nSuites: bookworm\nComponents: main\n",
        ),
    ],
)
def test_the_systems_own_sources_are_found(name, text):
    (found,) = sources({name: text})
    assert found == Source("http://here/debian", "bookworm", "")
    assert found.line("x") == "deb http://here/debian x main\n"


def test_the_signature_of_a_source_is_kept():
    (line,) = sources({"a.list": "deb [signed-by=/k.gpg arch=amd64] http://here/ bookworm main"})
    (paragraph,) = sources(
        {"a.sources": "URIs: http://here/\nSuites: bookworm\nComponents: main\nSigned-By: /k.gpg"}
    )
    assert line == paragraph
    assert line.line("y") == "deb [signed-by=/k.gpg] http://here/ y main\n"
