"""The wires of the Host AP: three namespaces, two veth pairs, fixed addresses and neighbours.

Everything that could put a packet of its own into the queue is off or decided beforehand, because
any stray packet takes a slot: neighbours are permanent, there are no link-local addresses and no
router solicitations, and multicast is off. Addresses are on ``lo`` and the access point has none,
because an IPv6 address on a wire joins its solicited-node group there and reports so (RFC 3810).
"""

from __future__ import annotations

from dataclasses import dataclass

from airqueue.linux.config import MTU_BYTES

SENDER, AP, RECEIVER = "sender", "ap", "receiver"
NAMES = (SENDER, AP, RECEIVER)
_NETEM_PACKETS = 10_000_000
"""More than a wire ever holds."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step in one namespace: a program to run, or a setting (``sysctl``) to write.

    The word ``netns`` is followed by the name of a namespace, as with ``ip netns``.
    """

    namespace: str
    argv: tuple[str, ...]

    def __str__(self) -> str:
        words = (f"'{word}'" if set(word) & set(" {};") else word for word in self.argv)
        return f"ip netns exec {self.namespace} {' '.join(words)}"


@dataclass(frozen=True, slots=True)
class Side:
    """One half of the bed: an end host, the access point's device towards it, their addresses."""

    host: str
    host_device: str
    ap_device: str
    number: int

    def address(self, ipv6: bool) -> str:
        """Address of the host."""
        return f"fd97:a1:{self.number}::2" if ipv6 else f"10.97.{self.number}.2"

    def gateway(self, ipv6: bool) -> str:
        """Next hop of the host: a name for the access point's end of the wire."""
        return f"fd97:a1:{self.number}::1" if ipv6 else f"10.97.{self.number}.1"

    def mac(self, of_ap: bool) -> str:
        """Hardware address of one end of the wire (locally administered)."""
        return f"02:a1:00:00:{self.number:02x}:{1 if of_ap else 2:02x}"


SENDER_SIDE = Side(SENDER, "net", "in", 1)
RECEIVER_SIDE = Side(RECEIVER, "net", "out", 2)
SIDES = (SENDER_SIDE, RECEIVER_SIDE)


def topology_steps(ipv6: bool) -> list[Step]:
    """Return what turns three empty namespaces into a routed path of one IP version."""
    steps: list[Step] = []
    for name in NAMES:
        steps += [Step(name, ("sysctl", "-qw", f"{k}={v}")) for k, v in _settings(ipv6)]
    for side in SIDES:
        steps += _wire(side, ipv6)
        steps += _routes(side, ipv6)
    # Last: a router joins the all-routers groups on every wire that has multicast at this moment.
    forward = "net.ipv6.conf.all.forwarding=1" if ipv6 else "net.ipv4.ip_forward=1"
    return [*steps, Step(AP, ("sysctl", "-qw", forward))]


def wire_steps(delay_s: float, loss: float, ipv6: bool) -> list[Step]:
    """Return what makes the hosts' wires long and lossy, in each direction.

    netem is where the access point receives, on a device to which all is redirected. At the host it
    would count as the host's own queue: the kernel stamps a packet when it leaves the host's device.
    """
    if not delay_s and not loss:
        return []
    words: tuple[str, ...] = ("limit", str(_NETEM_PACKETS))
    words += ("delay", f"{delay_s * 1e6:.0f}us") if delay_s else ()
    words += ("loss", f"{loss * 100:.7g}%") if loss else ()
    steps: list[Step] = []
    for side in SIDES:
        wire = f"wire{side.number}"
        every = ("protocol", "all", "u32", "match", "u32", "0", "0")
        to = ("action", "mirred", "egress", "redirect", "dev", wire)
        commands: tuple[tuple[str, ...], ...] = (
            ("ip", "link", "add", wire, "numtxqueues", "1", "type", "ifb"),
            ("ip", "link", "set", "dev", wire, "mtu", str(MTU_BYTES), *_quiet(ipv6)),
            ("ip", "link", "set", "dev", wire, "up"),
            ("tc", "qdisc", "add", "dev", wire, "root", "netem", *words),
            ("tc", "qdisc", "add", "dev", side.ap_device, "ingress"),
            ("tc", "filter", "add", "dev", side.ap_device, "parent", "ffff:", *every, *to),
        )
        steps += [Step(AP, command) for command in commands]
    return steps


def _settings(ipv6: bool) -> list[tuple[str, str]]:
    v4, v6 = "net.ipv4.conf", "net.ipv6.conf"
    settings = [(f"{v4}.{which}.rp_filter", "0") for which in ("all", "default")]
    if ipv6:
        settings += [
            (f"{v6}.default.{key}", value)
            for key, value in (
                ("addr_gen_mode", "1"),
                ("accept_ra", "0"),
                ("autoconf", "0"),
                ("accept_dad", "0"),
                ("dad_transmits", "0"),
                ("router_solicitations", "0"),
            )
        ]
    else:
        settings += [(f"{v6}.{which}.disable_ipv6", "1") for which in ("all", "default")]
    return settings


def _wire(side: Side, ipv6: bool) -> list[Step]:
    peer = ("address", side.mac(False), "numtxqueues", "1", "numrxqueues", "1")
    pair = ("ip", "link", "add", side.ap_device, "address", side.mac(True))
    queues = ("numtxqueues", "1", "numrxqueues", "1", "type", "veth", "peer", "name")
    steps = [Step(AP, (*pair, *queues, side.host_device, *peer, "netns", side.host))]
    for name, device in ((AP, side.ap_device), (side.host, side.host_device)):
        link = ("ip", "link", "set", "dev", device)
        # gso_max_segs 1: a batch that a program sends in one call is cut into real packets before
        # the wire, so that a queue counts packets and never a batch as one.
        size = ("mtu", str(MTU_BYTES), "gso_max_segs", "1")
        steps.append(Step(name, (*link, *size, *_quiet(ipv6))))
        steps.append(Step(name, (*link, "up")))
    return steps


def _quiet(ipv6: bool) -> tuple[str, ...]:
    """Return words for ip that keep a device from sending anything of its own."""
    return ("multicast", "off", *(("addrgenmode", "none") if ipv6 else ()))


def _routes(side: Side, ipv6: bool) -> list[Step]:
    ip = ("ip", "-6") if ipv6 else ("ip", "-4")
    host, gateway = side.address(ipv6), side.gateway(ipv6)
    own = f"{host}/128" if ipv6 else f"{host}/32"
    # Without it the address is tentative for a moment, and the route refuses it as its source.
    nodad = ("nodad",) if ipv6 else ()
    default = ("default", "via", gateway, "dev", side.host_device, "onlink", "src", host)

    def neighbour(address: str, of_ap: bool, device: str) -> tuple[str, ...]:
        entry = (address, "lladdr", side.mac(of_ap), "dev", device, "nud", "permanent")
        return (*ip, "neighbour", "add", *entry)

    return [
        Step(side.host, ("ip", "link", "set", "dev", "lo", "up")),
        Step(side.host, (*ip, "address", "add", own, "dev", "lo", *nodad)),
        Step(side.host, neighbour(gateway, True, side.host_device)),
        Step(side.host, (*ip, "route", "add", *default)),
        Step(AP, neighbour(host, False, side.ap_device)),
        Step(AP, (*ip, "route", "add", own, "dev", side.ap_device)),
    ]
