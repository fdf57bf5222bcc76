"""A real Wi-Fi stack in a virtual machine: a Debian kernel with mac80211_hwsim's radios, in QEMU.

The kernel comes from Debian's packages, all programs are those of the host, whose files the machine
sees read-only. Nothing here needs hardware or a KVM. The radios' frames take no airtime.
"""
