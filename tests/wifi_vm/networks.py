"""Parts of scripts: networks of hwsim's radios in the machine, each radio in its own namespace."""

from __future__ import annotations

WAIT = """
# waits SECONDS COMMAND...: until the command succeeds
waits() {
    local end=$((SECONDS + $1)); shift
    while ! "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { echo "waited in vain: $*"; exit 99; }
        sleep 0.1
    done
}
within() { ip netns exec "$@"; }
"""

RADIOS = """
# radios COUNT: phy0, phy1, ... with wlan0, wlan1, ...; modules are in the first file system
radios() {
    chroot /proc/1/root /bin/modprobe mac80211_hwsim radios=$1
    waits 10 test -e /sys/class/net/wlan$(($1 - 1))
}
# radio NUMBER NAMESPACE
radio() {
    ip netns add $2
    ip -n $2 link set lo up
    iw phy phy$1 set netns name $2
}
"""

ACCESS_POINT = """
# access_point: phy0 in namespace ap with a station, phy1 in namespace sta; WPA2
access_point() {
    radio 0 ap; radio 1 sta
    cat >/run/hostapd-ap.conf <<CONF
interface=wlan0
driver=nl80211
ssid=airqueue
hw_mode=g
channel=1
ctrl_interface=/run/hostapd
wmm_enabled=1
ieee80211n=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=airqueue-test
wmm_ac_be_aifs=4
CONF
    cat >/run/station.conf <<CONF
ctrl_interface=/run/wpa
network={
    ssid="airqueue"
    psk="airqueue-test"
    scan_freq=2412
}
CONF
    within ap hostapd -B -P /run/hostapd.pid /run/hostapd-ap.conf >/dev/null
    within sta wpa_supplicant -B -i wlan1 -c /run/station.conf -D nl80211 >/dev/null 2>&1
    waits 30 connected
    ip -n ap addr add 10.9.0.1/24 dev wlan0
    ip -n sta addr add 10.9.0.2/24 dev wlan1
}
connected() { within ap iw dev ${1:-wlan0} station dump | grep -q 'authorized:.*yes'; }
"""

SECOND_BSS = """
# second_bss: hostapd of access_point is ended, and begun anew with a second BSS; its station is phy2
# in namespace visitor. hostapd makes the interface: guests, with the address after that of wlan0.
second_bss() {
    kill $(cat /run/hostapd.pid)
    waits 10 test ! -e /run/hostapd.pid
    cat >>/run/hostapd-ap.conf <<CONF
tx_queue_data2_aifs=5
bss=guests
ssid=visitors
ctrl_interface=/run/hostapd
wmm_enabled=1
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=airqueue-test
CONF
    radio 2 visitor
    sed s/airqueue\\\"/visitors\\\"/ /run/station.conf >/run/visitor.conf
    within ap hostapd -B -P /run/hostapd.pid /run/hostapd-ap.conf >/dev/null
    within visitor wpa_supplicant -B -i wlan2 -c /run/visitor.conf -D nl80211 >/dev/null 2>&1
    waits 60 connected wlan0
    waits 60 connected guests
}
"""

MESH = """
# mesh: phy2, phy3, phy4 in namespaces m2, m3, m4; the outer two do not hear each other
mesh() {
    local number
    for number in 2 3 4; do
        radio $number m$number
        within m$number iw dev wlan$number set type mp
        ip -n m$number link set wlan$number up
        within m$number iw dev wlan$number mesh join airqueue freq 2412
        ip -n m$number addr add 10.8.0.$number/24 dev wlan$number
    done
    waits 20 peers m3 wlan3 2
    waits 20 peers m2 wlan2 2
    waits 20 peers m4 wlan4 2
    within m2 iw dev wlan2 station set 02:00:00:00:04:00 plink_action block
    within m4 iw dev wlan4 station set 02:00:00:00:02:00 plink_action block
    waits 20 within m2 ping -c 1 -W 1 10.8.0.4
}
peers() { [ "$(within $1 iw dev $2 station dump | grep -c ESTAB)" -ge $3 ]; }
"""

ALL = WAIT + RADIOS + ACCESS_POINT + MESH
