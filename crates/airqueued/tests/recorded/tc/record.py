"""Record what the kernel tells of queue disciplines, classes and filters; `README.md` says of which.

    unshare --net python3 crates/airqueued/tests/recorded/tc/record.py

Needs root, iproute2, and nothing else; the network namespace ends with it.
"""

import socket
import struct
import subprocess
from pathlib import Path

DUMPS = {"qdiscs": (38, 0), "classes": (42, 0), "filters": (46, 0x10_0000)}
"""RTM_GETQDISC, RTM_GETTCLASS, RTM_GETTFILTER, and below which discipline."""
NLMSG_DONE = 3
SETUP = """
link add va numtxqueues 2 type veth peer name vb
link set va up
link set vb up
"""
TREE = """
qdisc add dev lo root handle 10: htb default 2
class add dev lo parent 10: classid 10:1 htb rate 8mbit
class add dev lo parent 10:1 classid 10:2 htb rate 3mbit ceil 8mbit
class add dev lo parent 10:1 classid 10:3 htb rate 5mbit ceil 8mbit
qdisc add dev lo parent 10:2 handle 12: pfifo limit 20
qdisc add dev lo parent 10:3 handle 13: bfifo limit 30000
filter add dev lo parent 10: protocol all prio 1 handle ::3 u32 match u32 0 0 at 0 flowid 10:3
qdisc add dev va root handle 1: mq
qdisc add dev va parent 1:1 handle 2: tbf rate 400kbit burst 1600 limit 100000
qdisc add dev va parent 2:1 handle 3: pfifo limit 5
qdisc add dev va parent 1:2 handle 4: pfifo limit 5
qdisc add dev vb root handle 7: tbf rate 2mbit burst 1600 limit 30000
"""


def dump(kind: int, parent: int, interface: int) -> bytes:
    """The messages of a dump, without the last one, which has nothing."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        body = struct.pack("=BxxxiIII", 0, interface, 0, parent, 0)
        kernel.send(struct.pack("=IHHII", 16 + len(body), kind, 0x301, 1, 0) + body)
        found = b""
        while True:
            data = kernel.recv(1 << 16)
            while data:
                length, of = struct.unpack_from("=IH", data)
                if of == NLMSG_DONE:
                    return found
                end = (length + 3) & ~3
                found, data = found + data[:end], data[end:]


def main() -> None:
    """Make the disciplines and write the dumps."""
    for program, lines in (("ip", SETUP), ("tc", TREE)):
        for line in lines.strip().splitlines():
            subprocess.run([program, *line.split()], check=True)
    lo = socket.if_nametoindex("lo")
    for name, (kind, parent) in DUMPS.items():
        # The kernel tells disciplines of all interfaces, whatever it is asked.
        file = Path(__file__).with_name(f"{name}.netlink")
        file.write_bytes(dump(kind, parent, 0 if name == "qdiscs" else lo))


if __name__ == "__main__":
    main()
