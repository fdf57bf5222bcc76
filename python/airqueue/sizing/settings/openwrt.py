"""OpenWrt: the same lines by way of UCI, which writes hostapd's file, and of firewall4.

``hostapd_options`` of a radio is passed to hostapd as it is. Older releases append
``tx_queue_data2_burst`` from ``tx_burst`` (2.0 by default on 802.11ac) after it, and the last line
wins, so ``tx_burst`` is set too. firewall4 includes ``/etc/nftables.d/*.nft`` inside its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airqueue.sizing import plans
from airqueue.sizing.advice import Settings
from airqueue.sizing.edca_values import EdcaValues
from airqueue.sizing.settings import hostapd, linux
from airqueue.sizing.settings.acks import Mark, chain
from airqueue.sizing.settings.hostapd import Category

BRIDGE: Final = "br-lan"
"""OpenWrt's LAN bridge: what is routed to wireless stations leaves through it."""


def edca(
    radio: str,
    stations: Mapping[Category, EdcaValues],
    access_point: Mapping[Category, tuple[EdcaValues, float]],
) -> Settings:
    """Return uci commands for EDCA of one radio."""
    raw = [
        line for line in hostapd.lines(stations, access_point) if line.startswith(("wmm_ac", "tx"))
    ]
    _, txop_s = access_point[Category.BEST_EFFORT]
    burst = hostapd.burst(txop_s)
    options = {"hostapd_options": raw, "tx_burst": burst}
    return Settings(
        target="openwrt",
        place="access point: shell",
        lines=(
            f"uci -q delete wireless.{radio}.hostapd_options",
            *(f"uci add_list wireless.{radio}.hostapd_options='{line}'" for line in raw),
            f"uci set wireless.{radio}.tx_burst='{burst}'",
            "uci commit wireless",
            "wifi reload",
        ),
        notes=(
            "The first line drops raw hostapd options that were set before.",
            *hostapd.NOTES,
        ),
        # The radio is there: a section that airqueue made would be no radio.
        sets=(plans.uci(plans.WIRELESS, radio, options),),
    )


def ack_rules(device: str, ack_bytes: int, mark: Mark) -> Settings:
    """Return the file of firewall4 that classifies what the access point routes."""
    return Settings(
        target="openwrt",
        place="access point: /etc/nftables.d/20-airqueue-acks.nft, then: fw4 reload",
        lines=chain("mangle", tuple(dict.fromkeys((device, BRIDGE))), ack_bytes, mark),
        notes=(
            "An access point that only bridges does not pass its packets through this table: load "
            "the table of family bridge that --for tc prints (package kmod-nft-bridge).",
            "Flow offloading in the firewall skips this chain: switch it off.",
        ),
    )


def queue(phy: str, device: str, packets: int, place: str) -> Settings:
    """Return a hotplug script that sets mac80211's limit: UCI has no option for it.

    Without lines for a limit that mac80211's queues do not keep.
    """
    commands = linux.txq_lines(phy, packets)
    condition = f'[ "$ACTION" = add ] && [ "$INTERFACE" = {device} ] && {{'
    return Settings(
        target="openwrt",
        place=f"{place}, optional: /etc/hotplug.d/net/30-airqueue-{device}",
        lines=(condition, *(f"  {command}" for command in commands), "}") if commands else (),
        notes=(
            *linux.txq_notes(packets),
            "OpenWrt names devices phy0-ap0 and the like since 23.05: give it with --device, or the "
            "script never runs.",
            "option txqueuelen in /etc/config/network sets a length that mac80211 does not use.",
        ),
    )
