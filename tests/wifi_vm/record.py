"""Records what cfg80211 answers: run in the virtual machine, by `rerecord.py`.

Arguments are an interface, the number of its phy, a folder, and what to list. Each file has the
netlink messages of one dump as they came, headers included.
"""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

NETLINK_GENERIC = 16
REQUEST, DUMP = 1, 0x300
ERROR, DONE, CONTROLLER = 2, 3, 16
GET_FAMILY, FAMILY_ID, FAMILY_NAME = 3, 1, 2
WIPHY, IFINDEX, SPLIT_DUMP = 1, 3, 174
# Commands of linux/nl80211.h that list.
LISTS = {"wiphy": 1, "interface": 5, "station": 17, "mpath": 21, "survey": 50}


def attribute(kind: int, value: bytes) -> bytes:
    head = struct.pack("=HH", 4 + len(value), kind)
    return head + value + bytes(-len(value) % 4)


def ask(at: socket.socket, family: int, command: int, flags: int, attributes: bytes) -> list[bytes]:
    """The datagrams of the answer."""
    body = struct.pack("=BBH", command, 1, 0) + attributes
    at.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST | flags, 1, 0) + body)
    datagrams = []
    while True:
        datagram = at.recv(1 << 17)
        (kind,) = struct.unpack_from("=H", datagram, 4)
        if kind == ERROR:
            raise OSError(-struct.unpack_from("=i", datagram, 16)[0], "netlink")
        if kind == DONE:
            return datagrams
        datagrams.append(datagram)
        if not flags & DUMP:
            return datagrams


def main(interface: str, phy: int, folder: Path, lists: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as at:
        at.bind((0, 0))
        named = attribute(FAMILY_NAME, b"nl80211\0")
        (found,) = ask(at, CONTROLLER, GET_FAMILY, 0, named)
        family = struct.unpack_from("=H", found, found.index(struct.pack("=HH", 6, FAMILY_ID)) + 4)[
            0
        ]
        index = attribute(IFINDEX, struct.pack("=I", socket.if_nametoindex(interface)))
        of_phy = attribute(WIPHY, struct.pack("=I", phy)) + attribute(SPLIT_DUMP, b"")
        for name in lists:
            selected = {"wiphy": of_phy, "interface": b""}.get(name, index)
            datagrams = ask(at, family, LISTS[name], DUMP, selected)
            (folder / f"{name}.netlink").write_bytes(b"".join(datagrams))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
