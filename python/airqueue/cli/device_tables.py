"""`airqueue simulate --devices`: the devices that stations can be like, key by key."""

from __future__ import annotations

import json

from airqueue import toml_text
from airqueue.cli.common import stdout, write_named
from airqueue.cli.table import Table
from airqueue.simulate.devices import Device, devices


def show(json_path: str | None) -> None:
    """Print all devices; or write them as JSON."""
    known = devices()
    if json_path is not None:
        write_named(json_path, json.dumps(known, indent=2, ensure_ascii=False) + "\n")
    if json_path == "-":
        return
    most = max(len(key["standards"]) for device in known for key in device["keys"])
    console = stdout()
    console.print("A station is like a device with like = NAME in its table.", style="bold")
    for device in known:
        console.print()
        console.print(_table(device, most))
    page = "docs/explanation/devices.md"
    console.print(f"\nKeys that the station has itself stay; {page} says which others do.")


def _table(device: Device, most: int) -> Table:
    table = Table("key", "value", "with", "source")
    table.title = f"{device['name']}: {device['about']}"
    for key in device["keys"]:
        value = key["value"]
        written = toml_text.render({"v": value}).removeprefix("v = ").strip()
        table.add_row(key["key"], written, _standards(key["standards"], most), key["source"])
    return table


def _standards(names: list[str], most: int) -> str:
    return "all" if len(names) == most else ", ".join(n.removeprefix("802.11") for n in names)
