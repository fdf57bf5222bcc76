"""Hears all frames of hwsim's radios in the machine, and writes down what access points say.

A line for each change of the parameters of channel access that beacons of an access point announce
for best effort, and one for each deauthentication. Arguments are the addresses of access points, each
of which has a file: `listen.log`, `listen-2.log`, ... Ends when there is a file `listen.stop`.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

ALL_PROTOCOLS = 3
BEACON, DEAUTHENTICATION = 0x80, 0xC0
"""First bytes of frames (802.11-2016, 9.2.4.1.3)."""
MANAGEMENT_HEADER, FIXED_FIELDS = 24, 12
VENDOR = 221
WMM = bytes.fromhex("0050f2020101")
"""OUI, type and version of the WMM parameter element; the parameters follow two more bytes."""


def elements(body: bytes) -> Iterator[tuple[int, bytes]]:
    while len(body) >= 2 and len(body) >= 2 + body[1]:
        yield body[0], body[2 : 2 + body[1]]
        body = body[2 + body[1] :]


def best_effort(frame: bytes) -> dict[str, int] | None:
    """What a beacon announces (802.11-2016, figure 9-264)."""
    for kind, content in elements(frame[MANAGEMENT_HEADER + FIXED_FIELDS :]):
        if kind == VENDOR and content.startswith(WMM):
            first, windows, txop = struct.unpack_from("<BBH", content, len(WMM) + 2)
            return {
                "aifsn": first & 15,
                "cw_min": (1 << (windows & 15)) - 1,
                "cw_max": (1 << (windows >> 4)) - 1,
                "txop_us": txop * 32,
            }
    return None


class Speaker:
    """An access point, and the file with what it says."""

    def __init__(self, number: int, address: str) -> None:
        self.address = bytes.fromhex(address.replace(":", ""))
        self.heard: dict[str, int] | None = None
        name = "listen.log" if number == 1 else f"listen-{number}.log"
        self.log = Path(name).open("w", encoding="ascii", buffering=1)  # noqa: SIM115

    def take(self, frame: bytes) -> None:
        if frame[0] == DEAUTHENTICATION:
            self.log.write('"deauthentication"\n')
        if frame[0] == BEACON and (found := best_effort(frame)) != self.heard:
            self.heard = found
            self.log.write(json.dumps(found) + "\n")


def main(addresses: list[str]) -> None:
    speakers = [Speaker(number, each) for number, each in enumerate(addresses, 1)]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as air:
        air.bind(("hwsim0", 0))
        air.settimeout(0.2)
        Path("listen.ready").touch()
        while not Path("listen.stop").exists():
            try:
                packet = air.recv(4096)
            except TimeoutError:
                continue
            # A radiotap header comes first, whose length is in its third and fourth bytes.
            frame = packet[struct.unpack_from("<H", packet, 2)[0] :]
            for speaker in speakers:
                if frame[10:16] == speaker.address:
                    speaker.take(frame)
    for speaker in speakers:
        speaker.log.close()


if __name__ == "__main__":
    main(sys.argv[1:])
