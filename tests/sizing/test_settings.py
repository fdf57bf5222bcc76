"""Settings as text: they say what the models said, and the programs they are for accept them."""

import shutil
import subprocess

import hostapd_conf
import pytest

from airqueue.sizing import edca_values as edca
from airqueue.sizing import plans
from airqueue.sizing.advice import Settings, wanted
from airqueue.sizing.settings import acks, hostapd, linux, openwrt, sqm
from airqueue.sizing.settings.hostapd import Category

TXOP_S = 7.572e-3
STATION_DATA = edca.encode(4, 31, 1023, role="station")
AP_DATA = edca.encode(4, 31, 1023, TXOP_S, role="access point")
AP_ACKS = edca.encode(0, 3, 1023, role="access point")
STATIONS = {Category.BEST_EFFORT: STATION_DATA}
ACCESS_POINT = {Category.VIDEO: (AP_ACKS, 0.0), Category.BEST_EFFORT: (AP_DATA, TXOP_S)}


def test_hostapd_lines_read_back_to_the_parameters():
    found = hostapd_conf.read(hostapd.lines(STATIONS, ACCESS_POINT))
    assert found["station"] == {
        "be": {"aifs": 6, "cwmin": 32, "cwmax": 1024, "txop_limit": 0, "acm": 0}
    }
    assert found["ap"]["vi"] == {"aifs": 2, "cwmin": 4, "cwmax": 1024, "burst": 0}
    burst_s = found["ap"]["be"].pop("burst")
    assert found["ap"]["be"] == {"aifs": 6, "cwmin": 32, "cwmax": 1024}
    assert TXOP_S <= burst_s < TXOP_S + 100e-6


def test_uci_commands_carry_every_line_of_hostapd_and_the_burst_twice():
    settings = openwrt.edca("radio0", STATIONS, ACCESS_POINT)
    lines = hostapd.lines(STATIONS, ACCESS_POINT)
    passed = [line.partition("hostapd_options=")[2].strip("'") for line in settings.lines]
    assert [line for line in passed if line] == [
        line for line in lines if not line.startswith(("#", "wmm_enabled"))
    ]
    burst = next(line for line in lines if line.startswith("tx_queue_data2_burst="))
    assert f"uci set wireless.radio0.tx_burst='{burst.partition('=')[2]}'" in settings.lines


@pytest.mark.parametrize(
    ("down_bps", "up_bps", "shaped"),
    [
        (20e6, None, {"download": 19000}),
        (None, 5e6, {"upload": 4750}),
        (20e6, 5e6, {"download": 19000, "upload": 4750}),
    ],
)
def test_a_line_is_shaped_in_the_directions_whose_rates_are_given(down_bps, up_bps, shaped):
    script, shell = sqm.line(down_bps, up_bps)
    for option in ("download", "upload"):
        assert f"uci set sqm.airqueue.{option}='{shaped.get(option, 0)}'" in script.lines
        assert any(f"{option} 0 leaves" in note for note in script.notes) == (option not in shaped)
    # Packets that come in pass by a device of their own, those that go out by the line's queue.
    lines = {"download": "ifb-line root cake", "upload": "wan root cake"}
    for option, device in lines.items():
        kbits = [line.split("bandwidth ")[1].split()[0] for line in shell.lines if device in line]
        assert kbits == ([f"{shaped[option]}kbit"] if option in shaped else [])


def test_settings_are_chosen_by_target():
    three = [Settings(target, "there", ("line",)) for target in ("hostapd", "openwrt", "tc")]
    assert wanted(three, ()) == ()
    assert wanted(three, ("openwrt",)) == (three[1],)
    assert wanted(three, ("all",)) == tuple(three)


def test_a_queue_with_much_memory_raises_the_memory_limit_too():
    assert linux.txq_lines("phy0", 300) == ("iw phy phy0 set txq limit 300",)
    limit, memory = linux.txq_lines("phy0", 5000)
    assert limit.endswith(" limit 5000")
    assert int(memory.split()[-1]) >= 5000 * 1514


def test_the_openwrt_script_sets_the_limit_that_the_shell_command_sets():
    script = openwrt.queue("phy1", "phy1-ap0", 5000, "access point")
    shell, qdisc = linux.queue("phy1", "phy1-ap0", 5000, 5000 * 1514, "access point")
    assert shell.lines == linux.txq_lines("phy1", 5000)
    assert [line.strip() for line in script.lines[1:-1]] == list(shell.lines)
    assert all("phy1-ap0" in line for line in qdisc.lines)


def test_no_line_sets_a_limit_that_mac80211_s_queues_do_not_keep():
    script = openwrt.queue("phy1", "phy1-ap0", 63, "access point")
    shell, qdisc = linux.queue("phy1", "phy1-ap0", 63, 63 * 1514, "access point")
    assert script.lines == shell.lines == shell.sets == ()
    assert "no limit below 64" in script.notes[0] and "no limit below 64" in shell.notes[0]
    assert "pfifo limit 63" in qdisc.lines[0]


@pytest.mark.parametrize("mark", ["dscp", "priority"])
def test_rules_leave_the_same_room_for_options_in_both_families(mark):
    ipv4, ipv6 = acks.rules(("wlan0",), 80, mark)
    assert "ip length <= 80" in ipv4
    # 80 - 20 of IPv4's header; the payload of IPv6 does not contain its header.
    assert "ip6 length <= 60" in ipv6


@pytest.mark.skipif(shutil.which("hostapd") is None, reason="hostapd is not installed here")
def test_hostapd_itself_finds_no_error(tmp_path):
    config = tmp_path / "hostapd.conf"
    lines = ("interface=none0", "driver=nl80211", "ssid=test", "hw_mode=g", "channel=1")
    config.write_text("\n".join((*lines, *hostapd.lines(STATIONS, ACCESS_POINT))) + "\n")
    # It cannot start on an interface that is not there; errors of the file come before that.
    done = subprocess.run(
        ["hostapd", "-d", config], capture_output=True, text=True, timeout=20, check=False
    )
    said = done.stdout + done.stderr
    assert "Configuration file" in said
    assert "errors found in configuration file" not in said
    assert "Line " not in said


def test_a_station_shapes_what_it_sends_and_an_access_point_what_all_get():
    (own,) = sqm.station("wlp1s0", 10e6)
    assert own.lines == ("tc qdisc replace dev wlp1s0 root cake bandwidth 9500kbit",)
    assert own.sets == (plans.queue("wlp1s0", plans.cake(9_500_000)),)
    assert "this machine" in own.place and "all stations" not in " ".join(own.notes)
    first, of_openwrt = sqm.access_point("wlan0", 10e6)
    assert (first.sets, first.lines[0].split()[-1]) == (
        (plans.queue("wlan0", plans.cake(9_500_000)),),
        "9500kbit",
    )
    assert "all stations together" in " ".join(first.notes)
    assert of_openwrt.target == "openwrt"
