//! Drivers by name, for kernels whose cfg80211 does not tell where a driver's queue is.

/// Drivers whose firmware has 802.11's MAC, and the queue: cfg80211 without mac80211.
pub(super) const FULL_MAC: [&str; 14] = [
    "ath6kl",
    "ath6kl_sdio",
    "ath6kl_usb",
    "brcmfmac",
    "brcmfmac_sdio",
    "mwifiex",
    "mwifiex_pcie",
    "mwifiex_sdio",
    "mwifiex_usb",
    "qtnfmac",
    "quantenna",
    "wil6210",
    "wilc1000",
    "rtl8723bs",
];

/// Devices without a queue of their own (`IFF_NO_QUEUE`): what a root qdisc without a shaper sends, they take at once.
pub(super) const WITHOUT_QUEUE: [&str; 11] = [
    "802.1Q VLAN Support",
    "bonding",
    "bridge",
    "dummy",
    "geneve",
    "ipvlan",
    "macvlan",
    "team",
    "veth",
    "vxlan",
    "wireguard",
];

/// Drivers of mac80211 that have no `wake_tx_queue` of their own, so that they have no TXQs before Linux 6.2.
pub(super) const WITHOUT_TXQS: [&str; 25] = [
    "adm8211",
    "ath11k",
    "ath11k_ahb",
    "ath11k_pci",
    "ath5k",
    "ath9k_htc",
    "b43",
    "b43legacy",
    "brcmsmac",
    "carl9170",
    "iwl3945",
    "iwl4965",
    "mac80211_hwsim",
    "mwl8k",
    "p54pci",
    "p54usb",
    "rt2800pci",
    "rt2800usb",
    "rtl8192ce",
    "rtl8192cu",
    "rtl8xxxu",
    "wcn36xx",
    "wl12xx",
    "wlcore",
    "zd1211rw",
];
