"""Settings as text: one file for each program that takes them. Nothing here is applied.

Checked against hostapd 2.10 (``hostapd.conf`` and its parser), OpenWrt's wifi-scripts and firewall4,
iproute2, nftables and iw, and against mac80211 and cfg80211 of Linux 6.
"""
