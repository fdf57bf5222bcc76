"""The devices that a station of a scenario can be like: ``like = "openwrt-24"``.

The engine has them (``devices.rs`` of ``crates/airqueue-scenario``), each key with its source.
"""

from __future__ import annotations

import json
from typing import TypedDict, cast

from airqueue import _native


class DeviceKey(TypedDict):
    """A key of a station that is like a device."""

    key: str
    """From the station's table on, as in ``queue.limit``."""
    value: str | int | bool
    standards: list[str]
    """The physical layers with which the device has the key."""
    source: str
    """Where the value is from."""


class Device(TypedDict):
    """A device."""

    name: str
    about: str
    keys: list[DeviceKey]


def devices() -> list[Device]:
    """Return all devices.

    >>> [device["name"] for device in devices()]
    ['openwrt-24', 'linux-station', 'apq-2011', 'enterprise']
    """
    return cast("list[Device]", json.loads(_native.devices()))
